/* SPDX-License-Identifier: GPL-2.0 */
/* Hierarchical timing wheels: where an entry waits for its deadline. */
#ifndef _HASHBELT_WHEEL_H
#define _HASHBELT_WHEEL_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>

#include "hashbelt.h"
#include "clock.h"

/* Enough for HASHBELT_TTL_MAX_MS with two buckets of one millisecond. */
#define HB_LEVELS	8

/*
 * The deadline of a node that somebody has claimed: this bit, the deadline that
 * it had, and in the lowest bits the reason, one of enum hashbelt_reason. As a
 * signed number it is earlier than any belt time. A claimed node is on its way
 * out: its key has no value, or, where it was replaced, already has another one.
 */
#define HB_CLAIMED	BIT_ULL(63)
#define HB_REASON	(HB_GRAIN - 1)

/*
 * Deadlines are multiples of HB_GRAIN. A reader that finds a deadline reached seals
 * it, by subtracting 1, before it reports a miss. After that no reader with a slower
 * clock can refresh it.
 */
#define HB_SEALED	1

/* What hb_node_move() says when it is too late. */
#define HB_GONE		0	/* claimed, or its deadline is reached */
#define HB_ELSEWHERE	1	/* replaced: the key has a new entry */

/**
 * struct hb_node - what a wheel knows of an entry
 * @slot:	place in a bucket, under the shard's lock; off the wheel it is
 *		the owner's to use
 * @next:	of an event: the one after it, under the lock of its queue
 * @handed:	of an event: belt time at which it was queued; likewise
 * @deadline:	belt time at which it expires, perhaps sealed; HB_NEVER; or
 *		claimed. The atomic word of which docs/design.md speaks: who
 *		claims it owns what happens next, who moves it to another
 *		deadline has refreshed the entry in time
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
 * struct hb_geometry - the measures that all wheels of a belt share
 * @width:	nanoseconds that one bucket of a level stands for
 * @size:	buckets of a level
 * @levels:	levels that it takes to reach the longest time-to-live
 * @grace:	nanoseconds that some nodes stay beyond their deadline
 * @has_grace:	whether a node is one of those; NULL where @grace is 0
 *
 * Constant after hb_geometry_init(), and hb_geometry_set_grace() if that is called.
 */
struct hb_geometry {
	u64 width[HB_LEVELS];
	u32 size[HB_LEVELS];
	unsigned int levels;
	u64 grace;
	bool (*has_grace)(const struct hb_node *node);
};

struct hb_account;
struct hb_level;

/**
 * struct hb_wheel - one shard's wheels; all under that shard's lock
 * @geometry:	the belt's measures
 * @account:	who is charged for the levels, or NULL; constant
 * @level:	the wheels, fine to coarse; NULL where not made yet
 * @due:	nodes of buckets that fell off and are not judged yet
 * @permanent:	nodes that never expire, the longest there first
 */
struct hb_wheel {
	const struct hb_geometry *geometry;
	struct hb_account *account;
	struct hb_level *level[HB_LEVELS];
	struct list_head due;
	struct list_head permanent;
};

/**
 * struct hb_drain_result - what came of a drain
 * @expired:	the nodes whose deadline was reached, claimed, off the wheel, in
 *		the order they were found
 * @buckets:	buckets that fell off
 * @cascaded:	nodes that were put back, by their deadline
 */
struct hb_drain_result {
	struct list_head expired;
	unsigned int buckets;
	unsigned int cascaded;
};

void hb_geometry_init(struct hb_geometry *geometry, u64 ttl, u32 buckets);
void hb_geometry_set_grace(struct hb_geometry *geometry, u64 grace,
			   bool (*has_grace)(const struct hb_node *node));

int hb_wheel_init(struct hb_wheel *wheel, const struct hb_geometry *geometry,
		  struct hb_account *account);
void hb_wheel_destroy(struct hb_wheel *wheel);
unsigned int hb_wheel_wants(const struct hb_wheel *wheel, u64 now, u64 deadline);
u64 hb_wheel_reach(const struct hb_wheel *wheel);
struct hb_level *hb_level_new(const struct hb_geometry *geometry, unsigned int number,
			      struct hb_account *account);
void hb_level_free(struct hb_level *level, struct hb_account *account);
void hb_wheel_grow(struct hb_wheel *wheel, unsigned int number,
		   struct hb_level **level, u64 now);
u64 hb_wheel_add(struct hb_wheel *wheel, struct hb_node *node, u64 now);
bool hb_wheel_drain(struct hb_wheel *wheel, u64 until, u64 now, unsigned int budget,
		    struct hb_drain_result *result);
