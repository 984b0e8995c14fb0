/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libhashbelt: the calls of /dev/hashbelt as C functions.
 *
 * A handle, struct hashbelt, stands for a belt: hashbelt_open() binds it to the default belt,
 * if there is one, hashbelt_bind() and hashbelt_create() to another, and hashbelt_keep_bound() to
 * the one that has a name at each call. Functions return 0 or a
 * positive result, or a negative errno, and print nothing. The library has no global state.
 * Many threads may use one handle at once; a call that binds it has an effect on all of them.
 *
 * Every function that reaches a belt may return -EIDRM (the belt was destroyed, or there is no
 * default belt) and -EPERM (this handle may not do that), on top of the errors that it names.
 *
 * For C from C99 on, and C++ from C++11 on. In C++ the functions hide the structures of the
 * same name: write "struct hashbelt_item".
 */
#ifndef HASHBELT_CLIENT_H
#define HASHBELT_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <hashbelt/uapi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A handle of the device. */
struct hashbelt;

/* A walk over the keys of a belt. */
struct hashbelt_scanner;

/* A walk over the locks of a belt. */
struct hashbelt_lister;

/*
 * The calls of the library, for hashbelt_strerror(). A row has the constant, the name and the
 * rights that the call needs. New rows come last, so that no constant gets another value. OPEN
 * stands also for hashbelt_fdopen(), BIND for hashbelt_bind_owned() and hashbelt_keep_bound(), and
 * SCAN and LOCKS for the walks.
 */
#define HASHBELT_CALLS(X) \
	X(HASHBELT_CALL_OPEN, "open", 0) \
	X(HASHBELT_CALL_BIND, "bind", 0) \
	X(HASHBELT_CALL_CREATE, "create", HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_DESTROY, "destroy", HASHBELT_MAY_OWN) \
	X(HASHBELT_CALL_NEXT, "next", 0) \
	X(HASHBELT_CALL_GET, "get", HASHBELT_MAY_READ) \
	X(HASHBELT_CALL_PUT, "put", HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_TOUCH, "touch", HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_REMOVE, "remove", HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_EXPIRE, "expire", HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_BATCH, "batch", HASHBELT_MAY_READ | HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_SCAN, "scan", HASHBELT_MAY_READ) \
	X(HASHBELT_CALL_WATCH, "watch", HASHBELT_MAY_READ) \
	X(HASHBELT_CALL_READ, "read", HASHBELT_MAY_READ) \
	X(HASHBELT_CALL_ACK, "ack", HASHBELT_MAY_READ) \
	X(HASHBELT_CALL_ADD, "add", HASHBELT_MAY_READ | HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_FILL, "fill", HASHBELT_MAY_READ | HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_GIVE_UP, "give_up", HASHBELT_MAY_READ | HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_REQUEST, "request", HASHBELT_MAY_READ | HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_CANCEL, "cancel", HASHBELT_MAY_READ) \
	X(HASHBELT_CALL_COMPLETE, "complete", HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_LOCK, "lock", HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_UNLOCK, "unlock", HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_RENEW, "renew", HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_HOLDER, "holder", HASHBELT_MAY_READ) \
	X(HASHBELT_CALL_RELEASE, "release", HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_LOCKS, "locks", HASHBELT_MAY_READ) \
	X(HASHBELT_CALL_INFO, "info", HASHBELT_MAY_READ) \
	X(HASHBELT_CALL_SET, "set", HASHBELT_MAY_OWN) \
	X(HASHBELT_CALL_STAT, "stat", HASHBELT_MAY_READ) \
	X(HASHBELT_CALL_LAGS, "lags", HASHBELT_MAY_READ) \
	X(HASHBELT_CALL_BUCKETS, "buckets", HASHBELT_MAY_READ) \
	X(HASHBELT_CALL_CLEAR, "clear", HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_HALT, "halt", HASHBELT_MAY_OWN) \
	X(HASHBELT_CALL_RESUME, "resume", HASHBELT_MAY_OWN) \
	X(HASHBELT_CALL_ROTATE, "rotate", HASHBELT_MAY_OWN) \
	X(HASHBELT_CALL_ADVANCE, "advance", HASHBELT_MAY_OWN) \
	X(HASHBELT_CALL_FILL_PUT, "fill_put", HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_FILL_RENEW, "fill_renew", HASHBELT_MAY_READ | HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_FILL_FAIL, "fill_fail", HASHBELT_MAY_READ | HASHBELT_MAY_WRITE) \
	X(HASHBELT_CALL_WINDOW_MAP, "window_map", HASHBELT_MAY_READ) \
	X(HASHBELT_CALL_TOUCH_BOUND, "touch_bound", HASHBELT_MAY_WRITE)

