package mqtt

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// accept answers CONNECT (§3.1.4).
func (s *Server) accept(body, out []byte, ev *proto.Event) ([]byte, error) {
	if s.connected {
		return out, errors.New("mqtt: a second CONNECT")
	}
	c, err := readConnect(body)
	if err != nil {
		return out, malformed(pktConnect, err)
	}
	s.connected, s.version = true, c.Version
	if c.Version != V311 && c.Version != V5 {
		ev.Kind, ev.Err = proto.Closed, fmt.Errorf("mqtt: client wants protocol version %d", c.Version)
		return append(out, pktConnack<<4, 2, 0, 1), nil
	}
	resumed := s.kept && !c.CleanStart
	s.client = *c
	if s.cfg.Accept != nil {
		if code, text := s.cfg.Accept(&s.client); code != 0 {
			refusal := returnError(code)
			if c.Version == V5 {
				refusal = reasonError("", code, text)
			}
			refusal.What = "client refused"
			ev.Kind, ev.Err = proto.Closed, refusal
			return s.appendConnack(out, false, code, text), nil
		}
	}
	s.limit, s.maxBytes, s.maxQoS = grant(c.ReceiveMaximum), uint32(c.MaxPacketBytes), 2
	s.grant = grant(s.cfg.ReceiveMaximum)
	if s.cfg.Window > 0 {
		s.limit = min(s.limit, uint16(s.cfg.Window))
	}
	s.ready, s.kept = true, c.keepsSession()
	ev.Kind, ev.Resumed = proto.Ready, resumed
	out = s.appendConnack(out, resumed, 0, "")
	if !resumed {
		s.reset()
		s.subs = nil
	} else if s.out != nil {
		out = s.out.resume(s.version, out)
	}
	if s.cfg.KeepAlive > 0 && c.Version == V5 {
		s.client.KeepAlive = time.Duration(seconds(s.cfg.KeepAlive)) * time.Second
	}
	if s.client.ID == "" && c.Version == V5 {
		s.client.ID = s.cfg.AssignedID
	}
	return out, nil
}

// readConnect decodes CONNECT (§3.1). Of an unknown version only the version is decoded.
func readConnect(body []byte) (*Connect, error) {
	r := reader{rest: body}
	name, c := r.bytes(), &Connect{Version: r.u8()}
	switch {
	case r.short:
		return nil, errShort
	case !bytes.Equal(name, []byte("MQTT")) && !bytes.Equal(name, []byte("MQIsdp")):
		return nil, fmt.Errorf("the protocol is called %.20q", name)
	case c.Version != V311 && c.Version != V5:
		return c, nil
	case len(name) != len("MQTT"):
		return nil, fmt.Errorf("version %d of a protocol called %q", c.Version, name)
	}
	flags := r.u8()
	c.CleanStart = flags&connectClean != 0
	c.KeepAlive = time.Duration(r.u16()) * time.Second
	if c.Version == V5 {
		if err := c.readProperties(&r); err != nil {
			return nil, err
		}
	}
	id := r.bytes()
	if err := c.readWill(&r, flags); err != nil {
		return nil, err
	}
	var user []byte
	if flags&connectUser != 0 {
		user = r.bytes()
	}
	if flags&connectPassword != 0 {
		c.Password = append([]byte{}, r.bytes()...)
	}
	switch {
	case r.short:
		return nil, errShort
	case len(r.rest) > 0:
		return nil, errTrailing
	case flags&1 != 0:
		return nil, errors.New("its reserved flag is set")
	case c.Version == V311 && flags&connectPassword != 0 && flags&connectUser == 0:
		return nil, errors.New("it has a password without a user name")
	case !validText(id) || !validText(user):
		return nil, errors.New("client identifier or user name is not valid UTF-8 or holds a NUL")
	}
	c.ID, c.User = string(id), string(user)
	return c, nil
}

func (c *Connect) readProperties(r *reader) error {
	p := openProperties(r, pktConnect)
	for {
		v, ok, err := p.next()
		if err != nil || !ok {
			return err
		}
		switch v.id {
		case propSessionExpiry:
			c.SessionExpiry = time.Duration(v.number) * time.Second
		case propReceiveMaximum:
			c.ReceiveMaximum = int(v.number)
		case propMaximumPacket:
			c.MaxPacketBytes = int(v.number)
		}
	}
}

func (c *Connect) readWill(r *reader, flags byte) error {
	w := Will{QoS: flags >> 3 & 3, Retain: flags&connectRetain != 0}
	if flags&connectWill == 0 {
		if w.QoS != 0 || w.Retain {
			return errors.New("it has flags of a will but no will")
		}
		return nil
	}
	if w.QoS == 3 {
		return errors.New("its will has QoS 3")
	}
	if c.Version == V5 {
		if _, err := checkProperties(r, forWill); err != nil {
			return err
		}
	}
	topic := r.bytes()
	w.Payload = append([]byte{}, r.bytes()...)
	if r.short {
		return errShort
	}
	if err := checkTopic(topic); err != nil {
		return fmt.Errorf("will: %w", err)
	}
	w.Topic = string(topic)
	c.Will = &w
	return nil
}

// appendConnack encodes CONNACK (§3.2) with the limits of the configuration.
func (s *Server) appendConnack(out []byte, resumed bool, code byte, text string) []byte {
	var flags byte
	if resumed {
		flags = 1
	}
	if s.version != V5 {
		return append(out, pktConnack<<4, 2, flags, code)
	}
	var p []byte
	if code != 0 {
		if text != "" {
			p = appendString(append(p, propReasonString), text)
		}
	} else {
		p = s.limits()
	}
	out = appendHeader(out, pktConnack<<4, 2+varintSize(len(p))+len(p))
	out = append(out, flags, code)
	return append(appendVarint(out, len(p)), p...)
}

// limits encodes what the configuration restricts. Subscription identifiers are never offered.
func (s *Server) limits() []byte {
	p := []byte{propSubscriptionIDs, 0}
	if m := s.cfg.ReceiveMaximum; m > 0 {
		p = append(p, propReceiveMaximum, byte(m>>8), byte(m))
	}
	if s.cfg.LimitQoS {
		p = append(p, propMaximumQoS, s.cfg.MaxQoS)
	}
	if s.cfg.NoRetain {
		p = append(p, propRetainAvailable, 0)
	}
	if m := s.cfg.MaxPacketBytes; m > 0 {
		p = append(p, propMaximumPacket, byte(m>>24), byte(m>>16), byte(m>>8), byte(m))
	}
	if s.client.ID == "" && s.cfg.AssignedID != "" {
		p = appendString(append(p, propAssignedID), s.cfg.AssignedID)
	}
	if k := seconds(s.cfg.KeepAlive); k > 0 {
		p = append(p, propServerKeepAlive, byte(k>>8), byte(k))
	}
	if s.cfg.NoShared {
		p = append(p, propSharedAvailable, 0)
	}
	return p
}
