/* The agent protocol for C and C++; see ../README.md. Include it once. */
#ifndef MQLAB_AGENT_H
#define MQLAB_AGENT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

enum { AGENT_RECEIVED = 1, AGENT_SENT = 2, AGENT_PAUSE = 3 };

struct agent_header {
	char magic[8];
	uint32_t version, record;
	uint64_t capacity, count, dropped, reserved[3];
};

struct agent_record {
	uint32_t kind, seq;
	uint64_t a, b, c;
};

static char agent_job[1 << 14];
static struct agent_header *agent_samples;
static struct agent_record *agent_records;
static uint64_t agent_taken;

/* What the callback does besides: nothing, work, or hand over to another thread. */
static long long agent_work_ns, agent_work_every = 1, agent_disk_bytes;
static int agent_disk = -1;
static bool agent_queued, agent_blocks;
static uint32_t agent_confirmed;
static char agent_ring[1024];
static uint64_t agent_put, agent_got, agent_queue_drops;
static pthread_mutex_t agent_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t agent_filled = PTHREAD_COND_INITIALIZER;

static inline uint64_t agent_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void agent_say(const char *json)
{
	char line[1024];
	int n = snprintf(line, sizeof line, "%s\n", json);
	if (write(1, line, (size_t)n) != n)
		_exit(3);
}

static inline void agent_fail(const char *what, int code)
{
	char line[256];
	snprintf(line, sizeof line, "{\"event\":\"error\",\"what\":\"%s\",\"code\":%d}", what, code);
	agent_say(line);
	exit(1);
}

/* A library that waits by select() takes descriptors below FD_SETSIZE only, and says nothing of a higher one: that is said here, behind a
   connection, of which open have been made. */
static inline void agent_check_select(const char *library, long long open)
{
	char what[200];
	int next = dup(0); /* the lowest that is free */
	if (next >= 0)
		close(next);
	if (next >= 0 && next <= FD_SETSIZE)
		return;
	snprintf(what, sizeof what, "%s waits by select(), which takes descriptors below %d, and each connection has several: by threads it can have %lld",
		library, FD_SETSIZE, open - 1);
	agent_fail(what, next < 0 ? errno : next);
}

/* The value of a key of the job. It is flat, and its strings have no escapes. */
static inline const char *agent_find(const char *key)
{
	char pattern[80];
	snprintf(pattern, sizeof pattern, "\"%s\":", key);
	const char *p = strstr(agent_job, pattern);
	return p ? p + strlen(pattern) : NULL;
}

static inline long long agent_number(const char *key, long long otherwise)
{
	const char *p = agent_find(key);
	return p ? strtoll(p, NULL, 10) : otherwise;
}

static inline char *agent_text(const char *key, const char *otherwise)
{
	const char *p = agent_find(key);
	if (!p || *p != '"')
		return strdup(otherwise);
	const char *end = strchr(p + 1, '"');
	return end ? strndup(p + 1, (size_t)(end - p - 1)) : strdup(otherwise);
}

/* A line of standard input; false at its end. */
static bool agent_line(char *line, size_t size)
{
	size_t n = 0;
	for (char c; read(0, &c, 1) == 1;) {
		if (c == '\n') {
			line[n] = 0;
			return true;
		}
		if (n + 1 < size)
			line[n++] = c;
	}
	return false;
}

/* Whether there is something to be read from standard input. */
static inline bool agent_told(void)
{
	struct pollfd in = {0, POLLIN, 0};
	return poll(&in, 1, 0) > 0;
}

/* Keeps a record. Any thread may call it. */
static inline void agent_keep(uint32_t kind, uint32_t seq, uint64_t a, uint64_t b, uint64_t c)
{
	if (!agent_samples)
		return;
	uint64_t i = __atomic_fetch_add(&agent_taken, 1, __ATOMIC_RELAXED);
	if (i >= agent_samples->capacity) {
		__atomic_fetch_add(&agent_samples->dropped, 1, __ATOMIC_RELAXED);
		return;
	}
	struct agent_record *r = &agent_records[i];
	r->seq = seq;
	r->a = a;
	r->b = b;
	r->c = c;
	__atomic_store_n(&r->kind, kind, __ATOMIC_RELEASE);
	__atomic_fetch_add(&agent_samples->count, 1, __ATOMIC_RELEASE);
}

/* The number of a message: ten digits at offset 8 of its payload. */
static inline uint32_t agent_seq(const void *payload, size_t n)
{
	const char *p = (const char *)payload;
	uint32_t seq = 0;
	for (size_t i = 8; i < 18 && n >= 18; i++)
		seq = seq * 10 + (uint32_t)(p[i] - '0');
	return seq;
}

