// SPDX-License-Identifier: GPL-2.0
/*
 * lockwait_test - who waits for a lock gets it in his turn, or learns why not.
 *
 * By whatever ends the other's turn, in the order in which they came, and one at a
 * time: who is not meant is not woken. And whoever dies, at whatever point, leaves
 * nobody waiting for him.
 */
#define _GNU_SOURCE
#include "lock.h"

#define TESTS	124

#define NAME	"waited for"
#define KEY	"door"
#define CROWD_MAX	200
#define CROWD		scaled_from(50, CROWD_MAX)

/* Who waits for that lock, for ever if nothing else is said. */
static struct errand errand_of(const char *owner)
{
	return (struct errand){
		.belt = NAME, .key = KEY, .owner = owner, .wait_ms = FOR_EVER,
	};
}

static struct locker wait_as(const char *owner)
{
	return launch_asleep(errand_of(owner));
}

/* Time */

static void test_timeout(void)
{
	int belt = named_locks(NAME);
	struct errand errand = errand_of("bob");
	struct locker locker;
	struct answer answer;
	__u64 start;

	must_take(belt, KEY, "alice", 0);
	is_errno(take(belt, KEY, "bob", 0), EBUSY, "who does not want to wait is refused");
	errand.wait_ms = 3000;
	start = info_of(belt).now_ns;
	locker = launch_asleep(errand);
	advance(belt, 2999);
	ok(still_waits(&locker), "who waits does so by belt time");
	advance(belt, 1);
	answer = answer_of(&locker);
	is_errno(answer.err, ETIMEDOUT, "until his time is over");
	is_int(answer.now_ns - start, 3000 * 1000000LL, "to the moment");
	ok(is_held_by(belt, KEY, "alice"), "the holder has what he had");
	unlock(belt, KEY, "alice");
	ok(is_free(belt, KEY), "a waiter that has timed out is not granted the lock later");
	end_locker(&locker);
	must_take(belt, KEY, "alice", 0);
	errand.wait_ms = 20;
	locker = launch_asleep(errand);
	must(belt, HASHBELT_IOC_RESUME, NULL);
	is_errno(answer_of(&locker).err, ETIMEDOUT, "time itself ends the waiting, too");
	must(belt, HASHBELT_IOC_HALT, NULL);
	end_locker(&locker);
	is_int(counter(belt, HASHBELT_STAT_LOCK_WAITS), 0, "no wait has led to a grant");
	end_locks(belt, NAME);
}

/* Of those who wait, each goes at his own time, and the others do not go with him. */
static void test_timeouts(void)
{
	int belt = named_locks(NAME);
	struct errand errand = errand_of("bob");
	struct locker lockers[3];
	unsigned int i;

	must_take(belt, KEY, "alice", 0);
	for (i = 0; i < 3; i++) {
		errand.wait_ms = 1000 * (3 - i);
		lockers[i] = launch_asleep(errand);
	}
	advance(belt, 1000);
	is_errno(answer_of(&lockers[2]).err, ETIMEDOUT, "the last may be the first to go");
	ok(still_waits(&lockers[0]) && still_waits(&lockers[1]), "the others wait on");
	advance(belt, 1000);
	is_errno(answer_of(&lockers[1]).err, ETIMEDOUT, "each for his own time");
	ok(still_waits(&lockers[0]),
	   "a waiter with a long time still waits when others have timed out");
	unlock(belt, KEY, "alice");
	is_errno(answer_of(&lockers[0]).err, 0, "has not lost his turn");
	for (i = 0; i < 3; i++)
		end_locker(&lockers[i]);
	end_locks(belt, NAME);
}

