// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls on locks, fill leases and requests. Each copies what it needs from user space once. A
 * call may sleep: the reference to its session, which run_call() holds, keeps the belt.
 */
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "belt/events/limbo.h"
#include "belt/ground/compat.h"
#include "belt/wait/client.h"
#include "belt/wait/fill.h"
#include "belt/wait/lease.h"
#include "belt/wait/lock.h"
#include "belt/wait/request.h"
#include "calls.h"
#include "item.h"
#include "user.h"

static int copy_key(void *to, u64 from, u32 key_len)
{
	return hb_check_key(key_len) ?: hb_copy_bytes(to, from, key_len);
}

static int check_wait(u64 wait_ms)
{
	u64 until = wait_ms & ~HASHBELT_WAIT_UNTIL;

	if (wait_ms == HASHBELT_TTL_NEVER)
		return 0;
	if (wait_ms & HASHBELT_WAIT_UNTIL)
		return until && until < HB_NEVER ? 0 : -EINVAL;
	return wait_ms > HASHBELT_TTL_MAX_MS ? -EINVAL : 0;
}

/* Whether two pieces of memory overlap. */
static bool overlap(u64 a, u64 a_size, u64 b, u64 b_size)
{
	return a - b < b_size || b - a < a_size;
}

/*
 * Return: true if what a call has read, @size bytes at @at, lies in its argument, which it returns.
 */
static bool is_in_argument(const struct hb_call *call, u64 at, u32 size)
{
	return overlap(at, size, (uintptr_t)call->user, _IOC_SIZE(call->cmd));
}

/*
 * A signal has ended a wait. If it runs no handler, because it stopped the task or the system froze
 * and thawed the task, the kernel makes the call again. The argument then has the belt time when
 * the first call would have ended: time for which the task was stopped counts. A restart block,
 * which nanosleep(2) has for this, would keep a pointer to code of the module, and no reference to
 * the module. -EINTR, where that call would read other names than this one has read.
 */
static noinline int restart(const struct hb_call *call, u64 key, u32 key_len, u64 owner,
			    u32 owner_len)
{
	return is_in_argument(call, key, key_len) || is_in_argument(call, owner, owner_len) ?
		-EINTR : -ERESTARTNOHAND;
}

/* Wipes the copy of a key if the belt does. */
static void wipe(struct hb_session *session, void *key, u32 key_len)
{
	if (hb_wipes(session->named->belt))
		memzero_explicit(key, min_t(u32, key_len, HASHBELT_KEY_MAX));
}

/* The client to which a call binds an entry; NULL: it binds none. */
static struct hb_client *client_for(struct hb_session *session, u32 how)
{
	return how & HASHBELT_BOUND ? hb_session_client(session) : NULL;
}

/* The part of @state that a result of hb_fill() stands for; 0: it is another error. */
static u32 state_of(int err)
{
	switch (err) {
	case 0:
		return HASHBELT_GRANTED;
	case -EBUSY:
		return HASHBELT_FILLING;
	case -EKEYREJECTED:
		return HASHBELT_FAILED;
	default:
		return 0;
	}
}

/* After a get of a value: asks for the fill lease if the value has less than @ahead_ms left. */
static int fill_ahead(struct hashbelt_belt *belt, struct hb_client *client,
		      const u64 *key, struct hashbelt_fill *fill)
{
	u64 left = fill->item.ttl_ms;

	if (left == HASHBELT_TTL_NEVER || left >= fill->ahead_ms)
		return 0;
	/* The lease lasts as long as the value, so no second task is asked. */
	fill->lease_ms = max(fill->lease_ms, left);
	fill->state |= state_of(hb_fill(belt, client, key, fill->item.key_len, fill, true));
	/* The get has succeeded in any case. */
	return 0;
}

/* Gets an old value in its grace time, if the caller accepts one. */
static int get_stale(struct hashbelt_belt *belt, const u64 *key, struct hashbelt_fill *fill)
{
	int err = -ENOENT;

	if (fill->how & HASHBELT_STALE)
		err = hb_get(belt, &fill->item, key, HB_GET_STALE);
	if (!err && !fill->item.ttl_ms)
		fill->state |= HASHBELT_STALE;
	return err;
}

