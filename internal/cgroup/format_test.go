package cgroup

import (
	"reflect"
	"testing"
	"testing/fstest"
	"time"
)

func TestFilesOfLimits(t *testing.T) {
	for _, c := range []struct {
		version int
		limits  Limits
		want    []string
	}{
		{2, Limits{1, 2 << 30}, []string{"cpu.max=100000 100000", "memory.max=2147483648", "memory.swap.max=0", "memory.oom.group=1"}},
		{2, Limits{CPUs: 1.5}, []string{"cpu.max=150000 100000"}},
		{2, Limits{}, nil},
		{1, Limits{0.25, 16 << 20}, []string{
			"cpu.cfs_period_us=100000", "cpu.cfs_quota_us=25000",
			"memory.swappiness=0", "memory.limit_in_bytes=16777216", "memory.memsw.limit_in_bytes=16777216",
		}},
		{1, Limits{Memory: 1 << 20}, []string{"memory.swappiness=0", "memory.limit_in_bytes=1048576", "memory.memsw.limit_in_bytes=1048576"}},
	} {
		var got []string
		for _, f := range append(cpuFiles(c.version, c.limits.CPUs), memoryFiles(c.version, c.limits.Memory)...) {
			got = append(got, f.name+"="+f.content)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("v%d %+v:\n got %q\nwant %q", c.version, c.limits, got, c.want)
		}
	}
}

func TestParseQuota(t *testing.T) {
	for text, want := range map[string]float64{
		"max 100000\n": 0, "-1\n 100000\n": 0, "150000 100000": 1.5, "2500 100000": 0.025, "400000\n 100000\n": 4,
	} {
		if got, err := parseQuota(text); got != want || err != nil {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1", "x 100000", "1 0", "1 -1", "1 2 3", "99999999999999999999 1"} {
		if got, err := parseQuota(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"max\n": 0, "9223372036854771712\n": 0, "16777216\n": 16 << 20, "0": 0} {
		if got, err := parseBytes(text); got != want || err != nil {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "many", "1 2"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestThrottling(t *testing.T) {
	for _, text := range []string{
		"usage_usec 9\nnr_periods 10\nnr_throttled 4\nthrottled_usec 250000\n",
		"nr_periods 10\nnr_throttled 4\nthrottled_time 250000000\nnr_bursts\nodd line here\nwait_sum x\n",
	} {
		var u Usage
		u.throttling(parseStat(text))
		if want := (Usage{Periods: 10, Throttled: 4, ThrottledTime: 250 * time.Millisecond}); u != want {
			t.Errorf("%+v, want %+v", u, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"max 100000", "1 2", "oom_kill 3\n", "-1", "16777216"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := parseQuota(text); err == nil && !(v >= 0) {
			t.Errorf("quota %q is %v", text, v)
		}
		if v, err := parseBytes(text); err == nil && v < 0 {
			t.Errorf("bytes %q is %v", text, v)
		}
		var u Usage
		u.throttling(parseStat(text))
	})
}

func TestHierarchyOfAnotherProcess(t *testing.T) {
	root := fstest.MapFS{
		"proc/self/mountinfo": {Data: []byte("30 1 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")},
		"proc/self/cgroup":    {Data: []byte("0::/mine\n")},
		"proc/42/cgroup":      {Data: []byte("0::/other/one\n")},
	}
	if got := hierarchies(root, "42"); len(got) != 1 || got[0].Dir != "/sys/fs/cgroup/other/one" {
		t.Errorf("%+v", got)
	}
}

func TestHierarchies(t *testing.T) {
	for _, c := range []struct {
		name      string
		groups    string
		mountinfo string
		files     map[string]string
		want      []Hierarchy
	}{
		{
			"version 2 in a session", "0::/user.slice/user-1000.slice/session-2.scope\n",
			"31 25 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
			map[string]string{"sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope/cgroup.controllers": "cpu memory pids\n"},
			[]Hierarchy{{2, []string{"cpu", "memory", "pids"}, "/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope"}},
		},
		{
			"version 1 with two controllers together, and an empty version 2", "4:memory:/a\n2:cpu,cpuacct:/b\n1:name=systemd:/\n0::/\n",
			"1 0 0:1 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
				"2 0 0:2 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
				"3 0 0:3 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n" +
				"4 0 0:4 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			map[string]string{"sys/fs/cgroup/unified/cgroup.controllers": "hugetlb\n"},
			[]Hierarchy{
				{1, []string{"cpu", "cpuacct"}, "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct/b"},
				{1, []string{"memory"}, "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/a"},
				{2, []string{"hugetlb"}, "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified"},
			},
		},
		{
			"a container sees its part", "4:memory:/docker/x/y\n",
			"2 0 0:2 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n", nil,
			[]Hierarchy{{1, []string{"memory"}, "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/y"}},
		},
		{"nothing", "", "1 0 0:1 / / rw - ext4 /dev/sda rw\nodd\n", nil, nil},
	} {
		root := fstest.MapFS{
			"proc/self/cgroup":    &fstest.MapFile{Data: []byte(c.groups)},
			"proc/self/mountinfo": &fstest.MapFile{Data: []byte(c.mountinfo)},
		}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := Hierarchies(root); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}
