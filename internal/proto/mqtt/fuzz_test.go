package mqtt

import (
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// FuzzClientFeed: whatever a broker sends, the client neither panics nor depends on how the bytes are cut.
func FuzzClientFeed(f *testing.F) {
	for _, in := range []string{
		"\x20\x02\x00\x00\x30\x04\x00\x01tp", "\x20\x02\x01\x00\x40\x02\x00\x01\x50\x02\x00\x02\x70\x02\x00\x02",
		"\x20\x03\x00\x00\x00\x34\x06\x00\x01t\x00\x07\x00\x62\x02\x00\x07", "\x20\x0a\x00\x9c\x07\x1c\x00\x04b:18",
		"\x20\x03\x00\x00\x00\x90\x04\x00\x03\x00\x01\xd0\x00\xe0\x01\x8b", "HTTP/1.1", "\x15\x03",
	} {
		for _, version := range []byte{V311, V5} {
			f.Add(version == V5, []byte(in), uint64(1))
		}
	}
	f.Fuzz(func(t *testing.T, v5 bool, in []byte, seed uint64) {
		cfg := &Config{Version: V311, MaxPacketBytes: 1000, ReceiveMaximum: 3}
		if v5 {
			cfg.Version = V5
		}
		open := func() proto.Session {
			c := NewClient(cfg, "id")
			// A lost connection left three messages unacknowledged, one of them past PUBREC.
			c.Open(0, nil)
			if _, _, err := all(c, map[bool][]byte{false: accepted311, true: accepted5}[v5]); err != nil {
				t.Fatal(err)
			}
			publish(t, c, 1, 1, false)
			publish(t, c, 2, 2, false)
			publish(t, c, 3, 2, false)
			feed(t, c, []byte{0x50, 2, 0, 3}, nil)
			return c
		}
		react := func(s proto.Session, ev *proto.Event, out []byte) []byte {
			c := s.(*Client)
			switch ev.Kind {
			case proto.Resend:
				return append(out, publish(t, c, ev.Token, ev.QoS, true)...)
			case proto.Ready:
				out, _ = c.Subscribe(&proto.Subscription{Token: 9, Topic: "a"}, out)
				return c.Barrier(1, out)
			}
			return out
		}
		(&prototest.Cut{React: react}).Same(t, open, in, seed)
	})
}

// FuzzServerFeed is FuzzClientFeed for the broker's side.
func FuzzServerFeed(f *testing.F) {
	for _, cfg := range []Config{
		{Version: V311, CleanStart: true}, {Version: V5, User: "u", Password: []byte("p"), Will: &Will{Topic: "w"}}, {Version: V5, SessionExpiry: 1},
	} {
		for _, in := range []string{
			"\x30\x04\x00\x01tp\xc0\x00", "\x82\x06\x00\x01\x00\x01a\x00\xa2\x05\x00\x02\x00\x01a", "\xe0\x00",
			"\x82\x0c\x00\x01\x00\x00\x01a\x00\x00\x02b/\x01", "\x34\x06\x00\x01t\x00\x07\x00\x62\x02\x00\x07\x40\x02\x00\x01\x50\x02\x00\x02",
		} {
			f.Add(append(NewClient(&cfg, "id").Open(0, nil), in...), uint64(1))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		open := func() proto.Session { return NewServer(&ServerConfig{MaxPacketBytes: 1000, ReceiveMaximum: 3}) }
		react := func(s proto.Session, ev *proto.Event, out []byte) []byte {
			if ev.Kind != proto.Ready {
				return out
			}
			for qos := range uint8(3) {
				out, _ = s.(*Server).Publish(&proto.Message{Token: uint64(qos), Topic: []byte("t"), QoS: qos}, out)
			}
			return out
		}
		(&prototest.Cut{React: react}).Same(t, open, in, seed)
	})
}
