// SPDX-License-Identifier: GPL-2.0-only
/* Locks: entries of a kind of their own, in one tree by owner. See docs/design.md, "Locks". */
#include <linux/sched/signal.h>

#include "belt/belt.h"
#include "belt/events/limbo.h"
#include "belt/events/link.h"
#include "belt/ground/compat.h"
#include "belt/shard/listing.h"
#include "belt/shard/shard.h"
#include "lease.h"
#include "lock.h"
#include "waitpoint.h"

static struct hashbelt_entry *entry_of(struct rb_node *node)
{
	return rb_entry(node, struct hb_lock, by_owner)->lease.link.entry;
}

/* Compares the owner and token of a lock with others. Under belt->owners.lock. */
static int compare(struct hashbelt_entry *entry, const void *owner, u32 owner_len, u64 token)
{
	if (entry->value_len != owner_len)
		return entry->value_len < owner_len ? -1 : 1;
	return memcmp(hashbelt_entry_value(entry), owner, owner_len) ?:
	       entry->version < token ? -1 : entry->version > token;
}

static bool is_less(struct rb_node *node, const struct rb_node *other)
{
	struct hashbelt_entry *entry = rb_entry(other, struct hb_lock, by_owner)->lease.link.entry;

	return compare(entry_of(node), hashbelt_entry_value(entry), entry->value_len,
		       entry->version) < 0;
}

static void lock_link(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	struct hashbelt_belt *belt = shard->belt;
	struct hb_lock *lock = hb_tail(entry);

	lockdep_assert_held(&shard->lock);
	shard->locks++;
	spin_lock(&belt->owners.lock);
	rb_add(&lock->by_owner, &belt->owners.locks, is_less);
	spin_unlock(&belt->owners.lock);
}

static void lock_unlink(struct hb_shard *shard, struct hashbelt_entry *entry, bool cleared)
{
	struct hashbelt_belt *belt = shard->belt;
	struct hb_lock *lock = hb_tail(entry);

	lockdep_assert_held(&shard->lock);
	shard->locks -= !cleared;
	spin_lock(&belt->owners.lock);
	rb_erase(&lock->by_owner, &belt->owners.locks);
	spin_unlock(&belt->owners.lock);
	hb_detach_put(&lock->lease.link);
}

static const void *lock_describe(struct hashbelt_entry *event, struct hashbelt_event *record)
{
	record->kind = HASHBELT_LOCK;
	return event->data;
}

const struct hb_kind_ops hb_lock_ops = {
	.tail_size = sizeof(struct hb_lock),
	.link = lock_link,
	.unlink = lock_unlink,
	.left = hb_lease_hand_over,
	.describe = lock_describe,
	.reported = true,
	.granted = HASHBELT_STAT_LOCKS,
	.awaited = HASHBELT_STAT_LOCK_WAITS,
	.line = HB_LOCKERS,
	.releases = true,
};

