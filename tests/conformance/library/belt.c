// SPDX-License-Identifier: GPL-2.0-only
/* The belt as a whole: handles, settings, time. */
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner.h"

static const char * const reasons[] = {
	[HASHBELT_EXPIRED] = "expired",
	[HASHBELT_EVICTED] = "evicted",
	[HASHBELT_REPLACED] = "replaced",
	[HASHBELT_REMOVED] = "removed",
	[HASHBELT_CLEARED] = "cleared",
	[HASHBELT_PRESSURE] = "pressure",
	[HASHBELT_RELEASED] = "released",
};

static struct json_object *setting(struct json_object *settings, const char *name)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(settings, name, &value);
	return value;
}

static bool setting_is(struct json_object *settings, const char *name, const char *word)
{
	struct json_object *value = setting(settings, name);

	return value && !strcmp(json_object_get_string(value), word);
}

static __u32 report_bits(struct json_object *report)
{
	__u32 bits = 0, reason;
	size_t i;

	if (!report)
		return 0;
	for (i = 0; i < json_object_array_length(report); i++)
		for (reason = HASHBELT_EXPIRED; reason <= HASHBELT_RELEASED; reason++)
			if (!strcmp(json_object_get_string(json_object_array_get_idx(report, i)),
				    reasons[reason]))
				bits |= HASHBELT_REPORT(reason);
	return bits;
}

static __u32 policy_of(struct json_object *settings)
{
	return (setting(settings, "refresh_on_get") ? HASHBELT_REFRESH_ON_GET : 0) |
	       (setting_is(settings, "on_put", "keep") ? HASHBELT_KEEP_ON_PUT : 0) |
	       (setting_is(settings, "when_full", "evict") ? HASHBELT_EVICT : 0) |
	       (setting(settings, "pinned") ? HASHBELT_PINNED : 0);
}

static struct hashbelt_settings settings_of(struct json_object *from)
{
	struct json_object *mode = setting(from, "mode"), *ttl = setting(from, "ttl");

	return (struct hashbelt_settings){
		.ttl_ms = ttl ? time_of(ttl) : 3600 * 1000,
		.grace_ms = time_of(setting(from, "grace")),
		.buckets = json_object_get_int(setting(from, "buckets")),
		.policy = policy_of(from),
		.mode = mode ? strtoul(json_object_get_string(mode), NULL, 8) : 0600,
		.handler = setting_is(from, "on_expire", "notify") ? HASHBELT_NOTIFY :
			   setting_is(from, "on_expire", "reinsert") ? HASHBELT_REINSERT :
			   HASHBELT_DROP,
		.reasons = report_bits(setting(from, "report")),
		.max_entries = json_object_get_uint64(setting(from, "max_entries")),
		.max_bytes = json_object_get_uint64(setting(from, "max_bytes")),
		.max_events = json_object_get_uint64(setting(from, "max_events")),
	};
}

/**
 * belt_create() - create the belt of a case
 * @settings:	as the case has them
 *
 * Return: 0 or a negative errno.
 */
int belt_create(struct json_object *settings)
{
	struct hashbelt_settings made = settings_of(settings);
	struct hashbelt *belt;
	int err;

	err = hashbelt_open(NULL, &belt);
	if (err)
		return err;
	err = hashbelt_create(belt, BELT, &made);
	hashbelt_close(belt);
	return err;
}

/* Sets the effective user of this process; root has user 0. */
static void become(uid_t user)
{
	gid_t group = user;

	if (!user && (seteuid(0) || setegid(0) || setgroups(0, NULL)))
		abort();
	if (user && (setgroups(0, NULL) || setegid(group) || seteuid(user)))
		abort();
}

/**
 * handle_find() - the handle of a name
 * @run:	the case
 * @name:	the name
 *
 * Return: the handle, NULL if there is none.
 */
struct handle *handle_find(const struct run *run, const char *name)
{
	struct handle *handle = run->handles;

	while (handle && strcmp(handle->name, name))
		handle = handle->next;
	return handle;
}

