package jitter

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/evidence"
	"github.com/mqlab/mqlab/internal/summary"
)

// loopCase is a case whose every message is read a period or two late, and some are lost; of two rounds, and one that failed.
func loopCase() (Plan, []Trial) {
	sleepy, other := R1(), R1()
	sleepy.Name, sleepy.Client, sleepy.Loop, sleepy.Count = "sleepy", "c-libmosquitto", "sleep", 1000
	other.Name, other.Client, other.Count = "other", "python-paho", 1000
	p := Plan{Cases: []Case{sleepy, other}, Rounds: 2, Echo: Here, Topics: R1Topics, Not: []Skipped{{"gone", "no compiler"}}}
	took := func(seq int) int64 {
		switch {
		case seq == 77:
			return -1
		case seq > 500:
			return 200*ms + int64(seq)
		}
		return 100*ms + int64(seq)
	}
	r := result(&sleepy, took)
	r.Library, r.Version = "libmosquitto", "2.0.11"
	r.Input.Messages[3].Done = r.Input.Messages[3].Recv + 500
	second := result(&sleepy, took)
	second.Library, second.Version = "libmosquitto", "2.0.11"
	return p, []Trial{{ID: 1, Case: 0, Round: 1, Broker: "mochi", Result: r}, {ID: 3, Case: 0, Round: 2, Result: second}, {ID: 2, Case: 1, Round: 1, Failure: "it ended"}}
}

func TestReport(t *testing.T) {
	p, trials := loopCase()
	r := NewReport("abc123", time.Unix(0, 0).UTC(), p, trials)
	c := &r.Cases[0]
	if c.Validity != summary.Valid || c.Service.Count != 1998 || c.Service.Expected != 2000 || len(c.Modes) != 2 || c.Rounds[1].Trial != 3 {
		t.Errorf("%s, %d of %d, modes %+v", c.Validity, c.Service.Count, c.Service.Expected, c.Modes)
	}
	if c.Cause != string(c.Rounds[0].Diagnosis.Verdict) {
		t.Errorf("cause %s", c.Cause)
	}
	if o := &r.Cases[1]; o.Validity != summary.Invalid || o.Why != "it ended" {
		t.Errorf("%s: %s", o.Validity, o.Why)
	}
	var b bytes.Buffer
	if err := Text(&b, r, "en", func(head, text string) { b.WriteString(head + text + "\n") }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sleepy", "100 ms (50 %), 200 ms (50 %)", "failed     it ended", "gone: no compiler", "loop=sleep", "over time  max", "lost"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the text has no %q:\n%s", want, b.String())
		}
	}
	var page bytes.Buffer
	if err := Page(&page, "html", r, "en", []string{"mqlab", "run", "jitter"}, nil); err != nil {
		t.Fatal(err)
	}
}

