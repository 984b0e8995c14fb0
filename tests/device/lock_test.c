// SPDX-License-Identifier: GPL-2.0-only
/*
 * lock_test - the buffers that calls on locks fill, and descriptors.
 *
 * Grants, renewals and the end of a lock: tests/kunit/lock_test.c; results: tests/conformance; what
 * a list has: tests/history. Wrong arguments and rights are in service_test, waiting in
 * lockwait_test, bound locks in bound_test.
 */
#include "lock.h"

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
	test_descriptors();
	return done_testing();
}
