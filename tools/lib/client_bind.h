/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libhashbelt: handles that are kept bound to the belt of a name. */
#ifndef HASHBELT_CLIENT_BIND_H
#define HASHBELT_CLIENT_BIND_H

#include "private.h"

HIDDEN int hashbelt_bind_first(struct hashbelt *belt, unsigned int *bindings);
HIDDEN int hashbelt_bind_anew(struct hashbelt *belt, unsigned int bindings);

/* Whether hashbelt_keep_bound() keeps the handle bound. */
static inline int is_kept(const struct hashbelt *belt)
{
	return !!__atomic_load_n(&belt->call, __ATOMIC_ACQUIRE);
}

/* Whether an operation names something that an earlier one has got from the belt. */
static inline int names_former(const struct hashbelt_item *item)
{
	return !!(item->how & (HASHBELT_IF_VERSION | HASHBELT_IF_LEASE));
}

#endif /* HASHBELT_CLIENT_BIND_H */
