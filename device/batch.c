// SPDX-License-Identifier: GPL-2.0-only
/*
 * Batches. Plain gets that follow each other are a run, and so are plain puts of one size class.
 * Gets of a run may ask for a slot of the window. Each step of all items of a run is made before
 * the next step, so that they wait together for what is not in the processor's caches. Other items
 * are made one by one, as their ioctls make them.
 *
 * The items, keys and values of a run are read before its first item is made.
 */
#include <linux/sched/signal.h>

#include "belt/events/limbo.h"
#include "belt/ground/compat.h"
#include "belt/keys/put.h"
#include "belt/shard/window.h"
#include "calls.h"
#include "item.h"
#include "step.h"

/* Copies out what an item of a batch returns: where there is no entry, the result alone. */
static __always_inline int return_result(struct hashbelt_item __user *to,
					 const struct hashbelt_item *item)
{
	return item->result != -ENOENT ? hb_return_item(to, item, true) :
					 put_user(item->result, &to->result);
}

/*
 * Copies out what an item returns that may have failed: of a get only what it returns then, because
 * the rest was not read.
 */
static int return_got(struct hashbelt_item __user *to, const struct hashbelt_item *item)
{
	if (!item->result || item->op != HASHBELT_OP_GET)
		return return_result(to, item);
	if (item->result == -ERANGE && put_user(item->value_len, &to->value_len))
		return -EFAULT;
	return put_user(item->result, &to->result);
}

/* Gets or puts of a batch that are made in one go, and the words that the keys of gets may take. */
#define RUN_MAX		HB_BUNDLE
#define RUN_WORDS	64

/**
 * struct get - a get of a run
 * @key:	where its key is in user space
 * @chain:	that of the key in the index's table
 * @value:	where its value is to be copied to
 * @words:	the kernel's copy of the key, in the words of the run
 * @value_len:	of the item
 * @how:	of the item
 * @hash:	of the key
 * @key_len:	of the item
 */
struct get {
	u64 key;
	struct hlist_head *chain;
	u64 value;
	u64 *words;
	u32 value_len;
	u32 how;
	u32 hash;
	u32 key_len;
};

/**
 * struct gets - the plain gets with which the rest of a batch begins
 * @gets:	the gets
 * @words:	their keys, in words
 */
struct gets {
	struct get gets[RUN_MAX];
	u64 words[RUN_WORDS];
};

/* The user memory from @first on, up to @end. */
struct extent {
	u64 first;
	u64 end;
};

/*
 * Copies in the plain gets with which @items begins, @count at most, whose keys have room in a run.
 * Return: their number; @keys: returned: the extent of these keys.
 */
static __always_inline u32 read_gets(struct gets *run, const struct hashbelt_item __user *items,
				     u32 count, struct extent *keys)
{
	struct get *get = run->gets;
	struct hashbelt_item item HB_UNINITIALIZED;
	u64 *words = run->words;
	u32 n = 0;
	u64 bits = 0;

	if (!user_read_access_begin(items, count * sizeof(*items)))
		return 0;
	/* By pointers: a check of an index would be a call, which is not allowed here. */
	for (; n < count; n++, get++) {
		unsafe_get_user(item.op, &items[n].op, end);
		unsafe_get_user(item.how, &items[n].how, end);
		unsafe_get_user(item.reserved, &items[n].reserved, end);
		unsafe_get_user(item.key_len, &items[n].key_len, end);
		get->how = item.how;
		item.how &= ~HASHBELT_TO_WINDOW;
		if (!hb_is_plain_get(&item, HASHBELT_OP_GET))
			break;
		get->key_len = item.key_len;
		get->words = words;
		words += DIV_ROUND_UP(item.key_len, sizeof(u64));
		if (words > run->words + RUN_WORDS)
			break;
		unsafe_get_user(item.key, &items[n].key, end);
		unsafe_get_user(item.value, &items[n].value, end);
		unsafe_get_user(item.value_len, &items[n].value_len, end);
		get->key = item.key;
		get->value = item.value;
		get->value_len = item.value_len;
		bits |= item.key;
		keys->first = min(keys->first, item.key);
		keys->end = max(keys->end, item.key + item.key_len);
	}
end:
	user_read_access_end();
	/* The end of a key may be beyond the last address: then @keys would not contain it. */
	return (s64)bits < 0 ? 0 : n;
}

