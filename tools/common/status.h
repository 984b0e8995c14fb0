/* SPDX-License-Identifier: GPL-2.0-only */
/* The exit status of a program without the device, which its unit of systemd does not retry. */
#ifndef COMMON_STATUS_H
#define COMMON_STATUS_H

#include <errno.h>
#include <stdlib.h>

#define EXIT_NO_DEVICE	3

/* Return: an error of hashbelt_open(): -ENODEV for each that says that there is no device. */
static inline int open_error(int err)
{
	return err == -ENOENT || err == -ENXIO ? -ENODEV : err;
}

/* Return: the exit status for an error, or for 0. */
static inline int exit_status(int err)
{
	if (err == -ENODEV)
		return EXIT_NO_DEVICE;
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif /* COMMON_STATUS_H */
