// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libhashbelt: locks.
 */
#include <string.h>

#include "client_walk.h"
#include "private.h"

/* Least size of a list's buffer, bytes. */
#define LIST_SIZE	(16 * 1024)

/* A call on one lock; @lock has the other arguments. */
static int call_lock(struct hashbelt *belt, unsigned long request, const void *key, size_t key_len,
		     const void *owner, size_t owner_len, struct hashbelt_lock *lock)
{
	if (key_len > HASHBELT_KEY_MAX || owner_len > HASHBELT_OWNER_MAX)
		return -E2BIG;
	lock->key = (uintptr_t)key;
	lock->key_len = key_len;
	lock->owner = (uintptr_t)owner;
	lock->owner_len = owner_len;
	return note_refused(belt, call(belt, request, lock), key_len + owner_len);
}

/**
 * hashbelt_lock() - take a lock
 * @belt:	the handle
 * @key:	the lock's name
 * @key_len:	its length, 1 to HASHBELT_KEY_MAX bytes
 * @owner:	for whom
 * @owner_len:	its length, 1 to HASHBELT_OWNER_MAX bytes
 * @lock:	in: @ttl_ms, the lease; @wait_ms; @how, HASHBELT_BOUND and
 *		HASHBELT_IF_ABSENT. Returned: @token, @ttl_ms, @held_ms. NULL: the belt's
 *		lease, without waiting
 *
 * Return: 0; -EBUSY if another has it and one does not wait; -EALREADY if the owner has
 * it, with HASHBELT_IF_ABSENT; -ETIMEDOUT; -EINTR;
 * -EDOM if the lease is longer than the belt's time-to-live; -EOPNOTSUPP if the belt
 * is not pinned, or evicts; -ENOSPC or -EDQUOT at a limit; -E2BIG or -EINVAL for a
 * length; -ENOMEM.
 */
int hashbelt_lock(struct hashbelt *belt, const void *key, size_t key_len, const void *owner,
		  size_t owner_len, struct hashbelt_lock *lock)
{
	struct hashbelt_lock plain = { 0 };

	return call_lock(belt, HASHBELT_IOC_LOCK, key, key_len, owner, owner_len,
			 lock ? lock : &plain);
}

/**
 * hashbelt_unlock() - give a lock back
 * @belt:	the handle
 * @key:	the lock's name
 * @key_len:	its length, bytes
 * @owner:	its owner
 * @owner_len:	its length, bytes
 *
 * Return: 0; -ENOENT if the lock is free; -EACCES if another owner has it.
 */
int hashbelt_unlock(struct hashbelt *belt, const void *key, size_t key_len, const void *owner,
		    size_t owner_len)
{
	struct hashbelt_lock lock = { 0 };

	return call_lock(belt, HASHBELT_IOC_UNLOCK, key, key_len, owner, owner_len, &lock);
}

/**
 * hashbelt_renew() - set or lengthen the lease of a lock
 * @belt:	the handle
 * @key:	the lock's name
 * @key_len:	its length, bytes
 * @owner:	its owner
 * @owner_len:	its length, bytes
 * @ttl_ms:	the lease from now on; 0: the belt's time-to-live; HASHBELT_AT_LEAST | N: N, or the
 *		belt's time-to-live if that is less, or the present lease if that is longer
 * @lock:	returned: @token, @ttl_ms, @held_ms. NULL if of no interest
 *
 * Return: 0; -ENOENT if the lock is free; -EACCES if another owner has it; -EDOM if the
 * lease is too long.
 */
int hashbelt_renew(struct hashbelt *belt, const void *key, size_t key_len, const void *owner,
		   size_t owner_len, __u64 ttl_ms, struct hashbelt_lock *lock)
{
	struct hashbelt_lock plain;

	if (!lock)
		lock = &plain;
	*lock = (struct hashbelt_lock){ .ttl_ms = ttl_ms };
	return call_lock(belt, HASHBELT_IOC_RENEW, key, key_len, owner, owner_len, lock);
}

/**
 * hashbelt_holder() - find the owner of a lock
 * @belt:	the handle
 * @key:	the lock's name
 * @key_len:	its length, bytes
 * @owner:	space for the owner; HASHBELT_OWNER_MAX bytes always do
 * @owner_len:	in: its size; returned: the owner's length
 * @lock:	returned: @token, @ttl_ms, @held_ms. NULL if of no interest
 *
 * Return: 0; -ENOENT if the lock is free; -ERANGE if the space is too small.
 */
