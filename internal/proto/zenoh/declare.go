package zenoh

// Kinds of declarations, in the lower five bits.
const (
	declareKey          = 0x00
	undeclareKey        = 0x01
	declareSubscriber   = 0x02
	undeclareSubscriber = 0x03
	undeclareToken      = 0x07 // the last of pairs of declarations for queryables and tokens
	declareFinal        = 0x1a
)

// declaration is what a side makes known about itself. The other kinds are read and left alone.
type declaration struct {
	kind     byte
	interest uint32 // that it answers
	id       uint32 // of the key expression or subscriber
	key      []byte
	scope    uint16 // the number of a declared key expression in key; 0 = none
}

const maxID = 1<<32 - 1

// readDeclare reads a Declare and notes the peer's key expressions.
func (l *link) readDeclare(r *reader, header byte) (d declaration, err error) {
	if header&flagInterest != 0 {
		d.interest = uint32(r.number(maxID))
	}
	r.extensions(header&flagExt != 0, 1<<1|1<<2|1<<3)
	h := r.byte()
	d.kind = h & idMask
	switch {
	case d.kind == declareFinal:
		r.extensions(h&flagExt != 0, 0)
	case d.kind > undeclareToken:
		r.bad = true
	case d.kind == declareKey:
		d.id = uint32(r.number(maxScope))
		// The number in this expression can only be one of its sender's own.
		d.key, err = l.wireKey(r, h|flagSender)
		r.extensions(h&flagExt != 0, 0)
		if !r.bad && err == nil {
			l.learn(uint16(d.id), d.key)
		}
	case d.kind == undeclareKey:
		d.id = uint32(r.number(maxScope))
		r.extensions(h&flagExt != 0, 0)
		delete(l.theirs, uint16(d.id))
	case d.kind&1 == 0:
		d.id = uint32(r.number(maxID))
		ahead := *r
		d.scope = uint16(ahead.number(maxScope))
		d.key, err = l.wireKey(r, h)
		r.extensions(h&flagExt != 0, 1<<1)
	default:
		d.id = uint32(r.number(maxID))
		r.extensions(h&flagExt != 0, 1<<0x0f)
	}
	return d, err
}

// learn notes a key expression of the peer.
func (l *link) learn(id uint16, key []byte) {
	if l.theirs == nil {
		l.theirs = make(map[uint16]string)
	}
	l.theirs[id] = string(key)
}

// Options of an Interest.
const (
	interestCurrent    = 0x20 // in the first byte: what there is now
	interestModes      = 0x60
	interestTokens     = 0x08 // which a router answers at once, while subscribers must be asked for with their future
	interestRestricted = 0x10 // to a key expression
	interestNamed      = 0x20 // which has a suffix
	interestSender     = 0x40 // its number is the sender's
)

// probeKey is what no liveliness token of anybody has: a wildcard does not match an expression that begins with @.
const probeKey = "@mqlab"

// appendProbe appends the question which liveliness tokens there are of probeKey. The answer proves that all before it is done.
func appendProbe(out []byte, id uint32) []byte {
	out = append(out, idInterest|interestCurrent|flagExt)
	out = appendNumber(out, uint64(id))
	out = append(out, interestTokens|interestRestricted|interestNamed, 0)
	out = appendBytes(out, probeKey)
	return append(out, extQoS, priorityControl|dontDrop)
}

// readInterest reads an Interest and returns its number, and whether it is to be answered.
func (l *link) readInterest(r *reader, header byte) (id uint32, answer bool, err error) {
	id = uint32(r.number(maxID))
	if header&interestModes != 0 {
		options := r.byte()
		if options&interestRestricted != 0 {
			_, err = l.wireKey(r, options&(interestNamed|interestSender))
		}
	}
	r.extensions(header&flagExt != 0, 1<<1|1<<2|1<<3)
	return id, header&interestCurrent != 0, err
}

// appendDeclare appends the beginning of a Declare.
func appendDeclare(out []byte) []byte {
	return append(out, idDeclare|flagExt, extQoS, priorityControl|dontDrop)
}

// appendDeclareKey makes a key expression known by a number.
func appendDeclareKey(out []byte, id uint16, key string) []byte {
	out = append(appendDeclare(out), declareKey|flagNamed)
	out = appendNumber(out, uint64(id))
	return appendBytes(append(out, 0), key)
}

// appendDeclareSubscriber makes a subscriber known, whose key expression is the one of this number of ours and a suffix.
func appendDeclareSubscriber(out []byte, id uint32, scope uint16, suffix string) []byte {
	kind := byte(declareSubscriber | flagSender)
	if suffix != "" {
		kind |= flagNamed
	}
	out = appendNumber(append(appendDeclare(out), kind), uint64(id))
	out = appendNumber(out, uint64(scope))
	if suffix != "" {
		out = appendBytes(out, suffix)
	}
	return out
}

// appendDeclareFinal ends the answer to an Interest.
func appendDeclareFinal(out []byte, interest uint32) []byte {
	out = appendNumber(append(out, idDeclare|flagInterest|flagExt), uint64(interest))
	return append(out, extQoS, priorityControl|dontDrop, declareFinal)
}
