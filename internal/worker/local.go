package worker

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/engine/routine"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/monitor"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
)

// Local carries out a share in this process.
type Local struct {
	share   Share
	sink    Sink
	dial    *dialer         // of publishers
	hear    *dialer         // of subscribers
	others  []sides         // of further brokers
	ctx     context.Context // of everything that runs in the background
	cancel  context.CancelFunc
	shards  []shard
	churn   *visitors // nil = nobody comes and leaves
	clients []place   // where each connection is, in the order they are dialled
	facts   Facts
	start   int64 // of the schedule
	running sync.WaitGroup
	mu      sync.Mutex // guards what shards gather at the end
	shakes  handshakes // of TLS
	pubGate gate       // that new connections of publishers pass
	subGate gate       // of subscribers
	failed  chan error // what a shard ended with, when it was not told to end
}

// sides are the dialers to one broker.
type sides struct{ dial, hear *dialer }

// shard is one Core with what drives it.
type shard struct {
	driver
	core  *engine.Core
	ended chan struct{} // closed when Run has returned
}

func newShard(d driver, core *engine.Core) shard {
	return shard{driver: d, core: core, ended: make(chan struct{})}
}

// driver moves the bytes of one Core: loop.Loop or routine.Routines.
type driver interface {
	Expect(n int)
	Add(s engine.ClientSpec, pace *engine.ReadPace) int
	Dial(id int, at int64)
	Do(f func(now int64))
	Progress() engine.Progress
	Spun() time.Duration
	Run(ctx context.Context) error
}

// place is a connection: its shard's number, and its own within the shard.
type place struct{ shard, id int32 }

var _ Worker = (*Local)(nil)

