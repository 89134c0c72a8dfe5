//go:build !linux

package probe

import (
	"context"
	"errors"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/guard"
)

// Respawner does not exist here.
type Respawner struct{}

var errNoRespawn = errors.New("on this system mqlab cannot read how a process was started")

// NewRespawner fails.
func NewRespawner(*broker.Instance, *guard.Guard) (*Respawner, error) { return nil, errNoRespawn }

// Restart fails.
func (*Respawner) Restart(context.Context, bool) (string, error) { return "", errNoRespawn }

// End does nothing.
func (*Respawner) End() error { return nil }
