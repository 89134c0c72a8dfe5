// latency is the plain client that the lab's latency is compared with: one thread, epoll, one publishing and one
// subscribing MQTT 3.1.1 connection, a constant rate. It keeps time as the lab's precise mode does (sleep until 60 µs
// before a message is due, then spin), writes the same stamps and keeps the same records: histograms of
// response, service, kernel, client and lateness, the order of sequence numbers, and whether the payload is what was sent.
//
//   latency PORT RUN BYTES RATE WARMUP_NS SPAN_NS
//
// It prints a JSON object: messages received of those due after the warm-up, and the medians.
#define _GNU_SOURCE
#include "client.h"

#include <sys/epoll.h>
#include <sys/prctl.h>

enum { SPIN_NS = 60000 };

static struct hist response, service, kernel, client, lateness;
static uint64_t expected, received, damaged, disordered;
static int64_t measure, end;

static void deliver(const struct message *m, const uint8_t *at, uint32_t run, int64_t now, int64_t last) {
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
	if (last >= s.sent && last <= now) {
		record(&kernel, last - s.sent);
		record(&client, now - last);
	}
}

// receive takes what has arrived; messages are all of one size.
static void receive(int fd, const struct message *m, uint32_t run) {
	static uint8_t buffer[BUFFER];
	static size_t have;
	int64_t arrived;
	ssize_t n = take(fd, buffer + have, sizeof buffer - have, &arrived);
	int64_t now = now_ns();
	if (n == 0 || (n < 0 && errno != EAGAIN)) die("recv");
	if (n < 0) return;
	have += n;
	size_t at = 0;
	for (; have - at >= m->size; at += m->size) {
		deliver(m, buffer + at, run, now, have - at == m->size ? arrived : 0);
	}
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
	int sub = dial(port, 0), pub = dial(port, 1), epoll = epoll_create1(EPOLL_CLOEXEC);
	subscribe(sub);
	stamp_arrivals(sub);
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
		stamp_put(m.bytes + m.payload, run, 0, seq++, due, now);
		if (send(pub, m.bytes, m.size, MSG_NOSIGNAL) != (ssize_t)m.size) die("send");
	}
	for (int64_t last = now_ns() + 100000000; now_ns() < last;) {
		if (wait_until(epoll, last)) receive(sub, &m, run);
	}
	if (damaged || disordered) fprintf(stderr, "latency: %lu damaged, %lu out of order\n", damaged, disordered);
	printf("{\"messages\":%lu,\"response_p50_ns\":%ld,\"kernel_p50_ns\":%ld,\"lateness_p50_ns\":%ld}\n", received,
		median(&response), median(&kernel), median(&lateness));
	return damaged || disordered;
}
