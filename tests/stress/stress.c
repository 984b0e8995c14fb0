// SPDX-License-Identifier: GPL-2.0-only
/*
 * stress - all operations at once on two belts, with bounds on each result.
 *
 *	stress [SEED [OPERATIONS]]
 *
 * Each key has one writer. It publishes the sequence number of a put before the put begins,
 * and again after the put has ended. A reader reads the published numbers before and after
 * its get: they bound what the get may return.
 *
 *	value	all of it is from one put
 *	hit	not older than the last put that had ended when the get began, not newer
 *		than the last put that had begun when the get ended
 *	version	grows with the sequence number, for each reader
 *	gone	an entry that a clear or remove took out does not come back: no get that
 *		begins after the end of that call returns it
 *	miss	only if the entry could have left: keys of the steady belt never miss
 *	refresh	after a get that refreshed it, an entry lives for its ttl of belt time
 *
 * Meanwhile belts of changing names are created, used and destroyed.
 */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

#include "stress.h"

#define KEYS		64	/* keys of each writer */
#define CALM		8	/* the last keys of each writer are written less often */
#define WRITERS		2
#define VALUE_MAX	600
#define PROVEN		50	/* refreshes that should be checked */
#define PER_PROVEN	2000	/* operations of a writer for each that has to be */
#define TTL_MS		1000

/**
 * struct slot - the published state of a key
 * @begun:	sequence number of the last put that has begun
 * @ended:	sequence number of the last put that has ended
 * @gone:	all puts up to this number have been removed or cleared
 * @ending:	counts removes and expires: bad while one runs
 */
struct slot {
	_Atomic uint64_t begun;
	_Atomic uint64_t ended;
	_Atomic uint64_t gone;
	_Atomic uint64_t ending;
};

/**
 * struct arena - a belt under stress
 * @name:	its name
 * @steady:	its entries do not expire, and no thread clears or removes
 * @slots:	state of its keys
 */
struct arena {
	const char *name;
	int steady;
	struct slot slots[WRITERS * KEYS];
};

struct value {
	uint32_t key;
	uint32_t size;
	uint64_t sequence;
	uint8_t filling[VALUE_MAX];
};

static struct arena steady = { .name = "stress-steady", .steady = 1 };
static struct arena moving = { .name = "stress-moving" };
static _Atomic uint64_t advanced_ms;	/* moves of belt time, counted before each move */
static _Atomic uint64_t moved_ms;	/* moves of belt time, counted after each move */
static _Atomic uint64_t clears;		/* bad while a clear runs */
static _Atomic uint64_t runs;		/* bad while belt time runs by itself */
static _Atomic uint64_t proven;		/* number of refreshes that could be checked */
static _Atomic int writers_left;

#define PROGRESS	4096	/* operations between two lines of progress */

static uint64_t operations = 100000;

static uint8_t filling_of(uint32_t key, uint64_t sequence)
{
	return key * 31 + sequence * 7 + 1;
}

static void make_value(struct value *v, uint32_t key, uint64_t sequence, uint32_t size)
{
	v->key = key;
	v->sequence = sequence;
	v->size = size;
	memset(v->filling, filling_of(key, sequence), size);
}

static int is_whole(const struct value *v, uint32_t key, uint32_t length)
{
	if (length < offsetof(struct value, filling) || v->key != key ||
	    v->size != length - offsetof(struct value, filling))
		return 0;
	for (uint32_t i = 0; i < v->size; i++)
		if (v->filling[i] != filling_of(key, v->sequence))
			return 0;
	return 1;
}

static void write_one(struct arena *arena, struct hashbelt *belt, uint32_t key, uint64_t *random)
{
	struct slot *slot = &arena->slots[key];
	uint64_t sequence = atomic_load(&slot->begun) + 1;
	uint32_t size = next_random(random) % VALUE_MAX;
	struct hashbelt_item item = {};
	struct value v;
	int err;

	make_value(&v, key, sequence, size);
	if (arena->steady)
		item.ttl_ms = next_random(random) % 2 ? HASHBELT_TTL_NEVER : 1000000000;
	else if (next_random(random) % 4 == 0)
		item.ttl_ms = 1 + next_random(random) % (4 * TTL_MS);
	atomic_store(&slot->begun, sequence);
	err = hashbelt_put(belt, &key, sizeof(key), &v,
			   offsetof(struct value, filling) + size, &item);
	if (err)
		wrong("put: %s", strerror(-err));
	atomic_store(&slot->ended, sequence);
}

