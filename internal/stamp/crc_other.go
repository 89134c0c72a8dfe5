//go:build !amd64

package stamp

// checkSum is the CRC-32C of 36 bytes, in words.
func checkSum(w0, w1, w2, w3 uint64, w4 uint32) uint32 { return checkSumGeneric(w0, w1, w2, w3, w4) }

// checkSumAt is the CRC-32C of what stands before the check sum in b.
func checkSumAt(b *[Size]byte) uint32 { return checkSumAtGeneric(b) }
