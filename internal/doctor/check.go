package doctor

import (
	"fmt"
	"math"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/summary"
)

// Need is what a plan needs of something that the host has a limit of.
type Need struct {
	What   string `json:"what"`
	Limit  string `json:"limit"` // what the system calls it
	Need   uint64 `json:"need"`
	Have   uint64 `json:"have"`
	Bytes  bool   `json:"bytes,omitempty"`  // of memory, not a number of things
	Change string `json:"change,omitempty"` // a command that raises the limit; empty: there is none
}

// Fits reports whether the host has enough.
func (n *Need) Fits() bool { return n.Need <= n.Have }

// Problem is a limit of this host that a plan would break.
type Problem struct{ Need }

// String is one line: what the plan needs, what the host offers, and what to do.
func (p *Problem) String() string {
	remedy := "use fewer connections"
	if p.Change != "" {
		remedy = p.Change + " (or " + remedy + ")"
	}
	return "the plan " + p.Short() + ": " + remedy
}

// Short is the same without the remedy.
func (p *Problem) Short() string {
	what := p.What
	if p.Bytes {
		what = "of " + what
	}
	return fmt.Sprintf("needs %s %s, but %s offers %s", p.Amount(p.Need.Need), what, p.Limit, p.Amount(p.Have))
}

// Amount writes a number or a size.
func (n *Need) Amount(v uint64) string {
	if n.Bytes {
		return summary.Bytes(v)
	}
	return summary.Count(v)
}

const (
	ownFiles    = 64   // that mqlab, or a broker, has open besides connections: run folder, epoll, pipes, the runtime
	socketBytes = 5000 // of kernel memory that one end of an idle TCP connection takes; measured on Linux 6
	widestRange = 65535 - 1024 + 1
)

// Needs says what a plan needs of this host's limits, as far as these are known.
func Needs(e plan.Estimate, f Facts) []Need {
	var needs []Need
	if o := f.OpenFiles; o != nil {
		limit := func(what string, n int) {
			files := uint64(n) + ownFiles
			needs = append(needs, Need{What: what, Limit: "ulimit -n", Need: files, Have: o.Process, Change: raiseOpenFiles(files, o, f.OS)})
		}
		limit("open files", e.OpenFiles)
		if e.BrokerFiles > e.OpenFiles {
			limit("open files in a broker", e.BrokerFiles)
		}
		files := uint64(e.Connections) + uint64(max(e.Generators, 1))*(ownFiles+1)
		if e.BrokerStarts > 0 {
			files *= 2 // the broker has the other ends
		}
		if free := o.System - min(o.System, o.InUse); o.System > 0 {
			needs = append(needs, Need{
				What: "open files (all)", Limit: "fs.file-max", Need: files, Have: free,
				Change: fmt.Sprintf("sudo sysctl -w fs.file-max=%d", o.InUse+files),
			})
		}
	}
	ports := uint64(e.Ports)
	if f.OS == "linux" {
		ports = uint64(e.PortsAway) // those towards loopback come from as many source addresses as it takes
	}
	if p := f.Ports; p != nil && ports > 0 {
		needs = append(needs, Need{What: "local ports", Limit: portRange(f.OS), Need: ports, Have: p.Free(), Change: widenPorts(ports, f.OS)})
	}
	if have, ok := f.memory(); ok {
		ends := uint64(e.Connections)
		if e.BrokerStarts > 0 {
			ends *= 2
		}
		needs = append(needs, Need{What: "socket memory", Limit: "this host", Need: ends * socketBytes, Have: have, Bytes: true})
	}
	return needs
}

// onTheirWay is how many connections have a second descriptor while they are being made: as many as are made at one time.
const onTheirWay = 64

// Sockets is how many connections one process of mqlab can have here; 0 = not known.
func (f *Facts) Sockets() int {
	const spare = ownFiles + onTheirWay + 1
	if f.OpenFiles == nil || f.OpenFiles.Process <= spare {
		return 0
	}
	return int(min(f.OpenFiles.Process, math.MaxInt32)) - spare
}

// Check names the limits that a plan would break.
func Check(e plan.Estimate, f Facts) []Problem {
	var problems []Problem
	for _, n := range Needs(e, f) {
		if !n.Fits() {
			problems = append(problems, Problem{n})
		}
	}
	return problems
}

// memory is what may still be used.
func (f *Facts) memory() (bytes uint64, known bool) {
	if f.Memory == nil {
		return 0, false
	}
	if f.Memory.Limit > 0 {
		return min(f.Memory.Available, f.Memory.Limit), true
	}
	return f.Memory.Available, true
}

// raiseOpenFiles lets a shell, and what is started from it, have n open files.
func raiseOpenFiles(n uint64, o *OpenFiles, system string) string {
	if system != "linux" {
		return fmt.Sprintf("ulimit -n %d", n)
	}
	raise := fmt.Sprintf("sudo prlimit --pid $$ --nofile=%d", n)
	if o.Ceiling > 0 && n > o.Ceiling {
		raise = fmt.Sprintf("sudo sysctl -w fs.nr_open=%d && %s", n, raise)
	}
	return raise
}

func portRange(system string) string {
	if system == "darwin" {
		return "net.inet.ip.portrange"
	}
	return "net.ipv4.ip_local_port_range"
}

// widenPorts makes more local ports, or is empty where there are not that many.
func widenPorts(n uint64, system string) string {
	switch {
	case n > widestRange:
		return ""
	case system == "darwin":
		return "sudo sysctl -w net.inet.ip.portrange.first=1024"
	}
	return `sudo sysctl -w net.ipv4.ip_local_port_range="1024 65535"`
}
