// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows of a few instructions: what another task does between any two accesses of a get or a put
 * to memory that they share. get.c, put.c, add.c and key.c of belt/keys are included, with get.h
 * and wheel.h, and each of their atomic accesses is a step, before and after which a case can act
 * as the other task.
 */
#include <kunit/test.h>
#include <linux/align.h>
#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/kcsan-checks.h>
#include <linux/kthread.h>
#include <linux/list_lru.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu_counter.h>
#include <linux/poll.h>
#include <linux/prandom.h>
#include <linux/preempt.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/shrinker.h>
#include <linux/siphash.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

/**
 * struct steps - the steps of the task under test
 * @act:	the act of the other task; NULL: no step is counted
 * @when:	the step at which it does that; 0: at each step
 * @count:	steps so far
 * @lock:	NULL, or @act takes this lock: there is no step while the task under test has it
 * @outer:	NULL, or a lock inside which @act may not run: there is no step while the task under
 *		test has it
 */
static struct steps {
	void (*act)(void);
	unsigned int when;
	unsigned int count;
	spinlock_t *lock;	/* see above */
	spinlock_t *outer;	/* see above */
} steps;

/* Ends a case that has steps with locks, on a kernel that does not tell which locks are held. */
static void need_lockdep(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_LOCKDEP))
		kunit_skip(test, "needs lockdep");
}

static bool is_held(spinlock_t *lock)
{
	return IS_ENABLED(CONFIG_LOCKDEP) && lock && lockdep_is_held(lock);
}

static void step(void)
{
	void (*act)(void) = steps.act;

	if (likely(!act) || is_held(steps.lock) || is_held(steps.outer))
		return;
	steps.count++;
	if (steps.when && steps.count != steps.when)
		return;
	/* It has no steps itself. */
	steps.act = NULL;
	act();
	steps.act = act;
}

static inline s64 read_word(const atomic64_t *word)
{
	s64 value;

	step();
	value = atomic64_read(word);
	step();
	return value;
}

static inline bool exchange_word(atomic64_t *word, s64 *old, s64 new)
{
	bool good;

	step();
	good = atomic64_try_cmpxchg(word, old, new);
	step();
	return good;
}

/* The kernel's macros, and its barriers for one processor. */
#undef READ_ONCE
#define READ_ONCE(x) ({							\
	__auto_type read__ = (step(), __READ_ONCE(x));			\
									\
	step();								\
	read__;								\
})
#undef WRITE_ONCE
#define WRITE_ONCE(x, value) do {					\
	step();								\
	__WRITE_ONCE(x, value);						\
	step();								\
} while (0)
#undef smp_load_acquire
/* READ_ONCE() with a step */
#define smp_load_acquire(p) READ_ONCE(*(p))
#undef smp_store_release
/* WRITE_ONCE() with a step */
#define smp_store_release(p, value) WRITE_ONCE(*(p), value)
#undef smp_rmb
/* For the compiler, as is the next one. */
#define smp_rmb() do { barrier(); step(); } while (0)
#undef smp_wmb
/* For the compiler. */
#define smp_wmb() do { barrier(); step(); } while (0)
#define atomic64_read read_word
#define atomic64_try_cmpxchg exchange_word

#include "belt/keys/add.c"
#include "belt/keys/get.c"
#include "belt/keys/key.c"
#include "belt/keys/put.c"
#include "belt/shard/window.c"

#include "belt/belts/set.h"
#include "fixture.h"

#define LEN	16u

/* A key of 8 bytes, in words. */
static u64 key;

static struct hashbelt_belt *make_graced(struct kunit *test, bool overwrites, u64 grace)
{
	struct fixture *f = test->priv;

	f->belt = still_belt(test, .handler = HASHBELT_NOTIFY, .event = record_event, .arg = f,
			     .overwrites = overwrites, .grace = grace);
	return f->belt;
}

/* An entry of the key with a value of LEN times @letter, which is its flags as well. */
static struct hashbelt_entry *letter_entry(struct hashbelt_belt *belt, char letter)
{
	struct hashbelt_entry *entry = hashbelt_entry_alloc(belt, NULL, sizeof(key), LEN);

	if (IS_ERR(entry))
		return NULL;
	memcpy(entry->data, &key, sizeof(key));
	memset(hashbelt_entry_value(entry), letter, LEN);
	entry->flags = letter;
	hb_entry_hash(belt, entry);
	return entry;
}

/* Puts a value into a new entry. Return: its version, or 0. */
static u64 put_letter(struct hashbelt_belt *belt, char letter, u64 ttl_ms)
{
	struct hashbelt_item item = { .ttl_ms = ttl_ms };
	struct hashbelt_entry *entry = letter_entry(belt, letter);

	return entry && !hb_put(belt, entry, &item, HB_PUT_ENTRY) ? item.version : 0;
}

