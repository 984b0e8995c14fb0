// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eviction: which entry leaves when there is no room, and the shrinker.
 *
 * Expired entries leave first. After them, a hand goes through the plain entries in the order of
 * their deadlines, as in SIEVE (Zhang and others, "SIEVE is Simpler than LRU", NSDI 2024). An entry
 * that was read since the hand last passed it has a mark: it loses the mark and stays where it is,
 * for the rest of the *term*. A new entry whose key had left not long before has another mark, with
 * which it stays once. Other entries leave. A term ends with a lap in which the hand has evicted
 * less than half as many entries as its shard has. In SIEVE a term is a lap; but where new entries
 * arrive all over the order, and not at its end alone, laps are short, and an entry has less time
 * to be read in one. Where many of the entries that stayed in a term are not read in the next one,
 * the keys that are in use change: there a new entry whose key had left stays for the whole term,
 * until a term ends with few of them. Where the keys of most new entries had left not long before,
 * that does not tell one from another: none of them has the second mark. With
 * HASHBELT_EVICT_DEADLINE, and on belts that do not evict, the plain entry with the earliest
 * deadline leaves, read or not. Fill leases and requests leave when no plain entry is left: a fill
 * lease that left early would let all callers that miss its key fill it.
 *
 * Each shard has a lower bound of its deadlines for both classes. An eviction by deadline looks at
 * the shard with the least bound, which makes that bound exact, until it is still the least: mostly
 * at two shards and not at all of them. Inside a shard hb_wheel_nearest() finds the entry.
 *
 * Each shard has a hand of its own, and the one that is furthest behind moves: that of the least
 * lap, and in this lap of the least deadline. So together they go through the entries as one hand
 * would. Where places are equal, that of the put's shard moves: then each shard gives up as many
 * entries as it gets. The marks are bits of the entry's hash. Readers set one without a lock.
 *
 * When the system is short of memory the shrinker does the same to the belt whose next entry has
 * the least time left, a few entries at a time. It compares 64 belts at a time, those that it
 * compared longest ago, of those that have entries and are not pinned (mark.c). When a memory
 * cgroup is at its limit, it chooses among the belts that tasks in that cgroup have made.
 *
 * Any allocation may call the shrinker, also one of this module. So it takes only the lock of the
 * list of belts, shards' locks and those inside of them, under which no memory is allocated that
 * could call the shrinker, and it waits for this module's own work for at most LIMBO_WAIT.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/vmstat.h>

#include "belt.h"
#include "compat.h"
#include "evict.h"
#include "limbo.h"
#include "mark.h"
#include "queue.h"
#include "shard.h"
#include "trace.h"
#include "usage.h"

/*
 * Entries that the shrinker takes from a belt before it compares belts again. With 100 belts of 100
 * entries, an entry takes 15,100 instructions with 1, 2700 with 16, and 1800 with 128
 * (tests/memory/evict_test.c). With 128, limit_test.c finds the order of deadlines violated.
 */
#define SHRINK_BATCH	16UL

/*
 * Jiffies after which a call of the shrinker stops. Where one of 131,072 belts has all entries, it
 * would look at all belts for each batch, at 127 instructions a belt.
 */
#define SHRINK_LASTS	DIV_ROUND_UP(HZ, 50)

/*
 * Bytes that direct reclaim evicts before it waits, and for how many jiffies. Of 50,331 entries
 * that fill half of a cgroup, tests/memory/cgroup_test.c finds 12,699 left with 1 MiB, 10,395 with
 * 4 MiB, and none with 16 MiB. With a wait of one jiffy, the OOM killer killed in one of two runs
 * of tests/memory/squeeze_test.c.
 */
#define LIMBO_MUCH	SZ_1M
#define LIMBO_WAIT	DIV_ROUND_UP(HZ, 50)

/*
 * Jiffies after an eviction in which direct reclaim waits if it finds nothing. If it did not wait
 * then, the OOM killer killed in one of five runs of squeeze_test.c, and in none of five with it.
 */
#define LIMBO_LASTS	(HZ / 2)

/*
 * Attempts to allocate an entry after the first; all but one of these evict some entries before.
 * Other writers may take that memory. Without hb_evict_ahead(), of 20,000 puts of 16 writers in
 * tests/memory/writers_test.c 126 or more fail with 2 attempts, 53 or more with 3, 18 to 41 with 4,
 * and 17 to 30 with 5. With it, none fails with 4.
 */
#define ALLOC_TRIES	4

/*
 * Bytes that an allocation at a limit takes of what has expired, if it needs fewer itself, because
 * it waits for a grace period; and the belts from which it takes before that.
 */
#define TAKE_LEAST		SZ_16K
#define TAKE_BELTS		16

/*
 * Belts that the shrinker compares at a time, under the lock of their list. With 2000 belts of five
 * entries, an entry takes 5700 instructions; it took 52,000 when all belts were compared
 * (tests/memory/evict_test.c).
 */
#define COMPARE_MOST	64UL

/*
 * Entries that hands let stay in one go: for one eviction, a batch of them, or the entries that the
 * shrinker takes in one RCU read-side section. The next one leaves, read or not. Where all of
 * 100,000 entries were read, the first eviction would pass 100,000 otherwise.
 */
#define PASS_MOST	1024

static struct shrinker *shrinker;
static bool ready;	/* hb_marks is: before 6.7 callbacks may come earlier */

/**
 * struct search - for the entry with the earliest deadline, or by the hands
 * @class:	of the entry that is searched for
 * @put:	the entry to make room for; the entry that it replaces and the fill lease of its key
 *		are spared; or NULL
 * @home:	the shard of @put
 * @others:	lower bound of the deadlines in @home but for the spared entry's
 * @shard:	returned: the shard whose bound is the least
 * @least:	returned: that bound, or HB_NOTHING
 * @next:	returned: the least bound of the other shards
 * @then:	returned, by the hands: the least place of the hands of the other shards
 * @passes:	entries that hands may still let stay; it may be shared by several searches
 */
