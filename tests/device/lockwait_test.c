// SPDX-License-Identifier: GPL-2.0-only
/*
 * lockwait_test - signals and processes that die while tasks wait for a lock.
 *
 * A process that dies, at any point, leaves no waiter without the lock, and no newcomer
 * overtakes a waiter. What ends a grant, and which waiter is next: tests/kunit/lease_test.c.
 */
#define _GNU_SOURCE
#include "lock.h"

#define NAME	"waited for"
#define KEY	"door"
#define CROWD_MAX	200
#define CROWD		scaled_from(50, CROWD_MAX)
#define LINES		scaled_from(2, 20)
#define LINE		20

/* A locker that waits for KEY, by default without end. */
static struct lock_call lock_call_of(const char *owner)
{
	return (struct lock_call){
		.belt = NAME, .key = KEY, .owner = owner, .wait_ms = FOR_EVER,
	};
}

static struct locker wait_as(const char *owner)
{
	return launch_asleep(lock_call_of(owner));
}

/* A close, a rebinding or the death of its process ends the lock of a holder. */
static void test_woken_by_close(void)
{
	int belt = named_locks(NAME), fd = open_named(NAME), other = named_locks("other");
	struct lock_call lock_call = lock_call_of("carol");
	struct locker holder, locker;

	lock_call.how = HASHBELT_BOUND;
	must_bind(fd, KEY, "alice", 0);
	locker = wait_as("bob");
	close(fd);
	is_errno(answer_of(&locker).err, 0,
		 "close of the descriptor of a bound lock grants the lock to the waiter");
	end_locker(&locker);
	unlock(belt, KEY, "bob");
	fd = open_named(NAME);
	must_bind(fd, KEY, "alice", 0);
	locker = wait_as("bob");
	if (open_belt(fd, "other"))
		bail_out("open");
	is_errno(answer_of(&locker).err, 0,
		 "binding the holder's descriptor to another belt grants the lock to the waiter");
	end_locker(&locker);
	unlock(belt, KEY, "bob");
	holder = launch_holder(lock_call);
	locker = wait_as("bob");
	kill(holder.pid, SIGKILL);
	is_errno(answer_of(&locker).err, 0,
		 "killing the holder with SIGKILL grants the lock to the waiter");
	ok(is_held_by(belt, KEY, "bob"),
	   "the waiter holds the lock after the holder is killed with SIGKILL");
	end_locker(&holder);
	ok(is_held_by(belt, KEY, "bob"),
	   "the waiter keeps the lock after the killed holder is reaped");
	end_locker(&locker);
	close(fd);
	end_locks(other, "other");
	end_locks(belt, NAME);
}

/* Changes of entries and of other locks wake no waiter. */
static void test_not_woken(void)
{
	int belt = named_locks(NAME);
	struct locker locker;

	must_take(belt, KEY, "alice", 5000);
	must_take(belt, "gate", "alice", 0);
	locker = wait_as("bob");
	put_text(belt, KEY, "value", 0);
	on_key(belt, HASHBELT_IOC_EXPIRE, KEY);
	put_text(belt, KEY, "value", 0);
	on_key(belt, HASHBELT_IOC_REMOVE, KEY);
	unlock(belt, "gate", "alice");
	take(belt, KEY, "carol", 0);
	SET(belt, .fields = HASHBELT_SET_BUCKETS, .buckets = 100);
	ok(still_waits(&locker),
	   "entry calls, other locks and refused requests do not wake a waiter");
	if (renew(belt, KEY, "alice", 9000))
		bail_out("renew");
	advance(belt, 5000);
	ok(still_waits(&locker),
	   "a waiter waits on at the end of a lease that its holder has renewed");
	must_take(belt, KEY, "alice", 10000);
	advance(belt, 4000);
	ok(still_waits(&locker),
	   "a waiter waits on at the end of a lease that a second lock call extended");
	advance(belt, 6000);
	is_errno(answer_of(&locker).err, 0,
		 "a waiter gets the lock at the end of a lease that a second lock call extended");
	end_locker(&locker);
	end_locks(belt, NAME);
}

