// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reclaiming the memory of entries that have expired.
 *
 * An entry takes memory until its bucket falls off, up to an interval after its deadline. At a
 * limit of the account, the module or a cgroup, new entries need that memory earlier. So an
 * allocation that fails takes expired entries out: those of its own belt, and then those of the
 * other belts of its account. The belts without an account are one such group.
 *
 * The search by deadline (nearest.c) finds an expired entry among the first ones of its bucket. An
 * expired entry behind others that live is *hidden*: its bucket is drained early to find it.
 *
 * Entries whose expiry is reported stay, because the event is the entry, and those of belts that
 * reinsert.
 */
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>

#include "belt/belt.h"
#include "belt/events/limbo.h"
#include "belt/events/queue.h"
#include "belt/shard/shard.h"
#include "nearest.h"
#include "reclaim.h"

/*
 * Bytes that an allocation at a limit takes of what has expired, if it needs fewer itself, because
 * it waits for a grace period; and the belts from which it takes before that.
 */
#define TAKE_LEAST		SZ_16K
#define TAKE_BELTS		16

/* The belts without an account. */
static struct hb_kin unaccounted;

/* The account may be NULL, or a part. */
static struct hb_kin *kin_of(struct hb_account *account)
{
	return account ? &hb_account_whole(account)->kin : &unaccounted;
}

void hb_reclaim_init(void)
{
	hb_kin_init(&unaccounted);
}

/* From now on other tasks may take entries that have expired out of the belt. */
void hb_reclaim_add_belt(struct hashbelt_belt *belt)
{
	struct hb_kin *kin = kin_of(belt->account);

	spin_lock(&kin->lock);
	list_add_tail(&belt->kin, &kin->belts);
	kin->count++;
	spin_unlock(&kin->lock);
}

/* After this and hb_reclaim_wait() no other task takes entries out of the belt. */
void hb_reclaim_del_belt(struct hashbelt_belt *belt)
{
	struct hb_kin *kin = kin_of(belt->account);

	spin_lock(&kin->lock);
	list_del(&belt->kin);
	kin->count--;
	spin_unlock(&kin->lock);
}

/* Context: may sleep. */
void hb_reclaim_wait(struct hashbelt_belt *belt)
{
	struct hb_kin *kin = kin_of(belt->account);

	mutex_lock(&kin->reclaim);
	mutex_unlock(&kin->reclaim);
}

/*
 * Takes out an entry of a class that has expired. On a belt that reinserts, the expiry of plain
 * entries makes no room. Return: its size, 0 if there is none.
 */
size_t hb_evict_expired(struct hashbelt_belt *belt, enum hb_class class,
			enum hashbelt_reason reason, const struct hashbelt_entry *put)
{
	if (class == HB_PLAIN && READ_ONCE(belt->settings.handler) == HASHBELT_REINSERT)
		return 0;
	return hb_evict_nearest(belt, class, reason, hb_clock_now(&belt->clock), put);
}

/* The expiry of a plain entry frees its memory: it gets no new deadline, and is no event then. */
bool hb_frees_by_expiring(const struct hashbelt_belt *belt)
{
	return READ_ONCE(belt->settings.handler) != HASHBELT_REINSERT &&
	       !hb_reports(belt, HASHBELT_EXPIRED);
}

/* A plain entry of the shard may have expired where hb_evict_expired() does not see it. A hint. */
static bool hides_expired(const struct hb_shard *shard, u64 now)
{
	return READ_ONCE(shard->hastened) || READ_ONCE(shard->wheel.ahead) <= now;
}

/*
 * Drains a batch of plain entries, from buckets that have fallen off by @until. Adds the number of
 * those that have expired to *@expired. Return: true if there are more.
 */
