/* hiredis, Redis publish/subscribe. Package: libhiredis-dev. */
#include "agent.h"
/* effort: c-hiredis */
#include <hiredis/hiredis.h>
/* effort: end */

static void *reader(void *redis)
{
	/* effort: c-hiredis */
	redisReply *r;
	while (redisGetReply((redisContext *)redis, (void **)&r) == REDIS_OK) {
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
	for (long long i = 0; i < agent_connections(); i++) {
		/* effort: c-hiredis */
		redisContext *redis = redisConnect(agent_text("host", "127.0.0.1"), (int)agent_number("port", 6379));
		if (!redis || redis->err)
			agent_fail("connect", redis ? redis->err : 0);
		redisAppendCommand(redis, "SUBSCRIBE %s", agent_text("topic", "t"));
		/* effort: end */
		pthread_t thread;
		pthread_create(&thread, NULL, reader, redis);
	}
	agent_wait_stop();
	agent_end();
	return 0;
}
