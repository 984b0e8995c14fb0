// SPDX-License-Identifier: GPL-2.0-only
/*
 * oom_test - the OOM killer kills processes while eight of them put.
 *
 * For a guest with little memory. An eater is a process that takes all memory until it is
 * killed. The kernel kills it, and half of the processes that put. The belts cause no
 * other kill, and their counts stay right: each entry is present, or counted as
 * removed or given up. The other processes continue. Entries bound to a descriptor of a
 * killed process are gone. Needs the superuser.
 */
#include <sys/stat.h>

#include "events.h"
#include "stock.h"

#define PUTTERS		8
#define KEYS		1000	/* of each */
#define VALUE_MAX	20000

/**
 * struct putter - a process that puts, removes and gets; shared
 * @belt:	the belt that it uses
 * @number:	its number, a part of its keys
 * @turns:	number of operations
 * @failed:	number of operations that failed with ENOMEM
 * @wrong:	number of operations with another error, or with a wrong value
 * @trying:	for each key, the value of the last put that was begun; 0: a remove
 * @done:	for each key, the value of the last put that returned; 0: none
 */
struct putter {
	int belt;
	unsigned int number;
	unsigned long long turns;
	unsigned long long failed;
	unsigned long long wrong;
	__u32 trying[KEYS];
	__u32 done[KEYS];
};

static struct putter *putters;
static const __u32 lens[] = { 100, 1000, 4000, VALUE_MAX, 100 };
static const struct hashbelt_settings kinds[] = {
	{ .policy = HASHBELT_PINNED },
	{ .policy = HASHBELT_EVICT },
	{ .handler = HASHBELT_NOTIFY },
};

#define BELTS	ARRAY_SIZE(kinds)

static int belts[BELTS];

static bool is_pinned(const struct putter *putter)
{
	return !(putter->number % BELTS);
}

/* Writes the value's number to both of its ends. */
static void fill(unsigned char *value, __u32 number)
{
	__u32 len = lens[number % ARRAY_SIZE(lens)];

	memset(value, 0, len);
	memcpy(value, &number, sizeof(number));
	memcpy(value + len - sizeof(number), &number, sizeof(number));
}

static struct hashbelt_item item_for(const __u32 key[2], void *value)
{
	return (struct hashbelt_item){
		.key = address(key), .key_len = 2 * sizeof(*key), .value = address(value),
		.value_len = VALUE_MAX, .ttl_ms = HASHBELT_TTL_NEVER,
	};
}

/* The number of the value that is found, 0 if there is none, ~0 if it is no valid value. */
static __u32 value_of(const struct putter *putter, __u32 at)
{
	static unsigned char got[VALUE_MAX], want[VALUE_MAX];
	__u32 key[2] = { putter->number, at }, number;
	struct hashbelt_item item = item_for(key, got);
	int err;

	item.ttl_ms = 0;
	err = call(putter->belt, HASHBELT_IOC_GET, &item);
	if (err)
		return err == -ENOENT ? 0 : ~0U;
	memcpy(&number, got, sizeof(number));
	fill(want, number);
	if (item.value_len != lens[number % ARRAY_SIZE(lens)] ||
	    memcmp(got, want, item.value_len))
		return ~0U;
	return number;
}

/* One put or remove. Sets @trying before the call and @done after it: it may be killed. */
static void change(struct putter *putter, __u32 at, __u32 number)
{
	static unsigned char value[VALUE_MAX];
	__u32 key[2] = { putter->number, at };
	struct hashbelt_item item = item_for(key, value);
	int err;

	__atomic_store_n(&putter->trying[at], number, __ATOMIC_SEQ_CST);
	if (number) {
		fill(value, number);
		item.value_len = lens[number % ARRAY_SIZE(lens)];
		err = call(putter->belt, HASHBELT_IOC_PUT, &item);
	} else {
		item.ttl_ms = 0;
		err = call(putter->belt, HASHBELT_IOC_REMOVE, &item);
		if (err == -ENOENT && (!putter->done[at] || !is_pinned(putter)))
			err = 0;
	}
	if (err == -ENOMEM) {
		putter->failed++;
		number = putter->done[at];
		putter->trying[at] = number;
	} else if (err) {
		putter->wrong++;
	}
	__atomic_store_n(&putter->done[at], number, __ATOMIC_SEQ_CST);
}

