package jitter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/cores"
	"github.com/mqlab/mqlab/internal/guard"
)

// The places of an echo.
const (
	Here      = "here"
	Elsewhere = "elsewhere"
)

// Suite measures the cases of a plan.
type Suite struct {
	Plan
	Agents map[string]*agent.Built // by name; see Prepare
	CA     string                  // of a broker elsewhere with TLS
	Keep   func(t *Trial) error    // is given each trial when it is done
	Say    func(text string)       // progress, a line each
}

// Prepare builds the clients of the cases. Cases whose client or broker is not installed are taken out of the plan, with the reason.
func (s *Suite) Prepare(ctx context.Context, folder string) error {
	s.Agents = map[string]*agent.Built{}
	var can []Case
	for _, c := range s.Cases {
		why, err := s.available(ctx, &c, folder)
		if err != nil {
			return err
		}
		if why != "" {
			s.Not = append(s.Not, Skipped{c.Name, why})
			continue
		}
		can = append(can, c)
	}
	if s.Cases = can; len(can) == 0 {
		return fmt.Errorf("nothing can be measured here: %s", s.Not[0].Why)
	}
	return nil
}

// available says why a case cannot be measured here, "" = it can.
func (s *Suite) available(ctx context.Context, c *Case, folder string) (why string, err error) {
	subject, err := c.subject()
	if err != nil {
		return "", err
	}
	if f := broker.Find(ctx, subject); !f.OK {
		return f.Why, nil
	}
	if c.Pin >= 0 {
		own, err := cores.Of(os.Getpid())
		if err != nil {
			return fmt.Sprintf("pin %d: %v", c.Pin, err), nil
		}
		if !slices.Contains(own, c.Pin) {
			return fmt.Sprintf("pin %d: we may run on the cores %s", c.Pin, own), nil
		}
	}
	if s.Agents[c.Client] != nil {
		return "", nil
	}
	a, _ := agent.Named(c.Client)
	b, err := agent.Build(ctx, a, folder)
	if errors.Is(err, agent.ErrMissing) {
		return err.Error(), nil
	}
	s.Agents[c.Client] = b
	return "", err
}

// Run measures round by round, each beginning with another case, so that what changes on the host hits all alike. When ctx ends, what was
// measured of the trial that goes on is kept, too. A trial that fails is kept with the reason; the others go on.
func (s *Suite) Run(ctx context.Context, g *guard.Guard) error {
	id := 0
	for round := range s.Rounds {
		for k := range s.Cases {
			i := (k + round) % len(s.Cases)
			id++
			t := &Trial{ID: id, Case: i, Round: round + 1}
			s.Say(fmt.Sprintf("%s (round %d of %d): %d messages, %v", s.Cases[i].Name, t.Round, s.Rounds, s.Cases[i].messages(), s.Cases[i].Duration().Round(time.Second)))
			err := s.trial(ctx, g, t)
			stopped := ctx.Err() != nil
			if err != nil && !stopped {
				t.Result, t.Failure = nil, err.Error()
				s.Say(fmt.Sprintf("%s: %v", s.Cases[i].Name, err))
			}
			if t.Result != nil || t.Failure != "" {
				if err := s.Keep(t); err != nil {
					return err
				}
			}
			if stopped {
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// trial measures one round of a case, with a broker of its own.
func (s *Suite) trial(ctx context.Context, g *guard.Guard, t *Trial) (err error) {
	c := &s.Cases[t.Case]
	subject, err := c.subject()
	if err != nil {
		return err
	}
	i, err := broker.Start(ctx, subject, broker.Options{Guard: g, TLS: c.TLS})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.Stop(context.WithoutCancel(ctx))) }()
	t.Broker, t.BrokerVersion = subject.Name, i.Version
	o := c.options()
	if len(i.PIDs) > 0 {
		o.BrokerPID = i.PIDs[0]
	}
	built := *s.Agents[c.Client]
	if c.Pin >= 0 {
		built.Place.Core = c.Pin
	}
	o.Client, o.Broker, o.Topics, o.Elsewhere = &built, i.URL, s.Topics, s.Echo == Elsewhere
	o.CA = cmp.Or(i.CAFile(), s.CA)
	if c.TLS { // the certificate of a broker of ours is for its name
		u, err := url.Parse(i.URL)
		if err != nil {
			return err
		}
		u.Host = net.JoinHostPort(broker.SecureName, u.Port())
		o.Broker = u.String()
	}
	t.Result, err = Run(ctx, g, o)
	return err
}

// Estimate is how long a suite takes at least.
func (s *Suite) Estimate() (d time.Duration) {
	for i := range s.Cases {
		d += time.Duration(s.Rounds) * (s.Cases[i].Duration() + betweenTrials)
	}
	return d
}

// betweenTrials is about what broker, client and end of a trial take.
const betweenTrials = 2 * time.Second
