package mqtt

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestHeader(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 16383, 16384, 2097151, 2097152, maxRemaining} {
		b := appendHeader(nil, pktPublish<<4, n)
		if len(b) != 1+varintSize(n) {
			t.Errorf("remaining length %d takes %d bytes, varintSize says %d", n, len(b)-1, varintSize(n))
		}
		size, body, err := header(b)
		if size != len(b)+n || body != len(b) || err != nil {
			t.Errorf("remaining length %d: size %d, body at %d, %v", n, size, body, err)
		}
		if Need(b) != size {
			t.Errorf("Need = %d, want %d", Need(b), size)
		}
		for cut := range b {
			if Need(b[:cut]) != 0 {
				t.Errorf("Need of a cut header is %d", Need(b[:cut]))
			}
		}
	}
	if _, _, err := header([]byte{0x30, 0x80, 0x80, 0x80, 0x80}); err == nil {
		t.Error("a remaining length of five bytes is accepted")
	}
}

func TestReaderVarint(t *testing.T) {
	tests := []struct {
		in    []byte
		want  uint32
		short bool
	}{
		{[]byte{0}, 0, false},
		{[]byte{0x7f}, 127, false},
		{[]byte{0x80, 1}, 128, false},
		{[]byte{0xff, 0xff, 0xff, 0x7f}, maxRemaining, false},
		{[]byte{0x80, 0}, 0, true},
		{[]byte{0x80}, 0, true},
		{[]byte{0x80, 0x80, 0x80, 0x80, 1}, 0, true},
		{nil, 0, true},
	}
	for _, tt := range tests {
		r := reader{rest: tt.in}
		if got := r.varint(); got != tt.want || r.short != tt.short {
			t.Errorf("% x: %d, short %v", tt.in, got, r.short)
		}
	}
}

// TestIDSet compares the set with a map under random use.
func TestIDSet(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s, m := new(idSet), map[uint16]bool{}
		ids := 1 + rng.IntN(300)
		for range 5000 {
			id := uint16(1 + rng.IntN(ids)*(1+rng.IntN(3)*100))
			switch {
			case rng.IntN(1000) == 0:
				s.clear()
				clear(m)
			case rng.IntN(2) == 0:
				s.add(id)
				m[id] = true
			default:
				s.remove(id)
				delete(m, id)
			}
			if probe := uint16(1 + rng.IntN(60000)); s.has(id) != m[id] || s.has(probe) != m[probe] || s.len() != len(m) {
				t.Fatalf("seed %d: the set of %d differs from a map of %d", seed, s.len(), len(m))
			}
		}
		for id := range m {
			if !s.has(id) {
				t.Fatalf("seed %d: %d got lost", seed, id)
			}
		}
	}
	var none *idSet
	if none.has(1) || none.len() != 0 {
		t.Error("a set that does not exist has members")
	}
	none.clear()
}

func TestIDSetFull(t *testing.T) {
	s := new(idSet)
	for id := 1; id <= 65535; id++ {
		s.add(uint16(id))
	}
	for id := 65535; id >= 1; id-- {
		if !s.has(uint16(id)) {
			t.Fatalf("%d is missing", id)
		}
		s.remove(uint16(id))
	}
	if s.len() != 0 {
		t.Errorf("%d are left", s.len())
	}
}

func TestInflightIdentifiers(t *testing.T) {
	f := new(inflight)
	seen := map[uint16]bool{}
	for i := range 65535 {
		id := f.take(uint64(i), slotQoS1)
		if id == 0 || seen[id] {
			t.Fatalf("identifier %d at %d", id, i)
		}
		seen[id] = true
	}
	if id := f.take(0, slotQoS1); id != 0 {
		t.Errorf("identifier %d is given twice", id)
	}
	for _, id := range []uint16{7, 3, 9} {
		f.release(id)
	}
	for _, want := range []uint16{7, 3, 9, 0} {
		if got := f.take(0, slotQoS1); got != want {
			t.Errorf("identifier %d instead of %d, the one that has rested longest", got, want)
		}
	}
	if f.messages() != 65535 {
		t.Errorf("%d messages", f.messages())
	}
}

// TestSize guards the memory of idle connections.
func TestSize(t *testing.T) {
	if n := unsafe.Sizeof(Client{}); n > 48 { // with what the engine keeps of a connection (see there) at most 128
		t.Errorf("a Client takes %d bytes", n)
	}
	if n := unsafe.Sizeof(slot{}); n != 16 {
		t.Errorf("a slot takes %d bytes", n)
	}
	cfg := &Config{Version: V5}
	var clients [100]*Client
	buf := make([]byte, 0, 100)
	ready := []byte{0x20, 3, 0, 0, 0}
	n := testing.AllocsPerRun(10, func() {
		for i := range clients {
			clients[i] = NewNumbered(cfg, uint32(i))
			feed(t, clients[i], ready, clients[i].Open(0, buf)[:0])
		}
	})
	if n > 2*float64(len(clients)) { // the client, and what feed needs
		t.Errorf("%.1f allocations per idle connection", n/float64(len(clients)))
	}
}

func TestProperties(t *testing.T) {
	good := [][]byte{
		{0},
		{5, 0x1F, 0, 2, 'h', 'i'},
		{2, 0x01, 1},
		{7, 0x26, 0, 1, 'k', 0, 1, 'v'},
		{14, 0x26, 0, 1, 'k', 0, 1, 'v', 0x26, 0, 1, 'k', 0, 1, 'v'},
		{3, 0x0B, 0x80, 1},
		{4, 0x0B, 1, 0x0B, 2},
		{5, 0x02, 0, 0, 0, 9},
		{4, 0x09, 0, 1, 0xff},
	}
	for _, b := range good {
		kind := byte(pktPublish)
		if bytes.IndexByte(b, 0x1F) == 1 {
			kind = pktPuback
		}
		r := reader{rest: append(bytes.Clone(b), 'x')}
		if _, err := checkProperties(&r, kind); err != nil || string(r.rest) != "x" {
			t.Errorf("% x: %v, rest %q", b, err, r.rest)
		}
	}
	bad := [][]byte{
		{},
		{1},
		{2, 0x01, 2},
		{4, 0x01, 1, 0x01, 1},
		{2, 0x7e, 0},
		{2, 0x00, 0},
		{3, 0x21, 0, 1},
		{2, 0x0B, 0},
		{3, 0x23, 0, 0},
		{5, 0x03, 0, 9, 'h', 'i'},
		{4, 0x03, 0, 1, 0xff},
		{4, 0x03, 0, 1, 0},
		{7, 0x26, 0, 1, 0, 0, 1, 'v'},
		{3, 0x02, 0, 0},
		{0x80, 0},
	}
	for _, b := range bad {
		r := reader{rest: b}
		if _, err := checkProperties(&r, pktPublish); err == nil {
			t.Errorf("% x is accepted", b)
		}
	}
}

// TestReasonWords: every code of §2.4 has words, and nothing else has.
func TestReasonWords(t *testing.T) {
	n := 0
	for code, words := range reasons {
		if words != "" {
			n++
		}
		if words != "" && code > 0xA2 {
			t.Errorf("0x%02x is no reason code", code)
		}
	}
	if want := 43; n != want {
		t.Errorf("%d reason codes, the standard has %d", n, want)
	}
	if got := reasonError("broker refused the connection", 0x86, "").Error(); got != "mqtt: broker refused the connection: bad user name or password (0x86)" {
		t.Error(got)
	}
	if got := reasonError("x", 0xF0, "go away").Error(); got != `mqtt: x: unknown reason (0xF0): "go away"` {
		t.Error(got)
	}
}
