package doctor

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// tree makes a file system from lines of "path: content"; | stands for a line break.
func tree(lines ...string) fs.FS {
	m := fstest.MapFS{}
	for _, line := range lines {
		name, text, _ := strings.Cut(line, ": ")
		m[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(text, "|", "\n") + "\n")}
	}
	return m
}

func read(lines ...string) (f Facts) {
	readFiles(tree(lines...), &f)
	return f
}

func TestReadFiles(t *testing.T) {
	got := read(
		"proc/sys/kernel/osrelease: 6.8.0-1-generic",
		"proc/cpuinfo: processor	: 0|model name	: Some CPU @ 3 GHz|model name	: other",
		"sys/devices/system/clocksource/clocksource0/current_clocksource: hpet",
		"proc/sys/net/ipv4/tcp_congestion_control: cubic",
		"proc/sys/net/core/somaxconn: 4096",
		"proc/sys/net/ipv4/ip_local_port_range: 32768	60999",
		"proc/sys/net/ipv4/ip_local_reserved_ports: 80,40000-40009,60999-61005",
		"proc/sys/net/ipv4/tcp_tw_reuse: 2",
		"proc/net/sockstat: sockets: used 17|TCP: inuse 1 orphan 0 tw 492 alloc 1 mem 0",
		"proc/meminfo: MemTotal:  1000 kB|MemFree: 1 kB|MemAvailable:    600 kB",
		"proc/loadavg: 0.52 0.58 0.59 1/389 4242",
		"proc/pressure/cpu: some avg10=1.50 avg60=0.20 avg300=0.00 total=9|full avg10=0.00 avg60=0.00 avg300=0.00 total=0",
		"sys/devices/system/cpu/online: 0-2,7",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor: powersave",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor: performance",
		"sys/devices/system/cpu/cpu2/cpufreq/scaling_governor: powersave",
	)
	want := Facts{
		Kernel: "6.8.0-1-generic", CPUModel: "Some CPU @ 3 GHz", ClockSource: "hpet", Congestion: "cubic",
		Backlog: new(uint64(4096)), Memory: &Memory{Total: 1000 << 10, Available: 600 << 10},
		Ports:     &Ports{Low: 32768, High: 60999, Reserved: 11, TimeWait: new(uint64(492)), Reuse: "2"},
		Load:      new(0.52),
		Pressure:  new(1.5),
		Cores:     Cores{Online: 4},
		Governors: []string{"powersave", "performance"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if n := got.Ports.Free(); n != 28_221 {
		t.Errorf("%d ports are free", n)
	}
}

// TestNothingToRead: what cannot be read is not known.
func TestNothingToRead(t *testing.T) {
	if d := cmp.Diff(Facts{}, read()); d != "" {
		t.Error(d)
	}
	broken := read(
		"proc/sys/net/core/somaxconn: many", "proc/sys/net/ipv4/ip_local_port_range: 60999 32768", "proc/meminfo: MemTotal: 1000 kB",
		"proc/loadavg: high", "proc/pressure/cpu: some avg10=x", "sys/devices/system/cpu/online: 3-1", "proc/net/sockstat: TCP: tw",
		"proc/self/mountinfo: 1 2 - cgroup2|x", "proc/self/cgroup: 0:",
	)
	if d := cmp.Diff(Facts{}, broken); d != "" {
		t.Error(d)
	}
}

const v2 = "proc/self/mountinfo: 30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw"

func TestControlGroups(t *testing.T) {
	const total = "proc/meminfo: MemTotal: 8000000 kB|MemAvailable: 7000000 kB"
	for name, c := range map[string]struct {
		files  []string
		quota  float64
		memory uint64
		dirs   []string
	}{
		"version 2, the parent is stricter": {[]string{
			total, v2, "proc/self/cgroup: 0::/user/session",
			"sys/fs/cgroup/cgroup.controllers: cpu memory", "sys/fs/cgroup/user/session/cgroup.controllers: cpu",
			"sys/fs/cgroup/user/session/cpu.max: max 100000", "sys/fs/cgroup/user/cpu.max: 150000 100000",
			"sys/fs/cgroup/user/session/memory.max: 2147483648", "sys/fs/cgroup/user/memory.max: 1073741824",
		}, 1.5, 1 << 30, []string{"/sys/fs/cgroup/user/session"}},
		"version 2, no limit": {[]string{
			total, v2, "proc/self/cgroup: 0::/", "sys/fs/cgroup/cpu.max: max 100000", "sys/fs/cgroup/memory.max: max",
		}, 0, 0, []string{"/sys/fs/cgroup"}},
		"a container sees its own group as the top": {[]string{
			total, "proc/self/mountinfo: 30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw", "proc/self/cgroup: 0::/docker/abc",
			"sys/fs/cgroup/cpu.max: 50000 100000",
		}, 0.5, 0, []string{"/sys/fs/cgroup"}},
		"a group outside of what is mounted": {[]string{
			total, "proc/self/mountinfo: 30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw", "proc/self/cgroup: 0::/../other",
			"sys/fs/cgroup/cpu.max: 200000 100000",
		}, 2, 0, []string{"/sys/fs/cgroup"}},
		"version 1": {[]string{
			total,
			"proc/self/mountinfo: 1 2 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct|" +
				"3 2 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory|4 2 0:31 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd",
			"proc/self/cgroup: 2:cpu,cpuacct:/a|1:memory:/b/c|9:name=systemd:/|0::/",
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us: 300000", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us: 100000",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us: -1", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us: 100000",
			"sys/fs/cgroup/memory/b/c/memory.limit_in_bytes: 9223372036854771712", "sys/fs/cgroup/memory/b/memory.limit_in_bytes: 4096",
		}, 3, 4096, []string{"/sys/fs/cgroup/cpu,cpuacct/a", "/sys/fs/cgroup/memory/b/c"}},
	} {
		f := read(c.files...)
		var dirs []string
		for _, g := range f.Cgroups {
			dirs = append(dirs, g.Dir)
		}
		if f.Cores.Quota != c.quota || f.Memory.Limit != c.memory || !cmp.Equal(dirs, c.dirs) {
			t.Errorf("%s: quota %v, memory %d, groups %v", name, f.Cores.Quota, f.Memory.Limit, dirs)
		}
	}
}

func TestCPUTimes(t *testing.T) {
	got, ok := cpuTimes(tree("proc/stat: cpu  10 1 5 80 2 0 1 7 4 0|cpu0 1 1 1 1"))
	if !ok || got != (ticks{106, 7}) {
		t.Errorf("%+v %v", got, ok)
	}
	for _, text := range []string{"", "cpu 1 2 3", "cpu a 1 1 1 1 1 1 1 1", "intr 1 2 3 4 5 6 7 8 9"} {
		if _, ok := cpuTimes(tree("proc/stat: " + text)); ok {
			t.Errorf("%q was understood", text)
		}
	}
}

func FuzzFiles(f *testing.F) {
	f.Add("32768 60999", "80,1000-2000", "0-3,8", "0::/a/b", "30 23 0:26 /a /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "100 100")
	f.Add("0 65535", "1-65535,1-65535", "x", "1:cpu:/", "1 2 3 / /c rw - cgroup cgroup rw,cpu", "max 0")
	f.Fuzz(func(t *testing.T, ports, reserved, online, group, mounts, quota string) {
		m := fstest.MapFS{}
		for name, text := range map[string]string{
			"proc/sys/net/ipv4/ip_local_port_range": ports, "proc/sys/net/ipv4/ip_local_reserved_ports": reserved,
			"sys/devices/system/cpu/online": online, "proc/self/cgroup": group, "proc/self/mountinfo": mounts, "sys/fs/cgroup/cpu.max": quota,
		} {
			m[name] = &fstest.MapFile{Data: []byte(text)}
		}
		var facts Facts
		readFiles(m, &facts)
		if p := facts.Ports; p != nil && p.Free() > 65536 {
			t.Errorf("%+v", p)
		}
		Findings(facts)
	})
}
