/* SPDX-License-Identifier: GPL-2.0 */
/* Short words for what the tests of a belt do. Keys are numbers. */
#ifndef _BELT_H
#define _BELT_H

#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "belt/belt.h"
#include "belt/lease.h"
#include "belt/limbo.h"
#include "belt/shard.h"
#include "belt/usage.h"
#include "belt/waitpoint.h"
#include "hashbelt_core.h"

#define MS	((u64)NSEC_PER_MSEC)
#define SEC	((u64)NSEC_PER_SEC)

#define TTL		(240 * SEC)
#define INTERVAL	(60 * SEC)

/*
 * A belt that stands still: unless @config says otherwise, of TTL in 5 buckets, so with
 * INTERVAL between them.
 */
static inline struct hashbelt_belt *still_belt(struct kunit *test, struct hashbelt_config config)
{
	struct hashbelt_belt *belt;

	config.ttl = config.ttl ?: TTL;
	config.buckets = config.buckets ?: 5;
	belt = hashbelt_create(&config);
	KUNIT_ASSERT_FALSE(test, IS_ERR(belt));
	hashbelt_halt(belt);
	return belt;
}

/* For suites whose cases have one belt each, test->priv */

static inline int one_belt_init(struct kunit *test)
{
	return hb_core_init();
}

/* That all memory has been given back is for hb_memory_exit() to say. */
static inline void one_belt_exit(struct kunit *test)
{
	if (test->priv)
		hashbelt_destroy(test->priv);
	hb_core_exit();
}

static inline struct hashbelt_belt *one_belt(struct kunit *test, struct hashbelt_config config)
{
	struct hashbelt_belt *belt = still_belt(test, config);

	test->priv = belt;
	return belt;
}

/* Entries */

static inline int put_bytes(struct hashbelt_belt *belt, const void *key, u32 key_len,
			    const void *value, u32 value_len, struct hashbelt_item *item)
{
	struct hashbelt_entry *entry = hashbelt_entry_alloc(belt, NULL, key_len, value_len);

	if (IS_ERR(entry))
		return PTR_ERR(entry);
	memcpy(entry->data, key, key_len);
	memcpy(hashbelt_entry_value(entry), value, value_len);
	entry->flags = item->flags;
	return hashbelt_put(belt, entry, item);
}

static inline int put_ttl(struct hashbelt_belt *belt, unsigned int key, u64 ttl_ms)
{
	return put_bytes(belt, &key, sizeof(key), &key, sizeof(key),
			 &(struct hashbelt_item){ .ttl_ms = ttl_ms });
}

static inline int put(struct hashbelt_belt *belt, unsigned int key)
{
	return put_ttl(belt, key, 0);
}

static inline int get_item(struct hashbelt_belt *belt, unsigned int key, struct hashbelt_item *item)
{
	u64 now = hashbelt_now(belt);
	struct hashbelt_entry *entry;
	int err = -ENOENT;

	rcu_read_lock();
	entry = hashbelt_find(belt, &key, sizeof(key), now, NULL);
	if (entry && hashbelt_hit(belt, entry, item, now))
		err = 0;
	rcu_read_unlock();
	return err;
}

static inline bool has(struct hashbelt_belt *belt, unsigned int key)
{
	return !get_item(belt, key, &(struct hashbelt_item){ .how = HASHBELT_NO_REFRESH });
}

static inline bool get(struct hashbelt_belt *belt, unsigned int key)
{
	return !get_item(belt, key, &(struct hashbelt_item){});
}

static inline u64 version_of(struct hashbelt_belt *belt, unsigned int key)
{
	struct hashbelt_item item = { .how = HASHBELT_NO_REFRESH };

	return get_item(belt, key, &item) ? 0 : item.version;
}

static inline u64 left_of(struct hashbelt_belt *belt, unsigned int key)
{
	struct hashbelt_item item = { .how = HASHBELT_NO_REFRESH };

	return get_item(belt, key, &item) ? 0 : item.ttl_ms;
}

static inline int take_out(struct hashbelt_belt *belt, unsigned int key)
{
	return hashbelt_remove(belt, &key, sizeof(key), &(struct hashbelt_item){});
}

static inline int touch(struct hashbelt_belt *belt, unsigned int key, u64 ttl_ms)
{
	return hashbelt_touch(belt, &key, sizeof(key),
			      &(struct hashbelt_item){ .ttl_ms = ttl_ms });
}

static inline u64 entries_of(struct hashbelt_belt *belt)
{
	struct hashbelt_info info = {};

	hashbelt_info(belt, &info);
	return info.entries;
}

static inline u64 stat_of(struct hashbelt_belt *belt, enum hashbelt_counter counter)
{
	u64 counters[HASHBELT_STAT_COUNT], lags[HASHBELT_LAGS];

	hashbelt_stat(belt, counters, lags);
	return counters[counter];
}

