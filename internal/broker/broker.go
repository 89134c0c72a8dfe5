// Package broker provides the brokers that are measured: embedded (this program run again as a child), as a process of
// an installed program, or external by URL. One broker is started fresh for each trial and ended without a trace.
//
// There is one file per broker; it says how the broker is found, configured, and when it is ready. Start with Find and
// Start; main calls Main for the hidden verb of embedded brokers.
package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/cores"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
)

// The runtimes of brokers.
const (
	Embedded = "embedded"
	Process  = "process"
	Docker   = "docker"
	External = "external"
)

// The variants of a broker's configuration. Each broker's file documents what they differ in and why.
const (
	AsShipped = "as-shipped" // only what it takes to listen on the loopback interface for anybody; the rest is default
	Tuned     = "tuned"      // what an operator who knows the broker would set for low latency and no silent drops
)

// Finding says whether a subject can be provided here.
type Finding struct {
	Name    string `json:"name"` // of the broker
	Runtime string `json:"runtime"`
	OK      bool   `json:"ok"`
	Version string `json:"version,omitempty"`
	Path    string `json:"path,omitempty"` // of the program
	Why     string `json:"why"`            // how it was found, or why not and what to do, in one line
}

// Setting is one line of a broker's configuration.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"` // "effective": the broker says so; "as written": we set it, the broker does not tell
}

// The sources of a Setting.
const (
	effective = "effective"
	asWritten = "as written"
)

// Options are what Start needs besides the subject.
type Options struct {
	Place netns.Place  // where the broker shall live; nil = this host
	Guard *guard.Guard // ends the broker if we cannot; needed for brokers that we start
	// Stderr, if set, gets all that the broker writes to its standard error (and output).
	Stderr io.Writer
	// MaxMessageBytes is the largest payload that the broker must take. Where that is more than its configuration
	// allows, the limit is raised and the raise is reported in Config. 0 = do not care.
	MaxMessageBytes int
	Bridge          *Bridge // where the broker hands on everything; nil = nowhere
	// Profile is the machine that the broker is held to. An external broker is not.
	Profile plan.Profile
	// Beside is a broker that runs already, whose machine this one shares; nil = it has its own.
	Beside *Instance
	Cores  cores.Set // that the broker is held to; none = it may run on all. A container is not held.
	// Persistence is whether sessions and messages are kept on disk: plan.PersistenceOn, plan.PersistenceOff; empty = as the
	// variant has it.
	Persistence string
	TLS         bool   // it shall listen with TLS, see Instance.CAFile
	Binary      string // path of the broker's program; empty = look for it
}

// kind is one broker in one runtime.
type kind interface {
	find(ctx context.Context, binary string) Finding
	// prepare writes the configuration and says what to run.
	prepare(s *site) (*program, error)
}

type name struct{ broker, runtime string }

var kinds = map[name]kind{
	{"mochi", Embedded}:    embeddedMochi,
	{"nats", Embedded}:     embeddedNATS,
	{"mosquitto", Process}: mosquitto{},
	{"nats", Process}:      natsServer{},
	{"emqx", Process}:      emqx{},
	{"redis", Process}:     redisServer{},
	{"rabbitmq", Process}:  rabbitMQ{},
	{"artemis", Process}:   artemis{},
	{"hivemq", Process}:    hiveMQ{},
	{"zenoh", Process}:     zenohRouter{},
}

// Find tells whether the broker of s can be provided here, without starting it. For an external broker it opens and
// closes a TCP connection.
func Find(ctx context.Context, s plan.Subject) Finding {
	switch s.Runtime {
	case External:
		return findExternal(ctx, netns.Host, s)
	case Docker:
		return findContainer(ctx, s)
	}
	k, ok := kinds[name{s.Broker, s.Runtime}]
	if !ok {
		return Finding{Name: s.Broker, Runtime: s.Runtime, Why: errUnknown(s).Error()}
	}
	f := k.find(ctx, "")
	f.Name, f.Runtime = s.Broker, s.Runtime
	return f
}

// Start starts the broker of s, configured as its variant says, and returns when it answers its protocol. It is to be
// ended by Stop. Errors are one line that says what is wrong, with the last words of the broker if it ended.
func Start(ctx context.Context, s plan.Subject, o Options) (*Instance, error) {
	if o.Place == nil {
		o.Place = netns.Host
	}
	if s.Runtime == External {
		return startExternal(s)
	}
	k, ok := kinds[name{s.Broker, s.Runtime}]
	switch {
	case !ok && s.Runtime != Docker:
		return nil, errUnknown(s)
	case s.Variant != AsShipped && s.Variant != Tuned:
		return nil, fmt.Errorf("%s has no variant %q: choose %s or %s", s.Broker, s.Variant, AsShipped, Tuned)
	case o.Guard == nil:
		return nil, errors.New("a broker is only started under a guard")
	case s.Runtime == Docker:
		return startContainer(ctx, s, o)
	}
	f := k.find(ctx, o.Binary)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: start given up: %w", s.Broker, context.Cause(ctx))
	case !f.OK:
		return nil, errors.New(f.Why)
	}
	return launch(ctx, k, f, s, o)
}

func errUnknown(s plan.Subject) error {
	var known []string
	for n := range kinds {
		known = append(known, n.broker+"@"+n.runtime)
	}
	slices.Sort(known)
	return fmt.Errorf("no broker %s@%s: choose from %s, or give a URL", s.Broker, s.Runtime, strings.Join(known, ", "))
}
