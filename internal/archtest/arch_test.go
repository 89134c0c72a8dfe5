// Package archtest holds no code: it tests that packages import each other only in the directions that ARCHITECTURE.md draws.
package archtest

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mqlab/mqlab"

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

// ours are the module's packages by their path within it, such as internal/plan.
func ours(t *testing.T) map[string]*pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,Imports,Deps", module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	found := map[string]*pkg{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		if name, ok := strings.CutPrefix(p.ImportPath, module+"/"); ok {
			found[name] = &p
		}
	}
}

// needs are our packages that p depends on, directly or not.
func (p *pkg) needs() []string {
	var list []string
	for _, d := range p.Deps {
		if name, ok := strings.CutPrefix(d, module+"/"); ok {
			list = append(list, name)
		}
	}
	return list
}

// rule says what packages may depend on. A pattern is that of path.Match; one that ends in /... stands for the folder and all
// below it.
type rule struct {
	of  string
	may []string // nil = nothing of ours
	why string
}

// rules are the arrows. Every rule that fits a package holds.
var rules = []rule{
	{"internal/proto", nil, "protocols know nothing of the lab"},
	{"internal/proto/*", []string{"internal/proto"}, "protocols know nothing of the lab, nor of each other"},
	{"internal/stat", nil, "a leaf: pure figures"},
	{"internal/search", nil, "a leaf: outcomes in, values out"},
	{"internal/hist", nil, "a leaf: pure figures"},
	{"internal/stamp", nil, "a leaf: bytes of a payload"},
	{"internal/clock", nil, "a leaf"},
	{"internal/netns", nil, "a leaf"},
	{"internal/link", nil, "a leaf: what happens to packets, not who moves them"},
	{"internal/link/space", nil, "a leaf: namespaces, whatever they are for"},
	{"internal/link/tun", []string{"internal/link", "internal/link/space", "internal/netns", "internal/clock", "internal/hist"}, "carries packets, whosever they are"},
	{"internal/link/netem", []string{"internal/link", "internal/link/space", "internal/netns"}, "sets the kernel's own emulator"},
	{"internal/link/linktest", []string{"internal/link", "internal/netns", "internal/clock", "internal/stat"}, "tests any network, whatever is behind it"},
	{"internal/websocket", nil, "a leaf: carries bytes"},
	{"internal/selfsigned", nil, "a leaf"},
	{"internal/converse", []string{"internal/proto", "internal/clock"}, "a session, a connection and a clock, nothing between"},
	{"internal/ktrace", nil, "a leaf: what the kernel does, for whomever"},
	{"internal/instrument", []string{"internal/proto", "internal/proto/*", "internal/clock"}, "sessions and a clock, nothing between"},
	{"internal/agent", []string{"agents", "agents/golang", "internal/clock", "internal/guard/...", "internal/cgroup", "internal/procstat"}, "starts programs; knows nothing of what is measured"},
	{"internal/check", nil, "a leaf: tables of anybody"},
	{"internal/chart", nil, "a leaf: draws the figures it is given"},
	{"internal/selftest/oracle", nil, "an oracle that shares code with what it judges proves nothing"},
	{"internal/faulty", []string{"internal/proto", "internal/stamp", "internal/clock"}, "knows its faults, not who measures them"},
	{"internal/ledger", []string{"internal/hist"}, "counts and histograms, nothing that moves"},
	{"internal/scenario", []string{"internal/stamp"}, "what the user wrote, nothing of how it is carried out"},
	{"internal/energy", nil, "a leaf: pure figures"},
	{"internal/plan", []string{"internal/energy", "internal/scenario", "internal/search", "internal/stamp", "internal/stat", "internal/link"}, "a plan is pure"},
	{"internal/engine", []string{"internal/proto", "internal/ledger", "internal/hist", "internal/stamp"}, "the core knows no protocol, no clock and no screen"},
	{"internal/engine/loop/uring", nil, "a leaf: the kernel's rings"},
	{"internal/engine/*", []string{"internal/engine", "internal/engine/loop/uring", "internal/proto", "internal/ledger", "internal/hist", "internal/stamp", "internal/clock"}, "engines know no protocol and no screen"},
	{"internal/cgroup", nil, "a leaf"},
	{"internal/procstat", nil, "a leaf"},
	{"internal/queue", nil, "a leaf"},
	{"internal/guard/...", []string{"internal/guard/...", "internal/cgroup"}, "what ends all must depend on as little as can be"},
	{"internal/monitor", []string{"internal/clock", "internal/guard/proctree", "internal/procstat"}, "watches processes, whatever they are for"},
	{"internal/run", []string{"internal/plan", "internal/energy", "internal/search", "internal/link", "internal/ledger", "internal/hist", "internal/monitor", "internal/scenario", "internal/stamp", "internal/clock", "internal/guard/proctree", "internal/procstat", "internal/stat"}, "the folder is written and read, not measured"},
	{"internal/summary", readers("internal/stat"), "after a run everything only reads"},
	{"internal/gate", readers("internal/stat", "internal/summary"), "after a run everything only reads"},
	{"internal/capacity", readers("internal/stat", "internal/summary", "internal/gate", "internal/search", "internal/engine", "internal/proto"), "what a search found is read from its trials"},
	{"internal/report", readers("internal/stat", "internal/summary", "internal/gate", "internal/chart", "internal/capacity", "internal/search", "internal/engine", "internal/proto"), "after a run everything only reads"},
	{"internal/diagnose", nil, "a leaf: pure; what reads runs, captures and processes for it is above"},
	{"internal/findings", readers("internal/stat"), "reads a trial for a diagnosis"},
}

