// SPDX-License-Identifier: GPL-2.0
/*
 * Locks.
 *
 * A lock that is held is an entry of its own kind: its key is the lock's name, its
 * value the owner, its deadline the end of the lease, its version the fencing token.
 * A lock that is free is nothing. So locks age out as entries do, their tokens grow as
 * versions do, and they cost what entries cost.
 *
 * All that are held stand in one tree, by their owners and then by their tokens: what
 * an owner has is found at a cost that depends on that. Nodes are part of the entries.
 */
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>

#include "belt.h"
#include "evict.h"
#include "lease.h"
#include "link.h"
#include "lock.h"
#include "shard.h"
#include "waitpoint.h"

/* Owners, under belt->owners.lock */

static struct hashbelt_entry *entry_of(struct rb_node *node)
{
	return rb_entry(node, struct hb_lock, by_owner)->lease.link.entry;
}

/* Compares the owner and token of a lock with others. */
static int compare(struct hashbelt_entry *entry, const void *owner, u32 owner_len,
		   u64 token)
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

/* A lock is held; under the shard's lock. */
static void lock_link(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	struct hashbelt_belt *belt = shard->belt;
	struct hb_lock *lock = hb_tail(entry);

	shard->locks++;
	spin_lock(&belt->owners.lock);
	rb_add(&lock->by_owner, &belt->owners.locks, is_less);
	spin_unlock(&belt->owners.lock);
}

/* A lock is not held any more; under the shard's lock. */
static void lock_unlink(struct hb_shard *shard, struct hashbelt_entry *entry, bool cleared)
{
	struct hashbelt_belt *belt = shard->belt;
	struct hb_lock *lock = hb_tail(entry);

	shard->locks -= !cleared;
	spin_lock(&belt->owners.lock);
	rb_erase(&lock->by_owner, &belt->owners.locks);
	spin_unlock(&belt->owners.lock);
	hb_detach_put(&lock->lease.link);
}

static size_t lock_tail_size(u32 keys)
{
	return sizeof(struct hb_lock);
}

/* The event of a lock is that of an entry, but for its kind. */
static const void *lock_describe(struct hashbelt_entry *event, struct hashbelt_event *record)
{
	record->kind = HASHBELT_LOCK;
	return event->data;
}

const struct hb_kind_ops hb_lock_ops = {
	.tail_size = lock_tail_size,
	.link = lock_link,
	.unlink = lock_unlink,
	.left = hb_lease_hand_over,
	.describe = lock_describe,
	.reported = true,
};

/* The first lock of an owner with a token beyond @token, or NULL. */
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

/* Locks */

/* What a caller is told of a lock that is held. */
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

/* The lease that is asked for, nanoseconds; 0: it is too long. */
static u64 duration_for(const struct hashbelt_belt *belt, u64 ttl_ms)
{
	u64 most = READ_ONCE(belt->ttl);

	if (!ttl_ms)
		return most;
	if (ttl_ms > HASHBELT_TTL_MAX_MS || ttl_ms * NSEC_PER_MSEC > most)
		return 0;
	return ttl_ms * NSEC_PER_MSEC;
}

/* Sets the lease of a lock, or only makes it longer; under the shard's lock. */
static void set_lease(struct hb_shard *shard, struct hashbelt_entry *entry, u64 duration,
		      u64 now, bool shorten)
{
	if (hb_node_move(&entry->node, now, now + duration, shorten) != now + duration)
		return;
	hb_wheel_del(&entry->node);
	hb_clock_wake_at(&shard->belt->clock, hb_schedule(shard, entry, now));
	hb_lease_changed(shard, entry);
}

/*
 * One try: as hb_lease_take(); -EALREADY: the owner has it, and now for longer, unless that was
 * not wanted.
 */
static int try_lock(struct hb_shard *shard, struct hashbelt_entry *lease,
		    struct hashbelt_lock *lock, u64 duration, struct hb_waiter *waiter)
{
	u32 hash = lease->hash & ~HB_TAILED;
	struct hashbelt_entry *other;
	u64 now;
	int err;

	spin_lock(&shard->lock);
	now = hb_clock_now(&shard->belt->clock);
	other = hb_lease_find(shard, hash, lease->data, lease->key_len, now);
	if (other && is_owner(other, hashbelt_entry_value(lease), lock)) {
		err = -EALREADY;
		if (!(lock->how & HASHBELT_IF_ABSENT)) {
			set_lease(shard, other, duration, now, false);
			describe(other, lock, now);
		}
	} else {
		err = hb_lease_take(shard, other, lease, duration, now, waiter);
		if (!err)
			describe(lease, lock, now);
	}
	spin_unlock(&shard->lock);
	return err;
}