struct search {
	enum hb_class class;
	const struct hashbelt_entry *put;
	const struct hb_shard *home;
	u64 others;
	struct hb_shard *shard;
	u64 least;
	u64 next;
	struct hb_place then;
	unsigned int *passes;
};

static void find_shard(struct hashbelt_belt *belt, struct search *search)
{
	struct hb_shard *shard;

	search->least = HB_NOTHING;
	search->next = HB_NOTHING;
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		u64 nearest = READ_ONCE(shard->nearest[search->class]);

		if (shard == search->home)
			nearest = max(nearest, search->others);
		if (nearest < search->least) {
			search->next = search->least;
			search->least = nearest;
			search->shard = shard;
		} else {
			search->next = min(search->next, nearest);
		}
	}
}

/*
 * The entry of a shard with the earliest deadline. *@bound: returned, that deadline; HB_NOTHING:
 * there is no entry; 0: not known, search again.
 */
static struct hashbelt_entry *nearest_entry(struct hb_shard *shard, enum hb_class class, u64 now,
					    u64 *bound)
{
	bool again = false;
	struct hb_node *node = hb_wheel_nearest(hb_wheel_of(shard, class), now, &again), *old;

	lockdep_assert_held(&shard->lock);
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
static struct hashbelt_entry *find_spared(struct hb_shard *shard, const struct search *search,
					  u64 now)
{
	const struct hashbelt_entry *put = search->put;
	u32 kind = search->class == HB_PLAIN ? HB_ENTRY : HB_FILL;

	/* The key of a request is no key of a user. */
	if (shard != search->home || hb_kind(put) == HB_REQUEST)
		return NULL;
	return hb_peek(shard, (hb_hash_of(put) & HB_HASH) | kind, put->data, put->key_len, now);
}

/* Sets a shard's bound of a class. A shard without plain entries has no part in laps. */
static void set_bound(struct hb_shard *shard, enum hb_class class, u64 bound)
{
	WRITE_ONCE(shard->nearest[class], bound);
	if (class == HB_PLAIN && bound == HB_NOTHING)
		WRITE_ONCE(shard->hand.lap, 0);
}

/*
 * The entry of a shard that may be evicted first, with its deadline in *@deadline. Makes the
 * shard's bound exact, or 0 where the search is to be repeated.
 */
static struct hashbelt_entry *find_nearest(struct hb_shard *shard, struct search *search, u64 now,
					   u64 *deadline)
{
	struct hashbelt_entry *entry = nearest_entry(shard, search->class, now, deadline);
	struct hashbelt_entry *spared = find_spared(shard, search, now);

	set_bound(shard, search->class, *deadline);
	if (unlikely(spared && entry == spared)) {
		hb_wheel_del(&shard->wheel, &spared->node);
		entry = nearest_entry(shard, search->class, now, deadline);
		hb_wheel_add(hb_wheel_of(shard, search->class), &spared->node, now);
	}
	if (shard == search->home)
		search->others = *deadline;
	return entry;
}

/*
 * Takes out what find_nearest() found. If it has expired, it leaves as expired, unless it would
 * live on then. A request may just have been completed by another task, which takes it out.
 */
static void evict_entry(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now,
			enum hashbelt_reason reason)
{
	struct hashbelt_belt *belt = shard->belt;
	bool cleared = hb_is_cleared(belt, entry);
	u64 deadline = hb_node_deadline(&entry->node);

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
 * that is spared for @put. Returns its size, 0 if there is none.
 */
static size_t evict_from(struct hashbelt_belt *belt, enum hb_class class,
			 enum hashbelt_reason reason, u64 until, const struct hashbelt_entry *put)
{
	struct search search = {
		.class = class, .put = put, .home = put ? hb_shard_of(belt, hb_hash_of(put)) : NULL,
	};
	struct hashbelt_entry *entry;
	u64 now, deadline;
	size_t size = 0;

	while (!size) {
		find_shard(belt, &search);
		if (search.least > until)
			return 0;
		spin_lock(&search.shard->lock);
		now = hb_clock_now(&belt->clock);
		entry = find_nearest(search.shard, &search, now, &deadline);
		if (entry && deadline <= search.next && deadline <= until) {
			size = hb_entry_size(entry);
			evict_entry(search.shard, entry, now, reason);
		}
		spin_unlock(&search.shard->lock);
	}
	return size;
}

/* Eviction by the hands */

static bool is_before(const struct hb_place *a, const struct hb_place *b)
{
	return a->lap < b->lap || (a->lap == b->lap && a->deadline < b->deadline);
}

/*
 * The place of a shard's hand. One that is to join the others has the place of the last eviction;
 * if that has passed all entries of the shard or some, they are for the next lap.
 */
static struct hb_place place_of(const struct hb_shard *shard)
{
	const struct hb_place *last = &shard->belt->hand;
	struct hb_place place = {
		.lap = READ_ONCE(shard->hand.lap), .deadline = READ_ONCE(shard->hand.deadline),
	};

	if (likely(place.lap))
		return place;
	place.lap = READ_ONCE(last->lap);
	place.deadline = READ_ONCE(last->deadline);
	if (READ_ONCE(shard->nearest[HB_PLAIN]) < place.deadline) {
		place.lap++;
		place.deadline = 0;
	}
	return place;
}

/* Moves the hand to the start, as often as it comes to the end, and when it joins the others. */
static void begin_lap(struct hb_shard *shard, const struct hb_place *place)
{
	WRITE_ONCE(shard->hand.lap, place->lap);
	WRITE_ONCE(shard->hand.deadline, place->deadline);
	shard->evicted = 0;
	hb_hand_rewind(&shard->wheel);
}

/* Finds the shard whose hand is to move; NULL: no shard has a plain entry. */
static void find_hand(struct hashbelt_belt *belt, struct search *search)
{
	unsigned int shards = 1u << belt->shard_bits, i;
	unsigned int first = search->home ? search->home - belt->shards : 0;
	struct hb_place place, least = { .lap = U64_MAX };
	struct hb_shard *shard;

	search->shard = NULL;
	search->then = least;
	for (i = 0; i < shards; i++) {
		shard = &belt->shards[(first + i) & (shards - 1)];
		if (READ_ONCE(shard->nearest[HB_PLAIN]) == HB_NOTHING ||
		    (shard == search->home && search->others == HB_NOTHING))
			continue;
		place = place_of(shard);
		if (is_before(&place, &least)) {
			search->then = least;
			least = place;
			search->shard = shard;
		} else if (is_before(&place, &search->then)) {
			search->then = place;
		}
	}
}

/*
 * The place of a hand that has come to @node. The deadline of a refreshed entry says nothing about
 * where it stands.
 */
static void set_place(struct hb_shard *shard, const struct hb_node *node)
{
	if (!hb_hand_is_late(&shard->wheel, node))
		WRITE_ONCE(shard->hand.deadline, hb_node_deadline(node));
}

/*
 * Counts an entry that stayed in the last term, when the hand meets it first in this one. The keys
 * that are in use change if more than a third of these entries were not read. A quarter of the
 * shard's entries have to be counted: in a bucket the hand meets the oldest first.
 */
static void count_stayed(struct hb_shard *shard, const struct hashbelt_entry *entry)
{
	u32 hash = hb_hash_of(entry);
	u64 stayed;

	if ((hash & HB_TERM) != hb_last_term(shard->term))
		return;
	if (hash & HB_READ)
		shard->renewed++;
	else
		shard->stale++;
	stayed = shard->renewed + shard->stale;
	if (4 * stayed >= shard->live)
		shard->shifts = 3 * shard->stale > stayed;
}

/*
 * Counts a new entry whose key has a ghost. As many new entries have to be seen as the shard has,
 * and a batch at least.
 */
static void count_back(struct hb_shard *shard)
{
	shard->back++;
	if (shard->added < HB_BATCH || shard->added < shard->live)
		return;
	shard->common = 2 * shard->back > shard->added;
	shard->added = 0;
	shard->back = 0;
}

/*
 * A new entry whose key has a ghost is marked: the key is in use for longer than its entry was in
 * the belt. Under the shard's lock; before the entry is in the index.
 */
void hb_come_back(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	count_back(shard);
	if (!shard->common)
		hb_mark_again(entry, shard->term, shard->shifts);
}

/*
 * The hand passes an entry. True if the entry stays. A refreshed entry goes to the bucket of its
 * deadline.
 */
static bool pass(struct hb_shard *shard, struct search *search, struct hashbelt_entry *entry,
		 u64 now)
{
	struct hashbelt_belt *belt = shard->belt;

	if (!*search->passes || (!hb_is_live(belt, entry, now) && !hb_lives_on(belt, entry)))
		return false;
	count_stayed(shard, entry);
	if (!hb_keep_read(entry, shard->term))
		return false;
	--*search->passes;
	if (unlikely(hb_hand_is_late(&shard->wheel, &entry->node))) {
		hb_wheel_del(&shard->wheel, &entry->node);
		hb_wheel_add(&shard->wheel, &entry->node, now);
	}
	return true;
}

static void end_term(struct hb_shard *shard)
{
	shard->term = hb_next_term(shard->term);
	shard->renewed = 0;
	shard->stale = 0;
}

/*
 * The hand has come to the end, and goes back to the start. Makes the shard's bound exact: it may
 * have no entry but the spared one. Returns an entry to evict if the hand cannot see all of them.
 */
static struct hashbelt_entry *end_lap(struct hb_shard *shard, struct search *search, u64 now)
{
	struct hb_place start = { .lap = shard->hand.lap + 1 };
	struct hashbelt_entry *entry;
	u64 deadline;

	if (2 * shard->evicted < shard->live)
		end_term(shard);
	begin_lap(shard, &start);
	entry = find_nearest(shard, search, now, &deadline);
	return hb_is_unloading(shard) ? entry : NULL;
}

/*
 * Moves the hand of a shard by HB_BATCH entries at most. Returns the entry that leaves; NULL:
 * search again.
 */
static struct hashbelt_entry *find_unread(struct hb_shard *shard, struct search *search, u64 now)
{
	struct hashbelt_entry *spared = find_spared(shard, search, now), *entry;
	const struct list_head *head = NULL;
	struct hb_place place = place_of(shard);
	unsigned int left;
	bool again;

	if (unlikely(!shard->hand.lap))
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
		    is_before(&search->then, &shard->hand))
			return NULL;
		head = shard->wheel.hand.head;
		hb_hand_pass(&shard->wheel);
		entry = container_of(node, struct hashbelt_entry, node);
		if (entry == spared || pass(shard, search, entry, now))
			continue;
		shard->evicted++;
		return entry;
	}
	return NULL;
}

