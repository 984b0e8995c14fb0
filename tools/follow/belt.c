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
 * @handle:	kept bound to it
 * @is_there:	the last call has found it
 * @bindings:	of the handle when the belt was cleared last
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
	bool is_there;
	unsigned int bindings;
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
	if (!err) {
		/* Each call that finds no belt tries again. */
		hashbelt_keep_bound((*belt)->handle, name, NULL, HASHBELT_ONE_THREAD);
		return 0;
	}
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

/* Drops all entries of the belt. */
static int clear(struct follow_belt *belt)
{
	int err;

	belt->call = HASHBELT_CALL_CLEAR;
	do {
		err = hashbelt_clear(belt->handle);
	} while (err == -EINTR);
	if (!err) {
		belt->cleared++;
		belt->bindings = hashbelt_bindings(belt->handle);
	}
	return err;
}

/* Notes whether a call has found the belt. Return: its result @err, or 0 if there is no belt. */
static int note_belt(struct follow_belt *belt, int err)
{
	belt->is_there = err != -EIDRM;
	return belt->is_there ? err : 0;
}

/*
 * Ends a call on the belt that returned @err. A belt that was bound since the last clear is
 * cleared, because keys have changed while there was none. As long as there is none, nothing is
 * missed: each call looks for one.
 */
static int end_call(struct follow_belt *belt, int err)
{
	if (hashbelt_bindings(belt->handle) != belt->bindings)
		err = clear(belt);
	return note_belt(belt, err);
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
	while (!err && done < belt->count)
		err = run_items(belt, &done);
	belt->count = 0;
	belt->used = 0;
	return end_call(belt, err);
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
	belt->count = 0;
	belt->used = 0;
	return note_belt(belt, clear(belt));
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
	int err;

	belt->call = HASHBELT_CALL_BIND;
	err = hashbelt_info(belt->handle, &info);
	return end_call(belt, err == -EPERM ? 0 : err);
}

/**
 * follow_belt_is_there() - whether the last call has found the belt
 * @belt:	the belt
 *
 * Return: false: there is none, or the caller has no right to it at all.
 */
bool follow_belt_is_there(const struct follow_belt *belt)
{
	return belt->is_there;
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
