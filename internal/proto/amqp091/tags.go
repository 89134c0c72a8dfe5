package amqp091

import "fmt"

// What is behind a delivery tag.
const (
	tagSettled = iota
	tagOpen    // the caller waits to hear about it
	tagSilent  // to be settled by the peer, but nobody waits
)

type tagged struct {
	token uint64
	state uint8
}

// tags knows the message behind each delivery tag of ours that the peer has not settled. Tags are counted from 1 on
// every channel. The table grows to the number unsettled at once, and then stays.
type tags struct {
	ring  []tagged // a power of two long; tag t is at t modulo its length
	first uint64   // oldest unsettled
	next  uint64   // tag of the next message
	open  int      // that somebody waits to hear about
	left  int      // unsettled
}

// reset forgets everything: the channel is new.
func (t *tags) reset() { t.first, t.next, t.open, t.left = 1, 1, 0, 0 }

// add gives the next tag to a message.
func (t *tags) add(token uint64, state uint8) (tag uint64) {
	tag = t.next
	if state == tagSettled && tag == t.first { // nothing to remember
		t.first++
		t.next++
		return tag
	}
	if t.next-t.first == uint64(len(t.ring)) {
		t.grow()
	}
	t.next++
	*t.at(tag) = tagged{token, state}
	if state != tagSettled {
		t.left++
	}
	if state == tagOpen {
		t.open++
	}
	return tag
}

func (t *tags) grow() {
	old := *t
	t.ring = make([]tagged, max(8, 2*len(old.ring)))
	for tag := old.first; tag < old.next; tag++ {
		*t.at(tag) = *old.at(tag)
	}
}

func (t *tags) at(tag uint64) *tagged { return &t.ring[tag&uint64(len(t.ring)-1)] }

// settle marks one message as settled. ok tells that somebody waits to hear about it.
func (t *tags) settle(tag uint64) (token uint64, ok bool) {
	if tag < t.first || tag >= t.next {
		return 0, false
	}
	e := t.at(tag)
	token, ok = e.token, e.state == tagOpen
	if ok {
		t.open--
	}
	if e.state != tagSettled {
		t.left--
	}
	e.state = tagSettled
	for t.first < t.next && t.at(t.first).state == tagSettled {
		t.first++
	}
	return token, ok
}

// settleUpTo settles the oldest message that somebody waits to hear about, of those with a tag up to this one, and all
// before it. ok = false means that there is none left.
func (t *tags) settleUpTo(tag uint64) (token uint64, ok bool) {
	for t.first <= tag && t.first < t.next {
		if token, ok = t.settle(t.first); ok {
			return token, true
		}
	}
	return 0, false
}

// unknown says what is wrong with a tag that the peer settles, or nil.
func (t *tags) unknown(m method, tag uint64) error {
	if tag < t.next {
		return nil
	}
	return fmt.Errorf("amqp091: %s for delivery tag %d, the last one was %d", m, tag, t.next-1)
}
