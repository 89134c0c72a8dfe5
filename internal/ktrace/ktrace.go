// Package ktrace sees what the kernel does for a process, without stopping it: which thread is woken when, which system call returns when,
// and how many calls there are. It needs the rights to read the kernel's tracepoints (root, or CAP_PERFMON and a mounted tracefs).
package ktrace

// Kind is what was seen.
type Kind uint8

// The kinds of events.
const (
	Woken  Kind = iota + 1 // a sleeping thread was made ready to run, by whoever has something for it
	Return                 // a system call of the thread came back
)

// Event is something that the kernel did for a thread. At is CLOCK_MONOTONIC, ns.
type Event struct {
	At     int64
	Thread int
	Kind   Kind
}
