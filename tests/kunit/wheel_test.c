// SPDX-License-Identifier: GPL-2.0-only
/* The wheels. Time is a number here. */
#include <linux/prandom.h>
#include <linux/slab.h>

#include "belt/ground/clock.h"
#include "belt/ground/memory.h"
#include "belt/ground/wheel.h"
#include "suite.h"

#define HOUR	(3600 * SEC)
#define YEAR	(8766 * HOUR)

struct wheel_case {
	const char *name;
	u64 ttl;
	u32 buckets;
};

static const struct wheel_case sizes[] = {
	{ "2 buckets", 10 * SEC, 2 },
	{ "3 buckets", 300 * SEC, 3 },
	{ "5 buckets", 240 * SEC, 5 },
	{ "500 buckets", 499 * SEC, 500 },
	{ "65536 buckets", 65535 * SEC, 65536 },
	{ "ttl of 1 ms", MS, 2 },
	{ "ttl of 100 years", 100 * YEAR, 3 },
};

KUNIT_ARRAY_PARAM_DESC(wheel, sizes, name);

struct fixture {
	struct hb_geometry geometry;
	struct hb_wheel wheel;
	struct rnd_state rnd;
	u64 now;
	unsigned int wakes;
};

static struct fixture *make(struct kunit *test, u64 ttl, u32 buckets)
{
	struct fixture *f = must_alloc(test, sizeof(*f));

	prandom_seed_state(&f->rnd, 20150517);
	f->now = HOUR + 12344;
	hb_geometry_init(&f->geometry, ttl, buckets, 0);
	KUNIT_ASSERT_EQ(test, hb_wheel_init(&f->wheel, &f->geometry, NULL, NULL), 0);
	test->priv = f;
	return f;
}

static struct fixture *make_case(struct kunit *test)
{
	const struct wheel_case *c = test->param_value;

	return make(test, c->ttl, c->buckets);
}

static int wheel_suite_init(struct kunit_suite *suite)
{
	return hb_memory_init(0);
}

static void wheel_suite_exit(struct kunit_suite *suite)
{
	hb_memory_exit();
}

static void wheel_exit(struct kunit *test)
{
	struct fixture *f = test->priv;

	if (f)
		hb_wheel_destroy(&f->wheel);
}

/* Puts a node on the wheel, and makes the levels that it needs. */
static void add(struct kunit *test, struct fixture *f, struct hb_node *node, u64 deadline)
{
	unsigned int number;

	while ((number = hb_wheel_wants(&f->wheel, f->now, deadline))) {
		struct hb_level *level = hb_level_new(&f->geometry, number, NULL);

		KUNIT_ASSERT_FALSE(test, IS_ERR(level));
		hb_wheel_grow(&f->wheel, number, &level, f->now);
		KUNIT_ASSERT_NULL(test, level);
	}
	atomic64_set(&node->deadline, deadline);
	hb_wheel_add(&f->wheel, node, f->now);
}

static unsigned int count(const struct list_head *list)
{
	unsigned int nodes = 0;
	struct list_head *at;

	list_for_each(at, list)
		nodes++;
	return nodes;
}

/* Drains all nodes that are due. Return: how many expired; they stay claimed. */
static unsigned int drain(struct fixture *f)
{
	struct hb_drain_result drained = { .expired = LIST_HEAD_INIT(drained.expired) };

	while (hb_wheel_drain(&f->wheel, f->now, f->now, 64, &drained))
		;
	return count(&drained.expired);
}

