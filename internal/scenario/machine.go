package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Machine is what the broker may use of this host at most. The zero value is all of it.
type Machine struct {
	Name   string  // as written, spaces and order made one
	CPUs   float64 // cores
	Memory int64   // bytes of main memory; no swap
	Files  int     // open files of each process
}

// Bounds of machines.
const (
	machineFiles  = 300_000 // if no number is written
	maxFiles      = 1 << 20 // the kernel's own, fs.nr_open
	minCPUs       = 0.01
	maxCPUs       = 1024
	minMemory     = 1 << 20
	maxMemory     = 1 << 50
	machineAsText = "write 1cpu-2gb, 2cpu-4gb, 4cpu-8gb, {cpus: 1.5, memory: 512MiB, files: 300000}, or host"
)

// machines are the ones with a name: what small edge computers have. 2 GB is 2 GiB, as container engines count.
var machines = []Machine{
	{"1cpu-2gb", 1, 2 << 30, machineFiles},
	{"2cpu-4gb", 2, 4 << 30, machineFiles},
	{"4cpu-8gb", 4, 8 << 30, machineFiles},
}

// machineParts are the keys of a machine that is written out.
var machineParts = []string{"cpus", "memory", "files"}

// parseMachine reads a name, or the parts {cpus: 1.5, memory: 512MiB, files: 300000}, of which any may be left out. host
// is the whole host.
func parseMachine(text string) (Machine, error) {
	text = strings.TrimSpace(text)
	if text == "host" {
		return Machine{}, nil
	}
	if i := slices.IndexFunc(machines, func(m Machine) bool { return m.Name == text }); i >= 0 {
		return machines[i], nil
	}
	inner, opened := strings.CutPrefix(text, "{")
	inner, closed := strings.CutSuffix(inner, "}")
	if !opened || !closed {
		return Machine{}, fmt.Errorf("%q is no machine: %s", text, machineAsText)
	}
	m := Machine{Files: machineFiles}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(inner, ",") {
		key, value, ok := strings.Cut(part, ":")
		key = strings.TrimSpace(key)
		switch {
		case !ok:
			return Machine{}, fmt.Errorf("%q is no machine: %s", text, machineAsText)
		case seen[key]:
			return Machine{}, fmt.Errorf("%s is written twice", key)
		}
		seen[key] = true
		if err := m.part(key, strings.TrimSpace(value)); err != nil {
			return Machine{}, err
		}
	}
	if m.CPUs == 0 && m.Memory == 0 && !seen["files"] {
		return Machine{}, fmt.Errorf("%q limits nothing: %s", text, machineAsText)
	}
	m.Name = m.name()
	return m, nil
}

// part reads one part of a machine.
func (m *Machine) part(key, value string) (err error) {
	switch key {
	case "cpus":
		m.CPUs, err = strconv.ParseFloat(value, 64)
		if err != nil || !(m.CPUs >= minCPUs && m.CPUs <= maxCPUs) {
			return fmt.Errorf("cpus: %q is no number of cores from %g to %d", value, minCPUs, maxCPUs)
		}
		m.CPUs = math.Round(m.CPUs*1000) / 1000
	case "memory":
		if m.Memory, err = parseBytes(value, maxMemory); err == nil && m.Memory < minMemory {
			err = fmt.Errorf("%q is too little: at least 1MiB", value)
		}
		if err != nil {
			return fmt.Errorf("memory: %w", err)
		}
	case "files":
		m.Files, err = strconv.Atoi(value)
		if err != nil || m.Files < 16 || m.Files > maxFiles {
			return fmt.Errorf("files: %q is no number from 16 to %d", value, maxFiles)
		}
	default:
		return fmt.Errorf("a machine has no %q; %s", key, Suggest(key, machineParts))
	}
	return nil
}

// name writes a machine that has no name of its own.
func (m *Machine) name() string {
	var parts []string
	if m.CPUs > 0 {
		parts = append(parts, "cpus: "+strconv.FormatFloat(m.CPUs, 'f', -1, 64))
	}
	if m.Memory > 0 {
		parts = append(parts, "memory: "+sizeText(m.Memory))
	}
	if m.Files != machineFiles || len(parts) == 0 {
		parts = append(parts, "files: "+strconv.Itoa(m.Files))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// sizeText writes a number of bytes in the largest binary unit of which it is a whole number.
func sizeText(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}
