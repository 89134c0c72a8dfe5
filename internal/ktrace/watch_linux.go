package ktrace

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Watcher notes when threads of a process are woken and their system calls come back.
type Watcher struct {
	fds   []int
	rings [][]byte
	kinds map[uint64]Kind // by the kernel's number of the event
	woken int             // where a wake-up has the number of the thread
}

// ringPages are those of a ring, a power of two; a system call takes 32 bytes, a wake-up about 80.
const ringPages = 256

// mostFiles bounds how many events are opened: one for each thread and core.
const mostFiles = 500

// What the kernel is to tell of each event.
const (
	ofCalls   = unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME
	ofWakeUps = ofCalls | unix.PERF_SAMPLE_RAW
)

// Watch begins to watch all threads of a process, on the cores where it and those run that have something for it; nil = all that we may
// use. The kernel keeps what it sees until Events.
func Watch(pid int, cpus []int) (*Watcher, error) {
	list, err := threads(pid)
	if err != nil {
		return nil, err
	}
	l, err := points()
	if err != nil {
		return nil, err
	}
	if cpus == nil {
		cpus = usable()
	}
	if n := len(list) * len(cpus); n > mostFiles {
		return nil, fmt.Errorf("%d threads on %d cores are too many to watch", len(list), len(cpus))
	}
	w := &Watcher{kinds: map[uint64]Kind{}, woken: l.woken}
	for _, cpu := range cpus {
		if err := w.watch(list, cpu); err != nil {
			w.Close()
			return nil, err
		}
	}
	return w, nil
}

// watch watches threads on one core. Wake-ups are seen where those run that wake: of all that are woken there, only these threads are kept.
func (w *Watcher) watch(threads []int, cpu int) error {
	ring, err := w.add(waking, -1, cpu, ofWakeUps, Woken)
	if err != nil {
		return err
	}
	var filter []string
	for _, thread := range threads {
		filter = append(filter, fmt.Sprintf("pid==%d", thread))
	}
	text, err := unix.BytePtrFromString(strings.Join(filter, "||"))
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(ring), unix.PERF_EVENT_IOC_SET_FILTER, uintptr(unsafe.Pointer(text))); errno != 0 {
		return os.NewSyscallError("PERF_EVENT_IOC_SET_FILTER", errno)
	}
	memory, err := unix.Mmap(ring, 0, (1+ringPages)*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return os.NewSyscallError("mmap of a perf ring", err)
	}
	w.rings = append(w.rings, memory)
	for _, thread := range threads {
		fd, err := w.add(callEnds, thread, cpu, ofCalls, Return)
		if err != nil {
			return err
		}
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, ring); err != nil {
			return os.NewSyscallError("PERF_EVENT_IOC_SET_OUTPUT", err)
		}
	}
	return nil
}

// add opens one event.
func (w *Watcher) add(point string, thread, cpu int, sample uint64, kind Kind) (fd int, err error) {
	if fd, err = open(point, thread, cpu, sample); err != nil {
		return -1, err
	}
	w.fds = append(w.fds, fd)
	var id uint64
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_ID, uintptr(unsafe.Pointer(&id))); errno != 0 {
		return -1, os.NewSyscallError("PERF_EVENT_IOC_ID", errno)
	}
	w.kinds[id] = kind
	return fd, nil
}

func usable() (cpus []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(os.Getpid(), &set) == nil {
		for cpu := range len(set) * 64 {
			if set.IsSet(cpu) {
				cpus = append(cpus, cpu)
			}
		}
	}
	return cpus
}

// Events are those seen since Watch or the last call, in the order of time, and how many there was no room for.
func (w *Watcher) Events() (list []Event, lost uint64) {
	for _, ring := range w.rings {
		var n uint64
		list, n = w.drain(ring, list)
		lost += n
	}
	slices.SortStableFunc(list, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return list, lost
}

// drain reads one ring (perf_event_open(2), "MMAP layout").
func (w *Watcher) drain(ring []byte, list []Event) (_ []Event, lost uint64) {
	page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&ring[0]))
	data := ring[os.Getpagesize():]
	head, tail := atomic.LoadUint64(&page.Data_head), page.Data_tail
	var record [256]byte
	ne := binary.NativeEndian
	for tail < head {
		for i := range record {
			record[i] = data[(tail+uint64(i))%uint64(len(data))]
		}
		size := ne.Uint16(record[6:])
		if size < 8 {
			break
		}
		switch ne.Uint32(record[:]) {
		case unix.PERF_RECORD_SAMPLE:
			list = append(list, w.sample(record[8:]))
		case unix.PERF_RECORD_LOST:
			lost += ne.Uint64(record[16:])
		}
		tail += uint64(size)
	}
	atomic.StoreUint64(&page.Data_tail, tail)
	return list, lost
}

// sample reads a record of an event: its number, process and thread, time, and of a wake-up its size and fields.
func (w *Watcher) sample(b []byte) Event {
	ne := binary.NativeEndian
	e := Event{Kind: w.kinds[ne.Uint64(b)], Thread: int(ne.Uint32(b[12:])), At: int64(ne.Uint64(b[16:]))}
	if e.Kind == Woken {
		e.Thread = int(ne.Uint32(b[28+w.woken:]))
	}
	return e
}

// Close ends watching.
func (w *Watcher) Close() {
	for _, ring := range w.rings {
		_ = unix.Munmap(ring)
	}
	for _, fd := range w.fds {
		_ = unix.Close(fd)
	}
	w.rings, w.fds = nil, nil
}
