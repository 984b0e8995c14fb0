// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "value.h"

static int make_room(struct value *value, size_t room)
{
	char *bytes;

	if (room <= value->room)
		return 0;
	if (room <= sizeof(value->first)) {
		value->bytes = value->first;
		value->room = sizeof(value->first);
		return 0;
	}
	bytes = realloc(value->bytes == value->first ? NULL : value->bytes, room);
	if (!bytes)
		return -ENOMEM;
	if (value->bytes == value->first)
		memcpy(bytes, value->first, value->len);
	value->bytes = bytes;
	value->room = room;
	return 0;
}

/**
 * value_copy() - make a value of bytes in memory
 * @value:	the value
 * @bytes:	the bytes
 * @len:	how many
 *
 * Return: 0; -EMSGSIZE if they are more than HASHBELT_VALUE_MAX; -ENOMEM.
 */
int value_copy(struct value *value, const void *bytes, size_t len)
{
	int err;

	if (len > HASHBELT_VALUE_MAX)
		return -EMSGSIZE;
	err = make_room(value, len);
	if (err)
		return err;
	if (len)
		memcpy(value->bytes, bytes, len);
	value->len = len;
	return 0;
}

/**
 * value_read_more() - read once from a file, behind the bytes that the value has
 * @value:	the value
 * @fd:		the file
 *
 * Return: 1; 0 at the end of the file; -EMSGSIZE if the value has more than HASHBELT_VALUE_MAX
 * bytes now; -ENOMEM; the error of read(2).
 */
int value_read_more(struct value *value, int fd)
{
	ssize_t len;
	int err;

	/* One byte more than allowed, to see that there are more. */
	err = make_room(value, HASHBELT_VALUE_MAX + 1);
	if (err)
		return err;
	len = read(fd, value->bytes + value->len, value->room - value->len);
	if (len <= 0)
		return len ? -errno : 0;
	value->len += len;
	return value->len > HASHBELT_VALUE_MAX ? -EMSGSIZE : 1;
}

/**
 * value_read() - make a value of all that a file has
 * @value:	the value
 * @fd:		the file, read to its end
 *
 * Return: 0; -EMSGSIZE if that is more than HASHBELT_VALUE_MAX bytes; -ENOMEM;
 * the error of read(2).
 */
int value_read(struct value *value, int fd)
{
	int more;

	value->len = 0;
	do {
		more = value_read_more(value, fd);
	} while (more > 0);
	return more;
}

/**
 * value_get() - get an entry's value, however large
 * @value:	the value; its old content is freed
 * @handle:	the handle
 * @key:	the key
 * @key_len:	its length, bytes
 * @item:	as for hashbelt_get()
 *
 * Return: what hashbelt_get() returns, but not -ERANGE; -ENOMEM.
 */
int value_get(struct value *value, struct hashbelt *handle, const void *key, size_t key_len,
	      struct hashbelt_item *item)
{
	size_t room = VALUE_FIRST;
	int err;

	/* Between two tries the value may have been replaced by a larger one. */
	do {
		err = make_room(value, room);
		if (err)
			return err;
		err = hashbelt_get(handle, key, key_len, value->bytes, value->room, item);
		room = item->value_len;
	} while (err == -ERANGE);
	value->len = item->value_len;
	return err;
}

/**
 * value_fill() - get an entry's value, or the right to fill it
 * @value:	the value; its old content is freed. After a miss it is empty
 * @handle:	the handle
 * @key:	the key
 * @key_len:	its length, bytes
 * @fill:	as for hashbelt_fill()
 *
 * Return: what hashbelt_fill() returns, but not -ERANGE; -ENOMEM.
 */
int value_fill(struct value *value, struct hashbelt *handle, const void *key, size_t key_len,
	       struct hashbelt_fill *fill)
{
	const struct hashbelt_item item = fill->item;
	size_t room = VALUE_FIRST;
	int err;

	/* With an expired value that does not fit, the right would be granted, and lost. */
	if (fill->how & HASHBELT_STALE)
		room = HASHBELT_VALUE_MAX;
	for (;; room = HASHBELT_VALUE_MAX) {
		fill->item = item;
		err = make_room(value, room);
		if (err)
			return err;
		err = hashbelt_fill(handle, key, key_len, value->bytes, value->room, fill);
		if (err != -ERANGE)
			break;
	}
	value->len = err ? 0 : fill->item.value_len;
	return err;
}

/**
 * value_free() - free a value's memory
 * @value:	the value
 */
void value_free(struct value *value)
{
	if (value->bytes != value->first)
		free(value->bytes);
	value->bytes = NULL;
	value->len = 0;
	value->room = 0;
}