/* Copies a value into the entry that is there. Return: its version, or 0. Allocates nothing. */
static u64 copy_letter(struct hashbelt_belt *belt, char letter, u64 ttl_ms)
{
	static u64 words[HB_FINE_MAX / sizeof(u64)];
	struct hashbelt_entry *entry = (struct hashbelt_entry *)words;
	struct hashbelt_item item = { .ttl_ms = ttl_ms };

	hb_entry_init(entry, HB_ENTRY, 0, sizeof(key), LEN);
	memcpy(entry->data, &key, sizeof(key));
	memset(hashbelt_entry_value(entry), letter, LEN);
	entry->flags = letter;
	hb_entry_hash(belt, entry);
	return hb_put(belt, entry, &item, HB_PUT_COPY) == HB_PUT_COPIED ? item.version : 0;
}

static int get_letter(struct hashbelt_belt *belt, struct hashbelt_item *item)
{
	u64 now = hashbelt_now(belt);
	struct hashbelt_entry *entry;
	struct hb_seen seen;
	int err = -ENOENT;

	rcu_read_lock();
	entry = hb_find(belt, &key, sizeof(key), now, &seen, NULL);
	if (entry)
		err = hb_hit(belt, entry, item, now, seen) ? 0 : -EAGAIN;
	rcu_read_unlock();
	return err;
}

/* The entry that the index has. Context: no step is counted. */
static struct hashbelt_entry *present(struct hashbelt_belt *belt)
{
	struct hashbelt_entry *entry;

	rcu_read_lock();
	entry = hb_index_find(&belt->index, hb_hash(belt, &key, sizeof(key)), &key, sizeof(key));
	rcu_read_unlock();
	return entry;
}

static void stop_steps(void)
{
	steps.act = NULL;
}

static void begin_steps(void (*act)(void), unsigned int when, spinlock_t *lock)
{
	steps = (struct steps){ .act = act, .when = when, .lock = lock };
}

/* Gets beside puts */

/* A get and the puts beside it. */
static struct scene {
	struct hashbelt_belt *belt;	/* the belt */
	struct hashbelt_entry *spare;	/* an entry for a put that replaces, or NULL */
	/* Of the values 'a', which is there at first, to 'c'; 0: that value is not there yet. */
	u64 versions[3];
} scene;

static void overwrite_it(void)
{
	scene.versions[1] = copy_letter(scene.belt, 'b', 0);
}

static void overwrite_it_twice(void)
{
	overwrite_it();
	scene.versions[2] = copy_letter(scene.belt, 'c', 0);
}

static void replace_it(void)
{
	struct hashbelt_entry *old = present(scene.belt);
	struct hashbelt_item item = {};

	/* A put does not overwrite an entry to which a task has a reference. */
	if (old)
		refcount_inc(&old->ref);
	hb_put(scene.belt, scene.spare, &item, HB_PUT_ENTRY);
	if (old)
		hashbelt_entry_put(scene.belt, old);
	scene.spare = NULL;
	scene.versions[1] = item.version;
}

static void replace_and_overwrite_it(void)
{
	replace_it();
	scene.versions[2] = copy_letter(scene.belt, 'c', 0);
}

/* Ways of a get */
enum get { PLAIN, TOUCHING, STALE, OLD };

struct window {
	const char *name;
	enum get get;
	void (*act)(void);
};

static const struct window windows[] = {
	{ "get, overwritten", PLAIN, overwrite_it },
	{ "get, overwritten twice", PLAIN, overwrite_it_twice },
	{ "get, replaced", PLAIN, replace_it },
	{ "get, replaced and overwritten", PLAIN, replace_and_overwrite_it },
	{ "touching get, overwritten", TOUCHING, overwrite_it },
	{ "touching get, overwritten twice", TOUCHING, overwrite_it_twice },
	{ "touching get, replaced", TOUCHING, replace_it },
	{ "stale get, overwritten", STALE, overwrite_it },
	{ "stale get, overwritten twice", STALE, overwrite_it_twice },
	{ "stale get, replaced", STALE, replace_it },
	{ "stale get of an old value, replaced", OLD, replace_it },
};

KUNIT_ARRAY_PARAM_DESC(window, windows, name);

/* One try of a get, as of the device. Return: 0, -EAGAIN, or -ENOENT. */
static int try_get(enum get get, struct hashbelt_item *item, char *value)
{
	u64 now = hashbelt_now(scene.belt);
	struct hashbelt_entry *entry;
	struct hb_seen seen;
	bool hit;

	if (get >= STALE)
		entry = hb_find_stale(scene.belt, &key, sizeof(key), now, &seen);
	else
		entry = hb_find(scene.belt, &key, sizeof(key), now, &seen, NULL);
	if (!entry)
		return -ENOENT;
	memcpy(value, hashbelt_entry_value(entry), LEN / 2);
	step();
	memcpy(value + LEN / 2, hashbelt_entry_value(entry) + LEN / 2, LEN / 2);
	if (get >= STALE)
		hit = hb_hit_stale(scene.belt, entry, item, now, seen);
	else
		hit = hb_hit(scene.belt, entry, item, now, seen);
	return hit ? 0 : -EAGAIN;
}

