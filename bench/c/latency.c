// latency is the plain client that the lab's latency is compared with: one thread, epoll, one publishing and one
// subscribing MQTT 3.1.1 connection, a constant rate. It keeps time as the lab's precise mode does (sleep until 60 µs
// before a message is due, then spin), writes the same stamps and keeps the same records: histograms of
// response, service and lateness, the order of sequence numbers, and whether the payload is what was sent.
//
//   latency PORT RUN BYTES RATE WARMUP_NS SPAN_NS
//
// It prints a JSON object: messages received of those due after the warm-up, and the medians.
#define _GNU_SOURCE
#include "stamp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SPIN_NS = 60000, BUFFER = 64 << 10, TOPIC_SIZE = 5 };
static const char topic[] = "bench";

static void die(const char *what) {
	perror(what);
	exit(1);
}

// A histogram of values in nanoseconds with three significant digits: the slots of HdrHistogram.
enum { HALF = 1024, SLOTS = 33 * HALF };
struct hist {
	int64_t total, count[SLOTS];
};

static void record(struct hist *h, int64_t v) {
	if (v < 0 || v > 3600000000000ll) return;
	int shift = 63 - __builtin_clzll((uint64_t)v | (2 * HALF - 1)) - 10;
	h->count[shift * HALF + (v >> shift)]++;
	h->total++;
}

static int64_t median(const struct hist *h) {
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

static struct hist response, service, lateness;
static uint64_t expected, received, damaged, disordered;
static int64_t measure, end;

static void ask(int fd, const void *question, size_t n, size_t answer) {
	uint8_t b[16];
	if (send(fd, question, n, MSG_NOSIGNAL) != (ssize_t)n || recv(fd, b, answer, MSG_WAITALL) != (ssize_t)answer) die("handshake");
}

static int dial(int port, char role) {
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(fd, (void *)&a, sizeof a)) die("connect");
	uint8_t hello[] = {0x10, 15, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60, 0, 3, 'c', '-', role};
	ask(fd, hello, sizeof hello, 4);
	return fd;
}

static void subscribe(int fd) {
	uint8_t b[7 + TOPIC_SIZE] = {0x82, 5 + TOPIC_SIZE, 0, 1, 0, TOPIC_SIZE};
	memcpy(b + 6, topic, TOPIC_SIZE);
	ask(fd, b, sizeof b, 5);
}

// message is a PUBLISH without its stamp.
struct message {
	uint8_t *bytes;
	size_t size, payload, payload_size;
};

static struct message compose(size_t payload_size) {
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

static void deliver(const struct message *m, const uint8_t *at, uint32_t run, int64_t now) {
	struct stamp s;
	if (memcmp(at, m->bytes, m->payload) || !stamp_get(at + m->payload, &s) || s.run != run ||
		memcmp(at + m->payload + STAMP_SIZE, m->bytes + m->payload + STAMP_SIZE, m->payload_size - STAMP_SIZE)) {
		damaged++;
		return;
	}
	if (s.seq != expected) disordered++;
	expected = s.seq + 1;
	if (s.due < measure || s.due >= end) return;
	received++;
	record(&response, now - s.due);
	record(&service, now - s.sent);
}

// receive takes what has arrived; messages are all of one size.
static void receive(int fd, const struct message *m, uint32_t run) {
	static uint8_t buffer[BUFFER];
	static size_t have;
	ssize_t n = recv(fd, buffer + have, sizeof buffer - have, MSG_DONTWAIT);
	int64_t now = now_ns();
	if (n == 0 || (n < 0 && errno != EAGAIN)) die("recv");
	if (n < 0) return;
	have += n;
	size_t at = 0;
	for (; have - at >= m->size; at += m->size) deliver(m, buffer + at, run, now);
	memmove(buffer, buffer + at, have -= at);
}

// wait_until returns at a time, or when something has arrived.
static int wait_until(int epoll, int64_t at) {
	struct epoll_event e;
	int64_t left = at - now_ns() - SPIN_NS;
	if (left > 0) {
		struct timespec t = {left / 1000000000, left % 1000000000};
		return epoll_pwait2(epoll, &e, 1, &t, NULL) > 0;
	}
	for (;;) {
		if (epoll_wait(epoll, &e, 1, 0) > 0) return 1;
		if (now_ns() >= at) return 0;
	}
}

int main(int argc, char **argv) {
	if (argc != 7) {
		fprintf(stderr, "usage: latency PORT RUN BYTES RATE WARMUP_NS SPAN_NS\n");
		return 2;
	}
	int port = atoi(argv[1]);
	uint32_t run = strtoul(argv[2], 0, 10);
	struct message m = compose(strtoul(argv[3], 0, 10));
	double gap = 1e9 / atof(argv[4]);
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	int sub = dial(port, 's'), pub = dial(port, 'p'), epoll = epoll_create1(EPOLL_CLOEXEC);
	subscribe(sub);
	struct epoll_event e = {.events = EPOLLIN};
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, sub, &e)) die("epoll_ctl");
	int64_t start = now_ns();
	measure = start + atoll(argv[5]), end = measure + atoll(argv[6]);
	for (uint64_t seq = 0;;) {
		int64_t due = start + (int64_t)(seq * gap);
		if (due >= end) break;
		if (wait_until(epoll, due)) receive(sub, &m, run);
		int64_t now = now_ns();
		if (now < due) continue;
		if (due >= measure) record(&lateness, now - due);
		stamp_put(m.bytes + m.payload, run, seq++, due, now);
		if (send(pub, m.bytes, m.size, MSG_NOSIGNAL) != (ssize_t)m.size) die("send");
	}
	for (int64_t last = now_ns() + 100000000; now_ns() < last;) {
		if (wait_until(epoll, last)) receive(sub, &m, run);
	}
	if (damaged || disordered) fprintf(stderr, "latency: %lu damaged, %lu out of order\n", damaged, disordered);
	printf("{\"messages\":%lu,\"response_p50_ns\":%ld,\"lateness_p50_ns\":%ld}\n", received, median(&response), median(&lateness));
	return damaged || disordered;
}
