package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/netns"
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
	if _, contained := i.vessel.(*box); i.site == nil && !contained {
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
	if err := errors.Join(err, i.halt()); err != nil {
		return err
	}
	<-i.exited // closed by now, or in a moment
	i.down = true
	return nil
}

// halt ends what is left of the broker at once, so that it can be started again.
func (i *Instance) halt() error {
	c, contained := i.vessel.(*box)
	if !contained {
		return i.sweep()
	}
	select {
	case <-i.done:
		return nil
	default:
	}
	err := c.halt()
	select {
	case <-i.done:
	case <-time.After(reapLimit):
		err = errors.Join(err, fmt.Errorf("%s could not be ended", i.name))
	}
	return err
}

// rerun runs the broker again where it ran before.
func (i *Instance) rerun(ctx context.Context) (place netns.Place, first <-chan string, err error) {
	if c, contained := i.vessel.(*box); contained {
		return netns.Host, nil, c.run(ctx, i)
	}
	first, err = i.run(i.site)
	return i.site.place, first, err
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
	place, first, err := i.rerun(ctx)
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
		if err := i.answers(ctx, limited, place, l); err != nil {
			return err
		}
	}
	return nil
}
