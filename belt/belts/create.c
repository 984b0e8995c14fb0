// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cache.h>
#include <linux/log2.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/wait_bit.h>

#include "belt/belt.h"
#include "belt/events/limbo.h"
#include "belt/events/queue.h"
#include "belt/room/fit.h"
#include "belt/room/reclaim.h"
#include "belt/room/shrink.h"
#include "belt/shard/mark.h"
#include "belt/shard/shard.h"
#include "belt/shard/window.h"
#include "belt/wait/fill.h"
#include "belt/wait/lock.h"
#include "belt/wait/request.h"
#include "belt/wait/waitpoint.h"
#include "create.h"
#include "set.h"
#include "worker.h"

#define SHARD_BITS_MIN	1
#define SHARD_BITS_MAX	6

/* Shards times buckets: a belt with many buckets has fewer shards. */
#define SLOTS_MAX	BIT(18)

/*
 * Runs the workers of belts without an account; an account has a workqueue of its own. Workers may
 * take long where much is due, so frees of other belts do not wait for them.
 */
static struct workqueue_struct *belt_wq;

/*
 * Frees belts without an account, the structures of other belts after their entries, and outgrown
 * tables. The first may wait for work on other queues. The entries of the belts of an account are
 * freed on a workqueue of the account.
 */
static struct workqueue_struct *free_wq;

/* The geometry of all wheels for locks, fill leases and requests. */
#define LEASE_WIDTH	(4 * NSEC_PER_MSEC)
#define LEASE_BUCKETS	16
static struct hb_geometry lease_geometry __ro_after_init;

static atomic_t belts = ATOMIC_INIT(0);
static atomic_t dying = ATOMIC_INIT(0);	/* belts that were given up and are not freed yet */
static atomic64_t last_id = ATOMIC64_INIT(0);

/* A ghost belongs to one shard. */
static_assert(SHARD_BITS_MAX <= HB_GHOST_MIN_BITS);

static size_t belt_size(unsigned int shard_bits)
{
	struct hashbelt_belt *belt;

	return struct_size(belt, shards, 1 << shard_bits);
}

static unsigned int choose_shard_bits(u32 buckets)
{
	unsigned int bits = ilog2(roundup_pow_of_two(4 * num_possible_cpus()));

	bits = clamp_t(unsigned int, bits, SHARD_BITS_MIN, SHARD_BITS_MAX);
	while (bits > SHARD_BITS_MIN && (buckets << bits) > SLOTS_MAX)
		bits--;
	return bits;
}

/* Takes an entry out of index and wheel, and adds it to @list. */
static void take_one(struct hashbelt_entry *entry, void *list)
{
	hlist_del(&entry->chain);
	list_del_init(&entry->node.slot);
	list_add(&entry->node.slot, list);
}

static void free_entries(struct hashbelt_belt *belt)
{
	struct hashbelt_entry *entry, *next;
	u64 place;

	/* Their watches are still in waitpoints. */
	hb_for_each_shard(shard, belt)
		while (hb_requests_step(shard))
			cond_resched();
	for (place = 0; place < HB_INDEX_END; cond_resched()) {
		LIST_HEAD(list);

		place = hb_index_scan(&belt->index, place, take_one, &list);
		/* Not in the scan: freeing a large one may sleep. */
		list_for_each_entry_safe(entry, next, &list, node.slot)
			hashbelt_entry_put(belt, entry);
	}
	hb_event_free_all(belt);
	while (hb_is_in_limbo(belt))
		hb_limbo_flush(belt);
	hb_for_each_shard(shard, belt)
		/* Its work may have cleared @in_limbo, and still hold the lock. */
		flush_work(&shard->free.work);
}

/* Frees a belt that is not used any more, or was made in part. */
static void belt_free(struct hashbelt_belt *belt)
{
	struct hb_window *window = rcu_dereference_protected(belt->window, true);
	struct hb_account *account = belt->account;

	if (window)
		hb_window_free(window);
	hb_for_each_shard(shard, belt) {
		hb_wheel_destroy(&shard->wheel);
		hb_wheel_destroy(&shard->old);
		hb_wheel_destroy(&shard->leases);
	}
	hb_index_destroy(&belt->index);
	hb_percpu_free(account, belt->stats, sizeof(*belt->stats));
	hb_free(account, belt, belt_size(belt->shard_bits));
	hb_account_put(account);
	if (atomic_dec_and_test(&belts))
		wake_up_var(&belts);
}

/* One belt less is dying: its memory is not charged any more. */
static void uncount_dying(atomic_t *count)
{
	/* Pairs with has_dying(). */
	smp_mb__before_atomic();
	atomic_dec(count);
}

/* If this is false, a charge that follows finds the memory of all such belts freed. */
static bool has_dying(const atomic_t *count)
{
	return atomic_read_acquire(count);
}

static void belt_free_last(struct work_struct *work)
{
	struct hashbelt_belt *belt = container_of(work, struct hashbelt_belt, last);
	struct hb_account *account = hb_account_get(hb_account_whole(belt->account));

	belt_free(belt);
	uncount_dying(&dying);
	if (account)
		uncount_dying(&account->dying);
	hb_account_put(account);
}

