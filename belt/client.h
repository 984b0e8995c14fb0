/* SPDX-License-Identifier: GPL-2.0 */
/* A descriptor to which entries are bound: making it, closing it, reading its requests. */
#ifndef _HASHBELT_CLIENT_H
#define _HASHBELT_CLIENT_H

#include "link.h"

struct hb_holder *hashbelt_holder_new(struct hashbelt_belt *belt);
void hashbelt_holder_leave(struct hashbelt_belt *belt, struct hb_holder *holder);
int hashbelt_take_completed(struct hb_holder *holder, struct hb_fifo *events, size_t room,
			    u64 most);
void hashbelt_return_completed(struct hashbelt_belt *belt, struct hb_holder *holder,
			       struct hb_fifo *events);
void hashbelt_settle_completed(struct hashbelt_belt *belt, struct hb_fifo *events);

#endif /* _HASHBELT_CLIENT_H */
