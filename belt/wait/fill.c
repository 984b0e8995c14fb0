// SPDX-License-Identifier: GPL-2.0-only
/* Fill leases: one miss, one fill. See docs/design.md, "Filling, and the grace time". */

#include "belt/belt.h"
#include "belt/events/link.h"
#include "belt/shard/shard.h"
#include "fill.h"
#include "lease.h"
#include "waitpoint.h"

#define LEASE_MS	10000	/* of a fill lease without a given time */

/* Of a fill lease, nanoseconds; 0: it is too long. */
static u64 duration_of(const struct hashbelt_fill *fill)
{
	u64 lease_ms = fill->lease_ms ?: LEASE_MS;

	return lease_ms > HASHBELT_TTL_MAX_MS ? 0 : lease_ms * NSEC_PER_MSEC;
}

/* The fill has failed, and no caller has the lease. Under the shard's lock. */
static bool has_failed(const struct hashbelt_entry *lease)
{
	return lease->flags & HASHBELT_FAILED;
}

static void fill_link(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	lockdep_assert_held(&shard->lock);
	shard->fills++;
}

/* A cleared fill lease is counted until it is unlinked. */
static void fill_unlink(struct hb_shard *shard, struct hashbelt_entry *entry, bool cleared)
{
	struct hb_lease *tail = hb_tail(entry);

	lockdep_assert_held(&shard->lock);
	shard->fills--;
	hb_detach_put(&tail->link);
}

const struct hb_kind_ops hb_fill_ops = {
	.tail_size = sizeof(struct hb_lease),
	.link = fill_link,
	.unlink = fill_unlink,
	.left = hb_lease_hand_over,
	.granted = HASHBELT_STAT_FILLS,
	.awaited = -1,
	.line = HB_FILLERS,
};

/*
 * -EAGAIN: the key has a value that lives for so many milliseconds at least. -EKEYREJECTED: its
 * last fill has failed.
 */
static int refuses(struct hb_shard *shard, struct hb_acquire *acquire,
		   struct hashbelt_entry *other, u64 now)
{
	const struct hashbelt_entry *lease = acquire->lease;
	const u64 *least_ms = acquire->arg;
	struct hashbelt_entry *entry;

	lockdep_assert_held(&shard->lock);
	entry = hb_peek(shard, lease->hash & HB_HASH, lease->data, lease->key_len, now);
	if (entry && hb_ms_left(hb_node_deadline(&entry->node), now) >= *least_ms)
		return -EAGAIN;
	return other && has_failed(other) ? -EKEYREJECTED : 0;
}

/* Asks for the fill lease of a key: hashbelt_fill(). Context: may sleep. */
int hb_fill(struct hashbelt_belt *belt, struct hb_client *client, const void *key,
	    u32 key_len, struct hashbelt_fill *fill, bool ahead)
{
	u64 least_ms = ahead ? fill->ahead_ms : 0;
	struct hb_acquire acquire = {
		.belt = belt, .duration = duration_of(fill),
		.wait_ms = ahead ? 0 : fill->wait_ms, .refuses = refuses, .arg = &least_ms,
	};
	int err;

	if (!acquire.duration)
		return -EINVAL;
	err = hb_lease_acquire(&acquire, HB_FILL, client, key, key_len, NULL, 0);
	if (!err)
		fill->token = acquire.token;
	if (err == -EINTR)
		fill->wait_ms = acquire.wait_ms;
	return err == HB_FILLED ? -EAGAIN : err;
}

static struct hashbelt_entry *find_fill(struct hb_shard *shard, u32 hash, const void *key,
					u32 key_len, u64 now)
{
	lockdep_assert_held(&shard->lock);
	if (!shard->fills)
		return NULL;
	return hb_lease_find(shard, (hash & HB_HASH) | HB_FILL, key, key_len, now);
}

/* The fill lease with this token, unless it has ended; else NULL. Under the shard's lock. */
static struct hashbelt_entry *find_own(struct hb_shard *shard, u32 hash, const void *key,
				       u32 key_len, u64 token, u64 now)
{
	struct hashbelt_entry *lease = find_fill(shard, hash, key, key_len, now);

	lockdep_assert_held(&shard->lock);
	return lease && lease->version == token && !has_failed(lease) ? lease : NULL;
}

/* Ends a fill lease without a put. Return: 0, or -ENOENT if the token is not that of the lease. */
int hb_fill_give_up(struct hashbelt_belt *belt, const void *key, u32 key_len, u64 token)
{
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *lease;
	u64 now;
	int err = 0;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	lease = find_own(shard, hash, key, key_len, token, now);
	if (lease)
		hb_take_out(shard, lease, HASHBELT_REMOVED, now);
	else
		err = belt->dead ? -EIDRM : -ENOENT;
	spin_unlock(&shard->lock);
	return err;
}

