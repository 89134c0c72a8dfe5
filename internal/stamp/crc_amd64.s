#include "textflag.h"

// func sumSSE42(w0, w1, w2, w3 uint64, w4 uint32) uint32
TEXT ·sumSSE42(SB), NOSPLIT, $0-44
	MOVL $0xffffffff, AX
	CRC32Q w0+0(FP), AX
	CRC32Q w1+8(FP), AX
	CRC32Q w2+16(FP), AX
	CRC32Q w3+24(FP), AX
	CRC32L w4+32(FP), AX
	NOTL AX
	MOVL AX, ret+40(FP)
	RET

// func sumAtSSE42(p *byte) uint32
TEXT ·sumAtSSE42(SB), NOSPLIT, $0-12
	MOVQ p+0(FP), SI
	MOVL $0xffffffff, AX
	CRC32Q 0(SI), AX
	CRC32Q 8(SI), AX
	CRC32Q 16(SI), AX
	CRC32Q 24(SI), AX
	CRC32L 32(SI), AX
	NOTL AX
	MOVL AX, ret+8(FP)
	RET
