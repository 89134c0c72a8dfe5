package zenoh

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha3"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"math"
	"time"
)

// Roles in the second field of Init.
const (
	roleRouter = 0
	roleClient = 2
)

// resolution32 stands for sequence numbers and request numbers of 32 bits, which is Zenoh's default.
const resolution32 = 2<<2 | 2

// snMask is for sequence numbers of a resolution: they are as long as 1, 2 or 4 groups of seven bits.
func snMask(resolution byte) uint32 {
	switch resolution & 3 {
	case 0:
		return 1<<7 - 1
	case 1:
		return 1<<14 - 1
	}
	return 1<<28 - 1
}

const (
	minBatch = 256 // which a peer must accept
	patch    = 1   // Fragments have markers

	extAuth  = 0x03
	extPatch = 0x07
	// authPassword is the extension within extAuth for a user and password.
	authPassword = 0x02
)

// identity is how a node is known. It must differ from that of any other node.
type identity [16]byte

// identify makes the identity of a client's n-th connection: one that the router still takes for alive must not be in the way.
func identify(name string, n uint32) identity {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", name, n))
	return identity(sum[:16])
}

// firstNumber is a sequence number to begin with. Zenoh's nodes begin anywhere.
func (i *identity) firstNumber(mask uint32) uint32 { return binary.LittleEndian.Uint32(i[:]) & mask }

// initSizes are the parameters of Init that both sides agree on.
type initSizes struct {
	resolution byte
	batch      uint16
}

// handshake is what both answers and questions of a handshake carry.
type handshake struct {
	sizes  initSizes
	cookie []byte
	patch  uint64
	auth   []byte // extensions about authentication
	lease  time.Duration
	first  uint32 // sequence number
}

// readInit reads an Init behind its first byte.
func readInit(r *reader, header byte) (h handshake, err error) {
	if v := r.byte(); v != version && !r.bad {
		return h, fmt.Errorf("zenoh: the peer speaks version %d of the protocol instead of %d", v, version)
	}
	r.take(uint64(r.byte()>>4) + 1)
	h.sizes = initSizes{resolution32, maxBatch}
	if header&flagSizes != 0 {
		h.sizes.resolution = r.byte()
		if b := r.take(2); !r.bad {
			h.sizes.batch = binary.LittleEndian.Uint16(b)
		}
	}
	if header&flagAck != 0 {
		h.cookie = r.bytes()
	}
	h.readExtensions(r, header)
	if !r.bad && h.sizes.batch < minBatch {
		return h, fmt.Errorf("zenoh: the peer accepts only batches of %d bytes; at least %d are needed", h.sizes.batch, minBatch)
	}
	return h, nil
}

func (h *handshake) readExtensions(r *reader, header byte) {
	for more := header&flagExt != 0; more && !r.bad; {
		e := r.extension(0)
		more = e.more
		switch e.id {
		case extAuth:
			h.auth = e.body
		case extPatch:
			h.patch = e.value
		}
	}
}

// readOpen reads an Open behind its first byte.
func readOpen(r *reader, header byte) (h handshake) {
	lease := r.number(math.MaxInt64)
	unit := time.Millisecond
	if header&flagSeconds != 0 {
		unit = time.Second
	}
	if lease > uint64(math.MaxInt64/unit) {
		lease = uint64(math.MaxInt64 / unit)
	}
	h.lease = time.Duration(lease) * unit
	h.first = uint32(r.number(math.MaxUint32))
	if header&flagAck == 0 {
		h.cookie = r.bytes()
	}
	h.readExtensions(r, header)
	return h
}

// appendInit appends an Init in a batch of its own.
func appendInit(out []byte, kind, role byte, id identity, h *handshake) []byte {
	start := len(out)
	kind |= idInit | flagExt
	if h.sizes != (initSizes{resolution32, maxBatch}) {
		kind |= flagSizes
	}
	out = append(begin(out), kind, version, byte(len(id)-1)<<4|role)
	out = append(out, id[:]...)
	if kind&flagSizes != 0 {
		out = binary.LittleEndian.AppendUint16(append(out, h.sizes.resolution), h.sizes.batch)
	}
	if kind&flagAck != 0 {
		out = appendBytes(out, h.cookie)
	}
	if h.auth != nil {
		out = appendBytes(append(out, extAuth|extBytes|flagExt), h.auth)
	}
	out = append(out, extPatch|extNumber)
	return end(appendNumber(out, h.patch), start)
}

// appendOpen appends an Open in a batch of its own.
func appendOpen(out []byte, kind byte, h *handshake) []byte {
	start := len(out)
	if kind |= idOpen; h.auth != nil {
		kind |= flagExt
	}
	out = append(begin(out), kind)
	out = appendNumber(out, uint64(h.lease.Milliseconds()))
	out = appendNumber(out, uint64(h.first))
	if kind&flagAck == 0 {
		out = appendBytes(out, h.cookie)
	}
	if h.auth != nil {
		out = appendBytes(append(out, extAuth|extBytes), h.auth)
	}
	return end(out, start)
}

// agree takes what both sides have in common from the other's Init.
func (l *link) agree(h *handshake) {
	l.batch = min(l.batch, h.sizes.batch)
	l.mask = min(l.mask, snMask(h.sizes.resolution))
	l.markers = h.patch >= patch
}

// begins sets the first sequence numbers of what we send.
func (l *link) begins(first uint32) { l.reliable, l.bestEffort = first, first }

// Authentication by user and password: the client asks for it, the router answers with a challenge, and the client sends the
// user and what it made of challenge and password (the extension usrpwd of Zenoh's transports).

// authAsk is the client's question.
var authAsk = []byte{authPassword}

// errNoChallenge is about a router that does not ask for a password.
var errNoChallenge = errors.New("zenoh: the router asks for no password, but one is configured")

// challenge reads the router's answer.
func challenge(auth []byte) (nonce uint64, ok bool) {
	r := reader{in: auth}
	for more := len(auth) > 0; more; {
		e := r.extension(0)
		if more = e.more; e.id == authPassword && !r.bad {
			nonce, ok = e.value, true
		}
	}
	return nonce, ok
}

// appendChallenge is the router's answer.
func appendChallenge(out []byte, nonce uint64) []byte {
	return appendNumber(append(out, authPassword|extNumber), nonce)
}

// response is what only one who knows the password can make of a challenge.
func response(nonce uint64, password string) []byte {
	sign := hmac.New(func() hash.Hash { return sha3.New256() }, binary.LittleEndian.AppendUint64(nil, nonce))
	sign.Write([]byte(password))
	return sign.Sum(nil)
}

// appendResponse is the client's proof.
func appendResponse(out []byte, user string, proof []byte) []byte {
	body := appendBytes(appendBytes(nil, user), proof)
	return appendBytes(append(out, authPassword|extBytes), body)
}

// readResponse reads the client's proof.
func readResponse(auth []byte) (user string, proof []byte) {
	r := reader{in: auth}
	e := r.extension(0)
	if e.id != authPassword || r.bad {
		return "", nil
	}
	body := reader{in: e.body}
	name, proof := body.bytes(), body.bytes()
	if body.bad {
		return "", nil
	}
	return string(name), proof
}
