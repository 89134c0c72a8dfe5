//go:build !linux

package probe

import (
	"errors"
	"net"
)

// delayAcks is not possible here.
func delayAcks(*net.TCPConn) error {
	return errors.New("on this system a program cannot ask for delayed acknowledgements")
}