/* Also those that stand behind others in their bucket; refreshed ones stay. */
static void a_hastened_bucket_gives_up_what_has_expired_by_now(struct kunit *test)
{
	enum { NODES = 1000, ROUNDS = 50 };
	struct fixture *f = make_case(test);
	u64 ttl = ((const struct wheel_case *)test->param_value)->ttl;
	struct hb_node *nodes = must_alloc(test, NODES * sizeof(*nodes));
	unsigned int round, i, due, left = NODES;
	u64 deadline;

	for (i = 0; i < NODES; i++)
		add(test, f, &nodes[i], (f->now + 1 + div_u64(ttl, NODES) * (i * 7919 % NODES)) &
					~7ULL);
	for (round = 0; round < ROUNDS; round++) {
		f->now += div_u64(ttl, ROUNDS);
		for (i = due = 0; i < NODES; i++) {
			if ((s64)atomic64_read(&nodes[i].deadline) < 0)
				continue;
			deadline = hb_node_deadline(&nodes[i]);
			if (deadline > f->now && prandom_u32_state(&f->rnd) % 50 == 0)
				atomic64_set(&nodes[i].deadline,
					     deadline + (div_u64(ttl, 8) & ~7ULL));
			due += hb_node_deadline(&nodes[i]) <= f->now;
		}
		if (due)
			KUNIT_EXPECT_LE(test, f->wheel.ahead, f->now);
		hb_wheel_hasten(&f->wheel, f->now);
		KUNIT_ASSERT_EQ(test, drain(f), due);
		KUNIT_ASSERT_GT(test, f->wheel.ahead, f->now);
		/* Nothing is due: no bucket falls off. */
		KUNIT_ASSERT_FALSE(test, hb_wheel_hasten(&f->wheel, f->now));
		left -= due;
	}
	f->now += ttl;
	KUNIT_EXPECT_EQ(test, drain(f), left);
}

static void a_bucket_is_hastened_from_the_deadline_of_its_first_node_on(struct kunit *test)
{
	struct fixture *f = make(test, 100 * SEC, 2);
	struct hb_node node;

	add(test, f, &node, f->now + SEC);
	f->now += SEC;
	KUNIT_EXPECT_FALSE(test, hb_wheel_hasten(&f->wheel, f->now - 1));
	KUNIT_EXPECT_TRUE(test, hb_wheel_hasten(&f->wheel, f->now));
	KUNIT_EXPECT_EQ(test, drain(f), 1u);
}

static void a_hastened_bucket_keeps_its_order(struct kunit *test)
{
	enum { NODES = 300 };
	struct fixture *f = make(test, 100 * SEC, 2);
	struct hb_node *nodes = must_alloc(test, NODES * sizeof(*nodes)), *node;
	unsigned int i, wrong = 0;
	bool again = false;

	/* Each third is due first. */
	for (i = 0; i < NODES; i++)
		add(test, f, &nodes[i], f->now - 344 + (i % 3 ? 50 * SEC : SEC));
	hb_hand_rewind(&f->wheel);
	for (i = 0; i < 100; i++) {
		KUNIT_ASSERT_PTR_EQ(test, hb_hand_node(&f->wheel, &again), &nodes[i]);
		hb_hand_pass(&f->wheel);
	}
	f->now += 2 * SEC;
	KUNIT_EXPECT_TRUE(test, hb_wheel_hasten(&f->wheel, f->now));
	KUNIT_EXPECT_EQ(test, drain(f), (unsigned int)NODES / 3);
	KUNIT_EXPECT_NULL(test, hb_hand_node(&f->wheel, &again));
	hb_hand_rewind(&f->wheel);
	for (i = 0; i < NODES; i++) {
		if (i % 3 == 0)
			continue;
		node = hb_hand_node(&f->wheel, &again);
		wrong += node != &nodes[i];
		if (node)
			hb_hand_pass(&f->wheel);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0u);
	KUNIT_EXPECT_NULL(test, hb_hand_node(&f->wheel, &again));
}

