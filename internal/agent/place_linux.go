package agent

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// priority among real-time threads: the middle.
const priority = 50

// put puts all threads of a process in their place.
func put(pid int, p Place) error {
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return err
	}
	for _, e := range entries {
		thread, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p.Core >= 0 {
			var set unix.CPUSet
			set.Set(p.Core)
			if err := unix.SchedSetaffinity(thread, &set); err != nil {
				return os.NewSyscallError("sched_setaffinity", err)
			}
		}
		if p.RealTime {
			if err := RealTime(thread); err != nil {
				return err
			}
		}
	}
	return nil
}

// RealTime makes a thread run before everything that is not real-time (SCHED_RR). 0 = this one.
func RealTime(thread int) error {
	return os.NewSyscallError("sched_setattr", unix.SchedSetAttr(thread, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: priority}, 0))
}

// Ordinary takes that back.
func Ordinary(thread int) error {
	return os.NewSyscallError("sched_setattr", unix.SchedSetAttr(thread, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}, 0))
}
