// Package emulate opens a weak link with the backend that was asked for, or with the best that this host allows.
package emulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/netem"
	"github.com/mqlab/mqlab/internal/link/netstack"
	"github.com/mqlab/mqlab/internal/link/proxy"
	"github.com/mqlab/mqlab/internal/link/toxiproxy"
	"github.com/mqlab/mqlab/internal/link/tun"
	"github.com/mqlab/mqlab/internal/netns"
)

// Network is an open link.
type Network interface {
	Places
	Control
	Account
	io.Closer
}

// Places are the two ends of a link.
type Places interface {
	Device() netns.Place // where clients live
	Broker() netns.Place // where brokers live
}

// Control changes a link while it is open.
type Control interface {
	// Change sets the properties of both directions from now on.
	Change(up, down link.Params) error
	// Down begins or ends an outage of kind link.Blackhole.
	Down(down bool) error
}

// Account tells what a link did.
type Account interface {
	Counters() (up, down link.Counters)
	Facts() link.Facts
}

// Watched is a Network whose packets can be looked at. Nil ends that.
type Watched interface {
	Observe(seen link.Observer)
}

// The backends.
const (
	Auto      = "auto"
	Tun       = "tun"
	Netstack  = "netstack"
	Proxy     = "proxy"
	NetEm     = "netem"
	Toxiproxy = "toxiproxy"
)

// Options say what to open.
type Options struct {
	link.Config
	Backend string // empty = Auto
	// Outside: there are brokers that are no process of the lab, on this host or another; they cannot be moved to the other side of a
	// link, only reached from there.
	Outside bool
	// Toxiproxy is the URL of the HTTP API of the Toxiproxy to use; empty = toxiproxy.DefaultAPI.
	Toxiproxy string
}

// Key is all of o that makes one link unlike another, but for chance.
func (o *Options) Key() Key {
	return Key{o.Profile, o.Backend, o.CongestionControl, o.Toxiproxy, o.Outside}
}

// Key is comparable; see Options.Key.
type Key struct {
	profile                               link.Profile
	backend, congestionControl, toxiproxy string
	outside                               bool
}

// Choice is the backend that was taken, and why.
type Choice struct {
	Backend string `json:"backend"`
	Why     string `json:"why"`
}

// backend is one way to make a link.
type backend struct {
	name  string
	about string // what it is good for, in a sentence
	moves bool   // brokers live in a place of their own
	auto  bool   // may be chosen
	open  func(context.Context, Options) (Network, error)
}

// backends are all, in the order in which auto tries them.
var backends = []backend{
	{Tun, "the kernel's own TCP in two network namespaces, with unmodified clients and brokers; the reference", true, true, config(tun.Open)},
	{Netstack, "TCP/IP stacks in this process, without any privilege; their retransmissions are not Linux's", false, true, config(netstack.Open)},
	{Proxy, "byte streams: delay, rate, stalls and resets, but no packet loss; works everywhere", false, true, config(proxy.Open)},
	{NetEm, "the kernel's own netem, where there is one; fewer options, to check tun against", true, false, config(netem.Open)},
	{Toxiproxy, "the Toxiproxy that you run, by its HTTP API: delay and stalls only", false, false, openToxiproxy},
}

// config adapts the Open of a backend that needs no more than a link.Config.
func config[N Network](open func(context.Context, link.Config) (N, error)) func(context.Context, Options) (Network, error) {
	return func(ctx context.Context, o Options) (Network, error) {
		n, err := open(ctx, o.Config)
		if err != nil {
			return nil, err // not a Network that holds nil
		}
		return n, nil
	}
}

func openToxiproxy(ctx context.Context, o Options) (Network, error) {
	n, err := toxiproxy.Open(ctx, o.Config, o.Toxiproxy)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// Backends are the names of all backends, Auto first.
func Backends() []string {
	names := []string{Auto}
	for _, b := range backends {
		names = append(names, b.name)
	}
	return names
}

// About says what a backend is good for; "" = there is none of that name.
func About(name string) string {
	for _, b := range backends {
		if b.name == name {
			return b.about
		}
	}
	if name == Auto {
		return "the first of these that this host allows and that can do what is asked"
	}
	return ""
}

// Open makes a link as o says. It is to be closed. The error names the backend, and the option that it cannot honour.
func Open(ctx context.Context, o Options) (Network, Choice, error) {
	if err := o.Profile.Validate(); err != nil {
		return nil, Choice{}, err
	}
	if o.Backend == "" || o.Backend == Auto {
		return choose(ctx, o)
	}
	for _, b := range backends {
		if b.name != o.Backend {
			continue
		}
		if b.moves && o.Outside {
			return nil, Choice{}, fmt.Errorf("backend %s: brokers that the lab does not start as processes cannot be moved behind the link; use backend netstack", b.name)
		}
		n, err := b.open(ctx, o)
		if err != nil {
			return nil, Choice{}, named(b.name, err)
		}
		return n, Choice{b.name, "asked for"}, nil
	}
	return nil, Choice{}, fmt.Errorf("there is no backend %q; there are %s", o.Backend, strings.Join(Backends(), ", "))
}

// named puts the backend's name in front of an error that does not have it.
func named(name string, err error) error {
	if strings.Contains(err.Error(), "backend "+name) {
		return err
	}
	return fmt.Errorf("backend %s: %w", name, err)
}

// choose takes the first backend that works.
func choose(ctx context.Context, o Options) (Network, Choice, error) {
	var not []string
	var errs []error
	for _, b := range backends {
		switch {
		case !b.auto:
			continue
		case b.moves && o.Outside:
			not = append(not, b.name+" not: there are brokers that the lab does not start as processes")
			continue
		}
		n, err := b.open(ctx, o)
		if err == nil {
			why := "the first that this host allows"
			if len(not) > 0 {
				why = strings.Join(not, "; ")
			}
			return n, Choice{b.name, why}, nil
		}
		if ctx.Err() != nil {
			return nil, Choice{}, context.Cause(ctx)
		}
		errs = append(errs, named(b.name, err))
		not = append(not, b.name+" not: "+strings.TrimPrefix(err.Error(), "backend "+b.name+": "))
	}
	return nil, Choice{}, errors.Join(errs...)
}
