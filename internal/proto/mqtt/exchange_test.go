package mqtt

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

func TestRoom(t *testing.T) {
	tests := []struct {
		window     int
		properties []byte // of CONNACK
		want       int
	}{
		{0, nil, 65535},
		{5, nil, 5},
		{0, []byte{0x21, 0, 3}, 3},
		{5, []byte{0x21, 0, 3}, 3},
		{2, []byte{0x21, 0, 3}, 2},
	}
	for _, tt := range tests {
		c := dial(t, Config{Version: V5, Window: tt.window}, tt.properties...)
		if got := c.Room(1); got != tt.want {
			t.Errorf("window %d, receive maximum % x: room for %d", tt.window, tt.properties, got)
		}
		publish(t, c, 1, 1, false)
		publish(t, c, 2, 2, false)
		if c.Room(1) != tt.want-2 || c.Room(2) != tt.want-2 || c.Room(0) != math.MaxInt || c.InFlight() != 2 {
			t.Errorf("room for %d and %d after two messages, %d in flight", c.Room(1), c.Room(0), c.InFlight())
		}
		for c.Room(1) > 0 && tt.want < 10 {
			publish(t, c, 3, 1, false)
		}
		if tt.want < 10 {
			if out, err := c.Publish(&proto.Message{Topic: []byte("t"), QoS: 1}, []byte("x")); err != ErrNoRoom || string(out) != "x" {
				t.Errorf("without room: %q, %v", out, err)
			}
			publish(t, c, 0, 0, false)
		}
		feed(t, c, []byte{0x40, 2, 0, 1}, nil)
		feed(t, c, []byte{0x50, 2, 0, 2}, nil)
		if tt.want < 10 && c.Room(1) != 1 {
			t.Errorf("room for %d after a PUBACK and a PUBREC", c.Room(1))
		}
		feed(t, c, []byte{0x70, 2, 0, 2}, nil)
		if tt.want < 10 && c.Room(1) != 2 {
			t.Errorf("room for %d after a PUBCOMP", c.Room(1))
		}
	}
}

func TestSubscribeTakesNoRoom(t *testing.T) {
	c := dial(t, Config{Version: V5, Window: 1})
	if _, err := c.Subscribe(&proto.Subscription{Topic: "x"}, nil); err != nil {
		t.Fatal(err)
	}
	if c.Room(1) != 1 || c.InFlight() != 0 {
		t.Errorf("room for %d, %d in flight", c.Room(1), c.InFlight())
	}
}

// TestAcknowledgements: what an answer to a message leads to.
func TestAcknowledgements(t *testing.T) {
	tests := []struct {
		name string
		qos  uint8
		in   string
		sent string
		kind proto.Kind
		err  string
	}{
		{"taken", 1, "\x40\x02\x00\x01", "", proto.Acked, ""},
		{"long form", 1, "\x40\x04\x00\x01\x00\x00", "", proto.Acked, ""},
		{"nobody listens", 1, "\x40\x03\x00\x01\x10", "", proto.Acked, ""},
		{"refused", 1, "\x40\x03\x00\x01\x87", "", proto.Acked, "mqtt: broker refused the message: not authorized (0x87)"},
		{"with text", 1, "\x40\x09\x00\x01\x97\x05\x1f\x00\x02no", "", proto.Acked, `quota exceeded (0x97): "no"`},
		{"received", 2, "\x50\x02\x00\x01", "\x62\x02\x00\x01", proto.None, ""},
		{"received, nobody listens", 2, "\x50\x03\x00\x01\x10", "\x62\x02\x00\x01", proto.None, ""},
		{"refused", 2, "\x50\x03\x00\x01\x90", "", proto.Acked, "topic name invalid (0x90)"},
		{"in use", 2, "\x50\x03\x00\x01\x91", "", proto.Acked, "packet identifier in use (0x91)"},
		{"complete", 2, "\x50\x02\x00\x01\x70\x02\x00\x01", "\x62\x02\x00\x01", proto.Acked, ""},
		{"received twice", 2, "\x50\x02\x00\x01\x50\x02\x00\x01", "\x62\x02\x00\x01\x62\x02\x00\x01", proto.None, ""},
		{"unknown when complete", 2, "\x50\x02\x00\x01\x70\x03\x00\x01\x92", "\x62\x02\x00\x01", proto.Acked, "not found (0x92)"},
	}
	for _, tt := range tests {
		c := dial(t, Config{Version: V5})
		publish(t, c, 77, tt.qos, false)
		events, out, err := all(c, []byte(tt.in))
		if err != nil || string(out) != tt.sent {
			t.Errorf("%s: sent % x, %v", tt.name, out, err)
		}
		if tt.kind == proto.None {
			if len(events) != 0 || c.InFlight() != 1 {
				t.Errorf("%s: %+v", tt.name, events)
			}
			continue
		}
		if len(events) != 1 || events[0].Kind != proto.Acked || events[0].Token != 77 || events[0].QoS != tt.qos || c.InFlight() != 0 {
			t.Fatalf("%s: %+v", tt.name, events)
		}
		if tt.err != "" {
			says(t, events[0].Err, tt.err)
		} else if events[0].Err != nil {
			t.Errorf("%s: %v", tt.name, events[0].Err)
		}
	}
}