static bool drain_plain(struct hb_shard *shard, u64 until, unsigned int *expired)
{
	struct hb_drain_result result = { .expired = LIST_HEAD_INIT(result.expired) };
	struct hashbelt_belt *belt = shard->belt;
	bool more;
	u64 now;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	more = hb_wheel_drain(&shard->wheel, until, now, HB_BATCH, &result);
	*expired += hb_expire_drained(shard, &result, now);
	if (!more)
		WRITE_ONCE(shard->hastened, false);
	/* The worker drains what a task leaves that is being killed. */
	WRITE_ONCE(shard->next, more ? 0 : hb_shard_next(shard));
	spin_unlock(&shard->lock);
	hb_count_by(belt, HASHBELT_STAT_CASCADED, result.cascaded);
	hb_count_by(belt, HASHBELT_STAT_DRAINED, result.buckets);
	return more;
}

/*
 * Takes out all plain entries of a shard that have expired, also where they stand behind others in
 * their bucket: that is drained before it falls off. After that there are none until belt time
 * reaches the next deadline, so this is done once a tick at most. Return: true if there was one:
 * another task that drains the bucket may have taken it out.
 */
bool hb_expire_hidden(struct hb_shard *shard)
{
	u64 now = hb_clock_now(&shard->belt->clock);
	unsigned int expired = 0;

	if (!hides_expired(shard, now))
		return false;
	spin_lock(&shard->lock);
	expired += shard->hastened;
	if (hb_wheel_hasten(&shard->wheel, now))
		WRITE_ONCE(shard->hastened, true);
	spin_unlock(&shard->lock);
	while (drain_plain(shard, now, &expired)) {
		if (fatal_signal_pending(current)) {
			hb_kick_worker(shard->belt);
			break;
		}
		cond_resched();
	}
	return expired;
}

/* hb_expire_hidden() of the shards one after the other, up to the first that had such an entry. */
bool hb_expire_some_hidden(struct hashbelt_belt *belt)
{
	if (hb_frees_by_expiring(belt))
		hb_for_each_shard(shard, belt)
			if (hb_expire_hidden(shard))
				return true;
	return false;
}

/* The latest deadline of entries that have no grace time left. */
static u64 end_of_grace(const struct hashbelt_belt *belt, u64 now)
{
	return now - min(now, READ_ONCE(belt->settings.grace));
}

/* An entry of the belt may have expired whose memory would be free. A hint. */
static bool may_have_expired(struct hashbelt_belt *belt)
{
	u64 now = hb_clock_now(&belt->clock);

	if (!hb_frees_by_expiring(belt))
		return false;
	hb_for_each_shard(shard, belt)
		if (READ_ONCE(shard->nearest[HB_PLAIN]) <= end_of_grace(belt, now) ||
		    READ_ONCE(shard->nearest[HB_LEASES]) <= now || hides_expired(shard, now))
			return true;
	return false;
}

/*
 * Takes *@size bytes of entries that have expired, or as many as there are, and subtracts them from
 * *@size. Return: true if it has taken some.
 */
static bool take_from(struct hashbelt_belt *belt, size_t *size)
{
	bool taken = false;
	size_t bytes;
	u64 until;

	if (!may_have_expired(belt))
		return false;
	while (*size && !fatal_signal_pending(current)) {
		until = end_of_grace(belt, hb_clock_now(&belt->clock));
		bytes = hb_evict_nearest(belt, HB_PLAIN, HASHBELT_EVICTED, until, NULL) ?:
			hb_evict_expired(belt, HB_LEASES, HASHBELT_EVICTED, NULL);
		if (!bytes)
			break;
		taken = true;
		*size -= min(*size, bytes);
		cond_resched();
	}
	return taken || hb_expire_some_hidden(belt);
}

/*
 * The next of an account's belts, but @own, that is @wanted; NULL: it is not among those that were
 * looked at. A belt that was looked at goes to the end of the list. *@left: number of belts to be
 * looked at.
 */
static struct hashbelt_belt *next_of_kin(struct hb_kin *kin, const struct hashbelt_belt *own,
					 bool (*wanted)(struct hashbelt_belt *belt),
					 unsigned int *left)
{
	struct hashbelt_belt *belt, *found = NULL;
	unsigned int most;

	spin_lock(&kin->lock);
	*left = min(*left, kin->count);
	for (most = min_t(unsigned int, *left, HB_BATCH); most && !found; most--, --*left) {
		belt = list_first_entry(&kin->belts, struct hashbelt_belt, kin);
		list_move_tail(&belt->kin, &kin->belts);
		if (belt != own && wanted(belt))
			found = belt;
	}
	spin_unlock(&kin->lock);
	return found;
}

