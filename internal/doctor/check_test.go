package doctor

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mqlab/mqlab/internal/plan"
)

// roomy is a Linux host with enough of everything for a thousand connections.
func roomy() Facts {
	return Facts{
		OS: "linux", OpenFiles: &OpenFiles{Process: 2000, Ceiling: 1 << 20, System: 1 << 20, InUse: 1000},
		Ports: &Ports{Low: 32768, High: 60999}, Memory: &Memory{Total: 1 << 30, Available: 1 << 30},
	}
}

func connections(n int) plan.Estimate {
	return plan.Estimate{Connections: n, OpenFiles: n + 1, Ports: n + 1, PortsAway: n + 1, BrokerStarts: 1}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		need plan.Estimate
		edit func(*Facts)
		want []string
	}{
		"fits":               {connections(1000), func(*Facts) {}, nil},
		"nothing is known":   {connections(1_000_000), func(f *Facts) { *f = Facts{} }, nil},
		"the last that fits": {connections(1935), func(*Facts) {}, nil},
		"one file too many": {connections(1936), func(*Facts) {}, []string{
			"the plan needs 2,001 open files, but ulimit -n offers 2,000: sudo prlimit --pid $$ --nofile=2001 (or use fewer connections)",
		}},
		"above the ceiling": {connections(1936), func(f *Facts) { f.OpenFiles.Ceiling = 2000 }, []string{
			"the plan needs 2,001 open files, but ulimit -n offers 2,000: " +
				"sudo sysctl -w fs.nr_open=2001 && sudo prlimit --pid $$ --nofile=2001 (or use fewer connections)",
		}},
		"another system": {connections(1936), func(f *Facts) { f.OS = "darwin" }, []string{
			"the plan needs 2,001 open files, but ulimit -n offers 2,000: ulimit -n 2001 (or use fewer connections)",
		}},
		"all processes together": {connections(1000), func(f *Facts) { f.OpenFiles.System = 3000 }, []string{
			"the plan needs 2,130 open files (all), but fs.file-max offers 2,000: sudo sysctl -w fs.file-max=3130 (or use fewer connections)",
		}},
		"an external broker has its own files": {func() plan.Estimate { e := connections(1000); e.BrokerStarts = 0; return e }(), func(f *Facts) { f.OpenFiles.System = 3000 }, nil},
		"ports": {connections(1000), func(f *Facts) { f.Ports = &Ports{Low: 1, High: 1005, Reserved: 5} }, []string{
			`the plan needs 1,001 local ports, but net.ipv4.ip_local_port_range offers 1,000: ` +
				`sudo sysctl -w net.ipv4.ip_local_port_range="1024 65535" (or use fewer connections)`,
		}},
		"ports of several loopback addresses": {
			func() plan.Estimate { e := connections(1000); e.PortsAway = 0; return e }(), func(f *Facts) { f.Ports.High = f.Ports.Low }, nil,
		},
		"loopback elsewhere": {func() plan.Estimate { e := connections(1000); e.PortsAway = 0; return e }(), func(f *Facts) { f.OS, f.Ports.High = "darwin", f.Ports.Low }, []string{
			"the plan needs 1,001 local ports, but net.inet.ip.portrange offers 1: sudo sysctl -w net.inet.ip.portrange.first=1024 (or use fewer connections)",
		}},
		"more ports than there are": {connections(65_000), func(f *Facts) { f.OpenFiles, f.Memory = nil, nil }, []string{
			"the plan needs 65,001 local ports, but net.ipv4.ip_local_port_range offers 28,232: use fewer connections",
		}},
		"memory of a control group": {connections(1000), func(f *Facts) { f.Memory.Limit = 9_000_000 }, []string{
			"the plan needs 9.54 MiB of socket memory, but this host offers 8.58 MiB: use fewer connections",
		}},
		"two limits": {connections(1936), func(f *Facts) { f.Ports.High = f.Ports.Low }, []string{
			"the plan needs 2,001 open files, but ulimit -n offers 2,000: sudo prlimit --pid $$ --nofile=2001 (or use fewer connections)",
			`the plan needs 1,937 local ports, but net.ipv4.ip_local_port_range offers 1: ` +
				`sudo sysctl -w net.ipv4.ip_local_port_range="1024 65535" (or use fewer connections)`,
		}},
	} {
		f := roomy()
		c.edit(&f)
		var got []string
		for _, p := range Check(c.need, f) {
			got = append(got, p.String())
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestNeeds(t *testing.T) {
	needs := Needs(connections(1000), roomy())
	if len(needs) != 4 {
		t.Fatalf("%+v", needs)
	}
	for _, n := range needs {
		if !n.Fits() || n.Need == 0 || n.Have == 0 {
			t.Errorf("%+v", n)
		}
	}
}
