// SPDX-License-Identifier: GPL-2.0-only
/* The keys of a belt, in the forms of memcached 1.6.45. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "dump.h"

/* Space for the numbers of a line. */
#define NUMBERS_SPACE	160

/* Keys that are looked at for one part of an answer. A turn has some of these: ROUNDS_MAX. */
#define STEPS_MAX	4096

/* Space for a key of which each byte is written as three. */
#define KEY_SPACE	(3 * PARSER_KEY_MAX)

static bool is_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

/* Writes a key as in a URI. Return: the end. */
static char *write_escaped(char *to, const unsigned char *key, size_t key_len)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t i;

	for (i = 0; i < key_len; i++) {
		if (is_unreserved(key[i])) {
			*to++ = key[i];
			continue;
		}
		*to++ = '%';
		*to++ = digits[key[i] >> 4];
		*to++ = digits[key[i] & 15];
	}
	return to;
}

/* The Unix time at which an entry expires, -1 for never. */
static int64_t expiry_of(const struct hashbelt_record *record)
{
	struct timespec now;

	if (record->ttl_ms == HASHBELT_TTL_NEVER)
		return -1;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec + (int64_t)((record->ttl_ms + now.tv_nsec / 1000000 + 999) / 1000);
}

/* The line of an entry. Return: its end. */
static char *write_entry(char *to, const struct hashbelt_record *record)
{
	to = write_escaped(mempcpy(to, "key=", 4), hashbelt_record_key(record), record->key_len);
	to += sprintf(to, " exp=%" PRId64 " la=0 cas=%llu fetch=no cls=1 size=%u flags=%u ",
		      expiry_of(record), (unsigned long long)record->version,
		      record->key_len + record->value_len, record->flags);
	*to++ = '\n';
	return to;
}

/* A key with other bytes can be sent in base64 only. */
static bool is_plain(const unsigned char *key, size_t key_len)
{
	size_t i;

	for (i = 0; i < key_len; i++)
		if (key[i] <= ' ' || key[i] == 0x7f)
			return false;
	return key_len > 0;
}

/* The request that gets an entry. Return: its end. */
static char *write_get(char *to, const struct hashbelt_record *record)
{
	const char *key = hashbelt_record_key(record);

	to = mempcpy(to, "mg ", 3);
	if (is_plain((const unsigned char *)key, record->key_len)) {
		to = mempcpy(to, key, record->key_len);
	} else {
		to += parser_encode(key, record->key_len, to);
		to = mempcpy(to, " b", 2);
	}
	return mempcpy(to, "\r\n", 2);
}

/* The line of an entry for a client of the text protocol. Return: its end. */
static char *write_item(char *to, const struct hashbelt_record *record)
{
	int64_t expiry = expiry_of(record);

	to = mempcpy(to, "ITEM ", 5);
	to = mempcpy(to, hashbelt_record_key(record), record->key_len);
	return to + sprintf(to, " [%u b; %" PRId64 " s]\r\n", record->value_len,
			    expiry > 0 ? expiry : 0);
}

/* Whether such a list has an entry: a client of memcached can ask for its key. */
static bool is_shown(const struct hashbelt_record *record, char mode)
{
	return record->key_len <= PARSER_KEY_MAX &&
	       (mode != DUMP_ITEMS || is_plain(hashbelt_record_key(record), record->key_len));
}

static char *write_line(char *to, const struct hashbelt_record *record, char mode)
{
	switch (mode) {
	case DUMP_KEYS:
		return write_entry(to, record);
	case DUMP_GETS:
		return write_get(to, record);
	default:
		return write_item(to, record);
	}
}

/**
 * dump_some() - list keys, as many as the output takes for now
 * @work:	the work, with the request in progress
 * @scan:	the walk over the keys
 *
 * A key of the belt that is longer than memcached's is left out, and of "stats cachedump" one that
 * is no word of a line: no client can ask for it.
 *
 * Return: 1 if there may be more; 0 at the end; -ENOBUFS without memory for the output; else as
 * belt_scan_next().
 */
int dump_some(struct work *work, struct belt_scan *scan)
{
	char line[KEY_SPACE + NUMBERS_SPACE], *end;
	struct request *request = work->request;
	const struct hashbelt_record *record;
	unsigned int steps = 0;
	int more = 1;

	if (!request->delta)
		return 0;
	while (more > 0 && work->output.held < OUTPUT_MAX) {
		/* Keys that are left out fill no output. */
		if (steps++ == STEPS_MAX) {
			work->yields = true;
			break;
		}
		more = belt_scan_next(scan, &record);
		if (more <= 0 || !is_shown(record, request->mode))
			continue;
		end = write_line(line, record, request->mode);
		if (!output_text(&work->output, line, end - line))
			return -ENOBUFS;
		if (!--request->delta)
			return 0;
	}
	return more;
}
