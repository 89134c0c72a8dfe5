package crew

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/worker"
)

// Verb is the first argument by which main knows that it shall be a process of the generator: it then calls Main.
const Verb = "generator"

const (
	endTime   = 5 * time.Second // for a process to end when it is not needed any more
	tailBytes = 4 << 10         // of what it wrote to stderr
)

// process is the lab's end of a process of the generator.
type process struct {
	name  string // "generator process 2 of 3"
	cmd   *exec.Cmd
	guard *guard.Guard
	said  tail

	mu    sync.Mutex // guards what follows
	in    io.WriteCloser
	step  map[string]chan answer
	conns engine.Connections // as far as it has told

	ended chan struct{} // closed when it is gone
	err   error         // how it ended; valid then
}

// sink takes what processes tell. Progress is how far number n is.
type sink struct {
	worker.Sink
	progress func(n int, p engine.Progress)
}

// start starts process number n and gives it its order.
func start(where netns.Place, g *guard.Guard, n, of int, o order, to sink) (*process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{
		name: fmt.Sprintf("generator process %d of %d", n+1, of), guard: g, ended: make(chan struct{}), step: map[string]chan answer{},
	}
	for _, s := range []string{stepMade, doPrepare, doBegin, stepClosed, doMeasure} {
		p.step[s] = make(chan answer, 1)
	}
	p.cmd = where.Command(context.Background(), exe, Verb)
	p.cmd.Stderr, p.cmd.WaitDelay = &p.said, time.Second
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := g.Spawn(p.cmd); err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	go p.follow(n, bufio.NewReaderSize(out, 64<<10), to)
	return p, p.send(o)
}

// follow hands on what the process says until it has ended.
func (p *process) follow(n int, from *bufio.Reader, to sink) {
	var samples worker.Sampler
	if to.Samples != nil {
		samples = to.Samples()
	}
	var err error
	for err == nil {
		var f frame
		if f, err = readFrame(from); err == nil {
			err = p.take(n, f, to, samples)
		}
	}
	if !errors.Is(err, io.EOF) {
		_ = p.cmd.Process.Kill() // what it says cannot be understood
	}
	end := p.cmd.Wait()
	switch {
	case !errors.Is(err, io.EOF):
		p.err = fmt.Errorf("%s said what cannot be read: %w", p.name, err)
	case end != nil:
		p.err = fmt.Errorf("%s ended: %w", p.name, end)
	default:
		p.err = fmt.Errorf("%s ended by itself", p.name)
	}
	if last := p.said.last(); last != "" {
		p.err = fmt.Errorf("%w: %s", p.err, last)
	}
	close(p.ended)
}

func (p *process) take(n int, f frame, to sink, samples worker.Sampler) error {
	switch f.kind {
	case frameWindow:
		var w window
		if err := json.Unmarshal(f.body, &w); err != nil {
			return err
		}
		whole, err := w.unpack()
		if err == nil && to.Window != nil {
			to.Window(whole)
		}
		return err
	case frameEvent:
		var e engine.Event
		if err := json.Unmarshal(f.body, &e); err != nil {
			return err
		}
		if to.Event != nil {
			to.Event(e)
		}
	case frameProgress:
		var e engine.Progress
		if err := json.Unmarshal(f.body, &e); err != nil {
			return err
		}
		to.progress(n, e)
	case frameSamples:
		if samples == nil {
			return nil
		}
		err := eachSample(f.body, samples.Record)
		samples.Flush()
		return err
	case frameAnswer:
		return p.answered(f.body)
	default:
		return fmt.Errorf("a frame of kind %q", f.kind)
	}
	return nil
}

func (p *process) answered(body []byte) error {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return err
	}
	to, known := p.step[a.Step]
	if !known {
		return fmt.Errorf("an answer to %q", a.Step)
	}
	p.mu.Lock()
	if a.Connections != nil {
		p.conns = *a.Connections
	}
	if a.Result != nil {
		p.conns = a.Result.Connections
	}
	p.mu.Unlock()
	select {
	case to <- a:
		return nil
	default:
		return fmt.Errorf("a second answer to %q", a.Step)
	}
}

// send gives the process its order or a command. When it is gone, await tells.
func (p *process) send(what any) error {
	line, err := json.Marshal(what)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.in.Write(append(line, '\n'))
	return nil
}

// errHung is why a process was ended.
var errHung = errors.New("did not answer")

// await returns the answer to a step, or how the process ended before. One that does not answer until late is ended.
func (p *process) await(step string, late <-chan struct{}) (answer, error) {
	var a answer
	select {
	case a = <-p.step[step]:
	case <-late:
		_ = p.cmd.Process.Kill()
		<-p.ended
		return a, fmt.Errorf("%s %w to %s and was ended", p.name, errHung, step)
	case <-p.ended:
		select {
		case a = <-p.step[step]: // the last that it said
		default:
			return a, p.err
		}
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// connections is what it told of them last.
func (p *process) connections() engine.Connections {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns
}

// close ends the process: it does so itself when its input ends, unless it hangs.
func (p *process) close() error {
	p.mu.Lock()
	_ = p.in.Close() // it may be gone
	p.mu.Unlock()
	select {
	case <-p.ended:
	case <-time.After(endTime):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
	return p.guard.End(p.cmd.Process.Pid)
}

// tail keeps the end of what a process wrote.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// Write never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	t.buf = t.buf[max(0, len(t.buf)-tailBytes):]
	return len(b), nil
}

// last is the first line of a panic, or else the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(bytes.TrimSpace(t.buf))
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.TrimSpace(line)
		}
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}
