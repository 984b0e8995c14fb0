/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libhashbelt: a walk over records, which the kernel returns a piece at a time. */
#ifndef HASHBELT_CLIENT_WALK_H
#define HASHBELT_CLIENT_WALK_H

#include "private.h"

/**
 * struct walk - a walk over records of a belt
 * @belt:	the handle
 * @read:	reads the piece at @cursor into @buffer. Return: 0, where the next piece begins
 *		in @cursor, 0 for none, and the number of records in @left; or a negative errno,
 *		with -ERANGE the size that the piece needs in @size
 * @size:	size of @buffer, bytes
 * @left:	records in @buffer that were not returned yet
 * @ended:	@buffer holds the last piece
 * @cursor:	where the kernel goes on
 * @buffer:	the current piece
 * @next:	the next record in it
 *
 * A record begins with a __u32: the bytes to the next record.
 */
struct walk {
	struct hashbelt *belt;
	int (*read)(struct walk *walk, __u32 *size);
	__u32 size;
	__u32 left;
	int ended;
	__u64 cursor;
	char *buffer;
	const char *next;
};

HIDDEN void *hashbelt_walk_begin(size_t bytes, const struct walk *begin);
HIDDEN int hashbelt_walk_next(struct walk *walk, const void **record);
HIDDEN void hashbelt_walk_end(struct walk *walk);

#endif /* HASHBELT_CLIENT_WALK_H */
