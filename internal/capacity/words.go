package capacity

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/search"
	"github.com/mqlab/mqlab/internal/summary"
)

// Name is the subject with the matrix values of its point.
func (r *Result) Name() string {
	name := r.Subject
	for _, a := range r.Set {
		name += ", " + a.Key + " " + a.Value
	}
	return name
}

// Text writes a value with its unit.
func (r *Result) Text(v *float64) string {
	if v == nil {
		return "–"
	}
	return r.search.Text(*v)
}

// Noun names what was searched.
func (r *Result) Noun() string { return r.search.Noun() }

// EndedBy is what ended the search in a few words.
func (r *Result) EndedBy() string {
	switch {
	case r.End == search.AtTop && r.search.Bounded != "":
		return "this host"
	case r.End == search.AtTop:
		return "end of the search"
	case r.Bottleneck == nil:
		return "–"
	}
	return string(r.Bottleneck.Kind)
}

// Answered reports whether the search came to its end: with a value that is sustained, or with none that is.
func (r *Result) Answered() bool {
	return r.Settled && (r.Sustainable != nil || r.End == search.AtBottom)
}

// Sentence is the answer in one sentence.
func (r *Result) Sentence() string {
	name, between := r.Name(), ""
	if r.Low != nil && r.High != nil {
		between = fmt.Sprintf(" (every measured probe held up to %s, none from %s on)", r.Text(r.Low), r.Text(r.High))
	}
	switch r.End {
	case search.AtLimit:
		return fmt.Sprintf("%s sustains a %s of %s%s; more ends at: %s", name, r.Noun(), r.Text(r.Sustainable), between, r.ending())
	case search.NotTested:
		if r.Sustainable == nil {
			return fmt.Sprintf("%s: not even %s could be measured: %s", name, r.search.Text(r.search.From), r.ending())
		}
		return fmt.Sprintf("%s sustains a %s of at least %s; more could not be measured: %s", name, r.Noun(), r.Text(r.Sustainable), r.ending())
	case search.AtTop:
		text := fmt.Sprintf("%s sustains a %s of at least %s, the largest that was to be tried", name, r.Noun(), r.Text(r.Sustainable))
		if r.search.Bounded != "" {
			text += " on this host: more " + r.search.Bounded
		}
		return text
	case search.AtBottom:
		return fmt.Sprintf("%s does not sustain even %s: %s", name, r.search.Text(r.search.From), r.ending())
	}
	if r.Sustainable == nil {
		return fmt.Sprintf("%s: no answer yet after %d probes", name, len(r.Probes))
	}
	return fmt.Sprintf("%s: no final answer after %d probes; so far %s holds%s", name, len(r.Probes), r.Text(r.Sustainable), between)
}

// ending names the resource and the limit that was missed.
func (r *Result) ending() string {
	if r.Bottleneck == nil || r.Bottleneck.Kind == summary.LimitNone {
		return r.Why
	}
	return fmt.Sprintf("%s (%s)", r.Bottleneck.Kind, r.Bottleneck.Text)
}
