// SPDX-License-Identifier: GPL-2.0-only
/*
 * The size of the index: how many chains it is to have, and what leaves where there is no memory
 * for more.
 */
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/sched.h>

#include "belt/belt.h"
#include "belt/shard/shard.h"
#include "fit.h"
#include "hand.h"
#include "nearest.h"
#include "reclaim.h"

/*
 * The number of entries for which the index needs chains, as if each shard had as many as the
 * fullest one. A put enlarges the index when its own shard is crowded, so with a smaller number the
 * worker would shrink what puts enlarge. *@sum: returned, the number of entries.
 */
u64 hb_index_demand(struct hashbelt_belt *belt, u64 *sum)
{
	u64 most = 0, count;

	*sum = 0;
	hb_for_each_shard(shard, belt) {
		count = READ_ONCE(shard->count);
		most = max(most, count);
		*sum += count;
	}
	return most << belt->shard_bits;
}

/* log2 of the number of chains for @entries: 3/4 to 3/2 of an entry each. */
unsigned int hb_bits_for(const struct hashbelt_belt *belt, u64 entries)
{
	unsigned int bits = ilog2(max_t(u64, entries * 4 / 3, 1));

	return clamp_t(unsigned int, bits,
		       max_t(unsigned int, belt->shard_bits, HB_INDEX_BITS_MIN),
		       HB_INDEX_BITS_MAX);
}

/*
 * log2 of the next number of chains: towards hb_bits_for(), by HB_RESIZE_MOST at most. During a
 * resize a scan visits a chain of the smaller table, and those of the larger one for the same
 * hashes, in one critical section.
 */
static unsigned int next_bits(struct hashbelt_belt *belt, u64 entries)
{
	unsigned int is = READ_ONCE(belt->index.bits);

	return clamp(hb_bits_for(belt, entries), is - min(is, HB_RESIZE_MOST), is + HB_RESIZE_MOST);
}

/* Begins to resize the index for @entries. Return: false if there is no need, or no memory. */
bool hb_resize(struct hashbelt_belt *belt, u64 entries)
{
	return hb_index_resize(&belt->index, next_bits(belt, entries));
}

void hb_grow_index(struct hashbelt_belt *belt, u64 shard_count)
{
	if (hb_resize(belt, shard_count << belt->shard_bits))
		hb_kick_worker(belt);
}

/*
 * Enlarges the index for a shard that takes no further key. Return: 0, or an error of
 * hb_index_enlarge().
 */
static int enlarge_index(struct hashbelt_belt *belt, struct hb_shard *shard)
{
	u64 entries = READ_ONCE(shard->count) << belt->shard_bits;
	int err = hb_index_enlarge(&belt->index, next_bits(belt, entries));

	if (!err)
		hb_kick_worker(belt);
	return err;
}

/*
 * Evicts the plain entry of a shard that is the next in the belt's order, or searches a part of the
 * way to it; if the belt does not evict, takes out what has expired. Return: false if there is
 * none.
 */
static bool evict_in(struct hb_shard *shard)
{
	unsigned int passes = HB_BATCH - 1;
	struct hb_search search = { .second_place = { .lap = U64_MAX }, .passes = &passes };
	struct hashbelt_entry *entry;
	u64 now, deadline;

	if (!hb_evicts(shard->belt))
		return hb_frees_by_expiring(shard->belt) && hb_expire_hidden(shard);
	spin_lock(&shard->lock);
	now = hb_clock_now(&shard->belt->clock);
	entry = hb_nearest_entry(shard, HB_PLAIN, now, &deadline);
	if (entry && hb_evicts(shard->belt) && deadline > now)
		entry = hb_find_unread(shard, &search, now);
	if (entry)
		hb_evict_entry(shard, entry, now, HASHBELT_EVICTED);
	spin_unlock(&shard->lock);
	return deadline != HB_NOTHING;
}

/*
 * Frees memory for a larger index, in the steps of hb_free_memory(). Return: false if there is
 * none.
 */
static bool make_table_room(struct hashbelt_belt *belt, unsigned int *step)
{
	if (!hb_free_memory(belt->account, belt, 2 * hb_index_bytes(&belt->index), step))
		return false;
	/* The next attempt need not wait. */
	WRITE_ONCE(belt->index.retry, jiffies);
	return true;
}

/**
 * hb_make_chains() - make a shard take a further key
 * @belt:	the belt
 * @shard:	the shard of the key
 *
 * Enlarges the index if the shard is overfull. If there is no memory for that, takes what has
 * expired out of the shard, or another entry, if the belt evicts; then what has expired in the
 * other belts of the account.
 *
 * Context: may sleep. Return: 0: the caller is to try; -EDQUOT, -ENOSPC or -ENOMEM: why there is
 * no larger table; -EINTR: the caller is being killed.
 */
int hb_make_chains(struct hashbelt_belt *belt, struct hb_shard *shard)
{
	/* Not the first step, which has the caller try again though nothing may be free. */
	unsigned int step = 1;
	int err;

	while (hb_is_overfull(belt, shard)) {
		err = enlarge_index(belt, shard);
		if (err && (err == -EINTR || !(evict_in(shard) || make_table_room(belt, &step))))
			return err;
		cond_resched();
	}
	return 0;
}