/* After a miss. -EAGAIN: the key has a value now; -ENOENT: it has none, and @state says more. */
static int fill_miss(struct hashbelt_belt *belt, struct hb_client *client, const u64 *key,
		     struct hashbelt_fill *fill)
{
	u64 wait_ms = fill->wait_ms;
	int err, stale;

	if (fill->how & HASHBELT_STALE)
		fill->wait_ms = 0;
	err = hb_fill(belt, client, key, fill->item.key_len, fill, false);
	if (fill->how & HASHBELT_STALE)
		fill->wait_ms = wait_ms;
	if (!state_of(err))
		return err;
	stale = get_stale(belt, key, fill);
	/* The key was put meanwhile: no task fills it now. */
	if (!stale && !fill->state)
		return 0;
	if (err == -EBUSY && stale == -ENOENT && wait_ms && fill->how & HASHBELT_STALE) {
		err = hb_fill(belt, client, key, fill->item.key_len, fill, false);
		if (!state_of(err))
			return err;
	}
	fill->state |= state_of(err);
	return stale;
}

static int do_fill(struct hashbelt_belt *belt, struct hb_client *client, const u64 *key,
		   struct hashbelt_fill *fill)
{
	u32 size = fill->item.value_len;
	u64 ttl_ms = fill->item.ttl_ms;
	int err;

	do {
		fill->item.value_len = size;
		fill->item.ttl_ms = ttl_ms;
		err = hb_get(belt, &fill->item, key, HB_GET_ANY);
		if (!err && fill->ahead_ms)
			return fill_ahead(belt, client, key, fill);
		if (err == -ENOENT)
			err = fill_miss(belt, client, key, fill);
	} while (err == -EAGAIN && !signal_pending(current));
	return err == -EAGAIN ? -EINTR : err;
}

/* The ways in which its holder changes a fill lease: @how has one of these. */
#define CHANGES	(HASHBELT_GIVE_UP | HASHBELT_RENEW_LEASE | HASHBELT_FAIL)

static int check_fill(const struct hashbelt_fill *fill)
{
	u32 change = fill->how & CHANGES, how = change ?: HASHBELT_BOUND | HASHBELT_STALE;

	if (fill->how & ~how || change & (change - 1) || fill->item.op || fill->item.reserved ||
	    fill->item.how & ~(HASHBELT_AND_TOUCH | HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE) ||
	    memchr_inv(fill->reserved, 0, sizeof(fill->reserved)))
		return -EINVAL;
	return check_wait(fill->wait_ms);
}

static int change_fill(struct hashbelt_belt *belt, const u64 *key, const struct hashbelt_fill *fill)
{
	u32 key_len = fill->item.key_len;

	if (fill->how & HASHBELT_GIVE_UP)
		return hb_fill_give_up(belt, key, key_len, fill->token);
	if (fill->how & HASHBELT_RENEW_LEASE)
		return hb_fill_renew(belt, key, key_len, fill);
	return hb_fill_fail(belt, key, key_len, fill);
}

static int fill_or_change(struct hb_session *session, struct hashbelt_fill *fill)
{
	struct hashbelt_belt *belt = session->named->belt;
	struct hb_client *client = client_for(session, fill->how);
	u64 key[HASHBELT_KEY_MAX / sizeof(u64)];
	int err;

	if (IS_ERR(client))
		return PTR_ERR(client);
	err = copy_key(key, fill->item.key, fill->item.key_len);
	if (!err && fill->how & CHANGES)
		err = change_fill(belt, key, fill);
	else if (!err)
		err = do_fill(belt, client, key, fill);
	wipe(session, key, fill->item.key_len);
	return err;
}

int hb_call_fill(const struct hb_call *call, void *arg)
{
	struct hashbelt_fill *fill = arg;
	struct hashbelt_item item = fill->item;
	u64 lease_ms = fill->lease_ms, wait_ms = fill->wait_ms;
	int err = check_fill(fill);

	if (err)
		return err;
	fill->state = 0;
	/* It may wait several times, within one time. */
	if (wait_ms)
		fill->wait_ms = hb_wait_until(call->belt, wait_ms);
	err = fill_or_change(call->session, fill);
	fill->lease_ms = lease_ms;
	if (err != -EINTR) {
		fill->wait_ms = wait_ms;
		return err;
	}
	fill->item = item;
	/* A get may have copied a part of a value over the key. */
	if (overlap(item.key, item.key_len, item.value, item.value_len))
		return err;
	return restart(call, item.key, item.key_len, 0, 0);
}

