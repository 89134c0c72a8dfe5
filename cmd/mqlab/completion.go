package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/scenarios"
)

// shells are those that completion knows, each with how its script is made.
var shells = []struct {
	name  string
	write func(root *cobra.Command) error
}{
	{"bash", func(root *cobra.Command) error { return root.GenBashCompletionV2(root.OutOrStdout(), true) }},
	{"zsh", func(root *cobra.Command) error { return root.GenZshCompletion(root.OutOrStdout()) }},
	{"fish", func(root *cobra.Command) error { return root.GenFishCompletion(root.OutOrStdout(), true) }},
	{"powershell", func(root *cobra.Command) error {
		return root.GenPowerShellCompletionWithDesc(root.OutOrStdout())
	}},
}

func newCompletion() *cobra.Command {
	var names []string
	for _, s := range shells {
		names = append(names, s.name)
	}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "print what makes a shell complete verbs, flags and names",
		Long: `Print what makes a shell complete verbs, flags, scenarios and brokers:
bash, zsh, fish or powershell.

  source <(mqlab completion bash)          in this shell; for all: ~/.bashrc
  mqlab completion fish | source`,
		ValidArgs: names,
		Args:      atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			known := strings.Join(names, ", ")
			if len(args) == 0 {
				return usageError("of which shell? %s", known)
			}
			for _, s := range shells {
				if s.name == args[0] {
					return s.write(cmd.Root())
				}
			}
			return usageError("there is no completion for %q; known: %s", args[0], known)
		},
	}
}

// completes offers the built-in scenarios, and files, as the argument, and names for flags that take them.
func completes(cmd *cobra.Command) *cobra.Command {
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return scenarios.Names(), cobra.ShellCompDirectiveDefault
	}
	offer := func(flag string, values func() []string) {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return values(), cobra.ShellCompDirectiveNoFileComp
			}) // fails only where there is no such flag
		}
	}
	offer("brokers", brokerNames)
	offer("link", linkNames)
	return cmd
}

func brokerNames() (names []string) {
	for _, s := range plan.Subjects() {
		names = append(names, s.Name)
	}
	return names
}

func linkNames() (names []string) {
	for _, p := range link.Profiles() {
		names = append(names, p.Name)
	}
	return append(names, "none")
}