/**
 * handle_open() - open a handle of the belt
 * @run:	the case
 * @name:	its name
 * @user:	the effective user meanwhile
 * @handle:	returned; may be NULL
 *
 * Return: 0 or a negative errno.
 */
int handle_open(struct run *run, const char *name, uid_t user, struct handle **handle)
{
	struct hashbelt *belt;
	struct handle *made;
	int err;

	become(user);
	err = hashbelt_open(NULL, &belt);
	if (!err) {
		err = hashbelt_bind(belt, BELT);
		if (err)
			hashbelt_close(belt);
	}
	become(0);
	if (err)
		return err;
	made = calloc(1, sizeof(*made));
	made->name = strdup(name);
	made->belt = belt;
	made->user = user;
	made->next = run->handles;
	run->handles = made;
	if (handle)
		*handle = made;
	return 0;
}

static void handle_close(struct handle **place)
{
	struct handle *handle = *place;

	*place = handle->next;
	hashbelt_close(handle->belt);
	free(handle->name);
	free(handle->buffer);
	free(handle);
}

/**
 * handles_close() - close all handles
 * @run:	the case
 */
void handles_close(struct run *run)
{
	while (run->handles)
		handle_close(&run->handles);
}

static int do_open(struct step *step)
{
	struct json_object *name = argument(step, "as");

	return handle_open(step->run, json_object_get_string(name), argument_number(step, "user"),
			   NULL);
}

static int do_close(struct step *step)
{
	struct handle **place = &step->run->handles;

	while (*place != step->handle)
		place = &(*place)->next;
	handle_close(place);
	return 0;
}

static int do_create(struct step *step)
{
	return belt_create(step->run->settings);
}

static int do_destroy(struct step *step)
{
	struct hashbelt *belt;
	int err;

	become(step->handle->user);
	err = hashbelt_open(NULL, &belt);
	if (!err) {
		err = hashbelt_destroy(belt, BELT);
		hashbelt_close(belt);
	}
	become(0);
	return err;
}

static int do_clear(struct step *step)
{
	return hashbelt_clear(step->handle->belt);
}

static int do_info(struct step *step)
{
	struct hashbelt_info info;
	int err;

	err = hashbelt_info(step->handle->belt, &info);
	if (err)
		return err;
	add_number(step->found, "entries", info.entries);
	add_number(step->found, "max_entries", info.max_entries);
	add_number(step->found, "locks", info.locks);
	add_number(step->found, "requests", info.requests);
	add_time(step->found, "ttl", info.ttl_ms);
	add_time(step->found, "grace", info.grace_ms);
	add_bool(step->found, "halted", info.state & HASHBELT_HALTED);
	return 0;
}

#define COUNTER_NAME(constant, name, meaning)	name,

static int do_stat(struct step *step)
{
	static const char * const names[] = { HASHBELT_COUNTERS(COUNTER_NAME) };
	unsigned int count = HASHBELT_STAT_COUNT, i;
	__u64 counters[HASHBELT_STAT_COUNT];
	int err;

	err = hashbelt_stat(step->handle->belt, counters, &count);
	for (i = 0; !err && i < HASHBELT_STAT_COUNT; i++)
		add_number(step->found, names[i], counters[i]);
	return err;
}

static int do_set(struct step *step)
{
	struct hashbelt_settings settings = settings_of(step->members);

	settings.fields = (argument(step, "ttl") ? HASHBELT_SET_TTL : 0) |
			  (argument(step, "max_entries") ? HASHBELT_SET_MAX_ENTRIES : 0);
	return hashbelt_set(step->handle->belt, &settings);
}

static int do_advance(struct step *step)
{
	return hashbelt_advance(step->handle->belt, argument_ms(step, "time"));
}

static int do_rotate(struct step *step)
{
	return hashbelt_rotate(step->handle->belt);
}

const struct operation belt_operations[] = {
	{ "open", do_open },
	{ "close", do_close },
	{ "create", do_create },
	{ "destroy", do_destroy },
	{ "clear", do_clear },
	{ "info", do_info },
	{ "stat", do_stat },
	{ "set", do_set },
	{ "advance", do_advance },
	{ "rotate", do_rotate },
	{ NULL, NULL }
};
