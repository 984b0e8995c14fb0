// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls of locks, of filling and of requests: copies arguments in, checks them and
 * the caller's rights, calls the belt, copies results out. What user space passes is
 * copied once; nothing is read from it again after it was checked.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "buffer.h"
#include "hashbelt_core.h"
#include "item.h"
#include "registry.h"
#include "service.h"

/* Copies a key in. */
static int copy_key(void *to, u64 from, u32 key_len)
{
	int err = hb_check_key(key_len);

	if (!err && copy_from_user(to, u64_to_user_ptr(from), key_len))
		err = -EFAULT;
	return err;
}

static int check_wait(u64 wait_ms)
{
	return wait_ms > HASHBELT_TTL_MAX_MS && wait_ms != HASHBELT_TTL_NEVER ? -EINVAL : 0;
}

/*
 * A signal has ended a wait. If it runs no handler - it stopped the task, or the system froze
 * the task and has thawed it - the kernel makes the call again, with the time that is left.
 */
static int interrupted(u64 left_ms, u64 __user *wait_ms)
{
	return put_user(left_ms, wait_ms) ? -EINTR : -ERESTARTNOHAND;
}

/* No copy of what a belt wipes stays behind. */
static void wipe(struct hb_session *session, void *key, u32 key_len)
{
	if (hashbelt_wipes(session->named->belt))
		memzero_explicit(key, min_t(u32, key_len, HASHBELT_KEY_MAX));
}

/* The client of what a call is to bind to its descriptor, NULL for not. */
static struct hb_client *holder_for(struct hb_session *session, u32 how)
{
	return how & HASHBELT_BOUND ? hb_session_client(session) : NULL;
}

/* Filling */

/* What a get of a value gives; with a right to fill it early, where that is asked for. */
static int fill_ahead(struct hashbelt_belt *belt, struct hb_client *client,
		      const void *key, struct hashbelt_fill *fill)
{
	u64 left = fill->item.ttl_ms;
	int err;

	if (left == HASHBELT_TTL_NEVER || left >= fill->ahead_ms)
		return 0;
	/* Nobody else is asked while this life lasts. */
	fill->lease_ms = max(fill->lease_ms, left);
	err = hashbelt_fill(belt, client, key, fill->item.key_len, fill, true);
	if (!err)
		fill->state |= HASHBELT_GRANTED;
	else if (err == -EBUSY)
		fill->state |= HASHBELT_FILLING;
	/* There is a value, whatever has come of that. */
	return 0;
}

/* The old value, if one in its grace time will do. */
static int get_stale(struct hashbelt_belt *belt, const void *key, struct hashbelt_fill *fill)
{
	int err = -ENOENT;

	if (fill->how & HASHBELT_STALE)
		err = hb_get(belt, &fill->item, key, true);
	if (!err && !fill->item.ttl_ms)
		fill->state |= HASHBELT_STALE;
	return err;
}

/* A miss. -EAGAIN: there is a value now; -ENOENT: there is none, and @state says more. */
static int fill_miss(struct hashbelt_belt *belt, struct hb_client *client, const void *key,
		     struct hashbelt_fill *fill)
{
	u64 wait_ms = fill->wait_ms;
	int err, stale;

	if (fill->how & HASHBELT_STALE)
		fill->wait_ms = 0;
	err = hashbelt_fill(belt, client, key, fill->item.key_len, fill, false);
	if (fill->how & HASHBELT_STALE)
		fill->wait_ms = wait_ms;
	if (err && err != -EBUSY)
		return err;
	stale = get_stale(belt, key, fill);
	/* Somebody has put it meanwhile: nobody fills it now. */
	if (!stale && !fill->state)
		return 0;
	if (err && stale == -ENOENT && wait_ms && fill->how & HASHBELT_STALE) {
		err = hashbelt_fill(belt, client, key, fill->item.key_len, fill, false);
		if (err && err != -EBUSY)
			return err;
	}
	fill->state |= err ? HASHBELT_FILLING : HASHBELT_GRANTED;
	return stale;
}

static int do_fill(struct hashbelt_belt *belt, struct hb_client *client, const void *key,
		   struct hashbelt_fill *fill)
{
	u32 size = fill->item.value_len;
	u64 ttl_ms = fill->item.ttl_ms;
	int err;

