// SPDX-License-Identifier: GPL-2.0-only
/*
 * fill_test - one miss, one fill.
 *
 * Of the clients that miss a key, one is granted the fill lease. The others are told that
 * the key is being filled, or wait, or take the stale value. What ends a lease, which waiter gets
 * the next one, and leases ahead of a deadline: tests/kunit/fill_test.c and
 * fill_put_test.c. Fills that have failed: there, and in tests/history. Old values:
 * tests/kunit/grace_test.c. Many processes that fill, and that are killed: tests/stress/origin.c.
 */
#include "events.h"

#define NAME	"filled"
#define KEY	"key"
#define GRACE	5000ULL

/**
 * struct answer - the result of a FILL
 * @err:	0 or a negative errno
 * @state:	HASHBELT_GRANTED and the other flags of the state
 * @token:	of the lease, with HASHBELT_GRANTED
 * @ttl_ms:	time left of the value, if one was returned; so for the fields below
 */
struct answer {
	int err;
	__u32 state;
	__u64 token;
	__u64 ttl_ms;
	__u64 version;
	__u32 flags;
	char value[64];
};

static struct answer ask(int fd, const char *key, struct hashbelt_fill fill)
{
	struct answer answer = {};

	fill.item.key = address(key);
	fill.item.key_len = strlen(key);
	fill.item.value = address(answer.value);
	fill.item.value_len = sizeof(answer.value) - 1;
	answer.err = call(fd, HASHBELT_IOC_FILL, &fill);
	answer.state = fill.state;
	answer.token = fill.token;
	answer.ttl_ms = fill.item.ttl_ms;
	answer.version = fill.item.version;
	answer.flags = fill.item.flags;
	return answer;
}

#define ASK(fd, key, ...)	ask(fd, key, (struct hashbelt_fill){ __VA_ARGS__ })

static bool same_answer(const struct answer *answer, int err, __u32 state,
			const char *value)
{
	if (answer->err == -err && answer->state == state &&
	    !strcmp(answer->value, value))
		return true;
	note("found %s, state %#x, '%s'; expected %s, %#x, '%s'",
	     error_name(answer->err), answer->state, answer->value, error_name(err),
	     state, value);
	return false;
}

static bool is_granted(struct answer answer)
{
	return same_answer(&answer, ENOENT, HASHBELT_GRANTED, "") && answer.token;
}

static bool is_filling(struct answer answer)
{
	return same_answer(&answer, ENOENT, HASHBELT_FILLING, "") && !answer.token;
}

static bool is_value(struct answer answer, const char *value)
{
	return same_answer(&answer, 0, 0, value) && !answer.token;
}

/* Takes the fill lease; ends the program if the lease is not free. */
static struct answer take(int fd, const char *key)
{
	struct answer answer = ASK(fd, key, .lease_ms = 0);

	if (!is_granted(answer))
		bail_out("no fill lease for %s", key);
	return answer;
}

/* The fields of a fill's item */
static void test_item(void)
{
	int belt = new_belt(0);
	struct hashbelt_item item = text_item(KEY, "value");
	struct hashbelt_fill fill = { .item = item_of(KEY) };
	struct answer answer;
	char small[4];

	item.flags = 77;
	must(belt, HASHBELT_IOC_PUT, &item);
	answer = ASK(belt, KEY);
	ok(answer.version == item.version && answer.flags == 77,
	   "a fill of a present key returns the version and flags of the value");
	answer = ASK(belt, KEY, .item = { .how = HASHBELT_NO_VALUE });
	ok(is_value(answer, "") && answer.flags == 77,
	   "a fill with HASHBELT_NO_VALUE returns the flags and no value");
	ASK(belt, KEY, .item = { .how = HASHBELT_AND_TOUCH, .ttl_ms = 4321 });
	is_int(look(belt, KEY).ttl_ms, 4321, "a fill of a key that is there may set its deadline");
	is_int(counter(belt, HASHBELT_STAT_HITS), 3,
	       "fills that return a value count as hits, as a get does");
	fill.item.value = address(small);
	fill.item.value_len = sizeof(small);
	is_errno(call(belt, HASHBELT_IOC_FILL, &fill), ERANGE,
		 "a fill whose buffer is too small returns ERANGE");
	is_int(fill.item.value_len, 5,
	       "a fill whose buffer is too small returns the length of the value");
	is_int(fill.state, 0, "a fill whose buffer is too small grants no lease");
	close(belt);
}

