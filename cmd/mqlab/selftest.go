package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/selftest"
)

func newSelftest() *cobra.Command {
	var options selftest.Options
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "prove the instrument: expected beside measured, for known faults",
		Long: `Measure brokers with known faults (delays, stalls, losses, repetitions, swaps,
damage, late subscriptions, slow reading) through both engines, print expected
beside measured, and fail on any difference; then what this host can resolve.`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			options.Guard, err = guard.Start()
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, options.Guard.Close()) }()
			ok, err := selftest.Run(cmd.Context(), cmd.OutOrStdout(), options)
			if err == nil && !ok {
				err = errors.New("self-test failed: measured is not what was expected (is this host busy?)")
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&options.Slack, "slack", 0, "accept times longer by this (busy host); never counts")
	return cmd
}
