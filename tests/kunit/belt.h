/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers for tests of a belt. Keys are numbers. */
#ifndef _BELT_H
#define _BELT_H

#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "belt/belt.h"
#include "belt/belts/clear.h"
#include "belt/belts/create.h"
#include "belt/belts/info.h"
#include "belt/belts/set.h"
#include "belt/belts/time.h"
#include "belt/belts/worker.h"
#include "belt/events/limbo.h"
#include "belt/events/queue.h"
#include "belt/ground/usage.h"
#include "belt/keys/add.h"
#include "belt/keys/get.h"
#include "belt/keys/put.h"
#include "belt/room/alloc.h"
#include "belt/room/evict.h"
#include "belt/shard/shard.h"
#include "belt/wait/client.h"
#include "belt/wait/fill.h"
#include "belt/wait/lease.h"
#include "belt/wait/lock.h"
#include "belt/wait/request.h"
#include "belt/wait/waitpoint.h"
#include "belt/wait/waits.h"
#include "hashbelt_core.h"
#include "suite.h"

#define TTL		(240 * SEC)
#define INTERVAL	(60 * SEC)

/*
 * Makes a belt whose time is halted. Unless @config says otherwise it has TTL and 5 buckets, so an
 * interval of INTERVAL.
 */
static inline struct hashbelt_belt *still_belt_as(struct kunit *test, struct hashbelt_config config)
{
	struct hashbelt_belt *belt;

	config.ttl = config.ttl ?: TTL;
	config.buckets = config.buckets ?: 5;
	belt = hashbelt_create(&config);
	KUNIT_ASSERT_FALSE(test, IS_ERR(belt));
	hashbelt_halt(belt);
	return belt;
}

#define still_belt(test, ...) still_belt_as(test, (struct hashbelt_config){ __VA_ARGS__ })

