package link

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// kbit and Mbit are bits per second.
const (
	kbit = 1000
	mbit = 1000 * kbit
)

// both is a profile that is the same in both directions.
func both(name, about string, p Params, source string) Profile {
	return Profile{Name: name, About: about, Up: p, Down: p, Source: source}
}

// with returns p at another rate, with room for so much time to wait for it.
func (p Params) with(rate int64, queue time.Duration) Params {
	p.Rate = rate
	p.QueueBytes = int(float64(rate) / 8 * queue.Seconds())
	return p
}

// milli are thousandths of a second.
func milli(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// Profiles returns the built-in links, the best known first. What is said to be chosen has no source but experience.
func Profiles() []Profile {
	lpwan := Params{Delay: milli(300), Jitter: milli(50), Order: OrderFlow, Loss: 0.05}.with(256*kbit, time.Second)
	extreme := lpwan
	extreme.Delay, extreme.Loss = milli(800), 0.15
	return append([]Profile{
		both("lpwan", "the shared uplink of a low-power gateway: 300 ± 50 ms each way, 5 % loss, 256 kbit/s", lpwan,
			"the figures of the published MQTT and AMQP comparison that scenario weak-network repeats; uniform jitter, as tc makes it, and a queue of a second are chosen. It is a gateway's uplink, not the radio of one NB-IoT device"),
		both("extreme", "as lpwan, with 800 ms each way and 15 % loss", extreme,
			"the same comparison's extreme link"),
		both("perfect", "nothing is added to what the machine takes; for comparison", Params{}, "by definition"),
	}, append(cellular(), local()...)...)
}

func cellular() []Profile {
	nbIoT := Params{Delay: milli(600), Jitter: milli(600), Distribution: Pareto, Order: OrderFlow, Loss: 0.005}.with(25*kbit, 5*time.Second)
	lteM := Params{Delay: milli(75), Jitter: milli(25), Distribution: Normal, Order: OrderFlow, Loss: 0.005}
	edge := Params{Delay: milli(420), Jitter: milli(100), Distribution: Normal, Order: OrderFlow, Loss: 0.01}
	third := Params{Delay: milli(150), Jitter: milli(50), Distribution: Normal, Order: OrderFlow, Loss: 0.005}
	fourth := Params{Delay: milli(35), Jitter: milli(5), Distribution: Normal, Order: OrderFlow, Loss: 0.002}
	fourthUp := fourth
	fourthUp.Jitter = milli(15)
	const presets = "rate and round trip: WebPageTest's connectivity presets (webpagetest, www/settings/connectivity.ini.sample), the round trip halved; "
	const loadero = "jitter and loss: wiki.loadero.com, network conditions; the queue of a second is chosen"
	return []Profile{
		both("nb-iot", "one NB-IoT device: 25 kbit/s, 0.2 to 8 s each way", nbIoT,
			"rate: a tenth of the peak of 250 kbit/s can be sustained (Anritsu, Determining Peak Data Rates for NB-IoT); delay: 100 ms to 8 s (Keysight 5992-2747EN); loss and queue are chosen: the radio repeats what is lost"),
		{
			"lte-m", "one half-duplex LTE-M device", lteM.with(375*kbit, time.Second), lteM.with(300*kbit, time.Second),
			"rate: peaks of category M1 at half duplex, 3GPP release 13; delay: 50 to 100 ms is what operators state; jitter, loss and queue are chosen",
		},
		{
			"edge-2g", "2G with EDGE", edge.with(200*kbit, time.Second), edge.with(240*kbit, time.Second),
			presets + loadero,
		},
		{
			"3g", "3G", third.with(768*kbit, time.Second), third.with(1600*kbit, time.Second),
			presets + loadero,
		},
		{
			"4g", "LTE", fourthUp.with(12*mbit, time.Second), fourth.with(12*mbit, time.Second),
			presets + loadero,
		},
	}
}

func local() []Profile {
	wifi := Params{Delay: milli(15), Jitter: milli(20), Distribution: Pareto, Order: OrderFlow, Loss: 0.02, Burst: 3}.with(5*mbit, milli(300))
	geo := Params{Delay: milli(300), Jitter: milli(10), Distribution: Normal, Order: OrderFlow, Loss: 0.001}
	leo := Params{Delay: milli(25), Jitter: milli(10), Distribution: Normal, Order: OrderFlow, Loss: 0.01, Burst: 10}
	factory := Params{Delay: milli(5), Jitter: milli(5), Distribution: Pareto, Order: OrderFlow, Loss: 0.01, Burst: 10}.with(20*mbit, milli(100))
	return []Profile{
		both("wifi-crowded", "an access point with too many stations: long tails, losses in bursts", wifi,
			"that contention makes tails rather than means: arXiv 2603.16119, hpbn.co/wifi; the figures are chosen"),
		{
			"satellite-geo", "a geostationary satellite", geo.with(10*mbit, milli(200)), geo.with(100*mbit, milli(200)),
			"round trip of 600 ms: blog.apnic.net 2022-05-02; rates: the subscription measured in blog.apnic.net 2022-11-28; jitter, loss and queue are chosen",
		},
		{
			"satellite-leo", "satellites in low orbit, with losses at handovers", leo.with(15*mbit, milli(400)), leo.with(100*mbit, milli(100)),
			"round trip of 50 ms, quartiles 40 and 60, and the downlink: blog.apnic.net 2022-11-28; uplink queue of 400 ms: github.com/danopstech/starlink issue 3; losses come with handovers: A browser-side view of Starlink connectivity, IMC 2022, their share, burst length and the uplink are chosen",
		},
		both("factory-floor", "industrial wireless: quick, with losses in bursts", factory,
			"bursts by the Gilbert model: Willig et al., Measurements of a Wireless Link in an Industrial Environment, 2002; 1 % is the upper end of what is usual for WLAN, the other figures are chosen"),
	}
}

// Find returns the built-in profile of a name.
func Find(name string) (Profile, error) {
	all := Profiles()
	i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		var names []string
		for _, p := range all {
			names = append(names, p.Name)
		}
		return Profile{}, fmt.Errorf("there is no link %q; there are %s", name, strings.Join(names, ", "))
	}
	return all[i], nil
}

// Validate reports the first value that makes no sense, with its direction.
func (p Profile) Validate() error {
	for _, way := range []Direction{Up, Down} {
		if err := p.Params(way).Validate(); err != nil {
			return fmt.Errorf("link %s: %s: %w", p.Name, way, err)
		}
	}
	return nil
}

// Params returns those of one direction.
func (p Profile) Params(way Direction) Params {
	if way == Up {
		return p.Up
	}
	return p.Down
}
