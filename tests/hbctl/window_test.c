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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../device/tap.h"
#include "client_window.h"

#define PAGE	4096
#define SETS	32
#define BYTES	(PAGE + SETS * HASHBELT_WINDOW_WAYS * sizeof(struct hashbelt_window_slot))
#define MS	1000000ULL
#define SECOND	1000000000ULL
#define NEVER	(~0ULL)
#define SEED	0x0123456789abcdefULL

/*
 * The errors that the device returns, the shift of its clock, and counts of the calls. If
 * @until_signal is not 0, a signal comes before that item of batches, from 1 on.
 */
static struct {
	int window_error;
	int map_error;
	int bind_error;
	__s64 shift_ns;
	unsigned int gets;
	unsigned int asks;
	unsigned int maps;
	unsigned int batches;
	unsigned int until_signal;
} device;

/* CLOCK_BOOTTIME, ns; whether the kernel is asked for it; a function that each reading calls. */
static __u64 boottime = 1000 * SECOND;
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
	if (err)
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
	if (device.map_error) {
		errno = device.map_error;
		return MAP_FAILED;
	}
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

/* An empty window, with belt time 500 seconds behind CLOCK_BOOTTIME. */
static void reset(void)
{
	memset(window, 0, BYTES);
	*window = (struct hashbelt_window){
		.layout = HASHBELT_WINDOW_LAYOUT, .slots_at = PAGE, .sets = SETS, .seed = SEED,
		.floor = 3, .offset_ns = -500 * (__s64)SECOND,
	};
	memset(&device, 0, sizeof(device));
}

static struct hashbelt *open_handle(void)
{
	struct hashbelt *belt;

	reset();
	if (hashbelt_fdopen(dup(window_fd), &belt))
		bail_out("no handle");
	if (hashbelt_window_map(belt))
		bail_out("no window");
	return belt;
}

/* A look into the window. One look of 64 is left to the kernel, so a second one decides. */
static enum window_answer look(struct hashbelt *belt, const void *key, size_t len, void *buffer,
			       size_t size, struct hashbelt_item *item)
{
	struct window_reader *reader = window_reader_of(belt);
	enum window_answer answer = hashbelt_window_get(reader, key, len, buffer, size, item);

	return answer == WINDOW_ASK ? hashbelt_window_get(reader, key, len, buffer, size, item) :
				      answer;
}

/* A look for "key", which is right if it is a hit. */
static enum window_answer find(struct hashbelt *belt, __u32 how)
{
	struct hashbelt_item item = { .how = how };
	enum window_answer answer;
	char buffer[6] = "";

	answer = look(belt, "key", 3, buffer, 5, &item);
	if (answer != WINDOW_HIT)
		is_int(item.version || item.value_len || item.flags || item.ttl_ms, 0,
		       "a look without a hit leaves the item as it was");
	else if (item.version != 7 || item.flags != 0xabcd || item.value_len != 5 ||
		 strcmp(buffer, "value"))
		ok(false, "a hit is the entry that the window has");
	return answer;
}

/* All keys and values that fit. */
static void test_lengths(struct hashbelt *belt)
{
	char data[HASHBELT_WINDOW_DATA + 2], buffer[HASHBELT_WINDOW_DATA + 1];
	size_t key, value, i;
	int wrong = 0;

	for (i = 0; i < sizeof(data); i++)
		data[i] = 'a' + i % 26;
	for (key = 1; key <= HASHBELT_WINDOW_DATA; key++) {
		for (value = 0; (key + 7) / 8 * 8 + value <= HASHBELT_WINDOW_DATA; value++) {
			struct hashbelt_item item = { 0 };

			reset();
			memset(buffer, '#', sizeof(buffer));
			show(data, key, data + 1, value, key % 4);
			if (look(belt, data, key, value ? buffer : NULL, value, &item) ||
			    item.version != 7 || item.flags != 0xabcd || item.value_len != value ||
			    memcmp(buffer, data + 1, value) || buffer[value] != '#')
				wrong++;
		}
	}
	is_int(wrong, 0, "keys and values of all lengths that fit are read whole");
}

