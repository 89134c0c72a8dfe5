// Package doctor says what this host allows, in numbers, and how to change it.
//
// Quick and Examine read Facts: the first only what costs nothing, the second by trying things out, too. Everything else
// is pure: Findings explains the facts one by one, Needs holds a plan against them, and Check names the limits that a plan
// would break, so that none of them is taken for the broker's.
package doctor

// Status says how much a finding matters.
type Status string

// What a finding can say. It has no status where the fact is not known.
const (
	OK     Status = "ok"
	Note   Status = "note"   // worth knowing before believing a figure
	Limits Status = "limits" // narrows what can be measured here
)

// Finding is one fact about this host in words.
type Finding struct {
	Name   string `json:"name"`
	Status Status `json:"status,omitempty"`
	Value  string `json:"value"`
	Means  string `json:"means,omitempty"`  // what it limits
	Change string `json:"change,omitempty"` // a command
}

const notKnown = "not known on this system"

// explainers turn facts into findings, in the order in which they are shown.
var explainers = []struct {
	name    string
	explain func(*Facts) Finding
}{
	{"open files", openFiles},
	{"local ports", ports},
	{"listen backlog", backlog},
	{"memory", memory},
	{"cores", cores},
	{"CPU governor", governor},
	{"load", load},
	{"CPU pressure", pressure},
	{"clock source", clockSource},
	{"wall clock", wallClock},
	{"timer slack", timerSlack},
	{"wake-ups", wakeUps},
	{"SCHED_RR", realTime},
	{"kernel times", kernelTimes},
	{"congestion ctl", congestion},
	{"io_uring", ioUring},
	{"TUN", tun},
	{"cgroups", cgroups},
	{"Docker", docker},
	{"brokers", brokers},
}

// Findings explains what is known about a host.
func Findings(f Facts) []Finding {
	list := make([]Finding, len(explainers))
	for i, e := range explainers {
		list[i] = e.explain(&f)
		list[i].Name = e.name
		if list[i].Value == "" {
			list[i] = Finding{Name: e.name, Value: notKnown}
		}
	}
	return list
}
