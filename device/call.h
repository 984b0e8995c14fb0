/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_CALL_H
#define _HASHBELT_CALL_H

#include <linux/uaccess.h>

#include "session.h"

/**
 * struct hb_call - an ioctl
 * @filp:	the file
 * @session:	of the file, with a reference and the rights that the ioctl needs; NULL for an ioctl
 *		that needs no belt
 * @belt:	the belt of @session
 * @user:	the argument in user space
 * @cmd:	HASHBELT_IOC_*
 */
struct hb_call {
	struct file *filp;
	struct hb_session *session;
	struct hashbelt_belt *belt;
	void __user *user;
	unsigned int cmd;
};

/*
 * No page fault is waited for while an entry is held. A process whose memory is slow to come, or
 * never comes, would keep memory that the limits of the belt do not count. The copy fails, the
 * pages are brought in while nothing is held, and the copy is tried again, so often at most.
 */
#define HB_FAULTS_MAX	100

int hb_copy_bytes(void *to, u64 from, u32 size);
int hb_call_list(const struct hb_call *call, u64 to, u32 size, void *request,
		 int (*list)(struct hashbelt_belt *belt, void *request, void *buffer, u32 *used));

/* Whether two pieces of memory overlap. An empty one overlaps the piece inside of which it is. */
static __always_inline bool hb_overlap(u64 a, u64 a_size, u64 b, u64 b_size)
{
	return a - b < b_size || b - a < a_size;
}

/*
 * Copies a few words from user space. With copy_from_user() and copy_to_user(), the four copies of
 * a lock and an unlock, 120 bytes each, cost 360 instructions more.
 */
static __always_inline int hb_copy_words(void *to, const void __user *from, size_t size)
{
	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS))
		return copy_from_user(to, from, size) ? -EFAULT : 0;
	if (!user_read_access_begin(from, size))
		return -EFAULT;
	/*
	 * Unrolled: 49 instructions fewer for a get. clang would warn where the size is no
	 * constant, and it unrolls the other loops by itself.
	 */
#ifndef __clang__
	#pragma GCC unroll 8
#endif
	for (; size >= 8; to += 8, from += 8, size -= 8)
		unsafe_get_user(*(u64 *)to, (const u64 __user *)from, fault);
	if (size & 4) {
		unsafe_get_user(*(u32 *)to, (const u32 __user *)from, fault);
		to += 4;
		from += 4;
	}
	if (size & 2) {
		unsafe_get_user(*(u16 *)to, (const u16 __user *)from, fault);
		to += 2;
		from += 2;
	}
	if (size & 1)
		unsafe_get_user(*(u8 *)to, (const u8 __user *)from, fault);
	user_read_access_end();
	return 0;
fault:
	user_read_access_end();
	return -EFAULT;
}

/*
 * Copies a key of 8 bytes or more from user space, under user_read_access_begin(). The last 8 are
 * copied as one word, which overlaps the one before, so that there is no loop up to 16 bytes: for
 * these it takes 36 instructions fewer than hb_copy_words().
 */
static __always_inline int hb_read_long_key(void *to, const u8 __user *key, u32 key_len)
{
	u32 at;

	unsafe_get_user(*(u64 *)to, (const u64 __user *)key, fault);
	if (unlikely(key_len > 16))
		for (at = 8; at < key_len - 8; at += 8)
			unsafe_get_user(*(u64 *)(to + at), (const u64 __user *)(key + at), fault);
	unsafe_get_user(*(u64 *)(to + key_len - 8), (const u64 __user *)(key + key_len - 8), fault);
	return 0;
fault:
	return -EFAULT;
}

/* Copies a key from user space, under user_read_access_begin(). */
static __always_inline int hb_read_key(u8 *to, u64 from, u32 key_len)
{
	const u8 __user *key = u64_to_user_ptr(from);

	if (IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) && likely(key_len >= 8))
		return hb_read_long_key(to, key, key_len);
	for (; key_len; to++, key++, key_len--)
		unsafe_get_user(*to, key, fault);
	return 0;
fault:
	return -EFAULT;
}

/* Copies a key from user space. */
static __always_inline int hb_copy_key(void *to, u64 from, u32 key_len)
{
	const u8 __user *key = u64_to_user_ptr(from);

	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) || unlikely(key_len < 8))
		return copy_from_user(to, key, key_len) ? -EFAULT : 0;
	if (!user_read_access_begin(key, key_len))
		return -EFAULT;
	if (unlikely(hb_read_long_key(to, key, key_len)))
		goto fault;
	user_read_access_end();
	return 0;
fault:
	user_read_access_end();
	return -EFAULT;
}

/* Copies words to user space. @size is a multiple of 8. */
static __always_inline int hb_return_words(void __user *to, const u64 *from, size_t size)
{
	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS))
		return copy_to_user(to, from, size) ? -EFAULT : 0;
	if (!user_write_access_begin(to, size))
		return -EFAULT;
	/* Unrolled: 40 instructions fewer for a lock and an unlock. */
#ifndef __clang__
	#pragma GCC unroll 8
#endif
	for (; size; to += 8, from++, size -= 8)
		unsafe_put_user(*from, (u64 __user *)to, fault);
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

#endif /* _HASHBELT_CALL_H */
