package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/guard"
)

// Respawner ends a broker of ours and runs its program again: with the same arguments, environment and folder, and so with
// the same configuration and data. Its method Restart is made for Options.
type Respawner struct {
	guard *guard.Guard
	process
}

// NewRespawner reads how the process of a broker was started. It fails if that cannot be read, or would not bring the broker
// back. When the broker was restarted, Stop of the instance reports its end as a crash; End ends the last process.
func NewRespawner(i *broker.Instance, g *guard.Guard) (*Respawner, error) {
	if len(i.PIDs) != 1 {
		return nil, errors.New(notOurs)
	}
	p, err := inspect(i.PIDs[0])
	if err != nil {
		return nil, fmt.Errorf("how the broker was started cannot be read: %w", err)
	}
	exited := i.Exited()
	p.wait = func(ctx context.Context) error {
		for {
			select {
			case _, more := <-exited:
				if !more {
					return nil
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return &Respawner{g, *p}, nil
}

// process is a program that can be run again.
type process struct {
	pid       int
	path, dir string
	args, env []string
	wait      func(ctx context.Context) error // until pid has ended
	stdin     io.Closer                       // of an embedded broker, which ends when it is closed
	ours      bool                            // pid was started here
}

// inspect reads how a running process was started.
func inspect(pid int) (*process, error) {
	at := func(name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }
	path, err := os.Readlink(at("exe"))
	if err != nil {
		return nil, err
	}
	dir, err := os.Readlink(at("cwd"))
	if err != nil {
		return nil, err
	}
	args, err := os.ReadFile(at("cmdline"))
	if err != nil {
		return nil, err
	}
	env, err := os.ReadFile(at("environ"))
	if err != nil {
		return nil, err
	}
	p := &process{pid: pid, path: path, dir: dir, args: words(args)}
	marked := false
	for _, v := range words(env) {
		if strings.HasPrefix(v, guard.Marker+"=") {
			marked = true
		} else {
			p.env = append(p.env, v)
		}
	}
	if !marked { // the program has written its title over arguments and environment
		return nil, errors.New("the process hides its command line")
	}
	return p, nil
}

func words(b []byte) []string { return strings.Split(string(bytes.TrimRight(b, "\x00")), "\x00") }

// embedded reports whether the process is this program as a broker, which chooses its port and tells it.
func (p *process) embedded() bool { return len(p.args) > 1 && p.args[1] == broker.Verb }

// End kills the process that was started here, if there is one.
func (p *Respawner) End() error {
	if !p.ours {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	return errors.Join(p.stop(ctx, true), p.guard.End(p.pid))
}

func (p *process) stop(ctx context.Context, kill bool) error {
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	if err := syscall.Kill(p.pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return p.wait(ctx)
}

// Restart ends the broker, by SIGKILL or SIGTERM, and starts it again. It returns the new address of an embedded broker.
func (p *Respawner) Restart(ctx context.Context, kill bool) (addr string, err error) {
	if err := p.stop(ctx, kill); err != nil {
		return "", fmt.Errorf("it does not end: %w", err)
	}
	cmd := exec.Command(p.path)
	cmd.Args, cmd.Dir, cmd.Env = p.args, p.dir, p.env
	cmd.WaitDelay = time.Second
	line := make(chan []byte, 1)
	if p.embedded() {
		if p.stdin, err = cmd.StdinPipe(); err != nil {
			return "", err
		}
		cmd.Stdout = &firstLine{to: line}
	}
	if err := p.guard.Spawn(cmd); err != nil {
		return "", err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended does not matter
		close(ended)
	}()
	p.pid, p.ours = cmd.Process.Pid, true
	p.wait = func(ctx context.Context) error {
		select {
		case <-ended:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if !p.embedded() {
		return "", nil
	}
	return announced(ctx, line, ended)
}

// announced reads the line by which an embedded broker says where it listens.
func announced(ctx context.Context, line <-chan []byte, ended <-chan struct{}) (addr string, err error) {
	select {
	case text := <-line:
		var ready struct {
			Address string `json:"address"`
		}
		if err := json.Unmarshal(text, &ready); err != nil || ready.Address == "" {
			return "", fmt.Errorf("it said %.100q instead of its address", text)
		}
		return ready.Address, nil
	case <-ended:
		return "", errors.New("it ended at once")
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// firstLine passes on the first line that is written to it.
type firstLine struct {
	buf []byte
	to  chan<- []byte
}

func (f *firstLine) Write(b []byte) (int, error) {
	if f.to == nil {
		return len(b), nil
	}
	f.buf = append(f.buf, b...)
	if i := bytes.IndexByte(f.buf, '\n'); i >= 0 {
		f.to <- f.buf[:i]
		f.to = nil
	}
	return len(b), nil
}
