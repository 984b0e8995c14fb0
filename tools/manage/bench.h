/* SPDX-License-Identifier: GPL-2.0-only */
/* The model of hbctl bench: which key comes next, and how long calls take. It knows no device. */
#ifndef MANAGE_BENCH_H
#define MANAGE_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

/* A power of two of nanoseconds has so many slots: a percentile is at most 1/64 too large. */
#define SPAN_BITS	6
#define SPAN_SLOTS	((64 - SPAN_BITS + 1) << SPAN_BITS)

/**
 * struct spans - how long calls took
 * @count:	their number
 * @most:	the longest, nanoseconds
 * @slots:	a histogram
 */
struct spans {
	__u64 count;
	__u64 most;
	__u64 slots[SPAN_SLOTS];
};

/**
 * struct draw - how keys are drawn
 * @keys:	their number
 * @sums:	by key: the share of the draws that choose it or one before; NULL: all alike
 */
struct draw {
	__u64 keys;
	double *sums;
};

void spans_add(struct spans *spans, __u64 ns);
void spans_join(struct spans *spans, const struct spans *more);
__u64 spans_percentile(const struct spans *spans, double percent);

int draw_begin(struct draw *draw, __u64 keys, double skew);
__u64 draw_key(const struct draw *draw, __u64 *state);
void draw_end(struct draw *draw);

__u64 random_next(__u64 *state);
double random_share(__u64 *state);

#endif /* MANAGE_BENCH_H */
