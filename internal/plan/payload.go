package plan

import (
	"bytes"
	"errors"

	"github.com/mqlab/mqlab/internal/scenario"
	"github.com/mqlab/mqlab/internal/stamp"
)

// Tail returns what follows the stamp of a payload that is a file or a text. In binary form it is the content itself,
// from byte stamp.Size on. In JSON form content must be an object; its members follow the stamp's, from byte
// stamp.JSONSize-1 on.
func Tail(form string, content []byte) ([]byte, error) {
	if form != PayloadJSON {
		return content, nil
	}
	if !scenario.IsObject(content) {
		return nil, errors.New("is no JSON object: {…}")
	}
	members := bytes.TrimSpace(content)[1:]
	if string(bytes.TrimSpace(members)) == "}" {
		return []byte("}"), nil
	}
	return append([]byte(","), members...), nil
}

// tailOffset is where a Tail starts in a payload.
func tailOffset(form string) int {
	if form == PayloadJSON {
		return stamp.JSONSize - 1
	}
	return stamp.Size
}
