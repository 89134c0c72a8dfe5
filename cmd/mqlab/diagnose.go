package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mqlab/mqlab/internal/capture"
	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/evidence"
	"github.com/mqlab/mqlab/internal/findings"
	"github.com/mqlab/mqlab/internal/inspect"
	"github.com/mqlab/mqlab/internal/report"
)

// diagnoseFlags say how to read the input, and how to tell what was found.
type diagnoseFlags struct {
	unit, delimiter, tag, language string
	keepAlive, floor, period       time.Duration
	format                         string
	json                           bool
	pid, trial                     int
	port                           uint16
}

func newDiagnose() *cobra.Command {
	var f diagnoseFlags
	cmd := &cobra.Command{
		Use:   "diagnose {RUN | FILE | --pid N}",
		Short: "why is it slow? (a run, latencies, a capture, a running client)",
		Long: `Name the cause of slow and jittery messages, with evidence in figures and what
to change in which library. RUN is the folder of a run of any scenario: its
trials are judged by the times of their messages where those were kept
(mqlab run --samples), otherwise by the second. FILE is
  a table   one message a line: seq, send, recv (and due, done, if there are),
            or a latency alone; CSV with or without a header; - = standard input
  *.hlog    a histogram log (HdrHistogram, versions 1 to 3, with tags)
  a capture of packets (pcap, pcapng) with MQTT over TCP
With --pid a running client is looked at from outside, unmodified: its threads,
its sockets, its wait for a core. That needs the rights of its user, or root.
What the input cannot decide is told, with what would decide it.

Exit codes: 0 diagnosed (also: nothing to explain, or unexplained), 2 usage or
unreadable, 4 no diagnosis: too few messages, or clocks that disagree.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || (len(args) == 1) == (f.pid != 0) {
				return usageError("one input is needed, a run's folder, a file or --pid; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if len(args) == 1 && findings.IsFolder(args[0]) {
				return f.run(cmd.OutOrStdout(), args[0])
			}
			if f.trial != 0 {
				return usageError("--trial is of a run's folder")
			}
			if f.pid != 0 {
				return f.look(cmd.Context(), cmd.OutOrStdout())
			}
			in, notes, err := f.read(cmd.InOrStdin(), args[0])
			if err != nil {
				return usageError("%s: %w", args[0], err)
			}
			in.KeepAlive, in.Floor = cmp.Or(f.keepAlive, in.KeepAlive), f.floor
			return f.tell(cmd.OutOrStdout(), args[0], notes, diagnose.Diagnose(in))
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.pid, "pid", 0, "look at the running client with this process `ID`")
	flags.Uint16Var(&f.port, "port", 0, "of --pid: only its connections to this `PORT`")
	flags.DurationVar(&f.period, "for", 10*time.Second, "of --pid: how long to look")
	flags.StringVar(&f.unit, "unit", "", "of the table's figures: ns, us, ms or s, where its header does not say")
	flags.StringVar(&f.delimiter, "delimiter", "", "between the cells of the table, where it is not one of , ; | tab space")
	flags.StringVar(&f.tag, "tag", "", "of the histogram log's lines")
	flags.DurationVar(&f.keepAlive, "keepalive", 0, "of the client, to know its rhythm")
	flags.DurationVar(&f.floor, "floor", 0, "the least time that the path takes, such as its round-trip time")
	flags.StringVar(&f.language, "lang", "en", "one of "+strings.Join(diagnose.Languages, ", "))
	flags.IntVar(&f.trial, "trial", 0, "of a run: trial `N` only")
	flags.StringVar(&f.format, "format", "text", "text or json")
	flags.BoolVar(&f.json, "json", false, "the same as --format json")
	return cmd
}

func (f *diagnoseFlags) check() error {
	if f.json {
		f.format = "json"
	}
	switch {
	case f.format != "text" && f.format != "json":
		return usageError("unknown format %q: there are text, json", f.format)
	case f.trial < 0:
		return usageError("--trial is above 0")
	case !slices.Contains(diagnose.Languages, f.language):
		return usageError("unknown language %q: there are %s", f.language, strings.Join(diagnose.Languages, ", "))
	case len([]rune(f.delimiter)) > 1:
		return usageError("a delimiter is one character, not %q", f.delimiter)
	case f.pid < 0 || f.period <= 0:
		return usageError("--pid and --for are above 0")
	case f.keepAlive < 0 || f.floor < 0:
		return usageError("--keepalive and --floor are not negative")
	}
	return nil
}

// betweenLooks at a process.
const betweenLooks = 5 * time.Millisecond

// look diagnoses a running process.
func (f *diagnoseFlags) look(ctx context.Context, w io.Writer) error {
	r, err := inspect.Process(ctx, inspect.Options{PID: f.pid, Port: f.port, For: f.period, Every: betweenLooks})
	if err != nil {
		return fmt.Errorf("process %d: %w", f.pid, err)
	}
	return f.tell(w, "process", r.Notes(f.language), diagnose.DiagnoseProcess(r.Process()))
}

// read opens the input, of whatever kind it is. notes are what to say about its reading.
func (f *diagnoseFlags) read(stdin io.Reader, name string) (in *diagnose.Input, notes []string, err error) {
	file := io.NopCloser(stdin)
	if name != "-" {
		if file, err = os.Open(name); err != nil {
			return nil, nil, plainly(err)
		}
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	buffered := bufio.NewReader(file)
	switch {
	case isCapture(buffered):
		c, err := capture.Read(buffered)
		if err != nil {
			return nil, nil, err
		}
		in, series := c.Input()
		return in, append(c.Notes(f.language), f.seriesNote(in, series)), nil
	case strings.HasSuffix(name, ".hlog"):
		l, err := evidence.ReadLog(buffered, f.tag, 1)
		if err != nil {
			return nil, nil, err
		}
		return &l.Input, []string{f.note("log", l.Intervals)}, nil
	}
	options := evidence.Options{Unit: f.unit}
	for _, d := range f.delimiter {
		options.Delimiter = d
	}
	t, err := evidence.ReadCSV(buffered, options)
	if err != nil {
		return nil, nil, plainly(err)
	}
	return &t.Input, f.tableNotes(t), nil
}

// isCapture: a file that begins as pcap or pcapng do, in either byte order.
func isCapture(r *bufio.Reader) bool {
	begin, err := r.Peek(4)
	return err == nil && slices.Contains([]uint32{0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1, 0x0a0d0d0a}, binary.LittleEndian.Uint32(begin))
}

// note is a remark in the language asked for.
func (f *diagnoseFlags) note(key string, args ...any) string {
	return diagnose.Note(f.language, key, args...)
}

// seriesNote says which times of the capture are diagnosed.
func (f *diagnoseFlags) seriesNote(in *diagnose.Input, s capture.Series) string {
	key := map[capture.Series]string{capture.Acks: "acks", capture.Transit: "transit", capture.Pings: "pings"}[s]
	if key == "" {
		return f.note("no_series")
	}
	return f.note(key, len(in.Messages))
}

func (f *diagnoseFlags) tableNotes(t *evidence.Table) (notes []string) {
	notes = append(notes, f.note("table", t.Lines, strings.Join(t.Columns, ", "), cmp.Or(t.Unit, f.note("as_written"))))
	if t.BadTotal > 0 {
		notes = append(notes, f.note("bad", t.BadTotal))
		for _, b := range t.Bad {
			notes = append(notes, f.note("bad_line", b.Line, b.Why))
		}
		if more := t.BadTotal - len(t.Bad); more > 0 {
			notes = append(notes, f.note("more", more))
		}
	}
	if t.Duplicate > 0 {
		notes = append(notes, f.note("duplicate", t.Duplicate))
	}
	return notes
}

// tell prints a diagnosis. That there is none is an error.
func (f *diagnoseFlags) tell(w io.Writer, name string, notes []string, r *diagnose.Result) (err error) {
	if f.format == "json" {
		err = report.WriteJSON(w, r.In(f.language))
	} else {
		width := terminalWidth(w)
		for _, n := range notes {
			printWrapped(w, n[:len(n)-len(strings.TrimLeft(n, " "))], n, width)
		}
		r.Print(w, f.language, func(head, text string) { printWrapped(w, head, text, width) })
	}
	if v := r.Findings[len(r.Findings)-1].Cause; err == nil && v == diagnose.TooFew {
		err = exitError{exitInvalid, fmt.Errorf("%s: no diagnosis: %s", name, r.Findings[0].In("en").Evidence[0])}
	}
	return err
}
