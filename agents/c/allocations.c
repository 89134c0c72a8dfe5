/* Counts allocations. Put before a program by LD_PRELOAD; the agent reads the counts by agent_allocations. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint64_t calls, bytes;
static void *(*real_malloc)(size_t), *(*real_calloc)(size_t, size_t), *(*real_realloc)(void *, size_t), *(*real_aligned)(size_t, size_t);
static int (*real_posix)(void **, size_t, size_t);
static void (*real_free)(void *);

/* What is allocated while the real functions are looked up: dlsym itself needs some. */
static char early[1 << 14];
static size_t early_used;

static void *from_early(size_t n)
{
	size_t at = (early_used + 15) & ~(size_t)15;
	if (at + n > sizeof early)
		return NULL;
	early_used = at + n;
	return early + at;
}

static void find(void)
{
	static int looking;
	if (looking)
		return;
	looking = 1;
	real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	real_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	real_aligned = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
	real_posix = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
	real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
}

static void count(size_t n)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&bytes, n, __ATOMIC_RELAXED);
}

void agent_allocations(uint64_t *number, uint64_t *size)
{
	*number = __atomic_load_n(&calls, __ATOMIC_RELAXED);
	*size = __atomic_load_n(&bytes, __ATOMIC_RELAXED);
}

void *malloc(size_t n)
{
	if (!real_malloc)
		find();
	count(n);
	return real_malloc ? real_malloc(n) : from_early(n);
}

void *calloc(size_t k, size_t n)
{
	if (!real_malloc)
		find();
	count(k * n);
	return real_malloc ? real_calloc(k, n) : from_early(k * n);
}

void *realloc(void *p, size_t n)
{
	if (!real_malloc)
		find();
	count(n);
	if ((char *)p >= early && (char *)p < early + sizeof early) {
		size_t rest = (size_t)(early + sizeof early - (char *)p);
		void *q = real_malloc ? real_malloc(n) : from_early(n);
		return q ? memcpy(q, p, n < rest ? n : rest) : NULL;
	}
	return real_malloc ? real_realloc(p, n) : from_early(n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
	if (!real_malloc)
		find();
	count(n);
	return real_aligned(alignment, n);
}

int posix_memalign(void **p, size_t alignment, size_t n)
{
	if (!real_malloc)
		find();
	count(n);
	return real_posix(p, alignment, n);
}

void free(void *p)
{
	if (real_free && ((char *)p < early || (char *)p >= early + sizeof early))
		real_free(p);
}
