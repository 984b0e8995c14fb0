// SPDX-License-Identifier: GPL-2.0-only
/*
 * lock_test - a lock has one owner at a time, for the time of the lease.
 *
 * Taking, renewing and unlocking; refused calls and their errors; names and owners of any
 * bytes; fencing tokens; lists; and locks beside entries, events, limits and settings.
 * Waiting is in lockwait_test, bound locks in bound_test.
 */
#define _GNU_SOURCE
#include "lock.h"

#define MANY	10000

/* Taking */

static void test_grant(void)
{
	int belt = lock_belt();
	struct hashbelt_lock lock = must_take(belt, "door", "alice", 700);
	struct holder holder;

	ok(lock.token && lock.ttl_ms == 700 && !lock.held_ms,
	   "a granted lock has a token and the lease that was asked for");
	is_int(locks_held(belt), 1, "a granted lock counts as one lock of the belt");
	advance(belt, 300);
	holder = holder_of(belt, "door");
	ok(!holder.err && !strcmp(holder.owner, "alice") && holder.token == lock.token,
	   "the holder call returns the owner and the token of a lock");
	ok(holder.held_ms == 300 && holder.ttl_ms == 400,
	   "the holder call returns how long a lock is held and how much lease is left");
	holder = holder_of(belt, "door");
	is_int(holder.ttl_ms, 400, "a holder call does not shorten the lease");
	is_errno(take(belt, "door", "bob", 0), EBUSY,
		 "a lock request for another owner's lock returns EBUSY");
	holder = holder_of(belt, "door");
	ok(!strcmp(holder.owner, "alice") && holder.ttl_ms == 400,
	   "a refused lock request leaves the holder and the lease as they were");
	lock = must_take(belt, "gate", "bob", 0);
	is_int(lock.ttl_ms, TTL,
	       "a lock request with a lease of 0 is granted the belt's time-to-live");
	is_errno(unlock(belt, "door", "alice"), 0, "unlock by the holder succeeds");
	ok(is_free(belt, "door") && locks_held(belt) == 1,
	   "an unlocked lock is free, and another lock of the belt is still held");
	is_errno(take(belt, "door", "bob", 0), 0, "an unlocked lock is granted to another owner");
	is_int(counter(belt, HASHBELT_STAT_LOCKS), 3,
	       "the counter of locks counts each of three grants");
	close(belt);
}

static void test_reentrance(void)
{
	int belt = lock_belt();
	struct hashbelt_lock first = must_take(belt, "door", "alice", 1000), again, lock;

	advance(belt, 400);
	again = must_take(belt, "door", "alice", 2000);
	is_int(again.token, first.token, "an owner that takes its lock again gets the same token");
	is_int(again.ttl_ms, 2000, "an owner that takes its lock again gets the longer lease");
	is_int(again.held_ms, 400,
	       "an owner that takes its lock again has held it since the first grant");
	again = must_take(belt, "door", "alice", 100);
	ok(again.ttl_ms == 2000 && again.token == first.token,
	   "an owner that takes its lock again for a shorter time keeps its lease and token");
	is_int(holder_of(belt, "door").ttl_ms, 2000,
	       "the holder call shows the longer lease after a request for a shorter one");
	is_int(locks_held(belt), 1,
	       "a lock that its owner takes again counts as one lock of the belt");
	is_int(counter(belt, HASHBELT_STAT_LOCKS), 1,
	       "a lock that its owner takes again counts as one grant");
	advance(belt, 1999);
	is_errno(take(belt, "door", "bob", 0), EBUSY,
		 "another owner gets EBUSY 1 ms before the longest lease of the holder ends");
	advance(belt, 1);
	is_errno(take(belt, "door", "bob", 0), 0,
		 "a lock is free for another owner when the longest lease has ended");
	must_take(belt, "gate", "alice", 0);
	must_take(belt, "gate", "alice", 0);
	is_errno(unlock(belt, "gate", "alice"), 0,
		 "unlock of a lock that was taken twice succeeds");
	ok(is_free(belt, "gate"), "one unlock frees a lock that was taken twice");
	lock = lock_of("gate", "alice");
	lock.how = HASHBELT_IF_ABSENT;
	is_errno(call(belt, HASHBELT_IOC_LOCK, &lock), 0,
		 "a lock request with HASHBELT_IF_ABSENT is granted a free lock");
	lock = lock_of("gate", "alice");
	lock.how = HASHBELT_IF_ABSENT;
	lock.ttl_ms = TTL;
	lock.wait_ms = HASHBELT_TTL_NEVER;
	advance(belt, 1);
	is_errno(call(belt, HASHBELT_IOC_LOCK, &lock), EALREADY,
		 "HASHBELT_IF_ABSENT returns EALREADY for the owner's own lock, without a wait");
	is_int(holder_of(belt, "gate").ttl_ms, TTL - 1,
	       "a lock request that fails with EALREADY leaves the owner's lock as it was");
	close(belt);
}

static void test_renew(void)
{
	int belt = lock_belt();
	struct hashbelt_lock first = must_take(belt, "door", "alice", 1000);
	struct hashbelt_lock lock = lock_of("door", "alice");

	advance(belt, 600);
	lock.ttl_ms = 3000;
	is_errno(call(belt, HASHBELT_IOC_RENEW, &lock), 0, "the holder renews its lease");
	ok(lock.ttl_ms == 3000 && lock.token == first.token && lock.held_ms == 600,
	   "a renewal returns the new lease, the token and how long the lock was held");
	is_int(holder_of(belt, "door").ttl_ms, 3000,
	       "the holder call returns the longer lease after a renewal");
	is_errno(renew(belt, "door", "alice", 200), 0,
		 "the holder renews its lease for a shorter time");
	is_int(holder_of(belt, "door").ttl_ms, 200,
	       "the holder call returns the shorter lease after a renewal");
	is_errno(renew(belt, "door", "alice", 0), 0, "a renewal for 0 ms is accepted");
	is_int(holder_of(belt, "door").ttl_ms, TTL,
	       "a renewal for 0 ms gives the lock the belt's time-to-live");
	SET(belt, .fields = HASHBELT_SET_TTL, .ttl_ms = 2000);
	is_errno(renew(belt, "door", "alice", HASHBELT_AT_LEAST | 1500), 0,
		 "a renewal for at least some time is accepted");
	is_int(holder_of(belt, "door").ttl_ms, TTL,
	       "a renewal for at least some time does not shorten a lease");
	is_errno(renew(belt, "door", "alice", HASHBELT_AT_LEAST), EDOM,
		 "a renewal for at least 0 ms returns EDOM");
	renew(belt, "door", "alice", 200);
	renew(belt, "door", "alice", HASHBELT_AT_LEAST | 300);
	is_int(holder_of(belt, "door").ttl_ms, 300,
	       "a renewal for at least some time lengthens a shorter lease");
	renew(belt, "door", "alice", HASHBELT_AT_LEAST | 9000);
	is_int(holder_of(belt, "door").ttl_ms, 2000,
	       "a renewal for at least some time lengthens a lease to the belt's time-to-live at most");
	renew(belt, "door", "alice", 200);
	advance(belt, 199);
	is_errno(take(belt, "door", "bob", 0), EBUSY,
		 "a renewed lock is refused to others until 1 ms before its shorter lease ends");
	advance(belt, 1);
	ok(is_free(belt, "door"), "a lock is free when the lease ends that a renewal made shorter");
	is_errno(renew(belt, "door", "alice", 0), ENOENT,
		 "renew of a lock whose lease has ended returns ENOENT");
	is_int(counter(belt, HASHBELT_STAT_LOCKS), 1, "a renewal does not count as a grant");
	close(belt);
}

