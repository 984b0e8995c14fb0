// SPDX-License-Identifier: GPL-2.0-only
/*
 * window_test - the library's reader of windows, in a window that the test makes and changes.
 *
 * The device is a memfd, which holds the window. The test has its own ioctl(), mmap() and
 * clock_gettime() in place of the C library's (-Wl,--wrap). The test changes the window also in the
 * middle of a read: when the reader takes the time, and when it touches the header.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../device/tap.h"
#include "array_size.h"
#include "client_window.h"

#define PAGE	4096
#define SETS	32
#define BYTES	(PAGE + SETS * HASHBELT_WINDOW_WAYS * sizeof(struct hashbelt_window_slot))
#define MS	1000000LL
#define SECOND	1000000000LL
#define NEVER	(~0ULL)
#define SEED	0x0123456789abcdefULL

/*
 * The errors that the device returns, the shift of its clock, and counts of the calls. If
 * @until_signal is not 0, a signal comes before that item of batches, from 1 on.
 */
static struct {
	int window_error, map_error, bind_error;
	__s64 shift_ns;
	unsigned int gets, asks, maps, batches, until_signal;
} device;

/* CLOCK_BOOTTIME, ns; whether the kernel is asked for it; a function that each reading calls. */
static __u64 boottime = 10000 * SECOND;
static int clock_by_call;
static void (*on_clock)(void);

/* A function that each call of OPEN calls. */
static void (*on_bind)(void);

/* The window as the kernel sees it. */
static int window_fd;
static struct hashbelt_window *window;

static void *map(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

static int fail(int err)
{
	errno = err;
	return err ? -1 : 0;
}

/* The entry of a get by the call has no value, and a version that no slot has. */
static int device_get(struct hashbelt_item *item)
{
	__atomic_fetch_add(&device.gets, 1, __ATOMIC_RELAXED);
	if (item->how & HASHBELT_TO_WINDOW)
		__atomic_fetch_add(&device.asks, 1, __ATOMIC_RELAXED);
	item->value_len = 0;
	item->version = ~0ULL;
	return 0;
}

/* Gets have an entry as above; other operations do nothing. */
static int device_batch(struct hashbelt_batch *batch)
{
	struct hashbelt_item *items = (struct hashbelt_item *)(uintptr_t)batch->items;

	device.batches++;
	for (; batch->done < batch->count; batch->done++) {
		if (device.until_signal == 1 && batch->done)
			return 0;
		if (device.until_signal && !--device.until_signal)
			return fail(EINTR);
		items[batch->done].result = 0;
		if (items[batch->done].op == HASHBELT_OP_GET)
			device_get(&items[batch->done]);
	}
	return 0;
}

int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	struct hashbelt_window_map *map = arg;

	(void)fd;
	switch (request) {
	case HASHBELT_IOC_ABI:
		return HASHBELT_ABI;
	case HASHBELT_IOC_OPEN:
		if (on_bind)
			on_bind();
		return fail(device.bind_error);
	case HASHBELT_IOC_GET:
		return device_get(arg);
	case HASHBELT_IOC_BATCH:
		return device_batch(arg);
	case HASHBELT_IOC_WINDOW:
		map->bytes = BYTES;
		map->shift_ns = device.shift_ns;
		return fail(device.window_error);
	}
	return fail(ENOTTY);
}

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	void *mapping;

	if (fd < 0)
		return map(address, bytes, protection, flags, fd, offset);
	__atomic_fetch_add(&device.maps, 1, __ATOMIC_RELAXED);
	if (fail(device.map_error))
		return MAP_FAILED;
	if (protection != PROT_READ || flags != MAP_SHARED || bytes != BYTES || offset)
		bail_out("the library maps the window in another way than hashbelt.h says");
	mapping = map(address, bytes, protection, flags, window_fd, offset);
	/* The device gives its mappings this advice. */
	madvise(mapping, bytes, MADV_DONTFORK);
	return mapping;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *time)
{
	if (id != CLOCK_BOOTTIME || clock_by_call)
		return syscall(SYS_clock_gettime, id, time);
	if (on_clock)
		on_clock();
	time->tv_sec = boottime / SECOND;
	time->tv_nsec = boottime % SECOND;
	return 0;
}

