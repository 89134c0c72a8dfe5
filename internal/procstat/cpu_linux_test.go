package procstat_test

import (
	"os"
	"testing"

	"github.com/mqlab/mqlab/internal/procstat"
)

// A process that runs sees its own clock advance between two readings, however short: a count of ticks does not.
func TestCPUResolves(t *testing.T) {
	last, err := procstat.CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		now, err := procstat.CPU(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now <= last {
			t.Fatalf("%v after %v", now, last)
		}
		last = now
	}
}

func TestCPUOfNobody(t *testing.T) {
	if d, err := procstat.CPU(1 << 22); err == nil {
		t.Errorf("a process that is not there ran %v", d)
	}
}
