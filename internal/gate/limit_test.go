package gate

import (
	"math"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text, subject, metric string
		op                    Op
		value                 float64
		baseline              bool
	}{
		{"p99 < 5ms", "", "response_p99", Less, 5e6, false},
		{" p99<5 ms ", "", "response_p99", Less, 5e6, false},
		{"response.p99_ns ≤ 1.5s", "", "response_p99", AtMost, 1.5e9, false},
		{"latency.service.p50_ns <= 40us", "", "service_p50", AtMost, 40e3, false},
		{"response p99.9 < 20ms", "", "response_p999", Less, 20e6, false},
		{"max < 1s", "", "response_max", Less, 1e9, false},
		{"lost = 0", "", "lost", Equal, 0, false},
		{"counts.duplicates == 0", "", "duplicates", Equal, 0, false},
		{"lost_ratio <= 0.1 %", "", "lost_ratio", AtMost, 0.001, false},
		{"delivered_per_s >= 9500", "", "delivered_per_s", AtLeast, 9500, false},
		{"delivered_per_s >= 9500/s", "", "delivered_per_s", AtLeast, 9500, false},
		{"achieved >= 98 %", "", "achieved", AtLeast, 0.98, false},
		{"achieved > 0.98", "", "achieved", More, 0.98, false},
		{"broker_pss_max < 64MiB", "", "broker_pss_max", Less, 64 << 20, false},
		{"mosquitto: p99 < 0", "mosquitto", "response_p99", Less, 0, false},
		{"mosquitto:tuned/mqtt311: lost = 0", "mosquitto:tuned/mqtt311", "lost", Equal, 0, false},
		{"mqtt://host:1883: lost = 0", "mqtt://host:1883", "lost", Equal, 0, false},
		{"p99 <= baseline", "", "response_p99", AtMost, 1, true},
		{"p99 <= baseline * 1.1", "", "response_p99", AtMost, 1.1, true},
		{"nats: delivered_per_s >= baseline*0.9", "nats", "delivered_per_s", AtLeast, 0.9, true},
		{"p99 not worse than baseline", "", "response_p99", NotWorse, 1, true},
		{"p99 not  worse than baseline * 1.05", "", "response_p99", NotWorse, 1.05, true},
	} {
		l, err := Parse(c.text)
		if err != nil || l.Subject != c.subject || l.Metric.Name != c.metric || l.Op != c.op || math.Abs(l.Value-c.value) > 1e-9*c.value || l.Baseline != c.baseline {
			t.Errorf("%q: %+v, %v", c.text, l, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "is no limit",
		"p99":                         "is no limit",
		"< 5ms":                       "names no figure",
		": p99 < 5ms":                 "names no subject",
		"p98 < 5ms":                   `no figure "p98"; did you mean "p90"?`,
		"latnecy < 5ms":               "no figure",
		"respnse_p99 < 5ms":           `did you mean "response_p99"?`,
		"p99 < 5":                     "is a time",
		"p99 < 5 %":                   "is a time",
		"p99 < 5xs":                   "is a time",
		"p99 < fast":                  "is no limit",
		"p99 < -5ms":                  "is no limit",
		"p99 < 1e999s":                "is no limit",
		"p99 = 5ms":                   "measured, not counted",
		"lost < 1 %":                  "use lost_ratio",
		"lost = 0.5":                  "no whole number",
		"lost < 5ms":                  "a number of messages",
		"achieved >= 98":              "write 98 %",
		"delivered_per_s >= 9,500":    "is no limit",
		"delivered_per_s >= 1ms":      "is a rate",
		"broker_pss_max < 64":         "is a size",
		"p99 <= baseline + 10 %":      "write baseline, or baseline * 1.1",
		"p99 <= baseline * 0":         "write baseline",
		"p99 = baseline":              "no two runs are equal",
		"p99 not worse than 5ms":      "is no baseline",
		"p99 not worse than baselin":  "is no baseline",
		"p99 < 5ms or else\nlost = 0": "",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"p99 < 5ms", "nats: lost = 0", "p99 <= baseline * 1.1", "p99 not worse than baseline", "a: b: c < %", "≤", "p99 < ."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(l.Text)
		if err != nil || again.Op != l.Op || again.Value != l.Value || again.Metric.Name != l.Metric.Name || again.Subject != l.Subject {
			t.Errorf("%q, then %q: %+v, %v", text, l.Text, again, err)
		}
		if l.Metric.Of == nil || !(l.Value >= 0) || math.IsInf(l.Value, 0) {
			t.Errorf("%q: %+v", text, l)
		}
	})
}
