// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls on one key: each copies an item in, checks it and the caller's rights, calls the belt,
 * and copies the results out. Data of user space is copied once, and not read again after it was
 * checked. What an item reads may lie where it writes: nothing that it needs is read again once
 * something was copied out, however often the call begins anew.
 */
#include <linux/kcsan-checks.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "belt/compat.h"
#include "belt/add.h"
#include "belt/evict.h"
#include "belt/get.h"
#include "belt/key.h"
#include "belt/put.h"
#include "item.h"

/* Up to this length a value is copied out word by word. */
#define WORDS_MAX	4096

/* Copies out what an operation returns; @result: its result as well. */
static __always_inline int return_item(struct hashbelt_item __user *to,
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
static __always_inline int copy_words(void __user *to, const u8 *value, u32 size)
{
	const u8 *last = value + size - 8;
	void __user *end = to + size - 8;

	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) || size < 8) {
		unsafe_copy_to_user(to, value, size, fault);
		return 0;
	}
	/* Four words a turn: 37 instructions fewer for 64 bytes than one a turn. */
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
static __always_inline int copy_get(struct hashbelt_item *item,
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

/**
 * enum get_kind - what a get may do; constant where it is inlined
 * @GET_PLAIN:	neither touches nor returns old values; its item stays in registers
 * @GET_RUN:	likewise, of a batch, with page faults disabled
 * @GET_ANY:	may touch
 * @GET_STALE:	may touch, and return the value of an entry in its grace time
 */
enum get_kind { GET_PLAIN, GET_RUN, GET_ANY, GET_STALE };

/*
 * Copies a value out under RCU. -EFAULT: perhaps after a page fault. The value may begin at any
 * address, because it follows its key. If a put overwrites it meanwhile, the get begins anew.
 */
static __always_inline int copy_value(void __user *to, const u8 *value, u32 size,
				      const enum get_kind kind)
{
	int err = -EFAULT;

	kcsan_nestable_atomic_begin();
	if (kind != GET_RUN)
		pagefault_disable();
	if (unlikely(size > WORDS_MAX)) {
		if (!copy_to_user(to, value, size))
			err = 0;
	} else if (likely(user_write_access_begin(to, size))) {
		err = copy_words(to, value, size);
		user_write_access_end();
	}
	if (kind != GET_RUN)
		pagefault_enable();
	kcsan_nestable_atomic_end();
	return err;
}

int hb_check_key(u32 key_len)
{
	if (unlikely(!key_len))
		return -EINVAL;
	return likely(key_len <= HASHBELT_KEY_MAX) ? 0 : -E2BIG;
}

/* A value that was copied counts if the entry has not changed meanwhile. */
static __always_inline bool hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
				struct hashbelt_item *item, u64 now, struct hb_seen seen,
				const enum get_kind kind)
{
	if (kind == GET_STALE)
		return hb_hit_stale(belt, entry, item, now, seen);
	if (kind == GET_ANY)
		return hb_hit(belt, entry, item, now, seen);
	return hb_plain_hit(belt, entry, item, now, seen);
}

/*
 * A get has found @entry, or NULL, under RCU; @seen is for hb_hit(), and @gone for
 * hb_miss(). -EAGAIN: the entry changed meanwhile. -EFAULT: as copy_value(), for @len bytes.
 * -ERANGE: the value has @len bytes.
 */
static __always_inline int give(struct hashbelt_belt *belt, struct hashbelt_item *item,
				const u64 *key, struct hashbelt_entry *entry, u64 now,
				const enum get_kind kind, struct hb_seen seen, u32 gone, u32 *len)
{
	if (!entry) {
		if (kind != GET_STALE)
			hb_miss(belt, key, item->key_len, gone, item->how);
		return -ENOENT;
	}
	if (likely(!(item->how & HASHBELT_NO_VALUE))) {
		*len = entry->value_len;
		if (unlikely(*len > item->value_len))
			return -ERANGE;
		if (unlikely(copy_value(u64_to_user_ptr(item->value), hashbelt_entry_value(entry),
					*len, kind)))
			return -EFAULT;
	}
	return likely(hit(belt, entry, item, now, seen, kind)) ? 0 : -EAGAIN;
}

