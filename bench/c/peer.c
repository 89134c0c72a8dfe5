// peer is the other end of a generator: a broker that only swallows, or that only sends, at little cost.
//
//   peer drain mqtt [PROCESSES]  accepts, confirms subscriptions, answers pings, swallows what is published
//   peer drain nats              the same for NATS
//   peer drain amqp              the same for AMQP 0-9-1, without subscriptions
//   peer blast RUN BYTES         an MQTT broker that sends stamped messages of BYTES (payload) to whoever subscribes
//
// Several processes listen at one port, and hold more connections than the files that one may open.
// It prints the port it listens on (loopback), and ends when its standard input does.
#define _GNU_SOURCE
#include "stamp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_SIZE = 1 << 20, BLOCK_SIZE = 256 << 10 };

enum state { GREETING, IDLE, PUBLISHING };

struct conn {
	int fd;
	enum state state;
	int version;
	char *block; // what is being sent to a subscriber
	size_t sent;
	uint64_t seq;
};

static int epoll, blasting;
static void (*hear)(struct conn *c, const uint8_t *b, size_t n); // what arrived, in the protocol that is spoken
static uint32_t run;
static size_t payload_size, message_size, block_size;

static void die(const char *what) {
	perror(what);
	exit(1);
}

static void say(struct conn *c, const void *b, size_t n) {
	if (send(c->fd, b, n, MSG_NOSIGNAL) != (ssize_t)n) perror("answer");
}

static void end(struct conn *c) {
	close(c->fd);
	free(c->block);
	free(c);
}

// template fills the block with PUBLISH packets whose stamps are yet to be written.
static char *template(const char *topic, int version) {
	char *b = malloc(BLOCK_SIZE);
	size_t topic_size = strlen(topic), remaining = 2 + topic_size + (version == 5) + payload_size;
	block_size = 0;
	do {
		char *m = b + block_size;
		size_t n = 0, rest = remaining;
		m[n++] = 0x30;
		do m[n++] = (rest & 127) | (rest > 127 ? 128 : 0);
		while (rest >>= 7);
		m[n++] = 0, m[n++] = topic_size;
		memcpy(m + n, topic, topic_size), n += topic_size;
		if (version == 5) m[n++] = 0;
		memset(m + n, 'x', payload_size);
		message_size = n + payload_size;
		block_size += message_size;
	} while (block_size + message_size <= BLOCK_SIZE);
	return b;
}

// renew stamps all messages of the block.
static void renew(struct conn *c) {
	int64_t now = now_ns();
	for (size_t at = message_size - payload_size; at < block_size; at += message_size) {
		stamp_put(c->block + at, run, 0, c->seq++, now, now);
	}
	c->sent = 0;
}

static void blast(struct conn *c) {
	if (c->sent == block_size) renew(c);
	ssize_t n = send(c->fd, c->block + c->sent, block_size - c->sent, MSG_NOSIGNAL);
	if (n > 0) c->sent += n;
}

static void subscribed(struct conn *c, const uint8_t *b) {
	uint8_t v3[] = {0x90, 3, b[2], b[3], 0}, v5[] = {0x90, 4, b[2], b[3], 0, 0};
	if (c->version == 5) say(c, v5, sizeof v5);
	else say(c, v3, sizeof v3);
	if (!blasting) return;
	c->block = template("bench", c->version);
	renew(c);
	struct epoll_event e = {.events = EPOLLIN | EPOLLOUT, .data.ptr = c};
	epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &e);
}

// mqtt answers what a client says before it publishes: one packet at a time, which is how clients say it.
static void mqtt(struct conn *c, const uint8_t *b, size_t n) {
	if (c->state == GREETING && n > 8 && b[0] == 0x10) {
		c->version = b[8];
		c->state = IDLE;
		if (c->version == 5) say(c, "\x20\x03\x00\x00\x00", 5);
		else say(c, "\x20\x02\x00\x00", 4);
	} else if (b[0] == 0x82 && n > 4) {
		subscribed(c, b);
	} else if (b[0] == 0xc0) {
		say(c, "\xd0\x00", 2);
	} else {
		c->state = PUBLISHING;
	}
}

static void nats(struct conn *c, const uint8_t *b, size_t n) {
	if (n >= 6 && !memcmp(b + n - 6, "PING\r\n", 6)) say(c, "PONG\r\n", 6);
}

// method says an AMQP method; arguments are all that follows class and method.
static void method(struct conn *c, int channel, int class, int id, const void *arguments, size_t n) {
	uint8_t f[128] = {1, 0, channel, 0, 0, 0, n + 4, 0, class, 0, id};
	memcpy(f + 11, arguments, n);
	f[11 + n] = 0xce;
	say(c, f, 12 + n);
}

