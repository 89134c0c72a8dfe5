package stamp

import "golang.org/x/sys/cpu"

var hasSSE42 = cpu.X86.HasSSE42

// sumSSE42 is the CRC-32C of 36 bytes by the processor's instruction for it. hash/crc32 uses the same, but first walks to an
// even address byte by byte, which takes longer than the rest for so few.
//
//go:noescape
func sumSSE42(w0, w1, w2, w3 uint64, w4 uint32) uint32

// sumAtSSE42 is sumSSE42 of the bytes at p.
//
//go:noescape
func sumAtSSE42(p *byte) uint32

// checkSumAt is the CRC-32C of what stands before the check sum in b.
func checkSumAt(b *[Size]byte) uint32 {
	if hasSSE42 {
		return sumAtSSE42(&b[0])
	}
	return checkSumAtGeneric(b)
}

// checkSum is the CRC-32C of 36 bytes, in words.
func checkSum(w0, w1, w2, w3 uint64, w4 uint32) uint32 {
	if hasSSE42 {
		return sumSSE42(w0, w1, w2, w3, w4)
	}
	return checkSumGeneric(w0, w1, w2, w3, w4)
}
