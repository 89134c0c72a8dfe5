package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/gate"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

func init() {
	commands["folder"] = makeFolder
	commands["scrape"] = scrapeUntil
	commands["gated"] = gated
	commands["junit"] = junit
}

// scriptTB lets a script make run folders by package runtest.
type scriptTB struct {
	testing.TB
	ts  *script
	dir string
}

func (scriptTB) Helper()             {}
func (t scriptTB) TempDir() string   { return t.dir }
func (t scriptTB) Fatal(args ...any) { t.ts.Fatalf("%s", fmt.Sprint(args...)) }

// made is a run to be made up.
type made struct {
	id, host, version, limit string
	subjects                 []string
	reps, payload            int
	factor                   float64
	lost                     uint64
	invalid                  bool
}

// makeFolder writes the folder of a made-up run: five repetitions of nats, ten pairs, 1,000 messages a second of 256 bytes, with
// response times around 100 µs.
func makeFolder(ts *script, neg bool, args []string) {
	usageOf(ts, "folder NAME [id= host= version= limit= subjects=a,b reps= payload= factor= lost= invalid=true]", len(args) >= 1, neg)
	m := made{id: args[0], host: "bench", version: "1.2.3", subjects: []string{"nats"}, reps: 5, payload: 256, factor: 1}
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		ts.Check(m.set(name, value))
	}
	p := runtest.Params()
	p.PayloadBytes = m.payload
	tmp, err := os.MkdirTemp(ts.Getenv("WORK"), "made")
	ts.Check(err)
	r := runtest.Write(scriptTB{ts: ts, dir: tmp}, "made", runtest.Repeated(m.subjects, m.reps, 1, p, m.edit))
	ts.Check(m.rewrite(filepath.Join(r.Dir, "run.json")))
	ts.Check(os.Rename(r.Dir, ts.MkAbs(args[0])))
	ts.Check(os.Remove(tmp))
}

func (m *made) set(name, value string) (err error) {
	switch name {
	case "id":
		m.id = value
	case "host":
		m.host = value
	case "version":
		m.version = value
	case "limit":
		m.limit = value
	case "subjects":
		m.subjects = strings.Split(value, ",")
	case "reps":
		m.reps, err = strconv.Atoi(value)
	case "payload":
		m.payload, err = strconv.Atoi(value)
	case "factor":
		m.factor, err = strconv.ParseFloat(value, 64)
	case "lost":
		m.lost, err = strconv.ParseUint(value, 10, 64)
	case "invalid":
		m.invalid = value == "true"
	default:
		err = fmt.Errorf("unknown property %s", name)
	}
	return err
}

func (m *made) edit(t *runtest.Trial) {
	t.Median = time.Duration(float64(t.Median) * m.factor)
	t.Lost = m.lost
	t.Edit = func(r *run.TrialRecord) {
		r.Broker.Version = m.version
		r.Checks.SubscribersReady = !m.invalid
	}
}

// rewrite gives a manifest its id, host and limit.
func (m *made) rewrite(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var manifest run.Manifest
	if err := json.Unmarshal(b, &manifest); err != nil {
		return err
	}
	manifest.ID, manifest.Host.Hostname = m.id, m.host
	if m.limit != "" {
		manifest.Plan.Limits = []string{m.limit}
	}
	if b, err = json.Marshal(manifest); err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o600)
}

// scrapeUntil reads metrics again and again until every pattern is found in them.
func scrapeUntil(ts *script, neg bool, args []string) {
	usageOf(ts, "scrape URL PATTERN…", len(args) >= 2, neg)
	limit := time.After(peerLimit)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	text, kind := "", ""
	for {
		if r, err := http.Get(args[0]); err == nil {
			b, err := io.ReadAll(r.Body)
			_ = r.Body.Close()
			if err == nil {
				text, kind = string(b), r.Header.Get("Content-Type")
			}
			found := 0
			for _, pattern := range args[1:] {
				if regexp.MustCompile("(?m)" + pattern).MatchString(text) {
					found++
				}
			}
			if found == len(args)-1 {
				if kind != "text/plain; version=0.0.4; charset=utf-8" {
					ts.Fatalf("content type %s", kind)
				}
				return
			}
		}
		select {
		case <-again.C:
		case <-limit:
			ts.Fatalf("not found in\n%s", text)
		}
	}
}

// gated checks that the gate, the text, the markdown and the JSON of a run show the same value of one limit on its p99: METRIC is
// a percentile column of the report.
func gated(ts *script, neg bool, args []string) {
	usageOf(ts, "gated RUN METRIC SUBJECT", len(args) == 3, neg)
	limit := args[1] + " < 3600s"
	reports := map[string]string{}
	for _, format := range []string{"text", "json", "markdown"} {
		ts.Check(ts.Exec("mqlab", "report", args[0], "--limit", limit, "--format", format))
		reports[format] = ts.ReadFile("stdout")
	}
	var doc struct {
		Gate        gate.Gate
		Comparisons []summary.Comparison
	}
	ts.Check(json.Unmarshal([]byte(reports["json"]), &doc))
	var want *float64
	for _, c := range doc.Comparisons {
		for _, s := range c.Subjects {
			if c.Metric == "response_"+args[1] && s.Subject == args[2] {
				want = s.Median
			}
		}
	}
	for _, c := range doc.Gate.Checks {
		if c.Subject != args[2] {
			continue
		}
		if want == nil || c.Value == nil || *c.Value != *want {
			ts.Fatalf("the gate reads %v, the report has %v", c.Value, want)
		}
		figure := summary.Nanoseconds.Format(*want)
		for _, format := range []string{"text", "markdown"} {
			if got := cell(reports[format], args[2], args[1]); got != figure {
				ts.Fatalf("%s in %s, the gate has %s", got, format, figure)
			}
			row := regexp.MustCompile(regexp.QuoteMeta(args[2]) + `[ |]+` + strings.ReplaceAll(regexp.QuoteMeta(limit), "<", "(?:<|&lt;)") + `[ |]+` + regexp.QuoteMeta(figure) + `[ |]+pass`)
			if !row.MatchString(reports[format]) {
				ts.Fatalf("no row of the limit with %s in %s", figure, format)
			}
		}
		return
	}
	ts.Fatalf("no check of %s", args[2])
}

// junit reads a JUnit file and checks how many tests, failures and errors it has.
func junit(ts *script, neg bool, args []string) {
	usageOf(ts, "junit FILE TESTS FAILURES ERRORS", len(args) == 4, neg)
	var doc struct {
		Suites []struct {
			Tests    string `xml:"tests,attr"`
			Failures string `xml:"failures,attr"`
			Errors   string `xml:"errors,attr"`
			Cases    []struct {
				Name    string    `xml:"name,attr"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	ts.Check(xml.Unmarshal([]byte(ts.ReadFile(args[0])), &doc))
	s := doc.Suites[0]
	failures, errors := 0, 0
	for _, c := range s.Cases {
		if c.Failure != nil {
			failures++
		}
		if c.Error != nil {
			errors++
		}
	}
	got := fmt.Sprint(s.Tests, s.Failures, s.Errors, " ", len(s.Cases), failures, errors)
	if want := fmt.Sprint(args[1], args[2], args[3], " ", args[1], " ", args[2], " ", args[3]); got != want {
		ts.Fatalf("%s, want %s", got, want)
	}
}
