// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on one key: copies an item in, checks it and the caller's rights,
 * calls the belt, copies results out. What user space passes is copied once;
 * nothing is read from it again after it was checked.
 */
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "belt/compat.h"
#include "item.h"

/* Up to this length a value is copied out under RCU, without a reference. */
#define DIRECT_MAX	4096

static __always_inline int copy_item(struct hashbelt_item *item,
				     const struct hashbelt_item __user *from)
{
	return hb_copy_words(item, from, sizeof(*item));
}

/* Copies out what an operation returns. */
static __always_inline int return_item(struct hashbelt_item __user *to,
				       const struct hashbelt_item *item)
{
	if (!user_write_access_begin(to, sizeof(*to)))
		return -EFAULT;
	unsafe_put_user(item->value_len, &to->value_len, fault);
	unsafe_put_user(item->flags, &to->flags, fault);
	unsafe_put_user(item->ttl_ms, &to->ttl_ms, fault);
	unsafe_put_user(item->version, &to->version, fault);
	unsafe_put_user(item->result, &to->result, fault);
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

/*
 * Copies a value out under RCU, where a page fault may not be waited for. Values
 * begin where their keys end.
 */
static int copy_value(void __user *to, const u8 *value, u32 size)
{
	const bool words = IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS);
	int err = -EFAULT;

	pagefault_disable();
	if (user_write_access_begin(to, size)) {
		/* Unrolled, a get of 1 KiB takes 1776 instructions; with a plain loop 2184. */
		#pragma GCC unroll 4
		for (; words && size >= 8; to += 8, value += 8, size -= 8)
			unsafe_put_user(*(u64 *)value, (u64 __user *)to, fault);
		unsafe_copy_to_user(to, value, size, fault);
		err = 0;
fault:
		user_write_access_end();
	}
	pagefault_enable();
	return err;
}

/* Whether a key has a length that keys may have. */
int hb_check_key(u32 key_len)
{
	if (unlikely(!key_len))
		return -EINVAL;
	return likely(key_len <= HASHBELT_KEY_MAX) ? 0 : -E2BIG;
}

/* A value that was copied counts if nothing has come between. */
static __always_inline bool hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
				struct hashbelt_item *item, u64 now, bool stale)
{
	return unlikely(stale) ? hashbelt_hit_stale(belt, entry, item, now) :
				 hashbelt_hit(belt, entry, item, now);
}

/* A hit with the value copied at leisure. -EAGAIN: find it again. */
static int get_slowly(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		      struct hashbelt_item *item, u64 now, bool stale)
{
	int err = 0;

	if (copy_to_user(u64_to_user_ptr(item->value), hashbelt_entry_value(entry),
			 entry->value_len))
		err = -EFAULT;
	else if (!hit(belt, entry, item, now, stale))
		err = -EAGAIN;
	hashbelt_entry_put(belt, entry);
	return err;
}

/* One try to get. -EAGAIN: the entry changed meanwhile. */
static __always_inline int try_get(struct hashbelt_belt *belt, struct hashbelt_item *item,
				   const void *key, bool stale)
{
	u64 now = hashbelt_now(belt);
	struct hashbelt_entry *entry;
	int err = -EAGAIN;
	u32 gone = 0;

	rcu_read_lock();
	entry = unlikely(stale) ? hashbelt_find_stale(belt, key, item->key_len, now) :
				  hashbelt_find(belt, key, item->key_len, now, &gone);
	if (!entry) {
		err = -ENOENT;
		if (likely(!stale))
			hashbelt_miss(belt, key, item->key_len, gone);
	} else if (item->how & HASHBELT_NO_VALUE) {
		if (hit(belt, entry, item, now, stale))
			err = 0;
	} else if (entry->value_len > item->value_len) {
		item->value_len = entry->value_len;
		err = -ERANGE;
	} else if (entry->value_len <= DIRECT_MAX &&
		   !copy_value(u64_to_user_ptr(item->value),
			       hashbelt_entry_value(entry), entry->value_len)) {
		if (hit(belt, entry, item, now, stale))
			err = 0;
	} else if (refcount_inc_not_zero(&entry->ref)) {
		rcu_read_unlock();
		return get_slowly(belt, entry, item, now, stale);
	}
	rcu_read_unlock();
	return err;
}

