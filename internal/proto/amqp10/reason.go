package amqp10

import (
	"errors"
	"fmt"
)

// ReasonError is a refusal by the peer, with an error condition.
type ReasonError struct {
	What      string // what was refused or ended, as a sentence's start: "broker ended the session"
	Condition string // as on the wire, such as amqp:not-found; empty = none was given
	Text      string // the peer's own explanation; may be empty
}

func (e *ReasonError) Error() string {
	s := "amqp10: " + e.What
	if e.Condition == "" {
		return s + " without a reason"
	}
	s += fmt.Sprintf(": %.100s", e.Condition)
	if words := conditions[e.Condition]; words != "" {
		s += ": " + words
	}
	if e.Text != "" {
		s += fmt.Sprintf(": %.200q", e.Text)
	}
	return s
}

// Temporary tells whether trying again may help.
func (e *ReasonError) Temporary() bool {
	switch e.Condition {
	case condForced, condResource, condInternal, condDetachForced:
		return true
	}
	return false
}

// Error conditions that the sessions use or look for (§2.8.15 to §2.8.18).
const (
	condInternal     = "amqp:internal-error"
	condNotFound     = "amqp:not-found"
	condUnauthorized = "amqp:unauthorized-access"
	condResource     = "amqp:resource-limit-exceeded"
	condNotAllowed   = "amqp:not-allowed"
	condInvalidField = "amqp:invalid-field"
	condForced       = "amqp:connection:forced"
	condFraming      = "amqp:connection:framing-error"
	condDetachForced = "amqp:link:detach-forced"
	condTooLarge     = "amqp:link:message-size-exceeded"
)

var conditions = map[string]string{
	condInternal:                        "it failed",
	condNotFound:                        "the address does not exist",
	condUnauthorized:                    "not authorized",
	"amqp:decode-error":                 "it could not decode what it was sent",
	condResource:                        "it lacks resources, or a limit was reached",
	condNotAllowed:                      "this is not permitted",
	condInvalidField:                    "it does not accept a setting or an address",
	"amqp:not-implemented":              "it does not have this feature",
	"amqp:resource-locked":              "another connection owns it exclusively",
	"amqp:precondition-failed":          "it exists with other settings, or a limit forbids it",
	"amqp:resource-deleted":             "what the link was attached to was deleted",
	"amqp:illegal-state":                "this came out of sequence",
	"amqp:frame-size-too-small":         "its frames would have to be larger",
	condForced:                          "an operator or a shutdown ended the connection",
	condFraming:                         "it could not make out a frame",
	"amqp:connection:redirect":          "it wants us to go to another address",
	"amqp:session:window-violation":     "more frames were sent than the session window allowed",
	"amqp:session:errant-link":          "a link that was detached was used",
	"amqp:session:handle-in-use":        "a link handle was used twice",
	"amqp:session:unattached-handle":    "a link handle was used that is not attached",
	condDetachForced:                    "an operator ended the link",
	"amqp:link:transfer-limit-exceeded": "more messages were sent than the link credit allowed",
	condTooLarge:                        "the message is too large",
	"amqp:link:redirect":                "it wants us to go to another address",
	"amqp:link:stolen":                  "another connection took over the link: same container and link name",
}

// readError takes an error from a field; nil if it is null.
func readError(f *fields, what string) *ReasonError {
	v := f.next()
	if v.null() {
		return nil
	}
	e := &ReasonError{What: what}
	list, ok := v.fields()
	if !ok || v.descriptor != typeError {
		f.bad = true
		return e
	}
	e.Condition, e.Text = string(list.text()), string(list.text())
	f.bad = f.bad || list.bad
	return e
}

// appendError appends an error, or null if there is no condition.
func appendError(out []byte, condition, text string) []byte {
	if condition == "" {
		return append(out, codeNull)
	}
	out, start := beginList(out, typeError)
	out = appendText(out, codeSymbol8, condition)
	out = appendText(out, codeString8, text)
	return endList(out, start, 2)
}

// Outcomes of a message other than accepted (§3.4).
var (
	errReleased  = errors.New("amqp10: broker released the message: it was not and will not be acted upon")
	errModified  = errors.New("amqp10: broker returned the message (modified): it was not acted upon")
	errNoOutcome = errors.New("amqp10: broker settled the message without saying what became of it")
)

// outcome puts the state of a disposition into words. final = false if the state is not an outcome.
func outcome(state *value) (final bool, err error) {
	if state.null() {
		return false, errNoOutcome
	}
	switch list, ok := state.fields(); {
	case !state.described || !ok:
		return false, errMalformed(doDisposition)
	case state.descriptor == typeAccepted:
		return true, nil
	case state.descriptor == typeReleased:
		return true, errReleased
	case state.descriptor == typeModified:
		return true, errModified
	case state.descriptor == typeRejected:
		if e := readError(&list, "broker rejected the message"); e != nil {
			return true, e
		}
		return true, &ReasonError{What: "broker rejected the message"}
	}
	return false, errNoOutcome
}

// saslOutcomes are the codes of sasl-outcome (§5.3.3.6).
var saslOutcomes = []string{
	1: "not authorized: user name or password is wrong",
	2: "its authentication system failed",
	3: "its authentication system failed for good",
	4: "its authentication system failed for now",
}

func errSASL(code uint64, mechanism string) error {
	words := "unknown reason"
	if code < uint64(len(saslOutcomes)) {
		words = saslOutcomes[code]
	}
	return fmt.Errorf("amqp10: broker refused the connection: SASL %s failed (%d): %s", mechanism, code, words)
}