/* A lease ends at its deadline, whether or not the belt has drained the lock. */
static void test_expiry(void)
{
	int belt = lock_belt();
	struct hashbelt_lock first = must_take(belt, "door", "alice", 100), next;
	struct holder holder;

	must_take(belt, "gate", "alice", 100);
	advance(belt, 99);
	holder = holder_of(belt, "door");
	ok(!holder.err && holder.ttl_ms == 1, "a lock is held until 1 ms before its lease ends");
	advance(belt, 1);
	ok(is_free(belt, "door"), "a lock is free when its lease ends");
	is_errno(unlock(belt, "door", "alice"), ENOENT,
		 "unlock of a lock whose lease has ended returns ENOENT");
	is_errno(renew(belt, "door", "alice", 0), ENOENT,
		 "renew by the former holder returns ENOENT when the lease has ended");
	is_int(release(belt, "alice"), 0,
	       "release of an owner does not count a lock whose lease has ended");
	next = must_take(belt, "door", "bob", 0);
	ok(next.token > first.token,
	   "the next owner of a lock whose lease has ended gets a larger token");
	is_errno(unlock(belt, "door", "alice"), EACCES,
		 "unlock by the former holder returns EACCES when another has the lock");
	advance(belt, 2 * TTL);
	is_int(locks_held(belt), 0, "a belt holds no lock when all leases have ended");
	next = must_take(belt, "door", "alice", 100);
	must(belt, HASHBELT_IOC_ROTATE, NULL);
	ok(is_free(belt, "door"), "a rotation of the belt ends leases");
	close(belt);
}

/* Leases under running belt time */
static bool is_gate_free(void *belt)
{
	return is_free(*(int *)belt, "gate") && !locks_held(*(int *)belt);
}

static void test_time(void)
{
	struct hashbelt_settings settings = {
		.ttl_ms = 50, .mode = 0600, .policy = HASHBELT_PINNED,
	};
	int belt = belt_of(settings);

	must_take(belt, "gate", "alice", 1);
	must(belt, HASHBELT_IOC_RESUME, NULL);
	ok(at_last(is_gate_free, &belt), "a lease ends while belt time runs by itself");
	close(belt);
}

/* Refusals */

static void test_refused(void)
{
	int belt = lock_belt();

	is_errno(unlock(belt, "door", "alice"), ENOENT,
		 "unlock of a lock that has no holder returns ENOENT");
	is_errno(renew(belt, "door", "alice", 0), ENOENT,
		 "renew of a lock that has no holder returns ENOENT");
	is_errno(holder_of(belt, "door").err, ENOENT,
		 "holder of a lock that has no holder returns ENOENT");
	is_int(release(belt, "alice"), 0, "release of an owner without locks releases none");
	must_take(belt, "door", "alice", 0);
	is_errno(unlock(belt, "door", "bob"), EACCES,
		 "unlock of another owner's lock returns EACCES");
	is_errno(renew(belt, "door", "bob", 0), EACCES,
		 "renew of another owner's lock returns EACCES");
	is_int(release(belt, "bob"), 0,
	       "release of an owner does not release another owner's lock");
	ok(is_held_by(belt, "door", "alice"),
	   "an owner keeps its lock when another fails to unlock, renew and release it");
	is_errno(take(belt, "gate", "bob", TTL), 0,
		 "a lease as long as the belt's time-to-live is granted");
	is_errno(take(belt, "hall", "bob", TTL + 1), EDOM,
		 "a lease longer than the belt's time-to-live is refused with EDOM");
	is_errno(take(belt, "hall", "bob", HASHBELT_TTL_NEVER), EDOM,
		 "a lease of HASHBELT_TTL_NEVER is refused with EDOM");
	is_errno(take(belt, "hall", "bob", HASHBELT_TTL_KEEP), EDOM,
		 "a lease of HASHBELT_TTL_KEEP is refused with EDOM");
	is_errno(renew(belt, "gate", "bob", TTL + 1), EDOM,
		 "a renewal longer than the belt's time-to-live is refused with EDOM");
	is_errno(take(belt, "gate", "bob", TTL + 1), EDOM,
		 "the holder's request for a lease longer than the time-to-live returns EDOM");
	is_int(holder_of(belt, "gate").ttl_ms, TTL, "a refused renewal leaves the lease as it was");
	ok(is_free(belt, "hall") && locks_held(belt) == 2, "a refused lock request grants no lock");
	close(belt);
}

static int take_lengths(int belt, __u32 key_len, __u32 owner_len)
{
	static char bytes[2 * HASHBELT_KEY_MAX];
	struct hashbelt_lock lock = {
		.key = address(bytes), .key_len = key_len,
		.owner = address(bytes), .owner_len = owner_len,
	};

	return call(belt, HASHBELT_IOC_LOCK, &lock);
}

