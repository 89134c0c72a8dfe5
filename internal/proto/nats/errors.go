package nats

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// serverError is an -ERR of the server in words.
type serverError struct {
	text         string
	fatal        bool // the server closes the connection
	subscription bool // it refuses a SUB
}

func (e *serverError) Error() string {
	s := "nats: server: " + string(shorten([]byte(e.text)))
	if h := hint(e.text); h != "" {
		s += ": " + h
	}
	return s
}

// hint says what to do about an -ERR that does not explain itself. The texts are those of nats-server; their spelling
// differs in case between versions.
func hint(text string) string {
	switch strings.ToLower(text) {
	case "authorization violation":
		return "user, password or token are missing or wrong"
	case "authentication timeout":
		return "the CONNECT came too late"
	case "maximum payload violation":
		return "a message was larger than the server's max_payload"
	case "slow consumer":
		return "this client read too slowly and was cut off"
	case "stale connection":
		return "this client did not answer the server's PINGs"
	case "secure connection - tls required":
		return "use tls://"
	}
	return ""
}

// parseErr reads the argument of -ERR. By the protocol the server closes the connection after every error but those of
// permission, subject and subscription limits.
func parseErr(args []byte) *serverError {
	text := string(bytes.Trim(args, "' \t"))
	e := &serverError{text: text, fatal: true}
	lower := strings.ToLower(text)
	switch {
	case strings.HasPrefix(lower, "permissions violation for subscription"),
		lower == "invalid subject",
		lower == "maximum subscriptions exceeded":
		e.fatal, e.subscription = false, true
	case strings.HasPrefix(lower, "permissions violation"), lower == "invalid publish subject":
		e.fatal = false
	}
	return e
}

// refuses reports whether e answers the subscription with this sid. Some servers name the sid when they withdraw an older
// subscription.
func (e *serverError) refuses(sid uint64) bool {
	if !e.subscription {
		return false
	}
	_, after, named := strings.Cut(e.text, `(sid "`)
	return !named || strings.HasPrefix(after, strconv.FormatUint(sid, 10)+`"`)
}

func errUnexpected(o op, line []byte) error {
	if o == opUnknown {
		return fmt.Errorf("nats: unknown operation %q", shorten(line))
	}
	return fmt.Errorf("nats: unexpected %s", o)
}
