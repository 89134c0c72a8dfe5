package broker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/cgroup"
	"github.com/mqlab/mqlab/internal/cores"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
)

const (
	loopback  = "127.0.0.1"
	portTries = 5
)

// site is where one broker is being set up.
type site struct {
	ctx        context.Context
	place      netns.Place
	guard      *guard.Guard
	dir        string // a temporary folder for it alone
	path       string // of its program
	version    string // as far as it is known beforehand
	protocol   string // that publishers will speak; empty = the broker's main one
	subscribe  string // that subscribers will speak
	variant    string
	maxMessage int
	bridge     *Bridge
	profile    plan.Profile

	persistence string // see Options
	cores       cores.Set
	tls         bool // likewise
}

// port finds a TCP port that is free on the loopback interface now. Somebody may take it before the broker does.
func (s *site) port() (string, error) {
	l, err := s.place.Listen(s.ctx, "tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// file writes a file into the folder and returns its path.
func (s *site) file(base, content string) (string, error) {
	path := filepath.Join(s.dir, base)
	return path, os.WriteFile(path, []byte(content), 0o600)
}

// publicFile writes a file that every user may read, as one inside a container must.
func (s *site) publicFile(base, content string) error {
	path := filepath.Join(s.dir, base)
	return errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, 0o644))
}

// output runs a program beside the broker to its end and returns what it wrote. Nothing of it is left afterwards.
func (s *site) output(ctx context.Context, env []string, name string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := s.place.Command(ctx, name, args...)
	cmd.Dir, cmd.Env = s.dir, append(environment(s.dir), env...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := s.guard.Spawn(cmd); err != nil {
		return "", err
	}
	err := errors.Join(cmd.Wait(), s.guard.End(cmd.Process.Pid))
	if err != nil {
		t := &tail{buf: out.Bytes()}
		err = fmt.Errorf("%s: %w: %s", filepath.Base(name), err, t.lastLine())
	}
	return out.String(), err
}

// speaks reports whether publishers or subscribers will speak one of these protocols.
func (s *site) speaks(protocols ...string) bool {
	return common(protocols, []string{s.protocol, s.subscribe})
}

func common(a, b []string) bool {
	return slices.ContainsFunc(a, func(p string) bool { return slices.Contains(b, p) })
}

// program is how a broker is run.
type program struct {
	path    string // instead of the program that was found
	args    []string
	env     []string
	scheme  string // of its URL
	address string // where it will listen; empty: an embedded broker says so in its first line
	// again, if set, are the arguments of a broker that is to listen where it listened before.
	again    func(listeners []endpoint) []string
	also     []endpoint
	patience time.Duration
	config   []Setting
	exits    []int // exit codes besides 0 of an orderly end
	// complaint, if set, recognises the line by which the broker says why it ended; else it is the last one.
	complaint *regexp.Regexp
	// started, if set, is called as soon as the process runs; readBack, if set, when it is ready.
	started  func(pid int) error
	readBack func(ctx context.Context) (*report, error)
}

// endpoint is one of several listeners of a broker.
type endpoint struct {
	Scheme  string `json:"scheme"`
	Address string `json:"address"`
}

func (l endpoint) url() string { return l.Scheme + "://" + l.Address }

// listen adds a listener.
func (p *program) listen(at endpoint) {
	if p.address == "" {
		p.scheme, p.address = at.Scheme, at.Address
	} else {
		p.also = append(p.also, at)
	}
}

// report is what a broker says about itself. It is also the line by which an embedded broker says that it is ready.
type report struct {
	Address string           `json:"address,omitempty"`
	Also    []endpoint       `json:"also,omitempty"`
	Version string           `json:"version,omitempty"`
	Config  []Setting        `json:"config,omitempty"`
	Limits  map[string]int64 `json:"limits,omitempty"`
}

// errPortTaken says that the broker lost its port to somebody else.
var errPortTaken = errors.New("the port was taken")

// portTaken recognises the messages of brokers and systems.
var portTaken = regexp.MustCompile(`(?i)address (already )?in use|eaddrinuse|bind to distribution port|only one usage of each socket address`)

// launch runs the broker, again if its port was taken in between.
func launch(ctx context.Context, k kind, f Finding, s plan.Subject, o Options) (i *Instance, err error) {
	for range portTries {
		i, err = launchOnce(ctx, k, f, s, o)
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	return i, err
}

func launchOnce(ctx context.Context, k kind, f Finding, s plan.Subject, o Options) (*Instance, error) {
	dir, err := o.Guard.MkdirTemp(s.Broker)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Broker, err)
	}
	w := &site{
		ctx: ctx, place: o.Place, guard: o.Guard, dir: dir, path: f.Path, version: f.Version,
		protocol: s.Protocol, subscribe: s.SubscribeProtocol(), variant: s.Variant, maxMessage: o.MaxMessageBytes, bridge: o.Bridge, profile: o.Profile,
		persistence: o.Persistence, cores: o.Cores, tls: o.TLS,
	}
	p, err := k.prepare(w)
	if err != nil {
		_ = o.Guard.RemoveDir(dir)
		return nil, fmt.Errorf("%s: %w", s.Broker, err)
	}
	i := newInstance(s.Broker, dir, p, o)
	i.Version, i.site = f.Version, w
	if err := i.confine(o.Profile, strings.TrimPrefix(filepath.Base(dir), cgroup.Prefix), o.Beside); err != nil {
		_ = o.Guard.RemoveDir(dir)
		return nil, fmt.Errorf("%s: machine %s: %w", s.Broker, o.Profile.Name, err)
	}
	i.publish, i.subscribe = w.scheme(w.protocol), w.scheme(w.subscribe)
	first, err := i.run(w)
	if err != nil {
		_ = errors.Join(i.cell.remove(i), o.Guard.RemoveDir(dir))
		return nil, fmt.Errorf("%s cannot be run: %w", s.Broker, err)
	}
	if err := i.await(ctx, o.Place, first); err != nil {
		i.kill()
		return nil, err
	}
	return i, nil
}

