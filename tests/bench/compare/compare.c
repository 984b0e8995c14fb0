// SPDX-License-Identifier: GPL-2.0-only
/*
 * compare - the cost of the same operations on a belt and on other caches.
 *
 *	compare [OPTION]... PEER
 *
 *	--entries N		number of entries (100000)
 *	--value-size BYTES	of each value (64)
 *	--buckets N, --belts N	of a belt; the entries are spread over the belts (500, 1)
 *	--rounds N		slices of each operation (200)
 *	--operations LIST	some of them, such as "get hit;put new"
 *	--memory		print the memory that an entry takes, and measure no operation
 *	--idle N		print the memory that each of N idle connections takes, and measure
 *				no operation
 *	--expiry		let the entries expire at once, and print how long gets of others
 *				take before that and in the WINDOW from then on
 *	--unit NAME		print the absolute cost as well, as bench does
 *	--server PROCESS	print the part of the server, whose process that is, as well
 *	--json			print lines of JSON
 *
 * PEER is hashbelt, window (a belt that has one, through the library), lmdb, bpf-hash,
 * bpf-hash-malloc (BPF_F_NO_PREALLOC), bpf-lru, keyring, keyring-id (by serial number),
 * echo=SOCKET (echo.c, no cache), memcached=SOCKET, hbserve=SOCKET, redis=SOCKET, valkey=SOCKET or
 * hbserve-redis=SOCKET.
 *
 * Keys have 16 bytes. An operation is measured in slices that alternate with slices of the floor
 * (measure.h). Its arguments are made before the clock starts, and its results are checked after
 * the clock has stopped.
 *
 * With --server, neither side takes the processor from the other: a task runs until it waits. In
 * which of both a wakeup is followed by a switch would depend on the times that they took before,
 * and change a cost by 14 percent.
 *
 * With --expiry a request for a get comes once a millisecond. Its latency is the time from then to
 * its result: a reader that another task keeps off the processor is late as well.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "hashbelt.h"
#include "compare.h"

/*
 * The kernel frees some memory later, such as that of a cache that has ended. Keys that have
 * expired wait for five seconds (guest.sh).
 */
#define SETTLE		15

/*
 * For so many seconds after an operation, its cache may still enlarge its index or free memory. The
 * floor of the next operation would bear that.
 */
#define PAUSE		3

#define HOUR	(3600 * 1000ull)

/* Entries expire so many milliseconds after the first was put. */
#define LEAD		60000

/* For so many milliseconds, gets are measured before and after the entries expire. */
#define WINDOW		10000

/* For so many milliseconds before that, they are not: servers may count whole seconds. */
#define MARGIN		2000

/* Keys of absent entries begin here. */
#define ABSENT	0x10000000000ull

/* And those of numbers: those of a process, from its number on, are counted by no other. */
#define NUMBERS	0x20000000000ull

/* Hot keys are those of so many entries, for which a window has room. */
#define HOT	1000

/* So many slices read them before they are measured. */
#define WARM	200

/* A map that evicts keeps some free entries for each processor. */
#define SPARE	4096

static const struct peer *const peers[] = {
	&hashbelt_peer, &window_peer, &lmdb_peer, &bpf_hash_peer, &bpf_hash_malloc_peer,
	&bpf_lru_peer, &keyring_peer, &keyring_id_peer, &echo_peer, &memcached_peer, &hbserve_peer,
	&redis_peer, &valkey_peer, &hbserve_redis_peer,
};

/**
 * struct operation - a measured operation
 * @name:	its name in the report
 * @work:	the work of each call
 * @absent:	to keys that are absent at first; otherwise to those of the entries
 * @hot:	to those of HOT entries, which have been read before
 * @put_first:	entries are put before, while the clock does not run
 * @remove_last: and removed after, while the clock does not run
 */
static const struct operation {
	const char *name;
	enum work work;
	bool absent;
	bool hot;
	bool put_first;
	bool remove_last;
} operations[] = {
	{ .name = "get hit", .work = GET },
	{ .name = "get, hot keys", .work = GET, .hot = true },
	{ .name = "get miss", .work = MISS, .absent = true },
	{ .name = "put new", .work = PUT, .absent = true, .remove_last = true },
	{ .name = "put replace", .work = PUT },
	{ .name = "touch", .work = TOUCH },
	{ .name = "remove", .work = REMOVE, .absent = true, .put_first = true },
	{ .name = "count", .work = COUNT },
	{ .name = "get, 64 a call", .work = GET_MANY },
	{ .name = "put, 64 a call", .work = PUT_MANY },
};

