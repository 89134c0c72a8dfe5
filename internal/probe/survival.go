package probe

import (
	"context"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
)

const notOurs = "it needs a restart, and this broker was not started by mqlab"

// survivalLimit is for a restart and what is done before and after; brokers in Java or Erlang take ten seconds.
const survivalLimit = 25 * time.Second

// survival are the steps that end the broker, by SIGTERM and by SIGKILL, and start it again. look says what is left then of what
// it stored before, and how, with %s for the signal, what is done.
func (l *lab) survival(how string, look func(ctx context.Context, question string, kill bool) ([]Answer, error)) (steps []step) {
	for _, end := range []struct {
		question, signal string
		kill             bool
	}{{AskTerm, "SIGTERM", false}, {AskKill, "SIGKILL", true}} {
		do := func(ctx context.Context) ([]Answer, error) {
			if why := l.whyNoRestart(); why != "" {
				return []Answer{undecided(end.question, "%s", why)}, nil
			}
			return look(ctx, end.question, end.kill)
		}
		steps = append(steps, step{[]string{end.question}, fmt.Sprintf(how, end.signal), survivalLimit, do})
	}
	return steps
}

// whyNoRestart says what forbids to restart the broker; empty = nothing.
func (l *lab) whyNoRestart() string {
	switch {
	case l.restart == nil:
		return notOurs
	case l.lost != nil:
		return l.lost.Error()
	}
	return ""
}

// restarted ends the broker, starts it again, and waits until it can be greeted.
func (l *lab) restarted(ctx context.Context, kill bool, greet func() error) error {
	if err := l.restart(ctx, kill); err != nil {
		l.lost = fmt.Errorf("restart: %w", err)
		return l.lost
	}
	for {
		err := greet()
		if err == nil {
			return nil
		}
		if clock.Pause(ctx, 50*time.Millisecond) != nil {
			return fmt.Errorf("the broker is not back: %w", err)
		}
	}
}

// reopened ends the broker, starts it again, and waits until it accepts the connection that open opens.
func (l *lab) reopened(ctx context.Context, kill bool, open func() (*peer, error)) error {
	return l.restarted(ctx, kill, func() error {
		p, err := open()
		if err == nil {
			p.close()
		}
		return err
	})
}

// survivalMessages are published to a receiver that is away before the broker is ended.
const survivalMessages = 10

// survivalSeen is what was left after the broker had ended and begun again.
type survivalSeen struct {
	question string
	session  bool
	sent     int
	queued   int // of sent messages for the session
	retained bool
}

func (s *survivalSeen) answer() Answer {
	evidence := fmt.Sprintf("left: session %s, %d of %d queued messages, retained message %s",
		yesNo(s.session), s.queued, s.sent, yesNo(s.retained))
	value := "partly"
	switch {
	case s.session && s.queued == s.sent && s.retained:
		value = "yes"
	case !s.session && s.queued == 0 && !s.retained:
		value = "no"
	}
	return decided(s.question, value, "%s", evidence).with("queued", int64(s.queued)).with("sent", int64(s.sent))
}

// logSeen is how many of the entries of a stream or queue were left.
type logSeen struct {
	question   string
	what       string
	sent, left int
}

func (s *logSeen) answer() Answer {
	value := "partly"
	switch s.left {
	case s.sent:
		value = "yes"
	case 0:
		value = "no"
	}
	return decided(s.question, value, "left: %d of %d %s", s.left, s.sent, s.what).with("left", int64(s.left)).with("sent", int64(s.sent))
}
