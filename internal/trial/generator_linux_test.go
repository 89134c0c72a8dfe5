package trial_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/procfs"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/cores"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
)

// TestSeveralGenerators: three processes do with real brokers what one does, also where clients have something in common.
func TestSeveralGenerators(t *testing.T) {
	pairs, fanout, fanin, shared := plan.PatternPairs, plan.PatternFanout, plan.PatternFanin, plan.PatternShared
	for text, loads := range map[string][]load{
		"mosquitto":           {{"", pairs, 1, false}, {"", shared, 1, false}},
		"nats/jetstream":      {{"", pairs, 1, false}, {"", fanout, 1, false}, {"", shared, 1, false}, {"", fanin, 0, false}},
		"redis/redis-streams": {{"", shared, 1, false}, {"", pairs, 1, false}},
		"mosquitto+mochi":     {{"", fanout, 1, false}},
	} {
		t.Run(text, func(t *testing.T) {
			s := subject(t, text)
			for i, l := range loads {
				t.Run(l.String(), func(t *testing.T) {
					p := paramsOf(l)
					p.Generators = 3
					record, _ := execute(t, guardtest.Start(t), plan.Trial{ID: i + 1, Subject: s, Params: p}, nil)
					check(t, record, l, l.pattern == shared)
					if n := record.Generator.Processes; n != 3 {
						t.Errorf("%d processes", n)
					}
				})
			}
		})
	}
}

// TestPlacement: the broker's processes and every thread of the generator are where the record says.
func TestPlacement(t *testing.T) {
	groups, err := cores.Usable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := cores.Decide(cores.On, groups)
	if err != nil {
		t.Skip(err) // a machine with so few cores cannot hold brokers and generator apart
	}
	for _, generators := range []int{1, 2} {
		p := paramsOf(load{plan.MQTT5, plan.PatternPairs, 1, false})
		p.Pin, p.Generators = cores.On, generators
		looked := false
		record, _ := execute(t, guardtest.Start(t), plan.Trial{ID: 1, Subject: subject(t, "mochi"), Params: p}, func(w *ledger.Window) {
			if w.Phase == "measure" && !looked {
				looked = true
				checkThreads(t, os.Getpid(), want.Generator)
				checkChildren(t, want, generators)
			}
		})
		got := record.Placement
		if got == nil || got.BrokerCores != want.Broker.String() || got.GeneratorCores != want.Generator.String() || got.Shared == nil || *got.Shared || got.Why != want.Why {
			t.Errorf("the record says %+v, want %+v", got, want)
		}
		if !looked {
			t.Error("nothing was measured")
		}
		if record.Client.Loops != max(len(want.Generator)/generators, 1)*generators {
			t.Errorf("%d event loops for cores %s", record.Client.Loops, want.Generator)
		}
		after, err := cores.Usable()
		if err != nil || !slices.EqualFunc(after, groups, func(a, b cores.Set) bool { return slices.Equal(a, b) }) {
			t.Errorf("afterwards the generator has cores %v, %v; want %v", after, err, groups)
		}
	}
}

// checkChildren looks at the processes that this one has started.
func checkChildren(t *testing.T, want cores.Placement, generators int) {
	t.Helper()
	all, err := procfs.AllProcs()
	if err != nil {
		t.Error(err)
		return
	}
	brokers, processes := 0, 0
	for _, p := range all {
		stat, err := p.Stat()
		if err != nil || stat.PPID != os.Getpid() {
			continue
		}
		switch line, _ := p.CmdLine(); {
		case len(line) > 1 && line[1] == broker.Verb:
			brokers++
			checkThreads(t, p.PID, want.Broker)
		case len(line) > 1 && line[1] == "generator":
			processes++
			checkThreads(t, p.PID, want.Generator)
		}
	}
	if brokers != 1 || generators > 1 && processes != generators {
		t.Errorf("%d brokers and %d generator processes were found", brokers, processes)
	}
}

func checkThreads(t *testing.T, pid int, want cores.Set) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task/*/status"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		if !strings.Contains(string(text), "\nCpus_allowed_list:\t"+want.String()+"\n") {
			t.Errorf("%s: not held to cores %s", file, want)
		}
	}
	if len(files) == 0 {
		t.Errorf("process %d has no threads", pid)
	}
}
