package netem

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ethtoolValue is the structure that SIOCETHTOOL takes for one setting (ethtool_value of linux/ethtool.h).
type ethtoolValue struct{ command, data uint32 }

// ethtoolRequest is struct ifreq with a pointer (netdevice(7)).
type ethtoolRequest struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [24 - unsafe.Sizeof(uintptr(0))]byte
}

// wholePackets switches off what makes a device of the calling thread's namespace carry other packets than a wire would: segments that
// are cut later, received ones that are put together, and checksums that are filled in later.
func wholePackets(device string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	var errs []error
	for _, command := range []uint32{unix.ETHTOOL_STSO, unix.ETHTOOL_SGSO, unix.ETHTOOL_SGRO, unix.ETHTOOL_STXCSUM} {
		value := ethtoolValue{command: command}
		request := ethtoolRequest{data: unsafe.Pointer(&value)}
		copy(request.name[:unix.IFNAMSIZ-1], device)
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
		if e != 0 && e != unix.EOPNOTSUPP {
			errs = append(errs, fmt.Errorf("ethtool setting %#x: %w", command, e))
		}
	}
	return errors.Join(append(errs, unix.Close(fd))...)
}
