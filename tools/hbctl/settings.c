// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account.h"
#include "duration.h"
#include "settings.h"

/* The largest number of a group; the one above means none. */
#define GROUP_MAX	(~0U - 1)

/* The options of create and set. */
const struct option_spec settings_options[SETTINGS_COUNT + 1] = {
	{ "ttl", 0, "D", "the belt's time-to-live (5m)" },
	{ "grace", 0, "D|none", "keep expired values for get --fill --stale (none)" },
	{ "buckets", 0, "N", "buckets, 2 to 65536; an interval is ttl / (N - 1) (3)" },
	{ "policy", 0, "standard|updating|timecache", "policy of get and put (timecache)" },
	{ "refresh-on-get", 0, "yes|no", "whether get renews the time-to-live" },
	{ "on-put", 0, "replace|keep", "whether put replaces or keeps a present entry" },
	{ "on-expire", 0, "drop|notify|reinsert",
	  "what the belt does with expired entries (drop)" },
	{ "report", 0, "expired|evicted|replaced|removed|cleared|pressure|released|all",
	  "reasons, with commas (expired,evicted,pressure)" },
	{ "consumers", 0, "readers|owner", "the users that may take events (readers)" },
	{ "max-entries", 0, "N|none", "most entries (none)" },
	{ "max-bytes", 0, "SIZE|none", "most bytes, as 64k, 10M, 1.5GiB (none)" },
	{ "max-events", 0, "N|none", "most events that wait to be read (1048576)" },
	{ "when-full", 0, "evict|reject", "whether a put in a full belt evicts or fails (reject)" },
	{ "evict", 0, "unread|deadline", "the order, with --when-full evict or alone (unread)" },
	{ "pinned", 0, YES_NO, "keep entries when the system is short of memory" },
	{ "wipe", 0, YES_NO, "overwrite keys and values when they are freed" },
	{ "mode", 0, "MODE", "rights of owner, group and others, as of a file (0600)" },
	{ "group", 0, "GROUP", "the belt's group, name or number (yours)" },
	{ 0 },
};

static const char * const handlers[] = {
	[HASHBELT_DROP] = "drop",
	[HASHBELT_NOTIFY] = "notify",
	[HASHBELT_REINSERT] = "reinsert",
};

static const char * const reason_names[] = {
	[HASHBELT_EXPIRED] = "expired",
	[HASHBELT_EVICTED] = "evicted",
	[HASHBELT_REPLACED] = "replaced",
	[HASHBELT_REMOVED] = "removed",
	[HASHBELT_CLEARED] = "cleared",
	[HASHBELT_PRESSURE] = "pressure",
	[HASHBELT_RELEASED] = "released",
};

/* Options that are a bit of the policy each. */
static const struct {
	const char *name;
	const char *on;
	const char *off;
	__u32 bit;
} policy_options[] = {
	{ "refresh-on-get", "yes", "no", HASHBELT_REFRESH_ON_GET },
	{ "on-put", "keep", "replace", HASHBELT_KEEP_ON_PUT },
	{ "when-full", "evict", "reject", HASHBELT_EVICT },
	{ "evict", "deadline", "unread", HASHBELT_EVICT_DEADLINE },
	{ "pinned", "yes", "no", HASHBELT_PINNED },
	{ "wipe", "yes", "no", HASHBELT_WIPE },
};

/**
 * policy_name() - the policy of get and put, in a word
 * @policy:	HASHBELT_REFRESH_ON_GET and HASHBELT_KEEP_ON_PUT; other bits are
 *		not looked at
 *
 * Return: the word that --policy takes for it, or "mixed" if there is none.
 */
const char *policy_name(__u32 policy)
{
	switch (policy & (HASHBELT_REFRESH_ON_GET | HASHBELT_KEEP_ON_PUT)) {
	case HASHBELT_POLICY_STANDARD:
		return "standard";
	case HASHBELT_POLICY_UPDATING:
		return "updating";
	case HASHBELT_POLICY_TIMECACHE:
		return "timecache";
	default:
		return "mixed";
	}
}

/**
 * handler_name() - the handler of expired entries, in a word
 * @handler:	one of enum hashbelt_handler
 *
 * Return: the word that --on-expire takes for it.
 */
const char *handler_name(__u32 handler)
{
	return handler < ARRAY_SIZE(handlers) ? handlers[handler] : "unknown";
}

/**
 * reason_name() - why an entry has left, in a word
 * @reason:	one of enum hashbelt_reason
 *
 * Return: the word that --report takes for it; "unknown" for one that is newer
 * than this program.
 */
