// SPDX-License-Identifier: GPL-2.0-only
/*
 * The window of a belt. A reader of it takes part in no lock: each change that it must not miss
 * first empties the slot. docs/races.md has the order of the steps, docs/window.md the reader, and
 * docs/design.md says which entries get a slot.
 */
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "belt/ground/compat.h"
#include "window.h"

#define HEAT_STEP		8
#define HEAT_MOST		31

/* Sets that a task looks at before it gives way. */
#define SETS_BATCH		64

static_assert(sizeof(struct hashbelt_window_slot) == 128);
/* The page of a window that is closed begins with an odd sequence. */
static_assert(HASHBELT_WINDOW_LAYOUT % 2 && HASHBELT_WINDOW_DEAD % 2);

static struct hashbelt_window *closed;

void hb_window_exit(void)
{
	free_page((unsigned long)closed);
}

/* Makes what all windows share. Return: 0 or -ENOMEM. */
int hb_window_init(void)
{
	closed = (void *)get_zeroed_page(GFP_KERNEL);
	if (!closed)
		return -ENOMEM;
	closed->layout = HASHBELT_WINDOW_LAYOUT;
	closed->state = HASHBELT_WINDOW_DEAD;
	closed->slots_at = PAGE_SIZE;
	closed->sets = 1;
	closed->clock = 1;
	return 0;
}

/* Making */

bool hb_window_is_size(u64 bytes)
{
	return !bytes || (is_power_of_2(bytes) && bytes >= HASHBELT_WINDOW_MIN &&
			  bytes <= HASHBELT_WINDOW_MAX);
}

static size_t sets_of(const struct hb_window *window)
{
	return (window->bytes - PAGE_SIZE) /
	       (HASHBELT_WINDOW_WAYS * sizeof(struct hashbelt_window_slot));
}

static size_t table_size(const struct hb_window *window)
{
	return sets_of(window) * sizeof(*window->set);
}

static void window_init(struct hb_window *window, struct hb_account *account, size_t bytes)
{
	unsigned int i;

	refcount_set(&window->ref, 1);
	window->bytes = bytes + PAGE_SIZE;
	window->account = account;
	address_space_init_once(&window->mapping);
	init_rwsem(&window->gate);
	spin_lock_init(&window->head);
	window->seed = get_random_u64();
	for (i = 0; i < HB_WINDOW_LOCKS; i++)
		spin_lock_init(&window->lock[i]);
}

static void pages_init(const struct hb_window *window)
{
	window->shown->layout = HASHBELT_WINDOW_LAYOUT;
	window->shown->slots_at = PAGE_SIZE;
	window->shown->sets = sets_of(window);
	window->shown->seed = window->seed;
}

/*
 * Makes a window with slots of @bytes, which hb_window_is_size(), that is not open yet. Return: the
 * window, with a reference for the belt, which hb_window_free() drops; or an error of hb_zalloc().
 * Context: may sleep.
 */
struct hb_window *hb_window_new(struct hb_account *account, size_t bytes)
{
	struct hb_window *window = kzalloc(sizeof(*window), GFP_KERNEL_ACCOUNT);
	int err;

	if (!window)
		return ERR_PTR(-ENOMEM);
	window_init(window, account, bytes);
	window->set = hb_zalloc(account, table_size(window));
	err = PTR_ERR_OR_ZERO(window->set);
	if (err)
		goto err_set;
	window->shown = hb_zalloc_pages(account, window->bytes);
	err = PTR_ERR_OR_ZERO(window->shown);
	if (err)
		goto err_pages;
	pages_init(window);
	hb_account_get(account);
	return window;

err_pages:
	hb_free(account, window->set, table_size(window));
err_set:
	kfree(window);
	return ERR_PTR(err);
}

/* Context: may sleep. */
void hb_window_put(struct hb_window *window)
{
	if (refcount_dec_and_test(&window->ref))
		kfree(window);
}

/*
 * Frees a window that is closed, or that no reader has seen, and drops the belt's reference:
 * mappings refer to nothing that is charged. A grace period after another window took its place.
 * Context: may sleep.
 */
void hb_window_free(struct hb_window *window)
{
	hb_free(window->account, window->shown, window->bytes);
	hb_free(window->account, window->set, table_size(window));
	hb_account_put(window->account);
	hb_window_put(window);
}

