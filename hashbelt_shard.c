// SPDX-License-Identifier: GPL-2.0
/*
 * A shard: how entries come into being, are linked and counted, and leave.
 */
#include <linux/export.h>

#include "hashbelt_belt.h"
#include "hashbelt_trace.h"

/* Attempts to allocate an entry: after the first, the belt gives something up. */
#define ALLOC_TRIES	4

/* What an entry takes, its share of the index not counted. */
size_t hb_entry_size(const struct hashbelt_entry *entry)
{
	return hb_object_size(entry, hb_span_of(entry));
}

static void entry_free(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	size_t span = hb_span_of(entry);

	if (READ_ONCE(belt->policy) & HASHBELT_WIPE)
		memzero_explicit(entry->data, entry->key_len + entry->value_len);
	hb_object_free(belt->account, entry, span);
}

/**
 * hashbelt_entry_put() - give up a reference to an entry
 * @belt:	the belt that it is of
 * @entry:	from hashbelt_entry_alloc(), or with a reference that was taken
 *		by refcount_inc_not_zero() under RCU
 *
 * Context: may sleep.
 */
void hashbelt_entry_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	if (refcount_dec_and_test(&entry->ref))
		entry_free(belt, entry);
}
EXPORT_SYMBOL_GPL(hashbelt_entry_put);

static void limbo_leave(struct hb_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	WRITE_ONCE(shard->in_limbo, !list_empty(&shard->limbo));
	if (!shard->in_limbo)
		return;
	list_splice_init(&shard->limbo, &shard->leaving);
	queue_rcu_work(hb_limbo_wq, &shard->free);
}

/* Frees an unlinked entry, when no reader can be looking at it any more. */
void hb_limbo_enter(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	lockdep_assert_held(&shard->lock);
	list_add(&entry->node.slot, &shard->limbo);
	if (!shard->in_limbo)
		limbo_leave(shard);
}

void hb_limbo_free(struct work_struct *work)
{
	struct hb_shard *shard = container_of(to_rcu_work(work), struct hb_shard, free);
	struct hashbelt_entry *entry, *next;
	LIST_HEAD(leaving);

	spin_lock(&shard->lock);
	list_splice_init(&shard->leaving, &leaving);
	spin_unlock(&shard->lock);
	list_for_each_entry_safe(entry, next, &leaving, node.slot) {
		hashbelt_entry_put(shard->belt, entry);
		cond_resched();
	}
	spin_lock(&shard->lock);
	limbo_leave(shard);
	spin_unlock(&shard->lock);
}

bool hb_is_in_limbo(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;

	for (shard = belt->shards; shard < hb_shards_end(belt); shard++)
		if (READ_ONCE(shard->in_limbo))
			return true;
	return false;
}

/* Waits until what is in limbo now is freed: what leaves, and who waits behind. */
void hb_limbo_flush(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	unsigned int round;

	for (round = 0; round < 2 && hb_is_in_limbo(belt); round++) {
		/* One for all shards, then each one's work is at least queued. */
		rcu_barrier();
		for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
			/* Where it is queued is looked up anew under the lock: its own affair. */
			data_race(flush_work(&shard->free.work));
		}
	}
}

/*
 * An entry of a kind, with HB_TAILED for one that has a tail, which is zeroed but for
 * what ties it together.
 */
struct hashbelt_entry *hb_entry_alloc(struct hashbelt_belt *belt, u32 kind, u32 flags,
				      u32 key_len, u32 value_len, gfp_t gfp)
{
	size_t span = hb_span(kind, flags, key_len + value_len);
	struct hashbelt_entry *entry;
	struct hb_bond *bond;

	entry = hb_object_alloc(belt->account, span, gfp);
	if (IS_ERR(entry))
		return entry;
	INIT_LIST_HEAD(&entry->node.slot);
	entry->hash = kind;
	entry->flags = flags;
	entry->key_len = key_len;
	entry->value_len = value_len;
	refcount_set(&entry->ref, 1);
	if (likely(!(kind & HB_TAILED)))
		return entry;
	bond = hb_tail(entry);
	memset(bond, 0, hb_tail_size(kind, flags));
	bond->entry = entry;
	return entry;
}

/*
 * Whether evicting entries of a belt helps after an allocation has failed, and may be done.
 * It does under the limits of an account or the module. Where the system or a cgroup has no
 * memory, what there is may be somebody else's: that is for the shrinker.
 */
static bool may_evict(const struct hashbelt_belt *belt, int err)
{
	return err != -ENOMEM && READ_ONCE(belt->policy) & HASHBELT_EVICT &&
	       !hb_reports(belt, HASHBELT_EVICTED);
}

