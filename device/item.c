// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls on one key: each copies an item in, checks it and the caller's rights, calls the belt,
 * and copies the results out. Data of user space is copied once, and not read again after it was
 * checked. A get that begins anew after a copy to user space uses the kernel's copy of its key: its
 * value may lie over the key.
 */
#include <linux/nospec.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "belt/events/limbo.h"
#include "belt/ground/compat.h"
#include "belt/keys/add.h"
#include "belt/keys/key.h"
#include "belt/keys/put.h"
#include "belt/room/alloc.h"
#include "belt/shard/window.h"
#include "item.h"
#include "step.h"

int hb_check_key(u32 key_len)
{
	if (!key_len)
		return -EINVAL;
	return key_len <= HASHBELT_KEY_MAX ? 0 : -E2BIG;
}

/* One try of a get, under RCU. Return: 0, or an error of hb_give(). */
static __always_inline int try_get(struct hashbelt_belt *belt, struct hashbelt_item *item,
				   const u64 *key, u64 now, const enum hb_get_kind kind, u32 *len)
{
	struct hashbelt_entry *entry;
	struct hb_seen seen HB_UNINITIALIZED;
	u32 gone = 0;

	entry = kind == HB_GET_STALE ? hb_find_stale(belt, key, item->key_len, now, &seen) :
				       hb_find(belt, key, item->key_len, now, &seen, &gone);
	return hb_give(belt, item, key, entry, now, kind, seen, gone, len);
}

/*
 * After a failed try of a get: brings in the page that its value may need. @len: as try_get()
 * returned it. 0: the get may be tried again.
 */
static int before_next_try(const struct hashbelt_item *item, int err, u32 len, unsigned int *faults)
{
	if (err == -EFAULT &&
	    ((*faults)++ == HB_FAULTS_MAX ||
	     fault_in_safe_writeable(u64_to_user_ptr(item->value), len)))
		return err;
	if (fatal_signal_pending(current))
		return -EINTR;
	cond_resched();
	return 0;
}

/*
 * A get, with as many tries as it needs. @key: the kernel's copy, in words (belt/ground/hash.h). A
 * try that fails may have overwritten the key in user space.
 */
int hb_get(struct hashbelt_belt *belt, struct hashbelt_item *item, const u64 *key,
	   enum hb_get_kind kind)
{
	int err = hb_get_prepare(belt, key, item->key_len, item);
	unsigned int faults = 0;
	u32 len;

	if (err)
		return err;
	for (;;) {
		rcu_read_lock();
		err = try_get(belt, item, key, hb_clock_now(&belt->clock), kind, &len);
		rcu_read_unlock();
		if (err == -EAGAIN || err == -EFAULT) {
			err = before_next_try(item, err, len, &faults);
			if (!err)
				continue;
		}
		if (err == -ERANGE)
			item->value_len = len;
		if (kind != HB_GET_STALE && item->how & HASHBELT_TO_WINDOW && !err)
			hb_window_offer(belt, key, item->key_len, item->value_len);
		return err;
	}
}

/*
 * Return: an entry with the key and value of an item; an error of hashbelt_entry_alloc(); -EFAULT;
 * -EINTR.
 */
static struct hashbelt_entry *read_entry(struct hashbelt_belt *belt, struct hb_client *client,
					 const struct hashbelt_item *item)
{
	struct hashbelt_entry *entry;
	unsigned int faults;
	int err;

	for (faults = 0; faults < HB_FAULTS_MAX; faults++) {
		entry = hb_entry_new(belt, client, item->key_len, item->value_len);
		if (IS_ERR(entry))
			return entry;
		pagefault_disable();
		err = hb_copy_in(entry, item);
		pagefault_enable();
		if (!err)
			return entry;
		hashbelt_entry_put(belt, entry);
		if (fault_in_readable(u64_to_user_ptr(item->key), item->key_len) ||
		    fault_in_readable(u64_to_user_ptr(item->value), item->value_len))
			break;
		if (fatal_signal_pending(current))
			return ERR_PTR(-EINTR);
		cond_resched();
	}
	return ERR_PTR(-EFAULT);
}

/*
 * A put that allocates no memory: its value is copied into the entry that is there. No copy of key
 * and value is left.
 *
 * Return: the outcome of hb_put(); HB_PUT_NEEDS_ENTRY also if the page of the key or of the value
 * is not there.
 */
