// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bar.h"
#include "buckets.h"
#include "duration.h"

/* Rows of the drawn belt: buckets are joined until there are no more than this. */
#define ROWS		20

/**
 * buckets_read() - count the entries of a belt
 * @buckets:	returned: an element for each bucket, and one for entries that expire later
 *		or never. To be freed with buckets_free(), if nothing has failed
 * @handle:	a handle that is bound to the belt
 * @info:	the belt
 *
 * Return: 0, or the error of hashbelt_buckets().
 */
int buckets_read(struct buckets *buckets, struct hashbelt *handle,
		 const struct hashbelt_info *info)
{
	int err;

	buckets->count = info->buckets + 1;
	if (buckets->count > HASHBELT_BUCKETS_MAX)
		buckets->count = HASHBELT_BUCKETS_MAX;
	buckets->counts = calloc(buckets->count, sizeof(*buckets->counts));
	if (!buckets->counts)
		return -ENOMEM;
	err = hashbelt_buckets(handle, buckets->counts, buckets->count);
	if (err)
		buckets_free(buckets);
	return err;
}

/**
 * buckets_join() - sum up buckets that stand side by side
 * @buckets:	the buckets
 * @sums:	returned: the sums of so many buckets each; the last one has only the entries
 *		that expire later than all buckets, or never
 * @most:	how many sums there may be, at least 2
 * @joined:	returned: how many buckets are in a sum; 1 if there are few enough
 *
 * Return: the number of sums.
 */
unsigned int buckets_join(const struct buckets *buckets, __u64 *sums, unsigned int most,
			  unsigned int *joined)
{
	unsigned int last = buckets->count - 1, count = 0, i;

	*joined = (last + most - 2) / (most - 1);
	for (i = 0; i < last; i++) {
		if (i % *joined == 0)
			sums[count++] = 0;
		sums[count - 1] += buckets->counts[i];
	}
	sums[count++] = buckets->counts[last];
	return count;
}

/* Time left, in intervals from now. */
static const char *time_text(char *text, const struct hashbelt_info *info,
			     __u64 intervals)
{
	return duration_format_ns(text, intervals * info->interval_ns);
}

/**
 * buckets_print() - draw a belt for people, unless it is empty
 * @buckets:	its buckets
 * @info:	the belt
 *
 * The bucket that expires next is at the top.
 */
void buckets_print(const struct buckets *buckets, const struct hashbelt_info *info)
{
	unsigned int last = buckets->count - 1, rows, joined, from, to, i;
	char begin[DURATION_SIZE], end[DURATION_SIZE];
	struct bar bars[ROWS] = { 0 };
	__u64 sums[ROWS];

	if (!info->entries)
		return;
	rows = buckets_join(buckets, sums, ROWS, &joined);
	for (i = 0; i < rows; i++) {
		from = i * joined;
		to = from + joined < last ? from + joined : last;
		bars[i].count = sums[i];
		if (i < rows - 1)
			snprintf(bars[i].label, LABEL_SIZE, "%s to %s",
				 time_text(begin, info, from), time_text(end, info, to));
		else
			snprintf(bars[i].label, LABEL_SIZE, "%s or more",
				 time_text(begin, info, last));
	}
	puts("entries by the time that they have left:");
	bars_print(bars, rows);
}

/**
 * buckets_free() - free the result of buckets_read()
 * @buckets:	the buckets; empty afterwards
 */
void buckets_free(struct buckets *buckets)
{
	free(buckets->counts);
	*buckets = (struct buckets){ 0 };
}
