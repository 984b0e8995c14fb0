// SPDX-License-Identifier: GPL-2.0
/*
 * locks - a lock manager whose leases age out, with tokens that keep the late away.
 *
 *	locks
 *
 * Shows a lock manager (Martin Fowler's Pessimistic Offline Lock): named locks, each for
 * an owner, with a lease. And what a lease alone cannot do: a worker that was held up
 * longer than its lease still believes that it has the lock. So each grant has a
 * fencing token, larger than all before; the worker shows it with each write, and the
 * storage refuses a token that is smaller than one which it has seen.
 *
 * Relies on: a lock is with one owner at a time; its token grows with each grant,
 * whatever became of the one before; a lease ends at its deadline; a lock that is bound
 * to a descriptor is unlocked when the kernel closes that for a process that died;
 * who waits for a lock is woken by that.
 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "example.h"

#define BELT		"example-locks"
#define LEASE_MAX_S	60
#define WAIT_S		5
#define PATIENCE_MS	20000	/* by the machine's clock */

static const char usage[] =
	"usage: locks\n"
	"Locks with leases and fencing tokens.\n";

/**
 * struct worker - an owner of locks
 * @name:	the owner
 * @fd:		a descriptor of one's own
 * @token:	of the last grant
 */
struct worker {
	const char *name;
	int fd;
	__u64 token;
};

/**
 * struct storage - what the lock guards; it knows nothing of locks
 * @token:	the largest that it has seen
 * @text:	what is stored
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
		return "no, nobody has it";
	case -EDOM:
		return "no, the lease is too long";
	case -ETIMEDOUT:
		return "no, the wait is over";
	default:
		return strerror(-err);
	}
}

/* Asks for a lock with a lease; returns what came of it. */
static int lock(struct worker *worker, const char *name, unsigned int lease_s)
{
	struct hashbelt_lock lock = { .ttl_ms = lease_s * 1000 };
	int err = hashbelt_lock(worker->fd, name, strlen(name), worker->name,
				strlen(worker->name), &lock);

	printf("%s locks %s for %u s: %s\n", worker->name, name, lease_s, answer(err));
	if (!err)
		worker->token = lock.token;
	return err;
}

static int unlock(struct worker *worker, const char *name)
{
	int err = hashbelt_unlock(worker->fd, name, strlen(name), worker->name,
				  strlen(worker->name));

	printf("%s unlocks %s: %s\n", worker->name, name, answer(err));
	return err;
}

static void pass_time(struct worker *worker, unsigned int seconds)
{
	printf("%u s pass\n", seconds);
	must("advance", hashbelt_advance(worker->fd, seconds * 1000));
}

/* Whether a lock is with this owner, so long, and for so long still. */
static bool is_held(struct worker *worker, const char *name, unsigned int held_s,
		    unsigned int left_s)
{
	struct hashbelt_lock lock = {};
	char owner[HASHBELT_OWNER_MAX];
	size_t len = sizeof(owner);

	must("holder",
	     hashbelt_holder(worker->fd, name, strlen(name), owner, &len, &lock));
	printf("%s: with %.*s for %llu s, %llu s left\n", name, (int)len, owner,
	       lock.held_ms / 1000, lock.ttl_ms / 1000);
	return len == strlen(worker->name) && !memcmp(owner, worker->name, len) &&
	       lock.held_ms == held_s * 1000 && lock.ttl_ms == left_s * 1000;
}

static void words(struct worker *ann, struct worker *bob)
{
	__u64 first;

	promise(!lock(ann, "report", 10), "a free lock is granted");
	promise(lock(bob, "report", 10) == -EBUSY,
		"a lock is refused while another has it");
	promise(unlock(bob, "report") == -EACCES, "only the holder unlocks");
	pass_time(ann, 5);
	promise(is_held(ann, "report", 5, 5), "one can ask who has a lock, and how long");
	first = ann->token;
	promise(!lock(ann, "report", 20) && ann->token == first,
		"a lock is granted again to who has it, with the same token");
	promise(is_held(ann, "report", 5, 20), "and the lease is longer then");
	promise(!unlock(ann, "report"), "the holder unlocks");
	promise(unlock(ann, "report") == -ENOENT, "what is not held is not unlocked");
	promise(lock(ann, "report", LEASE_MAX_S + 1) == -EDOM, "a lease can be too long");
	promise(!lock(bob, "report", 10) && bob->token > first,
		"a token grows with each grant");
	promise(!unlock(bob, "report"), "the holder unlocks");
}

/* Writes if the token is not older than one that was seen. */
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

/* Ann is held up for longer than her lease, and goes on as if nothing had been. */
static void fencing(struct worker *ann, struct worker *bob)
{
	struct storage storage = {};

	promise(!lock(ann, "file", 10), "a free lock is granted");
	promise(write_text(&storage, ann, "from Ann"), "the holder can write");
	promise(lock(bob, "file", 10) == -EBUSY,
		"a lock is refused while another has it");
	pass_time(ann, 10);
	promise(!lock(bob, "file", 10), "a lease ends at its deadline");
	promise(bob->token > ann->token, "a token grows with each grant");
	promise(write_text(&storage, bob, "from Bob"), "the new holder can write");
	promise(!write_text(&storage, ann, "late, from Ann"), "a late write is refused");
	promise(!strcmp(storage.text, "from Bob"), "a late write leaves no trace");
	promise(unlock(ann, "file") == -EACCES,
		"who was late cannot unlock for the new holder");
	promise(!unlock(bob, "file"), "the holder unlocks");
	printf("stored: %s\n", storage.text);
}

