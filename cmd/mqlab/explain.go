package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/explain"
)

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [WORD]",
		Short: "say what a printed word means (no WORD = list them)",
		Long: `Say in plain words what a word means that mqlab prints or reads: columns, JSON
fields, reasons, verdicts, metrics, phases, events, units, exit codes, and keys
of scenarios. Parts of a path are enough: lost, counts.lost, response p99.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if len(args) == 0 {
				listWords(out)
				return nil
			}
			word := strings.Join(args, " ")
			found := explain.Find(word)
			if len(found) == 0 {
				return unknownWord(word)
			}
			for i, e := range found {
				if i > 0 {
					_, _ = fmt.Fprintln(out)
				}
				_, _ = fmt.Fprintf(out, "%s (%s)\n", e.Word, e.Kind)
				printWrapped(out, "  ", e.Text, terminalWidth(out))
			}
			return nil
		},
	}
}

func unknownWord(word string) error {
	if suggestion, ok := explain.Suggest(word); ok {
		return usageError("there is no word %q; %s", word, suggestion)
	}
	return usageError("there is no word %q; mqlab explain lists all", word)
}

func listWords(out io.Writer) {
	for i, g := range explain.Groups() {
		if i > 0 {
			_, _ = fmt.Fprintln(out)
		}
		_, _ = fmt.Fprintln(out, g.Title)
		printWrapped(out, "  ", strings.Join(g.Words, ", "), terminalWidth(out))
	}
}