/* Memory for an entry of a kind; as hashbelt_entry_alloc(). */
struct hashbelt_entry *hb_entry_get_memory(struct hashbelt_belt *belt, u32 kind, u32 flags,
					   u32 key_len, u32 value_len)
{
	struct hashbelt_entry *entry;
	unsigned int tries;

	entry = hb_entry_alloc(belt, kind, flags, key_len, value_len, GFP_KERNEL);
	for (tries = 0; IS_ERR(entry) && tries < ALLOC_TRIES; tries++) {
		/* What the belt let go of lately may be all that is missing. */
		if (tries && !(may_evict(belt, PTR_ERR(entry)) &&
			       hb_evict(belt, HASHBELT_EVICTED, HB_BATCH)))
			break;
		hb_limbo_flush(belt);
		entry = hb_entry_alloc(belt, kind, flags, key_len, value_len, GFP_KERNEL);
	}
	return entry;
}

/**
 * hashbelt_entry_alloc() - memory for an entry
 * @belt:	the belt that it is for
 * @holder:	the descriptor that it is to be bound to, or NULL
 * @key_len:	1 to HASHBELT_KEY_MAX bytes
 * @value_len:	0 to HASHBELT_VALUE_MAX bytes
 *
 * Context: may sleep. The caller has checked the lengths.
 *
 * Return: the entry, owned by the caller, who writes key, value and flags and
 * then gives it to hashbelt_put() or hashbelt_entry_put(); ERR_PTR(-ENOMEM),
 * ERR_PTR(-ENOSPC) when the module's memory limit is reached, or
 * ERR_PTR(-EDQUOT) when that of the belt's account is.
 */
struct hashbelt_entry *hashbelt_entry_alloc(struct hashbelt_belt *belt,
					    struct hb_holder *holder, u32 key_len,
					    u32 value_len)
{
	struct hashbelt_entry *entry;
	struct hb_bond *bond;

	if (likely(!holder))
		return hb_entry_get_memory(belt, HB_ENTRY, 0, key_len, value_len);
	entry = hb_entry_get_memory(belt, HB_ENTRY | HB_TAILED, 0, key_len, value_len);
	if (IS_ERR(entry))
		return entry;
	bond = hb_tail(entry);
	bond->holder = holder;
	return entry;
}
EXPORT_SYMBOL_GPL(hashbelt_entry_alloc);

/* Linking and unlinking, under the shard's lock */

/* Counts entries of other kinds; @n is 1 or -1, and @live too unless it was cleared. */
static void count_kind(struct hb_shard *shard, struct hashbelt_entry *entry, int n, int live)
{
	switch (hb_kind(entry)) {
	case HB_LOCK:
		shard->locks += live;
		break;
	case HB_FILL:
		shard->fills += n;
		break;
	case HB_REQUEST:
		shard->requests += live;
		break;
	default:
		break;
	}
}

/* Counts an entry that has its version and is tied to its holder. */
void hb_link(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	lockdep_assert_held(&shard->lock);
	hb_shard_count(shard, 1);
	shard->live++;
	shard->live_bytes += hb_entry_size(entry);
	if (likely(!(entry->hash & HB_KIND)))
		return;
	count_kind(shard, entry, 1, 1);
	if (hb_kind(entry) == HB_LOCK)
		hb_owner_add(shard->belt, entry);
}

/* What else there is of an entry that is being unlinked. */
static void unlink_tail(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	struct hb_bond *bond = hb_tail(entry);

	if (hb_kind(entry) == HB_LOCK)
		hb_owner_del(shard->belt, entry);
	/* A request's holder has to be told yet. */
	if (hb_kind(entry) == HB_REQUEST)
		hb_untie(bond);
	else
		hb_untie_put(bond);
}

/* Undoes hb_link(). */
void hb_unlink(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	bool cleared = hb_is_cleared(shard->belt, entry);

	lockdep_assert_held(&shard->lock);
	hb_shard_count(shard, -1);
	/* Who looks for something to evict need not come here. */
	if (unlikely(!shard->count))
		WRITE_ONCE(shard->nearest, HB_NOTHING);
	if (!cleared) {
		shard->live--;
		shard->live_bytes -= hb_entry_size(entry);
	}
	if (likely(!(entry->hash & (HB_KIND | HB_TAILED))))
		return;
	count_kind(shard, entry, -1, cleared ? 0 : -1);
	unlink_tail(shard, entry);
	if (hb_is_sparse(shard->belt, shard))
		hb_kick_worker(shard->belt);
}

/*
 * Puts an entry of another kind than HB_ENTRY into the belt, whose key is not there;
 * under the shard's lock. -ENOSPC: there is no room; -EIDRM: its holder has gone, or
 * the belt.
 */
