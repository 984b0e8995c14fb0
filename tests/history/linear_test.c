// SPDX-License-Identifier: GPL-2.0-only
/*
 * is_linear() on short histories for which the answer is obvious.
 */
#include "linear.h"
#include "tap.h"

#define TTL	10

static const struct terms terms = { .ttl_ms = TTL };
static const struct terms refreshing = { .ttl_ms = TTL, .refresh = true };
static const struct terms lapsing = { .ttl_ms = TTL, .lapses = true };

/* @from and @to: the moments between which an operation is made. */
#define WHEN(from, to)	.begin = (from), .end = (to)
#define VALUE(v, left)	.version = (v), .value = (v), .left_ms = (left)
#define PUT(v, from, to, ...) \
	{ .kind = ACT_PUT, VALUE(v, TTL), WHEN(from, to), __VA_ARGS__ }
#define GET(v, left, from, to, ...) \
	{ .kind = ACT_GET, VALUE(v, left), WHEN(from, to), __VA_ARGS__ }
#define MISS(from, to)		{ .kind = ACT_GET, .err = -ENOENT, WHEN(from, to) }
#define REMOVE(v, from, to)	{ .kind = ACT_REMOVE, .version = (v), WHEN(from, to) }
#define ADD(v, n, sum, from, to) \
	{ .kind = ACT_ADD, .by = (n), .version = (v), .value = (sum), .left_ms = TTL, \
	  WHEN(from, to) }
#define ADVANCE(by, from, to)	{ .kind = ACT_ADVANCE, .ms = (by), WHEN(from, to) }
#define SIMPLE(what, from, to)	{ .kind = ACT_##what, WHEN(from, to) }

#define LINEAR(want, terms, what, ...) do {					\
	static const struct act acts[] = { __VA_ARGS__ };			\
	ok(is_linear(acts, sizeof(acts) / sizeof(acts[0]), terms) == (want), \
	   "%slinearizable: " what, (want) ? "" : "not ");			\
} while (0)

#define IS(what, ...)		LINEAR(true, &terms, what, __VA_ARGS__)
#define IS_NOT(what, ...)	LINEAR(false, &terms, what, __VA_ARGS__)

static void test_order(void)
{
	IS("a get after a put", PUT(1, 1, 2), GET(1, TTL, 3, 4));
	IS_NOT("a miss after a put", PUT(1, 1, 2), MISS(3, 4));
	IS("a miss beside a put", PUT(1, 1, 4), MISS(2, 3));
	IS("a get beside a put", PUT(1, 1, 4), GET(1, TTL, 2, 3));
	IS_NOT("a miss after a get, beside a put", PUT(1, 1, 6), GET(1, TTL, 2, 3), MISS(4, 5));
	IS("a get after a miss, beside a put", PUT(1, 1, 6), MISS(2, 3), GET(1, TTL, 4, 5));
	IS_NOT("a get before any put", GET(1, TTL, 1, 2), PUT(1, 3, 4));
	IS_NOT("an old value after a new one", PUT(1, 1, 2), PUT(2, 3, 8), GET(2, TTL, 4, 5),
	       GET(1, TTL, 6, 7));
	IS("two puts at once, seen in one order by both", PUT(1, 1, 9), PUT(2, 1, 9),
	   GET(1, TTL, 2, 3), GET(2, TTL, 4, 5));
	IS_NOT("a version that became smaller", PUT(2, 1, 2), PUT(1, 3, 4));
	IS_NOT("a version that became smaller across a remove", PUT(2, 1, 2), REMOVE(2, 3, 4),
	       PUT(1, 5, 6));
}