/* Publishes that all puts up to @sequence are gone. Two threads may do so at once. */
static void publish_gone(struct slot *slot, uint64_t sequence)
{
	uint64_t gone = atomic_load(&slot->gone);

	while (gone < sequence && !atomic_compare_exchange_weak(&slot->gone, &gone, sequence))
		;
}

static void remove_one(struct arena *arena, struct hashbelt *belt, uint32_t key, int expire)
{
	struct slot *slot = &arena->slots[key];
	struct hashbelt_item item = {};
	int err;

	atomic_fetch_add(&slot->ending, 1);
	err = expire ? hashbelt_expire(belt, &key, sizeof(key)) :
		       hashbelt_remove(belt, &key, sizeof(key), &item);
	if (err && err != -ENOENT)
		wrong("%s: %s", expire ? "expire" : "remove", strerror(-err));
	atomic_fetch_add(&slot->ending, 1);
	publish_gone(slot, atomic_load(&slot->ended));
}

static uint32_t pick_key(uint64_t random)
{
	if (random % 12)
		return random / 12 % (KEYS - CALM);
	return KEYS - CALM + random / 12 % CALM;
}

/* A writer goes on longer if the readers could check too few refreshes. */
static int goes_on(uint64_t n)
{
	return n < operations ||
	       (n < 20 * operations && atomic_load(&proven) < PROVEN);
}

static void *writer(void *arg)
{
	uint32_t base = (uintptr_t)arg * KEYS;
	uint64_t random = seed_of(10 + base);
	struct hashbelt *belts[2] = { open_belt(steady.name), open_belt(moving.name) };

	for (uint64_t n = 0; goes_on(n); n++) {
		uint64_t choice = next_random(&random);
		uint32_t key = base + pick_key(choice / 16);

		/* A guest that prints nothing for 300 seconds is ended. */
		if (!base && n % PROGRESS == PROGRESS - 1)
			printf("# %ju operations\n", (uintmax_t)n + 1);
		switch (choice % 16) {
		case 0:
		case 1:
			remove_one(&moving, belts[1], key, choice % 16);
			break;
		case 2 ... 8:
			write_one(&steady, belts[0], key, &random);
			break;
		default:
			write_one(&moving, belts[1], key, &random);
		}
	}
	hashbelt_close(belts[0]);
	hashbelt_close(belts[1]);
	atomic_fetch_sub(&writers_left, 1);
	return NULL;
}

/**
 * struct memory - the last hit of a reader on a key
 * @sequence:	its sequence number
 * @version:	its version
 */
struct memory {
	uint64_t sequence;
	uint64_t version;
};

static void check_hit(struct arena *arena, uint32_t key, const struct value *v,
		      const struct hashbelt_item *item, struct memory *memory,
		      uint64_t ended, uint64_t gone)
{
	uint64_t begun = atomic_load(&arena->slots[key].begun);
	int newer, grown;

	if (!is_whole(v, key, item->value_len)) {
		wrong("%s: key %u: value is not of one put", arena->name, key);
		return;
	}
	if (v->sequence < ended || v->sequence > begun)
		wrong("%s: key %u: sequence %ju, put before %ju, begun %ju", arena->name,
		      key, (uintmax_t)v->sequence, (uintmax_t)ended, (uintmax_t)begun);
	if (v->sequence <= gone)
		wrong("%s: key %u: sequence %ju came back, %ju were gone", arena->name,
		      key, (uintmax_t)v->sequence, (uintmax_t)gone);
	newer = v->sequence > memory->sequence;
	grown = item->version > memory->version;
	if (v->sequence < memory->sequence || newer != grown)
		wrong("%s: key %u: sequence %ju version %ju after %ju %ju", arena->name,
		      key, (uintmax_t)v->sequence, (uintmax_t)item->version,
		      (uintmax_t)memory->sequence, (uintmax_t)memory->version);
	memory->sequence = v->sequence;
	memory->version = item->version;
}

