// SPDX-License-Identifier: GPL-2.0-only
/* Waking the tasks that poll descriptors. */
#include <kunit/test.h>

#include "belt.h"
#include "belt/ground/poller.h"

/* A task that polls. */
struct task {
	wait_queue_entry_t entry;	/* in the wait queue of its file */
	unsigned int wakeups;		/* how often it was woken */
};

/* A file that two tasks poll, and a belt's descriptors. */
struct polled {
	struct hb_pollers pollers;	/* those of the belt */
	struct hb_poller poller;	/* the descriptor of the file */
	wait_queue_head_t wait;		/* of the file */
	struct task tasks[2];		/* the tasks */
};

static int count_wakeup(wait_queue_entry_t *entry, unsigned int mode, int flags, void *key)
{
	struct task *task = container_of(entry, struct task, entry);

	task->wakeups++;
	return !key;
}

static struct polled *polled_by(struct kunit *test, bool exclusive)
{
	struct polled *polled = must_alloc(test, sizeof(*polled));
	unsigned int i;

	hb_pollers_init(&polled->pollers, system_unbound_wq);
	init_waitqueue_head(&polled->wait);
	for (i = 0; i < ARRAY_SIZE(polled->tasks); i++) {
		init_waitqueue_func_entry(&polled->tasks[i].entry, count_wakeup);
		if (exclusive)
			add_wait_queue_exclusive(&polled->wait, &polled->tasks[i].entry);
		else
			add_wait_queue(&polled->wait, &polled->tasks[i].entry);
	}
	hb_poller_init(&polled->poller, &polled->pollers, HB_POLL_EVENTS);
	return polled;
}

/* Tells the armed descriptors of an event, and waits for the wakeups. */
static void notify(struct hb_pollers *pollers, enum hb_poll_for what)
{
	hb_pollers_notify(pollers, what);
	flush_work(&pollers->work);
}

static void check_wakeups(struct kunit *test, struct polled *polled, unsigned int first,
			  unsigned int second)
{
	KUNIT_EXPECT_EQ(test, polled->tasks[0].wakeups, first);
	KUNIT_EXPECT_EQ(test, polled->tasks[1].wakeups, second);
	polled->tasks[0].wakeups = 0;
	polled->tasks[1].wakeups = 0;
}

static void a_descriptor_is_notified_at_most_twice_without_another_poll(struct kunit *test)
{
	struct polled *polled = polled_by(test, false);
	unsigned int i;

	notify(&polled->pollers, HB_POLL_EVENTS);
	check_wakeups(test, polled, 0, 0);
	hb_poller_arm(&polled->poller, &polled->wait);
	for (i = 0; i < 5; i++)
		notify(&polled->pollers, HB_POLL_EVENTS);
	check_wakeups(test, polled, 2, 2);
	KUNIT_EXPECT_TRUE(test, list_empty(&polled->poller.place));
	hb_poller_arm(&polled->poller, &polled->wait);
	notify(&polled->pollers, HB_POLL_REQUESTS);
	check_wakeups(test, polled, 0, 0);
	notify(&polled->pollers, HB_POLL_EVENTS);
	check_wakeups(test, polled, 1, 1);
	hb_poller_close(&polled->poller);
}

static void the_second_event_without_a_poll_wakes_all_exclusive_tasks(struct kunit *test)
{
	struct polled *polled = polled_by(test, true);

	hb_poller_arm(&polled->poller, &polled->wait);
	notify(&polled->pollers, HB_POLL_EVENTS);
	check_wakeups(test, polled, 1, 0);
	hb_poller_arm(&polled->poller, &polled->wait);
	notify(&polled->pollers, HB_POLL_EVENTS);
	check_wakeups(test, polled, 1, 0);
	notify(&polled->pollers, HB_POLL_EVENTS);
	check_wakeups(test, polled, 1, 1);
	notify(&polled->pollers, HB_POLL_EVENTS);
	check_wakeups(test, polled, 0, 0);
	hb_poller_close(&polled->poller);
}

static void the_end_of_the_belt_wakes_all_exclusive_tasks(struct kunit *test)
{
	struct polled *polled = polled_by(test, true), *other = polled_by(test, true);

	hb_poller_init(&other->poller, &polled->pollers, HB_POLL_REQUESTS);
	hb_poller_arm(&polled->poller, &polled->wait);
	hb_poller_arm(&other->poller, &other->wait);
	hb_pollers_end(&polled->pollers);
	flush_work(&polled->pollers.work);
	check_wakeups(test, polled, 1, 1);
	check_wakeups(test, other, 1, 1);
	hb_poller_close(&polled->poller);
	hb_poller_close(&other->poller);
}

static void a_notified_descriptor_that_is_polled_again_wakes_its_tasks(struct kunit *test)
{
	struct polled *polled = polled_by(test, false);

	hb_poller_arm(&polled->poller, &polled->wait);
	spin_lock(&polled->pollers.lock);
	list_move(&polled->poller.place, &polled->pollers.notified);
	spin_unlock(&polled->pollers.lock);
	hb_poller_arm(&polled->poller, &polled->wait);
	hb_poller_notify(&polled->poller);
	flush_work(&polled->pollers.work);
	check_wakeups(test, polled, 1, 1);
	hb_poller_close(&polled->poller);
}

static void a_closed_descriptor_is_not_notified(struct kunit *test)
{
	struct polled *polled = polled_by(test, false);

	hb_poller_arm(&polled->poller, &polled->wait);
	hb_poller_close(&polled->poller);
	notify(&polled->pollers, HB_POLL_EVENTS);
	hb_poller_arm(&polled->poller, &polled->wait);
	notify(&polled->pollers, HB_POLL_EVENTS);
	hb_poller_notify(&polled->poller);
	flush_work(&polled->pollers.work);
	check_wakeups(test, polled, 0, 0);
}

static void a_completion_notifies_its_descriptor_alone(struct kunit *test)
{
	struct polled *polled = polled_by(test, false), *other = polled_by(test, false);

	hb_poller_init(&other->poller, &polled->pollers, HB_POLL_EVENTS);
	hb_poller_notify(&polled->poller);
	hb_poller_arm(&polled->poller, &polled->wait);
	hb_poller_arm(&other->poller, &other->wait);
	hb_poller_notify(&polled->poller);
	flush_work(&polled->pollers.work);
	check_wakeups(test, polled, 1, 1);
	check_wakeups(test, other, 0, 0);
	hb_poller_close(&polled->poller);
	hb_poller_close(&other->poller);
}

static struct kunit_case poller_cases[] = {
	KUNIT_CASE(a_descriptor_is_notified_at_most_twice_without_another_poll),
	KUNIT_CASE(the_second_event_without_a_poll_wakes_all_exclusive_tasks),
	KUNIT_CASE(the_end_of_the_belt_wakes_all_exclusive_tasks),
	KUNIT_CASE(a_notified_descriptor_that_is_polled_again_wakes_its_tasks),
	KUNIT_CASE(a_closed_descriptor_is_not_notified),
	KUNIT_CASE(a_completion_notifies_its_descriptor_alone),
	{}
};

static struct kunit_suite poller_suite = { .name = "hashbelt_poller", .test_cases = poller_cases };

kunit_test_suites(&poller_suite);
