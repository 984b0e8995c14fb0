// SPDX-License-Identifier: GPL-2.0
/*
 * lock_test - who has a lock has it alone, for as long as he was given it.
 *
 * Taking, extending and giving back; what is refused, and how; names and owners of
 * any bytes; fencing tokens; lists; and what else there is in a belt that knows
 * nothing of locks. Waiting is in lockwait_test, descriptors in bound_test.
 */
#define _GNU_SOURCE
#include "lock.h"

#define TESTS	227

#define MANY	10000

/* Taking */

static void test_grant(void)
{
	int belt = lock_belt();
	struct hashbelt_lock lock = must_take(belt, "door", "alice", 700);
	struct holder holder;

	ok(lock.token && lock.ttl_ms == 700 && !lock.held_ms,
	   "a free lock is granted: with a token, for the lease that was asked for");
	is_int(locks_held(belt), 1, "a granted lock counts as one lock of the belt");
	advance(belt, 300);
	holder = holder_of(belt, "door");
	ok(!holder.err && !strcmp(holder.owner, "alice") && holder.token == lock.token,
	   "anybody can see who has it, and his token");
	ok(holder.held_ms == 300 && holder.ttl_ms == 400, "since when, and how long still");
	holder = holder_of(belt, "door");
	is_int(holder.ttl_ms, 400, "a look at the holder does not shorten the lease");
	is_errno(take(belt, "door", "bob", 0), EBUSY, "another is refused");
	holder = holder_of(belt, "door");
	ok(!strcmp(holder.owner, "alice") && holder.ttl_ms == 400,
	   "a refused lock request leaves the holder and the lease as they were");
	lock = must_take(belt, "gate", "bob", 0);
	is_int(lock.ttl_ms, TTL, "a lease of 0 is the belt's time-to-live");
	is_errno(unlock(belt, "door", "alice"), 0, "the holder gives it back");
	ok(is_free(belt, "door") && locks_held(belt) == 1,
	   "an unlocked lock is free, and another lock of the belt is still held");
	is_errno(take(belt, "door", "bob", 0), 0, "for another");
	is_int(counter(belt, HASHBELT_STAT_LOCKS), 3, "three grants are counted");
	close(belt);
}

static void test_reentrance(void)
{
	int belt = lock_belt();
	struct hashbelt_lock first = must_take(belt, "door", "alice", 1000), again, lock;

	advance(belt, 400);
	again = must_take(belt, "door", "alice", 2000);
	is_int(again.token, first.token, "who has a lock may take it again: the same token");
	is_int(again.ttl_ms, 2000, "an owner that takes its lock again gets the longer lease");
	is_int(again.held_ms, 400,
	       "an owner that takes its lock again has held it since the first grant");
	again = must_take(belt, "door", "alice", 100);
	ok(again.ttl_ms == 2000 && again.token == first.token,
	   "a shorter lease does not shorten what he has");
	is_int(holder_of(belt, "door").ttl_ms, 2000, "as others see it, too");
	is_int(locks_held(belt), 1, "it is one lock still");
	is_int(counter(belt, HASHBELT_STAT_LOCKS), 1,
	       "a lock that its owner takes again counts as one grant");
	advance(belt, 1999);
	is_errno(take(belt, "door", "bob", 0), EBUSY, "it lasts to the end of that lease");
	advance(belt, 1);
	is_errno(take(belt, "door", "bob", 0), 0,
		 "a lock is free for another owner when the longest lease has ended");
	must_take(belt, "gate", "alice", 0);
	must_take(belt, "gate", "alice", 0);
	is_errno(unlock(belt, "gate", "alice"), 0, "however often it was taken");
	ok(is_free(belt, "gate"), "one unlock frees it");
	lock = lock_of("gate", "alice");
	lock.how = HASHBELT_IF_ABSENT;
	is_errno(call(belt, HASHBELT_IOC_LOCK, &lock), 0, "who wants one of his own");
	lock = lock_of("gate", "alice");
	lock.how = HASHBELT_IF_ABSENT;
	lock.ttl_ms = TTL;
	lock.wait_ms = HASHBELT_TTL_NEVER;
	advance(belt, 1);
	is_errno(call(belt, HASHBELT_IOC_LOCK, &lock), EALREADY,
		 "has it once: he does not wait for himself");
	is_int(holder_of(belt, "gate").ttl_ms, TTL - 1,
	       "a lock request that fails with EALREADY leaves the owner's other lock as it was");
	close(belt);
}

