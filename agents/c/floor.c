/* The floor of C: a socket and no library. What others add is what they take longer than this. */
#include "agent.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

struct connection {
	int socket;
	unsigned char *buffer;
	size_t size, n;
};

static int everybody;

static void send_all(int socket, const unsigned char *b, size_t n)
{
	if (write(socket, b, n) != (ssize_t)n)
		agent_fail("write", errno);
}

/* One whole packet at b, of n bytes; its length, or 0 if it is not whole yet. */
static size_t packet(int socket, const unsigned char *b, size_t n)
{
	size_t length = 0, i = 1;
	for (int shift = 0; i < n && i < 5; shift += 7) {
		unsigned char digit = b[i++];
		length |= (size_t)(digit & 127) << shift;
		if (digit < 128)
			goto whole;
	}
	return 0;
whole:
	if (n < i + length)
		return 0;
	const unsigned char *body = b + i;
	if (b[0] >> 4 == 3) {
		unsigned qos = b[0] >> 1 & 3;
		size_t head = 2 + ((size_t)body[0] << 8 | body[1]) + (qos ? 2 : 0);
		agent_received(body + head, length - head);
		if (qos == 1)
			send_all(socket, (const unsigned char[]){0x40, 2, body[head - 2], body[head - 1]}, 4);
		if (qos == 2)
			send_all(socket, (const unsigned char[]){0x50, 2, body[head - 2], body[head - 1]}, 4);
	} else if (b[0] >> 4 == 6) {
		send_all(socket, (const unsigned char[]){0x70, 2, body[0], body[1]}, 4);
	} else if (b[0] >> 4 == 9) {
		agent_ready();
	}
	return i + length;
}

/* Reads once, and handles what is whole; false at the end. */
static bool turn(struct connection *c)
{
	if (c->n == c->size)
		c->buffer = (unsigned char *)realloc(c->buffer, c->size *= 2);
	ssize_t got = recv(c->socket, c->buffer + c->n, c->size - c->n, 0);
	if (got <= 0)
		return false;
	size_t done = 0;
	c->n += (size_t)got;
	for (size_t used; (used = packet(c->socket, c->buffer + done, c->n - done)) > 0;)
		done += used;
	if (done) {
		memmove(c->buffer, c->buffer + done, c->n - done);
		c->n -= done;
	}
	return true;
}

static void *reader(void *c)
{
	while (turn((struct connection *)c))
		;
	return NULL;
}

/* One loop for all connections. */
static void *run_all(void *unused)
{
	struct epoll_event list[64];
	(void)unused;
	for (int n; (n = epoll_wait(everybody, list, 64, -1)) >= 0 || errno == EINTR;)
		for (int i = 0; i < n; i++)
			if (!turn((struct connection *)list[i].data.ptr))
				return NULL;
	return NULL;
}

static void begin(int socket)
{
	const unsigned char connect[] = {0x10, 17, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 2, 88, 0, 5, 'f', 'l', 'o', 'o', 'r'};
	unsigned char answer[4], subscribe[300] = {0x82};
	send_all(socket, connect, sizeof connect);
	if (recv(socket, answer, 4, MSG_WAITALL) != 4 || answer[3])
		agent_fail("CONNACK", answer[3]);
	char *topic = agent_text("topic", "t");
	size_t n = strlen(topic);
	if (n > 100)
		agent_fail("the topic is too long", (int)n);
	subscribe[1] = (unsigned char)(5 + n);
	subscribe[3] = 1;
	subscribe[5] = (unsigned char)n;
	memcpy(subscribe + 6, topic, n);
	subscribe[6 + n] = (unsigned char)agent_number("qos", 0);
	send_all(socket, subscribe, 7 + n);
}

static struct connection *opened(size_t size)
{
	struct sockaddr_in address;
	struct connection *c = (struct connection *)calloc(1, sizeof *c);
	c->size = size;
	c->buffer = (unsigned char *)malloc(size);
	if (!*agent_text("by", ""))
		memset(c->buffer, 0, size); /* no page faults later */
	memset(&address, 0, sizeof address);
	address.sin_family = AF_INET;
	address.sin_port = htons((uint16_t)agent_number("port", 1883));
	inet_pton(AF_INET, agent_text("host", "127.0.0.1"), &address.sin_addr);
	c->socket = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(c->socket, (struct sockaddr *)&address, sizeof address))
		agent_fail("connect", errno);
	int on = 1;
	setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	begin(c->socket);
	return c;
}

int main(void)
{
	agent_begin("floor-c", "");
	long long n = agent_connections();
	bool threads = strcmp(agent_text("by", "threads"), "threads") == 0;
	pthread_t thread;
	everybody = epoll_create1(0);
	for (long long i = 0; i < n; i++) {
		struct connection *c = opened(*agent_text("by", "") ? 1 << 14 : 1 << 22);
		struct epoll_event e = {EPOLLIN, {.ptr = c}};
		if (threads)
			pthread_create(&thread, NULL, reader, c);
		else
			epoll_ctl(everybody, EPOLL_CTL_ADD, c->socket, &e);
	}
	if (!threads)
		pthread_create(&thread, NULL, run_all, NULL);
	agent_wait_stop();
	agent_end();
	return 0;
}
