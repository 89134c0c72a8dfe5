package capture

import (
	"time"

	"github.com/mqlab/mqlab/internal/diagnose"
)

// maxShown is how many connections Notes tells of.
const maxShown = 10

// Notes tell what was seen, a line each, in one of diagnose.Languages.
func (c *Capture) Notes(language string) (list []string) {
	note := func(key string, args ...any) string { return diagnose.Note(language, key, args...) }
	list = append(list, note("packets", c.Packets, c.Span().Round(time.Millisecond), len(c.Connections)))
	if c.Strange > 0 {
		list = append(list, note("strange", c.Strange))
	}
	if c.Beyond > 0 {
		list = append(list, note("beyond", c.Beyond, maxConnections))
	}
	if c.Truncated {
		list = append(list, note("cut"))
	}
	shown := 0
	for _, k := range c.Connections {
		if !k.MQTT && !k.TLS {
			continue
		}
		if shown++; shown <= maxShown {
			list = append(list, k.notes(note)...)
		}
	}
	if shown > maxShown {
		list = append(list, note("connections", shown-maxShown))
	}
	return list
}

func (k *Connection) notes(note func(key string, args ...any) string) []string {
	name := k.ClientID
	if name == "" {
		name = note("client")
	}
	head := note("connection", name, k.Client, k.Broker)
	switch {
	case k.Middle:
		head += note("middle")
	case k.RTT > 0:
		head += note("handshake", k.RTT)
	}
	if k.TLS {
		head += note("encrypted")
	}
	if k.Closed != "" {
		head += note("ended", k.Closed)
	}
	list := []string{head}
	for _, s := range []struct {
		name string
		*Side
	}{{note("client"), &k.FromClient}, {note("broker"), &k.FromBroker}} {
		if s.Segments == 0 {
			continue
		}
		list = append(list, note("side",
			s.name, s.Segments, len(s.Publishes), s.Coalesced, s.Retransmitted, s.DelayedAcks, len(s.Nagle), len(s.ZeroWindow)))
	}
	return list
}
