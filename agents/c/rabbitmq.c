/* rabbitmq-c, AMQP 0-9-1. Package: librabbitmq-dev. */
#include "agent.h"
#if __has_include(<rabbitmq-c/amqp.h>)
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/ssl_socket.h>
#include <rabbitmq-c/tcp_socket.h>
#else
/* effort: c-rabbitmq */
#include <amqp.h>
/* effort: end */
#include <amqp_ssl_socket.h>
/* effort: c-rabbitmq */
#include <amqp_tcp_socket.h>
/* effort: end */
#endif

/* effort: c-rabbitmq */
static void need(amqp_rpc_reply_t r, const char *what)
{
	if (r.reply_type != AMQP_RESPONSE_NORMAL)
		agent_fail(what, r.library_error);
/* effort: end */
}

static void *reader(void *c)
{
	amqp_connection_state_t connection = (amqp_connection_state_t)c;
	/* effort: c-rabbitmq */
	for (amqp_envelope_t e;; amqp_destroy_envelope(&e)) {
		amqp_maybe_release_buffers(connection);
		if (amqp_consume_message(connection, &e, NULL, 0).reply_type != AMQP_RESPONSE_NORMAL)
			return NULL;
		agent_received(e.message.body.bytes, e.message.body.len);
		if (agent_number("qos", 0))
			amqp_basic_ack(connection, 1, e.delivery_tag, 0);
	/* effort: end */
	}
}

static amqp_connection_state_t connected(void)
{
	/* effort: c-rabbitmq */
	amqp_connection_state_t connection = amqp_new_connection();
	/* effort: end */
	char *ca = agent_text("tls_ca", "");
	/* effort: c-rabbitmq */
	amqp_socket_t *socket = *ca ? amqp_ssl_socket_new(connection) : amqp_tcp_socket_new(connection);
	/* effort: end */
	int code = *ca ? amqp_ssl_socket_set_cacert(socket, ca) : 0;
	if (!code)
		/* effort: c-rabbitmq */
		code = amqp_socket_open(socket, agent_text("host", "127.0.0.1"), (int)agent_number("port", 5672));
	if (code)
		agent_fail("connect", code);
	need(amqp_login(connection, "/", 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest"), "login");
	amqp_channel_open(connection, 1);
	need(amqp_get_rpc_reply(connection), "channel");
	amqp_bytes_t queue = amqp_cstring_bytes(agent_text("topic", "t"));
	amqp_queue_declare(connection, 1, queue, 0, 0, 0, 1, amqp_empty_table);
	need(amqp_get_rpc_reply(connection), "queue");
	amqp_basic_consume(connection, 1, queue, amqp_empty_bytes, 0, !agent_number("qos", 0), 0, amqp_empty_table);
	need(amqp_get_rpc_reply(connection), "consume");
		/* effort: end */
	return connection;
}

int main(void)
{
	agent_begin("rabbitmq-c", amqp_version());
	for (long long i = 0; i < agent_connections(); i++) {
		amqp_connection_state_t connection = connected();
		agent_ready();
		pthread_t thread;
		pthread_create(&thread, NULL, reader, connection);
	}
	agent_wait_stop();
	agent_end();
	return 0;
}
