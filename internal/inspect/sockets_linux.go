package inspect

import (
	"errors"
	"maps"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/diagnose"
)

// watched is a socket of the process.
type watched struct {
	Socket
	looks, unread, unsent int
	retransmitted, base   uint32
	asked, own            bool
	clear                 int64 // the last look at which everything was acknowledged, ns
	repairing             bool  // something was sent again since
	resent                []diagnose.Span
}

// maxSockets of a process are looked at; more would make the looks late.
const maxSockets = 64

// findSockets finds the established TCP connections of the process.
func (l *look) findSockets() error {
	dir := "/proc/" + strconv.Itoa(l.o.PID) + "/fd"
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrPermission) {
		return ErrRights
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		target, err := os.Readlink(dir + "/" + e.Name())
		fd, numberErr := strconv.Atoi(e.Name())
		if err != nil || numberErr != nil || !strings.HasPrefix(target, "socket:") || len(l.sockets) == maxSockets {
			continue
		}
		w, err := identify(l.pidfd, fd)
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
			return ErrRights
		}
		if err == nil && (l.o.Port == 0 || w.Remote.Port() == l.o.Port) {
			l.sockets[fd] = w
		}
	}
	l.dropOwn()
	if len(l.sockets) == 0 {
		return ErrNoSocket
	}
	return nil
}

// dropOwn leaves out connections of the process to itself, by which libraries wake their own threads.
func (l *look) dropOwn() {
	for _, a := range l.sockets {
		for _, b := range l.sockets {
			a.own = a.own || b.Remote == a.Local
		}
	}
	maps.DeleteFunc(l.sockets, func(_ int, w *watched) bool { return w.own })
}

// borrow calls f with a duplicate of a descriptor of the process, and closes that again at once: a duplicate keeps a connection open.
func borrow(pidfd, fd int, f func(own int) error) error {
	own, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(own) }()
	return f(own)
}

var errOther = errors.New("no established TCP connection")

func identify(pidfd, fd int) (w *watched, err error) {
	err = borrow(pidfd, fd, func(own int) error {
		if protocol, err := unix.GetsockoptInt(own, unix.SOL_SOCKET, unix.SO_PROTOCOL); err != nil || protocol != unix.IPPROTO_TCP {
			return errOther
		}
		local, err1 := unix.Getsockname(own)
		remote, err2 := unix.Getpeername(own)
		if err1 != nil || err2 != nil {
			return errOther
		}
		w = &watched{Socket: Socket{Local: addrPort(local), Remote: addrPort(remote)}}
		return nil
	})
	return w, err
}

func addrPort(a unix.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port))
	}
	return netip.AddrPort{}
}

// ask reads the state of a socket once. unsent: there are bytes behind unacknowledged ones.
func (w *watched) ask(pidfd, fd int) (unread, unsent bool) {
	_ = borrow(pidfd, fd, func(own int) error {
		in, err := unix.IoctlGetInt(own, unix.SIOCINQ)
		if err != nil {
			return err
		}
		info, err := unix.GetsockoptTCPInfo(own, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			return err
		}
		on, err := unix.GetsockoptInt(own, unix.IPPROTO_TCP, unix.TCP_NODELAY)
		if err != nil {
			return err
		}
		w.looks++
		w.NoDelay = on != 0
		w.RTT = time.Duration(info.Rtt) * time.Microsecond
		w.repair(clock.Now(), info.Total_retrans-min(info.Dsack_dups, info.Total_retrans), info.Unacked)
		w.Unread, w.Unsent = max(w.Unread, in), max(w.Unsent, int(info.Notsent_bytes))
		unread, unsent = in > 0, info.Notsent_bytes > 0 && info.Unacked > 0
		if unread {
			w.unread++
		}
		if unsent {
			w.unsent++
		}
		return nil
	})
	return unread, unsent
}

// repair notes what was sent again: from when it may have been lost, which is after the last moment at which everything was acknowledged,
// until everything is acknowledged again. What proves needless (D-SACK, RFC 2883) was no loss.
func (w *watched) repair(now int64, retransmitted, unacked uint32) {
	switch {
	case !w.asked:
		w.asked, w.base, w.clear = true, retransmitted, now
	case retransmitted > w.retransmitted:
		w.repairing = true
		w.resent = append(w.resent, diagnose.Span{From: max(w.clear, now-lossBefore), To: now})
	case retransmitted < w.retransmitted && len(w.resent) > 0:
		w.repairing, w.resent = false, w.resent[:len(w.resent)-1]
	}
	if w.repairing {
		w.resent[len(w.resent)-1].To = now
	}
	if unacked == 0 {
		w.clear, w.repairing = now, false
	}
	w.retransmitted = retransmitted
}

// lossBefore is how long before it is sent again a packet was lost: the least retransmission time-out of Linux, in ns.
const lossBefore = 200_000_000

func (w *watched) said(looks int) Socket {
	s := w.Socket
	s.Retransmitted = w.retransmitted - w.base
	s.UnreadLooks = float64(w.unread) / float64(max(looks, 1))
	s.UnsentLooks = float64(w.unsent) / float64(max(looks, 1))
	return s
}
