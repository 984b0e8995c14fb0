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
#define _GNU_SOURCE
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

/**
 * struct caller - a process that asks for a key, with a descriptor of its own
 * @pid:	the process; it stays until it is killed
 * @pipe:	returns the result of its call
 */
struct caller {
	pid_t pid;
	int pipe;
};

static struct caller start_caller(struct hashbelt_fill fill)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct caller caller;
	struct answer answer;
	int pipes[2], fd;

	if (pipe(pipes))
		bail_out("pipe: %s", strerror(errno));
	fflush(stdout);
	caller.pid = fork();
	caller.pipe = pipes[0];
	if (caller.pid < 0)
		bail_out("fork: %s", strerror(errno));
	if (!caller.pid) {
		sigaction(SIGUSR1, &action, NULL);
		fd = open_named(NAME);
		answer = ask(fd, KEY, fill);
		if (write(pipes[1], &answer, sizeof(answer)) != sizeof(answer))
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[1]);
	return caller;
}

/* Starts a caller, which waits without end by default, and waits until the process sleeps. */
static struct caller start_sleeper(struct hashbelt_fill fill)
{
	struct caller caller;

	if (!fill.wait_ms)
		fill.wait_ms = HASHBELT_TTL_NEVER;
	caller = start_caller(fill);
	await_sleep(caller.pid, __NR_ioctl);
	return caller;
}

#define SLEEPER(...)	start_sleeper((struct hashbelt_fill){ __VA_ARGS__ })

/* The result of a caller; -ETIME if there is none within 20 s. */
static struct answer answer_of(const struct caller *caller)
{
	struct answer answer = { .err = -ETIME };

	if (readable_at_last(caller->pipe) &&
	    read(caller->pipe, &answer, sizeof(answer)) != sizeof(answer))
		answer.err = -ECHILD;
	return answer;
}

static void end_caller(struct caller *caller)
{
	close(caller->pipe);
	kill_and_wait(caller->pid);
}

static bool still_sleeps(const struct caller *caller)
{
	return sleeps_on(caller->pid, caller->pipe);
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

static int change(int fd, const char *key, __u32 how, __u64 token, __u64 lease_ms)
{
	return ASK(fd, key, .how = how, .token = token, .lease_ms = lease_ms).err;
}

static void test_arguments(void)
{
	int belt = new_belt(0);

	is_errno(change(belt, KEY, HASHBELT_RENEW_LEASE, 1, HASHBELT_TTL_MAX_MS + 1), EINVAL,
		 "HASHBELT_RENEW_LEASE for more than 2^42 ms returns EINVAL");
	is_errno(change(belt, KEY, HASHBELT_RENEW_LEASE | HASHBELT_FAIL, 1, 0), EINVAL,
		 "HASHBELT_RENEW_LEASE with HASHBELT_FAIL returns EINVAL");
	is_errno(change(belt, KEY, HASHBELT_RENEW_LEASE | HASHBELT_STALE, 1, 0), EINVAL,
		 "HASHBELT_RENEW_LEASE with HASHBELT_STALE returns EINVAL");
	close(belt);
}

static void test_no_longer(void)
{
	int belt = named_belt(NAME, 0);
	struct caller caller;

	take(belt, KEY);
	caller = SLEEPER(.wait_ms = 1000);
	kill(caller.pid, SIGUSR1);
	is_errno(answer_of(&caller).err, EINTR, "a signal ends the wait for a fill lease: EINTR");
	end_caller(&caller);
	caller = SLEEPER(.wait_ms = 1000);
	advance(belt, 400);
	stop_child(caller.pid);
	advance(belt, 300);
	kill(caller.pid, SIGCONT);
	advance(belt, 299);
	ok(still_sleeps(&caller),
	   "a fill whose task was stopped for a time waits until 1 ms before its wait time ends");
	advance(belt, 1);
	is_errno(answer_of(&caller).err, ETIMEDOUT,
		 "the time for which a fill's task was stopped counts towards its wait time");
	end_caller(&caller);
	caller = SLEEPER();
	kill_and_wait(caller.pid);
	ok(is_filling(ASK(belt, KEY)), "killing a waiter leaves the fill lease as it was");
	close(caller.pipe);
	caller = SLEEPER();
	destroy_belt(belt, NAME);
	is_errno(answer_of(&caller).err, EIDRM,
		 "destroying the belt ends the wait for a fill lease: EIDRM");
	end_caller(&caller);
	close(belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	test_item();
	test_batch_late();
	test_arguments();
	test_no_longer();
	ok(used_at_last(before),
	   "used_bytes of the module is what it was when all filled belts are destroyed");
	return done_testing();
}
