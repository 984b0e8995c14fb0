/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_EVICT_H
#define _HASHBELT_EVICT_H

#include "belt/belt.h"

struct hb_room;

bool hb_make_room(struct hashbelt_belt *belt, const struct hashbelt_entry *put,
		  struct hb_room *room);
size_t hb_evict_class(struct hashbelt_belt *belt, enum hb_class class,
		      enum hashbelt_reason reason, const struct hashbelt_entry *put,
		      unsigned int *passes);
unsigned int hb_evict(struct hashbelt_belt *belt, enum hashbelt_reason reason, unsigned int most);
bool hb_frees_by_evicting(const struct hashbelt_belt *belt);
bool hb_evicts_ahead(const struct hashbelt_belt *belt);
void hb_evict_ahead(struct hashbelt_belt *belt, const struct hashbelt_entry *put);

#endif /* _HASHBELT_EVICT_H */