/* Nothing of these is answered by the window. */
static void test_misses(struct hashbelt *belt)
{
	struct hashbelt_window_slot *slot;
	struct hashbelt_item item = { 0 };
	char buffer[100], key[HASHBELT_WINDOW_DATA + 1] = "";
	__u32 bit;

	reset();
	is_int(find(belt, 0), WINDOW_ASK, "a key that is not in the window is asked for");
	slot = show("key", 3, "value", 5, 2);
	is_int(find(belt, 0), WINDOW_HIT, "a key in the window is a hit");
	is_int(find(belt, HASHBELT_NO_REFRESH), WINDOW_HIT, "it is one with NO_REFRESH, too");
	is_int(look(belt, "kex", 3, buffer, sizeof(buffer), &item), WINDOW_ASK,
	       "another key is none");
	is_int(look(belt, "key", 3, buffer, 4, &item), WINDOW_ASK,
	       "a value that is larger than the buffer is none");
	for (bit = 1; bit; bit <<= 1)
		if (bit != HASHBELT_NO_REFRESH && find(belt, bit) != WINDOW_CALL)
			ok(false, "a get with the modifier 0x%x is left to the kernel", bit);
	is_int(look(belt, "key", 0, buffer, sizeof(buffer), &item), WINDOW_CALL,
	       "a get without a key is left to the kernel");
	is_int(look(belt, key, sizeof(key), buffer, sizeof(buffer), &item), WINDOW_CALL,
	       "a get with a key that fits into no slot is left to the kernel");
	slot->sequence++;
	is_int(find(belt, 0), WINDOW_ASK, "a slot with an odd sequence is no hit");
	slot->sequence++;
	window->floor = 6;
	is_int(find(belt, 0), WINDOW_HIT, "an entry above the floor is a hit");
	window->floor = 7;
	is_int(find(belt, 0), WINDOW_ASK, "an entry at the floor is none");
	window->floor = 0;
	slot->version = 0;
	is_int(find(belt, 0), WINDOW_ASK, "an empty slot is none");
}

/* A window that no kernel makes. */
static void test_hostile(struct hashbelt *belt)
{
	static const __u32 lengths[] = { 0, 2, 4, 8, 81, 88, 89, 0x7fffffff, 0xfffffff8, ~0U };
	struct hashbelt_item item = { 0 };
	struct hashbelt_window_slot *slot;
	char buffer[100];
	size_t i, hits = 0;

	reset();
	slot = show("key", 3, "value", 5, 0);
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		slot->key_len = lengths[i];
		hits += find(belt, 0) == WINDOW_HIT;
	}
	is_int(hits, 0, "a slot with another length of the key is no hit");
	slot->key_len = 3;
	memset(buffer, '#', sizeof(buffer));
	for (i = 4; i < sizeof(lengths) / sizeof(*lengths); i++) {
		slot->value_len = lengths[i];
		hits += look(belt, "key", 3, buffer, ~0UL, &item) == WINDOW_HIT;
	}
	is_int(hits, 0, "a slot with a value beyond its end is no hit");
	slot->value_len = 80;
	is_int(look(belt, "key", 3, buffer, sizeof(buffer), &item), WINDOW_HIT,
	       "a value up to the slot's end is a hit");
	ok(buffer[80] == '#' && item.value_len == 80, "its 80 bytes are copied");
}

static void kill_window(void)
{
	window->state = HASHBELT_WINDOW_DEAD;
	window->clock |= 1;
}