static int read_one(struct arena *arena, struct hashbelt *belt, uint32_t key, uint32_t how,
		    struct memory *memory)
{
	struct slot *slot = &arena->slots[key];
	uint64_t gone = atomic_load(&slot->gone), ended = atomic_load(&slot->ended);
	struct hashbelt_item item = { .how = how };
	struct value v;
	int err = hashbelt_get(belt, &key, sizeof(key), &v, sizeof(v), &item);

	if (!err)
		check_hit(arena, key, &v, &item, memory, ended, gone);
	else if (err != -ENOENT)
		wrong("%s: get: %s", arena->name, strerror(-err));
	else if (arena->steady && ended)
		wrong("%s: key %u: lost", arena->name, key);
	return !err;
}

/* A refreshed entry must be found if none of these changes or runs meanwhile. */
struct witness {
	uint64_t begun, ending, clears, runs, moved;
};

static struct witness look(const struct slot *slot)
{
	return (struct witness){
		.begun = atomic_load(&slot->begun),
		.ending = atomic_load(&slot->ending),
		.clears = atomic_load(&clears),
		.runs = atomic_load(&runs),
		.moved = atomic_load(&moved_ms),
	};
}

/* Refreshes an entry, and checks that it is still found unless another thread may end it. */
static void read_twice(struct hashbelt *belt, uint32_t key, struct memory *memory)
{
	struct slot *slot = &moving.slots[key];
	struct witness before = look(slot), after;
	int settled = atomic_load(&slot->ended) == before.begun;
	int hit = read_one(&moving, belt, key, 0, memory), again;

	/* Long enough for its bucket to fall off, not for its deadline. */
	for (unsigned int i = 0; i < 100; i++) {
		if (atomic_load(&advanced_ms) - before.moved > TTL_MS * 3 / 4)
			break;
		sched_yield();
	}
	again = read_one(&moving, belt, key, HASHBELT_NO_REFRESH, memory);
	after = look(slot);
	if (!hit || !settled || after.begun != before.begun ||
	    before.ending % 2 || after.ending != before.ending ||
	    before.clears % 2 || after.clears != before.clears ||
	    before.runs % 2 || after.runs != before.runs ||
	    atomic_load(&advanced_ms) - before.moved >= TTL_MS)
		return;
	atomic_fetch_add(&proven, 1);
	if (!again)
		wrong("key %u: gone within its ttl after a refresh", key);
}

/* Uses a key that is written less often, so that its refresh can mostly be checked. */
static void read_calm(struct hashbelt *belt, uint64_t random, struct memory *memories)
{
	uint32_t key = random % WRITERS * KEYS + KEYS - CALM + random / WRITERS % CALM;

	read_twice(belt, key, &memories[key]);
}

static void *reader(void *arg)
{
	static const uint32_t hows[] = { 0, HASHBELT_NO_REFRESH, 0, HASHBELT_NO_REFRESH };
	uint64_t random = seed_of(100 + (uintptr_t)arg);
	struct hashbelt *belts[2] = { open_belt(steady.name), open_belt(moving.name) };
	struct memory *memories = calloc(2 * WRITERS * KEYS, sizeof(*memories));

	while (atomic_load(&writers_left)) {
		uint64_t choice = next_random(&random);
		uint32_t key = choice / 16 % (WRITERS * KEYS);

		if (choice % 16 < 6)
			read_one(&steady, belts[0], key, hows[choice % 4], &memories[key]);
		else if (choice % 16 < 12)
			read_one(&moving, belts[1], key, hows[choice % 4],
				 &memories[WRITERS * KEYS + key]);
		else
			read_calm(belts[1], choice / 16, &memories[WRITERS * KEYS]);
	}
	free(memories);
	hashbelt_close(belts[0]);
	hashbelt_close(belts[1]);
	return NULL;
}

static void clear_all(struct hashbelt *belt)
{
	uint64_t ended[WRITERS * KEYS];
	int err;

	atomic_fetch_add(&clears, 1);
	for (unsigned int i = 0; i < WRITERS * KEYS; i++)
		ended[i] = atomic_load(&moving.slots[i].ended);
	err = hashbelt_clear(belt);
	atomic_fetch_add(&clears, 1);
	if (err)
		wrong("clear: %s", strerror(-err));
	for (unsigned int i = 0; i < WRITERS * KEYS; i++)
		publish_gone(&moving.slots[i], ended[i]);
}

