// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench - the cost of each operation, as a multiple of an ioctl that returns at once.
 *
 *	bench [--entries N] [--buckets N] [--rounds N] [--unit NAME] [--json]
 *	      [--only OPERATION [--repeat]]
 *
 * Each operation is measured in slices that alternate with slices of the floor, HASHBELT_IOC_ABI on
 * the same descriptor (measure.h). Keys have 16 bytes, values 64, in an order that no cache can
 * predict. With --unit the absolute cost is printed too: "ns", or "instructions" under an emulator
 * in which one instruction takes one nanosecond. The absolute cost is that of the cheapest slice:
 * work that the kernel does now and then, such as freeing, takes as long as many calls, and makes
 * the calls after it slower for a while.
 *
 * The kernel frees replaced and removed entries some milliseconds later, in bursts. Operations
 * whose name ends in "freed" are measured as one long slice, so their cost includes the bursts.
 *
 * Operations on a belt with a window are calls of the library. It makes a system call for each 64th
 * hit, so each slice of hits has one.
 *
 * With --only one operation is measured. With --repeat its slices then go on without an end and
 * without the floor, for profile.sh.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "hashbelt/client.h"
#include "measure.h"

#define VALUE_SIZE	64
#define LARGE_SIZE	1024
#define LARGE_KEYS	1024

/* Keys for which the window has room, whatever the number of entries. */
#define HOT_KEYS	1024

/* Gets after which the window has a key: the first leaves a mark, the second one fills a slot. */
#define FILL_GETS	2

/* An operation of the kind "freed" runs FLOW_BEGIN slices before FLOW_SLICES are measured. */
#define FLOW_BEGIN	200
#define FLOW_SLICES	2000

/* Additions begin here, so that all sums have the same number of digits. */
#define SUM_BEGIN	100000

/**
 * struct bench - a run
 * @belt:	handle, bound to the measured belt
 * @fd:		its descriptor
 * @entries:	number of entries in the belt
 * @rounds:	number of slices of each operation
 * @figure:	the printed cost of an operation
 * @json:	as JSON
 * @next:	number of the next key
 * @keys:	the keys of the slice
 * @items:	the arguments of the slice, made before the clock starts
 * @sums:	the arguments of additions
 * @buffers:	buffers for values that are read
 */
struct bench {
	struct hashbelt *belt;
	int fd;
	uint64_t entries;
	unsigned int rounds;
	struct figure figure;
	bool json;
	uint64_t next;
	uint64_t keys[SLICE][2];
	struct hashbelt_item items[SLICE];
	struct hashbelt_sum sums[SLICE];
	uint8_t buffers[SLICE][LARGE_SIZE];
};

/**
 * struct operation - an operation to measure
 * @name:	its name in the report
 * @prepare:	makes the arguments of a slice
 * @run:	makes the calls of a slice; returns 0, or -1 with errno set
 * @calls:	number of calls of a slice; 0: SLICE
 * @after:	undoes the calls, while the clock does not run; or NULL
 * @policy:	policy of the belt that it needs; one that evicts is full
 * @window:	the belt has a window, and the hot keys are in it
 * @flow:	measured as one long slice, freeing included
 */
struct operation {
	const char *name;
	void (*prepare)(struct bench *b);
	int (*run)(struct bench *b);
	unsigned int calls;
	int (*after)(struct bench *b);
	uint32_t policy;
	bool window;
	bool flow;
};

static uint8_t value[LARGE_SIZE];

static void die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(4);
}

/* Makes item @i of the slice an operation on key number @number. */
static void set_item(struct bench *b, unsigned int i, uint64_t number, uint32_t size)
{
	b->keys[i][0] = mix(number);
	b->keys[i][1] = mix(~number);
	b->items[i] = (struct hashbelt_item){
		.key = (uintptr_t)b->keys[i],
		.key_len = sizeof(b->keys[i]),
		.value = (uintptr_t)b->buffers[i],
		.value_len = size,
	};
}

/* Items on present keys, in pseudo-random order. */
static void prepare_there(struct bench *b)
{
	for (unsigned int i = 0; i < SLICE; i++)
		set_item(b, i, mix(b->next++) % b->entries, VALUE_SIZE);
}

