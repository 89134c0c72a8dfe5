package stamp

import (
	"encoding/binary"
	"hash/crc32"
)

// checkSumGeneric is checkSum on every processor.
func checkSumGeneric(w0, w1, w2, w3 uint64, w4 uint32) uint32 {
	var b [crcStart]byte
	binary.LittleEndian.PutUint64(b[0:], w0)
	binary.LittleEndian.PutUint64(b[8:], w1)
	binary.LittleEndian.PutUint64(b[16:], w2)
	binary.LittleEndian.PutUint64(b[24:], w3)
	binary.LittleEndian.PutUint32(b[32:], w4)
	return crc32.Checksum(b[:], crc32.MakeTable(crc32.Castagnoli))
}

// checkSumAtGeneric is checkSumAt on every processor.
func checkSumAtGeneric(b *[Size]byte) uint32 {
	return crc32.Checksum(b[:crcStart], crc32.MakeTable(crc32.Castagnoli))
}
