package amqp091

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

// opened is a Client that is ready on a connection for several channels.
func opened() *Client {
	c := NewClient(&Config{Channels: 9}, "carrier")
	c.frameMax, c.phase = 10_000, ready
	c.heartbeat.every = 30
	return c
}

// channels lists the channels of the frames in b.
func channels(t *testing.T, b []byte) (list []uint16) {
	t.Helper()
	for len(b) > 0 {
		var f frame
		n, err := cutFrame(b, 1<<20, &f)
		if n == 0 || err != nil {
			t.Fatalf("% x is no frame: %v", b, err)
		}
		list = append(list, binary.BigEndian.Uint16(b[1:]))
		b = b[n:]
	}
	return list
}

// TestDoor: a session that speaks to a door becomes ready, publishes and says goodbye; to the broker it is channel 7, whatever
// the pieces in which the session writes.
func TestDoor(t *testing.T) {
	for _, piece := range []int{1, 3, 1 << 20} {
		d := opened().Door(7)
		c := NewClient(&Config{User: "u", Password: "p", Exchange: Exchange{Name: "amq.topic"}}, "client")
		var up, in []byte
		write := func(b []byte) {
			t.Helper()
			for len(b) > 0 {
				n := min(piece, len(b))
				var err error
				if up, in, err = d.Sent(b[:n], up, in); err != nil {
					t.Fatal(err)
				}
				b = b[n:]
			}
		}
		isReady := false
		read := func() {
			t.Helper()
			for len(in) > 0 {
				var ev proto.Event
				n, out, err := c.Feed(0, in, nil, &ev)
				if err != nil || n == 0 {
					t.Fatalf("the session does not take % x: %v", in, err)
				}
				isReady = isReady || ev.Kind == proto.Ready
				in = in[n:]
				write(out)
			}
		}
		write(c.Open(0, nil))
		read()
		if got := channels(t, up); isReady || len(got) != 1 || got[0] != 7 || !d.Open() {
			t.Fatalf("to the broker: channels %v; ready %v", got, isReady)
		}
		answer, start := beginMethod(nil, 7, channelOpenOK)
		in = d.Came(endFrame(append(answer, 0, 0, 0, 0), start), in)
		read()
		if !isReady || c.frameMax != 10_000 {
			t.Errorf("ready %v, frames of %d", isReady, c.frameMax)
		}
		up = up[:0]
		out, err := c.Publish(&proto.Message{Topic: []byte("a"), Payload: make([]byte, 15_000)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		write(out)
		write(appendHeartbeat(nil))
		if got := channels(t, up); len(got) != 4 || got[0] != 7 || got[3] != 7 {
			t.Errorf("a message of two body frames goes by channels %v", got)
		}
		up = up[:0]
		write(c.Close(nil))
		if got := channels(t, up); len(got) != 1 || got[0] != 7 || !bytes.Equal(in, appendBare(nil, 0, connectionCloseOK)) || !d.Open() {
			t.Errorf("goodbye goes by channels %v and is answered by % x", got, in)
		}
		if back := d.Came(appendBare(nil, 7, channelCloseOK), nil); len(back) > 0 || d.Open() {
			t.Errorf("the end of the channel is told: % x; open %v", back, d.Open())
		}
	}
}

// TestDoorRefusal: a channel that the broker closes is closed for the session, which answers.
func TestDoorRefusal(t *testing.T) {
	d := opened().Door(300)
	if _, _, err := d.Sent([]byte("GET / HTTP/1.1\r\n"), nil, nil); err == nil {
		t.Error("something else than AMQP is taken")
	}
	d = opened().Door(300)
	open, start := beginMethod(nil, 1, channelOpen)
	up, _, err := d.Sent(append([]byte(protocolHeader), endFrame(append(open, 0), start)...), nil, nil)
	if got := channels(t, up); err != nil || len(got) != 1 || got[0] != 300 {
		t.Errorf("channels %v: %v", got, err)
	}
	closed := appendClose(nil, 300, replyAccessRefused, "no", basicPublish)
	if got := channels(t, d.Came(closed, nil)); len(got) != 1 || got[0] != 1 {
		t.Errorf("the session hears it on channels %v", got)
	}
	if _, _, err := d.Sent(appendBare(nil, 1, channelCloseOK), nil, nil); err != nil || d.Open() {
		t.Errorf("open %v: %v", d.Open(), err)
	}
	if left := d.Leave(nil); len(left) > 0 {
		t.Errorf("a channel that is closed is closed again: % x", left)
	}
}

func FuzzDoorSent(f *testing.F) {
	f.Add([]byte(protocolHeader), 3)
	f.Add(append([]byte(protocolHeader), appendHeartbeat(nil)...), 9)
	f.Add(append([]byte(protocolHeader), appendClose(nil, 0, 200, "bye", 0)...), 1)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		whole, parts := opened().Door(2), opened().Door(2)
		up, back, err := whole.Sent(b, nil, nil)
		if cut < 0 || cut > len(b) {
			return
		}
		u, k, e := parts.Sent(b[:cut:cut], nil, nil)
		if e == nil {
			u, k, e = parts.Sent(b[cut:], u, k)
		}
		if (e == nil) != (err == nil) || err == nil && (!bytes.Equal(up, u) || !bytes.Equal(back, k)) {
			t.Errorf("in one piece: % x, % x, %v; in two: % x, % x, %v", up, back, err, u, k, e)
		}
	})
}