/* Sets one field: change(belt, TTL, .ttl = SEC). */
#define change(belt, field, ...)	\
	hb_set(belt, &(struct hashbelt_config){ __VA_ARGS__ }, HASHBELT_SET_##field)

/* For suites whose cases have one belt each, in test->priv */

static inline int one_belt_init(struct kunit *test)
{
	return hb_core_init();
}

/* hb_memory_exit() warns if memory has not been freed. */
static inline void one_belt_exit(struct kunit *test)
{
	if (test->priv)
		hashbelt_destroy(test->priv);
	hb_core_exit();
}

#define one_belt(test, ...) \
	({ struct kunit *test__ = (test); test__->priv = still_belt(test__, __VA_ARGS__); })

/* Entries */

/* An entry for a put, whose value the caller fills in; NULL: there is no memory. */
static inline struct hashbelt_entry *new_entry(struct hashbelt_belt *belt, struct hb_client *client,
					       unsigned int key, u32 value_len)
{
	struct hashbelt_entry *entry = hashbelt_entry_alloc(belt, client, sizeof(key), value_len);

	if (IS_ERR(entry))
		return NULL;
	memcpy(entry->data, &key, sizeof(key));
	memset(hashbelt_entry_value(entry), 'x', value_len);
	entry->flags = 0;
	hb_entry_hash(belt, entry);
	return entry;
}

static inline int put_entry(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	return entry ? hashbelt_put(belt, entry, &(struct hashbelt_item){}) : -ENOMEM;
}

static inline int put_bound(struct hashbelt_belt *belt, struct hb_client *client, unsigned int key)
{
	return put_entry(belt, new_entry(belt, client, key, sizeof(key)));
}

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

static inline void put_many(struct kunit *test, struct hashbelt_belt *belt, unsigned int from,
			    unsigned int to)
{
	unsigned int key;

	for (key = from; key < to; key++)
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
}

static inline int put_if(struct hashbelt_belt *belt, unsigned int key, u32 how, u64 version)
{
	return put_bytes(belt, &key, sizeof(key), "x", 1,
			 &(struct hashbelt_item){ .how = how, .version = version });
}

static inline int add_one(struct hashbelt_belt *belt, unsigned int key)
{
	return hashbelt_add(belt, &key, sizeof(key), &(struct hashbelt_item){},
			    &(struct hashbelt_sum){ .by = 1 });
}

static inline int expire(struct hashbelt_belt *belt, unsigned int key)
{
	return hashbelt_expire(belt, &key, sizeof(key));
}

/* A belt with so many entries, and as many are its limit. */
static inline struct hashbelt_belt *make_full(struct kunit *test, u32 policy, unsigned int entries)
{
	struct hashbelt_belt *belt = one_belt(test, .policy = policy, .max_entries = entries);

	put_many(test, belt, 0, entries);
	return belt;
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

/* True if a get that accepts an old value finds one. */
static inline bool is_stale(struct hashbelt_belt *belt, unsigned int key)
{
	struct hashbelt_entry *entry;
	struct hb_seen seen;

	rcu_read_lock();
	entry = hb_find_stale(belt, &key, sizeof(key), hashbelt_now(belt), &seen);
	rcu_read_unlock();
	return entry;
}

/* The entry of a key, NULL if there is none. It is not freed before the case sleeps. */
static inline struct hashbelt_entry *entry_of_key(struct hashbelt_belt *belt, unsigned int key)
{
	struct hashbelt_entry *entry;

	rcu_read_lock();
	entry = hb_index_find(&belt->index, hb_hash(belt, &key, sizeof(key)), &key, sizeof(key));
	rcu_read_unlock();
	return entry;
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
	return hashbelt_touch(belt, &key, sizeof(key), &(struct hashbelt_item){ .ttl_ms = ttl_ms });
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

	hb_stat(belt, counters, lags);
	return counters[counter];
}

static inline struct hashbelt_info info_of(struct hashbelt_belt *belt)
{
	struct hashbelt_info info = {};

	hashbelt_info(belt, &info);
	return info;
}

/* Moves belt time and drains nothing: as if the worker were late. */
static inline void move_time_only(struct hashbelt_belt *belt, u64 by)
{
	hb_clock_advance(&belt->clock, by);
}

/* Puts a thousand keys with random times-to-live, and stores their deadlines. */
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

/* Entries in the index, waitpoints and cleared entries included. */
static inline u64 count_linked(struct hashbelt_belt *belt)
{
	u64 entries = 0;

	hb_for_each_shard(shard, belt)
		entries += READ_ONCE(shard->count);
	return entries;
}

/* Advances belt time to the alarm, as the worker sleeps until it. */
static inline int advance_to_alarm(struct hashbelt_belt *belt)
{
	return hashbelt_advance(belt, belt->clock.wake - hashbelt_now(belt));
}

/* Takes up to @most events. Frees them if @most is odd, else returns them to the queue. */
static inline void read_some(struct hashbelt_belt *belt, unsigned int most, bool hold)
{
	struct hb_fifo events = {};
	u64 lost;

	if (hb_take_events(belt, &events, SIZE_MAX, most, hold, &lost))
		return;
	if (most % 2)
		hb_settle_events(belt, &events, hold);
	else
		hb_return_events(belt, &events, hold, lost, true);
}

/* Removes or expires @key, clears if @clears, or advances, as @way says. False: @way is above 3. */
static inline bool end_some(struct hashbelt_belt *belt, unsigned int key, u32 way, bool clears)
{
	switch (way) {
	case 0:
		take_out(belt, key);
		return true;
	case 1:
		expire(belt, key);
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

/* Waits until the worker is idle and all entries that have left are freed. */
static inline void come_to_rest(struct hashbelt_belt *belt)
{
	flush_work(&belt->work);
	while (hb_is_in_limbo(belt))
		hb_limbo_flush(belt);
	/* Frees the tables of an index that was resized. */
	hashbelt_flush();
}

static inline void free_account(struct hb_account *account)
{
	kfree(account);
}

/* An account, with a reference for the caller. */
static inline struct hb_account *make_account(struct kunit *test)
{
	struct hb_account *account = kzalloc(sizeof(*account), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, account);
	KUNIT_ASSERT_EQ(test, hb_account_init(account, free_account), 0);
	return account;
}

/* Waits until the belts of an account that have been given up are freed. */
static inline void flush_account(struct hb_account *account)
{
	rcu_barrier();
	flush_workqueue(account->free_wq);
	hashbelt_flush();
}

static inline void end_account(struct hb_account *account)
{
	flush_account(account);
	hb_account_put(account);
}

/* Locks, of owners whose name is one letter */

static inline int lock_as(struct hashbelt_belt *belt, struct hb_client *client,
			  unsigned int key, char owner, struct hashbelt_lock *lock)
{
	lock->key_len = sizeof(key);
	lock->owner_len = sizeof(owner);
	return hashbelt_lock(belt, client, &key, &owner, lock);
}

/* With the longest lease that the belt allows, and without waiting. */
static inline int lock_plainly(struct hashbelt_belt *belt, unsigned int key, char owner)
{
	return lock_as(belt, NULL, key, owner, &(struct hashbelt_lock){});
}

static inline int unlock_as(struct hashbelt_belt *belt, unsigned int key, char owner)
{
	struct hashbelt_lock lock = { .key_len = sizeof(key), .owner_len = sizeof(owner) };

	return hashbelt_unlock(belt, &key, &owner, &lock);
}

/* The first letter of the owner of a lock, 0 if the lock is free. Fills in @lock. */
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

/* The contents of a belt, counted one by one */

/* Counts of the entries in the index. */
struct census {
	struct hashbelt_belt *belt;	/* the belt */
	u64 of_kind[HB_REQUEST + 1];	/* entries by kind, cleared ones as well */
	u64 live;			/* entries that are not cleared, without waitpoints */
	/* Bytes that the live entries count for, without their share of the index. */
	u64 live_bytes;
	u64 locks;			/* live locks */
	u64 requests;			/* live requests */
	u64 memory;			/* memory of all entries */
	u64 bound;			/* entries whose link has a client */
	u64 watching;			/* watches that the requests have */
	u64 watched;			/* watches in the lists of waitpoints */
	u64 idle;			/* waitpoints without watches and waiters */
};

static inline void count_point(struct census *census, struct hashbelt_entry *entry)
{
	struct hb_waitpoint *waitpoint = hb_tail(entry);
	struct list_head *at;

	list_for_each(at, &waitpoint->watches)
		census->watched++;
	census->idle += list_empty(&waitpoint->watches) && list_empty(&waitpoint->waiters[0]) &&
			list_empty(&waitpoint->waiters[1]) && list_empty(&waitpoint->filled);
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
	census->live_bytes += hb_cost(entry) - HB_INDEX_SHARE;
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

/* The events of a FIFO: their memory; how many stay charged to the belt, and their cost. */
struct event_sum {
	u64 memory;
	u64 kept;
	u64 kept_cost;
};

static inline struct event_sum sum_of_events(const struct hb_fifo *fifo)
{
	struct hb_node *node = fifo->first ? &fifo->first->node : NULL;
	struct hashbelt_entry *event;
	struct event_sum event_sum = {};

	for (; node; node = node->next) {
		event = container_of(node, struct hashbelt_entry, node);
		event_sum.memory += hb_entry_size(event);
		if (!event->key_len || !hb_stays_charged(hb_reason(atomic64_read(&node->deadline))))
			continue;
		event_sum.kept++;
		event_sum.kept_cost += hb_cost(event);
	}
	return event_sum;
}

/* Counts the locks in the tree of owners, and in @wrong those out of order or not in the index. */
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

static inline u64 count_attached(struct hashbelt_belt *belt)
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
 * Checks that all counters of a belt match its contents. No other task may use the belt
 * meanwhile.
 */
static inline void check_accounting(struct kunit *test, struct hashbelt_belt *belt)
{
	struct census is = census_of(belt);
	struct hashbelt_info info = info_of(belt);
	struct event_sum event_sum = sum_of_events(&belt->queue.waiting);
	u64 count = 0, live = 0, waitpoints = 0, fills = 0, all = 0, wrong = 0;
	unsigned int kind;

	hb_for_each_shard(shard, belt) {
		count += shard->count;
		live += shard->live;
		waitpoints += shard->waitpoints;
		fills += shard->fills;
	}
	for (kind = 0; kind <= HB_REQUEST; kind++)
		all += is.of_kind[kind];
	KUNIT_ASSERT_EQ(test, count, all);
	KUNIT_ASSERT_EQ(test, live, is.live);
	KUNIT_ASSERT_EQ(test, waitpoints, is.of_kind[HB_WAITPOINT]);
	KUNIT_ASSERT_EQ(test, fills, is.of_kind[HB_FILL]);
	KUNIT_ASSERT_EQ(test, info.entries, is.live);
	KUNIT_ASSERT_EQ(test, info.locks, is.locks);
	KUNIT_ASSERT_EQ(test, info.requests, is.requests);
	KUNIT_ASSERT_EQ(test, info.used_entries, is.live + event_sum.kept);
	KUNIT_ASSERT_EQ(test, info.used_bytes,
			is.live_bytes + is.live * HB_INDEX_SHARE + event_sum.kept_cost);
	KUNIT_ASSERT_EQ(test, count_owners(belt, &wrong), is.of_kind[HB_LOCK]);
	KUNIT_ASSERT_EQ(test, wrong, 0ULL);
	KUNIT_ASSERT_EQ(test, count_attached(belt), is.bound);
	KUNIT_ASSERT_EQ(test, is.watched, is.watching);
	KUNIT_ASSERT_EQ(test, is.idle, 0ULL);
}

/*
 * The memory besides the entries, events, tables and wheels of a belt. It does not change while
 * the belt exists. No task may be waiting: the entry of its lease would count.
 */
static inline u64 memory_besides(struct hashbelt_belt *belt)
{
	struct hb_client *client;
	struct census is;
	u64 known;

	come_to_rest(belt);
	is = census_of(belt);
	known = is.memory + info_of(belt).bytes - is.live_bytes;
	known += sum_of_events(&belt->queue.waiting).memory;
	list_for_each_entry(client, &belt->clients.list, place)
		known += sum_of_events(&client->completed).memory;
	return hb_memory_used() - known;
}

/* Tasks that wait */

/* A task that waits for a lock or a fill lease. */
struct waiter {
	struct hashbelt_belt *belt;	/* the belt */
	struct hb_client *client;	/* the client to which the lease is to be bound, or NULL */
	unsigned int key;	/* the key */
	char owner[HASHBELT_OWNER_MAX];	/* the owner of the lock, @lock.owner_len letters */
	bool fills;	/* the task asks for a fill lease, and otherwise for a lock */
	struct hashbelt_lock lock;	/* arguments and results for a lock */
	struct hashbelt_fill fill;	/* arguments and results for a fill lease */
	unsigned int *turn;	/* counts the waiters that have ended */
	int err;	/* result of the call */
	unsigned int ended;	/* place of the task among those that have ended, 1 for the first */
	struct completion done;	/* completed when the task ends */
	struct task_struct *task;	/* the task, with a reference */
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

/* The number of waiters in the line for a lock or a fill lease, as @kind says. */
static inline unsigned int line_of_key(struct hashbelt_belt *belt, unsigned int key,
				       enum hb_kind kind)
{
	u32 hash = hb_hash(belt, &key, sizeof(key));
	struct hb_shard *shard = hb_shard_of(belt, hash);
	unsigned int length = 0;
	struct hb_waitpoint *waitpoint;
	struct list_head *at;

	spin_lock(&shard->lock);
	waitpoint = hb_waitpoint_find(shard, hash, &key, sizeof(key));
	if (waitpoint)
		list_for_each(at, &waitpoint->waiters[kind - HB_LOCK])
			length++;
	spin_unlock(&shard->lock);
	return length;
}

/* Starts a task, which runs when the caller sleeps. */
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

/* Starts a task. If this returns true, the task is at the end of the line. */
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

/* True if the task has ended, or ends within a second. */
static inline bool waiter_has_ended(struct waiter *waiter)
{
	return wait_for_completion_timeout(&waiter->done, HZ);
}

static inline void expect_end(struct kunit *test, struct waiter *waiter, int err)
{
	KUNIT_ASSERT_TRUE(test, waiter_has_ended(waiter));
	KUNIT_EXPECT_EQ(test, waiter->err, err);
}

/* Waits for the end of the task, whose call must have returned or return soon. */
static inline void waiter_stop(struct waiter *waiter)
{
	if (IS_ERR_OR_NULL(waiter->task))
		return;
	kthread_stop(waiter->task);
	put_task_struct(waiter->task);
	waiter->task = NULL;
}

/* Of the plain entries, those of which the word of the hash has the bit @flag. */
struct flagged {
	u32 flag;
	unsigned int count;
};

static inline void count_if_flagged(struct hashbelt_entry *entry, void *arg)
{
	struct flagged *flagged = arg;

	flagged->count += !hb_kind(entry) && hb_hash_of(entry) & flagged->flag;
}

static inline unsigned int count_flagged(struct hashbelt_belt *belt, u32 flag)
{
	struct flagged flagged = { .flag = flag };
	u64 place;

	for (place = 0; place < HB_INDEX_END; )
		place = hb_index_scan(&belt->index, place, count_if_flagged, &flagged);
	return flagged.count;
}

/* The number of entries that were read since the hand passed them. */
static inline unsigned int count_read(struct hashbelt_belt *belt)
{
	return count_flagged(belt, HB_READ);
}

#endif /* _BELT_H */