static void test_renew(void)
{
	int belt = lock_belt();
	struct hashbelt_lock first = must_take(belt, "door", "alice", 1000);
	struct hashbelt_lock lock = lock_of("door", "alice");

	advance(belt, 600);
	lock.ttl_ms = 3000;
	is_errno(call(belt, HASHBELT_IOC_RENEW, &lock), 0, "the holder renews his lease");
	ok(lock.ttl_ms == 3000 && lock.token == first.token && lock.held_ms == 600,
	   "a renewal returns the new lease, the token and how long the lock was held");
	is_int(holder_of(belt, "door").ttl_ms, 3000, "longer, from now on");
	is_errno(renew(belt, "door", "alice", 200), 0, "a renewal may shorten the lease");
	is_int(holder_of(belt, "door").ttl_ms, 200, "from now on, as well");
	is_errno(renew(belt, "door", "alice", 0), 0, "a renewal for 0 ms is accepted");
	is_int(holder_of(belt, "door").ttl_ms, TTL,
	       "a renewal for 0 ms gives the lock the belt's time-to-live");
	renew(belt, "door", "alice", 200);
	advance(belt, 199);
	is_errno(take(belt, "door", "bob", 0), EBUSY, "a lease made shorter");
	advance(belt, 1);
	ok(is_free(belt, "door"), "ends when it says");
	is_errno(renew(belt, "door", "alice", 0), ENOENT,
		 "renew of a lock whose lease has ended returns ENOENT");
	is_int(counter(belt, HASHBELT_STAT_LOCKS), 1, "a renewal is no grant");
	close(belt);
}

/* The lease ends at its deadline, whenever the belt drains. */
static void test_expiry(void)
{
	int belt = lock_belt();
	struct hashbelt_lock first = must_take(belt, "door", "alice", 100), next;
	struct holder holder;

	must_take(belt, "gate", "alice", 100);
	advance(belt, 99);
	holder = holder_of(belt, "door");
	ok(!holder.err && holder.ttl_ms == 1, "to the last moment it is held");
	advance(belt, 1);
	ok(is_free(belt, "door"), "at the end of its lease it is free");
	is_errno(unlock(belt, "door", "alice"), ENOENT, "who had it has not");
	is_errno(renew(belt, "door", "alice", 0), ENOENT, "in no way");
	is_int(release(belt, "alice"), 0, "not one");
	next = must_take(belt, "door", "bob", 0);
	ok(next.token > first.token, "another gets it, with a larger token");
	is_errno(unlock(belt, "door", "alice"), EACCES,
		 "unlock by the former holder returns EACCES when another has the lock");
	advance(belt, 2 * TTL);
	is_int(locks_held(belt), 0, "in the end nothing is held");
	next = must_take(belt, "door", "alice", 100);
	must(belt, HASHBELT_IOC_ROTATE, NULL);
	ok(is_free(belt, "door"), "a rotation moves time for locks, too");
	close(belt);
}

/* Time itself, without a hand. */
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
	ok(at_last(is_gate_free, &belt), "a lease ends by time itself");
	close(belt);
}

/* Refusals */