/* Signals */

static void test_signals(int flags, const char *how)
{
	int belt = named_locks(NAME);
	struct lock_call lock_call = lock_call_of("bob");
	struct locker first, second;

	must_take(belt, KEY, "alice", 0);
	lock_call.signal_flags = flags;
	first = launch_asleep(lock_call);
	second = wait_as("carol");
	kill(first.pid, SIGUSR1);
	is_errno(answer_of(&first).err, EINTR, "%s ends the wait for a lock: EINTR", how);
	unlock(belt, KEY, "alice");
	is_errno(answer_of(&second).err, 0,
		 "%s ends the first wait: the second waiter gets the lock",
		 how);
	ok(is_held_by(belt, KEY, "carol"),
	   "%s ends the first wait: the second waiter holds the lock", how);
	say(&first, 'l');
	await_sleep(first.pid, __NR_ioctl);
	tell(&second, 'u');
	is_errno(answer_of(&first).err, 0,
		 "%s ends a wait: a second wait gets the lock in its turn", how);
	end_locker(&first);
	end_locker(&second);
	end_locks(belt, NAME);
}

/* A wait ends at the belt time of the argument, and EINTR returns that belt time. */
static void test_until(void)
{
	int belt = named_locks(NAME);
	struct lock_call lock_call = lock_call_of("bob");
	__u64 start = info_of(belt).now_ns;
	struct locker locker;
	struct answer answer;

	must_take(belt, KEY, "alice", 0);
	lock_call.wait_ms = 1000;
	locker = launch_asleep(lock_call);
	advance(belt, 400);
	kill(locker.pid, SIGUSR1);
	answer = answer_of(&locker);
	ok(answer.err == -EINTR &&
	   answer.wait_ms == (HASHBELT_WAIT_UNTIL | (start + 1000 * 1000000ULL)),
	   "a wait that a signal ends returns the belt time when it would have ended");
	end_locker(&locker);
	lock_call.wait_ms = answer.wait_ms;
	locker = launch_asleep(lock_call);
	advance(belt, 599);
	ok(still_waits(&locker), "a wait until a belt time goes on until 1 ms before that time");
	advance(belt, 1);
	is_errno(answer_of(&locker).err, ETIMEDOUT,
		 "a wait until a belt time returns ETIMEDOUT at that time");
	end_locker(&locker);
	locker = launch(lock_call);
	is_errno(answer_of(&locker).err, ETIMEDOUT,
		 "a wait until a belt time that has passed returns ETIMEDOUT");
	unlock(belt, KEY, "alice");
	is_errno(tell(&locker, 'l').err, 0,
		 "a wait until a belt time that has passed takes a lock that is free");
	end_locker(&locker);
	unlock(belt, KEY, "bob");
	must_take(belt, KEY, "alice", 0);
	lock_call.wait_ms = FOR_EVER;
	locker = launch_asleep(lock_call);
	kill(locker.pid, SIGUSR1);
	ok(answer_of(&locker).wait_ms == FOR_EVER,
	   "a wait without an end that a signal ends returns that it has none");
	end_locker(&locker);
	end_locks(belt, NAME);
}

/* Waits for 1000 ms of belt time, and is stopped for @stopped ms of them after 400. */
static struct locker wait_stopped(int belt, unsigned int stopped)
{
	struct lock_call lock_call = lock_call_of("bob");
	struct locker locker;

	lock_call.wait_ms = 1000;
	locker = launch_asleep(lock_call);
	advance(belt, 400);
	stop_child(locker.pid);
	advance(belt, stopped);
	kill(locker.pid, SIGCONT);
	return locker;
}

