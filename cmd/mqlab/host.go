package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

// describeHost says on what a run is made.
func describeHost() run.Host {
	name, _ := os.Hostname() // unknown stays empty
	h := run.Host{
		Hostname: name, OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), GoVersion: runtime.Version(),
		GoMaxProcs: runtime.GOMAXPROCS(0), Version: version(),
	}
	describeSystem(&h)
	return h
}

// ownFiles is what this process needs besides the connections: run folder, epoll, pipes, the runtime.
const ownFiles = 64

// checkHost refuses a plan that this host's limits forbid, and names the limit: it must not be taken for the broker's.
func checkHost(p *plan.Plan) error {
	e := p.Estimate()
	limit, known := openFiles()
	if need := uint64(e.OpenFiles + ownFiles); known && need > limit {
		return fmt.Errorf("the plan needs %d open files, but this process may have %d: raise the limit (ulimit -n %d) or use fewer connections",
			need, limit, need)
	}
	if ports, known := freePorts(); known && e.Ports > ports {
		return fmt.Errorf("the plan needs %d local ports at a time, but the host offers %d: widen net.ipv4.ip_local_port_range or use fewer connections",
			e.Ports, ports)
	}
	return nil
}

// firstLine is the first line of a file, "" if it cannot be read.
func firstLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}