int hb_admit(struct hb_shard *shard, struct hashbelt_entry *entry, u64 deadline, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;

	if (belt->dead)
		return -EIDRM;
	if (!hb_charge(belt, entry))
		return -ENOSPC;
	/* Once it is tied who closes the descriptor may claim a request, without this lock. */
	atomic64_set(&entry->node.deadline, deadline);
	if (!hb_tie(hb_tail(entry))) {
		hb_uncharge(belt, entry);
		return -EIDRM;
	}
	entry->version = hb_version(shard);
	hb_index_insert(&belt->index, entry);
	hb_link(shard, entry);
	return 0;
}

/* Puts an entry on the wheel. Returns when the worker must look at it. */
u64 hb_wait(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	/* A request may be claimed at any moment, and has its deadline still. */
	u64 deadline = hb_deadline(atomic64_read(&entry->node.deadline));

	lockdep_assert_held(&shard->lock);
	if (deadline < shard->nearest)
		WRITE_ONCE(shard->nearest, deadline);
	return hb_wheel_add(&shard->wheel, &entry->node, now);
}

/* Whether an entry that is claimed becomes an event of its belt. */
static bool is_reported(const struct hashbelt_belt *belt, const struct hashbelt_entry *entry)
{
	return hb_kind(entry) <= HB_LOCK &&
	       hb_reports(belt, hb_reason(atomic64_read(&entry->node.deadline)));
}

/*
 * An entry that is claimed, off its wheel, and not in the index any more, because
 * another one has its place there and under the limits: becomes an event, or is
 * freed.
 */
void hb_leave_place(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;

	hb_unlink(shard, entry);
	if (!is_reported(belt, entry) || !hb_event_push(belt, entry, now))
		hb_limbo_enter(shard, entry);
}

/*
 * An entry that is claimed, and off its wheel, leaves the index and the belt. A lock or
 * a right to fill goes to the first of those who wait for it.
 */
void hb_leave(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;
	u64 word = atomic64_read(&entry->node.deadline);

	if (unlikely(hb_kind(entry) == HB_REQUEST)) {
		hb_request_leave(shard, entry);
		return;
	}
	if (hb_haunts(hb_reason(word)) && hb_kind(entry) == HB_ENTRY)
		WRITE_ONCE(*hb_ghost_slot(belt, entry->hash),
			   hb_ghost(entry->hash, hb_reason(word)));
	hlist_del_rcu(&entry->chain);
	if (hb_is_cleared(belt, entry))
		/* Whatever it was claimed for; and the clear has uncharged it. */
		atomic64_set(&entry->node.deadline,
			     (word & ~HB_REASON) | HASHBELT_CLEARED);
	else if (!hb_keeps_place(hb_reason(word)) || !is_reported(belt, entry))
		hb_uncharge(belt, entry);
	/* Nobody frees it before the lock is given up. */
	hb_leave_place(shard, entry, now);
	if (unlikely(entry->hash & HB_KIND))
		hb_hand_over(shard, entry, now);
}

static void count_lag(struct hashbelt_belt *belt, u64 due, u64 now)
{
	u64 lag = now > due ? div_u64(now - due, NSEC_PER_MSEC) : 0;

	this_cpu_inc(belt->stats->lags[min_t(unsigned int, fls64(lag), HASHBELT_LAGS - 1)]);
}

/* Reports an expired entry and gives it a new life, without taking it out. */
static void reinsert(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;

	if (hb_reports(belt, HASHBELT_EXPIRED))
		hb_event_push_proxy(belt, entry, now);
	hb_count(belt, HASHBELT_STAT_REINSERTED);
	atomic64_set(&entry->node.deadline, now + belt->ttl);
	hb_clock_wake_at(&belt->clock, hb_wait(shard, entry, now));
}

/* What becomes of an entry that is claimed as expired, and off its wheel. */
void hb_expire(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;
	u64 deadline = hb_deadline(atomic64_read(&entry->node.deadline));

	if (hb_is_cleared(belt, entry)) {
		hb_leave(shard, entry, now);
		return;
	}
	if (hb_kind(entry) > HB_LOCK) {
		if (hb_kind(entry) == HB_REQUEST)
			hb_count(belt, HASHBELT_STAT_TIMED_OUT);
		hb_leave(shard, entry, now);
		return;
	}
	hb_count(belt, HASHBELT_STAT_EXPIRED);
	trace_hashbelt_expire(belt->id, entry, now - deadline);
	if (deadline <= now)
		count_lag(belt, deadline + belt->grace * !hb_kind(entry), now);
	if (hb_lives_on(belt, entry))
		reinsert(shard, entry, now);
	else
		hb_leave(shard, entry, now);
}