const char *reason_name(__u32 reason)
{
	return reason && reason < ARRAY_SIZE(reason_names) ? reason_names[reason] : "unknown";
}

static enum status take_ttl(const struct request *request, struct settings *settings)
{
	if (request_option(request, "ttl"))
		settings->belt.fields |= HASHBELT_SET_TTL;
	return request_ttl(request, "", &settings->belt.ttl_ms);
}

/* Reads the grace time, during which get --fill may use an expired entry. */
static enum status take_grace(const struct request *request, struct settings *settings)
{
	const char *text = request_option(request, "grace");

	if (!text)
		return STATUS_DONE;
	settings->belt.fields |= HASHBELT_SET_GRACE;
	if (!strcmp(text, "none"))
		return STATUS_DONE;
	return request_duration(request, "grace", "", 0, &settings->belt.grace_ms);
}

static enum status take_buckets(const struct request *request,
				struct settings *settings)
{
	__u64 buckets = 0;
	enum status status;

	status = request_number(request, "buckets", HASHBELT_BUCKETS_MIN,
				HASHBELT_BUCKETS_MAX, &buckets);
	if (buckets)
		settings->belt.fields |= HASHBELT_SET_BUCKETS;
	settings->belt.buckets = buckets;
	return status;
}

static enum status take_policy(const struct request *request, struct settings *settings)
{
	const char *name = request_option(request, "policy");

	if (!name)
		return STATUS_DONE;
	if (!strcmp(name, "timecache"))
		settings->belt.policy = HASHBELT_POLICY_TIMECACHE;
	else if (!strcmp(name, "standard"))
		settings->belt.policy = HASHBELT_POLICY_STANDARD;
	else if (!strcmp(name, "updating"))
		settings->belt.policy = HASHBELT_POLICY_UPDATING;
	else
		return fail_usage(request,
				  "--policy: '%s' is none of 'standard', 'updating', 'timecache'",
				  name);
	settings->belt.fields |= HASHBELT_SET_POLICY;
	settings->policy |= HASHBELT_REFRESH_ON_GET | HASHBELT_KEEP_ON_PUT;
	return STATUS_DONE;
}

/* An order is given so that the belt evicts, unless --when-full says otherwise. */
static void imply_evict(const struct request *request, struct settings *settings)
{
	if (!request_option(request, "evict") || request_option(request, "when-full"))
		return;
	settings->policy |= HASHBELT_EVICT;
	settings->belt.policy |= HASHBELT_EVICT;
}

/* Those that are a bit each; they come after --policy, and can change it. */
static enum status take_bits(const struct request *request, struct settings *settings)
{
	const char *text, *on, *off;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policy_options); i++) {
		text = request_option(request, policy_options[i].name);
		if (!text)
			continue;
		on = policy_options[i].on;
		off = policy_options[i].off;
		if (strcmp(text, on) && strcmp(text, off))
			return fail_usage(request, "--%s: '%s' is neither '%s' nor '%s'",
					  policy_options[i].name, text, on, off);
		settings->belt.fields |= HASHBELT_SET_POLICY;
		settings->policy |= policy_options[i].bit;
		settings->belt.policy &= ~policy_options[i].bit;
		if (!strcmp(text, on))
			settings->belt.policy |= policy_options[i].bit;
	}
	imply_evict(request, settings);
	return STATUS_DONE;
}

static enum status take_handler(const struct request *request,
				struct settings *settings)
{
	const char *text = request_option(request, "on-expire");
	__u32 i;

	if (!text)
		return STATUS_DONE;
	for (i = 0; i < ARRAY_SIZE(handlers); i++) {
		if (strcmp(text, handlers[i]))
			continue;
		settings->belt.handler = i;
		settings->belt.fields |= HASHBELT_SET_HANDLER;
		return STATUS_DONE;
	}
	return fail_usage(request,
			  "--on-expire: '%s' is none of 'drop', 'notify', 'reinsert'", text);
}

static enum status take_consumers(const struct request *request, struct settings *settings)
{
	const char *text = request_option(request, "consumers");

	if (!text)
		return STATUS_DONE;
	settings->belt.fields |= HASHBELT_SET_CONSUMERS;
	if (!strcmp(text, "owner"))
		settings->belt.consumers = HASHBELT_CONSUMERS_OWNER;
	else if (strcmp(text, "readers"))
		return fail_usage(request, "--consumers: '%s' is none of 'readers', 'owner'",
				  text);
	return STATUS_DONE;
}

