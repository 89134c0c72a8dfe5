// Package space makes network namespaces without a name, and places in them for sockets and programs (Linux). A namespace is held by a
// file descriptor and a thread, and is gone when they and all programs in it are.
package space

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Space is a network namespace without a name and the thread that lives in it.
type Space struct {
	fd    int // by which it is held and entered
	calls chan func()
	quit  chan struct{}
	ended chan struct{}
}

// New makes an empty namespace. The error says what it takes if this process may not.
func New() (*Space, error) {
	n := &Space{calls: make(chan func()), quit: make(chan struct{}), ended: make(chan struct{})}
	made := make(chan error)
	go n.live(made)
	if err := <-made; err != nil {
		return nil, err
	}
	return n, nil
}

// live makes the namespace and carries out calls in it until there are no more. Its thread, never unlocked, ends with it. The main
// thread must not be that thread: it cannot end, and /proc of this process shows its namespace.
func (n *Space) live(made chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		elsewhere := make(chan struct{})
		go func() {
			defer close(elsewhere)
			n.live(made)
		}()
		<-elsewhere // this goroutine keeps the main thread meanwhile
		runtime.UnlockOSThread()
		return
	}
	defer close(n.ended)
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		made <- fmt.Errorf("make a network namespace: %w%s", err, Hint(err))
		return
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		made <- fmt.Errorf("hold a network namespace: %w", err)
		return
	}
	n.fd = fd
	made <- nil
	for {
		select {
		case call := <-n.calls:
			call()
		case <-n.quit:
			return
		}
	}
}

// Do runs f on the thread inside the namespace. F must not wait for anything that takes time. After Close the error is
// net.ErrClosed.
func (n *Space) Do(f func() error) error {
	result := make(chan error, 1)
	select {
	case n.calls <- func() { result <- f() }:
		return <-result
	case <-n.ended:
		return net.ErrClosed
	}
}

// Close gives the namespace up. It must be called once.
func (n *Space) Close() error {
	close(n.quit)
	<-n.ended
	return unix.Close(n.fd)
}

// Hint says what to do about a refusal.
func Hint(err error) string {
	if errors.Is(err, unix.EPERM) {
		return "; it takes root, or a user namespace if this system allows them"
	}
	return ""
}

// Set writes a setting of the kernel for the namespace of the calling thread; the name is that below /proc/sys.
func Set(name, value string) error {
	// os.WriteFile would create and truncate; the kernel's files want neither.
	f, err := os.OpenFile("/proc/sys/"+name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// get reads one.
func get(name string) (string, error) {
	b, err := os.ReadFile("/proc/sys/" + name)
	return strings.TrimSpace(string(b)), err
}

// FD is the descriptor by which the namespace is held.
func (n *Space) FD() int { return n.fd }

// Inode is the number by which the kernel tells the namespace from others; 0 if it does not say.
func (n *Space) Inode() uint64 {
	var s unix.Stat_t
	if unix.Fstat(n.fd, &s) != nil {
		return 0
	}
	return s.Ino
}
