package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/broker/brokertest"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/scenario"
)

// root is the project's folder, seen from here.
const root = "../.."

// longest is how many lines a document may have.
var longest = map[string]int{
	"README.md":          200,
	"README.zh.md":       200,
	"ARCHITECTURE.md":    150,
	"CONTRIBUTING.md":    60,
	"examples/README.md": 60,
}

// how is how the tests run a command of a document.
type how struct {
	flags   string // put behind it, to make it short
	instead string // run in its place
	needs   string // the broker that must be installed
	also    []int  // exit codes besides 0 that the measured values may give
}

// brief makes a run short.
const brief = "--duration 300ms --repeat 1 --set phases.settle=0s --set phases.warmup=0s"

// repeated makes a run short that must have a percentile and an interval.
const repeated = "--duration 500ms --set load.rate=2400/s --set phases.settle=0s --set phases.warmup=100ms"

// commandsOf has every command of every document. README.zh.md has those of README.md.
var commandsOf = map[string]map[string]how{
	"README.md": {
		"make demo":                           {instead: "make -n demo && bin/mqlab run --brokers mochi,nats " + brief},
		"make test":                           {instead: "make -n test"},
		"bin/mqlab report":                    {},
		"bin/mqlab selftest":                  {flags: "--slack 2s"},
		"bin/mqlab list":                      {},
		"bin/mqlab doctor":                    {},
		"source <(bin/mqlab completion bash)": {instead: "bin/mqlab completion bash"},
		"bin/mqlab probe mosquitto":           {flags: "--ask 'QoS 1'", needs: "mosquitto"},
		"bin/mqlab run stall":                 {flags: brief + " --set 'faults=[{at: 100ms, pause: 100ms}]'", needs: "mosquitto"},

		"bin/mqlab report --format html > r.html":           {},
		"bin/mqlab report --format json":                    {},
		"bin/mqlab explain p99":                             {},
		"bin/mqlab plan latency":                            {},
		"bin/mqlab run --brokers mosquitto,mosquitto:tuned": {flags: brief, needs: "mosquitto"},
		"bin/mqlab run --set load.rate=5000/s --set load.qos=1 --brokers mochi,mosquitto": {flags: brief, needs: "mosquitto"},

		"bin/mqlab run quick --limit 'p99 < 50ms' --limit 'lost = 0' --junit result.xml": {
			flags: "--brokers mochi " + repeated, also: []int{exitLimit},
		},
		"bin/mqlab run --brokers mosquitto,nats/mqtt311,rabbitmq/mqtt311 --machine 1cpu-2gb --set load.publishers=500 --set load.rate='1/s each' --set load.qos=1": {
			instead: "bin/mqlab plan --brokers mosquitto,nats/mqtt311,rabbitmq/mqtt311 --machine 1cpu-2gb --set load.publishers=500 --set load.rate='1/s each' --set load.qos=1",
		},
		"bin/mqlab diagnose --pid PID":                    {instead: "bin/mqlab diagnose --pid $$ --for 100ms", also: []int{exitFailed, exitInvalid}},
		"bin/mqlab diagnose log.csv":                      {instead: "bin/mqlab diagnose examples/latencies.csv"},
		"bin/mqlab run weak-network --quick --link lte-m": {instead: "bin/mqlab plan weak-network --quick --link lte-m --brokers mochi"},
		"bin/mqlab run outage --quick":                    {instead: "bin/mqlab plan outage --quick --brokers mochi"},
		"bin/mqlab link list":                             {},
		"bin/mqlab run capacity --brokers mqtt://HOST:1883": {
			instead: "bin/mqlab plan capacity --brokers mqtt://127.0.0.1:1883",
		},
		"bin/mqlab run --link lpwan --set load.rate=40/s": {instead: "bin/mqlab plan --link lpwan --set load.rate=40/s --brokers mochi"}, // run by scripts
		"bin/mqlab run weak-network":                      {instead: "bin/mqlab plan weak-network --brokers mosquitto", needs: "mosquitto"},
		"bin/mqlab run capacity":                          {instead: "bin/mqlab plan capacity --brokers mochi"},
		"bin/mqlab run clients":                           {flags: "--clients go-paho3 --payload 256B --rounds 2"},
		"bin/mqlab run jitter --quick":                    {instead: "bin/mqlab run jitter --client go-paho3 --count 60 --interval 5ms", also: []int{exitInvalid}},
		"bin/mqlab diagnose examples/latencies.csv":       {},
		"bin/mqlab check examples/published.csv":          {also: []int{exitInvalid}},

		"bin/mqlab run --out before": {flags: "--brokers mochi " + repeated},
		"bin/mqlab run --out after --baseline before/* --limit 'p99 not worse than baseline'": {
			flags: "--brokers mochi " + repeated, also: []int{exitLimit},
		},
		"bin/mqlab compare before/* after/*": {also: []int{exitInvalid}},
	},
	"CONTRIBUTING.md": {
		"make build":  {instead: "make -n build"},
		"make test":   {instead: "make -n test"},
		"make lint":   {instead: "make -n lint"},
		"make race":   {instead: "make -n race"},
		"make fuzz":   {instead: "make -n fuzz"},
		"make bench":  {instead: "make -n bench"},
		"make causes": {instead: "make -n causes"},
	},
	"examples/README.md": {
		"make build":                                                       {instead: "make -n build"},
		"bin/mqlab plan examples/fan-in.yaml":                              {},
		"bin/mqlab run examples/own-broker.yaml":                           {instead: "bin/mqlab plan examples/own-broker.yaml"}, // run by own-broker.txtar
		"bin/mqlab explain load.topic":                                     {},
		"bin/mqlab run examples/gate.yaml --junit result.xml --out before": {flags: repeated, also: []int{exitLimit}},
		"bin/mqlab run examples/gate.yaml --baseline before/* --limit 'p99 not worse than baseline'": {
			flags: repeated, also: []int{exitLimit},
		},
		"bin/mqlab run examples/fan-in.yaml --brokers mochi,mosquitto": {
			flags: brief + " --duration 1s --set load.pacing=constant", needs: "mosquitto",
		},
		"bin/mqlab run examples/topics.yaml --set load.topic='home/{publisher}/meter' --set load.qos=0": {flags: brief},
		"bin/mqlab run examples/payload.yaml --set load.payload.form=binary":                            {flags: brief},
	},
}

