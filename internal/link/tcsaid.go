package link

import (
	"fmt"
	"time"
)

// explain says what Linux does with the params.
func (r *tcReader) explain() []string {
	p := *r.p
	said := []string{
		"One line of tc shapes one direction of one interface, what leaves by it; the way back is untouched. Here the figures are of each direction.",
	}
	add := func(ok bool, format string, args ...any) {
		if ok {
			said = append(said, fmt.Sprintf(format, args...))
		}
	}
	mean, deviation := p.Travel()
	add(p.Delay > 0 && p.Jitter == 0, "Every packet travels %s.", p.Delay)
	add(p.Jitter > 0 && p.uniform(), "Without a distribution the delay is spread evenly from %s to %s (standard deviation %s), though the manual page speaks of a normal distribution.",
		max(p.Delay-p.Jitter, 0), p.Delay+p.Jitter, deviation.Round(100*time.Microsecond))
	add(p.Jitter > 0 && !p.uniform(), "Delays follow %s: mean %s, standard deviation %s.", p.Distribution, mean.Round(100*time.Microsecond), deviation.Round(100*time.Microsecond))
	add(p.Jitter > 0 && p.Rate == 0, "Packets overtake each other where they follow more closely than the delay varies.")
	add(p.Jitter > 0 && p.Correlation > 0, "The correlation of delays is undone by the way the kernel uses it: neighbours hardly resemble each other.")
	add(p.Loss > 0 && p.LossCorrelation == 0 && p.Burst == 0, "%s of the packets are lost, each by itself.", percent(p.Loss))
	if p.Loss > 0 && p.LossCorrelation > 0 {
		add(true, "With a correlation of %s the kernel loses not %s of the packets but %s (counted over %d by its own formula): averages of random numbers are rarely extreme. For losses in a row use a burst length.",
			percent(p.LossCorrelation), percent(p.Loss), percent(netemLoss(p)), lossDraws)
	}
	add(p.Loss > 0 && p.Burst > 0, "%s of the packets are lost, on average %.3g in a row.", percent(p.Loss), p.Burst)
	add(p.Rate > 0 && p.Mode == NetEm, "At %s a packet of 1500 bytes takes %s. The delay runs while a packet waits for the rate: it takes the longer of the two, not their sum; and packets keep their order.",
		speed(p.Rate), p.AirTime(1500).Round(10*time.Microsecond))
	if p.Mode == NetEm {
		limit := "The queue holds %d packets (limit), those under way included; what comes later is dropped, and a local sender is told so, unlike on a real link."
		if !r.limit {
			limit = "The queue holds %d packets unless limit says otherwise, those under way included; what comes later is dropped, and a local sender is told so, unlike on a real link."
		}
		add(true, limit, p.QueueLimit())
		add(p.Rate > 0, "That is up to %s of waiting.", (time.Duration(p.QueueLimit()) * p.AirTime(1500)).Round(10*time.Millisecond))
	}
	add(p.Duplicate > 0, "%s of the packets come twice.", percent(p.Duplicate))
	add(p.Corrupt > 0, "In %s of the packets a bit is turned over; TCP's checksum finds it, so it is lost for the application.", percent(p.Corrupt))
	return said
}

// lossDraws is how many packets are counted to know what a correlation does to losses.
const lossDraws = 1_000_000

// netemLoss is the share of packets that the kernel loses with a correlation.
func netemLoss(p Params) float64 {
	m := New(Params{Mode: NetEm, Loss: p.Loss, LossCorrelation: p.LossCorrelation}, 1)
	packet := make([]byte, 1)
	for now := range int64(lossDraws) {
		m.Push(now, packet, 0)
		m.Pop(now)
	}
	return float64(m.Counters().Lost.Packets) / lossDraws
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", share*100) }

// speed writes a rate.
func speed(rate int64) string {
	switch {
	case rate >= mbit:
		return fmt.Sprintf("%.4g Mbit/s", float64(rate)/mbit)
	case rate >= kbit:
		return fmt.Sprintf("%.4g kbit/s", float64(rate)/kbit)
	}
	return fmt.Sprintf("%d bit/s", rate)
}
