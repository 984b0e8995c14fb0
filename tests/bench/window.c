// SPDX-License-Identifier: GPL-2.0-only
/*
 * window - the time of a read from a window on this machine, without the module.
 *
 *	window [--json] [--slices N] KEYS...
 *
 * The window is an ordinary shared mapping of the same layout, which hashbelt_get() of the library
 * reads by a handle without a descriptor: the ioctl that it makes in place of each 64th hit returns
 * at once. Beside it is a system call that returns at once, getppid(2).
 *
 * Both alternate in slices of reads of keys in an order that no cache can predict.
 * Another task on the processor makes some slices longer, so the cost is that of the median slice.
 * A processor begins a read before those in front of it have ended: the latency of one is longer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client_window.h"
#include "measure.h"

#define KEY_SIZE	16
#define VALUE_SIZE	64
#define HOUR		3600ull

/**
 * struct key - a key, which is its own number twice
 * @words:	its bytes
 */
struct key {
	__u64 words[KEY_SIZE / sizeof(__u64)];
};

static struct hashbelt_window *window;
static size_t window_bytes;
static struct hashbelt belt = { .fd = -1 };

static struct key keys[SLICE];
/* Gets that made the ioctl. */
static uint64_t calls;

static struct hashbelt_item items[SLICE];
static __u64 values[SLICE][VALUE_SIZE / sizeof(__u64)];

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "window: %s: %s\n", what, why);
	exit(4);
}

static struct key make_key(uint64_t number)
{
	return (struct key){ { mix(number), mix(~number) } };
}

/* The value of a key is its first word, again and again. */
static void make_value(__u64 *value, const struct key *key)
{
	for (size_t i = 0; i < VALUE_SIZE / sizeof(*value); i++)
		value[i] = key->words[0];
}