// NewLocal builds everything that the share needs, without connecting.
func NewLocal(share Share, cred Credentials, where netns.Place, sink Sink) (*Local, error) {
	p := &share.Trial.Params
	w := &Local{share: share, sink: sink, failed: make(chan error, 1)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	first, err := w.newSides(where, Address{share.URL, share.SubscribeURL})
	if err != nil {
		return nil, err
	}
	w.dial, w.hear = first.dial, first.hear
	for _, a := range share.Others {
		next, err := w.newSides(where, a)
		if err != nil {
			return nil, err
		}
		w.others = append(w.others, next)
	}
	makers, err := newSessions(&w.share, cred, w.dial.tls != nil, w.hear.tls != nil)
	if err != nil {
		return nil, err
	}
	w.shareConnections(makers)
	if err := w.makeShards(p); err != nil {
		return nil, err
	}
	w.facts.Settings = append(makers.settings, w.dial.sources()...)
	w.churn = w.newVisitors(makers)
	w.fill(makers)
	return w, nil
}

func (w *Local) newSides(where netns.Place, a Address) (s sides, err error) {
	subject := &w.share.Trial.Subject
	if s.dial, err = w.newDialer(where, a.URL, subject.Protocol); err != nil {
		return s, err
	}
	s.hear = s.dial
	if w.share.Trial.Params.Outages.Side != "" { // each side has a gate of its own
		hear := *s.dial
		hear.gate = &w.subGate
		s.hear = &hear
	}
	if a.SubscribeURL != "" && a.SubscribeURL != a.URL {
		if s.hear, err = w.newDialer(where, a.SubscribeURL, subject.SubscribeProtocol()); err == nil {
			s.hear.gate = &w.subGate
		}
	}
	return s, err
}

// everySide are the dialers to all brokers.
func (w *Local) everySide() []sides { return append([]sides{{w.dial, w.hear}}, w.others...) }

// shareConnections has AMQP 0-9-1 clients share connections where that is asked for.
func (w *Local) shareConnections(s *sessions) {
	each := w.share.Trial.Params.Connect.Channels
	if each == 0 || s.amqp == nil {
		return
	}
	subject := &w.share.Trial.Subject
	for _, side := range w.everySide() {
		if subject.Protocol == plan.AMQP091 {
			side.dial.carriers = newCarriers(s.amqp, each, s.clientID("carrier", 0))
		}
		if subject.SubscribeProtocol() == plan.AMQP091 && side.hear.carriers == nil {
			side.hear.carriers = newCarriers(s.amqp, each, s.clientID("carrier", 0))
		}
	}
}

// towards is the dialer of connection n: first, or the same side of the broker that the n-th pair belongs to.
func (w *Local) towards(n int, first *dialer) *dialer {
	switch at := n % (len(w.others) + 1); {
	case at == 0:
		return first
	case first == w.dial:
		return w.others[at-1].dial
	default:
		return w.others[at-1].hear
	}
}

// loops is how many event loops serve the share: one on each core of the generator, or on all cores but one, which is left to
// the broker; the processes of a trial have their part of them.
func (s *Share) loops(connections int) int {
	n := cmp.Or(s.Trial.Params.Loops, s.Cores, runtime.NumCPU()-1)
	return max(min(n/max(s.Of, 1), connections), 1)
}

func (w *Local) makeShards(p *plan.Params) error {
	bytes, err := template(p)
	if err != nil {
		return err
	}
	settings := func(n int) engine.Settings {
		s := engine.Settings{
			Run: w.share.Run, Reconnect: p.Connect.Reconnect, Pause: p.Connect.Pause, Seed: w.share.Trial.Seed + uint64(n),
			Follow:  w.share.Trial.Disturbed(),
			Payload: engine.NewPayload(bytes, p.PayloadForm == plan.PayloadJSON, verifyEvery(p, len(bytes))),
			Emit:    w.sink.Window, Event: w.sink.Event,
		}
		if w.sink.Samples != nil {
			sampler := w.sink.Samples()
			s.Sample = sampler.Record
			s.Emit = func(win *ledger.Window) {
				sampler.Flush()
				w.sink.Window(win)
			}
		}
		return s
	}
	w.facts = chooseEngine(p, cmp.Or(w.dial.needs(), w.hear.needs()))
	w.facts.Writes = writes(p)
	if w.facts.Engine == plan.EngineGoroutine {
		r, err := routine.New(settings(0), w.dial)
		if err != nil {
			return err
		}
		w.shards = []shard{newShard(r, r.Core)}
		return nil
	}
	w.facts.Loops = w.share.loops(p.Publishers + p.Subscribers)
	if most := w.facts.Loops + 1; runtime.GOMAXPROCS(0) < most {
		runtime.GOMAXPROCS(most) // a loop hardly ever lets go of its processor, and others must not wait for that
	}
	w.shards, err = makeLoops(w.facts, p, settings, w.dial)
	return err
}

// fill spreads the connections over the shards: publisher and subscriber n of a pair share one. Subscribers come first.
func (w *Local) fill(s *sessions) {
	all := w.share.Publishers.Len() + w.share.Subscribers.Len()
	w.clients = make([]place, 0, all)
	for i := range w.shards {
		w.shards[i].Expect((all + len(w.shards) - 1) / len(w.shards))
	}
	w.addSubscribers(s.subscriber, w.hear, readPace)
	if w.share.Trial.Subject.Bridge != nil {
		w.addSubscribers(s.firstLeg, w.dial, func(*plan.Params) *engine.ReadPace { return nil })
	}
	for n := w.share.Publishers.From; n < w.share.Publishers.To; n++ {
		spec := s.publisher(n)
		if by := w.towards(n, w.dial); by != w.dial {
			spec.Dialer = by
		}
		w.add(n%len(w.shards), spec, nil)
	}
}

func (w *Local) addSubscribers(describe func(int, []ledger.Tracker) engine.ClientSpec, by *dialer, pace func(*plan.Params) *engine.ReadPace) {
	p := &w.share.Trial.Params
	var common []ledger.Tracker
	for n := w.share.Subscribers.From; n < w.share.Subscribers.To; n++ {
		_, count := p.Streams(n)
		trackers := common
		at := n % len(w.shards)
		if p.Pattern == plan.PatternShared {
			at = 0 // the members share their trackers
		}
		if trackers == nil {
			trackers = make([]ledger.Tracker, count)
		}
		if p.Pattern == plan.PatternShared {
			common = trackers
		}
		spec := describe(n, trackers)
		if to := w.towards(n, by); to != w.dial {
			spec.Dialer = to
		}
		w.add(at, spec, pace(p))
	}
}

// add gives a connection to the shard of this number.
func (w *Local) add(at int, spec engine.ClientSpec, pace *engine.ReadPace) {
	w.clients = append(w.clients, place{int32(at), int32(w.shards[at].Add(spec, pace))})
}

func readPace(p *plan.Params) *engine.ReadPace {
	if p.Connect.ReadBytesPerS == 0 {
		return nil
	}
	return &engine.ReadPace{PerSecond: float64(p.Connect.ReadBytesPerS)}
}

// Waiting returns how many publishers still have something to send. It may be called at any time.
func (w *Local) Waiting() int { return w.progress().Waiting }

func (w *Local) ready() int { return w.progress().Ready }

func (w *Local) progress() (sum engine.Progress) {
	for i := range w.shards {
		sum.Add(w.shards[i].Progress())
	}
	return sum
}

// Close implements Worker.
func (w *Local) Close() error {
	w.cancel()
	for _, side := range w.everySide() {
		side.dial.carriers.close()
		side.hear.carriers.close()
	}
	w.running.Wait()
	return nil
}

// each runs f on every shard's own thread and waits for all. A shard that has ended does not run it.
func (w *Local) each(f func(s *shard, now int64)) {
	done := make([]chan struct{}, len(w.shards))
	for i := range w.shards {
		s := &w.shards[i]
		done[i] = make(chan struct{})
		s.Do(func(now int64) {
			f(s, now)
			close(done[i])
		})
	}
	for i := range w.shards {
		select {
		case <-done[i]:
		case <-w.shards[i].ended:
		}
	}
}

// totals asks the kernel about all connections of a shard; nil if it cannot tell.
func totals(s *shard) *Wire {
	type lister interface{ FDs(func(id, fd int)) }
	l, can := s.driver.(lister)
	if !can {
		return nil
	}
	var sum *Wire
	l.FDs(func(id, fd int) {
		t, err := monitor.TCPInfo(uintptr(fd))
		if err != nil {
			return
		}
		if sum == nil {
			sum = &Wire{}
		}
		if s.core.Publishes(id) {
			sum.Publishers.Add(t)
		} else {
			sum.Subscribers.Add(t)
		}
	})
	return sum
}
