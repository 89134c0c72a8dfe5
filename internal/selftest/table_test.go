package selftest

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/faulty"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/selftest/oracle"
)

func TestTableSaysWhatFailed(t *testing.T) {
	columns := []column{{plan.EngineLoop, plan.MQTT5}, {plan.EngineGoroutine, plan.NATS}}
	fine, wrong := number("lost", 5, uint64(5)), number("lost", 5, uint64(4))
	long := (&tester{}).span("p50", time.Second, time.Millisecond, 2*time.Second)
	tests := []struct {
		name         string
		results      []result
		failed, late int
		want         string
	}{
		{"fine", []result{{readings: []reading{fine}, tries: 1}, {}}, 0, 0, "ok   lost                       5              5       -\n"},
		{"wrong", []result{{readings: []reading{fine}}, {readings: []reading{wrong}}}, 1, 0, "FAIL lost                       5              5       4\n"},
		{"late", []result{{}, {readings: []reading{long}, tries: 3}}, 1, 1, "FAIL p50                        1000-1001 ms   -       2000\n" +
			"     (goroutine nats: try 3, since times were too long before)\n"},
		{"error", []result{{err: errors.New("no way")}, {readings: []reading{fine}}}, 1, 0, "ok   lost                       5              -       5\n" +
			"FAIL loop mqtt5:\n     no way\n"},
	}
	for _, test := range tests {
		var text strings.Builder
		out := table{w: &text}
		out.lines(columns, test.results)
		if text.String() != test.want || out.failed != test.failed || out.late != test.late {
			t.Errorf("%s: %d failed, %d of them late:\n%swant\n%s", test.name, out.failed, out.late, &text, test.want)
		}
	}
}

func TestOnlyLateChecksAreTriedAgain(t *testing.T) {
	long := reading{name: "p50", late: true}
	wrong := reading{name: "lost"}
	fine := reading{name: "lost", ok: true}
	tests := []struct {
		name   string
		script [][]reading // one for each try
		err    error
		tries  int
	}{
		{"fine", [][]reading{{fine}}, nil, 1},
		{"late once", [][]reading{{fine, long}, {fine}}, nil, 2},
		{"always late", [][]reading{{long}, {long}, {long}, {fine}}, nil, 3},
		{"wrong", [][]reading{{wrong}, {fine}}, nil, 1},
		{"wrong and late", [][]reading{{long, wrong}, {fine}}, nil, 1},
		{"late and an error", [][]reading{{long}, {fine}}, errors.New("no"), 1},
	}
	for _, test := range tests {
		under := &tester{again: time.Now().Add(time.Hour)}
		n := 0
		r := under.try(t.Context(), func(context.Context, *tester, column) ([]reading, error) {
			n++
			return test.script[n-1], test.err
		}, column{})
		if n != test.tries || r.tries != n {
			t.Errorf("%s: %d tries, says %d, want %d", test.name, n, r.tries, test.tries)
		}
	}
}

// TestAgreeNoticesEveryDifference changes each count of the lab, of the oracle and of the truth in turn.
func TestAgreeNoticesEveryDifference(t *testing.T) {
	sound := func() (*outcome, *faulty.Account) {
		return &outcome{
			Window: ledger.Window{Counts: ledger.Counts{
				Offered: 10, Sent: 10, Acked: 10, Expected: 10, Received: 9, Delivered: 8, Lost: 2, Duplicates: 1,
				Reordered: 2, MaxReorder: 3, Corrupt: 1, Foreign: 4,
			}},
			recount: oracle.Count{
				Sent: 10, Acked: 10, Expected: 10, Received: 9, Delivered: 8, Lost: 2, Duplicates: 1, Reordered: 2, MaxReorder: 3, Corrupt: 1, Foreign: 4,
			},
		}, &faulty.Account{Routed: 10, Distinct: 8, Duplicates: 1, Reordered: 2, MaxReorder: 3, Corrupted: 1, Foreign: 4}
	}
	if o, truth := sound(); o.agree(truth) != nil {
		t.Fatal(o.agree(truth))
	}
	ignored := map[string]bool{ // they say how, and have other tests
		"Drained": true, "Resent": true, "Unconfirmed": true, "Refused": true,
		"Lost of truth": true, "Dropped of truth": true, "Deferred of truth": true, "Forwarded of truth": true,
	}
	for name, change := range map[string]func(o *outcome, a *faulty.Account) reflect.Value{
		"":           func(o *outcome, _ *faulty.Account) reflect.Value { return reflect.ValueOf(&o.Counts).Elem() },
		" of oracle": func(o *outcome, _ *faulty.Account) reflect.Value { return reflect.ValueOf(&o.recount).Elem() },
		" of truth":  func(_ *outcome, a *faulty.Account) reflect.Value { return reflect.ValueOf(a).Elem() },
	} {
		o, truth := sound()
		for i := range change(o, truth).NumField() {
			o, truth := sound()
			v := change(o, truth)
			field := v.Type().Field(i).Name + name
			if !v.Field(i).CanSet() || ignored[field] {
				continue
			}
			v.Field(i).SetUint(v.Field(i).Uint() + 1)
			if o.agree(truth) == nil {
				t.Errorf("one more %s goes unnoticed", field)
			}
		}
	}
}
