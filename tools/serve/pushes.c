// SPDX-License-Identifier: GPL-2.0-only
/* Messages for a client that no request of it asks for, until its socket takes them. */
#include <stdlib.h>
#include <string.h>

#include "pushes.h"

/* Memory at first, bytes. */
#define SIZE_MIN	4096

/* Memory of the messages for all clients, bytes. Relaxed: it orders nothing. */
static size_t all;

/* Gets memory in the place of @pushes'. Return: NULL if it would be too much, or there is none. */
static char *get_memory(const struct pushes *pushes, size_t size)
{
	size_t sum = __atomic_add_fetch(&all, size - pushes->size, __ATOMIC_RELAXED);
	bool fits = sum <= PUSHES_ALL_MAX || size <= PUSHES_LITTLE;
	char *bytes = fits ? malloc(size) : NULL;

	if (!bytes)
		__atomic_sub_fetch(&all, size - pushes->size, __ATOMIC_RELAXED);
	return bytes;
}

/* Makes room for @len bytes more. Return: false if they are too many, or there is no memory. */
static bool make_room(struct pushes *pushes, size_t len)
{
	size_t left = pushes->len - pushes->at, size = pushes->size ?: SIZE_MIN;
	char *bytes = pushes->bytes;

	if (left + len > PUSHES_MAX)
		return false;
	/* A move pays off only if it gives much room. */
	while (size / 2 < left + len && size < PUSHES_MAX)
		size *= 2;
	if (size != pushes->size) {
		bytes = get_memory(pushes, size);
		if (!bytes)
			return false;
	}
	if (left)
		memmove(bytes, pushes->bytes + pushes->at, left);
	if (bytes != pushes->bytes)
		free(pushes->bytes);
	*pushes = (struct pushes){ .bytes = bytes, .size = size, .len = left };
	return true;
}

/**
 * pushes_add() - add bytes of a message
 * @pushes:	the messages
 * @bytes:	the bytes
 * @len:	their number
 *
 * Return: false if PUSHES_MAX bytes wait, or too many for all clients, or if there is no memory.
 */
bool pushes_add(struct pushes *pushes, const char *bytes, size_t len)
{
	if (pushes->len + len > pushes->size && !make_room(pushes, len))
		return false;
	memcpy(pushes->bytes + pushes->len, bytes, len);
	pushes->len += len;
	return true;
}

/**
 * pushes_sent() - note that bytes were sent
 * @pushes:	the messages
 * @len:	their number
 */
void pushes_sent(struct pushes *pushes, size_t len)
{
	pushes->at += len;
	if (pushes_are_none(pushes))
		pushes_end(pushes);
}

/**
 * pushes_end() - drop all messages, and free their memory
 * @pushes:	the messages
 */
void pushes_end(struct pushes *pushes)
{
	free(pushes->bytes);
	__atomic_sub_fetch(&all, pushes->size, __ATOMIC_RELAXED);
	*pushes = (struct pushes){ 0 };
}