static void test_refused(void)
{
	int belt = lock_belt();

	is_errno(unlock(belt, "door", "alice"), ENOENT, "what nobody has is not unlocked");
	is_errno(renew(belt, "door", "alice", 0), ENOENT,
		 "renew of a lock that nobody holds returns ENOENT");
	is_errno(holder_of(belt, "door").err, ENOENT,
		 "holder of a lock that nobody holds returns ENOENT");
	is_int(release(belt, "alice"), 0, "who has nothing releases nothing");
	must_take(belt, "door", "alice", 0);
	is_errno(unlock(belt, "door", "bob"), EACCES, "what another has is not unlocked");
	is_errno(renew(belt, "door", "bob", 0), EACCES,
		 "renew of another owner's lock returns EACCES");
	is_int(release(belt, "bob"), 0,
	       "release of an owner does not release another owner's lock");
	ok(is_held_by(belt, "door", "alice"),
	   "a lock that another failed to unlock, renew and release is still held");
	is_errno(take(belt, "gate", "bob", TTL), 0, "a lease may be as long as the belt's");
	is_errno(take(belt, "hall", "bob", TTL + 1), EDOM,
		 "a lease longer than the belt's time-to-live is refused with EDOM");
	is_errno(take(belt, "hall", "bob", HASHBELT_TTL_NEVER), EDOM, "not without end");
	is_errno(take(belt, "hall", "bob", HASHBELT_TTL_KEEP), EDOM,
		 "a lease of HASHBELT_TTL_KEEP is refused with EDOM");
	is_errno(renew(belt, "gate", "bob", TTL + 1), EDOM,
		 "a renewal longer than the belt's time-to-live is refused with EDOM");
	is_errno(take(belt, "gate", "bob", TTL + 1), EDOM,
		 "the holder cannot take its lock again for longer than the belt's time-to-live");
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

	is_errno(take_lengths(belt, 1, 1), 0, "a name and an owner of one byte");
	is_errno(take_lengths(belt, HASHBELT_KEY_MAX, HASHBELT_OWNER_MAX), 0,
		 "a name of %u and an owner of %u", HASHBELT_KEY_MAX, HASHBELT_OWNER_MAX);
	is_errno(take_lengths(belt, HASHBELT_KEY_MAX + 1, 1), E2BIG, "a longer name");
	is_errno(take_lengths(belt, 2, HASHBELT_OWNER_MAX + 1), E2BIG, "a longer owner");
	is_errno(take_lengths(belt, ~0u, 1), E2BIG, "the longest name that one can say");
	is_errno(take_lengths(belt, 2, ~0u), E2BIG, "the longest owner");
	err = take_lengths(belt, 0, 1);
	ok(err == -EINVAL || err == -E2BIG, "no name at all is refused");
	err = take_lengths(belt, 2, 0);
	ok(err == -EINVAL || err == -E2BIG, "a lock request without an owner is refused");
	is_int(locks_held(belt), 2, "two of these are held");
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

/* Locks are for belts that take nothing away. */
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
			 "policy %#x: a lock", cases[i].policy);
		is_int(locks_held(belt), !cases[i].err, "policy %#x: what is held",
		       cases[i].policy);
		close(belt);
	}
	belt = new_belt(HASHBELT_PINNED | HASHBELT_REFRESH_ON_GET);
	must_take(belt, "door", "alice", 1000);
	advance(belt, 500);
	holder_of(belt, "door");
	is_int(holder_of(belt, "door").ttl_ms, 500, "what a get refreshes, a look does not");
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
	is_errno(take_bytes(belt, "a\0", 2, "y", 1), 0, "a name with a NUL is another name");
	is_errno(take_bytes(belt, "ab", 2, "y", 1), 0, "a longer one too");
	is_errno(take_bytes(belt, "a", 1, "x\0", 2), EBUSY, "an owner with a NUL is another");
	is_errno(take_bytes(belt, "a", 1, "xx", 2), EBUSY, "as is a longer one");
	is_errno(take_bytes(belt, "a", 1, "X", 1), EBUSY,
		 "a lock's owner in capitals is another owner");
	is_errno(take_bytes(belt, "abc", 3, "d", 1), 0, "where a name ends");
	is_errno(take_bytes(belt, "ab", 2, "cd", 2), EBUSY,
		 "a name \"ab\" of owner \"cd\" is not the name \"abc\" of owner \"d\"");
	is_errno(take_bytes(belt, "abcd", 4, "d", 1), 0, "is not a matter of their bytes");
	is_int(locks_held(belt), 5, "five names are held");
	is_int(release(belt, "y"), 2, "two of them by one owner");
	is_int(release(belt, "x"), 1, "release of an owner releases its one lock");
	is_int(release(belt, "xx"), 0, "none by one that is like him");
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
		 "a buffer that is too small for the owner");
	is_int(lock.owner_len, sizeof(owner), "says how much it needs");
	for (i = 0; i < sizeof(buffer) && buffer[i] == 'x'; i++)
		;
	is_int(i, sizeof(buffer), "a holder call whose buffer is too small writes nothing to it");
	is_errno(call(belt, HASHBELT_IOC_HOLDER, &lock), 0, "one of that size");
	ok(!memcmp(buffer, owner, sizeof(owner)) && buffer[sizeof(owner)] == 'x',
	   "gets all of its bytes, and no more");
	lock = lock_of("door", "");
	lock.owner = address(before_hole(sizeof(owner)));
	lock.owner_len = PAGE;
	is_errno(call(belt, HASHBELT_IOC_HOLDER, &lock), 0,
		 "of a larger one only that much is written");
	is_int(lock.owner_len, sizeof(owner),
	       "a holder call whose buffer is too large returns the owner's length");
	lock = lock_of("door", "");
	lock.owner = address(unmapped());
	lock.owner_len = sizeof(owner);
	is_errno(call(belt, HASHBELT_IOC_HOLDER, &lock), EFAULT,
		 "one that is not there is refused");
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
	is_errno(on_key(belt, HASHBELT_IOC_GET, "key"), ENOENT, "a lock is no entry for a get");
	is_errno(on_key(belt, HASHBELT_IOC_TOUCH, "key"), ENOENT, "touch does not find a lock");
	is_errno(on_key(belt, HASHBELT_IOC_EXPIRE, "key"), ENOENT, "an expire");
	is_errno(on_key(belt, HASHBELT_IOC_REMOVE, "key"), ENOENT, "remove does not find a lock");
	item.op = HASHBELT_OP_REMOVE;
	must(belt, HASHBELT_IOC_BATCH, &batch);
	is_errno(item.result, ENOENT, "a batch does not find a lock");
	is_int(scan_count(belt), 0, "a scan does not see it");
	is_errno(add_one(belt, "key"), 0, "an addition begins anew");
	ok(holds_text(belt, "key", "1"),
	   "an addition to a key that is locked begins at 0, not at the owner");
	put_text(belt, "key", "value", 0);
	ok(holds_text(belt, "key", "value"), "an entry has the key to itself");
	is_int(scan_count(belt), 1, "a scan sees that one");
	on_key(belt, HASHBELT_IOC_EXPIRE, "key");
	put_text(belt, "key", "value", 0);
	on_key(belt, HASHBELT_IOC_REMOVE, "key");
	after = holder_of(belt, "key");
	ok(!memcmp(&before, &after, sizeof(before)),
	   "entry calls on a lock's key leave the lock as it was");
	is_int(locks_held(belt), 1, "a lock whose key entry calls have used is still held");
	close(belt);
}

