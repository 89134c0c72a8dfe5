package guard

import (
	"fmt"
	"os"
)

// Identity names this process so that another one can tell later whether it is gone: host, process id, time of start. It
// is what marks things that neither a process nor a folder is, such as containers.
func Identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "-"
	}
	return fmt.Sprintf("%s %d %d", host, os.Getpid(), startOf(os.Getpid()))
}

// Gone tells whether the process of an Identity was one of this host and has ended. It is false where that is not known.
func Gone(identity string) bool {
	var host string
	var pid int
	var started uint64
	if n, err := fmt.Sscanf(identity, "%s %d %d", &host, &pid, &started); n != 3 || err != nil || started == 0 {
		return false
	}
	here, err := os.Hostname()
	return err == nil && host == here && startOf(pid) != started
}
