/* SPDX-License-Identifier: GPL-2.0-only */
/* The ioctls of /dev/naive. */
#ifndef _NAIVE_H
#define _NAIVE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define NAIVE_KEY	16
#define NAIVE_VALUE	64

/**
 * struct naive_item - an operation on a key
 * @key:	the key
 * @value:	put: to store. get: returned
 */
struct naive_item {
	__u8 key[NAIVE_KEY];
	__u8 value[NAIVE_VALUE];
};

/**
 * struct naive_batch - the same operation on several keys; it ends at the first error
 * @items:	address of an array of struct naive_item
 * @count:	number of items
 */
struct naive_batch {
	__u64 items;
	__u64 count;
};

/* Errors: ENOENT (get, remove), ENOMEM (put), EFAULT. */
#define NAIVE_IOC_GET		_IOWR('N', 1, struct naive_item)
#define NAIVE_IOC_PUT		_IOW('N', 2, struct naive_item)
#define NAIVE_IOC_REMOVE	_IOW('N', 3, struct naive_item)
#define NAIVE_IOC_GET_MANY	_IOW('N', 4, struct naive_batch)
#define NAIVE_IOC_PUT_MANY	_IOW('N', 5, struct naive_batch)

#endif /* _NAIVE_H */
