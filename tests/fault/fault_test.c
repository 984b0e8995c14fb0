// SPDX-License-Identifier: GPL-2.0-only
/*
 * fault_test - each allocation and each copy of user memory fails, one after the other.
 *
 * Each trial makes one call in a new belt, with a fault: at its first point, then at its second,
 * until the call passes no further point. So do trials for each site, and for all allocations from
 * the n-th on; mode.h has these modes. When a fault makes the call fail, the error is the right
 * one, the belt is as before, and the same call made again succeeds. When the results of a call
 * cannot be copied to user space, the call has taken effect, and the belt is as after a success. A
 * call that succeeds despite a fault has taken effect, too.
 *
 * At the end of a trial the belt runs empty, so each entry of the index is on a wheel. The module
 * holds no more memory than before. Loading the module is tried with faults as well.
 *
 * With --sites the mode FAULT_SITE runs, and loading without memory: few enough trials for a kernel
 * with kmemleak. With --points all else runs. There the kernel itself leaks: it loses the name of a
 * slab cache that it cannot show in /sys. Without an option both run. Each site has to fail in some
 * case, unless --points leaves some out.
 */
#include <sys/epoll.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <dirent.h>

#include "fault.h"

#define NAME	"faulty"
#define USER	1000
#define LONG	(5000 * TTL)		/* waits on an overflow wheel */
#define NUMBERS	75U
#define NUMBERS_LEFT	25U
#define WIDE	64U		/* chains for NUMBERS or 100; as many serve NUMBERS_LEFT */
#define LARGE	15000			/* larger than any size class */
#define HUGE	(100 * 1024)

/* Exceptions for single calls. */
#define UNDONE	1	/* it has no effect if its results cannot be copied to user space */
#define LOOSE	2	/* it may succeed without its full effect */
#define TAKES	4	/* it may evict entries when memory is short */
#define RUNS	8	/* belt time runs */
#define STAYS	16	/* entries are reinserted when they expire */
#define SAFE	32	/* it has no point */
#define MISSES	64	/* it counts a miss, with or without a fault */
#define LOSES	128	/* it may succeed, and lose an event */
#define OUTSIDE	256	/* it has no site: the kernel alone can fail, before the module */

/**
 * struct scene - the belt in which a call is made
 * @belt:	the descriptor of the belt
 * @other:	another descriptor, or -1
 * @token:	of a fill lease, if the scene has one
 * @state:	of the last fill
 * @fresh:	the buffer of gets, in a page that has not been touched, or NULL
 * @waiter:	a process that waits for a fill lease, or 0
 * @map:	how to map the belt's window
 */
struct scene {
	int belt;
	int other;
	__u64 token;
	__u32 state;
	void *fresh;
	pid_t waiter;
	struct hashbelt_window_map map;
};

/**
 * struct fault_case - one call
 * @name:	for the test line
 * @set:	makes the scene
 * @act:	makes the call; returns its result, or a negative errno
 * @want:	the result without a fault
 * @how:	exceptions: UNDONE and so on
 * @request:	the ioctl, where @act makes several
 * @key:	an argument, as all below: the key, or the name of a lock
 * @owner:	of a lock, NULL for "me"
 * @wait_ms:	for a lock
 * @item:	all but key, value and token
 * @fill:	all but item and token
 * @settings:	of a belt
 * @flags:	for WATCH
 * @id:		of a request
 * @size:	of a buffer, 0 for one that is large enough
 */
struct fault_case {
	const char *name;
	void (*set)(struct scene *scene);
	int (*act)(struct scene *scene, const struct fault_case *test);
	int want;
	unsigned int how;
	unsigned long request;
	const char *key;
	const char *owner;
	__u64 wait_ms;
	struct hashbelt_item item;
	struct hashbelt_fill fill;
	struct hashbelt_settings settings;
	__u32 flags;
	__u64 id;
	__u32 size;
};

static unsigned char bytes[HASHBELT_VALUE_MAX];

/* The modes that run: those up to FAULT_ALLOCATIONS, and FAULT_SITE. */
static enum fault_mode first = FAULT_POINT, last = FAULT_SITE;

/* Scenes */

static bool is_wide(void *arg)
{
	return info_of(*(int *)arg).table >= WIDE;
}

static bool widens(void *arg)
{
	/* No table is allocated within 100 ms after a failure, and then by a put. */
	put_numbers(*(int *)arg, 0, 1, 0);
	return is_wide(arg);
}

/*
 * Makes a belt whose index is so wide that it neither grows nor shrinks during the call. When it
 * does depends on hashes, and a call must have the same points in each of its trials.
 */
static void set_belt_of(struct scene *scene, struct hashbelt_settings settings)
{
	settings.mode = 0600;
	scene->belt = belt_of(settings);
	set_blocking(scene->belt, false);
	put_numbers(scene->belt, 0, NUMBERS, 0);
	if (!at_last(is_wide, &scene->belt))
		bail_out("the index does not reach %u chains", WIDE);
	remove_numbers(scene->belt, 0, NUMBERS - NUMBERS_LEFT);
}

static void put_sized(int fd, const char *key, __u32 size)
{
	struct hashbelt_item item = item_of(key);

	item.value = address(bytes);
	item.value_len = size;
	must(fd, HASHBELT_IOC_PUT, &item);
}

static void fill_up(int fd)
{
	put_text(fd, "small", "a value", 0);
	put_text(fd, "number", "9", 0);
	put_sized(fd, "large", LARGE);
}

static void set_plain(struct scene *scene)
{
	set_belt_of(scene, (struct hashbelt_settings){});
	fill_up(scene->belt);
}

static void set_fresh(struct scene *scene)
{
	set_plain(scene);
	scene->fresh = fresh_pages(PAGE);
}

/* Memory that ends after 8 bytes. */
static void set_cut(struct scene *scene)
{
	set_plain(scene);
	scene->fresh = before_hole(8);
}

static void set_refreshing(struct scene *scene)
{
	set_belt_of(scene, (struct hashbelt_settings){
		.policy = HASHBELT_REFRESH_ON_GET | HASHBELT_WIPE,
	});
	fill_up(scene->belt);
	advance(scene->belt, TTL / 2);
}

/*
 * The entry nearest its deadline stands alone in its bucket, so that each trial evicts the
 * same one: of entries in one bucket any may go first, and they differ in size.
 */
static void set_evicting(struct scene *scene)
{
	set_plain(scene);
	put_text(scene->belt, "nearest", "a value", TTL / 2);
	SET(scene->belt, .fields = HASHBELT_SET_POLICY | HASHBELT_SET_MAX_ENTRIES,
	    .policy = HASHBELT_EVICT, .max_entries = info_of(scene->belt).used_entries);
}

