package report

import (
	"bufio"
	"io"
	"iter"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	textWidth = 80
	indent    = "  "
	gap       = 2 // spaces between columns
)

// textWriter lays a document out for a terminal: at most textWidth columns wherever words can be broken.
type textWriter struct {
	w     *bufio.Writer
	color bool
}

func writeText(w io.Writer, d *document, color bool) error {
	t := textWriter{bufio.NewWriter(w), color}
	t.wrap("", "", paragraph{d.title, strong})
	for _, s := range d.sections {
		if s.heading != "" {
			t.line("")
			t.wrap("", "", paragraph{s.heading, strong})
		}
		var before block
		for _, b := range s.blocks {
			t.between(before, b)
			t.block(b)
			before = b
		}
	}
	return t.w.Flush()
}

// between separates blocks: paragraphs follow each other, everything else gets room; a heading comes right before its
// first block.
func (t *textWriter) between(before, b block) {
	_, follows := before.(paragraph)
	_, same := b.(paragraph)
	if before != nil && (!follows || !same) {
		t.line("")
	}
}

func (t *textWriter) block(b block) {
	switch b := b.(type) {
	case paragraph:
		t.wrap(indent, indent, b)
	case list:
		for _, p := range b {
			t.wrap(indent+"- ", indent+"  ", p)
		}
	case subheading:
		t.wrap(indent, indent, paragraph{string(b), strong})
	case command:
		t.line(indent + string(b))
	case *table:
		t.table(b)
	}
}

// wrap writes words on as many lines as they need.
func (t *textWriter) wrap(first, rest string, p paragraph) {
	line, prefix := "", first
	for word := range phrases(p.text) {
		if line != "" && utf8.RuneCountInString(prefix+line)+1+utf8.RuneCountInString(word) > textWidth {
			t.line(prefix + t.paint(p.style, line))
			line, prefix = "", rest
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	t.line(prefix + t.paint(p.style, line))
}

// phrases are the words of text, a figure and its unit as one.
func phrases(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		phrase := ""
		for word := range strings.FieldsSeq(text) {
			if phrase != "" && phrase[len(phrase)-1] >= '0' && phrase[len(phrase)-1] <= '9' && unit.MatchString(word) {
				phrase += " " + word
				continue
			}
			if phrase != "" && !yield(phrase) {
				return
			}
			phrase = word
		}
		if phrase != "" {
			yield(phrase)
		}
	}
}

// unit of a figure, with what may follow it in a sentence.
var unit = regexp.MustCompile(`^(%|ns|µs|ms|s|min|h|B|KiB|MiB|GiB)[.,;:)]*$`)

// table writes aligned columns. Where they do not fit, the first column gets a line of its own above the others.
func (t *textWriter) table(b *table) {
	w := b.widths()
	total := len(indent)
	for i, n := range w {
		total += n
		if i > 0 {
			total += gap
		}
	}
	split := total > textWidth
	for i, r := range append([][]string{b.head}, b.rows...) {
		st := plain
		if i == 0 {
			st = strong
		}
		if !split {
			t.line(indent + t.paint(st, columns(r, w, b.left)))
			continue
		}
		if r[0] != "" {
			t.line(indent + t.paint(st, r[0]))
		}
		t.line(indent + indent + t.paint(st, columns(r[1:], w[1:], b.left-1)))
	}
}

// columns pads the cells of one row.
func columns(cells []string, widths []int, left int) string {
	var b strings.Builder
	for i, c := range cells {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		if i > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		if i < left {
			b.WriteString(c + pad)
		} else {
			b.WriteString(pad + c)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

func (t *textWriter) line(s string) {
	_, _ = t.w.WriteString(s + "\n") // bufio keeps the error for Flush
}

// paint colours s for a terminal that asked for it.
func (t *textWriter) paint(st style, s string) string {
	codes := [...]string{strong: "1", good: "32", caution: "33", bad: "31"}
	if !t.color || st == plain || s == "" {
		return s
	}
	return "\x1b[" + codes[st] + "m" + s + "\x1b[0m"
}