	do {
		fill->item.value_len = size;
		fill->item.ttl_ms = ttl_ms;
		err = hb_get(belt, &fill->item, key, false);
		if (!err && fill->ahead_ms)
			return fill_ahead(belt, client, key, fill);
		if (err == -ENOENT)
			err = fill_miss(belt, client, key, fill);
	} while (err == -EAGAIN && !signal_pending(current));
	return err == -EAGAIN ? -EINTR : err;
}

static int check_fill(const struct hashbelt_fill *fill)
{
	u32 how = HASHBELT_BOUND | HASHBELT_STALE;

	if (fill->how & HASHBELT_GIVE_UP)
		how = HASHBELT_GIVE_UP;
	if (fill->how & ~how || fill->item.op || fill->item.reserved ||
	    fill->item.how & ~(HASHBELT_AND_TOUCH | HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE) ||
	    memchr_inv(fill->reserved, 0, sizeof(fill->reserved)))
		return -EINVAL;
	return check_wait(fill->wait_ms);
}

static int fill_or_give_up(struct hb_session *session, struct hashbelt_fill *fill)
{
	struct hashbelt_belt *belt = session->named->belt;
	struct hb_client *client = holder_for(session, fill->how);
	u64 key[HASHBELT_KEY_MAX / sizeof(u64)];
	int err;

	if (IS_ERR(client))
		return PTR_ERR(client);
	err = copy_key(key, fill->item.key, fill->item.key_len);
	if (!err && fill->how & HASHBELT_GIVE_UP)
		err = hashbelt_give_up(belt, key, fill->item.key_len, fill->token);
	else if (!err)
		err = do_fill(belt, client, key, fill);
	wipe(session, key, fill->item.key_len);
	return err;
}

/* Copies out what is returned, and nothing else. */
static int return_fill(struct hashbelt_fill __user *to, const struct hashbelt_fill *fill)
{
	if (copy_to_user(&to->item, &fill->item, sizeof(fill->item)) ||
	    put_user(fill->token, &to->token) || put_user(fill->state, &to->state))
		return -EFAULT;
	return 0;
}

/* A get, or the right to fill. */
long hb_ioctl_fill(struct hb_file *file, struct hashbelt_fill __user *arg)
{
	struct hashbelt_fill fill;
	struct hb_session *session;
	int err;

	if (copy_from_user(&fill, arg, sizeof(fill)))
		return -EFAULT;
	err = check_fill(&fill);
	if (err)
		return err;
	session = hb_session_get(file, HASHBELT_MAY_READ | HASHBELT_MAY_WRITE);
	if (IS_ERR(session))
		return PTR_ERR(session);
	fill.state = 0;
	err = fill_or_give_up(session, &fill);
	hb_session_put(session);
	if (err == -EINTR)
		return interrupted(fill.wait_ms, &arg->wait_ms);
	if ((!err || err == -ENOENT || err == -ERANGE) && return_fill(arg, &fill))
		return -EFAULT;
	return err;
}

/* Locks */

/**
 * struct names - what a call on a lock names
 * @key:	the lock
 * @owner:	its owner
 */
struct names {
	u64 key[HASHBELT_KEY_MAX / sizeof(u64)];
	u64 owner[HASHBELT_OWNER_MAX / sizeof(u64)];
};

/* What a call allows, and what it needs of the session. */
static int check_lock(const struct hashbelt_lock *lock, unsigned int cmd, u32 *needs)
{
	u32 how = cmd == HASHBELT_IOC_LOCK ? HASHBELT_BOUND | HASHBELT_IF_ABSENT : 0;

	*needs = cmd == HASHBELT_IOC_HOLDER ? HASHBELT_MAY_READ : HASHBELT_MAY_WRITE;
	if (lock->how & ~how || lock->reserved32 ||
	    memchr_inv(lock->reserved, 0, sizeof(lock->reserved)))
		return -EINVAL;
	if (cmd == HASHBELT_IOC_LOCK)
		return check_wait(lock->wait_ms);
	return lock->wait_ms ? -EINVAL : 0;
}

