package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/clients/idle"
	"github.com/mqlab/mqlab/internal/clients/show"
	"github.com/mqlab/mqlab/internal/guard"
)

// idleFlags are who waits, and for how long.
type idleFlags struct {
	clientsFlags
	keepAlive, length time.Duration
}

func newRunClientsIdle() *cobra.Command {
	f := idleFlags{}
	cmd := &cobra.Command{
		Use:   "idle",
		Short: "what client libraries cost while they have nothing to say",
		Long: `What client libraries cost while they have nothing to say: CPU time, wake-ups and
memory of each, and what its connection puts on a link, per minute. All wait at
the same time at a broker that is started for them, over an emulated link where
this host allows one through which other programs can be seen.

CPU compares libraries, bytes compare protocols.

Exit codes: 0 done, 1 failed, 2 usage, 4 a client gave no figures.`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			return f.wait(cmd.Context(), cmd.OutOrStdout(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.only, "clients", nil, "only these: "+strings.Join(agentNames(), ", "))
	flags.StringVar(&f.protocol, "protocol", agent.MQTT, "mqtt, amqp091, nats or redis")
	flags.DurationVar(&f.keepAlive, "keepalive", time.Minute, "of MQTT")
	flags.DurationVar(&f.length, "for", 3*time.Minute, "how long they wait")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// options checks the flags.
func (f *idleFlags) options(cmd *cobra.Command) (*idle.Options, error) {
	if f.keepAlive < 5*time.Second || f.keepAlive > 65535*time.Second || f.keepAlive%time.Second != 0 {
		return nil, usageError("--keepalive %v: whole seconds from 5s, the least that libmosquitto takes, to 65535s", f.keepAlive)
	}
	if f.length < time.Second || f.length > 24*time.Hour {
		return nil, usageError("--for %v: from 1s to 24h", f.length)
	}
	f.rounds = 1
	if err := f.check(); err != nil {
		return nil, err
	}
	o := &idle.Options{
		Protocol: f.protocol, KeepAlive: f.keepAlive, For: f.length, Folder: broker.Cache(),
		Say: func(text string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), text) },
	}
	for _, a := range agent.All() {
		if a.Protocol == f.protocol && (len(f.only) == 0 && !a.Floor || slices.Contains(f.only, a.Name)) {
			o.Clients = append(o.Clients, a)
		}
	}
	if len(o.Clients) == 0 {
		return nil, usageError("there is no client of protocol %q: mqtt, amqp091, nats and redis have some", f.protocol)
	}
	return o, nil
}

// wait lets clients wait and shows what that cost.
func (f *idleFlags) wait(ctx context.Context, stdout io.Writer, o *idle.Options) (err error) {
	g, err := guard.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	r, err := idle.Run(ctx, g, *o)
	if err != nil {
		return err
	}
	format := "text"
	if f.json {
		format = "json"
	}
	if err := show.WriteIdle(stdout, format, r, false); err != nil {
		return err
	}
	for _, c := range r.Clients {
		if c.Invalid != "" {
			return exitError{exitInvalid, fmt.Errorf("not valid: %s: %s", c.Name, c.Invalid)}
		}
	}
	return nil
}
