// SPDX-License-Identifier: GPL-2.0-only
/*
 * origin - a cache of an origin that only grows: no reader goes back to an older value.
 *
 *	origin [SEED [FETCHES]]
 *
 * Each key has an origin, a number in shared memory. Processes read the key through the belt: on
 * a miss, or ahead of the value's end, one is granted the fill lease, fetches the number from the
 * origin, and puts it with HASHBELT_IF_LEASE. A thread for each half of the keys raises the origin
 * and then invalidates the key: by a remove, an expire, a put, an addition or a clear.
 *
 * Before a read each process looks up the key's floor: the newest number that a process has read,
 * or that the origin had when an invalidation returned. The read must not return an older one.
 *
 * Meanwhile leases end early, because belt time is moved on, are evicted, renewed, given up, or
 * fail; and the processes are killed and started again.
 */
#include <pthread.h>
#include <time.h>

#define WORKERS		6
#define LIVES		400		/* processes: a killed one is restarted */

#include "processes.h"

#define BELT		"origin"
#define KEYS		4
#define WRITERS		2
#define TTL		50
#define ENTRIES_MAX	6		/* of KEYS values and as many fill leases */
#define TIMEOUT_S	120		/* seconds; a run takes a few */

/* Results and calls of which a run has each at least once. */
enum happening {
	HIT, GRANTED, AHEAD, STORED, LATE, RENEWED, NOT_RENEWED, GIVEN_UP, FAILED, TOLD, HAPPENINGS,
};

/* How a writer invalidates a key. */
enum way { REMOVE, EXPIRE, PUT, ADD, CLEAR, WAYS };

/**
 * struct shared - memory that all processes share
 * @wrong:	number of impossible results
 * @older:	number of reads that returned an older value than the floor
 * @stop:	tells the processes to end
 * @origins:	of each key
 * @floors:	of each key
 * @happened:	by enum happening
 * @ways:	by enum way, how often a writer went that way
 */
struct shared {
	_Atomic unsigned int wrong;
	_Atomic uint64_t older;
	_Atomic unsigned int stop;
	_Atomic uint64_t origins[KEYS];
	_Atomic uint64_t floors[KEYS];
	_Atomic uint64_t happened[HAPPENINGS];
	_Atomic uint64_t ways[WAYS];
};

static struct shared *shared;
static uint64_t fetches = 8000;

static void raise_floor(uint32_t key, uint64_t to)
{
	uint64_t now = atomic_load(&shared->floors[key]);

	while (now < to && !atomic_compare_exchange_weak(&shared->floors[key], &now, to))
		;
}

static uint64_t happened(enum happening what)
{
	return atomic_load(&shared->happened[what]);
}

static void happens(enum happening what)
{
	atomic_fetch_add(&shared->happened[what], 1);
}

/* Numbers are stored as text, so that a writer can add to them. Return: the length. */
static size_t write_number(uint64_t number, char *text, size_t size)
{
	return snprintf(text, size, "%llu", (unsigned long long)number);
}

/* Readers */

/* Changes the lease, as likely as not. False: the caller has given it up. */
static int change_lease(struct hashbelt *belt, uint32_t key, uint64_t token, uint64_t random)
{
	int err = 0;

	switch (random >> 24 & 15) {
	case 0 ... 2:
		err = hashbelt_fill_renew(belt, &key, sizeof(key), token, 1 + (random >> 32) % 8);
		happens(err ? NOT_RENEWED : RENEWED);
		break;
	case 3:
		err = hashbelt_give_up(belt, &key, sizeof(key), token);
		if (!err)
			happens(GIVEN_UP);
		break;
	case 4:
		err = hashbelt_fill_fail(belt, &key, sizeof(key), token, 1 + (random >> 32) % 3);
		if (!err)
			happens(FAILED);
		break;
	}
	if (err && err != -ENOENT)
		wrong("change of a fill lease: %s", strerror(-err));
	return (random >> 24 & 15) != 3 && (random >> 24 & 15) != 4;
}