// TestDocumentsCommands runs every command that a document shows, in its order, each document in a folder of its own.
func TestDocumentsCommands(t *testing.T) {
	for name, table := range commandsOf {
		t.Run(name, func(t *testing.T) {
			shown := commandsIn(document(t, name))
			for command := range table {
				if !slices.Contains(shown, command) {
					t.Errorf("%s does not show: %s", name, command)
				}
			}
			for _, command := range shown {
				if _, ok := table[command]; !ok {
					t.Errorf("nothing says how to test a command of %s: %s", name, command)
				}
			}
			if testing.Short() || t.Failed() {
				return
			}
			t.Parallel()
			dir := checkout(t)
			for _, command := range shown {
				t.Run(command, func(t *testing.T) { table[command].run(t, dir, command) })
			}
		})
	}
}

// checkout makes a folder in which a reader might type: the project as the documents name it, with the program built.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program, err := exec.LookPath("mqlab")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(root, "examples"))),
		os.WriteFile(filepath.Join(dir, "Makefile"), makefile, 0o600),
		os.Mkdir(filepath.Join(dir, "bin"), 0o700),
		os.Symlink(program, filepath.Join(dir, "bin", "mqlab")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run runs a command in a shell. On a machine that is too busy to measure on, a run may end as not valid.
func (h how) run(t *testing.T, dir, command string) {
	if h.needs != "" {
		brokertest.Need(t, plan.Subject{Broker: h.needs, Runtime: broker.Process})
	}
	switch {
	case h.instead != "":
		command = h.instead
	case h.flags != "":
		command += " " + h.flags
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case !errors.As(err, &exit):
		t.Fatal(err)
	case exit.ExitCode() == exitInvalid && tooBusy.Match(out), slices.Contains(h.also, exit.ExitCode()):
		t.Logf("%s: exit code %d", command, exit.ExitCode())
	default:
		t.Errorf("%s: %v\n%s", command, err, out)
	}
}

// TestDocumentsScenarios plans every scenario that a document shows.
func TestDocumentsScenarios(t *testing.T) {
	for name := range longest {
		for _, b := range blocksIn(document(t, name)) {
			if b.kind != "yaml" {
				continue
			}
			s := scenario.Decode(name, []byte(b.text))
			if _, err := plan.Resolve(s, plan.Options{ReadFile: os.ReadFile}); err != nil {
				t.Errorf("%s: %v\n%s", name, err, b.text)
			}
		}
	}
}

// TestDocumentsAreShort: nobody reads long ones.
func TestDocumentsAreShort(t *testing.T) {
	for name, most := range longest {
		if n := strings.Count(document(t, name), "\n"); n > most {
			t.Errorf("%s has %d lines: at most %d", name, n, most)
		}
	}
}

// TestDocumentsLinks: what a document links to within the project is there.
func TestDocumentsLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)`)
	for name := range longest {
		for _, m := range link.FindAllStringSubmatch(document(t, name), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestChineseReadme: README.zh.md says the same as README.md as far as a program can tell.
func TestChineseReadme(t *testing.T) {
	english, chinese := document(t, "README.md"), document(t, "README.zh.md")
	comment := regexp.MustCompile(`(?m)\s*#.*$`)
	for what, of := range map[string]func(string) []string{
		"commands": commandsIn,
		"headings": func(text string) []string { return regexp.MustCompile(`(?m)^#+ `).FindAllString(prose(text), -1) },
		"bullets":  func(text string) []string { return regexp.MustCompile(`(?m)^- `).FindAllString(prose(text), -1) },
		"cells":    func(text string) []string { return regexp.MustCompile(`(?m)\|`).FindAllString(prose(text), -1) },
		"scenarios": func(text string) (list []string) {
			for _, b := range blocksIn(text) {
				if b.kind == "yaml" {
					list = append(list, comment.ReplaceAllString(b.text, ""))
				}
			}
			return list
		},
	} {
		if e, c := of(english), of(chinese); !slices.Equal(e, c) {
			t.Errorf("%s differ:\n%q\n%q", what, e, c)
		}
	}
}

