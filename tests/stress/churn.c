// SPDX-License-Identifier: GPL-2.0-only
/*
 * churn - all operations that end entries run at once, and all events are accounted for.
 *
 *	churn [SEED [OPERATIONS]]
 *
 * The first belt, the ledger, reports every entry that leaves. So each entry that was put
 * is present, or its event was read once, or its event was lost and the loss reported:
 *
 *	puts		= entries + events
 *	events		= sequence numbers from 1 on, each settled by one reader or lost
 *	lost		= sum of the losses that events report
 *	used		<= the limit, at any time
 *
 * The ledger is full most of the time, its time-to-live and buckets change, it is cleared,
 * and the shrinker takes entries. One of its readers acknowledges only some events, and
 * closes its descriptor. On the second belt, the wild one, all settings change all the
 * time. It must be empty in the end.
 */
#include <fcntl.h>
#include <pthread.h>

#include "stress.h"

#define BUFFER		65536
#define ENTRIES_MAX	100
#define KEYS		2000
#define WRITERS		2
#define FACTOR_MAX	10		/* greatest multiple of the operations: see enough() */

static unsigned char *settled;		/* by sequence number: how often it was settled */
static uint64_t settled_max;
static _Atomic uint64_t told_lost;
static _Atomic int writers_left = WRITERS;
static uint64_t operations = 100000;

static struct hashbelt *nonblocking(struct hashbelt *belt)
{
	fcntl(hashbelt_fd(belt), F_SETFL, O_NONBLOCK);
	return belt;
}

static struct hashbelt *open_nonblocking(const char *name)
{
	return nonblocking(open_belt(name));
}

static void settle(uint64_t sequence)
{
	if (!sequence || sequence > settled_max)
		wrong("an event has the number %llu", (unsigned long long)sequence);
	else if (__atomic_fetch_add(&settled[sequence], 1, __ATOMIC_RELAXED))
		wrong("event %llu was settled twice", (unsigned long long)sequence);
}

/* Counts losses with the events that report them: events without an ack are read again. */
static void settle_all(const char *buffer, ssize_t len)
{
	const struct hashbelt_event *event = NULL;

	while (len > 0 && (event = hashbelt_event_next(buffer, len, event))) {
		atomic_fetch_add(&told_lost, event->lost);
		settle(event->sequence);
	}
}

/* Reads events, which are settled at once. Return: true if there were some. */
static int read_some(struct hashbelt *belt, char *buffer)
{
	ssize_t len = hashbelt_read(belt, buffer, BUFFER);

	if (len < 0 && len != -EAGAIN && len != -ENODATA && len != -EIDRM)
		wrong("read: %s", strerror(-len));
	settle_all(buffer, len);
	return len > 0;
}

static void *read_plainly(void *name)
{
	char *buffer = malloc(BUFFER);
	struct hashbelt_info info = { 0 };
	struct hashbelt *belt = open_nonblocking(name);

	while (atomic_load(&writers_left)) {
		if (!read_some(belt, buffer))
			usleep(1000);
		if (!hashbelt_info(belt, &info) && info.used_entries > ENTRIES_MAX)
			wrong("used_entries is %llu, and the limit is %d",
			      (unsigned long long)info.used_entries, ENTRIES_MAX);
	}
	hashbelt_close(belt);
	free(buffer);
	return NULL;
}

/* Reads; acknowledges all events, or first one and then all, or closes the handle. */
static void *read_and_leave(void *name)
{
	char *buffer = malloc(BUFFER);
	uint64_t random = seed_of(100), first, last = 0;
	const struct hashbelt_event *event;
	struct hashbelt *belt = open_nonblocking(name);
	int err;
	ssize_t len;

	hashbelt_watch(belt, HASHBELT_WATCH_ACK);
	while (atomic_load(&writers_left)) {
		len = hashbelt_read(belt, buffer, 200 + next_random(&random) % 10000);
		if (len <= 0) {
			usleep(1000);
			continue;
		}
		first = 0;
		for (event = NULL; (event = hashbelt_event_next(buffer, len, event)); ) {
			last = event->sequence;
			first = first ?: last;
		}
		if (next_random(&random) % 4) {
			err = hashbelt_ack(belt, next_random(&random) % 2 ? last : first);
			if (err)
				wrong("ack: %s", strerror(-err));
			/* Acknowledges the events up to this number. */
			hashbelt_ack(belt, last);
			settle_all(buffer, len);
		} else {
			hashbelt_close(belt);
			belt = open_nonblocking(name);
			hashbelt_watch(belt, HASHBELT_WATCH_ACK);
		}
	}
	hashbelt_close(belt);
	free(buffer);
	return NULL;
}

