package plan_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/scenario"
)

// TestNeed: sizes counted by hand from the protocols' definitions. The first is the published comparison whose 8,200 messages a
// second need 157 times the link that they are said to have come over.
func TestNeed(t *testing.T) {
	const tls, tcpIP, topic, payload = 22, 52, 20, 512
	for _, c := range []struct {
		subject, load string
		up, down      plan.Wire
		times         float64
	}{
		{
			"mqtts://broker.example/mqtt311", "qos: 1, publishers: 500, rate: 8200/s",
			plan.Wire{Data: 3 + 2 + topic + 2 + payload + tls + tcpIP, Acks: tcpIP + 4 + tls + tcpIP},
			plan.Wire{Data: 3 + 2 + topic + 2 + payload + tls + tcpIP, Acks: 4 + tls + tcpIP + tcpIP},
			157,
		},
		{
			"mosquitto/mqtt5", "qos: 0, publishers: 500, rate: 41/s",
			plan.Wire{Data: 3 + 2 + topic + 1 + payload + tcpIP, Acks: tcpIP},
			plan.Wire{Data: 3 + 2 + topic + 1 + payload + tcpIP, Acks: tcpIP},
			0.76,
		},
		{
			"mosquitto/mqtt311", "qos: 2, pattern: fanout, publishers: 500, subscribers: 3, rate: 10/s",
			plan.Wire{Data: 3 + 2 + topic + 2 + payload + tcpIP, Acks: 4 + tcpIP + tcpIP + 3*(2*(4+tcpIP))},
			plan.Wire{Data: 3 * (3 + 2 + topic + 2 + payload + tcpIP), Acks: 2*(4+tcpIP) + 3*(4+tcpIP+tcpIP)},
			0.185,
		},
		{
			"rabbitmq/amqp091", "qos: 1, publishers: 500, rate: 10/s",
			plan.Wire{Data: 8 + 4 + 2 + 10 + 1 + topic + 1 + 22 + 8 + payload + tcpIP, Acks: tcpIP + 21 + tcpIP},
			plan.Wire{Data: 8 + 4 + 2 + 8 + 1 + 10 + 1 + topic + 22 + 8 + payload + tcpIP, Acks: 21 + tcpIP + tcpIP},
			0.2,
		},
		{
			"nats", "publishers: 500, rate: 10/s",
			plan.Wire{Data: len("PUB  512\r\n\r\n") + topic + payload + tcpIP, Acks: tcpIP},
			plan.Wire{Data: len("MSG  1 512\r\n\r\n") + topic + payload + tcpIP, Acks: tcpIP},
			0.186,
		},
	} {
		p := resolve(t, "subjects: ["+c.subject+"]\nnetwork: lpwan\nload: {payload: 512, "+c.load+"}", plan.Options{Seed: 1})
		n, ok := p.Trials[0].Need()
		if !ok || n.AtLeast || n.Up.PerMessage != c.up || n.Down.PerMessage != c.down {
			t.Errorf("%s %s: %+v up, %+v down, want %+v, %+v", c.subject, c.load, n.Up.PerMessage, n.Down.PerMessage, c.up, c.down)
		}
		if math.Abs(n.Up.Times()-c.times) > 0.01*c.times {
			t.Errorf("%s: %v times the link, want %v", c.subject, n.Up.Times(), c.times)
		}
		if again := n.Up.Total / (float64(c.up.Data+c.up.Acks) * 8 * p.Trials[0].Params.RatePerS); math.Abs(again-1/0.95) > 1e-9 {
			t.Errorf("%s: loss of 5 %% makes it %v", c.subject, again)
		}
	}
}

// TestNeedIsSaid: what cannot be is said before it is tried.
func TestNeedIsSaid(t *testing.T) {
	var out bytes.Buffer
	p := resolve(t, "subjects: ['mqtts://broker.example/mqtt311']\nnetwork: {link: lpwan}\nload: {payload: 512, qos: 1, publishers: 500, rate: 8200/s}", plan.Options{Seed: 1})
	if err := plan.Print(&out, p, 1000); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"500 devices × 8,200 msg/s × 512 B need about 157 × the link", "about 40.9 msg/s fit", "lpwan: both ways 300ms ± 50ms uniform, 5 % lost, 256 kbit/s, queue 31.3 KiB (1s); backend auto",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not said:\n%s", want, out.String())
		}
	}
	none := resolve(t, "subjects: [mochi]", plan.Options{Seed: 1})
	if _, ok := none.Trials[0].Need(); ok || none.Trials[0].Params.Link.Emulated() {
		t.Error("a host's own network has a need")
	}
}

