/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lock.h - helpers for tests of locks.
 *
 * Names and owners are texts.
 */
#ifndef _LOCK_H
#define _LOCK_H

#include "events.h"

#define FOR_EVER	HASHBELT_TTL_NEVER

/* A nameless, halted belt for locks. */
static inline int lock_belt(void)
{
	return new_belt(HASHBELT_PINNED);
}

/* A named, halted belt for locks. */
static inline int named_locks(const char *name)
{
	struct hashbelt_settings settings = { .mode = 0600, .policy = HASHBELT_PINNED };

	snprintf(settings.name, sizeof(settings.name), "%s", name);
	return belt_of(settings);
}

static inline void end_locks(int fd, const char *name)
{
	if (destroy_belt(fd, name))
		bail_out("destroy of %s", name);
	close(fd);
}

static inline struct hashbelt_lock lock_of(const char *key, const char *owner)
{
	return (struct hashbelt_lock){
		.key = address(key), .key_len = strlen(key),
		.owner = address(owner), .owner_len = strlen(owner),
	};
}

/* Takes a lock without waiting; 0 or a negative errno. */
static inline int take_how(int fd, const char *key, const char *owner, __u64 ttl_ms, __u32 how)
{
	struct hashbelt_lock lock = lock_of(key, owner);

	lock.ttl_ms = ttl_ms;
	lock.how = how;
	return call(fd, HASHBELT_IOC_LOCK, &lock);
}

static inline int take(int fd, const char *key, const char *owner, __u64 ttl_ms)
{
	return take_how(fd, key, owner, ttl_ms, 0);
}

/* Takes a lock for @ttl_ms, or the belt's time-to-live if it is 0; ends the program on failure. */
static inline void must_take(int fd, const char *key, const char *owner, __u64 ttl_ms)
{
	if (take(fd, key, owner, ttl_ms))
		bail_out("%s cannot take the lock %s", owner, key);
}

/* must_take() of a lock that is bound to the descriptor. */
static inline void must_bind(int fd, const char *key, const char *owner, __u64 ttl_ms)
{
	if (take_how(fd, key, owner, ttl_ms, HASHBELT_BOUND))
		bail_out("%s cannot take the bound lock %s", owner, key);
}

static inline int unlock(int fd, const char *key, const char *owner)
{
	struct hashbelt_lock lock = lock_of(key, owner);

	return call(fd, HASHBELT_IOC_UNLOCK, &lock);
}

/* The number of locks that a release of all locks of @owner has unlocked, or a negative errno. */
static inline int release(int fd, const char *owner)
{
	struct hashbelt_lock lock = lock_of("", owner);
	int err;

	lock.key = 0;
	err = call(fd, HASHBELT_IOC_RELEASE, &lock);
	return err ? err : (int)lock.count;
}

/* The owner of a lock, as a text. */
struct holder {
	int err;	/* 0, or -ENOENT if the lock is free */
	char owner[HASHBELT_OWNER_MAX + 1];
};

static inline struct holder holder_of(int fd, const char *key)
{
	struct hashbelt_lock lock = lock_of(key, "");
	struct holder holder = {};

	lock.owner = address(holder.owner);
	lock.owner_len = HASHBELT_OWNER_MAX;
	holder.err = call(fd, HASHBELT_IOC_HOLDER, &lock);
	return holder;
}

static inline bool is_free(int fd, const char *key)
{
	return holder_of(fd, key).err == -ENOENT;
}

static inline bool is_held_by(int fd, const char *key, const char *owner)
{
	struct holder holder = holder_of(fd, key);

	return !holder.err && !strcmp(holder.owner, owner);
}

static inline __u64 locks_held(int fd)
{
	return info_of(fd).locks;
}

/**
 * struct lock_call - the call of a locker
 * @belt:	name of the belt
 * @key:	name of the lock
 * @owner:	owner of the lock
 * @ttl_ms:	the lease
 * @wait_ms:	how long to wait for the lock; afterwards as the call has left it
 * @signal_flags: sa_flags of the handler for SIGUSR1
 * @read_only:	the argument of the lock call is in read-only memory
 */
struct lock_call {
	const char *belt;
	const char *key;
	const char *owner;
	__u64 ttl_ms;
	__u64 wait_ms;
	int signal_flags;
	bool read_only;
};

/* A process that takes a lock through a descriptor of its own. */
struct locker {
	struct caller caller;
	struct lock_call *call;		/* in memory that is shared with it */
};

static inline int make_lock_call(void *arg)
{
	struct lock_call *lock_call = arg;
	struct hashbelt_lock lock = lock_of(lock_call->key, lock_call->owner);
	int fd = open_device(O_RDWR), err;

	lock.ttl_ms = lock_call->ttl_ms;
	lock.wait_ms = lock_call->wait_ms;
	if (open_belt(fd, lock_call->belt))
		return -ECHILD;
	err = call(fd, HASHBELT_IOC_LOCK,
		   lock_call->read_only ? readonly_copy(&lock, sizeof(lock)) : &lock);
	lock_call->wait_ms = lock.wait_ms;
	return err;
}

static inline struct locker launch(struct lock_call lock_call)
{
	struct locker locker = { .call = shared_memory(sizeof(lock_call)) };

	*locker.call = lock_call;
	locker.caller = start_caller(make_lock_call, locker.call, -1, lock_call.signal_flags);
	return locker;
}

/* Launches a locker, and waits until it has its place in the line. */
static inline struct locker launch_asleep(struct lock_call lock_call)
{
	struct locker locker = launch(lock_call);

	await(waits_in, locker.caller.pid, __NR_ioctl);
	return locker;
}

/* The result of a locker: 0 or a negative errno. */
static inline int answer_of(const struct locker *locker)
{
	return result_of(&locker->caller);
}

static inline bool still_waits(const struct locker *locker)
{
	return still_calls(&locker->caller);
}

static inline void end_locker(const struct locker *locker)
{
	end_caller(&locker->caller);
	munmap(locker->call, sizeof(*locker->call));
}

#endif /* _LOCK_H */
