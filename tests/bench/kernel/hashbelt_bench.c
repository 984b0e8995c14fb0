// SPDX-License-Identifier: GPL-2.0-only
/*
 * hashbelt_bench - measures the operations of a user inside the kernel.
 *
 *	insmod hashbelt_bench.ko [entries=N]
 *
 * Three caches hold the same entries, with keys of 16 bytes and values of 64 that live for an hour:
 *
 *	hashbelt	a belt, through hashbelt_core.h
 *	table+timer	an rhashtable of objects, each with a timer that removes it: kernel code
 *			without hashbelt does this
 *	table		the same rhashtable without timers: nothing expires
 *
 * An operation is measured in slices of SLICE calls. The caches take turns, slice by slice, so all
 * of them run under the same load. The result is that of the median slice. It leaves out slices in
 * which an interrupt or another task ran, and so most of the work that is done later: freeing after
 * a grace period.
 *
 * The module prints the table to the kernel's log while it is loaded.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/timer.h>

#include "hashbelt_core.h"

#define SLICE		64
#define ROUNDS		501u
#define VALUE_SIZE	64

/* Seconds that an entry lives: nothing expires while the module measures. */
#define TTL		3600

static unsigned int entries = 1000000;
module_param(entries, uint, 0444);
MODULE_PARM_DESC(entries, "size of the caches (1000000)");

/**
 * struct call - the arguments of one call
 * @key:	the key
 * @number:	the number that the key stands for; the value begins with it
 */
struct call {
	u64 key[2];
	u64 number;
};

enum { GET, PUT, REMOVE, OPERATIONS };

/**
 * struct cache - a cache that is measured
 * @operations:	GET finds an entry and reads the first word of its value; PUT puts one in the place
 *		of any other with its key; REMOVE removes one. Each returns 0 or an error
 * @name:	its name in the table
 * @start:	makes it; returns 0 or an error
 * @stop:	frees it and its entries
 * @bytes:	the memory that it has allocated, as the allocator rounds it up
 *
 * Context: all may sleep.
 */
struct cache {
	int (*operations[OPERATIONS])(const struct call *call);
	const char *name;
	int (*start)(void);
	void (*stop)(void);
	u64 (*bytes)(void);
};

/* The value of a key: its number, and bytes that no cache looks at. */
static void write_value(u8 *value, u64 number)
{
	static const u8 filling[VALUE_SIZE] = "a value";

	memcpy(value, filling, VALUE_SIZE);
	memcpy(value, &number, sizeof(number));
}

static int check_value(const u8 *value, u64 number)
{
	return memcmp(value, &number, sizeof(number)) ? -EBADMSG : 0;
}

/* hashbelt */

static struct hashbelt_belt *belt;

static int belt_start(void)
{
	belt = hashbelt_create(&(struct hashbelt_config){ .ttl = TTL * NSEC_PER_SEC });
	return PTR_ERR_OR_ZERO(belt);
}

static void belt_stop(void)
{
	hashbelt_destroy(belt);
}

static int belt_get(const struct call *call)
{
	u64 now = hashbelt_now(belt);
	struct hashbelt_item item = {};
	struct hashbelt_entry *entry;
	int err = -ENOENT;
	u32 gone;

	rcu_read_lock();
	do {
		entry = hashbelt_find(belt, call->key, sizeof(call->key), now, &gone);
	} while (entry && !hashbelt_hit(belt, entry, &item, now));
	if (entry)
		err = check_value(hashbelt_entry_value(entry), call->number);
	else
		hashbelt_miss(belt, call->key, sizeof(call->key), gone);
	rcu_read_unlock();
	return err;
}

static int belt_put(const struct call *call)
{
	struct hashbelt_item item = { .ttl_ms = TTL * MSEC_PER_SEC };
	struct hashbelt_entry *entry;

	entry = hashbelt_entry_alloc(belt, NULL, sizeof(call->key), VALUE_SIZE);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	memcpy(entry->data, call->key, sizeof(call->key));
	write_value(hashbelt_entry_value(entry), call->number);
	return hashbelt_put(belt, entry, &item);
}

static int belt_remove(const struct call *call)
{
	struct hashbelt_item item = {};

	return hashbelt_remove(belt, call->key, sizeof(call->key), &item);
}

static u64 belt_bytes(void)
{
	struct hashbelt_info info = {};

	hashbelt_info(belt, &info);
	return info.bytes;
}

/* An rhashtable */

/**
 * struct object - an entry of an rhashtable
 * @node:	place in the table
 * @rcu:	frees it after a grace period
 * @key:	the key
 * @value:	the value
 */
struct object {
	struct rhash_head node;
	struct rcu_head rcu;
	u64 key[2];
	u8 value[VALUE_SIZE];
};

