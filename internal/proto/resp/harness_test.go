package resp

import (
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// What the tests of all protocols share.
var (
	step = prototest.Step
	says = prototest.Says
)

const (
	hello3 = "%2\r\n$5\r\nproto\r\n:3\r\n$7\r\nmodules\r\n*0\r\n"
	pong   = "+PONG\r\n"
)

// drain feeds in until more bytes would be needed.
func drain(s proto.Session, in string) (events []proto.Event, out string, err error) {
	events, answer, _, err := prototest.Feed(s, []byte(in))
	return events, string(answer), err
}

// accept lets a server with RESP3, or with RESP2 if the configuration says so, accept a client.
func accept(t testing.TB, c proto.Client, cfg *Config) {
	t.Helper()
	opening := string(c.Open(0, nil))
	in := hello3 + pong
	switch {
	case cfg.RESP2 && strings.Contains(opening, "SETNAME"):
		in = "+OK\r\n" + pong
	case cfg.RESP2:
		in = pong
	}
	events, _, err := drain(c, in)
	if err != nil || len(events) != 1 || events[0].Kind != proto.Ready {
		t.Fatalf("not accepted: %+v, %v", events, err)
	}
}

func accepted(t testing.TB, cfg *Config) *PubSub {
	t.Helper()
	c := NewPubSub(cfg, "")
	accept(t, c, cfg)
	return c
}

// words encodes a command.
func words(w ...string) string { return string(appendCommand(nil, w...)) }