struct hb_node *hb_wheel_nearest(struct hb_wheel *wheel, u64 now);
u64 hb_wheel_next(struct hb_wheel *wheel);
void hb_wheel_set_geometry(struct hb_wheel *wheel, const struct hb_geometry *geometry,
			   struct hb_level *level, struct hb_wheel *old, u64 now);
bool hb_wheel_unload(struct hb_wheel *old, struct hb_wheel *wheel, unsigned int budget);
unsigned int hb_wheel_levels(const struct hb_wheel *wheel, u64 *bytes);

/**
 * hb_wheel_del() - take a node off its wheel, wherever it stands
 * @node:	the node; one that is on no wheel is left alone
 *
 * Context: the shard's lock.
 */
static inline void hb_wheel_del(struct hb_node *node)
{
	list_del_init(&node->slot);
}

/**
 * hb_deadline() - the deadline that a word stands for
 * @word:	what a node has there, claimed or not
 *
 * Return: belt time, or HB_NEVER.
 */
static inline u64 hb_deadline(u64 word)
{
	u64 deadline = word & ~(HB_CLAIMED | HB_REASON);

	/* A sealed one has been rounded down. */
	return word & HB_CLAIMED || deadline == word ? deadline : deadline + HB_GRAIN;
}

/**
 * hb_node_deadline() - the deadline of a node
 * @node:	the node, claimed or not
 *
 * Return: belt time, or HB_NEVER.
 */
static inline u64 hb_node_deadline(const struct hb_node *node)
{
	return hb_deadline(atomic64_read(&node->deadline));
}

/**
 * hb_reason() - why a node was claimed
 * @word:	the deadline of a claimed node
 *
 * Return: the reason.
 */
static inline enum hashbelt_reason hb_reason(u64 word)
{
	return word & HB_REASON;
}

/**
 * hb_node_claim() - make a node one's own, whatever its deadline
 * @node:	the node
 * @reason:	why; not HASHBELT_REPLACED, for which there is hb_node_supersede()
 *
 * Context: the shard's lock, under which alone nodes are claimed; a reader may
 * refresh the node at the same time, and one of the two comes first.
 *
 * Return: the deadline that it had, as it was.
 */
static inline u64 hb_node_claim(struct hb_node *node, enum hashbelt_reason reason)
{
	s64 word = atomic64_read(&node->deadline);

	do {
	} while (!atomic64_try_cmpxchg(&node->deadline, &word,
				       HB_CLAIMED | hb_deadline(word) | reason));
	return word;
}

/**
 * hb_node_try_claim() - make a node one's own, if it is nobody's yet
 * @node:	the node
 * @reason:	why
 *
 * For nodes that may be claimed under different locks: requests. Context: any.
 *
 * Return: whether it was claimed.
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

/**
 * hb_node_supersede() - make a node one's own because another one takes its place
 * @node:	the node
 * @by:		the other one
 * @keep:	whether @by is to have the deadline of @node, refreshes up to now included
 *
 * Who finds @node claimed finds @by. That is why one that is sealed is not claimed: a
 * reader was told that it has expired, and must not be told that it was replaced before.
 *
 * Context: as hb_node_claim(). @by is in the index already, behind @node.
 *
 * Return: false if @node is sealed.
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

/**
 * hb_node_claim_due() - make a node one's own if its deadline is reached
 * @node:	the node
 * @now:	belt time
 *
 * A sealed deadline is reached, even if @now was read before it was.
 *
 * Context: as hb_node_claim().
 *
 * Return: true if claimed, as expired; false if the deadline is ahead (a refresh
 * may just have moved it there), or somebody else was faster.
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

/**
 * hb_node_seal() - say for good that a deadline is reached
 * @node:	the node
 * @deadline:	what a reader found there and took for reached
 *
 * Context: any.
 *
 * Return: true; false if it has changed meanwhile.
 */
static inline bool hb_node_seal(struct hb_node *node, s64 deadline)
{
	return deadline & HB_SEALED ||
	       atomic64_try_cmpxchg(&node->deadline, &deadline, deadline - HB_SEALED);
}

/**
 * hb_node_move() - set the deadline of a node that nobody has claimed
 * @node:	the node
 * @now:	belt time; a deadline that is reached is not moved any more
 * @to:		the new deadline, a multiple of HB_GRAIN
 * @shorten:	whether @to may be earlier than the deadline is
 *
 * A caller that shortens holds the shard's lock and puts the node into its new
 * bucket; one that extends need not: the drain of the old bucket will.
 *
 * Return: the deadline that holds now; HB_GONE if it was too late, or
 * HB_ELSEWHERE if it was so because the key has a new entry.
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

#endif /* _HASHBELT_WHEEL_H */
