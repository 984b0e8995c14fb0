// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hierarchical timing wheels: where an entry waits for its deadline. docs/design.md, "One
 * mechanism", has the principle. A wheel is under the lock of its shard.
 *
 * Buckets are numbered by ticks, which count up for ever. The bucket of tick t is in slot t % size,
 * and falls off at belt time t * width. On level 0 that is the END of its interval, when all of its
 * nodes are due. On the other levels it is the BEGINNING, when its nodes must move to a finer
 * level:
 *
 *	tick = deadline / width + 1	for level 0
 *	tick = deadline / width		for the others
 *
 * A bucket is in FIFO order. If all nodes have the same time-to-live, its first node has the
 * earliest deadline. hb_wheel_nearest() relies on that.
 *
 * The hand is the place between two nodes where the next eviction goes on. It goes through the list
 * of due nodes, the buckets of each level, and the permanent nodes. A node that is added behind the
 * hand is found in the next lap. So is a node that is added to a list at whose end the hand stands.
 *
 * Each level has a bitmap of the slots that may hold a node, so that the worker finds the next
 * bucket without looking at empty slots. Taking a node off costs one list operation and leaves the
 * bit. A search for a bucket clears the bits of empty ones.
 *
 * After George Varghese and Tony Lauck, "Hashed and Hierarchical Timing Wheels" (1987); the cascade
 * at drain time after Kafka's SystemTimer.
 */
#include <linux/bitmap.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "clock.h"
#include "memory.h"
#include "wheel.h"

/*
 * Nodes of a bucket that a search for the nearest node looks at, and how often it repeats that
 * after it has moved refreshed nodes to their buckets.
 */
#define SAMPLE			16
#define SAMPLES			4

/* When a node with this deadline is to be expired. */
static u64 due_at(const struct hb_geometry *geometry, u64 deadline)
{
	return deadline == HB_NEVER ? deadline : deadline + geometry->grace;
}

/*
 * Makes a wheel with its front level. @geometry, and @account and @lock, which may be NULL, must
 * outlive the wheel. Return: 0, or an error of hb_zalloc(). Context: may sleep.
 */
int hb_wheel_init(struct hb_wheel *wheel, const struct hb_geometry *geometry,
		  struct hb_account *account, const spinlock_t *lock)
{
	struct hb_level *level = hb_level_new(geometry, 0, account);

	memset(wheel, 0, sizeof(*wheel));
	INIT_LIST_HEAD(&wheel->due);
	INIT_LIST_HEAD(&wheel->permanent);
	hb_hand_rewind(wheel);
	wheel->ahead = HB_NEVER;
	wheel->geometry = geometry;
	wheel->account = account;
	wheel->lock = lock;
	if (IS_ERR(level))
		return PTR_ERR(level);
	wheel->level[0] = level;
	return 0;
}

/* Frees all levels, and forgets their nodes. The wheel may be zeroed. Context: may sleep. */
void hb_wheel_destroy(struct hb_wheel *wheel)
{
	unsigned int i;

	for (i = 0; i < HB_LEVELS && wheel->level[i]; i++)
		hb_level_free(wheel->level[i], wheel->account);
}

/*
 * The number of the next level that a deadline needs and that is not made yet; 0: none. HB_NEVER
 * needs no level. Context: the shard's lock; without it the answer is a hint.
 */
unsigned int hb_wheel_wants(const struct hb_wheel *wheel, u64 now, u64 deadline)
{
	const struct hb_geometry *geometry = wheel->geometry;
	unsigned int i;

	if (deadline == HB_NEVER)
		return 0;
	for (i = 0; i < geometry->levels; i++) {
		if (!READ_ONCE(wheel->level[i]))
			return i;
		if (deadline <= now + geometry->width[i] * (geometry->size[i] - 1))
			return 0;
	}
	return 0;
}

/* How far ahead the levels reach that have been made, nanoseconds. Context: the shard's lock. */
u64 hb_wheel_reach(const struct hb_wheel *wheel)
{
	unsigned int i = 0;

	while (i + 1 < HB_LEVELS && wheel->level[i + 1])
		i++;
	return wheel->level[i]->width * (wheel->level[i]->size - 1);
}

