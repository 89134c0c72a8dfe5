package link

import (
	"strings"
	"testing"
	"time"
)

func TestProfiles(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Profiles() {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
		if seen[p.Name] || p.About == "" || p.Source == "" {
			t.Errorf("%s: twice, or without a word on what it is and where its figures come from", p.Name)
		}
		seen[p.Name] = true
		if found, err := Find(p.Name); err != nil || found != p {
			t.Errorf("%s: %+v, %v", p.Name, found, err)
		}
		for _, way := range []Direction{Up, Down} {
			params := p.Params(way)
			mean, deviation := params.Travel()
			if d := (mean - params.Delay).Abs(); d > params.Delay/100 {
				t.Errorf("%s %s: delays below 0 shift the mean by %v", p.Name, way, d)
			}
			if params.Jitter > 0 && deviation == 0 {
				t.Errorf("%s %s: no deviation", p.Name, way)
			}
		}
	}
	for _, name := range strings.Fields("lpwan extreme nb-iot lte-m edge-2g 3g 4g wifi-crowded satellite-geo satellite-leo factory-floor") {
		if !seen[name] {
			t.Errorf("there is no profile %s", name)
		}
	}
}

func TestLPWAN(t *testing.T) {
	p, err := Find("lpwan")
	if err != nil {
		t.Fatal(err)
	}
	want := Params{Delay: 300 * time.Millisecond, Jitter: 50 * time.Millisecond, Order: OrderFlow, Loss: 0.05, Rate: 256_000, QueueBytes: 32_000}
	if p.Up != want || p.Down != want {
		t.Errorf("%+v", p)
	}
}

func TestFindNamesWhatThereIs(t *testing.T) {
	if _, err := Find("lpvan"); err == nil || !strings.Contains(err.Error(), "lpwan, extreme") {
		t.Error(err)
	}
}

func TestProfileValidateNamesTheDirection(t *testing.T) {
	if err := (Profile{Name: "mine", Down: Params{Loss: 2}}).Validate(); err == nil || !strings.Contains(err.Error(), "link mine: down: loss is 2") {
		t.Error(err)
	}
}