/* One operation on a random key. */
static void operate(struct hashbelt *belt, uint64_t random)
{
	static const char value[300];
	struct hashbelt_item item = { .ttl_ms = random >> 20 & 1023 };
	unsigned int key = (random >> 32) % KEYS;
	char buffer[300];
	int err = 0;

	switch (random % 16) {
	case 0:
		err = hashbelt_remove(belt, &key, sizeof(key), &item);
		break;
	case 1:
		err = hashbelt_expire(belt, &key, sizeof(key));
		break;
	case 2:
		err = hashbelt_touch(belt, &key, sizeof(key), item.ttl_ms, &item);
		break;
	case 3:
	case 4:
		err = hashbelt_get(belt, &key, sizeof(key), buffer, sizeof(buffer), &item);
		break;
	default:
		err = hashbelt_put(belt, &key, sizeof(key), value, (random >> 8) % sizeof(value),
				   &item);
	}
	if (err && err != -ENOENT && err != -ENOSPC && err != -EEXIST)
		wrong("operation %u: %s", (unsigned int)(random % 16), strerror(-err));
}

/* Return: true if evictions, memory pressure and requeued events have all occurred. */
static int tested(struct hashbelt *ledger)
{
	__u64 counters[HASHBELT_STAT_COUNT] = { 0 };
	unsigned int count = HASHBELT_STAT_COUNT;

	hashbelt_stat(ledger, counters, &count);
	return counters[HASHBELT_STAT_EVICTED] && counters[HASHBELT_STAT_PRESSURE] &&
	       counters[HASHBELT_STAT_EVENTS_RETURNED];
}

/* A writer goes on until all that tested() asks for has occurred: that is left to chance. */
static int enough(struct hashbelt *ledger, uint64_t done)
{
	return done >= operations &&
	       (done >= FACTOR_MAX * operations || (done % 64 == 0 && tested(ledger)));
}

static void *write_all(void *arg)
{
	unsigned int thread = (uintptr_t)arg;
	uint64_t random = seed_of(thread), i;
	struct hashbelt *ledger = open_nonblocking("churn-ledger");
	struct hashbelt *wild = open_nonblocking("churn-wild");

	for (i = 0; !enough(ledger, i); i++) {
		operate(ledger, next_random(&random));
		operate(wild, next_random(&random));
		if (next_random(&random) % 2000 == 0)
			hashbelt_clear(next_random(&random) % 2 ? ledger : wild);
	}
	hashbelt_close(ledger);
	hashbelt_close(wild);
	atomic_fetch_sub(&writers_left, 1);
	return NULL;
}

static void set(struct hashbelt *belt, struct hashbelt_settings *settings)
{
	int err = hashbelt_set(belt, settings);

	if (err)
		wrong("set: %s", strerror(-err));
}

static void change_geometry(struct hashbelt *belt, uint64_t random)
{
	set(belt, &(struct hashbelt_settings){
		.fields = HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS,
		.ttl_ms = 1 + (random >> 8) % 2000, .buckets = 2 + (random >> 32) % 300,
	});
}

static void change_all(struct hashbelt *belt, uint64_t random)
{
	set(belt, &(struct hashbelt_settings){
		.fields = random & HASHBELT_SET_ALL & ~(HASHBELT_SET_GID | HASHBELT_SET_MODE) ?:
			  HASHBELT_SET_POLICY,
		.ttl_ms = 1 + (random >> 8) % 2000, .buckets = 2 + (random >> 16) % 300,
		.policy = (random >> 24) & HASHBELT_POLICY_ALL, .handler = (random >> 32) % 3,
		.reasons = (random >> 36) & HASHBELT_REPORT_ALL,
		.max_entries = random >> 40 & 1 ? (random >> 41) % 1000 : 0,
		.max_bytes = random >> 50 & 1 ? (random >> 51) % 4096 * 64 : 0,
		.max_events = (random >> 56) * 4,
		.grace_ms = random >> 48 & 1 ? (random >> 20) % 200 : 0,
	});
}

/* Changes settings, moves belt time, and calls the shrinkers. */
static void *meddle(void *arg)
{
	struct hashbelt *ledger = open_nonblocking("churn-ledger");
	struct hashbelt *wild = open_nonblocking("churn-wild");
	int drop = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	uint64_t random = seed_of(200), round;

	(void)arg;
	for (round = 0; atomic_load(&writers_left); round++) {
		change_all(wild, next_random(&random));
		if (round % 4 == 0)
			change_geometry(ledger, next_random(&random));
		hashbelt_advance(round % 2 ? ledger : wild, next_random(&random) % 100);
		if (round % 64 == 0 && drop >= 0 && write(drop, "2\n", 2) != 2)
			wrong("drop_caches: %s", strerror(errno));
		usleep(2000);
	}
	close(drop);
	hashbelt_close(ledger);
	hashbelt_close(wild);
	return NULL;
}

