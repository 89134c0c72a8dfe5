package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is where something was written: a place in a file, or, with Line 0, a command-line flag.
type Pos struct {
	Source string // the file's name, or the flag with its value
	Line   int    // from 1
	Column int    // in characters, from 1
}

// String is file:line:column, or the flag.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.Source
	}
	return fmt.Sprintf("%s:%d:%d", p.Source, p.Line, p.Column)
}

// Problem is one thing wrong with a scenario.
type Problem struct {
	Pos  Pos
	Key  string // dotted; empty if the problem belongs to none
	Text string
}

// Error is one line: where, which key, what is wrong and what would be right. A flag names its key by itself.
func (p *Problem) Error() string {
	if p.Key == "" || p.Pos.Line == 0 {
		return p.Pos.String() + ": " + p.Text
	}
	return p.Pos.String() + ": " + p.Key + ": " + p.Text
}

// Errors are all the problems of a scenario.
type Errors []*Problem

// shown is how many problems Error lists: who has more of them has given another kind of file.
const shown = 24

// Error lists the first problems, one line each.
func (e Errors) Error() string {
	lines := make([]string, min(len(e), shown))
	for i := range lines {
		lines[i] = e[i].Error()
	}
	if more := len(e) - shown; more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more like these", more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems one by one.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, p := range e {
		errs[i] = p
	}
	return errs
}

// Add appends a problem, unless there is one already for the same key at the same place: the first names the cause.
func (e *Errors) Add(pos Pos, key, format string, args ...any) {
	same := func(p *Problem) bool { return p.Pos == pos && p.Key == key }
	if !slices.ContainsFunc(*e, same) {
		*e = append(*e, &Problem{Pos: pos, Key: key, Text: fmt.Sprintf(format, args...)})
	}
}

// within reports whether there is a problem with a key below key, of which one with key itself may be a consequence.
func (e Errors) within(key string) bool {
	return slices.ContainsFunc(e, func(p *Problem) bool { return strings.HasPrefix(p.Key, key+".") })
}

// has reports whether there is a problem with a key itself.
func (e Errors) has(key string) bool {
	return slices.ContainsFunc(e, func(p *Problem) bool { return p.Key == key })
}

// Err is nil if there is no problem, otherwise all of them, sorted: files by line and column, then flags as given.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	sorted := slices.Clone(e)
	slices.SortStableFunc(sorted, func(a, b *Problem) int {
		if (a.Pos.Line == 0) != (b.Pos.Line == 0) {
			return cmp.Compare(b.Pos.Line, a.Pos.Line)
		}
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return sorted
}