/* One try of a get, under RCU. Errors as give(). */
static __always_inline int try_get(struct hashbelt_belt *belt, struct hashbelt_item *item,
				   const u64 *key, u64 now, const enum get_kind kind, u32 *len)
{
	struct hashbelt_entry *entry;
	struct hb_seen seen HB_UNINITIALIZED;
	u32 gone = 0;

	entry = kind == GET_STALE ? hb_find_stale(belt, key, item->key_len, now, &seen) :
				    hb_find(belt, key, item->key_len, now, &seen, &gone);
	return give(belt, item, key, entry, now, kind, seen, gone, len);
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
 * A get has failed after a try that wrote to its buffer of @size bytes. The caller may use the key
 * again, for a put for instance: if it lies in that buffer, it is written there as it was read.
 */
static void put_key_back(const struct hashbelt_item *item, u32 size, const u64 *key)
{
	if (hb_overlap(item->key, item->key_len, item->value, size) &&
	    copy_to_user(u64_to_user_ptr(item->key), key, item->key_len))
		return;	/* Where it cannot be written, no try has overwritten it. */
}

/*
 * @key: the kernel's copy. A try that fails may have overwritten the key in user space, so no later
 * try reads that. @tried: a try before the call has failed.
 */
static __always_inline int get(struct hashbelt_belt *belt, struct hashbelt_item *item,
			       const u64 *key, const enum get_kind kind, bool tried)
{
	int err = hb_get_prepare(belt, key, item->key_len, item);
	unsigned int faults = 0;
	u32 size = item->value_len, len;

	if (unlikely(err))
		return err;
	for (;; tried = true) {
		rcu_read_lock();
		err = try_get(belt, item, key, hb_clock_now(&belt->clock), kind, &len);
		rcu_read_unlock();
		if (unlikely(err == -EAGAIN || err == -EFAULT)) {
			err = before_next_try(item, err, len, &faults);
			if (!err)
				continue;
			tried = true;
		}
		if (unlikely(err == -ERANGE))
			item->value_len = len;
		if (unlikely(err && tried))
			put_key_back(item, size, key);
		return err;
	}
}

/*
 * A get for other files; @stale: also of an entry in its grace time. @key: in words (belt/hash.h).
 */
int hb_get(struct hashbelt_belt *belt, struct hashbelt_item *item, const u64 *key, bool stale)
{
	return stale ? get(belt, item, key, GET_STALE, false) :
		       get(belt, item, key, GET_ANY, false);
}

/* Under user_read_access_begin(), as copy_words(). */
static __always_inline int read_words(u8 *to, const u8 __user *value, u32 size)
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

/*
 * Copies a value in. Word by word a value of 64 bytes takes 260 instructions fewer than with
 * copy_from_user(), which looks up whether the object is large enough: it was allocated for @size.
 */
static __always_inline int read_value(u8 *to, u64 from, u32 size)
{
	const u8 __user *value = u64_to_user_ptr(from);
	int err;

	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) ||
	    unlikely(size < 8 || size > WORDS_MAX))
		return copy_from_user(to, value, size) ? -EFAULT : 0;
	if (unlikely(!user_read_access_begin(value, size)))
		return -EFAULT;
	err = read_words(to, value, size);
	user_read_access_end();
	return err;
}

/* Copies key and value in, with page faults disabled. */
static __always_inline int copy_in(struct hashbelt_entry *entry, const struct hashbelt_item *item)
{
	return hb_copy_key(entry->data, item->key, item->key_len) ?:
	       read_value(hashbelt_entry_value(entry), item->value, item->value_len);
}

