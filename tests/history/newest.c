// SPDX-License-Identifier: GPL-2.0-only
/*
 * newest - checks that no get returns a value older than one that a thread has seen before, by the
 * window or by the kernel.
 *
 *	newest [SEED [SECONDS]]		SECONDS for each of two tests
 *
 * A writer changes one key in all ways, as soon as its entry is in the window. Its values are
 * numbers that grow. Readers get the key by the kernel and by the window in turn, without a pause.
 * That is less than linearizability, which threads.c checks, but it takes many more reads in the
 * moment of a change.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "process.h"
#include "windowed.h"

#define READERS_MAX	3
#define KEY		"the key"
#define LIFE		1000	/* time-to-live, milliseconds of belt time */

/* The window has to answer more than one of so many gets that find a value. */
#define SHARE		5

/* The ways of a change. */
enum way { PUT, LONGER, ADD, KEEP, TOUCH, REMOVE, EXPIRE, CLEAR, PASS, WAYS };

static const char *const way_names[WAYS] = {
	"put", "put of another length", "addition", "put that keeps the deadline", "touch",
	"remove", "expire", "clear", "advance past the deadline",
};

static _Atomic uint64_t oldest;		/* no get that begins now may return less */
static _Atomic uint64_t done;		/* the last put that has returned */
static _Atomic bool over, failed;
static uint64_t seed = 1;

/**
 * struct reader - a thread that reads
 * @fd:		its descriptor
 * @windowed:	its mapping
 * @hits:	gets that have found a value
 * @by_window:	those that the window has answered
 * @bad:	a value that was too old, and what it had to be at least
 */
struct reader {
	int fd;
	struct windowed windowed;
	uint64_t hits;
	uint64_t by_window;
	uint64_t bad[2];
	bool bad_by_window;
};

static void raise_to(_Atomic uint64_t *least, uint64_t value)
{
	uint64_t is = atomic_load(least);

	while (is < value && !atomic_compare_exchange_weak(least, &is, value))
		;
}

static struct hashbelt_item item_with(char *text, size_t size)
{
	return (struct hashbelt_item){
		.key = address(KEY), .key_len = strlen(KEY), .value = address(text),
		.value_len = size,
	};
}

/* A get by the window if it can answer, or by the kernel alone. Return: 0 or an errno. */
static int get(struct reader *reader, bool by_kernel, uint64_t *value, bool *windowed)
{
	char text[40] = "";
	struct hashbelt_item item = item_with(text, sizeof(text) - 1);
	int err = 0;

	*windowed = !by_kernel && windowed_get(&reader->windowed, KEY, strlen(KEY), text,
					       sizeof(text) - 1, &item);
	if (!*windowed)
		err = call(reader->fd, HASHBELT_IOC_GET, &item);
	*value = strtoull(text, NULL, 10);
	return err;
}

/*
 * One get. What was put before it began, and is not there, never comes back; and what it has found
 * is the least that later gets find.
 */
static void read_once(struct reader *reader, bool by_kernel)
{
	uint64_t before = atomic_load(&done), least = atomic_load(&oldest), value;
	bool windowed;
	int err = get(reader, by_kernel, &value, &windowed);

	if (err) {
		raise_to(&oldest, before + 1);
		return;
	}
	reader->hits++;
	reader->by_window += windowed;
	if (value < least && !atomic_exchange(&failed, true)) {
		reader->bad[0] = value;
		reader->bad[1] = least;
		reader->bad_by_window = windowed;
	}
	raise_to(&oldest, value);
}

static void *read_on(void *arg)
{
	struct reader *reader = arg;
	bool by_kernel = false;

	while (!atomic_load(&over)) {
		read_once(reader, by_kernel);
		by_kernel = !by_kernel;
	}
	return NULL;
}

static void put(int fd, uint64_t number, bool longer, __u64 ttl_ms)
{
	char text[40];
	int len = snprintf(text, sizeof(text), longer ? "%llu, and more" : "%llu",
			   (unsigned long long)number);
	struct hashbelt_item item = item_with(text, len);

	item.ttl_ms = ttl_ms;
	must(fd, HASHBELT_IOC_PUT, &item);
}

/* Makes a change after which the key has the value @number, or none. Return: whether it has one. */
static bool change(int fd, enum way way, uint64_t number)
{
	struct hashbelt_sum sum = { .by = 1 };
	struct hashbelt_item item = item_with((char *)&sum, sizeof(sum));
	__u64 ms = LIFE + 1;

	switch (way) {
	case PUT:
	case LONGER:
	case KEEP:
		put(fd, number, way == LONGER, way == KEEP ? HASHBELT_TTL_KEEP : LIFE);
		return true;
	case ADD:
		must(fd, HASHBELT_IOC_ADD, &item);
		return true;
	case TOUCH:
		item.value_len = 0;
		item.ttl_ms = LIFE;
		must(fd, HASHBELT_IOC_TOUCH, &item);
		return true;
	case REMOVE:
	case EXPIRE:
		item.value_len = 0;
		must(fd, way == REMOVE ? HASHBELT_IOC_REMOVE : HASHBELT_IOC_EXPIRE, &item);
		return false;
	case CLEAR:
		must(fd, HASHBELT_IOC_CLEAR, NULL);
		return false;
	default:
		must(fd, HASHBELT_IOC_ADVANCE, &ms);
		return false;
	}
}