/*
 * Copies the keys of gets in, which lie in the extent @keys. Return: the number of the gets up to
 * the first whose key cannot be copied.
 */
static __always_inline u32 read_keys(struct gets *run, u32 count, const struct extent *keys)
{
	struct get *get = run->gets;
	u32 n;

	if (!user_read_access_begin(u64_to_user_ptr(keys->first), keys->end - keys->first))
		return 0;
	/* By pointers, as in read_gets(). */
	for (n = 0; n < count; n++, get++)
		if (hb_read_key((u8 *)get->words, get->key, get->key_len))
			break;
	user_read_access_end();
	return n;
}

/* Hashes the keys of gets, and begins to load what these will look at. */
static __always_inline void find_chains(struct hashbelt_belt *belt, struct hb_table *table,
					struct gets *run, u32 count)
{
	struct get *get;
	u32 n;

	for (n = 0; n < count; n++) {
		get = &run->gets[n];
		get->hash = hb_hash_words(belt, get->words, get->key_len);
		get->chain = hb_chain(table, get->hash);
		prefetch(get->chain);
	}
	for (n = 0; n < count; n++)
		hb_chain_prefetch(run->gets[n].chain);
}

/* A get of a run. Return: its result, or an error of hb_give(). */
static __always_inline int make_get(struct hashbelt_belt *belt, struct hb_table *table,
				    const struct get *get, struct hashbelt_item *item, u64 now)
{
	const u64 *key = get->words;
	/* Where the other bits are known to be 0, they are not compared. */
	u32 hash = get->hash & HB_HASH;
	struct hashbelt_entry *entry;
	struct hb_seen seen HB_UNINITIALIZED;
	u32 gone = 0, len;

	item->key_len = get->key_len;
	item->how = get->how;
	item->value = get->value;
	item->value_len = get->value_len;
	entry = hb_table_walk(table, get->chain, hash, key, get->key_len, true, false);
	entry = hb_find_in(belt, hash, entry, now, &seen, &gone);
	return hb_give(belt, item, key, entry, now, HB_GET_RUN, seen, gone, &len);
}

/*
 * Makes the gets of a run, at one belt time. Return: their number up to one that has to be tried
 * again, or whose result cannot be copied out: then that is in @got, and @made is set.
 */
static __always_inline u32 make_gets(struct hashbelt_belt *belt, struct hb_table *table,
				     struct gets *run, u32 count,
				     struct hashbelt_item __user *items,
				     struct hashbelt_item *got, bool *made)
{
	u64 now = hb_clock_now(&belt->clock);
	struct hashbelt_item item HB_UNINITIALIZED;
	u32 done;

	for (done = 0; done < count; done++) {
		item.result = make_get(belt, table, &run->gets[done], &item, now);
		if (!hb_is_done(item.result) || return_result(&items[done], &item)) {
			*got = item;
			got->op = HASHBELT_OP_GET;
			*made = true;
			break;
		}
		if (item.how & HASHBELT_TO_WINDOW && !item.result)
			hb_window_offer(belt, run->gets[done].words, item.key_len, item.value_len);
		/* A run ends with a long value: the task does not reschedule in a run. */
		if (item.value_len > HB_WORDS_MAX && !item.result)
			return done + 1;
	}
	return done;
}

/*
 * Goes on with a get of a run whose first try has failed, with the kernel's copies of item and key.
 * @got: returned: what is to be copied out.
 */
static noinline void get_run_again(struct hashbelt_belt *belt, const struct gets *run, u32 n,
				   struct hashbelt_item *got)
{
	const struct get *from = &run->gets[n];

	*got = (struct hashbelt_item){
		.op = HASHBELT_OP_GET, .how = from->how, .key = from->key,
		.key_len = from->key_len, .value = from->value, .value_len = from->value_len,
	};
	got->result = hb_get(belt, got, from->words, HB_GET_PLAIN);
}

/*
 * Makes the plain gets with which @items begins, RUN_MAX at most, in one RCU read-side section and
 * without page faults. Return: their number. If @made, there is one more, whose result has not been
 * copied out, and is in @got.
 *
 * A step of all gets is made before the next step: they wait together for what is not in the
 * processor's caches, and not one after the other.
 */
static u32 get_run(const struct hb_session *session, struct hashbelt_item __user *items, u32 count,
		   struct hashbelt_item *got, bool *made)
{
	struct hashbelt_belt *belt = session->named->belt;
	struct extent keys = { .first = ~0ULL };
	struct gets run HB_UNINITIALIZED;
	struct hb_table *table;
	u32 done;