int hashbelt_holder(struct hashbelt *belt, const void *key, size_t key_len, void *owner,
		    size_t *owner_len, struct hashbelt_lock *lock)
{
	size_t size = *owner_len < HASHBELT_OWNER_MAX ? *owner_len : HASHBELT_OWNER_MAX;
	struct hashbelt_lock plain;
	int err;

	if (!lock)
		lock = &plain;
	*lock = (struct hashbelt_lock){ 0 };
	err = call_lock(belt, HASHBELT_IOC_HOLDER, key, key_len, owner, size, lock);
	if (!err || err == -ERANGE)
		*owner_len = lock->owner_len;
	return err;
}

/**
 * hashbelt_release() - unlock all that an owner has
 * @belt:	the handle
 * @owner:	the owner
 * @owner_len:	its length, 1 to HASHBELT_OWNER_MAX bytes
 * @count:	returned: how many that were. NULL if of no interest
 *
 * Return: 0; -EINTR if the caller is being killed.
 */
int hashbelt_release(struct hashbelt *belt, const void *owner, size_t owner_len, __u64 *count)
{
	struct hashbelt_lock lock = { 0 };
	int err = call_lock(belt, HASHBELT_IOC_RELEASE, NULL, 0, owner, owner_len, &lock);

	if (!err && count)
		*count = lock.count;
	return err;
}

/**
 * struct hashbelt_lister - a walk over the locks of a belt
 * @walk:	the walk
 * @owner:	the owner whose locks are listed
 * @owner_len:	its length, bytes; 0: of all owners
 */
struct hashbelt_lister {
	struct walk walk;
	char owner[HASHBELT_OWNER_MAX];
	__u32 owner_len;
};

static int read_locks(struct walk *walk, __u32 *size)
{
	struct hashbelt_lister *lister = (struct hashbelt_lister *)walk;
	struct hashbelt_locks locks = {
		.cursor = walk->cursor,
		.owner = (uintptr_t)lister->owner,
		.owner_len = lister->owner_len,
		.buffer = (uintptr_t)walk->buffer,
		.size = walk->size,
	};
	int err = call_at(walk->belt, walk->cursor, HASHBELT_IOC_LOCKS, &locks);

	*size = locks.size;
	if (!err) {
		walk->cursor = locks.cursor;
		walk->left = locks.count;
	}
	return err;
}

/**
 * hashbelt_locks_begin() - begin to walk over the locks that are held
 * @belt:	the handle, bound to that belt until the end
 * @owner:	their owner; NULL for the locks of all owners
 * @owner_len:	its length, at most HASHBELT_OWNER_MAX bytes; 0 for NULL
 * @lister:	returned: the walk, for one thread at a time, ended by hashbelt_locks_end();
 *		NULL after an error
 *
 * Return: 0; -E2BIG; -ENOMEM.
 */
int hashbelt_locks_begin(struct hashbelt *belt, const void *owner, size_t owner_len,
			 struct hashbelt_lister **lister)
{
	*lister = NULL;
	if (owner_len > HASHBELT_OWNER_MAX)
		return -E2BIG;
	*lister = hashbelt_walk_begin(sizeof(**lister), &(struct walk){
		.belt = belt, .read = read_locks, .size = LIST_SIZE,
	});
	if (!*lister)
		return -ENOMEM;
	(*lister)->owner_len = owner_len;
	if (owner_len)
		memcpy((*lister)->owner, owner, owner_len);
	return 0;
}

/**
 * hashbelt_locks_next() - the next lock of a walk
 * @lister:	the walk
 * @record:	returned: the lock, valid until the next call; see
 *		hashbelt_lock_key(), hashbelt_lock_owner()
 *
 * Return: 1; 0 at the end; -ENOMEM; -ERANGE if a piece is larger than the
 * kernel's bound, HASHBELT_SCAN_MAX.
 */
int hashbelt_locks_next(struct hashbelt_lister *lister,
			const struct hashbelt_lock_record **record)
{
	const void *next;
	int more = hashbelt_walk_next(&lister->walk, &next);

	if (more > 0)
		*record = next;
	return more;
}

/**
 * hashbelt_locks_end() - end a walk, at any point
 * @lister:	the walk; NULL does nothing
 */
void hashbelt_locks_end(struct hashbelt_lister *lister)
{
	hashbelt_walk_end(lister ? &lister->walk : NULL);
}