static inline void agent_busy(long long ns)
{
	for (uint64_t end = agent_now() + (uint64_t)ns; agent_now() < end;)
		;
}

/* Writes block by block, each of which waits until it is on the disk (O_DSYNC), as a program does that keeps every message safe. */
static inline void agent_store(void)
{
	static char block[1 << 16];
	for (long long n = 0; n < agent_disk_bytes; n += (long long)sizeof block)
		if (pwrite(agent_disk, block, sizeof block, n) < 0)
			agent_fail("the disk", errno);
}

/* The counts of allocations.c, where that is put before this program. */
extern
#ifdef __cplusplus
	"C"
#endif
	void
	agent_allocations(uint64_t *number, uint64_t *size) __attribute__((weak));
static uint64_t agent_allocated_before[2];
static long long agent_count_from;

static inline void agent_work(long long ns)
{
	if (agent_blocks) {
		struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
		nanosleep(&t, NULL);
	} else {
		agent_busy(ns);
	}
}

static void *agent_worker(void *unused)
{
	(void)unused;
	for (;;) {
		pthread_mutex_lock(&agent_mutex);
		while (agent_got == agent_put)
			pthread_cond_wait(&agent_filled, &agent_mutex);
		agent_got++;
		pthread_mutex_unlock(&agent_mutex);
		agent_busy(agent_work_ns);
	}
	return NULL;
}

static inline void agent_enqueue(void)
{
	pthread_mutex_lock(&agent_mutex);
	if (agent_put - agent_got < sizeof agent_ring)
		agent_put++;
	else
		agent_queue_drops++;
	pthread_cond_signal(&agent_filled);
	pthread_mutex_unlock(&agent_mutex);
}

/* The body of the library's callback: call it first thing. */
static inline void agent_received(const void *payload, size_t n)
{
	uint64_t entered = agent_now();
	uint32_t seq = agent_seq(payload, n);
	if (seq == agent_count_from && agent_allocations)
		agent_allocations(&agent_allocated_before[0], &agent_allocated_before[1]);
	if (agent_queued)
		agent_enqueue();
	else if (seq % agent_work_every == 0) {
		if (agent_work_ns > 0)
			agent_work(agent_work_ns);
		if (agent_disk >= 0)
			agent_store();
	}
	agent_keep(AGENT_RECEIVED, seq, entered, agent_now(), n);
}

static void agent_map(const char *path, uint64_t capacity)
{
	size_t size = sizeof(struct agent_header) + capacity * sizeof(struct agent_record);
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		agent_fail("the file for samples cannot be made", errno);
	void *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (m == MAP_FAILED)
		agent_fail("the file for samples cannot be mapped", errno);
	close(fd);
	memset(m, 0, size); /* no page faults later */
	agent_samples = (struct agent_header *)m;
	agent_records = (struct agent_record *)(agent_samples + 1);
	memcpy(agent_samples->magic, "MQLABSMP", 8);
	agent_samples->version = 1;
	agent_samples->record = sizeof(struct agent_record);
	agent_samples->capacity = capacity;
}

/* Reads the job, and says who is here. */
static void agent_begin(const char *library, const char *version)
{
	if (!agent_line(agent_job, sizeof agent_job))
		exit(2);
	char *path = agent_text("samples", "");
	if (*path)
		agent_map(path, (uint64_t)agent_number("capacity", 1 << 16));
	agent_work_ns = agent_number("work_ns", 0);
	agent_work_every = agent_number("work_every", 1);
	agent_disk_bytes = agent_number("disk_bytes", 0);
	char *disk = agent_text("disk_file", "");
	if (*disk && (agent_disk = open(disk, O_RDWR | O_CREAT | O_DSYNC, 0600)) < 0)
		agent_fail("disk_file cannot be made", errno);
	char *callback = agent_text("callback", "");
	agent_queued = strcmp(callback, "queue") == 0;
	agent_blocks = strcmp(callback, "block") == 0;
	agent_count_from = agent_number("count_from", 0);
	if (agent_queued) {
		pthread_t worker;
		pthread_create(&worker, NULL, agent_worker, NULL);
	}
	char line[256];
	snprintf(line, sizeof line, "{\"event\":\"hello\",\"protocol\":1,\"library\":\"%s\",\"version\":\"%s\",\"pid\":%d}", library, version, (int)getpid());
	agent_say(line);
}

