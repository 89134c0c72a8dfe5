package broker

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/guard/proctree"
)

// errExposed says that a broker can be reached from outside of this host.
var errExposed = errors.New("listens on more than the loopback interface")

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
		if !inodes[l.inode] {
			continue
		}
		if !l.at.Addr().IsLoopback() {
			return fmt.Errorf("%w: %v", errExposed, l.at)
		}
		found = found || l.at.String() == address
	}
	if !found {
		return fmt.Errorf("what listens at %s is another program", address)
	}
	return nil
}

// listener is a listening TCP socket.
type listener struct {
	at    netip.AddrPort
	inode uint64
}

// listeningIn reads the listening sockets of the network namespace that pid lives in.
func listeningIn(pid int) (all []listener, err error) {
	for _, file := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, file))
		if errors.Is(err, os.ErrNotExist) {
			continue // no IPv6 here
		}
		if err != nil {
			return nil, err
		}
		more, err := parseListeners(string(b))
		if err != nil {
			return nil, fmt.Errorf("/proc/%d/net/%s: %w", pid, file, err)
		}
		all = append(all, more...)
	}
	return all, nil
}

// parseListeners reads the lines of /proc/net/tcp (proc_pid_net(5)): the second word is the local address, the fourth
// the state in hexadecimal, the tenth the inode.
func parseListeners(text string) (all []listener, err error) {
	const listen = "0A"
	_, text, _ = strings.Cut(text, "\n") // the heading
	for line := range strings.Lines(text) {
		word := strings.Fields(line)
		if len(word) < 10 {
			return nil, fmt.Errorf("unknown line %q", line)
		}
		if word[3] != listen {
			continue
		}
		at, err := parseSocket(word[1])
		if err != nil {
			return nil, err
		}
		inode, err := strconv.ParseUint(word[9], 10, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, listener{at, inode})
	}
	return all, nil
}

// parseSocket reads an address and port as the kernel prints them: "0100007F:1F90" is 127.0.0.1:8080 on machines that
// store the low byte first. The address is written in words of 32 bits of the machine's byte order.
func parseSocket(s string) (netip.AddrPort, error) {
	bad := fmt.Errorf("unknown address %q", s)
	host, port, ok := strings.Cut(s, ":")
	b, err := hex.DecodeString(host)
	if !ok || err != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, bad
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	addr, ok := netip.AddrFromSlice(b)
	n, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		return netip.AddrPort{}, bad
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), nil
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
