package mqtt

import "fmt"

// ReasonError is a refusal by the peer.
type ReasonError struct {
	What  string // what was refused, as a sentence's start: "broker refused the connection"
	Code  byte   // as on the wire
	Words string // what Code means in the version spoken
	Text  string // the peer's own explanation (MQTT 5 reason string, or the server it points to); may be empty
}

func (e *ReasonError) Error() string {
	s := fmt.Sprintf("mqtt: %s: %s (0x%02X)", e.What, e.Words, e.Code)
	if e.Text != "" {
		s += fmt.Sprintf(": %.200q", e.Text)
	}
	return s
}

// Temporary tells whether trying again later may help: the broker is busy or not up yet, or did not say why it turned us away.
func (e *ReasonError) Temporary() bool {
	switch e.Code {
	case reasonNone, reasonUnspecified, reasonImplementation, reasonUnavailable, reasonBusy:
		return e.What == refusedConnection
	case returnUnavailable:
		return true
	}
	return false
}

// reasonError puts a reason code into words. All reason codes of 0x80 and above belong to MQTT 5, except for the
// 0x80 of a SUBACK of 3.1.1, which has the same meaning.
func reasonError(what string, code byte, text string) *ReasonError {
	words := reasons[code]
	if words == "" {
		words = "unknown reason"
	}
	return &ReasonError{What: what, Code: code, Words: words, Text: text}
}

// returnError puts a CONNACK return code of 3.1.1 into words (3.1.1 §3.2.2.3).
func returnError(code byte) *ReasonError {
	words := "unknown return code"
	if int(code) < len(returnCodes) {
		words = returnCodes[code]
	}
	return &ReasonError{What: refusedConnection, Code: code, Words: words}
}

// Reason codes that the sessions use or look for.
const (
	reasonNone           = 0x00
	reasonNoSubscription = 0x11
	reasonUnspecified    = 0x80
	reasonImplementation = 0x83 // Artemis, when it is overloaded
	reasonUnavailable    = 0x88
	reasonBusy           = 0x89
	reasonShuttingDown   = 0x8B
	reasonIDInUse        = 0x91
	reasonIDNotFound     = 0x92
	reasonNoShared       = 0x9E
)

// returnUnavailable is the return code of 3.1.1 for a broker that cannot take anybody now.
const returnUnavailable = 3

const refusedConnection = "broker refused the connection"

var returnCodes = [...]string{
	0: "accepted",
	1: "unacceptable protocol version",
	2: "client identifier rejected",
	3: "server unavailable",
	4: "bad user name or password",
	5: "not authorized",
}

// reasons is the table of §2.4. Codes below 0x80 are no errors.
var reasons = [256]string{
	0x00: "success",
	0x01: "granted QoS 1",
	0x02: "granted QoS 2",
	0x04: "disconnect with will message",
	0x10: "no matching subscribers",
	0x11: "no subscription existed",
	0x18: "continue authentication",
	0x19: "re-authenticate",
	0x80: "unspecified error",
	0x81: "malformed packet",
	0x82: "protocol error",
	0x83: "implementation specific error",
	0x84: "unsupported protocol version",
	0x85: "client identifier not valid",
	0x86: "bad user name or password",
	0x87: "not authorized",
	0x88: "server unavailable",
	0x89: "server busy",
	0x8A: "banned",
	0x8B: "server shutting down",
	0x8C: "bad authentication method",
	0x8D: "keep alive timeout",
	0x8E: "session taken over",
	0x8F: "topic filter invalid",
	0x90: "topic name invalid",
	0x91: "packet identifier in use",
	0x92: "packet identifier not found",
	0x93: "receive maximum exceeded",
	0x94: "topic alias invalid",
	0x95: "packet too large",
	0x96: "message rate too high",
	0x97: "quota exceeded",
	0x98: "administrative action",
	0x99: "payload format invalid",
	0x9A: "retain not supported",
	0x9B: "QoS not supported",
	0x9C: "use another server",
	0x9D: "server moved",
	0x9E: "shared subscriptions not supported",
	0x9F: "connection rate exceeded",
	0xA0: "maximum connect time",
	0xA1: "subscription identifiers not supported",
	0xA2: "wildcard subscriptions not supported",
}
