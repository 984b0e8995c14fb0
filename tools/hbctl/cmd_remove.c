// SPDX-License-Identifier: GPL-2.0-only
/* rm --prefix and rm --match: remove all entries whose keys are alike. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "json.h"
#include "progress.h"
#include "walk.h"

/* Entries that are removed in one call. */
#define BATCH	256

/**
 * struct removal - a removal of many entries
 * @request:	the request
 * @prefix:	of the keys; of length 0 for any
 * @pattern:	that matches the keys, ended by a NUL; NULL for any
 * @progress:	by the entries of the belt
 * @seen:	entries that the walk has visited
 * @removed:	entries that were removed
 * @count:	keys that wait to be removed
 * @items:	the items for their removal
 * @keys:	the keys, each ended by a NUL
 */
struct removal {
	struct request *request;
	struct key prefix;
	char *pattern;
	struct progress progress;
	__u64 seen;
	__u64 removed;
	unsigned int count;
	struct hashbelt_item items[BATCH];
	char keys[BATCH][HASHBELT_KEY_MAX + 1];
};

/**
 * fail_no_stale() - say why an rm leaves no value
 * @request:	the request
 * @err:	negative errno of the operation
 *
 * Return: the exit status for it.
 */
enum status fail_no_stale(const struct request *request, int err)
{
	fail_cause(err);
	return fail(STATUS_ERROR,
		    "belt '%s' keeps no value that has expired: --stale needs 'hbctl set --grace D', and no '--on-expire reinsert'",
		    request->belt);
}

/* Removes the entries whose keys wait. An entry that has gone meanwhile is no error. */
static int flush(struct removal *removal)
{
	unsigned int done, i;
	int err, first = 0;

	if (!removal->count)
		return 0;
	err = hashbelt_batch(removal->request->handle, removal->items, removal->count, &done);
	for (i = 0; i < done; i++) {
		if (!removal->items[i].result)
			removal->removed++;
		else if (removal->items[i].result != -ENOENT && !first)
			first = removal->items[i].result;
	}
	removal->count = 0;
	err = first ? first : err;
	if (err)
		progress_erase(&removal->progress);
	else
		progress_step(&removal->progress, removal->seen, removal->removed);
	return err;
}

/* Whether a key matches the pattern; fnmatch(3) cannot see bytes behind a NUL. */
static bool is_match(const struct removal *removal, const char *key, size_t len)
{
	if (!removal->pattern)
		return true;
	return !memchr(key, '\0', len) && !fnmatch(removal->pattern, key, 0);
}

static int visit_entry(struct request *request, const struct hashbelt_record *record, void *arg)
{
	struct removal *removal = arg;
	char *key = removal->keys[removal->count];

	removal->seen++;
	if (!record_has_prefix(record, &removal->prefix))
		return 0;
	memcpy(key, hashbelt_record_key(record), record->key_len);
	key[record->key_len] = '\0';
	if (!is_match(removal, key, record->key_len))
		return 0;
	if (request_option(request, "dry-run")) {
		record_print(request, record);
		return 0;
	}
	removal->items[removal->count] = hashbelt_item(HASHBELT_OP_REMOVE, key, record->key_len,
						       NULL, 0);
	if (request_option(request, "stale"))
		removal->items[removal->count].how = HASHBELT_LEAVE_STALE;
	return ++removal->count == BATCH ? flush(removal) : 0;
}

/* Checks the rights before the first entry is removed. @entries: returned, their number. */
static enum status check_rights(const struct request *request, __u64 *entries)
{
	bool is_dry = request_option(request, "dry-run");
	struct hashbelt_info info;
	int err = hashbelt_info(request->handle, &info);

	*entries = info.entries;
	if (err == -EPERM || (!err && !is_dry && !(info.access & HASHBELT_MAY_WRITE)))
		return fail(STATUS_REACH,
			    "rm --prefix and --match take the right to read and to write belt '%s'",
			    request->belt);
	return err ? fail_call(request, HASHBELT_CALL_INFO, err) : STATUS_DONE;
}

static void report(const struct removal *removal)
{
	struct json object;

	if (!removal->request->json) {
		printf("%llu\n", removal->removed);
		return;
	}
	object = json_begin(stdout);
	json_add_number(&object, "removed", removal->removed);
	json_end(object);
}

static enum status run(struct removal *removal)
{
	const struct key all = { .bytes = "" };
	struct request *request = removal->request;
	bool is_dry = request_option(request, "dry-run");
	enum status status;
	__u64 entries;
	int err;

	status = check_rights(request, &entries);
	if (status)
		return status;
	progress_begin(&removal->progress, entries);
	status = walk(request, &all, stdout, visit_entry, removal);
	if (status || is_dry)
		return status;
	err = flush(removal);
	if (err == -EINVAL && request_option(request, "stale"))
		return fail_no_stale(request, err);
	if (err)
		return fail_belt(request, err);
	progress_end(&removal->progress, removal->removed);
	report(removal);
	return STATUS_DONE;
}

/* Reads an option that chooses keys. */
static enum status take_choice(const struct request *request, const char *name, char **text,
			       size_t *len)
{
	const char *given = request_option(request, name);
	enum status status = STATUS_DONE;

	if (!given)
		return STATUS_DONE;
	/* A variable that is not set must not remove everything. */
	if (!*given)
		return fail_usage(request,
				  "--%s is empty, and no key is: 'hbctl clear' drops all entries",
				  name);
	*text = strdup(given);
	if (!*text)
		return fail(STATUS_ERROR, "out of memory");
	status = request_unescape(request, *text, len);
	(*text)[status ? 0 : *len] = '\0';
	return status;
}

static enum status take_choices(const struct request *request, struct removal *removal,
				char **prefix)
{
	enum status status;
	size_t len;

	if (request->count)
		return fail_usage(request, "--prefix and --match take the place of KEY");
	if (request_option(request, "if-version"))
		return fail_usage(request, "--if-version is for one KEY");
	status = take_choice(request, "prefix", prefix, &removal->prefix.len);
	removal->prefix.bytes = *prefix;
	if (!status)
		status = take_choice(request, "match", &removal->pattern, &len);
	if (!status && removal->pattern && strlen(removal->pattern) != len)
		status = fail_usage(request, "--match: a pattern has no NUL byte");
	return status;
}

/**
 * remove_matching() - hbctl rm --prefix and --match
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status remove_matching(struct request *request)
{
	struct removal *removal = calloc(1, sizeof(*removal));
	enum status status;
	char *prefix = NULL;

	if (!removal)
		return fail(STATUS_ERROR, "out of memory");
	removal->request = request;
	status = take_choices(request, removal, &prefix);
	if (!status)
		status = request_bind(request);
	if (!status)
		status = run(removal);
	free(prefix);
	free(removal->pattern);
	free(removal);
	return status;
}