static void test_lengths(void)
{
	int belt = lock_belt(), err;

	is_errno(take_lengths(belt, 1, 1), 0,
		 "a lock with a name and an owner of one byte is granted");
	is_errno(take_lengths(belt, HASHBELT_KEY_MAX, HASHBELT_OWNER_MAX), 0,
		 "a lock with a name of %u bytes and an owner of %u is granted",
		 HASHBELT_KEY_MAX, HASHBELT_OWNER_MAX);
	is_errno(take_lengths(belt, HASHBELT_KEY_MAX + 1, 1), E2BIG,
		 "a name one byte longer than HASHBELT_KEY_MAX returns E2BIG");
	is_errno(take_lengths(belt, 2, HASHBELT_OWNER_MAX + 1), E2BIG,
		 "an owner one byte longer than HASHBELT_OWNER_MAX returns E2BIG");
	is_errno(take_lengths(belt, ~0u, 1), E2BIG, "a name of 2^32 - 1 bytes returns E2BIG");
	is_errno(take_lengths(belt, 2, ~0u), E2BIG, "an owner of 2^32 - 1 bytes returns E2BIG");
	err = take_lengths(belt, 0, 1);
	ok(err == -EINVAL || err == -E2BIG, "a lock request without a name is refused");
	err = take_lengths(belt, 2, 0);
	ok(err == -EINVAL || err == -E2BIG, "a lock request without an owner is refused");
	is_int(locks_held(belt), 2, "lock requests with invalid lengths grant no lock");
	close(belt);
}

static void test_longest_lease(void)
{
	int belt = belt_of((struct hashbelt_settings){
		.ttl_ms = HASHBELT_TTL_MAX_MS, .policy = HASHBELT_PINNED,
	});

	is_errno(take(belt, "gate", "A", HASHBELT_TTL_MAX_MS), 0, "a lease of 2^42 ms is granted");
	is_int(holder_of(belt, "gate").ttl_ms, HASHBELT_TTL_MAX_MS,
	       "a lease of 2^42 ms has that time left");
	close(belt);
}

/* A belt that may lose entries grants no locks. */
static void test_policies(void)
{
	static const struct {
		__u32 policy;
		int err;
	} cases[] = {
		{ 0, EOPNOTSUPP },
		{ HASHBELT_REFRESH_ON_GET, EOPNOTSUPP },
		{ HASHBELT_EVICT, EOPNOTSUPP },
		{ HASHBELT_EVICT | HASHBELT_PINNED, EOPNOTSUPP },
		{ HASHBELT_PINNED, 0 },
		{ HASHBELT_PINNED | HASHBELT_WIPE, 0 },
		{ HASHBELT_PINNED | HASHBELT_REFRESH_ON_GET | HASHBELT_KEEP_ON_PUT, 0 },
	};
	unsigned int i;
	int belt;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		belt = new_belt(cases[i].policy);
		is_errno(take(belt, "door", "alice", 0), cases[i].err,
			 "policy %#x: a lock is granted only if PINNED is set and EVICT is not",
			 cases[i].policy);
		is_int(locks_held(belt), !cases[i].err,
		       "policy %#x: the belt holds one lock if one was granted, else none",
		       cases[i].policy);
		close(belt);
	}
	belt = new_belt(HASHBELT_PINNED | HASHBELT_REFRESH_ON_GET);
	must_take(belt, "door", "alice", 1000);
	advance(belt, 500);
	holder_of(belt, "door");
	is_int(holder_of(belt, "door").ttl_ms, 500,
	       "a holder call does not refresh the lease under HASHBELT_REFRESH_ON_GET");
	close(belt);
}

/* Names and owners */

static int take_bytes(int belt, const void *key, __u32 key_len, const void *owner,
		      __u32 owner_len)
{
	struct hashbelt_lock lock = {
		.key = address(key), .key_len = key_len,
		.owner = address(owner), .owner_len = owner_len,
	};

	return call(belt, HASHBELT_IOC_LOCK, &lock);
}

static void test_bytes(void)
{
	int belt = lock_belt();

	must_take(belt, "a", "x", 0);
	is_errno(take_bytes(belt, "a\0", 2, "y", 1), 0,
		 "a name with a NUL appended names another lock");
	is_errno(take_bytes(belt, "ab", 2, "y", 1), 0,
		 "a name with a letter appended names another lock");
	is_errno(take_bytes(belt, "a", 1, "x\0", 2), EBUSY,
		 "an owner with a NUL appended is another owner");
	is_errno(take_bytes(belt, "a", 1, "xx", 2), EBUSY,
		 "an owner with a letter appended is another owner");
	is_errno(take_bytes(belt, "a", 1, "X", 1), EBUSY,
		 "an owner in capitals is another owner");
	is_errno(take_bytes(belt, "abc", 3, "d", 1), 0,
		 "a name of three bytes and its prefix of two name different locks");
	is_errno(take_bytes(belt, "ab", 2, "cd", 2), EBUSY,
		 "owner \"cd\" of \"ab\" is not taken for owner \"d\" of \"abc\"");
	is_errno(take_bytes(belt, "abcd", 4, "d", 1), 0,
		 "a name that ends with the bytes of another lock's owner names another lock");
	is_int(locks_held(belt), 5, "a belt holds each of five locks with similar names");
	is_int(release(belt, "y"), 2,
	       "release of an owner releases its two locks with similar names");
	is_int(release(belt, "x"), 1, "release of an owner releases its one lock");
	is_int(release(belt, "xx"), 0,
	       "release of an owner without locks releases none of an owner with a similar name");
	close(belt);
}

static void test_holder(void)
{
	int belt = lock_belt();
	char owner[HASHBELT_OWNER_MAX], buffer[HASHBELT_OWNER_MAX + 1];
	struct hashbelt_lock lock;
	unsigned int i;

	for (i = 0; i < sizeof(owner); i++)
		owner[i] = i * 37;
	if (take_bytes(belt, "door", 4, owner, sizeof(owner)))
		bail_out("no lock");
	lock = lock_of("door", "");
	memset(buffer, 'x', sizeof(buffer));
	lock.owner = address(buffer);
	lock.owner_len = sizeof(owner) - 1;
	is_errno(call(belt, HASHBELT_IOC_HOLDER, &lock), ERANGE,
		 "a holder call whose buffer is too small for the owner returns ERANGE");
	is_int(lock.owner_len, sizeof(owner),
	       "a holder call whose buffer is too small returns the size that it needs");
	for (i = 0; i < sizeof(buffer) && buffer[i] == 'x'; i++)
		;
	is_int(i, sizeof(buffer), "a holder call whose buffer is too small writes nothing to it");
	is_errno(call(belt, HASHBELT_IOC_HOLDER, &lock), 0,
		 "a holder call with a buffer of the owner's size succeeds");
	ok(!memcmp(buffer, owner, sizeof(owner)) && buffer[sizeof(owner)] == 'x',
	   "a holder call writes all bytes of the owner and none after them");
	lock = lock_of("door", "");
	lock.owner = address(before_hole(sizeof(owner)));
	lock.owner_len = PAGE;
	is_errno(call(belt, HASHBELT_IOC_HOLDER, &lock), 0,
		 "a holder call writes no byte of a larger buffer after the owner");
	is_int(lock.owner_len, sizeof(owner),
	       "a holder call whose buffer is too large returns the owner's length");
	lock = lock_of("door", "");
	lock.owner = address(unmapped());
	lock.owner_len = sizeof(owner);
	is_errno(call(belt, HASHBELT_IOC_HOLDER, &lock), EFAULT,
		 "a holder call with an unmapped buffer returns EFAULT");
	close(belt);
}

