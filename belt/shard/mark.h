/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_MARK_H
#define _HASHBELT_MARK_H

#include <linux/list_lru.h>

#include "belt/belt.h"
#include "belt/ground/compat.h"

/**
 * struct hb_mark - stands for a belt in the list of the memory cgroup that it was made in
 * @place:	in that list
 * @belt:	the belt, which is freed a grace period after its mark
 *
 * list_lru finds the cgroup of an object by its slab, which a belt has not: it may be of pages.
 */
struct hb_mark {
	struct list_head place;
	struct hashbelt_belt *belt;
};

extern struct list_lru hb_marks;

int hb_marks_init(struct shrinker *shrinker);
void hb_marks_exit(void);
int hb_mark_new(struct hashbelt_belt *belt);
void hb_mark_free(struct hashbelt_belt *belt);
void hb_mark_list(struct hashbelt_belt *belt);
enum lru_status hb_mark_unlist(struct hb_mark *mark, struct list_lru_one *list);
u64 hb_live_entries(struct hashbelt_belt *belt);

static inline bool hb_may_shrink(const struct hashbelt_belt *belt)
{
	return !(READ_ONCE(belt->settings.policy) & HASHBELT_PINNED);
}

/*
 * The belt may just have become one for the shrinker: an entry has come into a shard that had none,
 * or it was unpinned. Context: the shard's lock, or all shards'.
 */
static inline void hb_mark_changed(struct hashbelt_belt *belt)
{
	/* Pairs with the barrier in hb_mark_unlist(): that sees the change, or this @listed. */
	smp_mb();
	if (unlikely(!READ_ONCE(belt->listed)))
		hb_mark_list(belt);
}

#endif /* _HASHBELT_MARK_H */