/* Makes a get, beside which the puts come at step @when. */
static void get_beside(struct kunit *test, const struct window *window, unsigned int when)
{
	struct hashbelt_item item = { .how = window->get == TOUCHING ? HASHBELT_AND_TOUCH : 0 };
	u32 hash = hb_hash(scene.belt, &key, sizeof(key));
	unsigned int i, which;
	char value[LEN];
	int err;

	begin_steps(window->act, when, &hb_shard_of(scene.belt, hash)->lock);
	rcu_read_lock();
	do {
		err = try_get(window->get, &item, value);
	} while (err == -EAGAIN);
	rcu_read_unlock();
	stop_steps();
	KUNIT_ASSERT_EQ(test, err, 0);
	which = value[0] - 'a';
	KUNIT_ASSERT_LT(test, which, 3u);
	for (i = 0; i < LEN; i++)
		KUNIT_ASSERT_EQ(test, value[i], value[0]);
	KUNIT_ASSERT_EQ(test, item.flags, (u32)value[0]);
	KUNIT_ASSERT_NE(test, scene.versions[which], 0ULL);
	KUNIT_ASSERT_EQ(test, item.version, scene.versions[which]);
}

static void what_a_get_returns_belongs_to_one_put(struct kunit *test)
{
	const struct window *window = test->param_value;
	bool replaces = window->act == replace_it || window->act == replace_and_overwrite_it;
	unsigned int when, beside = 0;

	need_lockdep(test);
	scene = (struct scene){ .belt = make_graced(test, true, 1000 * SEC) };
	for (when = 1; ; when++) {
		key = when;
		memset(scene.versions, 0, sizeof(scene.versions));
		scene.versions[0] = put_letter(scene.belt, 'a', 1000);
		if (replaces)
			scene.spare = letter_entry(scene.belt, 'b');
		if (window->get == OLD)
			move_time_only(scene.belt, 2 * SEC);
		get_beside(test, window, when);
		beside += scene.versions[1] != 0;
		if (scene.spare)
			hashbelt_entry_put(scene.belt, scene.spare);
		scene.spare = NULL;
		if (steps.count < when)
			break;
	}
	/* Each put but the last, which comes after the get, has been made. */
	KUNIT_EXPECT_EQ(test, beside, when - 1);
	KUNIT_EXPECT_GE(test, when, 8u);
	kunit_info(test, "%u steps\n", when - 1);
}

/* Puts beside gets */

/* A get beside a put that overwrites. */
static struct watcher {
	struct hashbelt_entry *entry;	/* the entry */
	unsigned int step;	/* steps of the put so far */
	unsigned int begin;	/* the step at which the get reads the version */
	unsigned int look;	/* the step at which it reads the flags and half of the value */
	/* The step at which it reads the other half, and looks whether the version has changed. */
	unsigned int end;
	struct hb_seen seen;	/* the version */
	u32 flags;	/* the flags that it has read */
	char value[LEN];	/* the value that it has read */
	bool wrong;	/* it has read what does not belong together */
} watcher;

static void watch(void)
{
	unsigned int now = ++watcher.step, i;
	struct hashbelt_entry *entry = watcher.entry;
	const char *value = hashbelt_entry_value(entry);
	u64 first = scene.versions[0];

	if (now == watcher.begin)
		watcher.seen.version = entry->version;
	/* A get waits while the version is 0. */
	if (!watcher.seen.version)
		return;
	if (now == watcher.look) {
		watcher.flags = entry->flags;
		memcpy(watcher.value, value, LEN / 2);
	}
	if (now != watcher.end)
		return;
	memcpy(watcher.value + LEN / 2, value + LEN / 2, LEN / 2);
	if (entry->version != watcher.seen.version)
		return;
	for (i = 0; i < LEN; i++)
		watcher.wrong |= watcher.value[i] != (watcher.seen.version == first ? 'a' : 'b');
	watcher.wrong |= watcher.flags != (u32)watcher.value[0];
}

