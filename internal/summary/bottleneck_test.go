package summary

import (
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/monitor"
)

// healthy is a load that came through on a host with two cores.
func healthy() pressure {
	return pressure{
		achieved: new(1.0), sent: new(1.0), generatorCPU: new(0.2), hostBusy: new(0.3), hostOthers: new(0.02),
		brokerCPU: new(0.2), brokerCores: 2, thread: new(0.19), wait: new(0.01), threadName: "broker", publishers: 10,
	}
}

func TestBottleneck(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*pressure)
		want Limiter
		text string
	}{
		{"all came through", func(*pressure) {}, LimitNone, "busiest was the generator, with 20.0 %"},
		{"quota", func(p *pressure) { p.achieved, p.throttled, p.brokerCores = new(0.4), new(0.97), 0.25 }, LimitCPU, "quota of 0.25 cores in 97.0 %"},
		{"quota, and it came through", func(p *pressure) { p.throttled, p.brokerCores = new(0.5), 0.25 }, LimitCPU, "50.0 %"},
		{"a few periods", func(p *pressure) { p.throttled = new(0.05) }, LimitNone, ""},
		{"all cores", func(p *pressure) { p.achieved, p.brokerCPU, p.thread = new(0.7), new(1.9), new(0.6) }, LimitCPU, "1.9 of 2 cores"},
		{"one thread", func(p *pressure) { p.achieved, p.brokerCPU, p.thread = new(0.7), new(1.0), new(0.97) }, LimitThread, "thread broker of the broker used 97.0 %"},
		{"one thread is enough", func(p *pressure) { p.thread = new(0.9) }, LimitThread, "90.0 %"},
		{"one thread, and the window is full", func(p *pressure) {
			p.achieved, p.thread, p.window, p.rate, p.ack, p.ackMin = new(0.7), new(0.99), 10, 1000, new(1e8), new(9e7)
		}, LimitThread, ""},
		{"killed", func(p *pressure) { p.killed = "killed for memory at 20 connections" }, LimitMemory, "at 20"},
		{"full", func(p *pressure) { p.achieved, p.memory, p.memoryLimit = new(0.5), new(0.95), 64<<20 }, LimitMemory, "95.0 % of the 64.0 MiB"},
		{"full, and it came through", func(p *pressure) { p.memory, p.memoryLimit = new(0.95), 64<<20 }, LimitNone, "fullest was the broker's memory"},
		{"generator late", func(p *pressure) { p.late = "the generator was 5.00 ms late" }, LimitGenerator, "5.00 ms late"},
		{"generator held to a quota", func(p *pressure) { p.late, p.starved, p.hostBusy = "5 ms late", new(0.9), new(1.0) }, LimitGenerator, "90.0 % of the periods; 5 ms late"},
		{"generator busy", func(p *pressure) { p.achieved, p.generatorCPU = new(0.9), new(0.95) }, LimitGenerator, "95.0 % of the cores"},
		{"generator busy with what came through", func(p *pressure) { p.generatorCPU = new(0.95) }, LimitNone, ""},
		{"generator busy, the broker busier", func(p *pressure) { p.achieved, p.generatorCPU, p.thread = new(0.9), new(0.9), new(0.99) }, LimitThread, ""},
		{"generator late beside a broker that could not do more", func(p *pressure) {
			p.late, p.hostBusy, p.achieved, p.thread = "late", new(1.0), new(0.6), new(0.95)
		}, LimitThread, "95.0 %"},
		{"generator crowded out", func(p *pressure) { p.late, p.hostBusy, p.hostOthers = "late", new(0.99), new(0.6) }, LimitHost, "60.0 % of it by others"},
		{"generator crowded out of a host that was not quite full", func(p *pressure) { p.late, p.hostBusy, p.hostOthers = "late", new(0.88), new(0.7) }, LimitHost, "70.0 % of it by others"},
		{"generator late beside others that use a little", func(p *pressure) { p.late, p.hostBusy, p.hostOthers = "late", new(0.6), new(0.3) }, LimitGenerator, "late"},
		{"generator late before a full link", func(p *pressure) {
			p.late, p.hostBusy, p.achieved, p.linkFull = "late", new(0.6), new(0.3), "the link was saturated (up)"
		}, LimitLink, "saturated (up)"},
		{"generator late with a full window", func(p *pressure) {
			p.late, p.sent, p.achieved, p.held, p.window, p.rate, p.ack, p.ackMin = "late", new(0.5), new(0.5), 0.9, 1, 490, new(2.02e7), new(2e7)
		}, LimitWindow, "at most 495/s"},
		{"generator late on the only core, which the broker has, too", func(p *pressure) {
			p.late, p.achieved, p.hostBusy, p.thread, p.wait = "late", new(0.6), new(0.5), new(0.5), new(0.49)
		}, LimitHost, "waited for a CPU for 49.0 %; late"},
		{"generator late on a host of which nothing is known", func(p *pressure) { p.late, p.hostBusy, p.hostOthers = "late", nil, nil }, LimitUnknown, "late; whether others"},
		{"host full, the broker elsewhere", func(p *pressure) {
			p.achieved, p.hostBusy, p.brokerCPU, p.thread, p.wait = new(0.8), new(0.99), nil, nil, nil
		}, LimitUnknown, "not known"},
		{"window full, the broker elsewhere", func(p *pressure) {
			p.sent, p.held, p.window, p.rate, p.ack, p.ackMin = new(0.5), 0.9, 1, 490, new(2.02e7), new(2e7)
			p.brokerCPU, p.thread, p.wait, p.connect = nil, nil, nil, new(1.9e7)
		}, LimitWindow, "at most 495/s"},
		{"window full before a broker elsewhere that is slow", func(p *pressure) {
			p.sent, p.held, p.window, p.rate, p.ack, p.ackMin = new(0.5), 0.9, 1, 490, new(2.02e7), new(2e7)
			p.brokerCPU, p.thread, p.wait, p.connect = nil, nil, nil, new(1e6)
		}, LimitUnknown, "not known"},
		{"no core for the broker", func(p *pressure) { p.achieved, p.thread, p.wait, p.hostBusy = new(0.8), new(0.6), new(0.35), new(0.9) }, LimitHost, "waited for a CPU for 35.0 %"},
		{"host full", func(p *pressure) { p.achieved, p.hostBusy, p.wait = new(0.8), new(0.99), new(0.08) }, LimitHost, "which share its cores"},
		{"host full of what gives way", func(p *pressure) { p.achieved, p.hostBusy = new(0.8), new(0.99) }, LimitUnknown, ""},
		{"host full of what came through", func(p *pressure) { p.hostBusy = new(0.99) }, LimitNone, ""},
		{"window of one over 20 ms", func(p *pressure) {
			p.sent, p.achieved, p.held, p.window, p.rate, p.ack, p.ackMin = new(0.5), new(0.5), 0.9, 1, 490, new(2.02e7), new(2e7)
		}, LimitWindow, "at most 495/s"},
		{"window full because something queues", func(p *pressure) {
			p.sent, p.held, p.window, p.rate, p.ack, p.ackMin = new(0.5), 0.9, 100, 1000, new(1e9), new(1e7)
		}, LimitUnknown, "nothing that is watched"},
		{"link", func(p *pressure) { p.achieved, p.linkFull = new(0.3), "the link was saturated (up)" }, LimitLink, "saturated (up)"},
		{"link that is only busy", func(p *pressure) { p.linkFull = "the link was saturated (up)" }, LimitNone, ""},
		{"no reason in sight", func(p *pressure) { p.achieved = new(0.5) }, LimitUnknown, "busiest was"},
		{"a broker elsewhere", func(p *pressure) { p.achieved, p.brokerCPU, p.thread = new(0.5), nil, nil }, LimitUnknown, "not known"},
		{"as fast as possible", func(p *pressure) { p.closed, p.thread = true, new(0.95) }, LimitThread, ""},
	} {
		p := healthy()
		c.edit(&p)
		if b := p.judge(); b.Kind != c.want || !strings.Contains(b.Text, c.text) || b.Text == "" {
			t.Errorf("%s: %s, want %s: %s", c.name, b.Kind, c.want, b.Text)
		}
	}
}

