// SPDX-License-Identifier: GPL-2.0-only
/*
 * locks - a lock manager with leases, and fencing tokens against late writes.
 *
 *	locks
 *
 * Shows a lock manager (Martin Fowler's Pessimistic Offline Lock): named locks, each
 * with an owner and a lease. A lease alone is not enough: a worker that was delayed for
 * longer than its lease still believes that it has the lock. So each grant has a fencing
 * token, larger than all before. The worker sends it with each write, and the storage
 * refuses a token that is smaller than the largest it has seen.
 *
 * Relies on: a lock has one owner at a time; its token grows with each grant, however
 * the grant before ended; a lease ends at its deadline; a lock that is bound to a
 * descriptor is unlocked when the kernel closes the descriptor of a process that died,
 * and that wakes the first waiter.
 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "example.h"

#define BELT		"example-locks"
#define LEASE_MAX_S	60
#define WAIT_S		5
#define PATIENCE_MS	20000	/* real time, not belt time */

static const char usage[] =
	"usage: locks\n"
	"Locks with leases and fencing tokens.\n";

/**
 * struct worker - an owner of locks
 * @name:	the owner's name
 * @belt:	the worker's own handle
 * @token:	token of the last grant
 */
struct worker {
	const char *name;
	struct hashbelt *belt;
	__u64 token;
};

/**
 * struct storage - the storage that the lock guards; it does not ask the lock manager
 * @token:	the largest token that it has seen
 * @text:	the stored text
 */
struct storage {
	__u64 token;
	char text[64];
};

static const char *answer(int err)
{
	switch (err) {
	case 0:
		return "yes";
	case -EBUSY:
		return "no, another has it";
	case -EACCES:
		return "no, it is another's";
	case -ENOENT:
		return "no, the lock is free";
	case -EDOM:
		return "no, the lease is too long";
	case -ETIMEDOUT:
		return "no, the wait is over";
	default:
		return strerror(-err);
	}
}

/* Asks for a lock with a lease; returns the result of hashbelt_lock(). */
static int lock(struct worker *worker, const char *name, unsigned int lease_s)
{
	struct hashbelt_lock lock = { .ttl_ms = lease_s * 1000 };
	int err = hashbelt_lock(worker->belt, name, strlen(name), worker->name,
				strlen(worker->name), &lock);

	printf("%s locks %s for %u s: %s\n", worker->name, name, lease_s, answer(err));
	if (!err)
		worker->token = lock.token;
	return err;
}

static int unlock(struct worker *worker, const char *name)
{
	int err = hashbelt_unlock(worker->belt, name, strlen(name), worker->name,
				  strlen(worker->name));

	printf("%s unlocks %s: %s\n", worker->name, name, answer(err));
	return err;
}

static void pass_time(struct worker *worker, unsigned int seconds)
{
	printf("%u s pass\n", seconds);
	must("advance", hashbelt_advance(worker->belt, seconds * 1000));
}

/* Return: true if the worker has had the lock for @held_s, and has it for @left_s more. */
static bool is_held(struct worker *worker, const char *name, unsigned int held_s,
		    unsigned int left_s)
{
	struct hashbelt_lock lock = {};
	char owner[HASHBELT_OWNER_MAX];
	size_t len = sizeof(owner);

	must("holder",
	     hashbelt_holder(worker->belt, name, strlen(name), owner, &len, &lock));
	printf("%s: with %.*s for %llu s, %llu s left\n", name, (int)len, owner,
	       lock.held_ms / 1000, lock.ttl_ms / 1000);
	return len == strlen(worker->name) && !memcmp(owner, worker->name, len) &&
	       lock.held_ms == held_s * 1000 && lock.ttl_ms == left_s * 1000;
}