/* Overwrites an entry, beside a get that takes its three steps at these ones. Return: the steps. */
static unsigned int overwrite_beside(struct kunit *test, unsigned int begin, unsigned int look,
				     unsigned int end, u64 ttl_ms)
{
	u64 version;

	copy_letter(scene.belt, 'z', 0);
	scene.versions[0] = copy_letter(scene.belt, 'a', 0);
	watcher = (struct watcher){
		.entry = present(scene.belt), .begin = begin, .look = look, .end = end,
	};
	begin_steps(watch, 0, NULL);
	version = copy_letter(scene.belt, 'b', ttl_ms);
	stop_steps();
	KUNIT_ASSERT_GT(test, version, scene.versions[0]);
	KUNIT_ASSERT_PTR_EQ(test, present(scene.belt), watcher.entry);
	KUNIT_ASSERT_FALSE(test, watcher.wrong);
	return watcher.step;
}

static void a_get_beside_a_put_that_overwrites_sees_one_value(struct kunit *test)
{
	static const u64 ttls_ms[] = { 0, HASHBELT_TTL_KEEP };
	unsigned int begin, look, end, all, i;

	scene = (struct scene){ .belt = make_graced(test, true, 0) };
	KUNIT_ASSERT_NE(test, put_letter(scene.belt, 'a', 0), 0ULL);
	for (i = 0; i < ARRAY_SIZE(ttls_ms); i++) {
		all = overwrite_beside(test, 0, 0, 0, ttls_ms[i]);
		KUNIT_EXPECT_GE(test, all, 12u);
		for (begin = 1; begin <= all; begin++)
			for (look = begin; look <= all; look++)
				for (end = look; end <= all; end++)
					overwrite_beside(test, begin, look, end, ttls_ms[i]);
		kunit_info(test, "%u steps\n", all);
	}
}

/* Writers beside a reader that finds the entry expired */

/* The entry that a reader seals. */
static struct expiry {
	struct hashbelt_belt *belt;	/* the belt */
	u64 version;			/* of the entry */
	u64 deadline;			/* of the entry */
	/* The reader has sealed it: it has told its caller that the entry has expired. */
	bool sealed;
} expiry;

/* The deadline has come. A writer may have read the time before. */
static void seal_it(void)
{
	struct hashbelt_entry *entry = present(expiry.belt);

	if (!entry || entry->version != expiry.version ||
	    atomic64_read(&entry->node.deadline) != (s64)expiry.deadline)
		return;
	move_time_only(expiry.belt, 30 * SEC);
	expiry.sealed = hb_node_seal(&entry->node, expiry.deadline);
}

/* A write to the key; returns as the call. */
struct writer {
	const char *name;
	int (*write)(struct hashbelt_item *item);
	bool copies;	/* a put copies its value into the entry that is there */
	u32 how;
	u64 ttl_ms;
	int err;	/* if the reader was told before that the entry has expired */
};

static int write_put(struct hashbelt_item *item)
{
	struct hashbelt_entry *entry = letter_entry(expiry.belt, '7');
	int err;

	if (!entry)
		return -ENOMEM;
	item->version = expiry.version;
	err = hb_put(expiry.belt, entry, item, HB_PUT_ENTRY);
	if (err == HB_PUT_COPIED)
		hashbelt_entry_put(expiry.belt, entry);
	return min(err, 0);
}

static int write_sum(struct hashbelt_item *item)
{
	struct hashbelt_sum sum = { .by = 1, .value = 3 };
	int err = hb_add(expiry.belt, &key, sizeof(key), item, &sum);

	/* The number that was there is all '1'. */
	return err ?: (sum.value == 4) != expiry.sealed ? -EILSEQ : 0;
}

static int write_deadline(struct hashbelt_item *item)
{
	return hashbelt_touch(expiry.belt, &key, sizeof(key), item);
}

static int get_and_touch(struct hashbelt_item *item)
{
	int err;

	do {
		err = get_letter(expiry.belt, item);
	} while (err == -EAGAIN);
	return err;
}

static const struct writer writers[] = {
	{ "put that keeps the deadline", write_put, false, 0, HASHBELT_TTL_KEEP },
	{ "put that keeps it, copied", write_put, true, 0, HASHBELT_TTL_KEEP },
	{ "put that keeps it if present", write_put, false, HASHBELT_IF_PRESENT,
	  HASHBELT_TTL_KEEP, -ENOENT },
	{ "put that keeps it if present, copied", write_put, true, HASHBELT_IF_PRESENT,
	  HASHBELT_TTL_KEEP, -ENOENT },
	{ "put that keeps it if unchanged", write_put, false, HASHBELT_IF_VERSION,
	  HASHBELT_TTL_KEEP, -ENOENT },
	{ "put that keeps it if unchanged, copied", write_put, true, HASHBELT_IF_VERSION,
	  HASHBELT_TTL_KEEP, -ENOENT },
	{ "put", write_put, false, 0, 0 },
	{ "put, copied", write_put, true, 0, 0 },
	{ "put for long, copied", write_put, true, 0, 500000 },
	{ "put if unchanged, copied", write_put, true, HASHBELT_IF_VERSION, 0, -ENOENT },
	{ "addition", write_sum, false, 0, 0 },
	{ "addition, copied", write_sum, true, 0, 0 },
	{ "touch", write_deadline, false, 0, 5000, -ENOENT },
	{ "touch for long", write_deadline, false, 0, 500000, -ENOENT },
	{ "get that touches", get_and_touch, false, HASHBELT_AND_TOUCH, 500000, -ENOENT },
};