/* The window of a belt, with a reference for the caller; NULL: it has none. */
struct hb_window *hb_window_get(struct hashbelt_belt *belt)
{
	struct hb_window *window;

	rcu_read_lock();
	window = rcu_dereference(belt->window);
	if (window && !refcount_inc_not_zero(&window->ref))
		window = NULL;
	rcu_read_unlock();
	return window;
}

/* The page of a mapping. Under @gate. */
unsigned long hb_window_pfn(struct hb_window *window, pgoff_t page)
{
	lockdep_assert_held(&window->gate);
	if (!window->shown)
		return page_to_pfn(virt_to_page(closed));
	return vmalloc_to_pfn((void *)window->shown + (page << PAGE_SHIFT));
}

/* For all slots */

/*
 * Before the belt's floor is raised: entries up to @floor are not in the window any more. @dead:
 * nor will others be. Under all shards' locks.
 */
void hb_window_clear(struct hashbelt_belt *belt, u64 floor, bool dead)
{
	struct hb_window *window = rcu_dereference_protected(belt->window,
							     lockdep_is_held(&belt->clear_lock));

	if (!window)
		return;
	if (dead)
		hb_clock_show(&belt->clock, NULL);
	spin_lock(&window->head);
	if (window->shown)
		WRITE_ONCE(window->shown->floor, floor);
	spin_unlock(&window->head);
	/* Before any task can find the belt cleared. */
	smp_mb();
}

static void show_renews(struct hb_window *window, bool renews)
{
	spin_lock(&window->head);
	if (window->shown && window->shown->state != HASHBELT_WINDOW_DEAD)
		/* Not before the policy: a lock does not order stores before it and in it. */
		smp_store_release(&window->shown->state, renews ? HASHBELT_WINDOW_RENEWS : 0);
	spin_unlock(&window->head);
}

/*
 * Before the policy changes to one with which gets renew. Under all shards' locks, or while no
 * other task knows the belt.
 */
void hb_window_set_renews(struct hashbelt_belt *belt)
{
	struct hb_window *window = rcu_dereference_protected(belt->window, true);

	if (!window)
		return;
	show_renews(window, true);
	/* Before any task can find that gets renew. */
	smp_mb();
}

/* Slots */

static struct hashbelt_window_slot *slot_of(const struct hb_window *window, size_t set,
					    unsigned int way)
{
	struct hashbelt_window_slot *slots = (void *)window->shown + PAGE_SIZE;

	return &slots[set * HASHBELT_WINDOW_WAYS + way];
}

static spinlock_t *lock_of(struct hb_window *window, size_t set)
{
	return &window->lock[set % HB_WINDOW_LOCKS];
}

/* Where the value begins in the data of a slot. */
static u32 value_at(u32 key_len)
{
	return round_up(key_len, sizeof(u64));
}

static bool have_room(u32 key_len, u32 value_len)
{
	return value_at(key_len) + value_len <= HASHBELT_WINDOW_DATA;
}

/* The entry is a key with its value that may have a slot. */
static bool fits(const struct hashbelt_entry *entry)
{
	return !(hb_hash_of(entry) & (HB_OTHER | HB_TAILED)) &&
	       have_room(entry->key_len, entry->value_len);
}

/* The hash of a key, as readers compute it. */
static u64 hash_of(const struct hb_window *window, const void *key, u32 key_len)
{
	u64 hash = window->seed ^ key_len, word = 0;

	if (key_len < sizeof(word)) {
		memcpy(&word, key, key_len);
		return hashbelt_window_mix(hash, word);
	}
	for (; key_len > sizeof(word); key += sizeof(word), key_len -= sizeof(word))
		hash = hashbelt_window_mix(hash, hb_word(key));
	return hashbelt_window_mix(hash, hb_word(key + key_len - sizeof(word)));
}

static struct hb_window_set *set_of(struct hb_window *window, u64 hash, size_t *number)
{
	*number = hash & (sets_of(window) - 1);
	return &window->set[*number];
}

/* Readers that have begun to copy the slot find its sequence changed. */
static void begin_slot(struct hashbelt_window_slot *slot)
{
	WRITE_ONCE(slot->sequence, slot->sequence + 1);
	/* Pairs with the reader's fence. */
	smp_wmb();
}