/* The names in an ioctl on a lock. */
struct names {
	u64 key[HASHBELT_KEY_MAX / sizeof(u64)];
	u64 owner[HASHBELT_OWNER_MAX / sizeof(u64)];
};

/* Only HASHBELT_IOC_LOCK binds and waits. */
static int check_lock(const struct hashbelt_lock *lock, unsigned int cmd)
{
	u32 how = cmd == HASHBELT_IOC_LOCK ? HASHBELT_BOUND | HASHBELT_IF_ABSENT : 0;

	if (lock->how & ~how || lock->reserved32 ||
	    memchr_inv(lock->reserved, 0, sizeof(lock->reserved)))
		return -EINVAL;
	if (cmd == HASHBELT_IOC_LOCK)
		return check_wait(lock->wait_ms);
	return lock->wait_ms ? -EINVAL : 0;
}

static int copy_names(struct names *names, const struct hashbelt_lock *lock, unsigned int cmd)
{
	int err = 0;

	if (cmd != HASHBELT_IOC_RELEASE)
		err = copy_key(names->key, lock->key, lock->key_len);
	if (err || cmd == HASHBELT_IOC_HOLDER)
		return err;
	if (!lock->owner_len)
		return -EINVAL;
	if (lock->owner_len > HASHBELT_OWNER_MAX)
		return -E2BIG;
	return hb_copy_bytes(names->owner, lock->owner, lock->owner_len);
}

/* Return: the owner of a lock. */
static int query(struct hashbelt_belt *belt, struct names *names, struct hashbelt_lock *lock)
{
	u32 size = lock->owner_len;
	int err = hb_lock_query(belt, names->key, names->owner, lock);

	if (err)
		return err;
	if (lock->owner_len > size)
		return -ERANGE;
	if (copy_to_user(u64_to_user_ptr(lock->owner), names->owner, lock->owner_len))
		return -EFAULT;
	return 0;
}

static int do_lock(const struct hb_call *call, struct names *names, struct hashbelt_lock *lock)
{
	struct hashbelt_belt *belt = call->belt;
	struct hb_client *client;

	switch (call->cmd) {
	case HASHBELT_IOC_LOCK:
		client = client_for(call->session, lock->how);
		if (IS_ERR(client))
			return PTR_ERR(client);
		return hb_lock_acquire(belt, client, names->key, names->owner, lock);
	case HASHBELT_IOC_UNLOCK:
		return hb_lock_release(belt, names->key, names->owner, lock);
	case HASHBELT_IOC_RENEW:
		return hb_lock_renew(belt, names->key, names->owner, lock);
	case HASHBELT_IOC_HOLDER:
		return query(belt, names, lock);
	default:
		return hb_locks_release(belt, names->owner, lock);
	}
}

int hb_call_lock(const struct hb_call *call, void *arg)
{
	struct hashbelt_lock *lock = arg;
	struct names names;
	int err = check_lock(lock, call->cmd);

	if (err)
		return err;
	err = copy_names(&names, lock, call->cmd);
	if (!err)
		err = do_lock(call, &names, lock);
	wipe(call->session, names.key, sizeof(names.key));
	wipe(call->session, names.owner, sizeof(names.owner));
	if (err != -EINTR)
		return err;
	return restart(call, lock->key, lock->key_len, lock->owner, lock->owner_len);
}

/* @owner: of the locks to list, if @locks->owner_len is not 0. */
struct locks {
	struct hashbelt_locks *locks;
	u64 owner[HASHBELT_OWNER_MAX / sizeof(u64)];
};

static int list_locks(struct hashbelt_belt *belt, void *request, void *buffer, u32 *used)
{
	struct locks *locks = request;

	return hb_locks_list(belt, locks->owner, locks->locks, buffer, used);
}

