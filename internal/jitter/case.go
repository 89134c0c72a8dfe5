package jitter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/scenario"
)

// Case is one way to measure. Durations are ns in JSON.
type Case struct {
	Name        string        `json:"name"`
	Client      string        `json:"client"`
	Broker      string        `json:"broker"` // as on the command line: a name with variant and runtime, or a URL
	Count       int           `json:"count"`
	Interval    time.Duration `json:"interval_ns"`
	Payload     int           `json:"payload_bytes"`
	QoS         int           `json:"qos"`
	Mix         bool          `json:"mix,omitempty"`    // two messages at once, of QoS 0 and QoS 1
	OneWay      bool          `json:"oneway,omitempty"` // nothing is sent back: a subscriber of ours notes when messages come
	Loop        string        `json:"loop"`
	Malloc      bool          `json:"malloc,omitempty"`
	Connections int           `json:"connections"`
	NoDelay     []string      `json:"nodelay"` // the sides that have it set
	KeepAlive   time.Duration `json:"keepalive_ns"`
	Log         bool          `json:"log,omitempty"`
	Pin         int           `json:"pin"` // the client's core; -1 = any
	TLS         bool          `json:"tls,omitempty"`
	Callback    string        `json:"callback,omitempty"`
	Work        time.Duration `json:"work_ns,omitempty"`
	WorkEvery   int           `json:"work_every,omitempty"`
	GC          string        `json:"gc,omitempty"`
	Retain      int           `json:"retain,omitempty"`
	Churn       int           `json:"churn,omitempty"`
	Burst       int           `json:"burst,omitempty"` // messages more in the middle
}

// The sides of TCP_NODELAY.
const (
	clientSide = "client"
	echoSide   = "echo"
	brokerSide = "broker"
)

// R1 is a case as experiment R1 has it, of the client that it is given.
func R1() Case {
	return Case{
		Broker: "mochi", Count: 10_000, Interval: 100 * time.Millisecond, Payload: 256, Loop: threadLoop, Connections: 1,
		NoDelay: []string{echoSide}, KeepAlive: time.Minute, Pin: -1,
	}
}

// Quick makes a case one that is done in seconds: a first look.
func (c *Case) Quick() { c.Count, c.Interval = 1000, 15*time.Millisecond }

// R1Clients are the three ways to run a client that R1 compares.
var R1Clients = []string{
	"name=c-sleep,client=c-libmosquitto,loop=sleep",
	"name=cpp-thread,client=cpp-mosquittopp",
	"name=python,client=python-paho",
}

// R1Cases are all of R1: its clients, their loops, and what it changes.
var R1Cases = append(slices.Clone(R1Clients),
	"name=c-block,client=c-libmosquitto,loop=block",
	"name=c-queue,client=c-libmosquitto,loop=queue",
	"name=c-bell,client=c-libmosquitto,loop=bell",
	"name=c-thread,client=c-libmosquitto",
	"name=c-malloc,client=c-libmosquitto,malloc=on",
	"name=c-nodelay,client=c-libmosquitto,nodelay=client+echo",
	"name=c-keepalive,client=c-libmosquitto,keepalive=120s",
	"name=c-log,client=c-libmosquitto,log=on",
	"name=c-pinned,client=c-libmosquitto,pin=0",
	"name=c-pool,client=c-libmosquitto,connections=4",
	"name=c-mix,client=c-libmosquitto,mix=on,oneway=on",
	"name=c-mix-nodelay,client=c-libmosquitto,mix=on,oneway=on,nodelay=client+echo",
	"name=c-burst,client=c-libmosquitto,burst=100",
	"name=c-fixed,client=c-libmosquitto,nodelay=client+echo,keepalive=120s",
)

// Set changes a case as an assignment says: key=value,key=value.
func (c *Case) Set(assignments string) error {
	for _, a := range strings.Split(assignments, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(a), "=")
		if !ok {
			return fmt.Errorf("%q is no key=value", a)
		}
		if err := c.SetKey(name, value); err != nil {
			return err
		}
	}
	return nil
}

// SetKey changes one key.
func (c *Case) SetKey(name, value string) error {
	if name == "name" {
		c.Name = value
		return nil
	}
	i := slices.IndexFunc(Keys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		var names []string
		for _, k := range Keys {
			names = append(names, k.Name)
		}
		return fmt.Errorf("there is no key %q; %s", name, scenario.Suggest(name, names))
	}
	if err := Keys[i].set(c, value); err != nil {
		return fmt.Errorf("%s %s: %w", name, value, err)
	}
	return nil
}