static inline struct hashbelt_info info_of(struct hashbelt_belt *belt)
{
	struct hashbelt_info info = {};

	hashbelt_info(belt, &info);
	return info;
}

/* Moves belt time without anybody draining: as if the worker were late. */
static inline void move_time_only(struct hashbelt_belt *belt, u64 by)
{
	hb_clock_advance(&belt->clock, by);
}

/* Puts a thousand keys, each for a random time; says when that will be over. */
static inline void put_thousand(struct kunit *test, struct hashbelt_belt *belt,
				struct rnd_state *rnd, u64 *deadlines)
{
	unsigned int key;

	for (key = 0; key < 1000; key++) {
		u64 ttl = 1 + prandom_u32_state(rnd) % 2000000;

		deadlines[key] = hashbelt_now(belt) + ttl * MS;
		KUNIT_ASSERT_EQ(test, put_ttl(belt, key, ttl), 0);
	}
}

/* As the worker does: sleep until the alarm, and look. */
static inline int advance_to_alarm(struct hashbelt_belt *belt)
{
	return hashbelt_advance(belt, belt->clock.wake - hashbelt_now(belt));
}

/* Ends entries in one of four ways, where @clears one of all; false: @way is another. */
static inline bool end_some(struct hashbelt_belt *belt, unsigned int key, u32 way, bool clears)
{
	switch (way) {
	case 0:
		take_out(belt, key);
		return true;
	case 1:
		hashbelt_expire(belt, &key, sizeof(key));
		return true;
	case 2:
		if (clears)
			hashbelt_clear(belt);
		return true;
	case 3:
		hashbelt_advance(belt, SEC);
		return true;
	default:
		return false;
	}
}

/* Until the worker has done what it was asked for, and what has left is free. */
static inline void come_to_rest(struct hashbelt_belt *belt)
{
	flush_work(&belt->work);
	while (hb_is_in_limbo(belt))
		hb_limbo_flush(belt);
	/* Tables of an index that was resized. */
	hashbelt_flush();
}

/* Locks, for owners of one letter */

static inline int lock_as(struct hashbelt_belt *belt, struct hb_client *client,
			  unsigned int key, char owner, struct hashbelt_lock *lock)
{
	lock->key_len = sizeof(key);
	lock->owner_len = sizeof(owner);
	return hashbelt_lock(belt, client, &key, &owner, lock);
}

/* For as long as the belt allows, and without waiting. */
static inline int lock_plainly(struct hashbelt_belt *belt, unsigned int key, char owner)
{
	return lock_as(belt, NULL, key, owner, &(struct hashbelt_lock){});
}

static inline int unlock_as(struct hashbelt_belt *belt, unsigned int key, char owner)
{
	struct hashbelt_lock lock = {
		.key_len = sizeof(key), .owner_len = sizeof(owner),
	};

	return hashbelt_unlock(belt, &key, &owner, &lock);
}

/* The first letter of who has a lock, 0 if nobody has; with what else there is to know. */
static inline char owner_of(struct hashbelt_belt *belt, unsigned int key,
			    struct hashbelt_lock *lock)
{
	char owner[HASHBELT_OWNER_MAX] = "";

	lock->key_len = sizeof(key);
	return hashbelt_query(belt, &key, owner, lock) ? 0 : *owner;
}

static inline u64 token_of(struct hashbelt_belt *belt, unsigned int key)
{
	struct hashbelt_lock lock = {};

	return owner_of(belt, key, &lock) ? lock.token : 0;
}

/* What is in a belt, counted by looking at each */

/**
 * struct census - what there is
 * @belt:	where
 * @of_kind:	all that are in the index
 * @live:	those of them above the floor, but for points
 * @live_bytes:	memory of those
 * @locks:	locks above the floor
 * @requests:	requests above the floor
 * @memory:	of all
 * @bound:	tied to a client, as they say themselves
 * @watching:	watches that the requests have
 * @watched:	watches that stand at the points
 * @idle:	points at which nobody waits
 */
struct census {
	struct hashbelt_belt *belt;
	u64 of_kind[HB_REQUEST + 1];
	u64 live;
	u64 live_bytes;
	u64 locks;
	u64 requests;
	u64 memory;
	u64 bound;
	u64 watching;
	u64 watched;
	u64 idle;
};

static inline void count_point(struct census *census, struct hashbelt_entry *entry)
{
	struct hb_waitpoint *point = hb_tail(entry);
	struct list_head *at;

	list_for_each(at, &point->watches)
		census->watched++;
	census->idle += list_empty(&point->watches) && list_empty(&point->waiters[0]) &&
			list_empty(&point->waiters[1]);
}

