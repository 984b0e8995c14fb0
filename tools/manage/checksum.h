/* SPDX-License-Identifier: GPL-2.0-only */
/* The checksum of cksum(1): it needs no library, and every machine can compute it again. */
#ifndef MANAGE_CHECKSUM_H
#define MANAGE_CHECKSUM_H

#include <stddef.h>

#include <linux/types.h>

/**
 * struct checksum - the checksum of bytes so far; begins with zeros
 * @sum:	of the bytes
 * @len:	their number
 */
struct checksum {
	__u32 sum;
	__u64 len;
};

void checksum_add(struct checksum *checksum, const void *bytes, size_t len);
__u32 checksum_end(const struct checksum *checksum);

#endif /* MANAGE_CHECKSUM_H */
