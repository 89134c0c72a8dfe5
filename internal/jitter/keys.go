package jitter

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/scenario"
)

// Key is a setting of a case.
type Key struct {
	Name   string
	Help   string
	Kind   string // of its value, for help
	set    func(c *Case, value string) error
	get    func(c *Case) string
	Switch bool // on or off
}

// Value is what a case has.
func (k *Key) Value(c *Case) string { return k.get(c) }

// threadLoop is the loop that libraries run in a thread of theirs.
const threadLoop = "thread"

// loops of the C client; see agents/README.md.
var loops = []string{threadLoop, "sleep", "block", "deadline", "queue", "bell"}

// Keys are the settings of cases, in the order of help.
var Keys = []Key{
	text("client", "who publishes, by its agent's name", "CLIENT", func(c *Case) *string { return &c.Client }),
	text("broker", "the broker: a name as mqlab list has it, or a URL", "BROKER", func(c *Case) *string { return &c.Broker }),
	whole("count", "messages", 1, 10_000_000, func(c *Case) *int { return &c.Count }),
	span("interval", "from one message to the next", 100*time.Microsecond, time.Hour, func(c *Case) *time.Duration { return &c.Interval }),
	{Name: "payload", Help: "size of a message", Kind: "SIZE", set: func(c *Case, v string) error {
		n, err := scenario.ParseSize(v)
		if err != nil || n < 40 || n > 1<<20 {
			return errors.New("a size from 40B to 1MiB is wanted, such as 256B")
		}
		c.Payload = n
		return nil
	}, get: func(c *Case) string { return strconv.Itoa(c.Payload) + "B" }},
	whole("qos", "0, 1 or 2", 0, 2, func(c *Case) *int { return &c.QoS }),
	flag("mix", "two messages at once, of QoS 0 and then QoS 1", func(c *Case) *bool { return &c.Mix }),
	flag("oneway", "nothing is sent back; a subscriber here notes when messages come", func(c *Case) *bool { return &c.OneWay }),
	choice("loop", "how the C client runs its library", loops, func(c *Case) *string { return &c.Loop }),
	flag("malloc", "of C and C++: memory of its own for each message, not one buffer", func(c *Case) *bool { return &c.Malloc }),
	whole("connections", "of C: that publish in turn", 1, 64, func(c *Case) *int { return &c.Connections }),
	{Name: "nodelay", Help: "sides with TCP_NODELAY: client, echo and broker, joined by +; or none", Kind: "SIDES", set: setSides, get: func(c *Case) string {
		if len(c.NoDelay) == 0 {
			return "none"
		}
		return strings.Join(c.NoDelay, "+")
	}},
	span("keepalive", "of the client's connection, whole seconds", 5*time.Second, 65535*time.Second, func(c *Case) *time.Duration { return &c.KeepAlive }),
	flag("log", "the library logs", func(c *Case) *bool { return &c.Log }),
	{Name: "pin", Help: "the client's core; any = where the system likes", Kind: "CORE", set: func(c *Case, v string) error {
		if v == "any" {
			c.Pin = -1
			return nil
		}
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n > 4095 {
			return errors.New("the number of a core is wanted, from 0, or any")
		}
		c.Pin = n
		return nil
	}, get: func(c *Case) string {
		if c.Pin < 0 {
			return "any"
		}
		return strconv.Itoa(c.Pin)
	}},
	flag("tls", "between all and a broker that is started here", func(c *Case) *bool { return &c.TLS }),
	choice("callback", "it works itself, hands over to another thread, or sleeps", []string{"direct", "queue", "block"}, func(c *Case) *string { return &c.Callback }),
	span("work", "what a message costs the program", 0, time.Minute, func(c *Case) *time.Duration { return &c.Work }),
	whole("work-every", "only one of so many messages costs that", 0, 1_000_000, func(c *Case) *int { return &c.WorkEvery }),
	choice("gc", "of Python", []string{"default", "thresholds", "frozen", "off"}, func(c *Case) *string { return &c.GC }),
	whole("retain", "of Python: containers that the program keeps", 0, 10_000_000, func(c *Case) *int { return &c.Retain }),
	whole("churn", "of Python: containers more that it keeps with each message", 0, 100_000, func(c *Case) *int { return &c.Churn }),
	whole("burst", "messages at once, more than the schedule has, in its middle", 0, 4000, func(c *Case) *int { return &c.Burst }),
}

func text(name, help, kind string, of func(*Case) *string) Key {
	return Key{Name: name, Help: help, Kind: kind, set: func(c *Case, v string) error {
		if v == "" {
			return errors.New("there is nothing")
		}
		*of(c) = v
		return nil
	}, get: func(c *Case) string { return *of(c) }}
}

// choice keeps the first of its values, which is the default, as that or as nothing.
func choice(name, help string, values []string, of func(*Case) *string) Key {
	const kind = "WAY"
	help += ": " + strings.Join(values, ", ")
	return Key{Name: name, Help: help, Kind: kind, set: func(c *Case, v string) error {
		if !slices.Contains(values, v) {
			return fmt.Errorf("there are %s", strings.Join(values, ", "))
		}
		if *of(c) = v; v == values[0] && v != threadLoop {
			*of(c) = ""
		}
		return nil
	}, get: func(c *Case) string {
		if *of(c) == "" {
			return values[0]
		}
		return *of(c)
	}}
}

func whole(name, help string, least, most int, of func(*Case) *int) Key {
	const kind = "N"
	return Key{Name: name, Help: help, Kind: kind, set: func(c *Case, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < least || n > most {
			return fmt.Errorf("a whole number from %d to %d is wanted", least, most)
		}
		*of(c) = n
		return nil
	}, get: func(c *Case) string { return strconv.Itoa(*of(c)) }}
}

func span(name, help string, least, most time.Duration, of func(*Case) *time.Duration) Key {
	const kind = "TIME"
	return Key{Name: name, Help: help, Kind: kind, set: func(c *Case, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < least || d > most {
			return fmt.Errorf("a time from %v to %v is wanted, such as 100ms", least, most)
		}
		if name == "keepalive" && d%time.Second != 0 {
			return errors.New("whole seconds are wanted")
		}
		*of(c) = d
		return nil
	}, get: func(c *Case) string { return of(c).String() }}
}

func flag(name, help string, of func(*Case) *bool) Key {
	return Key{Name: name, Help: help, Switch: true, set: func(c *Case, v string) error {
		switch v {
		case "on", "true":
			*of(c) = true
		case "off", "false":
			*of(c) = false
		default:
			return errors.New("on or off is wanted")
		}
		return nil
	}, get: func(c *Case) string {
		if *of(c) {
			return "on"
		}
		return "off"
	}}
}

func setSides(c *Case, v string) error {
	if c.NoDelay = []string{}; v == "none" {
		return nil
	}
	for side := range strings.SplitSeq(v, "+") {
		if side != clientSide && side != echoSide && side != brokerSide {
			return errors.New("there are client, echo, broker, joined by +, and none")
		}
		if !slices.Contains(c.NoDelay, side) {
			c.NoDelay = append(c.NoDelay, side)
		}
	}
	slices.Sort(c.NoDelay)
	return nil
}