/* An entry with the key and value of an item. Errors as hashbelt_entry_alloc(); -EFAULT; -EINTR. */
static __always_inline struct hashbelt_entry *
read_entry(struct hashbelt_belt *belt, struct hb_client *client, const struct hashbelt_item *item)
{
	struct hashbelt_entry *entry;
	unsigned int faults;
	int err;

	for (faults = 0; faults < HB_FAULTS_MAX; faults++) {
		entry = hashbelt_entry_alloc(belt, client, item->key_len, item->value_len);
		if (IS_ERR(entry))
			return entry;
		pagefault_disable();
		err = copy_in(entry, item);
		pagefault_enable();
		if (likely(!err))
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

/* The conditions of a put. */
#define PUT_CONDITIONS	(HASHBELT_IF_ABSENT | HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION | \
			 HASHBELT_IF_LEASE)

/* Whether a put's conditions can hold together: an item has one version. */
static __always_inline bool is_put(const struct hashbelt_item *item)
{
	u32 how = item->how;

	if (likely(!(how & (HASHBELT_IF_ABSENT | HASHBELT_IF_LEASE))))
		return true;
	if (how & HASHBELT_IF_ABSENT && how & (HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION))
		return false;
	return !(how & HASHBELT_IF_LEASE) || !(how & HASHBELT_IF_VERSION);
}

/* Bytes of the entry of a plain put. */
static __always_inline size_t put_size(const struct hashbelt_item *item)
{
	return hb_span(HB_ENTRY, 0, item->key_len + item->value_len);
}

/* On a belt with HASHBELT_WIPE: a copy of the key and the value of @item is not needed any more. */
static __always_inline void wipe_copy(const struct hashbelt_belt *belt,
				      struct hashbelt_entry *copy, const struct hashbelt_item *item)
{
	if (unlikely(hb_wipes(belt)))
		memzero_explicit(copy->data, item->key_len + item->value_len);
}

/*
 * A put that allocates no memory: its value is copied into the entry that is there. Returns as
 * hb_put(), and HB_PUT_NEEDS_ENTRY also if the page of the key or of the value is not there. No
 * copy of them is left.
 */
static noinline int put_copy(struct hashbelt_belt *belt, struct hashbelt_item *item)
{
	u64 words[HB_FINE_MAX / sizeof(u64)] HB_UNINITIALIZED;
	struct hashbelt_entry *entry = (struct hashbelt_entry *)words;
	int outcome = HB_PUT_NEEDS_ENTRY, err;

	hb_entry_init(entry, HB_ENTRY, 0, item->key_len, item->value_len);
	pagefault_disable();
	err = copy_in(entry, item);
	pagefault_enable();
	if (likely(!err)) {
		entry->flags = item->flags;
		hb_entry_hash(belt, entry);
		outcome = hb_put(belt, entry, item, HB_PUT_COPY);
	}
	wipe_copy(belt, entry, item);
	return outcome;
}

/* A put with an entry of its own, which it may not need. Returns as hb_put(). */
static __always_inline int put_entry(struct hashbelt_belt *belt, struct hb_client *client,
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

	if (!is_put(item))
		return -EINVAL;
	if (item->value_len > HASHBELT_VALUE_MAX)
		return -EMSGSIZE;
	if (unlikely(item->how & HASHBELT_BOUND))
		client = hb_session_client(session);
	if (IS_ERR(client))
		return PTR_ERR(client);
	if (copies && likely(!client && put_size(item) <= HB_FINE_MAX))
		outcome = put_copy(belt, item);
	if (outcome == HB_PUT_NEEDS_ENTRY) {
		outcome = put_entry(belt, client, item);
		if (found_entry(outcome) != copies)
			WRITE_ONCE(session->copies, !copies);
	}
	return min(outcome, 0);
}

/* An addition: @value of the item points to a struct hashbelt_sum. */
static int add(struct hashbelt_belt *belt, struct hashbelt_item *item, const void *key)
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

/* Checks what an operation allows in @how, and which rights it needs. */
static int check_item(const struct hb_session *session, const struct hashbelt_item *item, u32 op)
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
		/* The sum tells the previous value. */
		needs |= HASHBELT_MAY_READ;
		break;
	case HASHBELT_OP_PUT:
		how = PUT_CONDITIONS | HASHBELT_BOUND;
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
	if (unlikely((session->access & needs) != needs))
		return hb_session_deny(session, needs);
	return hb_check_key(item->key_len);
}

static __always_inline int do_key(struct hashbelt_belt *belt, struct hashbelt_item *item,
				  u32 op, const u64 *key)
{
	switch (op) {
	case HASHBELT_OP_GET:
		return hb_get(belt, item, key, false);
	case HASHBELT_OP_TOUCH:
		return hb_touch(belt, key, item->key_len, item);
	case HASHBELT_OP_REMOVE:
		return hb_remove(belt, key, item->key_len, item);
	case HASHBELT_OP_ADD:
		return add(belt, item, key);
	default:
		return hb_expire_key(belt, key, item->key_len);
	}
}

/* A key in words. */
#define KEY_WORDS	(HASHBELT_KEY_MAX / sizeof(u64))

static noinline int do_item(struct hb_session *session, struct hashbelt_item *item, u32 op)
{
	struct hashbelt_belt *belt = session->named->belt;
	u64 key[KEY_WORDS] HB_UNINITIALIZED;
	int err = check_item(session, item, op);
	u32 flags;

	if (unlikely(err))
		return err;
	if (op == HASHBELT_OP_PUT)
		return put(session, item);
	flags = item->flags;
	err = hb_copy_key(key, item->key, item->key_len);
	if (likely(!err))
		err = do_key(belt, item, op, key);
	/*
	 * A caller without the right to read does not learn the flags of others' entries by a
	 * touch.
	 */
	if (unlikely(op == HASHBELT_OP_TOUCH && !(session->access & HASHBELT_MAY_READ)))
		item->flags = flags;
	/* No copy of a key is left on the stack, not even a part of one. */
	if (unlikely(hb_wipes(belt)))
		memzero_explicit(key, item->key_len);
	return err;
}

/* The result of a try of a get that needs no other try. */
static __always_inline bool is_done(int err)
{
	return likely(!err) || err == -ENOENT;
}

/* After these results the item is copied out. */
static bool returns_item(int err)
{
	return likely(!err) || err == -ERANGE || err == -EEXIST || err == -ESTALE;
}

