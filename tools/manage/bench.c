// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bench.h"

/* The slot of a time: exact below 2^SPAN_BITS ns, above by its first SPAN_BITS + 1 bits. */
static unsigned int slot_of(__u64 ns)
{
	unsigned int power;

	if (ns < 1ULL << SPAN_BITS)
		return ns;
	power = 63 - __builtin_clzll(ns) - SPAN_BITS;
	return (power << SPAN_BITS) + (ns >> power);
}

/* The longest time that is in a slot. */
static __u64 slot_end(unsigned int slot)
{
	unsigned int power;

	if (slot < 2U << SPAN_BITS)
		return slot;
	power = (slot >> SPAN_BITS) - 1;
	return ((((__u64)slot & ((1U << SPAN_BITS) - 1)) + (1U << SPAN_BITS) + 1) << power) - 1;
}

/**
 * spans_add() - count a call
 * @spans:	the others; zeros at first
 * @ns:		how long it took
 */
void spans_add(struct spans *spans, __u64 ns)
{
	spans->count++;
	spans->most = ns > spans->most ? ns : spans->most;
	spans->slots[slot_of(ns)]++;
}

/**
 * spans_join() - count the calls of another thread as well
 * @spans:	the sum
 * @more:	the calls that are added
 */
void spans_join(struct spans *spans, const struct spans *more)
{
	unsigned int i;

	spans->count += more->count;
	spans->most = more->most > spans->most ? more->most : spans->most;
	for (i = 0; i < SPAN_SLOTS; i++)
		spans->slots[i] += more->slots[i];
}

/**
 * spans_percentile() - the time within which a share of the calls returned
 * @spans:	the calls, at least one
 * @percent:	the share, above 0
 *
 * Return: nanoseconds, at most 1/64 above the exact time.
 */
__u64 spans_percentile(const struct spans *spans, double percent)
{
	__u64 wanted = ceil(spans->count / 100.0 * percent), sum = 0, end;
	unsigned int i;

	for (i = 0; i < SPAN_SLOTS; i++) {
		sum += spans->slots[i];
		if (sum >= wanted)
			break;
	}
	end = i < SPAN_SLOTS ? slot_end(i) : spans->most;
	return end < spans->most ? end : spans->most;
}

/**
 * draw_begin() - prepare to draw keys
 * @draw:	filled in; to be freed with draw_end()
 * @keys:	the number of keys, at least 1
 * @skew:	the exponent of Zipf's law: key N is drawn in proportion to 1 / N^skew, counted
 *		from 1; 0: all alike
 *
 * Return: 0 or -ENOMEM.
 */
int draw_begin(struct draw *draw, __u64 keys, double skew)
{
	double sum = 0;
	__u64 i;

	*draw = (struct draw){ .keys = keys };
	if (!(skew > 0))
		return 0;
	draw->sums = calloc(keys, sizeof(*draw->sums));
	if (!draw->sums)
		return -ENOMEM;
	for (i = 0; i < keys; i++) {
		sum += pow(i + 1, -skew);
		draw->sums[i] = sum;
	}
	for (i = 0; i < keys; i++)
		draw->sums[i] /= sum;
	return 0;
}

/**
 * draw_key() - draw a key
 * @draw:	from draw_begin()
 * @state:	the state of the caller's random numbers
 *
 * Return: its number, from 0.
 */
__u64 draw_key(const struct draw *draw, __u64 *state)
{
	__u64 low = 0, high = draw->keys - 1, middle;
	double share = random_share(state);

	if (!draw->sums)
		return share * draw->keys;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (draw->sums[middle] > share)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/**
 * draw_end() - free what draw_begin() has allocated
 * @draw:	the draw
 */
void draw_end(struct draw *draw)
{
	free(draw->sums);
	draw->sums = NULL;
}

/**
 * random_next() - the next random number
 * @state:	the state; equal ones lead to equal numbers
 *
 * The generator is SplitMix64.
 *
 * Return: 64 random bits.
 */
__u64 random_next(__u64 *state)
{
	__u64 bits = *state += 0x9e3779b97f4a7c15ULL;

	bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ULL;
	bits = (bits ^ bits >> 27) * 0x94d049bb133111ebULL;
	return bits ^ bits >> 31;
}

/**
 * random_share() - a random number below 1
 * @state:	the state
 *
 * Return: the number, from 0.
 */
double random_share(__u64 *state)
{
	return (double)(random_next(state) >> 11) / (1ULL << 53);
}
