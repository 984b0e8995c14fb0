// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes of an entry that depend on its value: it is read, and the operation has the condition
 * that its version is still there. So each is atomic, also against programs that use the device.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"

/* The operation of a change, before its step. */
static struct hashbelt_item begin_item(const struct change *change)
{
	struct hashbelt_item item = target_item(HASHBELT_OP_PUT, &change->target, NULL, 0);

	item.how = change->is_there ? HASHBELT_IF_VERSION : HASHBELT_IF_ABSENT;
	item.version = change->is_there ? change->whole.item.version : 0;
	item.flags = change->is_there ? change->whole.item.flags : 0;
	item.ttl_ms = change->is_there ? HASHBELT_TTL_KEEP : HASHBELT_TTL_NEVER;
	return item;
}

/* Another caller has changed the entry meanwhile. */
static bool has_changed(int err)
{
	return err == -ESTALE || err == -ENOENT || err == -EEXIST || err == -EALREADY;
}

static int try_change(struct change *change)
{
	int err = target_read(&change->target, &change->whole);
	struct hashbelt_item item;

	if (err && err != -ENOENT)
		return err;
	change->is_there = !err;
	change->value = change->whole.bytes + change->whole.before;
	change->len = err ? 0 : change->whole.item.value_len;
	item = begin_item(change);
	err = change->step(change, &item);
	if (err == CHANGE_DO) {
		err = target_run(&change->target, &item);
		return has_changed(err) ? -EAGAIN : err;
	}
	return err;
}

/**
 * change_run() - change an entry
 * @change:	the change; returned: the entry as it was, until change_end()
 *
 * Return: CHANGE_DO, the operation was carried out; CHANGE_NOTHING; or an error.
 */
int change_run(struct change *change)
{
	unsigned int i;
	int err = -EAGAIN;

	for (i = 0; err == -EAGAIN && i < TARGET_ATTEMPTS; i++)
		err = try_change(change);
	return err;
}

/**
 * change_end() - free what a change has read
 * @change:	the change
 */
void change_end(struct change *change)
{
	free(change->whole.bytes);
	change->whole.bytes = NULL;
}

/**
 * change_equals() - whether an entry has a value
 * @change:	the change
 * @word:	the value
 *
 * Return: whether.
 */
bool change_equals(const struct change *change, const struct word *word)
{
	return change->is_there && change->len == word->len &&
	       !memcmp(change->value, word->at, word->len);
}

/**
 * change_delete_equal() - a step: delete the entry if its value is the argument @number
 * @change:	the change
 * @item:	its operation
 *
 * Return: CHANGE_DO or CHANGE_NOTHING.
 */
int change_delete_equal(struct change *change, struct hashbelt_item *item)
{
	if (!change_equals(change, &change->words[change->number]))
		return CHANGE_NOTHING;
	item->op = HASHBELT_OP_REMOVE;
	item->ttl_ms = 0;
	item->flags = 0;
	return CHANGE_DO;
}
