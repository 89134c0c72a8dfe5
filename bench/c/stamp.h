// The lab's payload stamp (see internal/stamp): 40 bytes, little-endian, ending in the CRC-32C of the first 36.
#ifndef STAMP_H
#define STAMP_H

#include <stdint.h>
#include <string.h>
#include <time.h>
#if defined(__SSE4_2__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the stamp is written as it lies in memory: little-endian machines only"
#endif

enum { STAMP_SIZE = 40, STAMP_CHECKED = 36 };

struct __attribute__((packed)) stamp {
	uint8_t magic[2], version, flags;
	uint32_t run, stream;
	uint64_t seq;
	int64_t due, sent;
	uint32_t crc;
};

_Static_assert(sizeof(struct stamp) == STAMP_SIZE, "stamp layout");

// stamp_crc is the CRC-32C of the bytes before the check sum: by the processor's own instruction where there is one.
static inline uint32_t stamp_crc(const void *p) {
	const uint8_t *b = p;
	uint64_t word;
	uint32_t last;
#if defined(__SSE4_2__)
	uint64_t crc = 0xffffffff;
	for (int i = 0; i < 4; i++, b += 8) {
		memcpy(&word, b, 8);
		crc = _mm_crc32_u64(crc, word);
	}
	memcpy(&last, b, 4);
	return ~_mm_crc32_u32((uint32_t)crc, last);
#elif defined(__ARM_FEATURE_CRC32)
	uint32_t crc = 0xffffffff;
	for (int i = 0; i < 4; i++, b += 8) {
		memcpy(&word, b, 8);
		crc = __crc32cd(crc, word);
	}
	memcpy(&last, b, 4);
	return ~__crc32cw(crc, last);
#else
	(void)word, (void)last;
	uint32_t crc = 0xffffffff;
	for (int i = 0; i < STAMP_CHECKED; i++) {
		crc ^= b[i];
		for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
#endif
}

static inline void stamp_put(void *at, uint32_t run, uint32_t stream, uint64_t seq, int64_t due, int64_t sent) {
	struct stamp s = {{0xf5, 0xc1}, 1, 0, run, stream, seq, due, sent, 0};
	s.crc = stamp_crc(&s);
	memcpy(at, &s, sizeof s);
}

static inline int stamp_get(const void *at, struct stamp *s) {
	memcpy(s, at, sizeof *s);
	return s->magic[0] == 0xf5 && s->magic[1] == 0xc1 && s->version == 1 && s->crc == stamp_crc(s);
}

static inline int64_t now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

#endif
