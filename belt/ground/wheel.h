/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_WHEEL_H
#define _HASHBELT_WHEEL_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>

#include "hashbelt.h"
#include "clock.h"
#include "level.h"

/*
 * The deadline of a claimed node: this bit, the deadline that it had, and in the lowest bits the
 * reason, one of enum hashbelt_reason. As a signed number it is earlier than any belt time. The
 * task that claims a node takes its entry out: the key has no value, or, if the entry was replaced,
 * already has another one.
 */
#define HB_CLAIMED	BIT_ULL(63)
#define HB_REASON	(HB_GRAIN - 1)

/*
 * Deadlines are multiples of HB_GRAIN. A reader that finds a deadline reached seals it, by
 * subtracting 1, before it reports a miss. After that no reader with an older clock value can
 * refresh it.
 */
#define HB_SEALED	1

/* Returned by hb_node_move() when it is too late. */
#define HB_GONE		0	/* claimed, or its deadline is reached */
#define HB_ELSEWHERE	1	/* replaced: the key has a new entry */

/**
 * struct hb_node - an entry as a wheel sees it
 * @slot:	place in a bucket, under the shard's lock; off the wheel the owner may use it
 * @next:	of an event: the one after it, under the lock of its queue
 * @handed:	of an event: belt time at which it was queued; under the lock of its queue
 * @deadline:	belt time at which it expires, perhaps sealed; HB_NEVER; or claimed. The atomic word
 *		of docs/design.md: the task that claims it takes the entry out, a task that stores a
 *		later deadline has refreshed it in time
 */
struct hb_node {
	union {
		struct list_head slot;
		struct {
			struct hb_node *next;
			u64 handed;
		};
	};
	atomic64_t deadline;
};

/**
 * struct hb_hand - a place on a wheel
 * @at:		the next node's @slot; or @head, where the list has none
 * @head:	the list that the hand is in; NULL, as @at, if that was a bucket that fell off
 * @list:	which list that is: 0 @due; 1 + number: a bucket of a level; above HB_LEVELS:
 *		@permanent
 * @tick:	of the bucket
 */
struct hb_hand {
	struct list_head *at;
	struct list_head *head;
	unsigned int list;
	u64 tick;
};

/**
 * struct hb_wheel - one shard's wheels; all under that shard's lock
 * @geometry:	its geometry
 * @account:	charged for the levels, or NULL; constant
 * @lock:	the shard's lock, for lockdep; NULL: one task alone uses the wheel. Constant
 * @level:	fine to coarse; NULL where not made yet
 * @due:	nodes of buckets that fell off and are not drained yet
 * @permanent:	nodes that never expire, the oldest first
 * @hand:	where the next eviction goes on
 * @ahead:	lower bound of when nodes are to be expired, but of those on @due; read without the
 *		lock as a hint
 */
struct hb_wheel {
	const struct hb_geometry *geometry;
	struct hb_account *account;
	const spinlock_t *lock;		/* protects all but the constants */
	struct hb_level *level[HB_LEVELS];
	struct list_head due;
	struct list_head permanent;
	struct hb_hand hand;
	u64 ahead;
};

/**
 * struct hb_drain_result - the outcome of a drain
 * @expired:	nodes whose deadline was reached: claimed, off the wheel, in the order they were
 *		found
 * @buckets:	buckets that fell off
 * @cascaded:	nodes that were put back
 */
struct hb_drain_result {
	struct list_head expired;
	unsigned int buckets;
	unsigned int cascaded;
};

int hb_wheel_init(struct hb_wheel *wheel, const struct hb_geometry *geometry,
		  struct hb_account *account, const spinlock_t *lock);
void hb_wheel_destroy(struct hb_wheel *wheel);
unsigned int hb_wheel_wants(const struct hb_wheel *wheel, u64 now, u64 deadline);
u64 hb_wheel_reach(const struct hb_wheel *wheel);
void hb_wheel_grow(struct hb_wheel *wheel, unsigned int number, struct hb_level **level, u64 now);
u64 hb_wheel_add(struct hb_wheel *wheel, struct hb_node *node, u64 now);
bool hb_wheel_drain(struct hb_wheel *wheel, u64 until, u64 now, unsigned int budget,
		    struct hb_drain_result *result);
