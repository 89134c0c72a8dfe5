package clients

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/agent"
)

// isolate keeps this thread, the sender's, on the first of our cores and finds a place for clients on the last, both before everything
// that is not real-time where that is allowed. The function it returns undoes that.
func isolate() (release func(), i Isolation, place agent.Place) {
	runtime.LockOSThread()
	place = agent.Anywhere
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil || all.Count() < 2 {
		return runtime.UnlockOSThread, Isolation{Why: "there is one core only"}, place
	}
	first, last := -1, -1
	for cpu := range len(all) * 64 {
		if all.IsSet(cpu) {
			last = cpu
			if first < 0 {
				first = cpu
			}
		}
	}
	var own unix.CPUSet
	own.Set(first)
	if err := unix.SchedSetaffinity(0, &own); err != nil {
		return runtime.UnlockOSThread, Isolation{Why: os.NewSyscallError("sched_setaffinity", err).Error()}, place
	}
	i.Pinned, i.cores, place.Core = true, []int{first, last}, last
	if err := agent.RealTime(0); err != nil {
		i.Why = "without real-time priority other programs disturb the clients: " + err.Error()
	} else {
		i.RealTime, place.RealTime = true, true
	}
	return func() {
		if i.RealTime {
			_ = agent.Ordinary(0)
		}
		_ = unix.SchedSetaffinity(0, &all)
		runtime.UnlockOSThread()
	}, i, place
}
