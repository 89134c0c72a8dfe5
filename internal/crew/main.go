package crew

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/queue"
	"github.com/mqlab/mqlab/internal/worker"
)

// Main is a process of the generator: it reads an order and commands from stdin, and says on stdout what it sees. It ends
// when stdin does, which the kernel closes when the lab is gone. Its result is the exit code.
func Main(_ []string, stdin io.Reader, stdout io.Writer) int {
	if err := serve(stdin, stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// errStopped is the cause of the end where the lab gave up.
var errStopped = errors.New("stopped")

// member is a process of the generator at work.
type member struct {
	out      *speaker
	ctx      context.Context
	stop     context.CancelCauseFunc
	commands chan command
	drained  atomic.Bool
	finish   chan struct{}
	told     engine.Progress // the last that was told; of the goroutine that measures
	asked    bool
}

func serve(stdin io.Reader, stdout io.Writer) error {
	in := json.NewDecoder(bufio.NewReader(stdin))
	var o order
	if err := in.Decode(&o); err != nil {
		return fmt.Errorf("order: %w", err)
	}
	m := &member{out: newSpeaker(stdout), commands: make(chan command, 1), finish: make(chan struct{})}
	m.ctx, m.stop = context.WithCancelCause(context.Background())
	go m.listen(in)
	w, err := worker.NewLocal(o.Share, o.Credentials, netns.Host, m.sink(o.Samples))
	m.answer(answer{Step: stepMade}, err)
	if err == nil {
		m.work(w)
		err = w.Close()
	}
	return errors.Join(err, m.out.close())
}

// listen takes commands until there are none.
func (m *member) listen(in *json.Decoder) {
	defer m.stop(errStopped)
	var once sync.Once
	for {
		var c command
		if in.Decode(&c) != nil {
			return
		}
		switch c.Do {
		case doStop:
			m.stop(errStopped)
		case doDrained:
			m.drained.Store(true)
		case doFinish:
			once.Do(func() { close(m.finish) })
		default:
			select {
			case m.commands <- c:
			case <-m.ctx.Done():
			}
		}
	}
}

// work carries out commands until there is a result, or none is wanted.
func (m *member) work(w *worker.Local) {
	for {
		select {
		case c := <-m.commands:
			a := answer{Step: c.Do}
			var err error
			switch c.Do {
			case doPrepare:
				err = w.Prepare(m.ctx)
				a.Connections = new(w.Connections())
			case doBegin:
				err = w.Begin(m.ctx, c.Start)
			case doMeasure:
				a.Result, err = w.Measure(m.ctx)
			}
			m.answer(a, err)
			if c.Do == doMeasure {
				return
			}
		case <-m.ctx.Done():
			return
		}
	}
}

func (m *member) answer(a answer, err error) {
	if err != nil {
		a.Error = err.Error()
	}
	m.out.say(frameAnswer, func() any { return a })
}

func (m *member) sink(samples bool) worker.Sink {
	s := worker.Sink{
		Window: func(w *ledger.Window) { m.out.say(frameWindow, func() any { return packWindow(w) }) },
		Event:  func(e engine.Event) { m.out.say(frameEvent, func() any { return e }) },
		Team:   m,
	}
	if samples {
		s.Samples = func() worker.Sampler { return &sampler{out: m.out} }
	}
	return s
}

// Drained implements worker.Team: the lab, which knows of all, decides.
func (m *member) Drained(own engine.Progress) bool {
	own.Err = nil
	if !m.asked || own != m.told {
		m.asked, m.told = true, own
		m.out.say(frameProgress, func() any { return own })
	}
	return m.drained.Load()
}

// Closed implements worker.Team.
func (m *member) Closed(ctx context.Context) {
	m.answer(answer{Step: stepClosed}, nil)
	select {
	case <-m.finish:
	case <-ctx.Done():
	}
}

// sampleChunk is how many bytes of samples are gathered before they are said.
const sampleChunk = 1024 * sampleBytes

// sampler gathers the samples of one thread.
type sampler struct {
	out   *speaker
	chunk []byte
}

// Record implements worker.Sampler.
func (s *sampler) Record(e *engine.Sample) {
	if s.chunk == nil {
		s.chunk = make([]byte, 0, sampleChunk)
	}
	if s.chunk = appendSample(s.chunk, e); len(s.chunk) == cap(s.chunk) {
		s.Flush()
	}
}

// Flush implements worker.Sampler.
func (s *sampler) Flush() {
	if len(s.chunk) > 0 {
		s.out.pass(frameSamples, s.chunk)
		s.chunk = nil
	}
}

// speaker writes frames in order: who has something to say does not wait for the pipe.
type speaker struct {
	frames *queue.Queue[func() (frame, error)]
}

func newSpeaker(to io.Writer) *speaker {
	return &speaker{queue.New(func(encode func() (frame, error)) error {
		f, err := encode()
		if err != nil {
			return err
		}
		return writeFrame(to, f)
	})}
}

// say has body written as JSON. It is called, and its result encoded, later.
func (s *speaker) say(kind byte, body func() any) {
	s.frames.Add(func() (frame, error) {
		text, err := json.Marshal(body())
		return frame{kind, text}, err
	})
}

// pass has bytes written as they are.
func (s *speaker) pass(kind byte, body []byte) {
	s.frames.Add(func() (frame, error) { return frame{kind, body}, nil })
}

// close returns when all is written, with the first error.
func (s *speaker) close() error { return s.frames.Close() }