/* Entries of the same key */

static unsigned int scan_count(int belt)
{
	static unsigned char buffer[65536];
	struct hashbelt_scan scan = {};
	unsigned int count = 0;

	do {
		scan.buffer = address(buffer);
		scan.size = sizeof(buffer);
		must(belt, HASHBELT_IOC_SCAN, &scan);
		count += scan.count;
	} while (scan.cursor);
	return count;
}

static int add_one(int belt, const char *key)
{
	struct hashbelt_sum sum = { .by = 1 };
	struct hashbelt_item item = item_of(key);

	item.value = address(&sum);
	item.value_len = sizeof(sum);
	return call(belt, HASHBELT_IOC_ADD, &item);
}

static void test_lock_unseen(void)
{
	int belt = lock_belt();
	struct hashbelt_item item = item_of("key");
	struct hashbelt_batch batch = { .items = address(&item), .count = 1 };
	struct holder before, after;

	must_take(belt, "key", "alice", 700);
	before = holder_of(belt, "key");
	is_errno(on_key(belt, HASHBELT_IOC_GET, "key"), ENOENT, "get does not find a lock");
	is_errno(on_key(belt, HASHBELT_IOC_TOUCH, "key"), ENOENT, "touch does not find a lock");
	is_errno(on_key(belt, HASHBELT_IOC_EXPIRE, "key"), ENOENT, "expire does not find a lock");
	is_errno(on_key(belt, HASHBELT_IOC_REMOVE, "key"), ENOENT, "remove does not find a lock");
	item.op = HASHBELT_OP_REMOVE;
	must(belt, HASHBELT_IOC_BATCH, &batch);
	is_errno(item.result, ENOENT, "a batch does not find a lock");
	is_int(scan_count(belt), 0, "scan does not find a lock");
	is_errno(add_one(belt, "key"), 0, "add to the key of a lock succeeds");
	ok(holds_text(belt, "key", "1"),
	   "add to the key of a lock begins at 0, not at the owner");
	put_text(belt, "key", "value", 0);
	ok(holds_text(belt, "key", "value"), "put on the key of a lock stores an entry");
	is_int(scan_count(belt), 1, "scan finds the entry under the key of a lock, and no lock");
	on_key(belt, HASHBELT_IOC_EXPIRE, "key");
	put_text(belt, "key", "value", 0);
	on_key(belt, HASHBELT_IOC_REMOVE, "key");
	after = holder_of(belt, "key");
	ok(!memcmp(&before, &after, sizeof(before)),
	   "entry calls on the key of a lock leave the lock as it was");
	is_int(locks_held(belt), 1, "a lock is held after entry calls on its key");
	close(belt);
}

static void test_entry_unseen(void)
{
	int belt = lock_belt();
	struct snapshot before, after;

	put_text(belt, "key", "value", 800);
	ok(is_free(belt, "key"), "holder of an entry's key returns ENOENT");
	is_errno(unlock(belt, "key", "value"), ENOENT, "unlock of an entry's key returns ENOENT");
	is_errno(renew(belt, "key", "value", 0), ENOENT, "renew of an entry's key returns ENOENT");
	is_int(release(belt, "value"), 0,
	       "release of an owner does not remove an entry whose value is the owner's name");
	before = look(belt, "key");
	is_errno(take(belt, "key", "alice", 0), 0, "a lock is granted on the key of an entry");
	renew(belt, "key", "alice", 1);
	unlock(belt, "key", "alice");
	take(belt, "key", "bob", 0);
	release(belt, "bob");
	take(belt, "key", "carol", 1);
	advance(belt, 1);
	after = look(belt, "key");
	before.ttl_ms -= 1;
	before.entries = after.entries;
	ok(is_same_snapshot(&before, &after),
	   "lock calls on an entry's key leave the entry as it was");
	close(belt);
}

/* Tokens */

static void test_tokens(void)
{
	struct lock_call lock_call = {
		.belt = "tokens", .key = "door", .owner = "mallory", .how = HASHBELT_BOUND,
	};
	int belt = named_locks("tokens");
	__u64 last = must_take(belt, "door", "alice", 100).token, token;
	struct locker locker;

	unlock(belt, "door", "alice");
	token = must_take(belt, "door", "alice", 100).token;
	ok(token > last, "a lock gets a larger token after an unlock");
	last = token;
	advance(belt, 100);
	token = must_take(belt, "door", "alice", 100).token;
	ok(token > last, "a lock gets a larger token after the end of its lease");
	last = token;
	advance(belt, 3 * TTL);
	token = must_take(belt, "door", "alice", 100).token;
	ok(token > last, "a lock gets a larger token after the belt has dropped all trace of it");
	last = token;
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	token = must_take(belt, "door", "bob", 100).token;
	ok(token > last, "a lock gets a larger token after a clear of the belt");
	last = token;
	release(belt, "bob");
	token = must_take(belt, "door", "bob", 100).token;
	ok(token > last, "a lock gets a larger token after a release of its owner");
	last = token;
	unlock(belt, "door", "bob");
	locker = launch_holder(lock_call);
	token = holder_of(belt, "door").token;
	ok(token > last, "a lock gets a larger token when another process takes it");
	last = token;
	end_locker(&locker);
	token = must_take(belt, "door", "bob", 100).token;
	ok(token > last, "a lock gets a larger token after the kill of the process that held it");
	last = token;
	SET(belt, .fields = HASHBELT_SET_BUCKETS | HASHBELT_SET_TTL, .buckets = 9,
	    .ttl_ms = 2 * TTL);
	unlock(belt, "door", "bob");
	token = must_take(belt, "door", "bob", 100).token;
	ok(token > last, "a lock gets a larger token after a change of the belt's settings");
	end_locks(belt, "tokens");
}