// TestFolder: what is written is read again to the same report, whether or not all of it is there.
func TestFolder(t *testing.T) {
	p, trials := loopCase()
	dir := t.TempDir()
	if err := WritePlan(dir, &p); err != nil {
		t.Fatal(err)
	}
	for i := range trials {
		if err := trials[i].Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	want := NewReport("abc123", time.Unix(0, 0), p, trials)
	read := func() *Report {
		again, loaded, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		return NewReport("abc123", time.Unix(0, 0), *again, loaded)
	}
	a, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(read()); err != nil || !bytes.Equal(a, b) {
		t.Errorf("%v: a report read again differs:\n%s\n%s", err, a, b)
	}
	f, err := os.Open(filepath.Join(dir, trialsDir, "1", messagesFile))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	table, err := evidence.ReadCSV(f, evidence.Options{})
	if err != nil || len(table.Input.Messages) != 1000 || table.Unit != "ns" || diagnose.Diagnose(&table.Input).Lost != 1 {
		t.Errorf("%v: %+v", err, table)
	}
	if err := os.Remove(filepath.Join(dir, trialsDir, "3", besideFile)); err != nil { // cut off
		t.Fatal(err)
	}
	if n := len(read().Cases[0].Rounds); n != 1 {
		t.Errorf("%d rounds of a run that was cut off, want 1", n)
	}
	if err := os.WriteFile(filepath.Join(dir, trialsDir, "1", messagesFile), []byte("seq,send_ns,recv_ns\n1,x,y\n2,3,4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(dir); err == nil {
		t.Error("a damaged table is read")
	}
}

func TestCases(t *testing.T) {
	for _, set := range [][]string{R1Clients, R1Cases} {
		names := map[string]bool{}
		for _, text := range set {
			c := R1()
			if err := c.Set(text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
			if err := c.Check(); err != nil || names[c.Name] || c.Count != 10_000 || c.Interval != 100*time.Millisecond {
				t.Errorf("%s: %v %+v", text, err, c)
			}
			names[c.Name] = true
		}
	}
	for text, want := range map[string]string{
		"loop":                                            `"loop" is no key=value`,
		"lop=sleep":                                       `there is no key "lop"; did you mean "loop"?`,
		"loop=round":                                      "loop round: there are thread, sleep",
		"client=c-libmosquito":                            `there is none of that name; did you mean "c-libmosquitto"?`,
		"client=c-nats":                                   "it only receives; those that publish are",
		"client=python-paho,loop=sleep":                   "only c-libmosquitto has it",
		"client=python-paho,malloc=on":                    "Python manages its memory itself",
		"client=go-paho3,gc=off":                          "these are of Python",
		"client=go-paho3,nodelay=client":                  "a client in Go has it set always",
		"client=go-paho3,nodelay=broker":                  "a setting of mosquitto only",
		"client=go-paho3,broker=nats":                     "speak MQTT, not nats",
		"client=go-paho3,broker=mosquito":                 "mosquito",
		"client=go-paho3,broker=mqtt://u:p@h:1,tls=on":    "leave out what stands before @",
		"client=go-paho3,broker=mqtt://h:1,tls=on":        "the URL says it",
		"client=go-paho3,connections=4":                   "only c-libmosquitto with loop=thread",
		"client=c-libmosquitto,connections=4,loop=sleep":  "only c-libmosquitto with loop=thread",
		"client=go-paho3,count=0":                         "a whole number from 1 to",
		"client=go-paho3,interval=1us":                    "a time from 100µs to 1h0m0s",
		"client=go-paho3,keepalive=5500ms":                "whole seconds",
		"client=go-paho3,payload=10B":                     "a size from 40B to 1MiB",
		"client=go-paho3,qos=3":                           "from 0 to 2",
		"client=go-paho3,pin=x":                           "the number of a core",
		"client=go-paho3,mix=maybe":                       "on or off",
		"client=go-paho3,nodelay=all":                     "there are client, echo, broker",
		"client=go-paho3,interval=1h,count=100":           "more than two days",
		"client=":                                         "there is nothing",
		"client=node-mqttjs,malloc=on":                    "Node manages its memory itself",
		"client=c-libmosquitto,nodelay=client+echo,qos=1": "",
	} {
		c := R1()
		err := c.Set(text)
		if err == nil {
			err = c.Check()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "u:p")) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	a, b := R1(), R1()
	if err := b.Set("loop=sleep,nodelay=none,log=on"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.Changed(&a), " "); got != "loop=sleep nodelay=none log=on" {
		t.Errorf("changed: %s", got)
	}
}

func TestDuration(t *testing.T) {
	for ns, want := range map[float64]string{0: "0 ns", 999: "999 ns", 1000: "1.00 µs", 999_900: "1.00 ms", 999_400: "999 µs", 15_123_456: "15.1 ms", 1.5e9: "1.50 s", 123e9: "123 s"} {
		if got := Duration(ns); got != want {
			t.Errorf("%v: %s, want %s", ns, got, want)
		}
	}
}