static void end_slot(struct hashbelt_window_slot *slot)
{
	/* Pairs with the reader's first load. */
	smp_store_release(&slot->sequence, slot->sequence + 1);
}

static void wipe_slot(struct hashbelt_window_slot *slot)
{
	memset_after(slot, 0, sequence);
}

/* Takes the copy out of a slot that is not empty. Under the lock of the set. */
static void drop_copy(struct hb_window *window, struct hb_window_set *set, size_t number,
		      unsigned int way)
{
	struct hashbelt_window_slot *slot = slot_of(window, number, way);
	struct hashbelt_entry *entry = set->entry[way];

	lockdep_assert_held(lock_of(window, number));
	begin_slot(slot);
	wipe_slot(slot);
	end_slot(slot);
	set->entry[way] = NULL;
	set->heat[way] = 0;
	atomic_dec(&window->used);
	/*
	 * A release: see hb_window_remove(). The belt has a reference, too, because an entry that
	 * leaves the belt leaves the window first.
	 */
	refcount_dec(&entry->ref);
}

static void empty_all(struct hb_window *window)
{
	size_t number;
	unsigned int way;

	for (number = 0; number < sets_of(window); number++) {
		struct hb_window_set *set = &window->set[number];

		spin_lock(lock_of(window, number));
		for (way = 0; way < HASHBELT_WINDOW_WAYS; way++)
			if (set->entry[way])
				drop_copy(window, set, number, way);
		spin_unlock(lock_of(window, number));
		if (!(number % SETS_BATCH))
			cond_resched();
	}
}

/*
 * After the policy has changed to one with which gets do not renew. A copy may have an earlier
 * deadline than its entry: it leaves before gets without HASHBELT_NO_REFRESH may hit. Under the
 * belt's set_lock. Context: may sleep.
 */
void hb_window_clear_renews(struct hashbelt_belt *belt)
{
	struct hb_window *window = hb_window_get(belt);

	if (!window)
		return;
	/* A get that has read the former policy may renew until then. */
	synchronize_rcu();
	empty_all(window);
	show_renews(window, false);
	hb_window_put(window);
}

/* The slot of an entry; HASHBELT_WINDOW_WAYS: it has none. */
static unsigned int way_of(const struct hb_window_set *set, const struct hashbelt_entry *entry)
{
	unsigned int way;

	for (way = 0; way < HASHBELT_WINDOW_WAYS; way++)
		if (set->entry[way] == entry)
			break;
	return way;
}

static u64 shown_deadline(u64 deadline)
{
	return deadline == HB_NEVER ? HASHBELT_TTL_NEVER : deadline;
}

/* The set of an entry; NULL: it has no slot of a window. Under the lock of its shard. */
static struct hb_window_set *set_with(struct hb_shard *shard, const struct hashbelt_entry *entry,
				      struct hb_window **window, size_t *number)
{
	*window = rcu_dereference_protected(shard->belt->window, lockdep_is_held(&shard->lock));
	if (!*window || !fits(entry))
		return NULL;
	return set_of(*window, hash_of(*window, entry->data, entry->key_len), number);
}

/* The rare half of hb_window_remove(): empties the slot of the entry, if it has one. */
void hb_window_remove_slow(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	struct hb_window *window;
	struct hb_window_set *set;
	unsigned int way;
	size_t number;

	set = set_with(shard, entry, &window, &number);
	if (!set)
		return;
	spin_lock(lock_of(window, number));
	way = way_of(set, entry);
	if (way < HASHBELT_WINDOW_WAYS) {
		drop_copy(window, set, number, way);
		hb_count(shard->belt, HASHBELT_STAT_WINDOW_EMPTIED);
	}
	spin_unlock(lock_of(window, number));
}

/*
 * The rare half of hb_window_set_deadline(): changes the deadline of the entry while readers find
 * the slot changing.
 */
