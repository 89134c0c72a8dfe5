package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// defaultWidth is the width of output that goes to no terminal.
const defaultWidth = 80

// output is the standard output of a verb: it keeps the first error of writing, so that no verb can end well whose output
// was lost.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil && err != nil {
		o.err = fmt.Errorf("standard output: %w", plainly(err))
	}
	return n, err
}

// fileOf returns the file that w writes to, if it is one.
func fileOf(w io.Writer) (*os.File, bool) {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	return f, ok
}

// terminalWidth returns how many columns w shows.
func terminalWidth(w io.Writer) int {
	if f, ok := fileOf(w); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return defaultWidth
}

// isTerminal tells whether w is one.
func isTerminal(w io.Writer) bool {
	f, ok := fileOf(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

// rewrites tells whether w can show a line in place of the last one.
func rewrites(w io.Writer) bool { return isTerminal(w) && os.Getenv("TERM") != "dumb" }

// colours tells whether w shows colours, and the user wants them (https://no-color.org).
func colours(w io.Writer) bool {
	return rewrites(w) && os.Getenv("NO_COLOR") == ""
}