func TestDelivery(t *testing.T) {
	for _, version := range []byte{V311, V5} {
		c := dial(t, Config{Version: version})
		props := ""
		if version == V5 {
			props = "\x07\x26\x00\x01k\x00\x01v"
		}
		frame := func(first byte, id string) []byte {
			body := "\x00\x03a/b" + id + props + "payload"
			return append([]byte{first, byte(len(body))}, body...)
		}
		ev, out := feed(t, c, frame(0x31, ""), nil)
		if ev.Kind != proto.Delivered || string(ev.Topic) != "a/b" || string(ev.Payload) != "payload" || !ev.Retained ||
			ev.Redelivered || ev.QoS != 0 || len(out) != 0 {
			t.Errorf("QoS 0: %+v, answer % x", ev, out)
		}
		for range 2 {
			ev, out = feed(t, c, frame(0x3A, "\x01\x02"), nil)
			if ev.Kind != proto.Delivered || !ev.Redelivered || ev.Retained || ev.QoS != 1 {
				t.Errorf("a repetition with QoS 1 must be reported: %+v", ev)
			}
			wantBytes(t, out, 0x40, 2, 1, 2)
		}
		ev, out = feed(t, c, frame(0x34, "\x01\x02"), nil)
		if ev.Kind != proto.Delivered || ev.QoS != 2 {
			t.Errorf("QoS 2: %+v", ev)
		}
		wantBytes(t, out, 0x50, 2, 1, 2)
		ev, out = feed(t, c, frame(0x3C, "\x01\x02"), nil)
		if ev.Kind != proto.None {
			t.Errorf("a repetition with QoS 2 must not be reported: %+v", ev)
		}
		wantBytes(t, out, 0x50, 2, 1, 2)
		_, out = feed(t, c, []byte{0x62, 2, 1, 2}, nil)
		wantBytes(t, out, 0x70, 2, 1, 2)
		if ev, _ = feed(t, c, frame(0x34, "\x01\x02"), nil); ev.Kind != proto.Delivered {
			t.Errorf("after PUBREL the identifier is another message: %+v", ev)
		}
	}
	c := dial(t, Config{Version: V5})
	_, out := feed(t, c, []byte{0x62, 2, 0, 9}, nil)
	wantBytes(t, out, 0x70, 3, 0, 9, 0x92)
	c = dial(t, Config{Version: V311})
	_, out = feed(t, c, []byte{0x62, 2, 0, 9}, nil)
	wantBytes(t, out, 0x70, 2, 0, 9)
}