/* Fetches the number, and puts it; one put of 8 comes after the lease was given up, or failed. */
static void fill(struct hashbelt *belt, uint32_t key, uint64_t token, uint64_t *state)
{
	uint64_t random = next_random(state), number = atomic_load(&shared->origins[key]);
	char text[24];
	int err;

	happens(GRANTED);
	random_delay(random);
	if (!change_lease(belt, key, token, random) && random >> 40 & 7)
		return;
	random_delay(next_random(state));
	err = hashbelt_fill_put(belt, &key, sizeof(key), text,
				write_number(number, text, sizeof(text)), token, NULL);
	if (err && err != -ESTALE)
		wrong("put: %s", strerror(-err));
	happens(err ? LATE : STORED);
}

static void look(uint32_t key, const char *text, size_t len, uint64_t floor)
{
	char copy[24] = "";
	uint64_t number;

	memcpy(copy, text, len < sizeof(copy) ? len : sizeof(copy) - 1);
	number = strtoull(copy, NULL, 10);
	happens(HIT);
	if (number < floor && !atomic_fetch_add(&shared->older, 1))
		printf("# key %u: read %llu, after %llu was read or the key invalidated\n", key,
		       (unsigned long long)number, (unsigned long long)floor);
	raise_floor(key, number);
}

static void read_once(struct hashbelt *belt, uint64_t *state)
{
	static const uint64_t waits[] = { 0, 5, 50, HASHBELT_TTL_NEVER };
	uint64_t random = next_random(state);
	uint32_t key = random % KEYS;
	uint64_t floor = atomic_load(&shared->floors[key]);
	struct hashbelt_fill fill_lease = {
		.lease_ms = 1 + (random >> 8) % 6, .wait_ms = waits[(random >> 16) % 4],
		/* Longer than a value lives: one caller is always granted a lease ahead. */
		.ahead_ms = random >> 20 & 3 ? 0 : 2 * TTL,
		.how = random >> 22 & 1 ? HASHBELT_BOUND : 0,
	};
	char text[24];
	int err = hashbelt_fill(belt, &key, sizeof(key), text, sizeof(text), &fill_lease);

	if (err && err != -ENOENT && err != -ETIMEDOUT)
		wrong("fill: %s", strerror(-err));
	if (!err)
		look(key, text, fill_lease.item.value_len, floor);
	if (fill_lease.state & HASHBELT_FAILED)
		happens(TOLD);
	if (!(fill_lease.state & HASHBELT_GRANTED))
		return;
	if (!err)
		happens(AHEAD);
	fill(belt, key, fill_lease.token, state);
}

static void read_work(unsigned int life)
{
	uint64_t state = seed_of(life);
	struct hashbelt *belt = open_belt(BELT);

	while (!atomic_load(&shared->stop)) {
		read_once(belt, &state);
		random_delay(next_random(&state));
	}
	hashbelt_close(belt);
}

/* Writers */

/* Stores the number if there is none; else ends the lease, and removes a number that is older. */
static int add(struct hashbelt *belt, uint32_t key, uint64_t number)
{
	__s64 sum;
	int err = hashbelt_add(belt, &key, sizeof(key), 0, number, HASHBELT_TTL_BELT, &sum);

	return err || (uint64_t)sum == number ? err :
					       hashbelt_remove(belt, &key, sizeof(key), NULL);
}

static void invalidate(struct hashbelt *belt, uint32_t key, uint64_t number, uint64_t random)
{
	enum way way = random % 32 > 12 ? REMOVE : random % 32 > 7 ? EXPIRE :
		       random % 32 > 3 ? PUT : random % 32 ? ADD : CLEAR;
	char text[24];
	int err;

	switch (way) {
	case REMOVE:
		err = hashbelt_remove(belt, &key, sizeof(key), NULL);
		break;
	case EXPIRE:
		err = hashbelt_expire(belt, &key, sizeof(key));
		break;
	case PUT:
		err = hashbelt_put(belt, &key, sizeof(key), text,
				   write_number(number, text, sizeof(text)), NULL);
		break;
	case ADD:
		err = add(belt, key, number);
		break;
	default:
		err = hashbelt_clear(belt);
	}
	if (err && err != -ENOENT)
		wrong("invalidation %u: %s", way, strerror(-err));
	atomic_fetch_add(&shared->ways[way], 1);
}

