/* libmosquitto. Package: libmosquitto-dev. */
#include "agent.h"
/* effort: c-libmosquitto */
#include <mosquitto.h>
/* effort: end */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

enum { MOST_IN_POOL = 64 };

static char *loop;
static bool subscribed;
static struct mosquitto *pool[MOST_IN_POOL]; /* connections that publish in turn; the first receives */
static int pooled = 1, pool_wanted = 1, pool_ready;

/* The subscription is confirmed, or a connection of the pool that only publishes is there. */
static void one_is_ready(void)
{
	if (__atomic_add_fetch(&pool_ready, 1, __ATOMIC_ACQ_REL) == pool_wanted || pool_wanted == 1)
		agent_ready();
}

/* effort: c-libmosquitto */
static void on_message(struct mosquitto *m, void *o, const struct mosquitto_message *msg)
{
	(void)m, (void)o;
	agent_received(msg->payload, (size_t)msg->payloadlen);
/* effort: end */
}

/* effort: c-libmosquitto */
static void on_connect(struct mosquitto *m, void *o, int code)
{
	if (code)
		agent_fail("CONNACK", code);
/* effort: end */
	if (o == pool) /* it only publishes */
		one_is_ready();
	else if (!subscribed || agent_resubscribes())
		/* effort: c-libmosquitto */
		mosquitto_subscribe(m, NULL, agent_text("topic", "t"), (int)agent_number("qos", 0));
		/* effort: end */
}

/* effort: c-libmosquitto */
static void on_subscribe(struct mosquitto *m, void *o, int id, int n, const int *granted)
{
	(void)m, (void)o, (void)id, (void)n, (void)granted;
	subscribed = true;
	one_is_ready();
/* effort: end */
}

static void on_log(struct mosquitto *m, void *o, int level, const char *text)
{
	(void)m, (void)o, (void)level;
	fprintf(stderr, "%s\n", text);
}

static struct mosquitto *publisher;
static char *publish_topic;

static void publish(const char *payload, size_t n, int qos)
{
	static unsigned turn;
	if (pooled > 1)
		publisher = pool[turn++ % (unsigned)pooled];
	mosquitto_publish(publisher, NULL, publish_topic, (int)n, payload, qos, false);
}

/* A queue without a lock, from the thread that publishes to the one that runs the library. */
enum { QUEUE_LENGTH = 4096 };

static struct {
	char *payload;
	size_t n;
	int qos;
} queue[QUEUE_LENGTH];
static uint64_t queue_put, queue_got;
static int queue_bell = -1; /* rings when something was put, if there is one */

static void enqueue(const char *payload, size_t n, int qos)
{
	uint64_t i = queue_put, one = 1;
	if (i - __atomic_load_n(&queue_got, __ATOMIC_ACQUIRE) == QUEUE_LENGTH) {
		agent_queue_drops++;
		return;
	}
	char *copy = (char *)malloc(n);
	memcpy(copy, payload, n);
	queue[i % QUEUE_LENGTH].payload = copy;
	queue[i % QUEUE_LENGTH].n = n;
	queue[i % QUEUE_LENGTH].qos = qos;
	__atomic_store_n(&queue_put, i + 1, __ATOMIC_RELEASE);
	if (queue_bell >= 0 && write(queue_bell, &one, sizeof one) != sizeof one)
		agent_fail("eventfd", errno);
}

static void publish_queued(void)
{
	for (uint64_t i = queue_got; i != __atomic_load_n(&queue_put, __ATOMIC_ACQUIRE); i++) {
		publish(queue[i % QUEUE_LENGTH].payload, queue[i % QUEUE_LENGTH].n, queue[i % QUEUE_LENGTH].qos);
		free(queue[i % QUEUE_LENGTH].payload);
		__atomic_store_n(&queue_got, i + 1, __ATOMIC_RELEASE);
	}
}

/* One turn that waits at most a second for the socket or the bell. */
static int turn_with_bell(struct mosquitto *m)
{
	uint64_t rung;
	struct pollfd fds[2] = {{mosquitto_socket(m), (short)(POLLIN | (mosquitto_want_write(m) ? POLLOUT : 0)), 0}, {queue_bell, POLLIN, 0}};
	if (poll(fds, 2, 1000) < 0 && errno != EINTR)
		return MOSQ_ERR_ERRNO;
	if (fds[1].revents && read(queue_bell, &rung, sizeof rung) != sizeof rung)
		return MOSQ_ERR_ERRNO;
	if (fds[0].revents & POLLOUT)
		mosquitto_loop_write(m, 1);
	int code = fds[0].revents & ~POLLOUT ? mosquitto_loop_read(m, 1) : MOSQ_ERR_SUCCESS;
	return code == MOSQ_ERR_SUCCESS ? mosquitto_loop_misc(m) : code;
}

/* What a publishing program does between two messages, by the way it runs the library. */
static void between(uint64_t until)
{
	long long interval = agent_number("interval_ns", 100000000);
	if (strcmp(loop, "sleep") == 0) { /* one turn that does not wait, then a sleep of the whole interval */
		mosquitto_loop(publisher, 0, 1);
		usleep((useconds_t)(interval / 1000));
	} else if (strcmp(loop, "block") == 0) { /* one turn that waits, then a sleep */
		mosquitto_loop(publisher, -1, 1);
		usleep((useconds_t)(interval / 1000));
	} else if (strcmp(loop, "deadline") == 0) { /* the library waits for messages until the next one is due */
		for (uint64_t now; (now = agent_now()) < until;)
			mosquitto_loop(publisher, (int)((until - now) / 1000000), 1);
	} else {
		agent_sleep_until(until);
	}
}

