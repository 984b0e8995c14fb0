/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libhashbelt: the contents of a handle, which programs do not see. */
#ifndef HASHBELT_PRIVATE_H
#define HASHBELT_PRIVATE_H

#include <errno.h>
#include <pthread.h>
#include <sys/ioctl.h>

#include <hashbelt/client.h>

#define HIDDEN	__attribute__((__visibility__("hidden")))

/* Bit of @window: no reader. */
#define WINDOW_NONE	1

struct window_mapping;

/**
 * struct hashbelt - a handle
 * @fd:		its descriptor of the device
 * @call:	makes its calls, if hashbelt_keep_bound() keeps it bound; else NULL, for ioctl(2)
 * @binds:	number of WINDOW_NONE values so far, times 2, plus WINDOW_NONE
 * @mapping:	threads that map a window now
 * @window:	the struct window_reader of the belt's window, or a value with WINDOW_NONE, which
 *		is a new one after each call that binds the handle
 * @mappings:	all windows that the handle has mapped, the newest first
 * @maps:	hashbelt_window_map() was called for this binding, or for one that this one replaces
 * @lock:	held while a call binds the handle; no lock is taken inside
 * @one_thread:	HASHBELT_ONE_THREAD of hashbelt_keep_bound(); changed under @lock
 * @is_bound:	false: the handle is to be bound to the belt of @name before its next call; changed
 *		under @lock
 * @bindings:	how often hashbelt_keep_bound(), or a call after it, has bound the handle; changed
 *		under @lock
 * @watch:	the flags of the last hashbelt_watch()
 * @name:	the belt to be bound to, and its owner; under @lock
 *
 * @fd is stable from hashbelt_open() to hashbelt_close(). All others but @name are changed by
 * atomic operations alone, and no reader is freed before hashbelt_close(), unless one thread alone
 * uses the handle. So calls that do not bind the handle need no lock.
 */
struct hashbelt {
	int fd;
	unsigned int mapping;
	int (*call)(struct hashbelt *belt, unsigned long request, void *arg);
	uintptr_t binds;
	uintptr_t window;
	struct window_mapping *mappings;
	int maps;
	pthread_mutex_t lock;
	int one_thread;
	int is_bound;
	unsigned int bindings;
	__u32 watch;
	struct hashbelt_name name;
};

/*
 * The size of what the last call of this thread was refused for want of room, for
 * hashbelt_strerror(): the kernel does not return it.
 */
struct refused {
	const struct hashbelt *belt;
	size_t bytes;
};

extern __thread struct refused hashbelt_refused __attribute__((__visibility__("hidden")));

/* Notes @bytes of keys and values if @err is that there is no room for them. Return: @err. */
static inline int note_refused(const struct hashbelt *belt, int err, size_t bytes)
{
	if (err == -ENOSPC || err == -EDQUOT)
		hashbelt_refused = (struct refused){ belt, bytes };
	return err;
}

/* A call that is not for another belt: it needs none, or goes on with what the bound one gave. */
static inline int call_here(const struct hashbelt *belt, unsigned long request, void *arg)
{
	return ioctl(belt->fd, request, arg) < 0 ? -errno : 0;
}

/* A call on the belt. */
static inline int call(struct hashbelt *belt, unsigned long request, void *arg)
{
	int (*kept)(struct hashbelt *belt, unsigned long request, void *arg);

	kept = __atomic_load_n(&belt->call, __ATOMIC_ACQUIRE);
	return kept ? kept(belt, request, arg) : call_here(belt, request, arg);
}

/* A call for a piece of what a walk returns. Only the first one may be of another belt. */
static inline int call_at(struct hashbelt *belt, __u64 cursor, unsigned long request, void *arg)
{
	return cursor ? call_here(belt, request, arg) : call(belt, request, arg);
}

/* A call on one key. */
static inline int call_item(struct hashbelt *belt, unsigned long request, const void *key,
			    size_t key_len, struct hashbelt_item *item)
{
	if (key_len > HASHBELT_KEY_MAX)
		return -E2BIG;
	item->key = (uintptr_t)key;
	item->key_len = key_len;
	item->op = 0;
	item->result = 0;
	item->reserved = 0;
	return call(belt, request, item);
}

#endif /* HASHBELT_PRIVATE_H */