static void test_entry_unseen(void)
{
	int belt = lock_belt();
	struct sight before, after;

	put_text(belt, "key", "value", 800);
	ok(is_free(belt, "key"), "an entry is no lock");
	is_errno(unlock(belt, "key", "value"), ENOENT, "unlock of an entry's key returns ENOENT");
	is_errno(renew(belt, "key", "value", 0), ENOENT, "renew of an entry's key returns ENOENT");
	is_int(release(belt, "value"), 0,
	       "release of an owner does not remove an entry with the owner's name as value");
	before = look(belt, "key");
	is_errno(take(belt, "key", "alice", 0), 0, "its key is free to be locked");
	renew(belt, "key", "alice", 1);
	unlock(belt, "key", "alice");
	take(belt, "key", "bob", 0);
	release(belt, "bob");
	take(belt, "key", "carol", 1);
	advance(belt, 1);
	after = look(belt, "key");
	before.ttl_ms -= 1;
	before.entries = after.entries;
	ok(same_sight(&before, &after), "lock calls on an entry's key leave the entry as it was");
	close(belt);
}

/* Tokens */

static void test_tokens(void)
{
	struct errand errand = {
		.belt = "tokens", .key = "door", .owner = "mallory", .how = HASHBELT_BOUND,
	};
	int belt = named_locks("tokens");
	__u64 last = must_take(belt, "door", "alice", 100).token, token;
	struct locker locker;

	unlock(belt, "door", "alice");
	token = must_take(belt, "door", "alice", 100).token;
	ok(token > last, "each grant of a lock has a larger token: after an unlock");
	last = token;
	advance(belt, 100);
	token = must_take(belt, "door", "alice", 100).token;
	ok(token > last, "after its lease was over");
	last = token;
	advance(belt, 3 * TTL);
	token = must_take(belt, "door", "alice", 100).token;
	ok(token > last, "after all trace of it was gone");
	last = token;
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	token = must_take(belt, "door", "bob", 100).token;
	ok(token > last, "after the belt was cleared");
	last = token;
	release(belt, "bob");
	token = must_take(belt, "door", "bob", 100).token;
	ok(token > last, "after its holder released all that he had");
	last = token;
	unlock(belt, "door", "bob");
	locker = launch_holder(errand);
	token = holder_of(belt, "door").token;
	ok(token > last, "for another process");
	last = token;
	end_locker(&locker);
	token = must_take(belt, "door", "bob", 100).token;
	ok(token > last, "a lock taken after its holder was killed has a larger token");
	last = token;
	SET(belt, .fields = HASHBELT_SET_BUCKETS | HASHBELT_SET_TTL, .buckets = 9,
	    .ttl_ms = 2 * TTL);
	unlock(belt, "door", "bob");
	token = must_take(belt, "door", "bob", 100).token;
	ok(token > last, "after the belt was set");
	end_locks(belt, "tokens");
}

