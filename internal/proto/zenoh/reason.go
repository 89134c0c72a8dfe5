package zenoh

import "fmt"

// CloseError is the goodbye of the peer, or its refusal to let us in.
type CloseError struct {
	Reason  byte
	Refused bool // before the connection was accepted
}

func (e *CloseError) Error() string {
	what := "the peer closes the session"
	if e.Refused {
		what = "the peer refuses the connection"
	}
	text := fmt.Sprintf("zenoh: %s: %s", what, reasonText(e.Reason))
	switch {
	case e.Refused && e.Reason == reasonGeneric: // routers say no more than that
		text += ": not authorised, or our handshake is not understood"
	case e.Refused && (e.Reason == reasonInvalid || e.Reason == reasonMaxSessions): // invalid is what routers of version 1.10 say
		text += ": perhaps there are as many sessions as the router allows (transport/unicast/max_sessions)"
	}
	return text
}

// Temporary tells whether trying again later can help.
func (e *CloseError) Temporary() bool {
	return e.Reason == reasonMaxSessions || e.Reason == reasonMaxLinks
}

// crowdedError is the end of a connection that the router closed without a word before it was accepted.
type crowdedError struct{ err error }

func (e *crowdedError) Error() string {
	return e.err.Error() + ": perhaps as many connections wait to be accepted as the router allows (transport/unicast/accept_pending)"
}

func (e *crowdedError) Unwrap() error { return e.err }

// Temporary tells that trying again later can help.
func (e *crowdedError) Temporary() bool { return true }

// Reasons of Close.
const (
	reasonGeneric     = 0
	reasonInvalid     = 2
	reasonMaxSessions = 3
	reasonMaxLinks    = 4
)

func reasonText(reason byte) string {
	texts := [...]string{
		"no reason given (0)", "not supported (1)", "invalid (2)", "too many sessions (3)", "too many links (4)", "lease expired (5)",
		"unresponsive (6)", "connection to itself (7)",
	}
	if int(reason) < len(texts) {
		return texts[reason]
	}
	return fmt.Sprintf("reason %d", reason)
}

// readClose reads a Close.
func readClose(r *reader, header byte, refused bool) *CloseError {
	reason := r.byte()
	r.extensions(header&flagExt != 0, 0)
	return &CloseError{Reason: reason, Refused: refused}
}

// appendClose appends the end of a session.
func appendClose(out []byte, reason byte) []byte {
	return append(out, 2, 0, idClose|flagSession, reason)
}