static noinline int put_copy(struct hashbelt_belt *belt, struct hashbelt_item *item)
{
	u64 words[HB_FINE_MAX / sizeof(u64)] HB_UNINITIALIZED;
	struct hashbelt_entry *entry = (struct hashbelt_entry *)words;
	int outcome = HB_PUT_NEEDS_ENTRY, err;

	hb_entry_init(entry, HB_ENTRY, 0, item->key_len, item->value_len);
	pagefault_disable();
	err = hb_copy_in(entry, item);
	pagefault_enable();
	if (!err) {
		entry->flags = item->flags;
		hb_entry_hash(belt, entry);
		outcome = hb_put(belt, entry, item, HB_PUT_COPY);
	}
	hb_wipe_copy(belt, entry, item);
	return outcome;
}

/*
 * A put with an entry of its own, which it may not need.
 *
 * Return: the outcome of hb_put(), or an error of read_entry().
 */
static int put_entry(struct hashbelt_belt *belt, struct hb_client *client,
		     struct hashbelt_item *item)
{
	struct hashbelt_entry *entry = read_entry(belt, client, item);
	int outcome;

	if (IS_ERR(entry))
		return PTR_ERR(entry);
	entry->flags = item->flags;
	hb_entry_hash(belt, entry);
	outcome = hb_put(belt, entry, item, HB_PUT_ENTRY);
	if (outcome == HB_PUT_COPIED)
		hashbelt_entry_put(belt, entry);
	return outcome;
}

/* A put has found an entry of its key, and has taken no memory. */
static bool found_entry(int outcome)
{
	return outcome == HB_PUT_COPIED || outcome == -EEXIST || outcome == -ESTALE;
}

static int put(struct hb_session *session, struct hashbelt_item *item)
{
	struct hashbelt_belt *belt = session->named->belt;
	struct hb_client *client = NULL;
	bool copies = READ_ONCE(session->copies);
	int outcome = HB_PUT_NEEDS_ENTRY;

	if (!hb_is_put(item))
		return -EINVAL;
	if (item->value_len > HASHBELT_VALUE_MAX)
		return -EMSGSIZE;
	if (item->how & HASHBELT_BOUND)
		client = hb_session_client(session);
	if (IS_ERR(client))
		return PTR_ERR(client);
	if (copies && !client && hb_put_size(item) <= HB_FINE_MAX)
		outcome = put_copy(belt, item);
	if (outcome == HB_PUT_NEEDS_ENTRY) {
		outcome = put_entry(belt, client, item);
		if (found_entry(outcome) != copies)
			WRITE_ONCE(session->copies, !copies);
	}
	return min(outcome, 0);
}

/* An addition: @value of the item points to a struct hashbelt_sum. */
static int add(struct hashbelt_belt *belt, struct hashbelt_item *item, const u64 *key)
{
	struct hashbelt_sum __user *to = u64_to_user_ptr(item->value);
	struct hashbelt_sum sum;
	int err;

	if (item->value_len != sizeof(sum))
		return -EINVAL;
	if (copy_from_user(&sum, to, sizeof(sum)))
		return -EFAULT;
	err = hb_add(belt, key, item->key_len, item, &sum);
	if (!err && put_user(sum.value, &to->value))
		err = -EFAULT;
	return err;
}

/**
 * struct operation - an operation on one key
 * @how:	the conditions and modifiers that it allows
 * @needs:	the rights that it needs: HASHBELT_MAY_*; with HASHBELT_AND_TOUCH that to write,
 *		too; with a condition on the deadline that to read, too
 */
struct operation {
	u32 how;
	u32 needs;
};

#define MAY(what)	HASHBELT_MAY_##what

static const struct operation operations[] = {
	[HASHBELT_OP_GET] = {
		HASHBELT_AND_TOUCH | HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE | HASHBELT_TO_WINDOW,
		MAY(READ),
	},
	[HASHBELT_OP_PUT] = { HB_PUT_CONDITIONS | HASHBELT_BOUND, MAY(WRITE) },
	[HASHBELT_OP_TOUCH] = { HASHBELT_BOUND | HB_TOUCH_CONDITIONS, MAY(WRITE) },
	[HASHBELT_OP_REMOVE] = { HASHBELT_IF_VERSION | HASHBELT_LEAVE_STALE, MAY(WRITE) },
	[HASHBELT_OP_EXPIRE] = { HB_EXPIRE_CONDITIONS, MAY(WRITE) },
	/* The sum tells the previous value. */
	[HASHBELT_OP_ADD] = { HASHBELT_IF_PRESENT | HASHBELT_FLOOR, MAY(READ) | MAY(WRITE) },
};

/* Returned by check_item() for a touch of all entries that are bound, which has no key. */
#define NO_KEY	1

