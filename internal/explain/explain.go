// Package explain says in plain words what every word means that mqlab prints: JSON fields, columns, reasons, verdicts,
// metrics, phases, events, units, exit codes and the keys of scenarios.
//
// The words are in texts, one file for each group and one line for each word. keys.txt is made from the comments of package
// scenario. A test walks everything that is printed, so that no word is without a text, and no text without its word.
package explain

import (
	"embed"
	"slices"
	"strings"
	"sync"

	"github.com/mqlab/mqlab/internal/scenario"
)

// Entry is one word and its explanation.
type Entry struct {
	Word string
	Kind string // what sort of word it is, for example "reason"
	Text string // one paragraph
}

// Group is all words of one sort.
type Group struct {
	Title string
	Words []string
}

// source is a file of texts.
type source struct {
	file, kind, title string
	dotted            bool // its words are paths, of which the last parts suffice
	phrases           bool // one word of several parts to a line, which may hold commas
}

// sources are in the order in which a word that has several meanings is explained.
var sources = []source{
	{"columns", "text report", "Columns and words of the text report", false, false},
	{"verdicts", "verdict", "Verdicts and words of comparisons", false, false},
	{"metrics", "metric", "Times and metrics", false, false},
	{"reasons", "reason", "Reasons that make a trial invalid or worth a warning", false, false},
	{"bottlenecks", "bottleneck", "Bottlenecks", false, false},
	{"causes", "cause", "Causes of slow messages, in findings and of mqlab diagnose", false, false},
	{"sources", "evidence", "Evidence that a diagnosis needs", false, true},
	{"guarantees", "guarantee", "Guarantees", false, true},
	{"durabilities", "durability", "Durabilities", false, false},
	{"phases", "phase", "Phases of a trial", false, false},
	{"events", "event", "Events", false, false},
	{"quantiles", "JSON, of every distribution of times", "JSON fields of every distribution of times, such as latency.response", true, false},
	{"fields", "JSON", "JSON fields", true, false},
	{"keys", "scenario", "Keys of scenarios", true, false},
	{"diagnosis", "JSON of diagnose", "JSON fields of mqlab diagnose", true, false},
	{"clients_csv", "CSV of run clients", "Columns of CSV, and words of reports, of mqlab run clients", false, false},
	{"clients", "JSON of run clients", "JSON fields of mqlab run clients", true, false},
	{"idle", "JSON of run clients idle", "JSON fields of mqlab run clients idle, and of two of them compared", true, false},
	{"jitter", "JSON of run jitter", "JSON fields of mqlab run jitter", true, false},
	{"probe", "probe", "Questions of a probe, and words of its answers", false, false},
	{"checks", "check", "Rules of mqlab check", false, false},
	{"links", "link", "Backends of links, and the HTTP API of mqlab link up", false, true},
	{"units", "unit", "Units", false, false},
	{"exits", "exit code", "Exit codes", false, false},
}

//go:embed texts/*.txt
var files embed.FS

// read returns the entries of one file, each word of a line by itself.
func (s *source) read() (entries []Entry) {
	b, err := files.ReadFile("texts/" + s.file + ".txt")
	if err != nil {
		panic(err) // it is part of the program
	}
	for line := range strings.Lines(string(b)) {
		words, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if s.phrases {
			entries = append(entries, Entry{words, s.kind, text})
			continue
		}
		for word := range strings.SplitSeq(words, ", ") {
			entries = append(entries, Entry{word, s.kind, text})
		}
	}
	return entries
}

// Find explains a word: every meaning that it has. Words may be written with spaces, dots or underscores between their
// parts, and paths by their last parts: "lost", "counts.lost", "response p99".
func Find(word string) []Entry {
	d := load()
	found := make([]Entry, 0, 1)
	for _, i := range d.index[normal(word)] {
		found = append(found, d.entries[i])
	}
	return found
}

// Text explains a word by its first meaning; false if it is unknown.
func Text(word string) (string, bool) {
	found := Find(word)
	if len(found) == 0 {
		return "", false
	}
	return found[0].Text, true
}

// Groups lists all words.
func Groups() []Group {
	groups := make([]Group, len(sources))
	for i := range sources {
		groups[i].Title = sources[i].title
		for _, e := range sources[i].read() {
			groups[i].Words = append(groups[i].Words, e.Word)
		}
	}
	return groups
}

// Suggest names the word that was probably meant by an unknown one; false if there is none like it.
func Suggest(word string) (string, bool) {
	const longest = 100 // no word is as long
	if len(word) > longest {
		return "", false
	}
	suggestion := scenario.Suggest(normal(word), load().words)
	return suggestion, strings.HasPrefix(suggestion, "did you mean")
}

// dictionary finds entries by what users write.
type dictionary struct {
	entries []Entry
	index   map[string][]int // by normal form
	words   []string         // the normal forms, sorted
}

var load = sync.OnceValue(func() *dictionary {
	d := &dictionary{index: map[string][]int{}}
	byWord := map[string]string{} // of dotted words
	for i := range sources {
		for _, e := range sources[i].read() {
			forms := []string{e.Word}
			if sources[i].dotted {
				byWord[e.Word] = e.Text
				forms = endings(e.Word, 1)
			}
			d.add(e, forms)
		}
	}
	for _, f := range fields() {
		if _, written := byWord[f.path]; !written {
			if text := f.text(byWord); text != "" {
				d.add(Entry{f.path, "JSON", text}, f.forms())
			}
		}
	}
	for word := range d.index {
		d.words = append(d.words, word)
	}
	slices.Sort(d.words)
	return d
})

func (d *dictionary) add(e Entry, forms []string) {
	d.entries = append(d.entries, e)
	for _, form := range forms {
		for _, word := range []string{normal(form), withoutUnit(normal(form))} {
			if at := d.index[word]; !slices.Contains(at, len(d.entries)-1) {
				d.index[word] = append(at, len(d.entries)-1)
			}
		}
	}
}

// endings are the last parts of a path, at least so many of them: a.b.c, b.c, c.
func endings(path string, least int) (forms []string) {
	parts := strings.Split(path, ".")
	for i := range len(parts) - least + 1 {
		forms = append(forms, strings.Join(parts[i:], "."))
	}
	return forms
}

var separators = strings.NewReplacer(" %", "%", ".", "_", " ", "_", "-", "_")

func normal(word string) string {
	return separators.Replace(strings.ToLower(strings.Join(strings.Fields(word), " ")))
}

func withoutUnit(word string) string {
	for _, unit := range []string{"_ns", "_bytes", "_per_s"} {
		if short, ok := strings.CutSuffix(word, unit); ok && short != "" {
			return short
		}
	}
	return word
}
