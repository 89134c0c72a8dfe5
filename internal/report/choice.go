package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/stat"
	"github.com/mqlab/mqlab/internal/summary"
)

// choice is what the comparisons of a run say together about which subject to take: a fold over their verdicts, nothing else. A subject
// is behind by a metric where any other was shown to be better, ahead where it was shown to be better than every other one.
type choice struct {
	groups   []*group
	subjects []string            // that have valid trials in every group, in the order of the plan
	behind   map[string][]string // subject: the metrics, in words
	ahead    map[string][]string // subject: the metrics, with how much better than the next
	level    []string            // metrics by which nobody is ahead
	fewest   int                 // valid repetitions of any subject
	made     int                 // repetitions of that subject, valid or not
	shown    bool                // that any two differ
}

// matters is the factor from which on a difference that was shown counts for a choice.
const matters = 1.05

// chosenBy are the metrics that a choice is made by, whatever the load; of a closed loop the rate takes the place of response times.
var chosenBy = []string{
	summary.LostRatio, summary.ResponseP50, summary.ResponseP99, summary.DeliveredPer,
	summary.ConnectPer, summary.OutageP50, summary.KeptRatio, summary.BytesPerMessage, summary.BytesPerMonth, summary.CPUPerMinute,
	summary.BrokerCPU, summary.BrokerPSS,
}

// choiceOf is nil where there is nobody to choose from, or where points do not have the same subjects.
func choiceOf(groups []*group) *choice {
	c := &choice{behind: map[string][]string{}, ahead: map[string][]string{}}
	for _, g := range groups {
		if !g.contested() {
			return nil
		}
		var names []string
		for _, r := range g.rows {
			names = append(names, r.label)
		}
		if len(c.groups) > 0 && !slices.Equal(names, c.subjects) {
			return nil
		}
		c.groups, c.subjects = append(c.groups, g), names
	}
	c.leaveOutInvalid()
	if len(c.subjects) < 2 {
		return nil
	}
	for _, metric := range chosenBy {
		c.weigh(metric)
	}
	return c
}

// leaveOutInvalid keeps the subjects that have a valid trial at every point.
func (c *choice) leaveOutInvalid() {
	for _, g := range c.groups {
		for _, r := range g.rows {
			if r.cell.Valid == 0 {
				c.subjects = slices.DeleteFunc(c.subjects, func(s string) bool { return s == r.label })
			} else if c.fewest == 0 || r.cell.Valid < c.fewest {
				c.fewest, c.made = r.cell.Valid, len(r.cell.Trials)
			}
		}
	}
}

// weigh books by one metric who is ahead and who is behind, at how many points.
func (c *choice) weigh(metric string) {
	behind, ahead, factor, known := map[string]bool{}, map[string]int{}, map[string]float64{}, false
	for _, g := range c.groups {
		x := g.comparisons[metric]
		if x == nil || g.openLoop && metric == summary.DeliveredPer || !g.openLoop && (metric == summary.ResponseP50 || metric == summary.ResponseP99) {
			continue
		}
		known = known || len(x.Verdicts) > 0
		wins := map[string]int{}
		for i := range x.Verdicts {
			v := &x.Verdicts[i]
			if !v.Different || v.Factor != nil && *v.Factor < matters {
				continue
			}
			c.shown = true
			behind[v.Worse] = true
			wins[v.Better]++
			if v.Factor != nil && (factor[v.Better] == 0 || *v.Factor < factor[v.Better]) {
				factor[v.Better] = *v.Factor
			}
		}
		ranked := 0
		for _, s := range x.Subjects {
			if s.Unranked == "" {
				ranked++
			} else if s.Lost {
				behind[s.Subject], known = true, true
			}
		}
		for name, n := range wins {
			if n == ranked-1 { // of all that have a figure
				ahead[name]++
			}
		}
	}
	if !known {
		return
	}
	words := wordsOf(metric)
	for _, name := range c.subjects {
		if behind[name] {
			c.behind[name] = append(c.behind[name], words)
		}
		if n := ahead[name]; n > 0 {
			c.ahead[name] = append(c.ahead[name], words+c.howMuch(n, factor[name]))
		}
	}
	if len(ahead) == 0 {
		c.level = append(c.level, words)
	}
}

// howMuch says by what factor a subject is ahead of the next one; at several points the least of them, and at how many.
func (c *choice) howMuch(points int, factor float64) string {
	var parts []string
	if len(c.groups) > 1 {
		parts = append(parts, fmt.Sprintf("%d of %d points", points, len(c.groups)))
	}
	if factor > 0 && len(c.groups) == 1 {
		parts = append(parts, summary.Factor(factor))
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// paragraph is the choice in words: whom to take, why, and what is not decided.
func (c *choice) paragraph() paragraph {
	if !c.shown {
		return paragraph{c.none(), caution}
	}
	var best []string
	for _, name := range c.subjects {
		if len(c.behind[name]) == 0 {
			best = append(best, name)
		}
	}
	text, why := "Choice: it depends on what counts.", c.reasons(c.subjects)
	if len(best) > 0 {
		text = fmt.Sprintf("Choice: %s, for this load on this machine: behind nobody in anything that was compared.", strings.Join(best, " or "))
		why = c.reasons(best)
	}
	switch {
	case len(c.level) > 0 && len(why) == 0:
		why = []string{"Nobody is ahead of all others at " + and(c.level)}
	case len(c.level) > 0:
		why = append(why, "nobody is ahead of all others at "+and(c.level))
	}
	if len(why) > 0 {
		text += " " + strings.Join(why, "; ") + "."
	}
	return paragraph{text, strong}
}

// none says that nothing was shown, and whether it could have been.
func (c *choice) none() string {
	needed := stat.FewestRepetitions(len(c.subjects))
	few := fmt.Sprintf("Choice: none shown. %s too few to tell %d subjects apart, however different they are; ", validRepetitions(c.fewest), len(c.subjects))
	switch {
	case c.fewest < needed && c.made >= needed:
		return few + fmt.Sprintf("it takes %d. Measure again when the machine is idle.", needed)
	case c.fewest < needed:
		return few + fmt.Sprintf("it takes %d (--repeat %d).", needed, needed)
	}
	return fmt.Sprintf("Choice: none shown. Between %s no difference of more than 5 %% was found that cannot be chance.", and(c.subjects))
}

func validRepetitions(n int) string {
	if n == 1 {
		return "1 valid repetition is"
	}
	return fmt.Sprintf("%d valid repetitions are", n)
}

// reasons says in what subjects are ahead of all others.
func (c *choice) reasons(subjects []string) (all []string) {
	for _, name := range subjects {
		if a := c.ahead[name]; len(a) > 0 {
			all = append(all, name+" is ahead of every other at "+and(a))
		}
	}
	return all
}

// and joins words as in a sentence.
func and(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}
