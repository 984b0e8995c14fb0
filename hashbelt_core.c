// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interface for other modules: each function checks its arguments where the belt does not, and
 * makes one call down. Device files do not use it: they call the belt themselves. docs/design.md
 * describes the life of an entry, versions and the worker, and has the lock order.
 */
#include <linux/export.h>
#include <linux/minmax.h>

#include "belt/belt.h"
#include "belt/belts/clear.h"
#include "belt/belts/create.h"
#include "belt/belts/info.h"
#include "belt/belts/time.h"
#include "belt/events/limbo.h"
#include "belt/events/queue.h"
#include "belt/keys/add.h"
#include "belt/keys/get.h"
#include "belt/keys/key.h"
#include "belt/keys/put.h"
#include "belt/room/alloc.h"
#include "belt/wait/client.h"
#include "belt/wait/fill.h"
#include "belt/wait/lock.h"
#include "belt/wait/request.h"
#include "hashbelt_core.h"

/* A belt */

/**
 * hashbelt_create() - make a belt
 * @config:	its settings; not needed any more when this returns
 *
 * Context: may sleep. Return: the belt, owned by the caller, to be given up with
 * hashbelt_destroy(); ERR_PTR(-EINVAL), ERR_PTR(-ENOMEM), or ERR_PTR(-ENOSPC) or ERR_PTR(-EDQUOT)
 * if the module's or the account's memory limit is reached.
 */
struct hashbelt_belt *hashbelt_create(const struct hashbelt_config *config)
{
	return hb_create(config);
}
EXPORT_SYMBOL_GPL(hashbelt_create);

/**
 * hashbelt_destroy() - give up a belt
 * @belt:	from hashbelt_create(). No operation on it may be going on but readers under RCU,
 *		which may still find entries. Events that wait are dropped
 *
 * The belt is freed after a grace period, and until then its callback may be called: see
 * hashbelt_flush(). Context: a task's; does not sleep.
 */
void hashbelt_destroy(struct hashbelt_belt *belt)
{
	hb_destroy(belt);
}
EXPORT_SYMBOL_GPL(hashbelt_destroy);

/**
 * hashbelt_flush() - wait until the belts without an account that have been given up are freed
 *
 * Belts of other modules have no account. Waits also for the tables that indexes have outgrown.
 * Until a belt is freed its callback may be called. So a module whose belts have a callback calls
 * this after the last hashbelt_destroy(), before it is unloaded.
 *
 * Context: may sleep; not from a callback.
 */
void hashbelt_flush(void)
{
	hb_flush_frees();
}
EXPORT_SYMBOL_GPL(hashbelt_flush);

/**
 * hashbelt_now() - belt time
 * @belt:	the belt
 *
 * Return: nanoseconds; moves with the kernel's tick.
 */
u64 hashbelt_now(struct hashbelt_belt *belt)
{
	return hb_clock_now(&belt->clock);
}
EXPORT_SYMBOL_GPL(hashbelt_now);

/**
 * hashbelt_halt() - stop belt time: no entry expires until hashbelt_resume()
 * @belt:	the belt
 *
 * Context: may sleep.
 */
void hashbelt_halt(struct hashbelt_belt *belt)
{
	hb_halt(belt);
}
EXPORT_SYMBOL_GPL(hashbelt_halt);

/**
 * hashbelt_advance() - move belt time on, halted or not
 * @belt:	the belt
 * @by:		nanoseconds
 *
 * When it returns, all buckets that fell off by this have been drained, and their expired entries
 * are queued as events or freed, or the callback of the module that made the belt has been called.
 * If the caller is being killed, the worker does the rest.
 *
 * Context: may sleep. Return: 0, or -EOVERFLOW if belt time would leave its range of some 146
 * years.
 */
int hashbelt_advance(struct hashbelt_belt *belt, u64 by)
{
	return hb_advance(belt, by);
}
EXPORT_SYMBOL_GPL(hashbelt_advance);