static void test_time_while_stopped(void)
{
	int belt = named_locks(NAME);
	struct locker locker;
	__u64 start;

	must_take(belt, KEY, "alice", 0);
	locker = wait_stopped(belt, 300);
	ok(still_waits(&locker),
	   "a waiter that was stopped within its wait time waits on when it continues");
	stop_child(locker.pid);
	advance(belt, 100);
	kill(locker.pid, SIGCONT);
	advance(belt, 199);
	ok(still_waits(&locker),
	   "a waiter that was stopped twice waits until 1 ms before its wait time ends");
	advance(belt, 1);
	is_errno(answer_of(&locker).err, ETIMEDOUT,
		 "the time for which a waiter was stopped counts towards its wait time");
	end_locker(&locker);
	start = info_of(belt).now_ns;
	locker = wait_stopped(belt, 5000);
	is_errno(answer_of(&locker).err, ETIMEDOUT,
		 "a waiter that was stopped beyond its wait time returns ETIMEDOUT");
	is_int(info_of(belt).now_ns - start, 5400 * 1000000LL,
	       "a waiter that was stopped beyond its wait time returns as it continues");
	end_locker(&locker);
	end_locks(belt, NAME);
}

/*
 * SIGSTOP has no handler, like the freezer. The kernel restarts such a call, which then
 * waits until its first end.
 */
static void test_stopped(void)
{
	int belt = named_locks(NAME);
	struct lock_call lock_call = lock_call_of("bob");
	struct locker locker;

	must_take(belt, KEY, "alice", 0);
	lock_call.wait_ms = 1000;
	locker = launch_asleep(lock_call);
	advance(belt, 400);
	stop_and_continue(locker.pid);
	ok(still_waits(&locker), "a waiter for a lock that was stopped waits on when it continues");
	advance(belt, 599);
	ok(still_waits(&locker),
	   "a waiter for a lock that was stopped waits until 1 ms before its wait time ends");
	advance(belt, 1);
	is_errno(answer_of(&locker).err, ETIMEDOUT,
		 "a waiter for a lock that was stopped returns ETIMEDOUT at its first wait time");
	end_locker(&locker);
	lock_call.read_only = true;
	locker = launch_asleep(lock_call);
	stop_and_continue(locker.pid);
	is_errno(answer_of(&locker).err, EINTR,
		 "a waiter that was stopped and has no room for the time left returns EINTR");
	end_locker(&locker);
	locker = wait_as("carol");
	stop_and_continue(locker.pid);
	unlock(belt, KEY, "alice");
	is_errno(answer_of(&locker).err, 0, "a waiter for a lock that was stopped gets the lock");
	ok(is_held_by(belt, KEY, "carol"), "a waiter for a lock that was stopped holds the lock");
	end_locker(&locker);
	end_locks(belt, NAME);
}

/* FIFO order */

/**
 * struct query - memory that a process that asks for the holder shares with the test
 * @held:	the lock is held, or handed over
 * @end:	tells the process to end
 * @calls:	number of calls that have returned
 * @gaps:	number of calls that found no holder while the lock was held
 */
struct query {
	bool held;
	bool end;
	unsigned int calls;
	unsigned int gaps;
};

static struct query *query;

static int ask_for_holder(void *arg)
{
	int belt = *(int *)arg;
	bool held;

	while (!__atomic_load_n(&query->end, __ATOMIC_ACQUIRE)) {
		held = __atomic_load_n(&query->held, __ATOMIC_ACQUIRE);
		query->gaps += is_free(belt, KEY) && held;
		__atomic_add_fetch(&query->calls, 1, __ATOMIC_RELEASE);
	}
	return 0;
}

static void end_queries(void)
{
	unsigned int calls;

	__atomic_store_n(&query->held, false, __ATOMIC_RELEASE);
	calls = __atomic_load_n(&query->calls, __ATOMIC_ACQUIRE);
	/* The call that is under way may have begun before that. */
	while (__atomic_load_n(&query->calls, __ATOMIC_ACQUIRE) - calls < 2)
		sched_yield();
}

