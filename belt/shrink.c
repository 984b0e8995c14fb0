// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shrinker: the kernel calls it when the system or a memory cgroup is short of memory.
 *
 * It evicts a few entries at a time, from the belt whose next entry has the least time left. It
 * compares 64 belts at a time, those that it compared longest ago, of those that have entries and
 * are not pinned (mark.c). When a memory cgroup is at its limit, the shrinker chooses among the
 * belts that tasks in that cgroup have made.
 *
 * Any allocation may call the shrinker, also one of this module. So it takes only the lock of the
 * list of belts, shards' locks and those inside of them, under which no memory is allocated that
 * could call the shrinker, and it waits for this module's own work for at most LIMBO_WAIT.
 */
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/vmstat.h>

#include "belt.h"
#include "compat.h"
#include "evict.h"
#include "hand.h"
#include "mark.h"
#include "nearest.h"
#include "shrink.h"

/*
 * Entries that the shrinker takes from a belt before it compares belts again. With 100 belts of 100
 * entries, an entry takes 15,100 instructions with 1, 2700 with 16, and 1800 with 128
 * (tests/memory/evict_test.c). With 128, limit_test.c finds the order of deadlines violated.
 */
#define SHRINK_BATCH	16UL

/*
 * Jiffies after which a call of the shrinker stops. Where one of 131,072 belts has all entries, it
 * would look at all belts for each batch, at 127 instructions a belt.
 */
#define SHRINK_LASTS	DIV_ROUND_UP(HZ, 50)

/*
 * Bytes that direct reclaim evicts before it waits, and for how many jiffies. Of 50,331 entries
 * that fill half of a cgroup, tests/memory/cgroup_test.c finds 12,699 left with 1 MiB, 10,395 with
 * 4 MiB, and none with 16 MiB. With waits of 20 ms, and for half a second after an eviction, the
 * OOM killer killed in 3 of 12 runs of tests/memory/squeeze_test.c, with these in none of 8.
 */
#define LIMBO_MUCH	SZ_1M
#define LIMBO_WAIT	DIV_ROUND_UP(HZ, 20)

/* Jiffies after an eviction in which direct reclaim waits if it finds nothing. */
#define LIMBO_LASTS	(2 * HZ)

/*
 * Belts that the shrinker compares at a time, under the lock of their list. With 2000 belts of five
 * entries, an entry takes 5700 instructions; it took 52,000 when all belts were compared
 * (tests/memory/evict_test.c).
 */
#define COMPARE_MOST	64UL

static struct shrinker *shrinker;
static bool ready;	/* hb_marks is ready: before Linux 6.7 callbacks may come earlier */

/**
 * struct sample - of the belts that the shrinker has counted
 * @belts:	number of belts, without those that it has taken out of the list
 * @entries:	their entries
 */
struct sample {
	unsigned long belts;
	u64 entries;
};

static enum lru_status count_belt(HB_LRU_WALK_ARGS)
{
	struct hb_mark *mark = container_of(item, struct hb_mark, place);
	u64 entries = hb_may_shrink(mark->belt) ? hb_live_entries(mark->belt) : 0;
	struct sample *counted = arg;

	if (!entries)
		return hb_mark_unlist(mark, list);
	counted->belts++;
	counted->entries += entries;
	return LRU_ROTATE;
}

/* The number of belts among which the shrinker is to choose. */
static unsigned long belts_of(const struct shrink_control *control)
{
	return list_lru_count_one(&hb_marks, control->nid, control->memcg);
}

/*
 * Calls @visit for the next belts, COMPARE_MOST at most. The next walk begins behind them. Under
 * RCU.
 */
static void walk(const struct shrink_control *control, list_lru_walk_cb visit, void *arg)
{
	unsigned long left = min(belts_of(control), COMPARE_MOST);

	list_lru_walk_one(&hb_marks, control->nid, control->memcg, visit, arg, &left);
}

/*
 * About so many entries: as many in each belt as in the next ones. Each belt that is taken out of
 * the list was added by a put; where time does not suffice for them, each belt left counts as an
 * entry.
 */
static unsigned long shrink_count(struct shrinker *self, struct shrink_control *control)
{
	unsigned long until = jiffies + SHRINK_LASTS, belts;
	struct sample counted = {};

	/* Pairs with the release in hb_shrink_init(). */
	if (!smp_load_acquire(&ready))
		return SHRINK_EMPTY;
	do {
		rcu_read_lock();
		walk(control, count_belt, &counted);
		rcu_read_unlock();
		cond_resched();
		belts = belts_of(control);
	} while (!counted.belts && belts && time_before(jiffies, until));
	if (!belts)
		return SHRINK_EMPTY;
	return counted.belts ? div64_ul(counted.entries * belts, counted.belts) : belts;
}

/**
 * struct comparison - for the belt whose next entry has the least time left
 * @class:	of that entry
 * @belts:	returned: number of belts, without those that were taken out of the list
 * @best:	returned: the belt, or NULL
 * @least:	returned: the time left, nanoseconds
 */
struct comparison {
	enum hb_class class;
	unsigned long belts;
	struct hashbelt_belt *best;
	s64 least;
};

