package agent

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/guard"
)

// Job is what an agent is asked to do. Its JSON is flat, and its strings need no escapes.
type Job struct {
	Protocol  int    `json:"protocol"`
	Host      string `json:"host"`
	Port      int    `json:"port"`
	Topic     string `json:"topic"`
	QoS       int    `json:"qos"`
	ClientID  string `json:"client_id"`
	KeepAlive int    `json:"keepalive"`          // seconds
	Samples   string `json:"samples"`            // the file to write
	Capacity  int    `json:"capacity"`           // records
	Callback  string `json:"callback,omitempty"` // "" = it records only, or works; queue = it hands over to another thread; block = it sleeps
	WorkNS    int64  `json:"work_ns,omitempty"`  // that a message costs
	Loop      string `json:"loop,omitempty"`     // start, forever, own, sleep
	SleepUS   int    `json:"sleep_us,omitempty"`
	NoDelay   int    `json:"nodelay,omitempty"`
	Log       int    `json:"log,omitempty"`
	Malloc    int    `json:"malloc,omitempty"` // of C and C++: 1 = memory of its own for each message
	Pool      int    `json:"pool,omitempty"`   // of C: connections that publish in turn, with the library's threads
	GC        string `json:"gc,omitempty"`     // default, thresholds, frozen, off
	Retain    int    `json:"retain,omitempty"` // containers that the program keeps
	TLSCA     string `json:"tls_ca,omitempty"`
	CountFrom int    `json:"count_from,omitempty"` // the message from which on allocations are counted, where they are

	Connections int    `json:"connections,omitempty"` // of this process; 0 = 1. Their client identifiers are numbered
	By          string `json:"by,omitempty"`          // how they are carried: threads, loop; "" = as one connection is by Loop
	Reconnect   string `json:"reconnect,omitempty"`   // resubscribe or plain; "" = it need not come back

	// Of agents that publish on a schedule, after Go.
	Publish      string `json:"publish,omitempty"` // the topic; "" = it only receives
	PublishQoS   int    `json:"publish_qos,omitempty"`
	Count        int    `json:"count,omitempty"`
	IntervalNS   int64  `json:"interval_ns,omitempty"`
	PayloadBytes int    `json:"payload_bytes,omitempty"`
	Mix          int    `json:"mix,omitempty"`        // 1 = two messages at once, of QoS 0 and QoS 1
	WorkEvery    int    `json:"work_every,omitempty"` // messages of which one costs WorkNS; 0 = each
	Churn        int    `json:"churn,omitempty"`      // of Python: containers kept per message
	DiskFile     string `json:"disk_file,omitempty"`  // of C: where those messages are written to, and synced
	DiskBytes    int    `json:"disk_bytes,omitempty"` // each
	Burst        int    `json:"burst,omitempty"`      // messages more at message BurstAt
	BurstAt      int    `json:"burst_at,omitempty"`
	LingerNS     int64  `json:"linger_ns,omitempty"` // of a client with a loop of its own: how long it reads after the last message
}

// event is a line that an agent says.
type event struct {
	Event    string `json:"event"`
	Protocol int    `json:"protocol"`
	Library  string `json:"library"`
	Version  string `json:"version"`
	What     string `json:"what"`
	Code     int    `json:"code"`
	Done
}

// Done is what an agent says of itself at its end; nil = it cannot tell.
type Done struct {
	Samples         uint64  `json:"samples"`
	QueueDrops      uint64  `json:"queue_drops"`
	Allocations     *uint64 `json:"allocations"`
	AllocatedBytes  *uint64 `json:"allocated_bytes"`
	Collections     *uint64 `json:"collections"`
	FullCollections *uint64 `json:"full_collections"`
}

// Process is a running agent.
type Process struct {
	*Built
	Library  string // and Version, as the agent says
	Version  string
	PID      int
	cmd      *exec.Cmd
	reap     sync.Once
	stdin    io.WriteCloser
	events   chan event
	words    *lastWords
	guard    *guard.Guard
	folder   string // of its samples
	capacity int    // of these
	began    int64
}

// The times that an agent may take; a library that needs longer hangs.
const (
	patience  = 15 * time.Second
	endlessly = 5 * time.Second // to end after STOP
)

