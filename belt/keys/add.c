// SPDX-License-Identifier: GPL-2.0-only
/*
 * An addition: a put whose value is the sum of the number that is there and another one. The length
 * of the sum is known only under the lock of the key's shard, so an entry with a value of another
 * length is given up, and the addition tries again with one of the right length.
 */
#include "belt/belt.h"
#include "belt/events/limbo.h"
#include "belt/ground/compat.h"
#include "belt/room/alloc.h"
#include "belt/shard/shard.h"
#include "add.h"
#include "put.h"

/* Most characters of a number in decimal, its sign included. */
#define DIGITS_MAX	20

/*
 * Reads a number: '-' if it is negative, and 1 to 19 digits. A zero before further digits is no
 * part of a number, and neither is '-' before 0. Else returns -EBADMSG.
 */
static int parse(const u8 *text, u32 len, s64 *number)
{
	bool negative = len && *text == '-';
	u64 value = 0;
	u32 i;

	if (len <= negative || len - negative >= DIGITS_MAX)
		return -EBADMSG;
	if (text[negative] == '0' && len > 1)
		return -EBADMSG;
	for (i = negative; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EBADMSG;
		value = value * 10 + (text[i] - '0');
	}
	if (value > (u64)S64_MAX + negative)
		return -EBADMSG;
	*number = negative ? -value : value;
	return 0;
}

/* Adds @by to @is; a sum below the floor, even one beyond 64 bits, is the floor. */
static int add_above(s64 is, s64 by, s64 floor, s64 *result)
{
	if (is < floor)
		return -EBADMSG;
	if (!check_add_overflow(is, by, result))
		*result = max(*result, floor);
	else if (by < 0)
		*result = floor;
	else
		return -EOVERFLOW;
	return 0;
}

/* Writes the sum as text to @text. Return: its length, or an error. */
static int add_up(struct hashbelt_entry *old, const struct hashbelt_item *item,
		  const struct hashbelt_sum *sum, s64 *result, char text[DIGITS_MAX + 1])
{
	s64 is = sum->value;
	int err = 0;

	if (old)
		err = parse(hashbelt_entry_value(old), old->value_len, &is);
	else if (item->how & HASHBELT_IF_PRESENT)
		err = -ENOENT;
	if (err)
		return err;
	if (unlikely(item->how & HASHBELT_FLOOR))
		err = add_above(is, sum->by, item->version, result);
	else if (check_add_overflow(is, sum->by, result))
		err = -EOVERFLOW;
	return err ?: snprintf(text, DIGITS_MAX + 1, "%lld", *result);
}

/**
 * struct addition - an addition, as long as it uses one entry
 * @put:	its put, with @result as item
 * @result:	@ttl_ms and @version of the put
 * @item:	the caller's: @how, @version with HASHBELT_FLOOR, @ttl_ms and @flags of a new entry
 * @sum:	the caller's
 * @value:	the sum, as the last try has computed it
 * @len:	its characters
 */
struct addition {
	struct hb_put put;
	struct hashbelt_item result;
	struct hashbelt_item *item;
	struct hashbelt_sum *sum;
	s64 value;
	u32 len;
};

/* Writes the sum into the entry of the addition. See struct hb_put. */
static int compute(struct hb_put *put, struct hashbelt_entry *old)
{
	struct addition *add = container_of(put, struct addition, put);
	struct hashbelt_entry *entry = put->entry;
	char text[DIGITS_MAX + 1];
	int len;

	lockdep_assert_held(&put->shard->lock);
	len = add_up(old, add->item, add->sum, &add->value, text);
	if (len < 0)
		return len;
	add->len = len;
	if (put->mode == HB_PUT_COPY)
		entry->value_len = len;
	else if (entry->value_len != len)
		return HB_PUT_NEEDS_LENGTH;
	memcpy(hashbelt_entry_value(entry), text, len);
	entry->flags = old ? old->flags : add->item->flags;
	add->result.ttl_ms = old ? HASHBELT_TTL_KEEP : add->item->ttl_ms;
	return 0;
}

/* The tries with one entry, which has its key and its hash. Return: HB_PUT_*, or an error. */
static int add_with(struct hashbelt_belt *belt, struct addition *add, struct hashbelt_entry *entry,
		    enum hb_put_mode mode)
{
	int outcome;

	add->put.entry = entry;
	add->put.item = &add->result;
	add->put.compute = compute;
	add->put.mode = mode;
	add->result.ttl_ms = add->item->ttl_ms;
	outcome = hb_put_run(belt, &add->put);
	if (outcome == HB_PUT_DONE || outcome == HB_PUT_COPIED) {
		add->sum->value = add->value;
		add->item->version = add->result.version;
		add->item->ttl_ms = add->result.ttl_ms;
	}
	return outcome;
}

/* The tries with an entry whose value has as many bytes as the last sum. */
static int add_entry(struct hashbelt_belt *belt, struct addition *add, const void *key,
		     u32 key_len, u32 hash)
{
	struct hashbelt_entry *entry = hb_entry_new(belt, NULL, key_len, add->len);
	int outcome;

	if (IS_ERR(entry))
		return PTR_ERR(entry);
	memcpy(entry->data, key, key_len);
	entry->hash = hash;
	outcome = add_with(belt, add, entry, HB_PUT_ENTRY);
	if (outcome == HB_PUT_COPIED)
		hashbelt_entry_put(belt, entry);
	return outcome;
}

/* Longest key of an addition whose sum is copied into the entry that is there. */
#define ADD_KEY_MAX	(HB_FINE_MAX - offsetof(struct hashbelt_entry, data) - DIGITS_MAX)

/* The tries that allocate no memory: the sum is copied into the entry that is there. */
static noinline int add_copy(struct hashbelt_belt *belt, struct addition *add, const void *key,
			     u32 key_len, u32 hash)
{
	u64 words[HB_FINE_MAX / sizeof(u64)] HB_UNINITIALIZED;
	struct hashbelt_entry *entry = (struct hashbelt_entry *)words;
	int outcome;

	if (key_len > ADD_KEY_MAX)
		return HB_PUT_NEEDS_ENTRY;
	hb_entry_init(entry, HB_ENTRY, 0, key_len, 0);
	memcpy(entry->data, key, key_len);
	entry->hash = hash;
	outcome = add_with(belt, add, entry, HB_PUT_COPY);
	if (hb_wipes(belt))
		memzero_explicit(entry->data, key_len + entry->value_len);
	return outcome;
}

/* Adds to a number: hashbelt_add(). Context: may sleep. */
int hb_add(struct hashbelt_belt *belt, const void *key, u32 key_len, struct hashbelt_item *item,
	   struct hashbelt_sum *sum)
{
	struct addition add = { .item = item, .sum = sum, .len = 1 };
	u32 hash = hb_hash(belt, key, key_len);
	int outcome = HB_PUT_NEEDS_ENTRY;

	if (!hb_ttl_is_plain(item->ttl_ms) ||
	    ((item->how & (HASHBELT_FLOOR | HASHBELT_IF_PRESENT)) == HASHBELT_FLOOR &&
	     sum->value < (s64)item->version))
		return -EINVAL;
	if (READ_ONCE(belt->overwrites))
		outcome = add_copy(belt, &add, key, key_len, hash);
	while (outcome == HB_PUT_NEEDS_ENTRY || outcome == HB_PUT_NEEDS_LENGTH)
		outcome = add_entry(belt, &add, key, key_len, hash);
	if (outcome >= 0)
		hb_count(belt, HASHBELT_STAT_ADDS);
	return min(outcome, 0);
}