u64 hb_window_set_deadline_slow(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now,
				u64 to, bool *sooner)
{
	struct hashbelt_window_slot *slot;
	struct hb_window *window;
	struct hb_window_set *set;
	unsigned int way;
	size_t number;
	u64 is;

	set = set_with(shard, entry, &window, &number);
	if (!set)
		return hb_node_set(&entry->node, now, to, sooner);
	spin_lock(lock_of(window, number));
	way = way_of(set, entry);
	slot = way < HASHBELT_WINDOW_WAYS ? slot_of(window, number, way) : NULL;
	if (slot)
		begin_slot(slot);
	is = hb_node_set(&entry->node, now, to, sooner);
	if (slot) {
		if (is > now)
			slot->deadline_ns = shown_deadline(is);
		end_slot(slot);
	}
	spin_unlock(lock_of(window, number));
	return is;
}

/* Filling */

/*
 * Without a lock: two tasks may both be told, and a tag may be that of another key. Return: true if
 * the entry of a key seems to have a slot, or if the key was offered before, not long ago.
 */
static bool may_have_slot(struct hb_window_set *set, u64 hash)
{
	u16 *offered = &set->offered[hash >> 32 & (HASHBELT_WINDOW_WAYS - 1)], part = hash >> 48;
	unsigned int way;

	for (way = 0; way < HASHBELT_WINDOW_WAYS; way++)
		if (READ_ONCE(set->tag[way]) == (u32)(hash >> 32))
			return true;
	if (READ_ONCE(*offered) == part)
		return true;
	WRITE_ONCE(*offered, part);
	return false;
}

/* A slot for an entry that has none; HASHBELT_WINDOW_WAYS: the entries that are there stay. */
static unsigned int choose_way(struct hb_window_set *set)
{
	unsigned int way, coldest = 0;

	for (way = 0; way < HASHBELT_WINDOW_WAYS; way++) {
		if (!set->entry[way])
			return way;
		if (set->heat[way] < set->heat[coldest])
			coldest = way;
	}
	if (!set->heat[coldest])
		return coldest;
	for (way = 0; way < HASHBELT_WINDOW_WAYS; way++)
		set->heat[way] -= !!set->heat[way];
	return way;
}

static void copy_entry(struct hashbelt_window_slot *slot, const struct hashbelt_entry *entry,
		       u64 hash)
{
	wipe_slot(slot);
	slot->version = entry->version;
	slot->deadline_ns = shown_deadline(atomic64_read(&entry->node.deadline));
	slot->tag = hash >> 32;
	slot->flags = entry->flags;
	slot->key_len = entry->key_len;
	slot->value_len = entry->value_len;
	memcpy(slot->data, entry->data, entry->key_len);
	memcpy((u8 *)slot->data + value_at(entry->key_len), entry->data + entry->key_len,
	       entry->value_len);
}

/*
 * Copies an entry into a slot, or renews the copy. Under the locks of its shard and of the set.
 * Return: false if it gets none.
 */
static bool fill(struct hb_window *window, size_t number, struct hashbelt_entry *entry, u64 hash)
{
	struct hb_window_set *set = &window->set[number];
	unsigned int way = way_of(set, entry);
	struct hashbelt_window_slot *slot;

	lockdep_assert_held(lock_of(window, number));
	if (way < HASHBELT_WINDOW_WAYS) {
		set->heat[way] = min(set->heat[way] + HEAT_STEP, HEAT_MOST);
	} else {
		way = choose_way(set);
		if (way == HASHBELT_WINDOW_WAYS)
			return false;
		if (set->entry[way])
			drop_copy(window, set, number, way);
		set->entry[way] = entry;
		WRITE_ONCE(set->tag[way], hash >> 32);
		refcount_inc(&entry->ref);
		atomic_inc(&window->used);
	}
	slot = slot_of(window, number, way);
	begin_slot(slot);
	copy_entry(slot, entry, hash);
	end_slot(slot);
	return true;
}

/* The entry has a value @now, and no task has begun to take it out. Under the shard's lock. */
static bool is_whole(const struct hashbelt_belt *belt, const struct hashbelt_entry *entry, u64 now)
{
	return !belt->dead && hb_is_live(belt, entry, now) && fits(entry) &&
	       !(atomic64_read(&entry->node.deadline) & HB_SEALED);
}

/*
 * Copies the entry of a key into its set, if it has a value still. Return: false if it has no slot.
 */
