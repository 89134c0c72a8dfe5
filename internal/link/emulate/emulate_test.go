package emulate

import (
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/link"
)

func TestOpen(t *testing.T) {
	lossy := link.Profile{Name: "lossy", Up: link.Params{Loss: 0.1, Delay: time.Millisecond}}
	for _, c := range []struct {
		what string
		o    Options
		want string // of the error
	}{
		{"a backend that cannot lose", Options{Backend: Proxy, Config: link.Config{Profile: lossy}}, "option loss (up): backend proxy"},
		{"a Toxiproxy that cannot lose", Options{Backend: Toxiproxy, Config: link.Config{Profile: lossy}}, "option loss (up): backend toxiproxy"},
		{"a Toxiproxy that is not there", Options{Backend: Toxiproxy, Toxiproxy: "http://127.0.0.1:1"}, "backend toxiproxy: no Toxiproxy answers"},
		{"an unknown backend", Options{Backend: "wifi"}, `no backend "wifi"; there are auto, `},
		{"a bad profile", Options{Config: link.Config{Profile: link.Profile{Name: "odd", Down: link.Params{Loss: 7}}}}, "link odd: down: loss is 7"},
		{"a congestion control", Options{Backend: Netstack, Config: link.Config{CongestionControl: "vegas"}}, `congestion control "vegas": backend netstack`},
	} {
		n, _, err := Open(t.Context(), c.o)
		if err == nil {
			_ = n.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

// TestAuto: for brokers elsewhere it is a backend that can lose packets, on every host, and it says why.
func TestAuto(t *testing.T) {
	n, choice, err := Open(t.Context(), Options{Outside: true, Config: link.Config{Profile: link.Profile{Up: link.Params{Loss: 0.1}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	if choice.Backend != Netstack || choice.Why == "" || n.Facts().Backend != Netstack {
		t.Errorf("%+v", choice)
	}
	if _, ok := n.(Watched); !ok {
		t.Error("its packets cannot be looked at")
	}
}

func TestAbout(t *testing.T) {
	for _, name := range Backends() {
		if About(name) == "" {
			t.Errorf("nothing is said about %s", name)
		}
	}
}