// Check finds what does not go together, and gives a case without a name one.
func (c *Case) Check() error {
	a, ok := agent.Named(c.Client)
	if !ok || !a.Sends {
		return fmt.Errorf("client %s: %w", c.Client, errNoSender(c.Client))
	}
	if c.Name == "" {
		c.Name = c.Client
		if c.Loop != threadLoop {
			c.Name += "-" + c.Loop
		}
	}
	if strings.Contains(c.Broker, "://") && strings.Contains(c.Broker, "@") {
		return errors.New("broker: clients of this measurement log in without a name: leave out what stands before @")
	}
	s, err := plan.ParseSubject(c.Broker)
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	if s.URL == "" && !strings.HasPrefix(s.Protocol, "mqtt") {
		return fmt.Errorf("broker %s: clients of this measurement speak MQTT, not %s", c.Broker, s.Protocol)
	}
	o := c.options()
	lacks := a.Lacks(&agent.Job{Callback: o.Job.Callback, NoDelay: o.Job.NoDelay, Log: o.Job.Log})
	switch {
	case c.Loop != threadLoop && c.Client != "c-libmosquitto":
		return fmt.Errorf("loop %s: only c-libmosquitto has it; %s runs by its library's thread", c.Loop, c.Client)
	case c.Connections > 1 && (c.Client != "c-libmosquitto" || c.Loop != threadLoop):
		return errors.New("connections: only c-libmosquitto with loop=thread has several")
	case c.Malloc && a.Language != agent.C && a.Language != agent.CPP:
		return fmt.Errorf("malloc: %s manages its memory itself", a.Language)
	case (c.GC != "" || c.Retain > 0 || c.Churn > 0) && a.Language != agent.Python:
		return fmt.Errorf("gc, retain, churn: these are of Python, and %s is %s", c.Client, a.Language)
	case lacks != "":
		return fmt.Errorf("%s: %s", c.Client, lacks)
	case a.Language == agent.Go && slices.Contains(c.NoDelay, clientSide):
		return errors.New("nodelay client: a client in Go has it set always")
	case slices.Contains(c.NoDelay, brokerSide) && (s.URL != "" || s.Broker != "mosquitto"):
		return fmt.Errorf("nodelay broker: it is a setting of mosquitto only, not of %s", c.Broker)
	case c.TLS && s.URL != "":
		return errors.New("tls: of a broker elsewhere the URL says it: mqtts://host:port, with --ca FILE")
	case c.Interval*time.Duration(c.Count) > 48*time.Hour:
		return fmt.Errorf("%d messages, one every %v, take more than two days", c.Count, c.Interval)
	}
	return nil
}

// errNoSender says who publishes.
func errNoSender(name string) error {
	var names []string
	for _, a := range agent.All() {
		if a.Sends {
			names = append(names, a.Name)
		}
	}
	if _, known := agent.Named(name); known {
		return fmt.Errorf("it only receives; those that publish are %s", strings.Join(names, ", "))
	}
	return fmt.Errorf("there is none of that name; %s", scenario.Suggest(name, names))
}

// Duration is how long a round of the case takes at least.
func (c *Case) Duration() time.Duration { return time.Duration(c.Count) * c.Interval }

// messages is how many are published.
func (c *Case) messages() int {
	n := c.Count
	if c.Mix {
		n *= 2
	}
	return n + c.Burst
}

// burstAt is where in the schedule the burst is.
func (c *Case) burstAt() int { return c.Count / 2 }

// inBurst tells whether a message, by its number, is one of the burst.
func (c *Case) inBurst(seq int) bool {
	each := 1
	if c.Mix {
		each = 2
	}
	from := c.burstAt()*each + each
	return c.Burst > 0 && seq >= from && seq < from+c.Burst
}

// subject is the broker.
func (c *Case) subject() (plan.Subject, error) {
	s, err := plan.ParseSubject(c.Broker)
	if err == nil && slices.Contains(c.NoDelay, brokerSide) {
		s.Variant = "tuned"
	}
	return s, err
}

// options are what a round of the case measures.
func (c *Case) options() Options {
	on := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	loop := c.Loop
	if loop == threadLoop {
		loop = "start"
	}
	return Options{
		Job: agent.Job{
			Count: c.Count, IntervalNS: int64(c.Interval), PayloadBytes: c.Payload, QoS: max(c.QoS, on(c.Mix)), PublishQoS: c.QoS, Mix: on(c.Mix),
			Loop: loop, Malloc: on(c.Malloc), Pool: c.Connections, NoDelay: on(slices.Contains(c.NoDelay, clientSide)), Log: on(c.Log),
			Callback: c.Callback, WorkNS: int64(c.Work), WorkEvery: c.WorkEvery, GC: c.GC, Retain: c.Retain, Churn: c.Churn,
			Burst: c.Burst, BurstAt: c.burstAt(),
		},
		OneWay: c.OneWay, Echo: slices.Contains(c.NoDelay, echoSide), KeepAlive: c.KeepAlive,
	}
}

// Changed are the keys in which a case is unlike another, as key=value.
func (c *Case) Changed(from *Case) (list []string) {
	for _, k := range Keys {
		if mine := k.get(c); mine != k.get(from) {
			list = append(list, k.Name+"="+mine)
		}
	}
	return list
}
