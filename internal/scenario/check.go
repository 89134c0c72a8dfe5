package scenario

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/stamp"
)

// The placeholders that a topic and a client id may hold.
var (
	topicWords  = []string{"run", "stream", "publisher"}
	clientWords = []string{"run", "role", "n"}
)

// check adds what is wrong with the keys that belong to no trial.
func (s *Scenario) check(problems *Errors) {
	if s.Name == "" || strings.ContainsFunc(s.Name, func(r rune) bool { return !inName(r) }) {
		problems.Add(s.At("name"), "name", "%.40q does not fit a folder's name: use letters, digits, - and _", s.Name)
	}
}

// complete fills in what follows from other keys.
func (p *Point) complete() {
	if p.Load.Subscribers > 0 {
		return
	}
	switch p.Load.Pattern {
	case "pairs", "shared":
		p.Load.Subscribers = p.Load.Publishers
	default:
		p.Load.Subscribers = 1
	}
}

// check adds the contradictions between the keys of a point. What depends on the subject is checked by the plan.
func (p *Point) check(problems *Errors) {
	report := func(key, format string, args ...any) {
		if !problems.within(key) {
			problems.Add(p.At(key), key, format, args...)
		}
	}
	p.checkPattern(report)
	p.checkRate(report)
	p.checkPayload(report)
	p.checkNames(report)
	p.checkFaults(report)
	p.checkOutages(report)
	p.checkNetwork(report)
	if e := &p.Connect.TLS; e.Version == "1.2" && e.Groups == "x25519mlkem768" {
		report("connect.tls.groups", "TLS 1.2 has no hybrid key exchange: use version 1.3")
	}
	if p.Subscriber.HoldAcks && p.Load.QoS == 0 {
		report("subscriber.hold_acks", "at QoS 0 nothing is acknowledged: set load.qos to 1 or 2")
	}
	if p.Connect.Rate.Each {
		report("connect.rate", "connections are counted in total: leave out \"each\"")
	}
	if c := p.Connect.Churn; c.Each || c.Max {
		report("connect.churn", "is a number of clients a second, in total: 50/s")
	}
	if p.Connect.Will.Payload != "" && p.Connect.Will.Topic == "" {
		report("connect.will", "has a payload, but no topic")
	}
	if strings.ContainsAny(p.Connect.Will.Topic, "+#\x00") {
		report("connect.will.topic", "%q is no topic to publish to: no + or #", p.Connect.Will.Topic)
	}
	if p.Engine.Loops > 0 && p.Engine.Kind == "goroutine" {
		report("engine.loops", "the goroutine engine has no event loops: remove the key or set kind: loop")
	}
	if p.Engine.Send == "io_uring" && p.Engine.Kind == "goroutine" {
		report("engine.send", "the goroutine engine cannot send through io_uring: remove the key or set kind: loop")
	}
	if _, err := Addresses(p.Connect.SourceAddresses); err != nil {
		report("connect.source_addresses", "%v", err)
	}
}

// Addresses reads IP addresses separated by commas; nil = none is written.
func Addresses(text string) (list []netip.Addr, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		a, err := netip.ParseAddr(word)
		if err != nil {
			return nil, fmt.Errorf("%q is no IP address: write, for example, 192.0.2.1, 192.0.2.2", word)
		}
		list = append(list, a)
	}
	return list, nil
}

type reporter func(key, format string, args ...any)

func (p *Point) checkPattern(report reporter) {
	l := &p.Load
	switch {
	case l.Pattern == "pairs" && l.Subscribers != l.Publishers:
		report("load.subscribers", "%d for %d publishers: pairs have as many of one as of the other; see also pattern fanout, shared", l.Subscribers, l.Publishers)
	case l.Pattern == "fanin" && l.Subscribers != 1:
		report("load.subscribers", "%d: in a fanin one subscriber hears all; see also pattern fanout, shared", l.Subscribers)
	}
}

