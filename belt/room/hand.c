// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hands: which plain entry leaves a full belt.
 *
 * The order is that of SIEVE (Zhang and others, "SIEVE is Simpler than LRU", NSDI 2024), with terms
 * and ghosts, which SIEVE has not. docs/design.md, "Which entry goes", has rules and an example.
 *
 * The hand that is furthest behind moves: that of the least lap, and then of the least deadline. Of
 * equal hands that of the put's shard moves, so that a shard gives up as many entries as it gets.
 * Readers set HB_READ without a lock.
 */
#include <linux/compiler.h>

#include "belt/belt.h"
#include "belt/shard/shard.h"
#include "hand.h"
#include "nearest.h"

static bool is_before(const struct hb_place *a, const struct hb_place *b)
{
	return a->lap < b->lap || (a->lap == b->lap && a->deadline < b->deadline);
}

/*
 * The place of a shard's hand. A hand that is to join the others has the place of the last
 * eviction; if that is behind an entry of the shard, the hand begins with the next lap. A hint
 * without the shard's lock.
 */
static struct hb_place place_of(const struct hb_shard *shard)
{
	const struct hb_place *last = &shard->belt->hand;
	struct hb_place place = {
		.lap = READ_ONCE(shard->hand.lap), .deadline = READ_ONCE(shard->hand.deadline),
	};

	if (place.lap)
		return place;
	place.lap = READ_ONCE(last->lap);
	place.deadline = READ_ONCE(last->deadline);
	if (READ_ONCE(shard->nearest[HB_PLAIN]) < place.deadline) {
		place.lap++;
		place.deadline = 0;
	}
	return place;
}

/* Moves the hand to the start of the wheel. */
static void begin_lap(struct hb_shard *shard, const struct hb_place *place)
{
	lockdep_assert_held(&shard->lock);
	WRITE_ONCE(shard->hand.lap, place->lap);
	WRITE_ONCE(shard->hand.deadline, place->deadline);
	shard->evicted = 0;
	hb_hand_rewind(&shard->wheel);
}

/*
 * Finds the shard whose hand is to move; NULL: no shard has a plain entry that may leave. Places
 * are read without locks.
 */
static void find_hand(struct hashbelt_belt *belt, struct hb_search *search)
{
	unsigned int shards = 1u << belt->shard_bits, i;
	unsigned int first = search->home ? search->home - belt->shards : 0;
	struct hb_place place, least = { .lap = U64_MAX };
	struct hb_shard *shard;

	search->shard = NULL;
	search->second_place = least;
	for (i = 0; i < shards; i++) {
		shard = &belt->shards[(first + i) & (shards - 1)];
		if (READ_ONCE(shard->nearest[HB_PLAIN]) == HB_NOTHING ||
		    (shard == search->home && search->home_bound == HB_NOTHING))
			continue;
		place = place_of(shard);
		if (is_before(&place, &least)) {
			search->second_place = least;
			least = place;
			search->shard = shard;
		} else if (is_before(&place, &search->second_place)) {
			search->second_place = place;
		}
	}
}

/* The hand has come to @node. The deadline of a refreshed entry does not say where that stands. */
static void set_place(struct hb_shard *shard, const struct hb_node *node)
{
	lockdep_assert_held(&shard->lock);
	if (!hb_hand_is_late(&shard->wheel, node))
		WRITE_ONCE(shard->hand.deadline, hb_node_deadline(node));
}

/*
 * Counts an entry that was protected in the last term, when the hand meets it first in this one.
 * The keys that are in use change if more than a third of these entries were not read. A quarter of
 * the shard's entries have to be seen: in a bucket the hand meets the oldest first.
 */
static void count_protected(struct hb_shard *shard, const struct hashbelt_entry *entry)
{
	u32 hash = hb_hash_of(entry);
	u64 seen;

	lockdep_assert_held(&shard->lock);
	if ((hash & HB_TERM) != hb_last_term(shard->term))
		return;
	if (hash & HB_READ)
		shard->protected_read++;
	else
		shard->protected_unread++;
	seen = shard->protected_read + shard->protected_unread;
	if (4 * seen >= shard->live)
		shard->unstable = 3 * shard->protected_unread > seen;
}

/*
 * Counts a new entry whose key has a ghost. As many new entries have to be seen as the shard has,
 * and a batch at least.
 */
static void count_ghost_hit(struct hb_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	shard->ghost_hits++;
	if (shard->added < HB_BATCH || shard->added < shard->live)
		return;
	shard->ignores_ghosts = 2 * shard->ghost_hits > shard->added;
	shard->added = 0;
	shard->ghost_hits = 0;
}

/*
 * A new entry whose key has a ghost is protected: the key is in use for longer than its entry was
 * in the belt. With the number of the next term the hand lets it stay once. Where the keys that are
 * in use change, it stays for the rest of this term. Under the shard's lock; before the entry is in
 * the index.
 */
void hb_ghost_hit(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	u32 term = shard->unstable ? shard->term : hb_next_term(shard->term);

	lockdep_assert_held(&shard->lock);
	count_ghost_hit(shard);
	if (!shard->ignores_ghosts)
		entry->hash = (entry->hash & ~HB_TERM) | term;
}