/* Nothing about the item is wrong, its op is @op, and the get need not sleep. */
static __always_inline bool is_plain_get(const struct hashbelt_item *item, const u32 op)
{
	u64 wrong = item->how & ~(HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE);

	/* One branch for three words. */
	wrong |= item->op ^ op;
	wrong |= item->reserved;
	return !wrong && item->key_len - 1 < HASHBELT_KEY_MAX;
}

/* Copies the key of a get in. False, after a page fault for instance: no part of it is left. */
static __always_inline bool get_key(u64 *key, const struct hashbelt_item *item)
{
	if (likely(!hb_copy_key(key, item->key, item->key_len)))
		return true;
	memzero_explicit(key, item->key_len);
	return false;
}

/*
 * One try of a plain get, under RCU. After errors but -ENOENT get_again() goes on with @key, which
 * is not needed after other results: then no copy of it is left.
 */
static __always_inline int get_plain(const struct hb_session *session, struct hashbelt_item *item,
				     u64 *key)
{
	struct hashbelt_belt *belt = session->named->belt;
	int err = -EAGAIN;
	u32 len;

	if (likely(session->access & HASHBELT_MAY_READ && !READ_ONCE(belt->dead)))
		err = try_get(belt, item, key, hb_clock_now(&belt->clock), GET_PLAIN, &len);
	if (unlikely(READ_ONCE(belt->policy) & HASHBELT_WIPE) && is_done(err))
		memzero_explicit(key, item->key_len);
	return err;
}

/*
 * The frame of PUT to ADD. Through run_call(), which returns the whole argument, each operation
 * takes 80 instructions more.
 */
long hb_call_item(struct hb_file *file, struct hashbelt_item __user *arg, u32 op)
{
	struct hashbelt_item item HB_UNINITIALIZED;
	struct hb_session *session;
	int err;

	if (unlikely(hb_copy_words(&item, arg, sizeof(item))))
		return -EFAULT;
	if (unlikely(item.op))
		return -EINVAL;
	session = hb_session_get(file, 0);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = do_item(session, &item, op);
	hb_session_put(session);
	if (returns_item(err) && unlikely(return_item(arg, &item, false)))
		return -EFAULT;
	return err;
}

/*
 * Finds the session and its belt under RCU, without a reference: those of gets would be the only
 * words that threads write which share a descriptor. RCU keeps the belt as well, see
 * hb_destroy().
 */
static __always_inline int get_under_rcu(struct hb_file *file, struct hashbelt_item *item, u64 *key)
{
	const struct hb_session *session;
	int err = -EAGAIN;

	rcu_read_lock();
	session = rcu_dereference(file->session);
	if (likely(session))
		err = get_plain(session, item, key);
	rcu_read_unlock();
	return err;
}

/*
 * Goes on with a plain get whose first try has failed, and returns all errors. That try may have
 * written the value over the key, and over the item: of both, the copies are used that it had.
 */
static noinline long get_again(struct hb_file *file, struct hashbelt_item __user *arg,
			       struct hashbelt_item *item, u64 *key)
{
	struct hb_session *session = hb_session_get(file, HASHBELT_MAY_READ);
	int err = PTR_ERR_OR_ZERO(session);

	if (!err) {
		err = get(session->named->belt, item, key, GET_PLAIN, true);
		hb_session_put(session);
	}
	/* For a belt with HASHBELT_WIPE, perhaps the one to which the file was bound before. */
	memzero_explicit(key, item->key_len);
	if (!err)
		return return_item(arg, item, false);
	if (err == -ERANGE && put_user(item->value_len, &arg->value_len))
		return -EFAULT;
	return err;
}

/*
 * A get. Any but a plain one is made by hb_call_item(), which copies the item in again. So is one
 * whose key could not be copied in. Nothing has been copied out then.
 */
long hb_call_get(struct hb_file *file, struct hashbelt_item __user *arg)
{
	/* The pointer is stored for get_again(): kept in a register, it costs 5 instructions. */
	struct {
		u64 words[KEY_WORDS];
		u64 from;
	} key HB_UNINITIALIZED;
	struct hashbelt_item item HB_UNINITIALIZED;
	int err;

	if (unlikely(copy_get(&item, arg)))
		return -EFAULT;
	if (unlikely(!is_plain_get(&item, 0) || !get_key(key.words, &item)))
		return hb_call_item(file, arg, HASHBELT_OP_GET);
	key.from = item.key;
	err = get_under_rcu(file, &item, key.words);
	if (likely(!err))
		return unlikely(return_item(arg, &item, false)) ? -EFAULT : 0;
	if (likely(err == -ENOENT))
		return err;
	/* A copy of the item: its own address is passed to no call, so it stays in registers. */
	return get_again(file, arg, &(struct hashbelt_item){
		.key = key.from, .key_len = item.key_len, .how = item.how,
		.value = item.value, .value_len = item.value_len,
	}, key.words);
}

