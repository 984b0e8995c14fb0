// SPDX-License-Identifier: GPL-2.0-only
/*
 * For LD_PRELOAD: one of 20 allocations fails, at random, while there is a file SHORT_OF_MEMORY.
 * Also those of libraries.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define ONE_OF	20

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static unsigned int state = 1;

static bool is_short(void)
{
	static const char *path;
	unsigned int number;

	if (!path)
		path = getenv("SHORT_OF_MEMORY");
	if (!path || access(path, F_OK))
		return false;
	number = __atomic_add_fetch(&state, 0x9e3779b9, __ATOMIC_RELAXED);
	number = (number ^ number >> 15) * 0x85ebca6b;
	return !((number ^ number >> 13) % ONE_OF);
}

static void *none(void)
{
	errno = ENOMEM;
	return NULL;
}

void *malloc(size_t size)
{
	return is_short() ? none() : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return is_short() ? none() : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return is_short() ? none() : __libc_realloc(old, size);
}