func (p *Point) checkRate(report reporter) {
	l := &p.Load
	burst := l.Burst != Burst{}
	if l.Spread > 1 && (l.Rate.Max || l.Ramp.To != Rate{} || burst || l.Pacing == "poisson" || l.Pattern != "pairs") {
		report("load.spread", "is for pairs at a constant rate, without burst and ramp")
	}
	switch {
	case l.Rate.Max && l.Pacing == "poisson":
		report("load.pacing", "as fast as possible leaves no pauses to draw: give a rate or remove pacing")
	case l.Ramp.To.Max:
		report("load.ramp.to", "a ramp ends at a rate, for example 1000/s")
	case l.Rate.Max && l.Ramp.To != Rate{}:
		report("load.ramp", "as fast as possible cannot grow: give a rate or remove the ramp")
	case l.Rate.Max && burst:
		report("load.burst", "nothing goes on top of as fast as possible: give a rate or remove the burst")
	}
	switch {
	case burst && l.Burst.Count == 0:
		report("load.burst", "has no count: how many messages?")
	case burst && l.Burst.Every <= 0:
		report("load.burst", "has no every: how long from one burst to the next?")
	case burst && l.Burst.Every >= p.Phases.Measure:
		report("load.burst.every", "%v is not within the measure phase of %v", l.Burst.Every, p.Phases.Measure)
	}
}

func (p *Point) checkPayload(report reporter) {
	l := &p.Load.Payload
	least := stamp.Size
	if l.Form == "json" {
		least = stamp.JSONSize
	}
	content := l.File != "" || l.Text != ""
	switch {
	case l.File != "" && l.Text != "":
		report("load.payload.text", "a payload is a file or a text, not both")
	case content && p.written("load.payload.size"):
		report("load.payload.size", "follows from the file or text: remove the key")
	case !content && int(l.Size) < least:
		report("load.payload.size", "%d bytes cannot hold the stamp that identifies a %s message: at least %d", l.Size, l.Form, least)
	case l.Text != "" && l.Form == "json" && !IsObject([]byte(l.Text)):
		report("load.payload.text", "is no JSON object: {…}")
	}
}

// IsObject reports whether text is a JSON object, into which a stamp fits as first member.
func IsObject(text []byte) bool {
	return json.Valid(text) && strings.HasPrefix(strings.TrimSpace(string(text)), "{")
}

func (p *Point) written(key string) bool {
	_, matrix := p.at[key]
	_, base := p.scenario.at[key]
	return matrix || base
}

func (p *Point) checkNames(report reporter) {
	l := &p.Load
	checkWords(report, "load.topic", l.Topic, topicWords)
	checkWords(report, "load.client_id", l.ClientID, clientWords)
	apart := strings.Contains(l.Topic, "{stream}") || strings.Contains(l.Topic, "{publisher}")
	switch {
	case l.Topic == "" || strings.ContainsAny(l.Topic, "+#\x00"):
		report("load.topic", "%q is no topic to publish to: not empty, no + or #", l.Topic)
	case strings.HasPrefix(l.Topic, "$"):
		report("load.topic", "%q belongs to the broker: topics with $ are its own", l.Topic)
	case l.Pattern == "pairs" && l.Publishers > 1 && !apart:
		report("load.topic", "is the same for all %d pairs: put {stream} into it", l.Publishers)
	}
	if !strings.Contains(l.ClientID, "{role}") || !strings.Contains(l.ClientID, "{n}") {
		report("load.client_id", "is the same for several clients, which would drive each other out: put {role} and {n} into it")
	}
}

// checkWords reports {words} of a template that are not known.
func checkWords(report reporter, key, template string, known []string) {
	_, rest, found := strings.Cut(template, "{")
	for found {
		word, next, closed := strings.Cut(rest, "}")
		switch {
		case !closed:
			report(key, "{%s has no closing brace", word)
		case !slices.Contains(known, word):
			report(key, "{%s} is no placeholder; %s", word, Suggest(word, known))
		}
		_, rest, found = strings.Cut(next, "{")
	}
}

func (p *Point) checkFaults(report reporter) {
	var end time.Duration
	for i, f := range p.Faults {
		key := indexed("faults", i)
		if _, swept := p.at["faults"]; swept {
			key = "faults"
		}
		switch n := f.count(); {
		case n == 0:
			report(key, "does nothing: %s", faultAsText)
		case n > 1:
			report(key, "does several things at once: one of pause, restart and kill is needed")
		case f.end() > p.Phases.Measure:
			report(key, "lasts until %v, but the measure phase ends at %v", f.end(), p.Phases.Measure)
		case f.At < end:
			report(key, "starts at %v, before the one above has ended at %v", f.At, end)
		}
		end = max(end, f.end())
	}
}