/* Copies out what an item of a batch returns: where there is no entry, the result alone. */
static __always_inline int return_result(struct hashbelt_item __user *to,
					 const struct hashbelt_item *item)
{
	return likely(item->result != -ENOENT) ? return_item(to, item, true) :
						 put_user(item->result, &to->result);
}

/* As return_result(), but of a get that has failed only what it returns: the rest was not read. */
static int return_got(struct hashbelt_item __user *to, const struct hashbelt_item *item)
{
	if (!item->result || item->op != HASHBELT_OP_GET)
		return return_result(to, item);
	if (item->result == -ERANGE && put_user(item->value_len, &to->value_len))
		return -EFAULT;
	return put_user(item->result, &to->result);
}

/* Gets or puts of a batch that are made in one go, and the words that the keys of gets may take. */
#define RUN_MAX		HB_BUNDLE
#define RUN_WORDS	64

/**
 * struct get - a get of a run
 * @key:	where its key is in user space
 * @chain:	that of the key in the index's table
 * @value:	where its value is to be copied to
 * @value_len:	of the item
 * @how:	of the item
 * @hash:	of the key
 * @key_len:	of the item
 * @at:		where the key begins in the words of the run
 */
struct get {
	u64 key;
	struct hlist_head *chain;
	u64 value;
	u32 value_len;
	u32 how;
	u32 hash;
	u16 key_len;
	u16 at;
};

/**
 * struct gets - the plain gets with which the rest of a batch begins
 * @gets:	the gets
 * @words:	their keys, in words
 */
struct gets {
	struct get gets[RUN_MAX];
	u64 words[RUN_WORDS];
};

/* The user memory from @first on, up to @end. */
struct extent {
	u64 first;
	u64 end;
};

#define NO_EXTENT	((struct extent){ .first = ~0ULL })

static __always_inline void extend(struct extent *extent, u64 at, u32 size)
{
	extent->first = min(extent->first, at);
	extent->end = max(extent->end, at + size);
}

static __always_inline bool are_apart(const struct extent *a, const struct extent *b)
{
	return a->end <= b->first || b->end <= a->first;
}

/* Whether one of the first @count gets of a run may write to @size bytes at @at. */
static bool is_written(const struct gets *run, u32 count, const struct extent *values, u64 at,
		       u32 size)
{
	const struct get *get;

	if (are_apart(values, &(struct extent){ at, at + size }))
		return false;
	for (get = run->gets; count--; get++)
		if (!(get->how & HASHBELT_NO_VALUE) &&
		    hb_overlap(at, size, get->value, get->value_len))
			return true;
	return false;
}

/*
 * Returns the number of gets with which a run begins whose items and keys may be read before one of
 * them is made: those up to the first whose item or key lies where an earlier one writes.
 */
static noinline u32 count_apart(const struct gets *run, u64 items, u32 count)
{
	struct extent values = NO_EXTENT;
	u64 at = items;
	u32 n;

	for (n = 0; n < count; n++, at += sizeof(struct hashbelt_item)) {
		const struct get *get = &run->gets[n];

		if (n && (hb_overlap(get->key, get->key_len, items, at - items) ||
			  is_written(run, n, &values, get->key, get->key_len) ||
			  is_written(run, n, &values, at, sizeof(struct hashbelt_item))))
			break;
		if (!(get->how & HASHBELT_NO_VALUE))
			extend(&values, get->value, get->value_len);
	}
	return n;
}

/*
 * Copies in the plain gets with which @items begins, @count at most, whose keys have room in a run.
 * Returns the number of those whose items and keys may be read before one of them is made; @keys:
 * returned: the extent of these keys.
 */
static __always_inline u32 read_gets(struct gets *run, const struct hashbelt_item __user *items,
				     u32 count, struct extent *keys)
{
	struct extent values = NO_EXTENT, all;
	struct get *get = run->gets;
	struct hashbelt_item item;
	u32 n = 0, at = 0;
	u64 bits = 0;

	if (!user_read_access_begin(items, count * sizeof(*items)))
		return 0;
	/* By pointers: a check of an index would be a call, which is not allowed here. */
	for (; n < count; n++, get++) {
		unsafe_get_user(item.op, &items[n].op, end);
		unsafe_get_user(item.how, &items[n].how, end);
		unsafe_get_user(item.reserved, &items[n].reserved, end);
		unsafe_get_user(item.key_len, &items[n].key_len, end);
		if (!is_plain_get(&item, HASHBELT_OP_GET))
			break;
		get->key_len = item.key_len;
		get->how = item.how;
		get->at = at;
		at += DIV_ROUND_UP(item.key_len, sizeof(u64));
		if (unlikely(at > RUN_WORDS))
			break;
		unsafe_get_user(item.key, &items[n].key, end);
		unsafe_get_user(item.value, &items[n].value, end);
		unsafe_get_user(item.value_len, &items[n].value_len, end);
		get->key = item.key;
		get->value = item.value;
		get->value_len = item.value_len;
		bits |= item.key;
		extend(keys, item.key, item.key_len);
		extend(&values, item.value, item.value_len);
	}
end:
	user_read_access_end();
	/* The end of a key may be beyond the last address: then @keys would not contain it. */
	if (unlikely((s64)bits < 0))
		return 0;
	all = (struct extent){ (uintptr_t)items, (uintptr_t)&items[n] };
	if (unlikely(!are_apart(keys, &values) || !are_apart(keys, &all) ||
		     !are_apart(&values, &all)))
		n = count_apart(run, all.first, n);
	return n;
}

