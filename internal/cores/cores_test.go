package cores

import (
	"slices"
	"testing"
)

func TestSetIsWrittenAndRead(t *testing.T) {
	for _, c := range []struct {
		set  Set
		text string
	}{
		{Set{0}, "0"},
		{Set{0, 1}, "0-1"},
		{Set{0, 2, 3, 4, 7, 9, 10}, "0,2-4,7,9-10"},
	} {
		if got := c.set.String(); got != c.text {
			t.Errorf("%v is written %s, want %s", []int(c.set), got, c.text)
		}
		if got, err := Parse(c.text + "\n"); err != nil || !slices.Equal(got, c.set) {
			t.Errorf("%s is read as %v, %v", c.text, []int(got), err)
		}
	}
	for _, bad := range []string{"", "a", "3-1", "1-", "2,1", "0-1,1", "-1", "0-99999999", "0,,1"} {
		if s, err := Parse(bad); err == nil {
			t.Errorf("%q is read as %v", bad, []int(s))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("0-1,4")
	f.Add("9,11-12")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(s.String()); err != nil || !slices.Equal(again, s) {
			t.Errorf("%q is %s, which is %v, %v", text, s, []int(again), err)
		}
	})
}

func TestDecide(t *testing.T) {
	apart := func(n int) (groups []Set) {
		for i := range n {
			groups = append(groups, Set{i})
		}
		return groups
	}
	threads := []Set{{0, 4}, {1, 5}, {2, 6}, {3, 7}} // two of each core
	for _, c := range []struct {
		name, mode        string
		usable            []Set
		broker, generator string
		why               string
	}{
		{"two", "", apart(2), "", "", "not pinned: 2 of the 4 cores that it takes"},
		{"two, asked", On, apart(2), "0", "1", "pinned, as asked"},
		{"three", "", apart(3), "", "", "not pinned: 3 of the 4 cores that it takes"},
		{"four", "", apart(4), "0-1", "2-3", "pinned: 4 cores are enough for both"},
		{"four, refused", Off, apart(4), "", "", "not pinned, as asked"},
		{"five", "", apart(5), "0-2", "3-4", "pinned: 5 cores are enough for both"},
		{"threads of a core stay together", "", threads, "0-1,4-5", "2-3,6-7", "pinned: 8 cores are enough for both"},
		{"one core of two threads", On, []Set{{0, 1}}, "0", "1", "pinned, as asked"},
		{"one core of four threads", "", []Set{{0, 1, 2, 3}}, "0-1", "2-3", "pinned: 4 cores are enough for both"},
	} {
		p, err := Decide(c.mode, c.usable)
		if err != nil || p.Broker.String() != c.broker || p.Generator.String() != c.generator || p.Why != c.why {
			t.Errorf("%s: broker %s, generator %s, %q, %v", c.name, p.Broker, p.Generator, p.Why, err)
		}
		if p.Broker.Overlap(p.Generator) || p.Pinned() != (c.broker != "") {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
	if _, err := Decide(On, apart(1)); err == nil {
		t.Error("one core can be divided")
	}
	if p, err := Decide("", apart(1)); err != nil || p.Pinned() {
		t.Errorf("one core: %+v, %v", p, err)
	}
}