/* Clears, and time that is not known. */
static void test_lapses(void)
{
	IS("a miss after a clear", PUT(1, 1, 2), SIMPLE(CLEAR, 3, 4), MISS(5, 6));
	IS_NOT("a get after a clear", PUT(1, 1, 2), SIMPLE(CLEAR, 3, 4), GET(1, TTL, 5, 6));
	IS("a get beside a clear", PUT(1, 1, 2), SIMPLE(CLEAR, 3, 6), GET(1, TTL, 4, 5));
	IS_NOT("a version that became smaller across a clear", PUT(2, 1, 2), SIMPLE(CLEAR, 3, 4),
	       PUT(1, 5, 6));
	IS_NOT("a miss after an operation without effect", PUT(1, 1, 2), SIMPLE(OTHER, 3, 4),
	       MISS(5, 6));
	LINEAR(true, &lapsing, "a miss after a put, where entries lapse", PUT(1, 1, 2), MISS(3, 4));
	LINEAR(true, &lapsing, "a get with any time left, where entries lapse", PUT(1, 1, 2),
	       GET(1, 77, 3, 4));
	LINEAR(false, &lapsing, "a get after a miss, where entries lapse", PUT(1, 1, 2), MISS(3, 4),
	       GET(1, TTL, 5, 6));
	LINEAR(false, &lapsing, "a get after a remove, where entries lapse", PUT(1, 1, 2),
	       REMOVE(1, 3, 4), GET(1, TTL, 5, 6));
	LINEAR(false, &lapsing, "an old value after a new one, where entries lapse", PUT(1, 1, 2),
	       PUT(2, 3, 8), GET(2, TTL, 4, 5), GET(1, TTL, 6, 7));
	LINEAR(true, &lapsing, "a put if absent over one that has lapsed", PUT(1, 1, 2),
	       PUT(2, 3, 4, .condition = IF_ABSENT));
}

static void test_writers(void)
{
	IS_NOT("one entry removed twice", PUT(1, 1, 2), REMOVE(1, 3, 6), REMOVE(1, 3, 6));
	IS("two entries removed, one between the puts", PUT(1, 1, 2), PUT(2, 3, 6), REMOVE(1, 3, 6),
	   REMOVE(2, 3, 6));
	IS_NOT("two puts if absent", PUT(1, 1, 4, .condition = IF_ABSENT),
	       PUT(2, 1, 4, .condition = IF_ABSENT));
	IS("two puts if absent, one of them refused", PUT(1, 1, 4, .condition = IF_ABSENT),
	   PUT(1, 1, 4, .condition = IF_ABSENT, .err = -EEXIST));
	IS_NOT("two puts over the same version", PUT(1, 1, 2),
	       PUT(2, 3, 6, .condition = IF_VERSION, .wants = 1),
	       PUT(3, 3, 6, .condition = IF_VERSION, .wants = 1));
	IS("two puts over the same version, one of them stale", PUT(1, 1, 2),
	   PUT(2, 3, 6, .condition = IF_VERSION, .wants = 1),
	   PUT(2, 3, 6, .condition = IF_VERSION, .wants = 1, .err = -ESTALE));
	IS("two additions, both counted", ADD(2, 1, 3, 1, 4), ADD(1, 2, 2, 1, 4));
	IS_NOT("two additions, one of them lost", ADD(2, 1, 1, 1, 4), ADD(1, 2, 2, 1, 4));
	IS("a miss after an expire by hand", PUT(1, 1, 2), SIMPLE(EXPIRE, 3, 4), MISS(5, 6));
	IS_NOT("a hit after an expire by hand", PUT(1, 1, 2), SIMPLE(EXPIRE, 3, 4),
	       GET(1, TTL, 5, 6));
}

