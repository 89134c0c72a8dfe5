// What the plain clients share: MQTT 3.1.1 at its simplest, histograms, kernel time stamps of arrival, CPU time.
#ifndef CLIENT_H
#define CLIENT_H

#include "stamp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 64 << 10, TOPIC_SIZE = 5 };
static const char topic[] = "bench";

static inline void die(const char *what) {
	perror(what);
	exit(1);
}

// A histogram of values in nanoseconds with three significant digits: the slots of HdrHistogram.
enum { HALF = 1024, SLOTS = 33 * HALF };
struct hist {
	int64_t total, count[SLOTS];
};

static inline void record(struct hist *h, int64_t v) {
	if (v < 0 || v > 3600000000000ll) return;
	int shift = 63 - __builtin_clzll((uint64_t)v | (2 * HALF - 1)) - 10;
	h->count[shift * HALF + (v >> shift)]++;
	h->total++;
}

static inline int64_t median(const struct hist *h) {
	int64_t seen = 0;
	for (int slot = 0; slot < SLOTS; slot++) {
		seen += h->count[slot];
		if (seen == 0 || 2 * seen < h->total) continue;
		if (slot < 2 * HALF) return slot;
		int shift = slot / HALF - 1;
		return ((int64_t)(slot - shift * HALF + 1) << shift) - 1;
	}
	return 0;
}

static inline void ask(int fd, const void *question, size_t n, size_t answer) {
	uint8_t b[16];
	if (send(fd, question, n, MSG_NOSIGNAL) != (ssize_t)n || recv(fd, b, answer, MSG_WAITALL) != (ssize_t)answer) die("handshake");
}

static inline int dial(int port, int number) {
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(fd, (void *)&a, sizeof a)) die("connect");
	uint8_t hello[] = {0x10, 18, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60, 0, 6, 'c', '-', 0, 0, 0, 0};
	for (int i = 19; i > 15; i--, number /= 10) hello[i] = '0' + number % 10;
	ask(fd, hello, sizeof hello, 4);
	return fd;
}

static inline void subscribe(int fd) {
	uint8_t b[7 + TOPIC_SIZE] = {0x82, 5 + TOPIC_SIZE, 0, 1, 0, TOPIC_SIZE};
	memcpy(b + 6, topic, TOPIC_SIZE);
	ask(fd, b, sizeof b, 5);
}

// message is a PUBLISH without its stamp.
struct message {
	uint8_t *bytes;
	size_t size, payload, payload_size;
};

static inline struct message compose(size_t payload_size) {
	struct message m = {.bytes = malloc(payload_size + 16), .payload_size = payload_size};
	size_t n = 0, rest = 2 + TOPIC_SIZE + payload_size;
	m.bytes[n++] = 0x30;
	do m.bytes[n++] = (rest & 127) | (rest > 127 ? 128 : 0);
	while (rest >>= 7);
	m.bytes[n++] = 0, m.bytes[n++] = TOPIC_SIZE;
	memcpy(m.bytes + n, topic, TOPIC_SIZE);
	m.payload = n + TOPIC_SIZE;
	memset(m.bytes + m.payload, 'x', payload_size);
	m.size = m.payload + payload_size;
	return m;
}

static inline void stamp_arrivals(int fd) {
	int flags = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags)) die("SO_TIMESTAMPING");
}

// to_monotonic turns the kernel's wall clock stamps into monotonic time; it is looked up once a second.
static inline int64_t to_monotonic(int64_t now) {
	static int64_t offset, checked = -1000000000;
	if (now - checked > 1000000000) {
		struct timespec wall;
		clock_gettime(CLOCK_REALTIME, &wall);
		offset = now_ns() - (wall.tv_sec * 1000000000ll + wall.tv_nsec);
		checked = now;
	}
	return offset;
}

// take receives without blocking; arrived is when the last of the bytes reached the host, 0 if unknown.
static inline ssize_t take(int fd, void *b, size_t size, int64_t *arrived) {
	char control[128];
	struct iovec v = {b, size};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);
	*arrived = 0;
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : 0;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPING) {
		struct timespec t;
		memcpy(&t, CMSG_DATA(c), sizeof t);
		if (t.tv_sec) *arrived = t.tv_sec * 1000000000ll + t.tv_nsec + to_monotonic(now_ns());
	}
	return n;
}

// cpu_ns is the user and system time of this process.
static inline int64_t cpu_ns(void) {
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000ll + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000ll;
}

#endif
