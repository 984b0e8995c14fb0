// SPDX-License-Identifier: GPL-2.0
/*
 * Making a belt, looking at it, and freeing it.
 */
#include <linux/export.h>
#include <linux/log2.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "hashbelt_belt.h"
#include "hashbelt_memory.h"

/* Chains that one call of a scan looks at: it may find no entry in them. */
#define SCAN_CHAINS	4096

#define SHARD_BITS_MIN	1
#define SHARD_BITS_MAX	6

/* Shards times buckets: many buckets make room for fewer shards. */
#define SLOTS_MAX	BIT(18)

struct workqueue_struct *hb_belt_wq;

/* Frees belts, and so waits for what runs on the other. */
static struct workqueue_struct *destroy_wq;
static atomic_t belts = ATOMIC_INIT(0);

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
	u64 deadline = atomic64_read(&entry->node.deadline);
	u32 size = ALIGN(sizeof(*record) + entry->key_len, 8);

	if (hb_is_cleared(buffer->belt, entry) || deadline <= buffer->now)
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
	for (chains = 0; chains < SCAN_CHAINS && place < HB_INDEX_END; chains++) {
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

/**
 * hashbelt_info() - describe a belt
 * @belt:	the belt
 * @info:	filled in, but for its name, @mode, @uid, @gid and @access
 *
 * Context: may sleep.
 */
void hashbelt_info(struct hashbelt_belt *belt, struct hashbelt_info *info)
{
	struct hb_shard *shard;
	unsigned int levels;

	info->ttl_ms = div_u64(belt->ttl, NSEC_PER_MSEC);
	info->interval_ns = belt->gauge.width[0];
	info->now_ns = hb_clock_now(&belt->clock);
	info->wake_ns = READ_ONCE(belt->clock.wake);
	if (info->wake_ns == HB_NEVER)
		info->wake_ns = HASHBELT_TTL_NEVER;
	info->buckets = belt->gauge.size[0];
	info->policy = belt->policy;
	info->state = hb_clock_is_halted(&belt->clock) ? HASHBELT_HALTED : 0;
	info->table = 1ULL << READ_ONCE(belt->index.bits);
	info->entries = 0;
	info->bytes = hb_index_bytes(&belt->index);
	info->levels = 0;
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		spin_lock(&shard->lock);
		info->entries += shard->live;
		info->bytes += shard->live_bytes;
		levels = hb_wheel_levels(&shard->wheel, &info->bytes);
		spin_unlock(&shard->lock);
		info->levels = max(info->levels, levels);
	}
}
EXPORT_SYMBOL_GPL(hashbelt_info);

/**
 * hashbelt_stat() - sum the counters
 * @belt:	the belt
 * @counters:	HASHBELT_STAT_COUNT of them, filled in
 */
void hashbelt_stat(struct hashbelt_belt *belt, u64 *counters)
{
	unsigned int i;
	int cpu;

	memset(counters, 0, HASHBELT_STAT_COUNT * sizeof(*counters));
	for_each_possible_cpu(cpu)
		for (i = 0; i < HASHBELT_STAT_COUNT; i++)
			counters[i] += READ_ONCE(per_cpu_ptr(belt->stats, cpu)->count[i]);
	counters[HASHBELT_STAT_WAKEUPS] = hb_clock_wakeups(&belt->clock);
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
	hlist_add_head(&entry->node.slot, list);
}

static void free_list(struct hlist_head *list)
{
	struct hashbelt_entry *entry;
	struct hlist_node *next;

	hlist_for_each_entry_safe(entry, next, list, node.slot)
		hashbelt_entry_put(entry);
	INIT_HLIST_HEAD(list);
}

static void free_entries(struct hashbelt_belt *belt)
{
	struct hashbelt_entry *entry, *next;
	struct hb_shard *shard;
	HLIST_HEAD(list);
	u64 place;

	for (place = 0; place < HB_INDEX_END; cond_resched()) {
		place = hb_index_scan(&belt->index, place, take_one, &list);
		/* Not in the scan: freeing a large one may sleep. */
		free_list(&list);
	}
	while (hb_is_in_limbo(belt))
		hb_limbo_flush(belt);
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		/* It may have said that it is done, and still hold the lock. */
		flush_work(&shard->free.work);
		list_for_each_entry_safe(entry, next, &shard->expired, node.queue)
			hashbelt_entry_put(entry);
	}
}