static int lock_and_wait(struct hashbelt_belt *belt, struct hb_shard *shard,
			 struct hashbelt_entry *lease, struct hashbelt_lock *lock, u64 duration)
{
	struct hb_waiter waiter;
	int err = hb_waiter_init(&waiter, belt, lease, duration, lock->wait_ms);

	if (err)
		return err;
	err = try_lock(shard, lease, lock, duration, &waiter);
	err = hb_waiter_finish(shard, &waiter, err, &lock->wait_ms);
	if (!err && waiter.token) {
		lock->token = waiter.token;
		lock->ttl_ms = div_u64(duration, NSEC_PER_MSEC);
		lock->held_ms = 0;
	}
	return err;
}

/**
 * hashbelt_lock() - take a lock
 * @belt:	the belt
 * @client:	the descriptor that it is to be bound to, or NULL
 * @key:	the lock's name, @lock->key_len bytes
 * @owner:	for whom, @lock->owner_len bytes
 * @lock:	@ttl_ms, @wait_ms, HASHBELT_IF_ABSENT in @how. Returns @token, @ttl_ms,
 *		@held_ms; with -EINTR @wait_ms, the time left
 *
 * Context: may sleep.
 *
 * Return: 0; -EBUSY, -ETIMEDOUT or -EINTR: another has it; -EALREADY: the owner has it,
 * with HASHBELT_IF_ABSENT; -EDOM: the lease is too long; -EOPNOTSUPP: the belt may take
 * entries away; -ENOSPC, -EDQUOT, -ENOMEM; -EIDRM.
 */
int hashbelt_lock(struct hashbelt_belt *belt, struct hb_client *client, const void *key,
		  const void *owner, struct hashbelt_lock *lock)
{
	u32 policy = READ_ONCE(belt->policy);
	u64 duration = duration_for(belt, lock->ttl_ms);
	struct hashbelt_entry *lease;
	struct hb_shard *shard;
	int err;

	if (!(policy & HASHBELT_PINNED) || policy & HASHBELT_EVICT)
		return -EOPNOTSUPP;
	if (!duration)
		return -EDOM;
	lease = hb_lease_alloc(belt, HB_LOCK, client, key, lock->key_len, owner,
			       lock->owner_len);
	if (IS_ERR(lease))
		return PTR_ERR(lease);
	shard = hb_shard_of(belt, lease->hash);
	do {
		err = try_lock(shard, lease, lock, duration, NULL);
	} while (err == -ENOSPC && hb_make_room(belt, lease));
	if (err == -EBUSY && lock->wait_ms)
		err = lock_and_wait(belt, shard, lease, lock, duration);
	if (err)
		hashbelt_entry_put(belt, lease);
	else
		hb_fit_index(belt, shard);
	return err == -EALREADY && !(lock->how & HASHBELT_IF_ABSENT) ? 0 : err;
}
EXPORT_SYMBOL_GPL(hashbelt_lock);

/* The lock of a name, if the owner has it; under the shard's lock. */
static struct hashbelt_entry *own_lock(struct hb_shard *shard, u32 hash, const void *key,
				       const void *owner, const struct hashbelt_lock *lock,
				       u64 now)
{
	struct hashbelt_entry *lease;

	lease = hb_lease_find(shard, hash | HB_LOCK, key, lock->key_len, now);
	if (!lease)
		return ERR_PTR(shard->belt->dead ? -EIDRM : -ENOENT);
	return is_owner(lease, owner, lock) ? lease : ERR_PTR(-EACCES);
}

/**
 * hashbelt_unlock() - give a lock back
 * @belt:	the belt
 * @key:	the lock's name, @lock->key_len bytes
 * @owner:	who has it, @lock->owner_len bytes
 * @lock:	returns @token, @held_ms
 *
 * Return: 0; -ENOENT: nobody has it; -EACCES: another has it; -EIDRM.
 */