/**
 * struct timed_object - an entry that expires
 * @object:	the entry
 * @timer:	removes it
 */
struct timed_object {
	struct object object;
	struct timer_list timer;
};

static const struct rhashtable_params params = {
	.key_len = sizeof_field(struct object, key),
	.key_offset = offsetof(struct object, key),
	.head_offset = offsetof(struct object, node),
	.automatic_shrinking = true,
};

static struct rhashtable plain, timed;

static struct timer_list *timer_of(struct object *object)
{
	return &container_of(object, struct timed_object, object)->timer;
}

/*
 * An object expires. No other task frees it before this returns: a timer runs with softirqs
 * disabled, and a grace period waits for that.
 */
static void expire(struct timer_list *timer)
{
	struct timed_object *this = container_of(timer, struct timed_object, timer);

	if (!rhashtable_remove_fast(&timed, &this->object.node, params))
		kfree_rcu(&this->object, rcu);
}

/* Frees an object that was taken out of its table. Its timer is not armed again. */
static __always_inline void retire(struct object *object, const bool is_timed)
{
	if (is_timed)
		timer_shutdown(timer_of(object));
	kfree_rcu(object, rcu);
}

static __always_inline int table_get(struct rhashtable *table, const struct call *call)
{
	struct object *object;
	int err = -ENOENT;

	rcu_read_lock();
	object = rhashtable_lookup(table, call->key, params);
	if (object)
		err = check_value(object->value, call->number);
	rcu_read_unlock();
	return err;
}

/* Inserts an object, or gives it the place of that with its key. Return: 0 or an error. */
static __always_inline int insert(struct rhashtable *table, struct object *object,
				  const bool is_timed)
{
	struct object *old;
	int err;

	do {
		old = rhashtable_lookup_get_insert_fast(table, &object->node, params);
		if (!old)
			return 0;
		if (IS_ERR(old))
			return PTR_ERR(old);
		err = rhashtable_replace_fast(table, &old->node, &object->node, params);
		/* -ENOENT: it was taken out meanwhile. */
	} while (err == -ENOENT);
	if (!err)
		retire(old, is_timed);
	return err;
}

static __always_inline int table_put(struct rhashtable *table, const struct call *call,
				     const bool is_timed)
{
	struct object *object;
	int err;

	object = kmalloc(is_timed ? sizeof(struct timed_object) : sizeof(*object), GFP_KERNEL);
	if (!object)
		return -ENOMEM;
	memcpy(object->key, call->key, sizeof(call->key));
	write_value(object->value, call->number);
	if (is_timed)
		timer_setup(timer_of(object), expire, 0);
	rcu_read_lock();
	err = insert(table, object, is_timed);
	/* If another task has taken the object out, its timer is shut down. */
	if (!err && is_timed)
		mod_timer(timer_of(object), jiffies + TTL * HZ);
	rcu_read_unlock();
	if (err)
		kfree(object);
	return err;
}

static __always_inline int table_remove(struct rhashtable *table, const struct call *call,
					const bool is_timed)
{
	struct object *object;
	int err = -ENOENT;

	rcu_read_lock();
	object = rhashtable_lookup(table, call->key, params);
	if (object)
		err = rhashtable_remove_fast(table, &object->node, params);
	if (!err)
		retire(object, is_timed);
	rcu_read_unlock();
	return err;
}

/* Objects, and the heads of the chains. */
static u64 table_bytes(struct rhashtable *table, size_t size)
{
	u64 chains;

	rcu_read_lock();
	chains = rcu_dereference(table->tbl)->size;
	rcu_read_unlock();
	return entries * kmalloc_size_roundup(size) + chains * sizeof(struct rhash_lock_head *);
}

/* No timer runs beside this: each has far more than the time that the module needs. */
static void free_object(void *object, void *is_timed)
{
	if (is_timed)
		timer_shutdown_sync(timer_of(object));
	kfree(object);
}

/* The functions of a struct cache, for the table of this name. */
#define TABLE(name, is_timed)							\
static int name##_start(void)							\
{										\
	return rhashtable_init(&(name), &params);				\
}										\
										\
static void name##_stop(void)							\
{										\
	rhashtable_free_and_destroy(&(name), free_object, (is_timed) ? &(name) : NULL); \
}										\
										\
static int name##_get(const struct call *call)					\
{										\
	return table_get(&(name), call);					\
}										\
										\
static int name##_put(const struct call *call)					\
{										\
	return table_put(&(name), call, is_timed);				\
}										\
										\
static int name##_remove(const struct call *call)				\
{										\
	return table_remove(&(name), call, is_timed);				\
}										\
										\
static u64 name##_bytes(void)							\
{										\
	return table_bytes(&(name), (is_timed) ? sizeof(struct timed_object) :	\
			   sizeof(struct object));				\
}

