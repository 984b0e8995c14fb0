/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A belt, as other modules see it.
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
#include "belt/ground/entry.h"
#include "belt/ground/fifo.h"
#include "belt/room/alloc.h"
#include "belt/settings.h"

struct hashbelt_belt *hashbelt_create(const struct hashbelt_config *config);
void hashbelt_destroy(struct hashbelt_belt *belt);
void hashbelt_flush(void);
u64 hashbelt_now(struct hashbelt_belt *belt);
void hashbelt_halt(struct hashbelt_belt *belt);
int hashbelt_advance(struct hashbelt_belt *belt, u64 by);
void hashbelt_clear(struct hashbelt_belt *belt);
void hashbelt_info(struct hashbelt_belt *belt, struct hashbelt_info *info);
struct hashbelt_entry *hashbelt_entry_alloc(struct hashbelt_belt *belt, struct hb_client *client,
					    u32 key_len, u32 value_len);
int hashbelt_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		 struct hashbelt_item *item);
int hashbelt_add(struct hashbelt_belt *belt, const void *key, u32 key_len,
		 struct hashbelt_item *item, struct hashbelt_sum *sum);
struct hashbelt_entry *hashbelt_find(struct hashbelt_belt *belt, const void *key,
				     u32 key_len, u64 now, u32 *gone);
bool hashbelt_hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		  struct hashbelt_item *item, u64 now);
void hashbelt_miss(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 gone);
int hashbelt_touch(struct hashbelt_belt *belt, const void *key, u32 key_len,
		   struct hashbelt_item *item);
int hashbelt_remove(struct hashbelt_belt *belt, const void *key, u32 key_len,
		    struct hashbelt_item *item);
int hashbelt_expire(struct hashbelt_belt *belt, const void *key, u32 key_len);
int hashbelt_fill(struct hashbelt_belt *belt, struct hb_client *client, const void *key,
		  u32 key_len, struct hashbelt_fill *fill, bool ahead);
int hashbelt_give_up(struct hashbelt_belt *belt, const void *key, u32 key_len, u64 token);
int hashbelt_fill_renew(struct hashbelt_belt *belt, const void *key, u32 key_len,
			const struct hashbelt_fill *fill);
int hashbelt_fill_fail(struct hashbelt_belt *belt, const void *key, u32 key_len,
		       const struct hashbelt_fill *fill);
int hashbelt_lock(struct hashbelt_belt *belt, struct hb_client *client, const void *key,
		  const void *owner, struct hashbelt_lock *lock);
int hashbelt_unlock(struct hashbelt_belt *belt, const void *key, const void *owner,
		    struct hashbelt_lock *lock);
int hashbelt_renew(struct hashbelt_belt *belt, const void *key, const void *owner,
		   struct hashbelt_lock *lock);
int hashbelt_query(struct hashbelt_belt *belt, const void *key, void *owner,
		   struct hashbelt_lock *lock);
int hashbelt_release_owner(struct hashbelt_belt *belt, const void *owner,
			   struct hashbelt_lock *lock);
struct hb_client *hashbelt_client_new(struct hashbelt_belt *belt);
void hashbelt_client_close(struct hashbelt_belt *belt, struct hb_client *client);
void hashbelt_client_put(struct hb_client *client);
struct hashbelt_entry *hashbelt_request_alloc(struct hashbelt_belt *belt, struct hb_client *client,
					      u64 id, u32 count, u32 bytes);
void *hashbelt_request_key(struct hashbelt_entry *entry, u32 number, u32 at, u32 len);
int hashbelt_request(struct hashbelt_belt *belt, struct hashbelt_entry *entry, u64 ttl_ms);
int hashbelt_take_completed(struct hb_client *client, struct hb_fifo *events, size_t room,
			    u64 most);
void hashbelt_settle_completed(struct hashbelt_belt *belt, struct hb_fifo *events);
const void *hashbelt_describe_event(struct hashbelt_entry *event, struct hashbelt_event *record);

#endif /* _HASHBELT_CORE_H */