// TestArchitectureNamesPackages: every package has its place in ARCHITECTURE.md.
func TestArchitectureNamesPackages(t *testing.T) {
	text := document(t, "ARCHITECTURE.md")
	packages, err := os.ReadDir(filepath.Join(root, "internal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if !strings.Contains(text, "`internal/"+p.Name()) {
			t.Errorf("internal/%s is not mentioned", p.Name())
		}
	}
}

// TestExamples runs the scripts of testdata/examples: one for each example, which it finds where a reader does.
func TestExamples(t *testing.T) {
	overview := document(t, "examples/README.md")
	examples, err := filepath.Glob(filepath.Join(root, "examples", "*.yaml"))
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range examples {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if _, err := os.Stat(filepath.Join("testdata", "examples", name+".txtar")); err != nil {
			t.Error(err)
		}
		if !strings.Contains(overview, "]("+name+".yaml)") {
			t.Errorf("examples/README.md does not name %s", name)
		}
	}
	p := scripts("examples")
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		return errors.Join(setup(e), os.CopyFS(filepath.Join(e.WorkDir, "examples"), os.DirFS(filepath.Join(root, "examples"))))
	}
	testscript.Run(t, p)
}

func document(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// block is a fenced block of a document: commands if it is of no kind.
type block struct{ kind, text string }

var fenced = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

func blocksIn(text string) (list []block) {
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		list = append(list, block{m[1], m[2]})
	}
	return list
}

// prose is a document without its fenced blocks.
func prose(text string) string { return fenced.ReplaceAllString(text, "") }

// commandsIn are the commands of a document without their comments: those of fenced blocks, then those within sentences that no
// block has.
func commandsIn(text string) (list []string) {
	comment := regexp.MustCompile(`\s+# .*`)
	for _, b := range blocksIn(text) {
		if b.kind != "" {
			continue
		}
		for line := range strings.Lines(b.text) {
			if line = strings.TrimSpace(comment.ReplaceAllString(line, "")); line != "" {
				list = append(list, line)
			}
		}
	}
	for _, m := range regexp.MustCompile("`((?:bin/mqlab|make) [^`]+)`").FindAllStringSubmatch(prose(text), -1) {
		if !slices.Contains(list, m[1]) {
			list = append(list, m[1])
		}
	}
	return list
}

// TestCommandsIn: the reader of documents finds commands, and nothing else.
func TestCommandsIn(t *testing.T) {
	text := "Type `make all` or `ls`.\n\n```\na --b 'c#d'\n\ne   # comment\n```\n\n```yaml\nf: g\n```\n`e`, `make all`\n"
	if got, want := commandsIn(text), []string{"a --b 'c#d'", "e", "make all"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := prose(text); strings.Contains(got, "f: g") || !strings.Contains(got, "Type") {
		t.Errorf("%q", got)
	}
}
