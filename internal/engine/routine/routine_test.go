package routine

import (
	"context"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
)

// TestRunEnds cancels at whatever moment: the end must not be missed by a round that is under way.
func TestRunEnds(t *testing.T) {
	payload := engine.NewPayload(make([]byte, 64), false, 1)
	for n := range 5000 {
		r, err := New(engine.Settings{Payload: payload}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		if n%2 == 0 {
			r.Do(func(int64) {}) // lets the round begin
		}
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("try %d: Run did not see the end", n)
		}
	}
}
