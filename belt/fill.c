// SPDX-License-Identifier: GPL-2.0-only
/* Fill leases: one miss, one fill. See docs/design.md, "Filling, and the grace time". */
#include <linux/export.h>

#include "belt.h"
#include "fill.h"
#include "lease.h"
#include "link.h"
#include "shard.h"

#define LEASE_MS	10000	/* of a fill lease without a given time */

static void fill_link(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	shard->fills++;
}

/* A cleared fill lease is counted until it is unlinked. */
static void fill_unlink(struct hb_shard *shard, struct hashbelt_entry *entry, bool cleared)
{
	struct hb_lease *tail = hb_tail(entry);

	shard->fills--;
	hb_detach_put(&tail->link);
}

const struct hb_kind_ops hb_fill_ops = {
	.tail_size = sizeof(struct hb_lease),
	.link = fill_link,
	.unlink = fill_unlink,
	.left = hb_lease_hand_over,
};

/* -EAGAIN: the key has a value that lives for so many milliseconds at least. */
static int refuses(struct hb_shard *shard, struct hb_acquire *acquire,
		   struct hashbelt_entry *other, u64 now)
{
	const struct hashbelt_entry *lease = acquire->lease;
	const u64 *least_ms = acquire->arg;
	struct hashbelt_entry *entry;

	entry = hb_peek(shard, lease->hash & HB_HASH, lease->data, lease->key_len, now);
	return entry && hb_ms_left(hb_node_deadline(&entry->node), now) >= *least_ms ? -EAGAIN : 0;
}

/**
 * hashbelt_fill() - ask for the fill lease of a key
 * @belt:	the belt
 * @client:	the descriptor that it is to be bound to, or NULL
 * @key:	the key
 * @key_len:	its length
 * @fill:	@lease_ms; @wait_ms; @ahead_ms. Returns @token; with -EINTR @wait_ms, the time left
 * @ahead:	also if the key has a value, for less than @ahead_ms
 *
 * Context: may sleep. Return: 0: the caller has it; -EBUSY: another task has it; -ETIMEDOUT or
 * -EINTR: likewise, and the caller has waited; -EAGAIN: the key has a value; -EINVAL for a lease or
 * a time to wait that is too long; -ENOSPC, -EDQUOT, -ENOMEM; -EIDRM.
 */
int hashbelt_fill(struct hashbelt_belt *belt, struct hb_client *client, const void *key,
		  u32 key_len, struct hashbelt_fill *fill, bool ahead)
{
	u64 lease_ms = fill->lease_ms ?: LEASE_MS;
	u64 least_ms = ahead ? fill->ahead_ms : 0;
	struct hb_acquire acquire = {
		.belt = belt, .duration = lease_ms * NSEC_PER_MSEC,
		.wait_ms = ahead ? 0 : fill->wait_ms, .refuses = refuses, .arg = &least_ms,
	};
	int err;

	if (lease_ms > HASHBELT_TTL_MAX_MS)
		return -EINVAL;
	err = hb_lease_acquire(&acquire, HB_FILL, client, key, key_len, NULL, 0);
	if (!err)
		fill->token = acquire.token;
	if (err == -EINTR)
		fill->wait_ms = acquire.wait_ms;
	return err == HB_FILLED ? -EAGAIN : err;
}
EXPORT_SYMBOL_GPL(hashbelt_fill);

static struct hashbelt_entry *find_fill(struct hb_shard *shard, u32 hash, const void *key,
					u32 key_len, u64 now)
{
	if (!shard->fills)
		return NULL;
	return hb_lease_find(shard, (hash & HB_HASH) | HB_FILL, key, key_len, now);
}

/**
 * hashbelt_give_up() - end a fill lease without a put
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @token:	from hashbelt_fill()
 *
 * Return: 0; -ENOENT: that lease has ended; -EIDRM.
 */
int hashbelt_give_up(struct hashbelt_belt *belt, const void *key, u32 key_len, u64 token)
{
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *lease;
	u64 now;
	int err = 0;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	lease = find_fill(shard, hash, key, key_len, now);
	if (lease && lease->version == token)
		hb_take_out(shard, lease, HASHBELT_REMOVED, now);
	else
		err = belt->dead ? -EIDRM : -ENOENT;
	spin_unlock(&shard->lock);
	return err;
}
EXPORT_SYMBOL_GPL(hashbelt_give_up);

/* The fill lease of the key of @put, which has not ended; or NULL. Under the shard's lock. */
const struct hashbelt_entry *hb_fill_find(struct hb_shard *shard, const struct hashbelt_entry *put,
					  u64 now)
{
	return hb_peek(shard, (put->hash & HB_HASH) | HB_FILL, put->data, put->key_len, now);
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

	if (waitpoint)
		hb_waiters_filled(waitpoint);
	lease = find_fill(shard, put->hash, put->data, put->key_len, now);
	if (lease)
		hb_take_out(shard, lease, HASHBELT_REMOVED, now);
}
