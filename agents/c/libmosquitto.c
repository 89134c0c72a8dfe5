/* libmosquitto. Package: libmosquitto-dev. */
#include "agent.h"
/* effort: c-libmosquitto */
#include <mosquitto.h>
/* effort: end */
#include <sys/epoll.h>

static char *loop;
static bool subscribed;

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
	(void)o;
	if (code)
		agent_fail("CONNACK", code);
/* effort: end */
	if (!subscribed || agent_resubscribes())
		/* effort: c-libmosquitto */
		mosquitto_subscribe(m, NULL, agent_text("topic", "t"), (int)agent_number("qos", 0));
		/* effort: end */
}

/* effort: c-libmosquitto */
static void on_subscribe(struct mosquitto *m, void *o, int id, int n, const int *granted)
{
	(void)m, (void)o, (void)id, (void)n, (void)granted;
	subscribed = true;
	agent_ready();
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
	mosquitto_publish(publisher, NULL, publish_topic, (int)n, payload, qos, false);
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
	return NULL;
}

static struct mosquitto *connected(long long i)
{
	/* effort: c-libmosquitto */
	struct mosquitto *m = mosquitto_new(agent_client_id(i), true, NULL);
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
	struct mosquitto *m = connected(0);
	publisher = m;
	publish_topic = agent_text("publish", "");
	bool publishing = *publish_topic, threaded = strcmp(loop, "start") == 0;
	if (publishing && !threaded) {
		while (!subscribed && mosquitto_loop(m, 100, 1) == MOSQ_ERR_SUCCESS)
			;
		agent_publish(publish, between);
	} else if (strcmp(loop, "start") == 0) {
		mosquitto_loop_start(m);
	} else {
		pthread_t thread;
		mosquitto_threaded_set(m, true);
		pthread_create(&thread, NULL, run, m);
	}
	if (publishing && threaded)
		agent_publish(publish, between);
	agent_wait_stop();
	agent_end();
	return 0;
}