/* Return: true if @number can be the value of a key: only this putter uses the key. */
static bool can_be_found(const struct putter *putter, __u32 at, __u32 number)
{
	if (number == putter->done[at] || number == putter->trying[at])
		return true;
	return !number && !is_pinned(putter);
}

static void set_score(const char *score)
{
	if (!write_line("/proc/self/oom_score_adj", score))
		bail_out("oom_score_adj: %s", strerror(errno));
}

#define GROUP	"/sys/fs/cgroup/hashbelt-oom/"

/**
 * struct role - the role of a process
 * @putter:	its putter, or NULL for an eater
 * @score:	oom_score_adj: the process with the greatest one is killed first
 * @in_group:	true if it runs in the cgroup
 */
struct role {
	struct putter *putter;
	const char *score;
	bool in_group;
};

static void assume(const struct role *role)
{
	set_score(role->score);
	if (role->in_group && !write_line(GROUP "cgroup.procs", "0"))
		bail_out("cgroup.procs: %s", strerror(errno));
}

static bool *stop;

/* A putter. An entry is bound to its own descriptor, and goes when it is killed. */
static int put_on(void *arg)
{
	const struct role *role = arg;
	struct putter *putter = role->putter;
	struct hashbelt_item bound = text_item("bound", "value");
	__u32 number = 0, random = putter->number + 1, at;
	int fd;

	assume(role);
	fd = open_device(O_RDWR);
	must(fd, HASHBELT_IOC_CREATE, &(struct hashbelt_settings){
		.policy = HASHBELT_PINNED, .ttl_ms = TTL });
	bound.how = HASHBELT_BOUND;
	must(fd, HASHBELT_IOC_PUT, &bound);
	while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE)) {
		random = random * 1103515245 + 12345;
		at = random / 65536 % KEYS;
		if (random >> 29)
			change(putter, at, random >> 28 == 15 ? 0 : ++number);
		else
			putter->wrong += !can_be_found(putter, at, value_of(putter, at));
		putter->turns++;
	}
	return 0;
}

/* An eater: takes memory until it is killed. */
static int eat(void *arg)
{
	unsigned char *pages;
	size_t at;

	assume(arg);
	for (;;) {
		pages = fresh_pages(MIB);
		for (at = 0; at < MIB; at += PAGE)
			pages[at] = 1;
	}
	return 0;
}

/* Waits for the end of a process; returns true if the kernel killed it. */
static bool was_killed(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGKILL;
}

/* The accounts */

static bool is_balanced(int belt)
{
	return counter(belt, HASHBELT_STAT_PUTS_NEW) ==
	       info_of(belt).entries + counter(belt, HASHBELT_STAT_REMOVES) +
	       counter(belt, HASHBELT_STAT_PRESSURE) + counter(belt, HASHBELT_STAT_EVICTED);
}

static void check_accounts(const char *what)
{
	unsigned int kind, wrong = 0, unbalanced = 0, charged = 0, i;
	struct hashbelt_info info;
	__u32 at;

	for (i = 0; i < PUTTERS; i++) {
		for (at = 0; at < KEYS; at++)
			wrong += !can_be_found(&putters[i], at, value_of(&putters[i], at));
		wrong += putters[i].wrong;
	}
	/* No process uses the belts now. */
	for (kind = 0; kind < BELTS; kind++) {
		unbalanced += !is_balanced(belts[kind]);
		must(belts[kind], HASHBELT_IOC_CLEAR, NULL);
		advance(belts[kind], 0);
		discard_events(belts[kind]);
		info = info_of(belts[kind]);
		charged += info.used_entries || info.used_bytes;
	}
	is_int(wrong, 0, "%s: each key has the value of its last put, or was given up", what);
	is_int(unbalanced, 0, "%s: each new entry is present or counted as removed or given up",
	       what);
	is_int(charged, 0, "%s: no charge against the limits is left in a belt that is cleared",
	       what);
}