/*
 * Takes out the entry that find_unread() has returned. The shard's bound stays a bound. Making it
 * exact again would search the wheel from its start; for the shrinker, which compares belts by
 * their bounds, that is done.
 */
static void evict_unread(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now,
			 enum hashbelt_reason reason)
{
	struct hb_place *last = &shard->belt->hand;
	struct hb_node *node;
	bool again;
	u64 bound;

	WRITE_ONCE(last->lap, shard->hand.lap);
	WRITE_ONCE(last->deadline, shard->hand.deadline);
	evict_entry(shard, entry, now, reason);
	if (reason == HASHBELT_PRESSURE) {
		nearest_entry(shard, HB_PLAIN, now, &bound);
		set_bound(shard, HB_PLAIN, bound);
	}
	node = hb_hand_node(&shard->wheel, &again);
	if (node)
		set_place(shard, node);
}

/*
 * Takes out the plain entry that the hands come to first, past *@passes that stay at most.
 * Returns as evict_from().
 */
static size_t evict_by_hand(struct hashbelt_belt *belt, enum hashbelt_reason reason,
			    const struct hashbelt_entry *put, unsigned int *passes)
{
	struct search search = {
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
		entry = find_unread(search.shard, &search, now);
		if (entry) {
			size = hb_entry_size(entry);
			evict_unread(search.shard, entry, now, reason);
		}
		spin_unlock(&search.shard->lock);
	}
	return size;
}

