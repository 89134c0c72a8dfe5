package mqtt

// idSet is a set of packet identifiers: a hash table with linear probing, at most half full. It allocates only to grow.
type idSet struct {
	slots []uint16 // power of two long; 0 = empty, as 0 is no packet identifier
	n     int
}

func (s *idSet) len() int {
	if s == nil {
		return 0
	}
	return s.n
}

// home is where id wants to be.
func (s *idSet) home(id uint16) int { return int(uint32(id)*0x9E3779B1>>16) & (len(s.slots) - 1) }

// find returns the place of id, or the empty place where it would go.
func (s *idSet) find(id uint16) (i int, found bool) {
	for i = s.home(id); s.slots[i] != 0; i = (i + 1) & (len(s.slots) - 1) {
		if s.slots[i] == id {
			return i, true
		}
	}
	return i, false
}

func (s *idSet) has(id uint16) bool {
	if s == nil || s.n == 0 {
		return false
	}
	_, found := s.find(id)
	return found
}

func (s *idSet) add(id uint16) {
	if 2*(s.n+1) > len(s.slots) {
		old := s.slots
		s.slots = make([]uint16, max(8, 2*len(old)))
		for _, o := range old {
			if o != 0 {
				i, _ := s.find(o)
				s.slots[i] = o
			}
		}
	}
	if i, found := s.find(id); !found {
		s.slots[i] = id
		s.n++
	}
}

// remove takes id out and closes the gap, so that no search ends early.
func (s *idSet) remove(id uint16) {
	if !s.has(id) {
		return
	}
	mask := len(s.slots) - 1
	gap, _ := s.find(id)
	s.n--
	for i := (gap + 1) & mask; s.slots[i] != 0; i = (i + 1) & mask {
		fromHome := (i - s.home(s.slots[i])) & mask
		if fromHome >= (i-gap)&mask {
			s.slots[gap] = s.slots[i]
			gap = i
		}
	}
	s.slots[gap] = 0
}

func (s *idSet) clear() {
	if s != nil {
		clear(s.slots)
		s.n = 0
	}
}
