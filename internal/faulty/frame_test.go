package faulty

import (
	"bytes"
	"testing"
)

// publish is a QoS 0 PUBLISH of MQTT 3.1.1 to topic "t" whose payload is the text.
func publish(text string) []byte {
	return append([]byte{0x30, byte(3 + len(text)), 0, 1, 't'}, text...)
}

func stream(packets ...[]byte) []byte { return bytes.Join(packets, nil) }

func TestPacketSize(t *testing.T) {
	tests := []struct {
		in   []byte
		size int
		bad  bool
	}{
		{nil, 0, false},
		{[]byte{0x30}, 0, false},
		{[]byte{0xd0, 0}, 2, false},
		{[]byte{0x30, 0x7f}, 129, false},
		{[]byte{0x30, 0x80}, 0, false},
		{[]byte{0x30, 0x80, 0x01}, 131, false},
		{[]byte{0x30, 0xff, 0xff, 0xff, 0x7f}, 268_435_460, false},
		{[]byte{0x30, 0xff, 0xff, 0xff, 0xff}, 0, false},
		{[]byte{0x30, 0xff, 0xff, 0xff, 0xff, 0x01}, 0, true},
	}
	for _, test := range tests {
		size, err := packetSize(test.in)
		if size != test.size || (err != nil) != test.bad {
			t.Errorf("% x: %d, %v; want %d", test.in, size, err, test.size)
		}
	}
}

func TestTamper(t *testing.T) {
	ping := []byte{0xd0, 0}
	qos1 := []byte{0x32, 6, 0, 1, 't', 0, 9, 'x'}
	in := stream(publish("a"), ping, publish("b"), qos1, publish("c"), publish("d"))
	tests := []struct {
		name  string
		fault Fault
		want  []byte
		truth RelayTruth
	}{
		{"none", Fault{}, in, RelayTruth{Packets: 4}},
		{"lose", Fault{Kind: Lose}, stream(publish("a"), ping, qos1, publish("c"), publish("d")), RelayTruth{Packets: 4, Lost: 1}},
		{
			"repeat",
			Fault{Kind: Repeat},
			stream(publish("a"), ping, publish("b"), publish("b"), qos1, publish("c"), publish("d")),
			RelayTruth{Packets: 4, Repeated: 1},
		},
		{
			"repeat later",
			Fault{Kind: Repeat, By: 1},
			stream(publish("a"), ping, publish("b"), qos1, publish("c"), publish("b"), publish("d")),
			RelayTruth{Packets: 4, Repeated: 1},
		},
		{"swap", Swap, stream(publish("a"), ping, qos1, publish("c"), publish("b"), publish("d")), RelayTruth{Packets: 4, Deferred: 1}},
		{"given up", Fault{Kind: Repeat, By: 9}, in, RelayTruth{Packets: 4}},
		{
			"never overtaken",
			Fault{Kind: Defer, By: 9},
			stream(publish("a"), ping, qos1, publish("c"), publish("d"), publish("b")),
			RelayTruth{Packets: 4},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for cut := range len(in) {
				tm := tamper{tampering: newTampering(RelayPlan{Faults: map[uint64]Fault{1: test.fault}})}
				used, out, err := tm.feed(in[:cut], nil)
				if err != nil {
					t.Fatal(err)
				}
				_, out, err = tm.feed(in[used:], out)
				if out = tm.flush(out); err != nil || !bytes.Equal(out, test.want) {
					t.Fatalf("cut at %d: %q, %v; want %q", cut, out, err, test.want)
				}
				if tm.truth != test.truth {
					t.Fatalf("cut at %d: truth %+v, want %+v", cut, tm.truth, test.truth)
				}
			}
		})
	}
}

func TestTamperDamagesOneBitOfThePayload(t *testing.T) {
	in := publish("payload")
	for seed := range uint64(200) {
		tm := tamper{tampering: newTampering(RelayPlan{Seed: seed, Payload: 7, Faults: map[uint64]Fault{0: {Kind: Corrupt}}})}
		_, out, err := tm.feed(in, nil)
		if err != nil || len(out) != len(in) || !bytes.Equal(out[:5], in[:5]) || tm.truth.Damaged != 1 {
			t.Fatalf("seed %d: %q, %v", seed, out, err)
		}
		bits := 0
		for i := range out {
			for d := out[i] ^ in[i]; d != 0; d &= d - 1 {
				bits++
			}
		}
		if bits != 1 {
			t.Fatalf("seed %d: %d bits are wrong", seed, bits)
		}
	}
}

// FuzzTamper checks that without faults every byte passes, whatever it is and however it is cut.
func FuzzTamper(f *testing.F) {
	f.Add(stream(publish("a"), publish("b")), 3)
	f.Add([]byte{0x30, 0x80, 0x80, 0x80, 0x80, 0x01}, 2)
	f.Add([]byte{0x30, 0x80, 0x01}, 1)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		whole := tamper{tampering: newTampering(RelayPlan{})}
		used, out, err := whole.feed(in, nil)
		if used > len(in) || !bytes.Equal(out, in[:used]) {
			t.Fatalf("used %d of % x, passed % x", used, in, out)
		}
		parts := tamper{tampering: newTampering(RelayPlan{})}
		cut = min(max(cut, 0), len(in))
		first, out2, err2 := parts.feed(in[:cut], nil)
		if err2 == nil {
			_, out2, err2 = parts.feed(in[first:], out2)
		}
		if !bytes.Equal(out, out2) || (err == nil) != (err2 == nil) {
			t.Fatalf("in one piece % x (%v), cut at %d % x (%v)", out, err, cut, out2, err2)
		}
	})
}
