// SPDX-License-Identifier: GPL-2.0-only
/* The commands on entries. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "duration.h"
#include "entry.h"
#include "json.h"
#include "lock.h"
#include "value.h"

/* Reads the conditions of a put or an rm, and of a touch but those on the deadline. */
static enum status take_conditions(const struct request *request, bool is_put,
				   struct hashbelt_item *item)
{
	enum status status;

	status = request_number(request, "if-version", 0, ~0ULL, &item->version);
	if (status)
		return status;
	if (request_option(request, "if-version"))
		item->how |= HASHBELT_IF_VERSION;
	if (!is_put)
		return STATUS_DONE;
	status = request_number(request, "if-lease", 1, ~0ULL, &item->version);
	if (status)
		return status;
	if (request_option(request, "if-lease"))
		item->how |= HASHBELT_IF_LEASE;
	if (request_option(request, "if-absent"))
		item->how |= HASHBELT_IF_ABSENT;
	if (request_option(request, "if-present"))
		item->how |= HASHBELT_IF_PRESENT;
	if (item->how & (item->how - 1))
		return fail_usage(request,
				  "--if-absent, --if-present and the other conditions exclude each other");
	return STATUS_DONE;
}

/* Reports why a put, a touch or an rm failed; @version is the one that was demanded. */
static enum status fail_condition(const struct request *request, int err,
				  const struct key *key, const struct hashbelt_item *item,
				  __u64 version)
{
	char *text;

	if (err == -EINVAL && item->how & HASHBELT_LEAVE_STALE)
		return fail_no_stale(request, err);
	if (err != -EEXIST && err != -ESTALE && err != -EALREADY)
		return fail_entry(request, err, key);
	text = key_text(key);
	fail_cause(err);
	if (err == -EALREADY)
		fail(STATUS_NO,
		     "the deadline of entry '%s' in belt '%s' does not meet the condition: 'has --json' shows it",
		     text, request->belt);
	else if (item->how & HASHBELT_IF_LEASE)
		fail(STATUS_NO,
		     "the fill lease of '%s' in belt '%s' has ended, so the value is not stored: 'get --fill --print-token' asks for a new one",
		     text, request->belt);
	else if (err == -ESTALE)
		fail(STATUS_NO,
		     "entry '%s' in belt '%s' has version %llu, not %llu: another process was faster, get it again",
		     text, request->belt, item->version, version);
	else if (item->how & HASHBELT_IF_ABSENT)
		fail(STATUS_NO, "entry '%s' is in belt '%s' already, with version %llu",
		     text, request->belt, item->version);
	else
		fail(STATUS_NO,
		     "belt '%s' keeps its present entry '%s' with version %llu (--if-present replaces it)",
		     request->belt, text, item->version);
	free(text);
	return STATUS_NO;
}

/* The least time-to-live of entries that hbctl renews, ms: less would be nothing but renewing. */
#define HOLD_MIN_MS	100ULL

static enum status do_put(const struct request *request, const struct key *key,
			  const void *value, size_t value_len, const struct hashbelt_item *demand)
{
	struct hashbelt_item item = *demand;
	struct json object;
	int err;

	err = hashbelt_put(request->handle, key->bytes, key->len, value, value_len, &item);
	if (err)
		return fail_condition(request, err, key, &item, demand->version);
	if (!request->json)
		return STATUS_DONE;
	object = entry_object(key, &item);
	json_add_number(&object, "value_len", value_len);
	json_end(object);
	return STATUS_DONE;
}

static int read_file(struct value *value, const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = value_read(value, fd);
	close(fd);
	return err;
}

/* The value of a put: an operand, a file, or stdin. */
static enum status take_value(const struct request *request, struct value *value)
{
	const char *text = request->count > 1 ? request->operands[1] : "-";
	const char *name = request_option(request, "from");
	bool from_stdin = !strcmp(name ? name : text, "-");
	int err;

	if (name && request->count > 1)
		return fail_usage(request, "--from takes the place of VALUE");
	if (from_stdin && request_stdin(request))
		return STATUS_USAGE;
	if (from_stdin)
		err = value_read(value, STDIN_FILENO);
	else if (name)
		err = read_file(value, name);
	else
		err = value_copy(value, text, strlen(text));
	if (err == -EMSGSIZE)
		return fail_usage(request, "a value has at most %d bytes",
				  HASHBELT_VALUE_MAX);
	if (err)
		return fail(STATUS_ERROR, "cannot read the value from %s: %s",
			    name ? name : "stdin", strerror(-err));
	return STATUS_DONE;
}

