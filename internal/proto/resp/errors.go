package resp

import (
	"bytes"
	"strings"
)

// ServerError is an error reply of the server, in words.
type ServerError struct {
	Code string // the first word, in capitals: NOPERM, OOM, ERR, …
	Text string // all of it
}

func (e *ServerError) Error() string {
	s := "redis: server: " + e.Text
	if h := e.hint(); h != "" {
		s += ": " + h
	}
	return s
}

// Temporary tells whether trying again later can help.
func (e *ServerError) Temporary() bool {
	switch e.Code {
	case "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY":
		return true
	}
	return false
}

// hint says what to do about an error that does not explain itself. Codes and texts are those of redis-server.
func (e *ServerError) hint() string {
	switch e.Code {
	case "NOAUTH":
		return "not authorised: the server asks for a user or password"
	case "WRONGPASS":
		return "not authorised: user or password are wrong"
	case "NOPERM":
		return "not authorised: the ACL of this user does not allow it"
	case "DENIED":
		return "the server is in protected mode: it has no password and accepts only local clients"
	case "LOADING":
		return "the server is still reading its data: try again later"
	case "MASTERDOWN":
		return "the server is a replica without its master: try again later"
	case "BUSY":
		return "a script blocks the server: try again later"
	case "MISCONF":
		return "the server refuses writes because it cannot save its data (stop-writes-on-bgsave-error)"
	case "OOM":
		return "the server's maxmemory is used up"
	case "READONLY":
		return "the server is a replica: write to its master"
	case "MOVED", "ASK":
		return "the server is part of a cluster and another node holds this key"
	case "WRONGTYPE":
		return "the key holds something else than a stream"
	case "NOGROUP", "UNBLOCKED":
		return "the stream or its consumer group was deleted"
	}
	switch {
	case e.Text == "ERR max number of clients reached":
		return "raise the server's maxclients"
	case strings.HasPrefix(e.Text, "ERR Protocol error: invalid bulk length"):
		return "a message was larger than the server's proto-max-bulk-len"
	case strings.HasPrefix(e.Text, "ERR AUTH <password> called without any password"):
		return "not authorised: the server has no password for the default user"
	}
	return ""
}

// fatal tells that the server closes the connection after this error.
func (e *ServerError) fatal() bool {
	return e.Code == "DENIED" || strings.HasPrefix(e.Text, "ERR Protocol error") ||
		e.Text == "ERR max number of clients reached"
}

// refusesRESP3 tells that the server knows no HELLO, or no version 3.
func (e *ServerError) refusesRESP3() bool {
	return e.Code == "NOPROTO" || strings.HasPrefix(e.Text, "ERR unknown command")
}

// busyGroup tells that a consumer group exists already.
func (e *ServerError) busyGroup() bool { return e.Code == "BUSYGROUP" }

// parseError reads the text of an error reply. It is called only when something went wrong, so it may allocate.
func parseError(text []byte) *ServerError {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	s := strings.TrimRight(string(shorten(line)), ". \r")
	code, _, _ := strings.Cut(s, " ")
	return &ServerError{Code: code, Text: s}
}
