// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hash index. The belt owns the entries in it; the lock of an entry's shard protects its chain.
 *
 * The upper bits of the hash choose the chain, as they choose the shard. So a chain belongs to one
 * shard in a table of any size, and tables of all sizes have their chains in the same order of
 * hashes. A place in a scan is therefore a hash, and means the same before and after a resize.
 *
 * A resize runs beside readers and writers. hb_index_resize() links a new table behind the old one;
 * from then on entries are inserted there. hb_index_move() moves the chains of the old table one by
 * one, each under its shard's lock. After the last chain the new table takes the place of the old
 * one, which is freed after a grace period.
 *
 * A table that has ghosts of its own takes them along when it is freed. A full belt that evicts
 * keeps its table.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>

#include "index.h"
#include "memory.h"

/* Jiffies without another attempt after an allocation has failed: each put would try. */
#define RETRY_AFTER	DIV_ROUND_UP(HZ, 10)

static unsigned int parts_of(unsigned int bits)
{
	return 1u << (max(bits, HB_PART_BITS) - HB_PART_BITS);
}

static size_t part_size(unsigned int bits)
{
	return sizeof(struct hlist_head) << min(bits, HB_PART_BITS);
}

static unsigned int ghost_parts_of(unsigned int ghost_bits)
{
	return 1u << (max(ghost_bits, HB_GHOST_PART_BITS) - HB_GHOST_PART_BITS);
}

static size_t ghost_part_size(unsigned int ghost_bits)
{
	return sizeof(u16) << min(ghost_bits, HB_GHOST_PART_BITS);
}

/* Bytes of a table without its parts. */
static size_t head_size(unsigned int bits, unsigned int ghost_bits)
{
	return sizeof(struct hb_table) +
	       (parts_of(bits) + ghost_parts_of(ghost_bits)) * sizeof(void *);
}

static size_t table_size(const struct hb_table *table)
{
	size_t ghosts = table->ghost_bits != HB_GHOST_BITS ? sizeof(u16) << table->ghost_bits : 0;

	return head_size(table->bits, table->ghost_bits) +
	       (sizeof(struct hlist_head) << table->bits) + ghosts;
}

static void head_free(struct hb_table *table)
{
	struct hb_account *account = table->account;

	hb_free(account, table, head_size(table->bits, table->ghost_bits));
	hb_account_put(account);
}

static void chains_free(struct hb_table *table)
{
	hb_parts_free(table->account, (void **)table->parts, parts_of(table->bits),
		      part_size(table->bits));
}

/* Context: may sleep. */
static void table_free(struct hb_table *table)
{
	if (table->ghost_bits != HB_GHOST_BITS)
		hb_parts_free(table->account, (void **)table->ghosts,
			      ghost_parts_of(table->ghost_bits),
			      ghost_part_size(table->ghost_bits));
	chains_free(table);
	head_free(table);
}

static void table_free_work(struct work_struct *work)
{
	table_free(container_of(to_rcu_work(work), struct hb_table, free));
}

/* log2 of the ghosts of a table of 1 << @bits chains. */
static unsigned int ghost_bits_for(struct hb_index *index, unsigned int bits)
{
	if (!READ_ONCE(index->remembers) || bits < HB_GHOST_MIN_BITS)
		return HB_GHOST_BITS;
	return bits == HB_GHOST_MIN_BITS ? bits : max(bits, HB_GHOST_BITS);
}

static int ghosts_alloc(struct hb_index *index, struct hb_table *table)
{
	if (table->ghost_bits != HB_GHOST_BITS)
		return hb_parts_alloc(index->account, (void **)table->ghosts,
				      ghost_parts_of(table->ghost_bits),
				      ghost_part_size(table->ghost_bits));
	table->ghosts[0] = index->ghosts;
	return 0;
}

static int parts_alloc(struct hb_index *index, struct hb_table *table)
{
	int err = hb_parts_alloc(index->account, (void **)table->parts, parts_of(table->bits),
				 part_size(table->bits));

	if (err)
		return err;
	err = ghosts_alloc(index, table);
	if (err)
		chains_free(table);
	return err;
}

static struct hb_table *table_new(struct hb_index *index, unsigned int bits)
{
	unsigned int ghost_bits = ghost_bits_for(index, bits);
	struct hb_table *table;
	int err;

	table = hb_zalloc(index->account, head_size(bits, ghost_bits));
	if (IS_ERR(table))
		return table;
	table->bits = bits;
	table->ghost_bits = ghost_bits;
	table->ghosts = (u16 **)(table->parts + parts_of(bits));
	table->account = hb_account_get(index->account);
	INIT_RCU_WORK(&table->free, table_free_work);
	err = parts_alloc(index, table);
	if (!err)
		return table;
	head_free(table);
	return ERR_PTR(err);
}