/*
 * From now on no caller has this lease. It stays until its end, whatever becomes of the descriptor,
 * so no other is granted. Its waiters leave the line: each asks again and learns that. Under the
 * shard's lock.
 */
static void fail(struct hb_shard *shard, struct hashbelt_entry *lease)
{
	struct hb_waitpoint *waitpoint = hb_waitpoint_of(shard, lease);
	struct hb_lease *tail = hb_tail(lease);

	lockdep_assert_held(&shard->lock);
	lease->flags = HASHBELT_FAILED;
	hb_detach_put(&tail->link);
	tail->link.client = NULL;
	if (!waitpoint)
		return;
	hb_waiters_filled(waitpoint);
	if (hb_waiters_wake(waitpoint))
		hb_waitpoint_leave_to_worker(shard, waitpoint);
	else
		hb_waitpoint_release(shard, waitpoint);
}

/* Gives a fill lease of the caller another end, from now on; with @failed also ends the fill. */
static int change_own(struct hashbelt_belt *belt, const void *key, u32 key_len,
		      const struct hashbelt_fill *fill, bool failed)
{
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	u64 duration = duration_of(fill), now;
	struct hashbelt_entry *lease;
	int err = 0;

	if (!duration)
		return -EINVAL;
	hb_make_lease_levels(belt, hash, duration);
	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	lease = find_own(shard, hash, key, key_len, fill->token, now);
	if (lease) {
		hb_lease_set(shard, lease, duration, now, true);
		if (failed)
			fail(shard, lease);
	} else {
		err = belt->dead ? -EIDRM : -ENOENT;
	}
	spin_unlock(&shard->lock);
	return err;
}

/* Sets the end of a fill lease, from now on: hashbelt_fill_renew(). */
int hb_fill_renew(struct hashbelt_belt *belt, const void *key, u32 key_len,
		  const struct hashbelt_fill *fill)
{
	return change_own(belt, key, key_len, fill, false);
}

/* Tells other callers that a fill has failed: hashbelt_fill_fail(). */
int hb_fill_fail(struct hashbelt_belt *belt, const void *key, u32 key_len,
		 const struct hashbelt_fill *fill)
{
	return change_own(belt, key, key_len, fill, true);
}

/*
 * Return: 0 if the fill lease of the key of @put has not ended, and has this token: no other put,
 * no remove, no expire and no clear of the key came after its grant. Else -ESTALE. Under the
 * shard's lock.
 */
int hb_fill_condition(struct hb_shard *shard, const struct hashbelt_entry *put, u64 token, u64 now)
{
	const struct hashbelt_entry *lease = shard->fills ? hb_fill_find(shard, put, now) : NULL;

	lockdep_assert_held(&shard->lock);
	return lease && lease->version == token && !has_failed(lease) ? 0 : -ESTALE;
}

/*
 * The value of a key is no longer valid: what a caller has computed so far is not stored. The first
 * waiter gets a lease of its own. A lease that is over by now is handed over as always; the new one
 * stays. Under the shard's lock.
 */
void hb_fill_invalidate(struct hb_shard *shard, u32 hash, const void *key, u32 key_len, u64 now)
{
	struct hashbelt_entry *lease;

	lockdep_assert_held(&shard->lock);
	lease = hb_find_live(shard, (hash & HB_HASH) | HB_FILL, key, key_len, now);
	if (lease)
		hb_take_out(shard, lease, HASHBELT_REMOVED, now);
}

/* The fill lease of the key of @put, which has not ended; or NULL. Under the shard's lock. */
const struct hashbelt_entry *hb_fill_find(struct hb_shard *shard, const struct hashbelt_entry *put,
					  u64 now)
{
	lockdep_assert_held(&shard->lock);
	return hb_peek(shard, (hb_hash_of(put) & HB_HASH) | HB_FILL, put->data, put->key_len, now);
}

/*
 * A key was put: its fill lease ends. @put is an entry with that key, @waitpoint the key's or NULL.
 * The waiters leave the line first, or the first one would get the lease. They, or watches, keep
 * the waitpoint. Under the shard's lock.
 */
void hb_fill_end(struct hb_shard *shard, const struct hashbelt_entry *put,
		 struct hb_waitpoint *waitpoint, u64 now)
{
	struct hashbelt_entry *lease;

	lockdep_assert_held(&shard->lock);
	if (waitpoint)
		hb_waiters_filled(waitpoint);
	lease = find_fill(shard, hb_hash_of(put), put->data, put->key_len, now);
	if (lease)
		hb_take_out(shard, lease, HASHBELT_REMOVED, now);
}