/* Reads the options of a put but --from. */
static enum status take_put_options(const struct request *request, struct hashbelt_item *item)
{
	enum status status;
	__u64 flags = 0;

	status = request_ttl(request, "never|keep", &item->ttl_ms);
	if (!status)
		status = request_number(request, "flags", 0, ~0U, &flags);
	if (!status)
		status = take_conditions(request, true, item);
	item->flags = flags;
	if (status || !request_option(request, "hold"))
		return status;
	item->how |= HASHBELT_BOUND;
	if (item->ttl_ms == HASHBELT_TTL_KEEP)
		return fail_usage(request, "--hold and --ttl keep exclude each other");
	if (item->ttl_ms && item->ttl_ms < HOLD_MIN_MS)
		return fail_usage(request, "--hold: --ttl is at least %llums", HOLD_MIN_MS);
	return STATUS_DONE;
}

/* Entries of --hold are bound to the handle. */
static enum status bind_for_put(struct request *request, const struct hashbelt_item *item)
{
	return item->how & HASHBELT_BOUND ? request_bind(request) : request_bind_briefly(request);
}

static enum status put_one(struct request *request, const struct hashbelt_item *item)
{
	struct value value = { 0 };
	enum status status;
	struct key key;

	status = request_key(request, 0, &key);
	if (!status)
		status = take_value(request, &value);
	if (!status)
		status = bind_for_put(request, item);
	if (!status)
		status = do_put(request, &key, value.bytes, value.len, item);
	value_free(&value);
	return status;
}

/* The keys of KEY VALUE pairs, whose values are words of the command. */
static enum status take_pairs(const struct request *request, const struct hashbelt_item *item,
			      struct key *keys)
{
	enum status status = STATUS_DONE;
	int i;

	if (request->count % 2)
		return fail_usage(request, "a VALUE is missing behind the KEY '%s'",
				  request->operands[request->count - 1]);
	if (item->how & (HASHBELT_IF_VERSION | HASHBELT_IF_LEASE))
		return fail_usage(request, "--if-version and --if-lease are for one KEY");
	if (request_option(request, "from"))
		return fail_usage(request, "--from is for one KEY");
	for (i = 0; !status && i < request->count; i += 2) {
		status = request_key(request, i, &keys[i / 2]);
		if (!status && !strcmp(request->operands[i + 1], "-"))
			status = fail_usage(request, "a VALUE of - is for one KEY");
	}
	return status;
}

/* A key whose condition does not hold does not keep the others from their turn. */
static enum status put_pairs(struct request *request, const struct hashbelt_item *item)
{
	struct key *keys = calloc(request->count, sizeof(*keys));
	enum status status, worst = STATUS_DONE;
	const char *value;
	int i;

	if (!keys)
		return fail(STATUS_ERROR, "out of memory");
	status = take_pairs(request, item, keys);
	if (!status)
		status = bind_for_put(request, item);
	for (i = 0; status <= STATUS_NO && i < request->count; i += 2) {
		value = request->operands[i + 1];
		status = do_put(request, &keys[i / 2], value, strlen(value), item);
		worst = status > worst ? status : worst;
	}
	free(keys);
	return status > worst ? status : worst;
}

/* In steps: poll(2) does not count the time for which the machine is suspended. */
static void wait_until(__u64 ms)
{
	__u64 now;

	while ((now = clock_ms()) < ms)
		poll(NULL, 0, ms - now < 1000 ? ms - now : 1000);
}

/* Renews the entries that were put, all at once, until a signal ends us: they go with us. */
static enum status hold(const struct request *request, __u64 ttl_ms)
{
	struct hashbelt_item item = { 0 };
	__u64 asked;
	int err;

	fflush(stdout);
	for (;;) {
		asked = clock_ms();
		err = hashbelt_touch_bound(request->handle, ttl_ms, &item);
		if (err == -ENOENT)
			return fail(STATUS_NO, "the entries have left belt '%s'", request->belt);
		if (err)
			return fail_belt(request, err);
		wait_until(item.ttl_ms == HASHBELT_TTL_NEVER ? HASHBELT_TTL_NEVER :
			   asked + item.ttl_ms / 3);
	}
}

