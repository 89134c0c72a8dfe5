package mqtt

import "errors"

// Property identifiers (§2.2.2.2) that the sessions read or write.
const (
	propSessionExpiry   = 0x11
	propAssignedID      = 0x12
	propServerKeepAlive = 0x13
	propServerReference = 0x1C
	propReasonString    = 0x1F
	propReceiveMaximum  = 0x21
	propTopicAlias      = 0x23
	propMaximumQoS      = 0x24
	propRetainAvailable = 0x25
	propUser            = 0x26
	propMaximumPacket   = 0x27
	propSubscriptionID  = 0x0B
	propSubscriptionIDs = 0x29
	propSharedAvailable = 0x2A
)

// forWill is the bit of the will properties inside CONNECT in the masks of propSpecs; type 0 is no packet.
const forWill = 0

// Forms of a property's value.
const (
	formNone = iota
	formByte
	formU16
	formU32
	formVarint
	formText
	formBinary
	formPair
)

type propSpec struct {
	form    uint8
	packets uint16 // where it may stand, one bit per packet type
}

var propSpecs = [0x2B]propSpec{
	0x01:                {formByte, 1<<pktPublish | 1<<forWill},   // payload format indicator
	0x02:                {formU32, 1<<pktPublish | 1<<forWill},    // message expiry interval
	0x03:                {formText, 1<<pktPublish | 1<<forWill},   // content type
	0x08:                {formText, 1<<pktPublish | 1<<forWill},   // response topic
	0x09:                {formBinary, 1<<pktPublish | 1<<forWill}, // correlation data
	propSubscriptionID:  {formVarint, 1<<pktPublish | 1<<pktSubscribe},
	propSessionExpiry:   {formU32, 1<<pktConnect | 1<<pktConnack | 1<<pktDisconnect},
	propAssignedID:      {formText, 1 << pktConnack},
	propServerKeepAlive: {formU16, 1 << pktConnack},
	0x15:                {formText, 1<<pktConnect | 1<<pktConnack | 1<<pktAuth},   // authentication method
	0x16:                {formBinary, 1<<pktConnect | 1<<pktConnack | 1<<pktAuth}, // authentication data
	0x17:                {formByte, 1 << pktConnect},                              // request problem information
	0x18:                {formU32, 1 << forWill},                                  // will delay interval
	0x19:                {formByte, 1 << pktConnect},                              // request response information
	0x1A:                {formText, 1 << pktConnack},                              // response information
	propServerReference: {formText, 1<<pktConnack | 1<<pktDisconnect},
	propReasonString: {formText, 1<<pktConnack | 1<<pktPuback | 1<<pktPubrec | 1<<pktPubrel | 1<<pktPubcomp |
		1<<pktSuback | 1<<pktUnsuback | 1<<pktDisconnect | 1<<pktAuth},
	propReceiveMaximum:  {formU16, 1<<pktConnect | 1<<pktConnack},
	0x22:                {formU16, 1<<pktConnect | 1<<pktConnack}, // topic alias maximum
	propTopicAlias:      {formU16, 1 << pktPublish},
	propMaximumQoS:      {formByte, 1 << pktConnack},
	propRetainAvailable: {formByte, 1 << pktConnack},
	propUser:            {formPair, 0xFFFF},
	propMaximumPacket:   {formU32, 1<<pktConnect | 1<<pktConnack},
	0x28:                {formByte, 1 << pktConnack}, // wildcard subscription available
	propSubscriptionIDs: {formByte, 1 << pktConnack},
	propSharedAvailable: {formByte, 1 << pktConnack},
}

var (
	errPropUnknown = errors.New("a property is unknown")
	errPropPlace   = errors.New("a property does not belong into this packet")
	errPropTwice   = errors.New("a property is given twice")
	errPropText    = errors.New("a property is not valid UTF-8 or holds a NUL")
	errPropFlag    = errors.New("a property that is a switch is neither 0 nor 1")
	errPropZero    = errors.New("a property that must not be zero is zero")
)

// property is one decoded property; number or text is set as its form wants.
type property struct {
	id     uint32
	number uint32
	text   []byte
}

// properties walks a property block of one packet.
type properties struct {
	r    reader
	kind byte
	seen uint64
}

// openProperties reads the length of the property block at the front of r and moves r behind the block.
func openProperties(r *reader, kind byte) properties {
	block := r.take(int(r.varint()))
	return properties{r: reader{rest: block, short: r.short}, kind: kind}
}

// next decodes one property; ok is false at the end of the block.
func (p *properties) next() (v property, ok bool, err error) {
	if p.r.short {
		return v, false, errShort
	}
	if len(p.r.rest) == 0 {
		return v, false, nil
	}
	v.id = p.r.varint()
	if v.id >= uint32(len(propSpecs)) || propSpecs[v.id].form == formNone {
		return v, false, errPropUnknown
	}
	spec := propSpecs[v.id]
	if spec.packets&(1<<p.kind) == 0 {
		return v, false, errPropPlace
	}
	repeatable := v.id == propUser || (v.id == propSubscriptionID && p.kind == pktPublish)
	if p.seen&(1<<v.id) != 0 && !repeatable {
		return v, false, errPropTwice
	}
	p.seen |= 1 << v.id
	return v, true, p.value(&v, spec.form)
}

// value decodes the value of v.
func (p *properties) value(v *property, form uint8) error {
	switch form {
	case formByte:
		v.number = uint32(p.r.u8())
		if v.number > 1 {
			return errPropFlag
		}
	case formU16:
		v.number = uint32(p.r.u16())
	case formU32:
		v.number = p.r.u32()
	case formVarint:
		v.number = p.r.varint()
	case formText, formBinary:
		v.text = p.r.bytes()
	case formPair:
		if key := p.r.bytes(); !validText(key) {
			return errPropText
		}
		v.text = p.r.bytes()
	}
	if p.r.short {
		return errShort
	}
	if (form == formText || form == formPair) && !validText(v.text) {
		return errPropText
	}
	return v.checkZero()
}

// checkZero refuses a zero where the standard makes it a protocol error.
func (v *property) checkZero() error {
	switch v.id {
	case propReceiveMaximum, propMaximumPacket, propSubscriptionID, propTopicAlias:
		if v.number == 0 {
			return errPropZero
		}
	}
	return nil
}

// checkProperties walks a block of which only the reason string is wanted.
func checkProperties(r *reader, kind byte) (reason string, err error) {
	p := openProperties(r, kind)
	for {
		v, ok, err := p.next()
		if err != nil || !ok {
			return reason, err
		}
		if v.id == propReasonString {
			reason = string(v.text)
		}
	}
}
