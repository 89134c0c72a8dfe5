package probe

import (
	"fmt"
	"slices"

	"github.com/mqlab/mqlab/internal/summary"
)

// sessionSeen is what became of a session whose connection was lost.
type sessionSeen struct{ resumed, arrived bool }

func (s *sessionSeen) answer() Answer {
	value := "partly"
	switch {
	case s.resumed && s.arrived:
		value = "yes"
	case !s.resumed && !s.arrived:
		value = "no"
	}
	return decided(AskSession, value, "session present: %s; what was published meanwhile arrived: %s", yesNo(s.resumed), yesNo(s.arrived))
}

// expirySeen is how long sessions last.
type expirySeen struct {
	claimed       *uint32 // seconds, when never was asked for
	atOnce, later bool    // a session of a second was there at once, and after three
}

func (s *expirySeen) answer() Answer {
	longest, value, evidence := uint32(forever), "as asked, even never", "asked for never, nothing else claimed"
	if s.claimed != nil {
		longest = *s.claimed
		evidence = "asked for never, claimed " + expiryWords(longest)
	}
	if longest != forever {
		value = "at most " + expiryWords(longest)
	}
	evidence += fmt.Sprintf("; one of 1 s is there at once: %s, after 3 s: %s", yesNo(s.atOnce), yesNo(s.later))
	switch {
	case !s.atOnce:
		value = "no sessions"
	case s.later:
		value += ", ends late"
	}
	return decided(AskExpiry, value, "%s", evidence).with("longest_s", int64(longest))
}

// offlineSeen is what arrived of messages 0 to sent-1 that were published to a session that was away.
type offlineSeen struct {
	sent     uint64
	accepted int // acknowledged without an error
	arrived  []uint64
	resumed  bool
}

// distinct are the numbers that arrived, sorted.
func (s *offlineSeen) distinct() []uint64 { return distinct(s.arrived) }

func distinct(list []uint64) []uint64 {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func (s *offlineSeen) complete() bool { return uint64(len(s.distinct())) == s.sent }

func (s *offlineSeen) answer() Answer {
	got := s.distinct()
	evidence := fmt.Sprintf("of %s sent (%s confirmed) arrived %s: %s", count(s.sent), count(s.accepted), count(len(got)), ranges(got))
	figures := func(a Answer) Answer {
		return a.with("sent", int64(s.sent)).with("arrived", int64(len(got))).with("confirmed", int64(s.accepted))
	}
	switch {
	case !s.resumed:
		return figures(decided(AskOffline, "none: session not kept", "%s", evidence))
	case s.complete():
		return figures(decided(AskOffline, "no limit to "+count(s.sent), "%s", evidence))
	case len(got) == 0:
		return figures(decided(AskOffline, "nothing kept", "%s", evidence))
	}
	return figures(decided(AskOffline, count(len(got))+", "+droppedEnd(got, s.sent), "%s", evidence))
}

func (s *offlineSeen) qos0() Answer {
	got := s.distinct()
	evidence := fmt.Sprintf("of %d sent arrived %d", s.sent, len(got))
	value := "dropped"
	switch {
	case s.complete():
		value = "queued"
	case len(got) > 0:
		value = "partly queued"
	}
	return decided(AskOffline0, value, "%s", evidence)
}

// droppedEnd says which of the messages 0 to sent-1 are missing among those that arrived, sorted and not all.
func droppedEnd(got []uint64, sent uint64) string {
	n := uint64(len(got))
	switch {
	case n == 0:
		return "all dropped"
	case got[n-1] == n-1:
		return "newest dropped"
	case got[0] == sent-n:
		return "oldest dropped"
	case got[0] == 0 && got[n-1] == sent-1:
		return "dropped between"
	}
	return "dropped here and there"
}

// ranges writes sorted numbers as at most three ranges.
func ranges(list []uint64) string {
	const most = 3
	text, n := "", 0
	for i := 0; i < len(list); n++ {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if n == most {
			return text + ", …"
		}
		if n > 0 {
			text += ", "
		}
		text += fmt.Sprint(list[i])
		if j > i {
			text += fmt.Sprintf("–%d", list[j])
		}
		i = j + 1
	}
	if n == 0 {
		return "none"
	}
	return "numbers " + text
}

// windowSeen is how many messages arrived at a subscriber that never acknowledged.
type windowSeen struct {
	sent    uint64
	arrived int
}

func (s *windowSeen) answer() Answer {
	evidence := fmt.Sprintf("%s sent, %s arrived without an acknowledgement", count(s.sent), count(s.arrived))
	if uint64(s.arrived) >= s.sent {
		return decided(AskInFlight, "no limit to "+count(s.sent), "%s", evidence).with("sent", int64(s.sent))
	}
	return decided(AskInFlight, count(s.arrived), "%s", evidence).with("messages", int64(s.arrived)).with("sent", int64(s.sent))
}

// count writes a number with separators.
func count[T int | uint64 | int64](n T) string { return summary.Count(uint64(n)) }
