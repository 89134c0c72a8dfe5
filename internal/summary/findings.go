package summary

import "github.com/mqlab/mqlab/internal/diagnose"

// FindingsIn are the findings of a trial in a language of diagnose.Languages.
func (t *Trial) FindingsIn(language string) []diagnose.FindingSaid {
	if t.diagnosis == nil {
		return []diagnose.FindingSaid{}
	}
	return t.diagnosis.In(language).Findings
}

// Loud are the findings that tell of something: not that all is well, nor that too little is known.
func Loud(list []diagnose.FindingSaid) (loud []diagnose.FindingSaid) {
	for _, f := range list {
		if f.Cause != diagnose.None && f.Cause != diagnose.TooFew {
			loud = append(loud, f)
		}
	}
	return loud
}
