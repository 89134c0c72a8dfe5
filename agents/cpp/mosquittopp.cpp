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
		// effort: cpp-mosquittopp
		subscribe(nullptr, agent_text("topic", "t"), static_cast<int>(agent_number("qos", 0)));
	}
	void on_subscribe(int, int, const int *) override { agent_ready(); }
		// effort: end
};

int main()
{
	int major, minor, revision;
	char version[32];
	mosqpp::lib_version(&major, &minor, &revision);
	snprintf(version, sizeof version, "%d.%d.%d", major, minor, revision);
	agent_begin("mosquittopp", version);
	// effort: cpp-mosquittopp
	mosqpp::lib_init();
	Client client(agent_text("client_id", "mosquittopp"));
	// effort: end
	char *ca = agent_text("tls_ca", "");
	if (*ca)
		client.tls_set(ca);
	// effort: cpp-mosquittopp
	int code = client.connect(agent_text("host", "127.0.0.1"), static_cast<int>(agent_number("port", 1883)), static_cast<int>(agent_number("keepalive", 60)));
	if (code)
		agent_fail(mosqpp::strerror(code), code);
	client.loop_start();
	// effort: end
	agent_wait_stop();
	agent_end();
	return 0;
}