static int copy_names(struct names *names, const struct hashbelt_lock *lock,
		      unsigned int cmd)
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
	if (copy_from_user(names->owner, u64_to_user_ptr(lock->owner), lock->owner_len))
		err = -EFAULT;
	return err;
}

/* Says who has a lock. */
static int query(struct hashbelt_belt *belt, struct names *names, struct hashbelt_lock *lock)
{
	u32 size = lock->owner_len;
	int err = hashbelt_query(belt, names->key, names->owner, lock);

	if (err)
		return err;
	if (lock->owner_len > size)
		return -ERANGE;
	if (copy_to_user(u64_to_user_ptr(lock->owner), names->owner, lock->owner_len))
		return -EFAULT;
	return 0;
}

static int do_lock(struct hb_session *session, struct names *names, struct hashbelt_lock *lock,
		   unsigned int cmd)
{
	struct hashbelt_belt *belt = session->named->belt;
	struct hb_client *client;

	switch (cmd) {
	case HASHBELT_IOC_LOCK:
		client = holder_for(session, lock->how);
		if (IS_ERR(client))
			return PTR_ERR(client);
		return hashbelt_lock(belt, client, names->key, names->owner, lock);
	case HASHBELT_IOC_UNLOCK:
		return hashbelt_unlock(belt, names->key, names->owner, lock);
	case HASHBELT_IOC_RENEW:
		return hashbelt_renew(belt, names->key, names->owner, lock);
	case HASHBELT_IOC_HOLDER:
		return query(belt, names, lock);
	default:
		return hashbelt_release_owner(belt, names->owner, lock);
	}
}

/* One lock, or all of an owner. */
long hb_ioctl_lock(struct hb_file *file, unsigned int cmd,
		   struct hashbelt_lock __user *arg)
{
	struct hashbelt_lock lock;
	struct hb_session *session;
	struct names names;
	u32 needs;
	int err;

	if (copy_from_user(&lock, arg, sizeof(lock)))
		return -EFAULT;
	err = check_lock(&lock, cmd, &needs);
	if (err)
		return err;
	session = hb_session_get(file, needs);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = copy_names(&names, &lock, cmd);
	if (!err)
		err = do_lock(session, &names, &lock, cmd);
	wipe(session, names.key, sizeof(names.key));
	wipe(session, names.owner, sizeof(names.owner));
	hb_session_put(session);
	if (err == -EINTR)
		return interrupted(lock.wait_ms, &arg->wait_ms);
	if ((!err || err == -ERANGE) && copy_to_user(arg, &lock, sizeof(lock)))
		return -EFAULT;
	return err;
}

/* Lists them by way of a buffer of the kernel's. */
static long list_locks(struct hashbelt_belt *belt, const void *owner,
		       struct hashbelt_locks *locks)
{
	u32 size = max_t(u32, locks->size, 8), used;
	void *buffer = kvmalloc(size, HB_BUFFER_GFP);
	int err;

	if (!buffer)
		return -ENOMEM;
	err = hashbelt_locks(belt, owner, locks, buffer, &used);
	if (!err && copy_to_user(u64_to_user_ptr(locks->buffer), buffer, used))
		err = -EFAULT;
	hb_buffer_free(belt, buffer, size);
	return err;
}

static long do_locks(struct hb_session *session, struct hashbelt_locks *locks)
{
	u64 owner[HASHBELT_OWNER_MAX / sizeof(u64)];
	long err;

	if (copy_from_user(owner, u64_to_user_ptr(locks->owner), locks->owner_len))
		err = -EFAULT;
	else
		err = list_locks(session->named->belt, owner, locks);
	wipe(session, owner, locks->owner_len);
	return err;
}

/* Lists locks. */
long hb_ioctl_locks(struct hb_file *file, struct hashbelt_locks __user *arg)
{
	struct hashbelt_locks locks;
	struct hb_session *session;
	long err;

	if (copy_from_user(&locks, arg, sizeof(locks)))
		return -EFAULT;
	if (locks.reserved)
		return -EINVAL;
	if (locks.size > HASHBELT_SCAN_MAX || locks.owner_len > HASHBELT_OWNER_MAX)
		return -E2BIG;
	session = hb_session_get(file, HASHBELT_MAY_READ);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = do_locks(session, &locks);
	hb_session_put(session);
	if ((!err || err == -ERANGE) && copy_to_user(arg, &locks, sizeof(locks)))
		return -EFAULT;
	return err;
}

