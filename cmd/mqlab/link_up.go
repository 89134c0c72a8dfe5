package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/emulate"
	"github.com/mqlab/mqlab/internal/link/gateway"
	"github.com/mqlab/mqlab/internal/summary"
	"github.com/mqlab/mqlab/internal/trial"
)

// upFlags are the flags of link up.
type upFlags struct {
	linkFlags
	listen, to, api string
}

func newLinkUp() *cobra.Command {
	var flags upFlags
	cmd := &cobra.Command{
		Use:   "up PROFILE --listen HOST:PORT --to HOST:PORT",
		Short: "stand a link before a broker, or any TCP server, until interrupted",
		Long: `Whoever connects to --listen reaches --to over the link, until the program is
interrupted; then it tells what became of the packets. Nothing outlives it.

With --api it can be changed while it is up, each time in both directions at
once; every answer is the link as it is then, in JSON:

  curl HOST:PORT/                         figures and counters
  curl -d loss=10% -d up.rate=64kbit/s HOST:PORT/set
                                          replaces figures (keys of a scenario's
                                          section network)
  curl -X POST HOST:PORT/cut              nothing gets through any more
  curl -X POST HOST:PORT/mend             it does again

  mqlab link up lpwan --listen 127.0.0.1:1884 --to 127.0.0.1:1883`,
		Args: oneProfile,
		RunE: func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args[0]) },
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&flags.listen, "listen", "", "where clients connect, `HOST:PORT`; port 0 is any free one")
	cmd.Flags().StringVar(&flags.to, "to", "", "where they arrive, `HOST:PORT`")
	cmd.Flags().StringVar(&flags.api, "api", "", "where the link can be changed by HTTP, `HOST:PORT`; absent: nowhere")
	return cmd
}

func (f *upFlags) run(cmd *cobra.Command, profile string) (err error) {
	for _, a := range []struct{ flag, value string }{{"--listen", f.listen}, {"--to", f.to}} {
		if a.value == "" {
			return usageError("%s is missing: write HOST:PORT", a.flag)
		}
		if _, _, err := net.SplitHostPort(a.value); err != nil {
			return usageError("%s %s: write HOST:PORT", a.flag, a.value)
		}
	}
	o, err := f.options(profile, true)
	if err != nil {
		return err
	}
	n, choice, err := emulate.Open(cmd.Context(), o)
	if err != nil {
		return usageError("%w", err)
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	base, err := f.changes()
	if err != nil {
		return err
	}
	g, err := gateway.New(n, func(changes map[string]string) (link.Profile, error) {
		all := maps.Clone(base)
		maps.Copy(all, changes)
		return linkProfile(profile, all)
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return usageError("--listen: %w", err)
	}
	stop, err := f.serve(cmd, g)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer stop()
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s to %s over link %s, backend %s (%s)\n", l.Addr(), f.to, o.Profile.Name, choice.Backend, choice.Why)
	err = g.Relay(cmd.Context(), l, f.to, func(err error) { _, _ = fmt.Fprintf(cmd.ErrOrStderr(), "not reached: %v\n", err) })
	printPackets(cmd, g)
	if errors.Is(err, trial.ErrInterrupted) || errors.Is(err, context.Canceled) {
		return nil // as it is meant to end
	}
	return err
}

// serve serves the API, if it was asked for, until stop is called.
func (f *upFlags) serve(cmd *cobra.Command, g *gateway.Gateway) (stop func(), err error) {
	if f.api == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", f.api)
	if err != nil {
		return nil, usageError("--api: %w", err)
	}
	server := &http.Server{Handler: g.Handler(), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // ends by stop only
	}()
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "api: http://%s/\n", l.Addr())
	return func() {
		_ = server.Close()
		<-ended
	}, nil
}

// printPackets says what became of all packets.
func printPackets(cmd *cobra.Command, g *gateway.Gateway) {
	s := g.State()
	for _, w := range []struct {
		name string
		c    *link.Counters
	}{{"up", s.Up}, {"down", s.Down}} {
		if w.c != nil {
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%-5s %s packets offered: %s carried, %s lost, %s dropped, %s in an outage, %s in flight\n", w.name,
				summary.Count(w.c.Offered.Packets), summary.Count(w.c.Carried.Packets), summary.Count(w.c.Lost.Packets),
				summary.Count(w.c.QueueDropped.Packets), summary.Count(w.c.Outage.Packets), summary.Count(w.c.InFlight.Packets))
		}
	}
}