/* A window with room for twice as many keys: a set rarely has too few slots. */
static void make_window(uint64_t count)
{
	uint32_t sets = 1;

	while (sets * HASHBELT_WINDOW_WAYS < 2 * count)
		sets *= 2;
	window_bytes = sysconf(_SC_PAGESIZE) + (size_t)sets * HASHBELT_WINDOW_WAYS *
		       sizeof(struct hashbelt_window_slot);
	window = mmap(NULL, window_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (window == MAP_FAILED)
		die("mmap", strerror(errno));
	window->layout = HASHBELT_WINDOW_LAYOUT;
	window->slots_at = sysconf(_SC_PAGESIZE);
	window->sets = sets;
	window->seed = 1;
}

static uint64_t hash_of(const struct key *key)
{
	uint64_t hash = window->seed ^ KEY_SIZE;

	for (size_t i = 0; i < KEY_SIZE / sizeof(__u64); i++)
		hash = hashbelt_window_mix(hash, key->words[i]);
	return hash;
}

/* False: the key's set is full. */
static bool window_put(const struct key *key, uint64_t deadline_ns)
{
	uint64_t hash = hash_of(key);
	struct hashbelt_window_slot *slot = (void *)((char *)window + window->slots_at);

	slot += (hash & (window->sets - 1)) * HASHBELT_WINDOW_WAYS;
	for (unsigned int way = 0; way < HASHBELT_WINDOW_WAYS; way++, slot++) {
		if (slot->version)
			continue;
		*slot = (struct hashbelt_window_slot){
			.version = 1, .deadline_ns = deadline_ns, .tag = hash >> 32,
			.key_len = KEY_SIZE, .value_len = VALUE_SIZE,
		};
		memcpy(slot->data, key, KEY_SIZE);
		make_value(slot->data + KEY_SIZE / sizeof(__u64), key);
		return true;
	}
	return false;
}

static uint64_t boottime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Fills the window with so many keys; returns their numbers. */
static uint64_t *fill(uint64_t count)
{
	uint64_t deadline = boottime_ns() + HOUR * 1000000000, *numbers, number = 0;
	struct window_reader *reader;

	numbers = calloc(count, sizeof(*numbers));
	if (!numbers)
		die("memory", strerror(errno));
	make_window(count);
	for (uint64_t i = 0; i < count; i++) {
		struct key key;

		do {
			numbers[i] = number++;
			key = make_key(numbers[i]);
		} while (!window_put(&key, deadline));
	}
	errno = -hashbelt_window_reader(window, window_bytes, 0, &reader);
	if (errno)
		die("hashbelt_window_reader", strerror(errno));
	belt.window = (uintptr_t)reader;
	return numbers;
}

static void run_call(void)
{
	for (unsigned int i = 0; i < SLICE; i++)
		syscall(SYS_getppid);
}

static void run_window(void)
{
	for (unsigned int i = 0; i < SLICE; i++) {
		if (!hashbelt_get(&belt, &keys[i], KEY_SIZE, values[i], VALUE_SIZE, &items[i]))
			continue;
		calls++;
		make_value(values[i], &keys[i]);
	}
}

static const struct contestant {
	const char *name;
	void (*run)(void);
} contestants[] = {
	{ "system call", run_call },
	{ "window", run_window },
};

#define CONTESTANTS	(sizeof(contestants) / sizeof(*contestants))

static void check_values(const char *name)
{
	for (unsigned int i = 0; i < SLICE; i++)
		if (values[i][0] != keys[i].words[0])
			die(name, "a read has returned a wrong value");
}

/* Nanoseconds of a call, on average over a slice. */
static double time_slice(const struct contestant *contestant)
{
	uint64_t start, ns;

	memset(items, 0, sizeof(items));
	memset(values, 0, sizeof(values));
	start = now_ns();
	contestant->run();
	ns = now_ns() - start;
	if (contestant->run != run_call)
		check_values(contestant->name);
	return (double)ns / SLICE;
}

static int compare(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;

	return (difference > 0) - (difference < 0);
}

/* Return: the median slice of each contestant in @medians. */
static void run_slices(const uint64_t *numbers, uint64_t count, unsigned int slices,
		       double medians[CONTESTANTS])
{
	double *costs = calloc(CONTESTANTS * slices, sizeof(*costs));
	static uint64_t next;

	if (!costs)
		die("memory", strerror(errno));
	for (unsigned int slice = 0; slice < slices; slice++) {
		for (unsigned int i = 0; i < SLICE; i++)
			keys[i] = make_key(numbers[mix(next++) % count]);
		for (size_t c = 0; c < CONTESTANTS; c++)
			costs[c * slices + slice] = time_slice(&contestants[c]);
	}
	for (size_t c = 0; c < CONTESTANTS; c++) {
		qsort(costs + c * slices, slices, sizeof(*costs), compare);
		medians[c] = costs[c * slices + slices / 2];
	}
	free(costs);
}

static void report(uint64_t count, const double medians[CONTESTANTS], bool json)
{
	struct figure figure = {
		.operation = "get", .unit = "ns", .entries = count, .value_size = VALUE_SIZE,
		.floor = medians[0],
	};

	for (size_t c = 0; c < CONTESTANTS; c++) {
		figure.peer = contestants[c].name;
		figure.cost = medians[c];
		figure.ratio = figure.cost / figure.floor;
		if (!json)
			printf("%9llu keys, %-12s", (unsigned long long)count, figure.peer);
		print_cost(&figure, json);
	}
}

static void measure(uint64_t count, unsigned int slices, bool json)
{
	uint64_t *numbers = fill(count), reads = (uint64_t)slices * SLICE;
	double medians[CONTESTANTS];

	calls = 0;
	run_slices(numbers, count, slices, medians);
	if (calls > reads / 64 + 1)
		die("window", "reads of keys that are there have made a system call");
	report(count, medians, json);
	free(numbers);
	munmap(window, window_bytes);
}

int main(int argc, char **argv)
{
	unsigned int slices = 10001;
	bool json = false;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			json = true;
		else if (!strcmp(argv[i], "--slices") && argv[i + 1])
			slices = strtoul(argv[++i], NULL, 10);
		else
			measure(strtoull(argv[i], NULL, 10), slices, json);
	}
	return 0;
}
