//go:build linux

package loop

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine/loop/uring"
)

const (
	batchSends = 128
	// batchWaits is up to how many sends wait for those of the Core's next turn: the last of a batch leaves later than its
	// message says by the time that the others take.
	batchWaits = 64
	// batchUnit is the largest send that waits for others: of larger ones the system call is the smaller part.
	batchUnit = 4 << 10
)

// batch gathers what different connections have to send, one send each.
type batch struct {
	ring  *uring.Ring
	bytes []byte // of all sends, one behind the other; never grows, for the kernel reads it
	sends []send
}

// send is bytes[from:to] for connection id.
type send struct {
	id       int32
	from, to int32
}

func newBatch() (*batch, error) {
	ring, err := uring.New(batchSends)
	if err != nil {
		return nil, err
	}
	return &batch{ring: ring, bytes: make([]byte, 0, batchSends*batchUnit), sends: make([]send, 0, batchSends)}, nil
}

// fits tells whether b can be added now.
func (b *batch) fits(p []byte) bool { return len(p) <= batchUnit && len(b.sends) < batchSends }

// gathers tells that what is in the batch would better leave together with more.
func (b *batch) gathers() bool { return b != nil && len(b.sends) > 0 && len(b.sends) <= batchWaits }

func (b *batch) add(id int, p []byte) {
	from := int32(len(b.bytes))
	b.bytes = append(b.bytes, p...)
	b.sends = append(b.sends, send{int32(id), from, int32(len(b.bytes))})
}

// flush sends what has been gathered. What a socket does not take goes back to the Core.
func (l *Loop) flush() error {
	b := l.batch
	if b == nil || len(b.sends) == 0 {
		return nil
	}
	defer func() { b.bytes, b.sends = b.bytes[:0], b.sends[:0] }()
	if len(b.sends) == 1 {
		s := &b.sends[0]
		n, err := write(int(l.socks[s.id].fd), b.bytes[s.from:s.to])
		l.sent(s, n, err)
		return nil
	}
	for i := range b.sends {
		s := &b.sends[i]
		b.ring.Queue(int(s.id), b.bytes[s.from:s.to], uint64(i))
	}
	if err := b.ring.Submit(); err != nil {
		return err
	}
	for {
		o, ok := b.ring.Next()
		if !ok {
			return nil
		}
		if errors.Is(o.Err, unix.EAGAIN) || errors.Is(o.Err, unix.EINTR) {
			o.Err = nil
		}
		l.sent(&b.sends[o.Tag], o.N, o.Err)
	}
}

// sent takes the outcome of a send. The Core may be in the midst of another connection, so that it hears of a lost one later.
func (l *Loop) sent(s *send, n int, err error) {
	id := int(s.id)
	sock := &l.socks[id]
	sock.queued = false
	if err != nil {
		fd := sock.fd
		l.Do(func(int64) {
			if sock.fd == fd {
				l.Core.Lost(id, clock.Now(), ioError("write", err))
			}
		})
		return
	}
	if rest := l.batch.bytes[int(s.from)+n : s.to]; len(rest) > 0 {
		l.Core.Unsent(id, rest)
		l.arm(id, sock)
	}
}

// unplace makes the ring forget connection id.
func (l *Loop) unplace(id int) {
	if l.batch != nil {
		_ = l.batch.ring.Place(id, -1) // cannot fail for a place that there is
	}
}