/* What a waiter gets counts from when he gets it. */
static void test_lease_begins(void)
{
	int belt = named_locks(NAME);
	struct errand errand = errand_of("bob");
	__u64 token = must_take(belt, KEY, "alice", 0).token;
	struct locker locker;
	struct answer answer;

	errand.ttl_ms = 700;
	errand.wait_ms = HASHBELT_TTL_MAX_MS;
	locker = launch_asleep(errand);
	advance(belt, 5000);
	unlock(belt, KEY, "alice");
	answer = answer_of(&locker);
	ok(!answer.err && answer.ttl_ms == 700 && !answer.held_ms,
	   "his lease begins when he gets it");
	ok(answer.token > token, "with a larger token");
	is_int(holder_of(belt, KEY).token, answer.token,
	       "the holder call returns the token of the waiter that was granted the lock");
	advance(belt, 699);
	ok(is_held_by(belt, KEY, "bob"), "it lasts as long as he asked for");
	advance(belt, 1);
	ok(is_free(belt, KEY),
	   "the lease of a waiter that was granted the lock ends after its own time");
	is_int(counter(belt, HASHBELT_STAT_LOCKS), 2, "his was a grant");
	is_int(counter(belt, HASHBELT_STAT_LOCK_WAITS), 1, "after a wait, which is counted");
	end_locker(&locker);
	end_locks(belt, NAME);
}

static void test_free_at_once(void)
{
	int belt = named_locks(NAME);
	struct locker locker = launch(errand_of("bob"));

	is_errno(answer_of(&locker).err, 0, "who is ready to wait need not if it is free");
	is_errno(tell(&locker, 'l').err, 0,
		 "a lock request with a wait time by the holder returns at once");
	is_int(counter(belt, HASHBELT_STAT_LOCK_WAITS), 0,
	       "a lock request that returns at once is not counted as a wait");
	end_locker(&locker);
	end_locks(belt, NAME);
}

/* What wakes */

static void do_unlock(int belt)
{
	if (unlock(belt, KEY, "alice"))
		bail_out("unlock");
}

static void do_advance(int belt)
{
	advance(belt, 4000);
}

static void do_rotate(int belt)
{
	must(belt, HASHBELT_IOC_ROTATE, NULL);
}

static void do_renew(int belt)
{
	if (renew(belt, KEY, "alice", 10))
		bail_out("renew");
	advance(belt, 10);
}

static void do_resume(int belt)
{
	if (renew(belt, KEY, "alice", 10))
		bail_out("renew");
	must(belt, HASHBELT_IOC_RESUME, NULL);
}

static void do_release(int belt)
{
	if (release(belt, "alice") != 1)
		bail_out("release");
}

static void do_clear(int belt)
{
	must(belt, HASHBELT_IOC_CLEAR, NULL);
}

static void test_woken(void)
{
	static const struct {
		const char *what;
		void (*act)(int belt);
	} cases[] = {
		{ "an unlock", do_unlock },
		{ "the end of the lease", do_advance },
		{ "the end of the lease by a rotation", do_rotate },
		{ "the end of a lease that was made shorter", do_renew },
		{ "the end of the lease by time itself", do_resume },
		{ "a release of all that the holder has", do_release },
		{ "a clear of the belt", do_clear },
	};
	struct locker locker;
	struct answer answer;
	unsigned int i;
	__u64 token;
	int belt;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		belt = named_locks(NAME);
		token = must_take(belt, KEY, "alice", 4000).token;
		locker = wait_as("bob");
		cases[i].act(belt);
		answer = answer_of(&locker);
		is_errno(answer.err, 0, "%s lets in who waits", cases[i].what);
		ok(answer.token > token, "%s: with a larger token", cases[i].what);
		must(belt, HASHBELT_IOC_HALT, NULL);
		ok(is_held_by(belt, KEY, "bob") && locks_held(belt) == 1,
		   "%s: and it is his alone", cases[i].what);
		end_locker(&locker);
		end_locks(belt, NAME);
	}
}

