//go:build !linux

package ktrace

import "errors"

var errElsewhere = errors.New("the kernel's events are read on Linux only")

// Counter is not there.
type Counter struct{}

// Count fails.
func Count(int) (*Counter, error) { return nil, errElsewhere }

// Calls is 0.
func (*Counter) Calls() uint64 { return 0 }

// Close does nothing.
func (*Counter) Close() {}

// Watcher is not there.
type Watcher struct{}

// Watch fails.
func Watch(int, []int) (*Watcher, error) { return nil, errElsewhere }

// Events is nil.
func (*Watcher) Events() ([]Event, uint64) { return nil, 0 }

// Close does nothing.
func (*Watcher) Close() {}
