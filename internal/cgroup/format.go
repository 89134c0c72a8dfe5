package cgroup

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits are what the processes of a group may use together.
type Limits struct {
	CPUs   float64 // cores; 0 = unlimited
	Memory int64   // bytes of main memory, and none of swap; 0 = unlimited
}

// Usage is what the processes of a group have used so far, by the kernel's account.
type Usage struct {
	Periods       uint64        // of 100 ms, in which they wanted to run
	Throttled     uint64        // of these, in which they used up their CPU and had to wait
	ThrottledTime time.Duration // that they waited so, summed over cores
	MemoryPeak    int64         // bytes, page cache included; 0 = not known
	LimitHits     uint64        // how often the memory limit was reached; the kernel first tries to free some
	Kills         uint64        // processes ended by the kernel for want of memory
	KillsKnown    bool          // kernels before 4.13 do not count Kills in version 1
}

// period is that of CPU quotas, the kernel's default.
const period = 100 * time.Millisecond

// least is the smallest quota that the kernel takes: 1 ms of a period.
const least = 0.01

// file is a control file and what is written to it.
type file struct {
	name, content string
	optional      bool // where the kernel was built without it, it is left out
}

// cpuFiles sets the quota (cgroup-v2: "cpu.max"; version 1: sched-bwc, "cpu.cfs_*").
func cpuFiles(version int, cpus float64) []file {
	if cpus == 0 {
		return nil
	}
	us := strconv.FormatInt(period.Microseconds(), 10)
	quota := strconv.FormatInt(int64(cpus*float64(period.Microseconds())+0.5), 10)
	if version == 2 {
		return []file{{name: "cpu.max", content: quota + " " + us}}
	}
	return []file{{name: "cpu.cfs_period_us", content: us}, {name: "cpu.cfs_quota_us", content: quota}}
}

// memoryFiles sets the limit and forbids swap. In version 2 all processes of a group are killed together: a broker of
// several processes is not to live on as half of one. In version 1 memory and swap together have a limit of their own,
// which some kernels lack; with a swappiness of 0 a group does not swap either.
func memoryFiles(version int, bytes int64) []file {
	if bytes == 0 {
		return nil
	}
	n := strconv.FormatInt(bytes, 10)
	if version == 2 {
		return []file{
			{name: "memory.max", content: n},
			{name: "memory.swap.max", content: "0", optional: true},
			{name: "memory.oom.group", content: "1", optional: true},
		}
	}
	return []file{
		{name: "memory.swappiness", content: "0", optional: true},
		{name: "memory.limit_in_bytes", content: n},
		{name: "memory.memsw.limit_in_bytes", content: n, optional: true},
	}
}

// parseQuota reads cpu.max, or cpu.cfs_quota_us and cpu.cfs_period_us with a space between: cores; 0 = unlimited.
func parseQuota(text string) (float64, error) {
	words := strings.Fields(text)
	if len(words) != 2 {
		return 0, fmt.Errorf("%q is no CPU quota", text)
	}
	if words[0] == "max" || words[0] == "-1" {
		return 0, nil
	}
	quota, err1 := strconv.ParseUint(words[0], 10, 63)
	per, err2 := strconv.ParseUint(words[1], 10, 63)
	if err1 != nil || err2 != nil || per == 0 {
		return 0, fmt.Errorf("%q is no CPU quota", text)
	}
	return float64(quota) / float64(per), nil
}

// unlimited is above every memory limit of version 1, whose "none" is the largest number of whole pages.
const unlimited = 1 << 62

// parseBytes reads a memory limit; 0 = unlimited.
func parseBytes(text string) (int64, error) {
	text = strings.TrimSpace(text)
	if text == "max" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is no amount of memory", text)
	}
	if n >= unlimited {
		return 0, nil
	}
	return n, nil
}

// parseStat reads lines of a name and a number; others are left out.
func parseStat(text string) map[string]uint64 {
	values := map[string]uint64{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 2 {
			continue
		}
		if n, err := strconv.ParseUint(words[1], 10, 64); err == nil {
			values[words[0]] = n
		}
	}
	return values
}

// throttling takes over cpu.stat, whose times are in µs in version 2 and in ns in version 1.
func (u *Usage) throttling(stat map[string]uint64) {
	u.Periods, u.Throttled = stat["nr_periods"], stat["nr_throttled"]
	u.ThrottledTime = time.Duration(stat["throttled_usec"])*time.Microsecond + time.Duration(stat["throttled_time"])
}
