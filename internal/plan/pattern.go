package plan

import "strings"

// Patterns: who hears whom.
const (
	PatternPairs  = "pairs"  // subscriber n hears publisher n
	PatternFanout = "fanout" // every subscriber hears every publisher
	PatternFanin  = "fanin"  // one subscriber hears all publishers
	PatternShared = "shared" // each message goes to one of the subscribers
)

// Fan returns how many deliveries one message should cause.
func (p *Params) Fan() int {
	if p.Pattern == PatternFanout {
		return p.Subscribers
	}
	return 1
}

// Streams returns how many streams, from 0 on, subscriber n hears, and the first of them.
func (p *Params) Streams(n int) (first, count int) {
	if p.Pattern == PatternPairs {
		return n, 1
	}
	return 0, p.Publishers
}

// Forms of a payload, and how much of it is verified.
const (
	PayloadBinary = "binary"
	PayloadJSON   = "json"
	VerifyAll     = "all"
	VerifySample  = "sample"
)

// Protocols.
const (
	MQTT5        = "mqtt5"
	MQTT311      = "mqtt311"
	MQTT5WS      = "mqtt5+ws" // over WebSocket
	MQTT311WS    = "mqtt311+ws"
	NATS         = "nats"
	JetStream    = "jetstream"
	AMQP091      = "amqp091"
	AMQP10       = "amqp10"
	Redis        = "redis"         // pub/sub
	RedisStreams = "redis-streams" // consumer groups
	Zenoh        = "zenoh"         // messages are dropped at a congested link, as Zenoh does unless told
	ZenohBlock   = "zenoh-block"   // messages wait at a congested link
)

// webSocket is what follows the name of a protocol that is spoken over WebSocket.
const webSocket = "+ws"

// OverWebSocket takes the transport off a protocol's name, and tells whether it is WebSocket.
func OverWebSocket(protocol string) (base string, ws bool) {
	return strings.CutSuffix(protocol, webSocket)
}

// IsMQTT reports whether a protocol is MQTT, of any version and over any transport.
func IsMQTT(protocol string) bool {
	base, _ := OverWebSocket(protocol)
	return base == MQTT5 || base == MQTT311
}

// IsRedis reports whether a protocol is spoken by Redis servers.
func IsRedis(protocol string) bool { return protocol == Redis || protocol == RedisStreams }

// Storages of a JetStream stream.
const (
	StorageFile   = "file"
	StorageMemory = "memory"
)

// Engines.
const (
	EngineAuto      = "auto"
	EngineLoop      = "loop"
	EngineGoroutine = "goroutine"
)

// Pacings.
const (
	PacingConstant = "constant"
	PacingPoisson  = "poisson"
)

// How event loops send.
const (
	SendRing  = "io_uring"
	SendWrite = "write"
)

// What is written together.
const (
	WritesMessage = "message" // each message alone
	WritesBatch   = "batch"   // all that a connection has to send
)

// Quanta: how finely the schedule is kept, unless it is a duration.
const (
	QuantumAuto    = "auto"    // precise at low rates
	QuantumPrecise = "precise" // wait, then spin
)
