// SPDX-License-Identifier: GPL-2.0-only
/*
 * hashbelt_bench - measures the operations of a user inside the kernel.
 *
 *	insmod hashbelt_bench.ko [entries=N,...]
 *
 * Three caches hold the same entries, with keys of 16 bytes and values of 64 that live for an hour:
 *
 *	hashbelt	a belt, through hashbelt_core.h
 *	table+timer	an rhashtable of objects, each with a timer that removes it: kernel code
 *			without hashbelt does this
 *	table		the same rhashtable without timers: nothing expires
 *
 * Each operation is measured in slices of SLICE calls. The caches take turns, slice by slice, so
 * all of them run under the same load. The result is that of the median slice. It leaves out slices
 * in which an interrupt or another task ran, and so most of the work that is done later: freeing
 * after a grace period.
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

static unsigned int entries[8] = { 1000, 100000, 1000000 };
static unsigned int sizes = 3;
module_param_array(entries, uint, &sizes, 0444);
MODULE_PARM_DESC(entries, "sizes of the caches that are measured (1000,100000,1000000)");

/**
 * struct call - the arguments of one call
 * @key:	the key
 * @number:	the number that the key stands for; the value begins with it
 */
struct call {
	u64 key[2];
	u64 number;
};

/**
 * struct cache - a cache that is measured
 * @name:	its name in the table
 * @start:	makes it; returns 0 or an error
 * @stop:	frees it and its entries
 * @get:	finds an entry and reads the first word of its value; returns 0, -ENOENT, or
 *		-EBADMSG if the value is another key's
 * @put:	puts an entry that lives for @ttl seconds in the place of any other with its key
 * @remove:	removes an entry
 * @settle:	waits until the table has the right size; returns 0 or an error
 * @bytes:	the memory that it has allocated for @count entries, as the allocator rounds it up
 *
 * Context: all may sleep.
 */
struct cache {
	const char *name;
	int (*start)(void);
	void (*stop)(void);
	int (*get)(const struct call *call);
	int (*put)(const struct call *call, unsigned int ttl);
	int (*remove)(const struct call *call);
	int (*settle)(void);
	u64 (*bytes)(u64 count);
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

static int belt_put(const struct call *call, unsigned int ttl)
{
	struct hashbelt_item item = { .ttl_ms = ttl * MSEC_PER_SEC };
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

/* Does all that the worker has to do, such as resizing. */
static int belt_settle(void)
{
	return hashbelt_advance(belt, 0);
}

static u64 belt_bytes(u64 count)
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
				     unsigned int ttl, const bool is_timed)
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
		mod_timer(timer_of(object), jiffies + ttl * HZ);
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

static int table_settle(struct rhashtable *table)
{
	flush_work(&table->run_work);
	return 0;
}

/* Objects, and the heads of the chains. */
static u64 table_bytes(struct rhashtable *table, size_t size, u64 count)
{
	u64 chains;

	rcu_read_lock();
	chains = rcu_dereference(table->tbl)->size;
	rcu_read_unlock();
	return count * kmalloc_size_roundup(size) + chains * sizeof(struct rhash_lock_head *);
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
static int name##_put(const struct call *call, unsigned int ttl)		\
{										\
	return table_put(&(name), call, ttl, is_timed);				\
}										\
										\
static int name##_remove(const struct call *call)				\
{										\
	return table_remove(&(name), call, is_timed);				\
}										\
										\
static int name##_settle(void)							\
{										\
	return table_settle(&(name));						\
}										\
										\
static u64 name##_bytes(u64 count)						\
{										\
	return table_bytes(&(name), (is_timed) ? sizeof(struct timed_object) :	\
			   sizeof(struct object), count);			\
}

TABLE(timed, true)
TABLE(plain, false)

#define CACHE(prefix, title) {							\
	.name = (title), .start = prefix##_start, .stop = prefix##_stop,	\
	.get = prefix##_get, .put = prefix##_put,				\
	.remove = prefix##_remove, .settle = prefix##_settle,			\
	.bytes = prefix##_bytes,						\
}

#define CACHES		3

/* The first is compared with the second. */
static const struct cache caches[CACHES] = {
	CACHE(belt, "hashbelt"),
	CACHE(timed, "table+timer"),
	CACHE(plain, "table"),
};

/* Measuring */

static struct call slice[SLICE];
static u64 next_key;
static u64 costs[CACHES][ROUNDS];

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

/* Calls on keys of the first @count, in an order that no processor's cache predicts. */
static void choose_present(u64 count)
{
	unsigned int i;

	for (i = 0; i < SLICE; i++)
		set_call(i, mix(next_key++) % count);
}

static void choose_absent(u64 count)
{
	unsigned int i;

	for (i = 0; i < SLICE; i++)
		set_call(i, BIT_ULL(40) + next_key++);
}

static int run_nothing(const struct cache *cache)
{
	return 0;
}

static int run_get(const struct cache *cache)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < SLICE && !err; i++)
		err = cache->get(&slice[i]);
	return err;
}

