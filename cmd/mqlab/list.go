package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/scenario"
	"github.com/mqlab/mqlab/scenarios"
)

// listing is what list shows.
type listing struct {
	Scenarios []listedScenario `json:"scenarios"`
	Brokers   []listedBroker   `json:"brokers"`
}

type listedScenario struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type listedBroker struct {
	Subject   string   `json:"subject"`
	Protocols []string `json:"protocols"` // of this version; the first is the default
	broker.Finding
}

func newList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "show scenarios, brokers, and how each was found (or why not)",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := list(cmd)
			if err != nil {
				return err
			}
			if asJSON {
				return report.WriteJSON(cmd.OutOrStdout(), l)
			}
			return l.print(cmd)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func list(cmd *cobra.Command) (*listing, error) {
	l := &listing{}
	for _, name := range scenarios.Names() {
		text, err := scenarios.Read(name)
		if err != nil {
			return nil, err
		}
		s := scenario.Decode(name+".yaml", text)
		l.Scenarios = append(l.Scenarios, listedScenario{name, strings.Join(strings.Fields(s.Description), " ")})
	}
	l.Scenarios = append(l.Scenarios, listedScenario{clientsScenario, newRunClients().Short}, listedScenario{jitterScenario, newRunJitter().Short})
	for _, subject := range plan.Subjects() {
		found := broker.Find(cmd.Context(), subject)
		l.Brokers = append(l.Brokers, listedBroker{subject.Name, subject.ProtocolsOf(found.Version), found})
	}
	return l, nil
}

func (l *listing) print(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	width := terminalWidth(out)
	_, _ = fmt.Fprintln(out, "Scenarios (mqlab run NAME, or your own file; mqlab plan NAME tells more)")
	for _, s := range l.Scenarios {
		printWrapped(out, fmt.Sprintf("  %-15s", s.Name), question(s.Description), width)
	}
	_, _ = fmt.Fprintln(out, "\nBrokers (mqlab run --brokers A,B/PROTOCOL, or a URL)")
	subjects, versions := 0, 0
	for _, b := range l.Brokers {
		subjects, versions = max(subjects, len(b.Subject)), max(versions, len(b.Version))
	}
	for i, b := range l.Brokers {
		if b.Runtime == broker.Docker && !b.OK {
			continue // said once below
		}
		found := "found"
		if !b.OK {
			found = "no"
		}
		text := b.Why
		if i == 0 || l.Brokers[i-1].Name != b.Name { // one broker speaks the same however it runs
			text += "; speaks " + strings.Join(b.Protocols, ", ")
		}
		printWrapped(out, fmt.Sprintf("  %-*s  %-5s  %-*s  ", subjects, b.Subject, found, versions, b.Version), text, width)
	}
	l.printNoEngine(out, subjects, versions, width)
	_, _ = fmt.Fprintln(out)
	printWrapped(out, "URLs  ", strings.Join(plan.URLSchemes(), "://, ")+"://", width)
	return nil
}

// question is the first sentence of a description: what the scenario answers.
func question(description string) string {
	if q, _, ok := strings.Cut(description, "? "); ok {
		return q + "?"
	}
	return description
}

// printNoEngine says once, for all brokers, why they cannot run in containers here.
func (l *listing) printNoEngine(out io.Writer, subjects, versions, width int) {
	i := slices.IndexFunc(l.Brokers, func(b listedBroker) bool { return b.Runtime == broker.Docker && !b.OK })
	if i >= 0 {
		printWrapped(out, fmt.Sprintf("  %-*s  %-5s  %-*s  ", subjects, "*@docker", "no", versions, ""), l.Brokers[i].Why, width)
	}
}
