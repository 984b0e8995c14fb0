/* SPDX-License-Identifier: GPL-2.0-only */
/* A value in memory that grows as it must. */
#ifndef HBCTL_VALUE_H
#define HBCTL_VALUE_H

#include <stddef.h>

#include <hashbelt/client.h>

/* The size that is tried first: most values are smaller. */
#define VALUE_FIRST	1024

/**
 * struct value - the bytes of a value
 * @bytes:	the bytes
 * @len:	how many
 * @room:	how many would fit
 * @first:	where they are if they fit: the heap would cost more than the call that gets them
 *
 * Begins as zeros, ends with value_free(), and can be used again in between.
 */
struct value {
	char *bytes;
	size_t len;
	size_t room;
	char first[VALUE_FIRST];
};

int value_copy(struct value *value, const void *bytes, size_t len);
int value_read_more(struct value *value, int fd);
int value_read(struct value *value, int fd);
int value_get(struct value *value, struct hashbelt *handle, const void *key, size_t key_len,
	      struct hashbelt_item *item);
int value_fill(struct value *value, struct hashbelt *handle, const void *key, size_t key_len,
	       struct hashbelt_fill *fill);
void value_free(struct value *value);

#endif /* HBCTL_VALUE_H */