static const struct peer *peer;

struct calls calls;

struct plan plan = {
	.entries = 100000, .spare = SPARE, .value_size = 64, .buckets = 500, .belts = 1,
	.ttl_ms = HOUR,
};

static struct figure figure;
static unsigned int rounds = 200;
static uint64_t idle;
static const char *selected;
static bool memory, expiry, json;

static struct key *const keys = calls.keys;
static uint64_t next;
static int floor_fd;

void die(const char *what, const char *why)
{
	fprintf(stderr, "compare: %s: %s: %s\n", peer ? peer->name : "", what, why);
	exit(4);
}

void *zalloc(size_t count, size_t size)
{
	void *p = calloc(count, size);

	if (!p)
		die("memory", strerror(errno));
	return p;
}

/* A deadline of a cache that counts seconds: a part of one counts as a whole one. */
unsigned int seconds(uint64_t ms)
{
	return (ms + 999) / 1000;
}

/* A value is its key, again and again. */
void make_value(char *value, const char *key, size_t size)
{
	for (; size > KEY_SIZE; size -= KEY_SIZE, value += KEY_SIZE)
		memcpy(value, key, KEY_SIZE);
	memcpy(value, key, size);
}

static void set_key(unsigned int i, uint64_t number)
{
	uint64_t bits = mix(number);

	keys[i].number = number;
	for (unsigned int digit = 0; digit < KEY_SIZE; digit++)
		keys[i].text[digit] = "0123456789abcdef"[bits >> (4 * digit) & 15];
}

/* False: the peer has no such operation. */
static bool prepare(enum work work, unsigned int count)
{
	calls.work = work;
	calls.count = count;
	for (unsigned int i = 0; i < count; i++)
		if (work == PUT || work == PUT_MANY)
			make_value(calls.values[i], keys[i].text, plan.value_size);
		else
			memset(calls.values[i], 0, plan.value_size);
	return peer->prepare();
}

/* Dies if a call had a wrong result. */
static void check(void)
{
	int expected = calls.work == MISS ? peer->absent : 0;
	char value[VALUE_MAX];

	if (peer->check && !peer->check())
		return;
	for (unsigned int i = 0; i < calls.count; i++) {
		if (calls.results[i] != expected)
			die("unexpected result", strerror(abs(calls.results[i])));
		if (calls.work != GET && calls.work != GET_MANY)
			continue;
		make_value(value, keys[i].text, plan.value_size);
		if (memcmp(calls.values[i], value, plan.value_size))
			die("get", "it has returned a wrong value");
	}
}

static bool do_untimed(enum work work)
{
	if (!prepare(work, SLICE))
		return false;
	peer->run();
	check();
	return true;
}

static void must(enum work work)
{
	if (!do_untimed(work))
		die("fill", "no such operation");
}

static void fill(void)
{
	for (uint64_t n = 0; n < plan.entries; n += SLICE) {
		for (unsigned int i = 0; i < SLICE; i++)
			set_key(i, (n + i) % plan.entries);
		if (!do_untimed(PUT_MANY))
			must(PUT);
	}
}

static uint64_t time_floor(void)
{
	uint64_t start = now_ns();

	for (unsigned int i = 0; i < SLICE; i++)
		if (ioctl(floor_fd, HASHBELT_IOC_ABI) < 0)
			die("HASHBELT_IOC_ABI", strerror(errno));
	return now_ns() - start;
}

/* In an order that no cache can predict, but for those of numbers. */
static void choose_keys(const struct operation *op)
{
	uint64_t entries = op->hot && plan.entries > HOT ? HOT : plan.entries;

	for (unsigned int i = 0; op->work == COUNT && i < SLICE; i++)
		set_key(i, NUMBERS + getpid() * SLICE + i);
	if (op->work == COUNT)
		return;
	for (unsigned int i = 0; i < SLICE; i++, next++)
		set_key(i, op->absent ? ABSENT + next : mix(next) % entries);
}

/* Calls FUNCTION with each task of the server. Return: the sum of what it returns. */
static uint64_t for_server(uint64_t (*function)(pid_t task))
{
	uint64_t sum = 0;
	struct dirent *entry;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", plan.server);
	tasks = opendir(path);
	if (!tasks)
		die(path, strerror(errno));
	while ((entry = readdir(tasks)))
		if (*entry->d_name != '.')
			sum += function(atoi(entry->d_name));
	closedir(tasks);
	return sum;
}