static __u64 hash_of(const char *key, size_t len)
{
	__u64 hash = SEED ^ len, word = 0;
	size_t i;

	for (i = 0; i + 8 < len; i += 8) {
		memcpy(&word, key + i, 8);
		hash = hashbelt_window_mix(hash, word);
	}
	if (len < 8)
		memcpy(&word, key, len);
	else
		memcpy(&word, key + len - 8, 8);
	return hashbelt_window_mix(hash, word);
}

/* A slot of the key's set. */
static struct hashbelt_window_slot *slot_of(const char *key, size_t len, unsigned int way)
{
	struct hashbelt_window_slot *slots = (void *)((char *)window + PAGE);

	return slots + hash_of(key, len) % SETS * HASHBELT_WINDOW_WAYS + way;
}

/* Writes an entry into a slot: version 7, flags 0xabcd, and a deadline ten seconds away. */
static struct hashbelt_window_slot *show(const char *key, size_t len, const void *value,
					 size_t value_len, unsigned int way)
{
	struct hashbelt_window_slot *slot = slot_of(key, len, way);

	*slot = (struct hashbelt_window_slot){
		.sequence = slot->sequence + 2, .version = 7, .flags = 0xabcd,
		.deadline_ns = boottime + window->offset_ns + 10 * SECOND,
		.tag = hash_of(key, len) >> 32, .key_len = len, .value_len = value_len,
	};
	memcpy(slot->data, key, len);
	memcpy((char *)slot->data + (len + 7) / 8 * 8, value, value_len);
	return slot;
}

/* A window of "key" alone, with belt time 500 seconds behind CLOCK_BOOTTIME. */
static struct hashbelt_window_slot *reset(void)
{
	memset(window, 0, BYTES);
	*window = (struct hashbelt_window){
		.layout = HASHBELT_WINDOW_LAYOUT, .slots_at = PAGE, .sets = SETS, .seed = SEED,
		.floor = 3, .offset_ns = -500 * SECOND,
	};
	memset(&device, 0, sizeof(device));
	return show("key", 3, "value", 5, 2);
}

static struct hashbelt *open_unmapped(void)
{
	struct hashbelt *belt;

	reset();
	if (hashbelt_fdopen(dup(window_fd), &belt))
		bail_out("no handle");
	return belt;
}

static struct hashbelt *open_handle(void)
{
	struct hashbelt *belt = open_unmapped();

	if (hashbelt_window_map(belt))
		bail_out("no window");
	return belt;
}

/* A look into the window, which is not the one of 64 that is left to the kernel. */
static enum window_answer look(struct hashbelt *belt, const void *key, size_t len, void *buffer,
			       size_t size, struct hashbelt_item *item)
{
	struct window_reader *reader = window_reader_of(belt);
	int i;

	for (i = 0; i < WINDOW_STRIPES; i++)
		reader->stripes[i].left = WINDOW_TOLD;
	return hashbelt_window_get(reader, key, len, buffer, size, item);
}

/* Answers of find() other than a hit. */
#define ASK	(-1)
#define CALL	(-2)
#define WRONG	(-3)

/* Looks for a key of three bytes. Return: the time left of "key" in ms, or one of the above. */
static long long find(struct hashbelt *belt, const char *key, __u32 how)
{
	struct hashbelt_item item = { .how = how };
	char buffer[6] = "";
	enum window_answer answer = look(belt, key, 3, buffer, 5, &item);

	if (answer == WINDOW_HIT)
		return item.version == 7 && item.flags == 0xabcd && item.value_len == 5 &&
		       !strcmp(buffer, "value") ? (long long)item.ttl_ms : WRONG;
	if (item.version || item.value_len || item.flags || item.ttl_ms)
		return WRONG;
	return answer == WINDOW_ASK ? ASK : CALL;
}