/* By what becomes of the descriptor that the lock is bound to. */
static void test_woken_by_close(void)
{
	int belt = named_locks(NAME), fd = open_named(NAME), other = named_locks("other");
	struct errand errand = errand_of("carol");
	struct locker holder, locker;

	errand.how = HASHBELT_BOUND;
	must_bind(fd, KEY, "alice", 0);
	locker = wait_as("bob");
	close(fd);
	is_errno(answer_of(&locker).err, 0,
		 "the close of the descriptor that it is bound to lets in who waits");
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
	holder = launch_holder(errand);
	locker = wait_as("bob");
	kill(holder.pid, SIGKILL);
	is_errno(answer_of(&locker).err, 0,
		 "killing the holder with SIGKILL grants the lock to the waiter");
	ok(is_held_by(belt, KEY, "bob"), "the lock is his then");
	end_locker(&holder);
	ok(is_held_by(belt, KEY, "bob"), "a waiter that was granted the lock keeps it");
	end_locker(&locker);
	close(fd);
	end_locks(other, "other");
	end_locks(belt, NAME);
}

/*
 * On a belt whose buckets fall off after minutes, so that nobody else looks in time,
 * the first in the line looks for himself when the lease is over; whoever is the
 * first by then, and whatever the lease has become.
 */
static void let_renew(int belt)
{
	/* Long enough for the first to be gone by then, almost always. */
	if (renew(belt, KEY, "alice", 500))
		bail_out("renew");
}

static void let_kill(int belt, const struct locker *first)
{
	kill_and_wait(first->pid);
	let_renew(belt);
}

static void let_killed_late(int belt, const struct locker *first)
{
	let_renew(belt);
	kill_and_wait(first->pid);
}

static void let_signal(int belt, const struct locker *first)
{
	let_renew(belt);
	kill(first->pid, SIGUSR1);
}

static void let_time_out(int belt, const struct locker *first)
{
	(void)first;
	let_renew(belt);
}

static void let_stand(int belt, const struct locker *first)
{
	must(belt, HASHBELT_IOC_HALT, NULL);
	kill_and_wait(first->pid);
	let_renew(belt);
	must(belt, HASHBELT_IOC_RESUME, NULL);
}

static void let_advance(int belt, const struct locker *first)
{
	kill_and_wait(first->pid);
	advance(belt, 1000);
	let_renew(belt);
}

/**
 * struct loss - how the first in the line is lost
 * @what:	what happens to him
 * @act:	makes it happen, and lets the lease end
 * @wait_ms:	how long he wants to wait
 */
struct loss {
	const char *what;
	void (*act)(int belt, const struct locker *first);
	__u64 wait_ms;
};

/* How often in all cases together the first waiter may be lost too late. */
#define LATE_MAX	10

/* What comes of it for the next one; -EAGAIN if the first had the lock before he was lost. */
static int lose_first(const struct loss *loss)
{
	struct errand errand = errand_of("bob");
	int belt = named_locks(NAME), err;
	struct locker first, next;

	SET(belt, .fields = HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS,
	    .ttl_ms = 1000000, .buckets = 2);
	must_take(belt, KEY, "alice", 0);
	errand.wait_ms = loss->wait_ms;
	first = launch_asleep(errand);
	next = wait_as("carol");
	must(belt, HASHBELT_IOC_RESUME, NULL);
	loss->act(belt, &first);
	err = answer_of(&next).err;
	if (err && !answer_of(&first).err)
		err = -EAGAIN;
	end_locker(&first);
	end_locker(&next);
	end_locks(belt, NAME);
	return err;
}

static void test_next_looks(void)
{
	static const struct loss losses[] = {
		{ "is killed before the lease is made shorter", let_kill, FOR_EVER },
		{ "is killed after it", let_killed_late, FOR_EVER },
		{ "is killed while time stands still", let_stand, FOR_EVER },
		{ "is killed before time is moved on", let_advance, FOR_EVER },
		{ "gets a signal", let_signal, FOR_EVER },
		{ "does not want to wait any more", let_time_out, 5 },
	};
	unsigned int i, late = 0;
	int err;

	for (i = 0; i < ARRAY_SIZE(losses); i++) {
		/* On a slow machine the lease may end before the first waiter is lost. */
		while ((err = lose_first(&losses[i])) == -EAGAIN && late < LATE_MAX)
			late++;
		is_errno(err, 0, "when the first %s, the next one gets it as the lease ends",
			 losses[i].what);
	}
	note("figure: the first waiter was lost too late %u times, of %u that are allowed", late,
	     LATE_MAX);
}