/*
 * As evict_from(), for entries that have expired. On a belt that reinserts, the expiry of plain
 * entries makes no room.
 */
static size_t evict_expired(struct hashbelt_belt *belt, enum hb_class class,
			    enum hashbelt_reason reason, const struct hashbelt_entry *put)
{
	if (class == HB_PLAIN && READ_ONCE(belt->handler) == HASHBELT_REINSERT)
		return 0;
	return evict_from(belt, class, reason, hb_clock_now(&belt->clock), put);
}

/* The expiry of a plain entry frees its memory: it gets no new deadline, and is no event then. */
static bool frees_by_expiring(const struct hashbelt_belt *belt)
{
	return READ_ONCE(belt->handler) != HASHBELT_REINSERT &&
	       !hb_reports(belt, HASHBELT_EXPIRED);
}

/* A plain entry of the shard may have expired where evict_expired() does not see it. A hint. */
static bool hides_expired(const struct hb_shard *shard, u64 now)
{
	return READ_ONCE(shard->hastened) || READ_ONCE(shard->wheel.ahead) <= now;
}

/*
 * Drains a batch of plain entries, from buckets that have fallen off by @until. Adds the number of
 * those that have expired to *@expired. True if there are more.
 */
static bool drain_plain(struct hb_shard *shard, u64 until, unsigned int *expired)
{
	struct hb_drain_result result = { .expired = LIST_HEAD_INIT(result.expired) };
	struct hashbelt_belt *belt = shard->belt;
	bool more;
	u64 now;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	more = hb_wheel_drain(&shard->wheel, until, now, HB_BATCH, &result);
	*expired += hb_expire_drained(shard, &result, now);
	if (!more)
		WRITE_ONCE(shard->hastened, false);
	/* The worker drains what a task leaves that is being killed. */
	WRITE_ONCE(shard->next, more ? 0 : hb_shard_next(shard));
	spin_unlock(&shard->lock);
	hb_count_by(belt, HASHBELT_STAT_CASCADED, result.cascaded);
	hb_count_by(belt, HASHBELT_STAT_DRAINED, result.buckets);
	return more;
}

/*
 * Takes out all plain entries of a shard that have expired, also where they stand behind others in
 * their bucket: that is drained before it falls off. After that there are none until belt time
 * reaches the next deadline, so this is done once a tick at most. True if there was one: another
 * task that drains the bucket may have taken it out.
 */
static bool expire_hidden(struct hb_shard *shard)
{
	u64 now = hb_clock_now(&shard->belt->clock);
	unsigned int expired = 0;

	if (likely(!hides_expired(shard, now)))
		return false;
	spin_lock(&shard->lock);
	expired += shard->hastened;
	if (hb_wheel_hasten(&shard->wheel, now))
		WRITE_ONCE(shard->hastened, true);
	spin_unlock(&shard->lock);
	while (drain_plain(shard, now, &expired)) {
		if (fatal_signal_pending(current)) {
			hb_kick_worker(shard->belt);
			break;
		}
		cond_resched();
	}
	return expired;
}

/* expire_hidden() of the shards one after the other, up to the first that had such an entry. */
static bool expire_some_hidden(struct hashbelt_belt *belt)
{
	if (frees_by_expiring(belt))
		hb_for_each_shard(shard, belt)
			if (expire_hidden(shard))
				return true;
	return false;
}

/*
 * Takes out the entry of a class that is the next in the belt's order. @passes as for
 * evict_by_hand(). Returns as evict_from().
 */
static size_t evict_class(struct hashbelt_belt *belt, enum hb_class class,
			  enum hashbelt_reason reason, const struct hashbelt_entry *put,
			  unsigned int *passes)
{
	if (class != HB_PLAIN || !READ_ONCE(belt->unread))
		return evict_from(belt, class, reason, HB_NEVER, put);
	return evict_expired(belt, class, reason, put) ?:
	       evict_by_hand(belt, reason, put, passes);
}

/* Takes out the next entry of the first class that has one. As evict_class(). */
static size_t evict_one(struct hashbelt_belt *belt, enum hashbelt_reason reason,
			const struct hashbelt_entry *put, unsigned int *passes)
{
	return evict_class(belt, HB_PLAIN, reason, put, passes) ?:
	       evict_class(belt, HB_LEASES, reason, put, passes);
}

/* Evicts up to @most entries, one after the other. Returns their number. */
unsigned int hb_evict(struct hashbelt_belt *belt, enum hashbelt_reason reason, unsigned int most)
{
	unsigned int done = 0, passes = PASS_MOST;

	while (done < most && evict_one(belt, reason, NULL, &passes))
		done++;
	return done;
}

/* No entry of a class could make room for @put. Under all shards' locks. */
static bool is_empty(struct hashbelt_belt *belt, enum hb_class class,
		     const struct hashbelt_entry *put, u64 now)
{
	struct search search = {
		.class = class, .put = put, .home = hb_shard_of(belt, hb_hash_of(put)),
	};
	struct hb_shard *shard;
	bool empty = true;
	u64 nearest;

	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		nearest = shard->nearest[class];
		if (shard == search.home && nearest != HB_NOTHING)
			find_nearest(shard, &search, now, &nearest);
		empty &= nearest == HB_NOTHING;
	}
	return empty;
}

/*
 * @put does not fit, even though it ends the entry that it replaces and the fill lease of its key.
 * Under the lock of its shard.
 */
static bool is_too_large(struct hashbelt_belt *belt, const struct hashbelt_entry *put,
			 const struct hb_room *room, u64 now)
{
	s64 entries = 1 - room->entries, bytes = hb_cost(put) - room->bytes;
	struct search search = { .put = put, .home = hb_shard_of(belt, hb_hash_of(put)) };
	const struct hashbelt_entry *ended;

	for (; search.class < HB_CLASSES && !hb_kind(put); search.class++) {
		ended = find_spared(hb_shard_of(belt, hb_hash_of(put)), &search, now);
		entries -= !!ended;
		bytes -= ended ? hb_cost(ended) : 0;
	}
	return !hb_usage_fits(&belt->usage, entries, bytes);
}

