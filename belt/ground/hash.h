/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys in words: hashing and comparing them, inlined.
 *
 * The key of an entry, and a key that an ioctl has copied in, begins at a multiple of 8, and the
 * word in which it ends can be read as a whole. What follows the key in that word is ignored.
 */
#ifndef _HASHBELT_HASH_H
#define _HASHBELT_HASH_H

#include <linux/bitops.h>
#include <linux/siphash.h>
#include <linux/string.h>
#include <linux/types.h>

#include <asm/byteorder.h>

/* The first @count bytes of a word, from 1 to 7, as a number of little endian. */
static __always_inline u64 hb_head(u64 word, u32 count)
{
	return le64_to_cpu((__force __le64)word) & ~0ULL >> (64 - 8 * count);
}

/* A word at any address. */
static __always_inline u64 hb_word(const void *at)
{
	u64 word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* SipHash's state after its key, made once. */
struct hb_seed {
	u64 state[4];
};

static inline void hb_seed_init(struct hb_seed *seed, const hsiphash_key_t *key)
{
	seed->state[0] = SIPHASH_CONST_0 ^ key->key[0];
	seed->state[1] = SIPHASH_CONST_1 ^ key->key[1];
	seed->state[2] = SIPHASH_CONST_2 ^ key->key[0];
	seed->state[3] = SIPHASH_CONST_3 ^ key->key[1];
}

/* Up to 7 bytes at any address, as a number of little endian. */
static inline u64 hb_bytes(const u8 *bytes, u32 count)
{
	u64 number = 0;

	while (count)
		number = number << 8 | bytes[--count];
	return number;
}

/*
 * The same as hsiphash(), which is SipHash-1-3 on 64 bits, but inlined and with a state that has
 * the hash's key already. @words: the key is one in words.
 */
static __always_inline u32 hb_siphash(const void *key, u32 key_len, const struct hb_seed *seed,
				      const bool words)
{
	u64 v0 = seed->state[0], v1 = seed->state[1], v2 = seed->state[2], v3 = seed->state[3];
	u64 last = (u64)key_len << 56, word;

	for (; key_len >= 8; key += 8, key_len -= 8) {
		word = words ? *(const u64 *)key : hb_word(key);
		word = le64_to_cpu((__force __le64)word);
		v3 ^= word;
		SIPHASH_PERMUTATION(v0, v1, v2, v3);
		v0 ^= word;
	}
	if (key_len)
		last |= words ? hb_head(*(const u64 *)key, key_len) : hb_bytes(key, key_len);
	v3 ^= last;
	SIPHASH_PERMUTATION(v0, v1, v2, v3);
	v0 ^= last;
	v2 ^= 0xff;
	SIPHASH_PERMUTATION(v0, v1, v2, v3);
	SIPHASH_PERMUTATION(v0, v1, v2, v3);
	SIPHASH_PERMUTATION(v0, v1, v2, v3);
	return v0 ^ v1 ^ v2 ^ v3;
}

/*
 * From 8 bytes on the last 8 are compared as one word, which overlaps the one before: no loop up to
 * 16 bytes.
 */
static __always_inline bool hb_keys_equal(const u64 *key, const u64 *other, u32 key_len)
{
	u32 at;

	/* The word may have the first bytes of a value, which a put may overwrite meanwhile. */
	if (unlikely(key_len < 8))
		return !hb_head(READ_ONCE(*key) ^ *other, key_len);
	if (*key != *other)
		return false;
	if (unlikely(key_len > 16))
		for (at = 1; at < key_len / 8; at++)
			if (key[at] != other[at])
				return false;
	/* A branch of its own: cheaper for a get than a result. */
	if (hb_word((const u8 *)key + key_len - 8) != hb_word((const u8 *)other + key_len - 8))
		return false;
	return true;
}

#endif /* _HASHBELT_HASH_H */