static void belt_free_work(struct work_struct *work)
{
	struct hashbelt_belt *belt = container_of(to_rcu_work(work), struct hashbelt_belt, free);

	hb_reclaim_wait(belt);
	hb_window_close(belt);
	hb_clock_stop(&belt->clock);
	hb_pace_end(&belt->pace);
	cancel_work_sync(&belt->work);
	hb_pollers_stop(&belt->pollers);
	free_entries(belt);
	/* The last belt ends the account, and so the workqueue on which this runs. */
	if (belt->account)
		queue_work(free_wq, &belt->last);
	else
		belt_free_last(&belt->last);
}

/* Drops the reference of the caller, which gives the belt up: hashbelt_destroy(). */
void hb_destroy(struct hashbelt_belt *belt)
{
	struct hb_account *account = hb_account_whole(belt->account);

	hb_reclaim_del_belt(belt);
	hb_mark_free(belt);
	atomic_inc(&dying);
	if (account)
		atomic_inc(&account->dying);
	queue_rcu_work(account ? account->free_wq : free_wq, &belt->free);
}

static void shard_init(struct hashbelt_belt *belt, struct hb_shard *shard)
{
	spin_lock_init(&shard->lock);
	INIT_LIST_HEAD(&shard->limbo);
	INIT_LIST_HEAD(&shard->leaving);
	INIT_LIST_HEAD(&shard->old.due);
	INIT_LIST_HEAD(&shard->old.permanent);
	shard->old.lock = &shard->lock;
	INIT_LIST_HEAD(&shard->done);
	INIT_LIST_HEAD(&shard->unfinished);
	shard->nearest[HB_PLAIN] = HB_NOTHING;
	shard->nearest[HB_LEASES] = HB_NOTHING;
	shard->term = 1;
	shard->unstable = true;
	shard->next = HB_NEVER;
	INIT_RCU_WORK(&shard->free, hb_limbo_free);
	shard->belt = belt;
}

static int window_alloc(struct hashbelt_belt *belt)
{
	struct hb_window *window;

	if (!belt->settings.window_bytes)
		return 0;
	window = hb_window_new(belt->account, belt->settings.window_bytes);
	if (IS_ERR(window))
		return PTR_ERR(window);
	hb_window_install(belt, window);
	hb_window_open(belt);
	return 0;
}

/* Allocates the parts of a belt. On failure belt_free() frees those that were allocated. */
static int belt_alloc(struct hashbelt_belt *belt)
{
	void __percpu *stats;
	int err;

	err = hb_percpu_alloc(belt->account, sizeof(*belt->stats), &stats);
	if (err)
		return err;
	belt->stats = stats;
	err = hb_index_init(&belt->index, hb_bits_for(belt, 0), free_wq, belt->account);
	if (err)
		return err;
	hb_for_each_shard(shard, belt) {
		err = hb_wheel_init(&shard->wheel, belt->geometry, belt->account, &shard->lock) ?:
		      hb_wheel_init(&shard->leases, &lease_geometry, belt->account,
				    &shard->lock);
		if (err)
			return err;
	}
	return window_alloc(belt);
}

static void belt_init(struct hashbelt_belt *belt, const struct hashbelt_config *config)
{
	struct workqueue_struct *wq;
	hsiphash_key_t key;

	belt->overwrites = config->overwrites;
	belt->event = config->event;
	belt->arg = config->arg;
	belt->account = hb_account_get(config->account);
	belt->id = atomic64_inc_return(&last_id);
	belt->sweep = HB_INDEX_END;
	get_random_bytes(&key, sizeof(key));
	hb_seed_init(&belt->seed, &key);
	memzero_explicit(&key, sizeof(key));
	mutex_init(&belt->set_lock);
	mutex_init(&belt->round_lock);
	mutex_init(&belt->clear_lock);
	mutex_init(&belt->flush.lock);
	init_waitqueue_head(&belt->flush.wait);
	spin_lock_init(&belt->usage.lock);
	spin_lock_init(&belt->owners.lock);
	belt->owners.locks = RB_ROOT;
	spin_lock_init(&belt->waiters.lock);
	INIT_LIST_HEAD(&belt->waiters.list);
	spin_lock_init(&belt->clients.lock);
	INIT_LIST_HEAD(&belt->clients.list);
	spin_lock_init(&belt->queue.lock);
	init_waitqueue_head(&belt->queue.wait);
	wq = belt->account ? belt->account->wq : belt_wq;
	hb_pollers_init(&belt->pollers, wq);
	INIT_WORK(&belt->work, hb_belt_work);
	hb_crew_init(belt);
	hb_pace_init(&belt->pace);
	INIT_RCU_WORK(&belt->free, belt_free_work);
	INIT_WORK(&belt->last, belt_free_last);
	hb_clock_init(&belt->clock, wq, &belt->work);
	belt->geometry_since = hb_clock_now(&belt->clock);
	belt->geometry = &belt->geometries[0];
	belt->hand.lap = 1;
	hb_for_each_shard(shard, belt)
		shard_init(belt, shard);
	hb_init_settings(belt, &config->settings);
	hb_geometry_init(belt->geometry, belt->settings.ttl, belt->settings.buckets,
			 belt->settings.grace);
}