// amqp answers the methods that a client says before it publishes.
static void amqp(struct conn *c, const uint8_t *b, size_t n) {
	if (c->state == GREETING) {
		c->state = IDLE;
		method(c, 0, 10, 10, "\0\x9\0\0\0\0\0\0\0\x5PLAIN\0\0\0\x5" "en_US", 24); // connection.start
		return;
	}
	for (size_t size; n >= 12; b += size, n -= size) {
		size = 8 + (b[4] << 16 | b[5] << 8 | b[6]);
		if (b[0] != 1 || size > n) return;
		switch (b[8] << 8 | b[10]) {
		case 10 << 8 | 11: method(c, 0, 10, 30, "\0\0\0\x2\0\0\0\0", 8); break; // start-ok: tune
		case 10 << 8 | 40: method(c, 0, 10, 41, "", 1); break;                      // connection.open
		case 10 << 8 | 50: method(c, 0, 10, 51, "", 0); break;                      // connection.close
		case 20 << 8 | 10: method(c, b[2], 20, 11, "\0\0\0", 4); break;             // channel.open
		case 40 << 8 | 10: method(c, b[2], 40, 11, "", 0); break;                   // exchange.declare
		case 60 << 8 | 40: c->state = PUBLISHING; return;                           // basic.publish
		}
	}
}

static void accept_all(int listener) {
	static const char info[] = "INFO {\"server_id\":\"bench\",\"version\":\"2.10.0\",\"proto\":1,\"headers\":true,"
		"\"max_payload\":1048576}\r\n";
	int fd, one = 1;
	struct linger reset = {1, 0}; // the end of thousands of connections leaves no ports in TIME_WAIT
	while ((fd = accept4(listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
		struct conn *c = calloc(1, sizeof *c);
		c->fd = fd;
		struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e)) die("epoll_ctl");
		if (hear == nats) say(c, info, sizeof info - 1);
	}
}

// listen_loopback listens at a port, beside others that do so; 0 becomes one that is free.
static int listen_loopback(in_port_t *port) {
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = *port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof a;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one)) die("SO_REUSEPORT");
	if (bind(fd, (void *)&a, size) || listen(fd, 4096) || getsockname(fd, (void *)&a, &size)) die("listen");
	*port = a.sin_port;
	return fd;
}

// listen_all returns the listener of this process, which becomes several, and the first of them prints the port.
static int listen_all(int processes) {
	in_port_t port = 0;
	int fd = listen_loopback(&port);
	while (--processes > 0) {
		int another = listen_loopback(&port);
		int first = fork();
		close(first ? another : fd);
		if (!first) return another;
	}
	printf("%d\n", ntohs(port));
	fflush(stdout);
	return fd;
}

static void more_files(void) {
	struct rlimit l;
	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

static void serve(int listener) {
	static uint8_t buffer[READ_SIZE];
	struct epoll_event ready[256];
	for (;;) {
		int n = epoll_wait(epoll, ready, 256, -1);
		if (n < 0 && errno != EINTR) die("epoll_wait");
		for (int i = 0; i < n; i++) {
			struct conn *c = ready[i].data.ptr;
			if (!c) { // standard input: nobody needs us any more
				exit(0);
			} else if (c == (void *)&epoll) {
				accept_all(listener);
				continue;
			}
			if (ready[i].events & ~EPOLLOUT) {
				ssize_t size = read(c->fd, buffer, sizeof buffer);
				if (size == 0 || (size < 0 && errno != EAGAIN)) {
					end(c);
					continue;
				}
				if (size > 0 && c->state != PUBLISHING) hear(c, buffer, size);
			}
			if (c->block && ready[i].events & EPOLLOUT) blast(c);
		}
	}
}

int main(int argc, char **argv) {
	int processes = 1;
	hear = mqtt;
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "drain")) {
		if (argc == 4) processes = atoi(argv[3]);
		if (!strcmp(argv[2], "nats")) hear = nats;
		if (!strcmp(argv[2], "amqp")) hear = amqp;
	} else if (argc == 4 && !strcmp(argv[1], "blast")) {
		blasting = 1;
		run = strtoul(argv[2], 0, 10);
		payload_size = strtoul(argv[3], 0, 10);
		if (payload_size < STAMP_SIZE || payload_size > BLOCK_SIZE / 2) return 2;
	} else {
		fprintf(stderr, "usage: peer drain mqtt|nats|amqp [PROCESSES] | peer blast RUN BYTES\n");
		return 2;
	}
	more_files();
	int listener = listen_all(processes);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event input = {.events = EPOLLIN, .data.ptr = 0}, incoming = {.events = EPOLLIN, .data.ptr = &epoll};
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &input) || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &incoming)) die("epoll_ctl");
	serve(listener);
}
