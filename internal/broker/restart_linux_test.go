package broker

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
)

// TestDownAndUp: a broker that was ended or killed in the middle comes back at the same address, in the same folder, as a new
// process, and nobody is told of a crash.
func TestDownAndUp(t *testing.T) {
	for _, s := range append(subjects(t), // with two listeners each
		over(plan.MQTT5WS, subject("mochi", Embedded, AsShipped)), over(plan.MQTT311, subject("nats", Embedded, AsShipped))) {
		if s.Broker == "hivemq" || s.Broker == "artemis" || s.Variant != AsShipped {
			continue // one start of them takes seconds
		}
		t.Run(label(s), func(t *testing.T) {
			i := start(t, s, options(t))
			u, err := url.Parse(i.URL)
			if err != nil {
				t.Fatal(err)
			}
			mark := filepath.Join(i.dir, "mark")
			if err := os.WriteFile(mark, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, atOnce := range []bool{false, true} {
				before, exited := i.Roots(), i.Exited()
				if err := i.Down(t.Context(), atOnce); err != nil {
					t.Fatalf("at once %v: %v", atOnce, err)
				}
				if err, open := <-exited; open {
					t.Errorf("a wanted end was reported: %v", err)
				}
				if c, err := netns.Host.Dial(t.Context(), "tcp", u.Host); err == nil {
					_ = c.Close()
					t.Error("it takes connections while it is down")
				}
				if err := i.Down(t.Context(), atOnce); err == nil {
					t.Error("ended twice")
				}
				if err := i.Up(t.Context()); err != nil {
					t.Fatalf("at once %v: %v", atOnce, err)
				}
				for _, l := range append(i.listeners, endpoint{u.Scheme, u.Host}) {
					if err := greet(t.Context(), netns.Host, l.Scheme, l.Address); err != nil {
						t.Errorf("it does not answer %s again: %v", l.Scheme, err)
					}
				}
				if slices.Equal(before, i.Roots()) {
					t.Error("it is the same process")
				}
				if _, err := os.Stat(mark); err != nil {
					t.Error("its folder is another")
				}
			}
			if err := i.Up(t.Context()); err == nil {
				t.Error("started twice")
			}
			if err := i.Down(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			if err := i.Stop(t.Context()); err != nil {
				t.Errorf("a broker that is down stops in order: %v", err)
			}
		})
	}
}
