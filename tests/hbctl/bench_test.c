// SPDX-License-Identifier: GPL-2.0-only
/* bench_test - the model of hbctl bench: percentiles, and how often each key is drawn. */
#include "../device/tap.h"
#include "bench.h"

#define DRAWS	100000

static struct spans spans, more;

/* A time alone in the histogram is found again, at most 1/64 too large, and never too small. */
static void test_slots(void)
{
	unsigned int wrong = 0;
	__u64 ns, found;
	int i;

	for (i = 0; i < 64; i++) {
		for (ns = 1ULL << i; ns < (1ULL << i) + 3; ns++) {
			memset(&spans, 0, sizeof(spans));
			spans_add(&spans, ns);
			spans_add(&spans, ~0ULL);
			found = spans_percentile(&spans, 50);
			wrong += found < ns || found - ns > ns / 64;
		}
	}
	ok(!wrong, "a percentile is the time of a call, at most 1/64 above it: %u of 192 are not",
	   wrong);
}

static void test_percentiles(void)
{
	__u64 i;

	memset(&spans, 0, sizeof(spans));
	for (i = 1; i <= 1000; i++)
		spans_add(i % 2 ? &spans : &more, i);
	spans_join(&spans, &more);
	is_int(spans.count, 1000, "the calls of two threads are counted together");
	is_int(spans_percentile(&spans, 5), 50, "5 percent of 1 to 1000 ns are at most 50");
	ok(spans_percentile(&spans, 50) >= 500 && spans_percentile(&spans, 50) < 508,
	   "half of 1 to 1000 ns are at most 500 to 507");
	ok(spans_percentile(&spans, 99.9) >= 999, "99.9 percent of 1 to 1000 ns are at most 999");
	is_int(spans_percentile(&spans, 100), 1000, "all of 1 to 1000 ns are at most 1000");
}

/* Draws, and counts how often each of ten keys comes. */
static void draw_ten(double skew, unsigned int *counts)
{
	struct draw draw;
	__u64 state = 1;
	int i;

	memset(counts, 0, 10 * sizeof(*counts));
	if (draw_begin(&draw, 10, skew))
		bail_out("no memory");
	for (i = 0; i < DRAWS; i++)
		counts[draw_key(&draw, &state)]++;
	draw_end(&draw);
}

static bool is_near(unsigned int count, double share)
{
	return count > share * DRAWS * 0.95 && count < share * DRAWS * 1.05;
}

static void test_draws(void)
{
	double sum = 0, far = 0;
	unsigned int counts[10], again[10], i;

	draw_ten(0, counts);
	for (i = 0; i < 10; i++)
		far += !is_near(counts[i], 0.1);
	ok(!far, "without a skew each of ten keys is a tenth of the draws");
	draw_ten(1, counts);
	for (i = 0; i < 10; i++)
		sum += 1.0 / (i + 1);
	for (far = 0, i = 0; i < 10; i++)
		far += !is_near(counts[i], 1.0 / (i + 1) / sum);
	ok(!far, "with a skew of 1 key N is drawn in proportion to 1/N");
	draw_ten(1, again);
	ok(!memcmp(counts, again, sizeof(counts)), "the same seed draws the same keys");
}

int main(void)
{
	test_slots();
	test_percentiles();
	test_draws();
	return done_testing();
}
