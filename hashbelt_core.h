/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A belt, as the module's own files and other modules see it.
 *
 * Another module makes a belt, puts entries and finds them under RCU:
 *
 *	belt = hashbelt_create(&(struct hashbelt_config){ .ttl = NSEC_PER_SEC });
 *	...
 *	entry = hashbelt_entry_alloc(belt, key_len, value_len);
 *	memcpy(entry->data, key, key_len);
 *	memcpy(hashbelt_entry_value(entry), value, value_len);
 *	err = hashbelt_put(belt, entry, &(struct hashbelt_item){});
 *	...
 *	rcu_read_lock();
 *	entry = hashbelt_find(belt, key, key_len, hashbelt_now(belt));
 *	...
 *	rcu_read_unlock();
 *	...
 *	hashbelt_destroy(belt);
 */
#ifndef _HASHBELT_CORE_H
#define _HASHBELT_CORE_H

#include "hashbelt.h"
#include "hashbelt_entry.h"

/* Readers take versions, floors and alarms in one piece. */
#if BITS_PER_LONG != 64
#error "hashbelt needs a kernel of 64 bits; programs may have 32"
#endif

struct hashbelt_belt;

#define HASHBELT_BUCKETS_DEFAULT	3
#define HASHBELT_TTL_DEFAULT		(300 * NSEC_PER_SEC)

/**
 * struct hashbelt_config - what a belt shall be
 * @ttl:	nanoseconds, up to HASHBELT_TTL_MAX_MS; 0 for 5 minutes
 * @buckets:	HASHBELT_BUCKETS_MIN to HASHBELT_BUCKETS_MAX; 0 for 3
 * @policy:	HASHBELT_REFRESH_ON_GET, HASHBELT_KEEP_ON_PUT
 * @expired:	the handler: called once for each entry that expires, in process
 *		context, with no lock held that an operation on the belt needs
 *		(it must not move the belt's time or destroy the belt); the
 *		entry is valid until it returns. NULL: entries are dropped
 * @arg:	passed to @expired
 */
struct hashbelt_config {
	u64 ttl;
	u32 buckets;
	u32 policy;
	void (*expired)(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
			void *arg);
	void *arg;
};

int hb_core_init(void);
void hb_core_exit(void);

struct hashbelt_belt *hashbelt_create(const struct hashbelt_config *config);
void hashbelt_destroy(struct hashbelt_belt *belt);
void hashbelt_kill(struct hashbelt_belt *belt);
bool hashbelt_is_dead(const struct hashbelt_belt *belt);

struct hashbelt_entry *hashbelt_entry_alloc(struct hashbelt_belt *belt, u32 key_len,
					    u32 value_len);
void hashbelt_entry_put(struct hashbelt_entry *entry);

int hashbelt_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		 struct hashbelt_item *item);
struct hashbelt_entry *hashbelt_find(struct hashbelt_belt *belt, const void *key,
				     u32 key_len, u64 now);
bool hashbelt_hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		  struct hashbelt_item *item, u64 now);
void hashbelt_miss(struct hashbelt_belt *belt);
int hashbelt_get_prepare(struct hashbelt_belt *belt, const void *key, u32 key_len,
			 const struct hashbelt_item *item);
int hashbelt_touch(struct hashbelt_belt *belt, const void *key, u32 key_len,
		   struct hashbelt_item *item);
int hashbelt_remove(struct hashbelt_belt *belt, const void *key, u32 key_len,
		    struct hashbelt_item *item);
int hashbelt_expire(struct hashbelt_belt *belt, const void *key, u32 key_len);
void hashbelt_clear(struct hashbelt_belt *belt);

u64 hashbelt_now(struct hashbelt_belt *belt);
void hashbelt_halt(struct hashbelt_belt *belt);
void hashbelt_resume(struct hashbelt_belt *belt);
int hashbelt_advance(struct hashbelt_belt *belt, u64 by);
int hashbelt_rotate(struct hashbelt_belt *belt);

int hashbelt_scan(struct hashbelt_belt *belt, struct hashbelt_scan *scan,
		  void *buffer, u32 *used);
void hashbelt_info(struct hashbelt_belt *belt, struct hashbelt_info *info);
void hashbelt_stat(struct hashbelt_belt *belt, u64 *counters);

#endif /* _HASHBELT_CORE_H */
