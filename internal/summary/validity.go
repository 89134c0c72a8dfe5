package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/monitor"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

// Validity says how far a trial may be believed.
type Validity string

// The verdicts. An invalid trial is no result: it is in no comparison.
const (
	Valid   Validity = "valid"
	Warning Validity = "warning"
	Invalid Validity = "invalid"
)

// note is the level of a Reason that takes nothing from the validity.
const note Validity = "note"

// Reason is one thing to know about a trial before believing it.
type Reason struct {
	Code  string   `json:"code"`
	Level Validity `json:"level"` // invalid, warning, note
	Text  string   `json:"text"`  // one line
}

// MinAchieved is which part of what was offered a trial must have sent, and delivered, without a warning.
const MinAchieved = 0.95

// Limits of validity.
const (
	maxLateness     = int64(time.Millisecond) // of the generator, at its 99th percentile; and
	maxLatenessPart = 0.10                    // of the interval between two messages of one publisher
	maxGeneratorCPU = 0.85                    // of the cores it was given
	maxWaitFactor   = 2.0                     // of response over service time
	maxSteal        = 0.01                    // of the machine's cores
	maxOthers       = 0.10                    // likewise
	minThrottled    = 0.01                    // of the periods, to be worth a word
)

// judge fills Validity and Reasons.
func (t *Trial) judge(f *folded) {
	t.Reasons = []Reason{}
	for _, check := range []func(*folded){
		t.checkEnd, t.checkRecord, t.checkLedger, t.checkGenerator,
		t.checkAchieved, t.checkMessages, t.checkRecovery, t.checkIdle, t.checkWaiting, t.checkSetting, t.checkMachine, t.checkLink, t.checkHost, t.checkPercentiles,
	} {
		check(f)
	}
	t.Validity = Valid
	for _, r := range t.Reasons {
		if r.Level == Invalid || r.Level == Warning && t.Validity == Valid {
			t.Validity = r.Level
		}
	}
}

func (t *Trial) add(level Validity, code, format string, args ...any) {
	t.Reasons = append(t.Reasons, Reason{Code: code, Level: level, Text: fmt.Sprintf(format, args...)})
}

// checkEnd: did the trial come to its end?
func (t *Trial) checkEnd(f *folded) {
	c := &f.rec.Checks
	switch {
	case c.KilledForMemory != nil:
		t.add(Invalid, "killed_for_memory", "%s", memoryKill(c.KilledForMemory))
	case t.State == run.Cut:
		t.add(Invalid, "cut", "the run was killed before this trial ended")
	case t.State != run.Finished:
		t.add(Invalid, "failed", "%s", oneLine(t.Failure, "the trial failed"))
	}
	if c.Interrupted {
		t.add(Invalid, "interrupted", "interrupted after %s of the measure window", Duration(c.Measured))
	}
	if c.Stopped != "" {
		t.add(Warning, "stopped_early", "%s: the rest was not waited for", oneLine(c.Stopped, ""))
	}
	if c.BrokerExited != "" {
		t.add(Invalid, "broker_exited", "the broker ended during the trial: %s", oneLine(c.BrokerExited, ""))
	}
	for _, d := range f.rec.Damage {
		if c.Interrupted { // it had no time to write what is missing
			break
		}
		t.add(Invalid, "damaged", "the run folder is damaged: %s", oneLine(d, ""))
	}
}

// checkRecord: was everything recorded that should have been?
func (t *Trial) checkRecord(f *folded) {
	c := &f.rec.Checks
	if t.State == run.Finished && !c.SubscribersReady {
		t.add(Invalid, "subscribers_not_ready", "publishing began before every subscription was confirmed")
	}
	if c.SamplesDropped > 0 {
		t.add(Invalid, "samples_dropped", "the disk was too slow: %s samples were not written", Count(c.SamplesDropped))
	}
	if c.HoleOverflow || f.counts.Overflow > 0 {
		t.add(Invalid, "hole_overflow", "a stream had more gaps at once than the ledger holds; %s receipts could not be judged", Count(f.counts.Overflow))
	}
	if f.counts.ClockSkew > 0 {
		t.add(Invalid, "clock_skew", "%s latencies were below zero: the clocks disagree", Count(f.counts.ClockSkew))
	}
	for m, h := range f.hists {
		if h != nil && h.Overflow() > 0 {
			t.add(Warning, "out_of_range", "%s %s times were above one hour; all that is known of them is that", Count(uint64(h.Overflow())), ledger.Metric(m))
		}
	}
}

