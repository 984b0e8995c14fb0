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
	u64 besides;			/* memory_besides() of the empty belt */
	u64 token;			/* of a fill lease */
	u64 span;			/* of DO_PASS and the like; 0: TTL */
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
			f->lateness = max(f->lateness, hashbelt_now(belt) - f->deadlines[i]);
	}
}

static inline int fixture_init(struct kunit *test)
{
	struct fixture *f = must_alloc(test, sizeof(*f));

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

static inline struct hashbelt_belt *make_as(struct kunit *test, struct hashbelt_config config)
{
	struct hashbelt_belt *belt = still_belt_as(test, config);
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

#define make(test, ...) make_as(test, (struct hashbelt_config){ __VA_ARGS__ })

static inline struct hashbelt_belt *make_plain(struct kunit *test)
{
	return make(test);
}

static inline struct hashbelt_belt *make_recording(struct kunit *test, u32 policy, u32 buckets)
{
	return make(test, .policy = policy, .buckets = buckets, .handler = HASHBELT_NOTIFY,
		    .event = record_event, .arg = test->priv);
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

/* A step that concerns key 1, or the lock or lease of owner A and of f->clients[0] on it. */
enum deed {
	DO_PUT = 1, DO_PUT_LONGER, DO_PUT_NUMBER, DO_PUT_OTHER, DO_PUT_FILLED, DO_ADD, DO_GET,
	DO_TOUCH, DO_TOUCH_LONGER, DO_GET_AND_TOUCH, DO_REMOVE, DO_EXPIRE, DO_CLEAR, DO_REST,
	DO_KILL, DO_EVICT, DO_PRESS, DO_CLOSE, DO_PASS, DO_SEAL, DO_DRAIN, DO_WAKE, DO_LOCK,
	DO_LOCK_OTHER, DO_UNLOCK, DO_RELEASE, DO_FILL, DO_GIVE_UP, DO_FAIL, DO_COMPLETE, DO_CANCEL,
};

static inline void do_deed(struct fixture *f, enum deed deed)
{
	struct hashbelt_item touching = { .how = HASHBELT_AND_TOUCH, .ttl_ms = 1000 };
	struct hashbelt_fill failed = { .token = f->token, .lease_ms = 1 };
	struct hashbelt_belt *belt = f->belt;
	u32 policy = belt->settings.policy;
	unsigned int key = 1;
	u64 token;

	switch (deed) {
	case DO_PUT:
		/* Where puts keep what is there, they need a condition. */
		if (put(belt, 1) == -EEXIST)
			put_if(belt, 1, HASHBELT_IF_PRESENT, 0);
		break;
	case DO_PUT_LONGER:
		put_bytes(belt, &key, sizeof(key), "longer value", 12, &(struct hashbelt_item){});
		break;
	case DO_PUT_NUMBER:
		put_bytes(belt, &key, sizeof(key), "1", 1, &(struct hashbelt_item){});
		break;
	case DO_PUT_OTHER:
		put(belt, 2);
		break;
	case DO_PUT_FILLED:
		put_if(belt, 1, HASHBELT_IF_LEASE, f->token);
		break;
	case DO_ADD:
		add_one(belt, 1);
		break;
	case DO_GET:
		get(belt, 1);
		break;
	case DO_TOUCH:
		touch(belt, 1, 1000);
		break;
	case DO_TOUCH_LONGER:
		touch(belt, 1, 2 * TTL / MS);
		break;
	case DO_GET_AND_TOUCH:
		get_item(belt, 1, &touching);
		break;
	case DO_REMOVE:
		take_out(belt, 1);
		break;
	case DO_EXPIRE:
		expire(belt, 1);
		break;
	case DO_CLEAR:
		hashbelt_clear(belt);
		break;
	case DO_REST:
		come_to_rest(belt);
		break;
	case DO_KILL:
		hb_kill(belt);
		break;
	case DO_EVICT:
		change(belt, POLICY, .policy = HASHBELT_EVICT);
		hb_evict(belt, HASHBELT_EVICTED, 1);
		change(belt, POLICY, .policy = policy);
		break;
	case DO_PRESS:
		hb_evict(belt, HASHBELT_PRESSURE, 9);
		break;
	case DO_CLOSE:
		drop_client(f, 0);
		break;
	case DO_PASS:
		move_time_only(belt, f->span ?: TTL);
		break;
	case DO_SEAL:
		has(belt, 1);
		break;
	case DO_DRAIN:
		hashbelt_advance(belt, (f->span ?: TTL) + INTERVAL);
		break;
	case DO_WAKE:
		/* The bucket has not fallen off: the waiter takes out what has expired. */
		hashbelt_advance(belt, f->span ?: TTL);
		waiter_has_ended(&f->waiters[0]);
		break;
	case DO_LOCK:
		lock_plainly(belt, 1, 'A');
		break;
	case DO_LOCK_OTHER:
		lock_plainly(belt, 1, 'C');
		break;
	case DO_UNLOCK:
		unlock_as(belt, 1, 'A');
		break;
	case DO_RELEASE:
		hashbelt_release_owner(belt, "A", &(struct hashbelt_lock){ .owner_len = 1 });
		break;
	case DO_FILL:
		fill_key(f, 1, false, &token);
		break;
	case DO_GIVE_UP:
		give_up_key(f, 1, f->token);
		break;
	case DO_FAIL:
		hashbelt_fill_fail(belt, &key, sizeof(key), &failed);
		break;
	case DO_COMPLETE:
		hb_complete(belt, &key, sizeof(key));
		break;
	case DO_CANCEL:
		hb_request_cancel(belt, f->clients[0], 1);
		break;
	}
}

/* A parameter: one way to bring about what a case is about. */
struct way {
	const char *name;
	enum deed deeds[3];
};

static inline void do_way(struct fixture *f, const struct way *way)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(way->deeds) && way->deeds[i]; i++)
		do_deed(f, way->deeds[i]);
}

#endif /* _FIXTURE_H */