static void test_woken_by_end(void)
{
	int belt = named_locks(NAME);
	struct locker lockers[3];
	unsigned int i;

	must_take(belt, KEY, "alice", 0);
	for (i = 0; i < 3; i++)
		lockers[i] = wait_as("bob");
	if (destroy_belt(belt, NAME))
		bail_out("destroy");
	for (i = 0; i < 3; i++) {
		is_errno(answer_of(&lockers[i]).err, EIDRM,
			 "when the belt is destroyed, waiter %u learns that", i);
		end_locker(&lockers[i]);
	}
	close(belt);
}

/* What happens to entries, and to other locks, is none of his business. */
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
	ok(still_waits(&locker), "nothing but the end of that lock wakes who waits for it");
	if (renew(belt, KEY, "alice", 9000))
		bail_out("renew");
	advance(belt, 5000);
	ok(still_waits(&locker), "not the end of a lease that was renewed");
	must_take(belt, KEY, "alice", 10000);
	advance(belt, 4000);
	ok(still_waits(&locker),
	   "a waiter waits on when a lease ends that its holder had extended by taking it again");
	advance(belt, 6000);
	is_errno(answer_of(&locker).err, 0,
		 "the end of the extended lease grants the lock to the waiter");
	end_locker(&locker);
	end_locks(belt, NAME);
}

/* Signals */

static void test_signals(int flags, const char *how)
{
	int belt = named_locks(NAME);
	struct errand errand = errand_of("bob");
	struct locker first, second;

	must_take(belt, KEY, "alice", 0);
	errand.signal_flags = flags;
	first = launch_asleep(errand);
	second = wait_as("carol");
	kill(first.pid, SIGUSR1);
	is_errno(answer_of(&first).err, EINTR, "%s: a signal ends the waiting", how);
	unlock(belt, KEY, "alice");
	is_errno(answer_of(&second).err, 0, "%s: his place in the line is the next one's",
		 how);
	ok(is_held_by(belt, KEY, "carol"), "%s: and the lock", how);
	say(&first, 'l');
	await_sleep(first.pid, __NR_ioctl);
	tell(&second, 'u');
	is_errno(answer_of(&first).err, 0, "%s: who waits anew gets it in his turn", how);
	end_locker(&first);
	end_locker(&second);
	end_locks(belt, NAME);
}

/* The line */

static void test_line(void)
{
	static const char *const owners[] = { "b", "c", "d", "e", "f", "g", "h", "i" };
	int belt = named_locks(NAME);
	struct locker lockers[ARRAY_SIZE(owners)];
	struct answer answer;
	unsigned int i, wrong = 0, early = 0, n = ARRAY_SIZE(owners);
	__u64 token = must_take(belt, KEY, "alice", 0).token;

	for (i = 0; i < n; i++)
		lockers[i] = wait_as(owners[i]);
	unlock(belt, KEY, "alice");
	for (i = 0; i < n && !wrong; i++) {
		answer = answer_of(&lockers[i]);
		wrong += answer.err || answer.token <= token ||
			 !is_held_by(belt, KEY, owners[i]);
		token = answer.token;
		early += i + 1 < n && !still_waits(&lockers[i + 1]);
		wrong += tell(&lockers[i], 'u').err != 0;
	}
	ok(!wrong, "who waits gets it in the order in which they came");
	ok(!early, "one after the other");
	ok(is_free(belt, KEY), "the lock is free when the last waiter has unlocked");
	is_int(counter(belt, HASHBELT_STAT_LOCK_WAITS), n, "each of these is counted");
	for (i = 0; i < n; i++)
		end_locker(&lockers[i]);
	end_locks(belt, NAME);
}