func TestLink(t *testing.T) {
	lpwan, err := link.Find("lpwan")
	if err != nil {
		t.Fatal(err)
	}
	faster := lpwan
	faster.Name, faster.Source = "lpwan (changed)", lpwan.Source+"; changed by the scenario"
	faster.Up.Rate, faster.Up.QueueBytes, faster.Up.Loss, faster.Down.Loss = 512_000, 0, 0.1, 0.01
	for text, want := range map[string]plan.Link{
		"":                       {},
		"network: none":          {},
		"network: {link: lpwan}": {Profile: lpwan, Backend: "auto"},
		"network: lpwan":         {Profile: lpwan, Backend: "auto"},
		"network: {link: lpwan, backend: netstack, congestion_control: reno, loss: 10%, up: {rate: 512kbit/s}, down: {loss: 0.01}}": {
			Profile: faster, Backend: "netstack", CongestionControl: "reno",
		},
		"network: {delay: 10ms, up: {loss: 1%, burst: 4}}": {Backend: "auto", Profile: link.Profile{
			Name: "own", Source: "the scenario",
			Up: link.Params{Delay: 10 * time.Millisecond, Loss: 0.01, Burst: 4}, Down: link.Params{Delay: 10 * time.Millisecond},
		}},
		"network: {link: lpwan, loss: 0%}": {Backend: "auto", Profile: func() link.Profile {
			p := lpwan
			p.Up.Loss, p.Down.Loss, p.Name, p.Source = 0, 0, "lpwan (changed)", p.Source+"; changed by the scenario"
			return p
		}()},
	} {
		p := resolve(t, "subjects: [mochi]\n"+text, plan.Options{Seed: 1})
		if got := p.Trials[0].Params.Link; got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", text, got, want)
		}
	}
}

func TestLinkProblems(t *testing.T) {
	for text, want := range map[string]string{
		"network: {link: lpwam}":                                           `network.link: there is no link "lpwam"; there are lpwan,`,
		"network: {link: none, loss: 5%}":                                  "network.link: is none, though figures of a link are written",
		"network: {link: lpwan, backend: proxy}":                           "network.backend: option loss (up): backend proxy carries streams",
		"network: {delay: 5ms, down: {rate: 1Mbit/s}, backend: toxiproxy}": "network.backend: option rate (down): backend toxiproxy limits each connection",
		"network: {link: lpwan, forget: 5s}":                               "network.backend: option loss (up): backend proxy carries streams",
		"network: {backend: tun}":                                          "network.backend: there is no link to make: set network.link",
		"network: {link: lpwan, backend: wifi}":                            `network.backend: "wifi" is unknown`,
		"network: {link: lpwan, loss: 120%}":                               `network.loss: "120%" is more than all`,
		"network: {link: lpwan, loss: 5 dB}":                               `network.loss: "5 dB" is no share: write 5% or 0.05`,
		"network: {link: lpwan, up: {rate: 256kB/s}}":                      `network.up.rate: "256kB/s" is no capacity: write 256kbit/s`,
		"network: {link: lpwan, up: {rate: 1bit/s}}":                       "is out of range: 8bit/s to 1000Gbit/s",
		"network: {delay: 5ms, queue: 10KB}":                               "network: up: queue_bytes without rate_bits_per_second",
		"network: {link: lpwan, burst: 0.5}":                               `network.burst: "0.5" is no mean number of packets`,
		"network: {link: lpwan, latency: 5ms}":                             "network.latency: unknown key",
		"network: {congestion_control: reno}":                              "network.congestion_control: is that of a link's ends",
		"network: {link: lpwan, toxiproxy: 'http://localhost:8474'}":       "network.toxiproxy: is for backend toxiproxy",
		"matrix: {network.link: [lpwan, moon]}":                            `network.link: there is no link "moon"`,
	} {
		_, err := plan.Resolve(scenario.Decode("test.yaml", []byte("subjects: [mochi]\n"+text)), plan.Options{Seed: 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := plan.Resolve(scenario.Decode("test.yaml", []byte("subjects: [mochi]\nmatrix: {network.link: [none, lpwan, extreme]}")), plan.Options{Seed: 1}); err != nil {
		t.Error(err)
	}
}
