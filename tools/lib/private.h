/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libhashbelt: the contents of a handle, which programs do not see. */
#ifndef HASHBELT_PRIVATE_H
#define HASHBELT_PRIVATE_H

#include <errno.h>
#include <sys/ioctl.h>

#include <hashbelt/client.h>

/**
 * struct hashbelt - a handle
 * @fd:		its descriptor of the device
 *
 * Nothing changes a handle between hashbelt_open() and hashbelt_close(), so calls need no lock.
 */
struct hashbelt {
	int fd;
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

/* Notes @bytes of keys and values if @err is that there is no room for them. Returns @err. */
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

#endif /* HASHBELT_PRIVATE_H */
