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
 * could call the shrinker, and it waits for this module's own work for at most LIMBO_WAIT_LONG
 * each time.
 */
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/swap.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "belt/belt.h"
#include "belt/events/limbo.h"
#include "belt/ground/compat.h"
#include "belt/ground/pace.h"
#include "belt/shard/mark.h"
#include "evict.h"
#include "hand.h"
#include "nearest.h"
#include "shrink.h"

/*
 * Entries that the shrinker takes from a belt before it compares belts again. With 100 belts of 100
 * entries, an entry takes 15,100 instructions with 1, 2700 with 16, and 1800 with 128
 * (tests/memory/evict_test.c). With 128, limit_test.c finds the order of deadlines violated.
 */
#define SHRINK_BATCH	16UL

/*
 * Bytes that the shrinker has in limbo before direct reclaim waits for them to be freed, and for
 * how many jiffies at most. With 1 MiB, and waits of 50 ms whatever limbo does, a cgroup kept 65 of
 * 100 entries for which it had memory on Linux 6.1 (tests/memory/cgroup_test.c).
 */
#define LIMBO_MUCH	SZ_512K
#define LIMBO_WAIT	DIV_ROUND_UP(HZ, 5)

/*
 * How many jiffies it waits where the system is short of memory, since the OOM killer comes next:
 * two grace periods may take more than LIMBO_WAIT where the processor is shared, and on Linux 5.10
 * the OOM killer then ended a process beside a belt of 100 MiB (tests/memory/squeeze_test.c).
 */
#define LIMBO_WAIT_LONG	(2 * HZ)

/* Bytes that a reclaim gets at most where the memory of a cgroup is within its limits. */
#define ENOUGH		SZ_256K

/*
 * Belts that the shrinker compares at a time, under the lock of their list. With 2000 belts of five
 * entries, an entry takes 5700 instructions; it took 52,000 when all belts were compared
 * (tests/memory/evict_test.c).
 */
#define COMPARE_MOST	64UL

/*
 * How often a call of the shrinker compares belts before it ends with the entries that it has. If
 * the next ones are of one of 131,072 belts, it compares all of them, at 127 instructions a belt,
 * for each batch. A bound in time would end calls without an entry on a slow machine, and the
 * kernel would not call again (tests/memory/behind_test.c).
 */
#define COMPARE_ROUNDS	1024UL

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
 * The system has memory, or page cache to reclaim: a memory cgroup is at its limit. The kernel does
 * not tell a shrinker which of the two it is.
 */
static bool is_memory_free(void)
{
	return si_mem_available() > (long)(totalram_pages() / 32);
}

/*
 * Bytes that a memory cgroup, and each cgroup above it, has left below its limits; negative if one
 * has exceeded a limit.
 */
static s64 room_of(struct mem_cgroup *memcg)
{
	s64 room = S64_MAX >> PAGE_SHIFT;
#ifdef CONFIG_MEMCG
	s64 limit;

	for (; memcg; memcg = parent_mem_cgroup(memcg)) {
		limit = min(READ_ONCE(memcg->memory.max), READ_ONCE(memcg->memory.high));
		room = min(room, limit - (s64)page_counter_read(&memcg->memory));
	}
#endif
	return room * PAGE_SIZE;
}

/*
 * About so many entries: as many in each belt as in the next ones. Each belt that is taken out of
 * the list was added by a put. Belts that are added meanwhile count as an entry each.
 */
static unsigned long shrink_count(struct shrinker *self, struct shrink_control *control)
{
	struct sample counted = {};
	unsigned long left, belts;

	/* Pairs with the release in hb_shrink_init(). */
	if (!smp_load_acquire(&ready))
		return SHRINK_EMPTY;
	/* Where all entries are in limbo, shrink_scan() is not called. */
	if (!is_memory_free() || room_of(control->memcg) < ENOUGH)
		hb_hurry();
	for (left = belts_of(control); left && !counted.belts; left -= min(left, COMPARE_MOST)) {
		rcu_read_lock();
		walk(control, count_belt, &counted);
		rcu_read_unlock();
		cond_resched();
	}
	belts = belts_of(control);
	if (!belts)
		return SHRINK_EMPTY;
	return counted.belts ? div64_ul(counted.entries * belts, counted.belts) : belts;
}

