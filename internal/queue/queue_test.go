package queue_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/mqlab/mqlab/internal/queue"
)

func TestQueue(t *testing.T) {
	var got []int
	first := errors.New("first")
	held := make(chan struct{})
	q := queue.New(func(n int) error {
		<-held // who adds does not wait for who takes
		got = append(got, n)
		switch n {
		case 2:
			return first
		case 3:
			return errors.New("second")
		}
		return nil
	})
	for n := range 5 {
		q.Add(n)
	}
	close(held)
	if err := q.Close(); !errors.Is(err, first) {
		t.Errorf("error %v, want the first", err)
	}
	if !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
		t.Errorf("got %v", got)
	}
}

func TestManyAdd(t *testing.T) {
	const adders, each = 8, 1000
	next := [adders]int{}
	q := queue.New(func(v [2]int) error {
		if v[1] != next[v[0]] {
			return errors.New("out of order")
		}
		next[v[0]]++
		return nil
	})
	var adding sync.WaitGroup
	for a := range adders {
		adding.Go(func() {
			for n := range each {
				q.Add([2]int{a, n})
			}
		})
	}
	adding.Wait()
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	for a, n := range next {
		if n != each {
			t.Errorf("of adder %d came %d", a, n)
		}
	}
}