static int run_miss(const struct cache *cache)
{
	unsigned int i;
	int err = -ENOENT;

	for (i = 0; i < SLICE && err == -ENOENT; i++)
		err = cache->get(&slice[i]);
	return err == -ENOENT ? 0 : -EEXIST;
}

static int run_put(const struct cache *cache)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < SLICE && !err; i++)
		err = cache->put(&slice[i], TTL);
	return err;
}

static int run_remove(const struct cache *cache)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < SLICE && !err; i++)
		err = cache->remove(&slice[i]);
	return err;
}

/**
 * struct operation - what is measured
 * @name:	its name in the table
 * @choose:	chooses the keys of a slice
 * @before:	run before the clock starts
 * @run:	run while it runs
 * @after:	run when it has stopped: leaves the cache as it was
 */
struct operation {
	const char *name;
	void (*choose)(u64 count);
	int (*before)(const struct cache *cache);
	int (*run)(const struct cache *cache);
	int (*after)(const struct cache *cache);
};

static const struct operation operations[] = {
	{ "get hit", choose_present, run_nothing, run_get, run_nothing },
	{ "get miss", choose_absent, run_nothing, run_miss, run_nothing },
	{ "put new", choose_absent, run_nothing, run_put, run_remove },
	{ "put replace", choose_present, run_nothing, run_put, run_nothing },
	{ "remove", choose_absent, run_put, run_remove, run_nothing },
};

static int run_slice(const struct operation *op, const struct cache *cache, u64 *took)
{
	u64 begin;
	int err = op->before(cache);

	if (err)
		return err;
	begin = ktime_get_ns();
	err = op->run(cache);
	*took = ktime_get_ns() - begin;
	cond_resched();
	return err ?: op->after(cache);
}

static int is_less(const void *a, const void *b)
{
	return *(const u64 *)a < *(const u64 *)b ? -1 : *(const u64 *)a > *(const u64 *)b;
}

/* The caches take turns. Return: 0 or an error. @cost: of a call, by cache, in nanoseconds. */
static int measure_slices(const struct operation *op, u64 count, u64 cost[CACHES])
{
	unsigned int round, i;
	int err = 0;

	for (round = 0; round < ROUNDS && !err; round++) {
		op->choose(count);
		for (i = 0; i < CACHES && !err; i++)
			err = run_slice(op, &caches[i], &costs[i][round]);
		if (fatal_signal_pending(current))
			err = -EINTR;
	}
	for (i = 0; i < CACHES; i++) {
		sort(costs[i], ROUNDS, sizeof(costs[i][0]), is_less, NULL);
		cost[i] = costs[i][ROUNDS / 2] / SLICE;
	}
	return err;
}

/* @cost: by cache. The ratio is that of the first two, rounded. */
static void print_row(const char *name, const u64 cost[CACHES])
{
	u64 hundredths = div64_u64(cost[0] * 100 + cost[1] / 2, cost[1]);

	pr_info("%-18s %11llu %11llu %11llu %7llu.%02llu\n", name, cost[0], cost[1], cost[2],
		hundredths / 100, hundredths % 100);
}

static int fill(const struct cache *cache, u64 count)
{
	unsigned int i;
	int err = 0;
	u64 n;

	for (n = 0; n < count && !err; n += SLICE) {
		for (i = 0; i < SLICE; i++)
			set_call(i, (n + i) % count);
		err = run_put(cache);
		cond_resched();
		if (fatal_signal_pending(current))
			err = -EINTR;
	}
	return err ?: cache->settle();
}

/* Fills the caches, and prints what an entry takes in each. */
static int fill_all(u64 count)
{
	u64 bytes[CACHES];
	unsigned int i;
	int err = 0;

	for (i = 0; i < CACHES && !err; i++) {
		err = fill(&caches[i], count);
		bytes[i] = caches[i].bytes(count) / count;
	}
	if (!err)
		print_row("bytes an entry", bytes);
	return err;
}

static int measure_all(u64 count)
{
	const struct operation *op;
	u64 cost[CACHES];
	int err = fill_all(count);

	for (op = operations; op < operations + ARRAY_SIZE(operations) && !err; op++) {
		err = measure_slices(op, count, cost);
		if (err)
			pr_err("%s: error %d\n", op->name, err);
		else
			print_row(op->name, cost);
	}
	return err;
}

static int measure(u64 count)
{
	unsigned int started;
	int err = 0;

	pr_info("%llu entries; nanoseconds an operation\n", count);
	pr_info("%-18s %11s %11s %11s %10s\n", "", caches[0].name, caches[1].name, caches[2].name,
		"ratio");
	for (started = 0; started < CACHES; started++) {
		err = caches[started].start();
		if (err)
			break;
	}
	if (!err)
		err = measure_all(count);
	while (started--)
		caches[started].stop();
	hashbelt_flush();
	return err;
}

static int __init hashbelt_bench_init(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < sizes && !err; i++)
		err = entries[i] ? measure(entries[i]) : -EINVAL;
	return err;
}
module_init(hashbelt_bench_init);

static void __exit hashbelt_bench_exit(void)
{
}
module_exit(hashbelt_bench_exit);

MODULE_DESCRIPTION("Measures hashbelt beside an rhashtable with timers");
MODULE_LICENSE("GPL");