/* A search for the nearest node moves nodes that never expire to the list of permanent ones. */
static void a_replaced_wheel_loses_no_node(struct kunit *test)
{
	struct fixture *f = make(test, 10 * SEC, 5);
	struct hb_wheel old = {};
	struct hb_node nodes[3];
	struct hb_geometry geometry;
	bool again = false;
	unsigned int i;

	INIT_LIST_HEAD(&old.due);
	INIT_LIST_HEAD(&old.permanent);
	for (i = 0; i < ARRAY_SIZE(nodes); i++)
		add(test, f, &nodes[i], f->now + SEC);
	hb_geometry_init(&geometry, SEC, 50, 0);
	hb_wheel_set_geometry(&f->wheel, &geometry, hb_level_new(&geometry, 0, NULL), &old, f->now);
	for (i = 0; i < ARRAY_SIZE(nodes); i++)
		atomic64_set(&nodes[i].deadline, HB_NEVER);
	hb_wheel_nearest(&old, f->now, &again);
	KUNIT_EXPECT_FALSE(test, again);
	while (hb_wheel_unload(&old, &f->wheel, 64))
		;
	KUNIT_EXPECT_EQ(test, count(&old.permanent), 0u);
	KUNIT_EXPECT_EQ(test, drain(f), 0u);
	KUNIT_EXPECT_EQ(test, count(&f->wheel.permanent), 3u);
	hb_wheel_destroy(&old);
}

static bool is_claimed(const struct hb_node *node)
{
	return atomic64_read(&node->deadline) < 0;
}

/* Moves time to the next wakeup. Return: false if there is none. */
static bool wake(struct fixture *f)
{
	u64 next = hb_wheel_next(&f->wheel);

	if (next == HB_NEVER)
		return false;
	f->now = max(f->now, next);
	f->wakes++;
	return true;
}

static void the_interval_is_the_ttl_divided_by_buckets_less_one(struct kunit *test)
{
	struct hb_geometry geometry;

	hb_geometry_init(&geometry, 240 * SEC, 5, 0);
	KUNIT_EXPECT_EQ(test, geometry.width[0], 60 * SEC);
	KUNIT_EXPECT_EQ(test, geometry.size[0], 5u);
	KUNIT_EXPECT_EQ(test, geometry.width[1], 300 * SEC);
	/* The interval is rounded up, so the front wheel covers the time-to-live. */
	hb_geometry_init(&geometry, 10 * SEC + 1, 5, 0);
	KUNIT_EXPECT_EQ(test, geometry.width[0], 2500000001ULL);
	/* The interval is at least 1 ms. */
	hb_geometry_init(&geometry, MS, 500, 0);
	KUNIT_EXPECT_EQ(test, geometry.width[0], MS);
}

static void levels_reach_the_longest_ttl(struct kunit *test)
{
	struct fixture *f = make_case(test);
	unsigned int top = f->geometry.levels - 1;

	KUNIT_EXPECT_LE(test, div64_u64(HB_TIME_MAX, f->geometry.width[top]),
			(u64)f->geometry.size[top]);
}

/* A random deadline: on the front wheel, a thousand times as far, or within 100 years. */
static u64 some_deadline(struct fixture *f, unsigned int i)
{
	u64 ttl = f->geometry.width[0] * (f->geometry.size[0] - 1);
	u64 random = (u64)prandom_u32_state(&f->rnd) << 32 | prandom_u32_state(&f->rnd);

	if (i % 3 == 1 && ttl < HB_TIME_MAX / 1000)
		ttl *= 1000;
	if (i % 3 == 2)
		ttl = 100 * YEAR;
	return (f->now + HB_GRAIN + random % ttl) & ~(HB_GRAIN - 1);
}