static inline void count_in(struct hashbelt_entry *entry, void *arg)
{
	bool tailed = entry->hash & HB_TAILED;
	enum hb_kind kind = hb_kind(entry);
	struct census *census = arg;
	struct hb_link *link;

	census->of_kind[kind]++;
	census->memory += hb_entry_size(entry);
	if (kind == HB_WAITPOINT) {
		count_point(census, entry);
		return;
	}
	link = tailed ? hb_tail(entry) : NULL;
	census->bound += link && link->client;
	census->watching += kind == HB_REQUEST ? entry->flags : 0;
	if (hb_is_cleared(census->belt, entry))
		return;
	census->live++;
	census->live_bytes += hb_entry_size(entry);
	census->locks += kind == HB_LOCK;
	census->requests += kind == HB_REQUEST;
}

static inline struct census census_of(struct hashbelt_belt *belt)
{
	struct census census = { .belt = belt };
	struct hb_shard *shard;
	u64 place;

	for (place = 0; place < HB_INDEX_END; ) {
		shard = hb_shard_of(belt, place);
		spin_lock(&shard->lock);
		place = hb_index_scan(&belt->index, place, count_in, &census);
		spin_unlock(&shard->lock);
	}
	return census;
}

/* The events of a row, and what they take and cost; kept: those that keep a place. */
struct pile {
	u64 memory;
	u64 kept;
	u64 kept_cost;
};

static inline struct pile pile_of(const struct hb_fifo *fifo)
{
	struct hb_node *node = fifo->first ? &fifo->first->node : NULL;
	struct hashbelt_entry *event;
	struct pile pile = {};

	for (; node; node = node->next) {
		event = container_of(node, struct hashbelt_entry, node);
		pile.memory += hb_entry_size(event);
		if (!event->key_len || !hb_stays_charged(hb_reason(atomic64_read(&node->deadline))))
			continue;
		pile.kept++;
		pile.kept_cost += hb_cost(event);
	}
	return pile;
}

/* What stands in the tree of owners and is not in the index, or not in order. */
static inline u64 count_owners(struct hashbelt_belt *belt, u64 *wrong)
{
	struct hashbelt_entry *entry, *last = NULL;
	struct rb_node *node;
	u64 count = 0;
	int order;

	rcu_read_lock();
	for (node = rb_first(&belt->owners.locks); node; node = rb_next(node)) {
		entry = rb_entry(node, struct hb_lock, by_owner)->lease.link.entry;
		*wrong += hb_kind(entry) != HB_LOCK ||
			  entry != hb_index_find(&belt->index, entry->hash & ~HB_TAILED,
						 entry->data, entry->key_len);
		if (last && last->value_len == entry->value_len) {
			order = memcmp(hashbelt_entry_value(last), hashbelt_entry_value(entry),
				       entry->value_len);
			*wrong += order > 0 || (!order && last->version >= entry->version);
		} else if (last) {
			*wrong += last->value_len > entry->value_len;
		}
		last = entry;
		count++;
	}
	rcu_read_unlock();
	return count;
}

static inline u64 count_bonds(struct hashbelt_belt *belt)
{
	struct hb_client *client;
	struct list_head *at;
	u64 count = 0;

	list_for_each_entry(client, &belt->clients.list, place)
		list_for_each(at, &client->entries)
			count++;
	return count;
}

/*
 * Checks that all the books of a belt say what there is in it; while nobody else is
 * doing anything there.
 */
static inline void check_books(struct kunit *test, struct hashbelt_belt *belt)
{
	struct census is = census_of(belt);
	struct hashbelt_info info = info_of(belt);
	struct pile pile = pile_of(&belt->queue.waiting);
	u64 count = 0, live = 0, points = 0, fills = 0, all = 0, wrong = 0;
	struct hb_shard *shard;
	unsigned int kind;

	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		count += shard->count;
		live += shard->live;
		points += shard->points;
		fills += shard->fills;
	}
	for (kind = 0; kind <= HB_REQUEST; kind++)
		all += is.of_kind[kind];
	KUNIT_ASSERT_EQ(test, count, all);
	KUNIT_ASSERT_EQ(test, live, is.live);
	KUNIT_ASSERT_EQ(test, points, is.of_kind[HB_WAITPOINT]);
	KUNIT_ASSERT_EQ(test, fills, is.of_kind[HB_FILL]);
	KUNIT_ASSERT_EQ(test, info.entries, is.live);
	KUNIT_ASSERT_EQ(test, info.locks, is.locks);
	KUNIT_ASSERT_EQ(test, info.requests, is.requests);
	KUNIT_ASSERT_EQ(test, info.used_entries, is.live + pile.kept);
	KUNIT_ASSERT_EQ(test, info.used_bytes,
			is.live_bytes + is.live * HB_INDEX_SHARE + pile.kept_cost);
	KUNIT_ASSERT_EQ(test, count_owners(belt, &wrong), is.of_kind[HB_LOCK]);
	KUNIT_ASSERT_EQ(test, wrong, 0ULL);
	KUNIT_ASSERT_EQ(test, count_bonds(belt), is.bound);
	KUNIT_ASSERT_EQ(test, is.watched, is.watching);
	KUNIT_ASSERT_EQ(test, is.idle, 0ULL);
}