/* The same for many locks, in all orders of what may become of them. */
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
	ok(!wrong, "tokens grow in 12,800 grants of 64 locks");
	close(belt);
}

/* Lists */

/**
 * struct listing - what a whole list says
 * @calls:	calls that it took
 * @largest:	the largest piece that was asked for, bytes
 * @count:	records
 * @strange:	records that cannot be
 * @unordered:	records whose token is not larger than that of the one before
 * @seen:	how often each lock was listed whose name is a number
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

/* Asks for the next piece, of @size bytes or as many as it takes. */
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

/* Lists the locks of an owner, "" for all, in pieces of @size bytes or as need be. */
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

/* Locks of the numbers from @from on. */
static void take_numbers(int belt, unsigned int from, unsigned int n, const char *owner)
{
	char key[16];
	unsigned int i;

	for (i = from; i < from + n; i++) {
		snprintf(key, sizeof(key), "%u", i);
		must_take(belt, key, owner, 0);
	}
}

/* Whether just the numbers from @from on were listed, once each. */
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
	ok(locks.count == 1 && !locks.cursor, "a list of all has the one that is held");
	ok(record->key_len == 4 && record->owner_len == 5 &&
	   !memcmp(record + 1, "dooralice", 9), "with its name and its owner");
	ok(record->ttl_ms == 700 && record->held_ms == 200 && record->token == lock.token,
	   "how long still, since when, and the token");
	is_int(record->how, HASHBELT_BOUND,
	       "a listed lock that is bound has the flag HASHBELT_BOUND");
	must_take(belt, "gate", "bob", 0);
	locks = (struct hashbelt_locks){
		.buffer = address(list_buffer), .size = PAGE, .owner = address("bob"),
		.owner_len = 3,
	};
	must(belt, HASHBELT_IOC_LOCKS, &locks);
	ok(locks.count == 1 && !memcmp(record + 1, "gatebob", 7) && !record->how,
	   "a list of an owner has his, which is not");
	advance(belt, 700);
	ok(list(belt, "", PAGE)->count == 1 && !list(belt, "alice", PAGE)->count,
	   "what is over is not listed");
	close(belt);
}

