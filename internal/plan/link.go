package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/scenario"
)

// Link is the network between clients and brokers, and how it is made. The zero value is this host's own network.
type Link struct {
	link.Profile
	Backend           string        `json:"backend,omitempty"`            // auto, tun, netstack, proxy, netem, toxiproxy
	CongestionControl string        `json:"congestion_control,omitempty"` // of TCP at both ends; absent: what the backend takes
	Toxiproxy         string        `json:"toxiproxy,omitempty"`          // URL of its HTTP API
	Forget            time.Duration `json:"forget_ns,omitempty"`          // connections that were silent for so long, as a NAT does; 0 = never
}

// Emulated reports whether there is a link other than this host's own network.
func (l *Link) Emulated() bool { return l.Name != "" }

// ownLink is the name of a link that a scenario describes by figures alone.
const ownLink = "own"

// link resolves the network of a point.
func (r *resolver) link(p *scenario.Point) Link {
	n := &p.Network
	if !p.Emulated() {
		return Link{}
	}
	l := Link{Backend: n.Backend, CongestionControl: n.CongestionControl, Toxiproxy: n.Toxiproxy, Forget: n.Forget}
	switch {
	case n.Forget > 0 && l.Backend == "auto":
		l.Backend = "proxy"
	case n.Forget > 0 && l.Backend != "proxy":
		r.problems.Add(p.At("network.forget"), "network.forget", "backend %s cannot forget connections: proxy can", l.Backend)
	}
	if n.Link != "" && n.Link != scenario.NoLink {
		found, err := link.Find(n.Link)
		if err != nil {
			r.problems.Add(p.At("network.link"), "network.link", "%v", err)
			return Link{}
		}
		l.Profile = found
	} else {
		l.Profile = link.Profile{Name: ownLink, Source: "the scenario"}
	}
	before := l.Profile
	for d, params := range []*link.Params{&l.Up, &l.Down} {
		override(params, p, "network.", &n.Path)
		own := []*scenario.Path{&n.Up, &n.Down}[d]
		override(params, p, "network."+link.Direction(d).String()+".", own)
		if err := params.Validate(); err != nil {
			r.problems.Add(p.At("network"), "network", "%s: %v", link.Direction(d), err)
		} else if err := link.RefusedByStreams(l.Backend, link.Direction(d), *params); err != nil {
			r.problems.Add(p.At("network.backend"), "network.backend", "%v", err)
		}
	}
	if l.Name != ownLink && (before.Up != l.Up || before.Down != l.Down) {
		l.Name += " (changed)"
		l.Source += "; changed by the scenario"
	}
	return l
}

// override replaces the figures that were written below prefix. What depends on a figure that was replaced goes with it: the queue of
// a profile is for its rate.
func override(to *link.Params, p *scenario.Point, prefix string, from *scenario.Path) {
	written := func(key string) bool { return p.Written(prefix + key) }
	if written("mode") && link.Mode(from.Mode) == link.NetEm {
		to.QueueBytes, to.Order, to.Burst = 0, "", 0 // those of mode physical
	}
	if written("rate") {
		to.Rate, to.QueueBytes = int64(from.Rate), 0
	}
	for key, set := range map[string]func(){
		"delay":            func() { to.Delay = from.Delay },
		"jitter":           func() { to.Jitter = from.Jitter },
		"distribution":     func() { to.Distribution = link.Distribution(from.Distribution) },
		"correlation":      func() { to.Correlation = float64(from.Correlation) },
		"order":            func() { to.Order = link.Order(from.Order) },
		"loss":             func() { to.Loss = float64(from.Loss) },
		"burst":            func() { to.Burst = float64(from.Burst) },
		"duplicate":        func() { to.Duplicate = float64(from.Duplicate) },
		"corrupt":          func() { to.Corrupt = float64(from.Corrupt) },
		"fix_checksum":     func() { to.FixChecksum = from.FixChecksum },
		"overhead":         func() { to.OverheadBytes = int(from.Overhead) },
		"queue":            func() { to.QueueBytes = int(from.Queue) },
		"mode":             func() { to.Mode = link.Mode(from.Mode) },
		"loss_correlation": func() { to.LossCorrelation = float64(from.LossCorrelation) },
		"queue_packets":    func() { to.QueuePackets = from.QueuePackets },
	} {
		if written(key) {
			set()
		}
	}
}

// describe says what the link is like, in words.
func (l *Link) describe() string {
	if !l.Emulated() {
		return "none: this host's own network"
	}
	up, down := DescribePath(l.Up), DescribePath(l.Down)
	text := l.Name + ": "
	if up == down {
		text += "both ways " + up
	} else {
		text += "up " + up + "; down " + down
	}
	text += "; backend " + l.Backend
	if l.CongestionControl != "" {
		text += ", TCP " + l.CongestionControl
	}
	return text
}

// DescribePath says what one direction of a link is like, in words.
func DescribePath(p link.Params) string {
	var parts []string
	add := func(ok bool, format string, args ...any) {
		if ok {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	distribution := p.Distribution
	if distribution == "" {
		distribution = link.Uniform
	}
	add(p.Jitter == 0 && p.Delay > 0, "%s", p.Delay)
	add(p.Jitter > 0, "%s ± %s %s", p.Delay, p.Jitter, distribution)
	add(p.Correlation > 0, "correlation %s", decimal(p.Correlation))
	add(p.Loss > 0 && p.Burst <= 1, "%s %% lost", decimal(p.Loss*100))
	add(p.Loss > 0 && p.Burst > 1, "%s %% lost, %s in a row", decimal(p.Loss*100), decimal(p.Burst))
	add(p.Duplicate > 0, "%s %% twice", decimal(p.Duplicate*100))
	add(p.Corrupt > 0, "%s %% corrupt", decimal(p.Corrupt*100))
	add(p.Rate > 0, "%s", BitRate(float64(p.Rate)))
	add(p.Queue() > 0, "queue %s (%s)", size(float64(p.Queue())), queueTime(p))
	add(p.Mode == link.NetEm, "as netem does it, at most %d packets", p.QueueLimit())
	if len(parts) == 0 {
		return "perfect"
	}
	return strings.Join(parts, ", ")
}

// queueTime is how long a full queue takes to leave.
func queueTime(p link.Params) time.Duration {
	return time.Duration(float64(p.Queue()) * 8 / float64(p.Rate) * 1e9).Round(time.Millisecond)
}

// BitRate writes a number of bits per second.
func BitRate(bits float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}} {
		if bits >= u.size {
			return decimal(bits/u.size) + " " + u.name
		}
	}
	return decimal(bits) + " bit/s"
}