// newInstance is a broker that does not run yet.
func newInstance(name, dir string, p *program, o Options) *Instance {
	return &Instance{
		Config: p.config, Limits: make(map[string]int64), name: name, dir: dir, guard: o.Guard, program: p,
		stderr: &tail{also: o.Stderr, complaint: p.complaint}, done: make(chan struct{}), exited: make(chan error, 1),
	}
}

// run starts the process. The channel brings the first line of an embedded broker.
func (i *Instance) run(w *site) (first <-chan string, err error) {
	path, args, err := i.cell.command(cmp.Or(i.program.path, w.path), i.program.args)
	if err != nil {
		return nil, err
	}
	cmd := w.place.Command(context.Background(), path, args...)
	cmd.Dir = w.dir
	cmd.Env = append(environment(w.dir), i.program.env...)
	cmd.Stderr = i.stderr
	cmd.WaitDelay = time.Second // a grandchild that holds stderr open must not hold us
	p := &process{cmd: cmd, guard: i.guard}
	if i.program.address == "" {
		line := newFirstLine()
		cmd.Stdout, first = line, line.line
		if p.stdin, err = cmd.StdinPipe(); err != nil {
			return nil, err
		}
	} else {
		cmd.Stdout = i.stderr
	}
	if err := cores.Start(w.cores, func() error { return i.guard.Spawn(cmd) }); err != nil {
		return nil, err
	}
	i.life.Lock()
	i.vessel, i.PIDs = p, []int{p.pid()}
	i.life.Unlock()
	go p.wait(i)
	if i.program.started != nil {
		if err := i.program.started(p.pid()); err != nil {
			i.kill()
			return nil, err
		}
	}
	return first, nil
}