static void set_reporting(struct scene *scene)
{
	set_plain(scene);
	SET(scene->belt, .fields = HASHBELT_SET_HANDLER | HASHBELT_SET_REASONS |
	    HASHBELT_SET_MAX_ENTRIES, .handler = HASHBELT_NOTIFY, .reasons = REPORT_ALL,
	    .max_entries = 10 * NUMBERS);
}

static void set_reinserting(struct scene *scene)
{
	set_plain(scene);
	SET(scene->belt, .fields = HASHBELT_SET_HANDLER, .handler = HASHBELT_REINSERT);
}

static void set_events(struct scene *scene)
{
	set_reporting(scene);
	queue_events(scene->belt, 3);
}

static void set_acking(struct scene *scene)
{
	set_events(scene);
	watch(scene->belt, HASHBELT_WATCH_ACK);
}

static void set_in_flight(struct scene *scene)
{
	static char buffer[4096];

	set_acking(scene);
	if (read_into(scene->belt, buffer, sizeof(buffer)) <= 0)
		bail_out("no events");
}

static void set_graceful(struct scene *scene)
{
	set_belt_of(scene, (struct hashbelt_settings){ .grace_ms = 10 * TTL });
	fill_up(scene->belt);
	advance(scene->belt, TTL + 1);
}

static void set_many(struct scene *scene)
{
	set_plain(scene);
	put_numbers(scene->belt, NUMBERS, 20, LONG);
}

/*
 * The first lease of a shard also allocates a level of its wheel. In which shard a key is depends
 * on its hash, so a call that takes a new lease needs a belt without others.
 */
static void set_no_locks(struct scene *scene)
{
	set_belt_of(scene, (struct hashbelt_settings){
		.policy = HASHBELT_PINNED | HASHBELT_WIPE,
	});
	SET(scene->belt, .fields = HASHBELT_SET_HANDLER, .handler = HASHBELT_NOTIFY);
}

static void set_locks(struct scene *scene)
{
	set_no_locks(scene);
	must_take(scene->belt, "taken", "me", 0);
	must_take(scene->belt, "another", "me", 0);
}

/* Belt time runs here. All leases are longer than a test takes. */
static void set_running(struct scene *scene)
{
	set_belt_of(scene, (struct hashbelt_settings){
		.policy = HASHBELT_PINNED, .ttl_ms = 1000 * TTL,
	});
	must_take(scene->belt, "taken", "me", 0);
	must(scene->belt, HASHBELT_IOC_RESUME, NULL);
}

static int fill(struct scene *scene, const char *key, struct hashbelt_fill fill)
{
	static char buffer[64];
	int err;

	fill.item.key = address(key);
	fill.item.key_len = strlen(key);
	fill.item.value = address(buffer);
	fill.item.value_len = sizeof(buffer);
	err = call(scene->belt, HASHBELT_IOC_FILL, &fill);
	scene->token = fill.token;
	scene->state = fill.state;
	return err;
}

#define FILL(scene, key, ...)	fill(scene, key, (struct hashbelt_fill){ __VA_ARGS__ })

static void set_filling(struct scene *scene)
{
	set_plain(scene);
	FILL(scene, "missing", .how = 0);
}

static void set_filling_ended(struct scene *scene)
{
	set_filling(scene);
	on_key(scene->belt, HASHBELT_IOC_REMOVE, "missing");
}

/* A process waits for the lease, and exits with the status 0 if it is told of the failure. */
static void set_filling_awaited(struct scene *scene)
{
	set_filling(scene);
	fflush(stdout);
	scene->waiter = fork();
	if (scene->waiter < 0)
		bail_out("fork: %s", strerror(errno));
	if (!scene->waiter) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(FILL(scene, "missing", .wait_ms = HASHBELT_TTL_NEVER) != -ENOENT ||
		      scene->state != HASHBELT_FAILED);
	}
	await(waits_in, scene->waiter, __NR_ioctl);
}

static void set_filling_running(struct scene *scene)
{
	set_running(scene);
	FILL(scene, "missing", .lease_ms = 1000 * TTL);
}

static void set_asking(struct scene *scene)
{
	set_reporting(scene);
	watch(scene->belt, HASHBELT_WATCH_REQUESTS);
}

static void set_asked(struct scene *scene)
{
	set_asking(scene);
	must_ask(scene->belt, 1, "small");
	must_ask(scene->belt, 2, "awaited");
}

static void set_answered(struct scene *scene)
{
	set_asked(scene);
	put_text(scene->belt, "small", "new", 0);
	put_text(scene->belt, "awaited", "new", 0);
}

/* A second belt, which has a name. */
static void set_named(struct scene *scene)
{
	set_plain(scene);
	scene->other = named_belt(NAME, REPORT_ALL);
	put_text(scene->other, "there", "value", 0);
}

/* A second descriptor to the belt, to which one entry of each kind is bound. */
static void set_bound(struct scene *scene)
{
	struct hashbelt_item item = text_item("bound", "value");
	char buffer[ONE_EVENT];

	item.how = HASHBELT_BOUND;
	scene->belt = named_belt(NAME, REPORT_ALL);
	SET(scene->belt, .fields = HASHBELT_SET_POLICY, .policy = HASHBELT_PINNED);
	scene->other = open_named(NAME);
	fill_up(scene->belt);
	queue_events(scene->belt, 2);
	must(scene->other, HASHBELT_IOC_PUT, &item);
	must_bind(scene->other, "lock", "me", 0);
	must_ask(scene->other, 1, "awaited");
	watch(scene->other, HASHBELT_WATCH_ACK);
	if (read_into(scene->other, buffer, sizeof(buffer)) <= 0)
		bail_out("no event");
}

/* The limits allow one more belt, so a belt that a failed call leaves makes the next call fail. */
static void set_last_belt(struct scene *scene)
{
	set_plain(scene);
	set_number("max_belts", 3);
	set_number("user_max_belts", 1);
}

/*
 * Each trial has a user of its own. The account of an earlier user may still be there, and then
 * the call does not allocate it.
 */
static void set_user(struct scene *scene)
{
	static unsigned int users;

	set_last_belt(scene);
	setfsuid(USER + users++);
	set_exempt(false);
}

/* An entry has been asked for once: the next get that asks brings it into the window. */
static void set_windowed(struct scene *scene)
{
	set_belt_of(scene, (struct hashbelt_settings){ .window_bytes = HASHBELT_WINDOW_MIN });
	fill_up(scene->belt);
	if (ask(scene->belt, "small"))
		bail_out("the entry cannot be asked for");
}

static void set_prepared(struct scene *scene)
{
	set_windowed(scene);
	must(scene->belt, HASHBELT_IOC_WINDOW, &scene->map);
}