/*
 * Checks that there is such an operation, what it allows in @how, which rights it needs, and the
 * length of the key.
 */
static int check_item(const struct hb_session *session, const struct hashbelt_item *item, u32 op)
{
	const struct operation *operation;
	u32 needs;

	if (!op || op >= ARRAY_SIZE(operations))
		return -EINVAL;
	operation = &operations[array_index_nospec(op, ARRAY_SIZE(operations))];
	if (item->how & ~operation->how || item->reserved)
		return -EINVAL;
	needs = operation->needs;
	if (item->how & HASHBELT_AND_TOUCH)
		needs |= HASHBELT_MAY_WRITE;
	if (item->how & HB_DEADLINE_CONDITIONS)
		needs |= HASHBELT_MAY_READ;
	if ((session->access & needs) != needs)
		return hb_session_deny(session, needs);
	if (!item->key_len && op == HASHBELT_OP_TOUCH && item->how == HASHBELT_BOUND)
		return NO_KEY;
	return hb_check_key(item->key_len);
}

static int touch_bound(struct hb_session *session, struct hashbelt_item *item)
{
	/* Pairs with the release in set_client(). */
	struct hb_client *client = smp_load_acquire(&session->client);

	return hb_touch_client(session->named->belt, client, item);
}

static int do_key(struct hashbelt_belt *belt, struct hashbelt_item *item, u32 op, const u64 *key)
{
	switch (op) {
	case HASHBELT_OP_GET:
		return hb_get(belt, item, key, HB_GET_ANY);
	case HASHBELT_OP_TOUCH:
		/* With HASHBELT_BOUND there is no key. */
		return item->how & HASHBELT_BOUND ? -EINVAL :
						    hb_touch(belt, key, item->key_len, item);
	case HASHBELT_OP_REMOVE:
		return hb_remove(belt, key, item->key_len, item);
	case HASHBELT_OP_ADD:
		return add(belt, item, key);
	default:
		return hb_expire_key(belt, key, item->key_len, item->how);
	}
}

/* A key in words. */
#define KEY_WORDS	(HASHBELT_KEY_MAX / sizeof(u64))

/* Makes an operation with the rights of a session. Return: 0 or an error. */
noinline int hb_item(struct hb_session *session, struct hashbelt_item *item, u32 op)
{
	struct hashbelt_belt *belt = session->named->belt;
	u64 key[KEY_WORDS] HB_UNINITIALIZED;
	int err = check_item(session, item, op);
	u32 flags;

	if (err)
		return err == NO_KEY ? touch_bound(session, item) : err;
	if (op == HASHBELT_OP_PUT)
		return put(session, item);
	flags = item->flags;
	err = hb_copy_key(key, item->key, item->key_len);
	if (!err)
		err = do_key(belt, item, op, key);
	/*
	 * A caller without the right to read does not learn the flags of others' entries by a
	 * touch.
	 */
	if (op == HASHBELT_OP_TOUCH && !(session->access & HASHBELT_MAY_READ))
		item->flags = flags;
	/* No copy of a key is left on the stack, not even a part of one. */
	if (hb_wipes(belt))
		memzero_explicit(key, item->key_len);
	return err;
}

/* After these results the item is copied out. */
static bool returns_item(int err)
{
	return !err || err == -ERANGE || err == -EEXIST || err == -ESTALE || err == -EALREADY;
}

/* Copies the key of a get in. False, after a page fault for instance: no part of it is left. */
static __always_inline bool read_key(u64 *key, const struct hashbelt_item *item)
{
	if (!hb_copy_key(key, item->key, item->key_len))
		return true;
	memzero_explicit(key, item->key_len);
	return false;
}

/*
 * Shared path of the ioctls on one key. Cheaper than run_call(), which returns the whole argument.
 */
long hb_call_item(struct hb_file *file, struct hashbelt_item __user *arg, u32 op)
{
	struct hashbelt_item item HB_UNINITIALIZED;
	struct hb_session *session;
	int err;

	if (hb_copy_words(&item, arg, sizeof(item)))
		return -EFAULT;
	if (item.op)
		return -EINVAL;
	session = hb_session_get(file, 0);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = hb_item(session, &item, op);
	hb_session_put(session);
	if (returns_item(err) && hb_return_item(arg, &item, false))
		return -EFAULT;
	return err;
}

/* One try of a plain get, under RCU. */
static __always_inline int try_get_of_session(const struct hb_session *session,
					      struct hashbelt_item *item, u64 *key, const bool asks)
{
	struct hashbelt_belt *belt = session->named->belt;
	int err = -EAGAIN;
	u32 len;