func TestHoldAcks(t *testing.T) {
	c := dial(t, Config{Version: V5, HoldAcks: true})
	for _, first := range []byte{0x32, 0x34} {
		ev, out := feed(t, c, []byte{first, 6, 0, 1, 't', 0, 1, 0}, nil)
		if ev.Kind != proto.Delivered || len(out) != 0 {
			t.Errorf("first byte 0x%02x: %+v, answer % x", first, ev, out)
		}
	}
}

func TestReceiveMaximumExceeded(t *testing.T) {
	c := dial(t, Config{Version: V5, ReceiveMaximum: 2})
	for id := range byte(2) {
		feed(t, c, []byte{0x34, 6, 0, 1, 't', 0, id + 1, 0}, nil)
	}
	feed(t, c, []byte{0x3C, 6, 0, 1, 't', 0, 1, 0}, nil)
	_, _, err := all(c, []byte{0x34, 6, 0, 1, 't', 0, 9, 0})
	says(t, err, "mqtt: broker exceeded the receive maximum of 2")
}

// TestResume follows a session over lost connections.
func TestResume(t *testing.T) {
	c := dial(t, Config{Version: V5, SessionExpiry: time.Hour})
	for token, qos := range []uint8{1, 2, 2, 1, 1} {
		publish(t, c, uint64(token), qos, false)
	}
	if _, err := c.Subscribe(&proto.Subscription{Token: 99, Topic: "x"}, nil); err != nil {
		t.Fatal(err)
	}
	feed(t, c, []byte{0x50, 2, 0, 3}, nil) // message 2 moves on
	feed(t, c, []byte{0x40, 2, 0, 4}, nil) // message 3 is done

	events, out := reopen(t, c, true)
	wantBytes(t, out, 0x62, 2, 0, 3)
	if got := tokens(events); !slices.Equal(got, []uint64{0, 1, 4}) {
		t.Errorf("to be sent again: %v", got)
	}
	if c.InFlight() != 4 {
		t.Errorf("%d in flight", c.InFlight())
	}
	wantBytes(t, publish(t, c, 0, 1, true), 0x3A, 7, 0, 1, 't', 0, 1, 0, 'p')
	wantBytes(t, publish(t, c, 1, 2, true), 0x3C, 7, 0, 1, 't', 0, 2, 0, 'p')
	if _, err := c.Publish(&proto.Message{Token: 4, Topic: []byte("t"), QoS: 2, Redelivered: true}, nil); err == nil {
		t.Error("a repetition with another QoS is accepted")
	}
	wantBytes(t, publish(t, c, 4, 1, true), 0x3A, 7, 0, 1, 't', 0, 5, 0, 'p')

	events, _, err := all(c, []byte{0x70, 2, 0, 3, 0x40, 2, 0, 1, 0x50, 2, 0, 2, 0x70, 2, 0, 2, 0x40, 2, 0, 5})
	if got := tokens(events); err != nil || !slices.Equal(got, []uint64{2, 0, 1, 4}) {
		t.Errorf("acknowledged: %v, %v", got, err)
	}
	if c.InFlight() != 0 || c.Room(1) != 65535 {
		t.Errorf("%d in flight, room for %d", c.InFlight(), c.Room(1))
	}
}

func tokens(events []proto.Event) (tokens []uint64) {
	for _, ev := range events {
		tokens = append(tokens, ev.Token)
	}
	return tokens
}

// TestResumeWithinLimit: repetitions, too, keep to the receive maximum, and new messages do not overtake them.
func TestResumeWithinLimit(t *testing.T) {
	c := dial(t, Config{Version: V5, SessionExpiry: time.Hour})
	for token := range uint64(4) {
		publish(t, c, token, 1, false)
	}
	events, _ := reopen(t, c, true, 0x21, 0, 2)
	if got := tokens(events); !slices.Equal(got, []uint64{0, 1}) {
		t.Fatalf("to be sent again: %v", got)
	}
	publish(t, c, 0, 1, true)
	publish(t, c, 1, 1, true)
	if _, err := c.Publish(&proto.Message{Token: 9, Topic: []byte("t"), QoS: 1}, nil); err != ErrNoRoom || c.Room(1) != 0 {
		t.Errorf("a new message overtakes: %v, room for %d", err, c.Room(1))
	}
	events, _, err := all(c, []byte{0x40, 2, 0, 1})
	if got := tokens(events); err != nil || !slices.Equal(got, []uint64{0, 2}) || events[1].Kind != proto.Resend {
		t.Errorf("after an acknowledgement: %+v", events)
	}
	publish(t, c, 2, 1, true)
	events, _, _ = all(c, []byte{0x40, 2, 0, 2, 0x40, 2, 0, 3})
	if got := tokens(events); !slices.Equal(got, []uint64{1, 3, 2}) || c.Room(1) != 1 {
		t.Errorf("events %+v, room for %d", events, c.Room(1))
	}
}