/**
 * hashbelt_clear() - drop all entries
 * @belt:	the belt
 *
 * For readers all entries are gone at once. The worker frees their memory, and queues events where
 * the belt reports them, in batches. Events that were queued before stay.
 *
 * Context: may sleep.
 */
void hashbelt_clear(struct hashbelt_belt *belt)
{
	hb_clear(belt);
}
EXPORT_SYMBOL_GPL(hashbelt_clear);

/**
 * hashbelt_info() - describe a belt
 * @belt:	the belt
 * @info:	zeroed; filled in, but for the name, @mode, @uid, @gid and @access
 *
 * Context: may sleep.
 */
void hashbelt_info(struct hashbelt_belt *belt, struct hashbelt_info *info)
{
	hb_info(belt, info);
}
EXPORT_SYMBOL_GPL(hashbelt_info);

/* Entries */

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
	return hb_entry_new(belt, client, key_len, value_len);
}
EXPORT_SYMBOL_GPL(hashbelt_entry_alloc);

/**
 * hashbelt_put() - put an entry into a belt
 * @belt:	the belt
 * @entry:	from hashbelt_entry_alloc(), filled; the belt's from now on, also if the put fails
 * @item:	@how: HASHBELT_IF_*; @ttl_ms; @version with HASHBELT_IF_VERSION, and the token with
 *		HASHBELT_IF_LEASE. Returned: @ttl_ms and @version
 *
 * Context: may sleep. Return: 0; -EEXIST, -ENOENT or -ESTALE if the condition does not hold;
 * -EINVAL for a time-to-live that is too long; -ENOSPC if the belt is full, and does not evict or
 * has no entry to evict; -EDQUOT, -ENOSPC, -ENOMEM if the index is full and there is no memory for
 * a larger one; -EINTR: the same, and the task is being killed; -EIDRM if the belt was destroyed.
 */
int hashbelt_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		 struct hashbelt_item *item)
{
	int outcome;

	hb_entry_hash(belt, entry);
	outcome = hb_put(belt, entry, item, HB_PUT_ENTRY);
	if (outcome == HB_PUT_COPIED)
		hashbelt_entry_put(belt, entry);
	return min(outcome, 0);
}
EXPORT_SYMBOL_GPL(hashbelt_put);

/**
 * hashbelt_add() - add to a number
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @item:	@how: HASHBELT_IF_PRESENT, HASHBELT_FLOOR, and with that @version; @ttl_ms and
 *		@flags of a new entry. Returned: @ttl_ms, @version
 * @sum:	@by; @value of a new entry. Returned: @value
 *
 * An addition is a put that replaces the entry.
 *
 * Context: may sleep. Return: 0; -ENOENT with HASHBELT_IF_PRESENT; -EBADMSG: the value is no
 * number, or one below the floor; -EOVERFLOW; -EINVAL for a time-to-live that is too long, or
 * without HASHBELT_IF_PRESENT a @value below the floor; -ENOSPC, -EDQUOT, -ENOMEM; -EIDRM.
 */
int hashbelt_add(struct hashbelt_belt *belt, const void *key, u32 key_len,
		 struct hashbelt_item *item, struct hashbelt_sum *sum)
{
	return hb_add(belt, key, key_len, item, sum);
}
EXPORT_SYMBOL_GPL(hashbelt_add);

/**
 * hashbelt_find() - find the entry of a key
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @now:	hashbelt_now()
 * @gone:	NULL; or returned where no entry is found, for hashbelt_miss(): why, if the entry
 *		has left not long ago (enum hashbelt_reason); else 0
 *
 * Exact: no entry at or past its deadline is found, however late the worker is. A get ends with
 * hashbelt_hit() or hashbelt_miss().
 *
 * Context: rcu_read_lock(), which also bounds how long the entry is valid; refcount_inc_not_zero()
 * on its @ref extends that. Return: the entry, or NULL.
 */