static __always_inline int get(struct hashbelt_belt *belt, struct hashbelt_item *item,
			       const void *key, bool stale)
{
	int err = hashbelt_get_prepare(belt, key, item->key_len, item);

	if (unlikely(err))
		return err;
	while (unlikely((err = try_get(belt, item, key, stale)) == -EAGAIN)) {
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return err;
}

/* A get for other files; @stale: of an entry in its grace time. */
int hb_get(struct hashbelt_belt *belt, struct hashbelt_item *item, const void *key,
	   bool stale)
{
	return stale ? get(belt, item, key, true) : get(belt, item, key, false);
}

static int put(struct hb_session *session, struct hashbelt_item *item)
{
	u32 demands = item->how & (HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION);
	struct hashbelt_belt *belt = session->named->belt;
	struct hb_client *client = NULL;
	struct hashbelt_entry *entry;

	if (item->how & HASHBELT_IF_ABSENT && demands)
		return -EINVAL;
	if (item->value_len > HASHBELT_VALUE_MAX)
		return -EMSGSIZE;
	if (unlikely(item->how & HASHBELT_BOUND))
		client = hb_session_client(session);
	if (IS_ERR(client))
		return PTR_ERR(client);
	entry = hashbelt_entry_alloc(belt, client, item->key_len, item->value_len);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	entry->flags = item->flags;
	if (hb_copy_words(entry->data, u64_to_user_ptr(item->key), item->key_len) ||
	    copy_from_user(hashbelt_entry_value(entry), u64_to_user_ptr(item->value),
			   item->value_len)) {
		hashbelt_entry_put(belt, entry);
		return -EFAULT;
	}
	return hashbelt_put(belt, entry, item);
}

/* An addition: @value points to what is added, and is told the sum. */
static int add(struct hashbelt_belt *belt, struct hashbelt_item *item, const void *key)
{
	struct hashbelt_sum __user *to = u64_to_user_ptr(item->value);
	struct hashbelt_sum sum;
	int err;

	if (item->value_len != sizeof(sum))
		return -EINVAL;
	if (copy_from_user(&sum, to, sizeof(sum)))
		return -EFAULT;
	err = hashbelt_add(belt, key, item->key_len, item, &sum);
	if (!err && put_user(sum.value, &to->value))
		err = -EFAULT;
	return err;
}

/* What an operation allows in @how, and what it needs of the session. */
static int check_item(const struct hashbelt_item *item, u32 op, u32 access)
{
	u32 how, needs = HASHBELT_MAY_WRITE;

	switch (op) {
	case HASHBELT_OP_GET:
		how = HASHBELT_AND_TOUCH | HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE;
		needs = HASHBELT_MAY_READ;
		if (unlikely(item->how & HASHBELT_AND_TOUCH))
			needs |= HASHBELT_MAY_WRITE;
		break;
	case HASHBELT_OP_ADD:
		how = 0;
		/* The sum tells what was there. */
		needs |= HASHBELT_MAY_READ;
		break;
	case HASHBELT_OP_PUT:
		how = HASHBELT_IF_ABSENT | HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION |
		      HASHBELT_BOUND;
		break;
	case HASHBELT_OP_REMOVE:
		how = HASHBELT_IF_VERSION;
		break;
	case HASHBELT_OP_TOUCH:
	case HASHBELT_OP_EXPIRE:
		how = 0;
		break;
	default:
		return -EINVAL;
	}
	if (unlikely(item->how & ~how || item->reserved))
		return -EINVAL;
	if (unlikely((access & needs) != needs))
		return -EPERM;
	return hb_check_key(item->key_len);
}

/* An operation whose key was copied in. */
static __always_inline int do_key(struct hashbelt_belt *belt, struct hashbelt_item *item,
				  u32 op, const void *key)
{
	switch (op) {
	case HASHBELT_OP_GET:
		return get(belt, item, key, false);
	case HASHBELT_OP_TOUCH:
		return hashbelt_touch(belt, key, item->key_len, item);
	case HASHBELT_OP_REMOVE:
		return hashbelt_remove(belt, key, item->key_len, item);
	case HASHBELT_OP_ADD:
		return add(belt, item, key);
	default:
		return hashbelt_expire(belt, key, item->key_len);
	}
}

static int do_item(struct hb_session *session, struct hashbelt_item *item, u32 op)
{
	struct hashbelt_belt *belt = session->named->belt;
	u64 key[HASHBELT_KEY_MAX / sizeof(u64)] HB_UNINITIALIZED;
	int err = check_item(item, op, session->access);
	u32 flags;

	if (unlikely(err))
		return err;
	if (op == HASHBELT_OP_PUT)
		return put(session, item);
	flags = item->flags;
	err = hb_copy_words(key, u64_to_user_ptr(item->key), item->key_len);
	if (likely(!err))
		err = do_key(belt, item, op, key);
	/* A touch tells who may not read nothing of what others have put. */
	if (unlikely(op == HASHBELT_OP_TOUCH && !(session->access & HASHBELT_MAY_READ)))
		item->flags = flags;
	/* No copy of a key stays behind on the stack, not even of half of one. */
	if (unlikely(hashbelt_wipes(belt)))
		memzero_explicit(key, item->key_len);
	return err;
}

/* Whether an operation that ended like this has something to return. */
static bool returns_item(int err)
{
	return likely(!err) || err == -ERANGE || err == -EEXIST || err == -ESTALE;
}

/* One operation on one key. */
long hb_call_item(struct hb_file *file, struct hashbelt_item __user *arg, u32 op)
{
	struct hashbelt_item item HB_UNINITIALIZED;
	struct hb_session *session;
	int err;

	if (unlikely(copy_item(&item, arg)))
		return -EFAULT;
	if (unlikely(item.op))
		return -EINVAL;
	session = hb_session_get(file, 0);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = do_item(session, &item, op);
	hb_session_put(session);
	if (returns_item(err) && unlikely(return_item(arg, &item)))
		return -EFAULT;
	return err;
}

static u32 do_items(struct hb_session *session, struct hashbelt_item __user *items,
		    u32 count)
{
	struct hashbelt_item item HB_UNINITIALIZED;
	u32 done;

	for (done = 0; done < count && !signal_pending(current); done++) {
		if (copy_item(&item, &items[done]))
			break;
		item.result = do_item(session, &item, item.op);
		if (return_item(&items[done], &item))
			break;
		cond_resched();
	}
	return done;
}

/* Many operations. */
int hb_call_batch(const struct hb_call *call, void *arg)
{
	struct hashbelt_batch *batch = arg;

	if (!batch->count || batch->flags || batch->reserved)
		return -EINVAL;
	if (batch->count > HASHBELT_BATCH_MAX)
		return -E2BIG;
	batch->done = do_items(call->session, u64_to_user_ptr(batch->items), batch->count);
	if (!batch->done)
		return signal_pending(current) ? -EINTR : -EFAULT;
	return 0;
}
