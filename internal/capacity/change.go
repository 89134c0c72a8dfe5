package capacity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/plan"
)

// The verdicts of a Change.
const (
	Higher      = "higher"       // the later run sustains more: its interval lies above
	Lower       = "lower"        // it sustains less
	NoneShown   = "none_shown"   // the intervals meet: they show no difference
	NotComplete = "not_complete" // one of the searches has no answer
	OtherSearch = "other_search" // the searches do not ask the same
)

// Change is what became of a capacity from one run to another. What is not known is absent.
type Change struct {
	Subject string            `json:"subject"`
	Set     []plan.Assignment `json:"set,omitempty"`
	Vary    string            `json:"vary"`
	Verdict string            `json:"verdict"`
	Ratio   *float64          `json:"sustainable_ratio,omitempty"` // of what the later run sustains to what the earlier one does
	Text    string            `json:"text"`
	Runs    []Answer          `json:"runs"` // the two, with their labels
}

// Answer is what the search of one run found.
type Answer struct {
	Label       string   `json:"label"`
	Sustainable *float64 `json:"sustainable,omitempty"`
	Low         *float64 `json:"sustainable_low,omitempty"`
	High        *float64 `json:"sustainable_high,omitempty"`
}

// Changes compares every search of b with that of the same subject at the same point of a; labels name the two runs. A capacity is
// called changed only where the intervals of the answers lie apart.
func Changes(a, b []Result, labels [2]string) (all []Change) {
	for i := range b {
		n := slices.IndexFunc(a, func(r Result) bool { return r.Name() == b[i].Name() })
		if n >= 0 {
			all = append(all, change(&a[n], &b[i], labels))
		}
	}
	return all
}

func change(a, b *Result, labels [2]string) Change {
	c := Change{Subject: b.Subject, Set: b.Set, Vary: b.Vary}
	for i, r := range []*Result{a, b} {
		c.Runs = append(c.Runs, Answer{labels[i], r.Sustainable, r.Low, r.High})
	}
	name := b.Name()
	if differ := apart(a.search, b.search); differ != "" {
		c.Verdict, c.Text = OtherSearch, fmt.Sprintf("%s: the capacities cannot be compared: the searches differ in %s", name, differ)
		return c
	}
	c.Verdict = verdict(a, b)
	if a.Sustainable != nil && b.Sustainable != nil {
		c.Ratio = new(*b.Sustainable / *a.Sustainable)
	}
	both := fmt.Sprintf("%s in %s, %s in %s", a.interval(), labels[0], b.interval(), labels[1])
	switch c.Verdict {
	case NotComplete:
		c.Text = fmt.Sprintf("%s: whether the capacity changed is not known: %s", name, both)
	case NoneShown:
		c.Text = fmt.Sprintf("%s: no change of the capacity is shown: %s", name, both)
	default:
		c.Text = fmt.Sprintf("%s: the capacity is %s: %s", name, c.Verdict, both)
	}
	return c
}

// verdict is about b beside a. A search that ended at the top has no upper end, one that ended at the bottom no lower one.
func verdict(a, b *Result) string {
	switch {
	case !a.Settled || !b.Settled || a.Low == nil && a.High == nil || b.Low == nil && b.High == nil:
		return NotComplete
	case b.Low != nil && a.High != nil && *b.Low >= *a.High:
		return Higher
	case a.Low != nil && b.High != nil && *a.Low >= *b.High:
		return Lower
	}
	return NoneShown
}

// interval is where the answer lies.
func (r *Result) interval() string {
	switch {
	case !r.Settled:
		return "no final answer"
	case r.Low != nil && r.High != nil:
		return fmt.Sprintf("%s (at least %s, less than %s)", r.Text(r.Sustainable), r.Text(r.Low), r.Text(r.High))
	case r.Low != nil:
		return "at least " + r.Text(r.Low)
	case r.High != nil:
		return "less than " + r.Text(r.High)
	}
	return "nothing measured"
}

// apart names what two searches do not ask alike.
func apart(a, b *plan.Search) string {
	var words []string
	if a.Vary != b.Vary {
		words = append(words, fmt.Sprintf("what is varied (%s, %s)", a.Vary, b.Vary))
	}
	if !slices.Equal(a.Limits, b.Limits) {
		words = append(words, fmt.Sprintf("their limits (%s; %s)", strings.Join(a.Limits, ", "), strings.Join(b.Limits, ", ")))
	}
	return strings.Join(words, " and ")
}
