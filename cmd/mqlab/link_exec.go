package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/link/emulate"
	"github.com/mqlab/mqlab/internal/link/splice"
	"github.com/mqlab/mqlab/internal/link/tun"
	"github.com/mqlab/mqlab/internal/netns"
)

// execFlags are the flags of link exec.
type execFlags struct {
	linkFlags
	to []string
}

func newLinkExec() *cobra.Command {
	var flags execFlags
	cmd := &cobra.Command{
		Use:   "exec PROFILE [--to HOST:PORT] -- COMMAND [ARG…]",
		Short: "run a program on the device side of a link (backend tun)",
		Long: fmt.Sprintf(`Run a program, unmodified, where the network is the link and nothing else. What
--to names on this host it reaches at %s (also in MQLAB_LINK_HOST), at the
same port. Needs backend tun: root, or the capability CAP_NET_ADMIN. The exit
code is the program's.

  mqlab link exec lpwan --to 127.0.0.1:1883 -- \
    mosquitto_pub -h %[1]s -q 1 -t lab -m hello`, tun.Loopback),
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return oneProfile(cmd, args)
			case len(args) == 1:
				return usageError("run what? Write %s %s -- COMMAND", cmd.CommandPath(), args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args[0], args[1:]) },
	}
	flags.register(cmd)
	cmd.Flags().StringArrayVar(&flags.to, "to", nil, "a server on this host that the program may reach, `HOST:PORT` (may be repeated)")
	return cmd
}

func (f *execFlags) run(cmd *cobra.Command, profile string, command []string) (err error) {
	switch f.backend {
	case emulate.Auto, emulate.Tun:
		f.backend = emulate.Tun
	default:
		return usageError("backend %s: other programs cannot run behind its links; use backend tun, or mqlab link up", f.backend)
	}
	o, err := f.options(profile, false)
	if err != nil {
		return err
	}
	g, err := guard.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	n, _, err := emulate.Open(cmd.Context(), o)
	if err != nil {
		return exitError{exitFailed, fmt.Errorf("%w; without it, let the program connect to mqlab link up", err)}
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	for _, to := range f.to {
		if err := publish(ctx, cmd, n, to); err != nil {
			return err
		}
	}
	return runBehind(ctx, cmd, g, n, command)
}

// publish makes a server of this host one of the broker's side.
func publish(ctx context.Context, cmd *cobra.Command, n emulate.Network, to string) error {
	_, port, err := net.SplitHostPort(to)
	if err != nil {
		return usageError("--to %s: write HOST:PORT", to)
	}
	l, err := n.Broker().Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return usageError("--to %s: %w", to, err)
	}
	go func() {
		dial := func(ctx context.Context) (net.Conn, error) { return netns.Host.Dial(ctx, "tcp", to) }
		_ = splice.Relay(ctx, l, dial, func(err error) { _, _ = fmt.Fprintf(cmd.ErrOrStderr(), "not reached: %v\n", err) }) // ends with ctx
	}()
	return nil
}

// runBehind runs the program to its end.
func runBehind(ctx context.Context, cmd *cobra.Command, g *guard.Guard, n emulate.Network, command []string) error {
	c := n.Device().Command(ctx, command[0], command[1:]...)
	c.Env = append(os.Environ(), "MQLAB_LINK_HOST="+tun.Loopback.String())
	c.Stdin, c.Stdout, c.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := g.Spawn(c); err != nil {
		return exitError{exitFailed, err}
	}
	err := c.Wait()
	_ = g.End(c.Process.Pid) // what it left behind
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exitError{code: exit.ExitCode()}
	}
	return err
}