static void basics(struct worker *ann, struct worker *bob)
{
	__u64 first;

	promise(!lock(ann, "report", 10), "a free lock is granted");
	promise(lock(bob, "report", 10) == -EBUSY,
		"a lock is refused while another owner has it");
	promise(unlock(bob, "report") == -EACCES,
		"unlock of another owner's lock returns EACCES");
	pass_time(ann, 5);
	promise(is_held(ann, "report", 5, 5),
		"holder returns the owner, the time held and the time left");
	first = ann->token;
	promise(!lock(ann, "report", 20) && ann->token == first,
		"lock by the owner succeeds, with the same token");
	promise(is_held(ann, "report", 5, 20), "lock by the owner makes the lease longer");
	promise(!unlock(ann, "report"), "the owner can unlock");
	promise(unlock(ann, "report") == -ENOENT, "unlock of a free lock returns ENOENT");
	promise(lock(ann, "report", LEASE_MAX_S + 1) == -EDOM,
		"a lease longer than the belt's time-to-live is refused");
	promise(!lock(bob, "report", 10) && bob->token > first,
		"a token grows with each grant");
	promise(!unlock(bob, "report"), "the owner can unlock");
}

/* Stores the text unless the storage has seen a larger token. */
static bool write_text(struct storage *storage, struct worker *worker, const char *text)
{
	bool good = worker->token >= storage->token;

	if (good) {
		storage->token = worker->token;
		snprintf(storage->text, sizeof(storage->text), "%s", text);
	}
	printf("%s writes '%s': %s\n", worker->name, text,
	       good ? "stored" : "refused, the token is old");
	return good;
}

/* Ann is delayed for longer than the lease of the lock, and then writes. */
static void fencing(struct worker *ann, struct worker *bob)
{
	struct storage storage = {};

	promise(!lock(ann, "file", 10), "a free lock is granted");
	promise(write_text(&storage, ann, "from Ann"), "the owner can write");
	promise(lock(bob, "file", 10) == -EBUSY,
		"a lock is refused while another owner has it");
	pass_time(ann, 10);
	promise(!lock(bob, "file", 10), "a lease ends at its deadline");
	promise(bob->token > ann->token, "a token grows with each grant");
	promise(write_text(&storage, bob, "from Bob"), "the new owner can write");
	promise(!write_text(&storage, ann, "late, from Ann"),
		"a write with an old token is refused");
	promise(!strcmp(storage.text, "from Bob"), "a refused write changes nothing");
	promise(unlock(ann, "file") == -EACCES, "a former owner cannot unlock");
	promise(!unlock(bob, "file"), "the owner can unlock");
	printf("stored: %s\n", storage.text);
}

static unsigned int count_locks(struct worker *worker)
{
	const struct hashbelt_lock_record *record;
	struct hashbelt_lister *lister;
	unsigned int count = 0;
	int more;

	must("list", hashbelt_locks_begin(worker->belt, worker->name, strlen(worker->name),
					  &lister));
	while ((more = hashbelt_locks_next(lister, &record)) > 0) {
		promise(record->owner_len == strlen(worker->name) &&
			!memcmp(hashbelt_lock_owner(record), worker->name,
				record->owner_len),
			"a list by owner has only that owner's locks");
		count++;
	}
	must("list", more);
	hashbelt_locks_end(lister);
	printf("%s has %u\n", worker->name, count);
	return count;
}

static void release_all(struct worker *ann, struct worker *bob)
{
	__u64 count;

	promise(!lock(ann, "a", 10) && !lock(ann, "b", 10) && !lock(ann, "c", 10) &&
		!lock(bob, "d", 10), "an owner can have several locks");
	promise(count_locks(ann) == 3 && count_locks(bob) == 1,
		"a list by owner has all of that owner's locks");
	must("release", hashbelt_release(ann->belt, ann->name, strlen(ann->name), &count));
	printf("release all of %s: %llu\n", ann->name, count);
	promise(count == 3 && !count_locks(ann) && count_locks(bob) == 1,
		"release unlocks all locks of one owner and no other");
	promise(!lock(bob, "a", 10), "a released lock can be locked by another owner");
	must("release", hashbelt_release(bob->belt, bob->name, strlen(bob->name), &count));
}

/*
 * Starts a process that locks @what for @name and writes the result to @said. Without a
 * wait, it then keeps the lock until it is killed.
 */