// environment is the same for every user, so that no variable of a shell changes a result. The broker's marker for the
// guard is added to it.
func environment(dir string) []string {
	env := []string{"LANG=C.UTF-8", "HOME=" + dir, "TMPDIR=" + dir}
	for _, key := range []string{"PATH", "LD_LIBRARY_PATH", "SystemRoot"} {
		if v, ok := os.LookupEnv(key); ok {
			env = append(env, key+"="+v)
		}
	}
	return env
}

// await returns when the broker answers its protocol, listens on the loopback interface alone, and has said what it
// can say about itself.
func (i *Instance) await(ctx context.Context, place netns.Place, first <-chan string) error {
	limited, cancel := context.WithTimeout(ctx, i.program.patience)
	defer cancel()
	listeners := append([]endpoint{{i.program.scheme, i.program.address}}, i.program.also...)
	if i.program.address == "" {
		r, err := i.announced(ctx, limited, first)
		if err != nil {
			return err
		}
		listeners = append([]endpoint{{i.program.scheme, r.Address}}, r.Also...)
		i.learn(r)
	}
	i.listeners = listeners
	for _, l := range listeners {
		if err := i.answers(ctx, limited, place, l); err != nil {
			return err
		}
	}
	i.URL, i.SubscribeURL = find(listeners, i.publish), find(listeners, i.subscribe)
	if i.program.readBack != nil {
		r, err := i.program.readBack(limited)
		if err != nil {
			return fmt.Errorf("%s does not tell its configuration: %w", i.name, err)
		}
		i.learn(r)
	}
	if len(i.PIDs) > 0 { // those of a container need not be visible
		if n, ok := openFiles(i.PIDs[0]); ok {
			i.Limits["open_files"] = n
		}
	}
	return i.cell.readBack(i)
}

// find returns the URL of the listener of this scheme, or else of the first.
func find(listeners []endpoint, scheme string) string {
	for _, l := range listeners {
		if l.Scheme == scheme {
			return l.url()
		}
	}
	return listeners[0].url()
}

// learn takes over what the broker says of itself.
func (i *Instance) learn(r *report) {
	if r.Version != "" {
		i.Version = r.Version
	}
	i.Config = append(i.Config, r.Config...)
	for k, v := range r.Limits {
		i.Limits[k] = v
	}
}

// announced reads the line by which an embedded broker says where it listens.
func (i *Instance) announced(ctx, limited context.Context, first <-chan string) (*report, error) {
	select {
	case line := <-first:
		var r report
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("%s said %s instead of its address", i.name, strconv.QuoteToASCII(line))
		}
		return &r, nil
	case <-i.done:
		return nil, i.endedEarly()
	case <-limited.Done():
		return nil, i.notReady(ctx, errors.New("it said nothing"))
	}
}

// answers probes until the broker answers, and is ours.
func (i *Instance) answers(ctx, limited context.Context, place netns.Place, l endpoint) error {
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		err := greet(limited, place, l.Scheme, l.Address)
		if err == nil {
			err = i.vessel.serves(l.Address)
		}
		if err == nil || errors.Is(err, errExposed) {
			return err
		}
		select {
		case <-i.done:
			return i.endedEarly()
		case <-limited.Done():
			return i.notReady(ctx, err)
		case <-time.After(pause):
		}
	}
}

// endedEarly says how the broker ended before it was ready.
func (i *Instance) endedEarly() error {
	if i.end.memory {
		return i.outOfMemory("before it was ready")
	}
	text := fmt.Sprintf("%s %s before it was ready", i.name, i.end)
	if last := i.stderr.lastLine(); last != "" {
		text += ": " + last
	}
	if portTaken.MatchString(i.stderr.String()) {
		return fmt.Errorf("%s (%w)", text, errPortTaken)
	}
	return errors.New(text)
}

// notReady says that the caller or we lost patience; err is what the last probe saw.
func (i *Instance) notReady(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: start given up: %w", i.name, context.Cause(ctx))
	}
	text := fmt.Sprintf("%s was not ready within %v: %v", i.name, i.program.patience, err)
	if last := i.stderr.lastLine(); last != "" {
		text += "; it last said: " + last
	}
	return errors.New(text)
}
