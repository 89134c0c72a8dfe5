package summary

import (
	"fmt"
	"strings"
)

// Limiter is what set the pace of a trial.
type Limiter string

// The limiters.
const (
	LimitNone      Limiter = "none"          // the load came through, and nothing was used up
	LimitCPU       Limiter = "broker_cpu"    // the broker used all CPU that it may use
	LimitThread    Limiter = "broker_thread" // one thread of the broker used a whole core; the others cannot help it
	LimitMemory    Limiter = "memory"        // the broker had no memory left
	LimitGenerator Limiter = "generator"     // this program did not keep up
	LimitLink      Limiter = "link"          // the network between them was full
	LimitWindow    Limiter = "window"        // as many messages were unconfirmed as may be, for a round trip each
	LimitHost      Limiter = "host"          // broker and generator, or others, took the CPU from each other
	LimitUnknown   Limiter = "unknown"       // the load did not come through, and nothing that is watched was used up
)

// Limiters are all of them.
var Limiters = []Limiter{LimitNone, LimitCPU, LimitThread, LimitMemory, LimitGenerator, LimitLink, LimitWindow, LimitHost, LimitUnknown}

// Bottleneck says what set the pace of a trial, with the figures that show it.
type Bottleneck struct {
	Kind Limiter  `json:"kind"`
	Used *float64 `json:"used_ratio,omitempty"` // how much of it was used
	Text string   `json:"text"`                 // the evidence, in one line
}

// Limits of the verdict.
const (
	usedUp      = 0.85 // of a resource that sets the pace: the rest is lost to waiting and to the grain of samples
	throttledUp = 0.30 // of the periods of a CPU quota
	waitedUp    = 0.15 // of the time: a thread was ready to run and had no CPU
	hostUsedUp  = 0.93 // of the host's cores, while a thread of the broker waited for one for more than waitedLess of the time
	waitedLess  = 0.05
	keptUp      = 0.98 // of what was offered
	queuedUp    = 2.0  // how many times the shortest confirmation a usual one takes where something queues
	heldUp      = 0.5  // of the messages, that had to wait for a full socket or window
	crowdedUp   = 0.5  // of the host's cores, that others used while the generator was late and used little of its own
)

// pressure is what the verdict rests on. Pointers are nil where something is not known.
type pressure struct {
	closed   bool     // as fast as possible: something always sets the pace
	achieved *float64 // delivered of expected
	sent     *float64 // of offered
	held     float64  // part of the messages that had to wait for a full socket or window

	killed      string // for memory: the words
	memory      *float64
	memoryLimit uint64

	late         string   // the generator's lateness made the trial invalid: the words
	starved      *float64 // part of the periods in which the generator used up the CPU quota that it is held to
	generatorCPU *float64 // of the cores it was given
	hostBusy     *float64
	hostOthers   *float64

	brokerCPU    *float64 // in cores
	brokerCores  float64  // that it may use
	throttled    *float64
	thread, wait *float64 // busiest thread: running, and waiting for a CPU, of the time
	threadName   string

	window      int // 0 = none
	publishers  int
	rate        float64 // sent per second
	ack, ackMin *float64
	connect     *float64 // the shortest time to establish TCP: a round trip without the broker's own work

	linkFull string // the link was saturated: the words
}

// strained reports whether the load did not come through.
func (p *pressure) strained() bool {
	below := func(v *float64) bool { return v != nil && *v < keptUp }
	return p.closed || below(p.achieved) || below(p.sent) || p.held > heldUp
}

// judge names the bottleneck: what is certain first, then what is used up, the nearest to the broker's core first.
func (p *pressure) judge() Bottleneck {
	for _, rule := range []func() *Bottleneck{p.byMemory, p.byGenerator, p.byQuota, p.byThread, p.byHost, p.byWindow, p.byLink} {
		if b := rule(); b != nil {
			return *b
		}
	}
	nearest := p.nearest()
	if !p.strained() {
		return Bottleneck{Kind: LimitNone, Text: strings.TrimSuffix("the load came through; "+nearest, "; ")}
	}
	text := "the load did not come through"
	if p.closed {
		text = "as fast as possible"
	}
	if p.brokerCPU == nil {
		return Bottleneck{Kind: LimitUnknown, Text: text + "; what the broker used is not known"}
	}
	return Bottleneck{Kind: LimitUnknown, Text: text + ", and nothing that is watched was used up; " + nearest}
}

