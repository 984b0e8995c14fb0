// SPDX-License-Identifier: GPL-2.0-only
/* Locks of this machine: in a belt. */
#include <errno.h>
#include <string.h>

#include "duration.h"
#include "lock.h"

/*
 * The belt LOCK_BELT, where we make it: the longest lease, and buckets for intervals of
 * a minute, within which the memory of a lock that was not unlocked comes back.
 */
#define LONGEST_MS	(24 * 60 * 60 * 1000ULL)
#define BUCKETS		(24 * 60 + 1)

static void fill_held(struct lock_held *held, const struct hashbelt_lock *lock)
{
	held->ttl_ms = lock->ttl_ms;
	held->held_ms = lock->held_ms;
	held->token = lock->token;
}

static int device_holder(struct lock_place *place, const struct key *name,
			 struct lock_held *held)
{
	struct hashbelt_lock lock;
	int err;

	held->owner_len = sizeof(held->owner);
	err = hashbelt_holder(place->request->handle, name->bytes, name->len, held->owner,
			      &held->owner_len, &lock);
	if (!err)
		fill_held(held, &lock);
	return err;
}

/* Takes the lock, with that lease. */
static int lock_once(struct lock_place *place, const struct lock_ask *ask, __u64 ttl_ms,
		     struct hashbelt_lock *lock)
{
	/* A call that does not wait cannot be interrupted. */
	struct signals *signals = ask->wait_ms ? place->signals : NULL;
	int err;

	*lock = (struct hashbelt_lock){
		.how = (ask->bound ? HASHBELT_BOUND : 0) | (ask->fresh ? HASHBELT_IF_ABSENT : 0),
		.ttl_ms = ttl_ms,
		.wait_ms = ask->wait_ms,
	};
	/* With -EINTR @wait_ms is returned as the belt time when the wait ends. */
	do {
		if (signals)
			signals_unblock(signals);
		err = hashbelt_lock(place->request->handle, ask->name.bytes, ask->name.len,
				    ask->owner.bytes, ask->owner.len, lock);
		if (signals)
			signals_block(signals);
	/* One that did not ask us to end, as SIGALRM of another process, may interrupt as well. */
	} while (err == -EINTR && signals && !signals->caught);
	return err;
}

static int device_lock(struct lock_place *place, const struct lock_ask *ask,
		       struct lock_held *held)
{
	struct hashbelt_lock lock;
	int err;

	err = lock_once(place, ask, ask->ttl_ms ? ask->ttl_ms : LOCK_LEASE_MS, &lock);
	if (err == -EDOM && !ask->ttl_ms)
		err = lock_once(place, ask, 0, &lock);
	if (!err)
		fill_held(held, &lock);
	/* Held only for a moment, and then another owner had it. */
	return err == -EBUSY && ask->wait_ms ? -ETIMEDOUT : err;
}

static int device_unlock(struct lock_place *place, const struct lock_ask *ask)
{
	return hashbelt_unlock(place->request->handle, ask->name.bytes, ask->name.len,
			       ask->owner.bytes, ask->owner.len);
}

static int device_renew(struct lock_place *place, const struct lock_ask *ask,
			struct lock_held *held)
{
	struct hashbelt_lock lock;
	int err;

	err = hashbelt_renew(place->request->handle, ask->name.bytes, ask->name.len,
			     ask->owner.bytes, ask->owner.len, ask->ttl_ms ? ask->ttl_ms :
			     HASHBELT_AT_LEAST | LOCK_LEASE_MS, &lock);
	if (!err)
		fill_held(held, &lock);
	return err;
}

static void device_each(const struct hashbelt_lock_record *record,
			void (*each)(const struct lock_held *held, void *data),
			void *data)
{
	struct lock_held held = {
		.name = { .bytes = hashbelt_lock_key(record), .len = record->key_len },
		.owner_len = record->owner_len,
		.ttl_ms = record->ttl_ms,
		.held_ms = record->held_ms,
		.token = record->token,
		.bound = record->how & HASHBELT_BOUND,
	};

	memcpy(held.owner, hashbelt_lock_owner(record), record->owner_len);
	each(&held, data);
}

