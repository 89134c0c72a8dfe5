package broker

import (
	"context"
	"errors"
	"fmt"
)

// Roots are the roots of the broker's process tree now.
func (i *Instance) Roots() []int {
	i.life.Lock()
	defer i.life.Unlock()
	return i.PIDs
}

// Down ends the broker in the middle of a trial: in order (SIGTERM), or at once (SIGKILL to all its processes), as a crash would.
// Its folder, and so what it has on disk, stays for Up. An end that is not orderly is an error where order was asked for.
func (i *Instance) Down(ctx context.Context, atOnce bool) error {
	if i.site == nil {
		return fmt.Errorf("%s is not ours to be ended", i.name)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	select {
	case <-i.done:
		return fmt.Errorf("%s cannot be ended: it %s", i.name, i.end)
	default:
	}
	i.stopping.Store(true)
	var err error
	if !atOnce {
		err = i.terminate(ctx)
	}
	if err := errors.Join(err, i.sweep()); err != nil {
		return err
	}
	<-i.exited // closed by now, or in a moment
	i.down = true
	return nil
}

// Up starts a broker again that was ended by Down, with the same configuration, folder and address, and returns when it
// answers.
func (i *Instance) Up(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case !i.down || i.stopped:
		return fmt.Errorf("%s was not ended before", i.name)
	case i.program.again != nil:
		i.program.args = i.program.again(i.listeners)
	}
	i.life.Lock()
	i.done, i.exited = make(chan struct{}), make(chan error, 1)
	i.life.Unlock()
	i.end = exit{}
	i.stopping.Store(false)
	first, err := i.run(i.site)
	if err != nil {
		return fmt.Errorf("%s cannot be run again: %w", i.name, err)
	}
	i.down = false
	limited, cancel := context.WithTimeout(ctx, i.program.patience)
	defer cancel()
	if first != nil {
		if _, err := i.announced(ctx, limited, first); err != nil {
			return err
		}
	}
	for _, l := range i.listeners {
		if err := i.answers(ctx, limited, i.site.place, l); err != nil {
			return err
		}
	}
	return nil
}