// Start starts an agent under the guard and gives it its job. It returns once the agent said hello. The samples are in a file in
// memory, which End and Kill remove.
func Start(ctx context.Context, g *guard.Guard, b *Built, job Job) (p *Process, err error) {
	p = &Process{Built: b, guard: g, events: make(chan event, 16), words: &lastWords{}, began: clock.Now()}
	if p.folder, err = g.MkdirMemory("samples"); err != nil {
		return nil, err
	}
	job.Protocol, job.Samples = 1, p.file()
	p.capacity = job.Capacity
	if err := p.start(ctx, &job); err != nil {
		return nil, errors.Join(err, g.RemoveDir(p.folder))
	}
	hello, err := p.await(ctx, "hello")
	if err == nil && hello.Protocol != 1 {
		err = fmt.Errorf("%s speaks version %d of the agent protocol, want 1", b.Name, hello.Protocol)
	}
	if err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	p.Library, p.Version = hello.Library, hello.Version
	return p, nil
}

func (p *Process) file() string { return filepath.Join(p.folder, "samples") }

func (p *Process) start(ctx context.Context, job *Job) error {
	line, err := json.Marshal(job)
	if err != nil {
		return err
	}
	command := p.Exec
	if command == nil {
		command = exec.CommandContext
	}
	p.cmd = command(context.WithoutCancel(ctx), p.Command[0], p.Command[1:]...)
	p.cmd.Env = append(os.Environ(), p.Env...)
	p.cmd.Stderr = p.words
	p.cmd.WaitDelay = afterwards // a child of it may keep its output open
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.guard.Spawn(p.cmd); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	p.PID = p.cmd.Process.Pid
	raiseFiles(p.PID)
	if err := put(p.PID, p.Place); err != nil { // threads that come later are there, too
		return err
	}
	go p.listen(stdout)
	go p.hear(stdout)
	_, _ = p.stdin.Write(append(line, '\n')) // an agent that has ended already is noticed when it says no hello
	return nil
}

// afterwards is how long an agent that has ended may still be heard: what it said last is in the pipe.
const afterwards = 300 * time.Millisecond

// hear stops listening to an agent that has ended, though a child of it keeps its output open.
func (p *Process) hear(stdout io.Closer) {
	if waitDead(p.PID) {
		time.AfterFunc(afterwards, func() { _ = stdout.Close() })
	}
}

// listen hands on what the agent says. What is no event is dropped, but for its first words.
func (p *Process) listen(stdout io.Reader) {
	defer close(p.events)
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Event != "" {
			p.events <- e
			continue
		}
		_, _ = p.words.Write(append(lines.Bytes(), '\n'))
	}
}

// await waits for an event of a kind.
func (p *Process) await(ctx context.Context, kind string) (event, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case e, ok := <-p.events:
			switch {
			case !ok:
				p.waitEnd() // its last words have come then
				return e, fmt.Errorf("%s ended before it said %s%s", p.Name, kind, p.words)
			case e.Event == "error":
				return e, p.failed(&e)
			case e.Event == kind:
				return e, nil
			}
		case <-late.C:
			return event{}, fmt.Errorf("%s did not say %s within %v%s", p.Name, kind, patience, p.words)
		case <-ctx.Done():
			return event{}, context.Cause(ctx)
		}
	}
}

// Said is what the agent wrote to its standard error, as the end of a message: its begin, "" if there is nothing.
func (p *Process) Said() string { return p.words.String() }

// Ready waits until the agent's subscription is confirmed.
func (p *Process) Ready(ctx context.Context) error {
	_, err := p.await(ctx, "ready")
	return err
}

// Go lets the agent begin at a monotonic time.
func (p *Process) Go(at int64) error {
	_, err := fmt.Fprintf(p.stdin, "GO %d\n", at)
	return err
}

// Taken is how many samples the agent has taken so far, 0 where its language cannot tell before its end.
func (p *Process) Taken() uint64 {
	f, err := os.Open(p.file())
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	var header [headerSize]byte
	if _, err := io.ReadFull(f, header[:]); err != nil || string(header[:8]) != magic {
		return 0
	}
	return binary.LittleEndian.Uint64(header[24:])
}