static void prepare_absent(struct bench *b)
{
	for (unsigned int i = 0; i < SLICE; i++)
		set_item(b, i, (1ull << 40) + b->next++, VALUE_SIZE);
}

static void prepare_large(struct bench *b)
{
	for (unsigned int i = 0; i < SLICE; i++)
		set_item(b, i, (1ull << 50) + mix(b->next++) % LARGE_KEYS, LARGE_SIZE);
}

static void prepare_put_large(struct bench *b)
{
	prepare_large(b);
	for (unsigned int i = 0; i < SLICE; i++)
		b->items[i].value = (uintptr_t)value;
}

static void prepare_add(struct bench *b)
{
	for (unsigned int i = 0; i < SLICE; i++) {
		set_item(b, i, (1ull << 51) + mix(b->next++) % LARGE_KEYS, sizeof(b->sums[i]));
		b->sums[i] = (struct hashbelt_sum){ .by = 1, .value = SUM_BEGIN };
		b->items[i].value = (uintptr_t)&b->sums[i];
	}
}

static void prepare_nothing(struct bench *b)
{
	(void)b;
}

static void prepare_put(struct bench *b)
{
	prepare_there(b);
	for (unsigned int i = 0; i < SLICE; i++)
		b->items[i].value = (uintptr_t)value;
}

/* With a time-to-live on an overflow wheel several levels up. */
static void prepare_put_year(struct bench *b)
{
	prepare_put(b);
	for (unsigned int i = 0; i < SLICE; i++)
		b->items[i].ttl_ms = 365ull * 24 * 3600 * 1000;
}

static void prepare_put_new(struct bench *b)
{
	prepare_absent(b);
	for (unsigned int i = 0; i < SLICE; i++)
		b->items[i].value = (uintptr_t)value;
}

/* Different hot keys. */
static void prepare_hot(struct bench *b)
{
	for (unsigned int i = 0; i < SLICE; i++)
		set_item(b, i, (1ull << 52) + b->next++ % HOT_KEYS, VALUE_SIZE);
}

static void set_ops(struct bench *b, uint32_t op)
{
	for (unsigned int i = 0; i < SLICE; i++)
		b->items[i].op = op;
}

static void prepare_batch_get(struct bench *b)
{
	prepare_there(b);
	set_ops(b, HASHBELT_OP_GET);
}

static void prepare_batch_put(struct bench *b)
{
	prepare_put(b);
	set_ops(b, HASHBELT_OP_PUT);
}

static int each(struct bench *b, unsigned long cmd)
{
	for (unsigned int i = 0; i < SLICE; i++)
		if (ioctl(b->fd, cmd, &b->items[i]))
			return -1;
	return 0;
}

static int run_floor(struct bench *b)
{
	for (unsigned int i = 0; i < SLICE; i++)
		if (ioctl(b->fd, HASHBELT_IOC_ABI) < 0)
			return -1;
	return 0;
}

static int run_get(struct bench *b)
{
	return each(b, HASHBELT_IOC_GET);
}

static int run_gets(struct bench *b, unsigned int count)
{
	struct hashbelt_item item = { 0 };

	for (unsigned int i = 0; i < count; i++)
		if (hashbelt_get(b->belt, b->keys[i], sizeof(b->keys[i]), b->buffers[0],
				 VALUE_SIZE, &item))
			return -1;
	return 0;
}

static int run_library_get(struct bench *b)
{
	return run_gets(b, SLICE);
}

/* Gets that all hit: each 64th hit is a call instead. */
#define WINDOW_CALLS	(SLICE - 1)

static int run_window_get(struct bench *b)
{
	return run_gets(b, WINDOW_CALLS);
}

static int run_miss(struct bench *b)
{
	for (unsigned int i = 0; i < SLICE; i++)
		if (!ioctl(b->fd, HASHBELT_IOC_GET, &b->items[i]) || errno != ENOENT)
			return -1;
	return 0;
}

static int run_put(struct bench *b)
{
	return each(b, HASHBELT_IOC_PUT);
}

static int run_touch(struct bench *b)
{
	return each(b, HASHBELT_IOC_TOUCH);
}