/* The same when nobody unlocks: each has it for his lease. */
static void test_line_of_leases(void)
{
	int belt = named_locks(NAME);
	struct errand errand = errand_of("bob");
	struct locker lockers[4];
	struct answer answer;
	unsigned int i, wrong = 0;
	char owner[2] = "b";
	__u64 start;

	must_take(belt, KEY, "alice", 1000);
	start = info_of(belt).now_ns;
	errand.ttl_ms = 1000;
	errand.owner = owner;
	for (i = 0; i < ARRAY_SIZE(lockers); i++) {
		owner[0] = 'b' + i;
		lockers[i] = launch_asleep(errand);
	}
	for (i = 0; i < ARRAY_SIZE(lockers); i++) {
		advance(belt, 1000);
		answer = answer_of(&lockers[i]);
		owner[0] = 'b' + i;
		wrong += answer.err || answer.now_ns - start != (i + 1) * 1000000000ULL ||
			 !is_held_by(belt, KEY, owner);
	}
	ok(!wrong, "where nobody unlocks, each has it for his lease");
	advance(belt, 1000);
	ok(is_free(belt, KEY), "the lock is free when the lease of the last waiter has ended");
	for (i = 0; i < ARRAY_SIZE(lockers); i++)
		end_locker(&lockers[i]);
	end_locks(belt, NAME);
}

/* Nobody overtakes who waits, not even who has just unlocked. */
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
	ok(!overtook, "what was unlocked is the first waiter's before anybody can ask for it");
	ok(!wrong, "a newcomer waits behind the waiters that came before it");
	end_locks(belt, NAME);
}

/* Nor does one who asks all the time, and is the first to see that a lease is over. */
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
	ok(!overtook && !wrong, "what is over is the first waiter's before anybody else's");
	note("asked %u times", asked);
	end_locks(belt, NAME);
}

static void test_reentrance(void)
{
	int belt = named_locks(NAME);
	__u64 token = must_take(belt, KEY, "alice", 1000).token;
	struct locker locker = wait_as("bob");
	struct hashbelt_lock again = must_take(belt, KEY, "alice", 5000);

	ok(again.token == token && again.ttl_ms == 5000,
	   "who has the lock may take it again while others wait");
	is_errno(renew(belt, KEY, "alice", 6000), 0,
		 "the holder may renew its lock while others wait");
	ok(still_waits(&locker), "they wait on");
	is_errno(renew(belt, KEY, "bob", 6000), EACCES, "who waits has nothing to renew");
	is_errno(unlock(belt, KEY, "bob"), EACCES, "unlock by a waiter returns EACCES");
	is_int(release(belt, "bob"), 0, "release of a waiting owner releases no lock");
	ok(still_waits(&locker), "failed calls of a waiting owner leave it in the queue");
	unlock(belt, KEY, "alice");
	is_errno(answer_of(&locker).err, 0, "until it is his turn");
	end_locker(&locker);
	end_locks(belt, NAME);
}

/* One lock's line has nothing to do with another's. */
static void test_many_lines(void)
{
	static const char *const keys[] = { "a", "b", "c", "d", "e" };
	int belt = named_locks(NAME);
	struct locker lockers[ARRAY_SIZE(keys)];
	struct errand errand = errand_of("bob");
	unsigned int i, k, wrong = 0;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		must_take(belt, keys[i], "alice", 0);
		errand.key = keys[i];
		lockers[i] = launch_asleep(errand);
	}
	for (i = ARRAY_SIZE(keys); i-- > 0; ) {
		unlock(belt, keys[i], "alice");
		wrong += answer_of(&lockers[i]).err != 0;
		for (k = 0; k < i; k++)
			wrong += !still_waits(&lockers[k]);
	}
	ok(!wrong, "each lock has a line of its own");
	is_int(release(belt, "bob"), ARRAY_SIZE(keys), "all of them are bob's then");
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		end_locker(&lockers[i]);
	end_locks(belt, NAME);
}

