// SPDX-License-Identifier: GPL-2.0
/*
 * Making a belt, looking at it, and freeing it.
 */
#include <linux/export.h>
#include <linux/log2.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/wait_bit.h>

#include "hashbelt_belt.h"

#define SHARD_BITS_MIN	1
#define SHARD_BITS_MAX	6

/* Shards times buckets: many buckets make room for fewer shards. */
#define SLOTS_MAX	BIT(18)

struct workqueue_struct *hb_limbo_wq;

/* Drains and sweeps. That may take long where much is due: so others' memory is not behind it. */
static struct workqueue_struct *belt_wq;

/* Frees belts, and so waits for what runs on the others; and tables that were outgrown. */
static struct workqueue_struct *free_wq;
static atomic_t belts = ATOMIC_INIT(0);
static atomic64_t last_id = ATOMIC64_INIT(0);

struct scan_buffer {
	struct hashbelt_belt *belt;
	u8 *bytes;
	u64 now;
	u32 size;
	u64 used;	/* may be more than fits: then nothing is written */
	u32 count;
};

static void scan_one(struct hashbelt_entry *entry, void *arg)
{
	struct scan_buffer *buffer = arg;
	struct hashbelt_record *record = (void *)(buffer->bytes + buffer->used);
	s64 deadline = atomic64_read(&entry->node.deadline);
	u32 size = ALIGN(sizeof(*record) + entry->key_len, 8);

	if (hb_kind(entry) != HB_ENTRY || hb_is_cleared(buffer->belt, entry) ||
	    deadline <= (s64)buffer->now)
		return;
	buffer->used += size;
	buffer->count++;
	if (buffer->used > buffer->size)
		return;
	*record = (struct hashbelt_record){
		.size = size,
		.key_len = entry->key_len,
		.value_len = entry->value_len,
		.flags = entry->flags,
		.ttl_ms = hb_ms_left(deadline, buffer->now),
		.version = entry->version,
	};
	memcpy(record + 1, entry->data, entry->key_len);
	memset((u8 *)(record + 1) + entry->key_len, 0,
	       size - sizeof(*record) - entry->key_len);
}

/**
 * hashbelt_scan() - report the entries of some chains
 * @belt:	the belt
 * @scan:	@cursor and @size in; @cursor and @count returned, and with
 *		-ERANGE the @size that is needed
 * @bytes:	the buffer, @scan->size bytes, aligned to 8
 * @used:	returned: bytes of it that were written
 *
 * Context: may sleep. Return: 0; -EINVAL for a cursor that no scan returned;
 * -ERANGE.
 */
int hashbelt_scan(struct hashbelt_belt *belt, struct hashbelt_scan *scan,
		  void *bytes, u32 *used)
{
	struct scan_buffer buffer = {
		.belt = belt, .bytes = bytes, .size = scan->size,
		.now = hb_clock_now(&belt->clock),
	};
	u64 place = scan->cursor;
	unsigned int chains;

	*used = 0;
	scan->count = 0;
	if (place >= HB_INDEX_END)
		return -EINVAL;
	for (chains = 0; chains < HB_SCAN_CHAINS && place < HB_INDEX_END; chains++) {
		struct hb_shard *shard = hb_shard_of(belt, place);
		u64 next;

		spin_lock(&shard->lock);
		next = hb_index_scan(&belt->index, place, scan_one, &buffer);
		spin_unlock(&shard->lock);
		if (buffer.used > buffer.size)
			break;
		*used = buffer.used;
		scan->count = buffer.count;
		place = next;
	}
	if (!*used && buffer.used > buffer.size) {
		scan->size = min_t(u64, buffer.used, U32_MAX);
		return -ERANGE;
	}
	scan->cursor = place < HB_INDEX_END ? place : 0;
	return 0;
}
EXPORT_SYMBOL_GPL(hashbelt_scan);

struct bucket_counts {
	struct hashbelt_belt *belt;
	u64 *counts;
	u64 now;
	u64 width;
	u32 last;
};

static void count_one(struct hashbelt_entry *entry, void *arg)
{
	struct bucket_counts *buckets = arg;
	s64 deadline = atomic64_read(&entry->node.deadline);

	if (hb_kind(entry) != HB_ENTRY || hb_is_cleared(buckets->belt, entry) ||
	    deadline <= (s64)buckets->now)
		return;
	buckets->counts[min_t(u64, div64_u64(deadline - buckets->now, buckets->width),
			      buckets->last)]++;
}

