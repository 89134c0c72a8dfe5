package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/emulate"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/scenario"
)

func newLink() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "link",
		Short: "weak networks: list, test, or put one before any TCP server",
		Long: `Weak networks between clients and brokers, emulated on this machine. A run over
one is mqlab run --link PROFILE; these verbs are for the links themselves.`,
		Args: unknownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLinkList(), newLinkSelftest(), newLinkUp(), newLinkExec(), newLinkImportTC())
	return cmd
}

// linkFlags say which link, and how it is made.
type linkFlags struct {
	backend    string
	congestion string
	toxiproxy  string
	set        []string
}

func (f *linkFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.backend, "backend", emulate.Auto, "how it is made (`BACKEND`): "+strings.Join(emulate.Backends(), ", "))
	flags.StringVar(&f.congestion, "congestion-control", "", "TCP `ALGORITHM` of both ends: cubic, reno, bbr")
	flags.StringVar(&f.toxiproxy, "toxiproxy", "", "`URL` of the HTTP API of the Toxiproxy that backend toxiproxy drives")
	flags.StringArrayVar(&f.set, "set", nil, "replace a figure, `key=value`, for example loss=10% or up.rate=64kbit/s (may be repeated)")
}

// changes are the figures that are replaced.
func (f *linkFlags) changes() (map[string]string, error) {
	changes := map[string]string{}
	for _, assignment := range f.set {
		key, value, ok := strings.Cut(assignment, "=")
		if !ok {
			return nil, usageError("--set %s: write --set key=value", assignment)
		}
		changes[key] = value
	}
	return changes, nil
}

// options are those of the link that was asked for.
func (f *linkFlags) options(profile string, outside bool) (emulate.Options, error) {
	changes, err := f.changes()
	if err != nil {
		return emulate.Options{}, err
	}
	p, err := linkProfile(profile, changes)
	if err != nil {
		return emulate.Options{}, usageError("%w", err)
	}
	if !slices.Contains(emulate.Backends(), f.backend) {
		return emulate.Options{}, usageError("there is no backend %q; %s", f.backend, scenario.Suggest(f.backend, emulate.Backends()))
	}
	if f.toxiproxy != "" && f.backend != emulate.Toxiproxy {
		return emulate.Options{}, usageError("--toxiproxy is for --backend toxiproxy, not for %s", f.backend)
	}
	return emulate.Options{
		Config:  link.Config{Profile: p, Seed: 1, CongestionControl: f.congestion},
		Backend: f.backend, Outside: outside, Toxiproxy: f.toxiproxy,
	}, nil
}

// linkProfile is a built-in link with figures replaced: keys and values are those of the section network of a scenario.
func linkProfile(name string, changes map[string]string) (link.Profile, error) {
	if _, err := link.Find(name); err != nil {
		return link.Profile{}, err
	}
	s := scenario.Decode("link", []byte("subjects: [mochi]\nnetwork: {link: "+name+"}"))
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		if key == "link" || key == "backend" || key == "toxiproxy" || key == "congestion_control" {
			return link.Profile{}, fmt.Errorf("%s is no figure of a link", key)
		}
		s.Set("network." + key + "=" + changes[key])
	}
	p, err := plan.Resolve(s, plan.Options{Seed: 1})
	if err != nil {
		return link.Profile{}, firstLine(err)
	}
	return p.Trials[0].Params.Link.Profile, nil
}

// firstLine keeps the first of several problems.
func firstLine(err error) error { return errors.New(lines(err.Error())[0]) }

// oneProfile makes exactly one argument the name of a link.
func oneProfile(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError("which link? Name one of mqlab link list, for example %s lpwan", cmd.CommandPath())
	}
	return atMost(1)(cmd, args)
}

func newLinkList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "show the built-in links, sources of their figures, and backends",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return report.WriteJSON(cmd.OutOrStdout(), map[string]any{"links": link.Profiles(), "backends": emulate.Backends()})
			}
			printLinks(cmd)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printLinks(cmd *cobra.Command) {
	out := cmd.OutOrStdout()
	width := terminalWidth(out)
	_, _ = fmt.Fprintln(out, "Links (mqlab run --link NAME, or network: {link: NAME} in a scenario)")
	for _, p := range link.Profiles() {
		printWrapped(out, fmt.Sprintf("  %-14s ", p.Name), p.About+".", width)
		printWrapped(out, strings.Repeat(" ", 17), describeLink(p), width)
		printWrapped(out, strings.Repeat(" ", 17), "Source: "+p.Source+".", width)
	}
	_, _ = fmt.Fprintln(out, "\nBackends (--link-backend NAME, or network: {backend: NAME})")
	for _, name := range emulate.Backends() {
		printWrapped(out, fmt.Sprintf("  %-14s ", name), emulate.About(name)+".", width)
	}
}

// describeLink says what a link is like, in words.
func describeLink(p link.Profile) string {
	up, down := plan.DescribePath(p.Up), plan.DescribePath(p.Down)
	if up == down {
		return "Both ways " + up + "."
	}
	return "Up " + up + "; down " + down + "."
}

func newLinkImportTC() *cobra.Command {
	return &cobra.Command{
		Use:   `import-tc "NETEM OPTIONS"`,
		Short: "say what a line of tc netem really does, and how to have it here",
		Long: `Read the options of tc's netem, say in words what Linux does with them, and print
the section of a scenario that does the same (mode netem), or what was probably
meant (mode physical).

  mqlab link import-tc "delay 300ms 50ms loss 5% rate 256kbit"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, said, err := link.ParseTC(strings.Join(args, " "))
			if err != nil {
				return usageError("%w", err)
			}
			out := cmd.OutOrStdout()
			width := terminalWidth(out)
			_, _ = fmt.Fprintln(out, "What Linux does")
			for _, sentence := range said {
				printWrapped(out, "  - ", sentence, width)
			}
			if p.Mode == link.NetEm {
				_, _ = fmt.Fprintf(out, "\nThe same here, in a scenario\nnetwork: %s\n", networkSection(p))
			}
			_, _ = fmt.Fprintf(out, "\nWhat was probably meant: it waits, is sent, is lost or not, travels\nnetwork: %s\n", networkSection(p.Physical()))
			return nil
		},
	}
}

// networkSection writes figures as a scenario has them.
func networkSection(p link.Params) string {
	var parts []string
	add := func(ok bool, format string, args ...any) {
		if ok {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(p.Delay > 0, "delay: %s", p.Delay)
	add(p.Jitter > 0, "jitter: %s", p.Jitter)
	add(p.Distribution != "", "distribution: %s", p.Distribution)
	add(p.Correlation > 0, "correlation: %v", p.Correlation)
	add(p.Loss > 0, "loss: %v%%", p.Loss*100)
	add(p.LossCorrelation > 0, "loss_correlation: %v", p.LossCorrelation)
	add(p.Burst > 0, "burst: %v", p.Burst)
	add(p.Duplicate > 0, "duplicate: %v%%", p.Duplicate*100)
	add(p.Corrupt > 0, "corrupt: %v%%", p.Corrupt*100)
	add(p.Rate > 0 && p.Rate%1000 == 0, "rate: %dkbit/s", p.Rate/1000)
	add(p.Rate%1000 != 0, "rate: %dbit/s", p.Rate)
	add(p.OverheadBytes > 0, "overhead: %d", p.OverheadBytes)
	add(p.Mode == link.NetEm, "mode: netem")
	add(p.QueuePackets > 0, "queue_packets: %d", p.QueuePackets)
	return "{" + strings.Join(parts, ", ") + "}"
}
