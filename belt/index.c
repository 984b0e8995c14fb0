// SPDX-License-Identifier: GPL-2.0
/*
 * The hash index.
 *
 * A chain is chosen by the upper bits of the hash, as is the shard whose lock
 * protects it: so a chain belongs to one shard in a table of any size, and the
 * chains of two tables that stand for the same range of hashes lie together.
 * That makes resizing and scanning simple: a place in a scan is a hash, and
 * means the same before and after a resize.
 *
 * Resizing goes on beside readers and writers. hb_index_resize() hangs a new
 * table behind the old one, and from then on entries are inserted there.
 * hb_index_move() moves one chain of the old table at a time under its shard's
 * lock; behind the last one the new table takes the old one's place, and the
 * old one is freed after a grace period.
 */
#include "index.h"
#include "memory.h"

static size_t table_size(unsigned int bits)
{
	return sizeof(struct hb_table) + (sizeof(struct hlist_head) << bits);
}

static void table_free(struct hb_table *table)
{
	struct hb_account *account = table->account;

	hb_free(account, table, table_size(table->bits));
	hb_account_put(account);
}

static void table_free_work(struct work_struct *work)
{
	table_free(container_of(to_rcu_work(work), struct hb_table, free));
}

static struct hb_table *table_new(unsigned int bits, struct hb_account *account)
{
	struct hb_table *table = hb_zalloc(account, table_size(bits));

	if (!IS_ERR(table)) {
		table->bits = bits;
		table->account = hb_account_get(account);
		INIT_RCU_WORK(&table->free, table_free_work);
	}
	return table;
}

/**
 * hb_index_init() - make an empty index
 * @index:	the index
 * @bits:	log2 of the chains to begin with, from HB_INDEX_BITS_MIN
 * @wq:		where old tables are freed; destroyed after an rcu_barrier()
 * @account:	who is charged for the tables, or NULL; outlives the index
 *
 * Context: may sleep. Return: 0; errors as hb_zalloc().
 */
int hb_index_init(struct hb_index *index, unsigned int bits,
		  struct workqueue_struct *wq, struct hb_account *account)
{
	struct hb_table *table = table_new(bits, account);

	if (IS_ERR(table))
		return PTR_ERR(table);
	index->wq = wq;
	index->account = account;
	index->bits = bits;
	RCU_INIT_POINTER(index->table, table);
	return 0;
}

/**
 * hb_index_destroy() - free the tables of an index that nobody uses any more
 * @index:	the index; may be zeroed memory. Entries in it are forgotten
 *
 * Context: may sleep; a grace period has passed since the last use.
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

/**
 * hb_index_bytes() - what the index takes
 * @index:	the index
 *
 * Return: bytes, the table that is being made included.
 */
size_t hb_index_bytes(struct hb_index *index)
{
	struct hb_table *table;
	size_t bytes = 0;

	rcu_read_lock();
	for (table = rcu_dereference(index->table); table;
	     table = rcu_dereference(table->next))
		bytes += table_size(table->bits);
	rcu_read_unlock();
	return bytes;
}

static bool is_moving(struct hb_index *index)
{
	bool moving;

	rcu_read_lock();
	moving = rcu_access_pointer(rcu_dereference(index->table)->next);
	rcu_read_unlock();
	return moving;
}

/**
 * hb_index_resize() - begin to give the index another size
 * @index:	the index
 * @bits:	log2 of the chains that it should have
 *
 * Does nothing if it is being resized already, or if there is no memory: the
 * index works with longer chains. The caller sees to it that somebody calls
 * hb_index_move() until hb_index_moving() has nothing left.
 *
 * Context: may sleep. Return: true if it has begun.
 */
bool hb_index_resize(struct hb_index *index, unsigned int bits)
{
	struct hb_table *table, *new;

	if (bits < HB_INDEX_BITS_MIN || bits > HB_INDEX_BITS_MAX ||
	    bits == READ_ONCE(index->bits) || is_moving(index))
		return false;
	new = table_new(bits, index->account);
	if (IS_ERR(new))
		return false;
	rcu_read_lock();
	table = rcu_dereference(index->table);
	if (table->bits == bits) {
		/* Who resized before may have been held up, and noted it late. */
		if (!rcu_access_pointer(table->next))
			WRITE_ONCE(index->bits, bits);
	} else if (!unrcu_pointer(cmpxchg(&table->next, NULL, RCU_INITIALIZER(new)))) {
		/* A table that has been replaced has a next one, and loses here. */
		WRITE_ONCE(index->bits, bits);
		new = NULL;
	}
	rcu_read_unlock();
	if (new)
		table_free(new);
	return !new;
}

