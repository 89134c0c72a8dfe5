//go:build !linux

package netem

import (
	"context"
	"errors"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/netns"
)

var errNotHere = errors.New("backend netem: this system has no sch_netem; it takes Linux")

// Network is a link of the kernel's. On this system there is none.
type Network struct{}

// Open says that this system has no sch_netem.
func Open(context.Context, link.Config) (*Network, error) { return nil, errNotHere }

// Supported says the same.
func Supported() error { return errNotHere }

// Device returns nil.
func (*Network) Device() netns.Place { return nil }

// Broker returns nil.
func (*Network) Broker() netns.Place { return nil }

// Change says that there is nothing to change.
func (*Network) Change(_, _ link.Params) error { return errNotHere }

// Down says that there is nothing to end.
func (*Network) Down(bool) error { return errNotHere }

// Counters returns nothing.
func (*Network) Counters() (up, down link.Counters) { return up, down }

// Facts returns nothing.
func (*Network) Facts() link.Facts { return link.Facts{} }

// Close does nothing.
func (*Network) Close() error { return nil }
