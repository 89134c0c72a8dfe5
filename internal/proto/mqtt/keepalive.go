package mqtt

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// unknownTime stands in pingSince for a PINGREQ that was sent without a clock at hand.
const unknownTime = math.MinInt64

// silence is for how many looks of Tick in a row one direction may be silent before a PINGREQ is sent.
const silence = 3

// Tick implements proto.Session: it looks a little more than four times per keep-alive whether anything was sent and heard since,
// and sends PINGREQ where one direction was silent for three looks in a row: an idle connection has one PINGREQ per keep-alive
// (§3.1.2.10), and so has one on which only QoS 0 is sent, which nobody would answer. Tick fails when the broker then says nothing
// at all for half the keep-alive. So a black hole is noticed within one and a half keep-alives, whatever is being sent.
func (c *Client) Tick(now int64, out []byte) (next int64, o []byte, err error) {
	if c.waiting {
		return now + int64(time.Second), out, nil
	}
	if c.keepAlive == 0 || !c.ready {
		return math.MaxInt64, out, nil
	}
	patience := int64(c.keepAlive) * int64(time.Second) / 2
	if c.pings > 0 && c.pingSince == unknownTime {
		c.pingSince = now
	}
	if c.pings > 0 && now-c.pingSince > patience {
		return math.MaxInt64, out, fmt.Errorf("mqtt: no answer to PINGREQ within %v", time.Duration(patience))
	}
	if now >= c.nextTick {
		if c.look() && c.pings == 0 {
			out = c.ping(out)
			c.pingSince = now
		}
		c.nextTick = now + c.lookEvery()
	}
	next = c.nextTick
	if c.pings > 0 {
		next = min(next, c.pingSince+patience+1)
	}
	return next, out, nil
}

// lookEvery is the time between two looks: four are a little shorter than the keep-alive, within which something must be sent.
func (c *Client) lookEvery() int64 { return int64(c.keepAlive) * int64(time.Second) * 6 / 25 }

// look counts for how long each direction has been silent, and tells that it is time for a PINGREQ.
func (c *Client) look() bool {
	c.mute, c.deaf = count(c.mute, c.wrote), count(c.deaf, c.heard)
	c.wrote, c.heard = false, false
	return c.mute >= silence || c.deaf >= silence
}

// count is how many looks a direction has been silent for now.
func count(looks uint8, active bool) uint8 {
	if active {
		return 0
	}
	return min(looks+1, silence)
}

// alive notes that the broker said something: it is there, and what it owes may stand behind other data.
func (c *Client) alive(now int64) {
	c.heard = true
	if c.pings > 0 {
		c.pingSince = now
	}
}

func (c *Client) ping(out []byte) []byte {
	o := c.own()
	if o.pings == 0 {
		o.pingSince = unknownTime
	}
	o.pings++
	c.wrote = true
	return append(out, pktPingreq<<4, 0)
}

func (c *Client) pingresp(now int64, body []byte, ev *proto.Event) error {
	if len(body) > 0 {
		return malformed(pktPingresp, errTrailing)
	}
	if c.pings == 0 {
		return errors.New("mqtt: a PINGRESP answers no PINGREQ")
	}
	c.pings--
	if c.pings == 0 && c.asked {
		ev.Kind, ev.Token = proto.Barrier, c.barrier
		c.asked = false
	}
	c.tidy()
	return nil
}