/* Tokens of many locks, with unlock, release, clear and the end of leases in turn */
static void test_many_tokens(void)
{
	static __u64 last[64];
	int belt = lock_belt();
	unsigned int round, i, wrong = 0;
	struct hashbelt_lock lock;
	char key[16];

	for (round = 0; round < 200; round++) {
		for (i = 0; i < ARRAY_SIZE(last); i++) {
			snprintf(key, sizeof(key), "%u", i);
			lock = must_take(belt, key, "alice", 1 + (round * 7 + i) % 50);
			wrong += lock.token <= last[i];
			last[i] = lock.token;
			if ((round + i) % 3 == 0)
				unlock(belt, key, "alice");
		}
		if (round % 5 == 0)
			must(belt, HASHBELT_IOC_CLEAR, NULL);
		else if (round % 5 == 1)
			release(belt, "alice");
		else
			advance(belt, 50);
	}
	ok(!wrong, "tokens of a lock grow with each grant, in 12,800 grants of 64 locks");
	close(belt);
}

/* Lists */

/**
 * struct listing - the result of listing all locks, in one call or more
 * @calls:	number of calls
 * @largest:	size of the largest buffer that a call asked for
 * @count:	records
 * @strange:	invalid records
 * @unordered:	records whose token is not larger than that of the record before
 * @seen:	how often each lock was listed, for names that are numbers
 */
struct listing {
	unsigned int calls;
	__u32 largest;
	unsigned int count;
	unsigned int strange;
	unsigned int unordered;
	unsigned char seen[MANY];
};

static unsigned char list_buffer[MIB];

static void read_piece(struct listing *listing, const struct hashbelt_locks *locks,
		       __u64 *token)
{
	const unsigned char *p = list_buffer;
	const struct hashbelt_lock_record *record;
	unsigned int i, number;
	char name[32] = "";
	size_t end, len;

	for (i = 0; i < locks->count; i++) {
		record = (const void *)p;
		len = record->key_len + record->owner_len;
		p += record->size;
		if (p > list_buffer + locks->size || record->key_len >= sizeof(name) ||
		    record->size != ((sizeof(*record) + len + 7) & ~7UL) ||
		    !record->ttl_ms) {
			listing->strange++;
			return;
		}
		for (end = sizeof(*record) + len; end < record->size; end++)
			listing->strange += ((const unsigned char *)record)[end] != 0;
		memcpy(name, record + 1, record->key_len);
		name[record->key_len] = 0;
		number = strtoul(name, NULL, 10);
		if (number < MANY)
			listing->seen[number]++;
		listing->unordered += record->token <= *token;
		*token = record->token;
		listing->count++;
	}
}

/* Reads the next records into @size bytes, or as many as the call asks for. */
static void next_piece(int belt, const char *owner, __u32 size,
		       struct hashbelt_locks *locks)
{
	struct hashbelt_locks want = {
		.cursor = locks->cursor, .owner = address(owner),
		.owner_len = strlen(owner), .buffer = address(list_buffer), .size = size,
	};
	int err;

	*locks = want;
	err = call(belt, HASHBELT_IOC_LOCKS, locks);
	if (err == -ERANGE && locks->size > size && locks->cursor == want.cursor) {
		want.size = locks->size;
		*locks = want;
		err = call(belt, HASHBELT_IOC_LOCKS, locks);
	}
	if (err)
		bail_out("list: %s", error_name(err));
}

/*
 * Lists the locks of @owner ("": all owners), with buffers of @size bytes or as many as
 * needed.
 */
static const struct listing *list(int belt, const char *owner, __u32 size)
{
	static struct listing listing;
	struct hashbelt_locks locks = {};
	__u64 token = 0;

	listing = (struct listing){};
	do {
		next_piece(belt, owner, size, &locks);
		if (locks.size > listing.largest)
			listing.largest = locks.size;
		listing.calls++;
		read_piece(&listing, &locks, &token);
	} while (locks.cursor && listing.calls < 1000000);
	return &listing;
}

/* Takes @n locks named by the numbers from @from. */
static void take_numbers(int belt, unsigned int from, unsigned int n, const char *owner)
{
	char key[16];
	unsigned int i;

	for (i = from; i < from + n; i++) {
		snprintf(key, sizeof(key), "%u", i);
		must_take(belt, key, owner, 0);
	}
}

/* True if exactly the @n numbers from @from were listed, once each. */
static bool has_listed(const struct listing *listing, unsigned int from, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < MANY; i++)
		if (listing->seen[i] != (i >= from && i < from + n))
			return false;
	return listing->count == n && !listing->strange;
}

static void test_record(void)
{
	int belt = lock_belt();
	struct hashbelt_locks locks = { .buffer = address(list_buffer), .size = PAGE };
	const struct hashbelt_lock_record *record = (const void *)list_buffer;
	struct hashbelt_lock lock = must_bind(belt, "door", "alice", 900);

	advance(belt, 200);
	must(belt, HASHBELT_IOC_LOCKS, &locks);
	ok(locks.count == 1 && !locks.cursor, "list returns the one lock that is held");
	ok(record->key_len == 4 && record->owner_len == 5 &&
	   !memcmp(record + 1, "dooralice", 9), "list returns the name and the owner of a lock");
	ok(record->ttl_ms == 700 && record->held_ms == 200 && record->token == lock.token,
	   "list returns the lease left, the time held and the token of a lock");
	is_int(record->how, HASHBELT_BOUND,
	       "list returns HASHBELT_BOUND for a bound lock");
	must_take(belt, "gate", "bob", 0);
	locks = (struct hashbelt_locks){
		.buffer = address(list_buffer), .size = PAGE, .owner = address("bob"),
		.owner_len = 3,
	};
	must(belt, HASHBELT_IOC_LOCKS, &locks);
	ok(locks.count == 1 && !memcmp(record + 1, "gatebob", 7) && !record->how,
	   "list of one owner returns its lock alone, which is not bound");
	advance(belt, 700);
	ok(list(belt, "", PAGE)->count == 1 && !list(belt, "alice", PAGE)->count,
	   "list returns no lock whose lease has ended");
	close(belt);
}

