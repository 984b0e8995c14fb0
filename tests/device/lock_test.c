// SPDX-License-Identifier: GPL-2.0-only
/*
 * lock_test - the buffers that calls on locks fill, and descriptors.
 *
 * Grants, renewals and the end of a lock: tests/kunit/lock_test.c; results: tests/conformance; what
 * a list has: tests/history. Wrong arguments and rights are in service_test, waiting in
 * lockwait_test, bound locks in bound_test.
 */
#define _GNU_SOURCE
#include "lock.h"

#define MANY	10000

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

/* Lists */

/**
 * struct listing - the result of listing all locks, in one call or more
 * @strange:	invalid records
 * @seen:	how often each lock was listed, for names that are numbers
 */
struct listing {
	unsigned int strange;
	unsigned char seen[MANY];
};

static unsigned char list_buffer[MIB];

static void read_piece(struct listing *listing, const struct hashbelt_locks *locks)
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

/* Locks that are held during all calls of a list appear in it once. */
static void test_list_meanwhile(const char *owner)
{
	int belt = lock_belt();
	struct hashbelt_locks locks = {};
	struct listing *listing = calloc(1, sizeof(*listing));
	unsigned int other = 5000, i, wrong = 0;

	take_numbers(belt, 0, 200, "alice");
	do {
		next_piece(belt, owner, 200, &locks);
		read_piece(listing, &locks);
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
	close(other);
	end_locks(belt, "shared");
}

int main(void)
{
	test_holder();
	test_list_meanwhile("");
	test_list_meanwhile("alice");
	test_descriptors();
	return done_testing();
}