/* What is set under all shards' locks can be read under one. */
u64 hb_interval(struct hashbelt_belt *belt)
{
	u64 interval;

	spin_lock(&belt->shards->lock);
	interval = belt->gauge->width[0];
	spin_unlock(&belt->shards->lock);
	return interval;
}

/**
 * hashbelt_buckets() - count the entries of some chains by the time they have left
 * @belt:	the belt
 * @cursor:	0 to begin; returned: where to go on, 0 at the end
 * @counts:	for each interval from now the entries that expire in it are added;
 *		to the last one all that expire later
 * @count:	their number, at least 1
 *
 * Context: may sleep. Return: 0; -EINVAL for a cursor that was not returned.
 */
int hashbelt_buckets(struct hashbelt_belt *belt, u64 *cursor, u64 *counts, u32 count)
{
	struct bucket_counts buckets = {
		.belt = belt, .counts = counts, .last = count - 1,
		.now = hb_clock_now(&belt->clock), .width = hb_interval(belt),
	};
	u64 place = *cursor;
	unsigned int chains;

	if (place >= HB_INDEX_END)
		return -EINVAL;
	for (chains = 0; chains < HB_SCAN_CHAINS && place < HB_INDEX_END; chains++) {
		struct hb_shard *shard = hb_shard_of(belt, place);

		spin_lock(&shard->lock);
		place = hb_index_scan(&belt->index, place, count_one, &buckets);
		spin_unlock(&shard->lock);
	}
	*cursor = place < HB_INDEX_END ? place : 0;
	return 0;
}
EXPORT_SYMBOL_GPL(hashbelt_buckets);

/* When the worker looks next, also while it is looking and has set no alarm yet. */
static u64 wake_of(struct hashbelt_belt *belt)
{
	u64 wake = READ_ONCE(belt->clock.wake);
	struct hb_shard *shard;

	if (wake != HB_NEVER)
		return wake;
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		spin_lock(&shard->lock);
		wake = min(wake, hb_wheel_next(&shard->wheel));
		spin_unlock(&shard->lock);
	}
	return wake == HB_NEVER ? HASHBELT_TTL_NEVER : wake;
}

/**
 * hashbelt_wipes() - whether no copy of a key or value may stay behind
 * @belt:	the belt
 *
 * Return: whether.
 */
bool hashbelt_wipes(const struct hashbelt_belt *belt)
{
	return READ_ONCE(belt->policy) & HASHBELT_WIPE;
}
EXPORT_SYMBOL_GPL(hashbelt_wipes);

static u64 limit_of(u64 most)
{
	return most == S64_MAX ? 0 : most;
}

/* What is set, and what time it is. */
static void info_settings(struct hashbelt_belt *belt, struct hashbelt_info *info)
{
	spin_lock(&belt->shards->lock);
	info->ttl_ms = div_u64(belt->ttl, NSEC_PER_MSEC);
	info->interval_ns = belt->gauge->width[0];
	info->buckets = belt->gauge->size[0];
	info->policy = belt->policy;
	info->handler = belt->handler;
	info->reasons = belt->reasons;
	info->max_entries = limit_of(belt->usage.max_entries);
	info->max_bytes = limit_of(belt->usage.max_bytes);
	info->max_events = belt->queue.max_events;
	info->grace_ms = div_u64(belt->grace, NSEC_PER_MSEC);
	spin_unlock(&belt->shards->lock);
	info->id = belt->id;
	info->now_ns = hb_clock_now(&belt->clock);
	info->state = hb_clock_is_halted(&belt->clock) ? HASHBELT_HALTED : 0;
}

/* What waits as an event, and what counts against the limits. */
static void info_queue(struct hashbelt_belt *belt, struct hashbelt_info *info)
{
	struct hb_queue *queue = &belt->queue;
	struct hb_usage *usage = &belt->usage;

	spin_lock(&queue->lock);
	info->queued = queue->waiting.count;
	info->queued_bytes = queue->bytes;
	info->in_flight = queue->in_flight;
	info->sequence = queue->sequence;
	info->used_entries += queue->kept_entries;
	info->used_bytes += queue->kept_bytes;
	spin_lock(&usage->lock);
	if (usage->limited) {
		info->used_entries = usage->entries;
		info->used_bytes = usage->bytes;
	}
	spin_unlock(&usage->lock);
	spin_unlock(&queue->lock);
}

