package energy

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

const s = int64(time.Second)

func TestMeter(t *testing.T) {
	radio := Radio{SetUp: time.Second, Tail: 10 * time.Second}
	for _, c := range []struct {
		name    string
		packets []int64 // in seconds
		until   int64
		on      int64
		bursts  int
	}{
		{"silence", nil, 100, 0, 0},
		{"one packet", []int64{20}, 100, 11, 1},
		{"one packet, tail not over", []int64{20}, 25, 6, 1},
		{"two in one tail", []int64{20, 30}, 100, 21, 1},
		{"two apart", []int64{20, 40}, 100, 22, 2},
		{"set-up within the tail that has just ended", []int64{20, 31}, 100, 21 + 1, 2},
		{"a packet a minute", []int64{0, 60, 120, 180}, 240, 44, 4},
	} {
		m := Meter{Radio: radio}
		for _, at := range c.packets {
			if err := m.Packet(at * s); err != nil {
				t.Fatal(err)
			}
		}
		on, bursts := m.On(c.until * s)
		if on != time.Duration(c.on*s) || bursts != c.bursts {
			t.Errorf("%s: on for %v in %d bursts, want %ds in %d", c.name, on, bursts, c.on, c.bursts)
		}
		if again, _ := m.On(c.until * s); again != on {
			t.Errorf("%s: asked again: %v", c.name, again)
		}
	}
	m := Meter{Radio: radio}
	if err := errors.Join(m.Packet(5*s), m.Packet(4*s)); !errors.Is(err, errOrder) {
		t.Errorf("packets out of order: %v", err)
	}
}

func TestRadios(t *testing.T) {
	for _, r := range Radios() {
		if r.Name == "" || r.Tail <= 0 || r.SetUp <= 0 || r.Source == "" {
			t.Errorf("%+v", r)
		}
	}
}

func TestTariffs(t *testing.T) {
	for text, want := range map[string]Tariff{
		"basic: 0.50 EUR/month + 0.10 EUR/MB over 5 MB": {"basic", "EUR", 0.5, 5e6, 0.1},
		"flat: 2 USD/month":                             {"flat", "USD", 2, 0, 0},
		"pay as you go: 1 €/MB":                         {"pay as you go", "€", 0, 0, 1},
	} {
		got, err := ParseTariff(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "x:", ": 1 EUR/MB", "x: EUR/MB", "x: -1 EUR/MB", "x: NaN EUR/MB", "x: 1 EUR/day", "x: 1 EUR/MB + 1 USD/month", "x: 1 EUR/MB over lots"} {
		if got, err := ParseTariff(text); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	basic := Tariff{Fee: 0.5, Included: 5e6, PerMB: 0.1}
	for bytes, want := range map[float64]float64{0: 0.5, 5e6: 0.5, 15e6: 1.5} {
		if got := basic.Cost(bytes); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v bytes cost %v, want %v", bytes, got, want)
		}
	}
	if got := Projected(205, time.Minute); math.Abs(got-205*60*24*30) > 1 {
		t.Errorf("205 bytes a minute are %v a month", got)
	}
}

func FuzzParseTariff(f *testing.F) {
	f.Add("basic: 0.50 EUR/month + 0.10 EUR/MB over 5 MB")
	f.Fuzz(func(t *testing.T, text string) {
		tariff, err := ParseTariff(text)
		if err == nil && !(tariff.Cost(1e9) >= 0) {
			t.Errorf("%q costs %v", text, tariff.Cost(1e9))
		}
	})
}

func TestFleet(t *testing.T) {
	f := Fleet{From: 0, Until: 100 * s, Radios: []Radio{{Name: "a", Tail: 10 * time.Second}, {Name: "b", SetUp: time.Second, Tail: time.Second}}}
	for _, p := range []struct {
		device uint64
		at     int64
	}{{1, -1}, {1, 10 * s}, {2, 10 * s}, {1, 12 * s}, {1, 12*s - 1}, {2, 100 * s}} {
		f.Packet(p.device, p.at)
	}
	uses, devices := f.Uses()
	if devices != 2 || uses[0].On != 22*s || uses[0].Bursts != 2 || uses[1].On != 6*s || uses[1].Bursts != 3 {
		t.Errorf("%d devices, %+v", devices, uses)
	}
}
