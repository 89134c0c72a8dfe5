package capture

// stream puts the segments of one direction in order.
type stream struct {
	known   bool
	next    uint32
	waiting []piece
	bytes   int // waiting
	parser  parser
}

type piece struct {
	seq   uint32
	at    int64 // when it was seen
	since int64 // when its sender had it at the earliest
	data  []byte
	lost  int // bytes behind data that were not captured
}

// maxWaiting is how much waits for a missing segment before that is given up: the capture did not see it.
const maxWaiting = 1 << 18

// add takes a segment and hands on what is in order.
func (s *stream) add(p *packet, since int64, hand func(*piece)) {
	if !s.known {
		s.known, s.next = true, p.seq
	}
	if p.seq == s.next {
		s.deliver(piece{p.seq, p.at, since, p.data, p.length - len(p.data)}, hand)
		s.drain(hand)
		return
	}
	if !after(p.seq+uint32(p.length), s.next) {
		return
	}
	s.waiting = append(s.waiting, piece{p.seq, p.at, since, append([]byte(nil), p.data...), p.length - len(p.data)})
	s.bytes += len(p.data)
	s.drain(hand)
	if s.bytes > maxWaiting || len(s.waiting) > 256 {
		first := s.waiting[0].seq
		for _, w := range s.waiting {
			if after(first, w.seq) {
				first = w.seq
			}
		}
		s.next = first
		s.parser.lose()
		s.drain(hand)
	}
}

// drain hands on the waiting pieces that are due now.
func (s *stream) drain(hand func(*piece)) {
	for again := true; again; {
		again = false
		for i, w := range s.waiting {
			if after(w.seq, s.next) {
				continue
			}
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			s.bytes -= len(w.data)
			s.deliver(w, hand)
			again = true
			break
		}
	}
}

// deliver hands on what of a piece is new.
func (s *stream) deliver(w piece, hand func(*piece)) {
	end := w.seq + uint32(len(w.data)) + uint32(w.lost)
	if old := int(int32(s.next - w.seq)); old > 0 {
		if old >= len(w.data) {
			w.data = nil
		} else {
			w.data = w.data[old:]
		}
	}
	if len(w.data) > 0 {
		hand(&w)
	}
	if w.lost > 0 {
		s.parser.lose()
	}
	if after(end, s.next) {
		s.next = end
	}
}
