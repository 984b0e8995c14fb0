// SPDX-License-Identifier: GPL-2.0
/*
 * Looking at a belt: its entries, its buckets, its settings and its counters.
 */
#include <linux/export.h>

#include "belt.h"
#include "info.h"
#include "shard.h"

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

static u64 limit_of(u64 most)
{
	return most == S64_MAX ? 0 : most;
}

/* What is set, and what time it is. */
static void info_settings(struct hashbelt_belt *belt, struct hashbelt_info *info)
{
	spin_lock(&belt->shards->lock);
	info->ttl_ms = div_u64(belt->ttl, NSEC_PER_MSEC);
	info->interval_ns = belt->geometry->width[0];
	info->buckets = belt->geometry->size[0];
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
	width = belt->geometry->width[0];
	rotated = belt->rotated + div64_u64(hb_clock_now(&belt->clock), width) -
		  div64_u64(belt->geometry_since, width);
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
