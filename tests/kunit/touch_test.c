// SPDX-License-Identifier: GPL-2.0-only
/* Touches and expiries with conditions on the present deadline. */
#include <kunit/test.h>

#include "belt/keys/key.h"
#include "fixture.h"

#define LASTING		HASHBELT_IF_LASTING
#define EXPIRING	HASHBELT_IF_EXPIRING
#define LATER		HASHBELT_IF_LATER
#define SOONER		HASHBELT_IF_SOONER
#define MORE		HASHBELT_FROM_DEADLINE
#define MOST		HASHBELT_TTL_MAX_MS
#define NEVER		HASHBELT_TTL_NEVER

static const unsigned int key = 1;

/* A touch of an entry that has 5000 ms to live, or does not expire, and its result. */
static const struct condition_case {
	u64 is;
	u32 how;
	u64 to;
	int err;
} condition_cases[] = {
	{ 5000, LASTING, 7000, -EALREADY },
	{ NEVER, LASTING, 7000, 0 },
	{ 5000, EXPIRING, 7000, 0 },
	{ 5000, EXPIRING, NEVER, 0 },
	{ NEVER, EXPIRING, 7000, -EALREADY },
	{ NEVER, EXPIRING, NEVER, -EALREADY },
	{ 5000, LATER, 7000, 0 },
	{ 5000, LATER, 5000, -EALREADY },
	{ 5000, LATER, 3000, -EALREADY },
	{ 5000, LATER, NEVER, 0 },
	{ NEVER, LATER, 7000, -EALREADY },
	{ NEVER, LATER, NEVER, -EALREADY },
	{ 5000, SOONER, 7000, -EALREADY },
	{ 5000, SOONER, 5000, -EALREADY },
	{ 5000, SOONER, 3000, 0 },
	{ NEVER, SOONER, 7000, 0 },
	{ NEVER, SOONER, NEVER, -EALREADY },
	{ 5000, EXPIRING | LATER, 7000, 0 },
	{ 5000, EXPIRING | SOONER, 7000, -EALREADY },
	{ NEVER, EXPIRING | SOONER, 7000, -EALREADY },
	{ 5000, LASTING | EXPIRING, 7000, -EINVAL },
	{ NEVER, LASTING | SOONER, 7000, -EINVAL },
	{ 5000, LATER | SOONER, 7000, -EINVAL },
	{ 5000, MORE, MOST - 4999, -EINVAL },
	{ 5000, MORE, NEVER, 0 },
	{ NEVER, MORE, NEVER, 0 },
	{ NEVER, MORE | EXPIRING, 7000, -EALREADY },
	{ 5000, MORE | SOONER, 7000, -EALREADY },
	{ NEVER, MORE | LASTING, 7000, -EINVAL },
};

static void describe(const struct condition_case *one, char *to)
{
	snprintf(to, KUNIT_PARAM_DESC_SIZE, "%lld to %lld, how %#x", (s64)one->is, (s64)one->to,
		 one->how);
}

KUNIT_ARRAY_PARAM(condition, condition_cases, describe);

static void put_for(struct kunit *test, struct hashbelt_belt *belt, u64 ttl_ms)
{
	KUNIT_ASSERT_EQ(test, put_ttl(belt, key, ttl_ms), 0);
}

static void a_touch_is_made_if_its_conditions_hold(struct kunit *test)
{
	const struct condition_case *one = test->param_value;
	struct hashbelt_belt *belt = make(test);
	struct hashbelt_item item = { .how = one->how, .ttl_ms = one->to };

	put_for(test, belt, one->is);
	KUNIT_EXPECT_EQ(test, hashbelt_touch(belt, &key, sizeof(key), &item), one->err);
	KUNIT_EXPECT_EQ(test, left_of(belt, key), one->err ? one->is : one->to);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_TOUCHES), one->err ? 0ULL : 1ULL);
}

static void a_touch_from_the_deadline_adds_to_the_time_left(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test);
	struct hashbelt_item item = { .how = MORE, .ttl_ms = 3000 };

	put_for(test, belt, 5000);
	KUNIT_ASSERT_EQ(test, hashbelt_touch(belt, &key, sizeof(key), &item), 0);
	KUNIT_EXPECT_EQ(test, item.ttl_ms, 8000ULL);
	hashbelt_advance(belt, 7000 * MS);
	item = (struct hashbelt_item){ .how = MORE, .ttl_ms = 500 };
	KUNIT_ASSERT_EQ(test, hashbelt_touch(belt, &key, sizeof(key), &item), 0);
	KUNIT_EXPECT_EQ(test, left_of(belt, key), 1500ULL);
	item = (struct hashbelt_item){ .how = MORE, .ttl_ms = MOST - 1500 };
	KUNIT_ASSERT_EQ(test, hashbelt_touch(belt, &key, sizeof(key), &item), 0);
	KUNIT_EXPECT_EQ(test, left_of(belt, key), MOST);
	item = (struct hashbelt_item){ .how = MORE, .ttl_ms = 1 };
	KUNIT_EXPECT_EQ(test, hashbelt_touch(belt, &key, sizeof(key), &item), -EINVAL);
	KUNIT_EXPECT_EQ(test, left_of(belt, key), MOST);
}

