/* SPDX-License-Identifier: GPL-2.0 */
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
 * One whose belts call it back waits for that to be over by hashbelt_flush() before it
 * goes. tests/user/hashbelt_user.c is such a module.
 */
#ifndef _HASHBELT_CORE_H
#define _HASHBELT_CORE_H

#include <linux/wait.h>

#include "hashbelt.h"
#include "hashbelt_entry.h"

/* Readers take versions, floors and alarms in one piece. */
#if BITS_PER_LONG != 64
#error "hashbelt needs a kernel of 64 bits; programs may have 32"
#endif

struct hashbelt_belt;
struct hb_account;
struct hb_holder;
struct hb_fifo;

#define HASHBELT_BUCKETS_DEFAULT	3
#define HASHBELT_TTL_DEFAULT		(300 * NSEC_PER_SEC)

/**
 * struct hashbelt_config - what a belt shall be
 * @ttl:	nanoseconds, up to HASHBELT_TTL_MAX_MS; 0 for 5 minutes
 * @buckets:	HASHBELT_BUCKETS_MIN to HASHBELT_BUCKETS_MAX; 0 for 3
 * @policy:	HASHBELT_REFRESH_ON_GET to HASHBELT_WIPE
 * @handler:	what becomes of an entry that expires
 * @reasons:	HASHBELT_REPORT() bits: what is reported, unless @handler is
 *		HASHBELT_DROP; 0 for HASHBELT_REPORT_DEFAULT
 * @max_entries: most entries, 0 for no limit
 * @max_bytes:	most bytes, 0 for no limit
 * @max_events:	most events that wait, 0 for HASHBELT_EVENTS_DEFAULT
 * @grace:	how long entries stay beyond their deadlines, nanoseconds
 * @event:	called once for each event, in their order, in process context,
 *		with no lock held that an operation on the belt's entries needs
 *		(it must not move the belt's time, change its settings or destroy
 *		it); entry and event are valid until it returns. NULL: events
 *		wait for hashbelt_take_events()
 * @arg:	passed to @event
 * @account:	who is charged for the memory, NULL for nobody
 */
struct hashbelt_config {
	u64 ttl;
	u32 buckets;
	u32 policy;
	u32 handler;
	u32 reasons;
	u64 max_entries;
	u64 max_bytes;
	u64 max_events;
	u64 grace;
	void (*event)(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		      const struct hashbelt_event *event, void *arg);
	void *arg;
	struct hb_account *account;
};

int hb_core_init(void);
void hb_core_exit(void);

struct hashbelt_belt *hashbelt_create(const struct hashbelt_config *config);
int hashbelt_set(struct hashbelt_belt *belt, const struct hashbelt_config *config,
		 u32 fields);
void hashbelt_destroy(struct hashbelt_belt *belt);
void hashbelt_flush(void);
void hashbelt_kill(struct hashbelt_belt *belt);
bool hashbelt_is_dead(const struct hashbelt_belt *belt);
bool hashbelt_wipes(const struct hashbelt_belt *belt);

struct hashbelt_entry *hashbelt_entry_alloc(struct hashbelt_belt *belt,
					    struct hb_holder *holder, u32 key_len,
					    u32 value_len);
void hashbelt_entry_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry);

int hashbelt_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		 struct hashbelt_item *item);
struct hashbelt_entry *hashbelt_find(struct hashbelt_belt *belt, const void *key,
				     u32 key_len, u64 now, u32 *gone);
bool hashbelt_hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		  struct hashbelt_item *item, u64 now);
void hashbelt_miss(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 gone);
int hashbelt_get_prepare(struct hashbelt_belt *belt, const void *key, u32 key_len,
			 const struct hashbelt_item *item);
int hashbelt_touch(struct hashbelt_belt *belt, const void *key, u32 key_len,
		   struct hashbelt_item *item);
int hashbelt_remove(struct hashbelt_belt *belt, const void *key, u32 key_len,
		    struct hashbelt_item *item);
int hashbelt_expire(struct hashbelt_belt *belt, const void *key, u32 key_len);
int hashbelt_add(struct hashbelt_belt *belt, const void *key, u32 key_len,
		 struct hashbelt_item *item, struct hashbelt_sum *sum);
void hashbelt_clear(struct hashbelt_belt *belt);