func (p *pressure) byMemory() *Bottleneck {
	switch {
	case p.killed != "":
		return &Bottleneck{LimitMemory, nil, p.killed}
	case p.memory != nil && *p.memory >= 0.9 && p.strained():
		return &Bottleneck{LimitMemory, p.memory, fmt.Sprintf("the broker had %s of the %s it may have", Ratio(*p.memory), Bytes(p.memoryLimit))}
	}
	return nil
}

// byGenerator: a generator that is late on a host without idle CPU, or whose cores others used, was crowded out. Late or not, a
// broker that ran all the time and did not deliver what it was offered is the bottleneck; so is a link or a window that was full.
func (p *pressure) byGenerator() *Bottleneck {
	busy := p.generatorCPU != nil && *p.generatorCPU >= usedUp
	switch {
	case busy && (p.late != "" || p.strained()) && !p.brokerBusier():
		return &Bottleneck{LimitGenerator, p.generatorCPU, fmt.Sprintf("the generator used %s of the cores it was given", Ratio(*p.generatorCPU))}
	case p.starved != nil && *p.starved >= throttledUp && (p.late != "" || p.strained()):
		return &Bottleneck{Kind: LimitGenerator, Text: strings.TrimSuffix(fmt.Sprintf("the generator used up the CPU quota that it is held to in %s of the periods; %s", Ratio(*p.starved), p.late), "; ")}
	case p.late == "" || p.strained() && (p.brokerUsedUp() || p.linkFull != "" || p.byWindow() != nil):
		return nil
	case p.brokerWaits():
		return p.hostVerdict(p.waited() + "; " + p.late)
	case p.hostFull() || p.crowded():
		return p.hostVerdict(p.late)
	case p.hostBusy == nil:
		return &Bottleneck{Kind: LimitUnknown, Text: p.late + "; whether others kept the CPU from it is not known"}
	}
	return &Bottleneck{Kind: LimitGenerator, Text: p.late}
}

// brokerUsedUp reports whether the broker could not have done more.
func (p *pressure) brokerUsedUp() bool {
	return p.throttled != nil && *p.throttled >= throttledUp || p.thread != nil && *p.thread >= usedUp
}

// crowded reports whether others used so much of the host that a generator that is late, and did little, is so because of them.
func (p *pressure) crowded() bool {
	return p.hostOthers != nil && *p.hostOthers >= crowdedUp && p.generatorCPU != nil && *p.generatorCPU < usedUp
}

// brokerBusier reports whether the broker is nearer to its limit than the generator is.
func (p *pressure) brokerBusier() bool {
	return p.throttled != nil && *p.throttled >= throttledUp || p.thread != nil && *p.thread > *p.generatorCPU
}

func (p *pressure) byQuota() *Bottleneck {
	if p.throttled == nil || *p.throttled < throttledUp {
		return nil
	}
	b := &Bottleneck{Kind: LimitCPU, Text: fmt.Sprintf("the broker used up its quota of %s cores in %s of the periods of 100 ms", Number(p.brokerCores), Ratio(*p.throttled))}
	if p.brokerCPU != nil {
		b.Used = new(*p.brokerCPU / p.brokerCores)
	}
	return b
}

// byThread: a broker is at its limit when all of its cores are busy, or the one thread that does the work.
func (p *pressure) byThread() *Bottleneck {
	if p.brokerCPU != nil && p.brokerCores > 0 && *p.brokerCPU/p.brokerCores >= usedUp {
		return &Bottleneck{LimitCPU, new(*p.brokerCPU / p.brokerCores), fmt.Sprintf("the broker used %s of %s cores", Number(*p.brokerCPU), Number(p.brokerCores))}
	}
	if p.thread == nil || *p.thread < usedUp {
		return nil
	}
	return &Bottleneck{LimitThread, p.thread, fmt.Sprintf("thread %s of the broker used %s of a core", p.threadName, Ratio(*p.thread))}
}