/* All keys and values that fit. */
static void test_lengths(struct hashbelt *belt)
{
	char data[HASHBELT_WINDOW_DATA + 2], buffer[HASHBELT_WINDOW_DATA + 1];
	struct hashbelt_window_slot *slot;
	struct hashbelt_item item = { 0 };
	size_t key, value, i;
	int wrong = 0;

	for (i = 0; i < sizeof(data); i++)
		data[i] = 'a' + i % 26;
	for (key = 1; key <= HASHBELT_WINDOW_DATA; key++) {
		for (value = 0; (key + 7) / 8 * 8 + value <= HASHBELT_WINDOW_DATA; value++) {
			reset();
			memset(buffer, '#', sizeof(buffer));
			slot = show(data, key, data + 1, value, key % 4);
			if (value && look(belt, data, key, buffer, value - 1, &item) != WINDOW_ASK)
				wrong++;
			item = (struct hashbelt_item){ 0 };
			if (look(belt, data, key, value ? buffer : NULL, value, &item) ||
			    item.version != 7 || item.flags != 0xabcd || item.value_len != value ||
			    memcmp(buffer, data + 1, value) || buffer[value] != '#')
				wrong++;
			((char *)slot->data)[value % key] ^= 1;
			wrong += look(belt, data, key, buffer, value, &item) != WINDOW_ASK;
		}
	}
	is_int(wrong, 0, "what fits into a slot is read whole, by its key, if there is room");
	ok(look(belt, data, 0, buffer, 1, &item) == WINDOW_CALL &&
	   look(belt, data, HASHBELT_WINDOW_DATA + 1, buffer, 1, &item) == WINDOW_CALL,
	   "a get without a key, or with one that fits into no slot, is left to the kernel");
}

/* Slots that no kernel makes. */
static void test_hostile(struct hashbelt *belt)
{
	static const __u32 lengths[] = { 81, 88, 89, 0x7fffffff, 0xfffffff8, ~0U, 0, 2, 4, 8 };
	struct hashbelt_item item = { 0 };
	size_t i, hits = 0;
	char buffer[100];

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		reset()->key_len = lengths[i];
		hits += find(belt, "key", 0) != ASK;
		reset()->value_len = lengths[i];
		hits += i < 6 && look(belt, "key", 3, buffer, ~0UL, &item) != WINDOW_ASK;
	}
	is_int(hits, 0, "a slot with another length of the key or a value beyond its end: no hit");
}

static void change_clock(void)
{
	window->clock += 2;
}

static void begin_change(void)
{
	window->clock++;
}

static void kill_window(void)
{
	window->state = HASHBELT_WINDOW_DEAD;
	window->clock |= 1;
}

static void leave_alone(void)
{
}

static void replace(void)
{
	show("key", 3, "other", 5, 2);
}

static void begin_replacing(void)
{
	slot_of("key", 3, 2)->sequence++;
}

static void raise_floor(void)
{
	window->floor = 7;
}

/* The page of the handle's mapping that traps, and what happens then. */
static void *trapped;
static void (*on_trap)(void);

static void trap(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	if (!trapped || (char *)info->si_addr < (char *)trapped ||
	    (char *)info->si_addr >= (char *)trapped + PAGE)
		abort();
	mprotect(trapped, PAGE, PROT_READ);
	on_trap();
}

#define RENEWS	HASHBELT_WINDOW_RENEWS
#define DEAD	HASHBELT_WINDOW_DEAD

/*
 * States of a window that has "key", and what a look for it finds: the time left in ms, or ASK or
 * CALL. @passed: since the copy was made, ns. @halted: after that moment. @floor: more than usual.
 * @on_clock: changes the window when the reader takes the time. @on_header: when it touches the
 * header, with the slot half read.
 */
static const struct state {
	const char *what;
	long long left;
	__u32 how, state, clock, sequence;
	int floor;
	__u64 passed, deadline;
	__s64 halted;
	bool empty;
	const char *key;
	void (*on_clock)(void);
	void (*on_header)(void);
} states[] = {
	{ "a key in the window", .left = 10000 },
	{ "with NO_REFRESH", 10000, .how = HASHBELT_NO_REFRESH },
	{ "a key that is not there", ASK, .key = "kex" },
	{ "a slot with an odd sequence", ASK, .sequence = 1 },
	{ "an entry above the floor", 10000, .floor = 3 },
	{ "an entry at the floor", ASK, .floor = 4 },
	{ "an empty slot", ASK, .floor = -3, .empty = true },
	{ "where gets renew", CALL, .state = RENEWS },
	{ "where gets renew, another key", CALL, .state = RENEWS, .key = "kex" },
	{ "where other gets renew", 10000, .how = HASHBELT_NO_REFRESH, .state = RENEWS },
	{ "there, another key", ASK, .how = HASHBELT_NO_REFRESH, .state = RENEWS, .key = "kex" },
	{ "a dead window", ASK, .state = DEAD, .clock = 1 },
	{ "there, an entry without a deadline", ASK, .state = DEAD, .clock = 1, .deadline = NEVER },
	{ "an entry without a deadline", HASHBELT_TTL_NEVER, .deadline = NEVER },
	{ "1 ms and 1 ns before the deadline", 2, .passed = 10 * SECOND - MS - 1 },
	{ "1 ms before the deadline", 1, .passed = 10 * SECOND - MS },
	{ "1 ns before the deadline", 1, .passed = 10 * SECOND - 1 },
	{ "at the deadline", ASK, .passed = 10 * SECOND },
	{ "a belt that was halted before", 11000, .halted = -SECOND },
	{ "a belt that was halted at the deadline", ASK, .halted = 10 * SECOND },
	{ "a clock that changes", ASK, .clock = 5 },
	{ "a clock that has changed", 10000, .clock = 6 },
	{ "a clock that was changed meanwhile", ASK, .on_clock = change_clock },
	{ "a clock that began to change meanwhile", ASK, .on_clock = begin_change },
	{ "a window that died meanwhile", ASK, .on_clock = kill_window },
	{ "a look that traps", 10000, .on_header = leave_alone },
	{ "a slot that was replaced meanwhile", ASK, .on_header = replace },
	{ "a slot whose replacement began meanwhile", ASK, .on_header = begin_replacing },
	{ "an entry that was cleared meanwhile", ASK, .on_header = raise_floor },
};

