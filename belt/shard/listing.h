/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_LISTING_H
#define _HASHBELT_LISTING_H

#include "belt/belt.h"

/* A walk over entries that fills a buffer with records. */
struct hb_listing {
	struct hashbelt_belt *belt;
	void (*visit)(struct hashbelt_entry *entry, void *listing);
	u64 now;
	void *bytes;
	u32 size;
	u32 count;
	u64 used;	/* more than @size: the records of the last step do not fit */
};

void hb_list_add(struct hb_listing *listing, void *head, u32 head_size,
		 const struct hashbelt_entry *entry, u32 data);
u64 hb_list_chain(struct hb_listing *listing, u64 place);
int hb_list(struct hb_listing *listing, u64 *cursor, u64 end,
	    u64 (*step)(struct hb_listing *listing, u64 place));

#endif /* _HASHBELT_LISTING_H */
