package amqp091

import (
	"fmt"
	"strings"
)

// ReasonError is a refusal by the peer, with a reply code.
type ReasonError struct {
	What   string // what was refused or ended, as a sentence's start: "broker closed the channel"
	Code   uint16 // as on the wire
	Text   string // the peer's own explanation; may be empty
	Method string // the method that caused it, such as queue.bind; empty = not said
}

func (e *ReasonError) Error() string {
	r := reasons[e.Code]
	name := r.name
	if name == "" {
		name = "unknown reason"
	}
	s := fmt.Sprintf("amqp091: %s: %s (%d)", e.What, name, e.Code)
	if r.words != "" {
		s += ": " + r.words
	}
	if text := strings.TrimPrefix(e.Text, name+" - "); text != "" && text != name {
		s += fmt.Sprintf(": %.200q", text)
	}
	if e.Method != "" {
		s += " in answer to " + e.Method
	}
	return s
}

// Temporary tells whether trying again may help.
func (e *ReasonError) Temporary() bool {
	return e.Code == replyForced || e.Code == replyResource || e.Code == replyInternal
}

// Reply codes that the sessions use or look for (§1.5.2.5 of the list of methods).
const (
	replySuccess         = 200
	replyNoRoute         = 312
	replyForced          = 320
	replyAccessRefused   = 403
	replyPrecondition    = 406
	replyFrameError      = 501
	replyCommandInvalid  = 503
	replyChannelError    = 504
	replyUnexpectedFrame = 505
	replyResource        = 506
	replyNotAllowed      = 530
	replyNotImplemented  = 540
	replyInternal        = 541
)

var reasons = map[uint16]struct{ name, words string }{
	replySuccess:         {"REPLY_SUCCESS", "it said goodbye"},
	311:                  {"CONTENT_TOO_LARGE", "the message is too large"},
	replyNoRoute:         {"NO_ROUTE", "unroutable: no queue is bound for its routing key"},
	313:                  {"NO_CONSUMERS", "no consumer is ready for it"},
	replyForced:          {"CONNECTION_FORCED", "an operator or a shutdown ended the connection"},
	402:                  {"INVALID_PATH", "the virtual host is unknown"},
	replyAccessRefused:   {"ACCESS_REFUSED", "not authorized"},
	404:                  {"NOT_FOUND", "exchange or queue does not exist"},
	405:                  {"RESOURCE_LOCKED", "another connection owns it exclusively"},
	replyPrecondition:    {"PRECONDITION_FAILED", "it exists with other settings, or a limit forbids it"},
	replyFrameError:      {"FRAME_ERROR", "it could not decode a frame"},
	502:                  {"SYNTAX_ERROR", "it could not decode a method"},
	replyCommandInvalid:  {"COMMAND_INVALID", "a method came out of sequence"},
	replyChannelError:    {"CHANNEL_ERROR", "the channel is not open, or is open already"},
	replyUnexpectedFrame: {"UNEXPECTED_FRAME", "a frame came out of sequence"},
	replyResource:        {"RESOURCE_ERROR", "it lacks resources"},
	replyNotAllowed:      {"NOT_ALLOWED", "this user or virtual host does not permit it"},
	replyNotImplemented:  {"NOT_IMPLEMENTED", "it does not have this feature"},
	replyInternal:        {"INTERNAL_ERROR", "it failed"},
}

// BlockedError tells that the broker takes no messages because it lacks memory or disk (connection.blocked). It ends
// with connection.unblocked; nothing is wrong with the network.
type BlockedError struct {
	Reason string // as the broker gave it
}

func (e *BlockedError) Error() string {
	return fmt.Sprintf("amqp091: broker blocks publishers: resource alarm: %.200q", e.Reason)
}

// Temporary is always true.
func (e *BlockedError) Temporary() bool { return true }

// readClose decodes connection.close or channel.close; cause is the method that led to it, 0 = none.
func readClose(m method, r *reader, what string) (e *ReasonError, cause method, err error) {
	e = &ReasonError{What: what, Code: r.u16(), Text: string(r.shortStr())}
	cause = method(r.u32())
	if r.short {
		return nil, 0, errMalformed(m)
	}
	if cause != 0 {
		e.Method = cause.String()
	}
	return e, cause, nil
}

// appendClose appends connection.close (channel 0) or channel.close.
func appendClose(out []byte, channel uint16, code uint16, text string, cause method) []byte {
	m := connectionClose
	if channel != 0 {
		m = channelClose
	}
	out, start := beginMethod(out, channel, m)
	out = append(out, byte(code>>8), byte(code))
	out = appendShort(out, text[:min(len(text), 255)])
	out = append(out, byte(cause>>24), byte(cause>>16), byte(cause>>8), byte(cause))
	return endFrame(out, start)
}
