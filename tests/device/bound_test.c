// SPDX-License-Identifier: GPL-2.0-only
/*
 * bound_test - what is bound to a descriptor is removed with it, and not before.
 *
 * Entries put and locks taken with HASHBELT_BOUND end when the last copy of the descriptor
 * is closed, by any process, also by one that is killed. An entry that has left the belt
 * before, or a lock that has another owner by then, is not touched.
 */
#include <pthread.h>

#include "lock.h"

#define NAME	"bound"

/* A named belt that reports all reasons, for locks and entries. */
static int bound_belt(void)
{
	struct hashbelt_settings settings = {
		.ttl_ms = TTL, .mode = 0600, .policy = HASHBELT_PINNED,
		.handler = HASHBELT_NOTIFY, .reasons = REPORT_ALL, .name = NAME,
	};
	int belt = open_device(O_RDWR | O_NONBLOCK);

	must(belt, HASHBELT_IOC_CREATE, &settings);
	must(belt, HASHBELT_IOC_HALT, NULL);
	return belt;
}

static int put_bound(int fd, const char *key, const char *text, __u64 ttl_ms)
{
	struct hashbelt_item item = text_item(key, text);

	item.how = HASHBELT_BOUND;
	item.ttl_ms = ttl_ms;
	return call(fd, HASHBELT_IOC_PUT, &item);
}

/* A descriptor to which an entry and a lock are bound, both with the name "key". */
static int open_bound(void)
{
	int fd = open_named(NAME), err = put_bound(fd, "key", "value", 0);

	if (err)
		bail_out("put: %s", error_name(err));
	must_bind(fd, "key", "owner", 0);
	return fd;
}

static __u64 released(int belt)
{
	return counter(belt, HASHBELT_STAT_RELEASED);
}

/* True if the entry and the lock are present. */
static bool both_there(int belt)
{
	return holds_text(belt, "key", "value") && is_held_by(belt, "key", "owner");
}

static bool both_gone(int belt)
{
	return look(belt, "key").err == -ENOENT && is_free(belt, "key") &&
	       !locks_held(belt) && !info_of(belt).entries;
}

/* The last close */

static void test_dup(void)
{
	int belt = bound_belt(), fd = open_bound(), copy = dup(fd);

	put_text(fd, "stays", "value", 0);
	must_take(fd, "stays", "owner", 0);
	close(fd);
	ok(both_there(belt), "bound entries and locks stay while a copy of the descriptor is open");
	is_errno(put_bound(copy, "more", "value", 0), 0,
		 "put with HASHBELT_BOUND succeeds on a copy of the descriptor");
	close(copy);
	is_int(released(belt), 3, "three are counted as released when the last copy is closed");
	ok(holds_text(belt, "stays", "value") && is_held_by(belt, "stays", "owner"),
	   "close keeps entry and lock taken without HASHBELT_BOUND");
	on_key(belt, HASHBELT_IOC_REMOVE, "stays");
	unlock(belt, "stays", "owner");
	ok(both_gone(belt), "close of the last copy removes what was bound on either copy");
	end_locks(belt, NAME);
}

static int sleep_for_good(void *arg)
{
	(void)arg;
	while (pause())
		;
	return 0;
}

static void test_fork(void)
{
	int belt = bound_belt(), fd = open_bound();
	pid_t child = start(sleep_for_good, NULL);

	close(fd);
	ok(both_there(belt), "bound entries and locks stay while a child has the descriptor");
	kill_and_wait(child);
	ok(both_gone(belt),
	   "the kill of the last process with the descriptor removes what is bound");
	end_locks(belt, NAME);
}

/* The kernel closes the descriptors of a process however the process ends. */
enum end { EXITS, CRASHES, IS_KILLED, EXECS, ENDS };

static const char *const end_names[ENDS] = {
	"exits", "crashes", "is killed by kill -9", "executes another program",
};

static int bind_and_end(void *arg)
{
	enum end end = *(enum end *)arg;

	open_bound();
	if (end == EXITS)
		return 0;
	if (end == CRASHES)
		abort();
	if (end == IS_KILLED)
		raise(SIGKILL);
	/* execl() closes the descriptor: open_device() sets O_CLOEXEC. */
	execl("/proc/self/exe", "bound_test", "pause", NULL);
	return 1;
}

