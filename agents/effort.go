package agents

import (
	"io/fs"
	"slices"
	"strings"
	"unicode"
)

// A comment "effort: NAME …" begins lines that a program needs to receive messages by the library of the agents named; "effort: end" ends
// them. Options, TLS and what mqlab alone needs are outside.
const (
	effortMark = "effort: "
	effortEnd  = "end"
)

// Lines counts what the agent with that name needs of its library to connect, subscribe and receive: the marked lines of its source that
// hold a letter or a digit and are no comment. 0 = none is marked.
func Lines(name string) int {
	n := 0
	_ = fs.WalkDir(Files, ".", func(path string, d fs.DirEntry, err error) error { // embedded files can be read
		if err != nil || d.IsDir() {
			return err
		}
		b, err := Files.ReadFile(path)
		n += marked(string(b), name)
		return err
	})
	return n
}

func marked(source, name string) (n int) {
	counting := false
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		comment := strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "#include") || strings.HasPrefix(line, "/*")
		if _, names, found := strings.Cut(line, effortMark); found && comment {
			counting = slices.Contains(strings.Fields(names), name) && !strings.HasPrefix(names, effortEnd)
			continue
		}
		if counting && !comment && strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}
