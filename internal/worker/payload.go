package worker

import (
	"bytes"
	"encoding/json"
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
	if p.PayloadForm == plan.PayloadJSON {
		return jsonTemplate(content, p.PayloadBytes)
	}
	if len(content) > 0 {
		return append(make([]byte, stamp.Size), content...), nil
	}
	b := make([]byte, p.PayloadBytes)
	stamp.Fill(b)
	return b, nil
}

// jsonTemplate puts the stamp's member in front of the members of content, or of a filler member.
func jsonTemplate(content []byte, size int) ([]byte, error) {
	b := make([]byte, stamp.JSONSize, max(size, stamp.JSONSize))
	stamp.PutJSON(b, &stamp.Stamp{})
	open := len(b) - 1 // everything but the closing brace
	if content = bytes.TrimSpace(content); len(content) > 0 {
		if !json.Valid(content) || content[0] != '{' {
			return nil, fmt.Errorf("payload: is no JSON object")
		}
		rest := bytes.TrimSpace(content[1:])
		b = b[:open]
		if rest[0] != '}' {
			b = append(b, ',')
		}
		return append(b, rest...), nil
	}
	const frame = `,"fill":""`
	extra := size - len(b)
	if extra < len(frame) {
		b = append(b[:open], bytes.Repeat([]byte{' '}, max(extra, 0))...)
		return append(b, '}'), nil
	}
	fill := make([]byte, size)
	stamp.Fill(fill)
	b = append(b[:open], frame[:len(frame)-1]...)
	b = append(b, fill[:extra-len(frame)]...)
	return append(b, `"}`...), nil
}

// verifyEvery returns which fillers are compared byte for byte: every n-th.
func verifyEvery(p *plan.Params, size int) uint64 {
	if p.Verify == plan.VerifyAll || size <= verifyAllBelow {
		return 1
	}
	return verifyEach
}