// Settle waits until the agent has taken n samples and no more come, or until none came for a while; pauses of a runtime count as samples,
// so that n alone does not show that the last message came. One that cannot tell before its end is done when it has not run for a while.
func (p *Process) Settle(ctx context.Context, n uint64) { p.SettleAfter(ctx, n, time.Second) }

// SettleAfter is Settle with how long none must come where n are not there.
func (p *Process) SettleAfter(ctx context.Context, n uint64, quiet time.Duration) {
	const look = 2 * time.Millisecond
	const calm, asleep = 10, 25 // looks without a new sample: with n of them, and where its samples are not seen
	still := int(quiet / look)
	last, same := uint64(0), 0
	ran, rest := time.Duration(0), 0
	tick := time.NewTicker(look)
	defer tick.Stop()
	for same < still {
		taken := p.Taken()
		if taken != last {
			last, same = taken, 0
		}
		if same++; taken >= n && same >= calm {
			return
		}
		if taken == 0 && p.Language == Node {
			now := p.ran()
			if rest++; now != ran {
				ran, rest = now, 0
			}
			if rest >= asleep && now > 0 {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// SettleAll waits until several agents together have taken n samples, or until none took any for a while.
func SettleAll(ctx context.Context, list []*Process, n uint64) {
	const look = 20 * time.Millisecond
	const still = 50
	last := uint64(0)
	for same := 0; same < still && ctx.Err() == nil; same++ {
		taken, tells := uint64(0), true
		for _, p := range list {
			if p.Language == Node { // it tells at its end only: it is done when it does not run
				tells, taken = false, taken+uint64(p.ran())
				continue
			}
			taken += p.Taken()
		}
		if tells && taken >= n {
			return
		}
		if taken != last {
			last, same = taken, 0
		}
		time.Sleep(look)
	}
}

// End stops the agent and reads what it recorded. An agent whose count disagrees with its samples lies.
func (p *Process) End(ctx context.Context) (*Done, *Samples, error) {
	if _, err := io.WriteString(p.stdin, "STOP\n"); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s ended before its time%s", p.Name, p.words), p.Kill())
	}
	done, err := p.await(ctx, "done")
	if err != nil {
		return nil, nil, errors.Join(err, p.Kill())
	}
	p.waitEnd()
	b, err := os.ReadFile(p.file())
	if err := errors.Join(err, p.Kill()); err != nil {
		return nil, nil, err
	}
	s, err := Decode(b, p.began, clock.Now())
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	if n := uint64(len(s.Records)) + s.Dropped; n != done.Samples {
		return nil, nil, fmt.Errorf("%s: %w: it says %d, and recorded %d", p.Name, ErrLied, done.Samples, n)
	}
	return &done.Done, s, nil
}

// Abort ends the agent at once, and reads what it has recorded so far.
func (p *Process) Abort() (*Samples, error) {
	_ = p.stdin.Close()
	err := p.guard.End(p.PID)
	p.reap.Do(func() { _ = p.cmd.Wait() })
	b, readErr := os.ReadFile(p.file())
	if err = errors.Join(err, readErr, p.Kill()); err != nil {
		return nil, err
	}
	return Decode(b, p.began, clock.Now())
}

// waitEnd gives the agent a moment to end by itself.
func (p *Process) waitEnd() {
	_ = p.stdin.Close()
	ended := make(chan struct{})
	go func() {
		p.reap.Do(func() { _ = p.cmd.Wait() })
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(endlessly):
	}
}

// Kill ends the agent, with all that it started, and removes its samples. It may be called again.
func (p *Process) Kill() error {
	_ = p.stdin.Close()
	err := p.guard.End(p.PID)
	p.reap.Do(func() { _ = p.cmd.Wait() })
	return errors.Join(err, p.guard.RemoveDir(p.folder))
}

// lastWords keeps the begin of what an agent writes to its standard error.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

const mostWords = 400

func (l *lastWords) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b[:min(len(b), mostWords-len(l.text))]...)
	return len(b), nil
}

// String is the words as the end of an error message.
func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.Join(strings.Fields(string(l.text)), " ")
	if text == "" {
		return ""
	}
	return ": " + text
}
