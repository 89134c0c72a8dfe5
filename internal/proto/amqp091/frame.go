package amqp091

import (
	"encoding/binary"
	"fmt"
)

// Frame types (§4.2.3) and the octet that ends every frame.
const (
	frameMethod    = 1
	frameHeader    = 2
	frameBody      = 3
	frameHeartbeat = 8
	frameEnd       = 0xCE
)

const (
	frameHead     = 7             // type, channel, size
	frameOverhead = frameHead + 1 // and the end octet
	minFrame      = 4096          // what every peer accepts (frame-min-size)
	defaultFrame  = 128 << 10     // as RabbitMQ; also what is accepted before the size is negotiated
	maxMessage    = 512 << 20     // largest body that a session assembles; RabbitMQ's own upper limit
)

// frame is one frame without its frame: the payload aliases the input.
type frame struct {
	kind    uint8
	channel uint16
	payload []byte
}

// cutFrame reads the frame at the start of in. n is the bytes it occupies; 0 without an error means that in holds no
// whole frame yet. limit is the largest frame that was negotiated.
func cutFrame(in []byte, limit uint32, f *frame) (n int, err error) {
	size, err := frameSize(in, limit)
	if size == 0 || size > len(in) {
		return 0, err
	}
	if in[size-1] != frameEnd {
		return 0, fmt.Errorf("amqp091: a frame of %d bytes does not end where it says", size)
	}
	f.kind, f.channel = in[0], binary.BigEndian.Uint16(in[1:])
	f.payload = in[frameHead : size-1 : size-1]
	return size, nil
}

// frameSize is what the frame at the start of in occupies; 0 = not known yet.
func frameSize(in []byte, limit uint32) (int, error) {
	if len(in) == 0 {
		return 0, nil
	}
	if k := in[0]; (k < frameMethod || k > frameBody) && k != frameHeartbeat {
		return 0, fmt.Errorf("amqp091: there is no frame type %d", k)
	}
	if len(in) < frameHead {
		return 0, nil
	}
	payload := binary.BigEndian.Uint32(in[3:])
	if uint64(payload)+frameOverhead > uint64(limit) {
		return 0, fmt.Errorf("amqp091: a frame of %d bytes exceeds the negotiated frame_max of %d bytes",
			uint64(payload)+frameOverhead, limit)
	}
	return int(payload) + frameOverhead, nil
}

// beginMethod appends the head of a method frame; endFrame completes it. start is where the frame begins.
func beginMethod(out []byte, channel uint16, m method) (o []byte, start int) {
	start = len(out)
	return append(out, frameMethod, byte(channel>>8), byte(channel), 0, 0, 0, 0,
		byte(m>>24), byte(m>>16), byte(m>>8), byte(m)), start
}

// endFrame fills in the size of the frame that begins at start, and appends its end.
func endFrame(out []byte, start int) []byte {
	binary.BigEndian.PutUint32(out[start+3:], uint32(len(out)-start-frameHead))
	return append(out, frameEnd)
}

// appendBare appends a method without arguments.
func appendBare(out []byte, channel uint16, m method) []byte {
	out, start := beginMethod(out, channel, m)
	return endFrame(out, start)
}

func appendHeartbeat(out []byte) []byte {
	return append(out, frameHeartbeat, 0, 0, 0, 0, 0, 0, frameEnd)
}

// errFrame tells that a frame makes no sense where it came.
func errFrame(f *frame) error {
	names := map[uint8]string{
		frameMethod: "method", frameHeader: "content header", frameBody: "content body", frameHeartbeat: "heartbeat",
	}
	return fmt.Errorf("amqp091: unexpected %s frame on channel %d", names[f.kind], f.channel)
}
