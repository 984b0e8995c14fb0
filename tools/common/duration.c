// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array_size.h"
#include "duration.h"
#include "hashbelt.h"

/* Fractions are kept to this part of a unit: fine enough for 1 ms of a day. */
#define FRACTION	1000000000ULL

/*
 * From the largest to the smallest, as they follow each other in 1h30m. The first of the names is
 * the one that is written; weeks are only read.
 */
static const struct unit {
	const char *names;
	__u64 ms;
} units[] = {
	{ "w wk week weeks", 7 * 24 * 60 * 60 * 1000 },
	{ "d day days", 24 * 60 * 60 * 1000 },
	{ "h hr hour hours", 60 * 60 * 1000 },
	{ "m min mins minute minutes", 60 * 1000 },
	{ "s sec secs second seconds", 1000 },
	{ "ms msec", 1 },
};

#define DAYS	1	/* the index of days, the largest unit that is written */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads digits and perhaps a point and more digits: @whole + @part / FRACTION. */
static int parse_number(const char **text, __u64 *whole, __u64 *part)
{
	const char *p = *text;
	__u64 place = FRACTION / 10;

	if (!is_digit(*p))
		return -EINVAL;
	for (*whole = 0; is_digit(*p); p++) {
		*whole = *whole * 10 + (*p - '0');
		if (*whole > HASHBELT_TTL_MAX_MS)
			return -ERANGE;
	}
	*part = 0;
	if (*p == '.') {
		if (!is_digit(*++p))
			return -EINVAL;
		for (; is_digit(*p); p++, place /= 10)
			*part += place * (*p - '0');
	}
	*text = p;
	return 0;
}

/* Whether the first @len bytes of @text are one of the names, which blanks separate. */
static bool is_one_of(const char *names, const char *text, size_t len)
{
	size_t name;

	for (; *names; names += name + !!names[name]) {
		name = strcspn(names, " ");
		if (name == len && !memcmp(names, text, len))
			return true;
	}
	return false;
}

/* Reads the name of a unit that is smaller than the one before. */
static int parse_unit(const char **text, size_t *next)
{
	size_t len = strspn(*text, "abcdefghijklmnopqrstuvwxyz"), i;

	for (i = *next; i < ARRAY_SIZE(units); i++) {
		if (!is_one_of(units[i].names, *text, len))
			continue;
		*text += len;
		*next = i + 1;
		return 0;
	}
	return -EINVAL;
}

/* Adds @whole + @part / FRACTION units of @unit milliseconds, rounded. */
static int add(__u64 *ms, __u64 whole, __u64 part, __u64 unit)
{
	__u64 sum = *ms + (part * unit + FRACTION / 2) / FRACTION;

	if (whole > HASHBELT_TTL_MAX_MS / unit)
		return -ERANGE;
	sum += whole * unit;
	if (sum > HASHBELT_TTL_MAX_MS)
		return -ERANGE;
	*ms = sum;
	return 0;
}

/**
 * duration_parse() - read a duration
 * @text:	as 250ms, 30s, 15m, 2h, 7d, 2w, or several in this order: 1h30m. A
 *		bare number is seconds. Decimals are rounded to milliseconds. Units may be
 *		written in full
 * @ms:		returned: milliseconds, 0 to HASHBELT_TTL_MAX_MS
 *
 * Return: 0; -EINVAL if that is no duration; -ERANGE if it is too long.
 */
int duration_parse(const char *text, __u64 *ms)
{
	__u64 whole, part;
	size_t next = 0;
	int err;

	*ms = 0;
	do {
		err = parse_number(&text, &whole, &part);
		if (err)
			return err;
		if (!*text && !next)
			return add(ms, whole, part, 1000);
		err = parse_unit(&text, &next);
		if (!err)
			err = add(ms, whole, part, units[next - 1].ms);
	} while (!err && *text);
	return err;
}

/* Writes seconds, with as many decimals as they need. */
static int format_seconds(char *text, __u64 ms)
{
	int len = sprintf(text, "%llu.%03llu", ms / 1000, ms % 1000);

	while (text[len - 1] == '0')
		len--;
	if (text[len - 1] == '.')
		len--;
	text[len++] = 's';
	text[len] = '\0';
	return len;
}

/**
 * duration_format() - write a duration so that duration_parse() can read it
 * @text:	where, DURATION_SIZE bytes
 * @ms:		milliseconds
 *
 * Return: @text, as 7d, 1h30m, 4m59.874s, 250ms.
 */