/*
 * Makes an empty index of 1 << @bits chains. Old tables are freed on @wq, which is destroyed after
 * an rcu_barrier(). @account, which may be NULL, is charged for the tables, and outlives the index.
 * Return: 0, or an error of hb_zalloc(). Context: may sleep.
 */
int hb_index_init(struct hb_index *index, unsigned int bits,
		  struct workqueue_struct *wq, struct hb_account *account)
{
	struct hb_table *table;

	index->account = account;
	table = table_new(index, bits);
	if (IS_ERR(table))
		return PTR_ERR(table);
	index->wq = wq;
	index->bits = bits;
	mutex_init(&index->resize_lock);
	index->retry = jiffies;
	RCU_INIT_POINTER(index->table, table);
	return 0;
}

/*
 * Frees the tables, and forgets the entries. The index may be zeroed memory. Context: may sleep; a
 * grace period has passed since the last use.
 */
void hb_index_destroy(struct hb_index *index)
{
	struct hb_table *table = rcu_dereference_protected(index->table, true);

	while (table) {
		struct hb_table *next = rcu_dereference_protected(table->next, true);

		table_free(table);
		table = next;
	}
}

/* The memory of the index, including a table to which entries are moved. */
size_t hb_index_bytes(struct hb_index *index)
{
	struct hb_table *table;
	size_t bytes = 0;

	rcu_read_lock();
	for (table = rcu_dereference(index->table); table;
	     table = rcu_dereference(table->next))
		bytes += table_size(table);
	rcu_read_unlock();
	return bytes;
}

/* Entries are being moved to another table. */
bool hb_index_is_moving(struct hb_index *index)
{
	bool moving;

	rcu_read_lock();
	moving = rcu_access_pointer(rcu_dereference(index->table)->next);
	rcu_read_unlock();
	return moving;
}

/*
 * Allocates a table of 1 << @bits chains, and links it behind the present one. Meanwhile that is
 * not replaced, because hb_index_move() replaces only a table that has a next one. Under
 * index->resize_lock. Return: 0, or the error of the allocation, or of one that failed less than
 * RETRY_AFTER ago.
 */
static int resize(struct hb_index *index, unsigned int bits)
{
	struct hb_table *new;

	if (time_before(jiffies, READ_ONCE(index->retry)))
		return index->err;
	new = table_new(index, bits);
	if (IS_ERR(new)) {
		index->err = PTR_ERR(new);
		WRITE_ONCE(index->retry, jiffies + RETRY_AFTER);
		return index->err;
	}
	WRITE_ONCE(index->bits, bits);
	rcu_read_lock();
	rcu_assign_pointer(rcu_dereference(index->table)->next, new);
	rcu_read_unlock();
	return 0;
}

/*
 * Begins to give the index 1 << @bits chains. Does nothing if a resize is under way, or if there is
 * no memory, or was none a moment ago: the index works with longer chains. Context: may sleep.
 * Return: true if it has begun: the caller queues the worker, which calls hb_index_move() until
 * hb_index_moving() returns HB_INDEX_END.
 */
bool hb_index_resize(struct hb_index *index, unsigned int bits)
{
	bool begun;

	if (bits < HB_INDEX_BITS_MIN || bits > HB_INDEX_BITS_MAX ||
	    bits == READ_ONCE(index->bits) || hb_index_is_moving(index) ||
	    time_before(jiffies, READ_ONCE(index->retry)))
		return false;
	/* Each of many tasks would allocate and zero a table, and only one could use it. */
	if (!mutex_trylock(&index->resize_lock))
		return false;
	begun = bits != index->bits && !hb_index_is_moving(index) && !resize(index, bits);
	mutex_unlock(&index->resize_lock);
	return begun;
}

/*
 * Makes 1 << @bits chains for a task that needs more than there are. Waits for another task that
 * allocates a table. Return: 0 if the index has 1 << @bits chains, or entries are being moved;
 * -ENOSPC: it has the most chains that it may have; -EINTR: the task is being killed; or the error
 * of the allocation. Context: may sleep.
 */
int hb_index_enlarge(struct hb_index *index, unsigned int bits)
{
	int err = 0;

	if (mutex_lock_killable(&index->resize_lock))
		return -EINTR;
	if (index->bits == HB_INDEX_BITS_MAX)
		err = -ENOSPC;
	else if (bits > index->bits && !hb_index_is_moving(index))
		err = resize(index, bits);
	mutex_unlock(&index->resize_lock);
	return err;
}

/*
 * A hash of the chain that is to be moved next; hb_index_move() needs the lock of its shard.
 * HB_INDEX_END: none. Context: one resizer at a time.
 */
u64 hb_index_moving(struct hb_index *index)
{
	struct hb_table *table;
	u64 hash = HB_INDEX_END;

	rcu_read_lock();
	table = rcu_dereference(index->table);
	if (rcu_access_pointer(table->next))
		hash = (u64)table->moved << (32 - table->bits);
	rcu_read_unlock();
	return hash;
}

