package ledger

import (
	"encoding/json"
	"testing"
)

func TestTrackerSurvivesJSON(t *testing.T) {
	for _, c := range []struct {
		seqs []uint64
		text string
	}{
		{nil, "[0]"},
		{[]uint64{0, 1, 2}, "[3]"},
		{[]uint64{2, 5}, "[6,0,2,3,5]"},
		{[]uint64{5, 3, maxSeq - 1}, "[9223372036854775808,0,3,4,5,6,9223372036854775807]"},
	} {
		var seen, read Tracker
		for _, s := range c.seqs {
			seen.Record(s)
		}
		text, err := json.Marshal(&seen)
		if err != nil || string(text) != c.text {
			t.Errorf("%v: %s, %v; want %s", c.seqs, text, err, c.text)
		}
		if err := json.Unmarshal(text, &read); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for seq := range uint64(8) {
			if read.Received(seq) != seen.Received(seq) {
				t.Errorf("%s: %d was received: %v, read back: %v", text, seq, seen.Received(seq), read.Received(seq))
			}
		}
	}
}

// FuzzTrackerJSON: whatever is read is a tracker that works, and is written as it was read.
func FuzzTrackerJSON(f *testing.F) {
	for _, seed := range []string{"[0]", "[6,0,2,3,5]", "[6,0,2,2,5]", "[6,3,2]", "[1,2]", "[3,0,9]", "{}", "[9223372036854775809]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var read, again Tracker
		if json.Unmarshal(text, &read) != nil {
			return
		}
		first, err := json.Marshal(&read)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(first, &again); err != nil {
			t.Fatalf("%s was read, but not again: %v", first, err)
		}
		for _, h := range read.holes {
			if again.Received(h.from) || again.Received(h.to-1) || !again.Received(h.to) {
				t.Fatalf("%s: the hole from %d to %d was filled", first, h.from, h.to)
			}
		}
	})
}
