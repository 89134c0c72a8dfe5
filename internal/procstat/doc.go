// Package procstat reads what the kernel has counted for a process and its threads (proc(5); Linux).
package procstat
