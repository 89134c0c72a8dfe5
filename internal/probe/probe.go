// Package probe finds out what a broker can do by trying it: which protocol versions it accepts, what it keeps for whom,
// where its limits are, and what it does to a consumer that is too slow.
//
// Start with Run. Each protocol has a list of steps (see the functions named prepare…). A step does something to
// the broker and notes what it saw in a small value (qosSeen, offlineSeen, slowSeen, …); what that value means is decided by
// its method answers, which is pure. Nothing is looked up: an answer that cannot be measured is "not decided", with the
// reason. What a broker merely claims is told as a claim.
//
// A probe is bounded: Limit in time, and 64 MiB for the consumer that does not read. It uses topics, client identifiers and
// keys that nobody else uses, and takes away what it left in the broker.
package probe

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
)

// Limit is the longest that one probe takes, with what it cleans up.
const Limit = 60 * time.Second

// cleanLimit is kept for cleaning up.
const cleanLimit = 5 * time.Second

// Options are what Run needs besides the subject.
type Options struct {
	Place netns.Place  // where connections start; nil = this host
	Login broker.Login // of the clients
	// Restart ends the broker, by SIGKILL or SIGTERM, and starts it again at the same address with the same data. nil: the
	// broker is not ours to be restarted.
	Restart   func(ctx context.Context, kill bool) error
	Questions []string // to be asked; nil = all that the protocol has
}

// Answer is what is known about one question.
type Answer struct {
	Question string           `json:"question"`
	Value    string           `json:"value,omitempty"`       // empty = not decided
	Why      string           `json:"not_decided,omitempty"` // why there is no value
	Figures  map[string]int64 `json:"figures,omitempty"`     // the numbers behind the value, units in their names
	How      string           `json:"how"`                   // it was measured
	Evidence string           `json:"evidence,omitempty"`    // what was seen
}

// Report is the result of a probe.
type Report struct {
	Schema   int           `json:"schema"`
	Subject  plan.Subject  `json:"subject"`
	Version  string        `json:"broker_version,omitempty"` // absent: the broker does not tell
	Protocol string        `json:"protocol"`                 // in which the questions were asked
	Took     time.Duration `json:"took_ns"`
	Answers  []Answer      `json:"answers"`
}

// Answer finds the answer to a question.
func (r *Report) Answer(question string) (Answer, bool) {
	for _, a := range r.Answers {
		if a.Question == question {
			return a, true
		}
	}
	return Answer{}, false
}

// step answers some questions.
type step struct {
	questions []string
	how       string
	limit     time.Duration
	do        func(ctx context.Context) ([]Answer, error)
}

// Run asks the broker at url, which is that of subject s, all questions that its protocol has. It fails only if the broker
// cannot be reached or refuses every connection.
func Run(ctx context.Context, s plan.Subject, url string, o Options) (*Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Limit-cleanLimit, fmt.Errorf("the whole probe may take %v", Limit))
	defer cancel()
	l, err := newLab(s, url, &o)
	if err != nil {
		return nil, err
	}
	r := &Report{Schema: 1, Subject: s, Protocol: s.Protocol}
	start := time.Now()
	steps, err := l.prepare(ctx, r)
	if err != nil {
		return nil, err
	}
	for i := range steps {
		if len(o.Questions) > 0 && !slices.ContainsFunc(steps[i].questions, func(q string) bool { return slices.Contains(o.Questions, q) }) {
			continue
		}
		r.Answers = append(r.Answers, steps[i].carryOut(ctx)...)
	}
	l.cleanUp()
	r.Took = time.Since(start)
	return r, context.Cause(parentOf(ctx))
}

// parentOf tells an interrupt from our own limit, which is no error: the questions left are answered "not decided".
func parentOf(ctx context.Context) context.Context {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Background()
	}
	return ctx
}

// carryOut answers all questions of a step, if only with the reason why there is no answer.
func (s *step) carryOut(ctx context.Context) []Answer {
	var answers []Answer
	err := context.Cause(ctx)
	if err == nil {
		limited, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("it took longer than %v", s.limit))
		answers, err = s.do(limited)
		if limited.Err() != nil { // what was seen since then is cut short by us, not by the broker
			err = context.Cause(limited)
		}
		cancel()
	}
	return s.complete(answers, err)
}

// complete adds how the step measured, and an answer for each question that has none. A step that failed has answered
// nothing: what it had seen until then may be half of the truth.
func (s *step) complete(answers []Answer, err error) []Answer {
	all := make([]Answer, 0, len(s.questions))
	for _, q := range s.questions {
		a := Answer{Question: q, Why: "the step ended without an answer"}
		if err != nil {
			a.Why = err.Error()
		}
		for i := range answers {
			if err == nil && answers[i].Question == q {
				a = answers[i]
			}
		}
		if a.How == "" {
			a.How = s.how
		}
		all = append(all, a)
	}
	return all
}

// decided is an answer.
func decided(question, value, evidence string, args ...any) Answer {
	return Answer{Question: question, Value: value, Evidence: fmt.Sprintf(evidence, args...)}
}

// undecided is the absence of one.
func undecided(question, why string, args ...any) Answer {
	return Answer{Question: question, Why: fmt.Sprintf(why, args...)}
}

// with adds a figure.
func (a Answer) with(name string, value int64) Answer {
	figures := map[string]int64{name: value}
	for k, v := range a.Figures {
		figures[k] = v
	}
	a.Figures = figures
	return a
}

// yesNo words a plain answer.
func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// unique is a name that nobody else uses: letters and digits.
func unique() string { return "mqlab" + strings.ToLower(rand.Text()[:12]) }
