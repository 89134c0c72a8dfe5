package netem

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/link"
)

var update = flag.Bool("update", false, "write the golden file")

// TestSettings: what would be set, as a golden file, for it cannot be set on every kernel.
func TestSettings(t *testing.T) {
	const ms = time.Millisecond
	var got strings.Builder
	for _, c := range []struct {
		name string
		p    link.Params
	}{
		{"perfect", link.Params{}},
		{"delay", link.Params{Delay: 300 * ms, Jitter: 50 * ms}},
		{"loss", link.Params{Loss: 0.05, Duplicate: 0.01, Corrupt: 0.001}},
		{"rate", link.Params{Rate: 256_000, QueueBytes: 32_000, OverheadBytes: etherBytes}},
		{"all", link.Params{Delay: 300 * ms, Jitter: 50 * ms, Loss: 0.05, Rate: 256_000, OverheadBytes: etherBytes}},
		{"mode netem", link.Params{Mode: link.NetEm, Delay: 300 * ms, Jitter: 50 * ms, Correlation: 0.25, Loss: 0.05, LossCorrelation: 0.25, Rate: 256_000, OverheadBytes: etherBytes}},
	} {
		for _, way := range []link.Direction{link.Up, link.Down} {
			d, err := settings(way, c.p)
			if err != nil {
				t.Fatal(err)
			}
			got.WriteString(c.name + " " + way.String() + "\n" + d.String(way))
		}
	}
	const golden = "testdata/settings.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// TestRefusals name option and backend.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		option string
		p      link.Params
	}{
		{"distribution", link.Params{Jitter: 1, Distribution: link.Normal}},
		{"correlation", link.Params{Jitter: 1, Correlation: 0.5}},
		{"order", link.Params{Jitter: 1, Order: link.OrderFlow}},
		{"burst", link.Params{Loss: 0.1, Burst: 2}},
		{"fix_checksum", link.Params{Corrupt: 0.1, FixChecksum: true}},
		{"overhead_bytes", link.Params{Rate: 1000}},
	} {
		_, err := settings(link.Down, c.p)
		if want := "option " + c.option + " (down): backend netem "; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, expected %s…", err, want)
		}
	}
}
