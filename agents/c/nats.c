/* nats.c. Package: libnats-dev. */
#include "agent.h"
/* effort: c-nats */
#include <nats/nats.h>
/* effort: end */

/* effort: c-nats */
static void on_message(natsConnection *c, natsSubscription *s, natsMsg *m, void *unused)
{
	(void)c, (void)s, (void)unused;
	agent_received(natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m));
	natsMsg_Destroy(m);
}
/* effort: end */

int main(void)
{
	agent_begin("nats.c", nats_GetVersion());
	char url[160];
	snprintf(url, sizeof url, "nats://%s:%lld", agent_text("host", "127.0.0.1"), agent_number("port", 4222));
	/* effort: c-nats */
	natsConnection *c;
	natsSubscription *s;
	natsStatus status = natsConnection_ConnectTo(&c, url);
	if (status == NATS_OK)
		status = natsConnection_Subscribe(&s, c, agent_text("topic", "t"), on_message, NULL);
	if (status == NATS_OK)
		status = natsConnection_Flush(c);
	if (status != NATS_OK)
		agent_fail(natsStatus_GetText(status), (int)status);
	/* effort: end */
	agent_ready();
	agent_wait_stop();
	agent_end();
	return 0;
}
