/* SPDX-License-Identifier: GPL-2.0-only */
/* The fixture of a case: a belt, clients, tasks that wait, and a handler that records its calls. */
#ifndef _FIXTURE_H
#define _FIXTURE_H

#include <linux/prandom.h>

#include "belt.h"

#define WAITERS	12

struct fixture {
	struct hashbelt_belt *belt;
	struct hb_client *clients[4];
	struct waiter waiters[WAITERS];
	unsigned int turn;
	u64 besides;		/* memory_besides() of the empty belt */
	struct rnd_state rnd;
	/* By record_event() */
	struct hashbelt_event last;
	unsigned int expired;		/* calls for expired entries */
	unsigned int expired_of[1000];	/* calls by key, where keys are numbers */
	u64 last_version;		/* of the entry that expired last */
	u64 lateness;			/* the longest since a deadline, nanoseconds */
	u64 deadlines[1000];		/* by key, as the case has set them */
};

static inline void record_event(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
				const struct hashbelt_event *event, void *arg)
{
	struct fixture *f = arg;
	unsigned int i;

	might_sleep();
	f->last = *event;
	if (event->reason != HASHBELT_EXPIRED)
		return;
	f->expired++;
	f->last_version = entry->version;
	if (entry->key_len != sizeof(i))
		return;
	memcpy(&i, entry->data, sizeof(i));
	if (i < ARRAY_SIZE(f->expired_of)) {
		f->expired_of[i]++;
		if (f->deadlines[i])
			f->lateness = max(f->lateness,
					  hashbelt_now(belt) - f->deadlines[i]);
	}
}

static inline int fixture_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	prandom_seed_state(&f->rnd, 20150517);
	test->priv = f;
	return hb_core_init();
}

static inline void drop_client(struct fixture *f, unsigned int i)
{
	if (!f->clients[i])
		return;
	/* The case may have closed it already. */
	if (!f->clients[i]->gone)
		hashbelt_client_close(f->belt, f->clients[i]);
	hashbelt_client_put(f->clients[i]);
	f->clients[i] = NULL;
}

static inline void drop_all(struct fixture *f)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(f->waiters); i++)
		waiter_stop(&f->waiters[i]);
	for (i = 0; i < ARRAY_SIZE(f->clients); i++)
		drop_client(f, i);
	hashbelt_destroy(f->belt);
	f->belt = NULL;
}

/* hb_memory_exit() warns if memory has not been freed. */
static inline void fixture_exit(struct kunit *test)
{
	struct fixture *f = test->priv;

	if (f->belt) {
		/* This ends all waits that the case has left. */
		hb_kill(f->belt);
		drop_all(f);
	}
	hb_core_exit();
}

static inline struct hashbelt_belt *make(struct kunit *test, struct hashbelt_config config)
{
	struct hashbelt_belt *belt = still_belt(test, config);
	struct fixture *f = test->priv;
	unsigned int i;

	f->belt = belt;
	for (i = 0; i < ARRAY_SIZE(f->clients); i++) {
		f->clients[i] = hashbelt_client_new(belt);
		KUNIT_ASSERT_NOT_NULL(test, f->clients[i]);
	}
	f->besides = memory_besides(belt);
	return belt;
}

static inline struct hashbelt_belt *make_plain(struct kunit *test)
{
	return make(test, (struct hashbelt_config){});
}

static inline struct hashbelt_belt *make_recording(struct kunit *test, u32 policy, u32 buckets)
{
	return make(test, (struct hashbelt_config){
		.policy = policy, .buckets = buckets,
		.handler = HASHBELT_NOTIFY, .event = record_event, .arg = test->priv,
	});
}

/* Fill leases */

static inline int fill_key(struct fixture *f, unsigned int key, bool ahead, u64 *token)
{
	struct hashbelt_fill fill = { .ahead_ms = HASHBELT_TTL_NEVER };
	int err = hashbelt_fill(f->belt, NULL, &key, sizeof(key), &fill, ahead);

	*token = fill.token;
	return err;
}

static inline int give_up_key(struct fixture *f, unsigned int key, u64 token)
{
	return hashbelt_give_up(f->belt, &key, sizeof(key), token);
}

/* Starts a task that waits for a fill lease without a time limit. */
static inline struct waiter *line_up_to_fill(struct kunit *test, unsigned int i, unsigned int key,
					     struct hb_client *client)
{
	struct fixture *f = test->priv;
	struct waiter *waiter = &f->waiters[i];

	*waiter = (struct waiter){
		.belt = f->belt, .client = client, .key = key, .turn = &f->turn, .fills = true,
		.fill = { .wait_ms = HASHBELT_TTL_NEVER },
	};
	KUNIT_ASSERT_TRUE(test, waiter_start(waiter));
	return waiter;
}

/* Checks that the belt is empty and that all memory of its former contents is freed. */
static inline void expect_empty(struct kunit *test)
{
	struct fixture *f = test->priv;

	come_to_rest(f->belt);
	check_accounting(test, f->belt);
	KUNIT_EXPECT_EQ(test, count_linked(f->belt), 0ULL);
	KUNIT_EXPECT_EQ(test, memory_besides(f->belt), f->besides);
	KUNIT_EXPECT_TRUE(test, list_empty(&f->belt->waiters.list));
}

/**
 * struct way - a parameter: one way to bring about what a case is about
 * @name:	for the test line
 * @act:	brings it about
 */
struct way {
	const char *name;
	void (*act)(struct fixture *f);
};

#define WAY(name) { #name, name }

static inline void way_name(const struct way *way, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s", way->name);
}

#endif /* _FIXTURE_H */
