package amqp10

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

// subscribed is a client with subscriptions of QoS 0 and 1, tokens 10 and 11, on handles 0 and 1; the broker has the
// handles 5 and 4.
func subscribed(t testing.TB, cfg *Config) *Client {
	t.Helper()
	cfg.Source.Address = "q/{topic}"
	c := dial(t, cfg)
	for qos := range uint8(2) {
		up, err := c.Subscribe(&proto.Subscription{Token: 10 + uint64(qos), Topic: fmt.Sprint("t", qos), QoS: qos}, nil)
		if err != nil || !strings.Contains(string(up), fmt.Sprint("q/t", qos)) {
			t.Fatalf("%q, %v", up, err)
		}
	}
	events, _ := feedAll(t, c, join(attachedAs("r1", 4, false, modeUnsettled, 0), attachedAs("r0", 5, false, modeSettled, 0)))
	if len(events) != 2 || events[0].Token != 11 || events[0].QoS != 1 || events[1].Token != 10 {
		t.Fatalf("reported %+v", events)
	}
	return c
}

// part is a transfer of the broker; more tells that it goes on.
func part(handle, id int, settled, more bool, payload ...[]byte) []byte {
	return with(raw(doTransfer, handle, id, []byte{codeBinary8, 1, byte(id)}, 0, settled, more), payload...)
}

func TestDelivered(t *testing.T) {
	c := subscribed(t, &Config{})
	whole := join(section(sectionHeader, []byte{codeList8, 2, 1, codeTrue}), data("in pieces"))
	cancelled := raw(doTransfer, 5, nil, nil, nil, nil, false, nil, nil, nil, true)
	events, down := feedAll(t, c, join(
		part(5, 0, true, false, data("hello")),
		part(5, 1, true, true, whole[:7]), part(4, 2, false, true, whole[:1]), part(5, 1, true, true),
		with(raw(doTransfer, 4, nil, nil, nil, nil, false), whole[1:]), appendEmptyFrame(nil), part(5, 1, true, false, whole[7:]),
		part(5, 3, true, true, data("never")), cancelled, part(5, 4, false, true, whole[:3]),
		with(raw(doTransfer, 5, nil, nil, nil, true), whole[3:]))) // settled only at its end
	var got []string
	for _, ev := range events {
		got = append(got, fmt.Sprintf("%d %d %d %s %s", ev.Kind, ev.Token, ev.QoS, ev.Topic, ev.Payload))
	}
	want := []string{"4 10 0 t0 hello", "4 11 1 t1 in pieces", "4 10 0 t0 in pieces", "4 10 0 t0 in pieces"}
	if !slices.Equal(got, want) {
		t.Errorf("reported %q, want %q", got, want)
	}
	if want := appendDisposition(nil, true, 2, 2); !slices.Equal(down, want) {
		t.Errorf("answered %q, want %q", down, want)
	}
}