static pid_t start_worker(const char *name, const char *what, struct hashbelt_lock lock,
			  int *said)
{
	int pipes[2], err;
	pid_t child;

	if (pipe(pipes))
		die("pipe", -errno);
	fflush(stdout);
	child = fork();
	if (child) {
		close(pipes[1]);
		*said = pipes[0];
		return child;
	}
	close(pipes[0]);
	err = hashbelt_lock(open_belt(BELT), what, strlen(what), name, strlen(name),
			    &lock);
	if (write(pipes[1], &err, sizeof(err)) == sizeof(err) && !err && !lock.wait_ms)
		pause();
	_exit(0);
}

/* Return: the result that a worker wrote. The timeout ends a wait that the kernel forgot. */
static int hear(int said)
{
	struct pollfd pollfd = { .fd = said, .events = POLLIN };
	int err;

	if (poll(&pollfd, 1, PATIENCE_MS) != 1)
		err = -ETIME;
	else if (read(said, &err, sizeof(err)) != sizeof(err))
		err = -EPIPE;
	close(said);
	return err;
}

/* The process that has a lock is killed while another process waits for the lock. */
static void death(struct worker *ann, struct worker *bob)
{
	struct hashbelt_lock bound = { .how = HASHBELT_BOUND };
	struct hashbelt_lock wait = { .wait_ms = HASHBELT_TTL_NEVER };
	__u64 began = info_of(ann->belt).now_ns;
	int said, heard, err;
	pid_t holder, waiter;

	holder = start_worker("Eve", "printer", bound, &said);
	err = hear(said);
	printf("Eve locks printer, in another process: %s\n", answer(err));
	promise(!err && lock(bob, "printer", 10) == -EBUSY,
		"a lock is refused while another owner has it");
	waiter = start_worker("Bob", "printer", wait, &heard);
	printf("Bob waits for it, and Eve is killed\n");
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	err = hear(heard);
	kill(waiter, SIGKILL);
	waitpid(waiter, NULL, 0);
	printf("Bob has it: %s, after %llu s\n", answer(err),
	       (info_of(ann->belt).now_ns - began) / 1000000000);
	promise(!err && is_held(bob, "printer", 0, LEASE_MAX_S) &&
		info_of(ann->belt).now_ns == began,
		"a bound lock goes to the first waiter when its process is killed");
}

/* Ann waits for a lock that Bob keeps. Time is moved on until the wait times out. */
static void patience(struct worker *ann, struct worker *bob)
{
	struct hashbelt_lock wait = { .wait_ms = WAIT_S * 1000 };
	__u64 began = info_of(ann->belt).now_ns;
	int said, err;
	pid_t waiter;

	waiter = start_worker("Ann", "printer", wait, &said);
	while (!waitpid(waiter, NULL, WNOHANG)) {
		must("renew", hashbelt_renew(bob->belt, "printer", 7, bob->name,
					     strlen(bob->name), 0, NULL));
		must("advance", hashbelt_advance(bob->belt, 1000));
		sched_yield();
	}
	err = hear(said);
	printf("Ann waits %u s for printer, which Bob renews: %s\n", WAIT_S, answer(err));
	promise(err == -ETIMEDOUT, "a wait returns ETIMEDOUT when wait_ms is over");
	promise(info_of(ann->belt).now_ns - began >= WAIT_S * 1000000000ULL,
		"a wait does not time out before wait_ms is over");
	promise(!unlock(bob, "printer"), "a lease that is renewed does not end");
}

int main(int argc, char **argv)
{
	struct worker ann = { .name = "Ann" }, bob = { .name = "Bob" };

	arguments(argc, argv, 0, usage);
	ann.belt = new_belt(BELT, (struct hashbelt_settings){
		.ttl_ms = LEASE_MAX_S * 1000,
		.buckets = LEASE_MAX_S + 1,
		.policy = HASHBELT_PINNED,
	});
	bob.belt = open_belt(BELT);
	printf("--- lock, unlock and holder\n");
	basics(&ann, &bob);
	printf("--- fencing\n");
	fencing(&ann, &bob);
	printf("--- all of one owner\n");
	release_all(&ann, &bob);
	printf("--- a killed owner, and a wait that times out\n");
	death(&ann, &bob);
	patience(&ann, &bob);
	printf("locks left %llu\n", info_of(ann.belt).locks);
	promise(!info_of(ann.belt).locks, "no lock is left behind");
	must("destroy", hashbelt_destroy(ann.belt, BELT));
	return verdict();
}