/* Lets the worker and real time move the belt, by an unknown time. */
static int run_free(struct hashbelt *belt)
{
	int err;

	atomic_fetch_add(&runs, 1);
	err = hashbelt_resume(belt);
	usleep(3000);
	err = err ?: hashbelt_halt(belt);
	atomic_fetch_add(&runs, 1);
	return err;
}

/* Publishes the move of time before and after it. */
static int advance(struct hashbelt *belt, uint64_t ms)
{
	int err;

	atomic_fetch_add(&advanced_ms, ms);
	err = hashbelt_advance(belt, ms);
	atomic_fetch_add(&moved_ms, ms);
	return err;
}

static int rotate(struct hashbelt *belt)
{
	int err;

	atomic_fetch_add(&advanced_ms, TTL_MS / 2);
	err = hashbelt_rotate(belt);
	atomic_fetch_add(&moved_ms, TTL_MS / 2);
	return err;
}

/* A key that is present during all of a scan is reported. Keys of the steady belt are. */
static void scan_all(struct hashbelt *belt)
{
	uint8_t seen[WRITERS * KEYS] = {}, there[WRITERS * KEYS];
	const struct hashbelt_record *record;
	struct hashbelt_scanner *scanner = NULL;
	uint32_t key;
	int err;

	for (key = 0; key < WRITERS * KEYS; key++)
		there[key] = atomic_load(&steady.slots[key].ended) > 0;
	err = hashbelt_scan_begin(belt, &scanner);
	while (!err && (err = hashbelt_scan_next(scanner, &record)) == 1) {
		memcpy(&key, hashbelt_record_key(record), sizeof(key));
		seen[key % (WRITERS * KEYS)] = 1;
		err = 0;
	}
	hashbelt_scan_end(scanner);
	if (err)
		wrong("scan: %s", strerror(-err));
	for (key = 0; key < WRITERS * KEYS; key++)
		if (there[key] && !seen[key])
			wrong("scan: key %u was not reported", key);
}

static void *mover(void *arg)
{
	uint64_t random = seed_of(200);
	struct hashbelt *belts[2] = { open_belt(steady.name), open_belt(moving.name) };
	int err = 0;

	(void)arg;
	while (atomic_load(&writers_left)) {
		uint64_t choice = next_random(&random);

		switch (choice % 32) {
		case 0:
			clear_all(belts[1]);
			break;
		case 1:
			err = run_free(belts[1]);
			break;
		case 2 ... 5:
			err = rotate(belts[1]);
			break;
		case 6:
			scan_all(belts[0]);
			break;
		case 7:
			err = hashbelt_rotate(belts[0]);
			break;
		default:
			err = advance(belts[1], choice / 32 % (TTL_MS / 8));
		}
		if (err)
			wrong("moving time: %s", strerror(-err));
	}
	hashbelt_close(belts[0]);
	hashbelt_close(belts[1]);
	return NULL;
}

static void use_belt(struct hashbelt *belt, uint64_t random)
{
	struct hashbelt_item item = {};
	uint64_t back;
	int err;

	for (unsigned int i = 0; i < 20; i++) {
		uint64_t key = next_random(&random) % 16;

		err = hashbelt_put(belt, &key, sizeof(key), &key, sizeof(key), &item);
		if (err && err != -EIDRM)
			wrong("churn: put: %s", strerror(-err));
		err = hashbelt_get(belt, &key, sizeof(key), &back, sizeof(back), &item);
		if (err && err != -EIDRM && err != -ENOENT)
			wrong("churn: get: %s", strerror(-err));
		if (!err && back != key)
			wrong("churn: another key's value");
		item = (struct hashbelt_item){ .ttl_ms = 1 + random % 3 };
	}
}

