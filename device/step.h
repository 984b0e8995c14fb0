/* SPDX-License-Identifier: GPL-2.0-only */
/* The steps of gets and puts that item.c and batch.c share, inlined. */
#ifndef _HASHBELT_STEP_H
#define _HASHBELT_STEP_H

#include "belt/keys/get.h"
#include "item.h"
#include "user.h"

/*
 * Copies a value out under RCU. The value may begin at any address, because it follows its key. If
 * a put overwrites it meanwhile, the get begins anew. Return: 0, or -EFAULT, perhaps after a page
 * fault.
 */
static __always_inline int hb_give_value(void __user *to, const u8 *value, u32 size,
					 const enum hb_get_kind kind)
{
	int err = -EFAULT;

	kcsan_nestable_atomic_begin();
	if (kind != HB_GET_RUN)
		pagefault_disable();
	if (unlikely(size > HB_WORDS_MAX)) {
		if (!copy_to_user(to, value, size))
			err = 0;
	} else if (likely(user_write_access_begin(to, size))) {
		err = hb_write_words(to, value, size);
		user_write_access_end();
	}
	if (kind != HB_GET_RUN)
		pagefault_enable();
	kcsan_nestable_atomic_end();
	return err;
}

/* A value that was copied counts if the entry has not changed meanwhile. */
static __always_inline bool hb_hit_kind(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
					struct hashbelt_item *item, u64 now, struct hb_seen seen,
					const enum hb_get_kind kind)
{
	if (kind == HB_GET_STALE)
		return hb_hit_stale(belt, entry, item, now, seen);
	if (kind == HB_GET_ANY)
		return hb_hit(belt, entry, item, now, seen);
	return hb_plain_hit(belt, entry, item, now, seen);
}

/*
 * A get has found @entry, or NULL, under RCU; @seen is for hb_hit(), and @gone for hb_miss().
 * Return: 0; -ENOENT; -EAGAIN: the entry changed meanwhile; -EFAULT: @len bytes could not be copied
 * out, perhaps because of a page fault; -ERANGE: the value has @len bytes.
 */
static __always_inline int hb_give(struct hashbelt_belt *belt, struct hashbelt_item *item,
				   const u64 *key, struct hashbelt_entry *entry, u64 now,
				   const enum hb_get_kind kind, struct hb_seen seen, u32 gone,
				   u32 *len)
{
	if (!entry) {
		if (kind != HB_GET_STALE)
			hb_miss(belt, key, item->key_len, gone, item->how);
		return -ENOENT;
	}
	if (likely(!(item->how & HASHBELT_NO_VALUE))) {
		*len = entry->value_len;
		if (unlikely(*len > item->value_len))
			return -ERANGE;
		if (unlikely(hb_give_value(u64_to_user_ptr(item->value),
					   hashbelt_entry_value(entry), *len, kind)))
			return -EFAULT;
	}
	return likely(hb_hit_kind(belt, entry, item, now, seen, kind)) ? 0 : -EAGAIN;
}

/* The result of a try of a get that needs no other try. */
static __always_inline bool hb_is_done(int err)
{
	return !err || err == -ENOENT;
}

/* Nothing about the item is wrong, its op is @op, and the get need not sleep. */
static __always_inline bool hb_is_plain_get(const struct hashbelt_item *item, const u32 op)
{
	u64 wrong = item->how & ~(HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE);

	/* One branch for three words. */
	wrong |= item->op ^ op;
	wrong |= item->reserved;
	return !wrong && item->key_len - 1 < HASHBELT_KEY_MAX;
}

/* Copies key and value in, with page faults disabled. */
static __always_inline int hb_copy_in(struct hashbelt_entry *entry,
				      const struct hashbelt_item *item)
{
	return hb_copy_key(entry->data, item->key, item->key_len) ?:
	       hb_read_value(hashbelt_entry_value(entry), item->value, item->value_len);
}

/* The conditions of a put. */
#define HB_PUT_CONDITIONS	(HASHBELT_IF_ABSENT | HASHBELT_IF_PRESENT | \
				 HASHBELT_IF_VERSION | HASHBELT_IF_LEASE)

/* Whether a put's conditions can hold together: an item has one version. */
static __always_inline bool hb_is_put(const struct hashbelt_item *item)
{
	u32 how = item->how;

	if (!(how & (HASHBELT_IF_ABSENT | HASHBELT_IF_LEASE)))
		return true;
	if (how & HASHBELT_IF_ABSENT && how & (HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION))
		return false;
	return !(how & HASHBELT_IF_LEASE) || !(how & HASHBELT_IF_VERSION);
}

/* Bytes of the entry of a plain put. */
static __always_inline size_t hb_put_size(const struct hashbelt_item *item)
{
	return hb_span(HB_ENTRY, 0, item->key_len + item->value_len);
}

/* On a belt with HASHBELT_WIPE: a copy of the key and the value of @item is not needed any more. */
static __always_inline void hb_wipe_copy(const struct hashbelt_belt *belt,
					 struct hashbelt_entry *copy,
					 const struct hashbelt_item *item)
{
	if (hb_wipes(belt))
		memzero_explicit(copy->data, item->key_len + item->value_len);
}

#endif /* _HASHBELT_STEP_H */
