package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/stat"
	"github.com/mqlab/mqlab/internal/summary"
)

// WriteChanges writes how two comparisons, A and B, differ.
func WriteChanges(w io.Writer, format, a, b string, c *clients.Changes, color bool) error {
	if format == "json" {
		return report.WriteJSON(w, c)
	}
	p := report.NewPage(fmt.Sprintf("mqlab compare: clients %s (A), %s (B)", a, b))
	floors, changed, libraries := 0, 0, 0
	for i := range c.Changes {
		switch x := &c.Changes[i]; {
		case x.Floor && x.Different:
			floors++
		case x.Different:
			changed++
		}
		if !c.Changes[i].Floor {
			libraries++
		}
	}
	p.Say("%d of %d comparisons of libraries are different, adjusted for their number. Rounds of one run are of one process each: a difference may come from one start of it, too; repeat the runs before you build on it.", changed, libraries)
	if floors > 0 {
		p.Warn("%d of the floors' comparisons are different, too: the host is not as it was, and libraries are not the only cause.", floors)
	}
	if c.Isolated {
		p.Warn("Clients were kept apart from other programs in another way.")
	}
	for _, v := range c.Versions {
		p.Warn("%s is %s in A and %s in B.", v.Client, orNothing(v.A), orNothing(v.B))
	}
	for _, m := range clients.Metrics {
		changes(p, c, m)
	}
	p.Section("Not compared")
	if len(c.OnlyA) > 0 {
		p.Say("No valid result in both: %s.", strings.Join(c.OnlyA, "; "))
	}
	if len(c.OnlyB) > 0 {
		p.Say("In B only: %s.", strings.Join(c.OnlyB, "; "))
	}
	return p.Write(w, format, color, nil)
}

func orNothing(version string) string {
	if version == "" {
		return "of an unknown version"
	}
	return version
}

// changes are the rows of a metric.
func changes(p *report.Page, c *clients.Changes, m clients.Metric) {
	var rows [][]string
	last := ""
	for i := range c.Changes {
		x := &c.Changes[i]
		if x.Metric != m {
			continue
		}
		at := x.Point.String()
		if at == last {
			at = ""
		} else {
			last = at
		}
		rows = append(rows, []string{at, x.Client, median(x.A), median(x.B), ratio(x.Ratio), verdict(x)})
	}
	if len(rows) == 0 {
		return
	}
	p.Section(titles[m])
	p.Table(2, []string{"", "client", "A", "B", "B / A, 95 %", "verdict"}, rows)
}

var titles = map[clients.Metric]string{
	clients.Drain: "Work per message", clients.Excess: "Added to a lone message", clients.Jitter: "Jitter of lone messages", clients.CPU: "CPU per message",
}

func ratio(i *stat.Interval) string {
	if i == nil {
		return unknown
	}
	return summary.Range(summary.Factor(i.Low), summary.Factor(i.High))
}

func verdict(x *clients.Change) string {
	switch {
	case !x.Different:
		return "not shown"
	case x.B.Median < x.A.Median:
		return "less"
	}
	return "more"
}