static long long find_in(struct hashbelt *belt, const struct state *state)
{
	struct hashbelt_window_slot *slot = reset();
	__u64 before = boottime;
	long long left;

	window->state = state->state;
	window->clock = state->clock;
	window->halted_ns = state->halted ? boottime + window->offset_ns + state->halted : 0;
	window->floor += state->floor;
	slot->sequence += state->sequence;
	if (state->empty)
		slot->version = 0;
	slot->deadline_ns = state->deadline ? state->deadline : slot->deadline_ns;
	boottime += state->passed;
	on_clock = state->on_clock;
	on_trap = state->on_header;
	trapped = on_trap ? (void *)window_reader_of(belt)->window : NULL;
	if (trapped)
		mprotect(trapped, PAGE, PROT_NONE);
	left = find(belt, state->key ? state->key : "key", state->how);
	on_clock = NULL;
	boottime = before;
	return left;
}

static void test_states(struct hashbelt *belt)
{
	struct sigaction action = { .sa_sigaction = trap, .sa_flags = SA_SIGINFO };
	struct state state = { .how = 1 };
	size_t i;

	if (sigaction(SIGSEGV, &action, NULL))
		bail_out("no handler");
	for (i = 0; i < ARRAY_SIZE(states); i++)
		is_int(find_in(belt, &states[i]), states[i].left, "%s", states[i].what);
	signal(SIGSEGV, SIG_DFL);
	for (; state.how; state.how <<= 1)
		if (state.how != HASHBELT_NO_REFRESH && find_in(belt, &state) != CALL)
			ok(false, "the modifier 0x%x is left to the kernel", state.how);
}

/* A namespace of time that adds an hour. */
static void test_namespace(void)
{
	struct hashbelt *belt = open_unmapped();
	__u64 before = boottime;

	device.shift_ns = 3600 * SECOND;
	boottime += 3600 * SECOND;
	ok(!hashbelt_window_map(belt) && find(belt, "key", 0) == 10000,
	   "what a time namespace adds to CLOCK_BOOTTIME is taken off");
	/* The entry has expired since, and the process enters the initial namespace. */
	boottime = before + 11 * SECOND;
	device.shift_ns = 0;
	ok(!hashbelt_window_map(belt) && device.maps == 1,
	   "after setns() a mapped window can be mapped again, and the mapping is the same");
	is_int(find(belt, "key", 0), ASK, "in that namespace an expired entry is no hit");
	boottime = before + 4 * SECOND;
	is_int(find(belt, "key", 0), 6000, "in that namespace the time left is by its clock");
	boottime = before;
	hashbelt_close(belt);
}

/* A call needs the key once more if the value turns out not to be whole. */
static void test_overlap(struct hashbelt *belt)
{
	char buffer[3 + HASHBELT_WINDOW_DATA + 3];
	struct hashbelt_item item = { 0 };
	size_t at, last = sizeof(buffer) - 3;
	int wrong = 0;

	reset();
	for (at = 0; at <= last; at++) {
		memset(buffer, 0, sizeof(buffer));
		memcpy(buffer + at, "key", 3);
		wrong += look(belt, buffer + at, 3, buffer + 3, HASHBELT_WINDOW_DATA, &item) !=
			 (at && at < last ? WINDOW_CALL : WINDOW_HIT);
		wrong += !!memcmp(buffer + at, "key", 3);
	}
	is_int(wrong, 0, "a get whose key may lie in its buffer is left to the kernel");
}

