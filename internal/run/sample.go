package run

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// SampleKind says what a Sample records.
type SampleKind uint8

// What happened to the message of a Sample.
const (
	SampleSent     SampleKind = iota + 1 // left the pacer; Received is 0
	SampleAcked                          // the broker took responsibility at Received
	SampleReceived                       // a subscriber received it, first time or again
	SampleCorrupt                        // received damaged; fields are what could be read
	SampleForeign                        // received, but of another run or of a stream not subscribed to
)

// String returns the lower-case name of the kind.
func (k SampleKind) String() string {
	names := [...]string{SampleSent: "sent", SampleAcked: "acked", SampleReceived: "received", SampleCorrupt: "corrupt", SampleForeign: "foreign"}
	if int(k) < len(names) && names[k] != "" {
		return names[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Sample is one message at one moment of its life. Times are CLOCK_MONOTONIC nanoseconds; 0 means unknown.
type Sample struct {
	Kind     SampleKind
	Stream   uint32
	Sub      uint32 // subscriber, for received, corrupt and foreign
	Seq      uint64 // below 2^56
	Due      int64
	Sent     int64
	Received int64 // by the application, or the time of the acknowledgement
	Kernel   int64 // received by the kernel
}

// SampleSize is the length in bytes of an encoded Sample.
//
// The record is little-endian: stream u32, subscriber u32, sequence u56, kind u8, due i64, sent i64, received i64,
// kernel i64. A sequence of 56 bits lasts 228 years at ten million messages per second.
const SampleSize = 48

// sampleHeader begins samples.bin: one line of exactly SampleSize bytes, so that record n starts at (n+1) × SampleSize.
const sampleHeader = "mqlab-samples version=1 record=48 byte-order=le\n"

const maxSampleSeq = 1<<56 - 1

var (
	errNoSamples  = errors.New("not a samples file of version 1")
	errSampleSize = errors.New("sample record is too short")
	errSampleKind = errors.New("sample record has an unknown kind")
)

// Append appends the encoded sample to b. It allocates only to grow b.
func (s *Sample) Append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, s.Stream)
	b = le.AppendUint32(b, s.Sub)
	b = le.AppendUint64(b, s.Seq&maxSampleSeq|uint64(s.Kind)<<56)
	b = le.AppendUint64(b, uint64(s.Due))
	b = le.AppendUint64(b, uint64(s.Sent))
	b = le.AppendUint64(b, uint64(s.Received))
	return le.AppendUint64(b, uint64(s.Kernel))
}

// Decode reads one record from the start of b, without allocation.
func (s *Sample) Decode(b []byte) error {
	if len(b) < SampleSize {
		return errSampleSize
	}
	le := binary.LittleEndian
	seq := le.Uint64(b[8:])
	kind := SampleKind(seq >> 56)
	if kind < SampleSent || kind > SampleForeign {
		return errSampleKind
	}
	*s = Sample{
		Kind:     kind,
		Stream:   le.Uint32(b),
		Sub:      le.Uint32(b[4:]),
		Seq:      seq & maxSampleSeq,
		Due:      int64(le.Uint64(b[16:])),
		Sent:     int64(le.Uint64(b[24:])),
		Received: int64(le.Uint64(b[32:])),
		Kernel:   int64(le.Uint64(b[40:])),
	}
	return nil
}

// SampleReader reads samples.bin.
type SampleReader struct {
	r   io.Reader
	buf [SampleSize]byte
}

// NewSampleReader checks the header of r. Give it a buffered reader.
func NewSampleReader(r io.Reader) (*SampleReader, error) {
	sr := &SampleReader{r: r}
	if _, err := io.ReadFull(r, sr.buf[:]); err != nil || string(sr.buf[:]) != sampleHeader {
		return nil, errNoSamples
	}
	return sr, nil
}

// Next reads the next sample. It returns io.EOF at the end, also where the last record was cut.
func (r *SampleReader) Next(s *Sample) error {
	switch _, err := io.ReadFull(r.r, r.buf[:]); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.EOF
	case err != nil:
		return err
	}
	return s.Decode(r.buf[:])
}