static void test_ends(enum end end)
{
	int belt = bound_belt();
	pid_t child = start(bind_and_end, &end);

	if (end == EXECS) {
		await_sleep(child, CALL_PAUSE);
		ok(both_gone(belt),
		   "when a process %s, its bound entry and lock are removed", end_names[end]);
		kill_and_wait(child);
	} else {
		waitpid(child, NULL, 0);
		ok(both_gone(belt),
		   "when a process %s, its bound entry and lock are removed", end_names[end]);
	}
	is_int(released(belt), 2, "when a process %s, two are counted as released", end_names[end]);
	end_locks(belt, NAME);
}

/* Bound to another belt */

static void test_rebound(void)
{
	struct hashbelt_settings nameless = { .ttl_ms = TTL };
	int belt = bound_belt(), other = named_locks("another"), fd = open_bound();

	is_errno(open_belt(fd, "nobody"), ENOENT,
		 "open of a belt that does not exist returns ENOENT on a bound descriptor");
	is_errno(create_belt(fd, "another", 0600), EEXIST,
		 "create of a belt that exists returns EEXIST on a bound descriptor");
	ok(both_there(belt), "a failed open or create keeps what is bound");
	is_errno(open_belt(fd, "another"), 0,
		 "a descriptor with bound entries can open another belt");
	ok(both_gone(belt), "open of another belt removes what is bound");
	put_bound(fd, "key", "value", 0);
	must_bind(fd, "key", "owner", 0);
	is_errno(open_belt(fd, "another"), 0,
		 "a descriptor with bound entries can open the same belt again");
	ok(both_gone(other),
	   "open of the same belt removes what is bound");
	put_bound(fd, "key", "value", 0);
	must_bind(fd, "key", "owner", 0);
	must(fd, HASHBELT_IOC_CREATE, &nameless);
	ok(both_gone(other),
	   "create of a nameless belt removes what is bound");
	close(fd);
	is_int(released(belt), 2, "two are counted as released in the first belt");
	is_int(released(other), 4, "four are counted as released in the second belt");
	end_locks(other, "another");
	end_locks(belt, NAME);
}

/* A batch touches all that is bound as well. */
static void test_touch(void)
{
	int belt = bound_belt(), fd = open_bound();
	struct hashbelt_item items[2] = { text_item("late", "value"), {} };
	struct hashbelt_batch batch = { .items = address(items), .count = 2 };

	items[0].op = HASHBELT_OP_PUT;
	items[0].how = HASHBELT_BOUND;
	items[1] = (struct hashbelt_item){ .op = HASHBELT_OP_TOUCH, .how = HASHBELT_BOUND };
	must(fd, HASHBELT_IOC_BATCH, &batch);
	ok(!items[1].result && items[1].version == 2 && items[1].ttl_ms == TTL,
	   "a batch touches all that is bound, and returns number and time left");
	close(fd);
	end_locks(belt, NAME);
}

/* Concurrent opens */

/**
 * struct shared - one descriptor of two threads
 * @fd:		the descriptor
 * @stop:	set to end the thread that binds
 * @bound:	bindings so far; atomic
 */
struct shared {
	int fd;
	unsigned int stop;
	unsigned int bound;
};

