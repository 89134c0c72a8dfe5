/* paho.mqtt.c, asynchronous. Package: libpaho-mqtt-dev. */
#include "agent.h"
/* effort: c-paho */
#include <MQTTAsync.h>
/* effort: end */

/* effort: c-paho */
static int on_message(void *context, char *topic, int length, MQTTAsync_message *m)
{
	(void)context, (void)length;
	agent_received(m->payload, (size_t)m->payloadlen);
	MQTTAsync_freeMessage(&m);
	MQTTAsync_free(topic);
	return 1;
/* effort: end */
}

/* effort: c-paho */
static void on_failure(void *context, MQTTAsync_failureData *d)
{
	(void)context;
	/* effort: end */
	if (agent_reconnects()) /* the library tries again */
		return;
	/* effort: c-paho */
	agent_fail("connecting or subscribing failed", d ? d->code : 0);
/* effort: end */
}

/* effort: c-paho */
static void on_subscribe(void *context, MQTTAsync_successData *d)
{
	(void)context, (void)d;
	agent_ready();
/* effort: end */
}

/* effort: c-paho */
static void subscribe(void *client, char *cause)
{
	(void)cause;
	MQTTAsync_responseOptions o = MQTTAsync_responseOptions_initializer;
	o.onSuccess = on_subscribe;
	o.onFailure = on_failure;
	MQTTAsync_subscribe((MQTTAsync)client, agent_text("topic", "t"), (int)agent_number("qos", 0), &o);
/* effort: end */
}

static void on_log(enum MQTTASYNC_TRACE_LEVELS level, char *text)
{
	(void)level;
	fprintf(stderr, "%s\n", text);
}

/* Connected for the first time, or again. */
static void on_connect(void *client, char *cause)
{
	static bool before;
	if (!before || agent_resubscribes())
		subscribe(client, cause);
	before = agent_connections() == 1;
}

static const char *version(void)
{
	for (MQTTAsync_nameValue *v = MQTTAsync_getVersionInfo(); v->name; v++)
		if (strcmp(v->name, "Version") == 0)
			return v->value;
	return "";
}

int main(void)
{
	agent_begin("paho.mqtt.c", version());
	char url[160];
	char *ca = agent_text("tls_ca", "");
	snprintf(url, sizeof url, "%s://%s:%lld", *ca ? "ssl" : "tcp", agent_text("host", "127.0.0.1"), agent_number("port", 1883));
	if (agent_number("log", 0)) {
		MQTTAsync_setTraceCallback(on_log);
		MQTTAsync_setTraceLevel(MQTTASYNC_TRACE_PROTOCOL);
	}
	MQTTAsync_SSLOptions tls = MQTTAsync_SSLOptions_initializer;
	tls.trustStore = ca;
	for (long long i = 0; i < agent_connections(); i++) {
		/* effort: c-paho */
		MQTTAsync client;
		if (MQTTAsync_create(&client, url, agent_client_id(i), MQTTCLIENT_PERSISTENCE_NONE, NULL))
			agent_fail("no client could be made", 0);
		MQTTAsync_setCallbacks(client, client, NULL, on_message, NULL);
		MQTTAsync_setConnected(client, client, on_connect);
		MQTTAsync_connectOptions o = MQTTAsync_connectOptions_initializer;
		o.keepAliveInterval = (int)agent_number("keepalive", 60);
		o.cleansession = 1;
		o.onFailure = on_failure;
		o.context = client;
		/* effort: end */
		o.automaticReconnect = agent_reconnects();
		o.minRetryInterval = o.maxRetryInterval = 1;
		if (*ca)
			o.ssl = &tls;
		/* effort: c-paho */
		if (MQTTAsync_connect(client, &o))
			agent_fail("connect", 0);
		/* effort: end */
	}
	agent_wait_stop();
	agent_end();
	return 0;
}
