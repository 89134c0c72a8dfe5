package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Page is a report that a package fills with figures of its own kind. Text, markdown and HTML are layouts of the same strings; charts are
// in HTML only.
type Page struct{ d document }

// pageFormats are the names that Page.Write knows.
var pageFormats = []string{"text", "markdown", "html"}

// NewPage begins a report.
func NewPage(title string) *Page {
	p := &Page{d: document{title: title}}
	p.Section("")
	return p
}

// Section begins a section; what is added goes there. A section that stays empty is not shown.
func (p *Page) Section(heading string) { p.d.section(heading) }

// Lead is the answer in one sentence; doubtful says that it is hardly one.
func (p *Page) Lead(text string, doubtful bool) {
	st := strong
	if doubtful {
		st = caution
	}
	p.add(lead(paragraph{text, st}))
}

// Say adds a paragraph.
func (p *Page) Say(format string, args ...any) { p.d.last().say(plain, fmt.Sprintf(format, args...)) }

// Warn adds a paragraph that stands out.
func (p *Page) Warn(format string, args ...any) {
	p.d.last().say(caution, fmt.Sprintf(format, args...))
}

// Points adds a list.
func (p *Page) Points(texts ...string) {
	var l list
	for _, text := range texts {
		l = append(l, paragraph{text, plain})
	}
	if len(l) > 0 {
		p.add(l)
	}
}

// Command adds something to be typed.
func (p *Page) Command(text string) { p.add(command(text)) }

// Table adds a table with a row of headings. The first columns, left of them, hold words, the others figures. Columns in which nothing is
// known are left out.
func (p *Page) Table(left int, head []string, rows [][]string) {
	t := &table{head: slices.Clone(head), left: left}
	for _, r := range rows {
		t.row(slices.Clone(r)...)
	}
	if len(rows) > 0 {
		t.dropEmpty()
		p.add(t)
	}
}

// Charts adds drawings of package chart side by side, each below its caption.
func (p *Page) Charts(drawings ...Drawing) {
	var f figures
	for _, d := range drawings {
		if d.SVG != "" {
			f = append(f, figure{d.SVG, d.Caption})
		}
	}
	if len(f) > 0 {
		p.add(f)
	}
}

// Drawing is a chart with its caption.
type Drawing struct{ SVG, Caption string }

// Fold adds what fill adds, below a line of words that opens it; in text and markdown it is open.
func (p *Page) Fold(words string, open bool, fill func()) {
	s := p.d.last()
	before := s.blocks
	s.blocks = nil
	fill()
	s.blocks = append(before, folded{words: words, open: open, blocks: s.blocks})
}

// Beside puts what fill adds side by side where there is room; in text and markdown it is below each other.
func (p *Page) Beside(fill func()) {
	s := p.d.last()
	before := s.blocks
	s.blocks = nil
	fill()
	s.blocks = append(before, beside(s.blocks))
}

func (p *Page) add(b block) { p.d.last().add(b) }

// Write lays the report out. Color is of text; explain says what the word at the head of a column means, "" = nothing, nil = never.
func (p *Page) Write(w io.Writer, format string, color bool, explain func(word string) string) error {
	d := &document{title: p.d.title}
	for _, s := range p.d.sections {
		if blocks := s.blocks; len(blocks) > 0 {
			if format != "html" {
				blocks = flat(blocks)
			}
			d.sections = append(d.sections, &section{s.heading, blocks})
		}
	}
	switch format {
	case "text":
		return writeText(w, d, color)
	case "markdown":
		return writeMarkdown(w, d)
	case "html":
		return writeHTML(w, d, explain)
	}
	return fmt.Errorf("unknown report format %q: there are %s", format, strings.Join(pageFormats, ", "))
}

// flat opens what is folded, and leaves out what only HTML shows.
func flat(blocks []block) (out []block) {
	for _, b := range blocks {
		switch b := b.(type) {
		case folded:
			out = append(append(out, subheading(b.words)), flat(b.blocks)...)
		case beside:
			out = append(out, flat(b)...)
		case lead:
			out = append(out, paragraph(b))
		case figures:
		default:
			out = append(out, b)
		}
	}
	return out
}
