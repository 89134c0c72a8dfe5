package worker

import (
	"bytes"
	"fmt"
	"os"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/stamp"
)

// verifyAllBelow is the payload size up to which verifying a sample means verifying all: comparing costs less than a clock read.
const verifyAllBelow = 4 << 10

// verifyEach is which filler of a larger payload is compared when a sample is to be verified.
const verifyEach = 16

// template returns what every payload of the trial looks like, with room for the stamp at its start.
func template(p *plan.Params) ([]byte, error) {
	content := []byte(p.PayloadText)
	if p.PayloadFile != "" {
		var err error
		if content, err = os.ReadFile(p.PayloadFile); err != nil {
			return nil, fmt.Errorf("load.payload.file: %w", err)
		}
	}
	head := make([]byte, stamp.Size)
	if p.PayloadForm == plan.PayloadJSON {
		head = make([]byte, stamp.JSONSize)
		stamp.PutJSON(head, &stamp.Stamp{})
		head = head[:stamp.JSONSize-1] // the closing brace comes last
	}
	if len(content) == 0 {
		return filled(p, head), nil
	}
	tail, err := plan.Tail(p.PayloadForm, content)
	if err != nil {
		return nil, fmt.Errorf("load.payload: %w", err)
	}
	return append(head, tail...), nil
}

// filled completes head to the size asked for: with filler, in JSON form as a member of its own or, where that does not fit, as
// white space.
func filled(p *plan.Params, head []byte) []byte {
	b := make([]byte, p.PayloadBytes)
	stamp.Fill(b)
	copy(b, head)
	if p.PayloadForm != plan.PayloadJSON {
		return b
	}
	const open, end = `,"fill":"`, `"}`
	tail := b[len(head):]
	if len(tail) < len(open)+len(end) {
		return append(append(head, bytes.Repeat([]byte{' '}, len(tail)-1)...), '}')
	}
	copy(tail, open)
	copy(tail[len(tail)-len(end):], end)
	return b
}

// verifyEvery returns which fillers are compared byte for byte: every n-th.
func verifyEvery(p *plan.Params, size int) uint64 {
	if p.Verify == plan.VerifyAll || size <= verifyAllBelow {
		return 1
	}
	return verifyEach
}