/* The bits that a word of --report stands for, 0 if it is none of them. */
static __u32 reason_bits(const char *word, size_t len)
{
	__u32 i;

	if (len == 3 && !memcmp(word, "all", len))
		return HASHBELT_REPORT_ALL;
	for (i = HASHBELT_EXPIRED; i < ARRAY_SIZE(reason_names); i++)
		if (strlen(reason_names[i]) == len && !memcmp(word, reason_names[i], len))
			return HASHBELT_REPORT(i);
	return 0;
}

static enum status take_reasons(const struct request *request,
				struct settings *settings)
{
	const char *word = request_option(request, "report");
	size_t len;
	__u32 bits;

	if (!word)
		return STATUS_DONE;
	settings->belt.fields |= HASHBELT_SET_REASONS;
	for (;; word += len + 1) {
		len = strcspn(word, ",");
		bits = reason_bits(word, len);
		if (!bits)
			return fail_usage(request,
					  "--report: '%.*s' is none of 'expired', 'evicted', 'replaced', 'removed', 'cleared', 'pressure', 'released', 'all'",
					  (int)len, word);
		settings->belt.reasons |= bits;
		if (!word[len])
			return STATUS_DONE;
	}
}

static enum status take_size(const struct request *request, const char *name,
			     __u64 *bytes)
{
	const char *text = request_option(request, name);
	int err = size_parse(text, bytes);

	if (err == -EINVAL)
		return fail_usage(request,
				  "--%s: '%s' is neither a size as 4096, 64k, 10M, 2G, nor 'none'",
				  name, text);
	if (err)
		return fail_usage(request, "--%s: %s is more than 64 bits can count", name,
				  text);
	return STATUS_DONE;
}

/* An option that bounds something: 0 and none stand for no bound at all. */
static enum status take_limit(const struct request *request, struct settings *settings,
			      const char *name, __u32 field, __u64 *limit)
{
	const char *text = request_option(request, name);
	enum status status = STATUS_DONE;

	if (!text)
		return STATUS_DONE;
	settings->belt.fields |= field;
	if (strcmp(text, "none"))
		status = field == HASHBELT_SET_MAX_BYTES ?
			 take_size(request, name, limit) :
			 request_number(request, name, 0, ~0ULL, limit);
	/* Events alone have a bound where none is set. */
	if (!*limit && field == HASHBELT_SET_MAX_EVENTS)
		*limit = ~0ULL;
	return status;
}

static enum status take_limits(const struct request *request, struct settings *settings)
{
	enum status status;

	status = take_limit(request, settings, "max-entries", HASHBELT_SET_MAX_ENTRIES,
			    &settings->belt.max_entries);
	if (!status)
		status = take_limit(request, settings, "max-bytes",
				    HASHBELT_SET_MAX_BYTES, &settings->belt.max_bytes);
	if (!status)
		status = take_limit(request, settings, "max-events",
				    HASHBELT_SET_MAX_EVENTS, &settings->belt.max_events);
	return status;
}

static enum status take_mode(const struct request *request, struct settings *settings)
{
	const char *text = request_option(request, "mode");
	unsigned long bits;
	char *end;

	if (!text)
		return STATUS_DONE;
	bits = strtoul(text, &end, 8);
	if (*text < '0' || *text > '7' || *end || bits & ~0666ul)
		return fail_usage(request,
				  "--mode: '%s' is not an octal number of r and w bits, 0 to 0666",
				  text);
	settings->belt.mode = bits;
	settings->belt.fields |= HASHBELT_SET_MODE;
	return STATUS_DONE;
}

static enum status take_group(const struct request *request, struct settings *settings)
{
	const char *text = request_option(request, "group");
	enum status status = STATUS_DONE;
	__u64 number = 0;

	if (!text)
		return STATUS_DONE;
	settings->belt.fields |= HASHBELT_SET_GID;
	if (*text && !text[strspn(text, "0123456789")]) {
		status = request_number(request, "group", 0, GROUP_MAX, &number);
		settings->belt.gid = number;
	} else if (account_group(text, &settings->belt.gid)) {
		status = fail_usage(request,
				    "--group: there is no group '%s': a number would do", text);
	}
	return status;
}

/**
 * settings_take() - read the options of create and set
 * @request:	the request, of one of the two
 * @settings:	returned: the given settings, the others 0
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says what is wrong.
 */
