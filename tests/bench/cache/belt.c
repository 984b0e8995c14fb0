// SPDX-License-Identifier: GPL-2.0-only
/*
 * A belt's order of eviction. Entries stand in buckets by their deadlines, in
 * each bucket in the order of their arrival, and expired ones have left before.
 *
 * "unread" has a hand in each shard, which walks the entries in this order, and from the last one
 * on to the first one: an entry that was read since the hand last passed is protected for the rest
 * of the term; the first other one is evicted. A term ends with a lap in which the hand has evicted
 * less than half as many entries as the shard has. A put that replaces a value counts as a read. An
 * object whose key has expired or was evicted not long ago, so that it still has a ghost, stays for
 * the rest of the term too. If at most a third of the entries that were protected in the term
 * before were not read again, the keys that are in use do not change: then it stays only when the
 * hand passes it first. Where more than half of all new objects have ghosts, ghosts do not tell one
 * from another: then it is treated as any other. The hand that is furthest behind moves, so that
 * all of them go through the belt as one would.
 *
 * Each level has buckets as wide as all of the level before, and entries move on to a finer level
 * when their bucket begins (wheel.c).
 */
#include <stdlib.h>

#include "cache.h"
#include "random.h"
#include "tree.h"

#define OVERFLOW_SIZE_MIN	64

/* A value of the same length is copied into an object of so many bytes (HB_FINE_MAX). */
#define OVERWRITE_MOST		320

/* HB_BATCH of belt/belt.h */
#define BATCH			64

/**
 * struct shard - a part of a belt
 * @root:	the tree of its objects
 * @hand_due:	the place at which the hand stands
 * @hand_turn:	its second part
 * @hand_at:	the deadline of the object there
 * @lap:	how often the hand has come to the end
 * @term:	number of the term
 * @count:	number of its objects
 * @evicted:	in this lap
 * @protected_read: objects that were protected in the last term, and that the hand has found read
 *		in this one
 * @protected_unread: objects that were protected in the last term, and that the hand has found not
 *		read in this one
 * @unstable:	many were not read, or nothing is known
 * @added:	new objects
 * @ghost_hits:	those of them that had a ghost
 * @ignores_ghosts: most new objects had one
 */
struct shard {
	struct object *root;
	uint64_t hand_due;
	uint64_t hand_turn;
	uint64_t hand_at;
	uint64_t lap;
	uint64_t term;
	uint64_t count;
	uint64_t evicted;
	uint64_t protected_read;
	uint64_t protected_unread;
	uint64_t added;
	uint64_t ghost_hits;
	bool unstable;
	bool ignores_ghosts;
};

/**
 * struct belt - state of the cache
 * @turns:	of the last object that was put into a tree
 * @ghosts:	keys and 1, at places by their hashes; 0: none
 * @shards:	all shards
 */
struct belt {
	uint64_t turns;
	uint64_t *ghosts;
	struct shard shards[];
};

static void init(struct cache *cache)
{
	const struct geometry *geometry = cache->geometry;
	struct belt *belt = zalloc(1, sizeof(*belt) +
				      geometry->shards * sizeof(belt->shards[0]));

	belt->ghosts = zalloc(geometry->ghosts, sizeof(*belt->ghosts));
	for (unsigned int i = 0; i < geometry->shards; i++) {
		belt->shards[i].term = 1;
		belt->shards[i].unstable = true;
	}
	cache->state = belt;
}

static void destroy(struct cache *cache)
{
	struct belt *belt = cache->state;

	free(belt->ghosts);
	free(belt);
}

static uint64_t hash_of(const struct cache *cache, const struct object *object)
{
	return mix(key_of(cache, object) + 1);
}

static struct shard *shard_of(const struct cache *cache, const struct object *object)
{
	struct belt *belt = cache->state;

	return &belt->shards[(hash_of(cache, object) >> 32) % cache->geometry->shards];
}

/* Return: whether the object has a mark, and sets or clears it. */
static bool mark(struct object *object, bool set)
{
	bool old = object->reads;

	object->reads = set;
	return old;
}

/* The ghost of an object's key, or of others in its place; NULL: there are no ghosts. */
static uint64_t *ghost_of(const struct cache *cache, const struct object *object)
{
	struct belt *belt = cache->state;
	uint64_t ghosts = cache->geometry->ghosts;

	return ghosts ? &belt->ghosts[hash_of(cache, object) % ghosts] : NULL;
}

static void leave_ghost(struct cache *cache, const struct object *object)
{
	uint64_t *ghost = ghost_of(cache, object);

	if (ghost)
		*ghost = key_of(cache, object) + 1;
}

/* When the bucket of a deadline ends or, on the levels after the first, begins. */
static uint64_t bucket_of(const struct geometry *geometry, uint64_t deadline, uint64_t now)
{
	uint64_t width = geometry->interval, size = geometry->buckets;

	if (deadline == NEVER)
		return NEVER;
	if (!size || deadline / width + 1 <= now / width + size)
		return (deadline / width + 1) * width;
	do {
		width *= size;
		size = size > OVERFLOW_SIZE_MIN ? size : OVERFLOW_SIZE_MIN;
	} while (deadline / width > now / width + size);
	return deadline / width * width;
}