static void make_belts(void)
{
	unsigned int i;

	memset(putters, 0, PUTTERS * sizeof(*putters));
	for (i = 0; i < BELTS; i++) {
		struct hashbelt_settings settings = kinds[i];

		settings.max_bytes = 1ULL << 40;
		belts[i] = belt_of(settings);
		set_blocking(belts[i], false);
	}
	for (i = 0; i < PUTTERS; i++)
		putters[i] = (struct putter){ .belt = belts[i % BELTS], .number = i };
	*stop = false;
}

static void end_belts(const char *what, __u64 before)
{
	unsigned long long turns = 0, failed = 0, given = 0;
	unsigned int i;

	for (i = 0; i < PUTTERS; i++) {
		turns += putters[i].turns;
		failed += putters[i].failed;
	}
	for (i = 0; i < BELTS; i++) {
		given += counter(belts[i], HASHBELT_STAT_PRESSURE);
		put_text(belts[i], "key", "value", 0);
	}
	ok(holds_text(belts[0], "key", "value") && holds_text(belts[1], "key", "value") &&
	   holds_text(belts[2], "key", "value"), "%s: put and get work on all belts", what);
	for (i = 0; i < BELTS; i++)
		close(belts[i]);
	ok(used_at_last(before),
	   "%s: used_bytes returns to its start when the belts are closed", what);
	note("%llu turns, %llu puts failed, %llu entries given up", turns, failed, given);
}

static unsigned long long count_kills(void)
{
	return proc_number("/proc/vmstat", "oom_kill ");
}

/* Half of the processes that put are killed, mostly within a put; the others may not be. */
static void test_putters(const char *what, bool in_group)
{
	struct role roles[PUTTERS], eater = { .score = "0", .in_group = in_group };
	__u64 before = get_parameter("used_bytes");
	unsigned long long kills = count_kills();
	unsigned int i, killed = 0, bad = 0;
	pid_t pids[PUTTERS];
	bool eaten;

	make_belts();
	for (i = 0; i < PUTTERS; i++) {
		roles[i] = (struct role){
			.putter = &putters[i], .score = i % 2 ? "1000" : "-1000",
			.in_group = in_group && i % 2,
		};
		pids[i] = start(put_on, &roles[i]);
	}
	while (!putters[PUTTERS - 1].turns)
		usleep(1000);
	/* Killed last: the eater takes memory until the others are gone. */
	eaten = was_killed(start(eat, &eater));
	for (i = 1; i < PUTTERS; i += 2)
		killed += was_killed(pids[i]);
	__atomic_store_n(stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < PUTTERS; i += 2)
		bad += finish(pids[i]) || !putters[i].turns;
	ok(eaten && killed == PUTTERS / 2,
	   "%s: the OOM killer ends the eater and half of the processes that put", what);
	is_int(bad, 0, "%s: processes that may not be killed put on, and exit with 0", what);
	is_int(count_kills() - kills, PUTTERS / 2 + 1,
	       "%s: the OOM killer ends no process but the eater and that half", what);
	check_accounts(what);
	end_belts(what, before);
}

static void test_group(void)
{
	if (!write_line("/sys/fs/cgroup/cgroup.subtree_control", "+memory") ||
	    mkdir(GROUP, 0755) || !write_line(GROUP "memory.max", "48M"))
		bail_out("cgroup: %s", strerror(errno));
	test_putters("half of a cgroup is killed", true);
	is_int(rmdir(GROUP), 0, "the cgroup can be removed after the OOM kills in it");
}

int main(void)
{
	__u64 limit = get_parameter("max_bytes");

	putters = shared_memory(PUTTERS * sizeof(*putters));
	stop = shared_memory(sizeof(*stop));
	set_number("max_bytes", 1ULL << 40);
	set_score("-1000");
	ok(write_line("/proc/sys/vm/panic_on_oom", "0"),
	   "the kernel is set to kill and not to panic without memory");
	test_putters("half of the putters is killed", false);
	test_group();
	set_number("max_bytes", limit);
	return done_testing();
}