static void test_state(struct hashbelt *belt)
{
	struct hashbelt_item item = { 0 };

	reset();
	show("key", 3, "value", 5, 3);
	window->state = HASHBELT_WINDOW_RENEWS;
	is_int(find(belt, 0), WINDOW_CALL, "a plain get where gets renew is left to the kernel");
	is_int(look(belt, "kex", 3, NULL, 0, &item), WINDOW_CALL, "and asks for no slot");
	is_int(find(belt, HASHBELT_NO_REFRESH), WINDOW_HIT, "one with NO_REFRESH is a hit there");
	kill_window();
	is_int(find(belt, HASHBELT_NO_REFRESH), WINDOW_ASK, "a dead window has no hits");
	show("key", 3, "value", 5, 3)->deadline_ns = NEVER;
	is_int(find(belt, 0), WINDOW_ASK, "nor has it hits of entries that do not expire");
}

/* The time left of "key" in ms; -1: no hit. */
static long long ttl(struct hashbelt *belt)
{
	struct hashbelt_item item = { 0 };
	char buffer[5];

	return look(belt, "key", 3, buffer, 5, &item) == WINDOW_HIT ? (long long)item.ttl_ms : -1;
}

static void test_time(struct hashbelt *belt)
{
	struct hashbelt_window_slot *slot;
	__u64 now;

	reset();
	slot = show("key", 3, "value", 5, 1);
	now = boottime + window->offset_ns;
	is_int(ttl(belt), 10000, "ten seconds before the deadline 10000 ms are left");
	slot->deadline_ns = now + MS + 1;
	is_int(ttl(belt), 2, "one millisecond and a nanosecond before, 2 ms");
	slot->deadline_ns = now + MS;
	is_int(ttl(belt), 1, "one millisecond before, 1 ms");
	slot->deadline_ns = now + 1;
	is_int(ttl(belt), 1, "a nanosecond before, 1 ms");
	slot->deadline_ns = now;
	is_int(ttl(belt), -1, "at the deadline it is no hit");
	slot->deadline_ns = NEVER;
	ok(find(belt, 0) == WINDOW_HIT && ttl(belt) == (long long)HASHBELT_TTL_NEVER,
	   "an entry that does not expire is told so");
	slot->deadline_ns = now + 10 * SECOND;
	window->halted_ns = now - SECOND;
	is_int(ttl(belt), 11000, "the time of a halted belt is the one at which it was halted");
	window->halted_ns = now + 10 * SECOND;
	is_int(ttl(belt), -1, "at the deadline of a halted belt it is no hit");
	window->halted_ns = 0;
	window->clock = 5;
	is_int(ttl(belt), -1, "while the clock changes nothing is a hit");
	window->clock = 6;
	is_int(ttl(belt), 10000, "after the change it is one");
}

/* A namespace of time that adds an hour. */
static void test_namespace(void)
{
	struct hashbelt *belt = open_handle();
	__u64 before = boottime;

	hashbelt_close(belt);
	reset();
	device.shift_ns = 3600 * (__s64)SECOND;
	if (hashbelt_fdopen(dup(window_fd), &belt) || hashbelt_window_map(belt))
		bail_out("no window");
	boottime += 7200 * SECOND;
	show("key", 3, "value", 5, 0);
	boottime += 3600 * SECOND;
	is_int(ttl(belt), 10000, "what a time namespace adds to CLOCK_BOOTTIME is taken off");
	/* The entry has expired since, and the process enters the initial namespace. */
	boottime = before + 7211 * SECOND;
	device.shift_ns = 0;
	is_int(hashbelt_window_map(belt), 0,
	       "after setns() into another time namespace a mapped window can be mapped again");
	is_int(device.maps, 1, "the mapping is the same");
	is_int(ttl(belt), -1, "in that namespace an expired entry is no hit");
	boottime = before + 7204 * SECOND;
	is_int(ttl(belt), 6000, "in that namespace the time left is that by its clock");
	boottime = before;
	hashbelt_close(belt);
}

static void change_clock(void)
{
	window->clock += 2;
}

static void begin_change(void)
{
	window->clock++;
}

