// SPDX-License-Identifier: GPL-2.0-only
/* The arguments that commands on locks have in common. */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "lock.h"

/* Names the store for all commands that are given none. */
#define STORE_VARIABLE	"HASHBELT_STORE"

#define DEFAULT_TABLE	"hashbelt_lock"
#define DEFAULT_TYPE	"lock"

/**
 * lock_store_of() - the store that has the locks
 * @request:	the request, of a command on locks
 *
 * Options take precedence over the environment.
 *
 * Return: how to connect to it; NULL for a belt.
 */
const char *lock_store_of(const struct request *request)
{
	const char *store = request_option(request, "store");

	if (store || request_option(request, "belt") || request_option(request, "device") ||
	    request_option(request, "belt-owner"))
		return store;
	store = getenv(STORE_VARIABLE);
	return store && *store ? store : NULL;
}

/**
 * lock_check_place() - refuse options of stores for locks in belts, and the other way round
 * @request:	the request, of a command on locks
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says what is wrong.
 */
enum status lock_check_place(const struct request *request)
{
	static const char * const of_stores[] = { "table", "type" };
	static const char * const of_belts[] = { "belt", "device", "belt-owner" };
	bool store = lock_store_of(request);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(of_stores); i++)
		if (!store && request_option(request, of_stores[i]))
			return fail_usage(request,
					  "--%s is for locks in a store: --store is missing",
					  of_stores[i]);
	for (i = 0; i < ARRAY_SIZE(of_belts); i++)
		if (store && request_option(request, of_belts[i]))
			return fail_usage(request, "--%s and --store exclude each other",
					  of_belts[i]);
	return STATUS_DONE;
}

/**
 * lock_open_place() - reach for the place where the locks are
 * @request:	the request, of a command on locks
 * @make:	make the belt if it is missing
 * @wait_ms:	how long the caller waits for a lock, milliseconds
 * @place:	returned
 *
 * Return: STATUS_DONE, or another status after a line that says why.
 */
enum status lock_open_place(struct request *request, bool make, __u64 wait_ms,
			    struct lock_place **place)
{
	const struct store_spec spec = {
		.conninfo = lock_store_of(request),
		.table = request_option(request, "table") ?: DEFAULT_TABLE,
		.type = request_option(request, "type") ?: DEFAULT_TYPE,
		/* A call that does not wait for a lock waits for an answer all the same. */
		.answer_timeout_ms = answer_timeout(wait_ms ? wait_ms : HASHBELT_TTL_NEVER),
	};

	if (spec.conninfo)
		return lock_store_open(request, &spec, place);
	return lock_device_open(request, make, place);
}

/**
 * lock_take_owner() - read the option --owner
 * @request:	the request, of a command on locks
 * @needed:	the option must be there
 * @owner:	returned; left alone if the option was not given
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says what is wrong.
 */
enum status lock_take_owner(const struct request *request, bool needed, struct key *owner)
{
	const char *text = request_option(request, "owner");

	if (!text && needed)
		return fail_usage(request, "--owner is missing");
	if (!text)
		return STATUS_DONE;
	owner->bytes = text;
	owner->len = strlen(text);
	if (!owner->len || owner->len > HASHBELT_OWNER_MAX)
		return fail_usage(request, "--owner: an owner has 1 to %d bytes, not %zu",
				  HASHBELT_OWNER_MAX, owner->len);
	return STATUS_DONE;
}

/**
 * lock_json_held() - add token and times of a lock to its JSON
 * @object:	the object
 * @held:	the lock
 */
void lock_json_held(struct json *object, const struct lock_held *held)
{
	json_add_number(object, "token", held->token);
	json_add_ttl(object, held->ttl_ms);
	json_add_number(object, "held_ms", held->held_ms);
}

/**
 * lock_json() - begin an object about a lock
 * @name:	its name
 * @owner:	its owner
 * @owner_len:	length of the owner, bytes
 *
 * Return: the object, for json_end().
 */
struct json lock_json(const struct key *name, const void *owner, size_t owner_len)
{
	struct json object = json_entry(name->bytes, name->len);

	json_add_bytes(&object, "owner", owner, owner_len);
	return object;
}
