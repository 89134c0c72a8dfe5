package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/probe"
	"github.com/mqlab/mqlab/internal/scenario"
)

// probeFlags are the flags of probe.
type probeFlags struct {
	auth   plan.Auth
	tls    plan.TLS
	asJSON bool
	only   []string
}

func newProbe() *cobra.Command {
	var flags probeFlags
	cmd := &cobra.Command{
		Use:   "probe BROKER|URL",
		Short: "find out what a broker can do, by trying it",
		Long: `Find out what a broker can do, by trying it: protocol versions, guarantees,
retained messages, sessions, limits, what happens to slow consumers, what
survives its end. Nothing is looked up; "not decided" says why.

BROKER is broker[:variant][/protocol][@runtime], as in run, and is started for
this. A broker at a URL is loaded with at most 64 MiB, on topics of our own, and
cleaned up; it is not restarted. A probe takes at most a minute.

  mqlab probe mosquitto
  mqlab probe mqtts://broker.example:8883 --user-env U --password-env P`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("probe what? Name a broker or a URL, for example %s mosquitto", cmd.CommandPath())
			}
			return flags.probe(cmd, args[0])
		},
	}
	f := cmd.Flags()
	f.BoolVar(&flags.asJSON, "json", false, "print JSON, with how each answer was measured")
	f.StringArrayVar(&flags.only, "ask", nil, "ask this `question` only (may be repeated), for example \"offline queue\"")
	f.StringVar(&flags.auth.UserEnv, "user-env", "", "environment `variable` with the user")
	f.StringVar(&flags.auth.PasswordEnv, "password-env", "", "environment `variable` with the password")
	f.StringVar(&flags.auth.TokenEnv, "token-env", "", "environment `variable` with a token (NATS)")
	f.StringVar(&flags.auth.PasswordFile, "password-file", "", "`file` with user:password, or a token, on its first line")
	f.StringVar(&flags.tls.CAFile, "ca-file", "", "`file` with the certificates that are trusted")
	f.StringVar(&flags.tls.CertFile, "cert-file", "", "`file` with the client's certificate")
	f.StringVar(&flags.tls.KeyFile, "key-file", "", "`file` with the key of the client's certificate")
	f.StringVar(&flags.tls.ServerName, "server-name", "", "`name` that the broker's certificate must have")
	f.BoolVar(&flags.tls.SkipVerify, "skip-verify", false, "trust any certificate")
	return cmd
}

// probe asks one broker and prints the answers.
func (f *probeFlags) probe(cmd *cobra.Command, text string) error {
	subject, err := plan.ParseSubject(text)
	if err != nil {
		return usageError("%w", err)
	}
	if unknown := slices.IndexFunc(f.only, func(q string) bool { return !slices.Contains(probe.Questions, q) }); unknown >= 0 {
		return usageError("there is no question %q; %s", f.only[unknown], scenario.Suggest(f.only[unknown], probe.Questions))
	}
	subject.Auth, subject.TLS = f.auth, f.tls
	login, err := broker.Credentials(subject.Auth)
	if err != nil {
		return usageError("%w", err)
	}
	r, err := ask(cmd.Context(), subject, probe.Options{Login: login, Questions: f.only})
	if err != nil {
		return err
	}
	if f.asJSON {
		return probe.PrintJSON(cmd.OutOrStdout(), r)
	}
	return probe.Print(cmd.OutOrStdout(), r, terminalWidth(cmd.OutOrStdout()))
}

// ask starts the broker, if it is one of ours, and probes it.
func ask(ctx context.Context, s plan.Subject, o probe.Options) (r *probe.Report, err error) {
	switch f := broker.Find(ctx, s); {
	case ctx.Err() != nil: // it may have ended the looking
		return nil, fmt.Errorf("probe %s: %w", s.Name, context.Cause(ctx))
	case !f.OK:
		return nil, errors.New(f.Why)
	}
	g, err := guard.Start()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	instance, err := broker.Start(ctx, s, broker.Options{Guard: g})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, instance.Stop(context.WithoutCancel(ctx))) }()
	if s.Runtime != broker.External {
		o.Restart = func(ctx context.Context, kill bool) error {
			if err := instance.Down(ctx, kill); err != nil {
				return err
			}
			return instance.Up(ctx)
		}
	}
	r, err = probe.Run(ctx, s, instance.URL, o)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // whatever it met with then
	}
	if err != nil {
		return nil, fmt.Errorf("probe %s: %w", s.Name, err)
	}
	if r.Version == "" {
		r.Version = instance.Version
	}
	return r, nil
}
