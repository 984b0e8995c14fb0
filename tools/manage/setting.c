// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account.h"
#include "duration.h"
#include "setting.h"

/* The largest number of a group; the one above means none. */
#define GROUP_MAX	(~0U - 1)

static const char * const reason_names[] = {
	[HASHBELT_EXPIRED] = "expired",
	[HASHBELT_EVICTED] = "evicted",
	[HASHBELT_REPLACED] = "replaced",
	[HASHBELT_REMOVED] = "removed",
	[HASHBELT_CLEARED] = "cleared",
	[HASHBELT_PRESSURE] = "pressure",
	[HASHBELT_RELEASED] = "released",
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

/* The member of the settings, or of the description of a belt. */
static __u64 *given_u64(const struct setting *setting, struct settings *settings)
{
	return (__u64 *)((char *)&settings->belt + setting->given);
}

static __u32 *given_u32(const struct setting *setting, struct settings *settings)
{
	return (__u32 *)((char *)&settings->belt + setting->given);
}

static __u64 info_u64(const struct setting *setting, const struct hashbelt_info *info)
{
	return *(const __u64 *)((const char *)info + setting->shown);
}

static __u32 info_u32(const struct setting *setting, const struct hashbelt_info *info)
{
	return *(const __u32 *)((const char *)info + setting->shown);
}

/* The next of the words A|B|C of an argument, and its length; NULL at the end. Moves @rest on. */
static const char *next_word(const char **rest, size_t *len)
{
	const char *word = *rest;

	*len = strcspn(word, "|");
	*rest = word + *len + !!word[*len];
	return *len ? word : NULL;
}

/* The option takes none but the words that help shows. */
static enum status fail_words(const struct setting *setting, const struct request *request,
			      const char *text, size_t text_len)
{
	const char *rest = setting->argument, *word;
	char words[256], *end = words;
	size_t len;

	while ((word = next_word(&rest, &len)))
		end += sprintf(end, "%s'%.*s'", end > words ? ", " : "", (int)len, word);
	return fail_usage(request, "--%s: '%.*s' is none of %s", setting->name,
			  (int)text_len, text, words);
}

/* The index of a word among those that help shows; -1 if it is none of them. */
static int word_index(const struct setting *setting, const char *text)
{
	const char *rest = setting->argument, *word;
	size_t len;
	int i;

	for (i = 0; (word = next_word(&rest, &len)); i++)
		if (strlen(text) == len && !memcmp(word, text, len))
			return i;
	return -1;
}

/* The word of an index; "unknown" for one that is newer than this program. */
static void copy_word(const struct setting *setting, __u32 index, char *text)
{
	const char *rest = setting->argument, *word;
	size_t len;

	do {
		word = next_word(&rest, &len);
	} while (word && index--);
	if (word)
		sprintf(text, "%.*s", (int)len, word);
	else
		strcpy(text, "unknown");
}

static void json_add_u32(const struct setting *setting, const struct hashbelt_info *info,
			 struct json *object)
{
	json_add_number(object, setting->json, info_u32(setting, info));
}

static void json_add_u64(const struct setting *setting, const struct hashbelt_info *info,
			 struct json *object)
{
	json_add_number(object, setting->json, info_u64(setting, info));
}

/* In JSON, the text that the option takes. */
static void json_add_text_of(const struct setting *setting, const struct hashbelt_info *info,
			     struct json *object)
{
	char text[SETTING_SIZE];

	setting->kind->print(setting, info, text);
	json_add_word(object, setting->json, text);
}

static enum status take_ttl(const struct setting *setting, const struct request *request,
			    const char *text, struct settings *settings)
{
	(void)text;
	return request_ttl(request, "", given_u64(setting, settings));
}

/* A time that may be none. */
static enum status take_time(const struct setting *setting, const struct request *request,
			     const char *text, struct settings *settings)
{
	if (!strcmp(text, "none"))
		return STATUS_DONE;
	return request_duration(request, setting->name, "", 0,
				given_u64(setting, settings));
}

static void print_time(const struct setting *setting, const struct hashbelt_info *info, char *text)
{
	if (info_u64(setting, info))
		duration_format(text, info_u64(setting, info));
	else
		strcpy(text, "none");
}

const struct setting_kind setting_ttl = { take_ttl, print_time, NULL, json_add_u64 };
const struct setting_kind setting_duration = { take_time, print_time, NULL, json_add_u64 };

static enum status take_buckets(const struct setting *setting, const struct request *request,
				const char *text, struct settings *settings)
{
	enum status status;
	__u64 buckets = 0;

	(void)text;
	status = request_number(request, setting->name, HASHBELT_BUCKETS_MIN,
				HASHBELT_BUCKETS_MAX, &buckets);
	*given_u32(setting, settings) = buckets;
	return status;
}

static void print_number(const struct setting *setting, const struct hashbelt_info *info,
			 char *text)
{
	sprintf(text, "%u", info_u32(setting, info));
}

const struct setting_kind setting_buckets = {
	take_buckets, print_number, NULL, json_add_u32
};

/* The word for two bits of the policy, which are settings of their own as well: these copy them. */
static enum status take_policy(const struct setting *setting, const struct request *request,
			       const char *text, struct settings *settings)
{
	static const __u32 policies[] = {
		HASHBELT_POLICY_STANDARD, HASHBELT_POLICY_UPDATING, HASHBELT_POLICY_TIMECACHE,
	};
	int i = word_index(setting, text);

	if (i < 0)
		return fail_words(setting, request, text, strlen(text));
	settings->belt.policy |= policies[i];
	settings->policy |= setting->bits;
	return STATUS_DONE;
}

static void json_add_policy(const struct setting *setting, const struct hashbelt_info *info,
			    struct json *object)
{
	json_add_word(object, setting->json, policy_name(info->policy));
}

const struct setting_kind setting_policy = { take_policy, NULL, NULL, json_add_policy };

/* A bit of the policy. It comes after --policy, and can change it. */
static enum status take_bit(const struct setting *setting, const struct request *request,
			    const char *text, struct settings *settings)
{
	if (strcmp(text, setting->on) && strcmp(text, setting->off))
		return fail_usage(request, "--%s: '%s' is neither '%s' nor '%s'",
				  setting->name, text, setting->on, setting->off);
	settings->policy |= setting->bits;
	settings->belt.policy &= ~setting->bits;
	if (!strcmp(text, setting->on))
		settings->belt.policy |= setting->bits;
	return STATUS_DONE;
}

static void print_bit(const struct setting *setting, const struct hashbelt_info *info, char *text)
{
	strcpy(text, info->policy & setting->bits ? setting->on : setting->off);
}

static void copy_bit(const struct setting *setting, const struct settings *settings,
		     struct hashbelt_info *info)
{
	__u32 bits = setting->bits & settings->policy;

	info->policy = (info->policy & ~bits) | (settings->belt.policy & bits);
}

static void json_add_bit(const struct setting *setting, const struct hashbelt_info *info,
			 struct json *object)
{
	json_add_bool(object, setting->json, info->policy & setting->bits);
}

const struct setting_kind setting_bit = { take_bit, print_bit, copy_bit, json_add_bit };
/* Another bit, of which the JSON has the word. */
const struct setting_kind setting_choice = { take_bit, print_bit, copy_bit, json_add_text_of };

/* One of several words, each of which stands for its index in the help. */
static enum status take_word(const struct setting *setting, const struct request *request,
			     const char *text, struct settings *settings)
{
	int i = word_index(setting, text);

	if (i < 0)
		return fail_words(setting, request, text, strlen(text));
	*given_u32(setting, settings) = i;
	return STATUS_DONE;
}

static void print_word(const struct setting *setting, const struct hashbelt_info *info, char *text)
{
	copy_word(setting, info_u32(setting, info), text);
}

const struct setting_kind setting_word = { take_word, print_word, NULL, json_add_text_of };

/* The description of a belt has it as a bit of its state. */
static void print_consumers(const struct setting *setting, const struct hashbelt_info *info,
			    char *text)
{
	copy_word(setting, info->state & HASHBELT_OWNER_CONSUMES ? HASHBELT_CONSUMERS_OWNER :
								   HASHBELT_CONSUMERS_READERS,
		  text);
}

static void copy_consumers(const struct setting *setting, const struct settings *settings,
			   struct hashbelt_info *info)
{
	(void)setting;
	info->state &= ~HASHBELT_OWNER_CONSUMES;
	if (settings->belt.consumers == HASHBELT_CONSUMERS_OWNER)
		info->state |= HASHBELT_OWNER_CONSUMES;
}

static void json_add_consumers(const struct setting *setting, const struct hashbelt_info *info,
			       struct json *object)
{
	if (info->state & HASHBELT_OWNER_CONSUMES)
		json_add_text_of(setting, info, object);
}

const struct setting_kind setting_consumers = {
	take_word, print_consumers, copy_consumers, json_add_consumers
};

/* The bits that a word of --report stands for, 0 if it is none of them. */
static __u32 reason_bits(const char *name, size_t len)
{
	__u32 i;

	if (len == 3 && !memcmp(name, "all", len))
		return HASHBELT_REPORT_ALL;
	for (i = HASHBELT_EXPIRED; i < ARRAY_SIZE(reason_names); i++)
		if (strlen(reason_names[i]) == len && !memcmp(name, reason_names[i], len))
			return HASHBELT_REPORT(i);
	return 0;
}

static enum status take_reasons(const struct setting *setting, const struct request *request,
				const char *text, struct settings *settings)
{
	size_t len;
	__u32 bits;

	for (;; text += len + 1) {
		len = strcspn(text, ",");
		bits = reason_bits(text, len);
		if (!bits)
			return fail_words(setting, request, text, len);
		*given_u32(setting, settings) |= bits;
		if (!text[len])
			return STATUS_DONE;
	}
}

static void print_reasons(const struct setting *setting, const struct hashbelt_info *info,
			  char *text)
{
	const char *separator = "";
	__u32 i;

	*text = '\0';
	for (i = HASHBELT_EXPIRED; i < ARRAY_SIZE(reason_names); i++) {
		if (!(info_u32(setting, info) & HASHBELT_REPORT(i)))
			continue;
		text += sprintf(text, "%s%s", separator, reason_names[i]);
		separator = ",";
	}
}

static void json_add_reasons(const struct setting *setting, const struct hashbelt_info *info,
			     struct json *object)
{
	__u32 i;

	json_begin_array(object, setting->json);
	for (i = HASHBELT_EXPIRED; i < ARRAY_SIZE(reason_names); i++)
		if (info_u32(setting, info) & HASHBELT_REPORT(i))
			json_element_word(object, reason_names[i]);
	json_end_array(object);
}

const struct setting_kind setting_reasons = { take_reasons, print_reasons, NULL, json_add_reasons };

/* A number that bounds something: 0 and none stand for no bound at all. */
static enum status take_limit(const struct setting *setting, const struct request *request,
			      const char *text, struct settings *settings)
{
	__u64 *limit = given_u64(setting, settings);
	enum status status = STATUS_DONE;

	if (strcmp(text, "none"))
		status = request_number(request, setting->name, 0, ~0ULL, limit);
	if (!*limit)
		*limit = setting->none;
	return status;
}

static void print_limit(const struct setting *setting, const struct hashbelt_info *info,
			char *text)
{
	if (info_u64(setting, info) == setting->none)
		strcpy(text, "none");
	else
		sprintf(text, "%llu", info_u64(setting, info));
}

static void json_add_limit(const struct setting *setting, const struct hashbelt_info *info,
			   struct json *object)
{
	json_add_unless(object, setting->json, info_u64(setting, info), setting->none);
}

const struct setting_kind setting_limit = { take_limit, print_limit, NULL, json_add_limit };

/* A limit in bytes. */
static enum status take_size(const struct setting *setting, const struct request *request,
			     const char *text, struct settings *settings)
{
	int err = 0;

	if (strcmp(text, "none"))
		err = size_parse(text, given_u64(setting, settings));
	if (err == -EINVAL)
		return fail_usage(request,
				  "--%s: '%s' is neither a size as 4096, 64k, 10M, 2G, nor 'none'",
				  setting->name, text);
	if (err)
		return fail_usage(request, "--%s: %s is more than 64 bits can count",
				  setting->name, text);
	return STATUS_DONE;
}

/* Writes a size to the byte, in the largest unit of which it has a whole number; 0 as @none. */
static void write_size(char *text, __u64 bytes, const char *none)
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
		strcpy(text, none);
}