// TestNoOvertaking: between Ready and the reports that follow it, new messages wait although the window has room.
func TestNoOvertaking(t *testing.T) {
	c := dial(t, Config{Version: V311})
	publish(t, c, 1, 1, false)
	c.Open(0, nil)
	if ev, _ := feed(t, c, []byte{0x20, 2, 1, 0}, nil); ev.Kind != proto.Ready {
		t.Fatalf("%+v", ev)
	}
	_, err := c.Publish(&proto.Message{Token: 2, Topic: []byte("t"), QoS: 1}, nil)
	if c.Room(1) != 0 || c.Room(2) != 0 || c.Room(0) == 0 || err != ErrNoRoom {
		t.Errorf("room for %d, %d and %d; %v", c.Room(1), c.Room(2), c.Room(0), err)
	}
	if ev, _ := feed(t, c, nil, nil); ev.Kind != proto.Resend || c.Room(1) == 0 {
		t.Errorf("%+v, room for %d", ev, c.Room(1))
	}
}

// TestConfirmedTwice: a broker may confirm what it has from the lost connection and the repetition as well. The second
// confirmation must neither be an error nor confirm another message.
func TestConfirmedTwice(t *testing.T) {
	c := dial(t, Config{Version: V5, SessionExpiry: time.Hour})
	publish(t, c, 10, 1, false)
	publish(t, c, 11, 2, false)
	events, _ := reopen(t, c, true)
	for _, ev := range events {
		publish(t, c, ev.Token, ev.QoS, true)
	}
	events, out, err := all(c, []byte{0x40, 2, 0, 1, 0x50, 2, 0, 2, 0x70, 2, 0, 2})
	if got := tokens(events); err != nil || !slices.Equal(got, []uint64{10, 11}) {
		t.Fatalf("%+v, sent % x, %v", events, out, err)
	}
	publish(t, c, 12, 1, false)
	publish(t, c, 13, 2, false)
	events, out, err = all(c, []byte{0x40, 2, 0, 1, 0x50, 2, 0, 2, 0x70, 2, 0, 2})
	if len(events) != 0 || len(out) != 0 || err != nil || c.InFlight() != 2 {
		t.Errorf("%+v, sent % x, %v, %d in flight", events, out, err, c.InFlight())
	}
	reopen(t, c, false)
	if c.InFlight() != 0 {
		t.Errorf("%d in flight", c.InFlight())
	}
}

// TestConfirmedBeforeRepeated: a confirmation that comes before the repetition was reported or sent makes it unnecessary.
func TestConfirmedBeforeRepeated(t *testing.T) {
	c := dial(t, Config{Version: V5, SessionExpiry: time.Hour})
	for token := range uint64(3) {
		publish(t, c, token, 1, false)
	}
	publish(t, c, 3, 2, false)
	events, _ := reopen(t, c, true, 0x21, 0, 1)
	if got := tokens(events); !slices.Equal(got, []uint64{0}) {
		t.Fatalf("to be sent again: %v", got)
	}
	events, out, err := all(c, []byte{0x40, 2, 0, 1, 0x40, 2, 0, 3, 0x50, 2, 0, 4, 0x70, 2, 0, 4})
	if got := tokens(events); err != nil || !slices.Equal(got, []uint64{0, 1, 2, 3}) || events[1].Kind != proto.Resend {
		t.Fatalf("%+v, %v", events, err)
	}
	wantBytes(t, out, 0x62, 2, 0, 4)
	wantBytes(t, publish(t, c, 1, 1, true), 0x3A, 7, 0, 1, 't', 0, 2, 0, 'p')
	feed(t, c, []byte{0x40, 2, 0, 2}, nil)
	if c.InFlight() != 0 || c.Room(1) != 1 {
		t.Errorf("%d in flight, room for %d", c.InFlight(), c.Room(1))
	}
}