// checkLedger: do the counts add up, and is there anything to report?
func (t *Trial) checkLedger(f *folded) {
	c := &f.counts
	if text := f.rec.Checks.LedgerMismatch; text != "" {
		t.add(Invalid, "ledger_mismatch", "%s", oneLine(text, ""))
	}
	if f.final && c.Sent+c.Unsent != c.Offered {
		t.add(Invalid, "ledger_mismatch", "sent %s + unsent %s is not offered %s", Count(c.Sent), Count(c.Unsent), Count(c.Offered))
	}
	if f.final && c.Delivered+c.Lost+c.UndeliveredUnsent != c.Expected {
		t.add(Invalid, "ledger_mismatch", "delivered %s + lost %s + undelivered unsent %s is not expected %s",
			Count(c.Delivered), Count(c.Lost), Count(c.UndeliveredUnsent), Count(c.Expected))
	}
	if f.final && f.guaranteed() && c.Acked+c.Unconfirmed+c.Refused != c.Sent {
		t.add(Invalid, "ledger_mismatch", "acked %s + unconfirmed %s + refused %s is not sent %s",
			Count(c.Acked), Count(c.Unconfirmed), Count(c.Refused), Count(c.Sent))
	}
	if h := f.hists[ledger.Response]; f.final && h != nil && uint64(h.Count())+c.ClockSkew < c.Delivered {
		t.add(Invalid, "ledger_mismatch", "%s deliveries have %s response times", Count(c.Delivered), Count(uint64(h.Count())))
	}
	switch {
	case t.State != run.Finished:
	case c.Expected == 0 && c.Acked == 0:
		t.add(Invalid, "no_samples", "no message was due in the measure window")
	case c.Expected > 0 && c.Delivered == 0:
		t.add(Invalid, "no_samples", "none of %s expected deliveries arrived", Count(c.Expected))
	}
}

// checkGenerator: was the load what it was meant to be?
func (t *Trial) checkGenerator(f *folded) {
	if h := f.hists[ledger.Lateness]; h != nil && h.Count() > 0 && t.openLoop() {
		p99, interval := h.Quantile(0.99), t.interval()
		if p99 > maxLateness && float64(p99) > maxLatenessPart*interval {
			t.add(Invalid, "generator_late", "the generator was %s late at p99; each publisher sends every %s", Duration(p99), Duration(int64(interval)))
		}
	}
	if n := f.rec.Generator.SkippedSends; n > 0 {
		t.add(Invalid, "generator_skipped", "the generator skipped %s sends", Count(n))
	}
	g := &t.Generator
	if g.CPUSeconds == nil || g.Cores == nil || t.Measured == nil {
		return
	}
	if used := *g.CPUSeconds / (*g.Cores * time.Duration(*t.Measured).Seconds()); used > maxGeneratorCPU {
		level, text := Invalid, "the generator used %s of the %s cores it was given"
		if !t.openLoop() {
			level, text = Warning, text+": it may have set the pace, not the broker"
		}
		t.add(level, "generator_cpu", text, Ratio(used), Number(*g.Cores))
	}
}

func (t *Trial) openLoop() bool { return t.Params.RatePerS > 0 && t.Params.Pacing != "max" }

// interval is the mean time in nanoseconds between two messages of one publisher, where a ramp is at its fastest.
func (t *Trial) interval() float64 {
	return float64(time.Second) * float64(max(1, t.Params.Publishers)) / max(t.Params.RatePerS, t.Params.RampToPerS)
}