/**
 * struct comparison - for the belt whose next entry has the least time left
 * @class:	of that entry
 * @best:	returned: the belt, or NULL
 * @least:	returned: the time left, nanoseconds
 */
struct comparison {
	enum hb_class class;
	struct hashbelt_belt *best;
	s64 least;
};

static enum lru_status compare_belt(HB_LRU_WALK_ARGS)
{
	struct hb_mark *mark = container_of(item, struct hb_mark, place);
	struct hashbelt_belt *belt = mark->belt;
	struct comparison *found = arg;
	struct hb_search search = { .class = found->class };
	s64 left;

	hb_search_shard(belt, &search);
	left = search.least - hb_clock_now(&belt->clock);
	if (search.least == HB_NOTHING || !hb_may_shrink(belt))
		return hb_mark_unlist(mark, list);
	if (left < found->least) {
		found->least = left;
		found->best = belt;
	}
	return LRU_ROTATE;
}

/**
 * struct drain - of what the shrinker has evicted, and limbo has not freed
 * @work:	runs a grace period after it was queued; queues itself until all is freed
 * @bytes:	in limbo. It is an estimate: entries stay that a reader has, or that became events
 * @covered:	of these, what was in limbo when the work was queued; changed by the work only
 * @rounds:	how often the work has run; changed by the work only
 * @wait:	tasks that wait for the work
 */
static struct drain {
	struct rcu_work work;
	atomic_long_t bytes;
	long covered;
	unsigned int rounds;
	wait_queue_head_t wait;
} drain = { .wait = __WAIT_QUEUE_HEAD_INITIALIZER(drain.wait) };

/* Entries that entered limbo while a round of their shard went on may be freed one round later. */
static void end_round(struct work_struct *work)
{
	atomic_long_sub(drain.covered, &drain.bytes);
	WRITE_ONCE(drain.rounds, drain.rounds + 1);
	/*
	 * Pairs with the barrier in wait_for_limbo(): that counts from this round on, or its bytes
	 * are read below.
	 */
	smp_mb();
	drain.covered = atomic_long_read(&drain.bytes);
	if (drain.covered)
		queue_rcu_work(hb_limbo_wq, &drain.work);
	wake_up_all(&drain.wait);
}

static void add_to_drain(size_t bytes)
{
	if (!bytes)
		return;
	atomic_long_add(bytes, &drain.bytes);
	queue_rcu_work(hb_limbo_wq, &drain.work);
}

/**
 * enum limbo_wait - how a wait for limbo has ended
 * @LIMBO_NONE:	there was no need to wait, or the task may not wait, or it was killed
 * @LIMBO_FREED:	limbo has freed memory
 * @LIMBO_LATE:	it has not, in limbo_patience()
 */
enum limbo_wait { LIMBO_NONE, LIMBO_FREED, LIMBO_LATE };

/* How many jiffies direct reclaim waits for limbo at most. */
static unsigned long limbo_patience(void)
{
	return is_memory_free() ? LIMBO_WAIT : LIMBO_WAIT_LONG;
}

/*
 * Evicted entries are freed only after a grace period and by a worker. Direct reclaim does not see
 * that: it would evict far more than it needs, and then call the OOM killer. So it waits until
 * limbo has less than @much of the shrinker's, or has freed what was there when the wait began,
 * however much other tasks add. Workers and kswapd do not wait.
 */
static enum limbo_wait wait_for_limbo(s64 much)
{
	unsigned int begun;
	long left;

	/* Pairs with end_round(). */
	smp_mb();
	begun = READ_ONCE(drain.rounds);
	if (atomic_long_read(&drain.bytes) < much || !(current->flags & PF_MEMALLOC) ||
	    fatal_signal_pending(current) || current->flags & (PF_KSWAPD | PF_WQ_WORKER))
		return LIMBO_NONE;
	/* Entries that come while the work runs are freed when it has run once more. */
	left = wait_event_killable_timeout(drain.wait,
					   atomic_long_read(&drain.bytes) < much ||
					   READ_ONCE(drain.rounds) - begun >= 2, limbo_patience());
	/* A task that the OOM killer has chosen meanwhile is to end, not to wait. */
	if (left < 0)
		return LIMBO_NONE;
	return left ? LIMBO_FREED : LIMBO_LATE;
}