int hb_call_locks(const struct hb_call *call, void *arg)
{
	struct hashbelt_locks *locks = arg;
	struct locks request = { .locks = locks };
	int err;

	if (locks->reserved)
		return -EINVAL;
	if (locks->size > HASHBELT_SCAN_MAX || locks->owner_len > HASHBELT_OWNER_MAX)
		return -E2BIG;
	err = hb_copy_bytes(request.owner, locks->owner, locks->owner_len) ?:
	      hb_call_list(call, locks->buffer, locks->size, &request, list_locks);
	wipe(call->session, request.owner, locks->owner_len);
	return err;
}

/* Copies the array of keys in, and checks their lengths. Return: their sum, or an error. */
static int copy_keys(const struct hashbelt_request *request, struct hashbelt_key *keys)
{
	int err, sum = 0;
	u32 i;

	if (copy_from_user(keys, u64_to_user_ptr(request->keys), request->count * sizeof(*keys)))
		return -EFAULT;
	for (i = 0; i < request->count; i++) {
		err = keys[i].count ? -EINVAL : hb_check_key(keys[i].key_len);
		if (err)
			return err;
		sum += keys[i].key_len;
	}
	return sum;
}

/* Copies the keys in without waiting for page faults. Return: false after a page fault. */
static bool fill_in_keys(struct hashbelt_entry *entry, const struct hashbelt_key *keys, u32 count)
{
	bool failed = false;
	u32 i, at = 0;

	pagefault_disable();
	for (i = 0; i < count && !failed; at += keys[i++].key_len)
		failed = copy_from_user(hb_request_key(entry, i, at, keys[i].key_len),
					u64_to_user_ptr(keys[i].key), keys[i].key_len);
	pagefault_enable();
	return !failed;
}

static bool fault_in_keys(const struct hashbelt_key *keys, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (fault_in_readable(u64_to_user_ptr(keys[i].key), keys[i].key_len))
			return false;
	return true;
}

/*
 * Return: a request with its keys, of @bytes in all; an error of hashbelt_entry_alloc(); -EFAULT;
 * -EINTR.
 */
static struct hashbelt_entry *read_request(const struct hb_call *call, struct hb_client *client,
					   const struct hashbelt_request *request,
					   const struct hashbelt_key *keys, u32 bytes)
{
	struct hashbelt_entry *entry;
	unsigned int faults;

	for (faults = 0; faults < HB_FAULTS_MAX; faults++) {
		entry = hb_request_alloc(call->belt, client, request->id, request->count,
					 bytes);
		if (IS_ERR(entry) || fill_in_keys(entry, keys, request->count))
			return entry;
		hashbelt_entry_put(call->belt, entry);
		if (!fault_in_keys(keys, request->count))
			break;
		if (fatal_signal_pending(current))
			return ERR_PTR(-EINTR);
		cond_resched();
	}
	return ERR_PTR(-EFAULT);
}

/* A request takes room in the belt, so it needs the right to write. */
int hb_call_request(const struct hb_call *call, void *arg)
{
	struct hashbelt_key keys[HASHBELT_REQUEST_KEYS];
	const struct hashbelt_request *request = arg;
	struct hashbelt_entry *entry;
	struct hb_client *client;
	int bytes;

	if (!request->count || request->flags ||
	    memchr_inv(request->reserved, 0, sizeof(request->reserved)))
		return -EINVAL;
	if (request->count > HASHBELT_REQUEST_KEYS)
		return -E2BIG;
	client = hb_session_client(call->session);
	if (IS_ERR(client))
		return PTR_ERR(client);
	bytes = copy_keys(request, keys);
	if (bytes < 0)
		return bytes;
	entry = read_request(call, client, request, keys, bytes);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	return hb_request_add(call->belt, entry, request->ttl_ms);
}

int hb_call_cancel(const struct hb_call *call, void *arg)
{
	struct hb_client *client = hb_session_client(call->session);
	const u64 *id = arg;

	if (IS_ERR(client))
		return PTR_ERR(client);
	return hb_request_cancel(call->belt, client, *id);
}

int hb_call_complete(const struct hb_call *call, void *arg)
{
	u64 bytes[HASHBELT_KEY_MAX / sizeof(u64)];
	struct hashbelt_key *key = arg;
	int err;

	if (key->count)
		return -EINVAL;
	err = copy_key(bytes, key->key, key->key_len);
	if (!err)
		key->count = hb_complete(call->belt, bytes, key->key_len);
	wipe(call->session, bytes, key->key_len);
	return err;
}