static void test_lists(void)
{
	int belt = lock_belt();
	const struct listing *listing;

	ok(!list(belt, "", 0)->count && !list(belt, "alice", 0)->count,
	   "list of a belt without locks is empty and needs no buffer");
	take_numbers(belt, 0, 300, "alice");
	take_numbers(belt, 300, 500, "bob");
	ok(has_listed(list(belt, "", MIB), 0, 800),
	   "list of all owners returns each of 800 locks once");
	listing = list(belt, "", 0);
	ok(has_listed(listing, 0, 800),
	   "list in the smallest pieces returns each of 800 locks once");
	ok(listing->largest > 0, "list with too small a buffer returns the size that it needs");
	listing = list(belt, "bob", MIB);
	ok(has_listed(listing, 300, 500) && !listing->unordered,
	   "list of one owner returns its locks in the order of their tokens");
	listing = list(belt, "bob", 0);
	ok(has_listed(listing, 300, 500) && !listing->unordered,
	   "list of one owner, one by one, returns its locks in the order of their tokens");
	is_int(listing->largest, sizeof(struct hashbelt_lock_record) + 8,
	       "list of one owner needs room for one record");
	ok(!list(belt, "carol", MIB)->count, "list of an owner without locks is empty");
	ok(!list(belt, "bo", MIB)->count,
	   "list of an owner has no locks of an owner with a longer name");
	must_take(belt, "first", "bob", 0);
	listing = list(belt, "bob", MIB);
	ok(listing->count == 501 && !listing->unordered,
	   "list of one owner returns its newest lock last");
	close(belt);
}

/* Locks that are held during all calls of a list appear in it once. */
static void test_list_meanwhile(const char *owner)
{
	int belt = lock_belt();
	struct hashbelt_locks locks = {};
	struct listing *listing = calloc(1, sizeof(*listing));
	unsigned int other = 5000, i, wrong = 0;
	__u64 token = 0;

	take_numbers(belt, 0, 200, "alice");
	do {
		next_piece(belt, owner, 200, &locks);
		read_piece(listing, &locks, &token);
		take_numbers(belt, other, 20, "bob");
		other += 20;
		if (other % 400 == 0)
			release(belt, "bob");
	} while (locks.cursor && other < MANY - 20);
	for (i = 0; i < 200; i++)
		wrong += listing->seen[i] != 1;
	ok(!wrong && !listing->strange && !locks.cursor,
	   "list %s: each lock held all the time is listed once while locks come and go",
	   owner[0] ? "of one owner" : "of all owners");
	free(listing);
	close(belt);
}

/* Release */

static void test_release(void)
{
	int belt = lock_belt();
	const struct listing *listing;

	take_numbers(belt, 0, 6000, "others");
	take_numbers(belt, 6000, 3, "alice");
	take_numbers(belt, 6003, MANY - 6003, "many");
	is_int(locks_held(belt), MANY, "a belt holds %u locks", MANY);
	listing = list(belt, "alice", 3 * (sizeof(struct hashbelt_lock_record) + 16));
	ok(has_listed(listing, 6000, 3) && listing->calls <= 2,
	   "list of three locks of one owner takes at most two calls among 10,000 locks");
	is_int(release(belt, "alice"), 3, "release of an owner counts its three locks");
	is_int(locks_held(belt), MANY - 3,
	       "a release lowers the belt's number of locks");
	is_int(release(belt, "alice"), 0, "a second release of the same owner finds no lock");
	ok(has_listed(list(belt, "others", MIB), 0, 6000),
	   "release of one owner leaves the locks of another as they were");
	is_int(release(belt, "many"), MANY - 6003,
	       "release of an owner with thousands of locks counts each of them");
	is_int(locks_held(belt), 6000,
	       "release of thousands of locks keeps the 6000 of another owner");
	is_errno(take(belt, "6001", "bob", 0), 0, "a released lock is granted to another owner");
	is_errno(take(belt, "17", "bob", 0), EBUSY,
		 "a lock of an owner that was not released is refused to others");
	close(belt);
}

static void test_release_mixed(void)
{
	int belt = lock_belt();

	must_take(belt, "short", "alice", 100);
	must_take(belt, "long", "alice", 1000);
	must_bind(belt, "bound", "alice", 1000);
	advance(belt, 100);
	is_int(release(belt, "alice"), 2,
	       "release counts locks that are held, bound or not, and none that has expired");
	ok(is_free(belt, "short") && is_free(belt, "long") && is_free(belt, "bound"),
	   "release frees bound locks and locks that are not bound");
	close(belt);
}

/* Descriptors */

static void test_descriptors(void)
{
	int belt = named_locks("shared"), other = open_named("shared");

	must_take(other, "door", "alice", 0);
	is_errno(take(belt, "door", "alice", 0), 0,
		 "an owner takes its lock again through another descriptor");
	is_errno(unlock(belt, "door", "alice"), 0,
		 "an owner unlocks its lock through another descriptor than the lock's");
	must_take(other, "door", "alice", 0);
	close(other);
	ok(is_held_by(belt, "door", "alice"),
	   "a lock that is not bound outlives the descriptor that took it");
	other = open_named("shared");
	is_errno(unlock(other, "door", "alice"), 0,
		 "an owner unlocks its lock after the close of the descriptor that took it");
	must_take(belt, "door", "alice", 0);
	if (destroy_belt(belt, "shared"))
		bail_out("destroy");
	is_errno(take(other, "door", "alice", 0), EIDRM,
		 "lock in a destroyed belt returns EIDRM");
	is_errno(unlock(other, "door", "alice"), EIDRM, "unlock in a destroyed belt returns EIDRM");
	is_errno(renew(other, "door", "alice", 0), EIDRM,
		 "renew in a destroyed belt returns EIDRM");
	is_errno(holder_of(other, "door").err, EIDRM, "holder in a destroyed belt returns EIDRM");
	is_errno(release(other, "alice"), EIDRM, "release in a destroyed belt returns EIDRM");
	close(belt);
	close(other);
}

static int holder_errno(int fd)
{
	return holder_of(fd, "door").err;
}

static int list_errno(int fd)
{
	struct hashbelt_locks locks = { .buffer = address(list_buffer), .size = PAGE };

	return call(fd, HASHBELT_IOC_LOCKS, &locks);
}

