/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_ADD_H
#define _HASHBELT_ADD_H

#include "belt/ground/entry.h"

int hb_add(struct hashbelt_belt *belt, const void *key, u32 key_len, struct hashbelt_item *item,
	   struct hashbelt_sum *sum);

#endif /* _HASHBELT_ADD_H */