/* @put does not fit, and no event could make room. Under all shards' locks. */
static bool lacks_room(struct hashbelt_belt *belt, const struct hashbelt_entry *put,
		       const struct hb_room *room, u64 now)
{
	bool lacks;

	spin_lock(&belt->queue.lock);
	lacks = !belt->queue.waiting.first && is_too_large(belt, put, room, now);
	spin_unlock(&belt->queue.lock);
	return lacks;
}

/*
 * The belt has no room for @put, and no entry that could make room. Without all shards' locks, this
 * could see neither the entry that another put has just replaced nor the new one, which that put is
 * about to add to the wheel. Where other puts have reserved room, this one gives back its own and
 * waits for them: of puts that have reserved all room between them, one finds enough. The last of
 * them may have given back its room just before.
 */
static bool is_exhausted(struct hashbelt_belt *belt, const struct hashbelt_entry *put,
			 struct hb_room *room)
{
	bool exhausted;
	u64 now;

	mutex_lock(&belt->clear_lock);
	hb_lock_all(belt);
	now = hb_clock_now(&belt->clock);
	exhausted = lacks_room(belt, put, room, now) && is_empty(belt, HB_PLAIN, put, now) &&
		    is_empty(belt, HB_LEASES, put, now) && !hb_room_yield(belt, room) &&
		    lacks_room(belt, put, room, now);
	hb_unlock_all(belt);
	mutex_unlock(&belt->clear_lock);
	return exhausted;
}

/* Takes out what may leave for @put. False: there is nothing. */
static bool evict_for(struct hashbelt_belt *belt, const struct hashbelt_entry *put)
{
	unsigned int passes = PASS_MOST;

	if (evict_expired(belt, HB_PLAIN, HASHBELT_EVICTED, put) ||
	    evict_expired(belt, HB_LEASES, HASHBELT_EVICTED, put))
		return true;
	if (READ_ONCE(belt->policy) & HASHBELT_EVICT)
		return evict_one(belt, HASHBELT_EVICTED, put, &passes) ||
		       hb_event_drop_oldest(belt);
	return expire_some_hidden(belt);
}

/**
 * hb_make_room() - make room for an entry, and reserve it
 * @belt:	the belt
 * @put:	the entry
 * @room:	the room that is reserved for it. The caller gives it to hb_usage_add(), and what is
 *		left of it to hb_room_release()
 *
 * Takes out an entry that has expired; else, if the belt evicts, another entry, but neither the one
 * that @put replaces nor the fill lease of its key; else, if it evicts and holds only events, the
 * oldest event.
 *
 * Context: may sleep. Return: true if the caller is to try again; false: there is nothing to take
 * out, all of it would not be enough, or the caller is being killed.
 */
bool hb_make_room(struct hashbelt_belt *belt, const struct hashbelt_entry *put,
		  struct hb_room *room)
{
	bool taken;

	if (hb_cost(put) > READ_ONCE(belt->usage.max_bytes) || READ_ONCE(belt->dead) ||
	    fatal_signal_pending(current))
		return false;
	/* After a limit was lowered one put may have to evict a million entries. */
	cond_resched();
	taken = evict_for(belt, put);
	hb_room_reserve(belt, room, hb_cost(put));
	if (taken)
		return true;
	return READ_ONCE(belt->policy) & HASHBELT_EVICT && !is_exhausted(belt, put, room);
}

/*
 * Evicts the plain entry of a shard that is the next in the belt's order, or searches a part of the
 * way to it; if the belt does not evict, takes out what has expired. False: there is none.
 */
static bool evict_in(struct hb_shard *shard)
{
	unsigned int passes = HB_BATCH - 1;
	struct search search = { .then = { .lap = U64_MAX }, .passes = &passes };
	struct hashbelt_entry *entry;
	u64 now, deadline;

	if (!(READ_ONCE(shard->belt->policy) & HASHBELT_EVICT))
		return frees_by_expiring(shard->belt) && expire_hidden(shard);
	spin_lock(&shard->lock);
	now = hb_clock_now(&shard->belt->clock);
	entry = nearest_entry(shard, HB_PLAIN, now, &deadline);
	if (entry && shard->belt->unread && deadline > now)
		entry = find_unread(shard, &search, now);
	if (entry)
		evict_entry(shard, entry, now, HASHBELT_EVICTED);
	spin_unlock(&shard->lock);
	return deadline != HB_NOTHING;
}

/* Frees memory for a larger index. @step as for hb_free_memory(). False: there is none. */
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
		err = hb_enlarge_index(belt, shard);
		if (err && (err == -EINTR || !(evict_in(shard) || make_table_room(belt, &step))))
			return err;
		cond_resched();
	}
	return 0;
}

/*
 * Expired entries at the limits of the account, the module and a cgroup. A bucket falls off at its
 * end, up to an interval after the deadlines of its entries. Until then they take the memory of new
 * ones: of the same belt, and of the other belts of the account.
 */

/* The belts without an account. */
static struct hb_kin unaccounted;

/* The account may be NULL, or a part. */
static struct hb_kin *kin_of(struct hb_account *account)
{
	return account ? &hb_account_whole(account)->kin : &unaccounted;
}

/* Other tasks may take what has expired in the belt from now on. */
void hb_evict_add_belt(struct hashbelt_belt *belt)
{
	struct hb_kin *kin = kin_of(belt->account);

	spin_lock(&kin->lock);
	list_add_tail(&belt->kin, &kin->belts);
	kin->count++;
	spin_unlock(&kin->lock);
}

/* After this and hb_evict_wait() no other task uses the belt for that. */
void hb_evict_del_belt(struct hashbelt_belt *belt)
{
	struct hb_kin *kin = kin_of(belt->account);

	spin_lock(&kin->lock);
	list_del(&belt->kin);
	kin->count--;
	spin_unlock(&kin->lock);
}

/* Context: may sleep. */
void hb_evict_wait(struct hashbelt_belt *belt)
{
	struct hb_kin *kin = kin_of(belt->account);

	mutex_lock(&kin->reclaim);
	mutex_unlock(&kin->reclaim);
}

