package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/link/tun"
	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/plan"
)

// TestMain lets the test binary be mqlab: under its name for scripts, and by its hidden verbs as its own guard and embedded
// brokers.
func TestMain(m *testing.M) {
	if code, asked := hiddenVerbs.Do(os.Args[1:]); asked {
		os.Exit(code)
	}
	testscript.Main(m, map[string]func(){"mqlab": func() { os.Exit(mqlab()) }})
}

// TestScripts runs the scripts of testdata/script, some at a time. The commands that they may use are those of commands.
func TestScripts(t *testing.T) { testscript.Run(t, scripts("script")) }

// TestTiming runs the scripts of testdata/timing one after the other: they look at times or load the machine.
func TestTiming(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	testscript.RunT(oneAtATime{t}, scripts("timing"))
}

// oneAtATime is a testscript.T that runs nothing in parallel.
type oneAtATime struct{ *testing.T }

func (oneAtATime) Parallel() {}

func (t oneAtATime) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(oneAtATime{t}) })
}

func (oneAtATime) Verbose() bool { return testing.Verbose() }

// tiny is a scenario file that every script finds: a trial of a fraction of a second.
const tiny = `
load: {rate: 40/s, payload: 64B, publishers: 1}
connect: {timeout: 3s}
phases: {settle: 0s, warmup: 0s, measure: 300ms, drain: 2s}
repeat: 1
`

// theT is the key of a script's testscript.T.
const theT = "T"

// skip ends a script.
func skip(ts *script, why string) { ts.Value(theT).(testscript.T).Skip(why) }

// condition tells whether [hide] holds: whether this user may hide folders from a program (hidden.sh); [cores]: whether there are
// several; [limits]: whether a broker can be held to a part of one; [tun]: whether there can be a weak network.
func condition(name string) (bool, error) {
	switch name {
	case "hide":
		return able(exec.Command("unshare", "--map-root-user", "--mount", "true").Run())
	case "cores":
		return runtime.GOOS == "linux" && runtime.NumCPU() > 1, nil
	case "limits":
		return able(broker.CanLimit(plan.Profile{Name: "test", CPUs: 0.5}, broker.Process, 1, 0))
	case "paho":
		return able(exec.Command("/usr/bin/python3", "-c", "import paho.mqtt.client").Run())
	case "tun":
		return able(tun.Supported())
	}
	return false, fmt.Errorf("unknown condition %s", name)
}

// able tells whether something can be done that the superuser can always do in continuous integration.
func able(err error) (bool, error) {
	if err != nil && needs.CI() && os.Geteuid() == 0 {
		return false, err
	}
	return err == nil, nil
}

func scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 filepath.Join("testdata", dir),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Values[theT] = e.T()
			return os.WriteFile(filepath.Join(e.WorkDir, "tiny.yaml"), []byte(tiny), 0o600)
		},
		Cmds:      commands,
		Condition: condition,
	}
}
