/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_PUT_H
#define _HASHBELT_PUT_H

#include <linux/list.h>

#include "belt/ground/compat.h"
#include "belt/ground/entry.h"
#include "belt/ground/usage.h"

/**
 * enum hb_put_mode - where the entry of a put comes from
 * @HB_PUT_ENTRY:	from hashbelt_entry_alloc(): it goes into the belt, or on a belt that
 *			overwrites its value may be copied into the entry that is there
 * @HB_PUT_COPY:	from the stack: its value can only be copied
 */
enum hb_put_mode { HB_PUT_ENTRY, HB_PUT_COPY };

/**
 * enum hb_outcome - how a put or an addition ends, unless it fails with a negative errno
 * @HB_PUT_DONE:	the belt owns the entry
 * @HB_PUT_COPIED:	the value was copied into the entry that was there; the caller owns its own
 * @HB_PUT_NEEDS_ENTRY:	the value cannot be copied: the caller allocates an entry and tries again
 * @HB_PUT_NEEDS_LENGTH: of an addition: the value of the entry must have another length
 * @HB_RETRY_ROOM:	the belt has no room. This one and the next two are results of one try alone
 * @HB_RETRY_CHAINS:	the shard takes no further key
 * @HB_RETRY_EXPIRED:	the entry that was to be replaced has expired meanwhile
 */
enum hb_outcome {
	HB_PUT_DONE,
	HB_PUT_COPIED,
	HB_PUT_NEEDS_ENTRY,
	HB_PUT_NEEDS_LENGTH,
	HB_RETRY_ROOM,
	HB_RETRY_CHAINS,
	HB_RETRY_EXPIRED,
};

/**
 * struct hb_put - a put or an addition, from its first try to its end
 * @entry:	with the key, its hash, and the new value
 * @item:	@how, @ttl_ms, and @version for a condition. Returned: @ttl_ms and @version
 * @compute:	NULL; or, in place of the condition, computes the value of @entry from the entry
 *		that is there, or NULL, under the shard's lock. Return: 0, an outcome, or a negative
 *		errno
 * @mode:	where @entry comes from
 * @shard:	of the key. From here on the put itself sets the fields
 * @ahead:	the put has a reference to @entry of its own, for hb_evict_ahead()
 * @added:	no entry was replaced
 * @now:	belt time of the last try
 * @room:	reserved for @entry, while the put makes room
 * @claimed:	requests that the put has completed, to be finished
 */
struct hb_put {
	struct hashbelt_entry *entry;
	struct hashbelt_item *item;
	int (*compute)(struct hb_put *put, struct hashbelt_entry *old);
	enum hb_put_mode mode;
	struct hb_shard *shard;
	bool ahead;
	bool added;
	u64 now;
	struct hb_room room;
	struct list_head claimed;
};

int hb_put_run(struct hashbelt_belt *belt, struct hb_put *put);

/* A put of an entry that has its hash already. Return: HB_PUT_*, or an error. */
static __always_inline int hb_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
				  struct hashbelt_item *item, enum hb_put_mode mode)
{
	struct hb_put put HB_UNINITIALIZED;

	put.entry = entry;
	put.item = item;
	put.compute = NULL;
	put.mode = mode;
	return hb_put_run(belt, &put);
}

#endif /* _HASHBELT_PUT_H */