static void test_time(void)
{
	IS("a get with less time left after an advance", PUT(1, 1, 2), ADVANCE(4, 3, 4),
	   GET(1, TTL - 4, 5, 6));
	IS_NOT("a get with as much time left after an advance", PUT(1, 1, 2), ADVANCE(4, 3, 4),
	       GET(1, TTL, 5, 6));
	IS("gets with more and less time left, beside an advance", PUT(1, 1, 2), ADVANCE(4, 3, 8),
	   GET(1, TTL, 4, 5), GET(1, TTL - 4, 6, 7));
	IS("a hit 1 ms before the deadline", PUT(1, 1, 2), ADVANCE(TTL - 1, 3, 4), GET(1, 1, 5, 6));
	IS("a miss at the deadline", PUT(1, 1, 2), ADVANCE(TTL, 3, 4), MISS(5, 6));
	IS_NOT("a hit at the deadline", PUT(1, 1, 2), ADVANCE(TTL, 3, 4), GET(1, 0, 5, 6));
	IS_NOT("a miss before the deadline", PUT(1, 1, 2), ADVANCE(TTL - 1, 3, 4), MISS(5, 6));
	IS_NOT("a hit after a miss, while the clock passes the deadline", PUT(1, 1, 2),
	       ADVANCE(TTL, 3, 8), MISS(4, 5), GET(1, TTL, 6, 7));
	IS_NOT("a put over a version after a miss", PUT(1, 1, 2), ADVANCE(TTL, 3, 4), MISS(5, 6),
	       { .kind = ACT_PUT, .condition = IF_VERSION, .wants = 1, VALUE(2, 2 * TTL),
		 .ms = 2 * TTL, WHEN(3, 8) },
	       GET(2, TTL, 9, 10));
	IS("a put that keeps the deadline", PUT(1, 1, 2), ADVANCE(4, 3, 4),
	   { .kind = ACT_PUT, VALUE(2, TTL - 4), .ms = KEEP_TIME, WHEN(5, 6) },
	   GET(2, TTL - 4, 7, 8));
	IS("a get with the time left that a touch has set", PUT(1, 1, 2),
	   { .kind = ACT_TOUCH, .version = 1, .ms = 40, .left_ms = 40, WHEN(3, 4) },
	   GET(1, 40, 5, 6));
	IS("a get that sampled the clock before an advance and a put", GET(1, TTL + 4, 1, 8),
	   ADVANCE(4, 2, 3), PUT(1, 4, 5), GET(1, TTL, 6, 7));
	IS_NOT("a get that sampled the clock before it began", ADVANCE(4, 2, 3),
	       GET(1, TTL + 4, 4, 8), PUT(1, 4, 5));
	IS("a put that sampled the clock before an advance and a miss", PUT(1, 1, 6),
	   ADVANCE(4, 2, 3), MISS(4, 5), GET(1, TTL - 4, 7, 8));
	IS("a put whose time has passed before it takes effect", PUT(1, 1, 6), ADVANCE(TTL, 2, 3),
	   MISS(4, 5), MISS(7, 8));
	IS_NOT("a put that sampled the clock before it began", ADVANCE(4, 1, 2), PUT(1, 3, 4),
	       GET(1, TTL - 4, 5, 6));
	IS_NOT("a put that sampled the clock after it ended", PUT(1, 1, 2), ADVANCE(4, 3, 4),
	       GET(1, TTL, 5, 6));
	LINEAR(true, &refreshing, "a get that refreshes", PUT(1, 1, 2), ADVANCE(4, 3, 4),
	       GET(1, TTL, 5, 6), ADVANCE(TTL - 1, 7, 8), GET(1, TTL, 9, 10));
	LINEAR(false, &refreshing, "a miss after a get that should have refreshed", PUT(1, 1, 2),
	       ADVANCE(4, 3, 4), GET(1, TTL, 5, 6), ADVANCE(TTL - 1, 7, 8), MISS(9, 10));
}

/* A put and an advance between the moments at which a get takes effect and samples the clock. */
static bool can_be_late(bool windowed, uint64_t end)
{
	const struct act acts[] = {
		PUT(1, 1, 2), GET(1, TTL - 4, 3, end, .windowed = windowed),
		PUT(2, 4, 5), ADVANCE(4, 6, 9), GET(2, TTL - 4, 10, 11),
	};

	return is_linear(acts, sizeof(acts) / sizeof(acts[0]), &terms);
}

static void test_window(void)
{
	ok(can_be_late(true, 8),
	   "linearizable: a get by the window that sampled the clock after a put");
	ok(!can_be_late(false, 8), "not linearizable: another get that did so");
	ok(!can_be_late(true, 5),
	   "not linearizable: a get by the window that sampled the clock after it ended");
	IS_NOT("a hit by the window at the deadline", PUT(1, 1, 2),
	       GET(1, 0, 3, 6, .windowed = true), ADVANCE(TTL, 4, 5));
}

/* With so many operations at once, all orders can only be tried with the cache. */
static void test_many(void)
{
	struct act acts[40];
	unsigned int i;

	for (i = 0; i < 40; i++)
		acts[i] = (struct act){
			.kind = ACT_ADD, .by = 1, .value = 40 - i, .version = 40 - i,
			.left_ms = TTL, .begin = 1, .end = 100,
		};
	ok(is_linear(acts, 40, &terms), "linearizable: forty additions at once");
	acts[7].value = 34;
	ok(!is_linear(acts, 40, &terms),
	   "not linearizable: forty additions at once, two of them with one result");
	for (i = 0; i < 14; i++)
		acts[i] = (struct act)MISS(1, 100);
	acts[14] = (struct act)GET(1, TTL, 50, 60);
	ok(!is_linear(acts, 15, &terms),
	   "not linearizable: fourteen misses at once, and a hit without a put");
}

int main(void)
{
	test_order();
	test_lapses();
	test_writers();
	test_time();
	test_window();
	test_many();
	return done_testing();
}
