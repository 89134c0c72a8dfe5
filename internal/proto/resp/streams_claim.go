package resp

// look has the reader look for what other members of a group have left.
func (c *Streams) look(st *stream) {
	if c.cfg.ClaimIdle > 0 && !c.groups[st.group].noAck {
		st.claim = noEntry
	}
}

// noEntry is the identifier before all others: where to begin, and where nothing more follows.
const noEntry = "0-0"

// autoClaim asks for entries of a stream that others have received, but not acknowledged for a while.
func (c *Streams) autoClaim(i int, out []byte) []byte {
	st := &c.streams[i]
	c.asked = true
	c.queue.push(command{cause: toClaim, n: uint32(i)})
	out = append(out, "*8\r\n$10\r\nXAUTOCLAIM\r\n"...)
	out = appendBulk(out, st.key)
	out = appendBulk(out, c.groups[st.group].name)
	out = appendBulk(out, c.name)
	out = appendNumber(out, int(c.cfg.ClaimIdle.Milliseconds()))
	out = appendBulk(out, st.claim)
	out = append(out, "$5\r\nCOUNT\r\n"...)
	return appendNumber(out, c.cfg.batch())
}

// claimed begins the reply, whose first line was h:
//
//	*3  identifier to go on from  *entries entry …  *deleted identifier …
//
// The last part is missing before Redis 7.
func (c *Streams) claimed(s *scanner, h *head, out []byte) []byte {
	if h.kind != '*' || h.n < 2 || h.n > 3 {
		s.err = errTooLittle
		return out
	}
	from := s.bulk()
	entries := s.head()
	switch {
	case s.stuck():
		return out
	case entries.kind != '*' || entries.n < 0:
		s.err = errTooLittle
		return out
	}
	i := int(c.queue.oldest().n)
	c.queue.pop()
	st := &c.streams[i]
	if st.claim = string(from); st.claim == noEntry {
		st.claim = ""
	}
	c.within = reading{lists: 1, entries: entries.n, stream: i, claim: true, deleted: h.n == 3}
	c.pending, c.acks = c.pending[:0], 0
	if entries.n == 0 {
		return c.listEnd(out)
	}
	return out
}

// deleted skips the list of entries that are gone.
func (c *Streams) deleted(s *scanner, out []byte) []byte {
	h := s.head()
	s.skip(s.inside(&h))
	if s.stuck() {
		return out
	}
	c.within.deleted = false
	return c.listsEnd(out)
}