bool hb_wheel_hasten(struct hb_wheel *wheel, u64 now);
struct hb_node *hb_wheel_nearest(struct hb_wheel *wheel, u64 now, bool *again);
u64 hb_wheel_next(struct hb_wheel *wheel);
void hb_hand_rewind(struct hb_wheel *wheel);
struct hb_node *hb_hand_node(struct hb_wheel *wheel, bool *again);
bool hb_hand_is_late(const struct hb_wheel *wheel, const struct hb_node *node);
void hb_wheel_set_geometry(struct hb_wheel *wheel, const struct hb_geometry *geometry,
			   struct hb_level *level, struct hb_wheel *old, u64 now);
bool hb_wheel_unload(struct hb_wheel *old, struct hb_wheel *wheel, unsigned int budget);
unsigned int hb_wheel_levels(const struct hb_wheel *wheel, u64 *bytes);

static inline void hb_wheel_assert_held(const struct hb_wheel *wheel)
{
	if (IS_ENABLED(CONFIG_LOCKDEP) && wheel->lock)
		lockdep_assert_held(wheel->lock);
}

/* Moves the hand past the node that hb_hand_node() has returned. Context: the shard's lock. */
static inline void hb_hand_pass(struct hb_wheel *wheel)
{
	hb_wheel_assert_held(wheel);
	wheel->hand.at = wheel->hand.at->next;
}

/*
 * Takes a node off a wheel, if it is on one. @wheel may be another one: that whose hand may stand
 * at the node. Context: the shard's lock.
 */
static inline void hb_wheel_del(struct hb_wheel *wheel, struct hb_node *node)
{
	hb_wheel_assert_held(wheel);
	if (unlikely(wheel->hand.at == &node->slot))
		hb_hand_pass(wheel);
	list_del_init(&node->slot);
}

/* The deadline in a node's word, claimed or not: a belt time, or HB_NEVER. */
static inline u64 hb_deadline(u64 word)
{
	u64 deadline = word & ~(HB_CLAIMED | HB_REASON);

	/* A sealed word without its lower bits is HB_GRAIN less than the deadline. */
	return word & HB_CLAIMED || deadline == word ? deadline : deadline + HB_GRAIN;
}

static inline u64 hb_node_deadline(const struct hb_node *node)
{
	return hb_deadline(atomic64_read(&node->deadline));
}

/* The reason in the word of a claimed node. */
static inline enum hashbelt_reason hb_reason(u64 word)
{
	return word & HB_REASON;
}

/*
 * Claims a node, whatever its deadline, for a reason other than HASHBELT_REPLACED, for which there
 * is hb_node_supersede(). Return: the word as it was. Context: the shard's lock, under which all
 * nodes but those of requests are claimed. A reader may refresh the node at the same time; one of
 * the two comes first.
 */
static inline u64 hb_node_claim(struct hb_node *node, enum hashbelt_reason reason)
{
	s64 word = atomic64_read(&node->deadline);

	do {
	} while (!atomic64_try_cmpxchg(&node->deadline, &word,
				       HB_CLAIMED | hb_deadline(word) | reason));
	return word;
}

/*
 * Claims a node unless it is claimed. For requests, which may be claimed under different locks.
 * Context: any. Return: true if this call has claimed it.
 */
static inline bool hb_node_try_claim(struct hb_node *node, enum hashbelt_reason reason)
{
	s64 word = atomic64_read(&node->deadline);

	do {
		if (word < 0)
			return false;
	} while (!atomic64_try_cmpxchg(&node->deadline, &word,
				       HB_CLAIMED | hb_deadline(word) | reason));
	return true;
}

/*
 * Claims a node because @by, which is in the index behind it, takes its place: a reader that finds
 * @node claimed as replaced goes on to @by. @keep: gives @by the deadline of @node, refreshes up to
 * now included. Return: false, without a claim, if @node is sealed: a reader was told that it
 * has expired, and must not be told that it was replaced before. Context: the shard's lock.
 */
