/* SPDX-License-Identifier: GPL-2.0 */
/* Buffers in which a call puts together what it lists. */
#ifndef _HASHBELT_BUFFER_H
#define _HASHBELT_BUFFER_H

#include <linux/mm.h>

#include "hashbelt_core.h"

/* For buffers in which a call puts together what it lists: no OOM killer for these. */
#define HB_BUFFER_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

/* Frees a buffer that has keys of a belt in it. */
static inline void hb_buffer_free(const struct hashbelt_belt *belt, void *buffer, u32 size)
{
	if (hashbelt_wipes(belt))
		kvfree_sensitive(buffer, size);
	else
		kvfree(buffer);
}

#endif /* _HASHBELT_BUFFER_H */