#define __HASHBELT_CALL(constant, name, rights)	constant,
enum hashbelt_call {
	HASHBELT_CALLS(__HASHBELT_CALL)
};

#undef __HASHBELT_CALL

/**
 * struct hashbelt_window_counts - gets of a handle since hashbelt_window_map()
 * @hits:	gets that the window answered
 * @calls:	gets that made the call
 */
struct hashbelt_window_counts {
	__u64 hits;
	__u64 calls;
};

/* For hashbelt_keep_bound(): no two threads use the handle at once. */
#define HASHBELT_ONE_THREAD	0x01

/* There while 'hbctl reload-module' runs, and after one that did not end. Only root can make it. */
#define HASHBELT_RELOADING	"/run/hashbelt.reload"

/* Space for every sentence of hashbelt_strerror(), bytes. */
#define HASHBELT_ERROR_SIZE	512

/* Group: Handles. */
int hashbelt_open(const char *device, struct hashbelt **belt);
int hashbelt_fdopen(int fd, struct hashbelt **belt);
void hashbelt_close(struct hashbelt *belt);
int hashbelt_fd(const struct hashbelt *belt);
const char *hashbelt_strerror(struct hashbelt *belt, int err, enum hashbelt_call call,
			      const char *name, char *buffer, size_t size);

/* Group: Belts. */
int hashbelt_bind(struct hashbelt *belt, const char *name);
int hashbelt_bind_owned(struct hashbelt *belt, const char *name, uid_t uid);
int hashbelt_keep_bound(struct hashbelt *belt, const char *name, const uid_t *owner,
			unsigned int flags);
unsigned int hashbelt_bindings(const struct hashbelt *belt);
int hashbelt_create(struct hashbelt *belt, const char *name,
		    const struct hashbelt_settings *settings);
int hashbelt_destroy(struct hashbelt *belt, const char *name);
int hashbelt_next(struct hashbelt *belt, struct hashbelt_info *info);

/* Group: Entries. */
int hashbelt_get(struct hashbelt *belt, const void *key, size_t key_len, void *buffer, size_t size,
		 struct hashbelt_item *item);
int hashbelt_put(struct hashbelt *belt, const void *key, size_t key_len, const void *value,
		 size_t value_len, struct hashbelt_item *item);
int hashbelt_touch(struct hashbelt *belt, const void *key, size_t key_len, __u64 ttl_ms,
		   struct hashbelt_item *item);
int hashbelt_touch_bound(struct hashbelt *belt, __u64 ttl_ms, struct hashbelt_item *item);
int hashbelt_remove(struct hashbelt *belt, const void *key, size_t key_len,
		    struct hashbelt_item *item);
int hashbelt_expire(struct hashbelt *belt, const void *key, size_t key_len);
int hashbelt_batch(struct hashbelt *belt, struct hashbelt_item *items, unsigned int count,
		   unsigned int *done);

int hashbelt_window_map(struct hashbelt *belt);
void hashbelt_window_stats(const struct hashbelt *belt, struct hashbelt_window_counts *counts);

int hashbelt_scan_begin(struct hashbelt *belt, struct hashbelt_scanner **scanner);
int hashbelt_scan_next(struct hashbelt_scanner *scanner,
		       const struct hashbelt_record **record);
void hashbelt_scan_end(struct hashbelt_scanner *scanner);

/* Group: Events. */
int hashbelt_watch(struct hashbelt *belt, __u32 flags);
ssize_t hashbelt_read(struct hashbelt *belt, void *buffer, size_t size);
const struct hashbelt_event *hashbelt_event_next(const void *buffer, size_t len,
						 const struct hashbelt_event *event);
int hashbelt_ack(struct hashbelt *belt, __u64 sequence);

/* Group: Numbers, fill leases. */
int hashbelt_add(struct hashbelt *belt, const void *key, size_t key_len, __s64 by, __s64 initial,
		 __u64 ttl_ms, __s64 *sum);
int hashbelt_add_item(struct hashbelt *belt, const void *key, size_t key_len,
		      struct hashbelt_sum *sum, struct hashbelt_item *item);
int hashbelt_fill(struct hashbelt *belt, const void *key, size_t key_len, void *buffer, size_t size,
		  struct hashbelt_fill *fill);
int hashbelt_fill_put(struct hashbelt *belt, const void *key, size_t key_len, const void *value,
		      size_t value_len, __u64 token, struct hashbelt_item *item);
int hashbelt_fill_renew(struct hashbelt *belt, const void *key, size_t key_len, __u64 token,
			__u64 lease_ms);
int hashbelt_fill_fail(struct hashbelt *belt, const void *key, size_t key_len, __u64 token,
		       __u64 retry_ms);
int hashbelt_give_up(struct hashbelt *belt, const void *key, size_t key_len, __u64 token);