/*
 * What is allocated besides the entries, events, tables and wheels of a belt: that
 * does not change. No task may be waiting, with an entry that it has brought along.
 */
static inline u64 memory_besides(struct hashbelt_belt *belt)
{
	struct hb_client *client;
	struct census is;
	u64 known;

	come_to_rest(belt);
	is = census_of(belt);
	known = is.memory + info_of(belt).bytes - is.live_bytes;
	known += pile_of(&belt->queue.waiting).memory;
	list_for_each_entry(client, &belt->clients.list, place)
		known += pile_of(&client->completed).memory;
	return hb_memory_used() - known;
}

/* Tasks that wait */

/**
 * struct waiter - a task that waits for a lock, or for somebody to fill a key
 * @belt:	where
 * @client:	what it is to be bound to, or NULL
 * @key:	for what
 * @owner:	for whom, @lock.owner_len letters
 * @fills:	it is @fill that it asks for, else @lock
 * @lock:	what it asks for, and is told
 * @fill:	likewise
 * @turn:	counts those that have ended
 * @err:	what it was told when it ended
 * @ended:	as which it ended, 1 for the first
 * @done:	it has ended
 * @task:	the task, with a reference
 */
struct waiter {
	struct hashbelt_belt *belt;
	struct hb_client *client;
	unsigned int key;
	char owner[HASHBELT_OWNER_MAX];
	bool fills;
	struct hashbelt_lock lock;
	struct hashbelt_fill fill;
	unsigned int *turn;
	int err;
	unsigned int ended;
	struct completion done;
	struct task_struct *task;
};

static inline int waiter_main(void *arg)
{
	struct waiter *waiter = arg;

	allow_signal(SIGUSR1);
	waiter->lock.key_len = sizeof(waiter->key);
	waiter->err = waiter->fills ?
		hashbelt_fill(waiter->belt, waiter->client, &waiter->key,
			      sizeof(waiter->key), &waiter->fill, false) :
		hashbelt_lock(waiter->belt, waiter->client, &waiter->key,
			      waiter->owner, &waiter->lock);
	waiter->ended = ++*waiter->turn;
	complete_all(&waiter->done);
	return 0;
}

/* How many are in line for a lock or for the right to fill, as @kind says. */
static inline unsigned int line_of_key(struct hashbelt_belt *belt, unsigned int key,
				       enum hb_kind kind)
{
	u32 hash = hb_hash(belt, &key, sizeof(key));
	struct hb_shard *shard = hb_shard_of(belt, hash);
	unsigned int length = 0;
	struct hb_waitpoint *point;
	struct list_head *at;

	spin_lock(&shard->lock);
	point = hb_waitpoint_find(shard, hash, &key, sizeof(key));
	if (point)
		list_for_each(at, &point->waiters[kind - HB_LOCK])
			length++;
	spin_unlock(&shard->lock);
	return length;
}

/* Starts a task, which runs when the caller gives way. */
static inline bool waiter_run(struct waiter *waiter)
{
	init_completion(&waiter->done);
	waiter->task = kthread_create(waiter_main, waiter, "hashbelt_waiter");
	if (IS_ERR(waiter->task))
		return false;
	get_task_struct(waiter->task);
	wake_up_process(waiter->task);
	return true;
}

/* Starts a task; it is at the end of the line when this returns true. */
static inline bool waiter_start(struct waiter *waiter)
{
	enum hb_kind kind = waiter->fills ? HB_FILL : HB_LOCK;
	unsigned int before = line_of_key(waiter->belt, waiter->key, kind), tries;

	if (!waiter_run(waiter))
		return false;
	for (tries = 0; tries < 100; tries++) {
		if (line_of_key(waiter->belt, waiter->key, kind) == before + 1)
			return true;
		schedule_timeout_uninterruptible(1);
	}
	return false;
}

/* Whether a task has ended, or does so when it is let. */
static inline bool waiter_has_ended(struct waiter *waiter)
{
	return wait_for_completion_timeout(&waiter->done, HZ);
}

/* Until the task is gone; it must have been told something by now. */
static inline void waiter_stop(struct waiter *waiter)
{
	if (IS_ERR_OR_NULL(waiter->task))
		return;
	kthread_stop(waiter->task);
	put_task_struct(waiter->task);
	waiter->task = NULL;
}

#endif /* _BELT_H */
