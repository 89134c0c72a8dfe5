package mqtt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// conversation is a client and a server that send each other numbered messages while the line between them is cut now
// and then, and the books kept about it.
type conversation struct {
	*line
	fromClient, fromServer books
	subscribed, granted    int
	drops                  int
}

// books are kept about one direction. The payload of a message is its number, which is also its Token.
type books struct {
	qos       []uint8         // by number
	sent      map[uint64]bool // accepted by Publish
	delivered map[uint64]int
	order     [3][]uint64 // first deliveries by QoS
	acked     map[uint64]int
}

func newBooks() books {
	return books{sent: map[uint64]bool{}, delivered: map[uint64]int{}, acked: map[uint64]int{}}
}

func (b *books) note(t testing.TB, ev *proto.Event) {
	var n uint64
	if _, err := fmt.Sscan(string(ev.Payload), &n); err != nil || string(ev.Topic) != "t/x" || ev.QoS != b.qos[n] {
		t.Fatalf("message %q on %q with QoS %d: %v", ev.Payload, ev.Topic, ev.QoS, err)
	}
	if b.delivered[n]++; b.delivered[n] == 1 {
		b.order[ev.QoS] = append(b.order[ev.QoS], n)
	} else if ev.QoS == 1 && !ev.Redelivered {
		t.Fatalf("message %d came again without saying so", n)
	}
}

func newConversation(t testing.TB, version byte, window int) *conversation {
	cfg := &Config{Version: version, Window: window}
	if version == V5 {
		cfg.SessionExpiry = time.Hour
	}
	k := &conversation{line: newLine(t, cfg, &ServerConfig{Window: window}), fromClient: newBooks(), fromServer: newBooks()}
	k.atClient = func(ev *proto.Event) { k.react(ev, k.c, &k.up, &k.fromClient, &k.fromServer) }
	k.atServer = func(ev *proto.Event) { k.react(ev, k.s, &k.down, &k.fromServer, &k.fromClient) }
	k.open()
	k.flush()
	return k
}

// react does what an application does about an event on one side.
func (k *conversation) react(ev *proto.Event, p proto.Publisher, out *[]byte, ours, theirs *books) {
	switch ev.Kind {
	case proto.Delivered:
		theirs.note(k.t, ev)
	case proto.Acked:
		ours.acked[ev.Token]++
	case proto.Resend:
		if ev.QoS != ours.qos[ev.Token] {
			k.t.Fatalf("message %d with QoS %d is to be sent again with %d", ev.Token, ours.qos[ev.Token], ev.QoS)
		}
		k.send(p, ev.Token, ev.QoS, true, out)
	case proto.Subscribed:
		if p == proto.Publisher(k.c) {
			k.granted++
		}
	}
}

func (k *conversation) send(p proto.Publisher, n uint64, qos uint8, again bool, out *[]byte) bool {
	o, err := p.Publish(&proto.Message{
		Token: n, Topic: []byte("t/x"), Payload: fmt.Append(nil, n), QoS: qos, Redelivered: again,
	}, *out)
	if err != nil && (again || (err != ErrNoRoom && err != ErrNotReady)) {
		k.t.Fatal(err)
	}
	*out = o
	return err == nil
}

// publish sends the next message of one direction, if there is room.
func (k *conversation) publish(p proto.Publisher, b *books, qos uint8, out *[]byte) {
	if p.Room(qos) == 0 {
		return
	}
	n := uint64(len(b.qos))
	b.qos = append(b.qos, qos)
	if !k.send(p, n, qos, false, out) {
		k.t.Fatalf("Room promised what Publish refused")
	}
	b.sent[n] = true
}

