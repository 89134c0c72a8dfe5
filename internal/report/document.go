package report

import (
	"slices"
	"unicode/utf8"
)

// document is a report before it is laid out: text and markdown are two layouts of the same strings.
type document struct {
	title    string
	sections []*section
}

// section is a heading with blocks below it. Without a heading its blocks follow those before.
type section struct {
	heading string
	blocks  []block
}

// block is one of: paragraph, list, table, command.
type block any

// paragraph is text of one style.
type paragraph struct {
	text  string
	style style
}

// list is a number of points.
type list []paragraph

// subheading stands above the blocks that follow, within a section.
type subheading string

// command is something to be typed.
type command string

// table has a heading and rows of the same length. The first columns are aligned to the left, the others to the right.
type table struct {
	head []string
	rows [][]string
	left int // columns aligned to the left
}

// style says what a text is, for those who see colours.
type style uint8

const (
	plain style = iota
	strong
	good
	caution
	bad
)

func (d *document) section(heading string) *section {
	s := &section{heading: heading}
	d.sections = append(d.sections, s)
	return s
}

// last is the section that was begun last.
func (d *document) last() *section { return d.sections[len(d.sections)-1] }

func (sec *section) add(b block) { sec.blocks = append(sec.blocks, b) }

func (sec *section) say(st style, text string) { sec.add(paragraph{text, st}) }

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// dropEmpty removes columns, the first excepted, in which no row has a figure.
func (t *table) dropEmpty() {
	for c := len(t.head) - 1; c > 0; c-- {
		empty := func(r []string) bool { return r[c] == unknown || r[c] == "" }
		if !slices.ContainsFunc(t.rows, func(r []string) bool { return !empty(r) }) {
			t.drop(c)
		}
	}
}

// dropTwin removes a column that equals another one in every row.
func (t *table) dropTwin(column, other string) {
	c, o := slices.Index(t.head, column), slices.Index(t.head, other)
	if c >= 0 && o >= 0 && !slices.ContainsFunc(t.rows, func(r []string) bool { return r[c] != r[o] }) {
		t.drop(c)
	}
}

func (t *table) drop(c int) {
	t.head = slices.Delete(t.head, c, c+1)
	for i, r := range t.rows {
		t.rows[i] = slices.Delete(r, c, c+1)
	}
	if c < t.left {
		t.left--
	}
}

// widths returns the width of each column in runes.
func (t *table) widths() []int {
	w := make([]int, len(t.head))
	for _, r := range append([][]string{t.head}, t.rows...) {
		for c, cell := range r {
			w[c] = max(w[c], utf8.RuneCountInString(cell))
		}
	}
	return w
}