// checkAchieved: did what was offered go out and arrive while it was measured?
func (t *Trial) checkAchieved(f *folded) {
	if !t.openLoop() {
		t.add(Warning, "closed_loop", "closed loop: a slow broker is sent less, so that its latency hides its stalls")
		return
	}
	r := &t.Rates
	below := func(part, whole *float64) bool {
		return part != nil && whole != nil && *whole > 0 && *part < MinAchieved**whole
	}
	if below(r.Sent, r.Offered) {
		t.add(Warning, "achieved_sent", "sent %s of the offered rate: %s of %s", Ratio(*r.Sent / *r.Offered), Rate(*r.Sent), Rate(*r.Offered))
	}
	if below(r.Delivered, r.Expected) {
		t.add(Warning, "achieved_delivered", "delivered %s of the expected rate inside the measure window: %s of %s",
			Ratio(*r.Delivered / *r.Expected), Rate(*r.Delivered), Rate(*r.Expected))
	}
	if f.final && !f.stopped() && f.counts.Unsent > 0 {
		t.add(Warning, "unsent", "%s of %s messages never left (%s)", Count(f.counts.Unsent), Count(f.counts.Offered), Percent(f.counts.Unsent, f.counts.Offered))
	}
}

// checkMessages: what happened to messages and connections on the way?
func (t *Trial) checkMessages(f *folded) {
	c, conns := &f.counts, &f.rec.Connections
	known := f.final && !f.stopped()
	if known && c.Lost > 0 {
		t.add(Warning, "lost", "%s of %s expected deliveries were lost (%s)", Count(c.Lost), Count(c.Expected), Percent(c.Lost, c.Expected))
	}
	if known && f.guaranteed() && c.Unconfirmed > 0 {
		t.add(Warning, "unconfirmed", "%s of %s messages sent were never confirmed", Count(c.Unconfirmed), Count(c.Sent))
	}
	if c.Refused > 0 {
		t.add(Warning, "refused", "the broker refused %s of %s messages sent%s", Count(c.Refused), Count(c.Sent), mostFrequent(conns.Refusals))
	}
	if c.Corrupt > 0 {
		t.add(Warning, "corrupt", "%s messages arrived damaged", Count(c.Corrupt))
	}
	if c.Duplicates > 0 && !plan.MayRepeat(t.Guarantee) {
		t.add(Warning, "duplicates", "%s messages arrived again although the guarantee is %s", Count(c.Duplicates), t.Guarantee)
	}
	if c.Foreign > 0 {
		t.add(Warning, "foreign", "%s messages were not of this run: somebody else uses its topics", Count(c.Foreign))
	}
	if v := t.Churn; v != nil && v.Made < v.Due {
		t.add(Warning, "churn_failed", "of %s clients that were due to come and leave %s were accepted, %s failed%s",
			Count(v.Due), Count(v.Made), Count(v.Failed), mostFrequent(v.Failures))
	}
	if f.rec.Checks.KilledForMemory != nil {
		return // what became of its connections follows
	}
	if conns.Lost > 0 {
		t.add(Warning, "connections_lost", "%s connections were lost, %s came back", Count(conns.Lost), Count(conns.Reconnected))
	}
	if conns.Failed > 0 {
		t.add(Warning, "connections_failed", "%s of %s connections failed%s", Count(conns.Failed), Count(conns.Attempted), mostFrequent(conns.Failures))
	}
}

// mostFrequent writes the most frequent reason, to be put behind a sentence.
func mostFrequent(failures []run.Failure) string {
	if len(failures) == 0 {
		return ""
	}
	most := slices.MaxFunc(failures, func(a, b run.Failure) int { return cmp.Compare(a.Count, b.Count) })
	return ": " + oneLine(most.Reason, "no reason known")
}

// checkWaiting: where response and service time differ much, who made the messages wait?
func (t *Trial) checkWaiting(f *folded) {
	r, s := t.Latency.Response, t.Latency.Service
	if r == nil || s == nil {
		return
	}
	for _, p := range slices.Backward(Percentiles) { // the rarest tells most
		resp, serv := *p.Of(r), *p.Of(s)
		if resp == nil || serv == nil || float64(*resp) <= maxWaitFactor*float64(*serv) {
			continue
		}
		t.add(Warning, "waited", "%s from due is %s, from sent %s: %s", p.Words, Duration(*resp), Duration(*serv), f.whyWaited(t.Params.Window))
		return
	}
}

// whyWaited names who made messages wait before they were sent: the larger sum of the times recorded.
func (f *folded) whyWaited(window int) string {
	blocked, late := total(f.hists[ledger.Blocked]), total(f.hists[ledger.Lateness])
	switch {
	case blocked == 0 && late == 0:
		return "messages waited before they were sent"
	case late > blocked:
		return "the generator was late"
	case f.guaranteed() && window > 0:
		return fmt.Sprintf("messages waited for the broker (socket full, or window of %s unacknowledged)", Count(uint64(window)))
	}
	return "messages waited for the broker (socket full)"
}