// step does one thing.
func (k *conversation) step(op, arg byte) {
	switch op % 8 {
	case 0, 1:
		k.publish(k.c, &k.fromClient, arg%3, &k.up)
	case 2, 3:
		k.publish(k.s, &k.fromServer, arg%3, &k.down)
	case 4:
		k.carry(k.s, &k.up, &k.down, int(arg), k.atServer)
	case 5:
		k.carry(k.c, &k.down, &k.up, int(arg), k.atClient)
	case 6:
		if o, err := k.c.Subscribe(&proto.Subscription{Topic: "t/#", QoS: arg % 3}, k.up); err == nil {
			k.up = o
			k.subscribed++
		}
	case 7:
		if arg < 64 {
			k.drops++
			k.open()
		} else {
			k.flush()
		}
	}
}

// finish lets everything arrive, over as many connections as it takes, and audits the books.
func (k *conversation) finish() {
	k.t.Helper()
	k.open()
	k.flush()
	if k.c.InFlight() != 0 || k.s.InFlight() != 0 {
		k.t.Fatalf("%d and %d messages are never acknowledged", k.c.InFlight(), k.s.InFlight())
	}
	k.audit("client", &k.fromClient)
	k.audit("server", &k.fromServer)
}

func (k *conversation) audit(side string, b *books) {
	k.t.Helper()
	for n, qos := range b.qos {
		n := uint64(n)
		times, acks := b.delivered[n], b.acked[n]
		switch {
		case qos == 0 && times > 1, qos == 0 && acks != 0,
			qos == 1 && times == 0, qos == 2 && times != 1, qos > 0 && acks != 1:
			k.t.Errorf("message %d of the %s with QoS %d: delivered %d times, acknowledged %d times", n, side, qos, times, acks)
		}
	}
	for qos, order := range b.order {
		if !slices.IsSorted(order) {
			k.t.Errorf("messages of the %s with QoS %d arrived as %v", side, qos, order)
		}
	}
}

// FuzzConversation: whatever the two do, and wherever the line is cut, QoS 1 arrives, QoS 2 arrives once, in order, and
// both sides agree.
func FuzzConversation(f *testing.F) {
	f.Add(true, byte(3), []byte{0, 1, 0, 2, 4, 20, 7, 0, 2, 2, 7, 255, 5, 9, 6, 1, 7, 3})
	f.Add(false, byte(0), []byte{2, 1, 2, 2, 5, 255, 7, 0, 4, 255, 5, 255, 7, 255})
	f.Fuzz(func(t *testing.T, v5 bool, window byte, script []byte) {
		version := byte(V311)
		if v5 {
			version = V5
		}
		k := newConversation(t, version, int(window))
		for ; len(script) >= 2; script = script[2:] {
			k.step(script[0], script[1])
		}
		k.finish()
	})
}

// TestConversations runs long random scripts.
func TestConversations(t *testing.T) {
	total := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		version := []byte{V311, V5}[seed%2]
		k := newConversation(t, version, rng.IntN(12))
		for range 400 {
			k.step(byte(rng.Uint32()), byte(rng.Uint32()))
		}
		k.finish()
		if t.Failed() {
			t.Fatalf("seed %d, %d connections", seed, k.drops)
		}
		total += len(k.fromClient.qos) + len(k.fromServer.qos)
	}
	if total < 10_000 {
		t.Errorf("only %d messages were sent", total)
	}
}

// TestConversationUncut: without a cut QoS 0 arrives, too, and every subscription is confirmed.
func TestConversationUncut(t *testing.T) {
	k := newConversation(t, V5, 5)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		if op, arg := byte(rng.Uint32()), byte(rng.Uint32()); op%8 != 7 {
			k.step(op, arg)
		}
	}
	k.flush()
	for _, b := range []*books{&k.fromClient, &k.fromServer} {
		if len(b.delivered) != len(b.qos) || len(b.qos) < 500 {
			t.Errorf("%d of %d messages arrived", len(b.delivered), len(b.qos))
		}
	}
	if k.granted != k.subscribed || k.granted == 0 {
		t.Errorf("%d of %d subscriptions were confirmed", k.granted, k.subscribed)
	}
}