static void nothing_expires_early_or_an_interval_late(struct kunit *test)
{
	enum { NODES = 3000 };
	struct fixture *f = make_case(test);
	struct hb_node *nodes = must_alloc(test, NODES * sizeof(*nodes));
	u64 *deadlines = must_alloc(test, NODES * sizeof(*deadlines));
	unsigned int i, left = NODES;

	for (i = 0; i < NODES; i++) {
		deadlines[i] = some_deadline(f, i);
		add(test, f, &nodes[i], deadlines[i]);
	}
	while (wake(f)) {
		if (!drain(f))
			continue;
		for (i = 0; i < NODES; i++) {
			if (!deadlines[i] || !is_claimed(&nodes[i]))
				continue;
			KUNIT_ASSERT_GE(test, f->now, deadlines[i]);
			KUNIT_ASSERT_LE(test, f->now, deadlines[i] + f->geometry.width[0]);
			deadlines[i] = 0;
			left--;
		}
	}
	KUNIT_EXPECT_EQ(test, left, 0u);
	/* Each node causes at most one wakeup for each level. */
	KUNIT_EXPECT_LE(test, f->wakes, NODES * f->geometry.levels);
}

static void an_empty_wheel_needs_no_wakeup(struct kunit *test)
{
	struct fixture *f = make_case(test);
	struct hb_node node, permanent, always;

	KUNIT_EXPECT_EQ(test, hb_wheel_next(&f->wheel), HB_NEVER);
	add(test, f, &permanent, HB_NEVER);
	add(test, f, &always, HB_NEVER);
	KUNIT_EXPECT_EQ(test, hb_wheel_next(&f->wheel), HB_NEVER);
	add(test, f, &node, f->now + 16);
	KUNIT_EXPECT_NE(test, hb_wheel_next(&f->wheel), HB_NEVER);
	hb_wheel_del(&f->wheel, &node);
	KUNIT_EXPECT_EQ(test, hb_wheel_next(&f->wheel), HB_NEVER);
}

static void the_worker_sleeps_until_the_first_non_empty_bucket(struct kunit *test)
{
	struct fixture *f = make(test, 240 * SEC, 5);
	struct hb_node soon, late;

	f->now = 600 * SEC;
	add(test, f, &late, f->now + 200 * SEC);
	KUNIT_EXPECT_EQ(test, hb_wheel_next(&f->wheel), 840 * SEC);
	add(test, f, &soon, f->now + 61 * SEC);
	KUNIT_EXPECT_EQ(test, hb_wheel_next(&f->wheel), 720 * SEC);
	hb_wheel_del(&f->wheel, &soon);
	KUNIT_EXPECT_EQ(test, hb_wheel_next(&f->wheel), 840 * SEC);
	hb_wheel_del(&f->wheel, &late);
}

static void a_refreshed_node_is_requeued_by_its_deadline(struct kunit *test)
{
	struct fixture *f = make(test, 240 * SEC, 5);
	u64 deadline = f->now + 240 * SEC;
	struct hb_node node;

	add(test, f, &node, deadline);
	f->now = deadline - 2;
	KUNIT_EXPECT_EQ(test, hb_node_move(&node, f->now, deadline + 240 * SEC, false),
			deadline + 240 * SEC);
	KUNIT_ASSERT_TRUE(test, wake(f));
	KUNIT_EXPECT_EQ(test, drain(f), 0u);
	KUNIT_ASSERT_TRUE(test, wake(f));
	KUNIT_EXPECT_GE(test, f->now, deadline + 240 * SEC);
	KUNIT_EXPECT_EQ(test, drain(f), 1u);
}

static void a_node_expires_on_time_where_a_level_is_missing(struct kunit *test)
{
	struct fixture *f = make(test, 240 * SEC, 5);
	u64 deadline = f->now + 24 * HOUR;
	struct hb_node node;

	/* No overflow wheel is made, as without memory. */
	atomic64_set(&node.deadline, deadline);
	hb_wheel_add(&f->wheel, &node, f->now);
	while (wake(f))
		if (drain(f))
			break;
	KUNIT_EXPECT_GE(test, f->now, deadline);
	KUNIT_EXPECT_LE(test, f->now, deadline + f->geometry.width[0]);
}

