package findings

import "github.com/mqlab/mqlab/internal/diagnose"

// RunSaid is the diagnosis of a run in words, as JSON has it.
type RunSaid struct {
	Run    string      `json:"run"`
	Trials []trialSaid `json:"trials"`
}

// trialSaid is the diagnosis of one of its trials; without a verdict where it cannot be diagnosed.
type trialSaid struct {
	Trial   int      `json:"trial"`
	Subject string   `json:"subject"`
	Notes   []string `json:"notes,omitempty"`
	Why     string   `json:"undiagnosed,omitempty"` // why there is no diagnosis
	*diagnose.Said
}

// InWords says the diagnosis of a run in a language.
func InWords(id string, all []Diagnosis, language string) *RunSaid {
	said := &RunSaid{Run: id, Trials: []trialSaid{}}
	for i := range all {
		d := &all[i]
		t := trialSaid{Trial: d.Trial, Subject: d.Subject, Notes: d.Notes, Why: d.Why}
		if d.Result != nil {
			t.Said = d.Result.In(language)
		}
		said.Trials = append(said.Trials, t)
	}
	return said
}
