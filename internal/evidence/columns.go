package evidence

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/mqlab/mqlab/internal/diagnose"
)

// role is what a column holds.
type role int

const (
	unused role = iota
	seqno
	due
	send
	recv
	done
	latency
)

var roleNames = map[role]string{unused: "-", seqno: "seq", due: "due", send: "send", recv: "recv", done: "done", latency: "latency"}

// words are the names that columns have, without their units.
var words = map[string]role{
	"seq": seqno, "seqno": seqno, "sequence": seqno, "id": seqno, "n": seqno, "index": seqno, "message": seqno, "msg": seqno, "no": seqno,
	"due": due, "intended": due, "scheduled": due, "planned": due,
	"send": send, "sent": send, "tx": send, "publish": send, "published": send, "start": send, "t1": send, "call": send,
	"recv": recv, "received": recv, "receive": recv, "rx": recv, "arrival": recv, "arrived": recv, "end": recv, "t2": recv, "callback": recv,
	"done": done, "return": done, "exit": done, "processed": done,
	"latency": latency, "rtt": latency, "roundtrip": latency, "delay": latency, "lat": latency, "elapsed": latency, "duration": latency,
}

var unitScale = map[string]float64{"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9}

// columns is where each thing stands.
type columns struct {
	roles []role
	unit  string
	scale float64 // ns of the unit; 0 = not known yet
	own   bool    // cells have named their units themselves
}

func (c *columns) at(r role) bool { return c.index(r) >= 0 }

func (c *columns) index(r role) int {
	for i, x := range c.roles {
		if x == r {
			return i
		}
	}
	return -1
}

func (c *columns) timed() bool    { return c.at(recv) && (c.at(send) || c.at(due)) }
func (c *columns) complete() bool { return c.timed() || c.at(latency) }

func (c *columns) said() (list []string) {
	for _, r := range c.roles {
		list = append(list, roleNames[r])
	}
	return list
}

// headerColumns reads a header; it is one if no cell is a figure.
func headerColumns(cells []string) (c columns, header bool) {
	for _, cell := range cells {
		if _, _, err := figure(cell, 1); err == nil {
			return c, false
		}
		r, unit := unused, ""
		for _, w := range strings.FieldsFunc(strings.ToLower(cell), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if _, ok := unitScale[w]; ok {
				unit = w
			} else if found, ok := words[w]; ok && r == unused {
				r = found
			}
		}
		if r != unused && c.index(r) >= 0 {
			r = unused // the first of its name counts
		}
		c.roles = append(c.roles, r)
		if unit != "" && r != seqno && r != unused {
			c.unit = unit
		}
	}
	return c, true
}

// guessColumns settles columns without a header: a latency alone; send and receive; or these behind a number that counts up.
func guessColumns(rows []numbered) (c columns, err error) {
	width := len(rows[0].cells)
	ordered := func(a, b int) bool {
		n := 0
		for _, r := range rows {
			x, _, err1 := figureAt(r.cells, a)
			y, _, err2 := figureAt(r.cells, b)
			if err1 != nil || err2 != nil || y >= x {
				n++
			}
		}
		return 10*n >= 9*len(rows)
	}
	switch {
	case width == 1:
		c.roles = []role{latency}
	case width == 2 && counts(rows) && !ordered(0, 1):
		c.roles = []role{seqno, latency}
	case width == 2 && ordered(0, 1) && !counts(rows):
		c.roles = []role{send, recv}
	case width == 3 && counts(rows) && ordered(1, 2):
		c.roles = []role{seqno, send, recv}
	default:
		return c, fmt.Errorf("line %d: %d columns without a header, and what they are is not clear: add a line like seq,send_ns,recv_ns", rows[0].n, width)
	}
	return c, nil
}

// counts: the first column is whole numbers that go up by one, mostly.
func counts(rows []numbered) bool {
	n, last := 0, int64(math.MinInt64)
	for _, r := range rows {
		x, err := strconv.ParseInt(r.cells[0], 10, 64)
		if err == nil && (last == math.MinInt64 || x > last && x-last < 100) && x < 1e9 {
			n++
		}
		last = x
	}
	return 10*n >= 9*len(rows)
}

// unitOf tells the unit of a time since 1970 by its size: in seconds it has 10 digits from 2001 to 2286.
func (c *columns) unitOf(cells []string) string {
	for _, r := range []role{send, recv, due} {
		i := c.index(r)
		if i < 0 || i >= len(cells) {
			continue
		}
		x, err := strconv.ParseFloat(cells[i], 64)
		if err != nil {
			continue
		}
		for _, u := range []string{"s", "ms", "us", "ns"} {
			if s := x * unitScale[u] / 1e9; s >= 1e9 && s < 1e10 {
				return u
			}
		}
	}
	return ""
}

// sequence reads the number of a message, if there is a column of it.
func (c *columns) sequence(cells []string) (seq uint64, ok bool, err error) {
	i := c.index(seqno)
	if i < 0 {
		return 0, false, nil
	}
	if i >= len(cells) {
		return 0, false, fmt.Errorf("%d columns, want %d", len(cells), len(c.roles))
	}
	seq, err = strconv.ParseUint(cells[i], 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("%q is no message number", shorten(cells[i]))
	}
	return seq, true, nil
}

var errNoUnit = errors.New("the unit is not known")

// message reads the times of a row.
func (c *columns) message(cells []string) (m diagnose.Message, err error) {
	if len(cells) < len(c.roles) && !(len(cells) == len(c.roles)-1 && c.roles[len(c.roles)-1] == recv) {
		return m, fmt.Errorf("%d columns, want %d", len(cells), len(c.roles))
	}
	var times [latency + 1]int64
	var has [latency + 1]bool
	for i, r := range c.roles {
		if r == unused || r == seqno {
			continue
		}
		cell := ""
		if i < len(cells) {
			cell = cells[i]
		}
		if nothing(cell) {
			if r == recv || r == latency {
				m.Lost = true
			}
			continue
		}
		t, own, err := figure(cell, c.scale)
		if err != nil {
			return m, err
		}
		c.own = c.own || own
		if c.scale == 0 && !own {
			return m, errNoUnit
		}
		times[r], has[r] = t, true
	}
	if !c.timed() {
		m.Recv = times[latency]
		return m, nil
	}
	m.Due, m.Sent, m.Recv, m.Done = times[due], times[send], times[recv], times[done]
	if !has[send] {
		m.Sent = m.Due
	}
	if !has[send] && !has[due] {
		return m, errors.New("it was received, but there is no time of sending")
	}
	return m, nil
}

// nothing is a cell of a message that did not arrive.
func nothing(cell string) bool {
	switch strings.ToLower(cell) {
	case "", "-", "lost", "nan", "n/a", "na", "null", "none", "timeout":
		return true
	}
	return false
}

// figureAt is the figure of a column in a unit of 1 ns.
func figureAt(cells []string, i int) (int64, bool, error) {
	if i >= len(cells) {
		return 0, false, errors.New("no such column")
	}
	return figure(cells[i], 1)
}

// figure reads a time in ns, exactly to the last digit. own: it names its unit itself (1.5ms).
func figure(cell string, scale float64) (ns int64, own bool, err error) {
	number := strings.TrimRightFunc(cell, func(r rune) bool { return unicode.IsLetter(r) || r == ' ' })
	if unit := strings.TrimSpace(cell[len(number):]); unit != "" {
		s, ok := unitScale[unit]
		if !ok {
			return 0, false, fmt.Errorf("%q is no figure", shorten(cell))
		}
		scale, own = s, true
	}
	whole, fraction, _ := strings.Cut(number, ".")
	digits := int(math.Round(math.Log10(max(scale, 1)))) // of the fraction that are whole ns
	if x, e := strconv.ParseInt(whole+(fraction + "000000000")[:digits], 10, 64); e == nil && len(fraction) < 30 && allDigits(fraction) {
		return x, own, nil
	}
	x, e := strconv.ParseFloat(number, 64)
	if x *= max(scale, 1); e != nil || math.IsNaN(x) || math.Abs(x) > math.MaxInt64/2 {
		return 0, false, fmt.Errorf("%q is no figure", shorten(cell))
	}
	return int64(math.Round(x)), own, nil
}

func allDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

func shorten(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