/* The time that a task has run, in nanoseconds. */
static uint64_t time_of(pid_t task)
{
	unsigned long long ns;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", task);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%llu", &ns) != 1)
		die(path, "cannot read it");
	fclose(file);
	return ns;
}

static uint64_t server_ns(void)
{
	return plan.server ? for_server(time_of) : 0;
}

static uint64_t run_batched(pid_t task)
{
	const struct sched_param none = { 0 };

	if (sched_setscheduler(task, SCHED_BATCH, &none))
		die("SCHED_BATCH", strerror(errno));
	return 0;
}

/* False: the peer has no such operation. */
static bool measure_slice(const struct operation *op, struct slices *slices, uint64_t *served)
{
	uint64_t floor = time_floor(), start, ns, before;
	unsigned int done;

	choose_keys(op);
	if (op->put_first && !do_untimed(PUT))
		return false;
	if (!prepare(op->work, SLICE))
		return false;
	before = server_ns();
	start = now_ns();
	done = peer->run();
	ns = now_ns() - start;
	before = server_ns() - before;
	if (!*served || before < *served)
		*served = before;
	check();
	if (done)
		slices_add(slices, floor, ns, done);
	if (op->remove_last)
		must(REMOVE);
	return true;
}

/* Reads each of the hot keys several times. */
static void warm(const struct operation *op)
{
	for (unsigned int slice = 0; slice < WARM; slice++) {
		choose_keys(op);
		must(GET);
	}
}

static void measure(const struct operation *op)
{
	struct slices slices = { 0 };
	uint64_t served = 0;

	if (op->hot)
		warm(op);
	if (peer->share)
		peer->share();
	for (unsigned int round = 0; round < rounds; round++)
		if (!measure_slice(op, &slices, &served))
			return;
	figure.operation = op->name;
	figure.cost = slices.least;
	figure.floor = slices.floor_least;
	figure.ratio = slices.sum / slices.floor_sum;
	figure.share = peer->share ? peer->share() : 0;
	figure.server = (double)served / SLICE;
	print_cost(&figure, json);
}

/*
 * Bytes of the machine's memory that are not in use. The kernel keeps some free pages for each
 * processor, which it does not count as free.
 */
static uint64_t free_bytes(void)
{
	FILE *file = fopen("/proc/zoneinfo", "r");
	unsigned long number, pages = 0;
	char line[128];

	if (!file)
		die("/proc/zoneinfo", strerror(errno));
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, " pages free %lu", &number) == 1 ||
		    sscanf(line, " count: %lu", &number) == 1)
			pages += number;
	fclose(file);
	return (uint64_t)pages * sysconf(_SC_PAGESIZE);
}

/* Filling takes memory of the machine: that of the cache itself, and that of a server. */
static void measure_memory(void)
{
	uint64_t before;

	sleep(SETTLE);
	before = free_bytes();
	plan.spare = 0;
	peer->open();
	fill();
	sleep(SETTLE);
	print_memory(&figure, ((double)before - free_bytes()) / plan.entries, json);
}

/* Each connection has had a reply, and waits for its next request. */
static void measure_idle(void)
{
	struct rlimit files = { idle + SPARE, idle + SPARE };
	uint64_t before;

	if (setrlimit(RLIMIT_NOFILE, &files))
		die("RLIMIT_NOFILE", strerror(errno));
	peer->open();
	fill();
	sleep(SETTLE);
	before = free_bytes();
	for (uint64_t i = 0; i < idle; i++) {
		peer->open();
		set_key(0, i % plan.entries);
		if (!prepare(GET, 1))
			die("idle", "no such operation");
		peer->run();
		check();
	}
	sleep(SETTLE);
	print_idle(&figure, ((double)before - free_bytes()) / idle, json);
}

static uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