/**
 * hashbelt_info() - describe a belt
 * @belt:	the belt
 * @info:	zeroed; filled in, but for its name, @mode, @uid, @gid and @access
 *
 * Context: may sleep.
 */
void hashbelt_info(struct hashbelt_belt *belt, struct hashbelt_info *info)
{
	struct hb_shard *shard;
	unsigned int levels;

	info_settings(belt, info);
	info->wake_ns = wake_of(belt);
	info->table = 1ULL << READ_ONCE(belt->index.bits);
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		spin_lock(&shard->lock);
		info->entries += shard->live;
		info->bytes += shard->live_bytes;
		info->locks += shard->locks;
		info->requests += shard->requests;
		spin_unlock(&shard->lock);
	}
	info->used_entries = info->entries;
	info->used_bytes = info->bytes + info->entries * HB_INDEX_SHARE;
	info_queue(belt, info);
	info->bytes += hb_index_bytes(&belt->index);
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		spin_lock(&shard->lock);
		levels = hb_wheel_levels(&shard->wheel, &info->bytes);
		hb_wheel_levels(&shard->old, &info->bytes);
		spin_unlock(&shard->lock);
		info->levels = max(info->levels, levels);
	}
}
EXPORT_SYMBOL_GPL(hashbelt_info);

/* Intervals that have passed since the belt was made. */
static u64 rotations(struct hashbelt_belt *belt)
{
	u64 rotated, width;

	spin_lock(&belt->shards->lock);
	width = belt->gauge->width[0];
	rotated = belt->rotated + div64_u64(hb_clock_now(&belt->clock), width) -
		  div64_u64(belt->measured, width);
	spin_unlock(&belt->shards->lock);
	return rotated;
}

/**
 * hashbelt_stat() - sum the counters
 * @belt:	the belt
 * @counters:	HASHBELT_STAT_COUNT of them, filled in
 * @lags:	HASHBELT_LAGS of them, filled in
 *
 * Context: may sleep.
 */
void hashbelt_stat(struct hashbelt_belt *belt, u64 *counters, u64 *lags)
{
	unsigned int i;
	int cpu;

	memset(counters, 0, HASHBELT_STAT_COUNT * sizeof(*counters));
	memset(lags, 0, HASHBELT_LAGS * sizeof(*lags));
	for_each_possible_cpu(cpu) {
		const struct hb_stats *stats = per_cpu_ptr(belt->stats, cpu);

		for (i = 0; i < HASHBELT_STAT_COUNT; i++)
			counters[i] += READ_ONCE(stats->count[i]);
		for (i = 0; i < HASHBELT_LAGS; i++)
			lags[i] += READ_ONCE(stats->lags[i]);
	}
	counters[HASHBELT_STAT_WAKEUPS] = hb_clock_wakeups(&belt->clock);
	counters[HASHBELT_STAT_ROTATIONS] = rotations(belt);
}
EXPORT_SYMBOL_GPL(hashbelt_stat);

/* Making and freeing */

static size_t belt_size(unsigned int shard_bits)
{
	struct hashbelt_belt *belt;

	return struct_size(belt, shards, 1 << shard_bits);
}

static unsigned int choose_shard_bits(u32 buckets)
{
	unsigned int bits = ilog2(roundup_pow_of_two(4 * num_possible_cpus()));

	bits = clamp(bits, SHARD_BITS_MIN, SHARD_BITS_MAX);
	while (bits > SHARD_BITS_MIN && (buckets << bits) > SLOTS_MAX)
		bits--;
	return bits;
}

/* Takes an entry out of index and wheel, for the list of those to be freed. */
static void take_one(struct hashbelt_entry *entry, void *list)
{
	hlist_del(&entry->chain);
	hb_wheel_del(&entry->node);
	list_add(&entry->node.slot, list);
}