int hashbelt_unlock(struct hashbelt_belt *belt, const void *key, const void *owner,
		    struct hashbelt_lock *lock)
{
	u32 hash = hb_hash(belt, key, lock->key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *lease;
	u64 now;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	lease = own_lock(shard, hash, key, owner, lock, now);
	if (!IS_ERR(lease)) {
		describe(lease, lock, now);
		hb_lease_release(shard, lease, now);
	}
	spin_unlock(&shard->lock);
	return PTR_ERR_OR_ZERO(lease);
}
EXPORT_SYMBOL_GPL(hashbelt_unlock);

/**
 * hashbelt_renew() - set the lease of a lock, from now on
 * @belt:	the belt
 * @key:	the lock's name, @lock->key_len bytes
 * @owner:	who has it, @lock->owner_len bytes
 * @lock:	@ttl_ms. Returns @token, @ttl_ms, @held_ms
 *
 * Return: 0; -ENOENT: nobody has it; -EACCES: another has it; -EDOM: the lease is too
 * long; -EIDRM.
 */
int hashbelt_renew(struct hashbelt_belt *belt, const void *key, const void *owner,
		   struct hashbelt_lock *lock)
{
	u32 hash = hb_hash(belt, key, lock->key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	u64 now, duration = duration_for(belt, lock->ttl_ms);
	struct hashbelt_entry *lease;

	if (!duration)
		return -EDOM;
	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	lease = own_lock(shard, hash, key, owner, lock, now);
	if (!IS_ERR(lease)) {
		set_lease(shard, lease, duration, now, true);
		describe(lease, lock, now);
	}
	spin_unlock(&shard->lock);
	return PTR_ERR_OR_ZERO(lease);
}
EXPORT_SYMBOL_GPL(hashbelt_renew);

/* Whether an entry that was found without its shard's lock is there. */
static bool is_there(const struct hashbelt_belt *belt, const struct hashbelt_entry *entry,
		     u64 now)
{
	return !hb_is_cleared(belt, entry) && atomic64_read(&entry->node.deadline) > (s64)now;
}

/**
 * hashbelt_query() - who has a lock
 * @belt:	the belt
 * @key:	the lock's name, @lock->key_len bytes
 * @owner:	space for HASHBELT_OWNER_MAX bytes
 * @lock:	returns @owner_len, @token, @ttl_ms, @held_ms
 *
 * Return: 0; -ENOENT: nobody; -EIDRM.
 */
int hashbelt_query(struct hashbelt_belt *belt, const void *key, void *owner,
		   struct hashbelt_lock *lock)
{
	u32 hash = hb_hash(belt, key, lock->key_len) | HB_LOCK;
	u64 now = hb_clock_now(&belt->clock);
	struct hashbelt_entry *lease;
	int err = 0;

	rcu_read_lock();
	lease = hb_index_find(&belt->index, hash, key, lock->key_len);
	if (lease && is_there(belt, lease, now)) {
		lock->owner_len = lease->value_len;
		memcpy(owner, hashbelt_entry_value(lease), lease->value_len);
		describe(lease, lock, now);
	} else {
		err = READ_ONCE(belt->dead) ? -EIDRM : -ENOENT;
	}
	rcu_read_unlock();
	return err;
}
EXPORT_SYMBOL_GPL(hashbelt_query);

/* The next lock of an owner with a token beyond @token, with a reference; or NULL. */
static struct hashbelt_entry *next_of(struct hashbelt_belt *belt, const void *owner,
				      u32 owner_len, u64 token)
{
	struct hashbelt_entry *lease;

	spin_lock(&belt->owners.lock);
	lease = first_beyond(belt, owner, owner_len, token);
	if (lease)
		refcount_inc(&lease->ref);
	spin_unlock(&belt->owners.lock);
	return lease;
}

/* Unlocks a lock that was found in the tree, if it is still there. */
static bool release_one(struct hashbelt_belt *belt, struct hashbelt_entry *lease)
{
	struct hb_shard *shard = hb_shard_of(belt, lease->hash);
	u64 now;
	bool held;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	held = is_there(belt, lease, now);
	if (held)
		hb_lease_release(shard, lease, now);
	spin_unlock(&shard->lock);
	return held;
}

/**
 * hashbelt_release_owner() - unlock all that an owner has
 * @belt:	the belt
 * @owner:	the owner, @lock->owner_len bytes
 * @lock:	returns @count
 *
 * Context: may sleep. Return: 0; -EINTR: the caller is being killed.
 */
int hashbelt_release_owner(struct hashbelt_belt *belt, const void *owner,
			   struct hashbelt_lock *lock)
{
	struct hashbelt_entry *lease;
	u64 token = 0;