static void overflow_wheels_are_made_when_first_needed(struct kunit *test)
{
	struct fixture *f = make(test, 240 * SEC, 5);
	struct hb_node node;
	u64 bytes = 0;

	KUNIT_EXPECT_EQ(test, hb_wheel_wants(&f->wheel, f->now, f->now + 240 * SEC), 0u);
	KUNIT_EXPECT_EQ(test, hb_wheel_wants(&f->wheel, f->now, HB_NEVER), 0u);
	KUNIT_EXPECT_EQ(test, hb_wheel_wants(&f->wheel, f->now, f->now + HOUR), 1u);
	add(test, f, &node, f->now + YEAR);
	KUNIT_EXPECT_EQ(test, hb_wheel_levels(&f->wheel, &bytes), 4u);
	hb_wheel_del(&f->wheel, &node);
}

static void a_drain_stops_at_its_budget(struct kunit *test)
{
	enum { NODES = 1000 };
	struct fixture *f = make(test, 240 * SEC, 5);
	struct hb_drain_result drained = { .expired = LIST_HEAD_INIT(drained.expired) };
	struct hb_node *nodes = must_alloc(test, NODES * sizeof(*nodes));
	unsigned int i, calls = 0;

	for (i = 0; i < NODES; i++)
		add(test, f, &nodes[i], f->now + 100 * SEC);
	f->now += 200 * SEC;
	do {
		INIT_LIST_HEAD(&drained.expired);
		i = hb_wheel_drain(&f->wheel, f->now, f->now, 10, &drained);
		KUNIT_ASSERT_LE(test, count(&drained.expired), 10u);
		calls++;
	} while (i);
	KUNIT_EXPECT_GE(test, calls, NODES / 10u);
	KUNIT_EXPECT_TRUE(test, is_claimed(&nodes[0]));
	KUNIT_EXPECT_TRUE(test, is_claimed(&nodes[NODES - 1]));
}

static void a_node_can_be_taken_off_between_two_batches(struct kunit *test)
{
	struct fixture *f = make(test, 240 * SEC, 5);
	struct hb_drain_result drained = { .expired = LIST_HEAD_INIT(drained.expired) };
	struct hb_node nodes[10];
	unsigned int i, left = 0;

	for (i = 0; i < ARRAY_SIZE(nodes); i++)
		add(test, f, &nodes[i], f->now + 100 * SEC);
	f->now += 200 * SEC;
	/* The budget of 4 is one for the bucket and three for nodes. */
	KUNIT_EXPECT_TRUE(test, hb_wheel_drain(&f->wheel, f->now, f->now, 4, &drained));
	KUNIT_EXPECT_EQ(test, hb_wheel_next(&f->wheel), 0ULL);
	for (i = 0; i < ARRAY_SIZE(nodes); i++) {
		if (is_claimed(&nodes[i]))
			continue;
		hb_wheel_del(&f->wheel, &nodes[i]);
		left++;
	}
	KUNIT_EXPECT_EQ(test, left, 7u);
	KUNIT_EXPECT_EQ(test, drain(f), 0u);
	KUNIT_EXPECT_EQ(test, hb_wheel_next(&f->wheel), HB_NEVER);
}

/* Puts the expired nodes back with a new deadline. Return: how many they were. */
static unsigned int put_back(struct kunit *test, struct fixture *f, struct hb_drain_result *drained,
			     u64 life)
{
	struct hb_node *node, *next;
	unsigned int expired = 0;

	list_for_each_entry_safe(node, next, &drained->expired, slot) {
		hb_wheel_del(&f->wheel, node);
		add(test, f, node, f->now + life);
		expired++;
	}
	return expired;
}

