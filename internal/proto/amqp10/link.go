package amqp10

import (
	"fmt"
	"slices"
	"time"
)

// linkState says how far a link has come.
type linkState uint8

const (
	attaching linkState = iota
	refused             // the peer answered with a null terminus: its detach will say why
	attached
	detaching // we have detached
)

// link is a link as its end on this side sees it.
type link struct {
	topic    []byte    // what a sender is for (empty = all topics); what a subscription is to
	token    uint64    // of the subscription
	incoming *assembly // nil until a message comes in several frames
	max      uint64    // largest message that the peer takes, bytes; 0 = no limit
	handle   uint32    // ours
	peer     uint32    // handle that the peer uses
	credit   int32     // messages that may still be sent; negative if the peer took some back
	count    uint32    // delivery-count
	state    linkState
	qos      uint8 // receiver: what was asked for; sender: 1 if the peer wants all messages unsettled
	sends    bool  // this side is the sender
	stays    bool  // has the same name in later connections
	settles  bool  // sender: only settled messages
}

// appendName appends the name of a link that we began; it must be the only one from us to the peer.
func (l *link) appendName(out []byte) []byte {
	if l.stays {
		return append(out, l.topic...)
	}
	kind := byte('r')
	if l.sends {
		kind = 's'
	}
	return fmt.Appendf(append(out, kind), "%x", l.handle)
}

// newLink gives a handle to a link.
func (e *endpoint) newLink(l link) *link {
	free := slices.Index(e.links, nil)
	if free < 0 {
		free = len(e.links)
		e.links = append(e.links, nil)
	}
	l.handle = uint32(free)
	e.links[free] = &l
	return &l
}

// fits checks what the peer allows of a new link, whose attach has so many bytes. One that does not fit is dropped.
func (e *endpoint) fits(l *link, bytes int) error {
	switch {
	case l.handle > e.handleMax:
		e.drop(l)
		return fmt.Errorf("amqp10: the peer takes no more than %d links in a session", uint64(e.handleMax)+1)
	case bytes > int(e.sendMax):
		e.drop(l)
		return errTopic
	}
	return nil
}

// byName is the link of ours that the peer's attach answers; the roles of the two sides differ.
func (e *endpoint) byName(name []byte, peerReceives bool) *link {
	var scratch [maxName]byte
	for _, l := range e.links {
		if l != nil && l.state == attaching && l.sends == peerReceives && string(l.appendName(scratch[:0])) == string(name) {
			return l
		}
	}
	return nil
}

// byPeer is the link that the peer knows by this handle. Most peers number links as we do.
func (e *endpoint) byPeer(handle uint32) *link {
	known := func(l *link) bool { return l != nil && l.state != attaching && l.peer == handle }
	if uint64(handle) < uint64(len(e.links)) && known(e.links[handle]) {
		return e.links[handle]
	}
	for _, l := range e.links {
		if known(l) {
			return l
		}
	}
	return nil
}

// drop forgets a link. What waited to be sent on it is gone.
func (e *endpoint) drop(l *link) {
	e.links[l.handle] = nil
	if e.held != nil && e.held.link == l {
		e.held = nil
	}
}

// Settle modes of a sender (§2.8.2).
const (
	modeUnsettled = 0
	modeSettled   = 1
	modeMixed     = 2
)

// attach is what an attach says, as far as we are interested.
type attach struct {
	name         []byte
	handle       uint32
	receives     bool // role of whoever sent it
	mode         uint64
	hasMode      bool
	source       []byte // as encoded; empty = null
	target       []byte
	sourceName   []byte // its address
	targetName   []byte
	initialCount uint32
	maxMessage   uint64
}

func readAttach(f *frame) (a attach, err error) {
	r := &f.fields
	a.name, a.handle, a.receives = r.text(), r.u32(0), r.flag()
	mode := r.next()
	a.mode, a.hasMode = mode.number()
	if mode.null() {
		a.mode = modeMixed
	}
	r.skip(1) // rcv-settle-mode
	var okSource, okTarget bool
	a.source, a.sourceName, okSource = readTerminus(r, typeSource)
	a.target, a.targetName, okTarget = readTerminus(r, typeTarget)
	r.skip(2) // unsettled, incomplete-unsettled
	a.initialCount, a.maxMessage = r.u32(0), r.number(0)
	if r.bad || !okSource || !okTarget || len(a.name) == 0 {
		return a, errMalformed(doAttach)
	}
	return a, nil
}

// readTerminus takes a source or a target: all of it, and its address. A coordinator and the like have no address.
func readTerminus(r *fields, kind byte) (whole, address []byte, ok bool) {
	before := r.rest
	v := r.next()
	if v.null() {
		return nil, nil, true
	}
	whole = before[: len(before)-len(r.rest) : len(before)-len(r.rest)]
	list, ok := v.fields()
	if !ok || !v.described {
		return nil, nil, false
	}
	if v.descriptor != kind {
		return whole, nil, true
	}
	address = list.text()
	return whole, address, !list.bad
}

// appendAttach appends the attach of a link of a client.
func (l *link) appendAttach(out []byte, source, target []byte, mode byte) []byte {
	out, start := beginFrame(out, doAttach)
	var scratch [maxName]byte
	out = appendText(out, codeString8, l.appendName(scratch[:0]))
	out = appendUint(out, l.handle)
	out = appendBool(out, !l.sends)
	out = append(out, codeUByte, mode, codeUByte, 0)
	out = append(append(out, source...), target...)
	count := 7
	if l.sends {
		out = append(out, codeNull, codeNull) // unsettled, incomplete-unsettled
		out = appendUint(out, 0)              // initial-delivery-count
		count = 10
	}
	return endFrame(out, start, count)
}

// append appends the terminus as a source or a target. An empty address of a target is null: the anonymous terminus.
func (t *Terminus) append(out []byte, kind byte, address string) []byte {
	out, start := beginList(out, kind)
	out = appendName(out, codeString8, address)
	out = appendUint(out, uint32(t.Durability))
	out = appendName(out, codeSymbol8, t.Expiry)
	out = appendUint(out, uint32(t.Timeout/time.Second))
	out = append(out, codeFalse, codeNull) // dynamic, dynamic-node-properties
	count := 7
	if kind == typeSource {
		out = appendName(out, codeSymbol8, t.Distribution)
		out = append(out, codeNull, codeNull, codeNull) // filter, default-outcome, outcomes
		count = 11
	}
	out = appendSymbols(out, t.Capabilities)
	return endList(out, start, count)
}

// plainTerminus is the end of a link on our side: it has no address worth telling.
func plainTerminus(kind byte, address string) []byte {
	out, start := beginList(nil, kind)
	return endList(appendName(out, codeString8, address), start, 1)
}

// appendDetach closes a link; a condition says why.
func (l *link) appendDetach(out []byte, condition, text string) []byte {
	out, start := beginFrame(out, doDetach)
	out = appendUint(out, l.handle)
	out = append(out, codeTrue)
	out = appendError(out, condition, text)
	return endFrame(out, start, 3)
}
