//go:build !linux

package probe

import (
	"context"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/guard"
)

// Respawn is not possible here: how a process was started cannot be read.
func Respawn(*broker.Instance, *guard.Guard) (restart func(ctx context.Context, kill bool) (string, error), done func() error) {
	return nil, func() error { return nil }
}