static void enter(struct cache *cache, struct object *object)
{
	struct belt *belt = cache->state;
	struct shard *shard = shard_of(cache, object);

	object->due = bucket_of(cache->geometry, object->deadline, cache->time);
	object->turn = ++belt->turns;
	object->heat = mix(object->turn);
	tree_add(&shard->root, object);
	shard->count++;
}

/* Counts an object that has a ghost, among as many new objects as the shard has. */
static void count_ghost_hit(struct shard *shard)
{
	shard->ghost_hits++;
	if (shard->added < BATCH || shard->added < shard->count)
		return;
	shard->ignores_ghosts = 2 * shard->ghost_hits > shard->added;
	shard->added = 0;
	shard->ghost_hits = 0;
}

/* A new object's key has a ghost. */
static void ghost_hit(struct cache *cache, struct shard *shard, struct object *object)
{
	unsigned int simpler = cache->geometry->simpler;

	count_ghost_hit(shard);
	if (shard->ignores_ghosts && !(simpler & SIMPLER_NO_COMMON))
		return;
	if (simpler & SIMPLER_AS_READ)
		mark(object, true);
	else
		object->since = shard->unstable ? shard->term : shard->term + 1;
}

static void add(struct cache *cache, struct object *object)
{
	struct shard *shard = shard_of(cache, object);
	uint64_t *ghost = ghost_of(cache, object);

	object->reads = 0;
	object->since = 0;
	shard->added++;
	if (ghost && *ghost == key_of(cache, object) + 1) {
		*ghost = 0;
		ghost_hit(cache, shard, object);
	}
	enter(cache, object);
}

static void hit(struct cache *cache, struct object *object)
{
	(void)cache;
	mark(object, true);
}

static void take(struct cache *cache, struct object *object)
{
	struct shard *shard = shard_of(cache, object);

	tree_del(&shard->root, object);
	shard->count--;
}

static void leave(struct cache *cache, struct object *object)
{
	if (is_expired(cache, object))
		leave_ghost(cache, object);
	take(cache, object);
}

static void replace(struct cache *cache, struct object *object, const struct object *old)
{
	if (object->size != old->size || object->size > OVERWRITE_MOST ||
	    object->deadline < old->deadline) {
		take(cache, object);
		enter(cache, object);
	}
	mark(object, true);
}

/* Moves the entries of buckets that have begun to finer levels. Return: the first entry. */
static struct object *cascade(struct cache *cache, struct shard *shard)
{
	struct object *object;

	while ((object = tree_first(shard->root)) && object->due <= cache->time) {
		take(cache, object);
		enter(cache, object);
	}
	return object;
}

/* An object that stays where it was overwritten goes to the bucket of its deadline. */
static bool move_on(struct cache *cache, struct object *object)
{
	if (bucket_of(cache->geometry, object->deadline, cache->time) <= object->due)
		return false;
	take(cache, object);
	enter(cache, object);
	return true;
}

/* The shard whose hand is furthest behind; one of them has an entry. */
static struct shard *next_shard(struct cache *cache)
{
	struct belt *belt = cache->state;
	struct shard *best = NULL;

	for (unsigned int i = 0; i < cache->geometry->shards; i++) {
		struct shard *shard = &belt->shards[i];

		if (cascade(cache, shard) &&
		    (!best || shard->lap < best->lap ||
		     (shard->lap == best->lap && shard->hand_at < best->hand_at)))
			best = shard;
	}
	return best;
}

static void end_term(struct shard *shard)
{
	shard->term++;
	shard->protected_read = 0;
	shard->protected_unread = 0;
}

/* Moves the hand to the next entry. NULL: it is back at the start. */
static struct object *move_hand(struct shard *shard)
{
	struct object *object = tree_after(shard->root, shard->hand_due, shard->hand_turn);

	shard->hand_due = object ? object->due : 0;
	shard->hand_turn = object ? object->turn : 0;
	shard->hand_at = object ? object->deadline : 0;
	if (object)
		return object;
	shard->lap++;
	if (2 * shard->evicted < shard->count)
		end_term(shard);
	shard->evicted = 0;
	return NULL;
}

/* Counts an object that was protected in the last term, when the hand meets it first in this. */
static void count_protected(struct shard *shard, bool read)
{
	uint64_t seen;

	*(read ? &shard->protected_read : &shard->protected_unread) += 1;
	seen = shard->protected_read + shard->protected_unread;
	if (4 * seen >= shard->count)
		shard->unstable = 3 * shard->protected_unread > seen;
}

static bool stays(struct shard *shard, struct object *object)
{
	bool again = object->since == shard->term + 1, read;

	if (object->since == shard->term)
		return true;
	read = mark(object, false);
	if (object->since && object->since == shard->term - 1)
		count_protected(shard, read);
	object->since = read ? shard->term : 0;
	return read || again;
}

static void evict_unread(struct cache *cache)
{
	struct object *object;
	struct shard *shard;

	for (;;) {
		shard = next_shard(cache);
		object = move_hand(shard);
		if (object && !stays(shard, object))
			break;
		if (object)
			move_on(cache, object);
	}
	shard->evicted++;
	leave_ghost(cache, object);
	cache_evict(cache, object);
}

const struct order unread_order = {
	.name = "unread", .prompt = true,
	.init = init, .destroy = destroy, .add = add, .hit = hit, .replace = replace,
	.take = leave, .evict = evict_unread,
};