enum status settings_take(const struct request *request, struct settings *settings)
{
	static enum status (* const takes[])(const struct request *request,
					     struct settings *settings) = {
		take_ttl, take_grace, take_buckets, take_policy, take_bits, take_handler,
		take_reasons, take_consumers, take_limits, take_mode, take_group,
	};
	enum status status = STATUS_DONE;
	size_t i;

	*settings = (struct settings){ 0 };
	for (i = 0; !status && i < ARRAY_SIZE(takes); i++)
		status = takes[i](request, settings);
	return status;
}

/**
 * settings_index() - where an array of the values of all settings has one
 * @name:	the name of its option, perhaps with more behind it
 * @len:	the length of the name
 *
 * Return: the index; SETTINGS_COUNT if there is no such setting.
 */
size_t settings_index(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < SETTINGS_COUNT; i++)
		if (strlen(settings_options[i].name) == len &&
		    !memcmp(settings_options[i].name, name, len))
			break;
	return i;
}

/**
 * settings_from() - read settings that do not come from the request's own options
 * @request:	the request, for messages about errors
 * @values:	SETTINGS_COUNT values, in the order of settings_options; NULL for one not given
 * @settings:	returned: the given settings, the others 0
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says what is wrong.
 */
enum status settings_from(const struct request *request, const char * const *values,
			  struct settings *settings)
{
	struct command command = *request->command;
	struct request options = { .command = &command };
	const struct option_spec *spec;
	size_t i = 0, j;

	command.options = settings_options;
	for (spec = common_options; spec->name; spec++)
		i++;
	for (j = 0; j < SETTINGS_COUNT; j++)
		options.values[i + j] = values[j];
	return settings_take(&options, settings);
}

/* The settings that settings_text() knows, in the order in which they are printed. */
const struct setting settings_shown[] = {
	{ "ttl", HASHBELT_SET_TTL },
	{ "grace", HASHBELT_SET_GRACE },
	{ "buckets", HASHBELT_SET_BUCKETS },
	{ "refresh-on-get", HASHBELT_SET_POLICY },
	{ "on-put", HASHBELT_SET_POLICY },
	{ "when-full", HASHBELT_SET_POLICY },
	{ "evict", HASHBELT_SET_POLICY },
	{ "pinned", HASHBELT_SET_POLICY },
	{ "wipe", HASHBELT_SET_POLICY },
	{ "on-expire", HASHBELT_SET_HANDLER },
	{ "report", HASHBELT_SET_REASONS },
	{ "consumers", HASHBELT_SET_CONSUMERS },
	{ "max-entries", HASHBELT_SET_MAX_ENTRIES },
	{ "max-bytes", HASHBELT_SET_MAX_BYTES },
	{ "max-events", HASHBELT_SET_MAX_EVENTS },
	{ "mode", HASHBELT_SET_MODE },
	{ "group", HASHBELT_SET_GID },
	{ 0 },
};

/* @none stands for no limit. */
static void limit_text(char *text, __u64 limit, __u64 none)
{
	if (limit == none)
		strcpy(text, "none");
	else
		sprintf(text, "%llu", limit);
}

/* A size to the byte, in the largest unit of which it has a whole number; 0: no limit. */
static void size_text(char *text, __u64 bytes)
{
	static const char units[][2] = { "", "k", "M", "G", "T", "P", "E" };
	size_t i = 0;

	while (bytes && !(bytes % 1024)) {
		bytes /= 1024;
		i++;
	}
	if (bytes)
		sprintf(text, "%llu%s", bytes, units[i]);
	else
		strcpy(text, "none");
}

static void reasons_text(char *text, __u32 reasons)
{
	const char *separator = "";
	__u32 i;

	for (i = HASHBELT_EXPIRED; i < ARRAY_SIZE(reason_names); i++) {
		if (!(reasons & HASHBELT_REPORT(i)))
			continue;
		text += sprintf(text, "%s%s", separator, reason_names[i]);
		separator = ",";
	}
}

/* One of the options that are a bit of the policy. */
static void policy_text(char *text, __u32 policy, const char *name)
{
	size_t i = 0;

	while (strcmp(policy_options[i].name, name))
		i++;
	strcpy(text, policy & policy_options[i].bit ? policy_options[i].on :
						      policy_options[i].off);
}

/**
 * settings_text() - a setting of a belt, as the option of its name takes it
 * @info:	the belt
 * @setting:	one of settings_shown
 * @text:	where, SETTING_SIZE bytes
 *
 * Return: @text; "" if no argument of the option stands for the setting.
 */
