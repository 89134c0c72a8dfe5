package probe

// The questions. Each has a text in package explain.
const (
	AskMQTT311    = "MQTT 3.1.1"
	AskMQTT5      = "MQTT 5"
	AskQoS0       = "QoS 0"
	AskQoS1       = "QoS 1"
	AskQoS2       = "QoS 2"
	AskRetained   = "retained"
	AskWildcards  = "wildcards"
	AskShared     = "shared subscription"
	AskSession    = "session kept"
	AskExpiry     = "session expiry"
	AskPacket     = "maximum packet"
	AskReceiveMax = "receive maximum"
	AskOffline    = "offline queue"
	AskOffline0   = "offline QoS 0"
	AskInFlight   = "in-flight window"
	AskSlow       = "slow consumer"
	AskNagle      = "Nagle"
	AskTerm       = "survives TERM"
	AskKill       = "survives KILL"
	AskGroups     = "queue groups"
	AskHeaders    = "headers"
	AskPayload    = "maximum payload"
	AskAbsent     = "absent subscriber"
	AskRESP3      = "RESP3"
	AskStreams    = "streams"
	AskConfirms   = "confirms"
	AskMandatory  = "mandatory"
	AskQuorum     = "quorum queues"
	AskRedelivery = "redelivery"
	AskLimit      = "stream limit"

	AskReliability = "reliability"
	AskSlowDrop    = "slow consumer (drop)"
	AskSlowBlock   = "slow consumer (block)"
)

// Questions are all of them. Which ones apply depends on the protocol.
var Questions = []string{
	AskMQTT311, AskMQTT5, AskQoS0, AskQoS1, AskQoS2, AskRetained, AskWildcards, AskShared, AskSession,
	AskExpiry, AskPacket, AskReceiveMax, AskOffline, AskOffline0, AskInFlight, AskSlow, AskNagle, AskTerm,
	AskKill, AskGroups, AskHeaders, AskPayload, AskAbsent, AskRESP3, AskStreams, AskConfirms, AskMandatory,
	AskQuorum, AskRedelivery, AskLimit, AskReliability, AskSlowDrop, AskSlowBlock,
}