static int run_remove(struct bench *b)
{
	return each(b, HASHBELT_IOC_REMOVE);
}

static int run_put_remove(struct bench *b)
{
	return run_put(b) ?: run_remove(b);
}

static int run_add(struct bench *b)
{
	return each(b, HASHBELT_IOC_ADD);
}

/* Takes free locks, and unlocks each before it takes the next. */
static int run_lock(struct bench *b)
{
	static const char owner[] = "host:1234";

	for (unsigned int i = 0; i < SLICE; i++) {
		struct hashbelt_lock lock = {
			.key = b->items[i].key,
			.key_len = b->items[i].key_len,
			.owner = (uintptr_t)owner,
			.owner_len = sizeof(owner) - 1,
		};

		if (ioctl(b->fd, HASHBELT_IOC_LOCK, &lock))
			return -1;
		lock.ttl_ms = 0;
		lock.token = 0;
		lock.held_ms = 0;
		if (ioctl(b->fd, HASHBELT_IOC_UNLOCK, &lock))
			return -1;
	}
	return 0;
}

static int run_batch(struct bench *b)
{
	struct hashbelt_batch batch = {
		.items = (uintptr_t)b->items,
		.count = SLICE,
	};

	if (ioctl(b->fd, HASHBELT_IOC_BATCH, &batch))
		return -1;
	for (unsigned int i = 0; i < SLICE; i++)
		if (b->items[i].result) {
			errno = -b->items[i].result;
			return -1;
		}
	return 0;
}

/* Puts the entries to remove, while the clock does not run. */
static void prepare_remove(struct bench *b)
{
	prepare_put_new(b);
	if (run_put(b))
		die("put");
}

/* New entries that were asked for once. The next get of each fills a slot of the window. */
static void prepare_asked(struct bench *b)
{
	prepare_remove(b);
	if (run_library_get(b))
		die("get");
}

/* Hot keys, all of them in the window, with arguments that put them. */
static void prepare_put_hot(struct bench *b)
{
	prepare_hot(b);
	for (unsigned int gets = 0; gets < FILL_GETS; gets++)
		if (run_library_get(b))
			die("get");
	for (unsigned int i = 0; i < SLICE; i++) {
		b->items[i].value = (uintptr_t)value;
		b->items[i].ttl_ms = 0;
	}
}

/*
 * Fills the window for gets that read it. With two gets more than in a slice, the call that is made
 * in place of each 64th hit is not in the slices of some rounds: the cheapest slice counts.
 */
static void prepare_window_get(struct bench *b)
{
	prepare_hot(b);
	if (run_gets(b, 2))
		die("get");
}

/* In the order of the belts that they need: each needs a new one. */
static const struct operation operations[] = {
	{ .name = "floor", .prepare = prepare_nothing, .run = run_floor },
	{ .name = "get hit", .prepare = prepare_there, .run = run_get },
	{ .name = "get miss", .prepare = prepare_absent, .run = run_miss },
	{ .name = "put new", .prepare = prepare_put_new, .run = run_put, .after = run_remove },
	{ .name = "put replace", .prepare = prepare_put, .run = run_put },
	{ .name = "put for a year", .prepare = prepare_put_year, .run = run_put },
	{ .name = "touch", .prepare = prepare_there, .run = run_touch },
	{ .name = "remove", .prepare = prepare_remove, .run = run_remove },
	{ .name = "add", .prepare = prepare_add, .run = run_add },
	{ .name = "get, 64 a call", .prepare = prepare_batch_get, .run = run_batch },
	{ .name = "put, 64 a call", .prepare = prepare_batch_put, .run = run_batch },
	{ .name = "get of 1 KiB", .prepare = prepare_large, .run = run_get },
	{ .name = "put of 1 KiB", .prepare = prepare_put_large, .run = run_put },
	{ .name = "put replace, freed", .prepare = prepare_put, .run = run_put, .flow = true },
	{ .name = "put+remove, freed", .prepare = prepare_put_new, .run = run_put_remove,
	  .flow = true },
	{ .name = "get hit, refresh", .prepare = prepare_there, .run = run_get,
	  .policy = HASHBELT_REFRESH_ON_GET },
	{ .name = "get hit, evicting", .prepare = prepare_there, .run = run_get,
	  .policy = HASHBELT_EVICT },
	{ .name = "put, evicting", .prepare = prepare_put_new, .run = run_put,
	  .policy = HASHBELT_EVICT },
	{ .name = "lock and unlock", .prepare = prepare_absent, .run = run_lock,
	  .policy = HASHBELT_PINNED },
	{ .name = "get from window", .prepare = prepare_window_get, .run = run_window_get,
	  .calls = WINDOW_CALLS, .window = true },
	{ .name = "get, not in window", .prepare = prepare_remove, .run = run_library_get,
	  .after = run_remove, .window = true },
	{ .name = "get into window", .prepare = prepare_asked, .run = run_library_get,
	  .after = run_remove, .window = true },
	{ .name = "put, not in window", .prepare = prepare_put, .run = run_put, .window = true },
	{ .name = "put, in window", .prepare = prepare_put_hot, .run = run_put, .window = true },
};