/* Whether the counts of the gets are these. */
static bool counted(struct hashbelt *belt, unsigned long hits, unsigned long calls)
{
	struct hashbelt_window_counts counts = { ~0UL, ~0UL };

	hashbelt_window_stats(belt, &counts);
	return counts.hits == hits && counts.calls == calls;
}

/* The calls that hashbelt_get() makes, and the counts. */
static void test_get(void)
{
	struct hashbelt *belt = open_handle();
	struct hashbelt_item item = { 0 };
	char buffer[100];
	int i, hits = 0;

	for (i = 0; i < 640; i++)
		hits += !hashbelt_get(belt, "key", 3, buffer, sizeof(buffer), &item) &&
			item.version == 7;
	ok(hits == 630 && device.gets == 10 && device.asks == 10 && !item.how,
	   "of 640 gets of a key in the window, the window answers 630, and 10 ask the kernel");
	item = (struct hashbelt_item){ .how = HASHBELT_NO_VALUE };
	ok(!hashbelt_get(belt, "key", 3, NULL, 0, &item) && device.gets == 11 &&
	   device.asks == 10 && item.how == HASHBELT_NO_VALUE,
	   "a get with NO_VALUE is a call that does not ask");
	ok(!hashbelt_get(belt, "key", 3, buffer, sizeof(buffer), NULL) && device.gets == 11 &&
	   !memcmp(buffer, "value", 5), "a get without an item is answered by the window");
	ok(counted(belt, 631, 11), "hits and calls are counted");
	hashbelt_close(belt);
}

#define GETS	150

static struct hashbelt_item gets[GETS];
static char buffers[GETS][8];

/* Gets of a batch: of "key", which is in the window, and each third of a key that is not. */
static void make_gets(void)
{
	int i;

	for (i = 0; i < GETS; i++)
		gets[i] = hashbelt_item(HASHBELT_OP_GET, i % 3 ? "key" : "kex", 3, buffers[i], 8);
}

/* The number of gets that do not have the result that the window or the device gives. */
static int count_wrong(int count)
{
	int i, wrong = 0;

	for (i = 0; i < count; i++) {
		if (gets[i].result || gets[i].how || gets[i].op != HASHBELT_OP_GET)
			wrong++;
		else if (gets[i].version != 7)
			wrong += gets[i].version != ~0ULL || gets[i].value_len;
		else
			wrong += !(i % 3) || gets[i].value_len != 5 || gets[i].flags != 0xabcd ||
				 memcmp(buffers[i], "value", 5);
	}
	return wrong;
}

/* Batches of gets alone, one with a signal after some of them, and other batches. */
static void test_batch(void)
{
	struct hashbelt *belt = open_handle();
	unsigned int done, i, misses = GETS / 3 + 1;

	make_gets();
	ok(!hashbelt_batch(belt, gets, GETS, &done) && done == GETS && !count_wrong(GETS),
	   "gets of a batch return what the window has, or else what the kernel does");
	ok(device.gets == misses && device.asks == misses &&
	   device.batches == (GETS + WINDOW_BATCH - 1) / WINDOW_BATCH,
	   "gets of a batch that are not in the window ask for it, 64 with one call");
	ok(counted(belt, GETS - misses, misses), "the gets of a batch are counted");
	reset();
	make_gets();
	gets[1].reserved = 1;
	gets[2].how = HASHBELT_NO_VALUE;
	ok(!hashbelt_batch(belt, gets, 3, NULL) && device.gets == 3 && device.asks == 1 &&
	   gets[2].how == HASHBELT_NO_VALUE,
	   "gets of a batch that the window cannot answer are calls that do not ask");
	make_gets();
	gets[2].op = HASHBELT_OP_PUT;
	ok(!hashbelt_batch(belt, gets, 8, NULL) && device.gets == 3 + 7 && device.asks == 1,
	   "a batch with another operation is a call");
	hashbelt_close(belt);
	belt = open_handle();
	make_gets();
	device.until_signal = 4;
	is_int(hashbelt_batch(belt, gets, GETS, &done), -EINTR,
	       "a batch of gets returns EINTR if a signal comes");
	for (i = done; i < GETS && gets[i].value_len == 8; i++)
		;
	ok(done == 9 && !count_wrong(done) && i == GETS,
	   "the gets before the first that was not made have results, the others their buffers");
	ok(!hashbelt_batch(belt, gets + done, GETS - done, NULL) && !count_wrong(GETS),
	   "another batch makes the others");
	hashbelt_close(belt);
}

