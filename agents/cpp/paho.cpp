// paho.mqtt.cpp, asynchronous. Packages: libpaho-mqttpp-dev libpaho-mqtt-dev.
#include "../c/agent.h"
// effort: cpp-paho
#include <mqtt/async_client.h>
// effort: end
#include <string>

int main()
{
	agent_begin("paho.mqtt.cpp", "");
	std::string ca = agent_text("tls_ca", "");
	std::string url = std::string(ca.empty() ? "tcp" : "ssl") + "://" + agent_text("host", "127.0.0.1") + ":" + std::to_string(agent_number("port", 1883));
	// effort: cpp-paho
	mqtt::connect_options options;
	options.set_clean_session(true);
	options.set_keep_alive_interval(static_cast<int>(agent_number("keepalive", 60)));
	// effort: end
	if (agent_reconnects())
		options.set_automatic_reconnect(1, 1);
	if (!ca.empty()) {
		mqtt::ssl_options tls;
		tls.set_trust_store(ca);
		options.set_ssl(tls);
	}
	for (long long i = 0; i < agent_connections(); i++) { // they live as long as the program
		// effort: cpp-paho
		auto *client = new mqtt::async_client(url, agent_client_id(i));
		client->set_message_callback([](mqtt::const_message_ptr m) {
			const auto &payload = m->get_payload_ref();
			agent_received(payload.data(), payload.size());
		});
		try {
			client->connect(options)->wait();
			client->subscribe(agent_text("topic", "t"), static_cast<int>(agent_number("qos", 0)))->wait();
		} catch (const mqtt::exception &e) {
			agent_fail("connecting or subscribing failed", e.get_reason_code());
		// effort: end
		}
		if (agent_reconnects() && agent_resubscribes())
			client->set_connected_handler([client](const std::string &) { client->subscribe(agent_text("topic", "t"), static_cast<int>(agent_number("qos", 0))); });
		agent_ready();
	}
	agent_wait_stop();
	agent_end();
	return 0;
}
