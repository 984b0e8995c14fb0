/* SPDX-License-Identifier: GPL-2.0-only */
/* The entry of a request that takes several calls. */
#ifndef HBSERVE_TARGET_H
#define HBSERVE_TARGET_H

#include "belts.h"

/* Attempts of a change, if others change the same entry. Each failed one is a success of theirs. */
#define TARGET_ATTEMPTS	10000

/**
 * struct target - the entry of a request
 * @belt:	its belt
 * @key:	its key, without a prefix
 * @key_len:	the length of the key
 */
struct target {
	struct belt *belt;
	const char *key;
	size_t key_len;
};

/**
 * struct whole - the value of an entry, with room for more
 * @bytes:	memory
 * @before:	room before the value, bytes
 * @after:	room behind it, bytes
 * @item:	the operation that has read it
 */
struct whole {
	char *bytes;
	size_t before;
	size_t after;
	struct hashbelt_item item;
};

struct hashbelt_item target_item(enum hashbelt_op op, const struct target *target,
				 const void *value, size_t value_len);
int target_run(const struct target *target, struct hashbelt_item *item);
int target_read(const struct target *target, struct whole *whole);

#endif /* HBSERVE_TARGET_H */