	if (!(session->access & HASHBELT_MAY_READ))
		return 0;
	rcu_read_lock();
	pagefault_disable();
	table = rcu_dereference(belt->index.table);
	count = read_gets(&run, items, min_t(u32, count, RUN_MAX), &keys);
	count = read_keys(&run, count, &keys);
	find_chains(belt, table, &run, count);
	done = make_gets(belt, table, &run, count, items, got, made);
	pagefault_enable();
	rcu_read_unlock();
	if (*made && !hb_is_done(got->result))
		get_run_again(belt, &run, done, got);
	if (hb_wipes(belt))
		memzero_explicit(run.words, sizeof(run.words));
	return done;
}

/**
 * struct puts - the plain puts with which the rest of a batch begins, of one size class
 * @stock:	objects for their entries
 * @entries:	the entries
 * @items:	the items
 */
struct puts {
	struct hb_bundle stock;
	struct hashbelt_entry *entries[RUN_MAX];
	struct hashbelt_item items[RUN_MAX];
};

/* Nothing about the item is wrong, and its entry is in no list of a client. */
static __always_inline bool is_plain_put(const struct hashbelt_item *item)
{
	return item->op == HASHBELT_OP_PUT && !(item->how & ~HB_PUT_CONDITIONS) &&
	       hb_is_put(item) && !item->reserved && item->key_len - 1 < HASHBELT_KEY_MAX &&
	       item->value_len <= HB_FINE_MAX;
}

/* Under user_read_access_begin(). */
static __always_inline int read_item(struct hashbelt_item *item,
				     const struct hashbelt_item __user *from)
{
	unsigned int i;

#ifndef __clang__
	#pragma GCC unroll 8
#endif
	for (i = 0; i < sizeof(*item) / sizeof(u64); i++)
		unsafe_get_user(((u64 *)item)[i], (const u64 __user *)from + i, fault);
	return 0;
fault:
	return -EFAULT;
}

/* Copies in the plain puts with which @items begins, @count at most. Return: their number. */
static __always_inline u32 read_puts(struct puts *run, const struct hashbelt_item __user *items,
				     u32 count)
{
	struct hashbelt_item *item = run->items;
	u32 n;

	if (!user_read_access_begin(items, count * sizeof(*items)))
		return 0;
	/* By pointers, as in read_gets(). */
	for (n = 0; n < count; n++, item++)
		if (read_item(item, &items[n]) || !is_plain_put(item) ||
		    !hb_is_one_class(hb_put_size(item), hb_put_size(run->items)))
			break;
	user_read_access_end();
	return n;
}

/*
 * Makes the entries of puts. Return: the number of those up to the first whose key or value
 * cannot be copied.
 */
static __always_inline u32 read_entries(struct hashbelt_belt *belt, struct puts *run, u32 count)
{
	const struct hashbelt_item *item;
	struct hashbelt_entry *entry;
	u32 n;

	for (n = 0; n < count; n++) {
		item = &run->items[n];
		entry = hb_entry_take(&run->stock, item->key_len, item->value_len);
		if (!entry)
			break;
		if (hb_copy_in(entry, item)) {
			hashbelt_entry_put(belt, entry);
			break;
		}
		entry->flags = item->flags;
		run->entries[n] = entry;
	}
	return n;
}

/* Hashes the keys of puts, and begins to load what these will look at. */
static __always_inline void look_ahead(struct hashbelt_belt *belt, struct puts *run, u32 count)
{
	struct hashbelt_entry *entry;
	struct hb_table *table;
	u32 n;

	rcu_read_lock();
	table = rcu_dereference(belt->index.table);
	for (n = 0; n < count; n++) {
		entry = run->entries[n];
		hb_entry_hash(belt, entry);
		prefetch(hb_chain(table, entry->hash));
	}
	for (n = 0; n < count; n++)
		hb_chain_prefetch(hb_chain(table, run->entries[n]->hash));
	rcu_read_unlock();
}

/*
 * Makes the puts of a run. Entries that are not needed become stock. Return: the number of puts up
 * to one whose result cannot be copied out: then that is in @got, and @made is set.
 */
static __always_inline u32 make_puts(struct hashbelt_belt *belt, struct puts *run, u32 count,
				     struct hashbelt_item __user *items,
				     struct hashbelt_item *got, bool *made)
{
	struct hashbelt_entry *entry;
	struct hashbelt_item *item;
	int outcome, err;
	u32 done;

