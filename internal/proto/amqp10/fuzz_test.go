package amqp10

import (
	"fmt"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// said is what was sent, protocol headers and dispositions apart.
func said(out []byte) (words string) {
	var f frame
	for len(out) > 0 {
		if string(out[:4]) == headerAMQP[:4] {
			out = out[8:]
			continue
		}
		n, err := cutFrame(out, 1<<31, &f)
		if n == 0 || err != nil {
			return words + fmt.Sprintf("nonsense: %q, %v", out, err)
		}
		if f.what != doDisposition {
			words += fmt.Sprintf("%q ", out[:n])
		}
		out = out[n:]
	}
	return words
}

// react does what makes more answers possible.
func react(s proto.Session, ev *proto.Event, out []byte) []byte {
	switch s := s.(type) {
	case *Client:
		if ev.Kind == proto.Ready {
			for token := range uint64(4) {
				out, _ = s.Subscribe(&proto.Subscription{Topic: "a", Token: token, QoS: uint8(token % 2)}, out)
				out, _ = s.Publish(&proto.Message{Topic: []byte("a"), Token: token, QoS: uint8(token % 2), Payload: make([]byte, 700)}, out)
			}
		}
	case *Server:
		if ev.Kind == proto.Delivered {
			out, _ = s.Publish(&proto.Message{Topic: ev.Topic, Payload: ev.Payload, Sub: 1}, out)
			out, _ = s.Publish(&proto.Message{Topic: ev.Topic, Payload: ev.Payload, Sub: 2, QoS: 1, Token: 5}, out)
		}
	}
	return out
}

// however checks that the way bytes arrive in does not matter.
var however = prototest.Cut{React: react, Said: said}

func FuzzClientFeed(f *testing.F) {
	fixed := &Config{Target: Terminus{Address: "x"}, Source: Terminus{Address: "{topic}"}, FrameMax: minFrame, SessionWindow: 3}
	each := &Config{Target: Terminus{Address: "{topic}"}, Source: Terminus{Address: "{topic}"}, Credit: 2, AckEvery: 2}
	hello := opening(raw(doOpen, "broker", nil, 512, 0, 1000))
	links := join(attachedAs("r0", 0, false, modeSettled, 0), attachedAs("s1", 1, true, modeMixed, 0), credit(1, 0, 10),
		attachedAs("r2", 2, false, modeUnsettled, 0))
	refusal := raw(doDetach, 0, true, failure(condNotFound, "no"))
	part := func(id int, more bool, payload string) []byte {
		return with(raw(doTransfer, 2, id, []byte{codeBinary8, 0}, 0, false, more), []byte(payload))
	}
	body := string(join(section(sectionHeader, []byte{codeList8, 2, 1, codeTrue}), data("hello"), data("there")))
	for _, in := range [][]byte{
		join(links, incoming(0, true, 10), incoming(1, false, 300), part(2, true, body[:9]), appendEmptyFrame(nil), part(2, false, body[9:])),
		join(links, raw(doDisposition, true, 0, 3, true, described(typeAccepted)), raw(doFlow, 0, 100, 0, 100, nil, nil, nil, nil, false, true)),
		join(links, raw(doDisposition, true, 1, nil, false, described(typeRejected, failure(condTooLarge, "x")))),
		join(links, refusal, raw(doEnd, failure(condUnauthorized, "x"))), join(links, raw(doClose, failure(condForced, "x"))),
		join(raw(doAttach, "r0", 0, false, nil, nil, nil, nil), refusal, raw(doAttach, "s1", 1, true), raw(doDetach, 1, true)),
		join(links, with(raw(doTransfer, 0, 1, nil, nil, true), section(sectionValue, []byte{codeString8, 1, 'x'}), section(sectionFooter, []byte{codeList0}))),
		[]byte("AMQP\x00\x00\x09\x01"), []byte("HTTP/1.1 400\r\n"),
		{0, 0, 0, 9, 2, 0, 0, 0, 0},
	} {
		f.Add(in, uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		for _, cfg := range []*Config{fixed, each} {
			however.Same(t, func() proto.Session { return NewClient(cfg, "c") }, in, seed)
			however.Same(t, func() proto.Session { return NewClient(cfg, "c") }, join(hello, in), seed)
		}
	})
}

func FuzzServerFeed(f *testing.F) {
	hello := connect(f, &Config{FrameMax: minFrame, Mechanism: "ANONYMOUS"}, &ServerConfig{}).said
	source, target := described(typeSource, "a"), described(typeTarget, "b")
	receiver := join(raw(doAttach, "r", 5, true, nil, nil, source, target), credit(5, 0, 3),
		raw(doAttach, "q", 6, true, uint8(modeUnsettled), nil, source, target), credit(6, 0, 3))
	sender := raw(doAttach, "s", 0, false, nil, nil, source, target, nil, nil, 0)
	for _, in := range [][]byte{
		join(receiver, sender, incoming(0, true, 10), incoming(1, false, 40), raw(doDisposition, true, 0, 9, true, described(typeAccepted))),
		join(sender, incoming(0, true, 200)), join(receiver, raw(doFlow, 0, 9, 0, 9, 5, 0, 9, nil, true, true)),
		join(raw(doAttach, "r", 1, true), raw(doDetach, 1, true), receiver, raw(doDetach, 5, true), raw(doEnd), raw(doBegin, nil, 0, 9, 9), sender),
		join(receiver, raw(doClose, failure(condInternal, "x"))), join(sender, sender),
		[]byte("AMQP\x00\x00\x09\x01"), []byte("GET / HTTP/1.1\r\n"), []byte(headerAMQP),
	} {
		f.Add(in, uint64(1))
	}
	cfg := &ServerConfig{MaxMessage: 100, FrameMax: minFrame, Credit: 3, ConfirmEvery: 2}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		however.Same(t, func() proto.Session { return NewServer(cfg) }, in, seed)
		however.Same(t, func() proto.Session { return NewServer(cfg) }, join(hello, in), seed)
	})
}

// FuzzValue: whatever is decoded lies inside the input, and decoding always comes to an end.
func FuzzValue(f *testing.F) {
	f.Add(described(typeSource, "a", 1, nil, true, uint64(1)<<40, symbol("x")))
	f.Add(appendSymbols(nil, []string{"a", "bc"}))
	f.Add([]byte{0, 0, codeULSmall, 1, codeNull})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := reader{rest: in}
		for len(r.rest) > 0 {
			before := len(r.rest)
			v := r.value()
			if len(r.rest) >= before || len(v.data) > before {
				t.Fatalf("%d bytes left of %d, value of %d", len(r.rest), before, len(v.data))
			}
			if names, ok := v.symbols(); ok && len(names) > before {
				t.Fatalf("%d symbols in %d bytes", len(names), before)
			}
			list, _ := v.fields()
			for list.left > 0 && !list.bad {
				list.number(0)
			}
		}
	})
}