TABLE(timed, true)
TABLE(plain, false)

#define CACHE(prefix, title) {							\
	.name = (title), .start = prefix##_start, .stop = prefix##_stop,	\
	.operations = { prefix##_get, prefix##_put, prefix##_remove },		\
	.bytes = prefix##_bytes,						\
}

#define CACHES		3

static const struct cache caches[CACHES] = {
	CACHE(belt, "hashbelt"),
	CACHE(timed, "table+timer"),
	CACHE(plain, "table"),
};

/* Measuring */

static struct call slice[SLICE];
static u64 costs[OPERATIONS][CACHES][ROUNDS];

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection. */
static u64 mix(u64 x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static void set_call(unsigned int i, u64 number)
{
	slice[i] = (struct call){ .key = { mix(number), mix(~number) }, .number = number };
}

static int run(const struct cache *cache, unsigned int operation)
{
	int (*call)(const struct call *call) = cache->operations[operation];
	unsigned int i;
	int err = 0;

	for (i = 0; i < SLICE && !err; i++)
		err = call(&slice[i]);
	return err;
}

/* The caches take turns. */
static int time_slices(unsigned int operation, unsigned int round)
{
	unsigned int i;
	int err = 0;
	u64 begin;

	for (i = 0; i < CACHES && !err; i++) {
		begin = ktime_get_ns();
		err = run(&caches[i], operation);
		costs[operation][i][round] = ktime_get_ns() - begin;
		cond_resched();
	}
	return err;
}

/*
 * Gets of present keys, in an order that no processor's cache predicts; puts of absent ones, which
 * are then removed.
 */
static int measure_round(unsigned int round)
{
	u64 first = (u64)round * SLICE;
	unsigned int i;
	int err;

	for (i = 0; i < SLICE; i++)
		set_call(i, mix(first + i) % entries);
	err = time_slices(GET, round);
	for (i = 0; i < SLICE; i++)
		set_call(i, BIT_ULL(40) + first + i);
	return err ?: time_slices(PUT, round) ?: time_slices(REMOVE, round);
}

static int is_less(const void *a, const void *b)
{
	return *(const u64 *)a < *(const u64 *)b ? -1 : *(const u64 *)a > *(const u64 *)b;
}

static u64 median(u64 cost[ROUNDS])
{
	sort(cost, ROUNDS, sizeof(*cost), is_less, NULL);
	return cost[ROUNDS / 2] / SLICE;
}

static void print_row(const char *name, u64 belts, u64 timers, u64 table)
{
	pr_info("%-18s %11llu %11llu %11llu\n", name, belts, timers, table);
}

static int fill(const struct cache *cache)
{
	unsigned int i;
	int err = 0;
	u64 n;

	for (n = 0; n < entries && !err; n += SLICE) {
		for (i = 0; i < SLICE; i++)
			set_call(i, (n + i) % entries);
		err = fatal_signal_pending(current) ? -EINTR : run(cache, PUT);
		cond_resched();
	}
	return err;
}

static int measure(void)
{
	static const char *const names[] = { "get hit", "put new", "remove" };
	unsigned int i;
	int err = 0;

	for (i = 0; i < CACHES && !err; i++)
		err = fill(&caches[i]);
	if (err)
		return err;
	/* Each has the right size then: the worker's part, as a resize, is done at once. */
	err = hashbelt_advance(belt, 0);
	flush_work(&timed.run_work);
	flush_work(&plain.run_work);
	print_row("bytes an entry", caches[0].bytes() / entries, caches[1].bytes() / entries,
		  caches[2].bytes() / entries);
	for (i = 0; i < ROUNDS && !err; i++)
		err = fatal_signal_pending(current) ? -EINTR : measure_round(i);
	for (i = 0; i < OPERATIONS && !err; i++)
		print_row(names[i], median(costs[i][0]), median(costs[i][1]), median(costs[i][2]));
	return err;
}

static int __init hashbelt_bench_init(void)
{
	unsigned int started;
	int err = entries ? 0 : -EINVAL;

	pr_info("%u entries; nanoseconds an operation\n", entries);
	pr_info("%-18s %11s %11s %11s\n", "", caches[0].name, caches[1].name, caches[2].name);
	for (started = 0; started < CACHES && !err; started++)
		err = caches[started].start();
	if (!err)
		err = measure();
	else if (started)
		started--;
	while (started--)
		caches[started].stop();
	hashbelt_flush();
	return err;
}
module_init(hashbelt_bench_init);

static void __exit hashbelt_bench_exit(void)
{
}
module_exit(hashbelt_bench_exit);

MODULE_DESCRIPTION("Measures hashbelt beside an rhashtable with timers");
MODULE_LICENSE("GPL");