/* The latest deadline of entries that have no grace time left. */
static u64 end_of_grace(const struct hashbelt_belt *belt, u64 now)
{
	return now - min(now, READ_ONCE(belt->grace));
}

/* An entry of the belt may have expired whose memory would be free. A hint. */
static bool may_have_expired(struct hashbelt_belt *belt)
{
	u64 now = hb_clock_now(&belt->clock);

	if (!frees_by_expiring(belt))
		return false;
	hb_for_each_shard(shard, belt)
		if (READ_ONCE(shard->nearest[HB_PLAIN]) <= end_of_grace(belt, now) ||
		    READ_ONCE(shard->nearest[HB_LEASES]) <= now || hides_expired(shard, now))
			return true;
	return false;
}

/*
 * Takes *@size bytes of entries that have expired, or as many as there are, and subtracts them from
 * *@size. True if it has taken some.
 */
static bool take_from(struct hashbelt_belt *belt, size_t *size)
{
	bool taken = false;
	size_t bytes;
	u64 until;

	if (!may_have_expired(belt))
		return false;
	while (*size && !fatal_signal_pending(current)) {
		until = end_of_grace(belt, hb_clock_now(&belt->clock));
		bytes = evict_from(belt, HB_PLAIN, HASHBELT_EVICTED, until, NULL) ?:
			evict_expired(belt, HB_LEASES, HASHBELT_EVICTED, NULL);
		if (!bytes)
			break;
		taken = true;
		*size -= min(*size, bytes);
		cond_resched();
	}
	return taken || expire_some_hidden(belt);
}

/*
 * The next of an account's belts, but @own, that is @wanted; NULL: it is not among those that were
 * looked at. A belt that was looked at goes to the end of the list. *@left: number of belts to be
 * looked at.
 */
static struct hashbelt_belt *next_of_kin(struct hb_kin *kin, const struct hashbelt_belt *own,
					 bool (*wanted)(struct hashbelt_belt *belt),
					 unsigned int *left)
{
	struct hashbelt_belt *belt, *found = NULL;
	unsigned int most;

	spin_lock(&kin->lock);
	*left = min(*left, kin->count);
	for (most = min_t(unsigned int, *left, HB_BATCH); most && !found; most--, --*left) {
		belt = list_first_entry(&kin->belts, struct hashbelt_belt, kin);
		list_move_tail(&belt->kin, &kin->belts);
		if (belt != own && wanted(belt))
			found = belt;
	}
	spin_unlock(&kin->lock);
	return found;
}

/*
 * Takes @size bytes of what has expired in an account's belts, but @own, and waits until they are
 * free. Looks at each belt once at most. The grace periods of TAKE_BELTS belts pass together. Under
 * kin->reclaim, which keeps the belts. True if it has taken something.
 */
static bool take_from_kin(struct hb_kin *kin, const struct hashbelt_belt *own, size_t size)
{
	struct hashbelt_belt *belts[TAKE_BELTS], *belt;
	unsigned int left = UINT_MAX, taken = 0, i;

	while (left && size && taken < TAKE_BELTS && !fatal_signal_pending(current)) {
		belt = next_of_kin(kin, own, may_have_expired, &left);
		if (belt && take_from(belt, &size))
			belts[taken++] = belt;
		cond_resched();
	}
	for (i = 0; i < taken; i++)
		hb_limbo_flush(belts[i]);
	return taken;
}

/* Waits for the memory that is in limbo in an account's belts, but @own. False: there is none. */
static bool flush_kin(struct hb_kin *kin, const struct hashbelt_belt *own)
{
	unsigned int left = UINT_MAX;
	struct hashbelt_belt *belt;
	bool flushed = false;

	if (mutex_lock_killable(&kin->reclaim))
		return false;
	while (left && !fatal_signal_pending(current)) {
		belt = next_of_kin(kin, own, hb_is_in_limbo, &left);
		if (belt)
			flushed |= !hb_limbo_flush(belt);
		cond_resched();
	}
	mutex_unlock(&kin->reclaim);
	return flushed;
}

/*
 * Takes @size bytes of what has expired in @belt, which may be NULL, or, if nothing has, in the
 * other belts of the account, and waits until they are free. False: nothing has expired, or the
 * caller is being killed.
 */
static bool take_expired(struct hb_account *account, struct hashbelt_belt *belt, size_t size)
{
	struct hb_kin *kin = kin_of(account);
	u64 takes = READ_ONCE(kin->takes);
	bool taken;

	size = max_t(size_t, size, TAKE_LEAST);
	if (belt && take_from(belt, &size)) {
		hb_limbo_flush(belt);
		return !fatal_signal_pending(current);
	}
	if (mutex_lock_killable(&kin->reclaim))
		return false;
	/* Another task may have freed enough for both. */
	taken = takes != kin->takes;
	if (!taken) {
		taken = take_from_kin(kin, belt, size);
		WRITE_ONCE(kin->takes, kin->takes + taken);
	}
	mutex_unlock(&kin->reclaim);
	return taken && !fatal_signal_pending(current);
}

/**
 * hb_free_memory() - free memory that is not in use, after an allocation has failed
 * @account:	the account of the allocation, or NULL
 * @belt:	the belt of the allocation, or NULL
 * @size:	bytes that are needed
 * @step:	0 at first: what was done for this allocation before
 *
 * Waits for what is in limbo; takes what has expired, in @belt before the other belts of the
 * account, as often as there is something; and waits once for what is in limbo in these. Entries
 * that are reported stay, as events take their memory.
 *
 * Context: may sleep, under no spinlock. Return: true if the caller is to try again; false: there
 * is nothing, or the caller is being killed.
 */
bool hb_free_memory(struct hb_account *account, struct hashbelt_belt *belt, size_t size,
		    unsigned int *step)
{
	if (!*step) {
		*step = 1;
		if (belt)
			return !hb_limbo_flush(belt);
	}
	if (take_expired(account, belt, size))
		return true;
	if (*step == 1) {
		*step = 2;
		return flush_kin(kin_of(account), belt);
	}
	return false;
}