/* The ways of running the library that are not its own thread. */
static void *run(void *o)
{
	struct mosquitto *m = (struct mosquitto *)o;
	if (strcmp(loop, "forever") == 0)
		mosquitto_loop_forever(m, -1, 1);
	while (strcmp(loop, "own") == 0 && mosquitto_loop(m, 1000, 1) == MOSQ_ERR_SUCCESS)
		;
	while (strcmp(loop, "sleep") == 0 && mosquitto_loop(m, 0, 1) == MOSQ_ERR_SUCCESS)
		usleep((useconds_t)agent_number("sleep_us", 10000));
	while (strcmp(loop, "queue") == 0 && mosquitto_loop(m, 1000, 1) == MOSQ_ERR_SUCCESS)
		publish_queued();
	while (strcmp(loop, "bell") == 0 && turn_with_bell(m) == MOSQ_ERR_SUCCESS)
		publish_queued();
	return NULL;
}

static bool queued(void) { return strcmp(loop, "queue") == 0 || strcmp(loop, "bell") == 0; }

static struct mosquitto *connection(const char *id, void *o)
{
	/* effort: c-libmosquitto */
	struct mosquitto *m = mosquitto_new(id, true, o);
	mosquitto_message_callback_set(m, on_message);
	mosquitto_connect_callback_set(m, on_connect);
	mosquitto_subscribe_callback_set(m, on_subscribe);
	/* effort: end */
	if (agent_number("log", 0))
		mosquitto_log_callback_set(m, on_log);
	if (agent_number("nodelay", 0))
		mosquitto_int_option(m, MOSQ_OPT_TCP_NODELAY, 1);
	char *ca = agent_text("tls_ca", "");
	if (*ca)
		mosquitto_tls_set(m, ca, NULL, NULL, NULL, NULL);
	/* effort: c-libmosquitto */
	int code = mosquitto_connect(m, agent_text("host", "127.0.0.1"), (int)agent_number("port", 1883), (int)agent_number("keepalive", 60));
	if (code)
		agent_fail(mosquitto_strerror(code), code);
	/* effort: end */
	return m;
}

static struct mosquitto *connected(long long i) { return connection(agent_client_id(i), NULL); }

/* The connections of the pool that only publish, each with a thread of the library. */
static void fill_pool(void)
{
	for (char id[200]; pooled < pool_wanted; pooled++) {
		snprintf(id, sizeof id, "%s-pool-%d", agent_text("client_id", "agent"), pooled);
		pool[pooled] = connection(id, pool);
		mosquitto_loop_start(pool[pooled]);
	}
}

/* One loop for all connections. */
static void *run_all(void *poll)
{
	struct epoll_event list[64];
	for (;;) {
		int n = epoll_wait(*(int *)poll, list, 64, 1000);
		for (int i = 0; i < n; i++) {
			struct mosquitto *m = (struct mosquitto *)list[i].data.ptr;
			if (mosquitto_loop_read(m, 1) != MOSQ_ERR_SUCCESS)
				return NULL;
			if (mosquitto_want_write(m))
				mosquitto_loop_write(m, 1);
			mosquitto_loop_misc(m);
		}
	}
}

/* Several connections, each with the library's thread, or all in one loop of ours. */
static void several(long long n)
{
	bool threads = strcmp(agent_text("by", ""), "threads") == 0;
	int poll = epoll_create1(0);
	for (long long i = 0; i < n; i++) {
		struct mosquitto *m = connected(i);
		if (threads) {
			agent_check_select("libmosquitto", i + 1);
			/* effort: c-libmosquitto */
			mosquitto_loop_start(m);
			/* effort: end */
			continue;
		}
		struct epoll_event e = {EPOLLIN, {.ptr = m}};
		epoll_ctl(poll, EPOLL_CTL_ADD, mosquitto_socket(m), &e);
	}
	if (threads)
		return;
	pthread_t thread;
	static int descriptor;
	descriptor = poll;
	pthread_create(&thread, NULL, run_all, &descriptor);
}

int main(void)
{
	int major, minor, revision;
	char version[32];
	mosquitto_lib_version(&major, &minor, &revision);
	snprintf(version, sizeof version, "%d.%d.%d", major, minor, revision);
	agent_begin("libmosquitto", version);
	/* effort: c-libmosquitto */
	mosquitto_lib_init();
	/* effort: end */
	loop = agent_text("loop", "start");
	if (*agent_text("by", "")) {
		several(agent_connections());
		agent_wait_stop();
		agent_end();
		return 0;
	}
	pool_wanted = (int)agent_number("pool", 1);
	if (pool_wanted < 1 || pool_wanted > MOST_IN_POOL)
		agent_fail("a pool of this size", pool_wanted);
	if (strcmp(loop, "bell") == 0 && (queue_bell = eventfd(0, 0)) < 0)
		agent_fail("eventfd", errno);
	struct mosquitto *m = connected(0);
	publisher = pool[0] = m;
	publish_topic = agent_text("publish", "");
	bool publishing = *publish_topic, threaded = strcmp(loop, "start") == 0;
	if (publishing && !threaded && !queued()) {
		while (!subscribed && mosquitto_loop(m, 100, 1) == MOSQ_ERR_SUCCESS)
			;
		agent_publish(publish, between);
	} else if (threaded) {
		mosquitto_loop_start(m);
		fill_pool();
	} else {
		pthread_t thread;
		mosquitto_threaded_set(m, !queued());
		pthread_create(&thread, NULL, run, m);
	}
	if (publishing && (threaded || queued()))
		agent_publish(queued() ? enqueue : publish, between);
	agent_wait_stop();
	agent_end();
	return 0;
}
