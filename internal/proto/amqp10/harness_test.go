package amqp10

import (
	"slices"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

// pair is a client and a server that are connected.
type pair struct {
	client *Client
	server *Server
	heard  []byte // by the client during the handshake
	said   []byte // by the client during the handshake
}

// connect makes a pair of which the client is ready.
func connect(tb testing.TB, cfg *Config, serverCfg *ServerConfig) *pair {
	tb.Helper()
	if err := cfg.Validate(); err != nil {
		tb.Fatal(err)
	}
	p := &pair{client: NewClient(cfg, "c"), server: NewServer(serverCfg)}
	p.server.Open(0, nil)
	for up := p.client.Open(0, nil); len(up) > 0; {
		p.said = append(p.said, up...)
		_, down := feedAll(tb, p.server, up)
		p.heard = append(p.heard, down...)
		_, up = feedAll(tb, p.client, down)
	}
	if p.client.phase != ready {
		tb.Fatalf("the client has come to phase %d", p.client.phase)
	}
	return p
}

// exchange carries bytes of the client, and all answers, until nobody has more to say. It returns what was reported.
func (p *pair) exchange(tb testing.TB, up []byte) (atServer, atClient []proto.Event) {
	tb.Helper()
	for len(up) > 0 {
		events, down := feedAll(tb, p.server, up)
		atServer = append(atServer, events...)
		events, up = feedAll(tb, p.client, down)
		atClient = append(atClient, events...)
	}
	return atServer, atClient
}

// feedAll feeds whole units, and returns what was reported (copied) and the answers.
func feedAll(tb testing.TB, s proto.Session, in []byte) (events []proto.Event, out []byte) {
	tb.Helper()
	var ev proto.Event
	for len(in) > 0 {
		n, o, err := s.Feed(0, in, out, &ev)
		silent := ev.Kind == proto.None && ev.Err == nil
		if err != nil || (n == 0 && silent) {
			tb.Fatalf("Feed(%q) = %d, %v", in, n, err)
		}
		if !silent {
			ev.Topic, ev.Payload = slices.Clone(ev.Topic), slices.Clone(ev.Payload)
			events = append(events, ev)
		}
		in, out = in[n:], o
	}
	return events, out
}

// final feeds until an error ends the session.
func final(tb testing.TB, s proto.Session, in []byte) (events []proto.Event, out []byte, err error) {
	tb.Helper()
	var ev proto.Event
	for len(in) > 0 {
		n, o, err := s.Feed(0, in, out, &ev)
		if out = o; err != nil {
			return events, out, err
		}
		if n == 0 && ev.Kind == proto.None {
			break
		}
		if ev.Kind != proto.None || ev.Err != nil {
			events = append(events, ev)
		}
		in = in[n:]
	}
	tb.Fatalf("no error; %d bytes left", len(in))
	return nil, nil, nil
}

// says wants an error with these words.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v: want %q in it", err, w)
		}
	}
}

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

// publish encodes messages of these tokens.
func (p *pair) publish(tb testing.TB, qos uint8, tokens ...uint64) (out []byte) {
	tb.Helper()
	var err error
	for _, token := range tokens {
		m := proto.Message{Token: token, Topic: []byte("a.b"), Payload: []byte("hello"), QoS: qos}
		if out, err = p.client.Publish(&m, out); err != nil {
			tb.Fatal(err)
		}
	}
	return out
}

// subscribe makes a confirmed subscription.
func (p *pair) subscribe(tb testing.TB, s proto.Subscription) {
	tb.Helper()
	up, err := p.client.Subscribe(&s, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if _, events := p.exchange(tb, up); len(events) != 1 || events[0].Kind != proto.Subscribed || events[0].Err != nil {
		tb.Fatalf("reported %+v", events)
	}
}
