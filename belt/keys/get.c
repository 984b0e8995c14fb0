// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parts of a get that get.h does not inline: the entry in the index was replaced, cleared or
 * has expired; an old value is wanted; the get touches. docs/design.md, "The atomic word", says why
 * a get takes no lock. Entries that these functions return are the belt's, and valid under RCU.
 */
#include "belt/belt.h"
#include "belt/ground/trace.h"
#include "belt/shard/shard.h"
#include "get.h"

/*
 * Return: the version of an entry, or 0 if the entry is cleared. Waits while a put overwrites the
 * entry; that put does not sleep.
 */
static inline u64 see_version(const struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	/* Pairs with smp_store_release() in overwrite(). */
	u64 version = smp_cond_load_acquire(&entry->version, VAL);

	return version > READ_ONCE(belt->floor) ? version : 0;
}

/*
 * The slow half of hb_find_in(). @entry, that of the key in the index, may be cleared, claimed, or
 * past its deadline. Goes on from a replaced entry to the one that has replaced it. Seals a
 * deadline that is reached before it reports a miss.
 */
struct hashbelt_entry *hb_find_again(struct hashbelt_belt *belt, u32 hash,
				     struct hashbelt_entry *entry, u64 now, struct hb_seen *seen,
				     u32 *gone)
{
	u64 version;
	u32 why = 0;
	s64 word;

	for (;;) {
		version = see_version(belt, entry);
		if (!version) {
			why = gone ? hb_why_gone(&belt->index, hash, false) : 0;
			break;
		}
		word = atomic64_read(&entry->node.deadline);
		if (word > (s64)now) {
			*seen = (struct hb_seen){ .version = version, .deadline = word };
			return entry;
		}
		why = word < 0 ? hb_reason(word) : HASHBELT_EXPIRED;
		if (word < 0 && why == HASHBELT_REPLACED)
			entry = hb_index_successor(entry);
		else if (word < 0 || hb_node_seal(&entry->node, word))
			break;
		/* Otherwise the word has changed just now. */
	}
	if (gone)
		*gone = why;
	return NULL;
}

/* @seen is for hb_hit_stale(). Return: true if the entry has a value, perhaps an old one. */
static bool see_stale(const struct hashbelt_belt *belt, struct hashbelt_entry *entry, u64 now,
		      struct hb_seen *seen)
{
	s64 word;

	seen->version = see_version(belt, entry);
	if (!seen->version)
		return false;
	word = atomic64_read(&entry->node.deadline);
	seen->deadline = word;
	return word > 0 && hb_deadline(word) + READ_ONCE(belt->settings.grace) > now;
}

/*
 * hashbelt_find() that also finds an entry in its grace time. The get ends with hb_hit_stale(), to
 * which it passes @seen.
 */
struct hashbelt_entry *hb_find_stale(struct hashbelt_belt *belt, const void *key,
				     u32 key_len, u64 now, struct hb_seen *seen)
{
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *entry;

	entry = hb_index_find(&belt->index, hash, key, key_len);
	if (entry && see_stale(belt, entry, now, seen))
		return entry;
	/* A put unlinks an old value before it links the new one: only the lock shows neither. */
	spin_lock(&shard->lock);
	entry = hb_find_locked(shard, hash, key, key_len);
	if (entry && !see_stale(belt, entry, now, seen))
		entry = NULL;
	spin_unlock(&shard->lock);
	return entry;
}

/*
 * Completes a get with the entry from hb_find_stale(), as hashbelt_hit(). For an old value it
 * returns 0 as @ttl_ms.
 */
bool hb_hit_stale(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		  struct hashbelt_item *item, u64 now, struct hb_seen seen)
{
	s64 word = atomic64_read(&entry->node.deadline);

	/* The key may just have been put or refreshed. */
	if (word > (s64)now)
		return hb_hit(belt, entry, item, now,
			      (struct hb_seen){ .version = seen.version, .deadline = word });
	item->flags = READ_ONCE(entry->flags);
	if (!hb_is_unchanged(entry, seen))
		return false;
	hb_count(belt, HASHBELT_STAT_STALE);
	item->value_len = entry->value_len;
	item->ttl_ms = 0;
	item->version = seen.version;
	return true;
}

/*
 * Sets the deadline of an entry that was found under RCU. The copy in a window has the deadline,
 * too. Return: the deadline that holds now; HB_GONE if it was too late; HB_ELSEWHERE if the entry
 * was replaced, or if a put has overwritten the value since @seen. On a belt whose puts overwrite,
 * only the shard's lock excludes that. So what the caller has read of the entry before belongs to
 * the deadline that was set. Under RCU.
 */
u64 hb_set_deadline(struct hashbelt_belt *belt, struct hashbelt_entry *entry, u64 now, u64 to,
		    struct hb_seen seen)
{
	struct hb_shard *shard = hb_shard_of(belt, hb_hash_of(entry));
	u64 is;

	if (!READ_ONCE(belt->overwrites) && !rcu_access_pointer(belt->window)) {
		if (!hb_is_unchanged(entry, seen))
			return HB_ELSEWHERE;
		is = hb_node_move(&entry->node, now, to, false);
		if (is <= to)
			return is;
	}
	spin_lock(&shard->lock);
	is = entry->version == seen.version ? hb_set_deadline_locked(shard, entry, now, to) :
					      HB_ELSEWHERE;
	spin_unlock(&shard->lock);
	return is;
}

/* hb_hit() with HASHBELT_AND_TOUCH. */
bool hb_touch_hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		  struct hashbelt_item *item, u64 now, struct hb_seen seen)
{
	item->flags = READ_ONCE(entry->flags);
	seen.deadline = hb_set_deadline(belt, entry, now, hb_deadline_of(belt, now, item->ttl_ms),
					seen);
	if (seen.deadline <= now)
		return false;
	hb_end_hit(belt, entry, item, now, seen);
	hb_count(belt, HASHBELT_STAT_TOUCHES);
	return true;
}

/* Counts a miss of a get with @how, and traces it. @gone: why the key left, or 0. */
void hb_miss(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 gone, u32 how)
{
	if (trace_hashbelt_get_enabled())
		trace_hashbelt_get(belt->id, key, key_len, 0, gone);
	if (unlikely(how & HASHBELT_NO_REFRESH))
		return;
	hb_count(belt, HASHBELT_STAT_MISSES);
	if (gone == HASHBELT_EXPIRED)
		hb_count(belt, HASHBELT_STAT_MISSES_EXPIRED);
	else if (gone == HASHBELT_EVICTED || gone == HASHBELT_PRESSURE)
		hb_count(belt, HASHBELT_STAT_MISSES_EVICTED);
}

/*
 * Checks the @how and @ttl_ms of a get, and makes the levels that a touch needs. Return: 0 or
 * -EINVAL. Context: may sleep.
 */
int hb_get_prepare(struct hashbelt_belt *belt, const void *key, u32 key_len,
		   const struct hashbelt_item *item)
{
	if (likely(!(item->how & HASHBELT_AND_TOUCH)))
		return 0;
	if (!hb_ttl_is_plain(item->ttl_ms) || item->how & HASHBELT_NO_REFRESH)
		return -EINVAL;
	hb_make_levels(belt, hb_hash(belt, key, key_len), item->ttl_ms);
	return 0;
}