// TestRecordedBeforeRepeated: a PUBREC that comes before the repetition was reported leaves only PUBREL to be sent.
func TestRecordedBeforeRepeated(t *testing.T) {
	c := dial(t, Config{Version: V5, SessionExpiry: time.Hour})
	publish(t, c, 1, 1, false)
	publish(t, c, 2, 2, false)
	reopen(t, c, true, 0x21, 0, 1)
	events, out, err := all(c, []byte{0x50, 2, 0, 2, 0x40, 2, 0, 1})
	wantBytes(t, out, 0x62, 2, 0, 2)
	if got := tokens(events); err != nil || !slices.Equal(got, []uint64{1}) || c.Room(1) != 0 {
		t.Errorf("%+v, room for %d, %v", events, c.Room(1), err)
	}
	if ev, _ := feed(t, c, []byte{0x70, 2, 0, 2}, nil); ev.Kind != proto.Acked || ev.Token != 2 || c.Room(1) != 1 {
		t.Errorf("%+v, room for %d", ev, c.Room(1))
	}
}

// TestRepetitionRefusedAsInUse: the broker has the message from the first try.
func TestRepetitionRefusedAsInUse(t *testing.T) {
	c := dial(t, Config{Version: V5, SessionExpiry: time.Hour})
	publish(t, c, 1, 2, false)
	reopen(t, c, true)
	publish(t, c, 1, 2, true)
	events, out, err := all(c, []byte{0x50, 3, 0, 1, 0x91, 0x70, 2, 0, 1})
	wantBytes(t, out, 0x62, 2, 0, 1)
	if len(events) != 1 || events[0].Err != nil || err != nil {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestNotResumed(t *testing.T) {
	c := dial(t, Config{Version: V5, SessionExpiry: time.Hour})
	publish(t, c, 1, 1, false)
	feed(t, c, []byte{0x34, 6, 0, 1, 't', 0, 1, 0}, nil)
	c.Open(0, nil)
	if c.InFlight() != 1 {
		t.Error("the message is forgotten before the broker has answered")
	}
	if events, out := reopen(t, c, false); len(events) != 0 || len(out) != 0 || c.InFlight() != 0 || c.Room(1) != 65535 {
		t.Errorf("%+v, sent % x, %d in flight", events, out, c.InFlight())
	}
	if ev, _ := feed(t, c, []byte{0x34, 6, 0, 1, 't', 0, 1, 0}, nil); ev.Kind != proto.Delivered {
		t.Error("an identifier of the old session hides a message of the new one")
	}
}

// TestCleanStart: which sessions are resumed.
func TestCleanStart(t *testing.T) {
	tests := []struct {
		cfg           Config
		first, second bool // clean flags
	}{
		{Config{Version: V311, CleanStart: true}, true, true},
		{Config{Version: V311}, false, false},
		{Config{Version: V5, CleanStart: true}, true, true},
		{Config{Version: V5, CleanStart: true, SessionExpiry: time.Second}, true, false},
		{Config{Version: V5, SessionExpiry: time.Second}, false, false},
	}
	for _, tt := range tests {
		c := NewClient(&tt.cfg, "id")
		first := c.Open(0, nil)[9]&2 != 0
		second := c.Open(0, nil)[9]&2 != 0
		if first != tt.first || second != tt.second {
			t.Errorf("%+v: clean start %v, then %v", tt.cfg, first, second)
		}
	}
}
