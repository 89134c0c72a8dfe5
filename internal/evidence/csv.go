// Package evidence reads what a diagnosis is made from: tables of latencies, histogram logs, runs.
package evidence

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/diagnose"
)

// Options are what the user says about a table; the zero value asks for everything to be found out.
type Options struct {
	Unit      string // ns, us, ms, s
	Delimiter rune
}

// BadLine is a line that could not be read.
type BadLine struct {
	Line int    // from 1
	Why  string // with what stands there
}

// Table is a table of latencies that was read.
type Table struct {
	Input     diagnose.Input
	Unit      string
	Columns   []string // what each column was taken for; - = not used
	Lines     int      // with figures, bad ones included
	Bad       []BadLine
	BadTotal  int // Bad are the first of them
	Duplicate int // sequence numbers that came again; they are left out
}

const (
	maxBad  = 20      // that are kept
	maxLine = 1 << 20 // bytes
	maxRows = 5_000_000
)

// Errors of tables.
var (
	ErrNoFigures = errors.New("there is no line with figures in it")
	ErrUnit      = errors.New("the unit of its figures is not known: name it in the header (latency_ms) or give --unit ns, us, ms or s")
)

// ReadCSV reads one message a line: seq, send, recv in any order and with more columns beside, or a latency alone. Header, unit and
// delimiter are found out; a unit is never guessed from the size of a latency.
func ReadCSV(r io.Reader, o Options) (*Table, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	p := parser{o: o, seen: map[uint64]struct{}{}}
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(string(bytes.TrimPrefix(lines.Bytes(), []byte("\xef\xbb\xbf"))))
		if line == "" || line[0] == '#' {
			continue
		}
		if !utf8Text(line) {
			return nil, fmt.Errorf("line %d: this is no text", n)
		}
		if p.table.Lines >= maxRows {
			return nil, fmt.Errorf("more than %d lines: cut it", maxRows)
		}
		if err := p.line(n, line); err != nil {
			return nil, err
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("a line is longer than %d bytes", maxLine)
	case err != nil:
		return nil, err
	}
	return p.finish()
}

func utf8Text(s string) bool { return !strings.ContainsRune(s, 0) }

// parser reads a table line by line. The first lines wait in head until the columns are known.
type parser struct {
	o       Options
	table   Table
	columns columns
	known   bool
	head    []numbered
	seen    map[uint64]struct{}
	low     uint64
	high    uint64
	numbers int
}

type numbered struct {
	n     int
	cells []string
}

// lookAhead is how many lines without a header are looked at before their columns are settled.
const lookAhead = 20

func (p *parser) line(n int, line string) error {
	if p.o.Delimiter == 0 {
		p.o.Delimiter = delimiterOf(line)
	}
	cells := split(line, p.o.Delimiter)
	if !p.known && len(p.head) == 0 {
		if c, header := headerColumns(cells); header {
			if !c.complete() {
				return fmt.Errorf("line %d: no column of the header is known; there should be latency, or send and recv", n)
			}
			p.columns, p.known = c, true
			return p.settle()
		}
	}
	if !p.known {
		p.head = append(p.head, numbered{n, cells})
		if len(p.head) < lookAhead {
			return nil
		}
		return p.decide()
	}
	p.row(n, cells)
	return nil
}

// decide settles the columns of a table without a header, and reads what has waited for that.
func (p *parser) decide() (err error) {
	if p.known {
		return nil
	}
	p.columns, err = guessColumns(p.head)
	if err != nil {
		return err
	}
	p.known = true
	if err := p.settle(); err != nil {
		return err
	}
	for _, l := range p.head {
		p.row(l.n, l.cells)
	}
	p.head = nil
	return nil
}