/*
 * Adds level @number; those before it are there. *@level is from hb_level_new(). If the wheel takes
 * it, sets *@level to NULL. It stays the caller's if another task has added the level or changed
 * the geometry. Context: the shard's lock.
 */
void hb_wheel_grow(struct hb_wheel *wheel, unsigned int number, struct hb_level **level, u64 now)
{
	const struct hb_geometry *geometry = wheel->geometry;

	hb_wheel_assert_held(wheel);
	if (number >= geometry->levels || !wheel->level[number - 1] || wheel->level[number] ||
	    (*level)->width != geometry->width[number] || (*level)->size != geometry->size[number])
		return;
	(*level)->done = div64_u64(now, (*level)->width);
	WRITE_ONCE(wheel->level[number], *level);
	*level = NULL;
}

/* Puts a node into the bucket of a tick. Return: when that bucket falls off. */
static __always_inline u64 enter(struct hb_wheel *wheel, unsigned int number, u64 tick,
				 struct hb_node *node)
{
	struct hb_level *level = wheel->level[number];
	u32 slot = hb_slot_of(tick, wheel->geometry->size[number]);

	list_add_tail(&node->slot, &level->slots[slot]);
	__set_bit(slot, level->map);
	return tick * wheel->geometry->width[number];
}

/**
 * hb_wheel_add() - put a node into the bucket of its deadline
 * @wheel:	the wheel
 * @node:	a node that is on no wheel. With the deadline HB_NEVER it goes to the list of
 *		permanent nodes
 * @now:	belt time
 *
 * Cannot fail. If a level that the deadline needs is missing, the node waits as far ahead as the
 * levels reach, and is requeued when its bucket falls off.
 *
 * Context: the shard's lock. Return: when the bucket falls off, or HB_NEVER.
 */
u64 hb_wheel_add(struct hb_wheel *wheel, struct hb_node *node, u64 now)
{
	const struct hb_geometry *geometry = wheel->geometry;
	u64 deadline = due_at(geometry, hb_node_deadline(node));
	u64 reached, tick;
	unsigned int i;

	hb_wheel_assert_held(wheel);
	if (deadline == HB_NEVER) {
		list_add_tail(&node->slot, &wheel->permanent);
		return HB_NEVER;
	}
	if (unlikely(deadline < wheel->ahead))
		WRITE_ONCE(wheel->ahead, deadline);
	for (i = 0; ; i++) {
		struct hb_level *level = wheel->level[i];
		u32 size = geometry->size[i];

		/* @now may have been read before the last drain. */
		reached = max(div64_u64(now, geometry->width[i]), level->done);
		tick = max(div64_u64(deadline, geometry->width[i]) + !i, reached + 1);
		if (tick > level->done + size)
			hb_level_catch_up(level, size, reached);
		if (likely(tick <= reached + size))
			break;
		if (i + 1 == geometry->levels || !wheel->level[i + 1]) {
			tick = reached + size;
			break;
		}
	}
	return enter(wheel, i, tick, node);
}

/* The bucket in which the hand was has fallen off. */
static void leave_list(struct hb_hand *hand)
{
	hand->at = NULL;
	hand->head = NULL;
}

/* Lets one bucket fall off that ends by @until. Return: false if there is none. */
static bool rotate(struct hb_wheel *wheel, u64 until)
{
	const struct hb_geometry *geometry = wheel->geometry;
	unsigned int i;

	for (i = 0; i < geometry->levels && wheel->level[i]; i++) {
		struct hb_level *level = wheel->level[i];
		u32 size = geometry->size[i];
		u64 reached = div64_u64(until, geometry->width[i]), laps;
		u32 slot;

		if (level->done >= reached)
			continue;
		/*
		 * If a ring is behind by more than its length, each of its buckets stands for
		 * several ticks, but needs to fall off only once. The first bucket to fall off
		 * stays the same, which keeps the order.
		 */
		laps = div_u64(reached - level->done, size);
		if (unlikely(laps > 1))
			level->done += (laps - 1) * size;
		hb_level_catch_up(level, size, reached);
		if (level->done == reached)
			continue;
		slot = hb_slot_of(++level->done, size);
		__clear_bit(slot, level->map);
		list_splice_tail_init(&level->slots[slot], &wheel->due);
		if (wheel->hand.list == i + 1 && wheel->hand.tick <= level->done)
			leave_list(&wheel->hand);
		return true;
	}
	return false;
}