/* Takes all events: those that are queued or held count as entries. */
static void empty(int fd)
{
	struct hashbelt_info info;

	discard_events(fd);
	info = info_of(fd);
	if (info.in_flight)
		ack(fd, info.sequence);
	watch(fd, 0);
	discard_events(fd);
}

static bool is_run_out(void *arg)
{
	return !info_of(*(int *)arg).entries;
}

static bool is_empty(void *arg)
{
	struct hashbelt_info info = info_of(*(int *)arg);

	return !info.entries && !info.used_entries && !info.used_bytes;
}

/* Whether further calls work after the one that had the fault. */
static bool works(int fd)
{
	static const char key[] = "another call";
	struct hashbelt_item item = item_of(key);

	put_text(fd, key, "works", 0);
	return holds_text(fd, key, "works") && !call(fd, HASHBELT_IOC_REMOVE, &item);
}

/* Whether the process that waited for the fill lease has ended, and has no lease. */
static bool is_told(void *arg)
{
	const struct scene *scene = arg;
	int status;

	return waitpid(scene->waiter, &status, WNOHANG) == scene->waiter && !status;
}

/* Ends a scene. Whether the belt works, all its entries expire, and nothing is left in it. */
static bool end_scene(const struct fault_case *test, struct scene *scene)
{
	bool good;

	setfsuid(0);
	set_exempt(true);
	good = works(scene->belt);
	if (!good)
		note("  a put, get and remove after it do not work");
	if (scene->fresh)
		munmap((void *)((uintptr_t)scene->fresh & -PAGE), 2 * PAGE);
	if (scene->other >= 0)
		close(scene->other);
	if (scene->waiter && !at_last(is_told, scene)) {
		note("  the process that waits for the fill lease is not told");
		kill(scene->waiter, SIGKILL);
		waitpid(scene->waiter, NULL, 0);
		good = false;
	}
	advance(scene->belt, 2 * LONG);
	if (!(test->how & STAYS) && !at_last(is_run_out, &scene->belt)) {
		note("  %llu entries do not expire", info_of(scene->belt).entries);
		good = false;
	}
	empty(scene->belt);
	must(scene->belt, HASHBELT_IOC_CLEAR, NULL);
	empty(scene->belt);
	if (!at_last(is_empty, &scene->belt)) {
		note("  %llu entries and %llu bytes are left when all is cleared",
		     info_of(scene->belt).used_entries, info_of(scene->belt).used_bytes);
		good = false;
	}
	destroy_belt(scene->belt, NAME);
	close(scene->belt);
	set_number("max_belts", 131072);
	set_number("user_max_belts", 1024);
	return good;
}

/* Calls. Each takes its arguments from the case, and returns its result, or a negative errno. */

/* A call that takes nothing, or returns one structure. */
static int plain(struct scene *scene, const struct fault_case *test)
{
	static __u64 buffer[512];

	memset(buffer, 0, sizeof(buffer));
	return call(scene->belt, test->request, buffer);
}

static int get(struct scene *scene, const struct fault_case *test)
{
	struct hashbelt_item item = test->item;

	item.key = address(test->key);
	item.key_len = strlen(test->key);
	/* The copy to a page that has not been touched faults, so it cannot be done under RCU. */
	item.value = address(scene->fresh ?: bytes);
	if (!item.value_len)
		item.value_len = scene->fresh ? PAGE : sizeof(bytes);
	return call(scene->belt, HASHBELT_IOC_GET, &item);
}

static int put(struct scene *scene, const struct fault_case *test)
{
	struct hashbelt_item item = test->item;

	item.key = address(test->key);
	item.key_len = strlen(test->key);
	item.value = address(bytes);
	if (item.how & HASHBELT_IF_LEASE)
		item.version = scene->token;
	return call(scene->belt, HASHBELT_IOC_PUT, &item);
}

static int add(struct scene *scene, const struct fault_case *test)
{
	struct hashbelt_sum sum = { .by = 7 };
	struct hashbelt_item item = item_of(test->key);

	item.value = address(&sum);
	item.value_len = sizeof(sum);
	item.ttl_ms = test->item.ttl_ms;
	return call(scene->belt, HASHBELT_IOC_ADD, &item);
}

/* The other ioctls on a key. */
static int on_small(struct scene *scene, const struct fault_case *test)
{
	struct hashbelt_item item = item_of("small");

	item.ttl_ms = test->item.ttl_ms;
	return call(scene->belt, test->request, &item);
}

static int fill_key(struct scene *scene, const struct fault_case *test)
{
	const __u32 ends = HASHBELT_GIVE_UP | HASHBELT_RENEW_LEASE | HASHBELT_FAIL;
	struct hashbelt_fill like = test->fill;

	if (like.how & ends)
		like.token = scene->token;
	return fill(scene, test->key, like);
}

static int lock(struct scene *scene, const struct fault_case *test)
{
	struct hashbelt_lock lock = lock_of(test->key, test->owner ?: "me");

	lock.how = test->item.how;
	lock.ttl_ms = test->item.ttl_ms;
	lock.wait_ms = test->wait_ms;
	return call(scene->belt, test->request, &lock);
}

static int query(struct scene *scene, const struct fault_case *test)
{
	return holder_of(scene->belt, test->key).err;
}

static int release_all(struct scene *scene, const struct fault_case *test)
{
	(void)test;
	return release(scene->belt, "me");
}

static int list_locks(struct scene *scene, const struct fault_case *test)
{
	static __u64 buffer[4096];
	struct hashbelt_locks locks = {
		.owner = address("me"), .owner_len = 2,
		.buffer = address(buffer), .size = sizeof(buffer),
	};

	return call(scene->belt, test->request, &locks);
}

static int scan(struct scene *scene, const struct fault_case *test)
{
	static __u64 buffer[4096];
	struct hashbelt_scan scan = {
		.buffer = address(buffer), .size = test->size ?: sizeof(buffer),
	};

	return call(scene->belt, HASHBELT_IOC_SCAN, &scan);
}

static int stat_all(struct scene *scene, const struct fault_case *test)
{
	__u64 counters[HASHBELT_STAT_COUNT], lags[HASHBELT_LAGS];
	struct hashbelt_stat stat = {
		.counters = address(counters), .count = HASHBELT_STAT_COUNT,
		.lags = address(lags), .lag_count = HASHBELT_LAGS,
	};

	return call(scene->belt, test->request, &stat);
}

static int buckets(struct scene *scene, const struct fault_case *test)
{
	static __u64 counts[4096];
	struct hashbelt_buckets buckets = {
		.counts = address(counts), .count = ARRAY_SIZE(counts),
	};

	return call(scene->belt, test->request, &buckets);
}

static int resume(struct scene *scene, const struct fault_case *test)
{
	int err = call(scene->belt, test->request, NULL);

	/* The belt's time must stand still while its state is compared. */
	must(scene->belt, HASHBELT_IOC_HALT, NULL);
	return err;
}