/* Creates and destroys belts; a handle is bound to one after the other. */
static void *churn(void *arg)
{
	uint64_t random = seed_of(300 + (uintptr_t)arg);
	struct hashbelt_settings settings = { .mode = 0600, .buckets = 2 };
	struct hashbelt *belt;
	int err = hashbelt_open(NULL, &belt);
	char name[] = "churn-0";

	if (err) {
		wrong("cannot open the device: %s", strerror(-err));
		return NULL;
	}
	while (atomic_load(&writers_left)) {
		uint64_t choice = next_random(&random);

		name[6] = '0' + choice / 8 % 4;
		settings.ttl_ms = 1 + choice % 50;
		if (choice % 8 == 0)
			err = hashbelt_create(belt, "", &settings);
		else if (choice % 8 < 4)
			err = hashbelt_create(belt, name, &settings);
		else if (choice % 8 < 6)
			err = hashbelt_bind(belt, name);
		else
			err = hashbelt_destroy(belt, name);
		if (err && err != -EEXIST && err != -ENOENT)
			wrong("churn: %s", strerror(-err));
		use_belt(belt, random);
	}
	for (name[6] = '0'; name[6] < '4'; name[6]++)
		hashbelt_destroy(belt, name);
	hashbelt_close(belt);
	return NULL;
}

/* Compares the belt's count of entries with a scan, when no other thread runs. */
static int adds_up(struct arena *arena)
{
	struct hashbelt *belt = open_belt(arena->name);
	int err;
	const struct hashbelt_record *record;
	struct hashbelt_scanner *scanner = NULL;
	struct hashbelt_info info = {};
	uint64_t found = 0;

	/* By so much that each expired entry has been drained. */
	err = hashbelt_advance(belt, 10 * TTL_MS) ?: hashbelt_scan_begin(belt, &scanner);
	while (!err && hashbelt_scan_next(scanner, &record) == 1)
		found++;
	hashbelt_scan_end(scanner);
	err = err ?: hashbelt_info(belt, &info);
	if (err || info.entries != found)
		wrong("%s: %ju entries counted, %ju found: %s", arena->name,
		      (uintmax_t)info.entries, (uintmax_t)found, strerror(-err));
	err = hashbelt_clear(belt) ?: hashbelt_info(belt, &info);
	if (err || info.entries)
		wrong("%s: %ju entries after clear", arena->name, (uintmax_t)info.entries);
	hashbelt_destroy(belt, arena->name);
	hashbelt_close(belt);
	return atomic_load(failures) == 0;
}

int main(int argc, char **argv)
{
	static void *(*const others[])(void *) = { reader, reader, mover, churn, churn };
	pthread_t threads[WRITERS + sizeof(others) / sizeof(*others)];
	unsigned int n = 0;
	struct hashbelt_settings settings = { .ttl_ms = TTL_MS, .buckets = 3 };
	char promise[64];
	uint64_t least;
	int failed;

	setvbuf(stdout, NULL, _IOLBF, 0);
	read_arguments(argc, argv, &operations);
	printf("# seed %ju, %ju operations of each writer\n", (uintmax_t)seed,
	       (uintmax_t)operations);
	hashbelt_close(make_belt(steady.name, settings, 1));
	settings.policy = HASHBELT_REFRESH_ON_GET;
	hashbelt_close(make_belt(moving.name, settings, 1));
	atomic_store(&writers_left, WRITERS);
	for (uintptr_t i = 0; i < WRITERS; i++)
		pthread_create(&threads[n++], NULL, writer, (void *)i);
	for (uintptr_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		pthread_create(&threads[n++], NULL, others[i], (void *)i);
	while (n--)
		pthread_join(threads[n], NULL);
	failed = report(!atomic_load(failures), "no call returns an impossible result");
	printf("# refreshes that could be checked: %ju\n", (uintmax_t)atomic_load(&proven));
	/* On a slow machine other threads run more often between the two gets of a check. */
	least = operations / PER_PROVEN < PROVEN ? operations / PER_PROVEN : PROVEN;
	snprintf(promise, sizeof(promise), "at least %ju refreshes can be checked",
		 (uintmax_t)least);
	failed += report(atomic_load(&proven) >= least, promise);
	failed += report(adds_up(&steady) & adds_up(&moving),
			 "counters and scans agree on the entries of both belts");
	return done(failed);
}
