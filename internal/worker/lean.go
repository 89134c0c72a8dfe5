package worker

import (
	"runtime"
	"runtime/debug"
	"strconv"
)

// leanFrom is from how many connections on a process goes on without what only the start needed. With fewer it is small anyway.
const leanFrom = 1000

// lean gives back to the system what only the start needed: garbage, and the pages of the program's own file that were read
// then, of which those that are at work are mapped again from the system's cache at their next use. It comes between
// connecting and the schedule, so that no message waits for it.
func (w *Local) lean() {
	if len(w.clients) < leanFrom {
		return
	}
	before, _ := resident()
	runtime.GC() // the first leaves what pools and dead goroutines hold
	debug.FreeOSMemory()
	unmapProgram()
	if after, ok := resident(); ok && after < before {
		w.facts.Settings = append(w.facts.Settings, "returned_after_connecting_bytes="+strconv.FormatUint(before-after, 10))
	}
}
