// Package oracle recounts a trial from its samples alone, to check the lab's own accounts. It shares no code with them: where
// they use intervals, histograms and running sums, it uses maps and sorting, and it reads samples.bin by itself.
package oracle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Record is one line of samples.bin. Times are CLOCK_MONOTONIC nanoseconds.
type Record struct {
	Kind        Kind
	Stream, Sub uint32
	Seq         uint64
	Due, Sent   int64
	Received    int64
}

// Kind says what happened to the message of a Record.
type Kind uint8

// The kinds of records, as samples.bin numbers them.
const (
	Sent     Kind = 1
	Acked    Kind = 2
	Received Kind = 3
	Corrupt  Kind = 4
	Foreign  Kind = 5
)

const recordBytes = 48

// Read reads a samples.bin: a line of text as long as a record, then records of stream u32, subscriber u32, sequence u56,
// kind u8, due i64, sent i64, received i64, kernel i64, little-endian.
func Read(r io.Reader) ([]Record, error) {
	all, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if len(all) < recordBytes || all[recordBytes-1] != '\n' {
		return nil, errors.New("samples: the first line is missing")
	}
	if len(all)%recordBytes != 0 {
		return nil, fmt.Errorf("samples: %d bytes are no whole number of records", len(all))
	}
	var records []Record
	for b := all[recordBytes:]; len(b) > 0; b = b[recordBytes:] {
		word := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
		records = append(records, Record{
			Kind:   Kind(b[15]),
			Stream: uint32(word(0)), Sub: uint32(word(0) >> 32),
			Seq: word(8) &^ (0xff << 56),
			Due: int64(word(16)), Sent: int64(word(24)), Received: int64(word(32)),
		})
	}
	return records, nil
}

// Window is the measure window, [From, To) by due time, and how many deliveries each message should cause.
type Window struct {
	From, To int64
	Fan      uint64
}

// Count is what the samples tell of the messages due in the window. Messages that were due and never sent are in no
// sample.
type Count struct {
	Sent, Acked                 uint64
	Expected, Received          uint64
	Delivered, Lost, Duplicates uint64
	Reordered, MaxReorder       uint64
	Corrupt, Foreign            uint64
	Unknown                     uint64 // received, but never sent
	responses, services         []int64
}

type message struct {
	stream uint32
	seq    uint64
}

type path struct{ stream, sub uint32 }

// Recount counts. The records of one stream and subscriber must be in the order of their receipt.
func Recount(records []Record, w Window) Count {
	var c Count
	sent := map[message]bool{}
	acked := map[message]bool{}
	arrivals := map[path][]Record{}
	for _, r := range records {
		m := message{r.Stream, r.Seq}
		inside := w.From <= r.Due && r.Due < w.To
		switch {
		case r.Kind == Corrupt:
			c.Corrupt++
		case r.Kind == Foreign:
			c.Foreign++
		case !inside:
		case r.Kind == Sent:
			sent[m] = true
		case r.Kind == Acked:
			acked[m] = true
		case r.Kind == Received:
			p := path{r.Stream, r.Sub}
			arrivals[p] = append(arrivals[p], r)
		}
	}
	c.Sent, c.Acked = uint64(len(sent)), uint64(len(acked))
	c.Expected = c.Sent * w.Fan
	for p, list := range arrivals {
		c.arrived(p, list, sent)
	}
	c.Lost = c.Expected - c.Delivered
	slices.Sort(c.responses)
	return c
}

// arrived counts the receipts of one stream at one subscriber.
func (c *Count) arrived(p path, list []Record, sent map[message]bool) {
	seen := map[uint64]bool{}
	highest := uint64(0)
	for _, r := range list {
		c.Received++
		if !sent[message{p.stream, r.Seq}] {
			c.Unknown++
		}
		if seen[r.Seq] {
			c.Duplicates++
			continue
		}
		seen[r.Seq] = true
		c.Delivered++
		c.responses = append(c.responses, r.Received-r.Due)
		c.services = append(c.services, r.Received-r.Sent)
		if r.Seq < highest {
			c.Reordered++
			c.MaxReorder = max(c.MaxReorder, highest-r.Seq)
		}
		highest = max(highest, r.Seq)
	}
}

// Response returns the q-quantile of the response time over all expected deliveries, by nearest rank; ok is false where
// it falls among the lost.
func (c *Count) Response(q float64) (ns int64, ok bool) {
	rank := int(math.Ceil(q * float64(c.Expected)))
	if rank < 1 || rank > len(c.responses) {
		return 0, false
	}
	return c.responses[rank-1], true
}

// Above returns how many deliveries came more than ns after they were due.
func (c *Count) Above(ns int64) int { return above(c.responses, ns) }

// ServiceAbove returns how many deliveries came more than ns after they were sent.
func (c *Count) ServiceAbove(ns int64) int { return above(c.services, ns) }

func above(spans []int64, ns int64) (n int) {
	for _, s := range spans {
		if s > ns {
			n++
		}
	}
	return n
}

// Longest returns the longest response time, 0 where nothing was delivered.
func (c *Count) Longest() int64 {
	if len(c.responses) == 0 {
		return 0
	}
	return c.responses[len(c.responses)-1]
}