/*
 * Claims a node whose deadline and grace time are over, for result->expired: the caller takes its
 * entry out. Puts any other node back on the wheel. Even a sealed node may still have grace time.
 */
static void expire_or_requeue(struct hb_wheel *wheel, struct hb_node *node, u64 now,
			      struct hb_drain_result *result)
{
	const struct hb_geometry *geometry = wheel->geometry;

	hb_wheel_del(wheel, node);
	if ((likely(!geometry->grace) || due_at(geometry, hb_node_deadline(node)) <= now) &&
	    hb_node_claim_due(node, now)) {
		list_add_tail(&node->slot, &result->expired);
	} else {
		hb_wheel_add(wheel, node, now);
		result->cascaded++;
	}
}

/**
 * hb_wheel_drain() - expire or requeue the nodes of the buckets that have fallen off
 * @wheel:	the wheel
 * @until:	belt time up to which buckets fall off, not after @now; 0: no more buckets fall off
 * @now:	belt time
 * @budget:	most nodes and empty buckets to look at before the caller gives up the lock
 * @result:	the outcome; initialised by the caller
 *
 * Requeued nodes are due after @now. So calls with the same @until come to an end, however short
 * the times-to-live are. The caller takes the entries of result->expired out of the belt.
 *
 * Context: the shard's lock. Return: true if there is more to do.
 */
bool hb_wheel_drain(struct hb_wheel *wheel, u64 until, u64 now, unsigned int budget,
		    struct hb_drain_result *result)
{
	hb_wheel_assert_held(wheel);
	while (budget--) {
		if (list_empty(&wheel->due)) {
			if (!rotate(wheel, until))
				return false;
			result->buckets++;
		} else {
			expire_or_requeue(wheel, list_first_entry(&wheel->due,
								  struct hb_node, slot),
					  now, result);
		}
	}
	return true;
}

/**
 * hb_wheel_hasten() - let the bucket that holds the present moment fall off before it ends
 * @wheel:	the wheel
 * @now:	belt time
 *
 * A node that is due @now is on the list of due nodes, in a bucket that has fallen off, or in this
 * bucket, perhaps behind any number of other nodes. It is not in a later bucket or on another
 * level. After this call hb_wheel_drain() finds all due nodes, and requeues the others in their
 * order. Does nothing if no node can be due in the bucket.
 *
 * Context: the shard's lock. Return: true if the nodes are on the list of due nodes.
 */
bool hb_wheel_hasten(struct hb_wheel *wheel, u64 now)
{
	struct hb_level *level = wheel->level[0];
	u64 tick = max(div64_u64(now, level->width), level->done) + 1;
	u32 slot = hb_slot_of(tick, level->size);

	hb_wheel_assert_held(wheel);
	if (wheel->ahead > now)
		return false;
	WRITE_ONCE(wheel->ahead, tick * level->width);
	__clear_bit(slot, level->map);
	list_splice_tail_init(&level->slots[slot], &wheel->due);
	if (wheel->hand.list == 1 && wheel->hand.tick == tick)
		leave_list(&wheel->hand);
	return true;
}

/*
 * The belt time at which the first bucket that holds a node falls off; 0: one has fallen off and is
 * not drained; HB_NEVER: no node waits. Context: the shard's lock.
 */
u64 hb_wheel_next(struct hb_wheel *wheel)
{
	u64 next = HB_NEVER, tick;
	unsigned int i;

	hb_wheel_assert_held(wheel);
	if (!list_empty(&wheel->due))
		return 0;
	for (i = 0; i < HB_LEVELS && wheel->level[i]; i++) {
		tick = hb_level_first(wheel->level[i]);
		if (tick)
			next = min(next, tick * wheel->level[i]->width);
	}
	return next;
}

