// SPDX-License-Identifier: GPL-2.0-only
/* Belt time, and the timer that wakes the worker. Guarantee 7 of docs/guarantees.md. */
#include <kunit/test.h>

#include "fixture.h"

static void a_belt_on_which_nothing_is_due_sets_no_timer(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);

	hb_resume(belt);
	KUNIT_EXPECT_EQ(test, belt->clock.wake, HB_NEVER);
	put_ttl(belt, 1, HASHBELT_TTL_NEVER);
	KUNIT_EXPECT_EQ(test, belt->clock.wake, HB_NEVER);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&belt->clock.timer));
	put(belt, 2);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&belt->clock.timer));
	hashbelt_advance(belt, 300 * SEC);
	KUNIT_EXPECT_FALSE(test, has(belt, 2));
	KUNIT_EXPECT_EQ(test, belt->clock.wake, HB_NEVER);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&belt->clock.timer));
}

static void a_halted_belt_sets_no_timer(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);

	hb_resume(belt);
	put(belt, 1);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&belt->clock.timer));
	hashbelt_halt(belt);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&belt->clock.timer));
	hb_resume(belt);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&belt->clock.timer));
	hashbelt_halt(belt);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&belt->clock.timer));
}

static void the_alarm_is_set_for_the_first_non_empty_bucket(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	u64 now = hashbelt_now(belt);

	put_ttl(belt, 1, 200 * 1000);
	KUNIT_EXPECT_GT(test, belt->clock.wake, now + 200 * SEC);
	KUNIT_EXPECT_LE(test, belt->clock.wake, now + 260 * SEC);
	put_ttl(belt, 2, 1);
	KUNIT_EXPECT_GT(test, belt->clock.wake, now);
	KUNIT_EXPECT_LE(test, belt->clock.wake, now + 60 * SEC + MS);
}

static void boot_time_stays_when_the_coarse_clock_steps_back(struct kunit *test)
{
	u64 now = hb_boot_time();

	KUNIT_EXPECT_EQ(test, hb_boot_raise(now + 1), now + 1);
	KUNIT_EXPECT_EQ(test, hb_boot_raise(now - MS), now + 1);
	KUNIT_EXPECT_GE(test, hb_boot_time(), now + 1);
}

/* The boot time from which on the timer may expire. */
static u64 alarm_of(struct hashbelt_belt *belt)
{
	return ktime_to_ns(hrtimer_get_softexpires(&belt->clock.timer));
}

static void the_alarm_of_a_belt_that_is_always_due_waits_for_the_next_slot(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	u64 before, after;

	move_time_only(belt, SEC);
	hb_resume(belt);
	before = ktime_get_boottime_ns();
	/* The beginning of a round. */
	hb_clock_reset_alarm(&belt->clock);
	after = ktime_get_boottime_ns();
	hb_clock_wake_at(&belt->clock, HB_GRAIN);
	KUNIT_EXPECT_EQ(test, alarm_of(belt) % HB_PACE, 0ULL);
	KUNIT_EXPECT_GT(test, alarm_of(belt), before);
	KUNIT_EXPECT_LE(test, alarm_of(belt), after + HB_PACE);
}

/* The worker is kept from its rounds. */
static void an_alarm_waits_for_the_slot_after_the_last_alarm(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	unsigned int tries;

	atomic_inc(&belt->movers);
	hb_resume(belt);
	put_ttl(belt, 1, 1);
	move_time_only(belt, 300 * SEC);
	for (tries = 0; tries < 1000 && !READ_ONCE(belt->clock.wakeups); tries++)
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_GT(test, belt->clock.earliest, alarm_of(belt));
	atomic_dec(&belt->movers);
}

static void an_alarm_after_the_next_slot_keeps_its_time(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	u64 when = hashbelt_now(belt) + 60 * SEC;

	hb_resume(belt);
	hb_clock_reset_alarm(&belt->clock);
	hb_clock_wake_at(&belt->clock, when);
	KUNIT_EXPECT_EQ(test, alarm_of(belt), when - belt->clock.offset + TICK_NSEC);
}

static void belt_time_cannot_leave_its_range(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);

	put_ttl(belt, 1, HASHBELT_TTL_MAX_MS);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, HB_TIME_MAX), -EOVERFLOW);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, HB_TIME_MAX / 2), 0);
	KUNIT_EXPECT_TRUE(test, has(belt, 1));
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, HB_TIME_MAX / 2), -EOVERFLOW);
	put_ttl(belt, 2, HASHBELT_TTL_MAX_MS);
	KUNIT_EXPECT_EQ(test, left_of(belt, 2), HASHBELT_TTL_MAX_MS);
}

static void belt_time_reaches_the_last_moment_of_its_range(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	u64 left = HB_TIME_MAX - hashbelt_now(belt);

	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, left), -EOVERFLOW);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, left - HB_GRAIN), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_now(belt), HB_TIME_MAX - HB_GRAIN);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, HB_GRAIN), -EOVERFLOW);
}

static struct kunit_case clock_cases[] = {
	KUNIT_CASE(a_belt_on_which_nothing_is_due_sets_no_timer),
	KUNIT_CASE(a_halted_belt_sets_no_timer),
	KUNIT_CASE(the_alarm_is_set_for_the_first_non_empty_bucket),
	KUNIT_CASE(boot_time_stays_when_the_coarse_clock_steps_back),
	KUNIT_CASE(the_alarm_of_a_belt_that_is_always_due_waits_for_the_next_slot),
	KUNIT_CASE(an_alarm_waits_for_the_slot_after_the_last_alarm),
	KUNIT_CASE(an_alarm_after_the_next_slot_keeps_its_time),
	KUNIT_CASE(belt_time_cannot_leave_its_range),
	KUNIT_CASE(belt_time_reaches_the_last_moment_of_its_range),
	{}
};

TEST_SUITE(clock, fixture_init, fixture_exit);