/* The new deadlines are near, thousands of buckets are due, and time goes on during the drain. */
static void a_drain_ends_although_expired_nodes_are_put_back(struct kunit *test)
{
	enum { NODES = 1000 };
	struct fixture *f = make(test, SEC, 3);
	struct hb_drain_result drained = { .expired = LIST_HEAD_INIT(drained.expired) };
	struct hb_node *nodes = must_alloc(test, NODES * sizeof(*nodes));
	unsigned int i, expired = 0;
	u64 until;
	bool more;

	for (i = 0; i < NODES; i++)
		add(test, f, &nodes[i], f->now + SEC);
	f->now += 10000 * SEC;
	until = f->now;
	do {
		more = hb_wheel_drain(&f->wheel, until, f->now, 64, &drained);
		expired += put_back(test, f, &drained, SEC / 2);
		f->now += 5 * SEC;
		/* A late bucket stands for many intervals, so some nodes expire again. */
		KUNIT_ASSERT_LE(test, expired, 3u * NODES);
	} while (more);
	KUNIT_EXPECT_GE(test, expired, (unsigned int)NODES);
	KUNIT_EXPECT_LE(test, hb_wheel_next(&f->wheel), f->now + SEC);
	f->now += 2 * SEC;
	KUNIT_EXPECT_EQ(test, drain(f), (unsigned int)NODES);
}

static void a_late_drain_finds_every_node(struct kunit *test)
{
	enum { NODES = 300 };
	struct fixture *f = make_case(test);
	struct hb_node *nodes = must_alloc(test, NODES * sizeof(*nodes));
	u64 width = f->geometry.width[0];
	unsigned int i;

	/* Time goes on and nodes are added without a drain. */
	for (i = 0; i < NODES && f->now < HB_TIME_MAX / 2; i++) {
		add(test, f, &nodes[i], (f->now + HB_GRAIN + prandom_u32_state(&f->rnd) % width) &
				       ~(HB_GRAIN - 1));
		f->now += width / 2;
	}
	f->now += 2 * width;
	KUNIT_EXPECT_EQ(test, drain(f), i);
	KUNIT_EXPECT_EQ(test, hb_wheel_next(&f->wheel), HB_NEVER);
}

/* Moves the hand by a node, or to the next lap. Return: the node; NULL at the end of a lap. */
static struct hb_node *hand_step(struct fixture *f)
{
	struct hb_node *node;
	bool again;

	do {
		node = hb_hand_node(&f->wheel, &again);
	} while (!node && again);
	if (node)
		hb_hand_pass(&f->wheel);
	else
		hb_hand_rewind(&f->wheel);
	return node;
}

static u64 random_deadline(struct fixture *f)
{
	u64 ahead = prandom_u32_state(&f->rnd) % (4 * f->geometry.width[0] / MS + 1000) + 1;

	return prandom_u32_state(&f->rnd) % 8 ? f->now + ahead * MS : HB_NEVER;
}

static void the_hand_comes_to_each_node_once_a_lap(struct kunit *test)
{
	enum { NODES = 300 };
	struct fixture *f = make_case(test);
	struct hb_node *nodes = must_alloc(test, NODES * sizeof(*nodes)), *node;
	unsigned int i, lap, met;
	u8 *seen = must_alloc(test, NODES);

	for (i = 0; i < NODES; i++)
		add(test, f, &nodes[i], random_deadline(f));
	for (lap = 0; lap < 3; lap++) {
		for (met = 0; (node = hand_step(f)); met++)
			KUNIT_ASSERT_EQ(test, ++seen[node - nodes], lap + 1);
		KUNIT_EXPECT_EQ(test, met, (unsigned int)NODES);
	}
	for (i = 0; i < NODES; i++)
		hb_wheel_del(&f->wheel, &nodes[i]);
	KUNIT_EXPECT_NULL(test, hand_step(f));
}

/*
 * Nodes come and go, and time goes on. Whatever happens in a lap, the next one that is undisturbed
 * comes to each node.
 */
