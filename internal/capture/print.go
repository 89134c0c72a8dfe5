package capture

import (
	"fmt"
	"time"
)

// maxShown is how many connections Notes tells of.
const maxShown = 10

// Notes tell what was seen, a line each.
func (c *Capture) Notes() (list []string) {
	list = append(list, fmt.Sprintf("%d packets in %v, %d connections", c.Packets, c.Span().Round(time.Millisecond), len(c.Connections)))
	if c.Strange > 0 {
		list = append(list, fmt.Sprintf("%d packets are not TCP, or malformed, and are left out", c.Strange))
	}
	if c.Beyond > 0 {
		list = append(list, fmt.Sprintf("%d packets belong to connections beyond the first %d, and are left out", c.Beyond, maxConnections))
	}
	if c.Truncated {
		list = append(list, "the capture is cut off; what there is was read")
	}
	shown := 0
	for _, k := range c.Connections {
		if !k.MQTT && !k.TLS {
			continue
		}
		if shown++; shown <= maxShown {
			list = append(list, k.notes()...)
		}
	}
	if shown > maxShown {
		list = append(list, fmt.Sprintf("and %d connections more", shown-maxShown))
	}
	return list
}

func (k *Connection) notes() []string {
	name := k.ClientID
	if name == "" {
		name = "client"
	}
	head := fmt.Sprintf("%s %v → %v", name, k.Client, k.Broker)
	switch {
	case k.Middle:
		head += ", seen from the middle on"
	case k.RTT > 0:
		head += fmt.Sprintf(", handshake %v", k.RTT)
	}
	if k.TLS {
		head += "; encrypted: only TCP is seen"
	}
	if k.Closed != "" {
		head += "; ended by " + k.Closed
	}
	list := []string{head}
	for _, s := range []struct {
		name string
		*Side
	}{{"client", &k.FromClient}, {"broker", &k.FromBroker}} {
		if s.Segments == 0 {
			continue
		}
		list = append(list, fmt.Sprintf("  %s: %d segments, %d messages (%d segments with several), %d sent again, %d acknowledged after 40 or 200 ms, %d held back by Nagle, %d zero windows",
			s.name, s.Segments, len(s.Publishes), s.Coalesced, s.Retransmitted, s.DelayedAcks, len(s.Nagle), len(s.ZeroWindow)))
	}
	return list
}
