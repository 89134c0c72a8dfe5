package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
)

func find(t *testing.T, f Facts, name string) Finding {
	t.Helper()
	for _, d := range Findings(f) {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("no finding %s", name)
	return Finding{}
}

// TestNothingKnown: no finding makes a claim that rests on nothing.
func TestNothingKnown(t *testing.T) {
	for _, d := range Findings(Facts{}) {
		if !strings.HasPrefix(d.Value, notKnown) || d.Status != "" || d.Means != "" || d.Change != "" {
			t.Errorf("%+v", d)
		}
	}
}

func late(n int, each, worst time.Duration) *WakeUps {
	w := &WakeUps{}
	for range n - 1 {
		w.Late = append(w.Late, int64(each))
	}
	w.Late = append(w.Late, int64(worst))
	return w
}

func TestFindings(t *testing.T) {
	no := func(why string) *Ability { return &Ability{Why: why} }
	for _, c := range []struct {
		name   string
		facts  Facts
		status Status
		want   string // within value, meaning and command
	}{
		{"open files", Facts{OpenFiles: &OpenFiles{Process: 20_000}}, OK, "20,000 in one process allows about 19,936 connections"},
		{"open files", Facts{OpenFiles: &OpenFiles{Process: 1024, Ceiling: 4096}, OS: "linux"}, Limits, "about 960 connections: mqlab and a broker have a file for each sudo prlimit --pid $$ --nofile=4096"},
		{"open files", Facts{OpenFiles: &OpenFiles{Process: 20_000, System: 6000, InUse: 1000}}, Limits, "about 2,500 connections"},
		{"open files", Facts{OpenFiles: &OpenFiles{Process: 1<<64 - 1}}, OK, "unlimited"},
		{"open files", Facts{OpenFiles: &OpenFiles{Process: 3}}, Limits, "about 0 connections"},
		{"local ports", Facts{Ports: &Ports{Low: 32768, High: 60999, Reuse: "0", TimeWait: new(uint64(20_000))}}, Note, "allows 28,232 connections from one address to one broker address; 20,000 closed ones still wait (TIME_WAIT, up to 60 s); their ports are not used again before (tcp_tw_reuse=0)"},
		{"local ports", Facts{Ports: &Ports{Low: 50_000, High: 50_999}}, Limits, "1,000 (50000 to 50999)"},
		{"local ports", Facts{Ports: &Ports{Low: 1024, High: 65535}}, OK, "64,512"},
		{"listen backlog", Facts{Backlog: new(uint64(128))}, Limits, "128 may wait for the broker"},
		{"listen backlog", Facts{Backlog: new(uint64(65535))}, OK, "65,535"},
		{"memory", Facts{Memory: &Memory{Total: 16 << 30, Available: 8 << 30}}, OK, "about 858,000 connections"},
		{"memory", Facts{Memory: &Memory{Total: 16 << 30, Available: 8 << 30, Limit: 512 << 20}}, Limits, "limited to 512 MiB by a control group"},
		{"cores", Facts{Cores: Cores{Usable: 1}}, Limits, "wait for each other"},
		{"cores", Facts{Cores: Cores{Usable: 2, Online: 8}}, Note, "2 of 8 (affinity)"},
		{"cores", Facts{Cores: Cores{Usable: 2, Online: 8}}, Note, "taskset -pc 0-7 $$"},
		{"cores", Facts{Cores: Cores{Usable: 8, Online: 8, Quota: 1.5}}, Limits, "8; a control group grants the time of 1.5"},
		{"cores", Facts{Cores: Cores{Usable: 8, Online: 8}}, OK, "enough"},
		{"CPU governor", Facts{Governors: []string{"performance"}}, OK, "performance"},
		{"CPU governor", Facts{Governors: []string{"performance", "powersave"}}, Note, "cpupower"},
		{"load", Facts{Load: new(0.5), Steal: new(0.002), Cores: Cores{Usable: 4}}, OK, "0.5 tasks over the last minute; 0.20 % of the CPU stolen"},
		{"load", Facts{Load: new(2.5), Cores: Cores{Usable: 4}}, Note, "close what is busy"},
		{"load", Facts{Load: new(0.1), Steal: new(0.02), Cores: Cores{Usable: 4}}, Note, "2.00 %"},
		{"CPU pressure", Facts{Pressure: new(12.0)}, Note, "12 %"},
		{"CPU pressure", Facts{Pressure: new(0.0)}, OK, "0 %"},
		{"clock source", Facts{ClockSource: "tsc", ClockRead: new(int64(25))}, OK, "tsc, 25 ns a reading"},
		{"clock source", Facts{OS: "linux", ClockSource: "hpet", ClockRead: new(int64(1500))}, Limits, "echo tsc"},
		{"clock source", Facts{ClockSource: "xen", ClockRead: new(int64(40))}, OK, "xen"},
		{"clock source", Facts{ClockSource: "acpi_pm"}, Limits, "system call"},
		{"wall clock", Facts{WallClock: &WallClock{Synchronised: true, MaxError: 2_500_000}}, OK, "synchronised to 2.50 ms"},
		{"wall clock", Facts{WallClock: &WallClock{}}, Note, "timedatectl"},
		{"timer slack", Facts{TimerSlack: new(int64(50_000))}, OK, "50.0 µs"},
		{"wake-ups", Facts{WakeUps: late(50, 10*time.Microsecond, 40*time.Microsecond)}, OK, "10.0 µs late (median of 50), at worst 40.0 µs precise mode, which wakes up 60.0 µs early and spins, would have sent 50 of 50 in time"},
		{"wake-ups", Facts{WakeUps: late(50, 10*time.Microsecond, 2*time.Millisecond)}, Note, "49 of 50 in time, the worst of the others 1.94 ms late"},
		{"wake-ups", Facts{WakeUps: late(50, 500*time.Microsecond, 600*time.Microsecond)}, Limits, "0 of 50"},
		{"wake-ups", Facts{WakeUps: &WakeUps{Why: "epoll_pwait2: function not implemented"}}, Limits, "engine.kind: goroutine"},
		{"SCHED_RR", Facts{RealTime: no("operation not permitted")}, Note, "no: operation not permitted"},
		{"kernel times", Facts{KernelTimes: no("x")}, Limits, "are not known"},
		{"kernel times", Facts{KernelTimes: &Ability{OK: true}}, OK, "can be split"},
		{"congestion ctl", Facts{Congestion: "bbr"}, OK, "bbr"},
		{"io_uring", Facts{IOUring: no("kernel.io_uring_disabled is 2")}, Note, "sudo sysctl -w kernel.io_uring_disabled=0"},
		{"io_uring", Facts{IOUring: &Ability{OK: true}}, OK, "available"},
		{"TUN", Facts{TUN: no("open /dev/net/tun: no such file or directory"), UserNetworks: no("operation not permitted")}, Note, "without privilege: no: operation not permitted"},
		{"TUN", Facts{TUN: &Ability{OK: true}, UserNetworks: &Ability{OK: true}}, OK, "without privilege: yes"},
		{"cgroups", Facts{Cgroups: []Cgroup{{Version: 1, Controllers: []string{"cpu"}, Writable: new(true)}, {Version: 2}}}, OK, "v1: cpu; writable"},
		{"cgroups", Facts{Cgroups: []Cgroup{{Version: 2, Controllers: []string{"memory", "cpu"}, Writable: new(false)}}}, Note, "v2: cpu memory; not writable"},
		{"Docker", Facts{Docker: no("x")}, Note, "no: x"},
		{"brokers", Facts{Brokers: []Broker{{"mochi", broker.Finding{OK: true, Version: "2"}}, {"mosquitto", broker.Finding{Why: "mosquitto is not installed"}}}}, Note, "mochi 2 mosquitto is not installed"},
	} {
		d := find(t, c.facts, c.name)
		all := strings.Join([]string{d.Value, d.Means, d.Change}, " ")
		if d.Status != c.status || !strings.Contains(all, c.want) {
			t.Errorf("%s: %s %q, want %s %q", c.name, d.Status, all, c.status, c.want)
		}
	}
}

// TestNames: they fit their column.
func TestNames(t *testing.T) {
	for _, d := range Findings(Facts{}) {
		if len(d.Name) > 16 {
			t.Errorf("%s is too long", d.Name)
		}
	}
	for _, n := range Needs(connections(1), roomy()) {
		if len(n.What) > 16 {
			t.Errorf("%s is too long", n.What)
		}
	}
}