static void test_lists(void)
{
	int belt = lock_belt();
	const struct listing *listing;

	ok(!list(belt, "", 0)->count && !list(belt, "alice", 0)->count,
	   "where nothing is held a list is empty, and needs no buffer");
	take_numbers(belt, 0, 300, "alice");
	take_numbers(belt, 300, 500, "bob");
	ok(has_listed(list(belt, "", MIB), 0, 800), "a list of all has them all, once each");
	listing = list(belt, "", 0);
	ok(has_listed(listing, 0, 800), "a list read in the smallest pieces has each lock once");
	ok(listing->largest > 0, "a list call with too small a buffer says how much it needs");
	listing = list(belt, "bob", MIB);
	ok(has_listed(listing, 300, 500) && !listing->unordered,
	   "a list of one owner has his, in the order of their tokens");
	listing = list(belt, "bob", 0);
	ok(has_listed(listing, 300, 500) && !listing->unordered,
	   "a list of one owner, read one by one, has its locks in the order of tokens");
	is_int(listing->largest, sizeof(struct hashbelt_lock_record) + 8,
	       "with room for just one");
	ok(!list(belt, "carol", MIB)->count, "who has none has an empty list");
	ok(!list(belt, "bo", MIB)->count, "though another begins like him");
	must_take(belt, "first", "bob", 0);
	listing = list(belt, "bob", MIB);
	ok(listing->count == 501 && !listing->unordered, "a new one comes at the end");
	close(belt);
}

/* What is held from the first call to the last is listed, whatever else happens. */
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
	   "%s: while others come and go, what stays is listed once",
	   owner[0] ? "of one owner" : "of all");
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
	is_int(locks_held(belt), MANY, "%u locks are held", MANY);
	listing = list(belt, "alice", 3 * (sizeof(struct hashbelt_lock_record) + 16));
	ok(has_listed(listing, 6000, 3) && listing->calls <= 2,
	   "to list the three of one owner does not take a walk past all");
	is_int(release(belt, "alice"), 3, "to release one owner unlocks what he has");
	is_int(locks_held(belt), MANY - 3,
	       "released locks are subtracted from the belt's number of locks");
	is_int(release(belt, "alice"), 0, "a second release of the same owner finds no lock");
	ok(has_listed(list(belt, "others", MIB), 0, 6000),
	   "the others have what they had");
	is_int(release(belt, "many"), MANY - 6003, "to release many unlocks them all");
	is_int(locks_held(belt), 6000, "release of one owner keeps the locks of others");
	is_errno(take(belt, "6001", "bob", 0), 0, "what was released is free");
	is_errno(take(belt, "17", "bob", 0), EBUSY,
		 "a lock that was not released is still refused to others");
	close(belt);
}

static void test_release_mixed(void)
{
	int belt = lock_belt();

	must_take(belt, "short", "alice", 100);
	must_take(belt, "long", "alice", 1000);
	must_bind(belt, "bound", "alice", 1000);
	advance(belt, 100);
	is_int(release(belt, "alice"), 2, "a release counts what was held, bound or not");
	ok(is_free(belt, "short") && is_free(belt, "long") && is_free(belt, "bound"),
	   "after a release bound locks and others are free");
	close(belt);
}