/* Waits until the window has the key, but not for long: the heat of others may keep it out. */
static void await_copy(struct reader *writer)
{
	unsigned int tries;
	uint64_t value;
	bool windowed;

	for (tries = 0; tries < 100; tries++)
		if (!get(writer, false, &value, &windowed) && windowed)
			return;
}

/* Changes the key until the time is up. Return: the number of changes in each way. */
static void write_on(struct reader *writer, uint64_t until, uint64_t *counts)
{
	uint64_t number = 1000000000, random = seed;
	bool there, longer = false;
	enum way way;

	put(writer->fd, number, false, LIFE);
	while (!atomic_load(&failed) && wall_ns() < until) {
		await_copy(writer);
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		way = (random >> 40) % WAYS;
		/* Only a number can be added to. */
		if (longer && way == ADD)
			way = PUT;
		longer = way == LONGER || (way == TOUCH && longer);
		number += way != TOUCH;
		there = change(writer->fd, way, number);
		counts[way]++;
		/* No earlier number is there in either case. */
		raise_to(&oldest, number);
		if (!there)
			put(writer->fd, number, false, LIFE);
		raise_to(&done, number);
	}
}

static void begin(struct reader *reader)
{
	*reader = (struct reader){ .fd = open_device(O_RDWR) };
	if (open_belt(reader->fd, "newest"))
		bail_out("the belt \"newest\" cannot be opened");
	windowed_map(&reader->windowed, reader->fd);
}

static void end(struct reader *reader)
{
	windowed_unmap(&reader->windowed);
	close(reader->fd);
}

static void report(const struct reader *readers, unsigned int count, const uint64_t *counts)
{
	const char *who = count == 1 ? "a reader" : "three readers";
	uint64_t hits = 0, by_window = 0, least = ~0ULL;
	unsigned int i;

	for (i = 0; i < count; i++) {
		hits += readers[i].hits;
		by_window += readers[i].by_window;
		if (readers[i].bad[1])
			note("seed %llu: the %s returned %llu after %llu",
			     (unsigned long long)seed,
			     readers[i].bad_by_window ? "window" : "kernel",
			     (unsigned long long)readers[i].bad[0],
			     (unsigned long long)readers[i].bad[1]);
	}
	ok(!atomic_load(&failed), "%s beside a writer: no get returns an older value", who);
	note("%llu of %llu gets with a value were answered by the window",
	     (unsigned long long)by_window, (unsigned long long)hits);
	for (i = 0; i < WAYS; i++) {
		note("%llu changes by %s", (unsigned long long)counts[i], way_names[i]);
		least = counts[i] < least ? counts[i] : least;
	}
	ok(atomic_load(&failed) || (by_window * SHARE > hits && least > 10),
	   "%s beside a writer: the window answers more than one of %u gets, in each kind of change",
	   who, SHARE);
}

static void test(unsigned int count, uint64_t seconds)
{
	struct hashbelt_settings settings = { .name = "newest", .mode = 0600, .ttl_ms = LIFE,
		.window_bytes = HASHBELT_WINDOW_MIN };
	struct reader readers[READERS_MAX], writer;
	int maker = open_device(O_RDWR);
	pthread_t threads[READERS_MAX];
	uint64_t counts[WAYS] = {};
	unsigned int i;

	must(maker, HASHBELT_IOC_CREATE, &settings);
	must(maker, HASHBELT_IOC_HALT, NULL);
	atomic_store(&over, false);
	atomic_store(&oldest, 0);
	atomic_store(&done, 0);
	begin(&writer);
	for (i = 0; i < count; i++) {
		begin(&readers[i]);
		if (pthread_create(&threads[i], NULL, read_on, &readers[i]))
			bail_out("a thread cannot be created");
	}
	write_on(&writer, wall_ns() + seconds * 1000000000ULL, counts);
	atomic_store(&over, true);
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	report(readers, count, counts);
	for (i = 0; i < count; i++)
		end(&readers[i]);
	end(&writer);
	destroy_belt(maker, "newest");
	close(maker);
}

int main(int argc, char **argv)
{
	uint64_t seconds = 5;

	if (argc > 1)
		seed = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		seconds = strtoull(argv[2], NULL, 10);
	test(1, seconds);
	test(READERS_MAX, seconds);
	return done_testing();
}