/* The window changes while the reader takes the time. */
static void test_meanwhile(struct hashbelt *belt)
{
	reset();
	show("key", 3, "value", 5, 0);
	on_clock = change_clock;
	is_int(find(belt, 0), WINDOW_ASK, "a clock that was changed during the read is no hit");
	on_clock = begin_change;
	is_int(find(belt, 0), WINDOW_ASK, "a clock that changes during the read is none");
	window->clock = 0;
	on_clock = kill_window;
	is_int(find(belt, 0), WINDOW_ASK, "a window that dies during the read has no hits");
	on_clock = NULL;
}

/* The pages of the handle's mapping that trap, and what happens then. */
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

/* Changes the window when the reader, with the slot half read, touches the header. */
static enum window_answer find_changed(struct hashbelt *belt, void (*change)(void))
{
	struct hashbelt_item item = { 0 };
	char buffer[100];

	reset();
	show("key", 3, "value", 5, 0);
	trapped = (void *)window_reader_of(belt)->window;
	on_trap = change;
	mprotect(trapped, PAGE, PROT_NONE);
	return hashbelt_window_get(window_reader_of(belt), "key", 3, buffer, sizeof(buffer), &item);
}

static void leave_alone(void)
{
}

static void replace(void)
{
	show("key", 3, "other", 5, 0);
}

static void begin_replacing(void)
{
	slot_of("key", 3, 0)->sequence++;
}

static void raise_floor(void)
{
	window->floor = 7;
}

static void test_halfway(struct hashbelt *belt)
{
	struct sigaction action = { .sa_sigaction = trap, .sa_flags = SA_SIGINFO };

	if (sigaction(SIGSEGV, &action, NULL))
		bail_out("no handler");
	is_int(find_changed(belt, leave_alone), WINDOW_HIT, "a read that traps is a hit");
	is_int(find_changed(belt, replace), WINDOW_ASK,
	       "a slot that was replaced during the read is no hit");
	is_int(find_changed(belt, begin_replacing), WINDOW_ASK,
	       "a slot whose replacement began during the read is none");
	is_int(find_changed(belt, raise_floor), WINDOW_ASK,
	       "an entry that was cleared during the read is none");
	action.sa_handler = SIG_DFL;
	action.sa_flags = 0;
	sigaction(SIGSEGV, &action, NULL);
}

/* A call needs the key once more if the value turns out not to be whole. */
static void test_overlap(struct hashbelt *belt)
{
	struct hashbelt_item item = { 0 };
	char buffer[3 + HASHBELT_WINDOW_DATA + 3] = "";
	size_t at;
	int wrong = 0;

	reset();
	show("key", 3, "value", 5, 0);
	for (at = 0; at <= sizeof(buffer) - 3; at++) {
		memset(buffer, 0, sizeof(buffer));
		memcpy(buffer + at, "key", 3);
		wrong += look(belt, buffer + at, 3, buffer + 3, HASHBELT_WINDOW_DATA, &item) !=
			 (at && at < sizeof(buffer) - 3 ? WINDOW_CALL : WINDOW_HIT);
		wrong += !!memcmp(buffer + at, "key", 3);
	}
	is_int(wrong, 0, "a get whose key may lie in its buffer is left to the kernel");
}

