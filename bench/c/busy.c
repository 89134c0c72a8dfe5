// busy is the plain client that the lab's throughput is compared with: MQTT 3.1.1 at QoS 0, one thread, the lab's stamps and the
// lab's records.
//
//   busy publish PORT RUN BYTES WARMUP_NS SPAN_NS     one connection, as many messages a write as 64 KiB hold
//   busy devices PORT RUN BYTES WARMUP_NS SPAN_NS N   N connections in turn, a write for each message
//   busy paced   PORT RUN BYTES WARMUP_NS SPAN_NS N   the same at RATE messages per second; those due leave every QUANTUM_NS
//   busy receive PORT RUN BYTES WARMUP_NS SPAN_NS     one connection that subscribes
//
// It prints a JSON object: messages in the span, and the CPU time that they took.
#define _GNU_SOURCE
#include "client.h"

#include <sys/epoll.h>
#include <sys/prctl.h>

enum { BATCH = 64 << 10, MOST = 10000, TURN = 32, RATE = 20000, QUANTUM_NS = 1000000 };

static uint32_t run;
static size_t payload_size;
static int64_t warm_up, span, measure, end, used;
static uint64_t messages, foreign, damaged, disordered, expected;
static struct hist response, service, kernel, client, lateness;

// begin starts the schedule.
static void begin(void) {
	measure = now_ns() + warm_up;
	end = measure + span;
	used = -1;
}

// running tells the time, notes the CPU time when the span begins and ends, and returns 0 then.
static int running(int64_t *now) {
	*now = now_ns();
	if (used < 0 && *now >= measure) used = cpu_ns(), messages = 0;
	if (*now < end) return 1;
	used = cpu_ns() - used;
	return 0;
}

// put waits where the socket is full.
static void put(int fd, int epoll, const uint8_t *b, size_t n) {
	while (n) {
		ssize_t k = send(fd, b, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (k < 0 && errno != EAGAIN) die("send");
		if (k > 0) {
			b += k, n -= k;
			continue;
		}
		struct epoll_event e = {.events = EPOLLOUT};
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e)) die("epoll_ctl");
		epoll_wait(epoll, &e, 1, -1);
		epoll_ctl(epoll, EPOLL_CTL_DEL, fd, 0);
	}
}

static void publish(int port, int epoll) {
	static uint8_t out[2 * BATCH];
	struct message m = compose(payload_size);
	uint64_t seq = 0;
	int fd = dial(port, 0);
	begin();
	for (int64_t now; running(&now);) {
		size_t n = 0;
		for (; n < BATCH; n += m.size) {
			memcpy(out + n, m.bytes, m.size);
			stamp_put(out + n + m.payload, run, 0, seq++, now, now);
			messages++;
		}
		put(fd, epoll, out, n);
	}
}

static struct { int fd; uint64_t seq; } device[MOST];
static int connections;

static void dial_devices(int port) {
	for (int i = 0; i < connections; i++) device[i].fd = dial(port, i);
}

static void devices(int port, int epoll) {
	struct message m = compose(payload_size);
	dial_devices(port);
	begin();
	int at = 0;
	for (int64_t now; running(&now);) {
		for (int i = 0; i < TURN; i++, at = (at + 1) % connections) {
			stamp_put(m.bytes + m.payload, run, at, device[at].seq++, now, now);
			put(device[at].fd, epoll, m.bytes, m.size);
			messages++;
		}
	}
}

static void paced(int port, int epoll) {
	struct message m = compose(payload_size);
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	dial_devices(port);
	begin();
	int64_t start = now_ns(), gap = 1000000000 / RATE, due = start;
	for (int64_t now; running(&now);) {
		if (due > now) {
			int64_t next = (due + QUANTUM_NS - 1) / QUANTUM_NS * QUANTUM_NS;
			struct timespec until = {next / 1000000000, next % 1000000000};
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0);
			continue;
		}
		for (int i = 0; i < TURN && due <= now; i++, due += gap) {
			int at = (due - start) / gap % connections;
			record(&lateness, now - due);
			stamp_put(m.bytes + m.payload, run, at, device[at].seq++, due, now);
			put(device[at].fd, epoll, m.bytes, m.size);
			messages++;
		}
	}
}

