// SPDX-License-Identifier: GPL-2.0-only
/* Operations on many keys: batches, and scans. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

/* Room for each value of a batch. A longer one is read by a call of its own. */
#define ROOM	4096

static char large[HASHBELT_VALUE_MAX];

/* Items of one operation on keys, with values if there are any; "room" bytes for each else. */
static struct hashbelt_item *make_items(struct step *step, enum hashbelt_op op, size_t *count,
					char **room)
{
	struct json_object *keys = argument(step, "keys"), *values = argument(step, "values");
	struct hashbelt_item *items;
	struct bytes key, value;
	size_t i;

	*count = json_object_array_length(keys);
	*room = op == HASHBELT_OP_GET ? malloc(*count * ROOM) : NULL;
	items = calloc(*count, sizeof(*items));
	for (i = 0; i < *count; i++) {
		key = bytes_of(json_object_array_get_idx(keys, i));
		value = *room ? (struct bytes){ *room + i * ROOM, ROOM } :
			values ? bytes_of(json_object_array_get_idx(values, i)) :
			(struct bytes){ NULL, 0 };
		items[i] = hashbelt_item(op, key.at, key.len, value.at, value.len);
		items[i].ttl_ms = argument_ms(step, "ttl");
	}
	return items;
}

/* Carries items out, as many in a call as a batch takes, and again from where a call has ended. */
static int carry_out(struct step *step, struct hashbelt_item *items, size_t count)
{
	unsigned int done, part;
	size_t first;
	int err;

	for (first = 0; first < count; first += done) {
		part = count - first < HASHBELT_BATCH_MAX ? count - first : HASHBELT_BATCH_MAX;
		err = hashbelt_batch(step->handle->belt, items + first, part, &done);
		if (err)
			return err;
	}
	return 0;
}

/* The first error of items. */
static int first_error(const struct hashbelt_item *items, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (items[i].result)
			return items[i].result;
	return 0;
}

static int do_put_many(struct step *step)
{
	struct hashbelt_item *items;
	size_t count;
	char *room;
	int err;

	items = make_items(step, HASHBELT_OP_PUT, &count, &room);
	err = carry_out(step, items, count);
	if (!err)
		err = first_error(items, count);
	free(items);
	return err;
}

/* The value of an item; if the room was too small, by a get. */
static int value_of(struct step *step, const struct hashbelt_item *item,
		    struct json_object **value)
{
	struct hashbelt_item again = { 0 };
	int err = item->result;
	size_t len = item->value_len;
	const char *at = (const char *)(uintptr_t)item->value;

	if (err == -ERANGE) {
		at = large;
		err = hashbelt_get(step->handle->belt, (const void *)(uintptr_t)item->key,
				   item->key_len, large, sizeof(large), &again);
		len = again.value_len;
	}
	*value = err ? NULL : json_object_new_string_len(at, len);
	return err == -ENOENT ? 0 : err;
}

static int do_get_many(struct step *step)
{
	struct json_object *values = json_object_new_array(), *value;
	struct hashbelt_item *items;
	size_t count, i;
	char *room;
	int err;

	json_object_object_add(step->found, "values", values);
	items = make_items(step, HASHBELT_OP_GET, &count, &room);
	err = carry_out(step, items, count);
	for (i = 0; !err && i < count; i++) {
		err = value_of(step, &items[i], &value);
		json_object_array_add(values, value);
	}
	free(items);
	free(room);
	return err;
}

static int do_remove_many(struct step *step)
{
	struct hashbelt_item *items;
	size_t count, i, removed = 0;
	char *room;
	int err;

	items = make_items(step, HASHBELT_OP_REMOVE, &count, &room);
	err = carry_out(step, items, count);
	for (i = 0; !err && i < count; i++) {
		removed += !items[i].result;
		if (items[i].result != -ENOENT)
			err = items[i].result;
	}
	free(items);
	add_number(step->found, "removed", removed);
	return err;
}

static const struct {
	const char *name;
	enum hashbelt_op op;
} batched[] = {
	{ "get", HASHBELT_OP_GET },
	{ "put", HASHBELT_OP_PUT },
	{ "touch", HASHBELT_OP_TOUCH },
	{ "remove", HASHBELT_OP_REMOVE },
	{ "expire", HASHBELT_OP_EXPIRE },
	{ "add", HASHBELT_OP_ADD },
};

