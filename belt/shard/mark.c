// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of the belts among which the shrinker chooses. The shrinker looks at a part of the list
 * at a time, and belts with nothing to take would hide those behind them. So neither a belt without
 * entries nor a pinned one is to be in it: the task that puts the first entry into a shard, or that
 * unpins a belt, adds the belt, and the shrinker takes a belt out when it finds nothing to take.
 */
#include <linux/slab.h>

#include "belt/ground/compat.h"
#include "mark.h"

struct list_lru hb_marks;

static struct kmem_cache *mark_cache;

/* @shrinker: called for the cgroups in which there are marks. Return: 0 or -ENOMEM. */
int hb_marks_init(struct shrinker *shrinker)
{
	int err;

	mark_cache = KMEM_CACHE(hb_mark, SLAB_ACCOUNT);
	if (!mark_cache)
		return -ENOMEM;
	err = list_lru_init_memcg(&hb_marks, shrinker);
	if (err)
		kmem_cache_destroy(mark_cache);
	return err;
}

void hb_marks_exit(void)
{
	list_lru_destroy(&hb_marks);
	kmem_cache_destroy(mark_cache);
}

/* Makes the mark of a belt without entries. Return: 0 or -ENOMEM. Context: may sleep. */
int hb_mark_new(struct hashbelt_belt *belt)
{
	struct hb_mark *mark = kmem_cache_alloc_lru(mark_cache, &hb_marks, GFP_KERNEL);

	if (!mark)
		return -ENOMEM;
	INIT_LIST_HEAD(&mark->place);
	mark->belt = belt;
	belt->mark = mark;
	return 0;
}

/* The shrinker does not use the belt after a grace period. */
void hb_mark_free(struct hashbelt_belt *belt)
{
	struct hb_mark *mark = belt->mark;

	WRITE_ONCE(belt->mark, NULL);
	/* A task that adds the mark has a shard's lock. */
	hb_for_each_shard(shard, belt) {
		spin_lock(&shard->lock);
		spin_unlock(&shard->lock);
	}
	list_lru_del_obj(&hb_marks, &mark->place);
	kmem_cache_free(mark_cache, mark);
}

u64 hb_live_entries(struct hashbelt_belt *belt)
{
	u64 sum = 0;

	hb_for_each_shard(shard, belt)
		/* Benign race: without the shards' locks the sum is an estimate. */
		sum += data_race(READ_ONCE(shard->live));
	return sum;
}

/* Adds a belt to the list, if it is not pinned. Context: the shard's lock, or all shards'. */
void hb_mark_list(struct hashbelt_belt *belt)
{
	struct hb_mark *mark = READ_ONCE(belt->mark);

	/* It is NULL if the callback of a module puts into a belt that was given up. */
	if (!mark || !hb_may_shrink(belt))
		return;
	WRITE_ONCE(belt->listed, true);
	/* Does nothing if the belt is in the list, and waits for a walk that takes it out. */
	list_lru_add_obj(&hb_marks, &mark->place);
}

/*
 * Takes a belt out of the list, unless it has become one for the shrinker. Context: in a walk of
 * the list. Return: what the walk is to do.
 */
enum lru_status hb_mark_unlist(struct hb_mark *mark, struct list_lru_one *list)
{
	struct hashbelt_belt *belt = mark->belt;

	WRITE_ONCE(belt->listed, false);
	/* Pairs with the barrier in hb_mark_changed(): that sees @listed, or this the change. */
	smp_mb();
	if (!hb_may_shrink(belt) || !hb_live_entries(belt)) {
		list_lru_isolate(list, &mark->place);
		return LRU_REMOVED;
	}
	WRITE_ONCE(belt->listed, true);
	return LRU_ROTATE;
}