	for (done = 0; done < count; done++) {
		item = &run->items[done];
		entry = run->entries[done];
		outcome = hb_put(belt, entry, item, HB_PUT_ENTRY);
		if (outcome == HB_PUT_COPIED) {
			hb_wipe_copy(belt, entry, item);
			hb_bundle_give_back(&run->stock, entry, hb_put_size(item));
		}
		item->result = min(outcome, 0);
		pagefault_disable();
		err = return_result(&items[done], item);
		pagefault_enable();
		if (err) {
			*got = *item;
			*made = true;
			break;
		}
		cond_resched();
	}
	return done;
}

/*
 * Makes the plain puts with which @items begins, RUN_MAX at most, whose entries are of one size
 * class. Their memory is allocated together. Each step of all puts is made before the next step.
 * Return: their number. If @made, there is one more, whose result is in @got.
 */
static __always_inline u32 put_some(struct hashbelt_belt *belt, struct puts *run,
				    struct hashbelt_item __user *items, u32 count,
				    struct hashbelt_item *got, bool *made)
{
	u32 n, done;

	pagefault_disable();
	count = read_puts(run, items, min_t(u32, count, RUN_MAX));
	pagefault_enable();
	if (count < 2)
		return 0;
	hb_bundle_fill(&run->stock, hb_put_size(run->items), count);
	pagefault_disable();
	count = read_entries(belt, run, count);
	pagefault_enable();
	look_ahead(belt, run, count);
	done = make_puts(belt, run, count, items, got, made);
	for (n = done + *made; n < count; n++)
		hashbelt_entry_put(belt, run->entries[n]);
	return done;
}

/*
 * Makes the plain puts with which @items begins, as long as they are many. The entries that one run
 * does not need serve the next run. Neither an entry nor memory for one is held while the task
 * waits for a page fault. Return: their number. If @made, there is one more, whose result is in
 * @got.
 */
static u32 put_run(const struct hb_session *session, struct hashbelt_item __user *items, u32 count,
		   struct hashbelt_item *got, bool *made)
{
	struct hashbelt_belt *belt = session->named->belt;
	struct puts run HB_UNINITIALIZED;
	u32 done = 0, n;

	if (!(session->access & HASHBELT_MAY_WRITE))
		return 0;
	hb_bundle_init(&run.stock, belt->account);
	do {
		n = put_some(belt, &run, items + done, count - done, got, made);
		done += n;
	} while (n == RUN_MAX && done < count && !signal_pending(current));
	hb_bundle_free(&run.stock);
	return done;
}

/* Makes one item of a batch. -EFAULT: it cannot be read, or written to. */
static int do_one(struct hb_session *session, struct hashbelt_item __user *at)
{
	struct hashbelt_item item HB_UNINITIALIZED;

	if (hb_copy_words(&item, at, sizeof(item)))
		return -EFAULT;
	item.result = hb_item(session, &item, item.op);
	return hb_return_item(at, &item, true);
}

/*
 * Makes the items of a batch, until one cannot be copied or a signal is there. Return: the number
 * of items that were made.
 */
static u32 do_items(struct hb_session *session, struct hashbelt_item __user *items, u32 count)
{
	struct hashbelt_item got;
	u32 done = 0, run, op;
	bool made;

	while (done < count && !signal_pending(current) && !get_user(op, &items[done].op)) {
		made = false;
		run = 0;
		if (op == HASHBELT_OP_GET)
			run = get_run(session, &items[done], count - done, &got, &made);
		else if (op == HASHBELT_OP_PUT)
			run = put_run(session, &items[done], count - done, &got, &made);
		done += run;
		if (made || !run) {
			if (made ? return_got(&items[done], &got) :
				   do_one(session, &items[done]))
				break;
			done++;
		}
		cond_resched();
	}
	return done;
}

int hb_call_batch(const struct hb_call *call, void *arg)
{
	struct hashbelt_batch *batch = arg;

	if (!batch->count || batch->flags || batch->reserved)
		return -EINVAL;
	if (batch->count > HASHBELT_BATCH_MAX)
		return -E2BIG;
	batch->done = do_items(call->session, u64_to_user_ptr(batch->items), batch->count);
	if (!batch->done)
		return signal_pending(current) ? -EINTR : -EFAULT;
	return 0;
}
