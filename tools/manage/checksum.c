// SPDX-License-Identifier: GPL-2.0-only
#include "checksum.h"

/* The polynomial of POSIX, that of Ethernet. */
#define POLYNOMIAL	0x04c11db7

/* The remainder of each byte. */
static __u32 remainders[256];

static void make_remainders(void)
{
	__u32 remainder;
	int byte, bit;

	for (byte = 0; byte < 256; byte++) {
		remainder = (__u32)byte << 24;
		for (bit = 0; bit < 8; bit++)
			remainder = remainder << 1 ^ (remainder >> 31 ? POLYNOMIAL : 0);
		remainders[byte] = remainder;
	}
}

static __u32 add_byte(__u32 sum, unsigned char byte)
{
	return sum << 8 ^ remainders[sum >> 24 ^ byte];
}

/**
 * checksum_add() - take more bytes into a checksum
 * @checksum:	the checksum so far
 * @bytes:	the bytes
 * @len:	their number
 */
void checksum_add(struct checksum *checksum, const void *bytes, size_t len)
{
	const unsigned char *p = bytes, *end = p + len;
	__u32 sum = checksum->sum;

	if (!remainders[1])
		make_remainders();
	for (; p < end; p++)
		sum = add_byte(sum, *p);
	checksum->sum = sum;
	checksum->len += len;
}

/**
 * checksum_end() - the checksum of all bytes
 * @checksum:	as checksum_add() has left it
 *
 * Return: the number that cksum(1) prints.
 */
__u32 checksum_end(const struct checksum *checksum)
{
	__u32 sum = checksum->sum;
	__u64 len;

	for (len = checksum->len; len; len >>= 8)
		sum = add_byte(sum, len & 0xff);
	return ~sum;
}
