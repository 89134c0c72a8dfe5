//go:build linux

package loop

import (
	"bytes"
	"testing"
)

// A read that ends within a unit must not make the next ones small.
func TestRoomBehindAnIncompleteUnit(t *testing.T) {
	l, s := &Loop{buf: make([]byte, readBytes), parts: map[int32]*[]byte{}}, &sock{}
	whole := bytes.Repeat([]byte("0123456789abcdef"), 4<<20/16)
	for _, rest := range []int{1, 40, 0, largeUnit - 1, largeUnit, readBytes, 3 << 20, 7, 4 << 20, 40} {
		l.keep(0, s, whole[:rest])
		buf, have := l.buffer(0, s)
		if room := len(buf) - rest; have != rest || room < largeUnit {
			t.Errorf("%d bytes wait: %d kept, room for %d behind them", rest, have, room)
		}
		if !bytes.Equal(buf[:rest], whole[:rest]) {
			t.Errorf("%d bytes wait: others stand in front", rest)
		}
	}
}

// The rest of a read lies in the buffer that the next read uses.
func TestKeepMovesWithinItsBuffer(t *testing.T) {
	l, s := &Loop{buf: make([]byte, readBytes), parts: map[int32]*[]byte{}}, &sock{}
	for _, used := range []int{0, 1, 100, readBytes - 1} {
		for i := range l.buf {
			l.buf[i] = byte(i / 256)
		}
		want := bytes.Clone(l.buf[used:])
		l.keep(0, s, l.buf[used:])
		own, have := l.buffer(0, s)
		if !bytes.Equal(own[:have], want) {
			t.Errorf("the shared buffer's bytes from %d on were not kept", used)
		}
		want = bytes.Clone(own[used/2 : used])
		l.keep(0, s, own[used/2:used])
		if got, have := l.buffer(0, s); !bytes.Equal(got[:have], want) {
			t.Errorf("the connection's own bytes from %d to %d were not kept", used/2, used)
		}
	}
}

func TestKeepAllocatesNothingInAStream(t *testing.T) {
	l, s := &Loop{buf: make([]byte, readBytes), parts: map[int32]*[]byte{}}, &sock{}
	l.keep(0, s, l.buf[:60])
	n := 0
	if allocs := testing.AllocsPerRun(1000, func() {
		n++
		buf, _ := l.buffer(0, s)
		l.keep(0, s, buf[:1+n%60])
	}); allocs != 0 {
		t.Errorf("%v allocations per read", allocs)
	}
}