func TestMessages(t *testing.T) {
	list := func(kind byte, args ...any) []byte { return described(kind, args...) }
	for name, m := range map[string]struct {
		message        []byte
		topic, payload string
		again          bool
	}{
		"no body":         {nil, "t", "", false},
		"data":            {data("x"), "t", "x", false},
		"two data":        {join(data("x"), data(""), data("yz")), "t", "xyz", false},
		"long data":       {section(sectionData, appendText(nil, codeBinary8, strings.Repeat("x", 300))), "t", strings.Repeat("x", 300), false},
		"string":          {section(sectionValue, []byte{codeString8, 1, 'x'}), "t", "x", false},
		"null":            {section(sectionValue, []byte{codeNull}), "t", "", false},
		"number":          {section(sectionValue, []byte{codeUint, 0, 0, 0, 'A'}), "t", "\x00\x00\x00A", false},
		"sequence":        {section(sectionSequence, []byte{codeList8, 4, 1, codeBinary8, 1, 'x'}), "t", "x", false},
		"two in sequence": {section(sectionSequence, []byte{codeList8, 3, 2, codeTrue, codeTrue}), "t", "\x02\x41\x41", false},
		"subject":         {join(list(sectionProperties, nil, nil, "to", "subject"), data("x")), "subject", "x", false},
		"to":              {join(list(sectionProperties, "id", nil, "to"), data("x")), "to", "x", false},
		"delivered twice": {join(list(sectionHeader, true, nil, nil, nil, 2), data("x")), "t", "x", true},
		"acquired before": {join(list(sectionHeader, true, nil, nil, false), data("x")), "t", "x", true},
		"acquired first":  {join(list(sectionHeader, true, nil, nil, true, 0), data("x")), "t", "x", false},
		"all": {join(list(sectionHeader), section(0x71, []byte{codeNull}), section(0x72, []byte{0xC1, 1, 0}), list(sectionProperties),
			section(0x74, []byte{0xC1, 1, 0}), data("x"), section(sectionFooter, []byte{0xC1, 1, 0})), "t", "x", false},
		"long descriptor": {[]byte{0, codeULong, 0, 0, 0, 0, 0, 0, 0, sectionData, codeBinary8, 1, 'x'}, "t", "x", false},
	} {
		var ev proto.Event
		if err := (&link{topic: []byte("t")}).readMessage(m.message, &ev); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if string(ev.Topic) != m.topic || string(ev.Payload) != m.payload || ev.Redelivered != m.again {
			t.Errorf("%s: %q on %q, again %v", name, ev.Payload, ev.Topic, ev.Redelivered)
		}
	}
	for name, message := range map[string][]byte{
		"not described":       {codeNull},
		"symbolic descriptor": {0, codeSymbol8, 1, 'x', codeNull},
		"cut":                 data("xyz")[:6],
		"data of a string":    section(sectionData, []byte{codeString8, 1, 'x'}),
		"header of a string":  section(sectionHeader, []byte{codeString8, 1, 'x'}),
		"subject of a number": list(sectionProperties, nil, nil, nil, 7),
		"no constructor":      {0, codeULSmall, sectionData, 0x30},
		"described twice":     {0, codeULSmall, sectionData, 0, codeULSmall, 1, codeNull},
	} {
		var ev proto.Event
		says(t, (&link{}).readMessage(message, &ev), "malformed message of")
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestCredit: half of the credit is used before it is renewed, and what is to be settled is settled before that.
func TestCredit(t *testing.T) {
	c := subscribed(t, &Config{Credit: 4, AckEvery: 4})
	var in []byte
	for id := range 5 {
		in = append(in, part(4, id, false, false, data("x"))...)
	}
	_, down := feedAll(t, c, in)
	want := join(
		appendDisposition(nil, true, 0, 1), raw(doFlow, 2, 65535, 0, outgoingWindow, 1, 2, 4),
		appendDisposition(nil, true, 2, 3), raw(doFlow, 4, 65535, 0, outgoingWindow, 1, 4, 4),
		appendDisposition(nil, true, 4, 4))
	if !slices.Equal(down, want) {
		t.Errorf("answered %q\nwant     %q", down, want)
	}
	c = subscribed(t, &Config{Credit: 4, HoldAcks: true})
	if _, down := feedAll(t, c, in); len(down) > 0 {
		t.Errorf("holding back: %q", down)
	}
	var presettled []byte
	for id := range 2 {
		presettled = append(presettled, part(5, 5+id, true, false, data("x"))...)
	}
	if _, down := feedAll(t, c, presettled); len(down) == 0 {
		t.Error("holding back renews no credit of settled messages")
	}
}

// TestAcksNotContiguous: only deliveries that follow one another are settled together.
func TestAcksNotContiguous(t *testing.T) {
	c := subscribed(t, &Config{AckEvery: 10})
	var in []byte
	for _, id := range []int{0, 1, 3, 4, 5} {
		in = append(in, part(4, id, false, false, data("x"))...)
	}
	_, down := feedAll(t, c, in)
	if want := join(appendDisposition(nil, true, 0, 1), appendDisposition(nil, true, 3, 5)); !slices.Equal(down, want) {
		t.Errorf("answered %q, want %q", down, want)
	}
	if out := c.Close(nil); !slices.Equal(out, raw(doClose, nil)) {
		t.Errorf("closing says %q", out)
	}
}

// TestReceiveWindow: the session window is renewed at half, whatever the credit.
func TestReceiveWindow(t *testing.T) {
	c := subscribed(t, &Config{SessionWindow: 4})
	_, down := feedAll(t, c, join(part(5, 0, true, true, data("x")), part(5, 0, true, true), part(5, 0, true, true)))
	if want := raw(doFlow, 2, 4, 0, outgoingWindow); !slices.Equal(down, want) {
		t.Errorf("answered %q, want %q", down, want)
	}
}

// TestEcho: a flow that wants to know our state gets it.
func TestEcho(t *testing.T) {
	c := subscribed(t, &Config{})
	_, down := feedAll(t, c, join(
		raw(doFlow, 0, 9, 0, 9, nil, nil, nil, nil, nil, true), raw(doFlow, 0, 9, 0, 9, 4, 0, 3, nil, nil, true),
		raw(doFlow, 0, 9, 0, 9, 4, 0, 3)))
	want := join(raw(doFlow, 0, 65535, 0, outgoingWindow), raw(doFlow, 0, 65535, 0, outgoingWindow, 1, 0, 100))
	if !slices.Equal(down, want) {
		t.Errorf("answered %q, want %q", down, want)
	}
	_, _, err := final(t, c, raw(doFlow, 0, 9, 0, 9, 77))
	says(t, err, "flow for link handle 77, which is not attached")
}

func TestSubscriptionEnds(t *testing.T) {
	c := dial(t, &Config{Source: Terminus{Address: "{topic}"}})
	for token := range uint64(2) {
		if _, err := c.Subscribe(&proto.Subscription{Token: token, Topic: "x"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	events, down := feedAll(t, c, join(
		raw(doAttach, "r0", 0, false, nil, nil, nil, nil), raw(doDetach, 0, true, failure(condUnauthorized, "no")),
		attachedAs("r1", 0, false, modeSettled, 0), raw(doDetach, 0, true)))
	if len(events) != 3 || events[0].Kind != proto.Subscribed || events[0].Token != 0 || events[1].Err != nil || events[2].Kind != proto.None || events[2].Token != 1 {
		t.Fatalf("reported %+v", events)
	}
	says(t, events[0].Err, `broker refused the subscription: amqp:unauthorized-access: not authorized: "no"`)
	says(t, events[2].Err, "broker ended the subscription without a reason")
	if !strings.HasPrefix(string(down), string(raw(doDetach, 0, true, nil))) || !strings.HasSuffix(string(down), string(raw(doDetach, 1, true, nil))) {
		t.Errorf("answered %q", down)
	}
	if _, err := c.Subscribe(&proto.Subscription{Token: 3, Topic: "x"}, nil); err != nil || len(c.links) != 2 {
		t.Errorf("again: %v, %d links", err, len(c.links))
	}
	events, down, err := final(t, c, raw(doEnd, failure(condNotFound, "no queue")))
	if len(events) != 1 || events[0].Kind != proto.Subscribed || events[0].Token != 3 {
		t.Errorf("reported %+v", events)
	}
	says(t, err, `broker ended the session: amqp:not-found: the address does not exist: "no queue"`)
	if want := join(raw(doEnd), raw(doClose, nil)); !slices.Equal(down, want) {
		t.Errorf("answered %q, want %q", down, want)
	}
}

func TestClosed(t *testing.T) {
	c := dial(t, &Config{})
	events, down := feedAll(t, c, join(raw(doClose, failure(condForced, "maintenance")), part(0, 0, true, false)))
	if len(events) != 1 || events[0].Kind != proto.Closed || !slices.Equal(down, raw(doClose, nil)) {
		t.Fatalf("reported %+v, answered %q", events, down)
	}
	says(t, events[0].Err, `broker closed the connection: amqp:connection:forced: an operator or a shutdown ended the connection: "maintenance"`)
	if e, ok := events[0].Err.(*ReasonError); !ok || !e.Temporary() || (&ReasonError{Condition: condNotFound}).Temporary() {
		t.Errorf("%v", events[0].Err)
	}
}

// TestNonsense: what a broker must not say ends the conversation.
func TestNonsense(t *testing.T) {
	for want, in := range map[string][]byte{
		"transfer on link handle 9":             part(9, 0, true, false, data("x")),
		"without a delivery-id":                 with(raw(doTransfer, 5), data("x")),
		"malformed transfer":                    raw(doTransfer, "x"),
		"malformed message":                     part(5, 0, true, false, []byte("x")),
		"malformed attach":                      raw(doAttach, "x", 0, true, nil, nil, "source"),
		"attached link \"x\", which we had not": attachedAs("x", 0, true, modeMixed, 0),
		"unexpected detach":                     raw(doDetach, 9, true),
		"malformed detach":                      raw(doDetach, 5, true, "x"),
		"malformed disposition":                 raw(doDisposition, "x"),
		"for deliveries 3 to 2":                 raw(doDisposition, true, 3, 2, true, described(typeAccepted)),
		"malformed flow":                        raw(doFlow, 0, 0, 0, 0, "x"),
		"malformed end":                         raw(doEnd, "x"),
		"malformed close":                       raw(doClose, "x"),
		"unexpected open":                       raw(doOpen, "x"),
	} {
		_, _, err := final(t, subscribed(t, &Config{}), in)
		says(t, err, want)
	}
}