KUNIT_ARRAY_PARAM_DESC(writer, writers, name);

/* Makes the write with a reader at step @when. */
static void write_beside(struct kunit *test, const struct writer *writer, unsigned int when)
{
	struct hashbelt_item item = { .how = writer->how, .ttl_ms = writer->ttl_ms };
	u64 expired = stat_of(expiry.belt, HASHBELT_STAT_EXPIRED);
	u64 replaced = stat_of(expiry.belt, HASHBELT_STAT_PUTS_REPLACED);
	bool puts = writer->write == write_put || writer->write == write_sum;
	struct hashbelt_item found = {};
	int err;

	begin_steps(seal_it, when, NULL);
	err = writer->write(&item);
	stop_steps();
	KUNIT_ASSERT_EQ(test, err, expiry.sealed ? writer->err : 0);
	KUNIT_ASSERT_EQ(test, get_letter(expiry.belt, &found), err);
	if (!err && puts)
		KUNIT_ASSERT_GT(test, found.version, expiry.version);
	/* A reader was told that it has expired, so it expired, before it was put again. */
	hashbelt_advance(expiry.belt, 0);
	if (puts) {
		KUNIT_ASSERT_EQ(test, stat_of(expiry.belt, HASHBELT_STAT_EXPIRED) - expired,
				(u64)expiry.sealed);
		KUNIT_ASSERT_EQ(test, stat_of(expiry.belt, HASHBELT_STAT_PUTS_REPLACED) - replaced,
				(u64)!expiry.sealed);
	}
	/* A new deadline may count from the time before the reader. */
	if (expiry.sealed)
		KUNIT_ASSERT_GE(test, err ? U64_MAX : found.ttl_ms, (TTL - 30 * SEC) / MS);
	else if (writer->ttl_ms == HASHBELT_TTL_KEEP || writer->write == write_sum)
		KUNIT_ASSERT_EQ(test, found.ttl_ms, 30000ULL);
}

static void no_writer_revives_an_entry_that_a_reader_found_expired(struct kunit *test)
{
	const struct writer *writer = test->param_value;
	unsigned int when, sealed = 0;

	expiry.belt = make_graced(test, writer->copies, 0);
	for (when = 1; ; when++) {
		key = when;
		expiry.sealed = false;
		expiry.version = put_letter(expiry.belt, '1', 30000);
		KUNIT_ASSERT_NE(test, expiry.version, 0ULL);
		expiry.deadline = hashbelt_now(expiry.belt) + 30 * SEC;
		write_beside(test, writer, when);
		sealed += expiry.sealed;
		hashbelt_remove(expiry.belt, &key, sizeof(key), &(struct hashbelt_item){});
		if (steps.count < when)
			break;
	}
	/* The write comes after the reader, and before it. */
	KUNIT_EXPECT_GT(test, sealed, 0u);
	KUNIT_EXPECT_LT(test, sealed, when);
	come_to_rest(expiry.belt);
	check_accounting(test, expiry.belt);
	kunit_info(test, "sealed at %u of %u steps\n", sealed, when - 1);
}

/* The entry itself */

/* Slots of a window beside writers */

/* Findings at each step of a writer. */
static struct slot_look {
	struct hashbelt_belt *belt;	/* the belt */
	const struct hashbelt_window_slot *slot;	/* the slot of the key */
	struct hashbelt_entry *entry;	/* the entry whose copy it has at first */
	s64 word;	/* the entry's deadline at first */
	u64 version;	/* the entry's version at first */
	unsigned int whole;	/* steps at which a reader takes the copy */
	unsigned int changed;	/* steps at which a get finds that the entry has changed */
	/* Steps at which both are so, or a reader finds a change before a get does. */
	unsigned int wrong;
} slot_look;

static void look_at_slot(void)
{
	const struct hashbelt_window_slot *slot = slot_look.slot;
	bool there = !(slot->sequence % 2) && slot->version == slot_look.version;
	bool whole = there && slot->deadline_ns == (u64)slot_look.word;
	bool changed = atomic64_read(&slot_look.entry->node.deadline) != slot_look.word ||
		       slot_look.entry->version != slot_look.version;

	slot_look.whole += whole;
	slot_look.changed += changed;
	slot_look.wrong += (whole && changed) || (there && !whole && !changed);
}

