package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/summary"
)

// count is how many cores this process can keep busy.
func (c *Cores) count() float64 {
	if c.Quota > 0 {
		return min(float64(c.Usable), c.Quota)
	}
	return float64(c.Usable)
}

func cores(f *Facts) (d Finding) {
	c := &f.Cores
	if c.Usable <= 0 {
		return d
	}
	d.Value = fmt.Sprint(c.Usable)
	if c.Online > c.Usable {
		d.Value += fmt.Sprintf(" of %d (affinity)", c.Online)
		d.Change = fmt.Sprintf("taskset -pc 0-%d $$", c.Online-1)
	}
	if c.Quota > 0 {
		d.Value += fmt.Sprintf("; a control group grants the time of %s", summary.Number(c.Quota))
	}
	switch n := c.count(); {
	case n < 2:
		d.Status, d.Means = Limits, "mqlab and broker wait for each other: their latencies are higher than with two cores"
	case n < 4:
		d.Status, d.Means = Note, "little is left when mqlab and broker are both busy: compare at moderate rates"
	default:
		d.Status, d.Means = OK, "enough for mqlab and a broker at a time"
	}
	return d
}

func governor(f *Facts) (d Finding) {
	if len(f.Governors) == 0 {
		return Finding{Value: notKnown + " (as in most virtual machines)"}
	}
	d = Finding{Status: OK, Value: strings.Join(f.Governors, ", "), Means: "cores keep their speed"}
	if slices.ContainsFunc(f.Governors, func(g string) bool { return g != "performance" }) {
		d.Status = Note
		d.Means = "cores slow down when there is little to do: latencies at low rates may be higher than at high ones"
		d.Change = "sudo cpupower frequency-set -g performance"
	}
	return d
}

func load(f *Facts) (d Finding) {
	if f.Load == nil {
		return d
	}
	d = Finding{Status: OK, Value: fmt.Sprintf("%s tasks over the last minute", summary.Number(*f.Load))}
	means := "what others do at the same time makes messages late"
	if f.Steal != nil {
		d.Value += fmt.Sprintf("; %s of the CPU stolen by the hypervisor", summary.Ratio(*f.Steal))
	}
	if f.Steal != nil && *f.Steal > 0.01 || *f.Load > f.Cores.count()/2 {
		d.Status = Note
		means += ": close what is busy, or measure when the host is idle"
	}
	d.Means = means
	return d
}

func pressure(f *Facts) (d Finding) {
	if f.Pressure == nil {
		return d
	}
	d = Finding{Status: OK, Value: fmt.Sprintf("%s %% of the last 10 s", summary.Number(*f.Pressure)), Means: "for so long some task had to wait for a core"}
	if *f.Pressure > 10 {
		d.Status = Note
	}
	return d
}

// fastClocks are known to be read without a system call on Linux. What a reading takes, where it is known, tells more.
var fastClocks = []string{"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase", "riscv_clocksource"}

func clockSource(f *Facts) (d Finding) {
	if f.ClockSource == "" && f.ClockRead == nil {
		return d
	}
	var parts []string
	if f.ClockSource != "" {
		parts = append(parts, f.ClockSource)
	}
	if f.ClockRead != nil {
		parts = append(parts, summary.Duration(*f.ClockRead)+" a reading")
	}
	d = Finding{Status: OK, Value: strings.Join(parts, ", "), Means: "every message costs two or three readings; this clock is cheap"}
	slow := f.ClockSource != "" && !slices.Contains(fastClocks, f.ClockSource)
	if f.ClockRead != nil {
		slow = *f.ClockRead > int64(500*time.Nanosecond)
	}
	if slow {
		d.Status, d.Means = Limits, "every message costs two or three readings, and each of this clock is a system call: rates are lower"
		if f.OS == "linux" && f.ClockSource != "tsc" {
			d.Change = "echo tsc | sudo tee /sys/devices/system/clocksource/*/current_clocksource"
		}
	}
	return d
}

func wallClock(f *Facts) (d Finding) {
	w := f.WallClock
	if w == nil {
		return d
	}
	const means = "on one host nothing: latencies are of a clock that is never set. It dates the runs"
	if !w.Synchronised {
		return Finding{Status: Note, Value: "not synchronised", Means: means, Change: "sudo timedatectl set-ntp true"}
	}
	return Finding{Status: OK, Value: "synchronised to " + summary.Duration(w.MaxError), Means: means}
}

func timerSlack(f *Facts) (d Finding) {
	if f.TimerSlack == nil {
		return d
	}
	return Finding{Status: OK, Value: summary.Duration(*f.TimerSlack), Means: "nothing: the event loops set 1 ns for themselves"}
}

// spinFor is how long before a message is due a precise event loop stops sleeping.
const spinFor = int64(60 * time.Microsecond)

func wakeUps(f *Facts) (d Finding) {
	w := f.WakeUps
	switch {
	case w == nil:
		return d
	case len(w.Late) == 0 && w.Why == "":
		return d
	case len(w.Late) == 0:
		return Finding{Status: Limits, Value: "cannot be measured: " + w.Why, Means: "event loops need it (Linux 5.11): set engine.kind: goroutine"}
	}
	n := len(w.Late)
	worst := w.Late[n-1]
	inTime, _ := slices.BinarySearch(w.Late, spinFor+1)
	d = Finding{
		Status: OK, Value: fmt.Sprintf("%s late (median of %d), at worst %s", summary.Duration(w.Late[n/2]), n, summary.Duration(worst)),
		Means: fmt.Sprintf("precise mode, which wakes up %s early and spins, would have sent %d of %d in time", summary.Duration(spinFor), inTime, n),
	}
	if worst > spinFor {
		d.Means += fmt.Sprintf(", the worst of the others %s late", summary.Duration(worst-spinFor))
	}
	switch {
	case w.Late[n/2] > spinFor:
		d.Status = Limits
	case worst > int64(time.Millisecond):
		d.Status = Note
	}
	return d
}