static void print_size(const struct setting *setting, const struct hashbelt_info *info, char *text)
{
	write_size(text, info_u64(setting, info), "none");
}

const struct setting_kind setting_size = { take_size, print_size, NULL, json_add_limit };

static enum status take_mode(const struct setting *setting, const struct request *request,
			     const char *text, struct settings *settings)
{
	unsigned long bits;
	char *end;

	bits = strtoul(text, &end, 8);
	if (*text < '0' || *text > '7' || *end || bits & ~0666ul)
		return fail_usage(request,
				  "--%s: '%s' is not an octal number of r and w bits, 0 to 0666",
				  setting->name, text);
	*given_u32(setting, settings) = bits;
	return STATUS_DONE;
}

static void print_mode(const struct setting *setting, const struct hashbelt_info *info, char *text)
{
	sprintf(text, "%04o", info_u32(setting, info));
}

const struct setting_kind setting_mode = { take_mode, print_mode, NULL, json_add_text_of };

static enum status take_group(const struct setting *setting, const struct request *request,
			      const char *text, struct settings *settings)
{
	const char *name = setting->name;
	__u32 *gid = given_u32(setting, settings);
	enum status status = STATUS_DONE;
	__u64 number = 0;

	if (*text && !text[strspn(text, "0123456789")]) {
		status = request_number(request, name, 0, GROUP_MAX, &number);
		*gid = number;
	} else if (account_group(text, gid)) {
		status = fail_usage(request, "--%s: there is no group '%s': a number would do",
				    name, text);
	}
	return status;
}