/*
 * Copies the keys of gets in, which lie in the extent @keys. Returns the number of the gets up to
 * the first whose key cannot be copied.
 */
static __always_inline u32 read_keys(struct gets *run, u32 count, const struct extent *keys)
{
	struct get *get = run->gets;
	u32 n;

	if (!user_read_access_begin(u64_to_user_ptr(keys->first), keys->end - keys->first))
		return 0;
	/* By pointers, as in read_gets(). */
	for (n = 0; n < count; n++, get++)
		if (unlikely(hb_read_key((u8 *)(run->words + get->at), get->key, get->key_len)))
			break;
	user_read_access_end();
	return n;
}

/* Hashes the keys of gets, and begins to load what these will look at. */
static __always_inline void find_chains(struct hashbelt_belt *belt, struct hb_table *table,
					struct gets *run, u32 count)
{
	struct get *get;
	u32 n;

	for (n = 0; n < count; n++) {
		get = &run->gets[n];
		get->hash = hb_hash_words(belt, run->words + get->at, get->key_len);
		get->chain = hb_chain(table, get->hash);
		prefetch(get->chain);
	}
	for (n = 0; n < count; n++)
		hb_chain_prefetch(run->gets[n].chain);
}

/* A get of a run. Its result, or an error of give(). */
static __always_inline int make_get(struct hashbelt_belt *belt, struct hb_table *table,
				    const struct gets *run, const struct get *get,
				    struct hashbelt_item *item, u64 now)
{
	const u64 *key = run->words + get->at;
	/* That the other bits are 0 saves their comparison: 6 instructions. */
	u32 hash = get->hash & HB_HASH;
	struct hashbelt_entry *entry;
	struct hb_seen seen HB_UNINITIALIZED;
	u32 gone = 0, len;

	item->key_len = get->key_len;
	item->how = get->how;
	item->value = get->value;
	item->value_len = get->value_len;
	entry = hb_table_walk(table, get->chain, hash, key, get->key_len, true, false);
	entry = hb_find_in(belt, hash, entry, now, &seen, &gone);
	return give(belt, item, key, entry, now, GET_RUN, seen, gone, &len);
}

/*
 * Makes the gets of a run, at one belt time. Returns their number up to one that has to be tried
 * again, or whose result cannot be copied out: then that is in @got, and @made is set.
 */
static __always_inline u32 make_gets(struct hashbelt_belt *belt, struct hb_table *table,
				     struct gets *run, u32 count,
				     struct hashbelt_item __user *items,
				     struct hashbelt_item *got, bool *made)
{
	u64 now = hb_clock_now(&belt->clock);
	struct hashbelt_item item HB_UNINITIALIZED;
	u32 done;

	for (done = 0; done < count; done++) {
		item.result = make_get(belt, table, run, &run->gets[done], &item, now);
		if (unlikely(!is_done(item.result) || return_result(&items[done], &item))) {
			*got = item;
			got->op = HASHBELT_OP_GET;
			*made = true;
			break;
		}
		/* A run ends with a long value: the task does not reschedule in a run. */
		if (unlikely(item.value_len > WORDS_MAX && !item.result))
			return done + 1;
	}
	return done;
}

/*
 * Goes on with a get of a run whose first try has failed, as get_again(). @got: returned: what is
 * to be copied out.
 */
static noinline void get_run_again(struct hashbelt_belt *belt, const struct gets *run, u32 n,
				   struct hashbelt_item *got)
{
	const struct get *from = &run->gets[n];

	*got = (struct hashbelt_item){
		.op = HASHBELT_OP_GET, .how = from->how, .key = from->key,
		.key_len = from->key_len, .value = from->value, .value_len = from->value_len,
	};
	got->result = get(belt, got, run->words + from->at, GET_PLAIN, true);
}

/*
 * Makes the plain gets with which @items begins, RUN_MAX at most, in one RCU read-side section and
 * without page faults. Returns their number. If @made, there is one more, whose result has not been
 * copied out, and is in @got.
 *
 * Items and keys are read before the gets are made, where that makes no difference (count_apart()).
 *
 * A step of all gets is made before the next step: they wait together for what is not in the
 * processor's caches, and not one after the other.
 */
