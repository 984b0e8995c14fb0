// SPDX-License-Identifier: GPL-2.0-only
/*
 * The belt, by libhashbelt. Keys are gathered, and removed by one call.
 *
 * A removal ends the fill lease of its key, and a clear those of all keys: a value that was fetched
 * before, and is stored afterwards on condition of its lease, is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <hashbelt/client.h>

#include "belt.h"
#include "status.h"

/**
 * struct follow_belt - the belt
 * @handle:	bound to it, if @is_bound
 * @is_bound:	false: the belt was not there, or was destroyed
 * @count:	keys that are to be removed
 * @used:	their bytes
 * @call:	the call of the library that was made last
 * @removed:	entries that were removed
 * @cleared:	how often the belt was cleared
 * @items:	the keys
 * @bytes:	the bytes of the keys
 * @name:	its name
 */
struct follow_belt {
	struct hashbelt *handle;
	bool is_bound;
	unsigned int count;
	size_t used;
	enum hashbelt_call call;
	uint64_t removed;
	uint64_t cleared;
	struct hashbelt_item items[HASHBELT_BATCH_MAX];
	char bytes[HASHBELT_BATCH_MAX * HASHBELT_KEY_MAX];
	char name[HASHBELT_NAME_SIZE];
};

/**
 * follow_belt_open() - prepare the use of a belt
 * @name:	its name, shorter than HASHBELT_NAME_SIZE; it may not exist yet
 * @belt:	returned: the belt, to be closed with follow_belt_close(); NULL after an error
 *
 * Prints an error on stderr.
 *
 * Return: 0 or a negative errno; -ENODEV: there is no device.
 */
int follow_belt_open(const char *name, struct follow_belt **belt)
{
	char text[HASHBELT_ERROR_SIZE];
	int err;

	*belt = calloc(1, sizeof(**belt));
	if (!*belt)
		return -ENOMEM;
	snprintf((*belt)->name, sizeof((*belt)->name), "%s", name);
	err = hashbelt_open(NULL, &(*belt)->handle);
	if (!err)
		return 0;
	fprintf(stderr, "hbfollow: %s\n",
		hashbelt_strerror(NULL, err, HASHBELT_CALL_OPEN, NULL, text, sizeof(text)));
	free(*belt);
	*belt = NULL;
	return open_error(err);
}

/**
 * follow_belt_close() - end the use of a belt
 * @belt:	the belt; NULL does nothing
 */
void follow_belt_close(struct follow_belt *belt)
{
	if (!belt)
		return;
	hashbelt_close(belt->handle);
	free(belt);
}

/* Notes that the belt was destroyed, which has ended all its entries. Return: @err, or 0 then. */
static int note_gone(struct follow_belt *belt, int err)
{
	if (err != -EIDRM)
		return err;
	belt->is_bound = false;
	return 0;
}

/* Clears the belt that the handle is bound to. */
static int clear(struct follow_belt *belt)
{
	int err;

	belt->call = HASHBELT_CALL_CLEAR;
	do {
		err = hashbelt_clear(belt->handle);
	} while (err == -EINTR);
	belt->cleared += !err;
	return note_gone(belt, err);
}

/*
 * Binds the handle if there is a belt, and clears that: keys have changed while it was not bound.
 * Until then nothing is missed, as each change looks for the belt anew.
 */
static int find(struct follow_belt *belt)
{
	int err;

	belt->call = HASHBELT_CALL_BIND;
	err = hashbelt_bind(belt->handle, belt->name);
	belt->is_bound = !err;
	if (!err)
		return clear(belt);
	return err == -ENOENT ? 0 : err;
}

/* Carries the items out from @done on. */
static int run_items(struct follow_belt *belt, unsigned int *done)
{
	unsigned int tried = 0, i;
	int err, result;

	belt->call = HASHBELT_CALL_REMOVE;
	err = hashbelt_batch(belt->handle, belt->items + *done, belt->count - *done, &tried);
	for (i = *done; i < *done + tried; i++) {
		result = belt->items[i].result;
		belt->removed += !result;
		if (result && result != -ENOENT)
			return result;
	}
	*done += tried;
	return err == -EINTR ? 0 : err;
}

/**
 * follow_belt_flush() - remove the gathered keys
 * @belt:	the belt
 *
 * Return: 0; another error than that the belt does not exist: entries of some keys may be there.
 */
int follow_belt_flush(struct follow_belt *belt)
{
	unsigned int done = 0;
	int err = 0;

	if (!belt->count)
		return 0;
	if (!belt->is_bound)
		err = find(belt);
	else
		while (!err && done < belt->count)
			err = run_items(belt, &done);
	/* A belt that has been made in its place is cleared, so that it has none of the keys. */
	if (err == -EIDRM)
		err = find(belt);
	belt->count = 0;
	belt->used = 0;
	return err;
}

/**
 * follow_belt_remove() - gather a key
 * @belt:	the belt
 * @key:	the key
 * @len:	its length, 1 to HASHBELT_KEY_MAX bytes
 *
 * The entry is removed at the next follow_belt_flush(), or now if many are gathered.
 *
 * Return: what follow_belt_flush() returns.
 */
int follow_belt_remove(struct follow_belt *belt, const char *key, size_t len)
{
	char *copy = belt->bytes + belt->used;

	memcpy(copy, key, len);
	belt->used += len;
	belt->items[belt->count++] = hashbelt_item(HASHBELT_OP_REMOVE, copy, len, NULL, 0);
	return belt->count == HASHBELT_BATCH_MAX ? follow_belt_flush(belt) : 0;
}

/**
 * follow_belt_clear() - drop all entries
 * @belt:	the belt
 *
 * Return: 0; another error than that the belt does not exist: entries may be there.
 */
int follow_belt_clear(struct follow_belt *belt)
{
	int err = 0;

	belt->count = 0;
	belt->used = 0;
	if (belt->is_bound)
		err = clear(belt);
	if (!err && !belt->is_bound)
		err = find(belt);
	return err;
}

/**
 * follow_belt_check() - look for the belt, if there was none, and for a new one if it was destroyed
 * @belt:	the belt
 *
 * Return: what follow_belt_clear() returns.
 */
int follow_belt_check(struct follow_belt *belt)
{
	struct hashbelt_info info;
	int err = 0;

	if (belt->is_bound && hashbelt_info(belt->handle, &info) == -EIDRM)
		belt->is_bound = false;
	if (!belt->is_bound)
		err = find(belt);
	return err;
}

/**
 * follow_belt_is_there() - whether the last call has found the belt
 * @belt:	the belt
 *
 * Return: false: there is none, or the caller has no right to it at all.
 */
bool follow_belt_is_there(const struct follow_belt *belt)
{
	return belt->is_bound;
}

/**
 * follow_belt_removed() - a counter
 * @belt:	the belt
 *
 * Return: the number of entries that were removed by their keys.
 */
uint64_t follow_belt_removed(const struct follow_belt *belt)
{
	return belt->removed;
}

/**
 * follow_belt_cleared() - a counter
 * @belt:	the belt
 *
 * Return: how often the belt was cleared.
 */
uint64_t follow_belt_cleared(const struct follow_belt *belt)
{
	return belt->cleared;
}

/**
 * follow_belt_reason() - a sentence about an error
 * @belt:	the belt
 * @err:	the error, negative
 * @text:	space for BELT_REASON_SIZE bytes
 *
 * Return: the sentence.
 */
const char *follow_belt_reason(struct follow_belt *belt, int err, char *text)
{
	return hashbelt_strerror(belt->handle, err, belt->call, belt->name, text,
				 BELT_REASON_SIZE);
}
