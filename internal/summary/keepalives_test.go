package summary_test

import (
	"math"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

// TestKeepAlives: exchanges, their bytes and the count from the protocol, of packets that were seen on a link.
func TestKeepAlives(t *testing.T) {
	seen := func(payload int, sent, acks, carried uint64) *run.LinkTCP {
		return &run.LinkTCP{Small: []run.LinkSmall{
			{Payload: 5, Small: link.Small{Sent: 99, Bytes: 9999}},
			{Payload: payload, Small: link.Small{Sent: sent, Bytes: sent * uint64(52+payload), Acks: acks, AckBytes: acks * 52, Carried: carried}},
		}}
	}
	for _, c := range []struct {
		name, protocol string
		tls            *run.TLS
		up, down       *run.LinkTCP
		exchanges      uint64
		bytes, counted float64
		due            float64 // 0 = not known
	}{
		{"MQTT", plan.MQTT5, nil, seen(2, 10, 0, 10), seen(2, 10, 10, 0), 10, 160, 160, 62.5},
		{"MQTT with headers that are longer than counted", plan.MQTT311, nil, &run.LinkTCP{Small: []run.LinkSmall{{Payload: 2, Small: link.Small{Sent: 10, Bytes: 660, Carried: 10}}}}, seen(2, 10, 10, 0), 10, 172, 160, 62.5},
		{"MQTT, TLS 1.2, a question acknowledged by itself", plan.MQTT311, &run.TLS{Version: "TLS 1.2", Cipher: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}, seen(31, 10, 1, 9), seen(31, 10, 10, 0), 10, 223.2, 223.2, 62.5},
		{"AMQP, TLS 1.3, half of them crossing", plan.AMQP091, &run.TLS{Version: "TLS 1.3", Cipher: "TLS_AES_128_GCM_SHA256"}, seen(30, 10, 5, 5), seen(30, 10, 5, 5), 20, 108, 108, 240},
		{"AMQP 1.0", plan.AMQP10, nil, seen(8, 4, 4, 0), seen(8, 2, 2, 0), 6, 112, 112, 0},
	} {
		got := over(t, func(l *run.Link) {
			l.Up.TCP, l.Down.TCP = c.up, c.down
		}, func(rec *run.TrialRecord) {
			rec.Trial.Subject.Protocol, rec.Client.TLS = c.protocol, c.tls
			rec.Trial.Params.Connect.KeepAlive, rec.Trial.Params.Publishers, rec.Trial.Params.Subscribers = 10*time.Second, 5, 5
			rec.Checks.Measured = int64(time.Minute)
		})
		k := got.Energy.KeepAlives
		if k == nil || k.Exchanges != c.exchanges || math.Abs(k.Bytes-c.bytes) > 1e-6 || math.Abs(k.Protocol-c.counted) > 1e-6 || math.Abs(k.Difference-(c.bytes/c.counted-1)) > 1e-6 {
			t.Errorf("%s: %+v", c.name, k)
			continue
		}
		if (k.Due == nil) != (c.due == 0) || k.Due != nil && math.Abs(*k.Due-c.due) > 1e-6 {
			t.Errorf("%s: due %v, want %v", c.name, k.Due, c.due)
		}
	}
	if got := over(t, nil); got.Energy != nil && got.Energy.KeepAlives != nil {
		t.Errorf("of packets that were not seen: %+v", got.Energy.KeepAlives)
	}
}
