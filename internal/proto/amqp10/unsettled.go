package amqp10

// What is behind a delivery-id.
const (
	deliverySettled = iota
	deliveryOpen    // the caller waits to hear about it
	deliverySilent  // to be settled by the peer, but nobody waits
)

type delivery struct {
	token uint64
	link  uint32 // our handle
	state uint8
}

// unsettled knows the message behind each delivery-id of ours that the peer has not settled. Delivery-ids are counted
// over the session and may wrap around. The table grows to the number unsettled at once, and then stays.
type unsettled struct {
	ring  []delivery // a power of two long; id i is at i modulo its length
	first uint32     // oldest unsettled
	next  uint32     // id of the next message
	open  int        // that somebody waits to hear about
}

// reset forgets everything; the next delivery has this id.
func (u *unsettled) reset(next uint32) { u.first, u.next, u.open = next, next, 0 }

// add notes the message with the next id.
func (u *unsettled) add(token uint64, link uint32, state uint8) {
	if state == deliverySettled && u.next == u.first { // nothing to remember
		u.first++
		u.next++
		return
	}
	if int(u.next-u.first) == len(u.ring) {
		u.grow()
	}
	*u.at(u.next) = delivery{token, link, state}
	u.next++
	if state == deliveryOpen {
		u.open++
	}
}

func (u *unsettled) grow() {
	old := *u
	u.ring = make([]delivery, max(8, 2*len(old.ring)))
	for id := old.first; id != old.next; id++ {
		*u.at(id) = *old.at(id)
	}
}

func (u *unsettled) at(id uint32) *delivery { return &u.ring[id&uint32(len(u.ring)-1)] }

// settle marks one message as settled. ok tells that somebody waits to hear about it.
func (u *unsettled) settle(id uint32) (token uint64, ok bool) {
	if id-u.first >= u.next-u.first {
		return 0, false
	}
	e := u.at(id)
	token, ok = e.token, e.state == deliveryOpen
	if ok {
		u.open--
	}
	e.state = deliverySettled
	for u.first != u.next && u.at(u.first).state == deliverySettled {
		u.first++
	}
	return token, ok
}

// settleRange settles the oldest message with an id from first to last that somebody waits to hear about, and all before
// it. ok = false means that there is none left.
func (u *unsettled) settleRange(first, last uint32) (token uint64, ok bool) {
	if int32(u.first-first) > 0 {
		first = u.first
	}
	if int32(last-u.next) >= 0 {
		last = u.next - 1
	}
	for id := first; int32(last-id) >= 0; id++ {
		if token, ok = u.settle(id); ok {
			return token, true
		}
	}
	return 0, false
}

// settleLink does the same for all messages of a link.
func (u *unsettled) settleLink(link uint32) (token uint64, ok bool) {
	for id := u.first; id != u.next; id++ {
		if u.at(id).link != link {
			continue
		}
		if token, ok = u.settle(id); ok {
			return token, true
		}
	}
	return 0, false
}