static struct hlist_node *last_of(struct hlist_head *chain)
{
	struct hlist_node *node = chain->first;

	while (node && node->next)
		node = node->next;
	return node;
}

static struct hlist_node *before(struct hlist_head *chain, struct hlist_node *node)
{
	return node->pprev == &chain->first ? NULL :
	       container_of(node->pprev, struct hlist_node, next);
}

/*
 * Moves the last entry of a chain into the new table. A reader at this entry goes on in the new
 * chain. It has missed nothing, because the entry was the last of the old chain. The entry is in
 * the new chain before it leaves the old one, so readers find it at any moment.
 */
static void move_last(struct hlist_node *node, struct hb_table *to)
{
	struct hlist_node **pprev = node->pprev, *first;
	struct hlist_head *head;

	head = hb_chain(to, hb_hash_of(hlist_entry(node, struct hashbelt_entry, chain)));
	first = head->first;

	WRITE_ONCE(node->next, first);
	if (first)
		WRITE_ONCE(first->pprev, &node->next);
	WRITE_ONCE(node->pprev, &head->first);
	rcu_assign_pointer(hlist_first_rcu(head), node);
	/* A reader that misses the entry in the old chain finds it in the new one. */
	smp_store_release(pprev, NULL);
}

/*
 * Clears the index's ghosts when a table with ghosts of its own takes over. A later table may use
 * the index's again, and must not find ghosts of keys that have come back since. No task writes
 * them any more: a task that does found the old table, under its shard's lock, before the new one
 * was linked, and the mover has taken each lock since.
 */
static void forget_ghosts(struct hb_index *index)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(index->ghosts); i++)
		WRITE_ONCE(index->ghosts[i], 0);
}

/*
 * Moves the chain that hb_index_moving() named, or its last HB_INDEX_MOVES entries: a chain may be
 * long if there was no memory for a larger table. Context: the lock of the chain's shard; one
 * resizer at a time.
 */
void hb_index_move(struct hb_index *index)
{
	struct hb_table *table = rcu_dereference_protected(index->table, true);
	/* Linked under another lock; does not change any more. */
	struct hb_table *next = rcu_dereference_raw(table->next);
	struct hlist_head *chain = hb_chain_of(table, table->moved);
	struct hlist_node *node = last_of(chain), *ahead;
	unsigned int moves;

	for (moves = 0; node && moves < HB_INDEX_MOVES; moves++) {
		ahead = before(chain, node);
		move_last(node, next);
		node = ahead;
	}
	if (node || !(++table->moved >> table->bits))
		return;
	if (next->ghosts[0] != index->ghosts)
		forget_ghosts(index);
	rcu_assign_pointer(index->table, next);
	queue_rcu_work(index->wq, &table->free);
}

/* Adds an entry whose key is not in the index. Context: the lock of its shard. */
void hb_index_insert(struct hb_index *index, struct hashbelt_entry *entry)
{
	rcu_read_lock();
	hlist_add_head_rcu(&entry->chain,
			   hb_chain(hb_index_newest(index, false), entry->hash));
	rcu_read_unlock();
}

/*
 * Visits the chains of a table for the 1 << (32 - bits) hashes around @place. Skips entries whose
 * hash is less than @place: after the index has shrunk, a chain may begin with hashes that the scan
 * has visited.
 */
static void scan_table(struct hb_table *table, u64 place, unsigned int bits,
		       void (*visit)(struct hashbelt_entry *entry, void *arg), void *arg)
{
	u32 count = 1u << (table->bits - bits);
	u32 chain = place >> (32 - bits) << (table->bits - bits);
	struct hashbelt_entry *entry;
	struct hlist_node *next;

	while (count--)
		hlist_for_each_entry_safe(entry, next, hb_chain_of(table, chain++), chain)
			if (hb_hash_of(entry) >= place)
				visit(entry, arg);
}

/**
 * hb_index_scan() - visit the entries of one chain's range of hashes
 * @index:	the index
 * @place:	0 at first, then the return value of the last call
 * @visit:	called for each entry; may take it out of the index
 * @arg:	passed to it
 *
 * An entry that stays in the index during a scan is visited once, even if the index is resized.
 *
 * Context: the lock of @place. Return: the next place, HB_INDEX_END after the last.
 */
u64 hb_index_scan(struct hb_index *index, u64 place,
		  void (*visit)(struct hashbelt_entry *entry, void *arg), void *arg)
{
	struct hb_table *table, *next;
	unsigned int bits;

	rcu_read_lock();
	table = rcu_dereference(index->table);
	next = rcu_dereference(table->next);
	bits = next ? min(table->bits, next->bits) : table->bits;
	scan_table(table, place, bits, visit, arg);
	if (next)
		scan_table(next, place, bits, visit, arg);
	rcu_read_unlock();
	return ((place >> (32 - bits)) + 1) << (32 - bits);
}
