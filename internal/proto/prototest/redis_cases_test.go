package prototest

import (
	"slices"
	"testing"
)

// RunSome runs the cases of the suite that need no feature named in lacks. Run has no way to say that a protocol is
// without them, which Redis is: pub/sub has no "groups", streams have no "wildcards", and with RESP2 subscribers are
// "mute".
func RunSome(t *testing.T, p *Protocol, b *Broker, lacks ...string) {
	s := &suite{p: p, b: b}
	cases := []struct {
		name  string
		needs string
		test  func(t *testing.T)
	}{
		{"ConfirmedSubscribe", "", s.confirmedSubscribe},
		{"PayloadNotKept", "wildcards", s.payloadNotKept},
		{"Wildcards", "wildcards", s.wildcards},
		{"Group", "groups", s.group},
		{"KeepAlive", "", s.keepAlive},
		{"Credentials", "", s.credentials},
		{"MaxPacket", "mute", s.maxPacket},
	}
	for _, c := range cases {
		if slices.Contains(lacks, c.needs) || b.Guarded == "" && (c.name == "Credentials" || c.name == "MaxPacket") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t)
		})
	}
	for _, qos := range p.QoS {
		for name, test := range map[string]func(*testing.T, uint8){
			"RoundTrip": s.roundTrip, "Order": s.order, "BigPayload": s.bigPayload,
		} {
			t.Run(name+"/QoS"+string('0'+rune(qos)), func(t *testing.T) {
				t.Parallel()
				test(t, qos)
			})
		}
	}
}
