// mosquittopp. Package: libmosquittopp-dev.
#include "../c/agent.h"
// effort: cpp-mosquittopp
#include <mosquittopp.h>
// effort: end
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

// effort: cpp-mosquittopp
struct Client : mosqpp::mosquittopp {
	explicit Client(const char *id) : mosquittopp(id, true) {}
	void on_message(const struct mosquitto_message *m) override { agent_received(m->payload, static_cast<size_t>(m->payloadlen)); }
	void on_connect(int code) override
	{
		if (code)
			agent_fail("CONNACK", code);
// effort: end
		if (agent_number("nodelay", 0)) { // the wrapper has no option for it
			int on = 1;
			setsockopt(socket(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		}
		if (!subscribed || agent_resubscribes())
			// effort: cpp-mosquittopp
			subscribe(nullptr, agent_text("topic", "t"), static_cast<int>(agent_number("qos", 0)));
			// effort: end
	}
	// effort: cpp-mosquittopp
	void on_subscribe(int, int, const int *) override
	{
		subscribed = true;
		agent_ready();
	// effort: end
	}
	void on_log(int, const char *text) override
	{
		if (logs)
			fprintf(stderr, "%s\n", text);
	}
	bool subscribed = false, logs = agent_number("log", 0) != 0;
};

static Client *publisher;
static char *publish_topic;

static void publish(const char *payload, size_t n, int qos) { publisher->publish(nullptr, publish_topic, static_cast<int>(n), payload, qos); }

int main()
{
	int major, minor, revision;
	char version[32];
	mosqpp::lib_version(&major, &minor, &revision);
	snprintf(version, sizeof version, "%d.%d.%d", major, minor, revision);
	agent_begin("mosquittopp", version);
	// effort: cpp-mosquittopp
	mosqpp::lib_init();
	// effort: end
	char *ca = agent_text("tls_ca", "");
	for (long long i = 0; i < agent_connections(); i++) { // they live as long as the program
		// effort: cpp-mosquittopp
		Client *client = new Client(agent_client_id(i));
		// effort: end
		publisher = client;
		if (*ca)
			client->tls_set(ca);
		// effort: cpp-mosquittopp
		int code = client->connect(agent_text("host", "127.0.0.1"), static_cast<int>(agent_number("port", 1883)), static_cast<int>(agent_number("keepalive", 60)));
		if (code)
			agent_fail(mosqpp::strerror(code), code);
		// effort: end
		if (agent_connections() > 1)
			agent_check_select("libmosquitto", i + 1);
		// effort: cpp-mosquittopp
		client->loop_start();
		// effort: end
	}
	publish_topic = agent_text("publish", "");
	if (*publish_topic)
		agent_publish(publish, agent_sleep_until);
	agent_wait_stop();
	agent_end();
	return 0;
}