const struct setting_kind setting_group = { take_group, print_number, NULL, json_add_u32 };

/* The size that a window can have, and that is the next one above @bytes, or the largest. */
static __u64 next_window(__u64 bytes)
{
	__u64 next = HASHBELT_WINDOW_MIN;

	while (next < bytes && next < HASHBELT_WINDOW_MAX)
		next *= 2;
	return next;
}

/* The size of the window, in bytes. A description of a belt has it in 32 bits. */
static enum status take_window(const struct setting *setting, const struct request *request,
			       const char *text, struct settings *settings)
{
	__u64 *bytes = given_u64(setting, settings);
	char next[SETTING_SIZE];

	if (!strcmp(text, "off"))
		return STATUS_DONE;
	if (!strcmp(text, "on")) {
		*bytes = HASHBELT_WINDOW_DEFAULT;
		return STATUS_DONE;
	}
	if (size_parse(text, bytes))
		return fail_usage(request, "--%s: '%s' is neither 'on', 'off', nor a size as 256k",
				  setting->name, text);
	write_size(next, next_window(*bytes), "");
	if (*bytes != next_window(*bytes))
		return fail_usage(request,
				  "--%s: %s is not a power of two from 64k to 8M: try %s",
				  setting->name, text, next);
	return STATUS_DONE;
}

static void print_window(const struct setting *setting, const struct hashbelt_info *info,
			 char *text)
{
	(void)setting;
	write_size(text, info->window_bytes, "off");
}

static void copy_window(const struct setting *setting, const struct settings *settings,
			struct hashbelt_info *info)
{
	(void)setting;
	info->window_bytes = settings->belt.window_bytes;
}

static void json_add_window(const struct setting *setting, const struct hashbelt_info *info,
			    struct json *object)
{
	json_add_unless(object, setting->json, info->window_bytes, 0);
}

const struct setting_kind setting_window = {
	take_window, print_window, copy_window, json_add_window
};