struct hashbelt_entry *hashbelt_find_stale(struct hashbelt_belt *belt, const void *key,
					   u32 key_len, u64 now);
bool hashbelt_hit_stale(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
			struct hashbelt_item *item, u64 now);
int hashbelt_fill(struct hashbelt_belt *belt, struct hb_holder *holder, const void *key,
		  u32 key_len, struct hashbelt_fill *fill, bool ahead);
int hashbelt_give_up(struct hashbelt_belt *belt, const void *key, u32 key_len, u64 token);

int hashbelt_lock(struct hashbelt_belt *belt, struct hb_holder *holder, const void *key,
		  const void *owner, struct hashbelt_lock *lock);
int hashbelt_unlock(struct hashbelt_belt *belt, const void *key, const void *owner,
		    struct hashbelt_lock *lock);
int hashbelt_renew(struct hashbelt_belt *belt, const void *key, const void *owner,
		   struct hashbelt_lock *lock);
int hashbelt_query(struct hashbelt_belt *belt, const void *key, void *owner,
		   struct hashbelt_lock *lock);
int hashbelt_release_owner(struct hashbelt_belt *belt, const void *owner,
			   struct hashbelt_lock *lock);
int hashbelt_locks(struct hashbelt_belt *belt, const void *owner,
		   struct hashbelt_locks *locks, void *buffer, u32 *used);

struct hb_holder *hashbelt_holder_new(struct hashbelt_belt *belt);
void hashbelt_holder_put(struct hb_holder *holder);
void hashbelt_holder_leave(struct hashbelt_belt *belt, struct hb_holder *holder);
int hashbelt_take_completed(struct hb_holder *holder, struct hb_fifo *events, size_t room,
			    u64 most);
void hashbelt_return_completed(struct hashbelt_belt *belt, struct hb_holder *holder,
			       struct hb_fifo *events);
void hashbelt_settle_completed(struct hashbelt_belt *belt, struct hb_fifo *events);

struct hashbelt_entry *hashbelt_request_alloc(struct hashbelt_belt *belt,
					      struct hb_holder *holder, u64 id,
					      u32 count, u32 bytes);
void *hashbelt_request_key(struct hashbelt_entry *request, u32 number, u32 at, u32 len);
int hashbelt_request(struct hashbelt_belt *belt, struct hashbelt_entry *request,
		     u64 ttl_ms);
int hashbelt_cancel(struct hashbelt_belt *belt, struct hb_holder *holder, u64 id);
u32 hashbelt_complete(struct hashbelt_belt *belt, const void *key, u32 key_len);

u64 hashbelt_now(struct hashbelt_belt *belt);
void hashbelt_halt(struct hashbelt_belt *belt);
void hashbelt_resume(struct hashbelt_belt *belt);
int hashbelt_advance(struct hashbelt_belt *belt, u64 by);
int hashbelt_rotate(struct hashbelt_belt *belt);

int hashbelt_take_events(struct hashbelt_belt *belt, struct hb_fifo *events, size_t room,
			 u64 most, bool hold, u64 *lost);
void hashbelt_return_events(struct hashbelt_belt *belt, struct hb_fifo *events, bool held,
			    u64 lost);
void hashbelt_settle_events(struct hashbelt_belt *belt, struct hb_fifo *events, bool held);
struct hashbelt_entry *hashbelt_event_entry(struct hashbelt_entry *event);
void hashbelt_describe_event(struct hashbelt_entry *event, struct hashbelt_event *record);
const void *hashbelt_event_data(struct hashbelt_entry *event);
bool hashbelt_reports(const struct hashbelt_belt *belt);
bool hashbelt_has_events(const struct hashbelt_belt *belt);
wait_queue_head_t *hashbelt_event_wait(struct hashbelt_belt *belt);

int hashbelt_scan(struct hashbelt_belt *belt, struct hashbelt_scan *scan,
		  void *buffer, u32 *used);
int hashbelt_buckets(struct hashbelt_belt *belt, u64 *cursor, u64 *counts, u32 count);
void hashbelt_info(struct hashbelt_belt *belt, struct hashbelt_info *info);
void hashbelt_stat(struct hashbelt_belt *belt, u64 *counters, u64 *lags);

#endif /* _HASHBELT_CORE_H */