/*
 * Takes @size bytes of what has expired in an account's belts, but @own, and waits until they are
 * free. Looks at each belt once at most. The grace periods of TAKE_BELTS belts pass together. Under
 * kin->reclaim, which keeps the belts. Return: true if it has taken something.
 */
static bool take_from_kin(struct hb_kin *kin, const struct hashbelt_belt *own, size_t size)
{
	struct hashbelt_belt *belts[TAKE_BELTS], *belt;
	unsigned int left = UINT_MAX, taken = 0, i;

	lockdep_assert_held(&kin->reclaim);
	while (left && size && taken < TAKE_BELTS && !fatal_signal_pending(current)) {
		belt = next_of_kin(kin, own, may_have_expired, &left);
		if (belt && take_from(belt, &size))
			belts[taken++] = belt;
		cond_resched();
	}
	for (i = 0; i < taken; i++)
		hb_limbo_flush(belts[i]);
	return taken;
}

/*
 * Waits for the memory that is in limbo in an account's belts, but @own. Return: false if there is
 * none.
 */
static bool flush_kin(struct hb_kin *kin, const struct hashbelt_belt *own)
{
	unsigned int left = UINT_MAX;
	struct hashbelt_belt *belt;
	bool flushed = false;

	if (mutex_lock_killable(&kin->reclaim))
		return false;
	while (left && !fatal_signal_pending(current)) {
		belt = next_of_kin(kin, own, hb_is_in_limbo, &left);
		if (belt)
			flushed |= !hb_limbo_flush(belt);
		cond_resched();
	}
	mutex_unlock(&kin->reclaim);
	return flushed;
}

/*
 * Takes @size bytes of what has expired in @belt, which may be NULL, or, if nothing has, in the
 * other belts of the account, and waits until they are free. Return: false if nothing has expired,
 * or the caller is being killed.
 */
static bool take_expired(struct hb_account *account, struct hashbelt_belt *belt, size_t size)
{
	struct hb_kin *kin = kin_of(account);
	u64 takes = READ_ONCE(kin->takes);
	bool taken;

	size = max_t(size_t, size, TAKE_LEAST);
	if (belt && take_from(belt, &size)) {
		hb_limbo_flush(belt);
		return !fatal_signal_pending(current);
	}
	if (mutex_lock_killable(&kin->reclaim))
		return false;
	/* Another task may have freed enough for both. */
	taken = takes != kin->takes;
	if (!taken) {
		taken = take_from_kin(kin, belt, size);
		WRITE_ONCE(kin->takes, kin->takes + taken);
	}
	mutex_unlock(&kin->reclaim);
	return taken && !fatal_signal_pending(current);
}

/**
 * hb_free_memory() - free memory that is not in use, after an allocation has failed
 * @account:	the account of the allocation, or NULL
 * @belt:	the belt of the allocation, or NULL
 * @size:	bytes that are needed
 * @step:	0 at first: what was done for this allocation before
 *
 * Waits for what is in limbo; takes what has expired, in @belt before the other belts of the
 * account, as often as there is something; and waits once for what is in limbo in these. Entries
 * that are reported stay, as events take their memory.
 *
 * Context: may sleep, under no spinlock. Return: true if the caller is to try again; false: there
 * is nothing, or the caller is being killed.
 */
bool hb_free_memory(struct hb_account *account, struct hashbelt_belt *belt, size_t size,
		    unsigned int *step)
{
	/* Work of limbo that gives way in one belt may keep that of others from running. */
	hb_hurry();
	if (!*step) {
		*step = 1;
		if (belt)
			return !hb_limbo_flush(belt);
	}
	if (take_expired(account, belt, size))
		return true;
	if (*step == 1) {
		*step = 2;
		return flush_kin(kin_of(account), belt);
	}
	return false;
}