/* The calls that hashbelt_get() makes, and the counts. */
static void test_get(void)
{
	struct hashbelt *belt = open_handle();
	struct hashbelt_window_counts counts;
	struct hashbelt_item item = { 0 };
	char buffer[100];
	int i, hits = 0;

	show("key", 3, "value", 5, 0);
	for (i = 0; i < 640; i++)
		hits += !hashbelt_get(belt, "key", 3, buffer, sizeof(buffer), &item) &&
			item.version == 7;
	is_int(hits, 630, "of 640 gets of a key in the window, the window answers 630");
	ok(device.gets == 10 && device.asks == 10, "and 10 ask the kernel");
	ok(!item.how, "a get leaves the item's modifiers as they were");
	item = (struct hashbelt_item){ .how = HASHBELT_NO_VALUE };
	ok(!hashbelt_get(belt, "key", 3, NULL, 0, &item) && device.gets == 11 &&
	   device.asks == 10 && item.how == HASHBELT_NO_VALUE,
	   "a get with NO_VALUE is a call that does not ask");
	ok(!hashbelt_get(belt, "key", 3, buffer, sizeof(buffer), NULL) && device.gets == 11 &&
	   !memcmp(buffer, "value", 5), "a get without an item is answered by the window");
	hashbelt_window_stats(belt, &counts);
	ok(counts.hits == 631 && counts.calls == 11, "hits and calls are counted");
	hashbelt_close(belt);
}

#define GETS	150

/* Gets of a batch: of "key", which is in the window, and each third of a key that is not. */
static void make_gets(struct hashbelt_item *items, char (*buffers)[8])
{
	int i;

	for (i = 0; i < GETS; i++)
		items[i] = hashbelt_item(HASHBELT_OP_GET, i % 3 ? "key" : "kex", 3, buffers[i], 8);
}

/* The number of gets that do not have the result that the window or the device gives. */
static int count_wrong(const struct hashbelt_item *items, char (*buffers)[8], int count)
{
	int i, wrong = 0;

	for (i = 0; i < count; i++) {
		if (items[i].result || items[i].how || items[i].op != HASHBELT_OP_GET)
			wrong++;
		else if (items[i].version != 7)
			wrong += items[i].version != ~0ULL || items[i].value_len;
		else
			wrong += !(i % 3) || items[i].value_len != 5 || items[i].flags != 0xabcd ||
				 memcmp(buffers[i], "value", 5);
	}
	return wrong;
}

/* A batch of gets alone. */
static void test_batch(void)
{
	struct hashbelt *belt = open_handle();
	struct hashbelt_window_counts counts;
	struct hashbelt_item items[GETS];
	char buffers[GETS][8];
	unsigned int done, misses = GETS / 3 + 1;

	show("key", 3, "value", 5, 0);
	make_gets(items, buffers);
	ok(!hashbelt_batch(belt, items, GETS, &done) && done == GETS,
	   "a batch of gets tries all of them");
	is_int(count_wrong(items, buffers, GETS), 0,
	       "gets of a batch return what the window has, or else what the kernel does");
	is_int(device.gets, misses, "gets of a batch that are not in the window are calls");
	is_int(device.asks, misses, "gets of a batch that are not in the window ask for it");
	is_int(device.batches, (GETS + WINDOW_BATCH - 1) / WINDOW_BATCH,
	       "the gets of a batch that are not in the window take one call for 64");
	hashbelt_window_stats(belt, &counts);
	ok(counts.hits == GETS - misses && counts.calls == misses,
	   "the gets of a batch are counted as hits and calls");
	reset();
	show("key", 3, "value", 5, 0);
	make_gets(items, buffers);
	items[1].reserved = 1;
	items[2].how = HASHBELT_NO_VALUE;
	ok(!hashbelt_batch(belt, items, 3, NULL) && device.gets == 3 && device.asks == 1 &&
	   items[2].how == HASHBELT_NO_VALUE,
	   "gets of a batch that the window cannot answer are calls that do not ask");
	make_gets(items, buffers);
	items[2].op = HASHBELT_OP_PUT;
	ok(!hashbelt_batch(belt, items, 8, NULL) && device.gets == 3 + 7 && device.asks == 1,
	   "a batch with another operation is a call");
	hashbelt_close(belt);
}