static int advance_some(struct scene *scene, const struct fault_case *test)
{
	__u64 ms = TTL / 2;

	return call(scene->belt, test->request, &ms);
}

static int set(struct scene *scene, const struct fault_case *test)
{
	return set_belt(scene->belt, test->settings);
}

static int prepare_mapping(struct scene *scene, const struct fault_case *test)
{
	return call(scene->belt, test->request, &scene->map);
}

/* A mapping that has failed leaves nothing: the next one is the descriptor's only one. */
static int map_and_unmap(struct scene *scene, const struct fault_case *test)
{
	struct hashbelt_window_map *map = &scene->map;
	void *at = mmap(NULL, map->bytes, PROT_READ, MAP_SHARED, scene->belt, 0);

	(void)test;
	if (at == MAP_FAILED)
		return -errno;
	/* If the fault comes to this call, it is made again. */
	if (munmap(at, map->bytes) && munmap(at, map->bytes))
		bail_out("munmap: %s", strerror(errno));
	return 0;
}

static int watch_for(struct scene *scene, const struct fault_case *test)
{
	return call(scene->belt, HASHBELT_IOC_WATCH, &test->flags);
}

static int ack_two(struct scene *scene, const struct fault_case *test)
{
	(void)test;
	return ack(scene->belt, 2);
}

/* How many events, or a negative errno. */
static int read_all(struct scene *scene, const struct fault_case *test)
{
	static __u64 buffer[4096];
	ssize_t len = read_into(scene->belt, buffer, sizeof(buffer));

	(void)test;
	return len < 0 ? len : (int)check_events((unsigned char *)buffer, len);
}

static int poll_once(struct scene *scene, const struct fault_case *test)
{
	struct pollfd pollfd = { .fd = scene->belt, .events = POLLIN };
	int n = poll(&pollfd, 1, 0);

	(void)test;
	return n < 0 ? -errno : pollfd.revents;
}

static int ask_one(struct scene *scene, const struct fault_case *test)
{
	(void)test;
	return ASK(scene->belt, 5, 50 * TTL, "one");
}

static int ask_many(struct scene *scene, const struct fault_case *test)
{
	(void)test;
	return ASK(scene->belt, 5, 0, "one", "two", "three", "small", "awaited", "four");
}

static int cancel_id(struct scene *scene, const struct fault_case *test)
{
	return cancel(scene->belt, test->id);
}

static int complete_small(struct scene *scene, const struct fault_case *test)
{
	(void)test;
	return complete(scene->belt, "small");
}

static int create(struct scene *scene, const struct fault_case *test)
{
	struct hashbelt_settings settings = test->settings;

	settings.ttl_ms = TTL;
	settings.mode = 0600;
	return call(scene->belt, HASHBELT_IOC_CREATE, &settings);
}

/* OPEN or DESTROY of the other belt. */
static int with_name(struct scene *scene, const struct fault_case *test)
{
	struct hashbelt_name name = name_of(NAME);

	return call(scene->belt, test->request, &name);
}

static int open_anew(struct scene *scene, const struct fault_case *test)
{
	int fd = open(HASHBELT_DEVICE, O_RDWR | O_CLOEXEC), err = fd < 0 ? -errno : 0;

	(void)scene;
	(void)test;
	if (fd >= 0)
		close(fd);
	return err;
}

static int close_other(struct scene *scene, const struct fault_case *test)
{
	int err = close(scene->other) ? -errno : 0;

	(void)test;
	scene->other = -1;
	return err;
}

#define CASE(what, scene, call, ...) \
	{ .name = what, .set = scene, .act = call, __VA_ARGS__ }
#define REQUEST(what)	.request = HASHBELT_IOC_##what

#define NAMED		{ .name = NAME, .fields = HASHBELT_SET_GID }
#define LARGER_WINDOW	{ \
	.fields = HASHBELT_SET_WINDOW, .window_bytes = 2 * HASHBELT_WINDOW_MIN, \
}

