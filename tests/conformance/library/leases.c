// SPDX-License-Identifier: GPL-2.0-only
/* Fill leases and locks. */
#include <errno.h>
#include <stdio.h>

#include "runner.h"

static char buffer[HASHBELT_VALUE_MAX];

/* The place of the token of a handle's fill lease for the key of a step. */
static void token_name(const struct step *step, char *name, size_t size)
{
	struct bytes key = argument_bytes(step, "key");

	snprintf(name, size, "%s %.*s", step->handle->name, (int)key.len, (const char *)key.at);
}

static __u64 token_of(const struct step *step)
{
	struct json_object *token = NULL;
	char name[128];

	token_name(step, name, sizeof(name));
	json_object_object_get_ex(step->run->tokens, name, &token);
	return json_object_get_uint64(token);
}

static int do_fill(struct step *step)
{
	struct bytes key = argument_bytes(step, "key");
	struct hashbelt_fill fill = {
		.lease_ms = argument_ms(step, "lease"),
		.ahead_ms = argument_ms(step, "ahead"),
		.how = (argument_true(step, "stale") ? HASHBELT_STALE : 0) |
		       (argument_true(step, "bound") ? HASHBELT_BOUND : 0),
	};
	char name[128];
	int err;

	err = hashbelt_fill(step->handle->belt, key.at, key.len, buffer, sizeof(buffer), &fill);
	if (err && err != -ENOENT)
		return err;
	json_object_object_add(step->found, "value", err ? NULL :
			       json_object_new_string_len(buffer, fill.item.value_len));
	add_bool(step->found, "granted", fill.state & HASHBELT_GRANTED);
	add_bool(step->found, "filling", fill.state & HASHBELT_FILLING);
	add_bool(step->found, "failed", fill.state & HASHBELT_FAILED);
	add_bool(step->found, "stale", fill.state & HASHBELT_STALE);
	if (fill.state & HASHBELT_GRANTED) {
		token_name(step, name, sizeof(name));
		add_number(step->run->tokens, name, fill.token);
	}
	return 0;
}

static int do_fill_put(struct step *step)
{
	struct bytes key = argument_bytes(step, "key"), value = argument_bytes(step, "value");
	struct hashbelt_item item = { .ttl_ms = argument_ms(step, "ttl") };

	return hashbelt_fill_put(step->handle->belt, key.at, key.len, value.at, value.len,
				 token_of(step), &item);
}

static int do_offer(struct step *step)
{
	int err = do_fill_put(step);

	return err == -ESTALE ? 0 : err;
}

static int do_fill_renew(struct step *step)
{
	struct bytes key = argument_bytes(step, "key");

	return hashbelt_fill_renew(step->handle->belt, key.at, key.len, token_of(step),
				   argument_ms(step, "lease"));
}

static int do_fill_fail(struct step *step)
{
	struct bytes key = argument_bytes(step, "key");

	return hashbelt_fill_fail(step->handle->belt, key.at, key.len, token_of(step),
				  argument_ms(step, "retry"));
}

static int do_give_up(struct step *step)
{
	struct bytes key = argument_bytes(step, "key");

	return hashbelt_give_up(step->handle->belt, key.at, key.len, token_of(step));
}

static void add_lock(struct step *step, const struct hashbelt_lock *lock)
{
	add_number(step->found, "token", lock->token);
	add_time(step->found, "ttl", lock->ttl_ms);
	add_time(step->found, "held", lock->held_ms);
}

static int do_lock(struct step *step)
{
	struct bytes name = argument_bytes(step, "name"), owner = argument_bytes(step, "owner");
	struct hashbelt_lock lock = {
		.how = (argument_true(step, "bound") ? HASHBELT_BOUND : 0) |
		       (argument_true(step, "if_absent") ? HASHBELT_IF_ABSENT : 0),
		.ttl_ms = argument_ms(step, "ttl"),
	};
	int err;

	err = hashbelt_lock(step->handle->belt, name.at, name.len, owner.at, owner.len, &lock);
	if (!err)
		add_lock(step, &lock);
	return err;
}

static int do_unlock(struct step *step)
{
	struct bytes name = argument_bytes(step, "name"), owner = argument_bytes(step, "owner");

	return hashbelt_unlock(step->handle->belt, name.at, name.len, owner.at, owner.len);
}

static int do_renew(struct step *step)
{
	struct bytes name = argument_bytes(step, "name"), owner = argument_bytes(step, "owner");
	struct hashbelt_lock lock;
	int err;

	err = hashbelt_renew(step->handle->belt, name.at, name.len, owner.at, owner.len,
			     argument_ms(step, "ttl"), &lock);
	if (!err)
		add_lock(step, &lock);
	return err;
}

static int do_holder(struct step *step)
{
	struct bytes name = argument_bytes(step, "name");
	char owner[HASHBELT_OWNER_MAX];
	size_t len = sizeof(owner);
	struct hashbelt_lock lock;
	int err;

	err = hashbelt_holder(step->handle->belt, name.at, name.len, owner, &len, &lock);
	if (err)
		return err;
	add_lock(step, &lock);
	add_bytes(step->found, "owner", owner, len);
	return 0;
}

static int do_release(struct step *step)
{
	struct bytes owner = argument_bytes(step, "owner");
	__u64 count;
	int err;

	err = hashbelt_release(step->handle->belt, owner.at, owner.len, &count);
	if (!err)
		add_number(step->found, "count", count);
	return err;
}

static struct json_object *lock_object(const struct hashbelt_lock_record *record)
{
	struct json_object *lock = json_object_new_object();

	add_bytes(lock, "name", hashbelt_lock_key(record), record->key_len);
	add_bytes(lock, "owner", hashbelt_lock_owner(record), record->owner_len);
	add_number(lock, "token", record->token);
	add_time(lock, "ttl", record->ttl_ms);
	return lock;
}

static int do_locks(struct step *step)
{
	struct json_object *locks = json_object_new_array();
	struct bytes owner = argument_bytes(step, "owner");
	const struct hashbelt_lock_record *record;
	struct hashbelt_lister *lister;
	int err;

	json_object_object_add(step->found, "locks", locks);
	err = hashbelt_locks_begin(step->handle->belt, owner.at, owner.len, &lister);
	if (err)
		return err;
	while ((err = hashbelt_locks_next(lister, &record)) > 0)
		json_object_array_add(locks, lock_object(record));
	hashbelt_locks_end(lister);
	sort_by(locks, "name");
	return err;
}

const struct operation lease_operations[] = {
	{ "fill", do_fill },
	{ "fill_put", do_fill_put },
	{ "offer", do_offer },
	{ "fill_renew", do_fill_renew },
	{ "fill_fail", do_fill_fail },
	{ "give_up", do_give_up },
	{ "lock", do_lock },
	{ "unlock", do_unlock },
	{ "renew", do_renew },
	{ "holder", do_holder },
	{ "release", do_release },
	{ "locks", do_locks },
	{ NULL, NULL }
};
