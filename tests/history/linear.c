// SPDX-License-Identifier: GPL-2.0-only
/*
 * The search for an order: Jeannette Wing and Chun Gong, "Testing and Verifying Concurrent
 * Objects" (1993), with the cache of Gavin Lowe, "Testing for Linearizability" (2017).
 *
 * An operation may be the next one if no other remaining operation had ended before it began. If
 * its result fits, the search goes on behind it; if none fits, the search backtracks. The rest
 * depends only on the set of operations that are done and on the state of the key. So a pair of
 * these that the search has reached before is not tried again.
 *
 * A call samples the clock once. A writer does so under a lock that readers do not take, and a
 * reader before it searches. So the time that a call uses, for a deadline or for the time left that
 * it returns, may be any that the clock has shown since the call began. A get by a window samples
 * the clock after it has taken effect: its time may be a later one. (That allows a little too much:
 * while the clock is being moved, consecutive calls may see it go back.)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linear.h"

/* The state of a key. Without an entry all members but @now and @version are 0. */
struct key {
	uint64_t now;
	uint64_t deadline;
	uint64_t version;
	int64_t value;
	uint64_t there;
};

/* A point that the search has reached, in a table with open addressing. */
struct place {
	uint64_t done;
	struct key key;
	bool used;
};

/*
 * @clock: the times that the clock shows, in order; @oldest: for each act, the index of the first
 * of these that it may have sampled; @newest: of the last one
 */
struct search {
	const struct act *acts;
	unsigned int count;
	uint64_t clock[ACTS_MAX + 1];
	unsigned int times;
	unsigned int oldest[ACTS_MAX];
	unsigned int newest[ACTS_MAX];
	const struct terms *terms;
	struct place *places;
	size_t size;
	size_t used;
};