static void free_list(struct hashbelt_belt *belt, struct list_head *list)
{
	struct hashbelt_entry *entry, *next;

	list_for_each_entry_safe(entry, next, list, node.slot)
		hashbelt_entry_put(belt, entry);
	INIT_LIST_HEAD(list);
}

static void free_entries(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	LIST_HEAD(list);
	u64 place;

	/* They have watches in points yet. */
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++)
		hb_requests_step(shard);
	for (place = 0; place < HB_INDEX_END; cond_resched()) {
		place = hb_index_scan(&belt->index, place, take_one, &list);
		/* Not in the scan: freeing a large one may sleep. */
		free_list(belt, &list);
	}
	hb_event_free_all(belt);
	while (hb_is_in_limbo(belt))
		hb_limbo_flush(belt);
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++)
		/* It may have said that it is done, and still hold the lock. */
		flush_work(&shard->free.work);
}

/* Frees what of a belt has been made; nobody uses it. */
static void belt_free(struct hashbelt_belt *belt)
{
	struct hb_account *account = belt->account;
	struct hb_shard *shard;

	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		hb_wheel_destroy(&shard->wheel);
		hb_wheel_destroy(&shard->old);
	}
	hb_index_destroy(&belt->index);
	/* Marked as in hb_account_init(). */
	data_race((free_percpu(belt->stats), 0));
	hb_free(account, belt, belt_size(belt->shard_bits));
	hb_account_put(account);
	if (atomic_dec_and_test(&belts))
		wake_up_var(&belts);
}

static void belt_free_work(struct work_struct *work)
{
	struct hashbelt_belt *belt = container_of(to_rcu_work(work),
						  struct hashbelt_belt, free);

	hb_clock_stop(&belt->clock);
	cancel_work_sync(&belt->work);
	free_entries(belt);
	belt_free(belt);
}

/**
 * hashbelt_destroy() - give up a belt
 * @belt:	from hashbelt_create(). No operation on it may be going on but
 *		readers under RCU, who may still find entries. Events that wait
 *		are dropped
 *
 * The belt is freed after a grace period, and until then its callback may be called: see
 * hashbelt_flush(). Context: any.
 */
void hashbelt_destroy(struct hashbelt_belt *belt)
{
	hb_limit_delist(belt);
	queue_rcu_work(free_wq, &belt->free);
}
EXPORT_SYMBOL_GPL(hashbelt_destroy);

static void shard_init(struct hashbelt_belt *belt, struct hb_shard *shard)
{
	spin_lock_init(&shard->lock);
	INIT_LIST_HEAD(&shard->limbo);
	INIT_LIST_HEAD(&shard->leaving);
	INIT_LIST_HEAD(&shard->old.fallen);
	INIT_LIST_HEAD(&shard->old.forever);
	INIT_LIST_HEAD(&shard->done);
	shard->nearest = HB_NOTHING;
	INIT_RCU_WORK(&shard->free, hb_limbo_free);
	shard->belt = belt;
}

/* Allocates what a belt is made of. On failure belt_free() frees what there is. */
static int belt_alloc(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	int err;

	/* Marked as in hb_account_init(). */
	belt->stats = data_race(alloc_percpu_gfp(struct hb_stats, GFP_KERNEL_ACCOUNT));
	if (!belt->stats)
		return -ENOMEM;
	err = hb_index_init(&belt->index, hb_bits_for(belt, 0), free_wq, belt->account);
	if (err)
		return err;
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		err = hb_wheel_init(&shard->wheel, belt->gauge, belt->account);
		if (err)
			return err;
	}
	return 0;
}

