// Package inspect looks at a running client from outside, unmodified: what its threads wait for, what lies unread or unsent in its
// sockets, whether TCP_NODELAY is on, how long it waits for a core. It reads /proc and duplicates sockets by pidfd_getfd(2); it changes
// nothing.
package inspect

import (
	"errors"
	"net/netip"
	"time"

	"github.com/mqlab/mqlab/internal/diagnose"
)

// Options say what to look at.
type Options struct {
	PID   int
	Port  uint16          // only connections to this port; 0 = all
	For   time.Duration   // how long
	Every time.Duration   // between looks
	Until <-chan struct{} // ends the look before its time; nil = nothing does
	// Broker: it is no client but the broker. What lies unread in its sockets then shows that it stood still.
	Broker bool
}

// Errors of a look.
var (
	ErrUnsupported = errors.New("looking at a process from outside works on Linux only")
	ErrRights      = errors.New("no right to look into it: run mqlab as its user or as root (ptrace access; a container may need --cap-add SYS_PTRACE)")
	ErrNoProcess   = errors.New("there is no such process")
	ErrNoSocket    = errors.New("it has no established TCP connection (or none to the port asked for)")
)

// Socket is one connection of the process at the end of the look.
type Socket struct {
	Local, Remote netip.AddrPort
	NoDelay       bool
	RTT           time.Duration // smoothed, as TCP measures it
	Retransmitted uint32        // segments during the look, without those that proved needless
	Unread        int           // bytes, the most that was seen
	Unsent        int
	UnreadLooks   float64 // part of the looks at which there were some
	UnsentLooks   float64 // and that had bytes held back behind unacknowledged ones
}

// Report is what was seen.
type Report struct {
	PID         int
	Command     string
	Looks       int
	For         time.Duration
	Sockets     []Socket
	Facts       diagnose.Facts
	WaitCore    float64 // part of the time that threads were ready and had no core
	Voluntary   float64 // context switches per second
	Involuntary float64
	MajorFaults uint64        // pages read from disk
	Throttled   time.Duration // by a CPU quota
	DiskWrite   float64       // part of the looks that found a thread in a synchronous write
	Sources     []diagnose.Source
	// MemorySteady is in how many of the tenths of the look memory grew, 0 to 1; nil = the look was too short to tell.
	MemorySteady *float64
	// Signals are when it was ready without a core, held back by its CPU quota, when packets were sent again, when a client was in a
	// synchronous write, and when a broker did not read; to the precision of the looks, in CLOCK_MONOTONIC ns.
	Signals []diagnose.Signal
}

// Process turns what was seen into what a diagnosis is made from.
func (r *Report) Process() *diagnose.Process {
	p := &diagnose.Process{Facts: r.Facts, For: r.For, WaitCore: &r.WaitCore, Throttled: r.Throttled, DiskWrite: &r.DiskWrite, MemorySteady: r.MemorySteady, Sources: r.Sources}
	for _, s := range r.Sockets {
		p.Retransmitted += uint64(s.Retransmitted)
	}
	return p
}

// Notes tell what was seen, a line each, in one of diagnose.Languages.
func (r *Report) Notes(language string) (list []string) {
	list = append(list,
		diagnose.Note(language, "process", r.Command, r.PID, r.Looks, r.For.Round(time.Millisecond)),
		diagnose.Note(language, "switches",
			r.Voluntary, r.Involuntary, r.WaitCore*100, r.MajorFaults))
	for _, s := range r.Sockets {
		option := "off"
		if s.NoDelay {
			option = "on"
		}
		list = append(list, diagnose.Note(language, "socket",
			s.Local, s.Remote, option, s.RTT, s.Retransmitted, s.UnreadLooks*100, s.Unread, s.UnsentLooks*100, s.Unsent))
	}
	return list
}