static void discard_all(struct hashbelt *belt)
{
	char *buffer = malloc(BUFFER);

	while (hashbelt_read(belt, buffer, BUFFER) > 0)
		;
	free(buffer);
}

/* Reads all events, and compares counts. Return: the number of failures. */
static int check_ledger(struct hashbelt *belt)
{
	uint64_t i, once = 0;
	__u64 counters[HASHBELT_STAT_COUNT] = { 0 };
	unsigned int count = HASHBELT_STAT_COUNT;
	char *buffer = malloc(BUFFER);
	struct hashbelt_info info;
	int failed = 0;

	hashbelt_halt(belt);
	/* The worker may be in a round: wait for its end. */
	hashbelt_advance(belt, 0);
	/* One more event, which reports the last losses. */
	hashbelt_put(belt, "end", 3, "", 0, &(struct hashbelt_item){ 0 });
	hashbelt_expire(belt, "end", 3);
	while (read_some(belt, buffer))
		;
	hashbelt_info(belt, &info);
	hashbelt_stat(belt, counters, &count);
	for (i = 1; i <= info.sequence; i++)
		once += settled[i] == 1;
	printf("# %llu events, %llu lost, %llu returned, %llu evicted, %llu under pressure\n",
	       info.sequence, counters[HASHBELT_STAT_EVENTS_LOST],
	       counters[HASHBELT_STAT_EVENTS_RETURNED], counters[HASHBELT_STAT_EVICTED],
	       counters[HASHBELT_STAT_PRESSURE]);
	failed += report(counters[HASHBELT_STAT_PUTS_NEW] +
			 counters[HASHBELT_STAT_PUTS_REPLACED] == info.sequence + info.entries,
			 "each entry that was put is present or has been an event");
	failed += report(once + counters[HASHBELT_STAT_EVENTS_LOST] == info.sequence,
			 "each event is acknowledged once or counted as lost");
	failed += report(told_lost == counters[HASHBELT_STAT_EVENTS_LOST],
			 "the losses that events report add up to the counter events_lost");
	failed += report(tested(belt),
			 "evictions, entries taken by pressure and requeued events have occurred");
	failed += report(!info.in_flight && !info.queued &&
			 info.used_entries == info.entries,
			 "used_entries equals entries when no event is left");
	free(buffer);
	return failed;
}

int main(int argc, char **argv)
{
	pthread_t writers[WRITERS], others[4];
	struct hashbelt_info info;
	struct hashbelt *ledger, *wild;
	int failed, i;

	read_arguments(argc, argv, &operations);
	printf("# seed %llu, %llu operations of each writer\n",
	       (unsigned long long)seed, (unsigned long long)operations);
	/* Each operation ends at most two entries, and evicts one more. */
	settled_max = operations * FACTOR_MAX * WRITERS * 3 + 1000000;
	settled = calloc(settled_max + 1, 1);
	ledger = nonblocking(make_belt("churn-ledger", (struct hashbelt_settings){
		.ttl_ms = 1000, .handler = HASHBELT_NOTIFY, .reasons = HASHBELT_REPORT_ALL,
		.policy = HASHBELT_EVICT, .max_entries = ENTRIES_MAX, .max_events = 3000,
	}, 0));
	wild = nonblocking(make_belt("churn-wild", (struct hashbelt_settings){ 0 }, 0));
	pthread_create(&others[0], NULL, read_plainly, "churn-ledger");
	pthread_create(&others[1], NULL, read_and_leave, "churn-ledger");
	pthread_create(&others[2], NULL, meddle, NULL);
	for (i = 0; i < WRITERS; i++)
		pthread_create(&writers[i], NULL, write_all, (void *)(uintptr_t)(i + 1));
	for (i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	for (i = 0; i < 3; i++)
		pthread_join(others[i], NULL);
	failed = check_ledger(ledger);
	set(wild, &(struct hashbelt_settings){ .fields = HASHBELT_SET_HANDLER });
	hashbelt_clear(wild);
	discard_all(wild);
	hashbelt_info(wild, &info);
	failed += report(!info.entries && !info.used_entries && !info.used_bytes &&
			 !info.queued_bytes,
			 "a belt that was cleared and read has no entries and no events");
	failed += report(!atomic_load(failures), "no call returns an impossible result");
	hashbelt_destroy(ledger, "churn-ledger");
	hashbelt_destroy(wild, "churn-wild");
	free(settled);
	return done(failed);
}
