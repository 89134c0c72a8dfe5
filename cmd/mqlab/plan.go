package main

import (
	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/plan"
)

func newPlan() *cobra.Command {
	var flags planFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan [SCENARIO]",
		Short: "show what a run would do, how long it takes and what it needs",
		Args:  atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := flags.load(cmd, args)
			if err != nil {
				return err
			}
			p, err := s.resolve(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return plan.PrintJSON(cmd.OutOrStdout(), p)
			}
			return plan.Print(cmd.OutOrStdout(), p, terminalWidth(cmd.OutOrStdout()))
		},
	}
	cmd.AddCommand(newPlanClients())
	flags.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