/* The lock goes through a line of sleeping waiters while another process asks for its holder. */
static void test_holder_in_hand_over(void)
{
	int belt = named_locks(NAME);
	char owners[LINE + 1][8];
	struct locker lockers[LINE];
	unsigned int round, i;
	pid_t asker;

	query = shared_memory(sizeof(*query));
	asker = start(ask_for_holder, &belt);
	for (i = 0; i <= LINE; i++)
		snprintf(owners[i], sizeof(owners[i]), "%u", i);
	for (round = 0; round < LINES; round++) {
		must_take(belt, KEY, owners[0], 0);
		__atomic_store_n(&query->held, true, __ATOMIC_RELEASE);
		for (i = 0; i < LINE; i++)
			lockers[i] = wait_as(owners[i + 1]);
		for (i = 0; i < LINE; i++)
			if (unlock(belt, KEY, owners[i]))
				bail_out("%s does not have the lock", owners[i]);
		end_queries();
		unlock(belt, KEY, owners[LINE]);
		for (i = 0; i < LINE; i++)
			end_locker(&lockers[i]);
	}
	__atomic_store_n(&query->end, true, __ATOMIC_RELEASE);
	finish(asker);
	note("%u calls", query->calls);
	is_int(query->gaps, 0, "holder finds an owner whenever the lock is handed over");
	end_locks(belt, NAME);
}

/* No task overtakes a waiter, not even the last holder. */
static void test_newcomer(void)
{
	int belt = named_locks(NAME);
	unsigned int round, overtook = 0, wrong = 0;
	struct locker waiter, late;

	for (round = 0; round < 20 && !wrong; round++) {
		must_take(belt, KEY, "alice", 0);
		waiter = wait_as("bob");
		unlock(belt, KEY, "alice");
		overtook += take(belt, KEY, "alice", 0) != -EBUSY;
		late = wait_as("carol");
		wrong += answer_of(&waiter).err != 0;
		wrong += !is_held_by(belt, KEY, "bob");
		tell(&waiter, 'u');
		wrong += answer_of(&late).err != 0;
		end_locker(&waiter);
		end_locker(&late);
		release(belt, "carol");
	}
	ok(!overtook, "lock returns EBUSY right after an unlock while another owner waits");
	ok(!wrong, "a newcomer waits behind the waiters that came before it");
	end_locks(belt, NAME);
}

/* A task that tries all the time does not overtake a waiter at the end of a lease. */
static void test_impatient(void)
{
	int belt = named_locks(NAME);
	unsigned int round, overtook = 0, wrong = 0, asked = 0;
	struct pollfd pollfd = { .events = POLLIN };
	struct locker waiter;

	for (round = 0; round < 30 && !overtook && !wrong; round++) {
		must_take(belt, KEY, "alice", 3);
		waiter = wait_as("bob");
		pollfd.fd = waiter.answers;
		must(belt, HASHBELT_IOC_RESUME, NULL);
		do {
			overtook += take(belt, KEY, "carol", 0) != -EBUSY;
			asked++;
		} while (!overtook && poll(&pollfd, 1, 0) == 0);
		wrong += answer_of(&waiter).err != 0;
		must(belt, HASHBELT_IOC_HALT, NULL);
		wrong += !is_held_by(belt, KEY, "bob");
		end_locker(&waiter);
		must(belt, HASHBELT_IOC_CLEAR, NULL);
	}
	ok(!overtook && !wrong,
	   "lock by a newcomer never overtakes a waiter at the end of a lease");
	note("the newcomer tried %u times", asked);
	end_locks(belt, NAME);
}

/* Many waiters */

