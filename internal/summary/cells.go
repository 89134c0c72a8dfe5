package summary

import (
	"github.com/mqlab/mqlab/internal/plan"
)

// Cell is one subject under one load: all its repetitions.
type Cell struct {
	Cell    int               `json:"cell"`
	Point   int               `json:"point"`
	Set     []plan.Assignment `json:"set,omitempty"` // the matrix values of the point
	Subject Subject           `json:"subject"`
	Promise
	Trials    []int    `json:"trials"`
	Valid     int      `json:"valid"` // those not invalid; only they count below
	Counts    Counts   `json:"counts"`
	LostRatio *float64 `json:"lost_ratio,omitempty"` // of those expected, over all repetitions
	// KilledForMemory says at how many connections the broker was ended for want of memory, where it was; of the first such trial.
	KilledForMemory string      `json:"killed_for_memory,omitempty"`
	Cost            *Cost       `json:"cost,omitempty"`
	Bottleneck      *Bottleneck `json:"bottleneck,omitempty"` // that most of the trials share, valid or not
}

// CountField is one of the numbers of Counts.
type CountField struct {
	Name string
	Of   func(*Counts) **uint64
}

// CountFields are all numbers of Counts under their JSON names.
var CountFields = []CountField{
	{"offered", func(c *Counts) **uint64 { return &c.Offered }},
	{"sent", func(c *Counts) **uint64 { return &c.Sent }},
	{"unsent", func(c *Counts) **uint64 { return &c.Unsent }},
	{"acked", func(c *Counts) **uint64 { return &c.Acked }},
	{"unconfirmed", func(c *Counts) **uint64 { return &c.Unconfirmed }},
	{"refused", func(c *Counts) **uint64 { return &c.Refused }},
	{"expected", func(c *Counts) **uint64 { return &c.Expected }},
	{"received", func(c *Counts) **uint64 { return &c.Received }},
	{"delivered", func(c *Counts) **uint64 { return &c.Delivered }},
	{"drained", func(c *Counts) **uint64 { return &c.Drained }},
	{"late", func(c *Counts) **uint64 { return &c.Late }},
	{"lost", func(c *Counts) **uint64 { return &c.Lost }},
	{"undelivered_unsent", func(c *Counts) **uint64 { return &c.UndeliveredUnsent }},
	{"duplicates", func(c *Counts) **uint64 { return &c.Duplicates }},
	{"reordered", func(c *Counts) **uint64 { return &c.Reordered }},
	{maxReorder, func(c *Counts) **uint64 { return &c.MaxReorder }},
	{"corrupt", func(c *Counts) **uint64 { return &c.Corrupt }},
	{"foreign", func(c *Counts) **uint64 { return &c.Foreign }},
	{"clock_skew", func(c *Counts) **uint64 { return &c.ClockSkew }},
	{"resent", func(c *Counts) **uint64 { return &c.Resent }},
}

// maxReorder is the one count that is a largest value and no sum.
const maxReorder = "max_reorder"

// plus adds o to c. What is unknown in one of them is unknown in the sum.
func (c *Counts) plus(o *Counts) {
	for _, f := range CountFields {
		a, b := f.Of(c), f.Of(o)
		switch {
		case *a == nil || *b == nil:
			*a = nil
		case f.Name == maxReorder:
			*a = new(max(**a, **b))
		default:
			*a = new(**a + **b)
		}
	}
}

// cellsOf gathers the repetitions of each cell, in the order of their first trial.
func cellsOf(trials []Trial) []Cell {
	cells, at := []Cell{}, map[int]int{}
	for i := range trials {
		t := &trials[i]
		n, ok := at[t.Cell]
		if !ok {
			n = len(cells)
			at[t.Cell] = n
			cells = append(cells, Cell{Cell: t.Cell, Point: t.Point, Set: t.Params.Set, Subject: t.Subject, Promise: t.Promise})
		}
		c := &cells[n]
		c.Trials = append(c.Trials, t.ID)
		if killed := t.reason("killed_for_memory"); killed != "" && c.KilledForMemory == "" {
			c.KilledForMemory = killed
		}
		if t.Validity == Invalid {
			continue
		}
		if c.Valid == 0 {
			c.Subject, c.Promise, c.Counts = t.Subject, t.Promise, t.Counts
		} else {
			c.Counts.plus(&t.Counts)
		}
		c.Valid++
	}
	for i := range cells {
		cells[i].LostRatio = lostRatio(&cells[i].Counts)
		cells[i].fillCost(trials)
	}
	return cells
}

// fillCost says what the cell's messages took, and what set their pace.
func (c *Cell) fillCost(trials []Trial) {
	var all, valid []*Trial
	for i := range trials {
		t := &trials[i]
		if t.Cell != c.Cell {
			continue
		}
		if all = append(all, t); t.Validity != Invalid {
			valid = append(valid, t)
		}
	}
	c.Cost, c.Bottleneck = CostOf(valid), CommonBottleneck(all)
}
