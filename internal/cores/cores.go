// Package cores decides which cores of this host brokers and generator run on, and holds their threads to them.
package cores

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Set is a list of logical cores, ascending.
type Set []int

// String writes the set as the kernel does: 0-1,4.
func (s Set) String() string {
	var b strings.Builder
	for i := 0; i < len(s); {
		last := i
		for last+1 < len(s) && s[last+1] == s[last]+1 {
			last++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(s[i]))
		if last > i {
			b.WriteString("-" + strconv.Itoa(s[last]))
		}
		i = last + 1
	}
	return b.String()
}

// maxCore bounds the numbers of cores: those that the kernel's masks can hold.
const maxCore = 1023

// Parse reads what String writes.
func Parse(text string) (Set, error) {
	var s Set
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		low, high, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(low)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(high)
		}
		if err != nil || from < 0 || to < from || to > maxCore || len(s) > 0 && from <= s[len(s)-1] {
			return nil, fmt.Errorf("%q is no list of cores", text)
		}
		for n := from; n <= to; n++ {
			s = append(s, n)
		}
	}
	return s, nil
}

// Overlap reports whether a core is in both sets.
func (s Set) Overlap(o Set) bool {
	return slices.ContainsFunc(s, func(n int) bool { return slices.Contains(o, n) })
}

// Modes of placement, as plan.Params.Pin writes them.
const (
	On  = "on"
	Off = "off"
)

// enough is from how many cores on brokers and generator are held to different ones without being asked: on fewer, each
// would lack what the other leaves idle.
const enough = 4

// Placement is which cores brokers and generator are held to; both are empty where they share all.
type Placement struct {
	Broker, Generator Set
	Why               string // in words
}

// Pinned reports whether they are held to cores.
func (p *Placement) Pinned() bool { return len(p.Broker) > 0 }

// Decide deals out the cores that this process may use, given in groups of those that are one physical core, in halves; an
// odd one is the broker's. Mode "" leaves the decision to the number of cores.
func Decide(mode string, usable []Set) (Placement, error) {
	all := 0
	for _, s := range usable {
		all += len(s)
	}
	switch {
	case mode == Off:
		return Placement{Why: "not pinned, as asked"}, nil
	case mode == "" && all < enough:
		return Placement{Why: fmt.Sprintf("not pinned: %d of the %d cores that it takes", all, enough)}, nil
	case all < 2:
		return Placement{}, errors.New("broker and generator cannot be held to different cores: there is one core; leave out --pin")
	}
	if len(usable) < 2 {
		usable = single(usable)
	}
	half := (len(usable) + 1) / 2
	p := Placement{Broker: union(usable[:half]), Generator: union(usable[half:]), Why: "pinned, as asked"}
	if mode == "" {
		p.Why = fmt.Sprintf("pinned: %d cores are enough for both", all)
	}
	return p, nil
}

// single takes logical cores for cores of their own.
func single(groups []Set) (apart []Set) {
	for _, n := range union(groups) {
		apart = append(apart, Set{n})
	}
	return apart
}

func union(groups []Set) (all Set) {
	for _, s := range groups {
		all = append(all, s...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