/* Everything that needs no memory. */
static void belt_init(struct hashbelt_belt *belt, const struct hashbelt_config *config)
{
	struct hb_shard *shard;

	belt->ttl = ALIGN(config->ttl ?: HASHBELT_TTL_DEFAULT, HB_GRAIN);
	belt->policy = config->policy;
	belt->handler = config->handler;
	belt->reasons = config->reasons ?: HASHBELT_REPORT_DEFAULT;
	belt->event = config->event;
	belt->arg = config->arg;
	belt->account = hb_account_get(config->account);
	belt->id = atomic64_inc_return(&last_id);
	belt->sweep = HB_INDEX_END;
	get_random_bytes(&belt->seed, sizeof(belt->seed));
	mutex_init(&belt->set_lock);
	mutex_init(&belt->round_lock);
	mutex_init(&belt->clear_lock);
	spin_lock_init(&belt->usage.lock);
	spin_lock_init(&belt->desk.lock);
	belt->desk.owners = RB_ROOT;
	INIT_LIST_HEAD(&belt->desk.sleepers);
	INIT_LIST_HEAD(&belt->desk.holders);
	hb_queue_init(&belt->queue);
	INIT_WORK(&belt->work, hb_belt_work);
	INIT_RCU_WORK(&belt->free, belt_free_work);
	hb_clock_init(&belt->clock, belt_wq, &belt->work);
	belt->measured = hb_clock_now(&belt->clock);
	belt->gauge = &belt->gauges[0];
	hb_gauge_init(belt->gauge, belt->ttl, config->buckets ?: HASHBELT_BUCKETS_DEFAULT);
	hb_set_grace(belt, belt->gauge, config->grace);
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++)
		shard_init(belt, shard);
	hb_set_limits(belt, config, HASHBELT_SET_ALL);
}

/**
 * hashbelt_create() - make a belt
 * @config:	what it shall be; not needed any more when this returns
 *
 * Context: may sleep.
 *
 * Return: the belt, owned by the caller, to be given up with
 * hashbelt_destroy(); ERR_PTR(-EINVAL), ERR_PTR(-ENOMEM), or ERR_PTR(-ENOSPC) or
 * ERR_PTR(-EDQUOT) if the module's or the account's memory limit is reached.
 */
struct hashbelt_belt *hashbelt_create(const struct hashbelt_config *config)
{
	unsigned int shard_bits = choose_shard_bits(config->buckets);
	struct hashbelt_belt *belt;
	int err = hb_check_config(config, HASHBELT_SET_ALL);

	if (err)
		return ERR_PTR(err);
	belt = hb_zalloc(config->account, belt_size(shard_bits));
	if (IS_ERR(belt))
		return belt;
	atomic_inc(&belts);
	belt->shard_bits = shard_bits;
	belt_init(belt, config);
	err = belt_alloc(belt);
	if (err) {
		belt_free(belt);
		return ERR_PTR(err);
	}
	hb_limit_enlist(belt);
	return belt;
}
EXPORT_SYMBOL_GPL(hashbelt_create);

/**
 * hb_core_init() - make what all belts share
 *
 * Return: 0 or -ENOMEM.
 */
int hb_core_init(void)
{
	int err = hb_memory_init(offsetof(struct hashbelt_entry, data));

	if (err)
		return err;
	err = -ENOMEM;
	hb_limbo_wq = alloc_workqueue("hashbelt_limbo", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!hb_limbo_wq)
		goto err_memory;
	belt_wq = alloc_workqueue("hashbelt", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!belt_wq)
		goto err_limbo_wq;
	free_wq = alloc_workqueue("hashbelt_free", WQ_UNBOUND, 0);
	if (!free_wq)
		goto err_belt_wq;
	err = hb_limit_init();
	if (err)
		goto err_free_wq;
	return 0;

err_free_wq:
	destroy_workqueue(free_wq);
err_belt_wq:
	destroy_workqueue(belt_wq);
err_limbo_wq:
	destroy_workqueue(hb_limbo_wq);
err_memory:
	hb_memory_exit();
	return err;
}

/**
 * hashbelt_flush() - wait until the belts that have been given up are freed
 *
 * And the tables that indexes have outgrown. A module whose belts have a callback calls
 * this after the last hashbelt_destroy() and before it goes: until then it may be called.
 *
 * Context: may sleep; not from a callback.
 */
void hashbelt_flush(void)
{
	rcu_barrier();
	flush_workqueue(free_wq);
}
EXPORT_SYMBOL_GPL(hashbelt_flush);

/**
 * hb_core_exit() - undo hb_core_init(), when all belts have been given up
 *
 * Context: may sleep: waits for the last belt to be freed.
 */
void hb_core_exit(void)
{
	hb_limit_exit();
	wait_var_event(&belts, !atomic_read(&belts));
	/* Tables of indexes that were resized wait for a grace period. */
	rcu_barrier();
	destroy_workqueue(free_wq);
	destroy_workqueue(belt_wq);
	destroy_workqueue(hb_limbo_wq);
	hb_memory_exit();
}