/* Group: Requests. */
int hashbelt_request(struct hashbelt *belt, __u64 id, const struct hashbelt_key *keys,
		     unsigned int count, __u64 ttl_ms);
int hashbelt_cancel(struct hashbelt *belt, __u64 id);
int hashbelt_complete(struct hashbelt *belt, const void *key, size_t key_len, unsigned int *count);

/* Group: Locks. */
int hashbelt_lock(struct hashbelt *belt, const void *key, size_t key_len, const void *owner,
		  size_t owner_len, struct hashbelt_lock *lock);
int hashbelt_unlock(struct hashbelt *belt, const void *key, size_t key_len, const void *owner,
		    size_t owner_len);
int hashbelt_renew(struct hashbelt *belt, const void *key, size_t key_len, const void *owner,
		   size_t owner_len, __u64 ttl_ms, struct hashbelt_lock *lock);
int hashbelt_holder(struct hashbelt *belt, const void *key, size_t key_len, void *owner,
		    size_t *owner_len, struct hashbelt_lock *lock);
int hashbelt_release(struct hashbelt *belt, const void *owner, size_t owner_len, __u64 *count);

int hashbelt_locks_begin(struct hashbelt *belt, const void *owner, size_t owner_len,
			 struct hashbelt_lister **lister);
int hashbelt_locks_next(struct hashbelt_lister *lister,
			const struct hashbelt_lock_record **record);
void hashbelt_locks_end(struct hashbelt_lister *lister);

/* Group: Settings, counters and time. */
int hashbelt_info(struct hashbelt *belt, struct hashbelt_info *info);
int hashbelt_set(struct hashbelt *belt, const struct hashbelt_settings *settings);
int hashbelt_stat(struct hashbelt *belt, __u64 *counters, unsigned int *count);
int hashbelt_lags(struct hashbelt *belt, __u64 *lags, unsigned int *count);
int hashbelt_buckets(struct hashbelt *belt, __u64 *counts, unsigned int count);
int hashbelt_clear(struct hashbelt *belt);
int hashbelt_halt(struct hashbelt *belt);
int hashbelt_resume(struct hashbelt *belt);
int hashbelt_rotate(struct hashbelt *belt);
int hashbelt_advance(struct hashbelt *belt, __u64 ms);

/* Group: Items, records and events. */

/**
 * hashbelt_item() - an item of a batch
 * @op:		the operation
 * @key:	the key, must stay where it is until hashbelt_batch() returns
 * @key_len:	its length, bytes
 * @value:	put: the value; get: the buffer; else NULL. Must stay where it is as well
 * @value_len:	its length or size, bytes
 *
 * Return: the item, to which a condition, a time-to-live and flags may be added.
 */
static inline struct hashbelt_item hashbelt_item(enum hashbelt_op op, const void *key,
						 __u32 key_len, const void *value,
						 __u32 value_len)
{
	struct hashbelt_item item;

	memset(&item, 0, sizeof(item));
	item.op = op;
	item.key = (uintptr_t)key;
	item.key_len = key_len;
	item.value = (uintptr_t)value;
	item.value_len = value_len;
	return item;
}

/**
 * hashbelt_record_key() - the key of a record
 * @record:	from hashbelt_scan_next()
 *
 * Return: its record->key_len bytes, valid as long as the record is.
 */
static inline const void *hashbelt_record_key(const struct hashbelt_record *record)
{
	return record + 1;
}

/**
 * hashbelt_lock_key() - the name of a lock
 * @record:	from hashbelt_locks_next()
 *
 * Return: its record->key_len bytes, valid as long as the record is.
 */
static inline const void *hashbelt_lock_key(const struct hashbelt_lock_record *record)
{
	return record + 1;
}

/**
 * hashbelt_lock_owner() - the owner of a lock
 * @record:	from hashbelt_locks_next()
 *
 * Return: the owner's record->owner_len bytes, valid as long as the record is.
 */
static inline const void *hashbelt_lock_owner(const struct hashbelt_lock_record *record)
{
	return (const char *)(record + 1) + record->key_len;
}

/**
 * hashbelt_event_key() - the key of an event
 * @event:	from hashbelt_event_next()
 *
 * Return: its event->key_len bytes, valid as long as the event is.
 */
static inline const void *hashbelt_event_key(const struct hashbelt_event *event)
{
	return event + 1;
}

/**
 * hashbelt_event_value() - the value of an event
 * @event:	from hashbelt_event_next()
 *
 * Return: its event->value_len bytes, valid as long as the event is.
 */
static inline const void *hashbelt_event_value(const struct hashbelt_event *event)
{
	return (const char *)(event + 1) + event->key_len;
}

#ifdef __cplusplus
}
#endif

#endif /* HASHBELT_CLIENT_H */