static inline bool hb_node_supersede(struct hb_node *node, struct hb_node *by, bool keep)
{
	s64 word = atomic64_read(&node->deadline);

	do {
		if (word & HB_SEALED)
			return false;
		if (keep)
			atomic64_set(&by->deadline, word);
	} while (!atomic64_try_cmpxchg(&node->deadline, &word,
				       HB_CLAIMED | word | HASHBELT_REPLACED));
	return true;
}

/*
 * Gives a node that is not claimed the deadline of a put that overwrites its entry; @keep: it keeps
 * the one that it has. Return: the deadline that it had; the node must change its bucket only if
 * the new one is earlier. 0: the node is sealed, and nothing has changed: a reader was told that it
 * has expired. Context: the shard's lock.
 */
static inline u64 hb_node_renew(struct hb_node *node, u64 deadline, bool keep)
{
	s64 word = atomic64_read(&node->deadline);

	do {
		if (word & HB_SEALED)
			return 0;
	} while (!keep && !atomic64_try_cmpxchg(&node->deadline, &word, deadline));
	return word;
}

/*
 * Claims a node as expired if its deadline is reached; a sealed one is, even if @now is an older
 * clock value. Return: false if the deadline is ahead (a refresh may just have moved it), or the
 * node was claimed before. Context: the shard's lock.
 */
static inline bool hb_node_claim_due(struct hb_node *node, u64 now)
{
	s64 word = atomic64_read(&node->deadline);

	do {
		if (word < 0 || (word > (s64)now && !(word & HB_SEALED)))
			return false;
	} while (!atomic64_try_cmpxchg(&node->deadline, &word,
				       HB_CLAIMED | hb_deadline(word) | HASHBELT_EXPIRED));
	return true;
}

/*
 * Makes it final that the deadline is reached which a reader found in the word @deadline. Return:
 * false if the word has changed meanwhile. Context: any.
 */
static inline bool hb_node_seal(struct hb_node *node, s64 deadline)
{
	return deadline & HB_SEALED ||
	       atomic64_try_cmpxchg(&node->deadline, &deadline, deadline - HB_SEALED);
}

/*
 * Makes it final that the deadline of a node is reached @now, as if a reader had missed it then.
 * Return: false if it was reached before: nothing has changed. A reader with an older time may
 * still hit the entry, but not refresh it. Context: the shard's lock; the node is not claimed, and
 * has to change its bucket.
 */
static inline bool hb_node_end(struct hb_node *node, u64 now)
{
	s64 word = atomic64_read(&node->deadline);

	do {
		if (word <= (s64)now || word & HB_SEALED)
			return false;
	} while (!atomic64_try_cmpxchg(&node->deadline, &word, now - HB_SEALED));
	return true;
}

/*
 * Sets the deadline of a node that is not claimed, and whose deadline is not reached @now, to @to,
 * a multiple of HB_GRAIN; to an earlier one only with @shorten. A caller that shortens holds the
 * shard's lock and puts the node into its new bucket. A caller that extends need not: the drain of
 * the old bucket does that. Return: the deadline that holds now; HB_GONE if it was too late, or
 * HB_ELSEWHERE if the node was replaced.
 */
static inline u64 hb_node_move(struct hb_node *node, u64 now, u64 to, bool shorten)
{
	s64 word = atomic64_read(&node->deadline);

	do {
		if (word < 0 && hb_reason(word) == HASHBELT_REPLACED)
			return HB_ELSEWHERE;
		if (word <= (s64)now || word & HB_SEALED)
			return HB_GONE;
		if (word == (s64)to || (word > (s64)to && !shorten))
			return word;
	} while (!atomic64_try_cmpxchg(&node->deadline, &word, to));
	return to;
}

/*
 * hb_node_move() to a later or an earlier deadline. *@sooner: if it returns @to, the node has to
 * change its bucket. Context: the shard's lock.
 */
static inline u64 hb_node_set(struct hb_node *node, u64 now, u64 to, bool *sooner)
{
	u64 is = hb_node_move(node, now, to, false);

	*sooner = is > to;
	return *sooner ? hb_node_move(node, now, to, true) : is;
}

#endif /* _HASHBELT_WHEEL_H */