static u32 get_run(const struct hb_session *session, struct hashbelt_item __user *items, u32 count,
		   struct hashbelt_item *got, bool *made)
{
	struct hashbelt_belt *belt = session->named->belt;
	struct extent keys = NO_EXTENT;
	struct gets run HB_UNINITIALIZED;
	struct hb_table *table;
	u32 done;

	if (unlikely(!(session->access & HASHBELT_MAY_READ)))
		return 0;
	rcu_read_lock();
	pagefault_disable();
	table = rcu_dereference(belt->index.table);
	count = read_gets(&run, items, min_t(u32, count, RUN_MAX), &keys);
	count = read_keys(&run, count, &keys);
	find_chains(belt, table, &run, count);
	done = make_gets(belt, table, &run, count, items, got, made);
	pagefault_enable();
	rcu_read_unlock();
	if (unlikely(*made && !is_done(got->result)))
		get_run_again(belt, &run, done, got);
	if (unlikely(hb_wipes(belt)))
		memzero_explicit(run.words, sizeof(run.words));
	return done;
}

/**
 * struct puts - the plain puts with which the rest of a batch begins, of one size class
 * @stock:	objects for their entries
 * @entries:	the entries
 * @items:	the items
 */
struct puts {
	struct hb_bundle stock;
	struct hashbelt_entry *entries[RUN_MAX];
	struct hashbelt_item items[RUN_MAX];
};

/* Nothing about the item is wrong, and its entry is in no list of a client. */
static __always_inline bool is_plain_put(const struct hashbelt_item *item)
{
	return item->op == HASHBELT_OP_PUT && !(item->how & ~PUT_CONDITIONS) && is_put(item) &&
	       !item->reserved && item->key_len - 1 < HASHBELT_KEY_MAX &&
	       item->value_len <= HB_FINE_MAX;
}

/* Under user_read_access_begin(). */
static __always_inline int read_item(struct hashbelt_item *item,
				     const struct hashbelt_item __user *from)
{
	unsigned int i;

#ifndef __clang__
	#pragma GCC unroll 8
#endif
	for (i = 0; i < sizeof(*item) / sizeof(u64); i++)
		unsafe_get_user(((u64 *)item)[i], (const u64 __user *)from + i, fault);
	return 0;
fault:
	return -EFAULT;
}

/*
 * Returns the number of puts with which a run begins whose keys and values may be read before one
 * of them is made: those up to the first whose key or value lies in an earlier item.
 */
static noinline u32 count_puts_apart(const struct puts *run, u64 items, u32 count)
{
	const struct hashbelt_item *item = run->items;
	u64 end = items;
	u32 n;

	for (n = 0; n < count; n++, item++, end += sizeof(*item))
		if (n && (hb_overlap(item->key, item->key_len, items, end - items) ||
			  hb_overlap(item->value, item->value_len, items, end - items)))
			break;
	return n;
}

/*
 * Copies in the plain puts with which @items begins, @count at most. Returns the number of those
 * whose keys and values may be read before one of them is made.
 */
static __always_inline u32 read_puts(struct puts *run, const struct hashbelt_item __user *items,
				     u32 count)
{
	/* No part that begins elsewhere overlaps the items: entries of one class are small. */
	u64 near = (uintptr_t)items - HB_FINE_MAX;
	u64 near_size = count * sizeof(*items) + HB_FINE_MAX;
	struct hashbelt_item *item = run->items;
	bool is_near = false;
	u32 n;

	if (!user_read_access_begin(items, count * sizeof(*items)))
		return 0;
	/* By pointers, as in read_gets(). */
	for (n = 0; n < count; n++, item++) {
		if (unlikely(read_item(item, &items[n])) || !is_plain_put(item) ||
		    !hb_is_one_class(put_size(item), put_size(run->items)))
			break;
		if (unlikely(item->key - near < near_size || item->value - near < near_size))
			is_near = true;
	}
	user_read_access_end();
	return unlikely(is_near) ? count_puts_apart(run, (uintptr_t)items, n) : n;
}

/*
 * Makes the entries of puts. Returns the number of those up to the first whose key or value
 * cannot be copied.
 */
static __always_inline u32 read_entries(struct hashbelt_belt *belt, struct puts *run, u32 count)
{
	const struct hashbelt_item *item;
	struct hashbelt_entry *entry;
	u32 n;

	for (n = 0; n < count; n++) {
		item = &run->items[n];
		entry = hb_entry_take(&run->stock, item->key_len, item->value_len);
		if (unlikely(!entry))
			break;
		if (unlikely(copy_in(entry, item))) {
			hashbelt_entry_put(belt, entry);
			break;
		}
		entry->flags = item->flags;
		run->entries[n] = entry;
	}
	return n;
}

