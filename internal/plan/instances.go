package plan

import "github.com/mqlab/mqlab/internal/scenario"

// checkInstances looks for what several brokers side by side cannot do.
func checkInstances(p *scenario.Point, s Subject, report reporter) {
	const key = "broker.instances"
	switch {
	case p.Broker.Instances <= 1:
	case s.Runtime == "external":
		report(key, "a broker that was not started here cannot be multiplied")
	case s.Bridge != nil:
		report(key, "a bridge joins one broker with one other")
	case p.Load.Pattern != PatternPairs:
		report(key, "only pairs can be dealt out to several brokers, which do not know of each other")
	case p.Machine.Name != "":
		report(key, "each of several brokers would get the whole machine")
	}
}