/* The node with the earliest deadline among the first SAMPLE nodes of a bucket, or NULL. */
static struct hb_node *sample(struct list_head *bucket)
{
	struct hb_node *node, *best = NULL;
	unsigned int left = SAMPLE;
	u64 deadline, least = U64_MAX;

	list_for_each_entry(node, bucket, slot) {
		deadline = hb_node_deadline(node);
		if (deadline < least) {
			least = deadline;
			best = node;
		}
		if (!--left)
			break;
	}
	return best;
}

/* Moves the first nodes of a bucket, which were refreshed, to the buckets of their deadlines. */
static void relocate(struct hb_wheel *wheel, struct list_head *bucket, u64 now)
{
	struct hb_node *node, *next;
	unsigned int left = SAMPLE;

	list_for_each_entry_safe(node, next, bucket, slot) {
		hb_wheel_del(wheel, node);
		hb_wheel_add(wheel, node, now);
		if (!--left)
			break;
	}
}

/* The nearest node on the list of nodes that are due. */
static struct hb_node *due_nearest(struct hb_wheel *wheel, u64 now)
{
	unsigned int samples = SAMPLES;
	struct hb_node *node;

	for (;;) {
		node = sample(&wheel->due);
		if (!node || !samples-- || hb_node_deadline(node) <= now)
			return node;
		relocate(wheel, &wheel->due, now);
	}
}

/* The nearest node of a level. *@again is set where the search is to be repeated. */
static struct hb_node *level_nearest(struct hb_wheel *wheel, unsigned int number, u64 now,
				     bool *again)
{
	struct hb_level *level = wheel->level[number];
	unsigned int samples = SAMPLES;
	u64 tick = hb_level_first(level), due;
	struct list_head *bucket;
	struct hb_node *node;

	while (tick) {
		bucket = &level->slots[hb_slot_of(tick, level->size)];
		node = sample(bucket);
		if (!node) {
			*again = true;
			return NULL;
		}
		due = due_at(wheel->geometry, hb_node_deadline(node));
		if (!samples-- || due < (tick + !!number) * level->width)
			return node;
		relocate(wheel, bucket, now);
		tick = hb_level_first(level);
	}
	return NULL;
}

/**
 * hb_wheel_nearest() - find the node with the earliest deadline
 * @wheel:	the wheel
 * @now:	belt time
 * @again:	set to true if the search ended at a bucket that has become empty, after STALE_MAX
 *		others: the result is not known. The next search goes on behind them
 *
 * Looks at the first nodes of the first bucket of each level that holds a node. That is exact for
 * buckets of up to 16 nodes, and wherever nodes were added in the order of their deadlines.
 * Refreshed nodes that it meets are moved to the buckets of their deadlines. Permanent nodes come
 * last.
 *
 * Context: the shard's lock. Return: the node, or NULL if there is none.
 */
struct hb_node *hb_wheel_nearest(struct hb_wheel *wheel, u64 now, bool *again)
{
	struct hb_node *best = due_nearest(wheel, now), *node;
	unsigned int i;

	hb_wheel_assert_held(wheel);
	for (i = 0; i < HB_LEVELS && wheel->level[i]; i++) {
		node = level_nearest(wheel, i, now, again);
		if (node && (!best || hb_node_deadline(node) < hb_node_deadline(best)))
			best = node;
	}
	return best ?: list_first_entry_or_null(&wheel->permanent, struct hb_node, slot);
}

/* Moves the hand to the start. Context: the shard's lock. */
void hb_hand_rewind(struct hb_wheel *wheel)
{
	wheel->hand = (struct hb_hand){ .at = wheel->due.next, .head = &wheel->due };
}

