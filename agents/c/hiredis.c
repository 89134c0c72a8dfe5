/* hiredis, Redis publish/subscribe. Package: libhiredis-dev. */
#include "agent.h"
/* effort: c-hiredis */
#include <hiredis/hiredis.h>
/* effort: end */

static redisContext *redis;

static void *reader(void *unused)
{
	/* effort: c-hiredis */
	redisReply *r;
	/* effort: end */
	(void)unused;
	/* effort: c-hiredis */
	while (redisGetReply(redis, (void **)&r) == REDIS_OK) {
		if (r->type == REDIS_REPLY_ARRAY && r->elements == 3) {
			if (strcmp(r->element[0]->str, "message") == 0)
				agent_received(r->element[2]->str, (size_t)r->element[2]->len);
			else
				agent_ready();
		}
		freeReplyObject(r);
	/* effort: end */
	}
	return NULL;
}

int main(void)
{
	char version[32];
	snprintf(version, sizeof version, "%d.%d.%d", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
	agent_begin("hiredis", version);
	/* effort: c-hiredis */
	redis = redisConnect(agent_text("host", "127.0.0.1"), (int)agent_number("port", 6379));
	if (!redis || redis->err)
		agent_fail("connect", redis ? redis->err : 0);
	redisAppendCommand(redis, "SUBSCRIBE %s", agent_text("topic", "t"));
	/* effort: end */
	pthread_t thread;
	pthread_create(&thread, NULL, reader, NULL);
	agent_wait_stop();
	agent_end();
	return 0;
}
