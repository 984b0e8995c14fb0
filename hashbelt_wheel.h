/* SPDX-License-Identifier: GPL-2.0 */
/* Hierarchical timing wheels: where an entry waits for its deadline. */
#ifndef _HASHBELT_WHEEL_H
#define _HASHBELT_WHEEL_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>

/* Enough for HASHBELT_TTL_MAX_MS with two buckets of one millisecond. */
#define HB_LEVELS	8

/*
 * Deadlines of a node that somebody has claimed, earlier than any belt time. A
 * claimed node is on its way out: its key has no value, or, where it was
 * replaced, already has another one.
 */
#define HB_CLAIMED	0
#define HB_REPLACED	1

/*
 * Deadlines are even. A reader who finds one reached seals it, by taking 1 off,
 * before he says so: after that nobody whose clock is behind can refresh it.
 */
#define HB_SEALED	1

/**
 * struct hb_node - what a wheel knows of an entry
 * @slot:	place in a bucket, under the shard's lock; off the wheel it is
 *		the owner's to use
 * @queue:	likewise, for an owner that needs a queue
 * @deadline:	belt time at which it expires, perhaps sealed; HB_NEVER,
 *		HB_CLAIMED or HB_REPLACED. The atomic word of which docs/design.md speaks: who
 *		claims it owns what happens next, who moves it to another
 *		deadline has refreshed the entry in time
 */
struct hb_node {
	union {
		struct hlist_node slot;
		struct list_head queue;
	};
	atomic64_t deadline;
};

/**
 * struct hb_gauge - the measures that all wheels of a belt share
 * @width:	nanoseconds that one bucket of a level stands for
 * @size:	buckets of a level
 * @levels:	levels that it takes to reach the longest time-to-live
 *
 * Constant after hb_gauge_init().
 */
struct hb_gauge {
	u64 width[HB_LEVELS];
	u32 size[HB_LEVELS];
	unsigned int levels;
};

struct hb_level;

/**
 * struct hb_wheel - one shard's wheels; all under that shard's lock
 * @gauge:	the belt's measures
 * @level:	the wheels, fine to coarse; NULL where not made yet
 * @fallen:	nodes of buckets that fell off and are not judged yet
 */
struct hb_wheel {
	const struct hb_gauge *gauge;
	struct hb_level *level[HB_LEVELS];
	struct hlist_head fallen;
};

/**
 * struct hb_fall - what came of a drain
 * @expired:	the nodes whose deadline was reached, claimed, off the wheel, in
 *		the order they were found
 * @buckets:	buckets that fell off
 * @cascaded:	nodes that were put back, by their deadline
 */
struct hb_fall {
	struct list_head expired;
	unsigned int buckets;
	unsigned int cascaded;
};

void hb_gauge_init(struct hb_gauge *gauge, u64 ttl, u32 buckets);

int hb_wheel_init(struct hb_wheel *wheel, const struct hb_gauge *gauge);
void hb_wheel_destroy(struct hb_wheel *wheel);
unsigned int hb_wheel_wants(const struct hb_wheel *wheel, u64 now, u64 deadline);
struct hb_level *hb_level_new(const struct hb_gauge *gauge, unsigned int number);
void hb_level_free(const struct hb_gauge *gauge, unsigned int number,
		   struct hb_level *level);
void hb_wheel_grow(struct hb_wheel *wheel, unsigned int number,
		   struct hb_level **level, u64 now);
u64 hb_wheel_add(struct hb_wheel *wheel, struct hb_node *node, u64 now);
bool hb_wheel_drain(struct hb_wheel *wheel, u64 now, unsigned int budget,
		    struct hb_fall *fall);
u64 hb_wheel_next(struct hb_wheel *wheel);
unsigned int hb_wheel_levels(const struct hb_wheel *wheel, u64 *bytes);

/**
 * hb_wheel_del() - take a node off its wheel, wherever it stands
 * @node:	the node; one that is on no wheel is left alone
 *
 * Context: the shard's lock.
 */
static inline void hb_wheel_del(struct hb_node *node)
{
	hlist_del_init(&node->slot);
}

/**
 * hb_node_claim() - make a node one's own, whatever its deadline
 * @node:	the node
 * @as:		HB_CLAIMED, or HB_REPLACED once the index has the new one
 *
 * Context: the shard's lock, under which alone nodes are claimed; a reader may
 * refresh the node at the same time, and one of the two comes first.
 *
 * Return: the deadline that it had.
 */
static inline u64 hb_node_claim(struct hb_node *node, u64 as)
{
	return atomic64_xchg(&node->deadline, as);
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
 * Return: true if claimed; false if the deadline is ahead (a refresh may just
 * have moved it there).
 */
static inline bool hb_node_claim_due(struct hb_node *node, u64 now)
{
	s64 deadline = atomic64_read(&node->deadline);

	do {
		if (deadline > (s64)now && !(deadline & HB_SEALED))
			return false;
	} while (!atomic64_try_cmpxchg(&node->deadline, &deadline, HB_CLAIMED));
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
 * @to:		the new deadline, even
 * @shorten:	whether @to may be earlier than the deadline is
 *
 * A caller that shortens holds the shard's lock and puts the node into its new
 * bucket; one that extends need not: the drain of the old bucket will.
 *
 * Return: the deadline that holds now; HB_CLAIMED if it was too late, or
 * HB_REPLACED if it was so because the key has a new entry.
 */
static inline u64 hb_node_move(struct hb_node *node, u64 now, u64 to, bool shorten)
{
	s64 deadline = atomic64_read(&node->deadline);

	do {
		if (deadline <= (s64)now || deadline & HB_SEALED)
			return deadline == HB_REPLACED ? HB_REPLACED : HB_CLAIMED;
		if (deadline == (s64)to || (deadline > (s64)to && !shorten))
			return deadline;
	} while (!atomic64_try_cmpxchg(&node->deadline, &deadline, to));
	return to;
}

#endif /* _HASHBELT_WHEEL_H */