static bool copy_key(struct hashbelt_belt *belt, struct hb_window *window, const void *key,
		     u32 key_len, u64 hash)
{
	u32 index_hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, index_hash);
	struct hashbelt_entry *entry;
	bool copied = false;
	size_t number;

	set_of(window, hash, &number);
	spin_lock(&shard->lock);
	entry = hb_index_find(&belt->index, index_hash, key, key_len);
	/* SET may have given the belt another window. */
	if (entry && is_whole(belt, entry, hb_clock_now(&belt->clock)) &&
	    rcu_access_pointer(belt->window) == window) {
		spin_lock(lock_of(window, number));
		copied = READ_ONCE(window->is_open) && fill(window, number, entry, hash);
		spin_unlock(lock_of(window, number));
	}
	spin_unlock(&shard->lock);
	return copied;
}

/**
 * hb_window_offer() - after a get: offer the key to the belt's window
 * @belt:	the belt
 * @key:	the key, at an address that is a multiple of 8
 * @key_len:	its length, bytes
 * @value_len:	that of its value, bytes
 *
 * The key gets a slot if it was offered before, not long ago, and its set has a slot for it.
 *
 * Context: process, with page faults disabled or not.
 */
void hb_window_offer(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 value_len)
{
	struct hb_window *window;
	bool copied = false;
	size_t number;
	u64 hash;

	rcu_read_lock();
	window = rcu_dereference(belt->window);
	if (!window || !READ_ONCE(window->is_open))
		goto out;
	if (have_room(key_len, value_len)) {
		hash = hash_of(window, key, key_len);
		if (!may_have_slot(set_of(window, hash, &number), hash))
			goto out;
		copied = copy_key(belt, window, key, key_len, hash);
	}
	hb_count(belt, copied ? HASHBELT_STAT_WINDOW_FILLS : HASHBELT_STAT_WINDOW_REFUSED);
out:
	rcu_read_unlock();
}

/* Opening and closing */

/*
 * Gives a belt a window, or NULL, in the place of one that is closed and that the caller frees
 * after a grace period; takes over the reference. Under all shards' locks, or while no other task
 * knows the belt.
 */
void hb_window_install(struct hashbelt_belt *belt, struct hb_window *window)
{
	if (window) {
		window->shown->floor = belt->floor;
		if (belt->settings.policy & HASHBELT_REFRESH_ON_GET)
			window->shown->state = HASHBELT_WINDOW_RENEWS;
		hb_clock_show(&belt->clock, window->shown);
	}
	rcu_assign_pointer(belt->window, window);
}

/*
 * The window of a belt takes entries from now on. A grace period after hb_window_install(), unless
 * no other task knows the belt: each touch knows then that there is a window (hb_set_deadline()).
 */
void hb_window_open(struct hashbelt_belt *belt)
{
	struct hb_window *window = hb_window_get(belt);

	if (!window)
		return;
	spin_lock(&window->head);
	WRITE_ONCE(window->is_open, window->shown);
	spin_unlock(&window->head);
	hb_window_put(window);
}

/* Ends the window for its readers, before it is emptied. Return: its pages, or NULL. */
static struct hashbelt_window *stop_showing(struct hashbelt_belt *belt, struct hb_window *window)
{
	struct hashbelt_window *shown = window->shown;

	if (!shown)
		return NULL;
	hb_clock_show(&belt->clock, NULL);
	spin_lock(&window->head);
	WRITE_ONCE(window->is_open, false);
	WRITE_ONCE(shown->state, HASHBELT_WINDOW_DEAD);
	spin_unlock(&window->head);
	return shown;
}

/*
 * Takes the window of a belt, if there is one, from its readers for good: empties it, and frees the
 * pages, whatever is mapped. Fills that go on end before it returns. Context: may sleep.
 */
void hb_window_close(struct hashbelt_belt *belt)
{
	struct hb_window *window = hb_window_get(belt);
	struct hashbelt_window *shown;

	if (!window)
		return;
	down_write(&window->gate);
	shown = stop_showing(belt, window);
	if (shown) {
		empty_all(window);
		spin_lock(&window->head);
		window->shown = NULL;
		spin_unlock(&window->head);
		/* Pages that are touched again show @closed. */
		unmap_mapping_range(&window->mapping, 0, window->bytes, 1);
		hb_free(window->account, shown, window->bytes);
	}
	up_write(&window->gate);
	hb_window_put(window);
}
