package probe

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/summary"
)

// sizeSeen is a search for the largest message that passes.
type sizeSeen struct {
	claimed  int           // bytes of the whole packet (MQTT) or payload; 0 = nothing
	bound    int           // the largest payload that may be tried
	overhead func(int) int // of a packet besides a payload of this size; the claim includes it; nil = none
	passed   int           // the largest payload that arrived; -1 = none
	refused  int           // the smallest that did not; 0 = none
	words    string        // of the broker about that one
	silent   int           // a payload at which the broker did not answer in time, which ended the search; 0 = none
}

// search tries sizes by passes: the claimed one and one byte more where that is small enough, then ever larger ones, and
// between the largest that passed and the smallest that did not.
func (s *sizeSeen) search(passes func(size int) (bool, string, error)) error {
	s.passed = -1
	sizes := []int{minPayload, 64 << 10, 1 << 20, 4 << 20, s.bound}
	if edge := s.edge(); s.claimed > 0 && edge >= minPayload && edge < s.bound {
		larger := slices.DeleteFunc(sizes, func(size int) bool { return size <= edge+claimSlack })
		sizes = append([]int{edge, edge + 1, edge + claimSlack}, larger...)
	}
	try := func(size int) error {
		ok, words, err := passes(size)
		switch {
		case errors.Is(err, errQuiet) && s.passed > 0:
			s.silent = size
		case err != nil:
			return err
		case ok:
			s.passed = max(s.passed, size)
		default:
			s.refused, s.words = size, words
		}
		return nil
	}
	for _, size := range sizes {
		if err := try(size); err != nil {
			return err
		}
		if s.refused > 0 || s.silent > 0 {
			break
		}
	}
	for low := max(s.passed, 0); s.refused > low+1 && s.silent == 0; low = max(s.passed, low) {
		middle := low + (s.refused-low)/2
		if middle < minPayload {
			break
		}
		if err := try(middle); err != nil {
			return err
		}
	}
	return nil
}

// claimSlack is by how many bytes brokers let through more than they claim, where they do not count all of a packet.
const claimSlack = 8

// edge is the largest payload that the claim allows.
func (s *sizeSeen) edge() int {
	size := s.claimed
	if s.overhead == nil {
		return size
	}
	for size > 0 && size+s.overhead(size) > s.claimed {
		size -= size + s.overhead(size) - s.claimed
	}
	return size
}

func (s *sizeSeen) answer(question string) Answer {
	evidence := "nothing claimed"
	if s.claimed > 0 {
		evidence = "claimed " + count(s.claimed) + " bytes"
	}
	if s.passed < 0 && s.refused == 0 {
		return undecided(question, "no message was tried; %s", evidence)
	}
	if s.passed < 0 {
		return undecided(question, "not even %d bytes pass: %s; %s", s.refused, s.words, evidence)
	}
	evidence += "; a payload of " + count(s.passed) + " bytes arrived"
	if s.silent > 0 {
		evidence += fmt.Sprintf(", one of %s was not answered in time", count(s.silent))
	}
	if s.refused == 0 {
		return decided(question, "none to "+summary.Bytes(uint64(s.passed)), "%s", evidence).with("tried_bytes", int64(s.passed))
	}
	evidence += fmt.Sprintf(", one of %s did not: %s", count(s.refused), s.words)
	if s.silent > 0 {
		return undecided(question, "%s", evidence)
	}
	a := decided(question, count(s.passed)+" B payload", "%s", evidence).with("payload_bytes", int64(s.passed))
	if s.overhead != nil {
		whole := s.passed + s.overhead(s.passed)
		a.Evidence += fmt.Sprintf(" (packet of %s)", count(whole))
		a = a.with("packet_bytes", int64(whole))
	}
	return a
}

// receiveExtra are the QoS 2 messages that are sent beyond the receive maximum.
const receiveExtra = 10

// receiveSeen is the answer to QoS 2 messages up to the receive maximum, and beyond.
type receiveSeen struct {
	version              byte
	claimed, maxQoS      *uint32
	within, beyond       int    // recorded by PUBREC
	withinEnd, beyondEnd string // how the connection ended; empty = it did not
}

func (s *receiveSeen) testable() bool {
	return s.version == mqtt.V5 && s.claimed != nil && *s.claimed <= receiveBound && (s.maxQoS == nil || *s.maxQoS == 2)
}

func (s *receiveSeen) answer() Answer {
	switch {
	case s.version != mqtt.V5:
		return undecided(AskReceiveMax, "MQTT 3.1.1 has no receive maximum")
	case s.claimed == nil:
		return decided(AskReceiveMax, "65,535", "nothing claimed, which means 65,535; not tried").with("claimed", 65535)
	}
	value, evidence := count(int(*s.claimed)), "claimed "+count(int(*s.claimed))
	if !s.testable() {
		return decided(AskReceiveMax, value, "%s; not tried", evidence).with("claimed", int64(*s.claimed))
	}
	evidence += fmt.Sprintf("; of so many at once %s were taken", count(s.within))
	switch {
	case s.withinEnd != "":
		value += ", not kept"
		evidence += ", then " + s.withinEnd
	case s.beyondEnd != "":
		value += ", enforced"
		evidence += fmt.Sprintf("; %d more: %s", receiveExtra, s.beyondEnd)
	default:
		value += ", not enforced"
		evidence += fmt.Sprintf("; of %d more %d were taken", receiveExtra, s.beyond)
	}
	return decided(AskReceiveMax, value, "%s", evidence).with("claimed", int64(*s.claimed)).with("taken", int64(s.within+s.beyond))
}
