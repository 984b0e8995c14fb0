// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libhashbelt: counters, fill leases, and requests that wait.
 */
#include "private.h"

/**
 * hashbelt_add_item() - add to a number, with conditions
 * @belt:	the handle
 * @key:	the key
 * @key_len:	its length, 1 to HASHBELT_KEY_MAX bytes
 * @sum:	in: @by, and @value: the number that an absent entry counts as. Returned: the sum,
 *		in @value
 * @item:	in: @how: 0 or HASHBELT_IF_PRESENT and HASHBELT_FLOOR, with that @version: the least
 *		sum; @ttl_ms and @flags of a new entry. Returned: @ttl_ms and @version
 *
 * Return: 0; -ENOENT with HASHBELT_IF_PRESENT; -EBADMSG if the present value is no number, or one
 * below the least sum; -EOVERFLOW; -E2BIG or -EINVAL for the key's length; -EINVAL also if @value
 * is below the least sum, without HASHBELT_IF_PRESENT; -ENOSPC or -EDQUOT at a limit; -ENOMEM.
 */
int hashbelt_add_item(struct hashbelt *belt, const void *key, size_t key_len,
		      struct hashbelt_sum *sum, struct hashbelt_item *item)
{
	item->value = (uintptr_t)sum;
	item->value_len = sizeof(*sum);
	return note_refused(belt, call_item(belt, HASHBELT_IOC_ADD, key, key_len, item),
			    key_len + sizeof(sum->value));
}

/**
 * hashbelt_add() - add to a number
 * @belt:	the handle
 * @key:	the key
 * @key_len:	its length, 1 to HASHBELT_KEY_MAX bytes
 * @by:		the addend
 * @initial:	the number that an absent entry counts as
 * @ttl_ms:	its time-to-live then, or HASHBELT_TTL_*
 * @sum:	returned: the sum. NULL if of no interest
 *
 * Return: 0; -EBADMSG if the present value is no number; -EOVERFLOW; -E2BIG or -EINVAL
 * for the key's length; -ENOSPC or -EDQUOT at a limit; -ENOMEM.
 */
int hashbelt_add(struct hashbelt *belt, const void *key, size_t key_len, __s64 by, __s64 initial,
		 __u64 ttl_ms, __s64 *sum)
{
	struct hashbelt_sum add = { .by = by, .value = initial };
	struct hashbelt_item item = { .ttl_ms = ttl_ms };
	int err = hashbelt_add_item(belt, key, key_len, &add, &item);

	if (!err && sum)
		*sum = add.value;
	return err;
}

/**
 * hashbelt_fill() - read an entry, or get the right to fill it
 * @belt:	the handle
 * @key:	the key
 * @key_len:	its length, 1 to HASHBELT_KEY_MAX bytes
 * @buffer:	space for the value
 * @size:	its size, bytes
 * @fill:	in: @item.how and @item.ttl_ms as for hashbelt_get(); @lease_ms,
 *		@wait_ms, @ahead_ms, @how. Returned: @item, @state, @token
 *
 * A caller that is granted the fill lease calls hashbelt_fill_put(), or gives the
 * lease up.
 *
 * Return: 0 with a value; -ENOENT without one, and @fill->state says whether the
 * caller is to fill it or another does; -ETIMEDOUT; -EINTR; else as hashbelt_get()
 * and hashbelt_put().
 */
int hashbelt_fill(struct hashbelt *belt, const void *key, size_t key_len, void *buffer, size_t size,
		  struct hashbelt_fill *fill)
{
	if (key_len > HASHBELT_KEY_MAX)
		return -E2BIG;
	fill->item.key = (uintptr_t)key;
	fill->item.key_len = key_len;
	fill->item.value = (uintptr_t)buffer;
	fill->item.value_len = size < HASHBELT_VALUE_MAX ? size : HASHBELT_VALUE_MAX;
	return note_refused(belt, call(belt, HASHBELT_IOC_FILL, fill), key_len);
}

/**
 * hashbelt_fill_put() - put a value that was computed under a fill lease
 * @belt:	the handle
 * @key:	the key
 * @key_len:	its length, bytes
 * @value:	the value
 * @value_len:	its length, at most HASHBELT_VALUE_MAX bytes
 * @token:	as hashbelt_fill() returned it
 * @item:	as for hashbelt_put(); its @version is set to @token. NULL: with the
 *		belt's time-to-live
 *
 * Return: 0; -ESTALE, and nothing was stored, if the fill lease has ended: the key
 * was put, removed or expired, or the belt cleared, or the lease was over; else as
 * hashbelt_put().
 */