func total(h *hist.Hist) float64 {
	if h == nil {
		return 0
	}
	return h.Mean() * float64(h.Count())
}

// checkSetting: what about the way of measuring must a reader know?
func (t *Trial) checkSetting(f *folded) {
	tls := f.rec.Client.TLS
	if t.Params.Connect.HoldAcks {
		t.add(note, "acks_held", "subscribers were told never to acknowledge")
	}
	if f.rec.Trial.Subject.TLS.SkipVerify || tls != nil && !tls.Verified {
		t.add(Warning, "tls_unverified", "the server's certificate was not verified")
	}
}

// checkMachine: was the broker held to the machine that was asked for, and what came of it?
func (t *Trial) checkMachine(f *folded) {
	p := &t.Params.Profile
	if p.Off {
		t.add(Warning, "limits_off", "machine %s was asked for, but not enforced (--no-limits): the broker had the whole host", p.Name)
		return
	}
	if n, ok := t.Broker.Limits["open_files"]; ok && n < int64(p.OpenFiles) {
		t.add(note, "fewer_files", "the broker may open %s files, not the %s of machine %s: this user may give no more", Count(uint64(n)), Count(uint64(p.OpenFiles)), p.Name)
	}
	if n := f.rec.Checks.MemoryKills; n > 0 && f.rec.Checks.KilledForMemory == nil {
		t.add(Warning, "memory_kills", "%s of the broker's processes were killed for memory while it went on", Count(n))
	}
	if r := t.Broker.ThrottledRatio; r != nil && *r > minThrottled {
		t.add(note, "throttled", "the broker used up its CPU in %s of the periods of 100 ms", Ratio(*r))
	}
	hosts := f.rec.Watched(monitor.Host)
	if p.CPUs == 0 || len(hosts) == 0 || hosts[0].Cores == 0 || t.Generator.Cores == nil {
		return
	}
	if has := float64(hosts[0].Cores); p.CPUs+*t.Generator.Cores > has {
		t.add(note, "shared_cores", "broker (%s) and generator (%s) share this host's %s cores", Number(p.CPUs), Number(*t.Generator.Cores), Number(has))
	}
}

// reason is the text of the reason with the code; "" if there is none.
func (t *Trial) reason(code string) string {
	for _, r := range t.Reasons {
		if r.Code == code {
			return r.Text
		}
	}
	return ""
}

// memoryKill is the verdict on a broker that its machine was too small for.
func memoryKill(k *run.MemoryKill) string {
	text := "killed for memory before it was ready"
	if k.Connections != nil {
		text = fmt.Sprintf("killed for memory at %s connections", Count(uint64(*k.Connections)))
	}
	switch {
	case k.LimitBytes > 0 && k.Heap:
		text += ": its Java heap of " + Bytes(uint64(k.LimitBytes)) + " is full"
	case k.LimitBytes > 0:
		text += ": its limit is " + Bytes(uint64(k.LimitBytes))
	}
	return text
}

// checkHost: did others use the machine?
func (t *Trial) checkHost(*folded) {
	if t.Host == nil {
		return
	}
	if s := t.Host.Steal; s != nil && *s > maxSteal {
		t.add(Warning, "cpu_steal", "the hypervisor took %s of the machine's CPU", Ratio(*s))
	}
	if o := t.Host.Others; o != nil && *o > maxOthers {
		t.add(Warning, "host_busy", "other processes used %s of the machine's CPU", Ratio(*o))
	}
}

// checkPercentiles: which percentiles are there too few messages for?
func (t *Trial) checkPercentiles(*folded) {
	q := t.Latency.Response
	if q == nil || len(q.TooFew) == 0 {
		return
	}
	level := note
	var words []string
	for _, p := range Percentiles {
		if slices.Contains(q.TooFew, p.Name) {
			words = append(words, p.Words)
		}
	}
	if len(words) == len(Percentiles) {
		level = Warning
	}
	t.add(level, "few_messages", "%s expected deliveries are too few for %s", Count(q.Expected), strings.Join(words, ", "))
}

// oneLine returns the first line of s, or instead where s is empty.
func oneLine(s, instead string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if first == "" {
		return instead
	}
	return first
}
