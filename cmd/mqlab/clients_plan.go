package main

import (
	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/clients/show"
)

func newPlanClients() *cobra.Command {
	f := clientsFlags{}
	cmd := &cobra.Command{
		Use:   clientsScenario,
		Short: "what comparing client libraries would do, and how long it takes",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			return show.WritePlan(cmd.OutOrStdout(), clients.PlanOf(o), f.json, colours(cmd.OutOrStdout()))
		},
	}
	f.register(cmd)
	return cmd
}