// settle finds the unit.
func (p *parser) settle() error {
	unit := p.o.Unit
	if unit == "" {
		unit = p.columns.unit
	}
	if unit == "" && len(p.head) > 0 {
		unit = p.columns.unitOf(p.head[0].cells)
	}
	if unit != "" {
		scale, ok := unitScale[unit]
		if !ok {
			return fmt.Errorf("there is no unit %q; there are ns, us, ms, s", unit)
		}
		p.columns.unit, p.columns.scale = unit, scale
	}
	return nil
}

// row reads one message.
func (p *parser) row(n int, cells []string) {
	p.table.Lines++
	c := &p.columns
	if c.scale == 0 { // a header without a unit: a time since 1970 tells it by its size
		if unit := c.unitOf(cells); unit != "" {
			c.unit, c.scale = unit, unitScale[unit]
		}
	}
	seq, numberedRow, err := c.sequence(cells)
	var m diagnose.Message
	if err == nil {
		m, err = c.message(cells)
	}
	switch {
	case err != nil:
		if numberedRow { // it is not lost, only not readable
			p.again(seq)
		}
		p.bad(n, err)
		return
	case numberedRow && p.again(seq):
		p.table.Duplicate++
		return
	case !m.Lost && m.Recv < m.Sent:
		p.table.Input.Negative++
		return
	}
	p.table.Input.Messages = append(p.table.Input.Messages, m)
}

// again books a sequence number, and tells whether it was there before.
func (p *parser) again(seq uint64) bool {
	if _, again := p.seen[seq]; again {
		return true
	}
	p.seen[seq] = struct{}{}
	if p.numbers == 0 || seq < p.low {
		p.low = seq
	}
	p.high = max(p.high, seq)
	p.numbers++
	return false
}

func (p *parser) bad(n int, why error) {
	p.table.BadTotal++
	if len(p.table.Bad) < maxBad {
		p.table.Bad = append(p.table.Bad, BadLine{n, why.Error()})
	}
}

func (p *parser) finish() (*Table, error) {
	if !p.known && len(p.head) > 0 {
		if err := p.decide(); err != nil {
			return nil, err
		}
	}
	t := &p.table
	t.Unit, t.Columns = p.columns.unit, p.columns.said()
	switch {
	case t.Lines == 0:
		return nil, ErrNoFigures
	case p.columns.scale == 0 && !p.columns.own:
		return nil, ErrUnit
	case 2*t.BadTotal > t.Lines:
		b := t.Bad[0]
		return nil, fmt.Errorf("%d of %d lines cannot be read, the first is line %d: %s", t.BadTotal, t.Lines, b.Line, b.Why)
	}
	if p.numbers > 0 {
		missing := p.high - p.low - uint64(p.numbers-1)
		if missing > math.MaxInt {
			return nil, fmt.Errorf("the message numbers from %d to %d leave out more than can be counted", p.low, p.high)
		}
		t.Input.Lost = int(missing)
	}
	if p.columns.timed() {
		t.Input.Sources = append(t.Input.Sources, diagnose.Times)
		if p.columns.at(due) {
			t.Input.Sources = append(t.Input.Sources, diagnose.Schedule)
		}
		if p.columns.at(done) {
			t.Input.Sources = append(t.Input.Sources, diagnose.Callbacks)
		}
	}
	return t, nil
}

// delimiterOf is the first of these that a line has; a table of one column has none.
func delimiterOf(line string) rune {
	for _, d := range []rune{'\t', ';', '|', ','} {
		if strings.ContainsRune(line, d) {
			return d
		}
	}
	if len(strings.Fields(line)) > 1 {
		return ' '
	}
	return ','
}

func split(line string, delimiter rune) []string {
	if delimiter == ' ' {
		return strings.Fields(line)
	}
	cells := strings.Split(line, string(delimiter))
	for i := range cells {
		cells[i] = strings.Trim(strings.TrimSpace(cells[i]), `"'`)
	}
	if n := len(cells); n > 1 && cells[n-1] == "" { // a delimiter at the end of the line
		return slices.Clip(cells[:n-1])
	}
	return cells
}
