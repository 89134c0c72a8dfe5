// Package idle measures what client libraries cost while they have nothing to say: CPU time and wake-ups of their processes, and what their
// connections put on a link. All wait at the same time, each with a connection of its own, at one broker.
package idle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/link/tun"
	"github.com/mqlab/mqlab/internal/plan"
)

// Options are who waits, and for how long.
type Options struct {
	Clients   []agent.Agent // of one protocol
	Protocol  string
	KeepAlive time.Duration // of MQTT; other libraries keep their own
	For       time.Duration
	Folder    string // that agents are built in
	Say       func(string)
	Keep      func(*Result) error // is given what is known so far, once a second and at the end
}

// Result is what was found out.
type Result struct {
	Schema    int               `json:"schema"`
	Protocol  string            `json:"protocol"`
	Broker    string            `json:"broker"`
	KeepAlive int64             `json:"keep_alive_ns,omitempty"` // absent: the libraries' own
	Planned   int64             `json:"planned_ns"`              // that they were to wait
	Span      int64             `json:"span_ns"`                 // that they waited
	Cut       bool              `json:"cut,omitempty"`           // it was ended before its time
	Link      string            `json:"link"`                    // the backend, or why there is none and bytes are not known
	Clients   []Client          `json:"clients"`
	Skipped   []clients.Skipped `json:"skipped,omitempty"`
}

// Client is one library. Figures are per minute; bytes and packets are those of its connection on the link, headers included, both ways.
type Client struct {
	Name     string   `json:"name"`
	Language string   `json:"language"`
	Library  string   `json:"library,omitempty"`
	Version  string   `json:"version,omitempty"`
	CPU      *float64 `json:"cpu_ns_per_minute,omitempty"`
	Wakeups  *float64 `json:"wakeups_per_minute,omitempty"` // times that a thread gave up the CPU to wait
	Bytes    *float64 `json:"bytes_per_minute,omitempty"`
	Packets  *float64 `json:"packets_per_minute,omitempty"`
	Memory   uint64   `json:"memory_bytes,omitempty"`
	Invalid  string   `json:"invalid,omitempty"` // why it has no figures
}

// brokers that clients of a protocol wait at.
var brokers = map[string]string{agent.MQTT: "mosquitto", agent.AMQP091: "rabbitmq/amqp091", agent.NATS: "nats@process", agent.Redis: "redis"}

// settle is how long clients are left alone before they are measured.
const settle = 2 * time.Second

// waiting is a client that takes part.
type waiting struct {
	Client
	process *agent.Process
	device  uint64 // of its connection on the link; 0 = not known
	before  agent.Usage
	sent    traffic
}

// Run lets clients wait. What cannot be built is skipped and named; a client that fails is invalid. If ctx ends before they have waited as
// long as planned, the result is of the time that they did, together with the error; nil = they did not begin.
func Run(ctx context.Context, g *guard.Guard, o Options) (r *Result, err error) {
	subject, err := plan.ParseSubject(brokers[o.Protocol])
	if err != nil {
		return nil, fmt.Errorf("protocol %q: %w", o.Protocol, err)
	}
	r = &Result{Schema: 1, Protocol: o.Protocol, Planned: int64(o.For), Clients: []Client{}}
	if o.Protocol == agent.MQTT {
		r.KeepAlive = int64(o.KeepAlive)
	}
	w, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	r.Link = w.said
	b, err := broker.Start(ctx, subject, broker.Options{Place: w.broker(), Guard: g})
	if err != nil {
		return nil, err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		defer cancel()
		err = errors.Join(err, b.Stop(stop))
	}()
	r.Broker = subject.Broker + " " + b.Version
	host, port, err := address(b.URL)
	if err != nil {
		return nil, err
	}
	if w.network != nil { // the clients are no part of this program, whose dials find it by themselves
		host = tun.Loopback.String()
	}
	job := agent.Job{Host: host, Port: port, Topic: "mqlab/idle", KeepAlive: int(o.KeepAlive / time.Second), Capacity: 10_000}
	here := o.start(ctx, g, w, r, job)
	defer func() {
		for _, c := range here {
			if c.process != nil {
				err = errors.Join(err, c.process.Kill())
			}
		}
	}()
	if len(here) == 0 {
		return nil, errors.New("no client library is there: make agents installs them")
	}
	if err := clock.Pause(ctx, settle); err != nil {
		return nil, err
	}
	return r, o.measure(ctx, w, r, here)
}