/* Requests */

/* Copies the array of keys in, and checks their lengths; their sum, or an error. */
static int copy_keys(const struct hashbelt_request *request, struct hashbelt_key *keys)
{
	int err, sum = 0;
	u32 i;

	if (copy_from_user(keys, u64_to_user_ptr(request->keys),
			   request->count * sizeof(*keys)))
		return -EFAULT;
	for (i = 0; i < request->count; i++) {
		err = keys[i].count ? -EINVAL : hb_check_key(keys[i].key_len);
		if (err)
			return err;
		sum += keys[i].key_len;
	}
	return sum;
}

static int fill_in_keys(struct hashbelt_entry *entry, const struct hashbelt_key *keys,
			u32 count)
{
	u32 i, at = 0;

	for (i = 0; i < count; at += keys[i++].key_len)
		if (copy_from_user(hashbelt_request_key(entry, i, at, keys[i].key_len),
				   u64_to_user_ptr(keys[i].key), keys[i].key_len))
			return -EFAULT;
	return 0;
}

static int do_request(struct hb_session *session, const struct hashbelt_request *request)
{
	struct hashbelt_key keys[HASHBELT_REQUEST_KEYS];
	struct hashbelt_belt *belt = session->named->belt;
	struct hb_client *client = hb_session_client(session);
	struct hashbelt_entry *entry;
	int bytes;

	if (IS_ERR(client))
		return PTR_ERR(client);
	bytes = copy_keys(request, keys);
	if (bytes < 0)
		return bytes;
	entry = hashbelt_request_alloc(belt, client, request->id, request->count, bytes);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	if (fill_in_keys(entry, keys, request->count)) {
		hashbelt_entry_put(belt, entry);
		return -EFAULT;
	}
	return hashbelt_request(belt, entry, request->ttl_ms);
}

/* Registers a request. */
long hb_ioctl_request(struct hb_file *file,
		      const struct hashbelt_request __user *arg)
{
	struct hashbelt_request request;
	struct hb_session *session;
	int err;

	if (copy_from_user(&request, arg, sizeof(request)))
		return -EFAULT;
	if (!request.count || request.flags ||
	    memchr_inv(request.reserved, 0, sizeof(request.reserved)))
		return -EINVAL;
	if (request.count > HASHBELT_REQUEST_KEYS)
		return -E2BIG;
	/* It takes room in the belt, and what evicts makes that of others' entries. */
	session = hb_session_get(file, HASHBELT_MAY_READ | HASHBELT_MAY_WRITE);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = do_request(session, &request);
	hb_session_put(session);
	return err;
}

/* Takes a request back. */
long hb_ioctl_cancel(struct hb_file *file, const u64 __user *arg)
{
	struct hb_session *session;
	struct hb_client *client;
	u64 id;
	int err;

	if (copy_from_user(&id, arg, sizeof(id)))
		return -EFAULT;
	session = hb_session_get(file, HASHBELT_MAY_READ);
	if (IS_ERR(session))
		return PTR_ERR(session);
	client = hb_session_client(session);
	err = PTR_ERR_OR_ZERO(client);
	if (!err)
		err = hashbelt_cancel(session->named->belt, client, id);
	hb_session_put(session);
	return err;
}

/* Completes what waits for a key. */
long hb_ioctl_complete(struct hb_file *file, struct hashbelt_key __user *arg)
{
	u64 bytes[HASHBELT_KEY_MAX / sizeof(u64)];
	struct hashbelt_key key;
	struct hb_session *session;
	int err;

	if (copy_from_user(&key, arg, sizeof(key)))
		return -EFAULT;
	if (key.count)
		return -EINVAL;
	session = hb_session_get(file, HASHBELT_MAY_WRITE);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = copy_key(bytes, key.key, key.key_len);
	if (!err)
		key.count = hashbelt_complete(session->named->belt, bytes, key.key_len);
	wipe(session, bytes, key.key_len);
	hb_session_put(session);
	if (!err && put_user(key.count, &arg->count))
		err = -EFAULT;
	return err;
}
