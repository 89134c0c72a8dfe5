package prototest_test

import (
	"crypto/rand"
	"errors"
	"io"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
	"github.com/mqlab/mqlab/internal/proto/zenoh"
)

// TestZenohSessions: who is one too many is told so.
func TestZenohSessions(t *testing.T) {
	t.Parallel()
	addr := zenohRouter(t, "transport/unicast/max_sessions=3")
	for range 3 {
		dialZenoh(t, addr, &zenoh.Config{})
	}
	wantError(t, refusal(t, addr, zenoh.NewClient(&zenoh.Config{}, rand.Text())), "max_sessions")
}

// TestZenohCrowd: a router closes the connections that it cannot look at now; trying again helps.
func TestZenohCrowd(t *testing.T) {
	t.Parallel()
	addr := zenohRouter(t, "transport/unicast/accept_pending=1")
	var crowd []*prototest.Conn
	client := zenoh.NewClient(&zenoh.Config{}, rand.Text())
	for range 20 {
		conn, err := prototest.Dial(addr, zenoh.NewClient(&zenoh.Config{}, rand.Text()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Abort() })
		crowd = append(crowd, conn)
	}
	ready := 0
	for _, conn := range crowd {
		switch ev, err := conn.Next(patience); {
		case err == nil && ev.Kind == proto.Ready:
			ready++
		case errors.Is(err, io.EOF):
			client.Open(0, nil)
			wantError(t, client.Explain(err), "accept_pending")
		default:
			t.Errorf("%+v, %v", ev, err)
		}
	}
	if ready == 0 {
		t.Error("nobody was let in")
	}
	for again := 0; ; again++ {
		conn, err := prototest.Dial(addr, zenoh.NewClient(&zenoh.Config{}, rand.Text()))
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Next(patience)
		_ = conn.Abort()
		if err == nil {
			break
		}
		if again == 1000 {
			t.Fatal(err)
		}
	}
}

// TestZenohSlowSubscriber: who takes no message that must not be dropped is cut off, and the end explains itself.
func TestZenohSlowSubscriber(t *testing.T) {
	t.Parallel()
	addr := zenohRouter(t, "transport/link/tx/queue/congestion_control/block/wait_before_close=200000")
	slow, publisher := dialZenoh(t, addr, &zenoh.Config{}), dialZenoh(t, addr, &zenoh.Config{Block: true})
	slow.subscribe("a")
	const messages = 300
	for range messages {
		publisher.publish("a", make([]byte, 64<<10))
	}
	publisher.barrier()
	received := 0
	for {
		_, err := slow.Next(patience)
		if err == nil {
			received++
			continue
		}
		wantError(t, slow.client.Explain(err), "wait_before_close")
		break
	}
	if received >= messages {
		t.Errorf("%d messages of %d arrived", received, messages)
	}
}

// TestZenohForeign: a server of another protocol is recognised.
func TestZenohForeign(t *testing.T) {
	t.Parallel()
	wantError(t, refusal(t, embeddedNATS(t, ""), zenoh.NewClient(&zenoh.Config{}, "x")), "looks like NATS")
}

// TestZenohNoReflection: a router does not send a message back to the session that it came from, so that a message could
// not tell whether our own subscription is in force.
func TestZenohNoReflection(t *testing.T) {
	t.Parallel()
	addr := zenohRouter(t)
	both, other := dialZenoh(t, addr, &zenoh.Config{Block: true}), dialZenoh(t, addr, &zenoh.Config{})
	both.subscribe("a")
	other.subscribe("a")
	both.publish("a", []byte("x"))
	other.expect(proto.Delivered, 0)
	both.barrier() // the next event is the answer, not the message
}