/* Waiting */

/* Asks for KEY through a descriptor of its own. Return: the error. */
static int fill_once(void *fill)
{
	return ask(open_named(NAME), KEY, *(struct hashbelt_fill *)fill).err;
}

/* Starts a caller that waits for so long, and waits until it sleeps. */
static struct caller start_sleeper(__u64 wait_ms)
{
	struct hashbelt_fill fill = { .wait_ms = wait_ms };
	struct caller caller = start_caller(fill_once, &fill, -1, 0);

	await_sleep(caller.pid, __NR_ioctl);
	return caller;
}

/* A put on condition of the fill lease */

#define LATE	40	/* items of a batch: more than two runs */

/* Every third key is removed after its lease was granted. */
static void test_batch_late(void)
{
	struct hashbelt_item items[LATE];
	struct hashbelt_batch batch = { .items = address(items), .count = LATE };
	char keys[LATE][8];
	unsigned int i, refused = 0, stored = 0, kept = 0;
	int belt = new_belt(0);
	struct answer answer;

	for (i = 0; i < LATE; i++) {
		snprintf(keys[i], sizeof(keys[i]), "late%u", i);
		answer = take(belt, keys[i]);
		if (i % 3 == 0)
			on_key(belt, HASHBELT_IOC_REMOVE, keys[i]);
		items[i] = text_item(keys[i], "late");
		items[i].op = HASHBELT_OP_PUT;
		items[i].how = HASHBELT_IF_LEASE;
		items[i].version = answer.token;
	}
	must(belt, HASHBELT_IOC_BATCH, &batch);
	for (i = 0; i < LATE; i++) {
		refused += i % 3 == 0 && items[i].result == -ESTALE && !items[i].version;
		stored += i % 3 && !items[i].result;
		kept += !look(belt, keys[i]).err == !!(i % 3);
	}
	is_int(refused, (LATE + 2) / 3,
	       "a batch returns ESTALE for each put whose fill lease has ended");
	is_int(stored, LATE - (LATE + 2) / 3,
	       "a batch carries out each put whose fill lease holds");
	is_int(kept, LATE, "a batch stores the values whose fill leases hold, and no others");
	close(belt);
}

static void test_no_longer(void)
{
	int belt = named_belt(NAME, 0);
	struct caller caller;

	take(belt, KEY);
	caller = start_sleeper(1000);
	kill(caller.pid, SIGUSR1);
	is_errno(result_of(&caller), EINTR, "a signal ends the wait for a fill lease: EINTR");
	end_caller(&caller);
	caller = start_sleeper(1000);
	advance(belt, 400);
	stop_child(caller.pid);
	advance(belt, 300);
	kill(caller.pid, SIGCONT);
	advance(belt, 299);
	ok(still_calls(&caller),
	   "a fill whose task was stopped for a time waits until 1 ms before its wait time ends");
	advance(belt, 1);
	is_errno(result_of(&caller), ETIMEDOUT,
		 "the time for which a fill's task was stopped counts towards its wait time");
	end_caller(&caller);
	caller = start_sleeper(HASHBELT_TTL_NEVER);
	end_caller(&caller);
	ok(is_filling(ASK(belt, KEY)), "killing a waiter leaves the fill lease as it was");
	caller = start_sleeper(HASHBELT_TTL_NEVER);
	destroy_belt(belt, NAME);
	is_errno(result_of(&caller), EIDRM,
		 "destroying the belt ends the wait for a fill lease: EIDRM");
	end_caller(&caller);
	close(belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	test_item();
	test_batch_late();
	test_no_longer();
	ok(used_at_last(before),
	   "used_bytes of the module is what it was when all filled belts are destroyed");
	return done_testing();
}
