package crew

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// A frame is what a process of the generator says at one time: its kind, the length of its body (4 bytes, little-endian) and
// the body.
type frame struct {
	kind byte
	body []byte
}

// The kinds of frames. All but samples are JSON.
const (
	frameAnswer   = 'a' // answer
	frameWindow   = 'w' // window
	frameEvent    = 'e' // engine.Event
	frameProgress = 'p' // engine.Progress, when it is asked whether all is delivered
	frameSamples  = 's' // of one thread, see appendSample
)

const (
	frameHead = 5
	// maxBody bounds a frame: a result holds an account of each stream of each subscriber.
	maxBody = 1 << 30
)

func writeFrame(w io.Writer, f frame) error {
	if len(f.body) > maxBody {
		return fmt.Errorf("a frame of %d bytes is too large", len(f.body))
	}
	head := append(make([]byte, 0, frameHead), f.kind)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(f.body)))
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err := w.Write(f.body)
	return err
}

// readFrame returns io.EOF between two frames, io.ErrUnexpectedEOF within one.
func readFrame(r *bufio.Reader) (frame, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > maxBody {
		return frame{}, fmt.Errorf("a frame of %d bytes is too large", n)
	}
	// The length is not believed before the bytes are there.
	body, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && len(body) < int(n) {
		err = io.ErrUnexpectedEOF
	}
	return frame{head[0], body}, err
}