func (p *pressure) hostFull() bool { return p.hostBusy != nil && *p.hostBusy >= hostUsedUp }

// brokerWaits reports whether the broker's busiest thread, when it had something to do, often had no core to do it on.
func (p *pressure) brokerWaits() bool {
	return p.thread != nil && p.wait != nil && *p.wait >= waitedUp && *p.thread+*p.wait >= usedUp
}

// byHost: the broker's thread wanted to run and could not. Cores that are busy with what gives way at once stand in nobody's way; those
// of this host stand in that of no broker elsewhere.
func (p *pressure) byHost() *Bottleneck {
	full := p.hostFull() && p.brokerCPU != nil && (p.wait == nil || *p.wait >= waitedLess)
	if !p.strained() || !full && !p.brokerWaits() {
		return nil
	}
	return p.hostVerdict(p.waited())
}

// waited says how much the broker's busiest thread did and waited; "" if that is not known.
func (p *pressure) waited() string {
	if p.thread == nil || p.wait == nil {
		return ""
	}
	return fmt.Sprintf("thread %s of the broker ran for %s of the time and waited for a CPU for %s", p.threadName, Ratio(*p.thread), Ratio(*p.wait))
}

func (p *pressure) hostVerdict(why string) *Bottleneck {
	var used string
	if p.hostBusy != nil {
		used = Ratio(*p.hostBusy) + " of the host's CPU was in use"
	}
	switch {
	case p.hostOthers == nil:
	case *p.hostOthers > maxOthers:
		used += fmt.Sprintf(", %s of it by others", Ratio(*p.hostOthers))
	default:
		used += ", by broker and generator, which share its cores"
	}
	return &Bottleneck{Kind: LimitHost, Used: p.hostBusy, Text: strings.Trim(used+"; "+why, "; ")}
}

// byWindow: by Little's law the messages on their way are their rate times the time each takes to be confirmed. Where that is the
// whole window, and a confirmation takes no longer than it must, nothing but the window holds them back. It takes no longer than the
// shortest one; of a broker that cannot be watched, which may have been busy all the time, no longer than a round trip of TCP.
func (p *pressure) byWindow() *Bottleneck {
	if p.window == 0 || p.ack == nil || p.ackMin == nil || !p.strained() {
		return nil
	}
	all := float64(p.window * p.publishers)
	used := p.rate * *p.ack / 1e9 / all
	if used < usedUp || *p.ack > queuedUp**p.ackMin || p.brokerCPU == nil && (p.connect == nil || *p.ack > queuedUp**p.connect) {
		return nil
	}
	return &Bottleneck{LimitWindow, &used, fmt.Sprintf("%s of the %s messages that may be unconfirmed were on their way, for %s each, at least %s: at most %s",
		Ratio(min(used, 1)), Number(all), Duration(int64(*p.ack)), Duration(int64(*p.ackMin)), Rate(all*1e9 / *p.ack))}
}

// byLink: the link between them had no room left.
func (p *pressure) byLink() *Bottleneck {
	if p.linkFull == "" || !p.strained() {
		return nil
	}
	return &Bottleneck{Kind: LimitLink, Text: p.linkFull}
}

// nearest names the resource of which most was used.
func (p *pressure) nearest() string {
	used, text := 0.0, ""
	consider := func(v *float64, format string) {
		if v != nil && *v > used {
			used, text = *v, fmt.Sprintf(format, Ratio(*v))
		}
	}
	consider(p.thread, "busiest was one thread of the broker, with %s of a core")
	consider(p.generatorCPU, "busiest was the generator, with %s of the cores it was given")
	consider(p.memory, "fullest was the broker's memory, with %s")
	return text
}