/* Reasons why a window cannot be mapped. */
static const struct refusal {
	const char *what;
	int want, window_error, map_error;
	__u32 layout, sets, slots_at;
	bool clock_by_call;
} refusals[] = {
	{ "a module without windows", EOPNOTSUPP, .window_error = ENOTTY },
	{ "a belt without a window", ENODATA, .window_error = ENODATA },
	{ "a descriptor with the window mapped", EBUSY, .map_error = EBUSY },
	{ "an unknown layout", EOPNOTSUPP, .layout = 2 },
	{ "sets beyond the mapping", EOPNOTSUPP, .sets = SETS },
	{ "too many sets to count", EOPNOTSUPP, .sets = 0x80000000 - SETS },
	{ "slots behind the mapping", EOPNOTSUPP, .slots_at = ~0U - PAGE },
	{ "a clock that is a system call", EOPNOTSUPP, .clock_by_call = true },
};

static void test_errors(void)
{
	struct hashbelt *belt = open_unmapped();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		reset();
		device.window_error = refusals[i].window_error;
		device.map_error = refusals[i].map_error;
		window->layout += refusals[i].layout;
		window->sets += refusals[i].sets;
		window->slots_at += refusals[i].slots_at;
		clock_by_call = refusals[i].clock_by_call;
		is_errno(hashbelt_window_map(belt), refusals[i].want, "%s", refusals[i].what);
		clock_by_call = 0;
	}
	is_int(device.maps, 0, "then the window is not mapped");
	ok(!hashbelt_get(belt, "key", 3, NULL, 0, NULL) && device.gets == 1 && !device.asks &&
	   counted(belt, 0, 0), "after these errors a get is a call, and not counted");
	ok(!hashbelt_window_map(belt) && !hashbelt_window_map(belt) && device.maps == 1,
	   "the same handle can map a window later, once");
	window->state = HASHBELT_WINDOW_DEAD;
	ok(!hashbelt_window_map(belt) && device.maps == 2,
	   "a dead window is replaced by another one");
	hashbelt_close(belt);
}

static struct hashbelt *shared;

/* The part of another thread. */
static void map_meanwhile(void)
{
	ok(!window_reader_of(shared) && !hashbelt_window_map(shared),
	   "during a bind no window is read, and one can be mapped");
}

static void test_bind(void)
{
	struct hashbelt *belt = open_handle();
	void *place;

	device.bind_error = ENOENT;
	ok(hashbelt_bind(belt, "other") == -ENOENT && find(belt, "key", 0) > 0,
	   "after a bind that fails the window is read as before");
	device.bind_error = 0;
	ok(!hashbelt_bind(belt, "other") && !window_reader_of(belt) &&
	   !hashbelt_get(belt, "key", 3, NULL, 0, NULL) && device.gets == 1 && !device.asks,
	   "after a bind to another belt no window is read, and a get is a call");
	ok(!hashbelt_window_map(belt) && device.maps == 2 && find(belt, "key", 0) > 0,
	   "the window of that belt can be mapped");
	place = (void *)window_reader_of(belt)->window;
	shared = belt;
	on_bind = map_meanwhile;
	ok(!hashbelt_bind(belt, "third") && device.maps == 3 && !window_reader_of(belt),
	   "a window that was mapped during a bind is not read after it");
	on_bind = NULL;
	hashbelt_close(belt);
	ok(msync(place, PAGE, MS_ASYNC) && errno == ENOMEM, "close unmaps all windows");
}

