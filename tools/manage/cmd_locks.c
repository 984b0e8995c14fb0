// SPDX-License-Identifier: GPL-2.0-only
/* The command locks: the locks that are held. */
#include <stdio.h>

#include "commands.h"
#include "encoding.h"
#include "json.h"
#include "lock.h"

static void list_json(const struct lock_held *held, void *data)
{
	struct json object;

	(void)data;
	object = lock_json(&held->name, held->owner, held->owner_len);
	lock_json_held(&object, held);
	json_add_bool(&object, "bound", held->bound);
	json_end(object);
}

static void print_name(FILE *cell, const void *row, const struct table_column *column)
{
	const struct lock_held *held = row;

	(void)column;
	escape_print(cell, held->name.bytes, held->name.len);
}

static void print_owner(FILE *cell, const void *row, const struct table_column *column)
{
	const struct lock_held *held = row;

	(void)column;
	escape_print(cell, held->owner, held->owner_len);
}

static void print_bound(FILE *cell, const void *row, const struct table_column *column)
{
	(void)column;
	fputs(((const struct lock_held *)row)->bound ? "yes" : "no", cell);
}

#define FIELD(name)	offsetof(struct lock_held, name)
#define SHOWN_NUMBER	(TABLE_DEFAULT | TABLE_NUMBER)

/* The columns of locks. */
const struct table_column locks_columns[] = {
	{ "TOKEN", SHOWN_NUMBER, "fencing token", table_number, FIELD(token) },
	{ "HELD", SHOWN_NUMBER, "time since the grant", table_duration, FIELD(held_ms) },
	{ "LEFT", SHOWN_NUMBER, "time that the lease has left", table_duration, FIELD(ttl_ms) },
	{ "OWNER", TABLE_DEFAULT | TABLE_TEXT, "owner", print_owner, 0 },
	{ "NAME", TABLE_DEFAULT | TABLE_TEXT, "name of the lock", print_name, 0 },
	{ "BOUND", 0, "whether it goes with the process that has it", print_bound, 0 },
	{ 0 },
};

static void list_row(const struct lock_held *held, void *data)
{
	table_add(data, held);
}

static enum status list_locks(struct request *request, const struct key *owner,
			      struct table *table)
{
	struct lock_place *place;
	enum status status = lock_open_place(request, false, 0, &place);
	int err;

	if (status)
		return status;
	err = place->ops->list(place, owner->bytes ? owner : NULL, table ? list_row : list_json,
			       table);
	if (err)
		status = place->ops->fail(place, err);
	else if (table)
		table_print(table, stdout);
	place->ops->close(place);
	return status;
}

/**
 * cmd_locks() - hbctl locks
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_locks(struct request *request)
{
	struct key owner = { 0 };
	struct table *table = NULL;
	enum status status;

	status = lock_check_place(request);
	if (!status)
		status = lock_take_owner(request, false, &owner);
	if (!status)
		status = table_begin(request, TABLE_DEFAULT, &table);
	if (!status)
		status = list_locks(request, &owner, table);
	table_end(table);
	return status;
}
