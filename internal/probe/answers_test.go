package probe

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto/mqtt"
)

// numbers are first … last.
func numbers(first, last uint64) (list []uint64) {
	for n := first; n <= last; n++ {
		list = append(list, n)
	}
	return list
}

func ptr[T any](v T) *T { return &v }

// What was seen, and what it means.
func TestAnswers(t *testing.T) {
	ms := time.Millisecond
	stalled, prompt := slices.Repeat([]time.Duration{40 * ms}, 10), slices.Repeat([]time.Duration{ms / 10}, 10)
	control, noControl := slices.Repeat([]time.Duration{41 * ms}, 3), slices.Repeat([]time.Duration{0}, 3)
	const full = slowBound / slowPayload
	for _, c := range []struct {
		name  string
		seen  interface{ answer() Answer }
		value string // empty = not decided
	}{
		{"version refused", &versionSeen{version: mqtt.V5, refused: errors.New("no")}, "no"},
		{"version", &versionSeen{version: mqtt.V311}, "yes"},

		{"qos", &qosSeen{qos: 2, granted: 2, arrived: true, arrivedQoS: 2}, "yes"},
		{"qos granted lower", &qosSeen{qos: 2, granted: 1, arrived: true, arrivedQoS: 1}, "no"},
		{"qos arrives lower", &qosSeen{qos: 2, granted: 2, arrived: true, arrivedQoS: 1}, "no"},
		{"qos lost", &qosSeen{qos: 1, granted: 1}, "no"},
		{"qos refused to the publisher", &qosSeen{qos: 1, granted: 1, pubRefused: errors.New("no")}, "no"},
		{"qos refused to the subscriber", &qosSeen{qos: 1, subRefused: errors.New("no")}, "no"},

		{"retained", retainedSeen{byName: true, byPlus: true, byHash: true}, "yes, wildcards too"},
		{"retained by name", retainedSeen{byName: true}, "yes, not by wildcard"},
		{"retained by one wildcard", retainedSeen{byName: true, byPlus: true}, "partly"},
		{"not retained", retainedSeen{}, "no"},
		{"retained refused", retainedSeen{refused: errors.New("no")}, "no"},

		{"wildcards", wildcardsSeen{one: "+", rest: "#", oneGot: true, restGot: true}, "yes"},
		{"one wildcard", wildcardsSeen{one: "+", rest: "#", restGot: true}, "# only"},
		{"no wildcard", wildcardsSeen{one: "+", rest: "#"}, "no"},

		{"session", &sessionSeen{true, true}, "yes"},
		{"no session", &sessionSeen{}, "no"},
		{"empty session", &sessionSeen{resumed: true}, "partly"},

		{"expiry", &expirySeen{atOnce: true}, "as asked, even never"},
		{"expiry at most", &expirySeen{claimed: ptr[uint32](7200), atOnce: true}, "at most 2h0m0s"},
		{"expiry late", &expirySeen{atOnce: true, later: true}, "as asked, even never, ends late"},
		{"no sessions", &expirySeen{claimed: ptr[uint32](0)}, "no sessions"},

		{"newest dropped", &offlineSeen{sent: 1500, arrived: numbers(0, 999), resumed: true}, "1,000, newest dropped"},
		{"oldest dropped", &offlineSeen{sent: 1500, arrived: numbers(500, 1499), resumed: true}, "1,000, oldest dropped"},
		{"middle dropped", &offlineSeen{sent: 1500, arrived: append(numbers(0, 9), numbers(1000, 1499)...), resumed: true}, "510, dropped between"},
		{"some dropped", &offlineSeen{sent: 1500, arrived: append(numbers(3, 9), numbers(1000, 1400)...), resumed: true}, "408, dropped here and there"},
		{"twice is no more", &offlineSeen{sent: 4, arrived: []uint64{0, 1, 0, 1}, resumed: true}, "2, newest dropped"},
		{"unordered", &offlineSeen{sent: 4, arrived: []uint64{1, 0, 2}, resumed: true}, "3, newest dropped"},
		{"nothing kept", &offlineSeen{sent: 4, resumed: true}, "nothing kept"},
		{"no limit", &offlineSeen{sent: 1500, arrived: numbers(0, 1499), resumed: true}, "no limit to 1,500"},
		{"not resumed", &offlineSeen{sent: 4}, "none: session not kept"},

		{"window", &windowSeen{sent: 100, arrived: 20}, "20"},
		{"no window", &windowSeen{sent: 12800, arrived: 12800}, "no limit to 12,800"},

		{"receive maximum kept", &receiveSeen{version: mqtt.V5, claimed: ptr[uint32](20), within: 20, beyondEnd: "closed"}, "20, enforced"},
		{"receive maximum open", &receiveSeen{version: mqtt.V5, claimed: ptr[uint32](20), within: 20, beyond: 10}, "20, not enforced"},
		{"receive maximum untrue", &receiveSeen{version: mqtt.V5, claimed: ptr[uint32](20), within: 7, withinEnd: "closed"}, "20, not kept"},
		{"receive maximum by default", &receiveSeen{version: mqtt.V5}, "65,535"},
		{"receive maximum too large to try", &receiveSeen{version: mqtt.V5, claimed: ptr[uint32](65000)}, "65,000"},
		{"no receive maximum", &receiveSeen{version: mqtt.V311}, ""},

		{"cut", &slowSeen{sent: 2300, gone: true, waited: 200 * ms, arrived: numbers(0, 255), end: "EOF"}, "cut at 35.9 MiB, after 0.2 s"},
		{"cut late", &slowSeen{sent: full, gone: true, waited: 10 * time.Second, end: "EOF"}, "cut at 64.0 MiB, after 10.0 s"},
		{"cut without a word", &slowSeen{sent: full, arrived: numbers(0, 99), end: "EOF"}, "cut, by 64.0 MiB"},
		{"newest dropped", &slowSeen{sent: full, arrived: numbers(0, 639)}, "10.0 MiB, newest dropped"},
		{"oldest dropped", &slowSeen{sent: full, arrived: append(numbers(0, 63), numbers(3520, 4095)...)}, "10.0 MiB, oldest dropped"},
		{"all kept", &slowSeen{sent: full, arrived: numbers(0, 4095)}, "all kept to 64.0 MiB"},
		{"blocked", &slowSeen{sent: 64, blocked: true, arrived: numbers(0, 63)}, "publisher held at 1.00 MiB"},
		{"slowed", &slowSeen{sent: 64, slowed: true, arrived: numbers(0, 63)}, "publisher slowed at 1.00 MiB"},

		{"Nagle on", &nagleSeen{stalled, control}, "on"},
		{"Nagle on, even without control", &nagleSeen{stalled, noControl}, "on"},
		{"Nagle off", &nagleSeen{prompt, control}, "off"},
		{"Nagle unknown: no delayed acknowledgements", &nagleSeen{prompt, noControl}, ""},
		{"Nagle unknown: mixed", &nagleSeen{append(slices.Clone(stalled[:5]), prompt[:5]...), control}, ""},
		{"Nagle unknown: slow", &nagleSeen{slices.Repeat([]time.Duration{15 * ms}, 10), control}, ""},
		{"Nagle unknown: few", &nagleSeen{stalled[:9], control}, ""},

		{"survives", &survivalSeen{question: AskTerm, session: true, sent: 10, queued: 10, retained: true}, "yes"},
		{"survives in part", &survivalSeen{question: AskTerm, session: true, sent: 10, queued: 9, retained: true}, "partly"},
		{"does not survive", &survivalSeen{question: AskKill, sent: 10}, "no"},
		{"log survives", &logSeen{AskTerm, "entries", 10, 10}, "yes"},
		{"log survives in part", &logSeen{AskTerm, "entries", 10, 3}, "partly"},
		{"log does not survive", &logSeen{AskTerm, "entries", 10, 0}, "no"},
	} {
		a := c.seen.answer()
		if a.Value != c.value || !slices.Contains(Questions, a.Question) || (a.Value == "") != (a.Why != "") || a.Value != "" && a.Evidence == "" {
			t.Errorf("%s: %+v, want %q", c.name, a, c.value)
		}
	}
}

