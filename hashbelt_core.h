/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A belt, as the module's own files and other modules see it.
 *
 * Another module makes a belt, puts entries and finds them under RCU:
 *
 *	belt = hashbelt_create(&(struct hashbelt_config){ .ttl = NSEC_PER_SEC });
 *	...
 *	entry = hashbelt_entry_alloc(belt, NULL, key_len, value_len);
 *	memcpy(entry->data, key, key_len);
 *	memcpy(hashbelt_entry_value(entry), value, value_len);
 *	err = hashbelt_put(belt, entry, &(struct hashbelt_item){});
 *	...
 *	rcu_read_lock();
 *	entry = hashbelt_find(belt, key, key_len, hashbelt_now(belt), NULL);
 *	...
 *	rcu_read_unlock();
 *	...
 *	hashbelt_destroy(belt);
 *
 * A module whose belts have a callback calls hashbelt_flush() before it is unloaded.
 * tests/user/hashbelt_user.c is such a module.
 */
#ifndef _HASHBELT_CORE_H
#define _HASHBELT_CORE_H

#include "belt/belt.h"
#include "belt/client.h"
#include "belt/create.h"
#include "belt/evict.h"
#include "belt/fill.h"
#include "belt/info.h"
#include "belt/lock.h"
#include "belt/queue.h"
#include "belt/request.h"
#include "belt/worker.h"

/* Readers take versions, floors and alarms in one piece. */
#if BITS_PER_LONG != 64
#error "hashbelt needs a kernel of 64 bits; programs may have 32"
#endif

struct hb_seen;

u64 hashbelt_now(struct hashbelt_belt *belt);

int hashbelt_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		 struct hashbelt_item *item);
int hashbelt_add(struct hashbelt_belt *belt, const void *key, u32 key_len,
		 struct hashbelt_item *item, struct hashbelt_sum *sum);
struct hashbelt_entry *hashbelt_find(struct hashbelt_belt *belt, const void *key,
				     u32 key_len, u64 now, u32 *gone);
struct hashbelt_entry *hashbelt_find_stale(struct hashbelt_belt *belt, const void *key,
					   u32 key_len, u64 now, struct hb_seen *seen);
bool hashbelt_hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		  struct hashbelt_item *item, u64 now);
bool hashbelt_hit_stale(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
			struct hashbelt_item *item, u64 now, struct hb_seen seen);
void hashbelt_miss(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 gone);
int hashbelt_get_prepare(struct hashbelt_belt *belt, const void *key, u32 key_len,
			 const struct hashbelt_item *item);
int hashbelt_touch(struct hashbelt_belt *belt, const void *key, u32 key_len,
		   struct hashbelt_item *item);
int hashbelt_remove(struct hashbelt_belt *belt, const void *key, u32 key_len,
		    struct hashbelt_item *item);
int hashbelt_expire(struct hashbelt_belt *belt, const void *key, u32 key_len);

#endif /* _HASHBELT_CORE_H */