/* Makes a belt: hashbelt_create(), of which this is the work. Context: may sleep. */
struct hashbelt_belt *hb_create(const struct hashbelt_config *config)
{
	unsigned int shard_bits = choose_shard_bits(config->buckets);
	struct hashbelt_belt *belt;
	int err = hb_check_config(config, HASHBELT_SET_ALL) ?: hb_check_window(&config->settings);

	if (err)
		return ERR_PTR(err);
	belt = hb_zalloc(config->account, belt_size(shard_bits));
	if (IS_ERR(belt))
		return belt;
	atomic_inc(&belts);
	belt->shard_bits = shard_bits;
	belt_init(belt, config);
	err = belt_alloc(belt) ?: hb_mark_new(belt);
	if (!err) {
		hb_reclaim_add_belt(belt);
		return belt;
	}
	belt_free(belt);
	return ERR_PTR(err);
}

static bool is_out_of_memory(int err)
{
	return err == -EDQUOT || err == -ENOSPC || err == -ENOMEM;
}

/*
 * hb_create() that takes what has expired in the account's belts if there is no memory
 * otherwise. Retries for a second, in pauses that double, while belts that were given up
 * are not freed yet: at the account's limit those of the account, at the module's limit any. No
 * work of another task depends on how many tasks wait. ERR_PTR(-EINTR): the task is being killed.
 * Context: may sleep.
 */
struct hashbelt_belt *hb_create_patiently(const struct hashbelt_config *config)
{
	struct hb_account *account = hb_account_whole(config->account);
	struct hashbelt_belt *belt;
	unsigned int step = 0;
	bool own, any;
	long pause;
	int err;

	for (pause = 1;; pause *= 2) {
		own = account && has_dying(&account->dying);
		any = has_dying(&dying);
		do {
			belt = hb_create(config);
			err = PTR_ERR_OR_ZERO(belt);
		} while (is_out_of_memory(err) &&
			 hb_free_memory(config->account, NULL, SZ_64K, &step));
		if (pause > HZ / 2 || !((err == -EDQUOT && own) || (err == -ENOSPC && any)))
			return belt;
		if (schedule_timeout_killable(pause))
			return ERR_PTR(-EINTR);
	}
}

/*
 * Waits until the belts of @account, which is no part, that were given up are freed: as long as
 * hb_create_patiently() does, or until the task is killed. Context: may sleep.
 */
void hb_wait_for_frees(struct hb_account *account)
{
	long pause;

	for (pause = 1; pause <= HZ / 2 && has_dying(&account->dying); pause *= 2)
		if (schedule_timeout_killable(pause))
			return;
}

static void destroy_workqueues(void)
{
	if (free_wq)
		destroy_workqueue(free_wq);
	if (belt_wq)
		destroy_workqueue(belt_wq);
	if (hb_limbo_wq)
		destroy_workqueue(hb_limbo_wq);
}

/* Makes the resources that all belts share. Return: 0 or -ENOMEM. */
int hb_core_init(void)
{
	int err = hb_memory_init(offsetof(struct hashbelt_entry, data));

	if (err)
		return err;
	hb_geometry_init(&lease_geometry, LEASE_WIDTH * (LEASE_BUCKETS - 1), LEASE_BUCKETS, 0);
	hb_kinds[HB_ENTRY] = &hb_plain_ops;
	hb_kinds[HB_LOCK] = &hb_lock_ops;
	hb_kinds[HB_FILL] = &hb_fill_ops;
	hb_kinds[HB_WAITPOINT] = &hb_waitpoint_ops;
	hb_kinds[HB_REQUEST] = &hb_request_ops;
	/* In sysfs, so that the superuser can confine them to some processors. */
	hb_limbo_wq = alloc_workqueue("hashbelt_limbo",
				      WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_SYSFS, 0);
	belt_wq = alloc_workqueue("hashbelt", WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_SYSFS, 0);
	free_wq = alloc_workqueue("hashbelt_free", WQ_UNBOUND | WQ_SYSFS, 0);
	hb_reclaim_init();
	err = hb_limbo_wq && belt_wq && free_wq ? hb_window_init() : -ENOMEM;
	if (!err) {
		err = hb_shrink_init();
		if (!err)
			return 0;
		hb_window_exit();
	}
	destroy_workqueues();
	hb_memory_exit();
	return err;
}

/* Waits until all belts that were given up are freed: hashbelt_flush(). */
void hb_flush_frees(void)
{
	rcu_barrier();
	flush_workqueue(free_wq);
}

/*
 * Undoes hb_core_init() after all belts have been given up. Context: may sleep: waits for the last
 * belt to be freed.
 */
void hb_core_exit(void)
{
	hb_shrink_exit();
	wait_var_event(&belts, !atomic_read(&belts));
	/* Tables of indexes that were resized wait for a grace period. */
	rcu_barrier();
	hb_window_exit();
	destroy_workqueues();
	hb_memory_exit();
}
