package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/netns"
)

// readLimits asks for what stands in no file, or stands there for this process.
func readLimits(f *Facts) {
	root := os.DirFS("/")
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return
	}
	f.OpenFiles = &OpenFiles{Process: l.Max}
	f.OpenFiles.Ceiling, _ = number(firstLine(root, "proc/sys/fs/nr_open"))
	if words := strings.Fields(firstLine(root, "proc/sys/fs/file-nr")); len(words) == 3 {
		f.OpenFiles.InUse, _ = number(words[0])
		f.OpenFiles.System, _ = number(words[2])
	}
}

// probe tries things out. Nothing of it stays.
func probe(ctx context.Context, f *Facts) {
	f.WallClock = wallClockNow()
	f.IOUring = probeIOUring(firstLine(os.DirFS("/"), "proc/sys/kernel/io_uring_disabled"))
	f.UserNetworks = probeUserNetworks(ctx)
	f.TUN = probeTUN()
	f.KernelTimes = probeKernelTimes(ctx)
	for i := range f.Cgroups {
		f.Cgroups[i].Writable = new(unix.Access(f.Cgroups[i].Dir, unix.W_OK) == nil)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with what it has changed
		if slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err == nil {
			f.TimerSlack = new(int64(slack))
		}
		f.WakeUps = measureWakeUps(ctx)
		f.RealTime = probeRealTime()
	}()
	<-done
}

// wallClockNow reads the state of the kernel's clock (adjtimex(2)).
func wallClockNow() *WallClock {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return nil
	}
	return &WallClock{Synchronised: state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, MaxError: int64(t.Maxerror) * 1000}
}

// probeIOUring makes a ring. Disabled is kernel.io_uring_disabled: 1 for users without privilege, 2 for everybody.
func probeIOUring(disabled string) *Ability {
	var params [120]byte // struct io_uring_params, all zero
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params[0])), 0)
	switch {
	case errno == 0:
		return able(unix.Close(int(fd)))
	case disabled != "" && disabled != "0":
		return &Ability{Why: "kernel.io_uring_disabled is " + disabled}
	case errno == unix.EPERM:
		return &Ability{Why: "a seccomp filter forbids it, as containers do"}
	case errno == unix.ENOSYS:
		return &Ability{Why: "the kernel has none, or a seccomp filter hides it"}
	}
	return able(fmt.Errorf("io_uring_setup: %w", errno))
}

// probeUserNetworks starts a program in a network namespace of its own without privilege.
func probeUserNetworks(ctx context.Context) *Ability {
	cmd := netns.Host.Command(ctx, "true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET}
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return nil
	}
	return able(err)
}

const capNetAdmin = 12 // capabilities(7)

func probeTUN() *Ability {
	dev, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		return able(err)
	}
	_ = dev.Close() // nothing was made
	var set uint64
	if _, err := fmt.Sscanf(labelled(os.DirFS("/"), "proc/self/status", "CapEff"), "%x", &set); err != nil {
		return nil
	}
	if set>>capNetAdmin&1 == 0 {
		return &Ability{Why: "this user may not administer networks (CAP_NET_ADMIN)"}
	}
	return &Ability{OK: true}
}

// wakes is how often the host is asked to wake a sleeper.
const wakes = 50

// measureWakeUps sleeps as the event loops do: in epoll_pwait2, on a thread with the least timer slack.
func measureWakeUps(ctx context.Context) *WakeUps {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return &WakeUps{Why: "timer slack: " + err.Error()}
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return &WakeUps{Why: "epoll: " + err.Error()}
	}
	defer func() { _ = unix.Close(epoll) }()
	var w WakeUps
	var event unix.EpollEvent
	for len(w.Late) < wakes && ctx.Err() == nil {
		const sleep = int64(2 * time.Millisecond)
		ts := unix.NsecToTimespec(sleep)
		due := clock.Now() + sleep
		_, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(epoll), uintptr(unsafe.Pointer(&event)), 1,
			uintptr(unsafe.Pointer(&ts)), 0, 0)
		late := clock.Now() - due
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			return &WakeUps{Why: "epoll_pwait2: " + errno.Error()}
		default:
			w.Late = append(w.Late, late)
		}
	}
	slices.Sort(w.Late)
	return &w
}

// probeRealTime asks for real-time priority for the calling thread, and gives it back.
func probeRealTime() *Ability {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		return able(err)
	}
	normal := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	return able(unix.SchedSetAttr(0, &normal, 0))
}
