/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libhashbelt: the calls of /dev/hashbelt as C functions.
 *
 * A descriptor stands for a belt: hashbelt_open() binds it to the default belt,
 * if there is one, hashbelt_bind() and hashbelt_create() to another. Functions
 * return 0 or a positive result, or a negative errno, and print nothing. Those of
 * one descriptor may be used by many threads at once.
 *
 * Every function that reaches a belt may return -EIDRM (the belt was destroyed,
 * or there is no default belt) and -EPERM (this descriptor may not do that), on
 * top of the errors that it names.
 */
#ifndef HASHBELT_CLIENT_H
#define HASHBELT_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hashbelt.h"

/**
 * struct hashbelt_scanner - a walk over the keys of a belt
 * @fd:		the descriptor
 * @size:	size of @buffer, bytes
 * @left:	records in @buffer that were not returned yet
 * @ended:	@buffer holds the last piece
 * @cursor:	where the kernel goes on
 * @buffer:	the current piece
 * @next:	the next record in it
 *
 * Private to hashbelt_scan_begin(), hashbelt_scan_next(), hashbelt_scan_end().
 */
struct hashbelt_scanner {
	int fd;
	__u32 size;
	__u32 left;
	int ended;
	__u64 cursor;
	char *buffer;
	const char *next;
};

/**
 * struct hashbelt_lister - a walk over the locks of a belt
 * @fd:		the descriptor
 * @owner:	the owner whose locks are listed
 * @owner_len:	its length, bytes; 0: of all owners
 * @size:	size of @buffer, bytes
 * @left:	records in @buffer that were not returned yet
 * @ended:	@buffer holds the last piece
 * @cursor:	where the kernel goes on
 * @buffer:	the current piece
 * @next:	the next record in it
 *
 * Private to hashbelt_locks_begin(), hashbelt_locks_next(), hashbelt_locks_end().
 */
struct hashbelt_lister {
	int fd;
	char owner[HASHBELT_OWNER_MAX];
	__u32 owner_len;
	__u32 size;
	__u32 left;
	int ended;
	__u64 cursor;
	char *buffer;
	const char *next;
};

int hashbelt_open(const char *device);
void hashbelt_close(int fd);

int hashbelt_bind(int fd, const char *name);
int hashbelt_bind_owned(int fd, const char *name, uid_t uid);
int hashbelt_create(int fd, const char *name, const struct hashbelt_settings *settings);
int hashbelt_destroy(int fd, const char *name);
int hashbelt_next(int fd, struct hashbelt_info *info);

int hashbelt_get(int fd, const void *key, size_t key_len, void *buffer, size_t size,
		 struct hashbelt_item *item);
int hashbelt_put(int fd, const void *key, size_t key_len, const void *value,
		 size_t value_len, struct hashbelt_item *item);
int hashbelt_touch(int fd, const void *key, size_t key_len, __u64 ttl_ms,
		   struct hashbelt_item *item);
int hashbelt_remove(int fd, const void *key, size_t key_len, struct hashbelt_item *item);
int hashbelt_expire(int fd, const void *key, size_t key_len);
int hashbelt_batch(int fd, struct hashbelt_item *items, unsigned int count,
		   unsigned int *done);

int hashbelt_scan_begin(struct hashbelt_scanner *scanner, int fd);
int hashbelt_scan_next(struct hashbelt_scanner *scanner,
		       const struct hashbelt_record **record);
void hashbelt_scan_end(struct hashbelt_scanner *scanner);

int hashbelt_watch(int fd, __u32 flags);
ssize_t hashbelt_read(int fd, void *buffer, size_t size);
const struct hashbelt_event *hashbelt_event_next(const void *buffer, size_t len,
						 const struct hashbelt_event *event);
int hashbelt_ack(int fd, __u64 sequence);

int hashbelt_add(int fd, const void *key, size_t key_len, __s64 by, __s64 initial,
		 __u64 ttl_ms, __s64 *sum);
int hashbelt_fill(int fd, const void *key, size_t key_len, void *buffer, size_t size,
		  struct hashbelt_fill *fill);
int hashbelt_give_up(int fd, const void *key, size_t key_len, __u64 token);

int hashbelt_request(int fd, __u64 id, const struct hashbelt_key *keys, unsigned int count,
		     __u64 ttl_ms);
int hashbelt_cancel(int fd, __u64 id);
int hashbelt_complete(int fd, const void *key, size_t key_len, unsigned int *count);

int hashbelt_lock(int fd, const void *key, size_t key_len, const void *owner,
		  size_t owner_len, struct hashbelt_lock *lock);
int hashbelt_unlock(int fd, const void *key, size_t key_len, const void *owner,
		    size_t owner_len);
int hashbelt_renew(int fd, const void *key, size_t key_len, const void *owner,
		   size_t owner_len, __u64 ttl_ms, struct hashbelt_lock *lock);
int hashbelt_holder(int fd, const void *key, size_t key_len, void *owner,
		    size_t *owner_len, struct hashbelt_lock *lock);
int hashbelt_release(int fd, const void *owner, size_t owner_len, __u64 *count);

int hashbelt_locks_begin(struct hashbelt_lister *lister, int fd, const void *owner,
			 size_t owner_len);
int hashbelt_locks_next(struct hashbelt_lister *lister,
			const struct hashbelt_lock_record **record);
void hashbelt_locks_end(struct hashbelt_lister *lister);

int hashbelt_info(int fd, struct hashbelt_info *info);
int hashbelt_set(int fd, const struct hashbelt_settings *settings);
int hashbelt_stat(int fd, __u64 *counters, unsigned int *count);
int hashbelt_lags(int fd, __u64 *lags, unsigned int *count);
int hashbelt_buckets(int fd, __u64 *counts, unsigned int count);
int hashbelt_clear(int fd);
int hashbelt_halt(int fd);
int hashbelt_resume(int fd);
int hashbelt_rotate(int fd);
int hashbelt_advance(int fd, __u64 ms);

/**
 * hashbelt_item() - an item of a batch
 * @op:		the operation
 * @key:	the key, must stay where it is until hashbelt_batch()
 * @key_len:	its length, bytes
 * @value:	put: the value; get: the buffer; else NULL. Likewise
 * @value_len:	its length or size, bytes
 *
 * Return: the item, to which a condition, a time-to-live and flags may be added.
 */
static inline struct hashbelt_item hashbelt_item(enum hashbelt_op op, const void *key,
						 __u32 key_len, const void *value,
						 __u32 value_len)
{
	return (struct hashbelt_item){
		.op = op,
		.key = (uintptr_t)key,
		.key_len = key_len,
		.value = (uintptr_t)value,
		.value_len = value_len,
	};
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

#endif /* HASHBELT_CLIENT_H */