/* Many */

/* How often a process has given up the processor. */
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
	ok(!wrong, "%u who wait get it one by one, in the order in which they came", CROWD);
	is_int(woken, 0, "an unlock wakes one of them, and the others sleep on");
	ok(is_free(belt, KEY), "in the end it is free");
	for (i = 0; i < CROWD; i++)
		end_locker(&lockers[i]);
	is_int(info_of(belt).entries, 0, "a crowd that has passed a lock around leaves no entry");
	end_locks(belt, NAME);
}

/* The end of a lease wakes one as well: where time passes by itself. */
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
	/* Those who are told that time goes on again look at the clock, once. */
	for (i = 0; i < ARRAY_SIZE(lockers); i++)
		before[i] = switches_of(lockers[i].pid);
	is_errno(answer_of(&lockers[0]).err, 0, "the end of a lease lets in the first");
	must(belt, HASHBELT_IOC_HALT, NULL);
	for (i = 1; i < ARRAY_SIZE(lockers); i++)
		woken += switches_of(lockers[i].pid) > before[i] + 2;
	is_int(woken, 0, "the end of one lease does not wake the other waiters");
	for (i = 0; i < ARRAY_SIZE(lockers); i++)
		end_locker(&lockers[i]);
	end_locks(belt, NAME);
}

/* Death */

/* Of three who wait, one is killed; the others get it in their order. */
static void test_killed_waiter(unsigned int victim)
{
	static const char *const owners[] = { "b", "c", "d" };
	int belt = named_locks(NAME);
	struct locker lockers[3];
	unsigned int i, wrong = 0;

	must_take(belt, KEY, "alice", 0);
	for (i = 0; i < 3; i++)
		lockers[i] = wait_as(owners[i]);
	end_locker(&lockers[victim]);
	unlock(belt, KEY, "alice");
	for (i = 0; i < 3; i++) {
		if (i == victim)
			continue;
		wrong += answer_of(&lockers[i]).err || !is_held_by(belt, KEY, owners[i]);
		tell(&lockers[i], 'u');
		end_locker(&lockers[i]);
	}
	ok(!wrong, "when the one in place %u is killed, the others get it in their order",
	   victim + 1);
	ok(is_free(belt, KEY) && !locks_held(belt), "place %u: and he does not", victim + 1);
	end_locks(belt, NAME);
}

/* Points at which a process is killed that takes a lock; those before are passed. */
enum point {
	BEFORE, WAITING, HOLDING, HAS_TAKEN_AGAIN, HAS_UNLOCKED, HAS_CLOSED, POINTS,
};

static const char *const point_names[POINTS] = {
	"before it takes a lock", "while it waits", "while it has the lock",
	"after it has taken it again", "after it has unlocked", "after it has closed",
};

/* Brings a process to that point; the lock was alice's and is not any more. */
static struct locker bring_to(int belt, enum point point)
{
	struct errand errand = errand_of("victim");
	struct locker locker;

	errand.how = HASHBELT_BOUND;
	if (point == BEFORE) {
		/* It has the belt open, and takes another lock. */
		errand.key = "another";
		locker = launch_holder(errand);
		unlock(belt, KEY, "alice");
		return locker;
	}
	locker = launch_asleep(errand);
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
	next = launch(errand_of("next"));
	if (point == HOLDING || point == WAITING || point == HAS_TAKEN_AGAIN)
		await_sleep(next.pid, __NR_ioctl);
	end_locker(&victim);
	if (point == WAITING)
		unlock(belt, KEY, "alice");
	is_errno(answer_of(&next).err, 0, "killed %s: the next one gets it",
		 point_names[point]);
	ok(is_held_by(belt, KEY, "next") && locks_held(belt) == 1,
	   "killed %s: and nothing else is held", point_names[point]);
	end_locker(&next);
	end_locks(belt, NAME);
}

/*
 * A waiter that is killed at any moment around that at which he gets the lock: it is
 * bound, so whichever came first, the next one has it in the end.
 */
