//go:build !linux

package alarm

// New makes the most precise alarm that this system has.
func New() (Alarm, error) { return NewCoarse() }
