package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/clients"
)

// clientsVariants are the named options of clients, and the experiments beside the modes.
type clientsVariants struct {
	list        bool
	log         bool
	tls         bool
	unpinned    bool
	allocator   string
	connections []int
	by          []string
	leak        time.Duration
	reconnect   []string
	block       time.Duration
}

// waysToCarry are the values of --by.
var waysToCarry = []string{agent.ByThreads, agent.ByLoop, agent.ByProcesses}

func (v *clientsVariants) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&v.list, "list", false, "list the clients with the options that each has")
	flags.BoolVar(&v.tls, "tls", false, "connections are encrypted")
	flags.BoolVar(&v.log, "log", false, "the library logs")
	flags.BoolVar(&v.unpinned, "unpinned", false, "the scheduler moves clients as it likes")
	flags.StringVar(&v.allocator, "allocator", "", "another malloc: "+strings.Join(agent.Allocators(), ", "))
	flags.IntSliceVar(&v.connections, "connections", nil, "connections of one client at once, such as 1,10,100,1000")
	flags.StringSliceVar(&v.by, "by", []string{agent.ByThreads, agent.ByLoop}, "what carries them: "+strings.Join(waysToCarry, ", "))
	flags.DurationVar(&v.leak, "leak", 0, "watch the memory for so long, such as 1m")
	flags.StringSliceVar(&v.reconnect, "reconnect", nil, "cut the connection: resubscribe, plain")
	flags.DurationVar(&v.block, "block", 0, "a callback that blocks for so long, such as 12s, and keep-alive")
}

// experiments: something beside the modes is asked for.
func (v *clientsVariants) experiments() bool {
	return len(v.connections) > 0 || v.leak > 0 || len(v.reconnect) > 0 || v.block > 0
}

// apply fills the options in. Without --modes, experiments are all that is done.
func (v *clientsVariants) apply(o *clients.Options) error {
	if v.log {
		o.Job.Log = 1
	}
	o.Secure, o.Allocator, o.Unpinned = v.tls, v.allocator, v.unpinned
	o.Connections, o.By, o.Leak, o.Reconnect, o.Block = v.connections, v.by, v.leak, v.reconnect, v.block
	if v.experiments() && o.Modes == nil {
		o.Modes = []clients.Mode{}
	}
	for _, c := range []struct {
		flag   string
		values []string
		of     []string
	}{{"by", v.by, waysToCarry}, {"reconnect", v.reconnect, []string{agent.Resubscribe, agent.Plain}}} {
		for _, value := range c.values {
			if !slices.Contains(c.of, value) {
				return usageError("--%s %s: there are %s", c.flag, value, strings.Join(c.of, ", "))
			}
		}
	}
	for _, n := range v.connections {
		if n < 1 || n > 10_000 {
			return usageError("--connections %d: from 1 to 10000", n)
		}
	}
	switch {
	case v.allocator != "" && !slices.Contains(agent.Allocators(), v.allocator):
		return usageError("--allocator %s: there are %s", v.allocator, strings.Join(agent.Allocators(), ", "))
	case v.leak < 0 || v.leak > 0 && v.leak < 2*time.Second:
		return usageError("--leak %v: at least 2s", v.leak)
	case v.block < 0 || v.block > 0 && v.block < 6*time.Second:
		return usageError("--block %v: at least 6s, longer than the keep-alive of 5s", v.block)
	case v.block > 0 && o.Protocol != agent.MQTT:
		return usageError("--block: keep-alive is looked at with MQTT only")
	}
	return nil
}

// listClients shows what each client can be told.
func listClients(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	_, _ = fmt.Fprintln(t, "client\tprotocol\tlanguage\tlibrary")
	for _, a := range agent.All() {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", a.Name, a.Protocol, a.Language, a.Library)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var err error
	say := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, format, args...)
		}
	}
	say("\nOptions (--work, --unpinned: all)\n")
	var known []string
	for _, a := range agent.All() {
		text := a.Options().String()
		if slices.Contains(known, text) {
			continue
		}
		known = append(known, text)
		var same []string
		for _, b := range agent.All() {
			if b.Options().String() == text {
				same = append(same, b.Name)
			}
		}
		say("%s\n", wrapped(strings.Join(same, ", "), ""))
		say("%s\n", wrapped(text, "    "))
	}
	for why, names := range withoutNoDelay() {
		say("%s\n", wrapped("No TCP_NODELAY in "+strings.Join(names, ", ")+": "+why+".", ""))
	}
	return err
}

// withoutNoDelay are the clients that cannot be given TCP_NODELAY, by the reason that is known.
func withoutNoDelay() map[string][]string {
	by := map[string][]string{}
	for _, a := range agent.All() {
		if why := a.Options().NoNoDelay; why != "" {
			by[why] = append(by[why], a.Name)
		}
	}
	return by
}

// wrapped breaks words into lines of 80 columns with an indent.
func wrapped(text, indent string) string {
	const width = 80
	var lines []string
	line := indent
	for word := range strings.FieldsSeq(text) {
		if len(line) > len(indent) && len(line)+1+len(word) > width {
			lines, line = append(lines, line), indent
		}
		if len(line) > len(indent) {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}
