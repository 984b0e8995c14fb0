// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "duration.h"
#include "encoding.h"
#include "line.h"

/* Digits of a deadline in seconds: 30,000 years. */
#define DEADLINE_DIGITS	12

/**
 * wall_ms() - the machine's clock
 *
 * Return: milliseconds since 1970.
 */
__u64 wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

/**
 * line_now() - the time to which a deadline relates
 * @clock:	the clock
 *
 * Return: milliseconds since 1970.
 */
__u64 line_now(const struct line_clock *clock)
{
	__u64 now = clock->stands ? 0 : wall_ms();

	return now > clock->floor ? now : clock->floor;
}

/**
 * line_is() - whether a line is one of those that are no entry
 * @text:	the line
 * @len:	its length, bytes
 * @mark:	its first bytes
 *
 * Return: whether.
 */
bool line_is(const char *text, size_t len, const char *mark)
{
	return !strncmp(text, mark, strlen(mark)) && !memchr(text, '\t', len);
}

/**
 * line_print() - print an entry as a line
 * @file:	where
 * @record:	the entry's key
 * @value:	its value
 * @item:	as a get returned it
 * @now:	the clock in milliseconds, for a deadline; 0 for the time left
 */
void line_print(FILE *file, const struct hashbelt_record *record, const struct value *value,
		const struct hashbelt_item *item, __u64 now)
{
	__u64 deadline = now + item->ttl_ms;

	escape_print(file, hashbelt_record_key(record), record->key_len);
	putc('\t', file);
	escape_print(file, value->bytes, value->len);
	if (item->ttl_ms == HASHBELT_TTL_NEVER)
		fputs("\tnever", file);
	else if (now)
		fprintf(file, "\t@%llu.%03llu", deadline / 1000, deadline % 1000);
	else
		fprintf(file, "\t%llums", item->ttl_ms);
	if (item->flags)
		fprintf(file, "\t%u", item->flags);
	putc('\n', file);
}

/* Cuts the next field off a line; NULL if there is none left. */
static char *take_field(char **line, size_t *left, size_t *len)
{
	char *field = *line, *tab;

	if (!field)
		return NULL;
	tab = memchr(field, '\t', *left);
	*len = tab ? (size_t)(tab - field) : *left;
	*line = tab ? tab + 1 : NULL;
	*left -= tab ? *len + 1 : *len;
	field[*len] = '\0';
	return field;
}

/* A deadline in seconds since 1970. @ttl_ms: 0 if it has passed. */
static const char *parse_deadline(const char *text, __u64 now, __u64 *ttl_ms)
{
	size_t len = strspn(text, "0123456789"), decimals = 0;
	__u64 deadline;

	if (text[len] == '.')
		decimals = strspn(text + len + 1, "0123456789");
	if (!len || len > DEADLINE_DIGITS || (text[len] && (decimals != 3 || text[len + 4])))
		return "the third field is no deadline as @1750000000.000, seconds since 1970";
	deadline = strtoull(text, NULL, 10) * 1000;
	if (decimals)
		deadline += strtoull(text + len + 1, NULL, 10);
	*ttl_ms = deadline > now ? deadline - now : 0;
	if (*ttl_ms > HASHBELT_TTL_MAX_MS)
		return "the deadline in the third field is more than 50903 days from now";
	return NULL;
}

static const char *parse_ttl(const char *text, __u64 *ttl_ms)
{
	if (!strcmp(text, "never")) {
		*ttl_ms = HASHBELT_TTL_NEVER;
		return NULL;
	}
	if (duration_parse(text, ttl_ms) || !*ttl_ms)
		return "the third field is neither 'never' nor a duration from 1ms to 50903d";
	return NULL;
}

static const char *parse_flags(const char *text, __u32 *flags)
{
	__u64 number;

	if (number_parse(text, &number) || number > ~0U)
		return "the fourth field is not a number of 32 bits";
	*flags = number;
	return NULL;
}

/* Reads the fields behind the value. @item: without an operation if its deadline has passed. */
static const char *parse_rest(char *line, size_t left, const struct line_clock *clock,
			      struct hashbelt_item *item)
{
	const char *wrong = NULL;
	size_t size;
	char *text;

	text = take_field(&line, &left, &size);
	if (text && *text == '@') {
		wrong = parse_deadline(text + 1, line_now(clock), &item->ttl_ms);
		if (!item->ttl_ms)
			item->op = 0;
	} else if (text) {
		wrong = parse_ttl(text, &item->ttl_ms);
	}
	text = take_field(&line, &left, &size);
	if (text && !wrong)
		wrong = parse_flags(text, &item->flags);
	return line && !wrong ? "there are more than four fields" : wrong;
}

/**
 * line_parse() - make an item of a line
 * @line:	the line, changed; a NUL stands behind it, and the item points into it
 * @left:	its length, bytes
 * @clock:	the clock to which its deadline relates
 * @item:	returned: a put, with @op 0 if its deadline has passed
 *
 * Return: NULL, or a sentence that says what is wrong.
 */
const char *line_parse(char *line, size_t left, const struct line_clock *clock,
		       struct hashbelt_item *item)
{
	size_t key_size, value_size;
	ssize_t key_len, value_len;
	char *key, *value;

	key = take_field(&line, &left, &key_size);
	value = take_field(&line, &left, &value_size);
	if (!value)
		return "there is no tab between key and value";
	key_len = unescape(key, key_size);
	value_len = unescape(value, value_size);
	if (key_len < 0 || value_len < 0)
		return "a backslash begins none of \\t \\n \\\\ \\xHH";
	if (!key_len || key_len > HASHBELT_KEY_MAX)
		return "the key does not have 1 to 1024 bytes";
	if (value_len > HASHBELT_VALUE_MAX)
		return "the value has more than 1048576 bytes";
	*item = hashbelt_item(HASHBELT_OP_PUT, key, key_len, value, value_len);
	return parse_rest(line, left, clock, item);
}
