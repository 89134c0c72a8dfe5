/* libmosquitto. Package: libmosquitto-dev. */
#include "agent.h"
#include <mosquitto.h>

static char *loop;

static void on_message(struct mosquitto *m, void *o, const struct mosquitto_message *msg)
{
	(void)m, (void)o;
	agent_received(msg->payload, (size_t)msg->payloadlen);
}

static void on_connect(struct mosquitto *m, void *o, int code)
{
	(void)o;
	if (code)
		agent_fail("CONNACK", code);
	mosquitto_subscribe(m, NULL, agent_text("topic", "t"), (int)agent_number("qos", 0));
}

static void on_subscribe(struct mosquitto *m, void *o, int id, int n, const int *granted)
{
	(void)m, (void)o, (void)id, (void)n, (void)granted;
	agent_ready();
}

static void on_log(struct mosquitto *m, void *o, int level, const char *text)
{
	(void)m, (void)o, (void)level;
	fprintf(stderr, "%s\n", text);
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

int main(void)
{
	int major, minor, revision;
	char version[32];
	mosquitto_lib_version(&major, &minor, &revision);
	snprintf(version, sizeof version, "%d.%d.%d", major, minor, revision);
	agent_begin("libmosquitto", version);
	mosquitto_lib_init();
	struct mosquitto *m = mosquitto_new(agent_text("client_id", "libmosquitto"), true, NULL);
	mosquitto_message_callback_set(m, on_message);
	mosquitto_connect_callback_set(m, on_connect);
	mosquitto_subscribe_callback_set(m, on_subscribe);
	if (agent_number("log", 0))
		mosquitto_log_callback_set(m, on_log);
	if (agent_number("nodelay", 0))
		mosquitto_int_option(m, MOSQ_OPT_TCP_NODELAY, 1);
	char *ca = agent_text("tls_ca", "");
	if (*ca)
		mosquitto_tls_set(m, ca, NULL, NULL, NULL, NULL);
	int code = mosquitto_connect(m, agent_text("host", "127.0.0.1"), (int)agent_number("port", 1883), (int)agent_number("keepalive", 60));
	if (code)
		agent_fail(mosquitto_strerror(code), code);
	loop = agent_text("loop", "start");
	if (strcmp(loop, "start") == 0) {
		mosquitto_loop_start(m);
	} else {
		pthread_t thread;
		mosquitto_threaded_set(m, true);
		pthread_create(&thread, NULL, run, m);
	}
	agent_wait_stop();
	agent_end();
	return 0;
}