func TestShared(t *testing.T) {
	for _, c := range []struct {
		seen  sharedSeen
		value string
	}{
		{sharedSeen{sent: 4, got: [2][]uint64{{1, 3}, {2, 4}}}, "yes"},
		{sharedSeen{sent: 4, got: [2][]uint64{{1, 2, 3, 4}, nil}}, "yes, to one member"},
		{sharedSeen{sent: 4, got: [2][]uint64{{1, 2, 3, 4}, {1, 2, 3, 4}}}, "no: each gets a copy"},
		{sharedSeen{sent: 4, got: [2][]uint64{{1}, {2}}}, "loses messages"},
		{sharedSeen{sent: 4}, "no"},
		{sharedSeen{sent: 4, refused: errors.New("no")}, "no"},
	} {
		if a := c.seen.answer(AskShared); a.Value != c.value || a.Evidence == "" {
			t.Errorf("%+v: %+v", c.seen, a)
		}
	}
}

// TestSearch finds the exact limit of brokers with and without a claim, true or not.
func TestSearch(t *testing.T) {
	head := func(int) int { return 25 }
	for _, c := range []struct {
		limit, claimed int // payload; 0 = none
		overhead       func(int) int
		value          string
		figure         string
		is             int64
	}{
		{0, 0, nil, "none to 16.0 MiB", "tried_bytes", packetBound},
		{1 << 20, 0, nil, "1,048,576 B payload", "payload_bytes", 1 << 20},
		{3000, 0, head, "3,000 B payload", "packet_bytes", 3025},
		{4975, 5000, head, "4,975 B payload", "packet_bytes", 5000},
		{4977, 5000, head, "4,977 B payload", "packet_bytes", 5002},
		{100, 5000, head, "100 B payload", "packet_bytes", 125},
		{0, 5000, head, "none to 16.0 MiB", "tried_bytes", packetBound},
		{packetBound + 7, 1 << 28, nil, "none to 16.0 MiB", "tried_bytes", packetBound},
		{10, 0, nil, "", "", 0},
	} {
		s := sizeSeen{claimed: c.claimed, overhead: c.overhead, bound: packetBound}
		tries := 0
		if err := s.search(func(size int) (bool, string, error) {
			tries++
			if size > packetBound {
				t.Errorf("%d bytes are more than the bound", size)
			}
			return c.limit == 0 || size <= c.limit, "too large", nil
		}); err != nil {
			t.Fatal(err)
		}
		if a := s.answer(AskPacket); a.Value != c.value || a.Figures[c.figure] != c.is || tries > 40 {
			t.Errorf("limit %d, claimed %d: %+v after %d tries", c.limit, c.claimed, a, tries)
		}
	}
}

// TestTainted: a step that ran out of time or failed has no answers, whatever it says.
func TestTainted(t *testing.T) {
	s := step{[]string{AskQoS0, AskQoS1}, "how", time.Minute, nil}
	for _, a := range s.complete([]Answer{decided(AskQoS0, "yes", "seen")}, errors.New("too late")) {
		if a.Value != "" || a.Why != "too late" || a.How != "how" {
			t.Errorf("%+v", a)
		}
	}
	got := s.complete([]Answer{decided(AskQoS0, "yes", "seen")}, nil)
	if len(got) != 2 || got[0].Value != "yes" || got[1].Value != "" || got[1].Why == "" {
		t.Errorf("%+v", got)
	}
}

func TestPrintFits(t *testing.T) {
	r := &Report{Protocol: "mqtt5", Version: "2.0.11", Answers: []Answer{
		decided(AskOffline, "1,000, newest dropped", "%s", strings.Repeat("evidence ", 20)),
		undecided(AskSlow, "%s", strings.Repeat("x", 200)),
		decided(AskNagle, strings.Repeat("ü", 50), "seen"),
	}}
	var b strings.Builder
	if err := Print(&b, r, 80); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(b.String(), notDecided) {
		t.Error(b.String())
	}
}
