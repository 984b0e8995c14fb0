// SPDX-License-Identifier: GPL-2.0-only
/* Functions for all places of locks: error messages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "duration.h"
#include "lock.h"

/**
 * clock_ms() - the time of the machine, which belt time by hand does not move
 *
 * Return: milliseconds since the machine was started, suspend included.
 */
__u64 clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

/**
 * answer_timeout() - the time that an answer may take
 * @wait_ms:	how long the caller waits for a lock, milliseconds
 *
 * Return: milliseconds.
 */
__u64 answer_timeout(__u64 wait_ms)
{
	if (wait_ms > ANSWER_TIMEOUT_MAX_MS)
		return ANSWER_TIMEOUT_MAX_MS;
	return wait_ms < ANSWER_TIMEOUT_MIN_MS ? ANSWER_TIMEOUT_MIN_MS : wait_ms;
}

/**
 * lock_is_own() - whether a lock is held by the owner that asks for it
 * @ask:	the call
 * @held:	the lock
 *
 * Return: whether it is.
 */
bool lock_is_own(const struct lock_ask *ask, const struct lock_held *held)
{
	return held->owner_len == ask->owner.len &&
	       !memcmp(held->owner, ask->owner.bytes, held->owner_len);
}

/* Reports the owner of a lock that another holds; it may have been released meanwhile. */
static enum status fail_held(struct lock_place *place, const struct lock_ask *ask,
			     int err, const char *name)
{
	const char *advice = err == -EBUSY ? ": --wait D waits for it" : "";
	const char *still = err == -ETIMEDOUT ? "still " : "";
	char since[DURATION_SIZE], left[DURATION_SIZE];
	struct lock_held held;
	struct key owner;
	char *text;

	if (place->ops->holder(place, &ask->name, &held))
		return fail(STATUS_NO, "lock '%s' is %sheld by another%s", name, still,
			    advice);
	owner = (struct key){ .bytes = held.owner, .len = held.owner_len };
	text = key_text(&owner);
	fail(STATUS_NO, "lock '%s' is %sheld by '%s', for %s now and %s more%s", name,
	     still, text, duration_format(since, held.held_ms),
	     duration_format(left, held.ttl_ms), advice);
	free(text);
	return STATUS_NO;
}

/*
 * Reports that another owner holds it. A security module may have refused the call instead: a place
 * grants a lock, or says that it is held, and an owner may unlock and renew its own.
 */
static enum status fail_owner(struct lock_place *place, const struct lock_ask *ask,
			      const char *name)
{
	int is_lock = place->request->command->call == HASHBELT_CALL_LOCK;
	char *mine, *text = NULL;
	struct lock_held held;
	struct key owner;
	int err = place->ops->holder(place, &ask->name, &held);

	if (is_lock || err == -EACCES || (!err && lock_is_own(ask, &held)))
		return place->ops->fail(place, -EACCES);
	mine = key_text(&ask->owner);
	if (!err) {
		owner = (struct key){ .bytes = held.owner, .len = held.owner_len };
		text = key_text(&owner);
	}
	fail(STATUS_NO,
	     "lock '%s' is held by %s%s%s, not by '%s': 'hbctl locks' lists the owners",
	     name, text ? "'" : "", text ? text : "another", text ? "'" : "", mine);
	free(text);
	free(mine);
	return STATUS_NO;
}

/* The owner holds it already, so two commands would share it. */
static enum status fail_own(const struct lock_ask *ask, const char *name)
{
	char *owner = key_text(&ask->owner);

	fail(STATUS_NO,
	     "lock '%s' is held by '%s' already, and a command takes one of its own: 'hbctl unlock' it first, or run the command without 'hbctl lock'",
	     name, owner);
	free(owner);
	return STATUS_NO;
}

/**
 * fail_lock() - say why an operation on a lock was not done
 * @place:	where the lock is
 * @ask:	the call
 * @err:	the error of the place
 *
 * Return: the exit status for it.
 */
enum status fail_lock(struct lock_place *place, const struct lock_ask *ask, int err)
{
	char *name = key_text(&ask->name);
	enum status status = STATUS_NO;

	fail_cause(err);
	switch (err) {
	case -EBUSY:
	case -ETIMEDOUT:
		status = fail_held(place, ask, err, name);
		break;
	case -EALREADY:
		status = fail_own(ask, name);
		break;
	case -ENOENT:
		fail(STATUS_NO,
		     "lock '%s' is free: it was never taken, or its lease has expired",
		     name);
		break;
	case -EACCES:
		status = fail_owner(place, ask, name);
		break;
	case -EINTR:
		status = fail(STATUS_ERROR, "interrupted while waiting for lock '%s'",
			      name);
		break;
	default:
		status = place->ops->fail(place, err);
	}
	free(name);
	return status;
}

/**
 * refuse_lock() - say why a lock was not granted
 * @place:	where the lock is
 * @ask:	the call
 * @err:	the error of the place
 *
 * Return: the exit status for it.
 */
int refuse_lock(struct lock_place *place, const struct lock_ask *ask, int err)
{
	enum status status = fail_lock(place, ask, err);

	return status == STATUS_NO ? ask->conflict : (int)status;
}