/* Descriptors */

static void test_descriptors(void)
{
	int belt = named_locks("shared"), other = open_named("shared");

	must_take(other, "door", "alice", 0);
	is_errno(take(belt, "door", "alice", 0), 0,
		 "the owner is who says so, on whatever descriptor");
	is_errno(unlock(belt, "door", "alice"), 0, "who may also unlock");
	must_take(other, "door", "alice", 0);
	close(other);
	ok(is_held_by(belt, "door", "alice"),
	   "a lock that is not bound outlives the descriptor by which it was taken");
	other = open_named("shared");
	is_errno(unlock(other, "door", "alice"), 0,
		 "unlock works through another descriptor than the one that took the lock");
	must_take(belt, "door", "alice", 0);
	if (destroy_belt(belt, "shared"))
		bail_out("destroy");
	is_errno(take(other, "door", "alice", 0), EIDRM,
		 "in a belt that is destroyed nothing can be locked");
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
	is_errno(holder_errno(reader), 0, "who may read may see who has a lock");
	is_errno(list_errno(reader), 0, "a descriptor that may only read may list locks");
	is_errno(take(reader, "gate", "bob", 0), EPERM,
		 "a descriptor that may only read cannot take a lock: EPERM");
	is_errno(take(reader, "door", "alice", 0), EPERM, "not even again");
	is_errno(unlock(reader, "door", "alice"), EPERM,
		 "a descriptor that may only read cannot unlock: EPERM");
	is_errno(renew(reader, "door", "alice", 0), EPERM,
		 "a descriptor that may only read cannot renew: EPERM");
	is_errno(release(reader, "alice"), EPERM,
		 "a descriptor that may only read cannot release an owner's locks: EPERM");
	is_errno(holder_errno(writer), EPERM, "who may write may not see who has a lock");
	is_errno(list_errno(writer), EPERM,
		 "a descriptor that may only write cannot list locks: EPERM");
	is_errno(take(writer, "gate", "bob", 0), 0,
		 "a descriptor that may only write may take a lock");
	is_errno(renew(writer, "gate", "bob", 1), 0, "renew it");
	is_errno(unlock(writer, "gate", "bob"), 0, "unlock it");
	is_int(release(writer, "alice"), 1,
	       "a descriptor that may only write may release an owner's locks");
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
	is_int(info_of(belt).used_entries, 3, "locks count as entries under the limit");
	is_errno(take(belt, "c", "alice", 0), ENOSPC, "beyond it none is granted");
	is_errno(on_key(belt, HASHBELT_IOC_PUT, "more"), ENOSPC,
		 "put returns ENOSPC where locks have used up max_entries");
	is_errno(take(belt, "a", "bob", 0), EBUSY, "what is held is held");
	is_errno(take(belt, "a", "alice", 0), 0, "who has a lock can take it again");
	is_errno(renew(belt, "a", "alice", 0), 0,
		 "renew works where locks have used up max_entries");
	is_errno(unlock(belt, "a", "alice"), 0, "an unlock");
	is_errno(take(belt, "c", "alice", 0), 0, "makes room for another lock");
	on_key(belt, HASHBELT_IOC_REMOVE, "entry");
	is_errno(take(belt, "d", "alice", 0), 0, "removing an entry makes room for another lock");
	advance(belt, 500);
	is_errno(take(belt, "e", "alice", 0), 0,
		 "a lock whose lease has ended makes room for another lock");
	is_int(release(belt, "alice"), 3, "a release");
	is_int(info_of(belt).used_entries, 0, "leaves nothing that counts");
	ok(!info_of(belt).used_bytes && !locks_held(belt), "in any way");
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
	is_errno(err, ENOSPC, "locks are granted until the bytes are used up");
	ok(info_of(belt).used_bytes <= settings.max_bytes && count > 100,
	   "locks use no more bytes than max_bytes (%u locks)", count);
	is_int(release(belt, "alice"), count, "when they are released");
	is_int(info_of(belt).used_bytes, 0, "no byte is used");
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
	ok(info_of(belt).bytes > 2000 * 64, "2000 locks take memory");
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
	    event->version == token && has_key(event, key) &&
	    event->value_len == strlen(owner) &&
	    !memcmp(event_value(event), owner, event->value_len))
		return true;
	note("kind %u, reason %u, version %llu, expected %u, %u, %llu", event->kind,
	     event->reason, event->version, HASHBELT_LOCK, reason, token);
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
	   "what a holder does with his lock is no event");
	unlock(belt, "door", "alice");
	ok(is_event(&stream, "door", "alice", HASHBELT_REMOVED, lock.token),
	   "an unlock is: of a lock, with its owner and token");
	lock = must_take(belt, "door", "alice", 100);
	advance(belt, 2 * TTL);
	ok(is_event(&stream, "door", "alice", HASHBELT_EXPIRED, lock.token),
	   "the end of a lease");
	lock = must_take(belt, "door", "bob", 100);
	release(belt, "bob");
	ok(is_event(&stream, "door", "bob", HASHBELT_REMOVED, lock.token), "a release");
	lock = must_take(belt, "door", "bob", 100);
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	/* The sweep is the worker's. */
	ok(readable_at_last(belt) &&
	   is_event(&stream, "door", "bob", HASHBELT_CLEARED, lock.token),
	   "a clear reports each lock that it drops, with owner and token");
	lock = must_take(belt, "key", "bob", 100);
	put_text(belt, "key", "value", 0);
	on_key(belt, HASHBELT_IOC_REMOVE, "key");
	event = next_event(&stream);
	ok(event && event->kind == HASHBELT_ENTRY && event->reason == HASHBELT_REMOVED,
	   "an entry's events are an entry's");
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

