package probe

import (
	"context"
	"fmt"
	"time"
)

const (
	offlineFirst = 1500 // messages for a receiver that is away; doubled as long as all arrive
	offlineBound = 12000
)

// absence is a receiver that goes away and comes back to what was kept for it.
type absence struct {
	leave func() error
	back  func() (arrived []uint64, resumed bool, err error)
}

// queued is a receiver of a queue that needs no session: whoever opens it again gets what it keeps.
func queued(open func() (*peer, error)) absence {
	return absence{
		leave: func() error {
			p, err := open()
			if err == nil {
				p.close()
			}
			return err
		},
		back: func() ([]uint64, bool, error) {
			arrived, _, err := collect(open)
			return arrived, true, err
		},
	}
}

// kept publishes so many messages to a topic while the receiver is away and returns what became of them.
func (a absence) kept(pub *peer, topic string, sent uint64) (seen offlineSeen, err error) {
	if err := a.leave(); err != nil {
		return seen, err
	}
	seen.sent = sent
	if seen.accepted, err = pub.publishAll(topic, 1, 0, sent); err != nil {
		return seen, fmt.Errorf("publish %d: %w", sent, err)
	}
	clear(pub.acked)
	if seen.arrived, seen.resumed, err = a.back(); err != nil {
		return seen, fmt.Errorf("come back: %w", err)
	}
	return seen, nil
}

// keepsMost lets ever more messages be kept, as long as all arrive and there is time.
func keepsMost(ctx context.Context, kept func(sent uint64) (offlineSeen, error)) ([]Answer, error) {
	var seen offlineSeen
	for sent := uint64(offlineFirst); sent <= offlineBound; sent *= 2 {
		var err error
		if seen, err = kept(sent); err != nil {
			return nil, err
		}
		if end, _ := ctx.Deadline(); !seen.complete() || time.Until(end) < 2*patience {
			break
		}
	}
	return []Answer{seen.answer()}, nil
}

// collect is the way back of a receiver that open opens: it takes what has been kept. The second result is what the broker
// says about its session.
func collect(open func() (*peer, error)) (arrived []uint64, resumed bool, err error) {
	p, err := open()
	if err != nil {
		return nil, false, err
	}
	defer p.close()
	if err = p.listen(quiet); err == nil {
		err = p.settle() // lest acknowledgements be on their way when the connection ends
	}
	return p.sequences(), p.resumed, err
}

// survives publishes to a receiver that is away, restarts the broker by restart, and looks what is left of the messages.
func (a absence) survives(question, what string, pub func() (*peer, error), topic string, restart func() error) ([]Answer, error) {
	if err := a.leave(); err != nil {
		return nil, err
	}
	p, err := pub()
	if err != nil {
		return nil, err
	}
	_, err = p.publishAll(topic, 1, 0, survivalMessages)
	p.close()
	if err != nil {
		return nil, err
	}
	if err := restart(); err != nil {
		return nil, err
	}
	arrived, _, err := a.back()
	if err != nil {
		return nil, err
	}
	seen := logSeen{question: question, what: what, sent: survivalMessages, left: len(distinct(arrived))}
	return []Answer{seen.answer()}, nil
}