// start builds and starts the clients, one after the other, so that the connection of each is known.
func (o *Options) start(ctx context.Context, g *guard.Guard, w *world, r *Result, job agent.Job) (here []*waiting) {
	for _, a := range o.Clients {
		o.Say("building " + a.Name)
		built, err := agent.Build(ctx, a, o.Folder)
		if err != nil {
			r.Skipped = append(r.Skipped, clients.Skipped{Name: a.Name, Why: err.Error()})
			continue
		}
		built.Exec = w.device()
		c := &waiting{Client: Client{Name: a.Name, Language: string(a.Language), Library: a.Library}}
		here = append(here, c)
		job.ClientID = "mqlab-idle-" + a.Name
		c.process, err = agent.Start(ctx, g, built, job)
		if err == nil {
			c.Version = c.process.Version
			err = c.process.Ready(ctx)
		}
		if err != nil {
			c.Invalid = strings.TrimPrefix(err.Error(), c.Name+": ")
		}
		c.device = w.newDevice()
	}
	return here
}

// keepEvery is how often what is known so far is kept, so that a run that is killed has lost a second.
const keepEvery = time.Second

// measure reads what clients have used before they wait, and again and again while they do.
func (o *Options) measure(ctx context.Context, w *world, r *Result, here []*waiting) error {
	o.Say(fmt.Sprintf("%d clients wait for %v", len(here), o.For))
	began := clock.Now()
	seen := w.traffic()
	for _, c := range here {
		if c.Invalid == "" {
			c.before, c.sent = c.process.Usage(), seen[c.device]
		}
	}
	for end := began + int64(o.For); ; {
		stopped := clock.Pause(ctx, min(keepEvery, time.Duration(end-clock.Now())))
		now := clock.Now()
		r.Span, r.Cut = now-began, now < end
		r.figures(w, here)
		if err := o.Keep(r); err != nil || stopped != nil || !r.Cut {
			return errors.Join(err, stopped)
		}
	}
}

// figures are those of the time since clients began to wait.
func (r *Result) figures(w *world, here []*waiting) {
	minutes := time.Duration(r.Span).Minutes()
	seen := w.traffic()
	r.Clients = r.Clients[:0]
	for _, c := range here {
		c.figures(minutes, seen)
		r.Clients = append(r.Clients, c.Client)
	}
}

func (c *waiting) figures(minutes float64, seen map[uint64]traffic) {
	if c.Invalid != "" {
		return
	}
	now := c.process.Usage()
	switch known := c.before.ThreadNumber > 0; {
	case known && (now.ThreadNumber == 0 || now.ResidentKiB == 0): // one that nobody has waited for yet has no memory any more
		c.Client = Client{Name: c.Name, Language: c.Language, Library: c.Library, Version: c.Version, Invalid: "it ended while it waited" + c.process.Said()}
		return
	case known:
		used := now.Sub(c.before)
		c.CPU, c.Wakeups, c.Memory = nil, nil, c.process.Memory()
		if now.Voluntary >= c.before.Voluntary { // a thread that ends takes its count along
			c.Wakeups = new(float64(used.Voluntary) / minutes)
		}
		if used.CPU > 0 || used.Voluntary == 0 { // who was woken ran: no time then is a clock that cannot tell
			c.CPU = new(float64(used.CPU) / minutes)
		}
	}
	if now, ok := seen[c.device]; ok && c.device != 0 {
		c.Bytes, c.Packets = new(float64(now.bytes-c.sent.bytes)/minutes), new(float64(now.packets-c.sent.packets)/minutes)
	}
}

func address(text string) (host string, port int, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", 0, err
	}
	host, at, err := net.SplitHostPort(u.Host)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(at)
	return host, port, err
}
