// SPDX-License-Identifier: GPL-2.0-only
/* Usage and limits of a belt. Guarantee 13 of docs/guarantees.md. */
#include <kunit/test.h>

#include "belt.h"

static void change_something(struct hashbelt_belt *belt, u32 random)
{
	struct hashbelt_config config = {
		.ttl = (1 + random % 1000) * SEC,
		.buckets = 2 + random % 50,
		.policy = random % 3 ? HASHBELT_EVICT : 0,
		.handler = random % 3,
		.reasons = random % 2 ? HASHBELT_REPORT_ALL : 0,
		.max_entries = random % 5 ? 50 + random % 200 : 0,
		.max_bytes = random % 5 == 1 ? 0 : 10000 + random % 30000,
		.max_events = 1 + random % 100,
	};

	hb_set(belt, &config, (random >> 8) & HASHBELT_SET_ALL &
	       ~(HASHBELT_SET_MODE | HASHBELT_SET_GID));
}

static void the_usage_is_the_sum_over_entries_and_events(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, .handler = HASHBELT_NOTIFY,
					      .reasons = HASHBELT_REPORT_ALL,
					      .policy = HASHBELT_EVICT, .max_entries = 100,
					      .max_events = 50);
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, 20150517);
	for (i = 0; i < 30000; i++) {
		unsigned int key = prandom_u32_state(&rnd) % 300;
		u32 random = prandom_u32_state(&rnd);

		switch (random % 16) {
		case 4:
			move_time_only(belt, SEC);
			break;
		case 5:
			read_some(belt, 1 + random / 16 % 20, random / 1024 % 2);
			break;
		case 6:
			if (i % 20 == 0)
				change_something(belt, prandom_u32_state(&rnd));
			break;
		default:
			if (!end_some(belt, key, random % 16, i % 50 == 0))
				put_ttl(belt, key, 1 + random / 16 % 400000);
		}
		if (i % 100 == 0)
			check_accounting(test, belt);
	}
	hashbelt_clear(belt);
	read_some(belt, 1000001, false);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 0ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 0ULL);
}

static void room_is_reserved_for_one_entry_and_up_to_the_limits(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, .policy = HASHBELT_EVICT, .max_entries = 2,
					      .max_bytes = 30000);
	struct hb_room room = {}, other = {}, third = {};

	hb_room_reserve(&belt->usage, &room, 15000);
	hb_room_reserve(&belt->usage, &room, 15000);
	KUNIT_EXPECT_EQ(test, belt->usage.entries, 1ULL);
	KUNIT_EXPECT_EQ(test, belt->usage.bytes, 15000ULL);
	hb_room_reserve(&belt->usage, &other, 20000);
	hb_room_reserve(&belt->usage, &third, 20000);
	KUNIT_EXPECT_EQ(test, other.bytes, 15000ULL);
	KUNIT_EXPECT_EQ(test, third.entries + third.bytes, 0ULL);
	KUNIT_EXPECT_EQ(test, belt->usage.entries, 2ULL);
	KUNIT_EXPECT_EQ(test, belt->usage.bytes, 30000ULL);
	KUNIT_EXPECT_EQ(test, belt->usage.rooms, 2ULL);
	hb_room_release(&belt->usage, &room);
	hb_room_release(&belt->usage, &other);
	KUNIT_EXPECT_EQ(test, belt->usage.entries + belt->usage.bytes + belt->usage.rooms, 0ULL);
}

static void reserved_room_is_void_after_the_limits_were_set(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, .policy = HASHBELT_EVICT, .max_bytes = 30000);
	struct hb_room room = {};

	hb_room_reserve(&belt->usage, &room, 15000);
	KUNIT_EXPECT_EQ(test, belt->usage.bytes, 15000ULL);
	KUNIT_EXPECT_EQ(test, change(belt, MAX_BYTES, .max_bytes = 40000), 0);
	KUNIT_EXPECT_EQ(test, belt->usage.bytes, 0ULL);
	hb_room_release(&belt->usage, &room);
	KUNIT_EXPECT_EQ(test, belt->usage.bytes, 0ULL);
	KUNIT_EXPECT_EQ(test, belt->usage.entries, 0ULL);
}

static struct kunit_case usage_cases[] = {
	KUNIT_CASE(the_usage_is_the_sum_over_entries_and_events),
	KUNIT_CASE(room_is_reserved_for_one_entry_and_up_to_the_limits),
	KUNIT_CASE(reserved_room_is_void_after_the_limits_were_set),
	{}
};

TEST_SUITE(usage, one_belt_init, one_belt_exit);
