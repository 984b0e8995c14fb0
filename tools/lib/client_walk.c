// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>

#include "client_walk.h"

/*
 * Return: a structure of @bytes that begins with the walk @begin, of which @belt, @read and @size
 * are set; NULL if there is no memory.
 */
void *hashbelt_walk_begin(size_t bytes, const struct walk *begin)
{
	struct walk *walk = calloc(1, bytes);

	if (!walk)
		return NULL;
	*walk = *begin;
	walk->buffer = malloc(walk->size);
	if (walk->buffer)
		return walk;
	free(walk);
	return NULL;
}

/* Makes room for a piece that needs @size bytes. */
static int grow(struct walk *walk, __u32 size)
{
	char *buffer;

	if (size > HASHBELT_SCAN_MAX)
		return -ERANGE;
	buffer = realloc(walk->buffer, size);
	if (!buffer)
		return -ENOMEM;
	walk->buffer = buffer;
	walk->size = size;
	return 0;
}

/* Reads the next piece. */
static int read_piece(struct walk *walk)
{
	__u32 size;
	int err;

	do {
		err = walk->read(walk, &size);
	} while (err == -ERANGE && !(err = grow(walk, size)));
	if (err)
		return err;
	walk->ended = !walk->cursor;
	walk->next = walk->buffer;
	return 0;
}

/* Return: 1 and the next record; 0 at the end; -ENOMEM; -ERANGE if a piece is too large. */
int hashbelt_walk_next(struct walk *walk, const void **record)
{
	int err;

	while (!walk->left) {
		if (walk->ended)
			return 0;
		err = read_piece(walk);
		if (err)
			return err;
	}
	*record = walk->next;
	walk->next += *(const __u32 *)walk->next;
	walk->left--;
	return 1;
}

/* NULL does nothing. */
void hashbelt_walk_end(struct walk *walk)
{
	if (!walk)
		return;
	free(walk->buffer);
	free(walk);
}
