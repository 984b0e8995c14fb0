// SPDX-License-Identifier: GPL-2.0-only
/*
 * lockwait_test - signals and stops while tasks wait for a lock.
 *
 * The ends of a grant, the order of the waiters, and the tasks that wake: tests/kunit/lease_test.c.
 * Processes that are killed at each point: tests/stress/lockstress.c.
 */
#include "compete.h"
#include "lock.h"

#define NAME	"waited for"
#define KEY	"door"
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
	end_locker(&locker);
	end_locks(belt, NAME);
}

static void ends_with(struct locker locker, int err, const char *what)
{
	is_errno(answer_of(&locker), err, "%s", what);
	end_locker(&locker);
}

/*
 * A wait ends at the belt time of the argument, and EINTR returns that belt time. The handler of
 * the first signal has SA_RESTART, that of the last has not.
 */
static void test_until(void)
{
	int belt = named_locks(NAME);
	struct lock_call lock_call = lock_call_of("bob");
	__u64 start = info_of(belt).now_ns;
	struct locker locker;

	must_take(belt, KEY, "alice", 0);
	lock_call.wait_ms = 1000;
	lock_call.signal_flags = SA_RESTART;
	locker = launch_asleep(lock_call);
	advance(belt, 400);
	kill(locker.caller.pid, SIGUSR1);
	is_errno(answer_of(&locker), EINTR, "a signal with SA_RESTART ends a wait of 1000 ms");
	lock_call.wait_ms = locker.call->wait_ms;
	ok(lock_call.wait_ms == (HASHBELT_WAIT_UNTIL | (start + 1000 * 1000000ULL)),
	   "a wait that a signal ends returns the belt time when it would have ended");
	end_locker(&locker);
	locker = launch_asleep(lock_call);
	advance(belt, 599);
	ok(still_waits(&locker), "a wait until a belt time goes on until 1 ms before that time");
	advance(belt, 1);
	ends_with(locker, ETIMEDOUT, "a wait until a belt time returns ETIMEDOUT at that time");
	locker = launch(lock_call);
	ends_with(locker, ETIMEDOUT, "a wait until a belt time that has passed returns ETIMEDOUT");
	unlock(belt, KEY, "alice");
	locker = launch(lock_call);
	ends_with(locker, 0, "a wait until a belt time that has passed takes a lock that is free");
	unlock(belt, KEY, "bob");
	must_take(belt, KEY, "alice", 0);
	locker = wait_as("bob");
	kill(locker.caller.pid, SIGUSR1);
	ok(answer_of(&locker) == -EINTR && locker.call->wait_ms == FOR_EVER,
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
	stop_child(locker.caller.pid);
	advance(belt, stopped);
	kill(locker.caller.pid, SIGCONT);
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
	stop_child(locker.caller.pid);
	advance(belt, 100);
	kill(locker.caller.pid, SIGCONT);
	advance(belt, 199);
	ok(still_waits(&locker),
	   "a waiter that was stopped twice waits until 1 ms before its wait time ends");
	advance(belt, 1);
	ends_with(locker, ETIMEDOUT,
		  "the time for which a waiter was stopped counts towards its wait time");
	start = info_of(belt).now_ns;
	locker = wait_stopped(belt, 5000);
	ends_with(locker, ETIMEDOUT,
		  "a waiter that was stopped beyond its wait time returns ETIMEDOUT");
	is_int(info_of(belt).now_ns - start, 5400 * 1000000LL,
	       "a waiter that was stopped beyond its wait time returns as it continues");
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
	lock_call.read_only = true;
	locker = launch_asleep(lock_call);
	stop_and_continue(locker.caller.pid);
	ends_with(locker, EINTR,
		  "a waiter that was stopped and has no room for the time left returns EINTR");
	locker = wait_as("carol");
	stop_and_continue(locker.caller.pid);
	unlock(belt, KEY, "alice");
	is_errno(answer_of(&locker), 0, "a waiter for a lock that was stopped gets the lock");
	ok(is_held_by(belt, KEY, "carol"), "a waiter for a lock that was stopped holds the lock");
	end_locker(&locker);
	end_locks(belt, NAME);
}

/* The lock goes through a line of sleeping waiters while another thread asks for its holder. */

static int line;		/* descriptor of the belt */
static bool is_held;		/* the lock is held, or handed over; atomic */

static void *ask_for_holder(void *arg)
{
	bool held;

	for (; going(); count(&turns)) {
		held = __atomic_load_n(&is_held, __ATOMIC_ACQUIRE);
		expect(!is_free(line, KEY) || !held);
	}
	return arg;
}

static void hand_over(void)
{
	char owners[LINE + 1][8];
	struct locker lockers[LINE];
	unsigned int round, i;

	for (i = 0; i <= LINE; i++)
		snprintf(owners[i], sizeof(owners[i]), "%u", i);
	for (round = 0; round < LINES; round++) {
		must_take(line, KEY, owners[0], 0);
		__atomic_store_n(&is_held, true, __ATOMIC_RELEASE);
		for (i = 0; i < LINE; i++)
			lockers[i] = wait_as(owners[i + 1]);
		for (i = 0; i < LINE; i++)
			if (unlock(line, KEY, owners[i]))
				bail_out("%s does not have the lock", owners[i]);
		__atomic_store_n(&is_held, false, __ATOMIC_SEQ_CST);
		/* The call that is under way may have begun before that. */
		i = __atomic_load_n(&turns, __ATOMIC_SEQ_CST) + 2;
		while (early(i))
			sched_yield();
		unlock(line, KEY, owners[LINE]);
		for (i = 0; i < LINE; i++)
			end_locker(&lockers[i]);
	}
	note("%u calls", turns);
}

static void test_holder_in_hand_over(void)
{
	line = named_locks(NAME);
	compete(ask_for_holder, 1, hand_over);
	is_int(bad, 0, "holder finds an owner whenever the lock is handed over");
	end_locks(line, NAME);
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
	int err;

	for (round = 0; round < scaled(100); round++) {
		must_take(belt, KEY, "alice", 0);
		first = wait_as("first");
		next = wait_as("next");
		if (round % 2)
			kill(first.caller.pid, SIGUSR1);
		unlock(belt, KEY, "alice");
		kill(first.caller.pid, SIGUSR1);
		err = answer_of(&first);
		got += !err;
		wrong += err ? err != -EINTR : unlock(belt, KEY, "first") != 0;
		wrong += answer_of(&next) != 0;
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
	test_not_woken();
	test_until();
	test_time_while_stopped();
	test_stopped();
	test_holder_in_hand_over();
	test_signal_meanwhile();
	return done_testing();
}
