// SPDX-License-Identifier: GPL-2.0-only
/* Reports on a belt: its entries, its buckets, its state and its counters. */

#include "belt/belt.h"
#include "belt/shard/listing.h"
#include "belt/shard/shard.h"
#include "info.h"
#include "set.h"

/* It is listed, and has a value. Under its shard's lock, where no task claims it. */
static bool is_listed(const struct hb_listing *listing, const struct hashbelt_entry *entry)
{
	return hb_ops(entry)->listed && hb_is_live(listing->belt, entry, listing->now);
}

static void scan_one(struct hashbelt_entry *entry, void *arg)
{
	struct hb_listing *listing = arg;
	struct hashbelt_record record;

	if (!is_listed(listing, entry))
		return;
	record = (struct hashbelt_record){
		.key_len = entry->key_len,
		.value_len = entry->value_len,
		.flags = entry->flags,
		.ttl_ms = hb_ms_left(hb_node_deadline(&entry->node), listing->now),
		.version = entry->version,
	};
	hb_list_add(listing, &record, sizeof(record), entry, entry->key_len);
}

/**
 * hb_scan() - report the entries of some chains
 * @belt:	the belt
 * @scan:	@cursor and @size in; @cursor and @count returned, and with -ERANGE the @size that
 *		is needed
 * @bytes:	the buffer, @scan->size bytes, aligned to 8
 * @used:	returned: bytes of it that were written
 *
 * Context: may sleep. Return: 0; -EINVAL for a cursor that no scan returned; -ERANGE.
 */
int hb_scan(struct hashbelt_belt *belt, struct hashbelt_scan *scan, void *bytes, u32 *used)
{
	struct hb_listing listing = {
		.belt = belt, .visit = scan_one, .now = hb_clock_now(&belt->clock),
		.bytes = bytes, .size = scan->size,
	};
	int err = hb_list(&listing, &scan->cursor, HB_INDEX_END, hb_list_chain);

	scan->size = listing.size;
	scan->count = listing.count;
	*used = listing.used;
	return err;
}

struct bucket_counts {
	struct hb_listing listing;
	u64 *counts;
	u64 width;
	u32 last;
};

static void count_one(struct hashbelt_entry *entry, void *arg)
{
	struct bucket_counts *buckets = container_of(arg, struct bucket_counts, listing);
	u64 left;

	if (!is_listed(&buckets->listing, entry))
		return;
	left = hb_node_deadline(&entry->node) - buckets->listing.now;
	buckets->counts[min_t(u64, div64_u64(left, buckets->width), buckets->last)]++;
}

/**
 * hb_buckets() - count the entries of some chains by the time they have left
 * @belt:	the belt
 * @cursor:	0 to begin; returned: where to go on, 0 at the end
 * @counts:	the number of entries that expire in each interval from now on is added; all later
 *		ones are added to the last interval
 * @count:	number of intervals, at least 1
 *
 * Context: may sleep. Return: 0; -EINVAL for a cursor that was not returned.
 */
int hb_buckets(struct hashbelt_belt *belt, u64 *cursor, u64 *counts, u32 count)
{
	struct bucket_counts buckets = {
		.listing = {
			.belt = belt, .visit = count_one, .now = hb_clock_now(&belt->clock),
		},
		.counts = counts, .width = hb_interval(belt), .last = count - 1,
	};

	return hb_list(&buckets.listing, cursor, HB_INDEX_END, hb_list_chain);
}

/*
 * Belt time of the worker's next look. While the worker is running, and has not set its alarm yet,
 * that is the fall of the next bucket.
 */
static u64 wake_of(struct hashbelt_belt *belt)
{
	u64 wake = READ_ONCE(belt->clock.wake);

	if (wake != HB_NEVER)
		return wake;
	hb_for_each_shard(shard, belt) {
		spin_lock(&shard->lock);
		wake = min(wake, hb_shard_next(shard));
		spin_unlock(&shard->lock);
	}
	return wake == HB_NEVER ? HASHBELT_TTL_NEVER : wake;
}

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

static void info_window(struct hashbelt_belt *belt, struct hashbelt_info *info)
{
	struct hb_window *window = hb_window_get(belt);

	if (!window)
		return;
	info->window_used = atomic_read(&window->used);
	info->bytes += window->bytes;
	hb_window_put(window);
}

/* Describes a belt: hashbelt_info(). Context: may sleep. */
void hb_info(struct hashbelt_belt *belt, struct hashbelt_info *info)
{
	unsigned int levels;
	u64 wheels = 0;

	hb_info_settings(belt, info);
	info->id = belt->id;
	info->now_ns = hb_clock_now(&belt->clock);
	info->state = READ_ONCE(belt->clock.halted) ? HASHBELT_HALTED : 0;
	info->wake_ns = wake_of(belt);
	info->table = 1ULL << READ_ONCE(belt->index.bits);
	hb_for_each_shard(shard, belt) {
		spin_lock(&shard->lock);
		info->entries += shard->live;
		info->bytes += shard->live_bytes;
		info->locks += shard->locks;
		info->requests += shard->requests;
		levels = max(hb_wheel_levels(&shard->wheel, &wheels),
			     hb_wheel_levels(&shard->leases, &wheels));
		hb_wheel_levels(&shard->old, &wheels);
		spin_unlock(&shard->lock);
		info->levels = max(info->levels, levels);
	}
	info->used_entries = info->entries;
	info->used_bytes = info->bytes + info->entries * HB_INDEX_SHARE;
	info_queue(belt, info);
	info_window(belt, info);
	info->bytes += hb_index_bytes(&belt->index) + wheels;
}

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

/* Sums up HASHBELT_STAT_COUNT @counters and HASHBELT_LAGS @lags. Context: may sleep. */
void hb_stat(struct hashbelt_belt *belt, u64 *counters, u64 *lags)
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
	counters[HASHBELT_STAT_WAKEUPS] = READ_ONCE(belt->clock.wakeups);
	counters[HASHBELT_STAT_ROTATIONS] = rotations(belt);
}