/* Voluntary context switches of a process. */
static unsigned long switches_of(pid_t pid)
{
	unsigned long count, sum = 0;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	if (!file)
		bail_out("%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "voluntary_ctxt_switches: %lu", &count) == 1)
			sum += count;
	fclose(file);
	return sum;
}

static void test_crowd(void)
{
	static struct locker lockers[CROWD_MAX];
	static unsigned long before[CROWD_MAX];
	static char owners[CROWD_MAX][8];
	int belt = named_locks(NAME);
	unsigned int i, k, woken = 0, wrong = 0;

	must_take(belt, KEY, "alice", 0);
	for (i = 0; i < CROWD; i++) {
		snprintf(owners[i], sizeof(owners[i]), "%u", i);
		lockers[i] = wait_as(owners[i]);
	}
	for (i = 0; i < CROWD; i++)
		before[i] = switches_of(lockers[i].pid);
	unlock(belt, KEY, "alice");
	for (i = 0; i < CROWD && !wrong; i++) {
		wrong += answer_of(&lockers[i]).err || !is_held_by(belt, KEY, owners[i]);
		if (i < 10)
			for (k = i + 1; k < CROWD; k++)
				woken += switches_of(lockers[k].pid) != before[k];
		wrong += tell(&lockers[i], 'u').err != 0;
	}
	ok(!wrong, "%u waiters get the lock one by one in FIFO order", CROWD);
	is_int(woken, 0, "an unlock wakes one of many waiters, and no other");
	ok(is_free(belt, KEY), "the lock is free when each of many waiters has unlocked");
	for (i = 0; i < CROWD; i++)
		end_locker(&lockers[i]);
	is_int(info_of(belt).entries, 0, "a lock that many waiters have held leaves no entry");
	end_locks(belt, NAME);
}

/* The end of a lease wakes one waiter, too; belt time runs here. */
static void test_crowd_of_leases(void)
{
	static struct locker lockers[20];
	static unsigned long before[20];
	int belt = named_locks(NAME);
	unsigned int i, woken = 0;

	SET(belt, .fields = HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS, .ttl_ms = 1000000,
	    .buckets = 2);
	must_take(belt, KEY, "alice", 0);
	for (i = 0; i < ARRAY_SIZE(lockers); i++)
		lockers[i] = wait_as("bob");
	if (renew(belt, KEY, "alice", 20))
		bail_out("renew");
	must(belt, HASHBELT_IOC_RESUME, NULL);
	/* Resume wakes every waiter once, to read the clock. */
	for (i = 0; i < ARRAY_SIZE(lockers); i++)
		before[i] = switches_of(lockers[i].pid);
	is_errno(answer_of(&lockers[0]).err, 0,
		 "the end of a lease grants the lock to the first of 20 waiters");
	must(belt, HASHBELT_IOC_HALT, NULL);
	for (i = 1; i < ARRAY_SIZE(lockers); i++)
		woken += switches_of(lockers[i].pid) > before[i] + 2;
	is_int(woken, 0, "the end of a lease does not wake the 19 waiters behind the first");
	for (i = 0; i < ARRAY_SIZE(lockers); i++)
		end_locker(&lockers[i]);
	end_locks(belt, NAME);
}

/* Killed waiters and holders */

/* Points at which a process is killed that takes a lock. */
enum point {
	BEFORE, WAITING, HOLDING, HAS_TAKEN_AGAIN, HAS_UNLOCKED, HAS_CLOSED, POINTS,
};

static const char *const point_names[POINTS] = {
	"before it takes the lock", "while it waits", "while it holds the lock",
	"after it took the lock again", "after it unlocked", "after it closed the belt",
};

/* Brings a process to that point; alice has unlocked by then, unless the process waits. */
static struct locker bring_to(int belt, enum point point)
{
	struct lock_call lock_call = lock_call_of("victim");
	struct locker locker;

	lock_call.how = HASHBELT_BOUND;
	if (point == BEFORE) {
		/* The victim has the belt open and holds another lock. */
		lock_call.key = "another";
		locker = launch_holder(lock_call);
		unlock(belt, KEY, "alice");
		return locker;
	}
	locker = launch_asleep(lock_call);
	if (point == WAITING)
		return locker;
	unlock(belt, KEY, "alice");
	if (answer_of(&locker).err)
		bail_out("the victim has no lock");
	if (point == HAS_TAKEN_AGAIN)
		tell(&locker, 'l');
	if (point == HAS_UNLOCKED || point == HAS_CLOSED)
		tell(&locker, 'u');
	if (point == HAS_CLOSED)
		tell(&locker, 'c');
	return locker;
}

static void test_killed_at(enum point point)
{
	int belt = named_locks(NAME);
	struct locker victim, next;

	must_take(belt, KEY, "alice", 0);
	victim = bring_to(belt, point);
	next = launch(lock_call_of("next"));
	if (point == HOLDING || point == WAITING || point == HAS_TAKEN_AGAIN)
		await_sleep(next.pid, __NR_ioctl);
	end_locker(&victim);
	if (point == WAITING)
		unlock(belt, KEY, "alice");
	is_errno(answer_of(&next).err, 0, "kill of a process %s: the next client gets the lock",
		 point_names[point]);
	ok(is_held_by(belt, KEY, "next") && locks_held(belt) == 1,
	   "kill of a process %s: only the next client's lock is held", point_names[point]);
	end_locker(&next);
	end_locks(belt, NAME);
}

/*
 * A waiter is killed at about the time at which it gets the lock. The lock is bound to its
 * descriptor, so the next waiter gets it either way.
 */
static void test_killed_meanwhile(void)
{
	int belt = named_locks(NAME);
	struct lock_call lock_call = lock_call_of("victim");
	unsigned int round, stuck = 0, left = 0;
	struct locker victim, next;

	lock_call.how = HASHBELT_BOUND;
	for (round = 0; round < scaled(100); round++) {
		must_take(belt, KEY, "alice", 0);
		victim = launch_asleep(lock_call);
		next = wait_as("next");
		if (round % 2)
			kill(victim.pid, SIGKILL);
		unlock(belt, KEY, "alice");
		if (round % 4 == 0)
			sched_yield();
		kill(victim.pid, SIGKILL);
		stuck += answer_of(&next).err != 0;
		end_locker(&victim);
		stuck += tell(&next, 'u').err != 0;
		left += locks_held(belt) != 0;
		end_locker(&next);
	}
	is_int(stuck, 0,
	       "a bound waiter killed as it gets the lock passes it on to the next waiter");
	is_int(left, 0, "a bound waiter killed as it gets the lock holds nothing");
	end_locks(belt, NAME);
}

/*
 * A waiter gets a signal at about the time at which it gets the lock: it holds the lock, or
 * returns EINTR and the next waiter holds the lock.
 */
static void test_signal_meanwhile(void)
{
	int belt = named_locks(NAME);
	unsigned int round, wrong = 0, got = 0;
	struct locker first, next;
	struct answer answer;

	for (round = 0; round < scaled(100); round++) {
		must_take(belt, KEY, "alice", 0);
		first = wait_as("first");
		next = wait_as("next");
		if (round % 2)
			kill(first.pid, SIGUSR1);
		unlock(belt, KEY, "alice");
		kill(first.pid, SIGUSR1);
		answer = answer_of(&first);
		got += !answer.err;
		if (!answer.err)
			wrong += tell(&first, 'u').err != 0;
		else
			wrong += answer.err != -EINTR;
		wrong += answer_of(&next).err != 0;
		wrong += !is_held_by(belt, KEY, "next");
		end_locker(&first);
		end_locker(&next);
		release(belt, "next");
	}
	is_int(wrong, 0, "a waiter signalled as it gets the lock holds it or returns EINTR");
	note("%u of %u had the lock", got, scaled(100));
	end_locks(belt, NAME);
}

int main(void)
{
	enum point point;

	test_woken_by_close();
	test_not_woken();
	test_signals(0, "a signal");
	test_signals(SA_RESTART, "a signal with SA_RESTART");
	test_until();
	test_time_while_stopped();
	test_stopped();
	test_holder_in_hand_over();
	test_newcomer();
	test_impatient();
	test_crowd();
	test_crowd_of_leases();
	for (point = BEFORE; point < POINTS; point++)
		test_killed_at(point);
	test_killed_meanwhile();
	test_signal_meanwhile();
	return done_testing();
}