	if (session->access & HASHBELT_MAY_READ && !READ_ONCE(belt->dead))
		err = try_get(belt, item, key, hb_clock_now(&belt->clock), HB_GET_PLAIN, &len);
	if (asks && !err)
		hb_window_offer(belt, key, item->key_len, item->value_len);
	if (READ_ONCE(belt->settings.policy) & HASHBELT_WIPE && hb_is_done(err))
		memzero_explicit(key, item->key_len);
	return err;
}

/*
 * The first try of a plain get. After errors but -ENOENT finish_get() goes on with @key, which is
 * not needed after other results: then no copy of it is left. @asks: for a slot of the window.
 *
 * Finds the session and its belt under RCU, without a reference: those of gets would be the only
 * words that threads write which share a descriptor. Both stay until rcu_read_unlock(): a file
 * gives up its session before the session drops its reference to the belt, and each is freed a
 * grace period after its last reference is dropped.
 */
static __always_inline int try_get_of_file(struct hb_file *file, struct hashbelt_item *item,
					   u64 *key, const bool asks)
{
	const struct hb_session *session;
	int err = -EAGAIN;

	rcu_read_lock();
	session = rcu_dereference(file->session);
	if (session)
		err = try_get_of_session(session, item, key, asks);
	rcu_read_unlock();
	return err;
}

/*
 * Goes on with a plain get whose first try has failed, and returns all errors. That try may have
 * written the value over the key, and over the item: of both, the copies are used that it had.
 */
static noinline long finish_get(struct hb_file *file, struct hashbelt_item __user *arg,
				struct hashbelt_item *item, u64 *key)
{
	struct hb_session *session = hb_session_get(file, HASHBELT_MAY_READ);
	int err = PTR_ERR_OR_ZERO(session);

	if (!err) {
		err = hb_get(session->named->belt, item, key, HB_GET_PLAIN);
		hb_session_put(session);
	}
	/* For a belt with HASHBELT_WIPE, perhaps the one to which the file was bound before. */
	memzero_explicit(key, item->key_len);
	if (!err)
		return hb_return_item(arg, item, false);
	if (err == -ERANGE && put_user(item->value_len, &arg->value_len))
		return -EFAULT;
	return err;
}

/*
 * A get that is no plain one, or whose key could not be copied in. One that is plain but that it
 * asks for a slot of the window is almost as cheap as a plain one.
 */
static noinline long get_with_modifiers(struct hb_file *file, struct hashbelt_item __user *arg)
{
	struct hashbelt_item item HB_UNINITIALIZED;
	u64 key[KEY_WORDS] HB_UNINITIALIZED;
	int err;

	if (hb_copy_get(&item, arg))
		return -EFAULT;
	if (!(item.how & HASHBELT_TO_WINDOW))
		return hb_call_item(file, arg, HASHBELT_OP_GET);
	item.how &= ~HASHBELT_TO_WINDOW;
	if (!hb_is_plain_get(&item, 0) || !read_key(key, &item))
		return hb_call_item(file, arg, HASHBELT_OP_GET);
	err = try_get_of_file(file, &item, key, true);
	if (likely(!err))
		return hb_return_item(arg, &item, false) ? -EFAULT : 0;
	if (err == -ENOENT)
		return err;
	item.how |= HASHBELT_TO_WINDOW;
	return finish_get(file, arg, &item, key);
}

/*
 * A get. get_with_modifiers() makes any but a plain one, and one whose key could not be copied in:
 * it copies the item in again. Nothing has been copied out then.
 */
long hb_call_get(struct hb_file *file, struct hashbelt_item __user *arg)
{
	/* The pointer is stored for finish_get(): registers are scarce here. */
	struct {
		u64 words[KEY_WORDS];
		u64 from;
	} key HB_UNINITIALIZED;
	struct hashbelt_item item HB_UNINITIALIZED;
	int err;

	if (hb_copy_get(&item, arg))
		return -EFAULT;
	if (unlikely(!hb_is_plain_get(&item, 0) || !read_key(key.words, &item)))
		return get_with_modifiers(file, arg);
	key.from = item.key;
	err = try_get_of_file(file, &item, key.words, false);
	if (likely(!err))
		return hb_return_item(arg, &item, false) ? -EFAULT : 0;
	if (err == -ENOENT)
		return err;
	/* A copy of the item: its own address is passed to no call, so it stays in registers. */
	return finish_get(file, arg, &(struct hashbelt_item){
		.key = key.from, .key_len = item.key_len, .how = item.how,
		.value = item.value, .value_len = item.value_len,
	}, key.words);
}