const char *settings_text(const struct hashbelt_info *info, const struct setting *setting,
			  char *text)
{
	*text = '\0';
	switch (setting->field) {
	case HASHBELT_SET_TTL:
		return duration_format(text, info->ttl_ms);
	case HASHBELT_SET_GRACE:
		return info->grace_ms ? duration_format(text, info->grace_ms) : "none";
	case HASHBELT_SET_BUCKETS:
		sprintf(text, "%u", info->buckets);
		break;
	case HASHBELT_SET_POLICY:
		policy_text(text, info->policy, setting->name);
		break;
	case HASHBELT_SET_HANDLER:
		return handler_name(info->handler);
	case HASHBELT_SET_REASONS:
		reasons_text(text, info->reasons);
		break;
	case HASHBELT_SET_CONSUMERS:
		return info->state & HASHBELT_OWNER_CONSUMES ? "owner" : "readers";
	case HASHBELT_SET_MAX_ENTRIES:
		limit_text(text, info->max_entries, 0);
		break;
	case HASHBELT_SET_MAX_BYTES:
		size_text(text, info->max_bytes);
		break;
	case HASHBELT_SET_MAX_EVENTS:
		limit_text(text, info->max_events, ~0ULL);
		break;
	case HASHBELT_SET_MODE:
		sprintf(text, "%04o", info->mode);
		break;
	case HASHBELT_SET_GID:
		sprintf(text, "%u", info->gid);
		break;
	}
	return text;
}

/**
 * settings_apply() - change the description of a belt as SET would change the belt
 * @settings:	the settings; those in their fields count
 * @info:	the description of the belt, changed
 */
void settings_apply(const struct settings *settings, struct hashbelt_info *info)
{
	const struct hashbelt_settings *belt = &settings->belt;
	__u32 fields = belt->fields;

	if (fields & HASHBELT_SET_TTL)
		info->ttl_ms = belt->ttl_ms;
	if (fields & HASHBELT_SET_GRACE)
		info->grace_ms = belt->grace_ms;
	if (fields & HASHBELT_SET_BUCKETS)
		info->buckets = belt->buckets;
	info->policy = (info->policy & ~settings->policy) | (belt->policy & settings->policy);
	if (fields & HASHBELT_SET_HANDLER)
		info->handler = belt->handler;
	if (fields & HASHBELT_SET_REASONS)
		info->reasons = belt->reasons;
	if (fields & HASHBELT_SET_CONSUMERS)
		info->state &= ~HASHBELT_OWNER_CONSUMES;
	if (fields & HASHBELT_SET_CONSUMERS && belt->consumers == HASHBELT_CONSUMERS_OWNER)
		info->state |= HASHBELT_OWNER_CONSUMES;
	if (fields & HASHBELT_SET_MAX_ENTRIES)
		info->max_entries = belt->max_entries;
	if (fields & HASHBELT_SET_MAX_BYTES)
		info->max_bytes = belt->max_bytes;
	if (fields & HASHBELT_SET_MAX_EVENTS)
		info->max_events = belt->max_events;
	if (fields & HASHBELT_SET_MODE)
		info->mode = belt->mode;
	if (fields & HASHBELT_SET_GID)
		info->gid = belt->gid;
}

/**
 * settings_print() - print the settings of a belt in a line, as settings_parse() reads it
 * @info:	the belt
 */
void settings_print(const struct hashbelt_info *info)
{
	const struct setting *setting;
	char text[SETTING_SIZE];
	const char *value;

	fputs(SETTINGS_MARK, stdout);
	for (setting = settings_shown; setting->name; setting++) {
		value = settings_text(info, setting, text);
		if (*value)
			printf(" --%s=%s", setting->name, value);
	}
	putchar('\n');
}

/**
 * settings_parse() - read a line that settings_print() has printed
 * @request:	the request that reads it
 * @line:	the line, without the newline; changed
 * @settings:	returned: the settings in the line, the others 0
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says what is wrong.
 */
enum status settings_parse(const struct request *request, char *line, struct settings *settings)
{
	const char *values[SETTINGS_COUNT] = { 0 };
	char *word, *rest = line;
	size_t len, i;

	strsep(&rest, " ");
	while ((word = strsep(&rest, " "))) {
		len = strcspn(word, "=");
		i = SETTINGS_COUNT;
		if (!strncmp(word, "--", 2) && word[len])
			i = settings_index(word + 2, len - 2);
		if (i == SETTINGS_COUNT)
			return fail_usage(request, "'%s' is no setting as --ttl=5m", word);
		values[i] = word + len + 1;
	}
	return settings_from(request, values, settings);
}
