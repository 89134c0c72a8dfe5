//go:build !linux

package monitor

import "errors"

// Monitor reports nothing on this system.
type Monitor struct{}

// New makes a monitor that reports nothing on this system.
func New(...Target) *Monitor { return &Monitor{} }

func (*Monitor) sample(func(Sample)) {}

// TCPInfo is not known on this system.
func TCPInfo(uintptr) (TCPTotals, error) { return TCPTotals{}, errors.ErrUnsupported }