	lock->count = 0;
	while ((lease = next_of(belt, owner, lock->owner_len, token))) {
		token = lease->version;
		lock->count += release_one(belt, lease);
		hashbelt_entry_put(belt, lease);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}
EXPORT_SYMBOL_GPL(hashbelt_release_owner);

/* Listing */

struct list_buffer {
	struct hashbelt_belt *belt;
	u8 *bytes;
	u64 now;
	u32 size;
	u64 used;	/* may be more than fits: then nothing is written */
	u32 count;
};

/* Adds a record; an entry of another kind is passed over. */
static void list_one(struct hashbelt_entry *entry, void *arg)
{
	struct list_buffer *buffer = arg;
	struct hashbelt_lock_record *record = (void *)(buffer->bytes + buffer->used);
	u32 data = entry->key_len + entry->value_len;
	u32 size = ALIGN(sizeof(*record) + data, 8);
	const struct hb_lease *tail;
	struct hashbelt_lock lock;

	if (hb_kind(entry) != HB_LOCK || !is_there(buffer->belt, entry, buffer->now))
		return;
	buffer->used += size;
	buffer->count++;
	if (buffer->used > buffer->size)
		return;
	tail = hb_tail(entry);
	describe(entry, &lock, buffer->now);
	*record = (struct hashbelt_lock_record){
		.size = size,
		.key_len = entry->key_len,
		.owner_len = entry->value_len,
		.how = tail->link.client ? HASHBELT_BOUND : 0,
		.ttl_ms = lock.ttl_ms,
		.held_ms = lock.held_ms,
		.token = lock.token,
	};
	memcpy(record + 1, entry->data, data);
	memset((u8 *)(record + 1) + data, 0, size - sizeof(*record) - data);
}

/* The next place of a walk over all locks. */
static u64 list_chain(struct hashbelt_belt *belt, u64 place, struct list_buffer *buffer)
{
	struct hb_shard *shard = hb_shard_of(belt, place);

	spin_lock(&shard->lock);
	place = hb_index_scan(&belt->index, place, list_one, buffer);
	spin_unlock(&shard->lock);
	return place;
}

/* The next place of a walk over those of an owner: the token of the one listed. */
static u64 list_next(struct hashbelt_belt *belt, const void *owner, u32 owner_len,
		     u64 token, struct list_buffer *buffer)
{
	struct hashbelt_entry *lease;

	spin_lock(&belt->owners.lock);
	lease = first_beyond(belt, owner, owner_len, token);
	token = lease ? lease->version : 0;
	if (lease)
		list_one(lease, buffer);
	spin_unlock(&belt->owners.lock);
	return token;
}

/**
 * hashbelt_locks() - list some of the locks that are held
 * @belt:	the belt
 * @owner:	whose, @locks->owner_len bytes
 * @locks:	@cursor, @owner_len and @size in; @cursor and @count returned, and with
 *		-ERANGE the @size that is needed
 * @bytes:	the buffer, @locks->size bytes, aligned to 8
 * @used:	returned: bytes of it that were written
 *
 * Context: may sleep. Return: 0; -EINVAL for a cursor that was not returned; -ERANGE.
 */
int hashbelt_locks(struct hashbelt_belt *belt, const void *owner,
		   struct hashbelt_locks *locks, void *bytes, u32 *used)
{
	struct list_buffer buffer = {
		.belt = belt, .bytes = bytes, .size = locks->size,
		.now = hb_clock_now(&belt->clock),
	};
	u64 place = locks->cursor, end = locks->owner_len ? 0 : HB_INDEX_END, next;
	unsigned int steps;

	*used = 0;
	locks->count = 0;
	if (!locks->owner_len && place >= HB_INDEX_END)
		return -EINVAL;
	for (steps = 0; steps < HB_SCAN_CHAINS; steps++) {
		next = locks->owner_len ?
		       list_next(belt, owner, locks->owner_len, place, &buffer) :
		       list_chain(belt, place, &buffer);
		if (buffer.used > buffer.size)
			break;
		*used = buffer.used;
		locks->count = buffer.count;
		place = next;
		if (place == end)
			break;
	}
	if (!*used && buffer.used > buffer.size) {
		locks->size = min_t(u64, buffer.used, U32_MAX);
		return -ERANGE;
	}
	locks->cursor = place == end ? 0 : place;
	return 0;
}
