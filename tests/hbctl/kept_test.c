// SPDX-License-Identifier: GPL-2.0-only
/* kept_test - handles of the client library that are kept bound to the belt of a name. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "../device/tap.h"
#include <hashbelt/client.h>

#define NAME	"kept"

/* Threads that share a handle, and belts that they see one after another. */
#define THREADS	4
#define BELTS	50

/* Makes and destroys belts. */
static struct hashbelt *maker;

static void must(int err, const char *what)
{
	if (err)
		bail_out("cannot %s: %s", what, strerror(-err));
}

static void make(__u64 window_bytes)
{
	struct hashbelt_settings settings = { .mode = 0600, .window_bytes = window_bytes };

	must(hashbelt_create(maker, NAME, &settings), "create the belt");
}

static void destroy(void)
{
	must(hashbelt_destroy(maker, NAME), "remove the belt");
}

static void make_again(void)
{
	destroy();
	make(0);
}

static struct hashbelt *open_device(void)
{
	struct hashbelt *belt;

	must(hashbelt_open(NULL, &belt), "open the device");
	return belt;
}

/* A handle that is kept bound to a belt, which it makes. */
static struct hashbelt *make_kept(unsigned int flags, __u64 window_bytes)
{
	struct hashbelt *belt = open_device();

	make(window_bytes);
	must(hashbelt_keep_bound(belt, NAME, NULL, flags), "bind a handle");
	return belt;
}

static void end(struct hashbelt *belt)
{
	hashbelt_close(belt);
	destroy();
}

static int put(struct hashbelt *belt, const char *key)
{
	return hashbelt_put(belt, key, strlen(key), key, strlen(key), NULL);
}

static int get(struct hashbelt *belt, const char *key)
{
	char value[16];

	return hashbelt_get(belt, key, strlen(key), value, sizeof(value), NULL);
}

/* Without a belt of the name nothing reaches another one. */
static void test_absent(void)
{
	char name[HASHBELT_NAME_SIZE + 1] = { 0 }, events[256];
	struct hashbelt *belt = open_device();

	put(belt, "d");
	is_int(hashbelt_keep_bound(belt, NAME, NULL, 0x02), -EINVAL,
	       "keeping with an unknown flag returns EINVAL");
	memset(name, 'n', HASHBELT_NAME_SIZE);
	is_int(hashbelt_keep_bound(belt, name, NULL, 0), -ENAMETOOLONG,
	       "keeping with a name of 64 bytes returns ENAMETOOLONG");
	is_int(get(belt, "d"), 0, "after both the handle is bound as before");
	is_int(hashbelt_keep_bound(belt, "a/b", NULL, 0), -EINVAL,
	       "keeping with an invalid name returns EINVAL");
	is_int(get(belt, "d"), -EINVAL, "after an invalid name calls return EINVAL");
	is_int(hashbelt_keep_bound(belt, NAME, NULL, 0), -ENOENT,
	       "keeping to a belt that does not exist returns ENOENT");
	is_int(get(belt, "d"), -EIDRM, "then a get returns EIDRM");
	is_int(hashbelt_read(belt, events, sizeof(events)), -EIDRM, "then a read returns EIDRM");
	is_int(hashbelt_bindings(belt), 0, "then the handle was never bound");
	make(0);
	ok(!put(belt, "k") && hashbelt_bindings(belt) == 1,
	   "a put reaches the belt that was made since, and the handle was bound once");
	is_int(get(belt, "d"), -ENOENT, "a get of a key of the default belt returns ENOENT");
	hashbelt_close(belt);
	belt = open_device();
	hashbelt_remove(belt, "d", 1, NULL);
	end(belt);
}

static void test_next_belt(void)
{
	struct hashbelt_settings settings = {
		.fields = HASHBELT_SET_MAX_ENTRIES, .max_entries = 9,
	};
	struct hashbelt *belt = make_kept(0, 0);
	struct hashbelt_info info;

	put(belt, "k");
	make_again();
	ok(get(belt, "k") == -ENOENT && hashbelt_bindings(belt) == 2,
	   "a get reaches the next belt of the name, and hashbelt_bindings() counts it");
	make_again();
	ok(!hashbelt_set(belt, &settings) && !hashbelt_info(belt, &info) && info.max_entries == 9,
	   "a set reaches the next belt");
	make_again();
	is_int(hashbelt_clear(belt), 0, "a clear reaches the next belt");
	make_again();
	is_int(hashbelt_lock(belt, "l", 1, "me", 2, NULL), -EOPNOTSUPP,
	       "a lock is asked for in the next belt");
	is_int(hashbelt_bindings(belt), 5, "each belt was counted once");
	destroy();
	ok(put(belt, "k") == -EIDRM && put(belt, "k") == -EIDRM,
	   "puts without a next belt return EIDRM");
	make(0);
	is_int(put(belt, "k"), 0, "a put reaches a belt that is made later");
	ok(!hashbelt_bind(belt, NAME), "a bind ends the keeping");
	make_again();
	is_int(get(belt, "k"), -EIDRM, "then a get on a belt that was destroyed returns EIDRM");
	end(belt);
}