/* Frees what of a belt has been made; nobody uses it. */
static void belt_free(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;

	for (shard = belt->shards; shard < hb_shards_end(belt); shard++)
		hb_wheel_destroy(&shard->wheel);
	hb_index_destroy(&belt->index);
	free_percpu(belt->stats);
	hb_free(belt, belt_size(belt->shard_bits));
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
 *		readers under RCU, who may still find entries. Expired entries
 *		that wait for the handler are dropped
 *
 * The belt is freed after a grace period. Context: any.
 */
void hashbelt_destroy(struct hashbelt_belt *belt)
{
	queue_rcu_work(destroy_wq, &belt->free);
}
EXPORT_SYMBOL_GPL(hashbelt_destroy);

static void shard_init(struct hashbelt_belt *belt, struct hb_shard *shard)
{
	spin_lock_init(&shard->lock);
	INIT_LIST_HEAD(&shard->expired);
	INIT_RCU_WORK(&shard->free, hb_limbo_free);
	shard->belt = belt;
}

/* Allocates what a belt is made of. On failure belt_free() frees what there is. */
static int belt_alloc(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	int err;

	belt->stats = alloc_percpu_gfp(struct hb_stats, GFP_KERNEL_ACCOUNT);
	if (!belt->stats)
		return -ENOMEM;
	err = hb_index_init(&belt->index, hb_bits_for(belt, 0), hb_belt_wq);
	if (err)
		return err;
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		err = hb_wheel_init(&shard->wheel, &belt->gauge);
		if (err)
			return err;
	}
	return 0;
}

/**
 * hashbelt_create() - make a belt
 * @config:	what it shall be; not needed any more when this returns
 *
 * Context: may sleep.
 *
 * Return: the belt, owned by the caller, to be given up with
 * hashbelt_destroy(); ERR_PTR(-EINVAL) or ERR_PTR(-ENOMEM).
 */
struct hashbelt_belt *hashbelt_create(const struct hashbelt_config *config)
{
	u64 ttl = ALIGN(config->ttl ?: HASHBELT_TTL_DEFAULT, 2);
	u32 buckets = config->buckets ?: HASHBELT_BUCKETS_DEFAULT;
	unsigned int shard_bits = choose_shard_bits(buckets);
	struct hashbelt_belt *belt;
	struct hb_shard *shard;
	int err;

	if (config->ttl > HASHBELT_TTL_MAX_MS * NSEC_PER_MSEC ||
	    buckets < HASHBELT_BUCKETS_MIN || buckets > HASHBELT_BUCKETS_MAX ||
	    config->policy & ~(HASHBELT_REFRESH_ON_GET | HASHBELT_KEEP_ON_PUT))
		return ERR_PTR(-EINVAL);
	belt = hb_zalloc(belt_size(shard_bits));
	if (!belt)
		return ERR_PTR(-ENOMEM);
	atomic_inc(&belts);
	belt->shard_bits = shard_bits;
	belt->ttl = ttl;
	belt->policy = config->policy;
	belt->expired = config->expired;
	belt->arg = config->arg;
	belt->sweep = HB_INDEX_END;
	get_random_bytes(&belt->seed, sizeof(belt->seed));
	mutex_init(&belt->step_lock);
	mutex_init(&belt->clear_lock);
	INIT_WORK(&belt->work, hb_belt_work);
	INIT_RCU_WORK(&belt->free, belt_free_work);
	hb_clock_init(&belt->clock, hb_belt_wq, &belt->work);
	hb_gauge_init(&belt->gauge, ttl, buckets);
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++)
		shard_init(belt, shard);
	err = belt_alloc(belt);
	if (err) {
		belt_free(belt);
		return ERR_PTR(err);
	}
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
	hb_belt_wq = alloc_workqueue("hashbelt", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!hb_belt_wq)
		goto err_memory;
	destroy_wq = alloc_workqueue("hashbelt_destroy", WQ_UNBOUND, 0);
	if (!destroy_wq)
		goto err_belt_wq;
	return 0;

err_belt_wq:
	destroy_workqueue(hb_belt_wq);
err_memory:
	hb_memory_exit();
	return err;
}

/**
 * hb_core_exit() - undo hb_core_init(), when all belts have been given up
 *
 * Context: may sleep: waits for the last belt to be freed.
 */
void hb_core_exit(void)
{
	wait_var_event(&belts, !atomic_read(&belts));
	destroy_workqueue(destroy_wq);
	/* Tables of indexes that were resized wait for a grace period. */
	rcu_barrier();
	destroy_workqueue(hb_belt_wq);
	hb_memory_exit();
}