static enum lru_status compare_belt(HB_LRU_WALK_ARGS)
{
	struct hb_mark *mark = container_of(item, struct hb_mark, place);
	struct hashbelt_belt *belt = mark->belt;
	struct comparison *found = arg;
	struct hb_search search = { .class = found->class };
	enum lru_status status = LRU_ROTATE;
	s64 left;

	hb_search_shard(belt, &search);
	left = search.least - hb_clock_now(&belt->clock);
	if (search.least == HB_NOTHING || !hb_may_shrink(belt)) {
		status = hb_mark_unlist(mark, list);
	} else if (left < found->least) {
		found->least = left;
		found->best = belt;
	}
	found->belts += status == LRU_ROTATE;
	return status;
}

/*
 * Evicted entries are freed only after a grace period and by the worker. Direct reclaim does not
 * see that, and would call the OOM killer. So it waits a moment each time LIMBO_MUCH is evicted,
 * and when it finds nothing more soon after. The worker itself and kswapd do not wait. Without
 * this wait, the OOM killer killed in two of two parts of tests/memory/squeeze_test.c. True if it
 * has waited.
 */
static bool wait_for_limbo(size_t evicted)
{
	static atomic_long_t taken = ATOMIC_LONG_INIT(0);
	static unsigned long last;	/* no lock: an old value means one wait more or less */

	if (evicted)
		WRITE_ONCE(last, jiffies);
	else if (time_after(jiffies, READ_ONCE(last) + LIMBO_LASTS))
		return false;
	if (!(current->flags & PF_MEMALLOC) || fatal_signal_pending(current) ||
	    current->flags & (PF_KSWAPD | PF_WQ_WORKER))
		return false;
	if (evicted && atomic_long_add_return(evicted, &taken) < LIMBO_MUCH)
		return false;
	atomic_long_set(&taken, 0);
	schedule_timeout_uninterruptible(LIMBO_WAIT);
	return true;
}

/*
 * The system has free memory: a memory cgroup is at its limit. The kernel does not tell a shrinker
 * which of the two it is, and does not count what is freed later. If the shrinker went on, all
 * entries of the cgroup would be evicted in tests/memory/cgroup_test.c.
 */
static bool is_memory_free(void)
{
	return global_zone_page_state(NR_FREE_PAGES) > totalram_pages() / 32;
}

/**
 * struct shrink - what a call of the shrinker has done
 * @entries:	number of entries that it has evicted
 * @bytes:	their sizes
 */
struct shrink {
	unsigned long entries;
	size_t bytes;
};

/*
 * Evicts entries of a class from the best of the next belts, until @most are evicted. Returns the
 * number of belts that it has compared.
 */
static unsigned long shrink_next(const struct shrink_control *control, enum hb_class class,
				 unsigned long most, struct shrink *shrink)
{
	struct comparison found = { .class = class, .least = S64_MAX };
	unsigned int passes = HB_PASS_MOST;
	size_t size;

	rcu_read_lock();
	walk(control, compare_belt, &found);
	while (found.best && shrink->entries < most) {
		size = hb_evict_class(found.best, class, HASHBELT_PRESSURE, NULL, &passes);
		if (!size)
			break;
		shrink->entries++;
		shrink->bytes += size;
	}
	rcu_read_unlock();
	return found.belts;
}

/* Evicts entries of a class until @most are evicted or jiffies are @until. */
static void shrink_class(const struct shrink_control *control, enum hb_class class,
			 unsigned long most, unsigned long until, struct shrink *shrink)
{
	unsigned long vain = 0, before, compared;

	/* A belt that has no entry to evict has exact bounds then, and is not found again. */
	while (shrink->entries < most && vain < belts_of(control) && time_before(jiffies, until)) {
		before = shrink->entries;
		compared = shrink_next(control, class, min(most, before + SHRINK_BATCH), shrink);
		vain = shrink->entries == before ? vain + compared : 0;
		cond_resched();
	}
}

static unsigned long shrink_scan(struct shrinker *self, struct shrink_control *control)
{
	unsigned long most = control->nr_to_scan, until = jiffies + SHRINK_LASTS;
	struct shrink shrink = {};

	shrink_class(control, HB_PLAIN, most, until, &shrink);
	shrink_class(control, HB_LEASES, most, until, &shrink);
	if ((wait_for_limbo(shrink.bytes) && is_memory_free()) || !shrink.entries)
		return SHRINK_STOP;
	return shrink.entries;
}

/* Registers the shrinker. Returns 0 or -ENOMEM. */
int hb_shrink_init(void)
{
	int err;

	shrinker = hb_shrinker_new(shrink_count, shrink_scan);
	if (!shrinker)
		return -ENOMEM;
	err = hb_marks_init(shrinker);
	if (err) {
		hb_shrinker_free(shrinker);
		return err;
	}
	/* Pairs with the acquire in shrink_count(). */
	smp_store_release(&ready, true);
	hb_shrinker_register(shrinker);
	return 0;
}

void hb_shrink_exit(void)
{
	hb_shrinker_free(shrinker);
	ready = false;
	hb_marks_exit();
}