struct hashbelt_entry *hashbelt_find(struct hashbelt_belt *belt, const void *key,
				     u32 key_len, u64 now, u32 *gone)
{
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_seen seen;

	return hb_find_in(belt, hash, hb_index_find(&belt->index, hash, key, key_len), now, &seen,
			  gone);
}
EXPORT_SYMBOL_GPL(hashbelt_find);

/**
 * hashbelt_hit() - complete a get that found an entry
 * @belt:	the belt
 * @entry:	from hashbelt_find(), in the same read-side section or with a reference
 * @item:	@how, and @ttl_ms with HASHBELT_AND_TOUCH, checked by hashbelt_get_prepare().
 *		Returned: @flags, @value_len, @ttl_ms and @version
 * @now:	hashbelt_now() as it was for hashbelt_find()
 *
 * Refreshes the entry if the belt or the caller wants that. If that comes too late, the value that
 * was read does not count.
 *
 * Counts a hit and, on a belt that evicts what was not read, marks the entry as read, unless @how
 * has HASHBELT_NO_REFRESH.
 *
 * Context: rcu_read_lock() or a reference to @entry. Return: true; false if the caller must find
 * the entry again.
 */
bool hashbelt_hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		  struct hashbelt_item *item, u64 now)
{
	/* The entry was found when its deadline was later, and is not overwritten (entry.h). */
	struct hb_seen seen = {
		.version = entry->version,
		.deadline = max(hb_node_deadline(&entry->node), now + 1),
	};

	return hb_hit(belt, entry, item, now, seen);
}
EXPORT_SYMBOL_GPL(hashbelt_hit);

/**
 * hashbelt_miss() - complete a get that found no entry, and count it as a miss
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @gone:	from hashbelt_find()
 */
void hashbelt_miss(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 gone)
{
	hb_miss(belt, key, key_len, gone, 0);
}
EXPORT_SYMBOL_GPL(hashbelt_miss);

/**
 * hashbelt_touch() - give an entry a new deadline
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @item:	@ttl_ms; @how: 0, or the conditions of a touch, HASHBELT_IF_VERSION with @version.
 *		Returned: @flags, @ttl_ms and @version
 *
 * Context: may sleep. Return: 0; -ENOENT; -EINVAL for a time-to-live that is too long, or for
 * conditions that exclude each other; -ESTALE if the version differs; -EALREADY if a condition on
 * the deadline does not hold; -EIDRM.
 */
int hashbelt_touch(struct hashbelt_belt *belt, const void *key, u32 key_len,
		   struct hashbelt_item *item)
{
	return hb_touch(belt, key, key_len, item);
}
EXPORT_SYMBOL_GPL(hashbelt_touch);

/**
 * hashbelt_remove() - remove an entry
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @item:	@how: 0, HASHBELT_IF_VERSION with @version, HASHBELT_LEAVE_STALE. Returned: @version
 *
 * Ends the fill lease of the key, too, unless the condition fails.
 *
 * Context: may sleep. Return: 0; -ENOENT; -ESTALE if the version differs; -EINVAL for
 * HASHBELT_LEAVE_STALE on a belt without a grace time, or that reinserts; -EIDRM.
 */
int hashbelt_remove(struct hashbelt_belt *belt, const void *key, u32 key_len,
		    struct hashbelt_item *item)
{
	return hb_remove(belt, key, key_len, item);
}
EXPORT_SYMBOL_GPL(hashbelt_remove);

/**
 * hashbelt_expire() - expire an entry now, through the handler
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 *
 * Ends the fill lease of the key, too.
 *
 * Context: may sleep. Return: 0, -ENOENT or -EIDRM.
 */
int hashbelt_expire(struct hashbelt_belt *belt, const void *key, u32 key_len)
{
	return hb_expire_key(belt, key, key_len, 0);
}
EXPORT_SYMBOL_GPL(hashbelt_expire);

/* Fill leases */