static void sleep_until(uint64_t ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* Entries whose numbers begin at that of the present ones do not expire. */
static void read_until(uint64_t begin, uint64_t end, const char *phase)
{
	struct latencies latencies = { 0 };

	for (uint64_t ms = begin; ms < end; ms++) {
		set_key(0, plan.entries + ms % SLICE);
		if (!prepare(GET, 1))
			die("expiry", "no such operation");
		sleep_until(ms);
		peer->run();
		latencies_add(&latencies, now_ns() - ms * 1000000);
		check();
	}
	print_latencies(&figure, phase, &latencies, json);
}

static void put_slice(uint64_t number, uint64_t ttl_ms)
{
	plan.ttl_ms = ttl_ms;
	for (unsigned int i = 0; i < SLICE; i++)
		set_key(i, number + i);
	if (!do_untimed(PUT_MANY))
		must(PUT);
}

static void measure_expiry(void)
{
	uint64_t due = now_ms() + LEAD;

	plan.entries -= plan.entries % SLICE;
	plan.spare = SLICE;
	peer->open();
	put_slice(plan.entries, HOUR);
	for (uint64_t n = 0; n < plan.entries; n += SLICE) {
		if (now_ms() + WINDOW + 2 * MARGIN > due)
			die("expiry", "the entries expire before all are put");
		put_slice(n, due - now_ms());
	}
	read_until(due - WINDOW - MARGIN, due - MARGIN, "before");
	read_until(due, due + WINDOW, "during");
	for (unsigned int i = 0; i < SLICE; i++)
		set_key(i, i);
	must(MISS);
}

static bool is_selected(const char *name)
{
	char all[512], one[64];

	snprintf(all, sizeof(all), ";%s;", selected ?: name);
	snprintf(one, sizeof(one), ";%s;", name);
	return strstr(all, one);
}

static void measure_all(void)
{
	if (plan.server) {
		for_server(run_batched);
		run_batched(0);
	}
	peer->open();
	fill();
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
		if (!is_selected(operations[i].name) ||
		    (operations[i].work == COUNT && !peer->counts))
			continue;
		sleep(PAUSE);
		measure(&operations[i]);
	}
}

static void usage(const char *why)
{
	fprintf(stderr, "compare: %s; the comment in compare.c says more\n", why);
	exit(2);
}

static uint64_t number(const char *text)
{
	char *end = "";
	uint64_t n = text ? strtoull(text, &end, 10) : 0;

	if (!n || *end)
		usage("a number is missing");
	return n;
}

static void choose_peer(char *name)
{
	char *socket = strchr(name, '=');

	if (socket) {
		*socket = '\0';
		plan.socket = socket + 1;
	}
	for (size_t i = 0; i < sizeof(peers) / sizeof(*peers); i++)
		if (!strcmp(peers[i]->name, name))
			peer = peers[i];
	if (!peer)
		usage("no such peer");
}

static void read_arguments(char **argv)
{
	for (char **arg = argv + 1; *arg; arg++) {
		if (!strcmp(*arg, "--json"))
			json = true;
		else if (!strcmp(*arg, "--memory"))
			memory = true;
		else if (!strcmp(*arg, "--expiry"))
			expiry = true;
		else if (**arg != '-' && !peer)
			choose_peer(*arg);
		else if (!arg[1])
			usage("an argument is missing");
		else if (!strcmp(*arg, "--entries"))
			plan.entries = number(*++arg);
		else if (!strcmp(*arg, "--idle"))
			idle = number(*++arg);
		else if (!strcmp(*arg, "--value-size"))
			plan.value_size = number(*++arg);
		else if (!strcmp(*arg, "--buckets"))
			plan.buckets = number(*++arg);
		else if (!strcmp(*arg, "--belts"))
			plan.belts = number(*++arg);
		else if (!strcmp(*arg, "--rounds"))
			rounds = number(*++arg);
		else if (!strcmp(*arg, "--operations"))
			selected = *++arg;
		else if (!strcmp(*arg, "--server"))
			plan.server = number(*++arg);
		else if (!strcmp(*arg, "--unit"))
			figure.unit = *++arg;
		else
			usage("no such option");
	}
	if (!peer)
		usage("PEER is missing");
	if (plan.value_size > VALUE_MAX)
		usage("values may have 4096 bytes");
}

int main(int argc, char **argv)
{
	(void)argc;
	read_arguments(argv);
	figure.peer = peer->name;
	figure.entries = plan.entries;
	figure.value_size = plan.value_size;
	if (peer->is_belt) {
		figure.buckets = plan.buckets;
		figure.belts = plan.belts;
	}
	prctl(PR_SET_TIMERSLACK, 1);
	floor_fd = open(HASHBELT_DEVICE, O_RDWR | O_CLOEXEC);
	if (floor_fd < 0)
		die(HASHBELT_DEVICE, strerror(errno));
	if (memory)
		measure_memory();
	else if (idle)
		measure_idle();
	else if (expiry)
		measure_expiry();
	else
		measure_all();
	return 0;
}