static void test_rights(void)
{
	int belt = named_locks("rights"), reader, writer;

	must_take(belt, "door", "alice", 0);
	reader = open_device(O_RDONLY);
	writer = open_device(O_WRONLY);
	if (open_belt(reader, "rights") || open_belt(writer, "rights"))
		bail_out("open");
	is_errno(holder_errno(reader), 0,
		 "a read-only descriptor may ask for the holder of a lock");
	is_errno(list_errno(reader), 0, "a read-only descriptor may list locks");
	is_errno(take(reader, "gate", "bob", 0), EPERM,
		 "lock through a read-only descriptor returns EPERM");
	is_errno(take(reader, "door", "alice", 0), EPERM,
		 "lock by the holder through a read-only descriptor returns EPERM");
	is_errno(unlock(reader, "door", "alice"), EPERM,
		 "unlock through a read-only descriptor returns EPERM");
	is_errno(renew(reader, "door", "alice", 0), EPERM,
		 "renew through a read-only descriptor returns EPERM");
	is_errno(release(reader, "alice"), EPERM,
		 "release through a read-only descriptor returns EPERM");
	is_errno(holder_errno(writer), EPERM,
		 "holder through a write-only descriptor returns EPERM");
	is_errno(list_errno(writer), EPERM,
		 "list through a write-only descriptor returns EPERM");
	is_errno(take(writer, "gate", "bob", 0), 0,
		 "a write-only descriptor may take a lock");
	is_errno(renew(writer, "gate", "bob", 1), 0, "a write-only descriptor may renew a lock");
	is_errno(unlock(writer, "gate", "bob"), 0, "a write-only descriptor may unlock a lock");
	is_int(release(writer, "alice"), 1,
	       "a write-only descriptor may release an owner's locks");
	close(reader);
	close(writer);
	end_locks(belt, "rights");
}

/* Limits */

static void test_limits(void)
{
	struct hashbelt_settings settings = {
		.policy = HASHBELT_PINNED, .max_entries = 3, .mode = 0600,
	};
	int belt = belt_of(settings);

	put_text(belt, "entry", "value", 0);
	must_take(belt, "a", "alice", 0);
	must_take(belt, "b", "alice", 500);
	is_int(info_of(belt).used_entries, 3, "locks count as entries in used_entries");
	is_errno(take(belt, "c", "alice", 0), ENOSPC,
		 "lock returns ENOSPC where locks have used up max_entries");
	is_errno(on_key(belt, HASHBELT_IOC_PUT, "more"), ENOSPC,
		 "put returns ENOSPC where locks have used up max_entries");
	is_errno(take(belt, "a", "bob", 0), EBUSY,
		 "a held lock is refused with EBUSY, not ENOSPC, in a full belt");
	is_errno(take(belt, "a", "alice", 0), 0, "the holder takes its lock again in a full belt");
	is_errno(renew(belt, "a", "alice", 0), 0,
		 "the holder renews its lease in a full belt");
	is_errno(unlock(belt, "a", "alice"), 0, "the holder unlocks its lock in a full belt");
	is_errno(take(belt, "c", "alice", 0), 0,
		 "an unlock makes room for another lock under max_entries");
	on_key(belt, HASHBELT_IOC_REMOVE, "entry");
	is_errno(take(belt, "d", "alice", 0), 0,
		 "removal of an entry makes room for a lock under max_entries");
	advance(belt, 500);
	is_errno(take(belt, "e", "alice", 0), 0,
		 "the end of a lease makes room for another lock under max_entries");
	is_int(release(belt, "alice"), 3, "release in a full belt counts the owner's three locks");
	is_int(info_of(belt).used_entries, 0, "used_entries is 0 after a release of all locks");
	ok(!info_of(belt).used_bytes && !locks_held(belt),
	   "used_bytes and the number of locks are 0 after a release of all locks");
	close(belt);
}

static void test_max_bytes(void)
{
	struct hashbelt_settings settings = {
		.policy = HASHBELT_PINNED, .max_bytes = 64 * 1024, .mode = 0600,
	};
	int belt = belt_of(settings), err = 0;
	unsigned int count = 0;
	char key[16];

	while (!err && count < 10000) {
		snprintf(key, sizeof(key), "%u", count);
		err = take(belt, key, "alice", 0);
		count += !err;
	}
	is_errno(err, ENOSPC, "lock returns ENOSPC where locks have used up max_bytes");
	ok(info_of(belt).used_bytes <= settings.max_bytes && count > 100,
	   "locks use no more bytes than max_bytes (%u locks)", count);
	is_int(release(belt, "alice"), count,
	       "release in a belt that is full by bytes counts each lock");
	is_int(info_of(belt).used_bytes, 0,
	       "used_bytes is 0 after a release of all locks under max_bytes");
	close(belt);
}

/* Memory */

static void test_memory(void)
{
	__u64 before = get_parameter("used_bytes");
	int belt = lock_belt();
	unsigned int i;

	for (i = 0; i < 4; i++) {
		take_numbers(belt, 0, 2000, "alice");
		if (i == 0)
			release(belt, "alice");
		else if (i == 1)
			advance(belt, 2 * TTL);
		else if (i == 2)
			must(belt, HASHBELT_IOC_CLEAR, NULL);
	}
	ok(info_of(belt).bytes > 2000 * 64, "2000 locks count in the belt's bytes");
	for (i = 0; i < 2000; i++)
		take(belt, "0", "bob", 0);
	release(belt, "alice");
	close(belt);
	ok(used_at_last(before),
	   "the memory of 2000 locks comes back after release, expiry, clear and close");
}

/* Events */

static bool is_event(struct stream *stream, const char *key, const char *owner,
		     enum hashbelt_reason reason, __u64 token)
{
	const struct hashbelt_event *event = next_event(stream);

	if (!event) {
		note("no event: %s", error_name(stream->err));
		return false;
	}
	if (event->kind == HASHBELT_LOCK && event->reason == reason &&
	    event->token == token && has_key(event, key) &&
	    event->value_len == strlen(owner) &&
	    !memcmp(event_value(event), owner, event->value_len))
		return true;
	note("kind %u, reason %u, token %llu, expected %u, %u, %llu", event->kind,
	     event->reason, event->token, HASHBELT_LOCK, reason, token);
	return false;
}