/**
 * cmd_put() - hbctl put
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_put(struct request *request)
{
	struct hashbelt_item item = { 0 };
	enum status status;

	status = take_put_options(request, &item);
	if (!status && request->count > 2)
		status = put_pairs(request, &item);
	else if (!status)
		status = put_one(request, &item);
	if (status || !(item.how & HASHBELT_BOUND))
		return status;
	return hold(request, item.ttl_ms);
}

/* An operation of a command on one of its keys. */
typedef enum status key_function(const struct request *request, const struct key *key,
				 const struct hashbelt_item *item);

/*
 * Binds to the belt and calls @one for each key, with @item for it to start from. A key without an
 * entry does not keep the others from their turn.
 */
static enum status do_keys(struct request *request, const struct hashbelt_item *item,
			   key_function *one)
{
	enum status status, worst = STATUS_DONE;
	struct key *keys;
	int i;

	status = request_keys(request, &keys);
	if (!status)
		status = request_bind_briefly(request);
	for (i = 0; status <= STATUS_NO && i < request->count; i++) {
		status = one(request, &keys[i], item);
		worst = status > worst ? status : worst;
	}
	request_free_keys(request, keys);
	return status > worst ? status : worst;
}

static enum status get_one(const struct request *request, const struct key *key,
			   const struct hashbelt_item *demand)
{
	struct hashbelt_item item = *demand;
	enum status status = STATUS_DONE;
	struct value value = { 0 };
	int err;

	err = value_get(&value, request->handle, key->bytes, key->len, &item);
	if (err)
		status = fail_entry(request, err, key);
	else if (request->json || request->count > 1)
		entry_print_line(request, key, &value, &item);
	else
		entry_print(request, &value, &item);
	value_free(&value);
	return status;
}

/* A get that does not fill. */
static enum status get_plainly(struct request *request)
{
	struct hashbelt_item item = { 0 };
	enum status status;

	status = request_ttl(request, "never", &item.ttl_ms);
	if (request_option(request, "ttl"))
		item.how = HASHBELT_AND_TOUCH;
	if (!status && request->count > 1 && request_option(request, "verbose"))
		status = fail_usage(request, "--verbose is for one KEY: --json prints as much");
	return status ? status : do_keys(request, &item, get_one);
}

static enum status get_with_fill(struct request *request)
{
	enum status status;
	struct key key;

	if (request->count > 1)
		return fail_usage(request, "--fill is for one KEY");
	status = request_key(request, 0, &key);
	return status ? status : get_filled(request, &key);
}

/**
 * cmd_get() - hbctl get
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_get(struct request *request)
{
	static const char * const fill_options[] = { "lease", "wait", "ahead", "stale",
						      "retry-after", "print-token" };
	size_t i;

	if (request_option(request, "fill"))
		return get_with_fill(request);
	for (i = 0; i < ARRAY_SIZE(fill_options); i++)
		if (request_option(request, fill_options[i]))
			return fail_usage(request, "--%s needs --fill", fill_options[i]);
	if (request->command_line)
		return fail_usage(request, "a COMMAND needs --fill");
	return get_plainly(request);
}

/* Reads the conditions of a touch, and whether it adds. */
static enum status take_touch_conditions(const struct request *request, struct hashbelt_item *item)
{
	static const struct {
		const char *option;
		__u32 how;
	} options[] = {
		{ "add", HASHBELT_FROM_DEADLINE },
		{ "if-lasting", HASHBELT_IF_LASTING },
		{ "if-expiring", HASHBELT_IF_EXPIRING },
		{ "if-later", HASHBELT_IF_LATER },
		{ "if-sooner", HASHBELT_IF_SOONER },
	};
	enum status status = take_conditions(request, false, item);
	__u32 bits = 0;
	size_t i;