/**
 * hashbelt_fill() - ask for the fill lease of a key
 * @belt:	the belt
 * @client:	the descriptor that it is to be bound to, or NULL
 * @key:	the key
 * @key_len:	its length
 * @fill:	@lease_ms; @wait_ms; @ahead_ms. Returned: @token; with -EINTR @wait_ms, from
 *		hb_wait_until()
 * @ahead:	also if the key has a value, for less than @ahead_ms
 *
 * Context: may sleep. Return: 0: the caller has it; -EBUSY: another task has it; -ETIMEDOUT or
 * -EINTR: another task has it, and the caller has waited; -EAGAIN: the key has a value, or the fill
 * has failed for which the caller has waited: it gets the key, and asks again; -EKEYREJECTED: the
 * last fill has failed, see hashbelt_fill_fail(); -EINVAL for a lease or a time to wait that is too
 * long; -ENOSPC, -EDQUOT, -ENOMEM; -EIDRM.
 */
int hashbelt_fill(struct hashbelt_belt *belt, struct hb_client *client, const void *key,
		  u32 key_len, struct hashbelt_fill *fill, bool ahead)
{
	return hb_fill(belt, client, key, key_len, fill, ahead);
}
EXPORT_SYMBOL_GPL(hashbelt_fill);

/**
 * hashbelt_give_up() - end a fill lease without a put
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @token:	from hashbelt_fill()
 *
 * The first waiter is granted a fill lease.
 *
 * Return: 0; -ENOENT: that lease has ended; -EIDRM.
 */
int hashbelt_give_up(struct hashbelt_belt *belt, const void *key, u32 key_len, u64 token)
{
	return hb_fill_give_up(belt, key, key_len, token);
}
EXPORT_SYMBOL_GPL(hashbelt_give_up);

/**
 * hashbelt_fill_renew() - set the end of a fill lease, from now on
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @fill:	@token; @lease_ms
 *
 * Context: may sleep. Return: 0; -ENOENT: that lease has ended; -EINVAL: it would be too long;
 * -EIDRM.
 */
int hashbelt_fill_renew(struct hashbelt_belt *belt, const void *key, u32 key_len,
			const struct hashbelt_fill *fill)
{
	return hb_fill_renew(belt, key, key_len, fill);
}
EXPORT_SYMBOL_GPL(hashbelt_fill_renew);

/**
 * hashbelt_fill_fail() - tell other callers that a fill has failed
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @fill:	@token; @lease_ms: the time for which no fill lease of the key is granted
 *
 * The lease ends. Callers that wait for it, and those that ask in that time, get -EKEYREJECTED from
 * hashbelt_fill(). A put, a remove, an expire and a clear of the key end that, too.
 *
 * Context: may sleep. Return: what hashbelt_fill_renew() returns.
 */
int hashbelt_fill_fail(struct hashbelt_belt *belt, const void *key, u32 key_len,
		       const struct hashbelt_fill *fill)
{
	return hb_fill_fail(belt, key, key_len, fill);
}
EXPORT_SYMBOL_GPL(hashbelt_fill_fail);

/* Locks */

/**
 * hashbelt_lock() - take a lock
 * @belt:	the belt
 * @client:	the descriptor that it is to be bound to, or NULL
 * @key:	the lock's name, @lock->key_len bytes
 * @owner:	@lock->owner_len bytes
 * @lock:	@ttl_ms, @wait_ms, HASHBELT_IF_ABSENT in @how. Returned: @token, @ttl_ms, @held_ms;
 *		with -EINTR @wait_ms, from hb_wait_until()
 *
 * Context: may sleep. Return: 0; -EBUSY, -ETIMEDOUT or -EINTR: another owner has it; -EALREADY: the
 * owner has it, with HASHBELT_IF_ABSENT; -EDOM: the lease is too long; -EOPNOTSUPP: the belt may
 * evict entries; -ENOSPC, -EDQUOT, -ENOMEM; -EIDRM.
 */
