package plan_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/scenario"
	"github.com/mqlab/mqlab/internal/stamp"
)

func resolve(t *testing.T, text string, o plan.Options) *plan.Plan {
	t.Helper()
	p, err := plan.Resolve(scenario.Decode("test.yaml", []byte(text)), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const threeByTwo = "subjects: [mochi, nats, mosquitto]\nmatrix: {load.payload: [64B, 128B]}\nrepeat: 3\n"

// TestInterleave: all subjects of a point and repetition stand together, and over as many repetitions as there are
// subjects each subject stands once at each place.
func TestInterleave(t *testing.T) {
	p := resolve(t, threeByTwo, plan.Options{Seed: 1})
	if len(p.Trials) != 18 {
		t.Fatalf("%d trials", len(p.Trials))
	}
	places := map[string]map[int]int{}
	for i, trial := range p.Trials {
		rep, point, place := i/6, i/3%2, i%3
		if trial.ID != i+1 || trial.Repetition != rep+1 || trial.Point != point+1 {
			t.Errorf("trial %d: id %d, repetition %d, point %d", i, trial.ID, trial.Repetition, trial.Point)
		}
		name := trial.Subject.Name
		if places[name] == nil {
			places[name] = map[int]int{}
		}
		places[name][place]++
	}
	for name, count := range places {
		for place := range 3 {
			if count[place] != 2 {
				t.Errorf("%s stands %d times at place %d, want once per point", name, count[place], place)
			}
		}
	}
}

// TestCells: a cell is one subject at one point.
func TestCells(t *testing.T) {
	cells := map[int]string{}
	for _, trial := range resolve(t, threeByTwo, plan.Options{}).Trials {
		what := trial.Subject.Name + trial.Params.Set[0].Value
		if was, ok := cells[trial.Cell]; ok && was != what {
			t.Errorf("cell %d is %s and %s", trial.Cell, was, what)
		}
		cells[trial.Cell] = what
	}
	if len(cells) != 6 {
		t.Errorf("%d cells", len(cells))
	}
}

// TestSeeds: every subject of a point and repetition gets the same seed, everything else another.
func TestSeeds(t *testing.T) {
	seeds := map[uint64]string{}
	for _, plan := range []*plan.Plan{resolve(t, threeByTwo, plan.Options{Seed: 1}), resolve(t, threeByTwo, plan.Options{Seed: 2})} {
		for _, trial := range plan.Trials {
			what := strings.Join([]string{string(rune('0' + plan.Seed)), trial.Params.Set[0].Value, string(rune('0' + trial.Repetition))}, "/")
			if was, ok := seeds[trial.Seed]; ok && was != what {
				t.Errorf("%s and %s share a seed", was, what)
			}
			seeds[trial.Seed] = what
			if trial.Seed >= 1<<53 {
				t.Errorf("seed %d does not fit a JSON number", trial.Seed)
			}
		}
	}
	if len(seeds) != 12 {
		t.Errorf("%d seeds for 2 plans of 2 points and 3 repetitions", len(seeds))
	}
}

func TestSamePlanSameBytes(t *testing.T) {
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		if err := plan.PrintJSON(b, builtIn(t, "latency")); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same scenario and seed gave two plans")
	}
}

func TestSeedOfScenarioWins(t *testing.T) {
	if p := resolve(t, "seed: 5\n", plan.Options{Seed: 9}); p.Seed != 5 {
		t.Errorf("seed %d", p.Seed)
	}
	if p := resolve(t, "", plan.Options{Seed: 9}); p.Seed != 9 {
		t.Errorf("seed %d", p.Seed)
	}
}

func TestAutoTakesWhatIsInstalled(t *testing.T) {
	names := func(installed func(plan.Subject) bool) string {
		var list []string
		for _, s := range resolve(t, "", plan.Options{Installed: installed}).Subjects {
			list = append(list, s.Name)
		}
		return strings.Join(list, " ")
	}
	if got := names(nil); got != "mochi nats" {
		t.Errorf("nothing installed: %s", got)
	}
	if got := names(func(s plan.Subject) bool { return s.Broker == "mosquitto" }); got != "mochi nats mosquitto" {
		t.Errorf("mosquitto installed: %s", got)
	}
}

func TestEstimate(t *testing.T) {
	for _, c := range []struct {
		name, text string
		messages   int64
		deliveries int64
	}{
		{"pairs", "load: {publishers: 10, rate: 100/s}", 1000, 1000},
		{"each", "load: {publishers: 10, rate: 100/s each}", 10000, 10000},
		{"per minute", "load: {rate: 600/m}", 100, 100},
		{"fanout", "load: {pattern: fanout, publishers: 2, subscribers: 50, rate: 10/s}", 100, 5000},
		{"fanin", "load: {pattern: fanin, publishers: 5, rate: 10/s}", 100, 100},
		{"shared", "load: {pattern: shared, publishers: 5, subscribers: 3, rate: 10/s}", 100, 100},
		{"ramp", "load: {rate: 100/s, ramp: 300/s}", 2000, 2000},
		{"burst", "load: {rate: 100/s, burst: {count: 50, every: 4s}}", 1100, 1100},
		{"burst at the end does not count", "load: {rate: 100/s, burst: {count: 50, every: 5s}}", 1050, 1050},
		{"max", "load: {rate: max}", 0, 0},
	} {
		p := resolve(t, "subjects: mochi\nrepeat: 2\n"+c.text, plan.Options{})
		one, all := p.Trials[0].Estimate(), p.Estimate()
		if one.Messages != c.messages || one.Deliveries != c.deliveries {
			t.Errorf("%s: %d messages, %d deliveries; want %d, %d", c.name, one.Messages, one.Deliveries, c.messages, c.deliveries)
		}
		if all.Messages != 2*c.messages || all.Trials != 2 || all.Connections != one.Connections || all.Duration != 2*one.Duration {
			t.Errorf("%s: two trials need %+v, one %+v", c.name, all, one)
		}
	}
}

// TestQuickIsShort: the demonstration stays within two minutes even with all four brokers and slow drains.
func TestQuickIsShort(t *testing.T) {
	if d := builtIn(t, "quick").Estimate().DurationMax; d > 110*time.Second {
		t.Errorf("up to %v", d)
	}
}

// TestTail builds whole payloads and compares their size with the planned one.
func TestTail(t *testing.T) {
	for _, c := range []struct{ form, text string }{
		{plan.PayloadBinary, "hello"}, {plan.PayloadJSON, ` {"a": [1, 2], "b": "}"} ` + "\n"}, {plan.PayloadJSON, "{}"}, {plan.PayloadJSON, "{ }"},
	} {
		tail, err := plan.Tail(c.form, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		s := stamp.Stamp{Run: 1, Stream: 2, Seq: 3, Due: 4, Sent: 5}
		payload := make([]byte, stamp.Size, 1024)
		if c.form == plan.PayloadJSON {
			payload = make([]byte, stamp.JSONSize-1, 1024)
			stamp.PutJSON(payload, &s)
		} else {
			stamp.Put(payload, &s)
		}
		payload = append(payload, tail...)
		if c.form == plan.PayloadJSON && !json.Valid(payload) {
			t.Errorf("%q became %s", c.text, payload)
		}
		text, err := json.Marshal(c.text)
		if err != nil {
			t.Fatal(err)
		}
		p := resolve(t, "subjects: mochi\nload: {payload: {form: "+c.form+", text: "+string(text)+"}}\n", plan.Options{})
		if got := p.Trials[0].Params.PayloadBytes; got != len(payload) {
			t.Errorf("%q: planned %d bytes, built %d", c.text, got, len(payload))
		}
		var read stamp.Stamp
		if err := stamp.Decode(payload, &read); err != nil || read.Seq != 3 {
			t.Errorf("%q: stamp %+v, %v", payload, read, err)
		}
	}
	if _, err := plan.Tail(plan.PayloadJSON, []byte("[1]")); err == nil {
		t.Error("a list took a stamp")
	}
}

func TestSubjects(t *testing.T) {
	for text, want := range map[string]plan.Subject{
		"mochi":                      {Name: "mochi", Broker: "mochi", Variant: "as-shipped", Protocol: "mqtt5", Runtime: "embedded"},
		"mochi/mqtt@embedded":        {Name: "mochi", Broker: "mochi", Variant: "as-shipped", Protocol: "mqtt5", Runtime: "embedded"},
		"mosquitto:tuned/mqtt311":    {Name: "mosquitto:tuned/mqtt311", Broker: "mosquitto", Variant: "tuned", Protocol: "mqtt311", Runtime: "process"},
		"mosquitto:as-shipped":       {Name: "mosquitto", Broker: "mosquitto", Variant: "as-shipped", Protocol: "mqtt5", Runtime: "process"},
		"nats":                       {Name: "nats", Broker: "nats", Variant: "as-shipped", Protocol: "nats", Runtime: "embedded"},
		"nats@process":               {Name: "nats@process", Broker: "nats", Variant: "as-shipped", Protocol: "nats", Runtime: "process"},
		"mqtt://broker":              {Name: "mqtt://broker:1883", Protocol: "mqtt5", Runtime: "external", URL: "mqtt://broker:1883"},
		"mqtts://broker:9/mqtt311":   {Name: "mqtts://broker:9/mqtt311", Protocol: "mqtt311", Runtime: "external", URL: "mqtts://broker:9"},
		"mqtt://[::1]":               {Name: "mqtt://[::1]:1883", Protocol: "mqtt5", Runtime: "external", URL: "mqtt://[::1]:1883"},
		"nats://10.0.0.1:4223/":      {Name: "nats://10.0.0.1:4223", Protocol: "nats", Runtime: "external", URL: "nats://10.0.0.1:4223"},
		"tls://nats.example.org":     {Name: "tls://nats.example.org:4222", Protocol: "nats", Runtime: "external", URL: "tls://nats.example.org:4222"},
		"tcp/gateway":                {Name: "zenoh://gateway:7447", Protocol: "zenoh", Runtime: "external", URL: "zenoh://gateway:7447"},
		"zenoh://[::1]/zenoh-block":  {Name: "zenoh://[::1]:7447/zenoh-block", Protocol: "zenoh-block", Runtime: "external", URL: "zenoh://[::1]:7447"},
		"mqtts://broker.example.org": {Name: "mqtts://broker.example.org:8883", Protocol: "mqtt5", Runtime: "external", URL: "mqtts://broker.example.org:8883"},
	} {
		got, err := plan.ParseSubject(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if encrypted := slices.Contains([]string{"mqtts", "tls", "amqps", "rediss"}, before(text, ":")); got.Encrypted() != encrypted {
			t.Errorf("%s: encrypted %v", text, got.Encrypted())
		}
	}
}

func before(text, mark string) string {
	first, _, _ := strings.Cut(text, mark)
	return first
}

func TestSubjectsThatRun(t *testing.T) {
	var names []string
	for _, s := range plan.Subjects() {
		names = append(names, s.Name)
	}
	if want := []string{
		"mosquitto", "mosquitto@docker", "emqx", "emqx@docker", "hivemq", "hivemq@docker", "rabbitmq", "rabbitmq@docker",
		"artemis", "artemis@docker", "nats", "nats@process", "nats@docker", "redis", "redis@docker", "zenoh",
		"zenoh@docker", "mochi",
	}; !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
}

// FuzzParseSubject: no input makes it panic, a name reads back as the same subject, and no error repeats a password.
func FuzzParseSubject(f *testing.F) {
	for _, seed := range []string{"mochi", "nats@process", "mosquitto:tuned/mqtt311", "mqtt://h:1/mqtt311", "tls://[::1%25lo]:4", "a@b/c:d", "tcp/h:7447", ":", "://", "mqtt://%41"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := plan.ParseSubject(text)
		if err == nil {
			if again, err := plan.ParseSubject(s.Name); err != nil || again != s {
				t.Errorf("%q is %+v, but its name reads as %+v, %v", text, s, again, err)
			}
		}
		if _, err := plan.ParseSubject("mqtt://me:pAsSwOrD" + text + "@host"); err == nil || strings.Contains(err.Error(), "pAsSwOrD") {
			t.Errorf("%q: %v", text, err)
		}
	})
}