func TestBusiestThread(t *testing.T) {
	second := func(at int, name string, cpu, wait float64) monitor.Sample {
		return monitor.Sample{T: int64(at) * int64(time.Second), Role: monitor.Broker, Busiest: &monitor.Thread{Name: name, Seconds: 1, CPUSeconds: cpu, RunWaitSeconds: wait}}
	}
	samples := []monitor.Sample{{T: 1}, second(1, "before", 1, 0), second(2, "a", 0.5, 0.1), second(3, "b", 0.9, 0.3), second(4, "after", 1, 0)}
	w := window{int64(time.Second), 3 * int64(time.Second)}
	busy, waited, name := busiestThread(samples, w)
	if busy == nil || *busy != 0.7 || *waited != 0.2 || name != "b" {
		t.Errorf("%v %v %q", busy, waited, name)
	}
	if busy, _, _ := busiestThread(samples[:3], w); busy != nil {
		t.Errorf("half of the window tells nothing: %v", *busy)
	}
}

func TestCoresIn(t *testing.T) {
	for list, want := range map[string]int{"0-1": 2, "0": 1, "0-1,4": 3, "2-3,6-7": 4, "": 0, "x": 0, "3-1": 0, "1-": 0} {
		if got := coresIn(list); got != want {
			t.Errorf("%q: %d, want %d", list, got, want)
		}
	}
}