static const struct fault_case cases[] = {
	CASE("get", set_plain, get, .key = "small"),
	CASE("get of a large value", set_plain, get, .key = "large"),
	CASE("get into memory that is not there yet", set_fresh, get, .key = "small"),
	CASE("get that refreshes", set_refreshing, get, .key = "small"),
	CASE("get that touches", set_plain, get, .key = "small",
	     .item = { .how = HASHBELT_AND_TOUCH, .ttl_ms = 50 * TTL }),
	CASE("get into too small a buffer", set_plain, get, .key = "small", .item.value_len = 1,
	     .want = -ERANGE),
	CASE("get into a buffer that cannot be written to its end", set_cut, get, .key = "large",
	     .item.value_len = LARGE, .want = -EFAULT),
	CASE("get without the value", set_plain, get, .key = "large",
	     .item.how = HASHBELT_NO_VALUE),
	CASE("get of a missing key", set_plain, get, .key = "none", .want = -ENOENT),
	CASE("put", set_plain, put, .key = "new", .item.value_len = 10),
	CASE("put over an entry", set_plain, put, .key = "small",
	     .item = { .value_len = 10, .flags = 5 }),
	CASE("put over an entry that is reported", set_reporting, put, .key = "small",
	     .item = { .value_len = 10, .flags = 5 }),
	CASE("put of a large value", set_plain, put, .key = "new", .item.value_len = LARGE),
	CASE("put of a huge value", set_plain, put, .key = "new", .item.value_len = HUGE),
	CASE("put for long", set_plain, put, .key = "new",
	     .item = { .value_len = 10, .ttl_ms = 40 * LONG / 100 }),
	CASE("put of a bound entry", set_plain, put, .key = "new",
	     .item = { .value_len = 10, .how = HASHBELT_BOUND }),
	CASE("put with a stale version", set_plain, put, .key = "small",
	     .item = { .how = HASHBELT_IF_VERSION, .version = 1ULL << 60 }, .want = -ESTALE),
	CASE("put if absent, of a key that exists", set_plain, put, .key = "small",
	     .item.how = HASHBELT_IF_ABSENT, .want = -EEXIST),
	CASE("put that evicts", set_evicting, put, .key = "new", .item.value_len = 10,
	     .how = TAKES),
	CASE("put that completes a request", set_asked, put, .key = "awaited",
	     .item.value_len = 10),
	CASE("put over an entry in its grace time", set_graceful, put, .key = "small",
	     .item = { .value_len = 10, .flags = 5 }),
	CASE("touch", set_plain, on_small, REQUEST(TOUCH), .item.ttl_ms = 50 * TTL),
	CASE("remove", set_plain, on_small, REQUEST(REMOVE)),
	CASE("remove of an entry that is reported", set_reporting, on_small, REQUEST(REMOVE)),
	CASE("expire", set_plain, on_small, REQUEST(EXPIRE)),
	CASE("expire of an entry that is reported", set_reporting, on_small, REQUEST(EXPIRE)),
	CASE("expire of an entry that is reinserted", set_reinserting, on_small, REQUEST(EXPIRE),
	     .how = LOSES | STAYS),
	CASE("add to a missing key", set_plain, add, .key = "new", .item.ttl_ms = 50 * TTL),
	/* The sum has one digit more than the number that was there. */
	CASE("add that makes the number longer", set_plain, add, .key = "number"),
	CASE("scan", set_many, scan),
	CASE("scan into too small a buffer", set_many, scan, .size = 8, .want = -ERANGE),
	CASE("info", set_plain, plain, REQUEST(INFO)),
	CASE("stat", set_plain, stat_all, REQUEST(STAT)),
	CASE("buckets", set_many, buckets, REQUEST(BUCKETS)),
	CASE("clear", set_many, plain, REQUEST(CLEAR), .how = SAFE),
	CASE("halt", set_plain, plain, REQUEST(HALT), .how = SAFE),
	CASE("resume", set_plain, resume, REQUEST(RESUME), .how = RUNS | SAFE),
	CASE("rotate", set_plain, plain, REQUEST(ROTATE), .how = SAFE),
	CASE("advance", set_plain, advance_some, REQUEST(ADVANCE)),
	CASE("set of limits", set_plain, set, .settings = {
		.fields = HASHBELT_SET_MAX_ENTRIES | HASHBELT_SET_MAX_BYTES | HASHBELT_SET_MODE |
			  HASHBELT_SET_GID | HASHBELT_SET_POLICY,
		.max_entries = 1000, .max_bytes = 1 << 20, .mode = 0640, .policy = HASHBELT_EVICT,
	     }),
	CASE("set of time-to-live, buckets, grace time", set_many, set, .settings = {
		.fields = HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS | HASHBELT_SET_GRACE,
		.ttl_ms = 3 * TTL, .buckets = 4096, .grace_ms = TTL,
	     }),
	CASE("set of a window", set_many, set, .settings = LARGER_WINDOW),
	CASE("set of another window", set_windowed, set, .settings = LARGER_WINDOW),
	CASE("get that asks for a slot of the window", set_windowed, get, .key = "small",
	     .item.how = HASHBELT_TO_WINDOW),
	CASE("window", set_windowed, prepare_mapping, REQUEST(WINDOW)),
	CASE("mmap of a window", set_prepared, map_and_unmap),
	CASE("watch with acknowledgment", set_events, watch_for, .flags = HASHBELT_WATCH_ACK),
	CASE("watch of requests", set_reporting, watch_for, .flags = HASHBELT_WATCH_REQUESTS),
	CASE("read", set_events, read_all, .want = 3, .how = UNDONE),
	CASE("read with acknowledgment", set_acking, read_all, .want = 3, .how = UNDONE),
	CASE("read of completed requests", set_answered, read_all, .want = 2, .how = UNDONE),
	CASE("read of completed requests when none is", set_asking, read_all,
	     .want = -EAGAIN, .how = SAFE),
	CASE("acknowledgment", set_in_flight, ack_two),
	CASE("poll", set_events, poll_once, .want = POLLIN, .how = OUTSIDE),
	CASE("poll of requests", set_answered, poll_once, .want = POLLIN, .how = OUTSIDE),
	CASE("request of one key", set_asking, ask_one),
	CASE("request of many keys", set_asking, ask_many),
	CASE("cancel of a request", set_asked, cancel_id, .id = 1),
	CASE("cancel of an unknown request", set_reporting, cancel_id, .id = 77, .want = -ENOENT),
	CASE("complete of a key", set_asked, complete_small, .want = 1),
	CASE("create without a name", set_last_belt, create, .settings.buckets = 16),
	CASE("create with a name", set_last_belt, create, .settings = NAMED),
	CASE("create with a window", set_last_belt, create,
	     .settings.window_bytes = HASHBELT_WINDOW_MIN),
	CASE("create by a user", set_user, create, .settings = NAMED),
	CASE("create with a window, by a user", set_user, create,
	     .settings.window_bytes = HASHBELT_WINDOW_MIN),
	CASE("open of a belt", set_named, with_name, REQUEST(OPEN)),
	CASE("destroy of a belt", set_named, with_name, REQUEST(DESTROY)),
	CASE("next belt", set_named, plain, REQUEST(NEXT)),
	CASE("open of the device", set_plain, open_anew),
	CASE("close of a descriptor with bound entries", set_bound, close_other, .how = SAFE),
	CASE("lock", set_no_locks, lock, REQUEST(LOCK), .key = "free"),
	CASE("lock with a bound lease", set_no_locks, lock, REQUEST(LOCK), .key = "free",
	     .item.how = HASHBELT_BOUND),
	CASE("lock again by its owner", set_locks, lock, REQUEST(LOCK), .key = "taken"),
	CASE("lock that another owner holds", set_locks, lock, REQUEST(LOCK), .key = "taken",
	     .owner = "you", .want = -EBUSY),
	CASE("lock and wait", set_running, lock, REQUEST(LOCK), .key = "taken", .owner = "you",
	     .wait_ms = 1, .want = -ETIMEDOUT, .how = RUNS),
	CASE("unlock", set_locks, lock, REQUEST(UNLOCK), .key = "taken"),
	CASE("renew", set_locks, lock, REQUEST(RENEW), .key = "taken", .item.ttl_ms = TTL / 2),
	CASE("query of a lock's owner", set_locks, query, .key = "taken"),
	CASE("release of an owner's locks", set_locks, release_all, .want = 2),
	CASE("list of locks", set_locks, list_locks, REQUEST(LOCKS)),
	CASE("fill of a key that exists", set_plain, fill_key, .key = "small"),
	CASE("fill of a missing key", set_plain, fill_key, .key = "missing",
	     .fill.lease_ms = 50 * TTL, .want = -ENOENT, .how = MISSES),
	CASE("fill with a bound lease", set_plain, fill_key, .key = "missing",
	     .fill.how = HASHBELT_BOUND, .want = -ENOENT, .how = MISSES),
	CASE("fill ahead of time", set_plain, fill_key, .key = "small", .fill.ahead_ms = 2 * TTL,
	     .how = LOOSE),
	CASE("fill with an old value", set_graceful, fill_key, .key = "small",
	     .fill.how = HASHBELT_STALE, .how = LOOSE),
	CASE("fill and wait", set_filling_running, fill_key, .key = "missing", .fill.wait_ms = 1,
	     .want = -ETIMEDOUT, .how = RUNS | MISSES),
	CASE("give-up of a fill lease", set_filling, fill_key, .key = "missing",
	     .fill.how = HASHBELT_GIVE_UP),
	CASE("put with a fill lease", set_filling, put, .key = "missing",
	     .item = { .value_len = 10, .how = HASHBELT_IF_LEASE }),
	CASE("put with a fill lease that has ended", set_filling_ended, put, .key = "missing",
	     .item = { .value_len = 10, .how = HASHBELT_IF_LEASE }, .want = -ESTALE),
	/* Makes further levels: so long a lease is the first of its shard. */
	CASE("renewal of a fill lease", set_filling, fill_key, .key = "missing",
	     .fill = { .how = HASHBELT_RENEW_LEASE, .lease_ms = LONG }),
	CASE("renewal of a fill lease that has ended", set_filling_ended, fill_key,
	     .key = "missing", .fill = { .how = HASHBELT_RENEW_LEASE, .lease_ms = LONG },
	     .want = -ENOENT),
	CASE("failure of a fill", set_filling, fill_key, .key = "missing",
	     .fill = { .how = HASHBELT_FAIL, .lease_ms = LONG }),
	CASE("failure of a fill that is awaited", set_filling_awaited, fill_key, .key = "missing",
	     .fill = { .how = HASHBELT_FAIL, .lease_ms = LONG }, .how = MISSES),
};

