package link

import (
	"encoding/binary"
	"testing"
)

// tcpPacket is the packet of a device's connection at a port, or its answer.
func tcpPacket(way Direction, port uint16, flags byte, seq, ack uint32, payload int) []byte {
	p := make([]byte, 52+payload)
	p[0], p[9] = 0x45, protocolTCP
	device, broker := []byte{198, 18, 0, 1}, []byte{198, 19, 0, 1}
	from, to := 20, 22
	if way == Down {
		device, broker, from, to = broker, device, to, from
	}
	copy(p[12:], device)
	copy(p[16:], broker)
	binary.BigEndian.PutUint16(p[from:], port)
	binary.BigEndian.PutUint16(p[to:], 1883)
	binary.BigEndian.PutUint32(p[24:], seq)
	binary.BigEndian.PutUint32(p[28:], ack)
	p[32], p[33] = 8<<4, flags
	return p
}

// scene is a conversation whose packets are told one by one, a millisecond apart.
type scene struct {
	Flows
	at int64
}

func (s *scene) up(flags byte, seq, ack uint32, payload int) { s.one(Up, flags, seq, ack, payload) }

func (s *scene) down(flags byte, seq, ack uint32, payload int) { s.one(Down, flags, seq, ack, payload) }

func (s *scene) one(way Direction, flags byte, seq, ack uint32, payload int) {
	s.at++
	p := tcpPacket(way, 5000, flags, seq, ack, payload)
	s.Packet(way, s.at, len(p), p)
}

// TestFlows: segments, those sent again, and how small ones are acknowledged, over the wrap of sequence numbers.
func TestFlows(t *testing.T) {
	a, b := uint32(1<<32-10), uint32(700)
	s := &scene{Flows: Flows{From: 4, Until: 100}}
	s.up(tcpSYN, a, 0, 0)
	s.up(tcpSYN, a, 0, 0) // again
	s.down(tcpSYN|tcpACK, b, a+1, 0)
	s.up(tcpACK, a+1, b+1, 0) // from here on in the window
	if _, n := s.Open(); n != 1 {
		t.Errorf("%d open", n)
	}
	s.up(tcpACK, a+1, b+1, 37)
	s.down(tcpACK, b+1, a+38, 0) // acknowledged by itself
	s.down(tcpACK, b+1, a+38, 37)
	s.up(tcpACK, a+38, b+38, 37) // with data
	s.up(tcpACK, a+38, b+38, 37) // again
	s.up(tcpACK, a+38, b+38, 40) // again in part
	up, down := s.Total(Up), s.Total(Down)
	if want := (Segments{Segments: 7, Bytes: 151, Acks: 1, Again: 3, AgainBytes: 77}); up != want {
		t.Errorf("up %+v, want %+v", up, want)
	}
	if want := (Segments{Segments: 3, Bytes: 37, Acks: 1}); down != want {
		t.Errorf("down %+v, want %+v", down, want)
	}
	if got := s.Measured(Up); got.Segments != 5 {
		t.Errorf("in the window %+v", got)
	}
	if got, want := s.Small(Up, 37), (Small{Sent: 2, Bytes: 178, Acks: 1, AckBytes: 52}); got != want {
		t.Errorf("small up %+v, want %+v", got, want)
	}
	if got, want := s.Small(Down, 37), (Small{Sent: 1, Bytes: 89, Carried: 1}); got != want {
		t.Errorf("small down %+v, want %+v", got, want)
	}
	s.up(tcpFIN|tcpACK, a+78, b+38, 0)
	if sent, n := s.Open(); n != 0 || sent != (Segments{}) {
		t.Errorf("after FIN %d are open: %+v", n, sent)
	}
	s.down(tcpFIN|tcpACK, b+38, a+79, 0)
	s.up(tcpACK, a+79, b+39, 0)
	if len(s.conns) != 0 {
		t.Error("what is over is not forgotten")
	}
}

// TestFlowsEnd: a reset ends a connection, and a port that is used again begins another one.
func TestFlowsEnd(t *testing.T) {
	s := &scene{}
	for range 2 {
		s.up(tcpSYN, 100, 0, 0)
		s.down(tcpSYN|tcpACK, 500, 101, 0)
		s.up(tcpACK, 101, 501, 10)
		s.down(tcpRST, 501, 0, 0)
		if _, n := s.Open(); n != 0 {
			t.Errorf("%d open after a reset", n)
		}
	}
	s.up(tcpACK, 111, 501, 10) // of no connection that is known
	if got := s.Total(Up); got.Again != 0 || got.Segments != 5 {
		t.Errorf("%+v", got)
	}
}

// FuzzFlows: nothing that a packet may be does harm.
func FuzzFlows(f *testing.F) {
	f.Add(tcpPacket(Up, 1, tcpSYN, 1, 0, 0), uint16(52))
	f.Fuzz(func(t *testing.T, head []byte, size uint16) {
		var flows Flows
		flows.Packet(Up, 1, int(size), head)
		flows.Packet(Down, 2, int(size), head)
		if sent, n := flows.Open(); n > 2 || sent.Bytes > 2*uint64(size) {
			t.Errorf("%d open, %+v", n, sent)
		}
	})
}
