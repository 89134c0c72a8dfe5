package plan_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/scenario"
	"github.com/mqlab/mqlab/scenarios"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the expected results anew")

// options are those of a machine on which every broker is installed.
func options() plan.Options {
	return plan.Options{
		Seed:      42,
		Installed: func(plan.Subject) bool { return true },
		ReadFile:  os.ReadFile,
	}
}

// golden compares got with a file, or writes the file.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// TestPlans resolves each testdata/*.yaml and compares the plan, in words and in JSON, with the files beside it.
func TestPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, err := plan.Resolve(scenario.Decode(filepath.Base(file), data), options())
			if err != nil {
				t.Fatal(err)
			}
			var words, js bytes.Buffer
			if err := plan.Print(&words, p, 80); err != nil {
				t.Fatal(err)
			}
			if err := plan.PrintJSON(&js, p); err != nil {
				t.Fatal(err)
			}
			base := strings.TrimSuffix(file, ".yaml")
			golden(t, base+".txt", words.Bytes())
			golden(t, base+".json", js.Bytes())
		})
	}
}

// TestBuiltIn shows the built-in scenarios in words.
func TestBuiltIn(t *testing.T) {
	for _, name := range scenarios.Names() {
		var words bytes.Buffer
		if err := plan.Print(&words, builtIn(t, name), 80); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(words.String(), "\n") {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("%s: wider than 80 columns: %q", name, line)
			}
		}
		golden(t, "testdata/builtin-"+name+".txt", words.Bytes())
	}
}

func builtIn(t *testing.T, name string) *plan.Plan {
	t.Helper()
	data, err := scenarios.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Resolve(scenario.Decode(name+".yaml", data), options())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestProblems decodes each scenario of testdata/problems.txtar and compares everything that is wrong with the expected
// lines behind it. A line "# --set key=value" in a scenario is such a flag.
func TestProblems(t *testing.T) {
	const file = "testdata/problems.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		in, want := archive.Files[i], &archive.Files[i+1]
		t.Run(in.Name, func(t *testing.T) {
			got := problems(in.Name, in.Data)
			if *update {
				want.Data = []byte(got)
				return
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if *update {
		golden(t, file, txtar.Format(archive))
	}
}

func problems(name string, data []byte) string {
	s := scenario.Decode(name, data)
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if set, ok := strings.CutPrefix(line, "# --set "); ok {
			s.Set(set)
		}
		if brokers, ok := strings.CutPrefix(line, "# --brokers "); ok {
			s.Compare(brokers)
		}
		if line == "# --quick" {
			s.Quick()
		}
	}
	_, err := plan.Resolve(s, options())
	var all scenario.Errors
	if !errors.As(err, &all) {
		return ""
	}
	var b strings.Builder
	for _, p := range all {
		b.WriteString(p.Error() + "\n")
	}
	return b.String()
}