/* Judging */

/**
 * struct trial - the outcome of a call with a fault
 * @point:	the point that failed
 * @result:	of the call
 * @before:	the belt before the call
 * @after:	the belt after the call
 */
struct trial {
	struct point point;
	int result;
	struct belt_snapshot before;
	struct belt_snapshot after;
};

/* The parts of the state that a call with these exceptions keeps. */
static unsigned int care(const struct fault_case *test, unsigned int how)
{
	if (test->how & (UNDONE | LOOSE | TAKES))
		how &= ~WITH_COUNTERS;
	return test->how & (RUNS | TAKES) ? how : how | WITH_CONTENT;
}

/* The state of a belt, without the counter that the call may change in any case. */
static struct belt_snapshot see_for(const struct fault_case *test, int belt)
{
	struct belt_snapshot snapshot = see(belt);

	if (test->how & MISSES)
		snapshot.counters[HASHBELT_STAT_MISSES] = 0;
	return snapshot;
}

/* Whether one event was lost and counted as lost, which is queued in @done. */
static bool lost_one(const struct belt_snapshot *after, const struct belt_snapshot *done)
{
	__u64 lost = after->counters[HASHBELT_STAT_EVENTS_LOST];

	return lost == 1 && after->words[QUEUED] + lost == done->words[QUEUED] &&
	       after->words[SEQUENCE] == done->words[SEQUENCE] &&
	       after->scanned == done->scanned && after->content == done->content;
}

/* Whether this is an error with which a fault may end a call. */
static bool may_say(const struct point *point, int result)
{
	if (!point->known)
		return result == -ENOMEM || result == -EFAULT || result == -ENFILE;
	return result == (point->allocates ? -ENOMEM : -EFAULT);
}

/* Makes the call again, without a fault. Whether it takes effect as if it were the first. */
static bool goes_on(const struct fault_case *test, struct scene *scene,
		    const struct belt_snapshot *done, unsigned int how)
{
	int result = test->act(scene, test);
	struct belt_snapshot snapshot = see_for(test, scene->belt);

	if (result != test->want) {
		note("  made again the call returns %s (%d), expected %d", error_name(result),
		     result, test->want);
		return false;
	}
	return same_belt(&snapshot, done, how);
}

/* Whether the result and the belt are among those that are allowed after this fault. */
static bool is_right(const struct fault_case *test, struct scene *scene,
		     const struct trial *trial, const struct belt_snapshot *done)
{
	bool late = trial->point.writes && !(test->how & UNDONE);
	unsigned int how = care(test, WITH_COUNTERS);

	if (trial->result == test->want && test->how & LOOSE)
		return !trial->point.fired || goes_on(test, scene, done, 0);
	if (trial->result == test->want && test->how & LOSES &&
	    lost_one(&trial->after, done))
		return trial->point.fired;
	if (trial->result == test->want)
		return same_belt(&trial->after, done, how);
	if (!trial->point.fired || !may_say(&trial->point, trial->result))
		return differs("result", trial->result, test->want) && false;
	if (late)
		return same_belt(&trial->after, done, how);
	if (test->how & TAKES)
		return test->act(scene, test) == test->want;
	return same_belt(&trial->after, &trial->before, care(test, how | WITH_VERSIONS)) &&
	       goes_on(test, scene, done, how);
}

static struct trial act(const struct fault_case *test, struct scene *scene,
			enum fault_mode mode, unsigned int n)
{
	struct trial trial = { .before = see_for(test, scene->belt) };

	if (n)
		arm(mode, n);
	trial.result = test->act(scene, test);
	if (n)
		trial.point = fired(mode);
	trial.after = see_for(test, scene->belt);
	return trial;
}

static struct scene scene_of(const struct fault_case *test)
{
	struct scene scene = { .other = -1 };

	test->set(&scene);
	return scene;
}

/* Makes one trial of a call. Whether it passed; *@fired: whether there was a fault. */
static bool try(const struct fault_case *test, enum fault_mode mode, unsigned int n,
		const struct belt_snapshot *done, bool *fired)
{
	struct scene scene = scene_of(test);
	struct trial trial = act(test, &scene, mode, n);
	bool good = is_right(test, &scene, &trial, done);

	good &= end_scene(test, &scene);
	if (!good)
		note("%s: mode \"%s\", n = %u: fault %s, result %s (%d)", test->name,
		     mode_names[mode], n, trial.point.site, error_name(trial.result),
		     trial.result);
	*fired = trial.point.fired;
	return good;
}

/* The state of the belt after the call without a fault. */
static struct belt_snapshot reference(const struct fault_case *test)
{
	struct scene scene = scene_of(test);
	struct trial trial = act(test, &scene, FAULT_POINT, 0);

	if (trial.result != test->want)
		bail_out("%s: %s (%d), expected %d", test->name,
			 error_name(trial.result), trial.result, test->want);
	if (!end_scene(test, &scene))
		bail_out("%s: the belt does not run empty, even without a fault", test->name);
	return trial.after;
}

