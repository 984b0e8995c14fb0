// SPDX-License-Identifier: GPL-2.0-only
/* Operations on the entry of a request, one after the other. */
#include <errno.h>
#include <stdlib.h>

#include "target.h"

/* Room for a value at first, bytes. */
#define VALUE_ROOM	4096

/**
 * target_item() - an operation on the entry
 * @op:		the operation
 * @target:	the entry
 * @value:	as for hashbelt_item()
 * @value_len:	as for hashbelt_item()
 *
 * Return: the operation.
 */
struct hashbelt_item target_item(enum hashbelt_op op, const struct target *target,
				 const void *value, size_t value_len)
{
	return hashbelt_item(op, target->key, target->key_len, (void *)value, value_len);
}

/**
 * target_run() - carry one operation out
 * @target:	the entry
 * @item:	the operation
 *
 * Return: its result.
 */
int target_run(const struct target *target, struct hashbelt_item *item)
{
	belt_batch(target->belt, item, 1);
	return item->result;
}

/**
 * target_read() - read the value of an entry
 * @target:	the entry
 * @whole:	returned: the value; @bytes is NULL or memory of malloc(), and stays so
 *
 * Return: 0, -ENOMEM, or as belt_batch().
 */
int target_read(const struct target *target, struct whole *whole)
{
	size_t size = VALUE_ROOM;
	char *bytes;
	int err;

	do {
		bytes = realloc(whole->bytes, whole->before + size + whole->after);
		if (!bytes)
			return -ENOMEM;
		whole->bytes = bytes;
		whole->item = target_item(HASHBELT_OP_GET, target, bytes + whole->before, size);
		whole->item.how = HASHBELT_NO_REFRESH;
		err = target_run(target, &whole->item);
		size = whole->item.value_len;
	} while (err == -ERANGE);
	return err;
}
