package broker

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/guard/proctree"
)

// errExposed says that a broker can be reached from outside of this host.
var errExposed = errors.New("listens on more than the loopback interface")

// stateListen is TCP_LISTEN in /proc/net/tcp.
const stateListen = 10

// onLoopbackOnly returns nil if the processes of the tree under root listen at address and nowhere but on the loopback
// interface. That the listener is ours matters: somebody else may have taken the port meanwhile.
func onLoopbackOnly(root int, address string) error {
	inodes, err := sockets(root)
	if err != nil {
		return err
	}
	listening, err := listeningIn(root)
	if err != nil {
		return err
	}
	found := false
	for _, l := range listening {
		if !inodes[l.Inode] {
			continue
		}
		at := net.JoinHostPort(l.LocalAddr.String(), strconv.FormatUint(l.LocalPort, 10))
		if !l.LocalAddr.IsLoopback() {
			return fmt.Errorf("%w: %s", errExposed, at)
		}
		found = found || at == address
	}
	if !found {
		return fmt.Errorf("what listens at %s is another program", address)
	}
	return nil
}

// socketLine is a line of /proc/net/tcp; the module does not export its type.
type socketLine = struct {
	Inode     uint64
	LocalAddr net.IP
	LocalPort uint64
}

// listeningIn reads the listening sockets of the network namespace that pid lives in.
func listeningIn(pid int) (all []socketLine, err error) {
	fs, err := procfs.NewFS(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return nil, err
	}
	for _, read := range []func() (procfs.NetTCP, error){fs.NetTCP, fs.NetTCP6} {
		lines, err := read()
		if errors.Is(err, os.ErrNotExist) {
			continue // no IPv6 here
		}
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			if l.St == stateListen {
				all = append(all, socketLine{l.Inode, l.LocalAddr, l.LocalPort})
			}
		}
	}
	return all, nil
}

// sockets returns the inodes of the sockets that the tree under root holds.
func sockets(root int) (map[uint64]bool, error) {
	pids, err := proctree.Members(root)
	if err != nil {
		return nil, err
	}
	inodes := make(map[uint64]bool)
	for _, pid := range pids {
		p, err := procfs.NewProc(pid)
		if err != nil {
			continue // it has ended
		}
		targets, err := p.FileDescriptorTargets()
		if err != nil {
			return nil, fmt.Errorf("cannot see where it listens: %w", err)
		}
		for _, t := range targets {
			if text, ok := strings.CutPrefix(t, "socket:["); ok {
				if n, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 64); err == nil {
					inodes[n] = true
				}
			}
		}
	}
	return inodes, nil
}

// openFiles returns how many files the process may have open; false if that is unlimited or not known.
func openFiles(pid int) (int64, bool) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, false
	}
	l, err := p.Limits()
	if err != nil || l.OpenFiles > math.MaxInt64 {
		return 0, false
	}
	return int64(l.OpenFiles), true
}

// raiseOpenFiles lifts the soft limit of open files of a running process to its hard limit.
func raiseOpenFiles(pid int) error {
	var l unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &l); err != nil {
		return err
	}
	l.Cur = l.Max
	return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &l, nil)
}