static void must(const char *what, int err)
{
	errno = -err;
	if (err)
		die(what);
}

static void create(struct bench *b, uint32_t buckets, uint32_t policy, bool window)
{
	struct hashbelt_settings settings = {
		.ttl_ms = 3600 * 1000,
		.buckets = buckets,
		.policy = policy,
		.max_entries = policy & HASHBELT_EVICT ? b->entries : 0,
		.window_bytes = window ? HASHBELT_WINDOW_DEFAULT : 0,
	};

	must("create", hashbelt_create(b->belt, NULL, &settings));
	if (window)
		must("window", hashbelt_window_map(b->belt));
}

static void fill(struct bench *b)
{
	for (uint64_t n = 0; n < b->entries; n += SLICE) {
		for (unsigned int i = 0; i < SLICE; i++) {
			set_item(b, i, (n + i) % b->entries, VALUE_SIZE);
			b->items[i].value = (uintptr_t)value;
		}
		set_ops(b, HASHBELT_OP_PUT);
		if (run_batch(b))
			die("put");
	}
}

static void fill_large(struct bench *b)
{
	for (unsigned int n = 0; n < LARGE_KEYS; n += SLICE) {
		for (unsigned int i = 0; i < SLICE; i++) {
			set_item(b, i, (1ull << 50) + n + i, LARGE_SIZE);
			b->items[i].value = (uintptr_t)value;
		}
		if (run_put(b))
			die("put");
	}
}

static void fill_window(struct bench *b)
{
	for (unsigned int n = 0; n < HOT_KEYS; n += SLICE) {
		prepare_hot(b);
		for (unsigned int i = 0; i < SLICE; i++)
			b->items[i].value = (uintptr_t)value;
		if (run_put(b))
			die("put");
	}
	for (unsigned int n = 0; n < HOT_KEYS; n += SLICE)
		prepare_put_hot(b);
}

/* profile.sh finds the slices in a trace by the calls of this function and of now_ns(). */
static __attribute__((noipa)) uint64_t time_slice(struct bench *b, int (*run)(struct bench *b))
{
	uint64_t start = now_ns();

	if (run(b))
		die("measured call");
	return now_ns() - start;
}

static void report(struct bench *b, const struct operation *op, const struct slices *slices)
{
	b->figure.operation = op->name;
	b->figure.cost = slices->least;
	b->figure.floor = slices->floor_least;
	b->figure.ratio = slices->sum / slices->floor_sum;
	print_cost(&b->figure, b->json);
}

static void measure(struct bench *b, const struct operation *op)
{
	struct slices slices = { 0 };
	uint64_t floor, cost;

	for (unsigned int round = 0; round < b->rounds; round++) {
		floor = time_slice(b, run_floor);
		op->prepare(b);
		cost = time_slice(b, op->run);
		slices_add(&slices, floor, cost, op->calls ?: SLICE);
		if (op->after && op->after(b))
			die("undo");
	}
	report(b, op, &slices);
}

