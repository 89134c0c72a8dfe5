package tun

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/link"
)

// The lab and its carrier talk in frames: a kind, a length of four bytes, and so many bytes.
const (
	requestFrame  = 'q' // JSON of a request, to the carrier
	answerFrame   = 'a' // JSON of an answer, back
	sightingFrame = 's' // sightings, back; those of before a request come before its answer
)

// longestFrame bounds what is believed of a length: sightings of seconds in which the lab could not take them.
const longestFrame = 256 << 20

// request asks the carrier for something; it says back what came of it.
type request struct {
	Change   *link.Profile           `json:"change,omitempty"`
	Down     map[link.Direction]bool `json:"down,omitempty"`
	Schedule *[]link.Outage          `json:"schedule,omitempty"`
	Observe  *bool                   `json:"observe,omitempty"`
}

// answer is what the carrier says.
type answer struct {
	Error     string        `json:"error,omitempty"`
	Scheduler string        `json:"scheduler,omitempty"` // the class of its threads
	Why       string        `json:"why,omitempty"`       // it is not what it could be
	Up        link.Counters `json:"up"`
	Down      link.Counters `json:"down"`
	Late      *hist.Hist    `json:"late,omitempty"`
}

// task is what a carrier is started with.
type task struct {
	Up, Down link.Params
	Seed     uint64
}

func writeFrame(w io.Writer, kind byte, body []byte) error {
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)))
	_, err := w.Write(append(head, body...))
	return err
}

func writeJSON(w io.Writer, kind byte, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeFrame(w, kind, body)
}

// readFrame returns io.EOF where the other side has ended between frames.
func readFrame(r io.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > longestFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes", n)
	}
	body = make([]byte, n)
	_, err = io.ReadFull(r, body)
	return head[0], body, err
}

// headBytes is how much of a packet an observer sees: the headers of IPv4 and TCP.
const headBytes = 80

// sightingHead is direction, verdict, size of the packet, its time, and how many bytes of it follow.
const sightingHead = 1 + 1 + 2 + 8 + 1

// appendSighting adds what an observer is told.
func appendSighting(b []byte, way link.Direction, at int64, packet []byte, v link.Verdict) []byte {
	head := packet[:min(len(packet), headBytes)]
	b = append(b, byte(way), byte(v))
	b = binary.BigEndian.AppendUint16(b, uint16(len(packet)))
	b = binary.BigEndian.AppendUint64(b, uint64(at))
	b = append(b, byte(len(head)))
	return append(b, head...)
}

var errSighting = errors.New("a sighting is cut off")

// tell reads sightings and tells an observer of each.
func tell(b []byte, o link.Observer) error {
	for len(b) > 0 {
		if len(b) < sightingHead || len(b) < sightingHead+int(b[12]) {
			return errSighting
		}
		head := b[sightingHead : sightingHead+int(b[12])]
		o(link.Direction(b[0]), int64(binary.BigEndian.Uint64(b[4:])), int(binary.BigEndian.Uint16(b[2:])), head, link.Verdict(b[1]))
		b = b[sightingHead+int(b[12]):]
	}
	return nil
}
