package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// writeMarkdown lays a document out as GitHub-flavoured markdown.
func writeMarkdown(w io.Writer, d *document) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s\n", escape(d.title))
	for _, s := range d.sections {
		if s.heading != "" {
			fmt.Fprintf(b, "\n## %s\n", escape(s.heading))
		}
		for _, block := range s.blocks {
			b.WriteByte('\n')
			markdownBlock(b, block)
		}
	}
	return b.Flush()
}

func markdownBlock(b *bufio.Writer, block block) {
	switch block := block.(type) {
	case paragraph:
		fmt.Fprintln(b, emphasized(block))
	case list:
		for _, p := range block {
			fmt.Fprintf(b, "- %s\n", emphasized(p))
		}
	case subheading:
		fmt.Fprintf(b, "### %s\n", escape(string(block)))
	case command:
		fmt.Fprintf(b, "```\n%s\n```\n", string(block))
	case *table:
		markdownRow(b, block.head)
		rule := make([]string, len(block.head))
		for i := range rule {
			rule[i] = "---:"
			if i < block.left {
				rule[i] = ":---"
			}
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(rule, " | "))
		for _, r := range block.rows {
			markdownRow(b, r)
		}
	}
}

func markdownRow(b *bufio.Writer, cells []string) {
	b.WriteByte('|')
	for _, c := range cells {
		fmt.Fprintf(b, " %s |", escape(c))
	}
	b.WriteByte('\n')
}

func emphasized(p paragraph) string {
	if p.style == plain || p.text == "" {
		return escape(p.text)
	}
	return "**" + escape(p.text) + "**"
}

// escape makes s stand for itself in markdown, also within a table.
var escape = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "|", `\|`, "<", "&lt;", "[", `\[`, "]", `\]`, "#", `\#`, "\n", " ",
).Replace
