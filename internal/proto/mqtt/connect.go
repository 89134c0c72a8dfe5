package mqtt

import (
	"errors"
	"fmt"

	"github.com/mqlab/mqlab/internal/proto"
)

// Flags of CONNECT (§3.1.2.3).
const (
	connectClean    = 0x02
	connectWill     = 0x04
	connectRetain   = 0x20
	connectPassword = 0x40
	connectUser     = 0x80
)

// appendConnect encodes CONNECT (§3.1).
func appendConnect(out []byte, cfg *Config, id string, clean bool) []byte {
	var flags byte
	if clean {
		flags |= connectClean
	}
	var space [16]byte
	props := connectProperties(cfg, space[:0])
	remaining := 10 + len(props) + 2 + len(id)
	if w := cfg.Will; w != nil {
		flags |= connectWill | w.QoS<<3
		if w.Retain {
			flags |= connectRetain
		}
		remaining += 2 + len(w.Topic) + 2 + len(w.Payload)
		if cfg.Version == V5 {
			remaining++
		}
	}
	if cfg.User != "" {
		flags |= connectUser
		remaining += 2 + len(cfg.User)
	}
	if cfg.Password != nil {
		flags |= connectPassword
		remaining += 2 + len(cfg.Password)
	}
	keepAlive := seconds(cfg.KeepAlive)
	out = appendHeader(out, pktConnect<<4, remaining)
	out = append(out, 0, 4, 'M', 'Q', 'T', 'T', cfg.Version, flags, byte(keepAlive>>8), byte(keepAlive))
	out = append(out, props...)
	out = appendString(out, id)
	if w := cfg.Will; w != nil {
		if cfg.Version == V5 {
			out = append(out, 0)
		}
		out = appendString(appendString(out, w.Topic), w.Payload)
	}
	if cfg.User != "" {
		out = appendString(out, cfg.User)
	}
	if cfg.Password != nil {
		out = appendString(out, cfg.Password)
	}
	return out
}

// connectProperties appends the property block of CONNECT, at most 14 bytes, to the empty p; 3.1.1 has none.
func connectProperties(cfg *Config, p []byte) []byte {
	if cfg.Version != V5 {
		return p
	}
	p = append(p, 0)
	if e := cfg.expiry(); e > 0 {
		p = append(p, propSessionExpiry, byte(e>>24), byte(e>>16), byte(e>>8), byte(e))
	}
	if m := cfg.ReceiveMaximum; m > 0 {
		p = append(p, propReceiveMaximum, byte(m>>8), byte(m))
	}
	if m := cfg.MaxPacketBytes; m > 0 {
		p = append(p, propMaximumPacket, byte(m>>24), byte(m>>16), byte(m>>8), byte(m))
	}
	p[0] = byte(len(p) - 1)
	return p
}

// appendSubscribe encodes SUBSCRIBE with one filter (§3.8).
func appendSubscribe(out []byte, cfg *Config, id uint16, filter string, s *proto.Subscription) []byte {
	remaining := 2 + 2 + len(filter) + 1
	options := s.QoS
	if cfg.Version == V5 {
		remaining++
		if cfg.NoLocal && s.Group == "" { // on a shared subscription it is a protocol error
			options |= 4
		}
		if cfg.RetainAsPublished {
			options |= 8
		}
		options |= cfg.RetainHandling << 4
	}
	out = appendHeader(out, pktSubscribe<<4|2, remaining)
	out = append(out, byte(id>>8), byte(id))
	if cfg.Version == V5 {
		out = append(out, 0)
	}
	return append(appendString(out, filter), options)
}

// connack acts on the broker's answer to CONNECT.
func (c *Client) connack(now int64, body, out []byte, ev *proto.Event) ([]byte, error) {
	if !c.waiting {
		return out, errors.New("mqtt: a second CONNACK")
	}
	r := reader{rest: body}
	flags, code := r.u8(), r.u8()
	if r.short {
		return out, malformed(pktConnack, errShort)
	}
	if c.version == V311 || len(r.rest) == 0 {
		// A broker that does not speak MQTT 5 refuses in the older form.
		if code != 0 {
			return out, returnError(code)
		}
		if c.version == V5 {
			return out, errors.New("mqtt: the broker answered MQTT 5 with the CONNACK of 3.1.1")
		}
	}
	if flags > 1 || (flags == 1 && code != 0) {
		return out, malformed(pktConnack, fmt.Errorf("its flags are 0x%02x", flags))
	}
	agreed := *c.cfg.initial()
	if c.version == V5 {
		text, err := c.connackProperties(&r, &agreed)
		if err != nil {
			return out, malformed(pktConnack, err)
		}
		if code != 0 {
			return out, reasonError(refusedConnection, code, text)
		}
	}
	if len(r.rest) > 0 {
		return out, malformed(pktConnack, errTrailing)
	}
	if flags == 1 && c.clean {
		return out, errors.New("mqtt: the broker resumed a session although a clean start was asked for")
	}
	if c.cfg.Window > 0 {
		agreed.limit = min(agreed.limit, uint16(c.cfg.Window))
	}
	c.terms = c.cfg.alike(agreed)
	c.waiting, c.ready = false, true
	c.nextTick = now + c.lookEvery()
	ev.Kind, ev.Resumed = proto.Ready, flags == 1
	if !ev.Resumed {
		c.reset()
	} else if c.out != nil {
		out = c.out.resume(c.version, out)
	}
	return out, nil
}

// connackProperties takes the broker's limits and returns its words, if any.
func (c *Client) connackProperties(r *reader, agreed *terms) (text string, err error) {
	p := openProperties(r, pktConnack)
	for {
		v, ok, err := p.next()
		if err != nil || !ok {
			return text, err
		}
		switch v.id {
		case propReceiveMaximum:
			agreed.limit = uint16(v.number)
		case propMaximumQoS:
			agreed.maxQoS = byte(v.number)
		case propRetainAvailable:
			agreed.noRetain = v.number == 0
		case propMaximumPacket:
			agreed.maxBytes = v.number
		case propAssignedID:
			c.own().id = string(v.text)
		case propServerKeepAlive:
			agreed.keepAlive = uint16(v.number)
		case propSharedAvailable:
			agreed.noShared = v.number == 0
		case propReasonString, propServerReference:
			text = string(v.text)
		}
	}
}

// readDisconnect reports the peer's goodbye (§3.14). A 3.1.1 broker has none.
func readDisconnect(x *exchange, body []byte, ev *proto.Event) error {
	if x.version == V311 && !x.server {
		return errors.New("mqtt: a DISCONNECT from a 3.1.1 broker")
	}
	r := reader{rest: body}
	var code byte
	var text string
	if x.version == V5 && len(r.rest) > 0 {
		code = r.u8()
		if len(r.rest) > 0 {
			var err error
			if text, err = disconnectProperties(&r); err != nil {
				return malformed(pktDisconnect, err)
			}
		}
	}
	if len(r.rest) > 0 {
		return malformed(pktDisconnect, errTrailing)
	}
	ev.Kind = proto.Closed
	if code >= 0x80 || (code == 0 && !x.server) {
		e := reasonError(x.peer()+" closed the connection", code, text)
		if code == 0 {
			e.Words = "normal disconnection"
		}
		ev.Err = e
	}
	return nil
}

func disconnectProperties(r *reader) (text string, err error) {
	p := openProperties(r, pktDisconnect)
	for {
		v, ok, err := p.next()
		if err != nil || !ok {
			return text, err
		}
		if v.id == propReasonString || v.id == propServerReference {
			text = string(v.text)
		}
	}
}