/* An owner that the belt does not have. */
static void test_owner(void)
{
	uid_t owner = geteuid(), other = owner + 1;
	struct hashbelt *belt = make_kept(0, 0);

	is_int(hashbelt_keep_bound(belt, NAME, &owner, 0), 0,
	       "keeping to a belt of the demanded owner returns 0");
	ok(hashbelt_keep_bound(belt, NAME, &other, 0) == -EPERM && put(belt, "k") == -EPERM,
	   "keeping to a belt of another owner returns EPERM, as a put does then");
	end(belt);
}

/*
 * Makes belts until an entry of the last one has the version that one of the first has had. A
 * version has the number of the shard, and each belt hashes its keys in another way.
 */
static void make_with_version(const char *key, __u64 version)
{
	struct hashbelt_item item = { 0 };
	unsigned int tries = 10000;

	do {
		make_again();
		hashbelt_put(maker, key, strlen(key), "", 0, &item);
		item.ttl_ms = 0;
	} while (item.version != version && --tries);
	ok(tries, "the versions of two belts may be equal");
}

/* More gets than one look into the window has, on a belt whose window goes. */
static void get_many(struct hashbelt *belt)
{
	struct hashbelt_item items[200];
	unsigned int i, done, missed = 0;

	make_again();
	hashbelt_window_map(belt);
	for (i = 0; i < 200; i++)
		items[i] = hashbelt_item(HASHBELT_OP_GET, "k", 1, NULL, 0);
	destroy();
	make(HASHBELT_WINDOW_MIN);
	must(get(belt, "k") != -ENOENT, "read the next belt");
	make_again();
	ok(!hashbelt_batch(belt, items, 200, &done) && done == 200,
	   "a batch of gets goes on when the belt with the window was destroyed");
	for (i = 0; i < 200; i++)
		missed += items[i].result == -ENOENT;
	is_int(missed, 200, "gets of the next belt that miss");
}

/* Each conditional put that is in the way of a belt's end is refused, and nothing else. */
static void test_batch(unsigned int flags)
{
	struct hashbelt_item items[] = {
		hashbelt_item(HASHBELT_OP_PUT, "a", 1, "1", 1),
		hashbelt_item(HASHBELT_OP_PUT, "b", 1, "3", 1),
		hashbelt_item(HASHBELT_OP_REMOVE, "b", 1, NULL, 0),
		hashbelt_item(HASHBELT_OP_PUT, "c", 1, "1", 1),
		hashbelt_item(HASHBELT_OP_REMOVE, "d", 1, NULL, 0),
	};
	struct hashbelt *belt = make_kept(flags, 0);
	struct hashbelt_item former = { 0 };
	unsigned int done = 0;

	hashbelt_put(belt, "b", 1, "1", 1, &former);
	make_with_version("b", former.version);
	items[1].how = HASHBELT_IF_VERSION;
	items[2].how = HASHBELT_IF_VERSION;
	items[1].version = former.version;
	items[2].version = former.version;
	ok(!hashbelt_batch(belt, items, 5, &done) && done == 5,
	   "a batch is carried out in the next belt");
	ok(!items[0].result && !items[3].result && items[4].result == -ENOENT &&
	   !get(maker, "a") && !get(maker, "c"), "items without a version have its results");
	ok(items[1].result == -ESTALE && items[2].result == -ESTALE && !get(maker, "b"),
	   "items with a version of the former belt return ESTALE");
	destroy();
	ok(hashbelt_batch(belt, items, 5, &done) == -EIDRM && !done,
	   "a batch without a next belt returns EIDRM");
	make(0);
	ok(!hashbelt_batch(belt, items, 1, &done) && !items[0].result && !get(maker, "a"),
	   "a batch reaches a belt that is made later, and its put has stored");
	get_many(belt);
	end(belt);
}

