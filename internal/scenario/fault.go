package scenario

import (
	"fmt"
	"strings"
	"time"
)

// noFaults is the text of a list of faults that is empty.
const noFaults = "none"

// faultAsText says how a fault is written as a text.
const faultAsText = "write for example pause 2s at 4s, restart 1s at 4s, kill 1s at 4s, or none"

// kinds are the fault's lengths, by the name of what is done; one of them is not 0.
func (f *Fault) kinds() []namedLength {
	return []namedLength{{"pause", &f.Pause}, {"restart", &f.Restart}, {"kill", &f.Kill}}
}

type namedLength struct {
	name   string
	length *time.Duration
}

// Kind is what is done, and for how long; "" if nothing is.
func (f Fault) Kind() (name string, length time.Duration) {
	for _, k := range f.kinds() {
		if *k.length > 0 {
			return k.name, *k.length
		}
	}
	return "", 0
}

// count is how many things are to be done at once.
func (f Fault) count() (n int) {
	for _, k := range f.kinds() {
		if *k.length > 0 {
			n++
		}
	}
	return n
}

// end is when the fault is over, from the start of the measure phase.
func (f Fault) end() time.Duration {
	_, length := f.Kind()
	return f.At + length
}

// parseFaults reads "none", or faults as texts with "and" between them.
func parseFaults(text string) ([]Fault, error) {
	if strings.TrimSpace(text) == noFaults {
		return nil, nil
	}
	var list []Fault
	for part := range strings.SplitSeq(text, " and ") {
		f, err := parseFault(part)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// parseFault reads "kill 1s at 4s".
func parseFault(text string) (f Fault, err error) {
	words := strings.Fields(text)
	if len(words) != 4 || words[2] != "at" {
		return f, fmt.Errorf("%.60q is no fault: %s", text, faultAsText)
	}
	if f.At, err = parseDuration(words[3]); err != nil {
		return f, err
	}
	for _, k := range f.kinds() {
		if k.name == words[0] {
			*k.length, err = parseDuration(words[1])
			return f, err
		}
	}
	return f, fmt.Errorf("%.60q is no fault: %s", words[0], faultAsText)
}
