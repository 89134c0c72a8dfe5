package amqp10

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// What the tests of all protocols share.
var (
	feedAll = prototest.FeedAll
	says    = prototest.Says
	final   = prototest.Final
)

// pair is a client and a server that are connected.
type pair struct {
	client *Client
	server *Server
	heard  []byte // by the client during the handshake
	said   []byte // by the client during the handshake
}

func (p *pair) line() prototest.Line { return prototest.Line{Client: p.client, Server: p.server} }

// connect makes a pair of which the client is ready.
func connect(tb testing.TB, cfg *Config, serverCfg *ServerConfig) *pair {
	tb.Helper()
	if err := cfg.Validate(); err != nil {
		tb.Fatal(err)
	}
	p := &pair{client: NewClient(cfg, "c"), server: NewServer(serverCfg)}
	p.server.Open(0, nil)
	_, _, p.said, p.heard = p.line().Exchange(tb, p.client.Open(0, nil))
	if p.client.phase != ready {
		tb.Fatalf("the client has come to phase %d", p.client.phase)
	}
	return p
}

// exchange carries bytes of the client, and all answers, and returns what was reported.
func (p *pair) exchange(tb testing.TB, up []byte) (atServer, atClient []proto.Event) {
	tb.Helper()
	atServer, atClient, _, _ = p.line().Exchange(tb, up)
	return atServer, atClient
}

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

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

type symbol string

// raw is a frame; byte slices are encoded values already.
func raw(what performative, args ...any) []byte {
	out, start := beginFrame(nil, what)
	for _, a := range args {
		switch v := a.(type) {
		case nil:
			out = append(out, codeNull)
		case bool:
			out = appendBool(out, v)
		case uint8:
			out = append(out, codeUByte, v)
		case uint16:
			out = append(out, codeUShort, byte(v>>8), byte(v))
		case int:
			out = appendUint(out, uint32(v))
		case uint64:
			out = appendULong(out, v)
		case string:
			out = appendText(out, codeString8, v)
		case symbol:
			out = appendText(out, codeSymbol8, v)
		case []byte:
			out = append(out, v...)
		default:
			panic("raw: unknown type")
		}
	}
	return endFrame(out, start, len(args))
}

// with puts a payload behind a frame.
func with(frame []byte, payload ...[]byte) []byte {
	frame = join(frame, join(payload...))
	binary.BigEndian.PutUint32(frame, uint32(len(frame)))
	return frame
}

// described is an encoded described list.
func described(kind byte, args ...any) []byte {
	list := raw(performative(kind), args...)
	return list[frameHead:]
}

// failure is an encoded error.
func failure(condition, text string) []byte { return described(typeError, symbol(condition), text) }

// section is an encoded section of a message with one value.
func section(kind byte, value []byte) []byte {
	return append([]byte{codeDescribed, codeULSmall, kind}, value...)
}

// data is a data section.
func data(body string) []byte { return section(sectionData, appendText(nil, codeBinary8, body)) }

// opening are what a broker says until the client has begun.
func opening(open []byte) []byte {
	return join([]byte(headerSASL), appendMechanisms(nil, "PLAIN"), appendOutcome(nil, 0), []byte(headerAMQP), open,
		raw(doBegin, uint16(0), 0, 100, 100))
}

// dial makes a client that is ready, and has heard from no server of ours.
func dial(t testing.TB, cfg *Config) *Client {
	t.Helper()
	c := NewClient(cfg, "c")
	c.Open(0, nil)
	events, _ := feedAll(t, c, opening(raw(doOpen, "broker")))
	if len(events) != 1 || events[0].Kind != proto.Ready {
		t.Fatalf("reported %+v", events)
	}
	return c
}

// attachedAs is the broker's attach that answers ours of this name, with our handle as its own.
func attachedAs(name string, handle int, receives bool, mode int, max uint64) []byte {
	end := described(typeSource, "address")
	other := described(typeTarget, "address")
	return raw(doAttach, name, handle, receives, uint8(mode), uint8(0), end, other, nil, nil, 0, max)
}

// credit is the broker's flow for a link of ours.
func credit(handle, delivered, credit int) []byte {
	return raw(doFlow, 0, 1000, 0, 1000, handle, delivered, credit)
}
