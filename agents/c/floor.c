/* The floor of C: a socket and no library. What others add is what they take longer than this. */
#include "agent.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static int connection;
static unsigned char buffer[1 << 22];

static void send_all(const unsigned char *b, size_t n)
{
	if (write(connection, b, n) != (ssize_t)n)
		agent_fail("write", errno);
}

/* One whole packet at b, of n bytes; its length, or 0 if it is not whole yet. */
static size_t packet(const unsigned char *b, size_t n)
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
			send_all((const unsigned char[]){0x40, 2, body[head - 2], body[head - 1]}, 4);
		if (qos == 2)
			send_all((const unsigned char[]){0x50, 2, body[head - 2], body[head - 1]}, 4);
	} else if (b[0] >> 4 == 6) {
		send_all((const unsigned char[]){0x70, 2, body[0], body[1]}, 4);
	} else if (b[0] >> 4 == 9) {
		agent_ready();
	}
	return i + length;
}

static void *reader(void *unused)
{
	size_t n = 0;
	(void)unused;
	for (ssize_t got; (got = recv(connection, buffer + n, sizeof buffer - n, 0)) > 0;) {
		size_t done = 0;
		n += (size_t)got;
		for (size_t used; (used = packet(buffer + done, n - done)) > 0;)
			done += used;
		if (done) {
			memmove(buffer, buffer + done, n - done);
			n -= done;
		}
	}
	return NULL;
}

static void begin(void)
{
	const unsigned char connect[] = {0x10, 17, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 2, 88, 0, 5, 'f', 'l', 'o', 'o', 'r'};
	unsigned char answer[4], subscribe[300] = {0x82};
	send_all(connect, sizeof connect);
	if (recv(connection, answer, 4, MSG_WAITALL) != 4 || answer[3])
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
	send_all(subscribe, 7 + n);
}

int main(void)
{
	agent_begin("floor-c", "");
	memset(buffer, 0, sizeof buffer);
	struct sockaddr_in address;
	memset(&address, 0, sizeof address);
	address.sin_family = AF_INET;
	address.sin_port = htons((uint16_t)agent_number("port", 1883));
	inet_pton(AF_INET, agent_text("host", "127.0.0.1"), &address.sin_addr);
	connection = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(connection, (struct sockaddr *)&address, sizeof address))
		agent_fail("connect", errno);
	int on = 1;
	setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	begin();
	pthread_t thread;
	pthread_create(&thread, NULL, reader, NULL);
	agent_wait_stop();
	agent_end();
	return 0;
}