// readers are the packages that what comes after a run may need: the folder and what it is made of.
func readers(more ...string) []string {
	return append([]string{
		"internal/run", "internal/plan", "internal/energy", "internal/search", "internal/link", "internal/ledger", "internal/hist", "internal/monitor", "internal/scenario", "internal/stamp",
		"internal/clock", "internal/guard/proctree", "internal/procstat", // of monitor, whose samples are read
		"internal/diagnose", "internal/findings",
	}, more...)
}

// never says who must not depend on whom, whatever else they may.
var never = []struct{ of, on, why string }{
	{"internal/...", "cmd/...", "arrows point down"},
	{"internal/worker", "internal/broker", "a worker elsewhere has no broker"},
	{"internal/worker", "internal/run", "a worker hands over what it saw; it writes no folder"},
	{"internal/worker", "internal/crew", "a worker has its share, and knows nobody else"},
	{"internal/crew", "internal/broker", "a generator has no broker"},
	{"internal/crew", "internal/run", "a generator hands over what it saw; it writes no folder"},
	{"internal/broker", "internal/worker", "a broker knows nothing of its load"},
	{"internal/broker", "internal/engine/...", "a broker knows nothing of its load"},
	{"internal/trial", "internal/summary", "a trial decides nothing about its result"},
	{"internal/trial", "internal/report", "a trial decides nothing about its result"},
	{"internal/trial", "internal/proto/...", "protocols are the worker's"},
}

func fits(pattern, name string) bool {
	if folder, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == folder || strings.HasPrefix(name, folder+"/")
	}
	ok, _ := path.Match(pattern, name)
	return ok
}

// testHelp are packages that only tests import.
var testHelp = []string{"internal/proto/prototest", "internal/run/runtest", "internal/guard/guardtest", "internal/broker/brokertest", "internal/needs", "internal/link/packettest", "internal/capacity/capacitytest"}

func TestArrows(t *testing.T) {
	for name, p := range ours(t) {
		if slices.Contains(testHelp, name) {
			continue
		}
		for _, r := range rules {
			if !fits(r.of, name) {
				continue
			}
			for _, d := range p.needs() {
				if !slices.ContainsFunc(r.may, func(pattern string) bool { return fits(pattern, d) }) {
					t.Errorf("%s depends on %s: %s", name, d, r.why)
				}
			}
		}
	}
}

func TestNever(t *testing.T) {
	for name, p := range ours(t) {
		for _, n := range never {
			if !fits(n.of, name) {
				continue
			}
			for _, d := range p.Imports {
				if d, ok := strings.CutPrefix(d, module+"/"); ok && fits(n.on, d) {
					t.Errorf("%s imports %s: %s", name, d, n.why)
				}
			}
		}
	}
}

// TestRulesApply keeps a renamed package from slipping out of its rule.
func TestRulesApply(t *testing.T) {
	all := ours(t)
	for _, r := range rules {
		found := false
		for name := range all {
			found = found || fits(r.of, name)
		}
		if !found {
			t.Errorf("no package is %s any more", r.of)
		}
	}
}

// pure are the packages that never look at a clock, a socket or a file descriptor: time is what they are told.
var pure = []string{
	"internal/proto/...", "internal/engine", "internal/stat", "internal/hist", "internal/stamp", "internal/ledger", "internal/plan",
	"internal/scenario", "internal/summary", "internal/report", "internal/chart", "internal/gate",
	"internal/check",
	"internal/diagnose",
	"internal/search",
	"internal/capacity",
}

// moving are the functions of package time that look at the clock or wait for it.
var moving = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

func TestPurePackagesHaveNoClock(t *testing.T) {
	for name, p := range ours(t) {
		if !slices.ContainsFunc(pure, func(pattern string) bool { return fits(pattern, name) }) || slices.Contains(testHelp, name) {
			continue
		}
		if slices.Contains(p.Imports, module+"/internal/clock") {
			t.Errorf("%s imports internal/clock", name)
		}
		if strings.HasPrefix(name, "internal/proto") && slices.ContainsFunc(p.Imports, func(i string) bool { return i == "net" || i == "os" || i == "syscall" }) {
			t.Errorf("%s imports net, os or syscall: sessions own no socket", name)
		}
		for _, file := range p.GoFiles {
			for _, call := range clockCalls(t, filepath.Join(p.Dir, file)) {
				t.Errorf("%s/%s: %s", name, file, call)
			}
		}
	}
}

// clockCalls are the uses of moving in a file.
func clockCalls(t *testing.T, file string) (found []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(moving, s.Sel.Name) {
				found = append(found, "time."+s.Sel.Name)
			}
		}
		return true
	})
	return found
}