static uint64_t hash_of(uint64_t done, const struct key *key)
{
	uint64_t hash = done * 0x9e3779b97f4a7c15ULL;

	hash = (hash ^ key->now) * 0xff51afd7ed558ccdULL;
	hash = (hash ^ hash >> 32 ^ key->deadline) * 0xc4ceb9fe1a85ec53ULL;
	hash = (hash ^ hash >> 29 ^ key->version) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

static struct place *find(struct search *search, uint64_t done, const struct key *key)
{
	size_t at = hash_of(done, key) & (search->size - 1);

	while (search->places[at].used && (search->places[at].done != done ||
					   memcmp(&search->places[at].key, key, sizeof(*key))))
		at = (at + 1) & (search->size - 1);
	return &search->places[at];
}

static void *need(void *memory)
{
	if (!memory) {
		perror("linear");
		exit(255);
	}
	return memory;
}

static void grow(struct search *search)
{
	struct place *old = search->places;
	size_t size = search->size, i;

	search->size = size ? 2 * size : 1024;
	search->places = need(calloc(search->size, sizeof(*old)));
	for (i = 0; i < size; i++)
		if (old[i].used)
			*find(search, old[i].done, &old[i].key) = old[i];
	free(old);
}

/* Adds a point to the table. False if it is there already. */
static bool is_new(struct search *search, uint64_t done, const struct key *key)
{
	struct place *place;

	if (2 * search->used >= search->size)
		grow(search);
	place = find(search, done, key);
	if (place->used)
		return false;
	*place = (struct place){ .done = done, .key = *key, .used = true };
	search->used++;
	return true;
}

/* The effect of each operation on a key. False: its result does not fit. */

static bool is_missed(struct key *key, const struct act *act)
{
	return !key->there && act->err == -ENOENT;
}

static void leave(struct key *key)
{
	*key = (struct key){ .now = key->now, .version = key->version };
}

/* Gives an entry a deadline, which may have passed already. */
static void set_deadline(struct key *key, uint64_t deadline)
{
	key->deadline = deadline;
	if (deadline <= key->now)
		leave(key);
}

static bool get(struct key *key, const struct act *act, const struct terms *terms, uint64_t now)
{
	uint64_t again = now + (act->kind == ACT_REFRESH ? act->ms : terms->ttl_ms);
	uint64_t deadline = key->deadline;

	if (!key->there || act->err)
		return is_missed(key, act);
	if (act->version != key->version || act->value != key->value)
		return false;
	if (act->kind == ACT_REFRESH || (terms->refresh && again > deadline)) {
		deadline = again;
		set_deadline(key, again);
	}
	return terms->lapses || (now < deadline && act->left_ms == deadline - now);
}

/* The result that a put must have. */
static int put_ends(const struct key *key, const struct act *act)
{
	if (!key->there)
		return act->condition >= IF_PRESENT ? -ENOENT : 0;
	if (act->condition == IF_VERSION && act->wants != key->version)
		return -ESTALE;
	return act->condition == IF_ABSENT ? -EEXIST : 0;
}

static bool replace(struct key *key, const struct act *act, uint64_t deadline)
{
	/* A version is larger than all earlier ones of the key, across removal and expiry. */
	if (act->version <= key->version)
		return false;
	key->there = 1;
	key->version = act->version;
	key->value = act->value;
	set_deadline(key, deadline);
	/* The returned time left is not compared: a touch right after the put may have set it. */
	return true;
}

static bool put(struct key *key, const struct act *act, const struct terms *terms, uint64_t now)
{
	bool keep = act->ms == KEEP_TIME && key->there;
	uint64_t ttl = act->ms && act->ms != KEEP_TIME ? act->ms : terms->ttl_ms;

	if (act->err != put_ends(key, act))
		return false;
	if (act->err == -EEXIST || act->err == -ESTALE)
		return act->version == key->version;
	if (act->err)
		return true;
	return replace(key, act, keep ? key->deadline : now + ttl);
}

static bool add(struct key *key, const struct act *act, const struct terms *terms, uint64_t now)
{
	int64_t value = key->there ? key->value : 0;

	if (act->err || act->value != value + act->by)
		return false;
	return replace(key, act, key->there ? key->deadline : now + terms->ttl_ms);
}

static bool touch(struct key *key, const struct act *act, const struct terms *terms, uint64_t now)
{
	if (!key->there || act->err)
		return is_missed(key, act);
	set_deadline(key, now + act->ms);
	return act->version == key->version && (terms->lapses || act->left_ms == act->ms);
}

static bool take_out(struct key *key, const struct act *act)
{
	bool fits = act->kind == ACT_EXPIRE || act->version == key->version;

	if (!key->there || act->err)
		return is_missed(key, act);
	leave(key);
	return fits;
}

/* @now: the time that the call sampled */
static bool fits(struct key *key, const struct act *act, const struct terms *terms, uint64_t now)
{
	switch (act->kind) {
	case ACT_GET:
	case ACT_REFRESH:
		return get(key, act, terms, now);
	case ACT_PUT:
		return put(key, act, terms, now);
	case ACT_ADD:
		return add(key, act, terms, now);
	case ACT_TOUCH:
		return touch(key, act, terms, now);
	case ACT_REMOVE:
	case ACT_EXPIRE:
		return take_out(key, act);
	case ACT_ADVANCE:
		key->now += act->ms;
		if (key->there && key->deadline <= key->now)
			leave(key);
		return true;
	case ACT_CLEAR:
		leave(key);
		return true;
	case ACT_OTHER:
		return true;
	}
	return false;
}

static bool can_go_on(struct search *search, uint64_t done, const struct key *key);

/* can_be_next(), for an entry that has not expired just before. */
static bool can_follow(struct search *search, uint64_t done, const struct key *key, unsigned int i)
{
	const struct act *act = &search->acts[i];
	unsigned int at = search->times;
	struct key next;

	while (at--) {
		if (at > search->newest[i] || (!act->windowed && search->clock[at] > key->now))
			continue;
		if (at < search->oldest[i])
			break;
		next = *key;
		if (fits(&next, act, search->terms, search->clock[at]) &&
		    can_go_on(search, done | 1ULL << i, &next))
			return true;
	}
	return false;
}

/* Whether an operation can be the next one, and the remaining ones can follow it. */
static bool can_be_next(struct search *search, uint64_t done, const struct key *key, unsigned int i)
{
	struct key lapsed = *key;

	if (can_follow(search, done, key, i))
		return true;
	if (!search->terms->lapses || !key->there)
		return false;
	leave(&lapsed);
	return can_follow(search, done, &lapsed, i);
}

/* Whether the remaining operations can be ordered. */
static bool can_go_on(struct search *search, uint64_t done, const struct key *key)
{
	uint64_t first_end = UINT64_MAX;
	unsigned int i;

	if (done == UINT64_MAX >> (64 - search->count))
		return true;
	if (!is_new(search, done, key))
		return false;
	for (i = 0; i < search->count; i++)
		if (!(done & 1ULL << i) && search->acts[i].end < first_end)
			first_end = search->acts[i].end;
	for (i = 0; i < search->count; i++)
		if (!(done & 1ULL << i) && search->acts[i].begin <= first_end &&
		    can_be_next(search, done, key, i))
			return true;
	return false;
}

/* Lists the times that the clock shows. One thread moves it, so their order is known. */
static void read_clock(struct search *search)
{
	uint64_t ended = 0, begun = 0;
	unsigned int i, next;

	search->clock[search->times++] = 0;
	for (;;) {
		next = search->count;
		for (i = 0; i < search->count; i++)
			if (search->acts[i].kind == ACT_ADVANCE &&
			    search->acts[i].begin >= begun &&
			    (next == search->count ||
			     search->acts[i].begin < search->acts[next].begin))
				next = i;
		if (next == search->count)
			return;
		begun = search->acts[next].begin + 1;
		ended = search->acts[next].end;
		search->clock[search->times] = search->clock[search->times - 1] +
					       search->acts[next].ms;
		for (i = 0; i < search->count; i++) {
			if (search->acts[i].begin > ended)
				search->oldest[i] = search->times;
			if (search->acts[i].end > search->acts[next].begin)
				search->newest[i] = search->times;
		}
		search->times++;
	}
}

bool is_linear(const struct act *acts, unsigned int count, const struct terms *terms)
{
	struct search search = { .acts = acts, .count = count, .terms = terms };
	struct key nothing = {};
	bool linear;

	read_clock(&search);
	linear = can_go_on(&search, 0, &nothing);

	free(search.places);
	return linear;
}

void print_act(const struct act *act)
{
	static const char *const names[] = {
		"get", "get and-touch", "put", "touch", "remove", "expire", "add", "advance",
		"clear", "other",
	};
	static const char *const conditions[] = { "", " if-absent", " if-present", " if-version" };

	printf("#   %4llu-%-4llu %s%s%s", (unsigned long long)act->begin,
	       (unsigned long long)act->end, names[act->kind], conditions[act->condition],
	       act->windowed ? " by the window" : "");
	if (act->condition == IF_VERSION)
		printf(" %llu", (unsigned long long)act->wants);
	if (act->kind == ACT_ADD)
		printf(" by=%lld", (long long)act->by);
	if (act->ms == KEEP_TIME)
		printf(" ttl=keep");
	else if (act->ms)
		printf(" %llu ms", (unsigned long long)act->ms);
	if (act->err)
		printf(" -> %s", strerrorname_np(-act->err));
	else if (act->kind < ACT_ADVANCE)
		printf(" -> version %llu, value %lld, %llu ms left",
		       (unsigned long long)act->version, (long long)act->value,
		       (unsigned long long)act->left_ms);
	printf("\n");
}