/**
 * struct place - what an item of a batch points to
 * @sum:	of an addition
 * @room:	of a get
 */
struct place {
	struct hashbelt_sum sum;
	char room[ROOM];
};

/* The item of a step in a batch. */
static struct hashbelt_item batch_item(struct step *step, struct place *place)
{
	const char *name = json_object_get_string(argument(step, "do"));
	struct bytes key = argument_bytes(step, "key"), value = argument_bytes(step, "value");
	struct hashbelt_item item;
	size_t i;

	for (i = 0; i + 1 < sizeof(batched) / sizeof(batched[0]); i++)
		if (!strcmp(batched[i].name, name))
			break;
	if (batched[i].op == HASHBELT_OP_GET)
		value = (struct bytes){ place->room, ROOM };
	if (batched[i].op == HASHBELT_OP_ADD) {
		place->sum.by = argument_number(step, "by");
		value = (struct bytes){ &place->sum, sizeof(place->sum) };
	}
	item = hashbelt_item(batched[i].op, key.at, key.len, value.at, value.len);
	item.how = argument_true(step, "if_absent") ? HASHBELT_IF_ABSENT : 0;
	item.ttl_ms = argument_ms(step, "ttl");
	return item;
}

static struct json_object *batch_result(const struct hashbelt_item *item, const struct place *place)
{
	struct json_object *result = json_object_new_object();

	if (item->result)
		add_word(result, "error", strerrorname_np(-item->result));
	else if (item->op == HASHBELT_OP_GET)
		add_bytes(result, "value", place->room, item->value_len);
	else if (item->op == HASHBELT_OP_ADD)
		json_object_object_add(result, "sum", json_object_new_int64(place->sum.value));
	return result;
}

static int do_batch(struct step *step)
{
	struct json_object *results = json_object_new_array(), *members = argument(step, "items");
	size_t count = json_object_array_length(members), i;
	struct hashbelt_item *items = calloc(count, sizeof(*items));
	struct place *places = calloc(count, sizeof(*places));
	struct step part = *step;
	int err;

	json_object_object_add(step->found, "results", results);
	for (i = 0; i < count; i++) {
		part.members = json_object_array_get_idx(members, i);
		items[i] = batch_item(&part, &places[i]);
	}
	err = carry_out(step, items, count);
	for (i = 0; !err && i < count; i++)
		json_object_array_add(results, batch_result(&items[i], &places[i]));
	free(items);
	free(places);
	return err;
}

static void add_record(struct json_object *keys, struct json_object *entries,
		       const struct hashbelt_record *record)
{
	struct json_object *entry = json_object_new_object();

	add_bytes(entry, "key", hashbelt_record_key(record), record->key_len);
	add_number(entry, "value_len", record->value_len);
	add_number(entry, "flags", record->flags);
	add_number(entry, "version", record->version);
	add_time(entry, "ttl", record->ttl_ms);
	json_object_array_add(entries, entry);
	json_object_array_add(keys, json_object_new_string_len(hashbelt_record_key(record),
							       record->key_len));
}

static int do_scan(struct step *step)
{
	struct json_object *keys = json_object_new_array(), *entries = json_object_new_array();
	const struct hashbelt_record *record;
	struct hashbelt_scanner *scanner;
	int err;

	json_object_object_add(step->found, "keys", keys);
	json_object_object_add(step->found, "entries", entries);
	err = hashbelt_scan_begin(step->handle->belt, &scanner);
	if (err)
		return err;
	while ((err = hashbelt_scan_next(scanner, &record)) > 0)
		add_record(keys, entries, record);
	hashbelt_scan_end(scanner);
	sort_by(keys, NULL);
	sort_by(entries, "key");
	return err;
}

const struct operation many_operations[] = {
	{ "put_many", do_put_many },
	{ "get_many", do_get_many },
	{ "remove_many", do_remove_many },
	{ "batch", do_batch },
	{ "scan", do_scan },
	{ NULL, NULL }
};
