// SPDX-License-Identifier: GPL-2.0-only
/*
 * The search by deadline: the entry of a belt whose deadline is the earliest.
 *
 * Each shard has a lower bound of the deadlines of its plain entries, and one for its entries of
 * other kinds. An eviction searches the wheel of the shard whose bound is the least. That search
 * makes the bound exact. If another shard has a lower one then, the eviction goes on there. So it
 * searches two shards as a rule, and not all of them.
 *
 * An eviction for a put spares the entry that the put replaces, and the fill lease of its key.
 */
#include <linux/minmax.h>

#include "belt/belt.h"
#include "belt/ground/trace.h"
#include "belt/shard/shard.h"
#include "nearest.h"

/*
 * Finds the shard to search next, the one with the least bound. The spared entry does not count.
 * The bounds are read without locks: the search of the shard tells whether they were right.
 */
void hb_search_shard(struct hashbelt_belt *belt, struct hb_search *search)
{
	struct hb_shard *shard;

	search->least = HB_NOTHING;
	search->second = HB_NOTHING;
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		u64 nearest = READ_ONCE(shard->nearest[search->class]);

		if (shard == search->home)
			nearest = max(nearest, search->home_bound);
		if (nearest < search->least) {
			search->second = search->least;
			search->least = nearest;
			search->shard = shard;
		} else {
			search->second = min(search->second, nearest);
		}
	}
}

/*
 * The entry of a shard with the earliest deadline, which stays in the belt. *@bound: returned, that
 * deadline; HB_NOTHING: there is no entry; 0: not known, search again.
 */
struct hashbelt_entry *hb_nearest_entry(struct hb_shard *shard, enum hb_class class, u64 now,
					u64 *bound)
{
	struct hb_node *node, *old;
	bool again = false;

	lockdep_assert_held(&shard->lock);
	node = hb_wheel_nearest(hb_wheel_of(shard, class), now, &again);
	if (class == HB_PLAIN && shard->old.level[0]) {
		old = hb_wheel_nearest(&shard->old, now, &again);
		if (old && (!node || hb_node_deadline(old) <
				     hb_node_deadline(node)))
			node = old;
	}
	if (again) {
		*bound = 0;
		return NULL;
	}
	*bound = node ? hb_node_deadline(node) : HB_NOTHING;
	return node ? container_of(node, struct hashbelt_entry, node) : NULL;
}

/*
 * The entry that a put replaces, or the fill lease of its key, if it is in this shard and has not
 * expired.
 */
struct hashbelt_entry *hb_find_spared(struct hb_shard *shard, const struct hb_search *search,
				      u64 now)
{
	const struct hashbelt_entry *put = search->put;
	u32 kind = search->class == HB_PLAIN ? HB_ENTRY : HB_FILL;

	lockdep_assert_held(&shard->lock);
	/* The key of a request is no key of a user. */
	if (shard != search->home || hb_ops(put)->own_keys)
		return NULL;
	return hb_peek(shard, (hb_hash_of(put) & HB_HASH) | kind, put->data, put->key_len, now);
}

/* Sets a shard's bound of a class. A shard without plain entries has no part in laps. */
void hb_set_bound(struct hb_shard *shard, enum hb_class class, u64 bound)
{
	lockdep_assert_held(&shard->lock);
	WRITE_ONCE(shard->nearest[class], bound);
	if (class == HB_PLAIN && bound == HB_NOTHING)
		WRITE_ONCE(shard->hand.lap, 0);
}

/*
 * The entry of a shard that may be evicted first, which stays in the belt, with its deadline in
 * *@deadline. Makes the shard's bound exact, or 0 where the search is to be repeated.
 */
struct hashbelt_entry *hb_find_nearest(struct hb_shard *shard, struct hb_search *search, u64 now,
				       u64 *deadline)
{
	struct hashbelt_entry *entry, *spared;

	lockdep_assert_held(&shard->lock);
	entry = hb_nearest_entry(shard, search->class, now, deadline);
	spared = hb_find_spared(shard, search, now);
	hb_set_bound(shard, search->class, *deadline);
	if (spared && entry == spared) {
		hb_wheel_del(&shard->wheel, &spared->node);
		entry = hb_nearest_entry(shard, search->class, now, deadline);
		hb_wheel_add(hb_wheel_of(shard, search->class), &spared->node, now);
	}
	if (shard == search->home)
		search->home_bound = *deadline;
	return entry;
}

/*
 * Takes out an entry that was found under the same hold of the lock. If it has expired, it leaves
 * as expired, unless it would live on then. A request may just have been completed by another task,
 * which takes it out. The entry is not the caller's afterwards: it is freed a grace period later.
 */
void hb_evict_entry(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now,
		    enum hashbelt_reason reason)
{
	struct hashbelt_belt *belt = shard->belt;
	bool cleared = hb_is_cleared(belt, entry);
	u64 deadline = hb_node_deadline(&entry->node);

	lockdep_assert_held(&shard->lock);
	if (hb_expire_due(shard, entry, now))
		return;
	if (!hb_take_out(shard, entry, cleared ? HASHBELT_CLEARED : reason, now) || cleared)
		return;
	/* It is not freed before the lock is given up. */
	trace_hashbelt_evict(belt->id, entry, reason, deadline);
	hb_count(belt, reason == HASHBELT_PRESSURE ? HASHBELT_STAT_PRESSURE :
						     HASHBELT_STAT_EVICTED);
}

/*
 * Takes out the entry of @class with the earliest deadline, if that is not after @until, but none
 * that is spared for @put. Return: its size, 0 if there is none.
 */
size_t hb_evict_nearest(struct hashbelt_belt *belt, enum hb_class class,
			enum hashbelt_reason reason, u64 until, const struct hashbelt_entry *put)
{
	struct hb_search search = {
		.class = class, .put = put, .home = put ? hb_shard_of(belt, hb_hash_of(put)) : NULL,
	};
	struct hashbelt_entry *entry;
	u64 now, deadline;
	size_t size = 0;

	while (!size) {
		hb_search_shard(belt, &search);
		if (search.least > until)
			return 0;
		spin_lock(&search.shard->lock);
		now = hb_clock_now(&belt->clock);
		entry = hb_find_nearest(search.shard, &search, now, &deadline);
		if (entry && deadline <= search.second && deadline <= until) {
			size = hb_entry_size(entry);
			hb_evict_entry(search.shard, entry, now, reason);
		}
		spin_unlock(&search.shard->lock);
	}
	return size;
}