int hashbelt_fill_put(struct hashbelt *belt, const void *key, size_t key_len, const void *value,
		      size_t value_len, __u64 token, struct hashbelt_item *item)
{
	struct hashbelt_item plain = { .ttl_ms = HASHBELT_TTL_BELT };
	__u32 how;
	int err;

	if (!item)
		item = &plain;
	how = item->how;
	item->how |= HASHBELT_IF_LEASE;
	item->version = token;
	err = hashbelt_put(belt, key, key_len, value, value_len, item);
	item->how = how;
	return err;
}

/* A call on a fill lease that the caller has. */
static int change_fill(struct hashbelt *belt, const void *key, size_t key_len, __u32 how,
		       __u64 token, __u64 lease_ms)
{
	struct hashbelt_fill fill = { .how = how, .token = token, .lease_ms = lease_ms };

	return hashbelt_fill(belt, key, key_len, NULL, 0, &fill);
}

/**
 * hashbelt_fill_renew() - set the end of a fill lease
 * @belt:	the handle
 * @key:	the key
 * @key_len:	its length, bytes
 * @token:	as hashbelt_fill() returned it
 * @lease_ms:	its duration from now on, milliseconds; 0: 10 seconds
 *
 * Return: 0; -ENOENT if the fill lease has ended.
 */
int hashbelt_fill_renew(struct hashbelt *belt, const void *key, size_t key_len, __u64 token,
			__u64 lease_ms)
{
	return change_fill(belt, key, key_len, HASHBELT_RENEW_LEASE, token, lease_ms);
}

/**
 * hashbelt_fill_fail() - tell other callers that the value cannot be computed
 * @belt:	the handle
 * @key:	the key
 * @key_len:	its length, bytes
 * @token:	as hashbelt_fill() returned it
 * @retry_ms:	time for which no caller is granted the fill lease, milliseconds; 0: 10
 *		seconds. hashbelt_fill() returns HASHBELT_FAILED in @state meanwhile
 *
 * Return: 0; -ENOENT if the fill lease has ended.
 */
int hashbelt_fill_fail(struct hashbelt *belt, const void *key, size_t key_len, __u64 token,
		       __u64 retry_ms)
{
	return change_fill(belt, key, key_len, HASHBELT_FAIL, token, retry_ms);
}

/**
 * hashbelt_give_up() - give the right to fill back
 * @belt:	the handle
 * @key:	the key
 * @key_len:	its length, bytes
 * @token:	as hashbelt_fill() returned it
 *
 * Return: 0; -ENOENT if the caller does not have it any more.
 */
int hashbelt_give_up(struct hashbelt *belt, const void *key, size_t key_len, __u64 token)
{
	return change_fill(belt, key, key_len, HASHBELT_GIVE_UP, token, 0);
}

/**
 * hashbelt_request() - wait for keys without waiting
 * @belt:	the handle, from which its end is read: see
 *		HASHBELT_WATCH_REQUESTS and hashbelt_read()
 * @id:		the id of the request
 * @keys:	the keys, each with @key and @key_len
 * @count:	their number, 1 to HASHBELT_REQUEST_KEYS
 * @ttl_ms:	when it times out; 0 for the belt's time-to-live,
 *		HASHBELT_TTL_NEVER for never
 *
 * Return: 0; -EEXIST; -E2BIG or -EINVAL for a length or number; -ENOSPC or -EDQUOT
 * at a limit; -ENOMEM.
 */
int hashbelt_request(struct hashbelt *belt, __u64 id, const struct hashbelt_key *keys,
		     unsigned int count, __u64 ttl_ms)
{
	struct hashbelt_request request = {
		.id = id,
		.keys = (uintptr_t)keys,
		.count = count,
		.ttl_ms = ttl_ms,
	};

	size_t bytes = 0;
	unsigned int i;

	for (i = 0; i < count; i++)
		bytes += keys[i].key_len;
	return note_refused(belt, call(belt, HASHBELT_IOC_REQUEST, &request), bytes);
}

/**
 * hashbelt_cancel() - take a request back
 * @belt:	the handle that registered it
 * @id:		its id
 *
 * Return: 0, and it is not heard of again; -ENOENT if it was completed, or never
 * registered.
 */
int hashbelt_cancel(struct hashbelt *belt, __u64 id)
{
	return call(belt, HASHBELT_IOC_CANCEL, &id);
}

/**
 * hashbelt_complete() - complete the requests that wait for a key
 * @belt:	the handle
 * @key:	the key
 * @key_len:	its length, 1 to HASHBELT_KEY_MAX bytes
 * @count:	returned: how many that were. NULL if of no interest
 *
 * Return: 0; -E2BIG or -EINVAL for the key's length.
 */
int hashbelt_complete(struct hashbelt *belt, const void *key, size_t key_len, unsigned int *count)
{
	struct hashbelt_key arg = { .key = (uintptr_t)key, .key_len = key_len };
	int err = key_len > HASHBELT_KEY_MAX ? -E2BIG :
		  call(belt, HASHBELT_IOC_COMPLETE, &arg);

	if (!err && count)
		*count = arg.count;
	return err;
}