static void *write_all(void *number)
{
	unsigned int writer = (uintptr_t)number;
	uint64_t state = seed_of(1000 + writer), random, now;
	struct hashbelt *belt = open_belt(BELT);
	uint32_t key;

	while (!atomic_load(&shared->stop)) {
		random = next_random(&state);
		key = random % KEYS / WRITERS * WRITERS + writer;
		now = atomic_fetch_add(&shared->origins[key], 1) + 1;
		random_delay(random >> 8);
		invalidate(belt, key, now, random >> 32);
		raise_floor(key, now);
		usleep(next_random(&state) % 200);
	}
	hashbelt_close(belt);
	return NULL;
}

/* The test */

static int all_happened(void)
{
	static const char *const names[] = {
		"hits", "leases", "ahead", "stored", "late", "renewed", "not renewed", "given up",
		"failed", "told of a failure",
	};
	static const char *const ways[] = { "remove", "expire", "put", "add", "clear" };
	unsigned int i, all = 1;

	printf("#");
	for (i = 0; i < HAPPENINGS; i++) {
		printf(" %s %llu,", names[i], (unsigned long long)happened(i));
		all = all && happened(i);
	}
	printf(" %u processes;", lives);
	for (i = 0; i < WAYS; i++) {
		printf(" %s %llu", ways[i], (unsigned long long)atomic_load(&shared->ways[i]));
		all = all && atomic_load(&shared->ways[i]);
	}
	printf("\n");
	return all && lives > WORKERS;
}

/* Runs readers and writers; returns how many processes are left waiting. */
static unsigned int run(struct hashbelt *belt)
{
	uint64_t state = seed_of(2000);
	time_t end = time(NULL) + TIMEOUT_S;
	pthread_t threads[WRITERS];
	uintptr_t i;

	begin(read_work);
	for (i = 0; i < WRITERS; i++)
		if (pthread_create(&threads[i], NULL, write_all, (void *)i))
			exit(1);
	while (happened(GRANTED) < fetches && !atomic_load(&shared->older) && time(NULL) < end) {
		reap(read_work);
		hashbelt_advance(belt, next_random(&state) % 4);
		usleep(next_random(&state) % 500);
		if (next_random(&state) % 8 == 0)
			kill_one(next_random(&state));
	}
	atomic_store(&shared->stop, 1);
	for (i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	/* No process is killed from here on, so each waiter gets its lease, or a value. */
	end = time(NULL) + TIMEOUT_S;
	while (alive() && time(NULL) < end) {
		reap(NULL);
		hashbelt_advance(belt, 10);
		usleep(500);
	}
	return kill_all();
}

int main(int argc, char **argv)
{
	struct hashbelt_info info = { 0 };
	struct hashbelt *belt;
	uint64_t before;
	int failed;

	read_arguments(argc, argv, &fetches);
	printf("# seed %llu, %llu fetches\n", (unsigned long long)seed,
	       (unsigned long long)fetches);
	shared = share(sizeof(*shared));
	failures = &shared->wrong;
	before = used_bytes();
	belt = make_belt(BELT, (struct hashbelt_settings){
		.ttl_ms = TTL, .policy = HASHBELT_EVICT, .max_entries = ENTRIES_MAX,
	}, 1);
	failed = report(!run(belt), "no process is left waiting");
	failed += report(!shared->older,
			 "no read returns an older value than one that was seen or invalidated");
	failed += report(all_happened(),
			 "values are stored, and late ones refused; each way to end a lease occurs");
	hashbelt_advance(belt, 100 * TTL);
	hashbelt_clear(belt);
	hashbelt_advance(belt, 0);
	hashbelt_info(belt, &info);
	failed += report(!info.entries && !info.used_entries && !info.used_bytes,
			 "no entry, lease or charge is left");
	hashbelt_destroy(belt, BELT);
	hashbelt_close(belt);
	failed += report(is_used_at_last(before),
			 "used_bytes returns to what it was before the test");
	failed += report(!shared->wrong, "no call returns an impossible result");
	return done(failed);
}