static int device_list(struct lock_place *place, const struct key *owner,
		       void (*each)(const struct lock_held *held, void *data), void *data)
{
	const struct hashbelt_lock_record *record;
	struct hashbelt_lister *lister;
	int err;

	err = hashbelt_locks_begin(place->request->handle, owner ? owner->bytes : NULL,
				   owner ? owner->len : 0, &lister);
	if (err)
		return err;
	while ((err = hashbelt_locks_next(lister, &record)) > 0)
		device_each(record, each, data);
	hashbelt_locks_end(lister);
	return err;
}

/* The kernel has no locks whose lease has expired: there are none to release. */
static int device_release(struct lock_place *place, const struct key *owner, __u64 *count)
{
	return hashbelt_release(place->request->handle, owner->bytes, owner->len, count);
}

static enum status fail_lease(const struct request *request)
{
	struct hashbelt_info info;
	char text[DURATION_SIZE];

	if (hashbelt_info(request->handle, &info))
		return fail_usage(request,
				  "--ttl: a lease in belt '%s' is no longer than the belt's time-to-live",
				  request->belt);
	return fail_usage(request, "--ttl: the longest lease in belt '%s' is %s",
			  request->belt, duration_format(text, info.ttl_ms));
}

static enum status device_fail(struct lock_place *place, int err)
{
	struct request *request = place->request;

	if (err == -EDOM)
		return fail_lease(request);
	return fail_belt(request, err);
}

static const char *device_reason(struct lock_place *place, int err)
{
	(void)place;
	return err == -EIDRM ? "its belt was destroyed" : strerror(-err);
}

static int device_descriptor(const struct lock_place *place)
{
	return hashbelt_fd(place->request->handle);
}

/* The handle is the request's, and the place is nothing else. */
static void device_close(struct lock_place *place)
{
	(void)place;
}

static const struct lock_ops device_ops = {
	.lock = device_lock,
	.unlock = device_unlock,
	.renew = device_renew,
	.holder = device_holder,
	.list = device_list,
	.release = device_release,
	.fail = device_fail,
	.reason = device_reason,
	.descriptor = device_descriptor,
	.close = device_close,
};

/* Binds to the belt of locks, which is made if it is not there. */
static enum status bind_or_make(struct request *request)
{
	const struct hashbelt_settings settings = {
		.ttl_ms = LONGEST_MS,
		.buckets = BUCKETS,
		.policy = HASHBELT_PINNED,
		.mode = 0600,
	};
	int err;
	enum status status = request_try_bind(request, &err);

	if (status)
		return status;
	/* If another user is to own it, ours would be in that user's way. */
	if (err == -ENOENT && (!request->owned || request->owner == geteuid())) {
		err = hashbelt_create(request->handle, request->belt, &settings);
		if (err && err != -EEXIST)
			return fail_call(request, HASHBELT_CALL_CREATE, err);
	}
	if (err == -EEXIST)
		err = request_bind_again(request);
	return err ? fail_bind(request, err) : STATUS_DONE;
}

/**
 * lock_device_open() - use the locks of a belt
 * @request:	the request: its belt, or LOCK_BELT if it names none
 * @make:	make that one if it is not there
 * @place:	returned
 *
 * Return: STATUS_DONE, or another status after a line that says why.
 */
enum status lock_device_open(struct request *request, bool make,
			     struct lock_place **place)
{
	static struct lock_place device = { .ops = &device_ops };
	bool named = request_option(request, "belt");
	enum status status;

	if (!named)
		request->belt = LOCK_BELT;
	if (make && !named)
		status = bind_or_make(request);
	else
		status = request_bind(request);
	device.request = request;
	*place = &device;
	return status;
}
