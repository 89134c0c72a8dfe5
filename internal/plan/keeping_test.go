package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/scenario"
)

// What a broker will not keep is said before the run, where its documentation tells a limit that the outage exceeds.
func TestKeeping(t *testing.T) {
	const (
		fanin = "load: {pattern: fanin, publishers: 8, rate: 8/s, qos: 1}"
		pairs = "load: {publishers: 8, rate: 8/s, qos: 1}"
		qos0  = "load: {publishers: 8, rate: 8/s, qos: 0}"
	)
	const away = "about 2,400 messages come for a subscriber while it is away: it keeps 1,000, and drops the "
	for _, c := range []struct{ subject, load, want string }{
		{"mosquitto", fanin, away + "newest"},
		{"mosquitto/mqtt311", fanin, away + "newest"},
		{"hivemq/mqtt311", fanin, away + "newest"},
		{"emqx", fanin, away + "oldest"},
		{"mosquitto", pairs, ""}, // 300 for each
		{"mosquitto:tuned", fanin, ""},
		{"hivemq:tuned", fanin, ""},
		{"artemis", fanin, ""},
		{"rabbitmq", fanin, ""},
		{"nats/mqtt311", fanin, ""},
		{"mqtt://localhost:1883", fanin, ""}, // nobody knows
		{"mosquitto", qos0, "messages of QoS 0 are not kept for subscribers that are away"},
		{"emqx", qos0, ""},
		{"artemis", qos0, ""},
	} {
		text := "subjects: '" + c.subject + "'\n" + c.load + "\nconnect: {clean_start: false, session_expiry: never}\n" +
			"outages: {kind: rst, side: subscribers, at: 5s, mttr: 5m}\nphases: {measure: 310s}\n"
		p, err := plan.Resolve(scenario.Decode("keeping.yaml", []byte(text)), plan.Options{Seed: 1})
		if err != nil {
			t.Fatalf("%s: %v", c.subject, err)
		}
		got := p.Warnings()
		want := []string(nil)
		if c.want != "" {
			want = []string{p.Subjects[0].Name + ": " + c.want}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s, %s warns:\n %s\nwant\n %s", c.subject, c.load, strings.Join(got, "\n "), strings.Join(want, "\n "))
		}
	}
}