/* Hashes the keys of puts, and begins to load what these will look at. */
static __always_inline void look_ahead(struct hashbelt_belt *belt, struct puts *run, u32 count)
{
	struct hashbelt_entry *entry;
	struct hb_table *table;
	u32 n;

	rcu_read_lock();
	table = rcu_dereference(belt->index.table);
	for (n = 0; n < count; n++) {
		entry = run->entries[n];
		hb_entry_hash(belt, entry);
		prefetch(hb_chain(table, entry->hash));
	}
	for (n = 0; n < count; n++)
		hb_chain_prefetch(hb_chain(table, run->entries[n]->hash));
	rcu_read_unlock();
}

/* Makes the puts of a run. Returns as make_gets(). Entries that are not needed become stock. */
static __always_inline u32 make_puts(struct hashbelt_belt *belt, struct puts *run, u32 count,
				     struct hashbelt_item __user *items,
				     struct hashbelt_item *got, bool *made)
{
	struct hashbelt_entry *entry;
	struct hashbelt_item *item;
	int outcome, err;
	u32 done;

	for (done = 0; done < count; done++) {
		item = &run->items[done];
		entry = run->entries[done];
		outcome = hb_put(belt, entry, item, HB_PUT_ENTRY);
		if (likely(outcome == HB_PUT_COPIED)) {
			wipe_copy(belt, entry, item);
			hb_bundle_give_back(&run->stock, entry, put_size(item));
		}
		item->result = min(outcome, 0);
		pagefault_disable();
		err = return_result(&items[done], item);
		pagefault_enable();
		if (unlikely(err)) {
			*got = *item;
			*made = true;
			break;
		}
		cond_resched();
	}
	return done;
}

/*
 * Makes the plain puts with which @items begins, RUN_MAX at most, whose entries are of one size
 * class. Their memory is allocated together. As for gets, a step of all puts is made before the
 * next step. Returns as get_run().
 */
static __always_inline u32 put_some(struct hashbelt_belt *belt, struct puts *run,
				    struct hashbelt_item __user *items, u32 count,
				    struct hashbelt_item *got, bool *made)
{
	u32 n, done;

	pagefault_disable();
	count = read_puts(run, items, min_t(u32, count, RUN_MAX));
	pagefault_enable();
	if (count < 2)
		return 0;
	hb_bundle_fill(&run->stock, put_size(run->items), count);
	pagefault_disable();
	count = read_entries(belt, run, count);
	pagefault_enable();
	look_ahead(belt, run, count);
	done = make_puts(belt, run, count, items, got, made);
	for (n = done + *made; n < count; n++)
		hashbelt_entry_put(belt, run->entries[n]);
	return done;
}

/*
 * Makes the plain puts with which @items begins, as long as they are many. The entries that one run
 * does not need serve the next run. Neither an entry nor memory for one is held while the task
 * waits for a page fault. Returns as get_run().
 */
static u32 put_run(const struct hb_session *session, struct hashbelt_item __user *items, u32 count,
		   struct hashbelt_item *got, bool *made)
{
	struct hashbelt_belt *belt = session->named->belt;
	struct puts run HB_UNINITIALIZED;
	u32 done = 0, n;

	if (unlikely(!(session->access & HASHBELT_MAY_WRITE)))
		return 0;
	hb_bundle_init(&run.stock, belt->account);
	do {
		n = put_some(belt, &run, items + done, count - done, got, made);
		done += n;
	} while (n == RUN_MAX && done < count && !signal_pending(current));
	hb_bundle_free(&run.stock);
	return done;
}

/* Makes one item of a batch. -EFAULT: it cannot be read, or written to. */
static int do_one(struct hb_session *session, struct hashbelt_item __user *at)
{
	struct hashbelt_item item HB_UNINITIALIZED;

	if (hb_copy_words(&item, at, sizeof(item)))
		return -EFAULT;
	item.result = do_item(session, &item, item.op);
	return return_item(at, &item, true);
}

/*
 * Makes the items of a batch, until one cannot be copied or a signal is there. Returns the number
 * of items that were made.
 */
static u32 do_items(struct hb_session *session, struct hashbelt_item __user *items, u32 count)
{
	struct hashbelt_item got;
	u32 done = 0, run, op;
	bool made;

	while (done < count && !signal_pending(current) && !get_user(op, &items[done].op)) {
		made = false;
		run = 0;
		if (op == HASHBELT_OP_GET)
			run = get_run(session, &items[done], count - done, &got, &made);
		else if (op == HASHBELT_OP_PUT)
			run = put_run(session, &items[done], count - done, &got, &made);
		done += run;
		if (made || !run) {
			if (made ? return_got(&items[done], &got) :
				   do_one(session, &items[done]))
				break;
			done++;
		}
		cond_resched();
	}
	return done;
}

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
