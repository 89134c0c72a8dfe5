package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Kind is what a record tells.
type Kind uint32

// The kinds of records.
const (
	Received Kind = iota + 1 // A, B = when the callback began and ended; C = bytes of the payload
	Sent                     // A = when it was due, B, C = when the call began and ended
	Pause                    // A, B = begin and end of a pause of the language runtime; Seq = its generation
)

// Record is one event of an agent. Times are CLOCK_MONOTONIC ns.
type Record struct {
	Kind    Kind
	Seq     uint32
	A, B, C uint64
}

// The layout of a file of samples: a header of 64 bytes, then records of 32, little-endian.
const (
	magic      = "MQLABSMP"
	headerSize = 64
	recordSize = 32
	version    = 1
)

// Errors of samples.
var (
	ErrNoSamples = errors.New("the agent wrote no samples")
	ErrLied      = errors.New("the agent's samples cannot be true")
)

// Samples are what an agent recorded.
type Samples struct {
	Records []Record
	Dropped uint64 // there was no room for
}

// Decode reads a file of samples as far as it is whole, and checks what can be checked: kinds, and times that go forward from begin.
func Decode(b []byte, begin, end int64) (*Samples, error) {
	if len(b) < headerSize || string(b[:8]) != magic {
		return nil, ErrNoSamples
	}
	le := binary.LittleEndian
	if v, size := le.Uint32(b[8:]), le.Uint32(b[12:]); v != version || size != recordSize {
		return nil, fmt.Errorf("%w: version %d with records of %d bytes", ErrLied, v, size)
	}
	capacity, count := le.Uint64(b[16:]), le.Uint64(b[24:])
	room := uint64(len(b)-headerSize) / recordSize
	if count > capacity || count > room {
		return nil, fmt.Errorf("%w: %d records in a file for %d", ErrLied, count, min(capacity, room))
	}
	s := &Samples{Records: make([]Record, 0, count), Dropped: le.Uint64(b[32:])}
	for i := range count {
		r := b[headerSize+recordSize*i:][:recordSize]
		record := Record{Kind(le.Uint32(r)), le.Uint32(r[4:]), le.Uint64(r[8:]), le.Uint64(r[16:]), le.Uint64(r[24:])}
		if err := record.check(begin, end); err != nil {
			return nil, fmt.Errorf("%w: record %d: %w", ErrLied, i, err)
		}
		s.Records = append(s.Records, record)
	}
	return s, nil
}

func (r *Record) check(begin, end int64) error {
	from, to := r.A, r.B
	switch r.Kind {
	case Received, Pause:
	case Sent:
		from, to = r.B, r.C
	default:
		return fmt.Errorf("kind %d", r.Kind)
	}
	switch {
	case to < from:
		return errors.New("time goes backwards")
	case from < uint64(max(begin, 0)) || to > uint64(max(end, 0)):
		return errors.New("a time outside of the trial")
	}
	return nil
}
