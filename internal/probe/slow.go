package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/summary"
)

const (
	slowBound   = 64 << 20 // bytes that are published at most
	slowPayload = 16 << 10
	slowBatch   = 16       // messages between two looks at the subscriber
	slowBuffer  = 64 << 10 // that our own kernel shall keep for the subscriber
)

// feeder publishes to a subscriber that does not read.
type feeder interface {
	// feed publishes messages first … first+n-1 of slowPayload bytes and returns, when the broker has read them, how many
	// there were and whether the broker tells that the subscriber is gone. With n = 0 it only asks for that. The error is
	// errBlocked if the broker stops reading.
	feed(first, n uint64) (sent uint64, gone bool, err error)
}

// slowSeen is what happened to a subscriber that did not read.
type slowSeen struct {
	sent    uint64        // messages that the broker read
	gone    bool          // the broker cut the subscriber off, by its own word
	waited  time.Duration // from the first message to that, or to the end of our patience
	blocked bool          // the broker did not answer the publisher any more
	slowed  bool          // the broker took so long that we gave up before slowBound
	arrived []uint64      // when the subscriber read again
	end     string        // of the subscriber's connection; empty = it goes on working
}

// slowLimit is how long publishing may take.
const slowLimit = 12 * time.Second

// starve publishes up to slowBound to sub, which does not read, waits (from the beginning) as long as linger for the broker
// to cut it off, and lets it read then.
func starve(ctx context.Context, sub *peer, f feeder, linger time.Duration) (slowSeen, error) {
	if sub.tcp != nil {
		_ = sub.tcp.SetReadBuffer(slowBuffer) // a hint; what the kernel keeps is counted as arrived
	}
	var s slowSeen
	start := time.Now()
	err := s.fill(ctx, f, start.Add(slowLimit), start.Add(linger))
	s.waited = time.Since(start)
	switch {
	case errors.Is(err, errBlocked):
		s.blocked = true
	case err != nil:
		return s, fmt.Errorf("publisher, after %s: %w", summary.Bytes(s.sent*slowPayload), err)
	}
	if err := sub.listen(quiet); err != nil {
		s.end = err.Error()
	}
	s.arrived = sub.sequences()
	return s, nil
}

// fill publishes until the bound, the limit of time or the subscriber's end, and goes on looking for that until the deadline.
func (s *slowSeen) fill(ctx context.Context, f feeder, limit, deadline time.Time) (err error) {
	for s.sent < slowBound/slowPayload && !s.gone {
		if s.slowed = time.Now().After(limit); s.slowed {
			return nil
		}
		var n uint64
		n, s.gone, err = f.feed(s.sent, slowBatch)
		if s.sent += n; err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	for !s.gone && time.Now().Before(deadline) {
		if err := clock.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		if _, s.gone, err = f.feed(s.sent, 0); err != nil {
			return err
		}
	}
	return nil
}

// dropped says which messages are missing. What had left the broker before it dropped the oldest arrives, too: then there is
// one gap, in the middle, since nothing more was published once the subscriber read again.
func (s *slowSeen) dropped(got []uint64) string {
	n := len(got)
	gaps := 0
	for i := 1; i < n; i++ {
		if got[i] != got[i-1]+1 {
			gaps++
		}
	}
	if n > 0 && got[0] == 0 && got[n-1] == s.sent-1 && gaps == 1 {
		return "oldest dropped"
	}
	return droppedEnd(got, s.sent)
}

func (s *slowSeen) answer() Answer {
	got := distinct(s.arrived)
	bytes := s.sent * slowPayload
	size := summary.Bytes(bytes)
	lost := s.sent - min(s.sent, uint64(len(got)))
	missing := "none lost"
	if lost > 0 {
		missing = fmt.Sprintf("%s (%s) lost", count(lost), summary.Bytes(lost*slowPayload))
	}
	evidence := fmt.Sprintf("%s sent in %s messages, %s arrived afterwards, %s", size, count(s.sent), count(len(got)), missing)
	switch {
	case s.blocked:
		evidence += fmt.Sprintf("; the publisher had no answer, %.1f s after its first message", s.waited.Seconds())
	case s.slowed:
		evidence += fmt.Sprintf("; the broker took no more from the publisher in %.1f s", s.waited.Seconds())
	}
	if s.end != "" {
		evidence += "; then " + s.end
	} else {
		evidence += "; the connection stays"
	}
	var value string
	switch {
	case s.gone:
		value = fmt.Sprintf("cut at %s, after %.1f s", size, s.waited.Seconds())
	case s.end != "" && !s.blocked:
		value = "cut, by " + size
	case s.slowed && lost == 0:
		value = "publisher slowed at " + size
	case s.blocked:
		value = "publisher held at " + size
	case lost == 0:
		value = "all kept to " + size
	default:
		value = summary.Bytes(uint64(len(got))*slowPayload) + ", " + s.dropped(got)
	}
	return decided(AskSlow, value, "%s", evidence).
		with("sent_bytes", int64(bytes)).with("sent", int64(s.sent)).with("arrived", int64(len(got))).with("lost", int64(lost)).
		with("waited_ns", int64(s.waited))
}
