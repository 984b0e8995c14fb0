// SPDX-License-Identifier: GPL-2.0-only
/*
 * lockstress - processes that lock and wait for locks are killed all the time.
 *
 *	lockstress [SEED [GRANTS]]
 *
 * Two parts, one after the other, of about GRANTS grants each:
 *
 * count	Processes take a bound lock, and add to a plain variable. Belt time is halted, so
 *		the lease does not end. Some are killed with the lock, and others anywhere. No two
 *		have the lock at once, and each has a larger token than the one before.
 * race		Unlock, expiry, close, release, clear, renewal, waiting and kills run at
 *		once. The end of each grant is reported once, and no process waits for ever.
 */
#include <fcntl.h>
#include <pthread.h>
#include <time.h>

#define WORKERS		5
#define LIVES		400		/* processes in a part: a killed worker is restarted */

#include "processes.h"

#define NAMES		6		/* number of locks in the part "race" */
#define TTL		10000
#define TIMEOUT_S	120		/* seconds; a part takes one or two */
#define BUFFER		65536

#define COUNT_BELT	"lockstress-count"
#define RACE_BELT	"lockstress-race"

/**
 * struct shared - memory that all processes share
 * @wrong:	number of impossible results
 * @stop:	race: tells the processes to end
 * @grants:	race: number of grants so far
 * @seen:	race: for each lock, the largest token that a process has got
 * @value:	count: the plain variable
 * @token:	count: that of the last process that got the lock
 * @killed:	count: processes that were killed with the lock
 */
struct shared {
	_Atomic unsigned int wrong;
	uint32_t stop;
	uint64_t grants;
	uint64_t seen[NAMES];
	volatile uint64_t value;
	volatile uint64_t token;
	volatile unsigned int killed;
};

static struct shared *shared;
static uint64_t grants = 6000;

/* Makes a halted belt for locks; returns a handle that is bound to it. */
static struct hashbelt *make_locks(const char *name, struct hashbelt_settings settings)
{
	settings.ttl_ms = TTL;
	settings.policy = HASHBELT_PINNED;
	return make_belt(name, settings, 1);
}

/* Destroys a belt; returns its last info. */
static struct hashbelt_info end_belt(struct hashbelt *belt, const char *name)
{
	struct hashbelt_info info = { 0 };

	hashbelt_info(belt, &info);
	hashbelt_destroy(belt, name);
	hashbelt_close(belt);
	return info;
}

/* count: a plain variable */

/* One addition, under the lock. One of 64 workers kills itself, except for the last ones. */
static void add(unsigned int life, uint64_t token, uint64_t *random)
{
	if (token <= shared->token)
		wrong("token %llu after %llu", (unsigned long long)token,
		      (unsigned long long)shared->token);
	shared->token = token;
	random_delay(next_random(random));
	if (life < LIVES - WORKERS && next_random(random) % 64 == 0) {
		shared->killed++;
		raise(SIGKILL);
	}
	random_delay(next_random(random));
	if (shared->token != token)
		wrong("%llu has the lock beside %llu", (unsigned long long)shared->token,
		      (unsigned long long)token);
	shared->value++;
}

static void count_work(unsigned int life)
{
	uint64_t random = seed_of(life);
	struct hashbelt *belt = open_belt(COUNT_BELT);
	struct hashbelt_lock lock;
	int more = 1, err;

	while (more) {
		lock = (struct hashbelt_lock){
			.how = HASHBELT_BOUND, .wait_ms = HASHBELT_TTL_NEVER,
		};
		err = hashbelt_lock(belt, "variable", 8, &life, sizeof(life), &lock);
		if (err)
			wrong("lock: %s", strerror(-err));
		more = !err && shared->value < grants;
		if (more)
			add(life, lock.token, &random);
		err = hashbelt_unlock(belt, "variable", 8, &life, sizeof(life));
		if (err)
			wrong("unlock: %s", strerror(-err));
	}
	hashbelt_close(belt);
}

static int count_part(void)
{
	struct hashbelt *belt = make_locks(COUNT_BELT, (struct hashbelt_settings){ 0 });
	uint64_t random = seed_of(1000);
	time_t end = time(NULL) + TIMEOUT_S;
	struct hashbelt_info info;
	int failed;

	begin(count_work);
	while (alive() && time(NULL) < end) {
		reap(count_work);
		usleep(next_random(&random) % 3000);
		if (next_random(&random) % 2)
			kill_one(next_random(&random));
	}
	failed = report(!kill_all(), "count: no process is left waiting");
	printf("# counted to %llu by %u processes, of which %u were killed with the lock\n",
	       (unsigned long long)shared->value, lives, shared->killed);
	failed += report(shared->value == grants && !shared->wrong,
			 "count: one process at a time has the lock, with a larger token than the one before");
	failed += report(shared->killed && lives > WORKERS + shared->killed,
			 "count: processes are killed with the lock, and without it");
	info = end_belt(belt, COUNT_BELT);
	return failed + report(!info.locks && !info.entries, "count: no lock and no entry is left");
}