static void ask_twice(void)
{
	hb_window_offer(slot_look.belt, &key, sizeof(key), LEN);
	hb_window_offer(slot_look.belt, &key, sizeof(key), LEN);
}

/* The slot with a copy of the key's entry; NULL: none has. */
static const struct hashbelt_window_slot *present_slot(struct hashbelt_belt *belt)
{
	struct hb_window *window = rcu_dereference_protected(belt->window, true);
	size_t number;
	unsigned int way;

	set_of(window, hash_of(window, &key, sizeof(key)), &number);
	way = way_of(&window->set[number], present(belt));
	return way < HASHBELT_WINDOW_WAYS ? slot_of(window, number, way) : NULL;
}

static struct hashbelt_belt *make_windowed(struct kunit *test, bool overwrites)
{
	struct fixture *f = test->priv;

	f->belt = still_belt(test, .overwrites = overwrites, .window_bytes = HASHBELT_WINDOW_MIN);
	return f->belt;
}

/* A change of an entry; returns as the call. */
struct change {
	const char *name;
	int (*act)(struct hashbelt_belt *belt);
	bool overwrites;
};

static int put_change(struct hashbelt_belt *belt, u64 ttl_ms)
{
	struct hashbelt_entry *entry = letter_entry(belt, '2');
	int err = entry ? hb_put(belt, entry, &(struct hashbelt_item){ .ttl_ms = ttl_ms },
				 HB_PUT_ENTRY) : -ENOMEM;

	if (err == HB_PUT_COPIED)
		hashbelt_entry_put(belt, entry);
	return min(err, 0);
}

static int change_by_put(struct hashbelt_belt *belt)
{
	return put_change(belt, 0);
}

static int change_by_put_that_keeps(struct hashbelt_belt *belt)
{
	return put_change(belt, HASHBELT_TTL_KEEP);
}

static int change_by_copy(struct hashbelt_belt *belt)
{
	return copy_letter(belt, '2', 0) ? 0 : -ENOMEM;
}

static int change_by_sum(struct hashbelt_belt *belt)
{
	struct hashbelt_sum sum = { .by = 1 };

	return hb_add(belt, &key, sizeof(key), &(struct hashbelt_item){}, &sum);
}

static int change_by_touch(struct hashbelt_belt *belt)
{
	return hashbelt_touch(belt, &key, sizeof(key), &(struct hashbelt_item){ .ttl_ms = 9 });
}

static int change_by_long_touch(struct hashbelt_belt *belt)
{
	return hashbelt_touch(belt, &key, sizeof(key),
			      &(struct hashbelt_item){ .ttl_ms = 2 * TTL / MS });
}

static int change_by_get(struct hashbelt_belt *belt)
{
	return get_letter(belt, &(struct hashbelt_item){ .how = HASHBELT_AND_TOUCH, .ttl_ms = 9 });
}

static int change_by_remove(struct hashbelt_belt *belt)
{
	return hashbelt_remove(belt, &key, sizeof(key), &(struct hashbelt_item){});
}

static int change_by_expire(struct hashbelt_belt *belt)
{
	return hashbelt_expire(belt, &key, sizeof(key));
}

static const struct change changes[] = {
	{ "put that replaces", change_by_put },
	{ "put that replaces and keeps the deadline", change_by_put_that_keeps },
	{ "put that overwrites", change_by_put, true },
	{ "put that overwrites and keeps", change_by_put_that_keeps, true },
	{ "put that copies", change_by_copy, true },
	{ "addition", change_by_sum },
	{ "addition that overwrites", change_by_sum, true },
	{ "touch", change_by_touch },
	{ "touch for long", change_by_long_touch },
	{ "touch for long, where puts overwrite", change_by_long_touch, true },
	{ "get that touches", change_by_get },
	{ "remove", change_by_remove },
	{ "expire", change_by_expire },
};

KUNIT_ARRAY_PARAM_DESC(change, changes, name);

static void no_reader_finds_a_copy_after_a_get_has_found_the_change(struct kunit *test)
{
	const struct change *change = test->param_value;
	struct hashbelt_belt *belt = make_windowed(test, change->overwrites);
	int err;

	key = 1;
	slot_look = (struct slot_look){ .belt = belt, .version = put_letter(belt, '1', 30000) };
	KUNIT_ASSERT_NE(test, slot_look.version, 0ULL);
	ask_twice();
	slot_look.entry = present(belt);
	slot_look.word = atomic64_read(&slot_look.entry->node.deadline);
	slot_look.slot = present_slot(belt);
	KUNIT_ASSERT_NOT_NULL(test, slot_look.slot);
	begin_steps(look_at_slot, 0, NULL);
	err = change->act(belt);
	stop_steps();
	KUNIT_EXPECT_EQ(test, err, 0);
	KUNIT_EXPECT_EQ(test, slot_look.wrong, 0u);
	KUNIT_EXPECT_GT(test, slot_look.whole, 0u);
	KUNIT_EXPECT_GT(test, slot_look.changed, 0u);
	/* There are steps at which the copy is gone, and nothing has changed yet. */
	KUNIT_EXPECT_LT(test, slot_look.whole + slot_look.changed, steps.count);
	kunit_info(test, "%u steps\n", steps.count);
}