/* Moves the hand to the next bucket that holds a node, or to the permanent nodes. */
static void next_list(struct hb_wheel *wheel)
{
	struct hb_hand *hand = &wheel->hand;
	struct hb_level *level;
	u64 tick;

	if (!hand->list)
		hand->list = 1;
	for (; hand->list <= HB_LEVELS; hand->list++, hand->tick = 0) {
		level = wheel->level[hand->list - 1];
		tick = level ? hb_level_after(level, hand->tick) : 0;
		if (!tick)
			continue;
		hand->tick = tick;
		hand->head = &level->slots[hb_slot_of(tick, level->size)];
		hand->at = hand->head->next;
		return;
	}
	hand->head = &wheel->permanent;
	hand->at = hand->head->next;
}

/**
 * hb_hand_node() - find the node that the hand has come to
 * @wheel:	the wheel
 * @again:	returned: the search ended after STALE_MAX empty buckets, and the next call goes on
 *		behind them
 *
 * Context: the shard's lock. Return: the node; NULL if the hand is at the end, or with @again.
 */
struct hb_node *hb_hand_node(struct hb_wheel *wheel, bool *again)
{
	struct hb_hand *hand = &wheel->hand;

	hb_wheel_assert_held(wheel);
	if (hand->at == hand->head && hand->list <= HB_LEVELS)
		next_list(wheel);
	*again = hand->at == hand->head && hand->list <= HB_LEVELS;
	return hand->at == hand->head ? NULL : list_entry(hand->at, struct hb_node, slot);
}

/*
 * The node, to which hb_hand_node() has come, belongs to a later bucket, because it was refreshed.
 * Context: the shard's lock.
 */
bool hb_hand_is_late(const struct hb_wheel *wheel, const struct hb_node *node)
{
	const struct hb_hand *hand = &wheel->hand;
	unsigned int number = hand->list - 1;

	hb_wheel_assert_held(wheel);
	return hand->list && hand->list <= HB_LEVELS &&
	       due_at(wheel->geometry, hb_node_deadline(node)) >=
	       (hand->tick + !!number) * wheel->geometry->width[number];
}

/*
 * Gives a wheel another geometry, which must outlive it, and a new front @level, from
 * hb_level_new(). @old is an empty wheel, which gets the old levels with their nodes. Context: the
 * shard's lock.
 */
void hb_wheel_set_geometry(struct hb_wheel *wheel, const struct hb_geometry *geometry,
			   struct hb_level *level, struct hb_wheel *old, u64 now)
{
	hb_wheel_assert_held(wheel);
	old->geometry = wheel->geometry;
	old->account = wheel->account;
	memcpy(old->level, wheel->level, sizeof(old->level));
	memset(wheel->level, 0, sizeof(wheel->level));
	wheel->geometry = geometry;
	wheel->level[0] = level;
	level->done = div64_u64(now, level->width);
	hb_hand_rewind(wheel);
}

/*
 * Takes the nodes off @old, from hb_wheel_set_geometry(), and adds them to the due nodes of @wheel;
 * at most @budget buckets. Context: the shard's lock. Return: true if there is more to do.
 */
bool hb_wheel_unload(struct hb_wheel *old, struct hb_wheel *wheel, unsigned int budget)
{
	unsigned int i;
	u32 slot;

	hb_wheel_assert_held(old);
	for (i = 0; i < HB_LEVELS && old->level[i]; i++) {
		struct hb_level *level = old->level[i];

		for (;;) {
			slot = find_first_bit(level->map, level->size);
			if (slot >= level->size)
				break;
			if (!budget--)
				return true;
			__clear_bit(slot, level->map);
			list_splice_tail_init(&level->slots[slot], &wheel->due);
		}
	}
	/*
	 * An eviction that searched the old wheel may have moved refreshed nodes to its permanent
	 * list.
	 */
	list_splice_tail_init(&old->permanent, &wheel->permanent);
	/* The hand may have passed the list of due nodes. */
	hb_hand_rewind(wheel);
	return false;
}

/* Return: the number of levels, and adds their memory to *@bytes. Context: the shard's lock. */
unsigned int hb_wheel_levels(const struct hb_wheel *wheel, u64 *bytes)
{
	unsigned int i;

	hb_wheel_assert_held(wheel);
	for (i = 0; i < HB_LEVELS && wheel->level[i]; i++)
		*bytes += hb_level_size(wheel->level[i]->size);
	return i;
}