/* A walk does not go on in another belt. */
static void test_walk(struct hashbelt *belt)
{
	const struct hashbelt_record *record;
	struct hashbelt_scanner *scanner;
	unsigned int i, keys = 3000;
	char key[128];
	int more;

	for (i = 0; i < keys; i++)
		hashbelt_put(belt, key, sprintf(key, "%0100u", i), "", 0, NULL);
	must(hashbelt_scan_begin(belt, &scanner), "begin a walk");
	more = hashbelt_scan_next(scanner, &record);
	make_again();
	for (i = 0; more > 0 && i < 2 * keys; i++)
		more = hashbelt_scan_next(scanner, &record);
	is_int(more, -EIDRM, "a walk whose belt is destroyed ends with EIDRM");
	hashbelt_scan_end(scanner);
}

/* Puts and leases that name what the former belt gave. */
static void test_former(void)
{
	struct hashbelt_fill fill = { .lease_ms = 10000 };
	struct hashbelt *belt = make_kept(0, 0);
	struct hashbelt_item item = { 0 };
	char value[16];

	hashbelt_put(belt, "k", 1, "1", 1, &item);
	item.how = HASHBELT_IF_VERSION;
	make_with_version("k", item.version);
	is_int(hashbelt_put(belt, "k", 1, "2", 1, &item), -ESTALE,
	       "a put with a version of the former belt returns ESTALE");
	make_with_version("k", item.version);
	is_int(hashbelt_remove(belt, "k", 1, &item), -ESTALE,
	       "a remove with a version of the former belt returns ESTALE");
	ok(hashbelt_fill(belt, "f", 1, value, sizeof(value), &fill) == -ENOENT &&
	   fill.state == HASHBELT_GRANTED, "a fill is granted in the next belt");
	make_again();
	hashbelt_fill(maker, "f", 1, value, sizeof(value), &fill);
	is_int(hashbelt_fill_put(belt, "f", 1, "v", 1, fill.token, NULL), -ESTALE,
	       "a put under a fill lease of the former belt returns ESTALE");
	make_again();
	is_int(hashbelt_give_up(belt, "f", 1, fill.token), -ENOENT,
	       "giving up a fill lease of the former belt returns ENOENT");
	destroy();
	is_int(get(belt, "k"), -EIDRM, "without a belt a get returns EIDRM");
	make(0);
	put(maker, "k");
	is_int(hashbelt_put(belt, "k", 1, "2", 1, &item), -ESTALE,
	       "a put with a version returns ESTALE also if there was no belt meanwhile");
	test_walk(belt);
	end(belt);
}

/* How a handle reads events, and what it waits for. */
static void test_events(void)
{
	struct hashbelt_key key = { .key = (uintptr_t)"k", .key_len = 1 };
	struct hashbelt *belt = make_kept(0, 0);
	const struct hashbelt_event *event;
	__u64 events[64];
	ssize_t len;

	must(hashbelt_watch(belt, HASHBELT_WATCH_REQUESTS), "watch requests");
	hashbelt_request(belt, 1, &key, 1, HASHBELT_TTL_NEVER);
	make_again();
	fcntl(hashbelt_fd(belt), F_SETFL, O_NONBLOCK);
	is_int(hashbelt_read(belt, events, sizeof(events)), -EAGAIN,
	       "a read reaches the next belt, in which nothing is to be read");
	is_int(hashbelt_cancel(belt, 1), -ENOENT, "a request is gone with its belt");
	hashbelt_request(belt, 2, &key, 1, HASHBELT_TTL_NEVER);
	put(maker, "k");
	len = hashbelt_read(belt, events, sizeof(events));
	event = hashbelt_event_next(events, len, NULL);
	ok(event && event->kind == HASHBELT_REQUEST && event->id == 2,
	   "a read of the next belt returns the ends of requests, as hashbelt_watch() said");
	end(belt);
}

/* The windows that this process has mapped. */
static unsigned int count_windows(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int count = 0;
	char line[512];

	while (fgets(line, sizeof(line), maps))
		count += !!strstr(line, "[hashbelt]");
	fclose(maps);
	return count;
}

/* Whether the window answers most of some gets. */
static bool reads_window(struct hashbelt *belt)
{
	struct hashbelt_window_counts before, after;
	int i, err = put(belt, "hot");

	hashbelt_window_stats(belt, &before);
	for (i = 0; !err && i < 100; i++)
		err = get(belt, "hot");
	hashbelt_window_stats(belt, &after);
	return !err && after.hits - before.hits > 80;
}

