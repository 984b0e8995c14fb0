// SPDX-License-Identifier: GPL-2.0-only
/* Operations on one key. */
#include <errno.h>

#include "runner.h"

static char buffer[HASHBELT_VALUE_MAX];

static void add_item(struct step *step, const struct hashbelt_item *item)
{
	add_number(step->found, "version", item->version);
	add_number(step->found, "flags", item->flags);
	add_time(step->found, "ttl", item->ttl_ms);
}

static int do_put(struct step *step)
{
	struct bytes key = argument_bytes(step, "key"), value = argument_bytes(step, "value");
	struct hashbelt_item item = {
		.how = (argument_true(step, "if_absent") ? HASHBELT_IF_ABSENT : 0) |
		       (argument_true(step, "if_present") ? HASHBELT_IF_PRESENT : 0) |
		       (argument(step, "if_version") ? HASHBELT_IF_VERSION : 0) |
		       (argument_true(step, "bound") ? HASHBELT_BOUND : 0),
		.flags = argument_number(step, "flags"),
		.ttl_ms = argument_ms(step, "ttl"),
		.version = argument_number(step, "if_version"),
	};
	int err;

	err = hashbelt_put(step->handle->belt, key.at, key.len, value.at, value.len, &item);
	add_item(step, &item);
	return err;
}

static int do_get(struct step *step)
{
	struct bytes key = argument_bytes(step, "key");
	size_t room = argument(step, "room") ? argument_number(step, "room") : sizeof(buffer);
	struct hashbelt_item item = {
		.how = (argument(step, "ttl") ? HASHBELT_AND_TOUCH : 0) |
		       (argument_true(step, "no_refresh") ? HASHBELT_NO_REFRESH : 0),
		.ttl_ms = argument_ms(step, "ttl"),
	};
	int err;

	err = hashbelt_get(step->handle->belt, key.at, key.len, buffer, room, &item);
	if (!err || err == -ERANGE)
		add_number(step->found, "value_len", item.value_len);
	if (err)
		return err;
	add_bytes(step->found, "value", buffer, item.value_len);
	add_item(step, &item);
	return 0;
}

static int do_has(struct step *step)
{
	struct hashbelt_item item = { .how = HASHBELT_NO_VALUE | HASHBELT_NO_REFRESH };
	struct bytes key = argument_bytes(step, "key");

	return hashbelt_get(step->handle->belt, key.at, key.len, NULL, 0, &item);
}

static int do_touch(struct step *step)
{
	struct bytes key = argument_bytes(step, "key");
	struct hashbelt_item item = { 0 };
	int err;

	err = hashbelt_touch(step->handle->belt, key.at, key.len, argument_ms(step, "ttl"), &item);
	if (!err)
		add_item(step, &item);
	return err;
}

static int do_touch_bound(struct step *step)
{
	struct hashbelt_item item = { 0 };
	int err;

	err = hashbelt_touch_bound(step->handle->belt, argument_ms(step, "ttl"), &item);
	if (!err)
		add_number(step->found, "count", item.version);
	return err;
}

static int do_remove(struct step *step)
{
	struct bytes key = argument_bytes(step, "key");
	struct hashbelt_item item = {
		.how = argument(step, "if_version") ? HASHBELT_IF_VERSION : 0,
		.version = argument_number(step, "if_version"),
	};

	if (argument_true(step, "stale"))
		item.how |= HASHBELT_LEAVE_STALE;
	return hashbelt_remove(step->handle->belt, key.at, key.len, &item);
}

static int do_expire(struct step *step)
{
	struct bytes key = argument_bytes(step, "key");

	return hashbelt_expire(step->handle->belt, key.at, key.len);
}

static int do_add(struct step *step)
{
	struct bytes key = argument_bytes(step, "key");
	struct hashbelt_sum sum = {
		.by = argument_number(step, "by"), .value = argument_number(step, "initial"),
	};
	struct hashbelt_item item = { .ttl_ms = argument_ms(step, "ttl") };
	int err;

	if (argument(step, "floor"))
		item.how |= HASHBELT_FLOOR;
	item.version = argument_number(step, "floor");
	if (argument_true(step, "if_present"))
		item.how |= HASHBELT_IF_PRESENT;
	err = item.how ? hashbelt_add_item(step->handle->belt, key.at, key.len, &sum, &item) :
	      hashbelt_add(step->handle->belt, key.at, key.len, sum.by, sum.value, item.ttl_ms,
			   &sum.value);
	if (!err)
		json_object_object_add(step->found, "sum", json_object_new_int64(sum.value));
	return err;
}

const struct operation entry_operations[] = {
	{ "put", do_put },
	{ "get", do_get },
	{ "has", do_has },
	{ "touch", do_touch },
	{ "touch_bound", do_touch_bound },
	{ "remove", do_remove },
	{ "expire", do_expire },
	{ "add", do_add },
	{ NULL, NULL }
};