/* Eviction at the limits of the account and the module */

/* An entry that is reported stays in memory as an event. */
static bool frees_by_evicting(const struct hashbelt_belt *belt)
{
	return READ_ONCE(belt->policy) & HASHBELT_EVICT && !hb_reports(belt, HASHBELT_EVICTED);
}

/* True if a put that adds an entry is to call hb_evict_ahead() afterwards. */
bool hb_evicts_ahead(const struct hashbelt_belt *belt)
{
	return frees_by_evicting(belt) && hb_memory_is_scarce(belt->account);
}

/*
 * Evicts as many bytes as @put, which is in the belt and of which the caller has a reference, has
 * added. What is evicted is freed after a grace period: puts which evicted only at the limit would
 * wait for that. Context: may sleep.
 */
void hb_evict_ahead(struct hashbelt_belt *belt, const struct hashbelt_entry *put)
{
	size_t most = hb_entry_size(put), done = 0, size;
	unsigned int passes = PASS_MOST;

	do {
		size = evict_one(belt, HASHBELT_EVICTED, put, &passes);
		done += size;
		cond_resched();
	} while (size && done < most && !fatal_signal_pending(current));
}

/*
 * Eviction helps after an allocation has failed at the limit of an account or the module. If the
 * system or a cgroup has no memory, the belt's entries may be charged to others: that is left to
 * the shrinker.
 */
static bool may_evict(const struct hashbelt_belt *belt, int err)
{
	return err != -ENOMEM && frees_by_evicting(belt);
}

/* Evicts some entries, and waits until they are freed. False: the allocation is to fail. */
static bool evict_some(struct hashbelt_belt *belt, int err)
{
	return may_evict(belt, err) && hb_evict(belt, HASHBELT_EVICTED, HB_BATCH) &&
	       !hb_limbo_flush(belt);
}

/* As hashbelt_entry_alloc(), for an entry of any kind. */
struct hashbelt_entry *hb_entry_get_memory(struct hashbelt_belt *belt, u32 kind, u32 keys,
					   u32 key_len, u32 value_len)
{
	size_t size = hb_span(kind, keys, key_len + value_len);
	unsigned int step = 0, evictions = 0;
	struct hashbelt_entry *entry;

	entry = hb_entry_alloc(belt, kind, keys, key_len, value_len, GFP_KERNEL);
	while (IS_ERR(entry)) {
		if (!hb_free_memory(belt->account, belt, size, &step) &&
		    !(++evictions < ALLOC_TRIES && evict_some(belt, PTR_ERR(entry))))
			break;
		entry = hb_entry_alloc(belt, kind, keys, key_len, value_len, GFP_KERNEL);
	}
	return entry;
}

/**
 * hashbelt_entry_alloc() - allocate an entry
 * @belt:	the belt
 * @client:	the descriptor that it is to be bound to, or NULL
 * @key_len:	1 to HASHBELT_KEY_MAX bytes
 * @value_len:	0 to HASHBELT_VALUE_MAX bytes
 *
 * Context: may sleep. The caller has checked the lengths. Return: the entry, owned by the caller,
 * which writes key, value and flags and then gives it to hashbelt_put() or hashbelt_entry_put();
 * ERR_PTR(-ENOMEM), ERR_PTR(-ENOSPC) at the module's memory limit, or ERR_PTR(-EDQUOT) at that of
 * the belt's account.
 */
struct hashbelt_entry *hashbelt_entry_alloc(struct hashbelt_belt *belt, struct hb_client *client,
					    u32 key_len, u32 value_len)
{
	struct hashbelt_entry *entry;
	struct hb_link *link;

	/* It can never fit: do not even charge the account. */
	if (unlikely(value_len > READ_ONCE(belt->usage.max_bytes))) {
		hb_count(belt, HASHBELT_STAT_REJECTED);
		return ERR_PTR(-ENOSPC);
	}
	if (likely(!client)) {
		entry = hb_entry_alloc(belt, HB_ENTRY, 0, key_len, value_len, GFP_KERNEL);
		if (IS_ERR(entry))
			entry = hb_entry_get_memory(belt, HB_ENTRY, 0, key_len, value_len);
		return entry;
	}
	entry = hb_entry_get_memory(belt, HB_ENTRY | HB_TAILED, 0, key_len, value_len);
	if (IS_ERR(entry))
		return entry;
	link = hb_tail(entry);
	link->client = client;
	return entry;
}
EXPORT_SYMBOL_GPL(hashbelt_entry_alloc);

/* The shrinker */

/**
 * struct sample - of the belts that the shrinker has counted
 * @belts:	number of belts, without those that it has taken out of the list
 * @entries:	their entries
 */
struct sample {
	unsigned long belts;
	u64 entries;
};

static enum lru_status count_belt(HB_LRU_WALK_ARGS)
{
	struct hb_mark *mark = container_of(item, struct hb_mark, place);
	u64 entries = hb_may_shrink(mark->belt) ? hb_live_entries(mark->belt) : 0;
	struct sample *counted = arg;

	if (!entries)
		return hb_mark_unlist(mark, list);
	counted->belts++;
	counted->entries += entries;
	return LRU_ROTATE;
}

/* The number of belts among which the shrinker is to choose. */
static unsigned long belts_of(const struct shrink_control *control)
{
	return list_lru_count_one(&hb_marks, control->nid, control->memcg);
}

/*
 * Calls @visit for the next belts, COMPARE_MOST at most. The next walk begins behind them. Under
 * RCU.
 */
static void walk(const struct shrink_control *control, list_lru_walk_cb visit, void *arg)
{
	unsigned long left = min(belts_of(control), COMPARE_MOST);

	list_lru_walk_one(&hb_marks, control->nid, control->memcg, visit, arg, &left);
}

/*
 * About so many entries: as many in each belt as in the next ones. Each belt that is taken out of
 * the list was added by a put; where time does not suffice for them, each belt left counts as an
 * entry.
 */