int hashbelt_lock(struct hashbelt_belt *belt, struct hb_client *client, const void *key,
		  const void *owner, struct hashbelt_lock *lock)
{
	return hb_lock_acquire(belt, client, key, owner, lock);
}
EXPORT_SYMBOL_GPL(hashbelt_lock);

/**
 * hashbelt_unlock() - give a lock back
 * @belt:	the belt
 * @key:	the lock's name, @lock->key_len bytes
 * @owner:	@lock->owner_len bytes
 * @lock:	returns @token, @held_ms
 *
 * Return: 0; -ENOENT: the lock is free; -EACCES: another owner has it; -EIDRM.
 */
int hashbelt_unlock(struct hashbelt_belt *belt, const void *key, const void *owner,
		    struct hashbelt_lock *lock)
{
	return hb_lock_release(belt, key, owner, lock);
}
EXPORT_SYMBOL_GPL(hashbelt_unlock);

/**
 * hashbelt_renew() - set or lengthen the lease of a lock, from now on
 * @belt:	the belt
 * @key:	the lock's name, @lock->key_len bytes
 * @owner:	@lock->owner_len bytes
 * @lock:	@ttl_ms; with HASHBELT_AT_LEAST a longer lease stays. Returned: @token, @ttl_ms,
 *		@held_ms
 *
 * Return: 0; -ENOENT: the lock is free; -EACCES: another owner has it; -EDOM: the lease is too
 * long; -EIDRM.
 */
int hashbelt_renew(struct hashbelt_belt *belt, const void *key, const void *owner,
		   struct hashbelt_lock *lock)
{
	return hb_lock_renew(belt, key, owner, lock);
}
EXPORT_SYMBOL_GPL(hashbelt_renew);

/**
 * hashbelt_query() - return the owner of a lock
 * @belt:	the belt
 * @key:	the lock's name, @lock->key_len bytes
 * @owner:	space for HASHBELT_OWNER_MAX bytes
 * @lock:	returns @owner_len, @token, @ttl_ms, @held_ms
 *
 * Return: 0; -ENOENT: the lock is free; -EIDRM.
 */
int hashbelt_query(struct hashbelt_belt *belt, const void *key, void *owner,
		   struct hashbelt_lock *lock)
{
	return hb_lock_query(belt, key, owner, lock);
}
EXPORT_SYMBOL_GPL(hashbelt_query);

/**
 * hashbelt_release_owner() - unlock all locks of an owner
 * @belt:	the belt
 * @owner:	@lock->owner_len bytes
 * @lock:	returns @count
 *
 * Context: may sleep. Return: 0; -EINTR: the caller is being killed.
 */
int hashbelt_release_owner(struct hashbelt_belt *belt, const void *owner,
			   struct hashbelt_lock *lock)
{
	return hb_locks_release(belt, owner, lock);
}
EXPORT_SYMBOL_GPL(hashbelt_release_owner);

/* Descriptors, requests and events */

/**
 * hashbelt_client_new() - make a client for a descriptor
 * @belt:	the belt that it is bound to
 *
 * Context: may sleep. Return: the client, to be given up by hashbelt_client_close() and then
 * hashbelt_client_put(); NULL if there is no memory.
 */
struct hb_client *hashbelt_client_new(struct hashbelt_belt *belt)
{
	return hb_client_new(belt);
}
EXPORT_SYMBOL_GPL(hashbelt_client_new);

/**
 * hashbelt_client_close() - close a descriptor
 * @belt:	the belt
 * @client:	its client; no entry can be bound to it any more
 *
 * When this returns, the entries that were bound to the client are gone, and so are the completed
 * requests that it had not read.
 *
 * Context: may sleep.
 */
void hashbelt_client_close(struct hashbelt_belt *belt, struct hb_client *client)
{
	hb_client_close(belt, client);
}
EXPORT_SYMBOL_GPL(hashbelt_client_close);

