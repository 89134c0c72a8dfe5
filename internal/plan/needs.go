package plan

import "slices"

// needs says what the trials need of their links: the most demanding of each subject and link.
func (p *Plan) needs() (said []string) {
	for _, t := range p.demanding() {
		said = append(said, need(t))
	}
	return said
}

// demanding are the trials that need most of their links, one for each subject and link, in the order of the plan.
func (p *Plan) demanding() (worst []*Trial) {
	for i := range p.Trials {
		trial := &p.Trials[i]
		n, ok := trial.Need()
		if !ok || need(trial) == "" {
			continue
		}
		at := slices.IndexFunc(worst, func(t *Trial) bool {
			return t.Subject.Name == trial.Subject.Name && t.Params.Link.Name == trial.Params.Link.Name
		})
		if at < 0 {
			worst = append(worst, trial)
		} else if m, _ := worst[at].Need(); n.times() > m.times() {
			worst[at] = trial
		}
	}
	return worst
}

// AlsoNeeds adds what a larger plan, of which this one is a part, would need of the same links, where that is more.
func (p *Plan) AlsoNeeds(whole *Plan, why string) {
	mine := p.demanding()
	for _, t := range whole.demanding() {
		same := slices.IndexFunc(mine, func(m *Trial) bool {
			return m.Subject.Name == t.Subject.Name && m.Params.Link.Name == t.Params.Link.Name
		})
		if same < 0 {
			continue
		}
		small, _ := mine[same].Need()
		if large, _ := t.Need(); large.times() > small.times() {
			p.Needs = append(p.Needs, why+": "+need(t))
		}
	}
}
