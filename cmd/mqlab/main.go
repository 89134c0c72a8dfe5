// Command mqlab compares message brokers on this machine and proves its numbers. Each verb is one file.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mqlab/mqlab/agents/golang"
	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/crew"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/scenario"
	"github.com/mqlab/mqlab/internal/trial"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2 // or a bad scenario
	exitLimit       = 3 // ran, a limit was missed
	exitInvalid     = 4 // ran, not valid
	exitInterrupted = 130
)

func main() { os.Exit(mqlab()) }

// hiddenVerbs are what this program starts itself again for.
var hiddenVerbs = guard.Verbs{crew.Verb: crew.Main, broker.Verb: broker.Main, broker.LimitedVerb: broker.Limited, golang.Verb: golang.Main}

// mqlab runs the program and returns its exit code.
func mqlab() int {
	if code, asked := hiddenVerbs.Do(os.Args[1:]); asked {
		return code
	}
	ctx, stop := interruptible()
	defer stop()
	return execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// interruptible returns a context that ends at the first SIGINT, SIGTERM or SIGHUP (the terminal is gone; under nohup it does
// nothing); the second ends the program at once.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		<-signals
		cancel(trial.ErrInterrupted)
		<-signals
		os.Exit(exitInterrupted)
	}()
	return ctx, func() { signal.Stop(signals) }
}

// execute carries out one command line.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	out := &output{Writer: stdout}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = out.err
	}
	var code exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		if code.err != nil {
			tell(stderr, code.err)
		}
		return code.code
	}
	tell(stderr, err)
	var bad scenario.Errors
	switch {
	case errors.Is(err, trial.ErrInterrupted):
		return exitInterrupted
	case errors.As(err, &bad):
		return exitUsage
	}
	return exitFailed
}

// exitError ends the program with a code; err is what to say, nil = nothing.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return fmt.Sprintf("exit %d: %v", e.code, e.err) }
func (e exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return exitError{exitUsage, fmt.Errorf(format, args...)}
}

// tell prints an error, each of its lines with the program's name in front.
func tell(w io.Writer, err error) {
	for _, line := range lines(err.Error()) {
		_, _ = fmt.Fprintf(w, "mqlab: %s\n", printable(line))
	}
}

// printable writes what could change the look of a terminal as an escape: it came from a name or a file.
func printable(line string) string {
	var b strings.Builder
	for _, r := range line {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "mqlab",
		Short: "Which broker, which settings, and how sure is that?",
		Long: `mqlab compares message brokers on this machine and proves its numbers.

  mqlab run              which broker? compares those embedded and installed
  mqlab list             the other questions it answers, and the brokers found
  mqlab diagnose         why is a client, a run, a table of latencies slow?
  mqlab report           show the latest run again, in any format`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              unknownVerb,
		Version:           versionLine(),
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError("%s; see %s --help", flagProblem(err), cmd.CommandPath())
	})
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", defaultWidth)))
	root.AddCommand(completes(newRun()), completes(newPlan()), newList(), newReport(), newCompare(), newCheck(), newDiagnose(), newSelftest(), newProbe(), newLink(), completes(newDoctor()), newExplain(), newVersion(), newCompletion())
	root.SetHelpCommand(newHelp())
	return root
}

// flagProblem says what is wrong with a flag, without the words of the functions that read it.
func flagProblem(err error) string {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err.Error()
	}
	want := map[string]string{
		"int": "a whole number", "uint16": "a whole number from 0 to 65535", "uint64": "a whole number, 0 or more",
		"float64": "a number", "bool": "true or false", "intSlice": "whole numbers, such as 1,10", "duration": "a time with its unit, such as 30s",
	}[bad.GetFlag().Value.Type()]
	if want == "" {
		return err.Error()
	}
	return fmt.Sprintf("invalid argument %q for %q flag: write %s", bad.GetValue(), "--"+bad.GetFlag().Name, want)
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB]",
		Short: "show this help, or that of a verb",
		Args:  atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			verb, _, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(args) > 0 && verb == cmd.Root() {
				return unknownVerb(verb, args)
			}
			return verb.Help()
		},
	}
}

// atMost makes more than n arguments a usage error.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usageError("%q is one argument too many; see %s --help", args[n], cmd.CommandPath())
		}
		return nil
	}
}

func unknownVerb(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var verbs []string
	for _, c := range root.Commands() {
		verbs = append(verbs, c.Name())
	}
	return usageError("there is no verb %q; %s", args[0], scenario.Suggest(args[0], verbs))
}