/* A reader beside a put and a fill. */
static struct slot_reader {
	unsigned int step;	/* steps of the put and the fill so far */
	unsigned int begin;	/* the step at which the reader loads the sequence */
	unsigned int look;	/* the step at which it copies one half */
	/* The step at which it copies the other, and loads the sequence again. */
	unsigned int end;
	u64 sequence;	/* the sequence that it has loaded */
	struct hashbelt_window_slot copy;	/* its copy */
	unsigned int hits;	/* looks in which the copy was taken */
	unsigned int wrong;	/* those that have taken what does not belong together */
} slot_reader;

/* Whether a copy of the slot is of one of the two values, or empty. */
static bool is_one_value(const struct hashbelt_window_slot *copy)
{
	const u8 *value = (const u8 *)&copy->data[1];
	u8 letter = *value;
	unsigned int i;

	if (!copy->version)
		return !memchr_inv(&copy->version, 0, sizeof(*copy) - sizeof(copy->sequence));
	for (i = 0; i < LEN; i++)
		if (value[i] != letter)
			return false;
	return copy->data[0] == key && copy->flags == letter && copy->value_len == LEN &&
	       (letter == 'a' ? copy->version == scene.versions[0] :
				letter == 'b' && copy->version > scene.versions[0]);
}

static void read_slot(void)
{
	const struct hashbelt_window_slot *slot = slot_look.slot;
	struct slot_reader *reader = &slot_reader;
	const size_t half = offsetof(struct hashbelt_window_slot, data) + 2 * sizeof(u64);
	unsigned int now = ++reader->step;

	if (now == reader->begin)
		reader->sequence = slot->sequence;
	if (now == reader->look)
		memcpy(&reader->copy, slot, half);
	if (now != reader->end)
		return;
	memcpy((void *)&reader->copy + half, (void *)slot + half, sizeof(*slot) - half);
	if (reader->sequence % 2 || reader->sequence != slot->sequence)
		return;
	reader->hits++;
	reader->wrong += !is_one_value(&reader->copy);
}

/* Puts a value, and fills the slot with it. Return: the steps. */
static unsigned int fill_beside(struct kunit *test, unsigned int begin, unsigned int look,
				unsigned int end)
{
	struct hashbelt_belt *belt = scene.belt;

	copy_letter(belt, 'a', 0);
	ask_twice();
	slot_look.slot = present_slot(belt);
	scene.versions[0] = present(belt)->version;
	slot_reader.step = 0;
	slot_reader.begin = begin;
	slot_reader.look = look;
	slot_reader.end = end;
	begin_steps(read_slot, 0, NULL);
	copy_letter(belt, 'b', 0);
	hb_window_offer(belt, &key, sizeof(key), LEN);
	stop_steps();
	KUNIT_ASSERT_PTR_EQ(test, present_slot(belt), slot_look.slot);
	KUNIT_ASSERT_EQ(test, slot_reader.wrong, 0u);
	return slot_reader.step;
}

static void a_reader_beside_a_put_and_a_fill_copies_one_value(struct kunit *test)
{
	unsigned int begin, look, end, all;

	scene = (struct scene){ .belt = make_windowed(test, true) };
	slot_look.belt = scene.belt;
	slot_reader = (struct slot_reader){};
	key = 1;
	KUNIT_ASSERT_NE(test, put_letter(scene.belt, 'a', 0), 0ULL);
	all = fill_beside(test, 0, 0, 0);
	KUNIT_EXPECT_GE(test, all, 20u);
	for (begin = 1; begin <= all; begin++)
		for (look = begin; look <= all; look++)
			for (end = look; end <= all; end++)
				fill_beside(test, begin, look, end);
	KUNIT_EXPECT_GT(test, slot_reader.hits, 0u);
	kunit_info(test, "%u steps, %u hits\n", all, slot_reader.hits);
}

/* Clears */

static void look_at_floor(void)
{
	struct hb_window *window = rcu_dereference_protected(slot_look.belt->window, true);

	slot_look.changed += window->shown->floor != slot_look.version;
	slot_look.wrong += window->shown->floor < slot_look.belt->floor;
}

