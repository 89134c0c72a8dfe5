package ledger

import (
	"encoding/json"
	"errors"
)

var errTracker = errors.New("not what a tracker can have seen")

// MarshalJSON writes a list of numbers: 1 + the highest received, and of each hole where it begins and ends.
func (t *Tracker) MarshalJSON() ([]byte, error) {
	list := make([]uint64, 1, 1+2*len(t.holes))
	list[0] = t.next
	for _, h := range t.holes {
		list = append(list, h.from, h.to)
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads what MarshalJSON wrote. On an error the tracker stays as it was.
func (t *Tracker) UnmarshalJSON(text []byte) error {
	var list []uint64
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	if len(list)%2 == 0 || len(list)/2 > maxHoles || list[0] > maxSeq {
		return errTracker
	}
	read := Tracker{next: list[0]}
	for end := int64(-1); len(list) > 2; list = list[2:] {
		h := hole{list[1], list[2]}
		if h.to >= read.next || h.from >= h.to || int64(h.from) <= end {
			return errTracker
		}
		end = int64(h.to)
		read.holes = append(read.holes, h)
	}
	*t = read
	return nil
}
