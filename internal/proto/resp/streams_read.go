package resp

import (
	"bytes"

	"github.com/mqlab/mqlab/internal/proto"
)

// reading is where a client is within the reply to a read:
//
//	RESP3  %lists  key *entries entry …     RESP2  *lists  *2 key *entries entry …
//	entry: *2 identifier *n field value …
type reading struct {
	lists   int64 // still to begin, or under way
	entries int64 // of the list at hand still to come
	stream  int   // whose list it is
	pairs   bool  // each list is an array of key and entries
	claim   bool  // the entries were others'; there is one list, without a key
	deleted bool  // behind its entries comes a list of those that are gone
}

// read asks for entries of the group whose turn it is, unless a read is under way or groups are being created.
func (c *Streams) read(out []byte) []byte {
	if c.asked || c.waits > 0 {
		return out
	}
	for i := range c.streams {
		if st := &c.streams[i]; st.open && st.claim != "" && st.after == "" {
			return c.autoClaim(i, out)
		}
	}
	g, n := c.next()
	if n == 0 {
		return out
	}
	c.turn, c.asked = g, true
	c.queue.push(command{cause: toRead})
	words := 9 + 2*n
	if c.groups[g].noAck {
		words++
	}
	out = appendHead(out, '*', words)
	out = append(out, "$10\r\nXREADGROUP\r\n$5\r\nGROUP\r\n"...)
	out = appendBulk(out, c.groups[g].name)
	out = appendBulk(out, c.name)
	out = append(out, "$5\r\nCOUNT\r\n"...)
	out = appendNumber(out, c.cfg.batch())
	out = append(out, "$5\r\nBLOCK\r\n"...)
	out = appendNumber(out, c.cfg.block(len(c.groups)))
	if c.groups[g].noAck {
		out = append(out, "$5\r\nNOACK\r\n"...)
	}
	out = append(out, "$7\r\nSTREAMS\r\n"...)
	for i := range c.streams {
		if c.streams[i].in(g) {
			out = appendBulk(out, c.streams[i].key)
		}
	}
	for i := range c.streams {
		if st := &c.streams[i]; st.in(g) && st.after == "" {
			out = append(out, "$1\r\n>\r\n"...)
		} else if st.in(g) {
			out = appendBulk(out, st.after)
		}
	}
	return out
}

// in tells whether reads of group g include the stream.
func (st *stream) in(g int) bool { return st.group == g && st.open }

// next is the group after the one that was read last, and how many of its streams can be read.
func (c *Streams) next() (g, n int) {
	for k := range c.groups {
		g, n = (c.turn+1+k)%len(c.groups), 0
		for i := range c.streams {
			if c.streams[i].in(g) {
				n++
			}
		}
		if n > 0 {
			break
		}
	}
	return g, n
}

// expects tells what the next answer is to.
func (c *Streams) expects(why cause) bool {
	return !c.queue.empty() && c.queue.oldest().cause == why
}

// lists begins the reply to a read, whose first line was h.
func (c *Streams) lists(s *scanner, h *head, out []byte) []byte {
	if h.kind != '%' && h.kind != '*' && !h.isNull() {
		s.err = errUnasked
		return out
	}
	c.queue.pop()
	c.within = reading{lists: max(h.n, 0), stream: -1, pairs: h.kind == '*'}
	if c.within.lists == 0 { // it is quiet: time to look whether others are gone
		for i := range c.streams {
			c.look(&c.streams[i])
		}
	}
	return c.listsEnd(out)
}

// listsEnd asks for more once a reply is complete.
func (c *Streams) listsEnd(out []byte) []byte {
	if c.within.lists > 0 {
		return out
	}
	c.asked = false
	return c.read(out)
}

// list begins the entries of one stream. The server lists streams in the order in which they were asked for.
func (c *Streams) list(s *scanner, out []byte) []byte {
	if c.within.pairs {
		if h := s.head(); !s.stuck() && (h.kind != '*' || h.n != 2) {
			s.err = errTooLittle
		}
	}
	key := s.bulk()
	h := s.head()
	switch {
	case s.stuck():
		return out
	case h.kind != '*' || h.n < 0:
		s.err = errTooLittle
		return out
	}
	i := c.within.stream + 1
	for i < len(c.streams) && !(c.streams[i].in(c.turn) && bytes.Equal(c.streams[i].key, key)) {
		i++
	}
	if i == len(c.streams) {
		s.err = errUnasked
		return out
	}
	c.within.stream, c.within.entries = i, h.n
	c.pending, c.last, c.acks = c.pending[:0], c.last[:0], 0
	if h.n == 0 {
		return c.listEnd(out)
	}
	return out
}

// entry reads one entry. One that was deleted after it had been delivered has no content: it is only acknowledged.
func (c *Streams) entry(s *scanner, out []byte, ev *proto.Event) []byte {
	if h := s.head(); !s.stuck() && h.isNull() && c.within.claim { // of Redis 6: it was deleted
		if c.within.entries--; c.within.entries > 0 {
			return out
		}
		return c.listEnd(out)
	} else if !s.stuck() && (h.kind != '*' || h.n != 2) {
		s.err = errTooLittle
	}
	id := s.bulk()
	h := s.head()
	payload, found := s.fields(&h)
	if s.stuck() {
		return out
	}
	st := &c.streams[c.within.stream]
	sure := !c.groups[st.group].noAck
	if found {
		ev.Kind, ev.Token, ev.Payload = proto.Delivered, st.token, payload
		ev.Topic = st.key
		ev.Redelivered = st.after != "" || c.within.claim
		if sure {
			ev.QoS = 1
		}
	}
	if sure && !c.cfg.HoldAcks {
		c.pending = appendBulk(c.pending, id)
		c.acks++
	}
	if st.after != "" {
		c.last = append(c.last[:0], id...)
	}
	if c.within.entries--; c.within.entries > 0 {
		return out
	}
	return c.listEnd(out)
}

// fields reads the fields of an entry and returns the value of d, or of the first field if there is no d.
func (s *scanner) fields(h *head) (payload []byte, found bool) {
	if s.stuck() || h.isNull() {
		return nil, false
	}
	if h.kind != '*' || h.n%2 != 0 {
		s.err = errTooLittle
		return nil, false
	}
	ours := false
	for range h.n / 2 {
		name := s.bulk()
		value := s.bulk()
		if s.stuck() {
			return nil, false
		}
		if isOurs := string(name) == "d"; !found || isOurs && !ours {
			payload, found, ours = value, true, isOurs
		}
	}
	return payload, found
}

// listEnd acknowledges the entries of a stream, and notes how far an earlier delivery was read again.
func (c *Streams) listEnd(out []byte) []byte {
	st := &c.streams[c.within.stream]
	if c.acks > 0 {
		c.queue.push(command{cause: toAck})
		out = appendHead(out, '*', 3+int(c.acks))
		out = append(out, "$4\r\nXACK\r\n"...)
		out = appendBulk(out, st.key)
		out = appendBulk(out, c.groups[st.group].name)
		out = append(out, c.pending...)
	}
	if st.after != "" {
		st.after = string(c.last) // empty: there is no more, on to new entries
	}
	c.within.lists--
	if c.within.deleted {
		return out
	}
	return c.listsEnd(out)
}
