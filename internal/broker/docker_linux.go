package broker

import (
	"fmt"
	"os"
	"strings"
)

// visible tells whether pid, as the engine numbers it, is the container id in the /proc of this host: an engine in a
// virtual machine has processes of its own.
func visible(pid int, id string) bool {
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	return err == nil && id != "" && strings.Contains(string(groups), id)
}