static unsigned long shrink_count(struct shrinker *self, struct shrink_control *control)
{
	unsigned long until = jiffies + SHRINK_LASTS, belts;
	struct sample counted = {};

	/* Pairs with the release in hb_evict_init(). */
	if (!smp_load_acquire(&ready))
		return SHRINK_EMPTY;
	do {
		rcu_read_lock();
		walk(control, count_belt, &counted);
		rcu_read_unlock();
		cond_resched();
		belts = belts_of(control);
	} while (!counted.belts && belts && time_before(jiffies, until));
	if (!belts)
		return SHRINK_EMPTY;
	return counted.belts ? div64_ul(counted.entries * belts, counted.belts) : belts;
}

/**
 * struct comparison - for the belt whose next entry has the least time left
 * @class:	of that entry
 * @belts:	returned: number of belts, without those that were taken out of the list
 * @best:	returned: the belt, or NULL
 * @least:	returned: the time left, nanoseconds
 */
struct comparison {
	enum hb_class class;
	unsigned long belts;
	struct hashbelt_belt *best;
	s64 least;
};

static enum lru_status compare_belt(HB_LRU_WALK_ARGS)
{
	struct hb_mark *mark = container_of(item, struct hb_mark, place);
	struct hashbelt_belt *belt = mark->belt;
	struct comparison *found = arg;
	struct search search = { .class = found->class };
	enum lru_status status = LRU_ROTATE;
	s64 left;

	find_shard(belt, &search);
	left = search.least - hb_clock_now(&belt->clock);
	if (search.least == HB_NOTHING || !hb_may_shrink(belt)) {
		status = hb_mark_unlist(mark, list);
	} else if (left < found->least) {
		found->least = left;
		found->best = belt;
	}
	found->belts += status == LRU_ROTATE;
	return status;
}

/*
 * Evicted entries are freed only after a grace period and by the worker. Direct reclaim does not
 * see that, and would call the OOM killer. So it waits a moment each time LIMBO_MUCH is evicted,
 * and when it finds nothing more soon after. The worker itself and kswapd do not wait. Without
 * this wait, the OOM killer killed in two of two parts of tests/memory/squeeze_test.c. True if it
 * has waited.
 */
static bool wait_for_limbo(size_t evicted)
{
	static atomic_long_t taken = ATOMIC_LONG_INIT(0);
	static unsigned long last;	/* no lock: an old value means one wait more or less */

	if (evicted)
		WRITE_ONCE(last, jiffies);
	else if (time_after(jiffies, READ_ONCE(last) + LIMBO_LASTS))
		return false;
	if (!(current->flags & PF_MEMALLOC) || fatal_signal_pending(current) ||
	    current->flags & (PF_KSWAPD | PF_WQ_WORKER))
		return false;
	if (evicted && atomic_long_add_return(evicted, &taken) < LIMBO_MUCH)
		return false;
	atomic_long_set(&taken, 0);
	schedule_timeout_uninterruptible(LIMBO_WAIT);
	return true;
}

/*
 * The system has free memory: a memory cgroup is at its limit. The kernel does not tell a shrinker
 * which of the two it is, and does not count what is freed later. If the shrinker went on, all
 * entries of the cgroup would be evicted in tests/memory/cgroup_test.c.
 */
static bool is_memory_free(void)
{
	return global_zone_page_state(NR_FREE_PAGES) > totalram_pages() / 32;
}

/**
 * struct shrink - what a call of the shrinker has done
 * @entries:	number of entries that it has evicted
 * @bytes:	their sizes
 */
struct shrink {
	unsigned long entries;
	size_t bytes;
};

/*
 * Evicts entries of a class from the best of the next belts, until @most are evicted. Returns the
 * number of belts that it has compared.
 */
static unsigned long shrink_next(const struct shrink_control *control, enum hb_class class,
				 unsigned long most, struct shrink *shrink)
{
	struct comparison found = { .class = class, .least = S64_MAX };
	unsigned int passes = PASS_MOST;
	size_t size;

	rcu_read_lock();
	walk(control, compare_belt, &found);
	while (found.best && shrink->entries < most) {
		size = evict_class(found.best, class, HASHBELT_PRESSURE, NULL, &passes);
		if (!size)
			break;
		shrink->entries++;
		shrink->bytes += size;
	}
	rcu_read_unlock();
	return found.belts;
}

/* Evicts entries of a class until @most are evicted or jiffies are @until. */
static void shrink_class(const struct shrink_control *control, enum hb_class class,
			 unsigned long most, unsigned long until, struct shrink *shrink)
{
	unsigned long vain = 0, before, compared;

	/* A belt that has no entry to evict has exact bounds then, and is not found again. */
	while (shrink->entries < most && vain < belts_of(control) && time_before(jiffies, until)) {
		before = shrink->entries;
		compared = shrink_next(control, class, min(most, before + SHRINK_BATCH), shrink);
		vain = shrink->entries == before ? vain + compared : 0;
		cond_resched();
	}
}

static unsigned long shrink_scan(struct shrinker *self, struct shrink_control *control)
{
	unsigned long most = control->nr_to_scan, until = jiffies + SHRINK_LASTS;
	struct shrink shrink = {};

	shrink_class(control, HB_PLAIN, most, until, &shrink);
	shrink_class(control, HB_LEASES, most, until, &shrink);
	if ((wait_for_limbo(shrink.bytes) && is_memory_free()) || !shrink.entries)
		return SHRINK_STOP;
	return shrink.entries;
}

/* Registers the shrinker. Returns 0 or -ENOMEM. */
int hb_evict_init(void)
{
	int err;

	hb_kin_init(&unaccounted);
	shrinker = hb_shrinker_new(shrink_count, shrink_scan);
	if (!shrinker)
		return -ENOMEM;
	err = hb_marks_init(shrinker);
	if (err) {
		hb_shrinker_free(shrinker);
		return err;
	}
	/* Pairs with the acquire in shrink_count(). */
	smp_store_release(&ready, true);
	hb_shrinker_register(shrinker);
	return 0;
}

void hb_evict_exit(void)
{
	hb_shrinker_free(shrinker);
	ready = false;
	hb_marks_exit();
}
