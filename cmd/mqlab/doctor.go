package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/doctor"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/scenarios"
)

// diagnosis is what doctor shows.
type diagnosis struct {
	Facts    doctor.Facts     `json:"facts"`
	Findings []doctor.Finding `json:"findings"`
	Plan     *planFit         `json:"plan,omitempty"`
}

// planFit says whether a plan fits this host.
type planFit struct {
	Scenario string        `json:"scenario"`
	Fits     bool          `json:"fits"`
	Needs    []doctor.Need `json:"needs"`
}

var errNoFit = errors.New("the plan does not fit this host; see above")

func newDoctor() *cobra.Command {
	var flags planFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor [SCENARIO]",
		Short: "show the limits of this host, and whether a scenario fits them",
		Long: `Show what this host allows: what each limit means in numbers, and the command
that changes it. With a scenario also whether its plan fits; run checks it too.

Exit codes: 0 done, 1 the plan does not fit, 2 usage or bad scenario.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := planToCheck(cmd, &flags, args)
			if err != nil {
				return err
			}
			return examineHost(cmd, p, asJSON)
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// planToCheck is the plan that was asked about; nil = none.
func planToCheck(cmd *cobra.Command, flags *planFlags, args []string) (*plan.Plan, error) {
	given := cmd.Flags().NFlag()
	if cmd.Flags().Changed("json") {
		given--
	}
	switch {
	case len(args) == 0 && given > 0:
		return nil, usageError("the flags change a scenario: name one, for example %s %s", cmd.CommandPath(), scenarios.Default)
	case len(args) == 0:
		return nil, nil
	}
	s, err := flags.load(cmd, args)
	if err != nil {
		return nil, err
	}
	return s.resolve(cmd.Context())
}

func examineHost(cmd *cobra.Command, p *plan.Plan, asJSON bool) error {
	d := diagnosis{Facts: doctor.Examine(cmd.Context())}
	d.Findings = doctor.Findings(d.Facts)
	if p != nil {
		e := p.Estimate()
		d.Plan = &planFit{Scenario: p.Scenario, Fits: len(doctor.Check(e, d.Facts)) == 0, Needs: doctor.Needs(e, d.Facts)}
	}
	out := cmd.OutOrStdout()
	if asJSON {
		if err := report.WriteJSON(out, d); err != nil {
			return err
		}
	} else {
		d.print(out)
	}
	if d.Plan != nil && !d.Plan.Fits {
		return exitError{exitFailed, errNoFit}
	}
	return nil
}

// print shows a status, a name and what is known in three columns, and commands below.
func (d *diagnosis) print(out io.Writer) {
	width := terminalWidth(out)
	show := func(status doctor.Status, name, value, means, change string) {
		printWrapped(out, fmt.Sprintf("%-6s  %-16s  ", status, name), value, width)
		if means != "" {
			printWrapped(out, strings.Repeat(" ", 26), means, width)
		}
		if change != "" {
			_, _ = fmt.Fprintf(out, "%8s$ %s\n", "", change)
		}
	}
	for _, f := range d.Findings {
		show(f.Status, f.Name, f.Value, f.Means, f.Change)
	}
	if d.Plan == nil {
		return
	}
	verdict := "fits this host"
	if !d.Plan.Fits {
		verdict = "does not fit this host"
	}
	_, _ = fmt.Fprintf(out, "\nThe plan of %s %s.\n", d.Plan.Scenario, verdict)
	for _, n := range d.Plan.Needs {
		value := fmt.Sprintf("needs %s of %s", n.Amount(n.Need), n.Amount(n.Have))
		if n.Fits() {
			show(doctor.OK, n.What, value+" ("+n.Limit+")", "", "")
		} else {
			show(doctor.Limits, n.What, value+" ("+n.Limit+")", "", n.Change)
		}
	}
}
