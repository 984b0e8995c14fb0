// SPDX-License-Identifier: GPL-2.0-only
/* Listing: walks over entries that fill a buffer with records. */
#include <linux/minmax.h>
#include <linux/string.h>

#include "belt/belt.h"
#include "listing.h"

/*
 * Counts a record, and writes it if the buffer has room: @head, whose first word gets the size of
 * the record; @data bytes of the entry; zeros up to a multiple of 8.
 */
void hb_list_add(struct hb_listing *listing, void *head, u32 head_size,
		 const struct hashbelt_entry *entry, u32 data)
{
	u32 size = ALIGN(head_size + data, 8);
	void *record = listing->bytes + listing->used;

	listing->used += size;
	listing->count++;
	if (listing->used > listing->size)
		return;
	*(u32 *)head = size;
	memset(record, 0, size);
	memcpy(record, head, head_size);
	memcpy(record + head_size, entry->data, data);
}

/* A step of hb_list() over one chain. Return: the next place. */
u64 hb_list_chain(struct hb_listing *listing, u64 place)
{
	struct hb_shard *shard = hb_shard_of(listing->belt, place);

	spin_lock(&shard->lock);
	place = hb_index_scan(&listing->belt->index, place, listing->visit, listing);
	spin_unlock(&shard->lock);
	return place;
}

/*
 * Takes steps from *@cursor on, HB_SCAN_CHAINS at most, until one returns @end or has records that
 * do not fit; the next call repeats that one. Return: 0, with the next cursor, which is 0 after
 * @end; -EINVAL for a cursor from @end on, unless @end is 0; or -ERANGE if no record fits, with the
 * size that is needed in @listing.
 */
int hb_list(struct hb_listing *listing, u64 *cursor, u64 end,
	    u64 (*step)(struct hb_listing *listing, u64 place))
{
	u64 place = *cursor, used = 0, next, needed;
	unsigned int steps;
	u32 count = 0;

	if (end && place >= end)
		return -EINVAL;
	for (steps = 0; steps < HB_SCAN_CHAINS; steps++) {
		next = step(listing, place);
		if (listing->used > listing->size)
			break;
		used = listing->used;
		count = listing->count;
		place = next;
		if (place == end)
			break;
	}
	needed = listing->used;
	listing->used = used;
	listing->count = count;
	if (!used && needed > listing->size) {
		listing->size = min_t(u64, needed, U32_MAX);
		return -ERANGE;
	}
	*cursor = place == end ? 0 : place;
	return 0;
}
