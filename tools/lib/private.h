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

static inline int call(const struct hashbelt *belt, unsigned long request, void *arg)
{
	return ioctl(belt->fd, request, arg) < 0 ? -errno : 0;
}

#endif /* HASHBELT_PRIVATE_H */
