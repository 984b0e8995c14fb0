// SPDX-License-Identifier: GPL-2.0-only
/* The model of the locks. */
#include "model_parts.h"

static void described(struct model *model, const struct hashbelt_lock *got,
		      const struct thing *lock)
{
	same(model, "token", got->token, lock->version);
	same(model, "held_ms", got->held_ms, (model->now - lock->since) / MS);
}

/* Grants or extends a lock. Return: the result. */
static int take(struct model *model, unsigned int key, unsigned int owner, int fd,
		__u64 lease, const struct hashbelt_lock *sent, const struct hashbelt_lock *got,
		int err)
{
	struct thing *lock = find_live(model, LOCKED, key);
	struct blob name = owner_of(owner);
	__u64 deadline = model->now + lease;

	if (lock && (lock->value.len != name.len ||
		     memcmp(lock->value.bytes, name.bytes, name.len)))
		return -EBUSY;
	if (lock && sent->how & HASHBELT_IF_ABSENT)
		return -EALREADY;
	if (lock) {
		if (deadline > lock->deadline)
			set_deadline(lock, deadline);
		return 0;
	}
	if (!make_room(model, KEYS_MAX, err))
		return -ENOSPC;
	if (err)
		return 0;
	lock = thing_at(model, LOCKED, key);
	adopt_version(model, LOCKED, key, got->token);
	lock->there = true;
	lock->value = name;
	lock->flags = 0;
	lock->bound = sent->how & HASHBELT_BOUND ? fd : -1;
	lock->since = model->now;
	set_deadline(lock, deadline);
	count(model, HASHBELT_STAT_LOCKS);
	return 0;
}

/* Return: the lock in @lock; an error if @owner does not hold it. */
static int own(struct model *model, unsigned int key, unsigned int owner, struct thing **lock)
{
	struct blob name = owner_of(owner);

	*lock = find_live(model, LOCKED, key);
	if (!*lock)
		return -ENOENT;
	return (*lock)->value.len == name.len &&
	       !memcmp((*lock)->value.bytes, name.bytes, name.len) ? 0 : -EACCES;
}

/* The lease in nanoseconds; 0: it is longer than the time-to-live of the belt. */
static __u64 lease_of(const struct model *model, __u64 ttl_ms)
{
	if (ttl_ms > model->is.ttl_ms)
		return 0;
	return (ttl_ms ?: model->is.ttl_ms) * MS;
}

static void unlock(struct model *model, unsigned int key)
{
	struct thing *lock = thing_at(model, LOCKED, key);

	report(model, LOCKED, key, lock, HASHBELT_REMOVED);
	lock->there = false;
}

static void release_owner(struct model *model, unsigned int owner, const struct hashbelt_lock *got)
{
	struct blob name = owner_of(owner);
	unsigned int key, released = 0;

	for (key = 0; key < KEYS_MAX; key++) {
		struct thing *lock = thing_at(model, LOCKED, key);

		if (!is_live(model, lock) || lock->value.len != name.len)
			continue;
		unlock(model, key);
		released++;
	}
	same(model, "locks released", got->count, released);
}

void model_lock(struct model *model, unsigned long request, unsigned int key,
		unsigned int owner, int fd, const struct hashbelt_lock *sent,
		const struct hashbelt_lock *got, const struct blob *holder, int err)
{
	__u64 lease = lease_of(model, sent->ttl_ms);
	struct thing *lock = thing_at(model, LOCKED, key);
	int want;

	switch (request) {
	case HASHBELT_IOC_LOCK:
		if (!(model->is.policy & HASHBELT_PINNED) || model->is.policy & HASHBELT_EVICT)
			want = -EOPNOTSUPP;
		else
			want = lease ? take(model, key, owner, fd, lease, sent, got, err) :
				       -EDOM;
		break;
	case HASHBELT_IOC_RENEW:
		want = lease ? own(model, key, owner, &lock) : -EDOM;
		if (!want)
			set_deadline(lock, model->now + lease);
		break;
	case HASHBELT_IOC_UNLOCK:
		want = own(model, key, owner, &lock);
		break;
	case HASHBELT_IOC_HOLDER:
		want = is_live(model, lock) ? 0 : -ENOENT;
		break;
	default:
		came_to(model, err, 0);
		release_owner(model, owner, got);
		return;
	}
	if (!came_to(model, err, want) || want)
		return;
	described(model, got, lock);
	if (request == HASHBELT_IOC_HOLDER)
		same_blob(model, "the owner", holder, &lock->value);
	if (request == HASHBELT_IOC_UNLOCK)
		unlock(model, key);
	else
		same(model, "ttl_ms", got->ttl_ms, left_of(model, lock->deadline));
}

void model_locks(struct model *model, const struct scan_result *scan_result, unsigned int owner)
{
	unsigned int key;

	for (key = 0; key < KEYS_MAX; key++) {
		const struct hashbelt_lock_record *record = &scan_result->locks[key];
		struct thing *lock = thing_at(model, LOCKED, key);
		bool listed = is_live(model, lock) &&
			      (owner == OWNERS || lock->value.len == owner_of(owner).len);

		if (scan_result->seen[key] != listed) {
			differ(model, "lock %u is %slisted", key, listed ? "not " : "");
			return;
		}
		if (!listed)
			continue;
		same(model, "token", record->token, lock->version);
		same(model, "ttl_ms", record->ttl_ms, left_of(model, lock->deadline));
		same(model, "held_ms", record->held_ms, (model->now - lock->since) / MS);
		same(model, "how", record->how, lock->bound < 0 ? 0 : HASHBELT_BOUND);
		same_blob(model, "the owner", &scan_result->owners[key], &lock->value);
	}
}