/* race: everything at once */

/* Tries to take a lock. Its token may not be smaller than one that was seen before. */
static void race_lock(struct hashbelt *belt, uint32_t name, uint32_t owner, uint64_t random)
{
	static const uint64_t waits[] = { 0, 0, 5, 50, HASHBELT_TTL_NEVER };
	uint64_t *seen = &shared->seen[name];
	uint64_t before = __atomic_load_n(seen, __ATOMIC_SEQ_CST), now;
	struct hashbelt_lock lock = {
		.how = random & 1 ? HASHBELT_BOUND : 0,
		.ttl_ms = 1 + (random >> 8) % 60,
		.wait_ms = waits[(random >> 16) % 5],
	};
	int err = hashbelt_lock(belt, &name, sizeof(name), &owner, sizeof(owner), &lock);

	if (err && err != -EBUSY && err != -ETIMEDOUT)
		wrong("lock: %s", strerror(-err));
	if (err)
		return;
	if (lock.token < before)
		wrong("token %llu after %llu", lock.token, (unsigned long long)before);
	now = before;
	while (now < lock.token &&
	       !__atomic_compare_exchange_n(seen, &now, lock.token, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST))
		;
	__atomic_fetch_add(&shared->grants, 1, __ATOMIC_RELAXED);
}

static void race_list(struct hashbelt *belt, uint32_t owner)
{
	const struct hashbelt_lock_record *record;
	struct hashbelt_lister *lister;
	unsigned int count = 0;
	int more = hashbelt_locks_begin(belt, &owner, owner % 2 ? 0 : sizeof(owner), &lister);

	if (more) {
		wrong("list: %s", strerror(-more));
		return;
	}
	while ((more = hashbelt_locks_next(lister, &record)) > 0) {
		if (record->key_len != sizeof(uint32_t) || ++count > 1000)
			wrong("a list has a name of %u bytes, or no end", record->key_len);
	}
	if (more)
		wrong("list: %s", strerror(-more));
	hashbelt_locks_end(lister);
}

/* One operation on one of the locks. Return: the handle, which may be a new one. */
static struct hashbelt *race_once(struct hashbelt *belt, uint32_t owner, uint64_t random)
{
	uint32_t name = (random >> 40) % NAMES, other = ~0u;
	struct hashbelt_lock lock = { 0 };
	size_t len = sizeof(other);
	__u64 count;
	int err = 0;

	switch (random >> 48 & 15) {
	case 0:
	case 1:
	case 2:
		err = hashbelt_unlock(belt, &name, sizeof(name), &owner, sizeof(owner));
		break;
	case 3:
	case 4:
		err = hashbelt_renew(belt, &name, sizeof(name), &owner, sizeof(owner),
				     1 + (random >> 8) % 100, &lock);
		break;
	case 5:
		err = hashbelt_release(belt, &owner, sizeof(owner), &count);
		break;
	case 6:
		err = hashbelt_holder(belt, &name, sizeof(name), &other, &len, &lock);
		break;
	case 7:
		race_list(belt, owner);
		break;
	case 8:
		hashbelt_close(belt);
		return open_belt(RACE_BELT);
	case 9:
		err = hashbelt_bind(belt, RACE_BELT);
		break;
	default:
		race_lock(belt, name, owner, random);
	}
	if (err && err != -ENOENT && err != -EACCES)
		wrong("operation %u: %s", (unsigned int)(random >> 48 & 15), strerror(-err));
	return belt;
}

static void race_work(unsigned int life)
{
	uint64_t random = seed_of(4000 + life);
	uint32_t owner = life % WORKERS;
	struct hashbelt *belt = open_belt(RACE_BELT);

	while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) {
		belt = race_once(belt, owner, next_random(&random));
		random_delay(next_random(&random));
	}
	hashbelt_close(belt);
}

/**
 * struct ledger - the ends of grants, as events report them
 * @ends:	number of ends
 * @released:	number of ends by the close of a descriptor
 * @disorder:	number of ends reported after one of the same lock with a larger token
 * @lost:	number of lost events
 * @last:	for each lock, the token of its last event
 */
struct ledger {
	uint64_t ends;
	uint64_t released;
	uint64_t disorder;
	uint64_t lost;
	uint64_t last[NAMES];
};

static void read_ends(struct hashbelt *belt, struct ledger *ledger)
{
	static uint64_t buffer[BUFFER / 8];
	const struct hashbelt_event *event = NULL;
	uint32_t name = 0;
	ssize_t len = hashbelt_read(belt, buffer, sizeof(buffer));

	while (len > 0 && (event = hashbelt_event_next(buffer, len, event))) {
		if (event->kind != HASHBELT_LOCK || event->key_len != sizeof(name)) {
			wrong("an event of kind %u", event->kind);
			continue;
		}
		memcpy(&name, hashbelt_event_key(event), sizeof(name));
		ledger->ends++;
		ledger->lost += event->lost;
		ledger->released += event->reason == HASHBELT_RELEASED;
		ledger->disorder += event->token <= ledger->last[name % NAMES];
		ledger->last[name % NAMES] = event->token;
	}
}