/* The time of many slices, the kernel's freeing included. */
static uint64_t time_flow(struct bench *b, const struct operation *op)
{
	uint64_t start;

	op->prepare(b);
	for (unsigned int i = 0; i < FLOW_BEGIN; i++)
		if (op->run(b))
			die("flow");
	start = now_ns();
	for (unsigned int i = 0; i < FLOW_SLICES; i++)
		if (op->run(b))
			die("flow");
	return now_ns() - start;
}

static void measure_flow(struct bench *b, const struct operation *op)
{
	uint64_t cost = time_flow(b, op), start = now_ns();
	struct slices slices = { 0 };

	for (unsigned int i = 0; i < FLOW_SLICES; i++)
		run_floor(b);
	slices_add(&slices, (now_ns() - start) / FLOW_SLICES, cost, FLOW_SLICES * SLICE);
	report(b, op, &slices);
}

static const struct operation *find_operation(const char *name)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		if (!strcmp(operations[i].name, name))
			return &operations[i];
	fprintf(stderr, "bench: no such operation: %s. These are the operations:\n", name);
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		fprintf(stderr, "\t%s\n", operations[i].name);
	exit(2);
}

/* @only: the only operation to measure; or NULL */
static void measure_all(struct bench *b, uint32_t buckets, const struct operation *only)
{
	uint32_t policy = 0;
	bool window = false;

	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
		if (only && only != &operations[i])
			continue;
		if (operations[i].policy != policy || operations[i].window != window) {
			policy = operations[i].policy;
			window = operations[i].window;
			create(b, buckets, policy, window);
			fill(b);
			if (window)
				fill_window(b);
		}
		if (operations[i].flow)
			measure_flow(b, &operations[i]);
		else
			measure(b, &operations[i]);
	}
}

static void repeat(struct bench *b, const struct operation *op)
{
	op->prepare(b);
	for (;;) {
		time_slice(b, op->run);
		if (op->after && op->after(b))
			die("undo");
		if (!op->flow)
			op->prepare(b);
	}
}

static void report_memory(struct bench *b)
{
	struct hashbelt_info info = {};

	if (ioctl(b->fd, HASHBELT_IOC_INFO, &info))
		die("info");
	print_memory(&b->figure, (double)info.bytes / info.entries, b->json);
}

static uint64_t number(int argc, char **argv, int i)
{
	char *end = "";
	uint64_t n = i < argc ? strtoull(argv[i], &end, 10) : 0;

	if (!n || *end) {
		fprintf(stderr, "bench: %s needs a number\n", argv[i - 1]);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	static struct bench b = {
		.entries = 1000, .rounds = 2000,
		.figure = { .peer = "hashbelt", .value_size = VALUE_SIZE, .belts = 1 },
	};
	const struct operation *only = NULL;
	bool repeats = false;
	uint32_t buckets = 5;

	for (int i = 1; i < argc; i += 2) {
		if (!strcmp(argv[i], "--json")) {
			b.json = true;
			i--;
		} else if (!strcmp(argv[i], "--entries")) {
			b.entries = number(argc, argv, i + 1);
		} else if (!strcmp(argv[i], "--buckets")) {
			buckets = number(argc, argv, i + 1);
		} else if (!strcmp(argv[i], "--rounds")) {
			b.rounds = number(argc, argv, i + 1);
		} else if (!strcmp(argv[i], "--unit") && i + 1 < argc) {
			b.figure.unit = argv[i + 1];
		} else if (!strcmp(argv[i], "--only") && i + 1 < argc) {
			only = find_operation(argv[i + 1]);
		} else if (!strcmp(argv[i], "--repeat")) {
			repeats = true;
			i--;
		} else {
			fprintf(stderr, "usage: bench [--entries N] [--buckets N] %s\n",
				"[--rounds N] [--unit NAME] [--json] [--only OPERATION [--repeat]]");
			return 2;
		}
	}
	b.figure.entries = b.entries;
	b.figure.buckets = buckets;
	memset(value, 'v', sizeof(value));
	must(HASHBELT_DEVICE, hashbelt_open(NULL, &b.belt));
	b.fd = hashbelt_fd(b.belt);
	create(&b, buckets, 0, false);
	fill(&b);
	report_memory(&b);
	fill_large(&b);
	measure_all(&b, buckets, only);
	if (only && repeats)
		repeat(&b, only);
	return 0;
}
