package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/run"
)

func describeSystem(h *run.Host) {
	h.Kernel = firstLine("/proc/sys/kernel/osrelease")
	h.CPUModel = cpuModel()
	h.ClockSource = firstLine("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	h.CongestionControl = firstLine("/proc/sys/net/ipv4/tcp_congestion_control")
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		h.MemoryBytes = uint64(info.Totalram) * uint64(info.Unit)
	}
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if key, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// openFiles is how many files this process may have open, raised to what the system allows.
func openFiles() (uint64, bool) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0, false
	}
	return limit.Max, true // the Go runtime raises the soft limit at start
}

// freePorts is the size of the range that outgoing connections take their local port from.
func freePorts() (int, bool) {
	var low, high int
	if _, err := fmt.Sscan(firstLine("/proc/sys/net/ipv4/ip_local_port_range"), &low, &high); err != nil {
		return 0, false
	}
	return high - low + 1, true
}