/* Returns how many locks an owner has. */
static unsigned int count_locks(struct worker *worker)
{
	const struct hashbelt_lock_record *record;
	struct hashbelt_lister lister;
	unsigned int count = 0;
	int more;

	must("list", hashbelt_locks_begin(&lister, worker->fd, worker->name,
					  strlen(worker->name)));
	while ((more = hashbelt_locks_next(&lister, &record)) > 0) {
		promise(record->owner_len == strlen(worker->name) &&
			!memcmp(hashbelt_lock_owner(record), worker->name,
				record->owner_len),
			"a list by owner has that owner's locks");
		count++;
	}
	must("list", more);
	hashbelt_locks_end(&lister);
	printf("%s has %u\n", worker->name, count);
	return count;
}

static void release_all(struct worker *ann, struct worker *bob)
{
	__u64 count;

	promise(!lock(ann, "a", 10) && !lock(ann, "b", 10) && !lock(ann, "c", 10) &&
		!lock(bob, "d", 10), "an owner can have many locks");
	promise(count_locks(ann) == 3 && count_locks(bob) == 1,
		"locks are listed by owner");
	must("release", hashbelt_release(ann->fd, ann->name, strlen(ann->name), &count));
	printf("release all of %s: %llu\n", ann->name, count);
	promise(count == 3 && !count_locks(ann) && count_locks(bob) == 1,
		"all locks of one owner are released, and nobody else's");
	promise(!lock(bob, "a", 10), "what was released is free");
	must("release", hashbelt_release(bob->fd, bob->name, strlen(bob->name), &count));
}

/* A worker in a process of its own, which says whether it has got the lock. */
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

/* Waits for what a worker says; not for ever, should it be forgotten by the kernel. */
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

/* A process that has a lock is killed; another waits for it. */
static void death(struct worker *ann, struct worker *bob)
{
	struct hashbelt_lock bound = { .how = HASHBELT_BOUND };
	struct hashbelt_lock wait = { .wait_ms = HASHBELT_TTL_NEVER };
	__u64 began = info_of(ann->fd).now_ns;
	int said, heard, err;
	pid_t holder, waiter;

	holder = start_worker("Eve", "printer", bound, &said);
	err = hear(said);
	printf("Eve locks printer, in a process of her own: %s\n", answer(err));
	promise(!err && lock(bob, "printer", 10) == -EBUSY,
		"a lock is refused while another has it");
	waiter = start_worker("Bob", "printer", wait, &heard);
	printf("Bob waits for it, and Eve is killed\n");
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	err = hear(heard);
	kill(waiter, SIGKILL);
	waitpid(waiter, NULL, 0);
	printf("Bob has it: %s, after %llu s\n", answer(err),
	       (info_of(ann->fd).now_ns - began) / 1000000000);
	promise(!err && is_held(bob, "printer", 0, LEASE_MAX_S) &&
		info_of(ann->fd).now_ns == began,
		"the lock of a process that dies goes to who waits for it, at once");
}

/* Ann waits for a lock that Bob keeps. Time is moved on until she has had enough. */
static void patience(struct worker *ann, struct worker *bob)
{
	struct hashbelt_lock wait = { .wait_ms = WAIT_S * 1000 };
	__u64 began = info_of(ann->fd).now_ns;
	int said, err;
	pid_t waiter;

	waiter = start_worker("Ann", "printer", wait, &said);
	while (!waitpid(waiter, NULL, WNOHANG)) {
		must("renew", hashbelt_renew(bob->fd, "printer", 7, bob->name,
					     strlen(bob->name), 0, NULL));
		must("advance", hashbelt_advance(bob->fd, 1000));
		sched_yield();
	}
	err = hear(said);
	printf("Ann waits %u s for printer, which Bob renews: %s\n", WAIT_S, answer(err));
	promise(err == -ETIMEDOUT, "who waits gives up after the time that was said");
	promise(info_of(ann->fd).now_ns - began >= WAIT_S * 1000000000ULL,
		"and not before");
	promise(!unlock(bob, "printer"), "a lease that is renewed does not end");
}

int main(int argc, char **argv)
{
	struct worker ann = { .name = "Ann" }, bob = { .name = "Bob" };

	arguments(argc, argv, 0, usage);
	ann.fd = new_belt(BELT, (struct hashbelt_settings){
		.ttl_ms = LEASE_MAX_S * 1000,
		.buckets = LEASE_MAX_S + 1,
		.policy = HASHBELT_PINNED,
	});
	bob.fd = open_belt(BELT);
	printf("--- the words\n");
	words(&ann, &bob);
	printf("--- fencing\n");
	fencing(&ann, &bob);
	printf("--- all of one owner\n");
	release_all(&ann, &bob);
	printf("--- death and patience\n");
	death(&ann, &bob);
	patience(&ann, &bob);
	printf("locks left %llu\n", info_of(ann.fd).locks);
	promise(!info_of(ann.fd).locks, "no lock is left behind");
	must("destroy", hashbelt_destroy(ann.fd, BELT));
	return verdict();
}