static int reporting_locks(__u32 handler, __u32 reasons)
{
	struct hashbelt_settings settings = {
		.policy = HASHBELT_PINNED, .handler = handler, .reasons = reasons,
		.mode = 0600,
	};
	int belt = belt_of(settings);

	set_blocking(belt, false);
	return belt;
}

static void test_events(void)
{
	int belt = reporting_locks(HASHBELT_NOTIFY, REPORT_ALL);
	struct stream stream = stream_of(belt, HASHBELT_EVENT_MAX);
	const struct hashbelt_event *event;
	struct hashbelt_lock lock, first;

	lock = must_take(belt, "door", "alice", 100);
	must_take(belt, "door", "alice", 200);
	renew(belt, "door", "alice", 100);
	ok(!next_event(&stream) && stream.err == -EAGAIN,
	   "taking a lock, taking it again and renewing it report no event");
	unlock(belt, "door", "alice");
	ok(is_event(&stream, "door", "alice", HASHBELT_REMOVED, lock.token),
	   "an unlock reports the lock with its owner and token");
	lock = must_take(belt, "door", "alice", 100);
	advance(belt, 2 * TTL);
	ok(is_event(&stream, "door", "alice", HASHBELT_EXPIRED, lock.token),
	   "the end of a lease reports the lock with its owner and token");
	lock = must_take(belt, "door", "bob", 100);
	release(belt, "bob");
	ok(is_event(&stream, "door", "bob", HASHBELT_REMOVED, lock.token),
	   "a release reports the lock with its owner and token");
	lock = must_take(belt, "door", "bob", 100);
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	/* The worker reports the lock when it sweeps. */
	ok(readable_at_last(belt) &&
	   is_event(&stream, "door", "bob", HASHBELT_CLEARED, lock.token),
	   "a clear reports the lock with its owner and token");
	lock = must_take(belt, "key", "bob", 0);
	put_text(belt, "key", "value", 0);
	on_key(belt, HASHBELT_IOC_REMOVE, "key");
	event = next_event(&stream);
	ok(event && event->kind == HASHBELT_ENTRY && event->reason == HASHBELT_REMOVED,
	   "removal of an entry on the key of a lock reports the entry");
	first = must_take(belt, "gate", "bob", 100);
	advance(belt, 100);
	lock = must_take(belt, "gate", "carol", 100);
	unlock(belt, "gate", "carol");
	ok(is_event(&stream, "gate", "bob", HASHBELT_EXPIRED, first.token) &&
	   is_event(&stream, "gate", "carol", HASHBELT_REMOVED, lock.token),
	   "events of one lock come in the order of its holders");
	must_take(belt, "gate", "bob", 100);
	SET(belt, .fields = HASHBELT_SET_REASONS,
	    .reasons = HASHBELT_REPORT(HASHBELT_EXPIRED));
	unlock(belt, "gate", "bob");
	ok(!next_event(&stream) && stream.err == -EAGAIN,
	   "a lock is reported only for the reasons that the belt reports");
	free(stream.buffer);
	close(belt);
}

/* A belt that reinserts its entries does not reinsert locks. */
static void test_reinserting(void)
{
	int belt = reporting_locks(HASHBELT_REINSERT, 0);

	must_take(belt, "door", "alice", 100);
	advance(belt, 3 * TTL);
	ok(is_free(belt, "door") && !locks_held(belt),
	   "a lease ends in a belt that reinserts its entries");
	close(belt);
}

static void test_grace(void)
{
	struct hashbelt_settings settings = {
		.policy = HASHBELT_PINNED, .grace_ms = 5000, .mode = 0600,
	};
	int belt = belt_of(settings);

	must_take(belt, "door", "alice", 100);
	advance(belt, 100);
	ok(is_free(belt, "door"), "a lock has no grace time: it is free at the end of its lease");
	is_errno(take(belt, "door", "bob", 0), 0,
		 "a lock whose lease has ended in a belt with a grace time is granted");
	ok(is_held_by(belt, "door", "bob"),
	   "the next owner holds a lock in a belt with a grace time");
	close(belt);
}

/* Settings */

static void test_settings(void)
{
	int belt = lock_belt();
	struct hashbelt_lock lock;
	struct holder holder;

	take_numbers(belt, 0, 500, "alice");
	lock = must_take(belt, "door", "bob", 9000);
	SET(belt, .fields = HASHBELT_SET_BUCKETS, .buckets = 257);
	is_int(locks_held(belt), 501,
	       "a belt keeps its locks when the number of buckets is changed");
	SET(belt, .fields = HASHBELT_SET_TTL, .ttl_ms = 1000);
	holder = holder_of(belt, "door");
	ok(locks_held(belt) == 501 && holder.ttl_ms == 9000 && holder.token == lock.token,
	   "a belt's new time-to-live changes no lease that was granted");
	is_errno(take(belt, "gate", "bob", 1001), EDOM,
		 "lock for longer than the belt's new time-to-live returns EDOM");
	is_errno(renew(belt, "door", "bob", 1001), EDOM,
		 "renew for longer than the belt's new time-to-live returns EDOM");
	is_errno(take(belt, "door", "bob", 1000), 0,
		 "the holder of a longer lease takes its lock again under a new time-to-live");
	is_int(holder_of(belt, "door").ttl_ms, 9000,
	       "the holder keeps its longer lease when it takes its lock again");
	SET(belt, .fields = HASHBELT_SET_HANDLER | HASHBELT_SET_MAX_ENTRIES,
	    .handler = HASHBELT_NOTIFY, .max_entries = 10);
	ok(has_listed(list(belt, "alice", MIB), 0, 500),
	   "a belt keeps its locks when its handler and max_entries are changed");
	advance(belt, 9000);
	ok(is_free(belt, "door"), "a lease ends on time after changes of the belt's settings");
	close(belt);
}

int main(void)
{
	test_grant();
	test_reentrance();
	test_renew();
	test_expiry();
	test_time();
	test_refused();
	test_lengths();
	test_longest_lease();
	test_policies();
	test_bytes();
	test_holder();
	test_lock_unseen();
	test_entry_unseen();
	test_tokens();
	test_many_tokens();
	test_record();
	test_lists();
	test_list_meanwhile("");
	test_list_meanwhile("alice");
	test_release();
	test_release_mixed();
	test_descriptors();
	test_rights();
	test_limits();
	test_max_bytes();
	test_memory();
	test_events();
	test_reinserting();
	test_grace();
	test_settings();
	return done_testing();
}