/**
 * hb_index_moving() - which chain is to be moved next
 * @index:	the index
 *
 * Context: one resizer at a time.
 *
 * Return: a hash of that chain, whose lock hb_index_move() needs;
 * HB_INDEX_END when nothing is to be moved.
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

/* The node before another one of a chain, or NULL. */
static struct hlist_node *before(struct hlist_head *chain, struct hlist_node *node)
{
	return node->pprev == &chain->first ? NULL :
	       container_of(node->pprev, struct hlist_node, next);
}

/*
 * Moves the last entry of a chain into the new table. Only the last: a reader at
 * this entry goes on in the new chain, and has seen all of the old chain already.
 * The entry is in the new chain before it leaves the old one, so a reader can find
 * it at any moment.
 */
static void move_last(struct hlist_node *node, struct hb_table *to)
{
	struct hlist_node **pprev = node->pprev, *first;
	struct hlist_head *head;

	head = hb_chain(to, hlist_entry(node, struct hashbelt_entry, chain)->hash);
	first = head->first;

	WRITE_ONCE(node->next, first);
	if (first)
		WRITE_ONCE(first->pprev, &node->next);
	WRITE_ONCE(node->pprev, &head->first);
	rcu_assign_pointer(hlist_first_rcu(head), node);
	/* Who misses it in the old chain finds it in the new one. */
	smp_store_release(pprev, NULL);
}

/**
 * hb_index_move() - move the chain that hb_index_moving() named, or the end of it
 * @index:	the index
 *
 * A chain may be as long as entries could be put while there was no memory for a larger
 * table. It takes one walk along it, and HB_INDEX_MOVES at most.
 *
 * Context: the lock of that chain; one resizer at a time.
 */
void hb_index_move(struct hb_index *index)
{
	struct hb_table *table = rcu_dereference_protected(index->table, true);
	/* Read in one piece: who would resize as well is at it, and loses. */
	struct hb_table *next = rcu_dereference_raw(table->next);
	struct hlist_head *chain = &table->chains[table->moved];
	struct hlist_node *node = last_of(chain), *ahead;
	unsigned int moves;

	for (moves = 0; node && moves < HB_INDEX_MOVES; moves++) {
		ahead = before(chain, node);
		move_last(node, next);
		node = ahead;
	}
	if (node || !(++table->moved >> table->bits))
		return;
	/*
	 * @bits may be out of date: a task that resized before may have been preempted before it
	 * wrote them. Until @table is set below no task can begin another resize and write them.
	 */
	WRITE_ONCE(index->bits, next->bits);
	rcu_assign_pointer(index->table, next);
	queue_rcu_work(index->wq, &table->free);
}

/**
 * hb_index_insert() - add an entry whose key is not there
 * @index:	the index
 * @entry:	the entry
 *
 * Context: the lock of its hash.
 */
void hb_index_insert(struct hb_index *index, struct hashbelt_entry *entry)
{
	struct hb_table *table, *next;

	rcu_read_lock();
	table = rcu_dereference(index->table);
	while ((next = rcu_dereference(table->next)))
		table = next;
	hlist_add_head_rcu(&entry->chain, hb_chain(table, entry->hash));
	rcu_read_unlock();
}

/*
 * Visits the chains of a table for the 1 << (32 - bits) hashes around @place, but
 * no entry whose hash is before it: a table that has shrunk has chains that reach
 * back to where the scan has been.
 */
static void scan_table(struct hb_table *table, u64 place, unsigned int bits,
		       void (*visit)(struct hashbelt_entry *entry, void *arg),
		       void *arg)
{
	u32 count = 1u << (table->bits - bits);
	u32 chain = place >> (32 - bits) << (table->bits - bits);
	struct hashbelt_entry *entry;
	struct hlist_node *next;

	while (count--)
		hlist_for_each_entry_safe(entry, next, &table->chains[chain++], chain)
			if (entry->hash >= place)
				visit(entry, arg);
}

/**
 * hb_index_scan() - visit the entries of one chain's range of hashes
 * @index:	the index
 * @place:	0 to begin with, then what the last call returned
 * @visit:	called for each entry; may take it out of the index
 * @arg:	passed to it
 *
 * Whatever the index is resized to between two calls, an entry that is there
 * throughout is visited once.
 *
 * Context: the lock of @place.
 *
 * Return: the next place, HB_INDEX_END behind the last.
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
