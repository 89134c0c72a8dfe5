package link

// flight holds the packets under way in the order in which they are due. Buffers are used again.
type flight struct {
	heap    []due // a heap of four branches
	packets []packet
	free    []int32 // places in packets
	count   uint64  // of packets ever
}

// due says when a packet arrives; those of the same time arrive in the order of their number.
type due struct {
	at     int64
	number uint64
	place  int32
}

type packet struct {
	data []byte
	copy bool // of another that was carried
}

// add takes a copy of data and returns it, to be changed.
func (f *flight) add(at int64, data []byte, isCopy bool) []byte {
	var place int32
	if n := len(f.free); n > 0 {
		place = f.free[n-1]
		f.free = f.free[:n-1]
	} else {
		place = int32(len(f.packets))
		f.packets = append(f.packets, packet{})
	}
	p := &f.packets[place]
	p.data, p.copy = append(p.data[:0], data...), isCopy
	f.heap = append(f.heap, due{at, f.count, place})
	f.count++
	f.up(len(f.heap) - 1)
	return p.data
}

// take removes the first packet. It is valid until the next call of add.
func (f *flight) take() packet {
	place := f.heap[0].place
	last := len(f.heap) - 1
	f.heap[0] = f.heap[last]
	f.heap = f.heap[:last]
	f.down(0)
	f.free = append(f.free, place)
	return f.packets[place]
}

// drop removes what is due after a time and tells about each packet.
func (f *flight) drop(after int64, dropped func(packet)) {
	kept := f.heap[:0]
	for _, d := range f.heap {
		if d.at <= after {
			kept = append(kept, d)
			continue
		}
		dropped(f.packets[d.place])
		f.free = append(f.free, d.place)
	}
	f.heap = kept
	for i := len(kept)/4 + 1; i >= 0; i-- {
		f.down(i)
	}
}

func (a *due) before(b *due) bool { return a.at < b.at || a.at == b.at && a.number < b.number }

func (f *flight) up(i int) {
	h := f.heap
	for i > 0 {
		parent := (i - 1) / 4
		if !h[i].before(&h[parent]) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (f *flight) down(i int) {
	h := f.heap
	for {
		first := i
		for child := 4*i + 1; child <= 4*i+4 && child < len(h); child++ {
			if h[child].before(&h[first]) {
				first = child
			}
		}
		if first == i {
			return
		}
		h[i], h[first] = h[first], h[i]
		i = first
	}
}
