package routine

import "net"

// Reset ends connection id with a RST.
func (r *Routines) Reset(id int) {
	if l := r.conns[id].link; l != nil {
		reset(l.net)
		r.Hangup(id)
	}
}

// reset closes a connection so that the peer gets a RST, whatever is spoken over it.
func reset(conn net.Conn) {
	under := below(conn)
	if tcp, ok := under.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0) // else it is a FIN
	}
	_ = under.Close()
}

// Abandon leaves connection id as it is, and reads and writes no more. Bury ends it.
func (r *Routines) Abandon(id int) {
	if l := r.conns[id].link; l != nil {
		l.left = true
		r.abandoned = append(r.abandoned, l.net)
		close(l.gone)
		r.conns[id].link = nil
	}
}

// Bury resets what was abandoned.
func (r *Routines) Bury() {
	for _, conn := range r.abandoned {
		reset(conn)
	}
	r.abandoned = nil
}

// closeUnlessLeft ends a connection, except where its peer is not to know.
func (r *Routines) closeUnlessLeft(l *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !l.left {
		_ = l.net.Close()
	}
}
