package doctor

import (
	"bufio"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// readFiles reads what Linux tells in files below root.
func readFiles(root fs.FS, f *Facts) {
	f.Kernel = firstLine(root, "proc/sys/kernel/osrelease")
	f.CPUModel = labelled(root, "proc/cpuinfo", "model name")
	f.ClockSource = firstLine(root, "sys/devices/system/clocksource/clocksource0/current_clocksource")
	f.Congestion = firstLine(root, "proc/sys/net/ipv4/tcp_congestion_control")
	f.Ports = readPorts(root)
	if n, ok := number(firstLine(root, "proc/sys/net/core/somaxconn")); ok {
		f.Backlog = &n
	}
	f.Memory = readMemory(root)
	f.Cores.Online = size(firstLine(root, "sys/devices/system/cpu/online"))
	f.Governors = readGovernors(root)
	if words := strings.Fields(firstLine(root, "proc/loadavg")); len(words) > 0 {
		f.Load = float(words[0])
	}
	for word := range strings.FieldsSeq(firstLine(root, "proc/pressure/cpu")) {
		if avg, ok := strings.CutPrefix(word, "avg10="); ok {
			f.Pressure = float(avg)
		}
	}
	groups := readCgroups(root)
	for _, g := range groups {
		f.Cgroups = append(f.Cgroups, g.Cgroup)
	}
	f.Cores.Quota = cpuQuota(root, groups)
	if f.Memory != nil {
		f.Memory.Limit = memoryLimit(root, groups, f.Memory.Total)
	}
}

// readPorts reads the range of local ports and what is left of it.
func readPorts(root fs.FS) *Ports {
	var p Ports
	if _, err := fmt.Sscan(firstLine(root, "proc/sys/net/ipv4/ip_local_port_range"), &p.Low, &p.High); err != nil || p.High < p.Low || p.High > math.MaxUint16 {
		return nil
	}
	for part := range strings.SplitSeq(firstLine(root, "proc/sys/net/ipv4/ip_local_reserved_ports"), ",") {
		if low, high, ok := interval(part); ok && high >= p.Low && low <= p.High {
			p.Reserved += min(high, p.High) - max(low, p.Low) + 1
		}
	}
	p.Reserved = min(p.Reserved, p.High-p.Low+1)
	words := strings.Fields(labelled(root, "proc/net/sockstat", "TCP"))
	if i := slices.Index(words, "tw"); i >= 0 && i+1 < len(words) {
		if n, ok := number(words[i+1]); ok {
			p.TimeWait = &n
		}
	}
	p.Reuse = firstLine(root, "proc/sys/net/ipv4/tcp_tw_reuse")
	return &p
}

func readMemory(root fs.FS) *Memory {
	total, ok1 := kilobytes(labelled(root, "proc/meminfo", "MemTotal"))
	available, ok2 := kilobytes(labelled(root, "proc/meminfo", "MemAvailable"))
	if !ok1 || !ok2 {
		return nil
	}
	return &Memory{Total: total, Available: available}
}

func readGovernors(root fs.FS) (names []string) {
	files, _ := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor") // the pattern is correct
	for _, file := range files {
		if name := firstLine(root, file); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// ticks is CPU time of all cores since the host started (proc_stat(5)).
type ticks struct{ total, steal uint64 }

func cpuTimes(root fs.FS) (t ticks, ok bool) {
	words := strings.Fields(firstLine(root, "proc/stat"))
	const stealAt = 8 // cpu user nice system idle iowait irq softirq steal; guests are in user already
	if len(words) <= stealAt || words[0] != "cpu" {
		return t, false
	}
	for _, word := range words[1 : stealAt+1] {
		n, ok := number(word)
		if !ok {
			return t, false
		}
		t.total, t.steal = t.total+n, n
	}
	return t, true
}

// firstLine is the first line of a file, "" if it cannot be read.
func firstLine(root fs.FS, name string) string {
	line, _, _ := strings.Cut(content(root, name), "\n")
	return strings.TrimSpace(line)
}

func content(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, path.Clean(name))
	if err != nil {
		return ""
	}
	return string(b)
}

// labelled is what follows "label:" in the first such line of a file.
func labelled(root fs.FS, name, label string) string {
	f, err := root.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if key, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(key) == label {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func number(text string) (uint64, bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

func float(text string) *float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	return &v
}

// kilobytes reads "123 kB" as bytes.
func kilobytes(text string) (uint64, bool) {
	n, ok := number(strings.TrimSuffix(text, " kB"))
	return n << 10, ok
}

// interval reads "5" or "5-9". Numbers of ports and cores have 16 bits at most.
func interval(text string) (low, high uint64, ok bool) {
	from, to, two := strings.Cut(text, "-")
	if !two {
		to = from
	}
	low, err1 := strconv.ParseUint(from, 10, 16)
	high, err2 := strconv.ParseUint(to, 10, 16)
	return low, high, err1 == nil && err2 == nil && high >= low
}

// size counts the members of a list such as "0-3,8".
func size(list string) (n int) {
	for part := range strings.SplitSeq(list, ",") {
		low, high, ok := interval(part)
		if !ok {
			return 0
		}
		n += int(high - low + 1)
	}
	return n
}
