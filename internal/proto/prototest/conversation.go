package prototest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

// Conversation carries bytes between a client and a server in pieces, and compares what each side reports with what it must
// report because of what the other was asked to say.
type Conversation struct {
	T              *testing.T
	Client, Server proto.Session
	Up, Down       []byte // on their way to the server, to the client
	// Words puts a report into the words that it is expected in.
	Words func(atServer bool, ev *proto.Event) string
	// InOrder says that reports come in the order in which they were expected, and not only in that of their kind.
	InOrder bool

	atServer, atClient [proto.Closed + 1][]string // what must still be reported
}

// AtServer expects a report of the server.
func (c *Conversation) AtServer(kind proto.Kind, format string, args ...any) {
	c.expect(&c.atServer, kind, fmt.Sprintf(format, args...))
}

// AtClient expects a report of the client.
func (c *Conversation) AtClient(kind proto.Kind, format string, args ...any) {
	c.expect(&c.atClient, kind, fmt.Sprintf(format, args...))
}

func (c *Conversation) expect(side *[proto.Closed + 1][]string, kind proto.Kind, words string) {
	side[c.list(kind)] = append(side[c.list(kind)], fmt.Sprintf("%d %s", kind, words))
}

func (c *Conversation) list(kind proto.Kind) proto.Kind {
	if c.InOrder {
		return proto.None
	}
	return kind
}

// Settle carries everything until nobody has more to say.
func (c *Conversation) Settle() {
	c.T.Helper()
	for range 1000 {
		if len(c.Up)+len(c.Down) == 0 {
			return
		}
		c.Carry(len(c.Up), len(c.Down))
	}
	c.T.Fatalf("not understood: %q to the server, %q to the client", c.Up, c.Down)
}

// Carry lets each side see no more than so many bytes of what the other has sent.
func (c *Conversation) Carry(up, down int) {
	c.Up, c.Down = c.feed(c.Server, c.Up, min(up, len(c.Up)), c.Down)
	c.Down, c.Up = c.feed(c.Client, c.Down, min(down, len(c.Down)), c.Up)
}

// feed lets a side see the first bytes of in, and returns what it has not consumed and what it answers.
func (c *Conversation) feed(s proto.Session, in []byte, visible int, out []byte) (rest, o []byte) {
	var ev proto.Event
	for visible > 0 {
		n, o, err := s.Feed(0, in[:visible], out, &ev)
		if err != nil {
			c.T.Fatal(err)
		}
		out = o
		if n == 0 && ev.Kind == proto.None {
			break
		}
		c.reported(s == c.Server, &ev)
		in, visible = in[n:], visible-n
	}
	return in, out
}

func (c *Conversation) reported(atServer bool, ev *proto.Event) {
	if ev.Err != nil {
		c.T.Fatal(ev.Err)
	}
	if ev.Kind == proto.None {
		return
	}
	side := &c.atClient
	if atServer {
		side = &c.atServer
	}
	got := fmt.Sprintf("%d %s", ev.Kind, c.Words(atServer, ev))
	list := &side[c.list(ev.Kind)]
	if len(*list) == 0 || (*list)[0] != got {
		c.T.Fatalf("reported %.300s, expected first of %.300q", got, *list)
	}
	*list = (*list)[1:]
}

// Play carries out a program of instructions of two bytes each by do, and ends. An error of do ends the test.
func (c *Conversation) Play(program []byte, do func(what byte, n int) error) {
	c.T.Helper()
	for i := 0; i+1 < len(program); i += 2 {
		if err := do(program[i], int(program[i+1])); err != nil {
			c.T.Fatal(err)
		}
	}
	c.End()
}

// Filler is a payload of so many bytes, which n makes different from others.
func Filler(size, n int) []byte {
	payload := make([]byte, size)
	for i := range payload {
		payload[i] = byte(i * n)
	}
	return payload
}

// End settles, and fails if something was never reported.
func (c *Conversation) End() {
	c.T.Helper()
	c.Settle()
	for kind := range c.atServer {
		if len(c.atServer[kind])+len(c.atClient[kind]) > 0 {
			c.T.Errorf("never reported: %.200q at the server, %.200q at the client", c.atServer[kind], c.atClient[kind])
		}
	}
}

// FeedAll feeds whole units, and returns what was reported (copied) and the answers.
func FeedAll(tb testing.TB, s proto.Session, in []byte) (events []proto.Event, out []byte) {
	tb.Helper()
	events, out, left, err := Feed(s, in)
	if err != nil || left > 0 {
		tb.Fatalf("Feed(%q): %d bytes left, %v", in, left, err)
	}
	return events, out
}

// Step feeds one whole unit, and returns what was reported (valid until the next call of the session) and the answer.
func Step(tb testing.TB, s proto.Session, in string) (ev proto.Event, out string) {
	tb.Helper()
	n, o, err := s.Feed(0, []byte(in), nil, &ev)
	if err != nil || n != len(in) {
		tb.Fatalf("Feed(%q) = %d, %v", in, n, err)
	}
	return ev, string(o)
}

// Final feeds until an error ends the session, which it must.
func Final(tb testing.TB, s proto.Session, in []byte) (events []proto.Event, out []byte, err error) {
	tb.Helper()
	events, out, left, err := Feed(s, in)
	if err == nil {
		tb.Fatalf("no error; %d bytes left", left)
	}
	return events, out, err
}

// Line is a client and a server whose answers are carried at once.
type Line struct {
	Client, Server proto.Session
}

// Exchange carries bytes of the client, and all answers, until nobody has more to say. It returns what was reported, and all
// that was said.
func (l Line) Exchange(tb testing.TB, up []byte) (atServer, atClient []proto.Event, said, heard []byte) {
	tb.Helper()
	for len(up) > 0 {
		said = append(said, up...)
		events, down := FeedAll(tb, l.Server, up)
		atServer, heard = append(atServer, events...), append(heard, down...)
		events, up = FeedAll(tb, l.Client, down)
		atClient = append(atClient, events...)
	}
	return atServer, atClient, said, heard
}

// Feed feeds until an error ends the session or more bytes would be needed; left is how many were not consumed then. What was
// reported is copied.
func Feed(s proto.Session, in []byte) (events []proto.Event, out []byte, left int, err error) {
	for {
		var ev proto.Event
		n, o, err := s.Feed(0, in, out, &ev)
		silent := ev.Kind == proto.None && ev.Err == nil
		if !silent {
			ev.Topic, ev.Payload = slices.Clone(ev.Topic), slices.Clone(ev.Payload)
			events = append(events, ev)
		}
		out = o
		if err != nil || n == 0 && silent {
			return events, out, len(in), err
		}
		in = in[n:]
	}
}