/* An operation on the whole belt, or on all locks of an owner; or kills a worker. */
static void meddle(struct hashbelt *belt, uint64_t random)
{
	uint32_t owner = (random >> 32) % WORKERS;
	__u64 count;
	int err = 0;

	switch (random % 32) {
	case 0:
		err = hashbelt_clear(belt);
		break;
	case 1:
		err = hashbelt_rotate(belt);
		break;
	case 2:
		err = hashbelt_set(belt, &(struct hashbelt_settings){
			.fields = HASHBELT_SET_BUCKETS, .buckets = 2 + (random >> 8) % 500,
		});
		break;
	case 3:
		err = hashbelt_release(belt, &owner, sizeof(owner), &count);
		break;
	case 4:
	case 5:
		kill_one(random >> 16);
		break;
	case 6:
		err = random & 64 ? hashbelt_resume(belt) : hashbelt_halt(belt);
		break;
	default:
		err = hashbelt_advance(belt, (random >> 8) % 20);
	}
	if (err)
		wrong("operation %u on the belt: %s", (unsigned int)(random % 32), strerror(-err));
}

/* Ends all leases, and reads all events. */
static void settle(struct hashbelt *belt, struct ledger *ledger)
{
	struct hashbelt_info info = { 0 };
	unsigned int tries;

	hashbelt_halt(belt);
	for (tries = 0; tries < 10000; tries++) {
		hashbelt_advance(belt, TTL);
		read_ends(belt, ledger);
		if (!hashbelt_info(belt, &info) && !info.queued && !info.entries && tries > 3)
			return;
		usleep(1000);
	}
}

static int check_ledger(struct hashbelt *belt, const struct ledger *ledger)
{
	__u64 counters[HASHBELT_STAT_COUNT] = { 0 };
	unsigned int count = HASHBELT_STAT_COUNT;
	struct hashbelt_info info;
	int failed;

	hashbelt_stat(belt, counters, &count);
	info = end_belt(belt, RACE_BELT);
	printf("# %llu grants, %llu after a wait, %llu ends, %llu by a close, %u processes\n",
	       counters[HASHBELT_STAT_LOCKS], counters[HASHBELT_STAT_LOCK_WAITS],
	       (unsigned long long)ledger->ends, counters[HASHBELT_STAT_RELEASED], lives);
	failed = report(!info.locks && !info.entries, "race: no lock and no entry is left");
	failed += report(!info.used_entries && !info.used_bytes && !info.queued_bytes,
			 "race: no charge is left against the limits");
	failed += report(ledger->ends == counters[HASHBELT_STAT_LOCKS] && !ledger->lost,
			 "race: the end of each grant is reported once");
	failed += report(ledger->released == counters[HASHBELT_STAT_RELEASED],
			 "race: as many locks are counted as released as events report");
	failed += report(!ledger->disorder,
			 "race: ends of a lock are reported in the order of its tokens");
	return failed + report(counters[HASHBELT_STAT_LOCK_WAITS] && ledger->released &&
			       shared->grants >= grants && lives > WORKERS,
			       "race: waits, releases and kills have all occurred");
}

static int race_part(void)
{
	struct ledger ledger = { 0 };
	uint64_t random = seed_of(5000);
	time_t end = time(NULL) + TIMEOUT_S;
	struct hashbelt *belt;
	int failed;

	belt = make_locks(RACE_BELT, (struct hashbelt_settings){
		.handler = HASHBELT_NOTIFY, .reasons = HASHBELT_REPORT_ALL,
		.max_bytes = 256ull << 20, .max_events = 1000000,
	});
	fcntl(hashbelt_fd(belt), F_SETFL, O_NONBLOCK);
	begin(race_work);
	while (shared->grants < grants && time(NULL) < end) {
		reap(race_work);
		meddle(belt, next_random(&random));
		read_ends(belt, &ledger);
		usleep(next_random(&random) % 500);
	}
	__atomic_store_n(&shared->stop, 1, __ATOMIC_RELAXED);
	/* No process is killed from here on, so each waiter gets its lock. */
	end = time(NULL) + TIMEOUT_S;
	while (alive() && time(NULL) < end) {
		reap(NULL);
		hashbelt_advance(belt, 10);
		read_ends(belt, &ledger);
		usleep(500);
	}
	failed = report(!kill_all(), "race: no process is left waiting");
	settle(belt, &ledger);
	return failed + check_ledger(belt, &ledger);
}

int main(int argc, char **argv)
{
	uint64_t before;
	int failed;

	read_arguments(argc, argv, &grants);
	printf("# seed %llu, %llu grants of each part\n", (unsigned long long)seed,
	       (unsigned long long)grants);
	shared = share(sizeof(*shared));
	failures = &shared->wrong;
	before = used_bytes();
	failed = count_part();
	failed += race_part();
	failed += report(is_used_at_last(before),
			 "used_bytes returns to what it was before the test");
	failed += report(!shared->wrong, "no call returns an impossible result");
	return done(failed);
}