/*
 * Waits where limbo has @much or more, or as much as the cgroup lacks. Where the system is short of
 * memory, reclaim needs all that it asks for. Return: true if the reclaim is to get no more after a
 * wait: its cgroup has room, or lacks what limbo has and cannot free yet, since more entries would
 * come back no sooner.
 */
static bool leaves_it_to_limbo(const struct shrink_control *control, s64 much)
{
	s64 room = room_of(control->memcg);
	bool lacks = room < much;

	if (room > 0 && lacks)
		much -= room;
	switch (wait_for_limbo(much)) {
	case LIMBO_FREED:
		return is_memory_free() && room_of(control->memcg) >= ENOUGH;
	case LIMBO_LATE:
		return is_memory_free() && lacks;
	default:
		return false;
	}
}

/*
 * The present reclaim was given ENOUGH, and its cgroup has room. The kernel does not tell a
 * shrinker how much it needs, and from 6.4 on does not count what it gives to reclaim for a cgroup:
 * it would ask for all entries in the end. kswapd, which counts it, gets what it asks for.
 */
static bool has_enough(const struct shrink_control *control)
{
	return !current_is_kswapd() && hb_reclaimed_pages() * PAGE_SIZE >= ENOUGH &&
	       room_of(control->memcg) >= ENOUGH;
}

/**
 * struct shrink - what a call of the shrinker has done
 * @rounds:	how often it has compared belts
 * @entries:	number of entries that it has evicted
 * @bytes:	their sizes
 */
struct shrink {
	unsigned long rounds;
	unsigned long entries;
	size_t bytes;
};

/*
 * Evicts entries of a class from the best of the next belts, until @most are evicted. Return: the
 * number of belts that need not be compared again: none if the best one had entries; that one if it
 * had none, since its bounds are exact now; all that were compared if there was no best.
 */
static unsigned long shrink_next(const struct shrink_control *control, enum hb_class class,
				 unsigned long most, struct shrink *shrink)
{
	struct comparison found = { .class = class, .least = S64_MAX };
	unsigned long before = shrink->entries;
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
	shrink->rounds++;
	if (shrink->entries > before)
		return 0;
	return found.best ? 1 : COMPARE_MOST;
}

/*
 * Evicts entries of a class until @most are evicted, no belt has one, some are evicted and
 * COMPARE_ROUNDS are over, or this task is to die.
 */
static void shrink_class(const struct shrink_control *control, enum hb_class class,
			 unsigned long most, struct shrink *shrink)
{
	unsigned long left = belts_of(control), batch, vain;

	while (left && shrink->entries < most && !fatal_signal_pending(current) &&
	       (!shrink->entries || shrink->rounds < COMPARE_ROUNDS)) {
		batch = min(most, shrink->entries + SHRINK_BATCH);
		vain = shrink_next(control, class, batch, shrink);
		left = vain ? left - min(left, vain) : belts_of(control);
		cond_resched();
	}
}

static unsigned long shrink_scan(struct shrinker *self, struct shrink_control *control)
{
	unsigned long most = control->nr_to_scan;
	struct shrink shrink = {};

	/* Memory that limbo frees need not be evicted. */
	hb_hurry();
	/* Entries that other tasks have evicted may be enough once they are freed. */
	if (has_enough(control) || leaves_it_to_limbo(control, LIMBO_MUCH))
		return SHRINK_STOP;
	shrink_class(control, HB_PLAIN, most, &shrink);
	shrink_class(control, HB_LEASES, most, &shrink);
	hb_add_reclaimed_pages(DIV_ROUND_UP(shrink.bytes, PAGE_SIZE));
	add_to_drain(shrink.bytes);
	if (has_enough(control)) {
		/* Without page cache, the OOM killer would come before limbo has freed anything. */
		if (!is_memory_free())
			wait_for_limbo(1);
		return SHRINK_STOP;
	}
	if (leaves_it_to_limbo(control, shrink.entries ? LIMBO_MUCH : 1) || !shrink.entries)
		return SHRINK_STOP;
	return shrink.entries;
}

/* Registers the shrinker. Return: 0 or -ENOMEM. */
int hb_shrink_init(void)
{
	int err;

	INIT_RCU_WORK(&drain.work, end_round);
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
	while (atomic_long_read(&drain.bytes))
		flush_rcu_work(&drain.work);
	flush_rcu_work(&drain.work);
	ready = false;
	hb_marks_exit();
}