static void the_hand_finds_its_way_while_the_wheel_changes(struct kunit *test)
{
	enum { NODES = 200 };
	struct fixture *f = make_case(test);
	struct hb_drain_result drained = { .expired = LIST_HEAD_INIT(drained.expired) };
	struct hb_node *nodes = must_alloc(test, NODES * sizeof(*nodes));
	struct hb_node *node, *next;
	unsigned int i, step, met;

	for (i = 0; i < NODES; i++)
		add(test, f, &nodes[i], random_deadline(f));
	for (step = 0; step < 20000 && f->now < HB_TIME_MAX / 4; step++) {
		node = hand_step(f);
		switch (prandom_u32_state(&f->rnd) % 4) {
		case 0:
			node = node ?: &nodes[prandom_u32_state(&f->rnd) % NODES];
			hb_wheel_del(&f->wheel, node);
			add(test, f, node, random_deadline(f));
			break;
		case 1:
			/* The one that the hand would come to next. */
			if (f->wheel.hand.at == f->wheel.hand.head)
				break;
			node = list_entry(f->wheel.hand.at, struct hb_node, slot);
			hb_wheel_del(&f->wheel, node);
			KUNIT_ASSERT_PTR_NE(test, f->wheel.hand.at, &node->slot);
			add(test, f, node, random_deadline(f));
			break;
		case 2:
			f->now += prandom_u32_state(&f->rnd) % 2 ? MS : f->geometry.width[0] / 2;
			hb_wheel_drain(&f->wheel, f->now, f->now, 7, &drained);
			list_for_each_entry_safe(node, next, &drained.expired, slot) {
				list_del_init(&node->slot);
				add(test, f, node, random_deadline(f));
			}
		}
		if (step % 1000)
			continue;
		while (hand_step(f))
			;
		for (met = 0; hand_step(f); met++)
			;
		KUNIT_ASSERT_EQ(test, met, (unsigned int)NODES);
	}
}

static struct kunit_case wheel_cases[] = {
	KUNIT_CASE(the_interval_is_the_ttl_divided_by_buckets_less_one),
	KUNIT_CASE_PARAM(levels_reach_the_longest_ttl, wheel_gen_params),
	KUNIT_CASE_PARAM(nothing_expires_early_or_an_interval_late, wheel_gen_params),
	KUNIT_CASE_PARAM(an_empty_wheel_needs_no_wakeup, wheel_gen_params),
	KUNIT_CASE(the_worker_sleeps_until_the_first_non_empty_bucket),
	KUNIT_CASE(a_refreshed_node_is_requeued_by_its_deadline),
	KUNIT_CASE(a_node_expires_on_time_where_a_level_is_missing),
	KUNIT_CASE(overflow_wheels_are_made_when_first_needed),
	KUNIT_CASE(a_replaced_wheel_loses_no_node),
	KUNIT_CASE(a_drain_stops_at_its_budget),
	KUNIT_CASE(a_node_can_be_taken_off_between_two_batches),
	KUNIT_CASE(a_drain_ends_although_expired_nodes_are_put_back),
	KUNIT_CASE_PARAM(a_late_drain_finds_every_node, wheel_gen_params),
	KUNIT_CASE_PARAM(a_hastened_bucket_gives_up_what_has_expired_by_now, wheel_gen_params),
	KUNIT_CASE(a_bucket_is_hastened_from_the_deadline_of_its_first_node_on),
	KUNIT_CASE(a_hastened_bucket_keeps_its_order),
	KUNIT_CASE_PARAM(the_hand_comes_to_each_node_once_a_lap, wheel_gen_params),
	KUNIT_CASE_PARAM(the_hand_finds_its_way_while_the_wheel_changes, wheel_gen_params),
	{}
};

static struct kunit_suite wheel_suite = {
	.name = "hashbelt_wheel",
	.suite_init = wheel_suite_init,
	.suite_exit = wheel_suite_exit,
	.exit = wheel_exit,
	.test_cases = wheel_cases,
};

kunit_test_suites(&wheel_suite);

MODULE_DESCRIPTION("Tests of hashbelt without a device");
MODULE_LICENSE("GPL");