/*
 * The hand has come to an entry. A refreshed one that stays goes to the bucket of its deadline.
 * Return: true if it stays.
 */
static bool hand_skips(struct hb_shard *shard, struct hb_search *search,
		       struct hashbelt_entry *entry, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;

	lockdep_assert_held(&shard->lock);
	if (!*search->passes || (!hb_is_live(belt, entry, now) && !hb_lives_on(belt, entry)))
		return false;
	count_protected(shard, entry);
	if (!hb_second_chance(entry, shard->term))
		return false;
	--*search->passes;
	if (hb_hand_is_late(&shard->wheel, &entry->node)) {
		hb_wheel_del(&shard->wheel, &entry->node);
		hb_wheel_add(&shard->wheel, &entry->node, now);
	}
	return true;
}

static void end_term(struct hb_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	shard->term = hb_next_term(shard->term);
	shard->protected_read = 0;
	shard->protected_unread = 0;
}

/*
 * The hand has come to the end, and goes back to the start. Makes the shard's bound exact: it may
 * have no entry but the spared one. Return: an entry to evict if the hand cannot see all of them.
 */
static struct hashbelt_entry *end_lap(struct hb_shard *shard, struct hb_search *search, u64 now)
{
	struct hb_place start = { .lap = shard->hand.lap + 1 };
	struct hashbelt_entry *entry;
	u64 deadline;

	lockdep_assert_held(&shard->lock);
	if (2 * shard->evicted < shard->live)
		end_term(shard);
	begin_lap(shard, &start);
	entry = hb_find_nearest(shard, search, now, &deadline);
	return hb_is_unloading(shard) ? entry : NULL;
}

/*
 * Moves the hand of a shard by HB_BATCH entries at most. Return: the entry that is to leave, which
 * is in the belt until the caller takes it out; NULL: search again.
 */
struct hashbelt_entry *hb_find_unread(struct hb_shard *shard, struct hb_search *search, u64 now)
{
	const struct list_head *head = NULL;
	struct hb_place place = place_of(shard);
	struct hashbelt_entry *spared, *entry;
	unsigned int left;
	bool again;

	lockdep_assert_held(&shard->lock);
	spared = hb_find_spared(shard, search, now);
	if (!shard->hand.lap)
		begin_lap(shard, &place);
	for (left = HB_BATCH; left; left--) {
		struct hb_node *node = hb_hand_node(&shard->wheel, &again);

		if (!node)
			return again ? NULL : end_lap(shard, search, now);
		set_place(shard, node);
		/*
		 * In a bucket of a large shard the hand may go ahead of others: comparing all
		 * shards for each entry would cost more than that order is worth.
		 */
		if ((head != shard->wheel.hand.head || shard->count <= HB_BATCH) &&
		    is_before(&search->second_place, &shard->hand))
			return NULL;
		head = shard->wheel.hand.head;
		hb_hand_pass(&shard->wheel);
		entry = container_of(node, struct hashbelt_entry, node);
		if (entry == spared || hand_skips(shard, search, entry, now))
			continue;
		shard->evicted++;
		return entry;
	}
	return NULL;
}

/*
 * Takes out the entry that hb_find_unread() has returned. The shard's bound stays a bound. To make
 * it exact is to search the wheel from its start: only the shrinker, which compares belts by their
 * bounds, needs that.
 */
static void evict_unread(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now,
			 enum hashbelt_reason reason)
{
	struct hb_place *last = &shard->belt->hand;
	struct hb_node *node;
	bool again;
	u64 bound;

	lockdep_assert_held(&shard->lock);
	WRITE_ONCE(last->lap, shard->hand.lap);
	WRITE_ONCE(last->deadline, shard->hand.deadline);
	hb_evict_entry(shard, entry, now, reason);
	if (reason == HASHBELT_PRESSURE) {
		hb_nearest_entry(shard, HB_PLAIN, now, &bound);
		hb_set_bound(shard, HB_PLAIN, bound);
	}
	node = hb_hand_node(&shard->wheel, &again);
	if (node)
		set_place(shard, node);
}

/*
 * Takes out the first plain entry that the hands do not skip. They skip *@passes entries at most,
 * which are subtracted from it. Return: its size, 0 if there is none.
 */
size_t hb_evict_by_hand(struct hashbelt_belt *belt, enum hashbelt_reason reason,
			const struct hashbelt_entry *put, unsigned int *passes)
{
	struct hb_search search = {
		.class = HB_PLAIN, .put = put, .passes = passes,
		.home = put ? hb_shard_of(belt, hb_hash_of(put)) : NULL,
	};
	struct hashbelt_entry *entry;
	size_t size = 0;
	u64 now;

	while (!size) {
		find_hand(belt, &search);
		if (!search.shard)
			return 0;
		spin_lock(&search.shard->lock);
		now = hb_clock_now(&belt->clock);
		entry = hb_find_unread(search.shard, &search, now);
		if (entry) {
			size = hb_entry_size(entry);
			evict_unread(search.shard, entry, now, reason);
		}
		spin_unlock(&search.shard->lock);
	}
	return size;
}
