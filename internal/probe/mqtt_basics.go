package probe

import (
	"fmt"
	"strings"

	"github.com/mqlab/mqlab/internal/proto/mqtt"
)

// versionSeen is the answer to a CONNECT in one version.
type versionSeen struct {
	version byte
	refused error
	claims  claims
}

func (v *versionSeen) accepted() bool { return v.refused == nil }

func (v *versionSeen) answer() Answer {
	question := AskMQTT311
	if v.version == mqtt.V5 {
		question = AskMQTT5
	}
	if !v.accepted() {
		return decided(question, "no", "%v", v.refused)
	}
	return decided(question, "yes", "connection accepted")
}

// qosSeen is what became of one message.
type qosSeen struct {
	qos, granted, arrivedQoS uint8
	claimed                  *uint32
	subRefused, pubRefused   error
	arrived                  bool
}

func (s *qosSeen) answer() Answer {
	question := fmt.Sprintf("QoS %d", s.qos)
	var saw []string
	switch {
	case s.subRefused != nil:
		saw = append(saw, s.subRefused.Error())
	case s.granted != s.qos:
		saw = append(saw, fmt.Sprintf("subscription granted QoS %d", s.granted))
	}
	switch {
	case s.pubRefused != nil:
		saw = append(saw, s.pubRefused.Error())
	case s.subRefused == nil && !s.arrived:
		saw = append(saw, "the message did not arrive")
	case s.subRefused == nil && s.arrivedQoS != s.qos:
		saw = append(saw, fmt.Sprintf("it arrived with QoS %d", s.arrivedQoS))
	}
	if s.claimed != nil {
		saw = append(saw, fmt.Sprintf("claimed maximum QoS %d", *s.claimed))
	}
	if s.subRefused == nil && s.pubRefused == nil && s.arrived && s.granted == s.qos && s.arrivedQoS == s.qos {
		saw = append([]string{fmt.Sprintf("granted and arrived with QoS %d", s.qos)}, saw...)
		return decided(question, "yes", "%s", strings.Join(saw, "; "))
	}
	return decided(question, "no", "%s", strings.Join(saw, "; "))
}

// retainedSeen tells who got a retained message.
type retainedSeen struct {
	refused                error
	byName, byPlus, byHash bool
}

func (s retainedSeen) answer() Answer {
	if s.refused != nil {
		return decided(AskRetained, "no", "%v", s.refused)
	}
	evidence := fmt.Sprintf("arrived by name: %s, by +: %s, by #: %s", yesNo(s.byName), yesNo(s.byPlus), yesNo(s.byHash))
	value := "partly"
	switch {
	case s.byName && s.byPlus && s.byHash:
		value = "yes, wildcards too"
	case s.byName && !s.byPlus && !s.byHash:
		value = "yes, not by wildcard"
	case !s.byName && !s.byPlus && !s.byHash:
		value = "no"
	}
	return decided(AskRetained, value, "%s", evidence)
}

// wildcardsSeen tells who got a message by a wildcard.
type wildcardsSeen struct {
	one, rest       string // how they are written
	oneGot, restGot bool
}

func (s wildcardsSeen) answer() Answer {
	value := "no"
	switch {
	case s.oneGot && s.restGot:
		value = "yes"
	case s.oneGot:
		value = s.one + " only"
	case s.restGot:
		value = s.rest + " only"
	}
	return decided(AskWildcards, value, "%s: %s, %s: %s", s.one, yesNo(s.oneGot), s.rest, yesNo(s.restGot))
}

// sharedSeen tells which member of a group got which of the messages 1 to sent.
type sharedSeen struct {
	sent    int
	got     [2][]uint64
	refused error
	claimed *uint32
}

func (s *sharedSeen) answer(question string) Answer {
	if s.refused != nil {
		return decided(question, "no", "%v", s.refused)
	}
	times := make(map[uint64]int)
	for _, list := range s.got {
		for _, seq := range list {
			times[seq]++
		}
	}
	twice := 0
	for _, n := range times {
		if n > 1 {
			twice++
		}
	}
	evidence := fmt.Sprintf("of %d messages the members got %d and %d", s.sent, len(s.got[0]), len(s.got[1]))
	if s.claimed != nil {
		evidence += "; claimed: " + yesNo(*s.claimed != 0)
	}
	switch {
	case len(times) == 0:
		return decided(question, "no", "%s", evidence)
	case twice > 0:
		return decided(question, "no: each gets a copy", "%s", evidence)
	case len(times) < s.sent:
		return decided(question, "loses messages", "%s", evidence)
	case len(s.got[0]) == 0 || len(s.got[1]) == 0:
		return decided(question, "yes, to one member", "%s", evidence)
	}
	return decided(question, "yes", "%s", evidence)
}