const char *duration_format(char *text, __u64 ms)
{
	char *p = text;
	size_t i;

	if (ms && ms < 1000) {
		sprintf(text, "%llums", ms);
		return text;
	}
	for (i = DAYS; units[i].ms > 1000; i++) {
		if (ms < units[i].ms)
			continue;
		p += sprintf(p, "%llu%c", ms / units[i].ms, *units[i].names);
		ms %= units[i].ms;
	}
	if (ms || p == text)
		format_seconds(p, ms);
	return text;
}

/**
 * duration_format_ns() - the same, of nanoseconds
 * @text:	where, DURATION_SIZE bytes
 * @ns:		nanoseconds; a millisecond that has begun counts
 *
 * Return: @text.
 */
const char *duration_format_ns(char *text, __u64 ns)
{
	return duration_format(text, (ns + 999999) / 1000000);
}

/**
 * number_parse() - read a number
 * @text:	decimal digits, whatever the first; or hexadecimal digits after 0x
 * @number:	returned
 *
 * Return: 0; -EINVAL if that is no number; -ERANGE if it has more than 64 bits.
 */
int number_parse(const char *text, __u64 *number)
{
	bool hexadecimal = text[0] == '0' && (text[1] | 0x20) == 'x';
	char *end;

	if (hexadecimal)
		text += 2;
	/* strtoull(3) would take a sign, blanks and a second 0x. */
	if (!isxdigit((unsigned char)*text) || (text[1] | 0x20) == 'x')
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, hexadecimal ? 16 : 10);
	if (end == text || *end)
		return -EINVAL;
	return -errno;
}

/*
 * The factor of a suffix of a size: of k, M, G, T, P, E, small or large, and of KiB and so on a
 * power of 1024; of kB and so on a power of 1000, as for dd(1). 0: there is no such suffix.
 */
static __u64 suffix_factor(const char *suffix)
{
	static const char prefixes[] = "kmgtpe";
	__u64 factor = 1, base = 1024;
	const char *prefix;

	if (!*suffix || !strcmp(suffix, "B"))
		return 1;
	prefix = strchr(prefixes, *suffix | 0x20);
	if (!prefix)
		return 0;
	if (!strcmp(suffix + 1, "B"))
		base = 1000;
	else if (suffix[1] && strcmp(suffix + 1, "iB"))
		return 0;
	for (; prefix >= prefixes; prefix--)
		factor *= base;
	return factor;
}

/* The bytes of @part / FRACTION times @factor, rounded down. */
static __u64 fraction_of(__u64 factor, __u64 part)
{
	return factor / FRACTION * part + factor % FRACTION * part / FRACTION;
}

/**
 * size_parse() - read a size
 * @text:	a number of bytes, perhaps with a suffix, and then perhaps with decimals: 4096, 64k,
 *		10M, 64MiB, 1.5G; with kB, MB and so on powers of 1000
 * @bytes:	returned; a part of a byte is left out
 *
 * Return: 0; -EINVAL if that is no size; -ERANGE if it has more than 64 bits.
 */
int size_parse(const char *text, __u64 *bytes)
{
	__u64 part = 0, place = FRACTION / 10, factor;

	if (!is_digit(*text))
		return -EINVAL;
	for (*bytes = 0; is_digit(*text); text++)
		if (__builtin_mul_overflow(*bytes, 10, bytes) ||
		    __builtin_add_overflow(*bytes, *text - '0', bytes))
			return -ERANGE;
	if (*text == '.') {
		if (!is_digit(*++text))
			return -EINVAL;
		for (; is_digit(*text); text++, place /= 10)
			part += place * (*text - '0');
		/* There is no half of a byte. */
		if (!*text)
			return -EINVAL;
	}
	factor = suffix_factor(text);
	if (!factor)
		return -EINVAL;
	if (__builtin_mul_overflow(*bytes, factor, bytes) ||
	    __builtin_add_overflow(*bytes, fraction_of(factor, part), bytes))
		return -ERANGE;
	return 0;
}

/**
 * size_format() - write a size for people
 * @text:	where, DURATION_SIZE bytes
 * @bytes:	the size
 *
 * Return: @text, as 512 B, 3.4 KiB, 1.0 GiB.
 */
const char *size_format(char *text, __u64 bytes)
{
	static const char prefix[] = "KMGTPE";
	unsigned int i = 0;
	__u64 tenths;

	if (bytes < 1024) {
		sprintf(text, "%llu B", bytes);
		return text;
	}
	/* Down to a few digits before tenths are taken: those cannot overflow. */
	while (bytes >= 1024 * 1024) {
		bytes /= 1024;
		i++;
	}
	tenths = (bytes * 10 + 512) / 1024;
	if (tenths >= 10240) {
		tenths = 10;
		i++;
	}
	sprintf(text, "%llu.%llu %ciB", tenths / 10, tenths % 10, prefix[i]);
	return text;
}