static void no_reader_finds_a_copy_after_a_get_has_found_the_belt_cleared(struct kunit *test)
{
	slot_look = (struct slot_look){ .belt = make_windowed(test, true) };
	key = 1;
	KUNIT_ASSERT_NE(test, put_letter(slot_look.belt, '1', 0), 0ULL);
	slot_look.version = slot_look.belt->floor;
	begin_steps(look_at_floor, 0, NULL);
	hashbelt_clear(slot_look.belt);
	stop_steps();
	KUNIT_EXPECT_EQ(test, slot_look.wrong, 0u);
	KUNIT_EXPECT_GT(test, slot_look.changed, 0u);
	KUNIT_EXPECT_LT(test, slot_look.changed, steps.count);
}

/* Asks beside the end of a window */

static void ask_beside(void)
{
	hb_window_offer(slot_look.belt, &key, sizeof(key), LEN);
}

/* The beginning of a close, as far as it does not sleep. */
static void begin_close(void)
{
	struct hb_window *window = rcu_dereference_protected(slot_look.belt->window, true);
	struct hb_window_set *set;
	unsigned int way;
	size_t number;

	stop_showing(slot_look.belt, window);
	set = set_of(window, hash_of(window, &key, sizeof(key)), &number);
	spin_lock(lock_of(window, number));
	for (way = 0; way < HASHBELT_WINDOW_WAYS; way++)
		if (set->entry[way])
			drop_copy(window, set, number, way);
	spin_unlock(lock_of(window, number));
}

static unsigned int copies_in(struct hb_window *window)
{
	unsigned int way, copies = 0;
	struct hb_window_set *set;
	size_t number;

	set = set_of(window, hash_of(window, &key, sizeof(key)), &number);
	for (way = 0; way < HASHBELT_WINDOW_WAYS; way++)
		copies += !!set->entry[way];
	return copies;
}

/* Closes the window with an ask at step @when, or begins to close it at step @when of an ask. */
static void close_beside(struct hb_window *window, unsigned int when, bool asks)
{
	size_t number;

	set_of(window, hash_of(window, &key, sizeof(key)), &number);
	begin_steps(asks ? ask_beside : begin_close, when, lock_of(window, number));
	if (asks) {
		/* An ask takes the shard's lock, which comes before this one. */
		steps.outer = &window->head;
		hb_window_close(slot_look.belt);
	} else {
		hb_window_offer(slot_look.belt, &key, sizeof(key), LEN);
	}
	stop_steps();
}

static void try_to_fill_beside_a_close(struct kunit *test, bool asks)
{
	struct hashbelt_belt *belt = slot_look.belt;
	unsigned int when, i;

	for (when = 1; ; when++) {
		struct hb_window *window = rcu_dereference_protected(belt->window, true);

		/* It gets a slot, or will get one. */
		for (i = 0; i <= asks; i++)
			hb_window_offer(belt, &key, sizeof(key), LEN);
		close_beside(window, when, asks);
		if (steps.count < when)
			break;
		KUNIT_ASSERT_EQ(test, copies_in(window), 0u);
		KUNIT_ASSERT_EQ(test, refcount_read(&present(belt)->ref), 1u);
		ask_twice();
		KUNIT_ASSERT_EQ(test, copies_in(window), 0u);
		for (i = 0; i < 2; i++)
			KUNIT_ASSERT_EQ(test, change(belt, WINDOW,
						     .window_bytes = i * HASHBELT_WINDOW_MIN), 0);
	}
	kunit_info(test, "%u steps\n", when - 1);
	KUNIT_EXPECT_GE(test, when, 3u);
}

static void no_ask_fills_a_window_that_is_being_closed(struct kunit *test)
{
	unsigned int asks;

	need_lockdep(test);
	slot_look.belt = make_windowed(test, true);
	key = 1;
	KUNIT_ASSERT_NE(test, put_letter(slot_look.belt, 'a', 0), 0ULL);
	for (asks = 0; asks < 2; asks++)
		try_to_fill_beside_a_close(test, asks);
	check_accounting(test, slot_look.belt);
}

static struct kunit_case window_cases[] = {
	KUNIT_CASE_PARAM(what_a_get_returns_belongs_to_one_put, window_gen_params),
	KUNIT_CASE(a_get_beside_a_put_that_overwrites_sees_one_value),
	KUNIT_CASE_PARAM(no_writer_revives_an_entry_that_a_reader_found_expired, writer_gen_params),
	KUNIT_CASE_PARAM(no_reader_finds_a_copy_after_a_get_has_found_the_change,
			 change_gen_params),
	KUNIT_CASE(a_reader_beside_a_put_and_a_fill_copies_one_value),
	KUNIT_CASE(no_reader_finds_a_copy_after_a_get_has_found_the_belt_cleared),
	KUNIT_CASE(no_ask_fills_a_window_that_is_being_closed),
	{}
};

TEST_SUITE(window, fixture_init, fixture_exit);
