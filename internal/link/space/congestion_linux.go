package space

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Congestion sets the algorithm by which connections in the namespace react to loss, and returns the one that they really use. A
// host that does not allow it to namespaces (net.ipv4.tcp_allowed_congestion_control) is not changed. Without a wish it is
// cubic, or reno, which every namespace may use; why says so.
func (n *Space) Congestion(want string) (used, why string, err error) {
	err = n.Do(func() error {
		tried := []string{want}
		if want == "" {
			tried = []string{"cubic", "reno"}
		}
		var refused error
		for _, name := range tried {
			refused = Set("net/ipv4/tcp_congestion_control", name)
			if refused == nil {
				break
			}
			allowed, _ := get("net/ipv4/tcp_allowed_congestion_control") // for the text only
			why = fmt.Sprintf("congestion control %s is refused (%s): net.ipv4.tcp_allowed_congestion_control of this host has %s", name, reason(refused), allowed)
		}
		if refused != nil {
			return errors.New(why)
		}
		used, err = congestionOf()
		if err == nil && want != "" && used != want {
			return fmt.Errorf("congestion control %s was set, but connections use %s", want, used)
		}
		return err
	})
	return used, why, err
}

func reason(err error) string {
	switch {
	case errors.Is(err, unix.EPERM):
		return "not allowed"
	case errors.Is(err, unix.ENOENT):
		return "not in this kernel"
	}
	return err.Error()
}

// congestionOf asks a new socket of the calling thread's namespace.
func congestionOf() (string, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("congestion control: %w", err)
	}
	name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	return name, errors.Join(err, unix.Close(fd))
}
