package plan

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/stat"
)

// Warnings say what about a plan its author may not have meant, before it is carried out: one line each.
func (p *Plan) Warnings() (list []string) {
	if needed := stat.FewestRepetitions(len(p.Subjects)); p.Search == nil && len(p.Subjects) > 1 && p.Repeat > 1 && p.Repeat < needed {
		list = append(list, fmt.Sprintf("%d repetitions cannot tell %d subjects apart, however different they are: it takes %d (--repeat %d)", p.Repeat, len(p.Subjects), needed, needed))
	}
	said := map[string]bool{}
	for i := range p.Trials {
		for _, w := range p.Trials[i].warnings() {
			if !said[w] {
				said[w] = true
				list = append(list, w)
			}
		}
	}
	return list
}

func (t *Trial) warnings() (list []string) {
	warn := func(format string, args ...any) {
		list = append(list, t.Subject.Name+": "+fmt.Sprintf(format, args...))
	}
	p := &t.Params
	hears := t.Subject.subscriber()
	if t.interrupts() {
		base, _ := OverWebSocket(hears.Protocol)
		switch {
		case base == MQTT5 && !p.Connect.CleanStart && p.Connect.SessionExpiry == 0:
			warn("MQTT 5 ends a session with its connection unless connect.session_expiry is set: nothing is kept for subscribers that are away")
		case p.QoS > 0 && p.Connect.CleanStart && p.Connect.SessionExpiry == 0 && hears.Protocol != RedisStreams:
			warn("with connect.clean_start nothing is kept for subscribers that are away")
		case !p.Connect.CleanStart:
			if text := t.forgets(); text != "" {
				warn("%s", text)
			}
		}
	}
	if o := p.Outages; o.Kind == OutageBlackHole && IsMQTT(t.Subject.Protocol) && p.Connect.KeepAlive > 0 && o.MTTR < p.Connect.KeepAlive/2 {
		warn("outages of %v are shorter than what a keep-alive of %v notices: clients will take them for delays", o.MTTR, p.Connect.KeepAlive)
	}
	return list
}

// interrupts tells that connections of subscribers will end, and come back.
func (t *Trial) interrupts() bool {
	for _, f := range t.Params.Faults {
		if f.Kind != FaultPause {
			return true
		}
	}
	return t.Params.Outages.Kind != "" && t.Params.Outages.Side != SidePublishers
}
