package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode"

	"github.com/mqlab/mqlab/internal/chart"
)

//go:embed html/style.css
var htmlStyle string

//go:embed html/script.js
var htmlScript string

// Blocks that only the page has.
type (
	lead    paragraph // the verdict in one sentence
	figure  struct{ svg, caption string }
	figures []figure
	// folded is shown below a line of words when that is opened.
	folded struct {
		words  string
		open   bool
		blocks []block
	}
	// beside stands side by side where there is room.
	beside    []block
	explained struct{ *table } // a table whose rows begin with a word that can be explained
	source    string           // text as it is in a file
	// objections are reasons to doubt, each with its code as a word.
	objections []objection
	objection  struct{ level, code, trials, text string }
)

// htmlWriter lays a document out as HTML. Everything it is given is text, and is escaped, but for the drawings of package
// chart.
type htmlWriter struct {
	b       bytes.Buffer
	explain func(word string) string
}

func writeHTML(w io.Writer, d *document, explain func(string) string) error {
	h := htmlWriter{explain: explain}
	h.head(d.title)
	h.f(`<header><h1>%s</h1>`, d.title)
	sections := d.sections
	if len(sections) > 0 && sections[0].heading == "" {
		h.blocks(sections[0].blocks)
		sections = sections[1:]
	}
	h.b.WriteString(`<nav aria-label="sections">`)
	for _, s := range sections {
		h.f(`<a href="#%s">%s</a> `, anchor(s.heading), s.heading)
	}
	h.b.WriteString("</nav></header>\n<main>\n")
	for _, s := range sections {
		h.f("<section id=\"%s\"><h2>%s</h2>\n", anchor(s.heading), s.heading)
		h.blocks(s.blocks)
		h.b.WriteString("</section>\n")
	}
	h.b.WriteString("</main>\n<script>" + htmlScript + "</script>\n</body>\n</html>\n")
	_, err := w.Write(h.b.Bytes())
	return err
}

// head opens the page. Its policy lets it load nothing and run no script but ours.
func (h *htmlWriter) head(title string) {
	sum := sha256.Sum256([]byte(htmlScript))
	h.b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	h.f("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-%s'\">\n",
		base64.StdEncoding.EncodeToString(sum[:]))
	h.b.WriteString("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n")
	h.f("<title>%s</title>\n", title)
	h.b.WriteString("<style>\n" + chart.Style + htmlStyle + "</style>\n</head>\n<body>\n")
}

// f writes format with every argument escaped.
func (h *htmlWriter) f(format string, args ...string) {
	escaped := make([]any, len(args))
	for i, a := range args {
		escaped[i] = html.EscapeString(a)
	}
	fmt.Fprintf(&h.b, format, escaped...)
}

// anchor makes a name for a link out of a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return '-'
	}, heading)
}

var styleClass = [...]string{plain: "plain", strong: "strong", good: "good", caution: "caution", bad: "bad"}

func (h *htmlWriter) blocks(blocks []block) {
	for _, b := range blocks {
		h.block(b)
	}
}

func (h *htmlWriter) block(b block) {
	switch b := b.(type) {
	case lead:
		h.f("<p class=\"lead %s\">%s</p>\n", styleClass[b.style], b.text)
	case paragraph:
		h.f("<p class=\"%s\">%s</p>\n", styleClass[b.style], b.text)
	case list:
		h.b.WriteString("<ul>\n")
		for _, p := range b {
			h.f("<li class=\"%s\">%s</li>\n", styleClass[p.style], p.text)
		}
		h.b.WriteString("</ul>\n")
	case command:
		h.f("<pre class=\"command\"><code>%s</code></pre>\n", string(b))
	case source:
		h.f("<pre>%s</pre>\n", string(b))
	case *table:
		h.table(b, false)
	case explained:
		h.table(b.table, true)
	case figures:
		h.figures(b)
	case objections:
		h.objections(b)
	case beside:
		h.b.WriteString("<div class=\"beside\">\n")
		h.blocks(b)
		h.b.WriteString("</div>\n")
	case folded:
		open := ""
		if b.open {
			open = " open"
		}
		h.f("<details"+open+"><summary>%s</summary>\n", b.words)
		h.blocks(b.blocks)
		h.b.WriteString("</details>\n")
	}
}

func (h *htmlWriter) figures(all figures) {
	h.b.WriteString("<div class=\"figures\">\n")
	for _, x := range all {
		h.f("<figure><figcaption>%s</figcaption>", x.caption)
		if x.svg == "" {
			h.b.WriteString("<p class=\"empty\">nothing to draw: no figures are known</p>")
		}
		h.b.WriteString(x.svg)
		h.b.WriteString("</figure>\n")
	}
	h.b.WriteString("</div>\n")
}

func (h *htmlWriter) objections(all objections) {
	h.b.WriteString("<ul>\n")
	for _, o := range all {
		h.b.WriteString("<li><b" + alignment(false, troubleClass(o.level)) + ">")
		h.word(o.level)
		h.b.WriteString("</b> <b>")
		h.word(o.code)
		h.f("</b> (%s): %s</li>\n", o.trials, o.text)
	}
	h.b.WriteString("</ul>\n")
}

// table writes a table; words says that the first cells of rows can be explained.
func (h *htmlWriter) table(t *table, words bool) {
	h.b.WriteString("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\"><table>\n<thead><tr>")
	for i, c := range t.head {
		h.b.WriteString("<th scope=\"col\"" + alignment(i < t.left, "") + ">")
		h.word(c)
		h.b.WriteString("</th>")
	}
	h.b.WriteString("</tr></thead>\n<tbody>\n")
	for _, r := range t.rows {
		h.b.WriteString("<tr><th scope=\"row\">")
		if words {
			h.word(r[0])
		} else {
			h.f("%s", r[0])
		}
		h.b.WriteString("</th>")
		for i, c := range r[1:] {
			h.f("<td"+alignment(i+1 < t.left, troubleClass(c))+">%s</td>", c)
		}
		h.b.WriteString("</tr>\n")
	}
	h.b.WriteString("</tbody></table></div>\n")
}

func alignment(left bool, class string) string {
	if left {
		class = strings.TrimSpace("l " + class)
	}
	if class == "" {
		return ""
	}
	return ` class="` + class + `"`
}

// troubleClass lets the words stand out that tell of trouble.
func troubleClass(cell string) string {
	switch cell {
	case "invalid", "failed", "cut", lostWord:
		return styleClass[bad]
	case "warning":
		return styleClass[caution]
	}
	return ""
}

// word writes one of the lab's words. It is the one place where explanations come in.
func (h *htmlWriter) word(w string) {
	text := ""
	if h.explain != nil && w != "" {
		text = h.explain(w)
	}
	switch {
	case text != "":
		h.f("<abbr data-word=\"%s\" title=\"%s\">%s</abbr>", w, text, w)
	case w != "":
		h.f("<span data-word=\"%s\">%s</span>", w, w)
	}
}