static void *bind_on(void *arg)
{
	struct shared *shared = arg;
	struct hashbelt_lock lock;
	unsigned int i;
	char key[16];

	for (i = 0; !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED); i++) {
		snprintf(key, sizeof(key), "%u", i % 64);
		put_bound(shared->fd, key, "value", 0);
		lock = lock_of(key, "owner");
		lock.how = HASHBELT_BOUND;
		call(shared->fd, HASHBELT_IOC_LOCK, &lock);
		__atomic_fetch_add(&shared->bound, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *touch_on(void *arg)
{
	struct hashbelt_item item = { .how = HASHBELT_BOUND };
	struct shared *shared = arg;

	while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) {
		item.ttl_ms = __atomic_load_n(&shared->bound, __ATOMIC_RELAXED) % 2 ? TTL : 2 * TTL;
		call(shared->fd, HASHBELT_IOC_TOUCH, &item);
	}
	return NULL;
}

/* On one processor the other thread may not have run yet. */
static bool is_early(const struct shared *shared)
{
	return __atomic_load_n(&shared->bound, __ATOMIC_RELAXED) < 100;
}

/* Fills the belt with one entry, up to its max_entries. */
static void fill_up(int belt)
{
	SET(belt, .fields = HASHBELT_SET_MAX_ENTRIES, .max_entries = 1);
	put_text(belt, "there", "value", 0);
}

/*
 * With @full every put of another key fails with ENOSPC. An entry that was attached to the
 * descriptor before its put failed must not be removed with the descriptor.
 */
static void test_rebound_meanwhile(bool full)
{
	struct shared shared = { .fd = open_device(O_RDWR) };
	int belt = bound_belt(), other = named_locks("another");
	const char *how = full ? " without room" : "";
	unsigned int round, wrong = 0, i;
	pthread_t threads[3];

	SET(belt, .fields = HASHBELT_SET_HANDLER, .handler = HASHBELT_DROP);
	if (full) {
		fill_up(belt);
		fill_up(other);
	}
	if (open_belt(shared.fd, NAME))
		bail_out("open");
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		if (pthread_create(&threads[i], NULL, i ? touch_on : bind_on, &shared))
			bail_out("no thread");
	for (round = 0; round < 2000 || is_early(&shared); round++)
		wrong += open_belt(shared.fd, round % 2 ? NAME : "another") != 0;
	__atomic_store_n(&shared.stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	close(shared.fd);
	ok(!wrong && shared.bound,
	   "open succeeds each time while a thread binds entries and locks, and two touch them%s",
	   how);
	note("%u times", shared.bound);
	ok(info_of(belt).entries == full && !locks_held(belt),
	   "opens beside a thread that binds leave nothing in the first belt%s", how);
	ok(info_of(other).entries == full && !locks_held(other),
	   "opens beside a thread that binds leave nothing in the second belt%s", how);
	end_locks(other, "another");
	end_locks(belt, NAME);
}

/* Processes that are killed */

static int bind_without_end(void *arg)
{
	int fd = open_named(NAME);
	unsigned int i;
	char key[16];

	(void)arg;
	for (i = 0; i < ~0u; i++) {
		snprintf(key, sizeof(key), "%u", i % 50);
		put_bound(fd, key, "value", 0);
		if (i % 2)
			take(fd, key, "another", 0);
		else
			must_bind(fd, key, "owner", 0);
		unlock(fd, key, i % 2 ? "another" : "owner");
		must_bind(fd, key, "owner", 0);
	}
	return 0;
}

static bool is_at_work(void *belt)
{
	return info_of(*(int *)belt).entries > 0;
}

/* Kills a process at random moments. At most one of its locks is not bound. */
static void test_killed_any_time(__u64 base)
{
	int belt = bound_belt();
	unsigned int round, left = 0;
	pid_t child;

	SET(belt, .fields = HASHBELT_SET_HANDLER, .handler = HASHBELT_DROP);
	for (round = 0; round < 50; round++) {
		child = start(bind_without_end, NULL);
		if (!at_last(is_at_work, &belt))
			bail_out("the victim does not begin");
		usleep(round * 37 % 1000);
		kill_and_wait(child);
		left += release(belt, "another") > 1;
		left += info_of(belt).entries != 0 || locks_held(belt) != 0;
	}
	is_int(left, 0, "processes killed at random moments leave no bound entry or lock");
	end_locks(belt, NAME);
	ok(used_at_last(base),
	   "used_bytes returns to its start after processes were killed at random");
}

int main(int argc, char **argv)
{
	__u64 base;
	unsigned int i;

	if (argc > 1 && !strcmp(argv[1], "pause"))
		return sleep_for_good(NULL);
	base = get_parameter("used_bytes");
	test_dup();
	test_fork();
	for (i = 0; i < ENDS; i++)
		test_ends(i);
	test_rebound();
	test_touch();
	test_rebound_meanwhile(false);
	test_rebound_meanwhile(true);
	test_killed_any_time(base);
	return done_testing();
}
