package tun

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// namespace is a network namespace without a name and the thread that lives in it.
type namespace struct {
	fd    int // by which it is held and entered
	calls chan func()
	ended chan struct{}
}

// newNamespace makes an empty namespace.
func newNamespace() (*namespace, error) {
	n := &namespace{calls: make(chan func()), ended: make(chan struct{})}
	made := make(chan error)
	go n.live(made)
	if err := <-made; err != nil {
		return nil, err
	}
	return n, nil
}

// live makes the namespace and carries out calls in it until there are no more. Its thread, never unlocked, ends with it. The main
// thread must not be that thread: it cannot end, and /proc of this process shows its namespace.
func (n *namespace) live(made chan<- error) {
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
		made <- fmt.Errorf("make a network namespace: %w%s", err, hint(err))
		return
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		made <- fmt.Errorf("hold a network namespace: %w", err)
		return
	}
	n.fd = fd
	made <- nil
	for call := range n.calls {
		call()
	}
}

// do runs f on the thread inside the namespace. F must not wait for anything that takes time.
func (n *namespace) do(f func() error) error {
	result := make(chan error, 1)
	n.calls <- func() { result <- f() }
	return <-result
}

// close gives the namespace up. It must be called once and after the last do.
func (n *namespace) close() error {
	close(n.calls)
	<-n.ended
	return unix.Close(n.fd)
}

// hint says what to do about a refusal.
func hint(err error) string {
	if errors.Is(err, unix.EPERM) {
		return "; it takes root, or a user namespace if this system allows them"
	}
	return ""
}

// setting writes a setting of the kernel for the namespace of the calling thread; the name is that below /proc/sys.
func setting(name, value string) error {
	// os.WriteFile would create and truncate; the kernel's files want neither.
	f, err := os.OpenFile("/proc/sys/"+name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// readSetting reads one.
func readSetting(name string) (string, error) {
	b, err := os.ReadFile("/proc/sys/" + name)
	return strings.TrimSpace(string(b)), err
}
