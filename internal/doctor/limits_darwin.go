package doctor

import "golang.org/x/sys/unix"

func readLimits(f *Facts) {
	f.Kernel, _ = unix.Sysctl("kern.osrelease")
	f.CPUModel, _ = unix.Sysctl("machdep.cpu.brand_string")
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) == nil {
		f.OpenFiles = &OpenFiles{Process: l.Cur} // the runtime has raised it as far as the kernel allows
	}
	low, err1 := unix.SysctlUint32("net.inet.ip.portrange.first")
	high, err2 := unix.SysctlUint32("net.inet.ip.portrange.last")
	if err1 == nil && err2 == nil && high >= low {
		f.Ports = &Ports{Low: uint64(low), High: uint64(high)}
	}
	if n, err := unix.SysctlUint32("kern.ipc.somaxconn"); err == nil {
		f.Backlog = new(uint64(n))
	}
}
