package tun

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/link"
)

// remote is the carrier's process, from the lab's side.
type remote struct {
	cmd      *exec.Cmd
	control  *os.File
	observer atomic.Pointer[link.Observer]

	mu      sync.Mutex // one request at a time
	hung    error      // it did not answer one
	answers chan answer
	limit   time.Duration // answerLimit
	gone    chan struct{} // closed when the process says no more
	failed  error         // why; valid after gone
}

// How long the process may take.
const (
	startLimit  = 20 * time.Second // to be ready, and to end
	answerLimit = 20 * time.Second // to answer, which takes it some microseconds
)

// startCarrier starts the process, which takes over both TUN devices.
func startCarrier(device, broker *os.File, t task) (r *remote, first answer, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, first, fmt.Errorf("socketpair: %w", err)
	}
	if err := unix.SetNonblock(ends[0], true); err != nil { // or Close would not end a Read
		return nil, first, errors.Join(err, unix.Close(ends[0]), unix.Close(ends[1]))
	}
	near, far := os.NewFile(uintptr(ends[0]), "control"), os.NewFile(uintptr(ends[1]), "control")
	defer func() { _ = far.Close() }()
	r = &remote{control: near, answers: make(chan answer, 1), limit: answerLimit, gone: make(chan struct{})}
	r.cmd = exec.Command("/proc/self/exe")
	r.cmd.Args = []string{self, carryVerb}
	r.cmd.Stderr = os.Stderr
	r.cmd.ExtraFiles = []*os.File{device, broker, far}
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // an interrupt from the keyboard is the lab's
	if err := r.cmd.Start(); err != nil {
		return nil, first, errors.Join(fmt.Errorf("start the carrier: %w", err), near.Close())
	}
	go r.listen()
	if err := writeJSON(near, requestFrame, t); err != nil {
		return nil, first, errors.Join(err, r.close())
	}
	select {
	case first = <-r.answers:
		return r, first, nil
	case <-r.gone:
		return nil, first, errors.Join(r.failed, r.close())
	case <-time.After(startLimit):
		return nil, first, errors.Join(errors.New("the carrier does not become ready"), r.close())
	}
}

// listen takes what the process says until it says no more.
func (r *remote) listen() {
	defer close(r.gone)
	for {
		kind, body, err := readFrame(r.control)
		switch {
		case errors.Is(err, io.EOF):
			err = errors.New("the carrier of the link has ended by itself")
		case err == nil && kind == sightingFrame:
			if o := r.observer.Load(); o != nil {
				err = tell(body, *o)
			}
		case err == nil:
			var a answer
			if err = json.Unmarshal(body, &a); err == nil {
				r.answers <- a
			}
		}
		if err != nil {
			r.failed = err
			return
		}
	}
}

// ask sends a request and returns the answer. What was seen before it has been told to the observer by then. A process that does
// not answer is ended: what it would say later would be taken for the answer to another request.
func (r *remote) ask(q request) (answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hung != nil {
		return answer{}, r.hung
	}
	if err := writeJSON(r.control, requestFrame, q); err != nil {
		return answer{}, fmt.Errorf("carrier of the link: %w", err)
	}
	late := time.NewTimer(r.limit)
	defer late.Stop()
	select {
	case <-late.C:
		r.hung = fmt.Errorf("the carrier of the link has not answered for %v and was ended", r.limit)
		return answer{}, errors.Join(r.hung, r.cmd.Process.Kill())
	case a := <-r.answers:
		if a.Error != "" {
			return a, errors.New(a.Error)
		}
		return a, nil
	case <-r.gone:
		return answer{}, r.failed
	}
}

// close ends the process and returns why it had ended before, if it had.
func (r *remote) close() error {
	var early error
	r.mu.Lock()
	hung := r.hung
	r.mu.Unlock()
	select {
	case <-r.gone:
		early = cmp.Or(hung, r.failed)
	default:
	}
	err := r.control.Close() // which ends the process
	late := time.AfterFunc(startLimit, func() { _ = r.cmd.Process.Kill() })
	defer late.Stop()
	switch exit := r.cmd.Wait(); {
	case early == nil:
	case exit != nil && hung == nil:
		return fmt.Errorf("%w: %w", early, exit)
	default:
		return early
	}
	<-r.gone
	return err
}
