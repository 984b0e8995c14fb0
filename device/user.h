/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies from and to user space, inlined. Each checks the whole range once, and copies word by
 * word: copy_from_user() and copy_to_user() look up the kernel's object each time, to compare its
 * size.
 */
#ifndef _HASHBELT_USER_H
#define _HASHBELT_USER_H

#include <linux/kcsan-checks.h>
#include <linux/uaccess.h>

#include "hashbelt.h"

/*
 * No page fault is waited for while an entry is held. A process whose memory is slow to come, or
 * never comes, would keep memory that the limits of the belt do not count. The copy fails, the
 * pages are brought in while nothing is held, and the copy is tried again, so often at most.
 */
#define HB_FAULTS_MAX	100

/* Up to this length a value is copied word by word. */
#define HB_WORDS_MAX	4096

/* Copies a few words from user space. */
static __always_inline int hb_copy_words(void *to, const void __user *from, size_t size)
{
	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS))
		return copy_from_user(to, from, size) ? -EFAULT : 0;
	if (!user_read_access_begin(from, size))
		return -EFAULT;
	/*
	 * Most sizes are constant. clang would warn where one is not, and it unrolls the other
	 * loops by itself.
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
 * copied as one word, which overlaps the one before, so that there is no loop up to 16 bytes.
 */
static __always_inline int hb_read_long_key(void *to, const u8 __user *key, u32 key_len)
{
	u32 at;

	unsafe_get_user(*(u64 *)to, (const u64 __user *)key, fault);
	if (key_len > 16)
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

	if (IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) && key_len >= 8)
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

	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) || key_len < 8)
		return copy_from_user(to, key, key_len) ? -EFAULT : 0;
	if (!user_read_access_begin(key, key_len))
		return -EFAULT;
	if (hb_read_long_key(to, key, key_len))
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
	/* clang unrolls the loop by itself, and would warn where a size is not constant. */
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

/* Copies out what an operation returns; @result: its result as well. */
static __always_inline int hb_return_item(struct hashbelt_item __user *to,
					  const struct hashbelt_item *item, const bool result)
{
	if (!user_write_access_begin(to, sizeof(*to)))
		return -EFAULT;
	unsafe_put_user(item->value_len, &to->value_len, fault);
	unsafe_put_user(item->flags, &to->flags, fault);
	unsafe_put_user(item->ttl_ms, &to->ttl_ms, fault);
	unsafe_put_user(item->version, &to->version, fault);
	if (result)
		unsafe_put_user(item->result, &to->result, fault);
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

/* Under user_write_access_begin(), as long as user space may be written word by word. */
static __always_inline int hb_write_words(void __user *to, const u8 *value, u32 size)
{
	const u8 *last = value + size - 8;
	void __user *end = to + size - 8;

	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) || size < 8) {
		unsafe_copy_to_user(to, value, size, fault);
		return 0;
	}
	/* Four words a turn: fewer branches. */
	for (; size >= 32; to += 32, value += 32, size -= 32) {
		unsafe_put_user(*(u64 *)value, (u64 __user *)to, fault);
		unsafe_put_user(*(u64 *)(value + 8), (u64 __user *)(to + 8), fault);
		unsafe_put_user(*(u64 *)(value + 16), (u64 __user *)(to + 16), fault);
		unsafe_put_user(*(u64 *)(value + 24), (u64 __user *)(to + 24), fault);
	}
	for (; size >= 8; to += 8, value += 8, size -= 8)
		unsafe_put_user(*(u64 *)value, (u64 __user *)to, fault);
	/* The last word overlaps the one before. */
	if (size)
		unsafe_put_user(*(u64 *)last, (u64 __user *)end, fault);
	return 0;
fault:
	return -EFAULT;
}

/* Copies in what a plain get needs. The words stay in registers, unlike those of a whole item. */
static __always_inline int hb_copy_get(struct hashbelt_item *item,
				       const struct hashbelt_item __user *from)
{
	if (!user_read_access_begin(from, sizeof(*from)))
		return -EFAULT;
	unsafe_get_user(item->key, &from->key, fault);
	unsafe_get_user(item->value, &from->value, fault);
	unsafe_get_user(item->key_len, &from->key_len, fault);
	unsafe_get_user(item->how, &from->how, fault);
	unsafe_get_user(item->value_len, &from->value_len, fault);
	unsafe_get_user(item->op, &from->op, fault);
	unsafe_get_user(item->reserved, &from->reserved, fault);
	user_read_access_end();
	return 0;
fault:
	user_read_access_end();
	return -EFAULT;
}

/* Under user_read_access_begin(), as hb_write_words(). */
static __always_inline int hb_read_words(u8 *to, const u8 __user *value, u32 size)
{
	u8 *end = to + size - 8;
	const u8 __user *last = value + size - 8;

	for (; size >= 32; to += 32, value += 32, size -= 32) {
		unsafe_get_user(*(u64 *)to, (const u64 __user *)value, fault);
		unsafe_get_user(*(u64 *)(to + 8), (const u64 __user *)(value + 8), fault);
		unsafe_get_user(*(u64 *)(to + 16), (const u64 __user *)(value + 16), fault);
		unsafe_get_user(*(u64 *)(to + 24), (const u64 __user *)(value + 24), fault);
	}
	for (; size >= 8; to += 8, value += 8, size -= 8)
		unsafe_get_user(*(u64 *)to, (const u64 __user *)value, fault);
	/* The last word overlaps the one before. */
	if (size)
		unsafe_get_user(*(u64 *)end, (const u64 __user *)last, fault);
	return 0;
fault:
	return -EFAULT;
}

/* Copies a value into an object that was allocated for @size. */
static __always_inline int hb_read_value(u8 *to, u64 from, u32 size)
{
	const u8 __user *value = u64_to_user_ptr(from);
	int err;

	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) ||
	    size < 8 || size > HB_WORDS_MAX)
		return copy_from_user(to, value, size) ? -EFAULT : 0;
	if (!user_read_access_begin(value, size))
		return -EFAULT;
	err = hb_read_words(to, value, size);
	user_read_access_end();
	return err;
}

#endif /* _HASHBELT_USER_H */