static void a_touch_from_the_deadline_does_not_end_that_of_a_lasting_entry(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test);
	struct hashbelt_item item = { .how = MORE, .ttl_ms = 3000 };

	put_for(test, belt, NEVER);
	KUNIT_EXPECT_EQ(test, hashbelt_touch(belt, &key, sizeof(key), &item), 0);
	KUNIT_EXPECT_EQ(test, item.ttl_ms, NEVER);
	KUNIT_EXPECT_EQ(test, left_of(belt, key), NEVER);
}

static void a_touch_that_shortens_lets_the_entry_expire_in_time(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test);
	struct hashbelt_item item = { .how = SOONER, .ttl_ms = 2000 };

	put_for(test, belt, NEVER);
	KUNIT_ASSERT_EQ(test, hashbelt_touch(belt, &key, sizeof(key), &item), 0);
	KUNIT_EXPECT_EQ(test, item.ttl_ms, 2000ULL);
	hashbelt_advance(belt, 1999 * MS);
	KUNIT_EXPECT_TRUE(test, left_of(belt, key));
	hashbelt_advance(belt, MS);
	KUNIT_EXPECT_FALSE(test, left_of(belt, key));
	item = (struct hashbelt_item){ .how = SOONER, .ttl_ms = 1 };
	KUNIT_EXPECT_EQ(test, hashbelt_touch(belt, &key, sizeof(key), &item), -ENOENT);
}

static void a_touch_of_another_version_changes_nothing(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test);
	struct hashbelt_item item = { .how = HASHBELT_IF_VERSION, .ttl_ms = 7000 };
	struct hashbelt_item found = { .how = HASHBELT_NO_REFRESH };

	put_for(test, belt, 5000);
	KUNIT_ASSERT_EQ(test, get_item(belt, key, &found), 0);
	item.version = found.version + 1;
	KUNIT_EXPECT_EQ(test, hashbelt_touch(belt, &key, sizeof(key), &item), -ESTALE);
	KUNIT_EXPECT_EQ(test, item.version, found.version);
	KUNIT_EXPECT_EQ(test, left_of(belt, key), 5000ULL);
	KUNIT_EXPECT_EQ(test, hashbelt_touch(belt, &key, sizeof(key), &item), 0);
	KUNIT_EXPECT_EQ(test, left_of(belt, key), 7000ULL);
}

static void an_expiry_is_made_if_its_condition_holds(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test);

	put_for(test, belt, 5000);
	KUNIT_EXPECT_EQ(test, hb_expire_key(belt, &key, sizeof(key), LASTING), -EALREADY);
	KUNIT_EXPECT_EQ(test, left_of(belt, key), 5000ULL);
	KUNIT_EXPECT_EQ(test, hb_expire_key(belt, &key, sizeof(key), LASTING | EXPIRING), -EINVAL);
	KUNIT_EXPECT_EQ(test, hb_expire_key(belt, &key, sizeof(key), EXPIRING), 0);
	KUNIT_EXPECT_EQ(test, left_of(belt, key), 0ULL);
	put_for(test, belt, NEVER);
	KUNIT_EXPECT_EQ(test, hb_expire_key(belt, &key, sizeof(key), EXPIRING), -EALREADY);
	KUNIT_EXPECT_EQ(test, left_of(belt, key), NEVER);
	KUNIT_EXPECT_EQ(test, hb_expire_key(belt, &key, sizeof(key), LASTING), 0);
	KUNIT_EXPECT_EQ(test, left_of(belt, key), 0ULL);
}

static struct kunit_case touch_cases[] = {
	KUNIT_CASE_PARAM(a_touch_is_made_if_its_conditions_hold, condition_gen_params),
	KUNIT_CASE(a_touch_from_the_deadline_adds_to_the_time_left),
	KUNIT_CASE(a_touch_from_the_deadline_does_not_end_that_of_a_lasting_entry),
	KUNIT_CASE(a_touch_that_shortens_lets_the_entry_expire_in_time),
	KUNIT_CASE(a_touch_of_another_version_changes_nothing),
	KUNIT_CASE(an_expiry_is_made_if_its_condition_holds),
	{}
};

TEST_SUITE(touch, fixture_init, fixture_exit);
