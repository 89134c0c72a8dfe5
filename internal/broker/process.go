package broker

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/guard/proctree"
)

// process is a broker that runs as a process of this host, with its descendants.
type process struct {
	cmd   *exec.Cmd
	guard *guard.Guard
	stdin io.Closer // of an embedded broker, which ends when it is closed; otherwise nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) pause() error { return proctree.Pause(p.pid()) }

func (p *process) resume() error { return proctree.Resume(p.pid()) }

func (p *process) terminate() error {
	err := proctree.Terminate(p.pid())
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
	return err
}

func (p *process) serves(address string) error { return onLoopbackOnly(p.pid(), address) }

func (p *process) clear() error { return p.guard.End(p.pid()) }

// wait reaps the process.
func (p *process) wait(i *Instance) {
	_ = p.cmd.Wait()
	end := exitOf(p.cmd.ProcessState)
	end.memory = i.cell.killed(end)
	if heapExhausted(end, i.stderr.String()) {
		end.memory, end.heap = true, true
	}
	i.ended(end)
}

// exit is how a broker ended.
type exit struct {
	known  bool
	code   int
	signal syscall.Signal // that ended it; 0 = it exited by itself
	memory bool           // it, or a process of it, was killed for want of memory
	heap   bool           // the memory was the heap of its Java runtime
}

func exitOf(s *os.ProcessState) exit {
	if s == nil {
		return exit{}
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return exit{known: true, signal: w.Signal()}
	}
	return exit{known: true, code: s.ExitCode()}
}

func (e exit) killed() bool { return e.signal == syscall.SIGKILL }

// String puts it into words that follow the broker's name.
func (e exit) String() string {
	switch {
	case e.memory:
		return "was killed for memory"
	case !e.known:
		return "ended"
	case e.signal != 0:
		return fmt.Sprintf("was ended by signal %d (%v)", int(e.signal), e.signal)
	}
	return fmt.Sprintf("exited with %d", e.code)
}
