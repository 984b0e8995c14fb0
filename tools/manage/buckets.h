/* SPDX-License-Identifier: GPL-2.0-only */
/* The entries of a belt by the time that they have left. */
#ifndef MANAGE_BUCKETS_H
#define MANAGE_BUCKETS_H

#include <hashbelt/client.h>

/**
 * struct buckets - the entries of a belt by the time that they have left
 * @counts:	as from hashbelt_buckets(); NULL if they were not read
 * @count:	their number
 */
struct buckets {
	__u64 *counts;
	unsigned int count;
};

int buckets_read(struct buckets *buckets, struct hashbelt *handle,
		 const struct hashbelt_info *info);
unsigned int buckets_join(const struct buckets *buckets, __u64 *sums, unsigned int most,
			  unsigned int *joined);
void buckets_print(const struct buckets *buckets, const struct hashbelt_info *info);
void buckets_free(struct buckets *buckets);

#endif /* MANAGE_BUCKETS_H */
