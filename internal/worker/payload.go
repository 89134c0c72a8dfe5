package worker

import (
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
	if len(content) == 0 {
		return filled(p), nil
	}
	head := make([]byte, stamp.Size)
	if p.PayloadForm == plan.PayloadJSON {
		head = make([]byte, stamp.JSONSize)
		stamp.PutJSON(head, &stamp.Stamp{})
		head = head[:stamp.JSONSize-1] // the closing brace comes last
	}
	tail, err := plan.Tail(p.PayloadForm, content)
	if err != nil {
		return nil, fmt.Errorf("load.payload: %w", err)
	}
	return append(head, tail...), nil
}

// filled returns a payload of the size asked for, filler behind its stamp.
func filled(p *plan.Params) []byte {
	b := make([]byte, p.PayloadBytes)
	if p.PayloadForm == plan.PayloadJSON {
		stamp.PutJSON(b, &stamp.Stamp{})
		stamp.FillJSON(b)
		return b
	}
	stamp.Fill(b)
	return b
}

// verifyEvery returns which fillers are compared byte for byte: every n-th.
func verifyEvery(p *plan.Params, size int) uint64 {
	if p.Verify == plan.VerifyAll || size <= verifyAllBelow {
		return 1
	}
	return verifyEach
}