/* @flags: of the handle. @most: windows that it has mapped at the end */
static void test_windows(unsigned int flags, unsigned int most)
{
	struct hashbelt_settings settings = {
		.fields = HASHBELT_SET_WINDOW, .window_bytes = 2 * HASHBELT_WINDOW_MIN,
	};
	struct hashbelt *belt = open_device();
	bool answers = true;
	int i;

	hashbelt_keep_bound(belt, NAME, NULL, flags);
	is_int(hashbelt_window_map(belt), -EIDRM, "without a belt there is no window to map");
	for (i = 0; i < 3; i++) {
		make(HASHBELT_WINDOW_MIN);
		answers &= get(belt, "hot") == -ENOENT && reads_window(belt);
		destroy();
		answers &= get(belt, "hot") == -EIDRM;
	}
	ok(answers, "then the windows of three belts answer, one after another");
	is_int(count_windows(), most, "windows that are mapped after the last belt has gone");
	make(0);
	ok(!reads_window(belt) && !get(belt, "hot"), "gets of a belt without a window are calls");
	hashbelt_set(belt, &settings);
	ok(!hashbelt_window_map(belt) && reads_window(belt), "a window that it gets is mapped");
	settings.window_bytes = HASHBELT_WINDOW_MIN;
	hashbelt_set(belt, &settings);
	ok(!hashbelt_window_map(belt) && reads_window(belt), "so is one in the place of that");
	is_int(count_windows(), flags ? 1 : most + 2, "windows that are mapped then");
	hashbelt_close(belt);
	is_int(count_windows(), 0, "a close unmaps all windows");
	destroy();
}

/* A handle of several threads maps a bounded number of windows. */
static void test_many_windows(void)
{
	struct hashbelt *belt = open_device();
	unsigned int i, wrong = 0;

	hashbelt_keep_bound(belt, NAME, NULL, 0);
	hashbelt_window_map(belt);
	for (i = 0; i < 70; i++) {
		make(HASHBELT_WINDOW_MIN);
		wrong += put(belt, "k") || get(belt, "k");
		destroy();
	}
	is_int(wrong, 0, "calls on 70 belts, one after another, that fail");
	is_int(count_windows(), 64, "windows of these that stay mapped");
	hashbelt_close(belt);
}

static bool ended;

/* Gets and puts until main() ends it. Return: NULL, or a call that has failed in another way. */
static void *use(void *arg)
{
	while (!__atomic_load_n(&ended, __ATOMIC_RELAXED)) {
		int got = get(arg, "k"), stored = put(arg, "k");

		if (got && got != -ENOENT && got != -EIDRM)
			return "get";
		if (stored && stored != -EIDRM)
			return "put";
	}
	return NULL;
}

/* No thread binds a handle anew that another one has bound already. */
static void test_threads(void)
{
	unsigned int i, lost = 0, bindings;
	struct hashbelt *belt = make_kept(0, HASHBELT_WINDOW_MIN);
	pthread_t threads[THREADS];
	void *wrong;

	hashbelt_window_map(belt);
	for (i = 0; i < THREADS; i++)
		must(-pthread_create(&threads[i], NULL, use, belt), "start a thread");
	for (i = 0; i < scaled(BELTS); i++) {
		struct hashbelt_item item = { .how = HASHBELT_BOUND };
		struct hashbelt_info info;

		destroy();
		make(HASHBELT_WINDOW_MIN);
		/* Once the handle is bound to this belt, what is bound to the handle stays. */
		must(hashbelt_put(belt, "bound", 5, "", 0, &item), "put into the new belt");
		sched_yield();
		lost += hashbelt_info(belt, &info) || get(belt, "bound");
	}
	__atomic_store_n(&ended, true, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		ok(!wrong, "a thread has found no other error than that the belt was destroyed%s%s",
		   wrong ? ": " : "", wrong ? (char *)wrong : "");
	}
	bindings = hashbelt_bindings(belt);
	ok(!lost && bindings == scaled(BELTS) + 1,
	   "threads bind a handle once for each belt: %u times, for %u belts, %u entries lost",
	   bindings, scaled(BELTS) + 1, lost);
	end(belt);
}

int main(void)
{
	maker = open_device();
	test_absent();
	test_next_belt();
	test_owner();
	test_batch(0);
	test_batch(HASHBELT_ONE_THREAD);
	test_former();
	test_events();
	test_windows(HASHBELT_ONE_THREAD, 0);
	test_windows(0, 3);
	test_many_windows();
	test_threads();
	hashbelt_close(maker);
	return done_testing();
}