/**
 * hashbelt_client_put() - drop a reference to a client
 * @client:	the client, or NULL
 *
 * Context: any.
 */
void hashbelt_client_put(struct hb_client *client)
{
	hb_client_put(client);
}
EXPORT_SYMBOL_GPL(hashbelt_client_put);

/**
 * hashbelt_request_alloc() - allocate a request
 * @belt:	the belt
 * @client:	the client that is to be told
 * @id:		the client's number for it
 * @count:	keys, 1 to HASHBELT_REQUEST_KEYS
 * @bytes:	the sum of their lengths
 *
 * Context: may sleep. Return: the request, for hashbelt_request_key() for each key and then
 * hashbelt_request(), or hashbelt_entry_put(); or an error of hashbelt_entry_alloc().
 */
struct hashbelt_entry *hashbelt_request_alloc(struct hashbelt_belt *belt, struct hb_client *client,
					      u64 id, u32 count, u32 bytes)
{
	return hb_request_alloc(belt, client, id, count, bytes);
}
EXPORT_SYMBOL_GPL(hashbelt_request_alloc);

/**
 * hashbelt_request_key() - set the length of one of the keys
 * @entry:	from hashbelt_request_alloc()
 * @number:	of the key, from 0
 * @at:		the sum of the lengths of the keys before it
 * @len:	its length
 *
 * Return: where the caller puts its bytes.
 */
void *hashbelt_request_key(struct hashbelt_entry *entry, u32 number, u32 at, u32 len)
{
	return hb_request_key(entry, number, at, len);
}
EXPORT_SYMBOL_GPL(hashbelt_request_key);

/**
 * hashbelt_request() - register a request
 * @belt:	the belt
 * @entry:	from hashbelt_request_alloc(), with its keys; the belt's from now on, also if this
 *		fails
 * @ttl_ms:	when it times out
 *
 * Context: may sleep. Return: 0; -EEXIST: its client has one of that id; -EINVAL for a timeout that
 * is too long; -ENOSPC, -EDQUOT, -ENOMEM; -EINTR: there is no memory, and the caller is being
 * killed; -EIDRM.
 */
int hashbelt_request(struct hashbelt_belt *belt, struct hashbelt_entry *entry, u64 ttl_ms)
{
	return hb_request_add(belt, entry, ttl_ms);
}
EXPORT_SYMBOL_GPL(hashbelt_request);

/**
 * hashbelt_take_completed() - take requests of which a client is to be told
 * @client:	the client
 * @events:	an empty list, which gets them; to be given to hashbelt_settle_completed() or
 *		hashbelt_return_completed()
 * @room:	bytes that their records may take in all
 * @most:	most events to take
 *
 * Return: 0; -EAGAIN if there is none; -EMSGSIZE if the record of the first takes more than @room.
 */
int hashbelt_take_completed(struct hb_client *client, struct hb_fifo *events, size_t room,
			    u64 most)
{
	return hb_take_completed(client, events, room, most);
}
EXPORT_SYMBOL_GPL(hashbelt_take_completed);

/**
 * hashbelt_settle_completed() - free completed requests that were taken
 * @belt:	the belt
 * @events:	the events; empty afterwards, and none of them is valid any more
 *
 * Context: may sleep.
 */
void hashbelt_settle_completed(struct hashbelt_belt *belt, struct hb_fifo *events)
{
	hb_settle_completed(belt, events);
}
EXPORT_SYMBOL_GPL(hashbelt_settle_completed);

/**
 * hashbelt_describe_event() - fill in the record of an event
 * @event:	from hashbelt_take_events() or hashbelt_take_completed()
 * @record:	filled in, with 0 as @lost
 *
 * Return: the key, with the value after it; valid as long as the event is.
 */
const void *hashbelt_describe_event(struct hashbelt_entry *event, struct hashbelt_event *record)
{
	return hb_describe_event(event, record);
}
EXPORT_SYMBOL_GPL(hashbelt_describe_event);
