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
/* effort: end */
}

int main(void)
{
	agent_begin("nats.c", nats_GetVersion());
	char url[160];
	snprintf(url, sizeof url, "nats://%s:%lld", agent_text("host", "127.0.0.1"), agent_number("port", 4222));
	/* effort: c-nats */
	natsOptions *o;
	natsStatus status = natsOptions_Create(&o);
	/* effort: end */
	char *ca = agent_text("tls_ca", "");
	if (status == NATS_OK)
		/* effort: c-nats */
		status = natsOptions_SetURL(o, url);
		/* effort: end */
	if (status == NATS_OK && *ca) {
		natsOptions_SetSecure(o, true);
		status = natsOptions_LoadCATrustedCertificates(o, ca);
	}
	for (long long i = 0; i < agent_connections() && status == NATS_OK; i++) {
		/* effort: c-nats */
		natsConnection *c;
		natsSubscription *s;
		status = natsConnection_Connect(&c, o);
		if (status == NATS_OK)
			status = natsConnection_Subscribe(&s, c, agent_text("topic", "t"), on_message, NULL);
		if (status == NATS_OK)
			status = natsConnection_Flush(c);
		/* effort: end */
		if (status == NATS_OK)
			agent_ready();
	}
	if (status != NATS_OK)
		agent_fail(natsStatus_GetText(status), (int)status);
	agent_wait_stop();
	agent_end();
	return 0;
}