/* A signal comes after some gets of a batch. */
static void test_interrupted(void)
{
	struct hashbelt *belt = open_handle();
	struct hashbelt_item items[GETS];
	char buffers[GETS][8];
	unsigned int done, i, small = 0;

	show("key", 3, "value", 5, 0);
	make_gets(items, buffers);
	device.until_signal = 4;
	is_int(hashbelt_batch(belt, items, GETS, &done), -EINTR,
	       "a batch of gets returns EINTR if a signal comes");
	is_int(done, 9, "the gets before the first that was not made are tried then");
	is_int(count_wrong(items, buffers, done), 0, "the gets that are tried have their results");
	for (i = done; i < GETS; i++)
		small += items[i].value_len != 8;
	is_int(small, 0, "gets that were not tried have the sizes of their buffers");
	ok(!hashbelt_batch(belt, items + done, GETS - done, NULL) &&
	   !count_wrong(items, buffers, GETS), "another batch makes the others");
	hashbelt_close(belt);
}

/* Handles whose window cannot be mapped. */
static void test_errors(void)
{
	struct hashbelt_window_counts counts = { 1, 1 };
	struct hashbelt *belt;

	reset();
	if (hashbelt_fdopen(dup(window_fd), &belt))
		bail_out("no handle");
	device.window_error = ENOTTY;
	is_int(hashbelt_window_map(belt), -EOPNOTSUPP, "a module without windows: EOPNOTSUPP");
	device.window_error = ENODATA;
	is_int(hashbelt_window_map(belt), -ENODATA, "a belt without a window: ENODATA");
	device.window_error = 0;
	device.map_error = EBUSY;
	is_int(hashbelt_window_map(belt), -EBUSY, "a descriptor with the window mapped: EBUSY");
	device.map_error = 0;
	window->layout = HASHBELT_WINDOW_LAYOUT + 2;
	is_int(hashbelt_window_map(belt), -EOPNOTSUPP, "an unknown layout: EOPNOTSUPP");
	reset();
	window->sets = 2 * SETS;
	is_int(hashbelt_window_map(belt), -EOPNOTSUPP, "sets beyond the mapping: EOPNOTSUPP");
	reset();
	window->sets = 0x80000000;
	is_int(hashbelt_window_map(belt), -EOPNOTSUPP, "too many sets to count: EOPNOTSUPP");
	reset();
	window->slots_at = ~0U;
	is_int(hashbelt_window_map(belt), -EOPNOTSUPP, "slots behind the mapping: EOPNOTSUPP");
	reset();
	clock_by_call = 1;
	is_int(hashbelt_window_map(belt), -EOPNOTSUPP, "a clock that is a system call: EOPNOTSUPP");
	clock_by_call = 0;
	is_int(device.maps, 0, "then the window is not mapped");
	ok(!hashbelt_get(belt, "key", 3, NULL, 0, NULL) && device.gets == 1 && !device.asks,
	   "after these errors a get is a call");
	hashbelt_window_stats(belt, &counts);
	ok(!counts.hits && !counts.calls, "without a window the counts are 0");
	is_int(hashbelt_window_map(belt), 0, "the same handle can map a window later");
	is_int(hashbelt_window_map(belt), 0, "a second call returns 0");
	is_int(device.maps, 1, "and maps nothing");
	window->state = HASHBELT_WINDOW_DEAD;
	ok(!hashbelt_window_map(belt) && device.maps == 2,
	   "a dead window is replaced by another one");
	hashbelt_close(belt);
}

static struct hashbelt *bound;

/* The part of another thread. */
static void map_meanwhile(void)
{
	ok(!window_reader_of(bound), "during a bind no window is read");
	ok(!hashbelt_window_map(bound), "during a bind a window can be mapped");
}