/* A reinserting belt gives entries a new life; a lease that is over is over. */
static void test_reinserting(void)
{
	int belt = reporting_locks(HASHBELT_REINSERT, 0);

	must_take(belt, "door", "alice", 100);
	advance(belt, 3 * TTL);
	ok(is_free(belt, "door") && !locks_held(belt),
	   "where entries are reinserted, locks still end");
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
	ok(is_free(belt, "door"), "a time of grace is not for locks");
	is_errno(take(belt, "door", "bob", 0), 0, "the next one gets it");
	ok(is_held_by(belt, "door", "bob"), "at once");
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
	is_int(locks_held(belt), 501, "with another number of buckets all locks are held");
	SET(belt, .fields = HASHBELT_SET_TTL, .ttl_ms = 1000);
	holder = holder_of(belt, "door");
	ok(locks_held(belt) == 501 && holder.ttl_ms == 9000 && holder.token == lock.token,
	   "another time-to-live changes no lease");
	is_errno(take(belt, "gate", "bob", 1001), EDOM,
		 "a shorter time-to-live of the belt bounds the leases of new locks: EDOM");
	is_errno(renew(belt, "door", "bob", 1001), EDOM,
		 "a shorter time-to-live of the belt bounds renewals: EDOM");
	is_errno(take(belt, "door", "bob", 1000), 0, "who has more");
	is_int(holder_of(belt, "door").ttl_ms, 9000, "keeps it when he takes it again");
	SET(belt, .fields = HASHBELT_SET_HANDLER | HASHBELT_SET_MAX_ENTRIES,
	    .handler = HASHBELT_NOTIFY, .max_entries = 10);
	ok(has_listed(list(belt, "alice", MIB), 0, 500), "other settings lose none either");
	advance(belt, 9000);
	ok(is_free(belt, "door"), "leases end on time after the belt's settings have changed");
	close(belt);
}

int main(void)
{
	plan(TESTS);
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