/* The child of a process with a window. Return: 0, or the number of the check that failed. */
static int child(struct hashbelt *belt, void *place)
{
	struct window_reader *reader = window_reader_of(belt);
	struct hashbelt_item item = { 0 };
	char buffer[100];

	if (mmap(place, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != place)
		return 1;
	if (!reader || reader->window)
		return 2;
	if (hashbelt_get(belt, "key", 3, buffer, sizeof(buffer), &item) || item.version == 7)
		return 3;
	if (!counted(belt, 0, 1) || device.gets != 1 || device.asks)
		return 4;
	if (hashbelt_window_map(belt) || find(belt, "key", 0) < 0)
		return 5;
	hashbelt_close(belt);
	return *(char *)place ? 6 : 0;
}

static void test_fork(void)
{
	struct hashbelt *belt = open_handle();
	void *place = (void *)window_reader_of(belt)->window;
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(child(belt, place));
	ok(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "a child ends by itself");
	is_int(WEXITSTATUS(status), 0,
	       "a child reads no window until it maps it, and unmaps nothing of its own");
	is_int(find(belt, "key", 0), 10000, "its parent reads the window as before");
	hashbelt_close(belt);
}

#define THREADS	4

/* Return: the sum of the results. */
static uintptr_t run_threads(void *(*run)(void *))
{
	pthread_t threads[THREADS];
	uintptr_t sum = 0;
	void *result;
	int i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &result);
		sum += (uintptr_t)result;
	}
	return sum;
}

static int going;

/* Replaces the entry of "key" again and again: all bytes of a value are the same. */
static void *write_slot(void *arg)
{
	struct hashbelt_window_slot *slot = slot_of("key", 3, 0);
	__u64 sequence = slot->sequence, version;
	unsigned int i;

	for (version = 8; __atomic_load_n(&going, __ATOMIC_RELAXED); version++) {
		__atomic_store_n(&slot->sequence, sequence + 1, __ATOMIC_RELAXED);
#ifndef __SANITIZE_THREAD__
		__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
		for (i = 1; i < 11; i++)
			__atomic_store_n(&slot->data[i], version, __ATOMIC_RELEASE);
		__atomic_store_n(&slot->version, version, __ATOMIC_RELEASE);
		sequence += 2;
		__atomic_store_n(&slot->sequence, sequence, __ATOMIC_RELEASE);
		/* Readers get whole entries, too. */
		sched_yield();
	}
	return arg;
}

/* Return: how many words of 100000 hits are not of the same entry. */
static void *read_slot(void *arg)
{
	unsigned int left = 100000, i;
	struct hashbelt_item item = { 0 };
	__u64 value[10] = { 0 };
	uintptr_t torn = 0;

	(void)arg;
	while (left) {
		if (hashbelt_window_get(window_reader_of(shared), "key", 3, value, sizeof(value),
					&item) != WINDOW_HIT)
			continue;
		left--;
		for (i = 0; i < 10; i++)
			torn += value[i] != item.version;
	}
	return (void *)torn;
}

static void test_torn(void)
{
	__u64 value[10] = { 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 };
	pthread_t writer;

	shared = open_handle();
	show("key", 3, value, sizeof(value), 0);
	going = 1;
	pthread_create(&writer, NULL, write_slot, NULL);
	is_int(run_threads(read_slot), 0, "a hit beside a writer is one entry, whole");
	__atomic_store_n(&going, 0, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	hashbelt_close(shared);
}

/* Maps the window, and gets a key 640 times. */
static void *map_and_get(void *arg)
{
	char buffer[100];
	int i, err = hashbelt_window_map(shared);

	for (i = 0; !err && i < 640; i++)
		err = hashbelt_get(shared, "key", 3, buffer, sizeof(buffer), NULL);
	return err ? (void *)1 : arg;
}

static void test_threads(void)
{
	shared = open_unmapped();
	is_int(run_threads(map_and_get), 0,
	       "threads that map the window of one handle at once all return 0");
	ok(counted(shared, THREADS * 640 - device.gets, device.gets),
	   "each of their gets is a hit or a call, and the device got the calls that are counted");
	hashbelt_close(shared);
}

int main(void)
{
	struct hashbelt *belt;

	window_fd = memfd_create("window", MFD_CLOEXEC);
	if (window_fd < 0 || ftruncate(window_fd, BYTES))
		bail_out("no memory for a window");
	window = map(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, window_fd, 0);
	belt = open_handle();
	test_lengths(belt);
	test_hostile(belt);
	test_states(belt);
	test_overlap(belt);
	hashbelt_close(belt);
	test_namespace();
	test_get();
	test_batch();
	test_errors();
	test_bind();
	test_fork();
	test_torn();
	test_threads();
	return done_testing();
}
