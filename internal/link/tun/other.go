//go:build !linux

package tun

import (
	"context"
	"errors"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/netns"
)

var errNotHere = errors.New("backend tun: this system has no network namespaces; it takes Linux")

// Network is a link between two network namespaces. On this system there is none.
type Network struct{}

// Open says that this system has no network namespaces.
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

// DownWay says the same.
func (*Network) DownWay(link.Direction, bool) error { return errNotHere }

// Schedule says the same.
func (*Network) Schedule([]link.Outage) error { return errNotHere }

// Counters returns nothing.
func (*Network) Counters() (up, down link.Counters) { return up, down }

// Packets does nothing.
func (*Network) Packets(func(link.Direction, int64, int)) {}

// Observe does nothing.
func (*Network) Observe(link.Observer) {}

// Facts returns nothing.
func (*Network) Facts() link.Facts { return link.Facts{} }

// Close does nothing.
func (*Network) Close() error { return nil }

// Rootless says that this system has no network namespaces.
func Rootless() (code int, again bool, err error) { return 0, false, errNotHere }