static void sweep(const struct fault_case *test)
{
	__u64 used = get_parameter("used_bytes");
	struct belt_snapshot done = reference(test);
	unsigned int wrong = 0, n, points[FAULT_SITE + 1] = {};
	enum fault_mode mode;
	bool fired;

	begin_case(test->name);
	for (mode = first; mode <= last; mode++) {
		fired = true;
		for (n = 1; fired && n < POINTS_MAX && wrong < 5; n++) {
			wrong += !try(test, mode, n, &done, &fired);
			points[mode] += fired;
		}
	}
	if (!used_at_last(used))
		wrong++;
	if (!points[first] != !!(test->how & (first == FAULT_SITE ? SAFE | OUTSIDE : SAFE))) {
		note("%s: mode \"%s\" has %u faults, expected %s", test->name, mode_names[first],
		     points[first], points[first] ? "none" : "some");
		wrong++;
	}
	ok(!wrong && !fired,
	   "%s: a fault leaves it undone or complete (%u points, %u allocations, %u sites)",
	   test->name, points[FAULT_POINT], points[FAULT_ALLOCATIONS], points[FAULT_SITE]);
}

/* Batches */

#define BATCH	3

/**
 * struct batch_case - one operation on three keys, in one call
 * @name:	for the test line
 * @op:		the operation
 * @before:	the value of the keys before the batch, or NULL
 * @after:	their value after it, or NULL
 * @want:	the result of each item without a fault
 */
struct batch_case {
	const char *name;
	__u32 op;
	const char *before;
	const char *after;
	int want;
};

static const struct batch_case batches[] = {
	{ "get", HASHBELT_OP_GET, "9", "9" },
	{ "get that misses", HASHBELT_OP_GET, NULL, NULL, -ENOENT },
	{ "get into too small a buffer", HASHBELT_OP_GET, "a long value", "a long value", -ERANGE },
	{ "put", HASHBELT_OP_PUT, NULL, "a value" },
	{ "touch", HASHBELT_OP_TOUCH, "9", "9" },
	{ "remove", HASHBELT_OP_REMOVE, "9", NULL },
	{ "expire", HASHBELT_OP_EXPIRE, "9", NULL },
	{ "add", HASHBELT_OP_ADD, "9", "10" },
};

/**
 * struct batch_items - the memory of a batch
 * @items:	one for each key
 * @sums:	of additions
 * @values:	buffers of gets
 */
struct batch_items {
	struct hashbelt_item items[BATCH];
	struct hashbelt_sum sums[BATCH];
	char values[BATCH][8];
};

/* A key of 8 bytes or more is copied in by words. */
static const char *const batch_keys[BATCH] = { "one", "two", "a third and longer key" };

static struct hashbelt_item batch_item(const struct batch_case *test, struct batch_items *batch,
				       unsigned int i)
{
	struct hashbelt_item item = item_of(batch_keys[i]);

	if (test->op == HASHBELT_OP_PUT)
		item = text_item(batch_keys[i], test->after);
	item.op = test->op;
	item.result = 1;
	if (test->op == HASHBELT_OP_GET) {
		item.value = address(batch->values[i]);
		item.value_len = sizeof(batch->values[i]);
	}
	if (test->op == HASHBELT_OP_TOUCH)
		item.ttl_ms = TTL;
	if (test->op == HASHBELT_OP_ADD) {
		batch->sums[i].by = 1;
		item.value = address(&batch->sums[i]);
		item.value_len = sizeof(batch->sums[i]);
	}
	return item;
}

static void set_items(const struct batch_case *test, struct batch_items *batch)
{
	unsigned int i;

	memset(batch, 0, sizeof(*batch));
	for (i = 0; i < BATCH; i++)
		batch->items[i] = batch_item(test, batch, i);
}

static __u64 time_left(int fd, const char *key)
{
	struct hashbelt_item item = item_of(key);

	item.how = HASHBELT_NO_VALUE;
	must(fd, HASHBELT_IOC_GET, &item);
	return item.ttl_ms;
}

static bool item_is_done(const struct batch_case *test, int fd, const struct batch_items *batch,
			 unsigned int i)
{
	if (test->op == HASHBELT_OP_GET)
		return test->want ? batch->items[i].result == test->want :
				    !strcmp(batch->values[i], test->after);
	if (test->op == HASHBELT_OP_TOUCH)
		return time_left(fd, batch_keys[i]) == TTL;
	return test->after ? holds_text(fd, batch_keys[i], test->after) :
			     !is_there(fd, batch_keys[i]);
}

/* Whether the result of an item fits: @done says whether the operation has taken effect. */
static bool item_is_right(const struct batch_case *test, const struct hashbelt_item *item,
			  const struct point *point, bool done)
{
	if (item->result == test->want)
		return done;
	if (item->result < 0 && !may_say(point, item->result))
		return false;
	return !done || point->writes;
}

/*
 * Three operations in one call. Each item with the result 0 has taken effect. An item that cannot
 * be read or written ends the batch, and may have taken effect; no item behind it has. The same
 * batch works afterwards without a fault.
 */
static bool try_batch(const struct batch_case *test, enum fault_mode mode, unsigned int n,
		      bool *fired_then)
{
	static const struct fault_case end = { .name = "batch" };
	struct scene scene = scene_of(&(struct fault_case){ .set = set_plain });
	struct batch_items given;
	struct hashbelt_batch batch = { .items = address(given.items), .count = BATCH };
	struct point point;
	unsigned int i;
	bool good;
	int err;

	for (i = 0; test->before && i < BATCH; i++)
		put_text(scene.belt, batch_keys[i], test->before, 0);
	/* So no touch makes a level: which shards have one already depends on hashes. */
	advance(scene.belt, TTL / 2);
	set_items(test, &given);
	arm(mode, n);
	err = call(scene.belt, HASHBELT_IOC_BATCH, &batch);
	point = fired(mode);
	*fired_then = point.fired;
	if (err)
		good = point.fired && err == -EFAULT;
	else
		good = point.fired || batch.done == BATCH;
	/* If the call failed, batch.done was not written, and only the items tell. */
	for (i = 0; i < BATCH; i++) {
		good &= item_is_right(test, &given.items[i], &point,
				      item_is_done(test, scene.belt, &given, i));
		good &= err || (i < batch.done) == (given.items[i].result <= 0);
	}
	if (!good)
		note("batch of %s: mode \"%s\", n = %u: fault %s, result %s, done %u", test->name,
		     mode_names[mode], n, point.site, error_name(err), batch.done);
	set_items(test, &given);
	must(scene.belt, HASHBELT_IOC_BATCH, &batch);
	good &= batch.done == BATCH;
	return end_scene(&end, &scene) && good;
}

static void test_batch(const struct batch_case *test)
{
	unsigned int n, wrong = 0, points = 0;
	enum fault_mode mode;
	char name[32];
	bool fired;

	snprintf(name, sizeof(name), "batch of %s", test->name);
	begin_case(name);
	for (mode = first; mode <= last; mode++) {
		fired = true;
		for (n = 1; fired && n < POINTS_MAX && wrong < 5; n++) {
			wrong += !try_batch(test, mode, n, &fired);
			points += fired;
		}
	}
	/* One read of all keys of gets, and one of all items, are a site each. */
	ok(!wrong && points > 2 * BATCH,
	   "%s: a fault leaves each item undone or complete, as its result says (%u faults)", name,
	   points);
}