static void test_killed_meanwhile(void)
{
	int belt = named_locks(NAME);
	struct errand errand = errand_of("victim");
	unsigned int round, stuck = 0, left = 0;
	struct locker victim, next;

	errand.how = HASHBELT_BOUND;
	for (round = 0; round < scaled(100); round++) {
		must_take(belt, KEY, "alice", 0);
		victim = launch_asleep(errand);
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
	is_int(stuck, 0, "who is killed as he gets the lock passes it on");
	is_int(left, 0, "a waiter that is killed as it gets the lock keeps nothing");
	end_locks(belt, NAME);
}

/* A signal at the same moment: he has it, or EINTR and the next one has it. */
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
	is_int(wrong, 0, "who gets a signal as he gets the lock has the one or the other");
	note("%u of %u had the lock", got, scaled(100));
	end_locks(belt, NAME);
}

/* Limits and memory */

static void test_limit(void)
{
	int belt = named_locks(NAME);
	struct locker locker, second;

	SET(belt, .fields = HASHBELT_SET_MAX_ENTRIES, .max_entries = 1);
	must_take(belt, KEY, "alice", 0);
	locker = wait_as("bob");
	is_int(info_of(belt).used_entries, 1, "who waits does not count under the limit");
	second = wait_as("carol");
	unlock(belt, KEY, "alice");
	is_errno(answer_of(&locker).err, 0, "he gets the lock, in the place of the other's");
	is_int(info_of(belt).used_entries, 1, "a lock that went to a waiter counts as one entry");
	is_errno(tell(&locker, 'u').err, 0, "he unlocks");
	is_errno(answer_of(&second).err, 0,
		 "in a full belt an unlock grants the lock to the second waiter");
	end_locker(&locker);
	end_locker(&second);
	release(belt, "carol");
	is_int(info_of(belt).used_entries + info_of(belt).used_bytes, 0,
	       "in the end nothing counts");
	end_locks(belt, NAME);
}

/* @base: what the module held before the first belt was made. */
static void test_memory(__u64 base)
{
	int belt = named_locks(NAME);
	struct errand errand = errand_of("bob");
	struct locker lockers[8];
	unsigned int i;

	must_take(belt, KEY, "alice", 0);
	errand.wait_ms = 1000;
	for (i = 0; i < ARRAY_SIZE(lockers); i++)
		lockers[i] = launch_asleep(errand);
	for (i = 0; i < 4; i++)
		end_locker(&lockers[i]);
	advance(belt, 1000);
	for (; i < ARRAY_SIZE(lockers); i++) {
		if (answer_of(&lockers[i]).err != -ETIMEDOUT)
			bail_out("a waiter has not timed out");
		end_locker(&lockers[i]);
	}
	unlock(belt, KEY, "alice");
	is_int(info_of(belt).entries, 0, "who has waited in vain leaves nothing in the belt");
	end_locks(belt, NAME);
	ok(used_at_last(base), "in the end used_bytes is what it was before");
}

int main(void)
{
	__u64 base = get_parameter("used_bytes");
	enum point point;
	unsigned int i;

	plan(TESTS);
	test_timeout();
	test_timeouts();
	test_lease_begins();
	test_free_at_once();
	test_woken();
	test_woken_by_close();
	test_next_looks();
	test_woken_by_end();
	test_not_woken();
	test_signals(0, "a signal");
	test_signals(SA_RESTART, "a signal whose handler restarts calls");
	test_line();
	test_line_of_leases();
	test_newcomer();
	test_impatient();
	test_reentrance();
	test_many_lines();
	test_crowd();
	test_crowd_of_leases();
	for (i = 0; i < 3; i++)
		test_killed_waiter(i);
	for (point = BEFORE; point < POINTS; point++)
		test_killed_at(point);
	test_killed_meanwhile();
	test_signal_meanwhile();
	test_limit();
	test_memory(base);
	return done_testing();
}