static inline long long agent_connections(void)
{
	return agent_number("connections", 1);
}

/* The name of one of several connections; of one it is that of the job. */
static inline char *agent_client_id(long long i)
{
	char *base = agent_text("client_id", "agent"), *id = (char *)malloc(strlen(base) + 24);
	if (agent_connections() == 1)
		return base;
	sprintf(id, "%s-%lld", base, i);
	return id;
}

/* Says that the subscription is confirmed: call it once for each connection. */
static inline void agent_ready(void)
{
	if (__atomic_add_fetch(&agent_confirmed, 1, __ATOMIC_RELAXED) == agent_connections())
		agent_say("{\"event\":\"ready\"}");
}

/* Whether a library that has connected again subscribes again: it does, unless the job is to see what comes of it. */
static inline bool agent_resubscribes(void)
{
	return strcmp(agent_text("reconnect", ""), "plain") != 0;
}

static inline bool agent_reconnects(void)
{
	return *agent_text("reconnect", "");
}

/* Waits for GO, and returns its time; 0 = STOP, or nobody is there any more. */
static inline uint64_t agent_wait_go(void)
{
	char line[64];
	if (!agent_line(line, sizeof line) || strncmp(line, "GO ", 3) != 0)
		return 0;
	return strtoull(line + 3, NULL, 10);
}

/* Waits for STOP, or until nobody is there any more. */
static inline void agent_wait_stop(void)
{
	char line[64];
	while (agent_line(line, sizeof line) && strcmp(line, "STOP") != 0)
		;
}

static inline void agent_sleep_until(uint64_t ns)
{
	struct timespec t;
	t.tv_sec = (time_t)(ns / 1000000000u);
	t.tv_nsec = (long)(ns % 1000000000u);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* Publishes on a schedule, after GO: count messages, one every interval_ns, or two at once (QoS 0, then QoS 1) with mix. between(until) does
 * whatever the library needs until the next one is due. */
static inline void agent_publish(void (*send)(const char *payload, size_t n, int qos), void (*between)(uint64_t until))
{
	uint64_t go = agent_wait_go();
	long long count = agent_number("count", 0), interval = agent_number("interval_ns", 100000000), mix = agent_number("mix", 0);
	long long burst = agent_number("burst", 0), burst_at = agent_number("burst_at", -1);
	size_t n = (size_t)agent_number("payload_bytes", 256);
	int qos = (int)agent_number("publish_qos", 0);
	bool fresh = agent_number("malloc", 0); /* memory of its own for each message */
	char *payload = (char *)malloc(n + 32);
	uint32_t seq = 0;
	memset(payload, 'x', n);
	memcpy(payload, "{\"seq\":\"", 8);
	memcpy(payload + n - 2, "\"}", 2);
	if (go)
		agent_sleep_until(go - (uint64_t)interval); /* between does the rest */
	for (long long i = 0; go && i < count; i++) {
		uint64_t due = go + (uint64_t)(i * interval);
		between(due);
		for (long long k = 0; k < 1 + (mix ? 1 : 0) + (i == burst_at ? burst : 0); k++, seq++) {
			uint32_t rest = seq;
			for (int d = 17; d >= 8; d--, rest /= 10)
				payload[d] = (char)('0' + rest % 10);
			payload[18] = '"';
			uint64_t began = agent_now();
			char *message = fresh ? (char *)memcpy(malloc(n), payload, n) : payload;
			send(message, n, mix && k == 1 ? 1 : qos);
			if (fresh)
				free(message);
			agent_keep(AGENT_SENT, seq, due, began, agent_now());
		}
	}
	uint64_t end = agent_now() + (uint64_t)agent_number("linger_ns", 500000000);
	do
		between(end);
	while (agent_now() < end && !agent_told());
	free(payload);
}

/* Says what was done. */
static inline void agent_end(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	char line[400], counts[120] = "";
	if (agent_allocations) {
		uint64_t now[2];
		agent_allocations(&now[0], &now[1]);
		snprintf(counts, sizeof counts, ",\"allocations\":%llu,\"allocated_bytes\":%llu", (unsigned long long)(now[0] - agent_allocated_before[0]), (unsigned long long)(now[1] - agent_allocated_before[1]));
	}
	snprintf(line, sizeof line, "{\"event\":\"done\",\"samples\":%llu,\"queue_drops\":%llu,\"max_rss_kib\":%ld%s}", (unsigned long long)agent_taken, (unsigned long long)agent_queue_drops, u.ru_maxrss, counts);
	agent_say(line);
}

#endif