/* An index that cannot grow for want of memory works on, and grows when there is memory. */
static void test_growth(void)
{
	int belt = new_belt(0);
	unsigned int i, wrong = 0, refused = 0;
	__u64 table = info_of(belt).table;
	struct point point;
	char key[16];

	begin_case("growth");
	for (i = 0; i < 100; i++) {
		struct hashbelt_item item;

		snprintf(key, sizeof(key), "%u", i);
		item = text_item(key, "a value");
		/* The entry is allocated first. */
		arm(FAULT_ALLOCATIONS, 2);
		wrong += call(belt, HASHBELT_IOC_PUT, &item) != 0;
		point = fired(FAULT_ALLOCATIONS);
		refused += point.fired;
		wrong += !holds_text(belt, key, "a value");
	}
	ok(!wrong && refused,
	   "an index without memory to grow takes and finds %u entries (%u faults)", i, refused);
	note("chains: %llu, then %llu", table, info_of(belt).table);
	ok(at_last(widens, &belt),
	   "an index that could not grow for want of memory grows when there is memory");
	close(belt);
}

/*
 * A process that begins to poll for completed requests without memory gets an error, or is woken by
 * the next one.
 */
static void test_epoll(void)
{
	struct scene scene = { .belt = new_belt(0) };
	struct epoll_event event = { .events = EPOLLIN };
	__u32 requests = HASHBELT_WATCH_REQUESTS;
	int fd = epoll_create1(EPOLL_CLOEXEC);

	begin_case("epoll");
	arm(FAULT_ALLOCATIONS, 1);
	if (!call(scene.belt, HASHBELT_IOC_WATCH, &requests))
		note("WATCH allocates nothing");
	fired(FAULT_ALLOCATIONS);
	watch(scene.belt, HASHBELT_WATCH_REQUESTS);
	arm(FAULT_ALLOCATIONS, 1);
	if (epoll_ctl(fd, EPOLL_CTL_ADD, scene.belt, &event))
		bail_out("epoll_ctl: %s", strerror(errno));
	fired(FAULT_ALLOCATIONS);
	must_ask(scene.belt, 1, "awaited");
	if (complete(scene.belt, "awaited") != 1)
		bail_out("the request is not completed");
	is_int(epoll_wait(fd, &event, 1, 10000), 1,
	       "epoll that was set up without memory is woken by a completed request");
	close(fd);
	close(scene.belt);
}

/* Loading */

static int module = -1;

static int load(void)
{
	return syscall(SYS_finit_module, module, "", 0) ? -errno : 0;
}

static void unload(void)
{
	if (syscall(SYS_delete_module, "hashbelt", 0))
		bail_out("rmmod: %s", strerror(errno));
}

/* Whether a file in a directory, or the process of a directory in it, is called hashbelt... */
static bool names_us(const char *directory, bool processes)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	char path[300], name[64];
	bool found = false;
	FILE *file;

	while (dir && !found && (entry = readdir(dir))) {
		snprintf(name, sizeof(name), "%.60s", entry->d_name);
		if (processes) {
			snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
			file = entry->d_name[0] > '9' ? NULL : fopen(path, "r");
			if (!file || !fgets(name, sizeof(name), file))
				name[0] = 0;
			if (file)
				fclose(file);
		}
		found = !strncmp(name, "hashbelt", 8);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Whether the device, the module, its slab caches and the threads of its workqueues are gone. */
static bool is_gone(void *arg)
{
	(void)arg;
	return access(HASHBELT_DEVICE, F_OK) && access("/sys/module/hashbelt", F_OK) &&
	       !names_us("/sys/kernel/slab", false) && !names_us("/sys/kernel/debug/slab", false) &&
	       !names_us("/proc", true);
}

/* Loads the module with a fault. Whether it is loaded, or not loaded and nothing of it is left. */
static bool try_load(enum fault_mode mode, unsigned int n, struct point *point)
{
	int err;

	arm(mode, n);
	err = load();
	*point = fired(mode);
	if (!err && (!point->fired || mode == FAULT_MODULE_POINT)) {
		unload();
		return at_last(is_gone, NULL);
	}
	if (err && point->fired && (!point->known || err == -ENOMEM) &&
	    at_last(is_gone, NULL))
		return true;
	note("load: mode \"%s\", n = %u: %s, fault %s", mode_names[mode], n, error_name(err),
	     point->site);
	return false;
}

/* Making slab caches and workqueues has thousands of points: one in so many is tried. */
#define STRIDE	41

static void test_load_points(void)
{
	struct point point = { .fired = true };
	unsigned int n, wrong = 0;

	for (n = 1; point.fired && n < POINTS_MAX && wrong < 5; n += STRIDE)
		wrong += !try_load(FAULT_MODULE_POINT, n, &point);
	ok(!wrong && n > STRIDE,
	   "loading that fails at one of %u points leaves nothing (one in %u is tried)",
	   n - STRIDE, STRIDE);
}

static void test_load_without_memory(void)
{
	struct point point = { .fired = true };
	unsigned int n, wrong = 0;

	for (n = 1; point.fired && n < POINTS_MAX && wrong < 5; n++)
		wrong += !try_load(FAULT_ALLOCATIONS, n, &point);
	ok(!wrong && n > 30,
	   "loading without memory fails and leaves nothing (%u allocations)", n - 2);
}

static void test_load(void)
{
	begin_case("load");
	if (last == FAULT_SITE)
		test_load_without_memory();
	if (first == FAULT_POINT)
		test_load_points();
	is_int(load(), 0, "the module is loaded when no call fails");
}

int main(int argc, char **argv)
{
	__u64 used;
	unsigned int i;

	if (argc == 2 && !strcmp(argv[1], "--sites"))
		first = FAULT_SITE;
	else if (argc == 2 && !strcmp(argv[1], "--points"))
		last = FAULT_ALLOCATIONS;
	else if (argc > 1)
		bail_out("usage: fault_test [--sites|--points]");
	begin_faults();
	module = open("hashbelt.ko", O_RDONLY | O_CLOEXEC);
	if (module < 0)
		bail_out("hashbelt.ko: %s", strerror(errno));
	unload();
	test_load();
	used = get_parameter("used_bytes");
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		sweep(&cases[i]);
	for (i = 0; i < ARRAY_SIZE(batches); i++)
		test_batch(&batches[i]);
	test_growth();
	test_epoll();
	ok(used_at_last(used), "after all cases the module holds no more memory than before");
	if (last == FAULT_SITE)
		check_sites();
	return done_testing();
}
