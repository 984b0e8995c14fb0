// SPDX-License-Identifier: GPL-2.0-only
/* Times-to-live as clients of Redis give them, and read them. */
#include <time.h>

#include "hashbelt.h"
#include "lifetime.h"

static bool is_absolute(enum time_unit unit)
{
	return unit == UNIT_AT_SECONDS || unit == UNIT_AT_MILLISECONDS;
}

static bool in_seconds(enum time_unit unit)
{
	return unit == UNIT_SECONDS || unit == UNIT_AT_SECONDS;
}

/**
 * lifetime_of() - the time that an entry is to live
 * @number:	as the client gave it
 * @unit:	its unit
 * @now_ms:	Unix time
 * @lifetime:	returned: the time
 *
 * Return: false if it is longer than a belt can keep.
 */
bool lifetime_of(int64_t number, enum time_unit unit, int64_t now_ms, struct lifetime *lifetime)
{
	int64_t ms = number;

	if (in_seconds(unit) && __builtin_mul_overflow(number, 1000, &ms))
		return false;
	if (is_absolute(unit) && __builtin_sub_overflow(ms, now_ms, &ms))
		return false;
	if (ms > (int64_t)HASHBELT_TTL_MAX_MS)
		return false;
	lifetime->is_over = ms <= 0;
	lifetime->ttl_ms = lifetime->is_over ? 0 : ms;
	return true;
}

/**
 * lifetime_left() - the time left of an entry, as a client reads it
 * @ttl_ms:	as the belt gives it
 * @unit:	its unit
 * @now_ms:	Unix time
 *
 * Return: the time, seconds rounded to the nearest; -1 for an entry that does not expire.
 */
int64_t lifetime_left(uint64_t ttl_ms, enum time_unit unit, int64_t now_ms)
{
	int64_t ms = ttl_ms;

	if (ttl_ms == HASHBELT_TTL_NEVER)
		return -1;
	if (is_absolute(unit))
		ms += now_ms;
	return in_seconds(unit) ? (ms + 500) / 1000 : ms;
}

/**
 * redis_now_ms() - the Unix time
 *
 * Return: milliseconds.
 */
int64_t redis_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}
