package stamp

import (
	"math/rand/v2"
	"sync"
)

// fillPeriod is the length after which the filler repeats: a prime, so that a shift by a block of any usual size shows,
// and longer than the window of the common compressors.
const fillPeriod = 65521

var fillTemplate = sync.OnceValue(newFillTemplate)

// newFillTemplate draws characters that may stand in a JSON string as they are.
func newFillTemplate() []byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	rng := rand.New(rand.NewPCG(magic0, magic1))
	b := make([]byte, fillPeriod)
	for i := range b {
		b[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return b
}

// Fill overwrites b with filler. Byte i depends on i only, and is a letter, a digit, '-' or '_'.
func Fill(b []byte) { fillFrom(b, 0) }

// fillFrom overwrites b[from:] with the filler that belongs there.
func fillFrom(b []byte, from int) {
	template := fillTemplate()
	for at := from; at < len(b); {
		at += copy(b[at:], template[at%fillPeriod:])
	}
}

const (
	fillMember    = `,"fill":"`
	fillMemberEnd = `"}`
)

// FillJSON completes a JSON payload: it overwrites b behind the stamp of PutJSON with a member of filler, or with spaces
// where there is no room for one, and the closing brace. It needs len(b) >= JSONSize.
func FillJSON(b []byte) {
	at := JSONSize - 1
	end := len(b) - len(fillMemberEnd)
	if end < at+len(fillMember) {
		for ; at < len(b)-1; at++ {
			b[at] = ' '
		}
		b[at] = '}'
		return
	}
	at += copy(b[at:], fillMember)
	fillFrom(b[:end], at)
	copy(b[end:], fillMemberEnd)
}