/* The first lock of an owner with a token greater than @token, or NULL. */
static struct hashbelt_entry *first_beyond(struct hashbelt_belt *belt, const void *owner,
					   u32 owner_len, u64 token)
{
	struct rb_node *node = belt->owners.locks.rb_node, *best = NULL;

	lockdep_assert_held(&belt->owners.lock);
	while (node) {
		if (compare(entry_of(node), owner, owner_len, token) > 0) {
			best = node;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	if (!best || compare(entry_of(best), owner, owner_len, entry_of(best)->version))
		return NULL;
	return entry_of(best);
}

/* Fills in the fields that a caller gets of a held lock. */
static void describe(struct hashbelt_entry *entry, struct hashbelt_lock *lock, u64 now)
{
	const struct hb_lease *tail = hb_tail(entry);
	u64 end = hb_node_deadline(&entry->node);

	lock->token = entry->version;
	lock->ttl_ms = end > now ? hb_ms_left(end, now) : 0;
	lock->held_ms = now > tail->since ? div_u64(now - tail->since, NSEC_PER_MSEC) : 0;
}

static bool is_owner(struct hashbelt_entry *entry, const void *owner,
		     const struct hashbelt_lock *lock)
{
	return entry->value_len == lock->owner_len &&
	       !memcmp(hashbelt_entry_value(entry), owner, lock->owner_len);
}

/* The lease for @ttl_ms in nanoseconds; 0: it is too long. */
static u64 duration_for(const struct hashbelt_belt *belt, u64 ttl_ms)
{
	u64 most = READ_ONCE(belt->settings.ttl);

	if (!ttl_ms)
		return most;
	if (ttl_ms > HASHBELT_TTL_MAX_MS || ttl_ms * NSEC_PER_MSEC > most)
		return 0;
	return ttl_ms * NSEC_PER_MSEC;
}

/* The lease for at least @ttl_ms, or the belt's time-to-live if that is less; 0: that as well. */
static u64 least_for(const struct hashbelt_belt *belt, u64 ttl_ms)
{
	if (!ttl_ms || ttl_ms > HASHBELT_TTL_MAX_MS)
		return 0;
	return min_t(u64, ttl_ms * NSEC_PER_MSEC, READ_ONCE(belt->settings.ttl));
}

/*
 * -EALREADY: the owner has the lock. Its lease is extended then, unless HASHBELT_IF_ABSENT is set.
 */
static int refuses(struct hb_shard *shard, struct hb_acquire *acquire,
		   struct hashbelt_entry *other, u64 now)
{
	struct hashbelt_lock *lock = acquire->arg;

	lockdep_assert_held(&shard->lock);
	if (!other || !is_owner(other, hashbelt_entry_value(acquire->lease), lock))
		return 0;
	if (!(lock->how & HASHBELT_IF_ABSENT)) {
		hb_lease_set(shard, other, acquire->duration, now, false);
		describe(other, lock, now);
	}
	return -EALREADY;
}

/* Takes a lock: hashbelt_lock(). Context: may sleep. */
int hb_lock_acquire(struct hashbelt_belt *belt, struct hb_client *client, const void *key,
		    const void *owner, struct hashbelt_lock *lock)
{
	u32 policy = READ_ONCE(belt->settings.policy);
	struct hb_acquire acquire = {
		.belt = belt, .duration = duration_for(belt, lock->ttl_ms),
		.wait_ms = lock->wait_ms, .refuses = refuses, .arg = lock,
	};
	int err;

	if (!(policy & HASHBELT_PINNED) || policy & HASHBELT_EVICT)
		return -EOPNOTSUPP;
	if (!acquire.duration)
		return -EDOM;
	err = hb_lease_acquire(&acquire, HB_LOCK, client, key, lock->key_len, owner,
			       lock->owner_len);
	if (err == -EINTR)
		lock->wait_ms = acquire.wait_ms;
	if (!err) {
		lock->token = acquire.token;
		lock->ttl_ms = hb_ms_left(acquire.duration, 0);
		lock->held_ms = 0;
	}
	return err == -EALREADY && !(lock->how & HASHBELT_IF_ABSENT) ? 0 : err;
}

/* Ends a lock of the owner, or with a @duration gives it another end, as hb_lease_set(). */
static int change_own(struct hashbelt_belt *belt, const void *key, const void *owner,
		      struct hashbelt_lock *lock, u64 duration, bool shorten)
{
	u32 hash = hb_hash(belt, key, lock->key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *lease;
	int err = 0;
	u64 now;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	lease = hb_lease_find(shard, hash | HB_LOCK, key, lock->key_len, now);
	if (!lease) {
		err = belt->dead ? -EIDRM : -ENOENT;
	} else if (!is_owner(lease, owner, lock)) {
		err = -EACCES;
	} else {
		if (duration)
			hb_lease_set(shard, lease, duration, now, shorten);
		describe(lease, lock, now);
		if (!duration)
			hb_take_out(shard, lease, HASHBELT_REMOVED, now);
	}
	spin_unlock(&shard->lock);
	return err;
}

/* Gives a lock back: hashbelt_unlock(). */
int hb_lock_release(struct hashbelt_belt *belt, const void *key, const void *owner,
		    struct hashbelt_lock *lock)
{
	return change_own(belt, key, owner, lock, 0, false);
}

/* Sets or lengthens the lease of a lock, from now on: hashbelt_renew(). */
int hb_lock_renew(struct hashbelt_belt *belt, const void *key, const void *owner,
		  struct hashbelt_lock *lock)
{
	bool shorten = !(lock->ttl_ms & HASHBELT_AT_LEAST);
	u64 duration = shorten ? duration_for(belt, lock->ttl_ms) :
				 least_for(belt, lock->ttl_ms & ~HASHBELT_AT_LEAST);

	return duration ? change_own(belt, key, owner, lock, duration, shorten) : -EDOM;
}

/* Finds the owner of a lock: hashbelt_query(). */
int hb_lock_query(struct hashbelt_belt *belt, const void *key, void *owner,
		  struct hashbelt_lock *lock)
{
	u32 hash = hb_hash(belt, key, lock->key_len) | HB_LOCK;
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *lease;
	u64 now;

	/* Under this lock no lease is just being handed over, and so out of the index. */
	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	lease = hb_peek(shard, hash, key, lock->key_len, now);
	if (lease) {
		lock->owner_len = lease->value_len;
		memcpy(owner, hashbelt_entry_value(lease), lease->value_len);
		describe(lease, lock, now);
	}
	spin_unlock(&shard->lock);
	if (lease)
		return 0;
	return READ_ONCE(belt->dead) ? -EIDRM : -ENOENT;
}

/*
 * Unlocks a lock that was found in the tree, unless it has ended. Return: true if it was unlocked.
 */
static bool release_one(struct hashbelt_belt *belt, struct hashbelt_entry *lease)
{
	struct hb_shard *shard = hb_shard_of(belt, lease->hash);
	u64 now;
	bool held;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	held = hb_is_live(belt, lease, now);
	if (held)
		hb_take_out(shard, lease, HASHBELT_REMOVED, now);
	spin_unlock(&shard->lock);
	return held;
}

/* Unlocks all locks of an owner: hashbelt_release_owner(). Context: may sleep. */
int hb_locks_release(struct hashbelt_belt *belt, const void *owner,
		     struct hashbelt_lock *lock)
{
	struct hashbelt_entry *lease;
	u64 token = 0;

	lock->count = 0;
	for (;;) {
		spin_lock(&belt->owners.lock);
		lease = first_beyond(belt, owner, lock->owner_len, token);
		if (lease)
			refcount_inc(&lease->ref);
		spin_unlock(&belt->owners.lock);
		if (!lease)
			return 0;
		token = lease->version;
		lock->count += release_one(belt, lease);
		hashbelt_entry_put(belt, lease);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
}

/* Of the locks of @owner; with 0 as @owner_len of all locks. */
struct lock_listing {
	struct hb_listing listing;
	const void *owner;
	u32 owner_len;
};

static void list_one(struct hashbelt_entry *entry, void *arg)
{
	const struct hb_lease *tail = hb_tail(entry);
	struct hashbelt_lock_record record;
	struct hb_listing *listing = arg;
	struct hashbelt_lock lock;

	if (hb_kind(entry) != HB_LOCK || !hb_is_live(listing->belt, entry, listing->now))
		return;
	describe(entry, &lock, listing->now);
	record = (struct hashbelt_lock_record){
		.key_len = entry->key_len,
		.owner_len = entry->value_len,
		.how = tail->link.client ? HASHBELT_BOUND : 0,
		.ttl_ms = lock.ttl_ms,
		.held_ms = lock.held_ms,
		.token = lock.token,
	};
	hb_list_add(listing, &record, sizeof(record), entry, entry->key_len + entry->value_len);
}

/* A step over one lock of an owner. Return: its token, 0 after the last lock. */
static u64 list_next(struct hb_listing *listing, u64 token)
{
	struct lock_listing *locks = container_of(listing, struct lock_listing, listing);
	struct hashbelt_belt *belt = listing->belt;
	struct hashbelt_entry *lease;

	spin_lock(&belt->owners.lock);
	lease = first_beyond(belt, locks->owner, locks->owner_len, token);
	token = lease ? lease->version : 0;
	if (lease)
		list_one(lease, listing);
	spin_unlock(&belt->owners.lock);
	return token;
}

/**
 * hb_locks_list() - list some of the locks that are held
 * @belt:	the belt
 * @owner:	list only the locks of this owner, @locks->owner_len bytes
 * @locks:	@cursor, @owner_len and @size in; @cursor and @count returned, and with -ERANGE the
 *		@size that is needed
 * @bytes:	the buffer, @locks->size bytes, aligned to 8
 * @used:	returned: bytes of it that were written
 *
 * Context: may sleep. Return: 0; -EINVAL for a cursor that was not returned; -ERANGE.
 */
int hb_locks_list(struct hashbelt_belt *belt, const void *owner,
		  struct hashbelt_locks *locks, void *bytes, u32 *used)
{
	struct lock_listing all = {
		.listing = {
			.belt = belt, .visit = list_one, .now = hb_clock_now(&belt->clock),
			.bytes = bytes, .size = locks->size,
		},
		.owner = owner, .owner_len = locks->owner_len,
	};
	struct hb_listing *listing = &all.listing;
	int err = locks->owner_len ?
		  hb_list(listing, &locks->cursor, 0, list_next) :
		  hb_list(listing, &locks->cursor, HB_INDEX_END, hb_list_chain);

	locks->size = listing->size;
	locks->count = listing->count;
	*used = listing->used;
	return err;
}
