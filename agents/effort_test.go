package agents_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/agents"
	"github.com/mqlab/mqlab/internal/agent"
)

var (
	region = regexp.MustCompile(`(?s)effort: ([a-z0-9 -]+?)(?: \*/)?\n(.*?)\n[^\n]*effort: end`)
	remark = regexp.MustCompile(`(?m)^\s*(//|#\s|/\*).*$`)
	filled = regexp.MustCompile(`(?m)^.*\w.*$`)
)

// TestLines counts again, in another way: the text of the marked regions, without its comments. Every library has some, no floor has.
func TestLines(t *testing.T) {
	recounted := map[string]int{}
	err := fs.WalkDir(agents.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := agents.Files.ReadFile(path)
		begun := strings.Count(string(b), "effort: ") - strings.Count(string(b), "effort: end")
		regions := region.FindAllStringSubmatch(string(b), -1)
		if begun != len(regions) || begun != strings.Count(string(b), "effort: end") {
			t.Errorf("%s: %d regions begin, %d are whole", path, begun, len(regions))
		}
		for _, r := range regions {
			for name := range strings.FieldsSeq(r[1]) {
				if _, known := agent.Named(name); !known {
					t.Errorf("%s marks lines of %q", path, name)
				}
				recounted[name] += len(filled.FindAllString(remark.ReplaceAllString(r[2], ""), -1))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range agent.All() {
		n := agents.Lines(a.Name)
		if n != recounted[a.Name] || a.Floor != (n == 0) {
			t.Errorf("%s: %d lines, recounted %d", a.Name, n, recounted[a.Name])
		}
	}
}