// deliver checks and books one message of topic and payload; last is its time of arrival, 0 if unknown.
static void deliver(const uint8_t *t, size_t t_size, const uint8_t *p, size_t p_size, int64_t now, int64_t last) {
	static uint8_t filler[BUFFER];
	if (!*filler) memset(filler, 'x', sizeof filler);
	struct stamp s;
	if (t_size != TOPIC_SIZE || memcmp(t, topic, TOPIC_SIZE) || p_size != payload_size) {
		foreign++;
		return;
	}
	if (!stamp_get(p, &s) || s.run != run || memcmp(p + STAMP_SIZE, filler, p_size - STAMP_SIZE)) {
		damaged++;
		return;
	}
	if (s.seq != expected) disordered++;
	expected = s.seq + 1;
	messages++;
	if (s.due < measure || s.due >= end) return;
	record(&response, now - s.due);
	record(&service, now - s.sent);
	if (last >= s.sent && last <= now) {
		record(&kernel, last - s.sent);
		record(&client, now - last);
	}
}

// parse takes the PUBLISH at b and returns its size, 0 if it is incomplete.
static size_t parse(const uint8_t *b, size_t n, int64_t now, int64_t arrived) {
	size_t at = 1, rest = 0;
	for (int shift = 0;; shift += 7) {
		if (at >= n || shift > 21) return 0;
		rest |= (size_t)(b[at] & 127) << shift;
		if (b[at++] < 128) break;
	}
	size_t size = at + rest, t_size;
	if (size > n) return 0;
	if (b[0] != 0x30 || rest < 2 || (t_size = b[at] << 8 | b[at + 1]) > rest - 2) die("not a PUBLISH");
	deliver(b + at + 2, t_size, b + at + 2 + t_size, rest - 2 - t_size, now, size == n ? arrived : 0);
	return size;
}

static void receive(int port, int epoll) {
	static uint8_t buffer[BUFFER];
	int fd = dial(port, 0);
	stamp_arrivals(fd);
	struct epoll_event e = {.events = EPOLLIN};
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e)) die("epoll_ctl");
	begin();
	subscribe(fd);
	size_t have = 0;
	for (int64_t now; running(&now);) {
		if (epoll_wait(epoll, &e, 1, 100) <= 0) continue;
		int64_t arrived;
		ssize_t n = take(fd, buffer + have, sizeof buffer - have, &arrived);
		if (n == 0 || (n < 0 && errno != EAGAIN)) die("recv");
		if (n < 0) continue;
		now = now_ns();
		have += n;
		size_t at = 0;
		for (size_t size; (size = parse(buffer + at, have - at, now, arrived)); at += size) {}
		memmove(buffer, buffer + at, have -= at);
	}
}

int main(int argc, char **argv) {
	connections = argc > 7 ? atoi(argv[7]) : 1;
	if (argc < 7 || argc > 8 || connections < 1 || connections > MOST) {
		fprintf(stderr, "usage: busy publish|devices|paced|receive PORT RUN BYTES WARMUP_NS SPAN_NS [N]\n");
		return 2;
	}
	run = strtoul(argv[3], 0, 10);
	payload_size = strtoul(argv[4], 0, 10);
	warm_up = atoll(argv[5]), span = atoll(argv[6]);
	int port = atoi(argv[2]), epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!strcmp(argv[1], "publish")) publish(port, epoll);
	else if (!strcmp(argv[1], "devices")) devices(port, epoll);
	else if (!strcmp(argv[1], "paced")) paced(port, epoll);
	else receive(port, epoll);
	if (foreign || damaged || disordered) fprintf(stderr, "busy: %lu foreign, %lu damaged, %lu out of order\n", foreign, damaged, disordered);
	printf("{\"messages\":%lu,\"cpu_ns\":%ld,\"lateness_p50_ns\":%ld}\n", messages, used, median(&lateness));
	return foreign || damaged || disordered;
}