	if (status)
		return status;
	if (item->how && request->count > 1)
		return fail_usage(request, "--if-version is for one KEY");
	for (i = 0; i < ARRAY_SIZE(options); i++)
		if (request_option(request, options[i].option))
			bits |= options[i].how;
	if ((bits & HASHBELT_IF_LASTING && bits != HASHBELT_IF_LASTING) ||
	    (bits & HASHBELT_IF_LATER && bits & HASHBELT_IF_SOONER))
		return fail_usage(request,
				  "--if-lasting and others on the deadline, or --if-later and --if-sooner, exclude each other");
	if (bits & HASHBELT_FROM_DEADLINE && item->ttl_ms == HASHBELT_TTL_NEVER)
		return fail_usage(request, "--add and --ttl never exclude each other");
	item->how |= bits;
	return STATUS_DONE;
}

static enum status touch_one(const struct request *request, const struct key *key,
			     const struct hashbelt_item *demand)
{
	struct hashbelt_item item = *demand;
	int err;

	err = hashbelt_touch(request->handle, key->bytes, key->len, demand->ttl_ms, &item);
	if (err)
		return fail_condition(request, err, key, &item, demand->version);
	if (request->json)
		json_end(entry_object(key, &item));
	return STATUS_DONE;
}

/**
 * cmd_touch() - hbctl touch
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_touch(struct request *request)
{
	struct hashbelt_item item = { .ttl_ms = HASHBELT_TTL_BELT };
	enum status status;

	status = request_ttl(request, "never", &item.ttl_ms);
	if (!status)
		status = take_touch_conditions(request, &item);
	return status ? status : do_keys(request, &item, touch_one);
}

static void print_presence(const struct key *key, const struct hashbelt_item *item)
{
	struct json object;

	if (item) {
		object = entry_object(key, item);
		json_add_number(&object, "value_len", item->value_len);
	} else {
		object = json_entry(key->bytes, key->len);
	}
	json_add_bool(&object, "present", !!item);
	json_end(object);
}

/**
 * cmd_has() - hbctl has
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_has(struct request *request)
{
	struct hashbelt_item item = { .how = HASHBELT_NO_VALUE | HASHBELT_NO_REFRESH };
	enum status status;
	struct key key;
	int err;

	status = request_key(request, 0, &key);
	if (!status)
		status = request_bind_briefly(request);
	if (status)
		return status;
	err = hashbelt_get(request->handle, key.bytes, key.len, NULL, 0, &item);
	if (request->json && (!err || err == -ENOENT))
		print_presence(&key, err ? NULL : &item);
	if (err == -ENOENT && request_option(request, "quiet"))
		return STATUS_NO;
	return err ? fail_entry(request, err, &key) : STATUS_DONE;
}

static enum status remove_one(const struct request *request, const struct key *key,
			      const struct hashbelt_item *demand)
{
	struct hashbelt_item item = *demand;
	struct json object;
	int err;

	err = hashbelt_remove(request->handle, key->bytes, key->len, &item);
	if (err)
		return fail_condition(request, err, key, &item, demand->version);
	if (!request->json)
		return STATUS_DONE;
	object = json_entry(key->bytes, key->len);
	json_add_number(&object, "version", item.version);
	json_end(object);
	return STATUS_DONE;
}

/**
 * cmd_rm() - hbctl rm
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_rm(struct request *request)
{
	struct hashbelt_item item = { 0 };
	enum status status;

	if (request_option(request, "prefix") || request_option(request, "match"))
		return remove_matching(request);
	if (request_option(request, "dry-run"))
		return fail_usage(request, "--dry-run needs --prefix or --match");
	if (!request->count)
		return fail_usage(request,
				  "an operand is missing: rm KEY... (or --prefix, --match)");
	status = take_conditions(request, false, &item);
	if (!status && item.how && request->count > 1)
		status = fail_usage(request, "--if-version is for one KEY");
	if (request_option(request, "stale"))
		item.how |= HASHBELT_LEAVE_STALE;
	return status ? status : do_keys(request, &item, remove_one);
}

/**
 * cmd_expire() - hbctl expire
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_expire(struct request *request)
{
	enum status status;
	struct key key;
	int err;

	status = request_key(request, 0, &key);
	if (!status)
		status = request_bind_briefly(request);
	if (status)
		return status;
	err = hashbelt_expire(request->handle, key.bytes, key.len);
	if (err)
		return fail_entry(request, err, &key);
	if (request->json)
		json_end(json_entry(key.bytes, key.len));
	return STATUS_DONE;
}
