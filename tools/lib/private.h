/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libhashbelt: the contents of a handle, which programs do not see. */
#ifndef HASHBELT_PRIVATE_H
#define HASHBELT_PRIVATE_H

#include <errno.h>
#include <sys/ioctl.h>

#include <hashbelt/client.h>

#define HIDDEN	__attribute__((__visibility__("hidden")))

/* Bit of @window: no reader. */
#define WINDOW_NONE	1

struct window_mapping;

/**
 * struct hashbelt - a handle
 * @fd:		its descriptor of the device
 * @binds:	number of WINDOW_NONE values so far, times 2, plus WINDOW_NONE
 * @mapping:	threads that map a window now
 * @window:	the struct window_reader of the belt's window, or a value with WINDOW_NONE, which
 *		is a new one after each call that binds the handle
 * @mappings:	all windows that the handle has mapped, the newest first
 *
 * @fd is stable from hashbelt_open() to hashbelt_close(). All others are changed by atomic
 * operations alone, and no reader is freed before hashbelt_close(), so calls need no lock.
 */
struct hashbelt {
	int fd;
	unsigned int mapping;
	uintptr_t binds;
	uintptr_t window;
	struct window_mapping *mappings;
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

static inline int call(const struct hashbelt *belt, unsigned long request, void *arg)
{
	return ioctl(belt->fd, request, arg) < 0 ? -errno : 0;
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
