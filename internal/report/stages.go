package report

import "github.com/mqlab/mqlab/internal/summary"

// stages shows how far the messages of one trial came.
func (d *document) stages(t *summary.Trial) {
	s := t.Stages
	if s == nil {
		return
	}
	sec := d.section("How far messages came")
	rows := &table{head: []string{"", "scheduled", "taken", "written", "TCP-acked", "confirmed", "received"}, left: 1}
	add := func(when string, x *summary.Stage) {
		if x == nil {
			return
		}
		confirmed := unknown
		if x.Confirmed != nil {
			confirmed = summary.Count(*x.Confirmed)
		}
		rows.row(when, summary.Count(x.Scheduled), summary.Count(x.Accepted), summary.Count(x.Written), summary.Count(x.TCPAcked), confirmed, summary.Count(x.Received))
	}
	add("measured until", s.AtEnd)
	add("in all", &s.Final)
	sec.add(rows)
	sec.say(plain, "Messages due in the measure window, at its end and after the drain. Written to a socket is not sent: only what was received is delivered.")
}
