package scenario

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Set overrides one key, as the flag --set key=value does. A swept key is no longer swept. Lists and groups are written
// in YAML's short form: subjects=[mochi, nats], matrix.load.qos=[0, 1].
func (s *Scenario) Set(assignment string) {
	key, text, ok := strings.Cut(assignment, "=")
	source := "--set " + assignment
	if strings.HasPrefix(key, "subjects") || strings.HasPrefix(key, "matrix.subjects") {
		source = "--set " + key // a URL may hold a password
	}
	if !ok {
		s.problems.Add(Pos{Source: source}, "", "write --set key=value")
		return
	}
	s.set(source, key, text)
}

func (s *Scenario) set(source, key, text string) {
	d := decoder{s, source, true}
	if swept, ok := strings.CutPrefix(key, "matrix."); ok {
		if body := d.parse([]byte(text)); body != nil {
			s.unsweep(swept)
			d.axis(entry{swept, Pos{Source: source}, body}, &s.Matrix)
		}
		return
	}
	f, err := lookup(reflect.ValueOf(s).Elem(), key)
	if err != nil {
		s.problems.Add(Pos{Source: source}, key, "%v", err)
		return
	}
	s.unsweep(key)
	if !f.single() || f.faults() {
		if body := d.parse([]byte(text)); body != nil {
			d.value(body, f)
		}
		return
	}
	s.at[f.key] = Pos{Source: source}
	if err := f.set(text); err != nil {
		s.problems.Add(Pos{Source: source}, f.key, "%v", err)
	}
}

// unsweep removes a key from the matrix.
func (s *Scenario) unsweep(key string) {
	settings := Defaults()
	if f, err := lookup(reflect.ValueOf(&settings).Elem(), key); err == nil {
		s.Matrix = slices.DeleteFunc(s.Matrix, func(a Axis) bool { return a.path == f.key })
	}
}

// Compare overrides the subjects, as the flag --brokers does: names with commas between them.
func (s *Scenario) Compare(subjects string) {
	at := Pos{Source: "--brokers"}
	s.at["subjects"] = at
	s.Subjects = nil
	for name := range strings.SplitSeq(subjects, ",") {
		s.Subjects = append(s.Subjects, Subject{Subject: strings.TrimSpace(name), At: at})
	}
}

// Measure overrides how long each trial is measured, as the flag --duration does.
func (s *Scenario) Measure(d time.Duration) {
	s.set("--duration "+d.String(), "phases.measure", d.String())
}

// Times overrides the number of repetitions, as the flag --repeat does.
func (s *Scenario) Times(n int) {
	s.set("--repeat "+strconv.Itoa(n), "repeat", strconv.Itoa(n))
}

// SeedWith overrides the seed, as the flag --seed does.
func (s *Scenario) SeedWith(seed uint64) {
	text := strconv.FormatUint(seed, 10)
	s.set("--seed "+text, "seed", text)
}

// KeepSamples keeps the times of every message, as the flag --samples does.
func (s *Scenario) KeepSamples() { s.set("--samples", "samples", "true") }

// On overrides the machine, as the flag --machine does.
func (s *Scenario) On(machine string) { s.set("--machine "+machine, "machine", machine) }

// Generate overrides how many processes generate the load, as the flag --generators does.
func (s *Scenario) Generate(processes int) {
	text := strconv.Itoa(processes)
	s.set("--generators "+text, "engine.generators", text)
}

// Pin overrides whether brokers and generator are held to different cores, as the flags --pin and --no-pin do.
func (s *Scenario) Pin(on bool) {
	if on {
		s.set("--pin", "engine.pin", "on")
	} else {
		s.set("--no-pin", "engine.pin", "off")
	}
}

// IgnoreMachine lets brokers have the whole host whatever machine is written, as the flag --no-limits does.
func (s *Scenario) IgnoreMachine() { s.noLimits = true }

// MachineIgnored tells whether IgnoreMachine was called.
func (s *Scenario) MachineIgnored() bool { return s.noLimits }

// Limit adds a limit, as the flag --limit does.
func (s *Scenario) Limit(text string) {
	s.Limits = append(s.Limits, Limit{Text: text, At: Pos{Source: "--limit " + text}})
}

// CheckLimits adds what check finds wrong with a limit. Those that were already reported, which have no text, are left out.
func (s *Scenario) CheckLimits(check func(text string) error) {
	for i, l := range s.Limits {
		if l.Text == "" && s.problems.Err() != nil {
			continue
		}
		if err := check(l.Text); err != nil {
			s.problems.Add(l.At, indexed("limits", i), "%v", err)
		}
	}
}

// CheckSearch adds what check finds wrong with a limit of the search. Those that were already reported, which have no text, are left
// out.
func (s *Scenario) CheckSearch(check func(text string) error) {
	for i, l := range s.Search.Limits {
		if l.Text == "" && s.problems.Err() != nil {
			continue
		}
		if err := check(l.Text); err != nil {
			s.problems.Add(l.At, indexed("search.limits", i), "%v", err)
		}
	}
}

// everyFault lists the faults of all points.
func (s *Scenario) everyFault() []Fault {
	all := slices.Clone(s.Faults)
	for _, axis := range s.Matrix {
		if axis.path != "faults" {
			continue
		}
		for _, v := range axis.Values {
			faults, _ := parseFaults(v.Text) // a mistake in it is reported elsewhere
			all = append(all, faults...)
		}
	}
	return all
}

const quickFlag = "--quick"

// Quick bounds what takes time, as the flag --quick does: settle 100 ms, warm-up 300 ms, measure 2 s, drain 1 s, three
// repetitions. The measure phase stays long enough for two bursts, for 1 s after the last fault, and for outages. Swept values stay
// as they are. Then it sets what the scenario says under quick. Overrides made later win.
func (s *Scenario) Quick() {
	at := Pos{Source: quickFlag}
	measure := max(2*time.Second, 2*s.Load.Burst.Every+1, s.Outages.span())
	for _, f := range s.everyFault() {
		measure = max(measure, f.end()+time.Second)
	}
	bound := func(key string, d *time.Duration, most time.Duration) {
		if *d > most {
			*d, s.at[key] = most, at
		}
	}
	bound("phases.settle", &s.Phases.Settle, 100*time.Millisecond)
	bound("phases.warmup", &s.Phases.WarmUp, 300*time.Millisecond)
	bound("phases.measure", &s.Phases.Measure, measure)
	bound("phases.drain", &s.Phases.Drain, time.Second)
	if s.Repeat > 3 {
		s.Repeat, s.at["repeat"] = 3, at
	}
	for _, o := range s.WhenQuick {
		s.set("--quick "+o.Key, o.Key, o.Value)
	}
}