static void test_bind(void)
{
	struct hashbelt *belt = open_handle();
	void *place;

	show("key", 3, "value", 5, 0);
	device.bind_error = ENOENT;
	is_int(hashbelt_bind(belt, "other"), -ENOENT, "bind to a belt that does not exist fails");
	ok(window_reader_of(belt) && find(belt, 0) == WINDOW_HIT,
	   "then the window is read as before");
	device.bind_error = 0;
	ok(!hashbelt_bind(belt, "other") && !window_reader_of(belt),
	   "after a bind to another belt no window is read");
	ok(!hashbelt_get(belt, "key", 3, NULL, 0, NULL) && device.gets == 1 && !device.asks,
	   "and a get is a call");
	ok(!hashbelt_window_map(belt) && device.maps == 2 && find(belt, 0) == WINDOW_HIT,
	   "the window of that belt can be mapped");
	place = (void *)window_reader_of(belt)->window;
	bound = belt;
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
	struct hashbelt_window_counts counts;
	struct hashbelt_item item = { 0 };
	char buffer[100];

	if (mmap(place, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != place)
		return 1;
	if (!reader || reader->window)
		return 2;
	if (hashbelt_get(belt, "key", 3, buffer, sizeof(buffer), &item) || item.version == 7)
		return 3;
	hashbelt_window_stats(belt, &counts);
	if (counts.hits || counts.calls != 1 || device.gets != 1 || device.asks)
		return 4;
	if (hashbelt_window_map(belt) || ttl(belt) < 0)
		return 5;
	hashbelt_close(belt);
	return *(char *)place ? 6 : 0;
}

static void test_fork(void)
{
	struct hashbelt *belt = open_handle();
	void *place = (void *)window_reader_of(belt)->window;
	int status;
	pid_t pid;

	show("key", 3, "value", 5, 0);
	pid = fork();
	if (!pid)
		_exit(child(belt, place));
	ok(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "a child ends by itself");
	is_int(WEXITSTATUS(status), 0,
	       "a child reads no window until it maps it, and unmaps nothing of its own");
	is_int(ttl(belt), 10000, "its parent reads the window as before");
	hashbelt_close(belt);
}

#define THREADS	4

static struct hashbelt *shared;
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

/* Return: how many of 100000 hits are no whole entry. */
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
	pthread_t writer, readers[THREADS];
	__u64 value[10];
	int i, torn = 0;
	void *result;

	shared = open_handle();
	for (i = 0; i < 10; i++)
		value[i] = 7;
	show("key", 3, value, sizeof(value), 0);
	going = 1;
	pthread_create(&writer, NULL, write_slot, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_create(&readers[i], NULL, read_slot, NULL);
	for (i = 0; i < THREADS; i++) {
		pthread_join(readers[i], &result);
		torn += (uintptr_t)result;
	}
	__atomic_store_n(&going, 0, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	is_int(torn, 0, "a hit beside a writer is one entry, whole");
	hashbelt_close(shared);
}

/* Maps the window, and gets a key 640 times. */
static void *map_and_get(void *arg)
{
	char buffer[100];
	int i, err = hashbelt_window_map(shared);

	for (i = 0; !err && i < 640; i++)
		err = hashbelt_get(shared, "key", 3, buffer, sizeof(buffer), NULL);
	return err ? &shared : arg;
}

static void test_threads(void)
{
	struct hashbelt_window_counts counts;
	pthread_t threads[THREADS];
	int i, errors = 0;
	void *result;

	reset();
	if (hashbelt_fdopen(dup(window_fd), &shared))
		bail_out("no handle");
	show("key", 3, "value", 5, 0);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, map_and_get, NULL);
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &result);
		errors += !!result;
	}
	hashbelt_window_stats(shared, &counts);
	is_int(errors, 0, "threads that map the window of one handle at once all return 0");
	is_int(counts.hits + counts.calls, THREADS * 640, "each of their gets is a hit or a call");
	is_int(device.gets, counts.calls, "the device got the calls that are counted");
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
	test_misses(belt);
	test_hostile(belt);
	test_state(belt);
	test_time(belt);
	test_meanwhile(belt);
	test_halfway(belt);
	test_overlap(belt);
	hashbelt_close(belt);
	test_namespace();
	test_get();
	test_batch();
	test_interrupted();
	test_errors();
	test_bind();
	test_fork();
	test_torn();
	test_threads();
	return done_testing();
}
