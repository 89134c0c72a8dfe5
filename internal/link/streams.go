package link

import (
	"fmt"
	"time"
)

// The backends that carry streams, and see no packets.
const (
	StreamProxy     = "proxy"
	StreamToxiproxy = "toxiproxy"
)

// RefusedByStreams says which option of one direction a backend that carries streams cannot honour; nil = all, or it carries packets.
func RefusedByStreams(backend string, d Direction, p Params) error {
	const noPackets = "carries streams, where there are no packets to do that to"
	refused := map[string][]refusal{
		StreamProxy: {
			{"mode netem", p.Mode == NetEm, noPackets},
			{"order link", p.Order == OrderLink, noPackets},
		},
		StreamToxiproxy: {
			{"mode netem", p.Mode == NetEm, "has no queue"},
			{"order link", p.Order == OrderLink, "orders each connection by itself"},
			{"rate", p.Rate > 0, "limits each connection by itself, not the link"},
			{"correlation", p.Correlation > 0, "draws each delay by itself"},
			{"distribution " + string(p.Distribution), p.Distribution != "" && p.Distribution != Uniform, "knows uniform jitter only"},
			{"delay", p.Delay%time.Millisecond != 0, "counts whole milliseconds"},
			{"jitter", p.Jitter%time.Millisecond != 0, "counts whole milliseconds"},
		},
	}[backend]
	if refused == nil {
		return nil
	}
	for _, o := range append([]refusal{
		{"loss", p.Loss > 0, noPackets},
		{"duplicate", p.Duplicate > 0, noPackets},
		{"corrupt", p.Corrupt > 0, noPackets},
	}, refused...) {
		if o.set {
			return fmt.Errorf("option %s (%s): backend %s %s; use backend tun or netstack", o.option, d, backend, o.why)
		}
	}
	return nil
}

type refusal struct {
	option string
	set    bool
	why    string
}
