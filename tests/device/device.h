/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * device.h - helpers for all tests of the device.
 *
 * Every call here is ioctl(2) itself. A helper that is only a precondition of a check ends
 * the program when it fails. Results are 0 or a negative errno.
 */
#ifndef _DEVICE_H
#define _DEVICE_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "array_size.h"
#include "hashbelt.h"
#include "tap.h"

#define PAGE		((unsigned long)sysconf(_SC_PAGESIZE))
#define MIB		(1024UL * 1024)
#define TTL		10000ULL	/* time-to-live of test belts, milliseconds */

static inline int call(int fd, unsigned long request, const void *arg)
{
	int result = ioctl(fd, request, arg);

	return result < 0 ? -errno : result;
}

/* A call that the test relies on: its failure ends the program. */
static inline void must(int fd, unsigned long request, const void *arg)
{
	int err = call(fd, request, arg);

	if (err < 0)
		bail_out("ioctl %#lx: %s", request, error_name(err));
}

static inline int open_device(int flags)
{
	int fd = open(HASHBELT_DEVICE, flags | O_CLOEXEC);

	if (fd < 0)
		bail_out("%s: %s", HASHBELT_DEVICE, strerror(errno));
	return fd;
}

/*
 * A descriptor with a belt of its own with these settings, whose belt time is halted. A
 * time-to-live of 0 stands for TTL.
 */
static inline int belt_of(struct hashbelt_settings settings)
{
	int fd = open_device(O_RDWR);

	if (!settings.ttl_ms)
		settings.ttl_ms = TTL;
	must(fd, HASHBELT_IOC_CREATE, &settings);
	must(fd, HASHBELT_IOC_HALT, NULL);
	return fd;
}

/* A descriptor with a nameless belt of its own, whose belt time is halted. */
static inline int new_belt(__u32 policy)
{
	return belt_of((struct hashbelt_settings){ .policy = policy, .mode = 0600 });
}

/* Changes one or more settings; 0 or a negative errno. */
static inline int set_belt(int fd, struct hashbelt_settings settings)
{
	return call(fd, HASHBELT_IOC_SET, &settings);
}

/* set_belt() of which a failure ends the program. */
#define SET(fd, ...) \
	must(fd, HASHBELT_IOC_SET, &(struct hashbelt_settings){ __VA_ARGS__ })

static inline __u64 address(const void *p)
{
	return (uintptr_t)p;
}

static inline struct hashbelt_item item_of(const char *key)
{
	return (struct hashbelt_item){ .key = address(key), .key_len = strlen(key) };
}

/* An item that puts a text. */
static inline struct hashbelt_item text_item(const char *key, const char *text)
{
	struct hashbelt_item item = item_of(key);

	item.value = address(text);
	item.value_len = strlen(text);
	return item;
}

/*
 * Puts a text with @ttl_ms, or the belt's time-to-live if it is 0; returns the entry's
 * version.
 */
static inline __u64 put_text(int fd, const char *key, const char *text, __u64 ttl_ms)
{
	struct hashbelt_item item = text_item(key, text);

	item.ttl_ms = ttl_ms;
	must(fd, HASHBELT_IOC_PUT, &item);
	return item.version;
}

/* A call whose only argument is a key. */
static inline int on_key(int fd, unsigned long request, const char *key)
{
	struct hashbelt_item item = item_of(key);

	return call(fd, request, &item);
}

static inline bool is_there(int fd, const char *key)
{
	struct hashbelt_item item = item_of(key);

	item.how = HASHBELT_NO_VALUE | HASHBELT_NO_REFRESH;
	return !call(fd, HASHBELT_IOC_GET, &item);
}

/* Puts or removes @n keys of 16 bytes, numbered from @from, in batches. A value has 64 bytes. */
static inline void batch_numbers(int belt, enum hashbelt_op op, unsigned int from, unsigned int n,
				 __u64 ttl_ms)
{
	static struct hashbelt_item items[1000];
	static struct { __u64 number, zero; } keys[1000];
	static unsigned char value[64];
	struct hashbelt_batch batch = { .items = address(items) };
	unsigned int i, k;

	for (i = 0; i < n; i += k) {
		for (k = 0; k < ARRAY_SIZE(items) && i + k < n; k++) {
			keys[k].number = from + i + k;
			items[k] = (struct hashbelt_item){
				.op = op, .ttl_ms = ttl_ms,
				.key = address(&keys[k]), .key_len = sizeof(keys[k]),
				.value = address(value), .value_len = sizeof(value),
			};
		}
		batch.count = k;
		must(belt, HASHBELT_IOC_BATCH, &batch);
		if (batch.done != k || items[k - 1].result)
			bail_out("operation %u: %s", op, error_name(items[k - 1].result));
	}
}

static inline void put_numbers(int belt, unsigned int from, unsigned int n, __u64 ttl_ms)
{
	batch_numbers(belt, HASHBELT_OP_PUT, from, n, ttl_ms);
}

static inline void remove_numbers(int belt, unsigned int from, unsigned int n)
{
	batch_numbers(belt, HASHBELT_OP_REMOVE, from, n, 0);
}

/* Puts a value of @len zeros under the key @number; 0 or a negative errno. */
static inline int put_zeros(int belt, unsigned int number, __u32 len, __u64 ttl_ms)
{
	static unsigned char zeros[HASHBELT_VALUE_MAX];
	struct hashbelt_item item = {
		.key = address(&number), .key_len = sizeof(number),
		.value = address(zeros), .value_len = len, .ttl_ms = ttl_ms,
	};

	return call(belt, HASHBELT_IOC_PUT, &item);
}

static inline int remove_number(int belt, unsigned int number)
{
	struct hashbelt_item item = { .key = address(&number), .key_len = sizeof(number) };

	return call(belt, HASHBELT_IOC_REMOVE, &item);
}

static inline void advance(int fd, __u64 ms)
{
	must(fd, HASHBELT_IOC_ADVANCE, &ms);
}

static inline struct hashbelt_info info_of(int fd)
{
	struct hashbelt_info info = {};

	must(fd, HASHBELT_IOC_INFO, &info);
	return info;
}

static inline __u64 counter(int fd, enum hashbelt_counter which)
{
	__u64 counters[HASHBELT_STAT_COUNT] = {};
	struct hashbelt_stat stat = {
		.counters = address(counters), .count = HASHBELT_STAT_COUNT,
	};

	must(fd, HASHBELT_IOC_STAT, &stat);
	return counters[which];
}

/* The number of entries that were handed over 2^@bits ms or more after their deadline. */
static inline __u64 later_than(int fd, unsigned int bits)
{
	__u64 lags[HASHBELT_LAGS] = {}, count = 0;
	struct hashbelt_stat stat = {
		.lags = address(lags), .lag_count = HASHBELT_LAGS,
	};

	must(fd, HASHBELT_IOC_STAT, &stat);
	while (++bits < HASHBELT_LAGS)
		count += lags[bits];
	return count;
}

/**
 * struct snapshot - what a get returns of a key, and the number of entries in the belt
 * @err:	of the get; all fields below it are 0 if the get failed
 */
struct snapshot {
	__u64 entries;
	int err;
	__u32 flags;
	__u32 value_len;
	__u64 ttl_ms;
	__u64 version;
	char value[64];
};

/* Looks at a key without changing its deadline. */
static inline struct snapshot look(int fd, const char *key)
{
	struct snapshot snapshot = { .entries = info_of(fd).entries };
	struct hashbelt_item item = item_of(key);

	item.how = HASHBELT_NO_REFRESH;
	item.value = address(snapshot.value);
	item.value_len = sizeof(snapshot.value);
	snapshot.err = call(fd, HASHBELT_IOC_GET, &item);
	if (snapshot.err)
		return snapshot;
	snapshot.flags = item.flags;
	snapshot.value_len = item.value_len;
	snapshot.ttl_ms = item.ttl_ms;
	snapshot.version = item.version;
	return snapshot;
}

static inline bool is_same_snapshot(const struct snapshot *a, const struct snapshot *b)
{
	return a->entries == b->entries && a->err == b->err && a->flags == b->flags &&
	       a->value_len == b->value_len && a->ttl_ms == b->ttl_ms &&
	       a->version == b->version &&
	       !memcmp(a->value, b->value, sizeof(a->value));
}

static inline bool holds_text(int fd, const char *key, const char *text)
{
	struct snapshot snapshot = look(fd, key);

	return !snapshot.err && snapshot.value_len == strlen(text) &&
	       !memcmp(snapshot.value, text, snapshot.value_len);
}

static inline struct hashbelt_name name_of(const char *name)
{
	struct hashbelt_name arg = {};

	snprintf(arg.name, sizeof(arg.name), "%s", name);
	return arg;
}

static inline int open_belt(int fd, const char *name)
{
	struct hashbelt_name arg = name_of(name);

	return call(fd, HASHBELT_IOC_OPEN, &arg);
}

static inline int destroy_belt(int fd, const char *name)
{
	struct hashbelt_name arg = name_of(name);

	return call(fd, HASHBELT_IOC_DESTROY, &arg);
}

static inline int create_belt(int fd, const char *name, __u32 mode)
{
	struct hashbelt_settings create = { .ttl_ms = TTL, .mode = mode };

	snprintf(create.name, sizeof(create.name), "%s", name);
	return call(fd, HASHBELT_IOC_CREATE, &create);
}

/* Parameters of the module */

#define PARAMETERS	"/sys/module/hashbelt/parameters/"

/* 0 or a negative errno. */
static inline int set_parameter(const char *name, const char *text)
{
	char path[128];
	int fd, err = 0;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		bail_out("%s: %s", path, strerror(errno));
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* set_parameter() of which a failure ends the program. */
static inline void set_number(const char *name, __u64 value)
{
	char text[32];
	int err;

	snprintf(text, sizeof(text), "%llu", value);
	err = set_parameter(name, text);
	if (err)
		bail_out("%s=%s: %s", name, text, error_name(err));
}

static inline __u64 get_parameter(const char *name)
{
	char path[128], text[32];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len < 0)
		bail_out("%s: %s", path, strerror(errno));
	text[len] = 0;
	close(fd);
	return strtoull(text, NULL, 10);
}

/*
 * Waits, 10 s at least, until @is_so(@arg): a worker frees memory after a grace period.
 */
static inline bool at_last(bool (*is_so)(void *arg), void *arg)
{
	unsigned int tries;

	for (tries = 0; tries < 10000; tries++) {
		if (is_so(arg))
			return true;
		usleep(1000);
	}
	return false;
}

static inline bool is_used_at_most(void *arg)
{
	return get_parameter("used_bytes") <= *(__u64 *)arg;
}

/* Waits until the module uses at most @bytes; false if it does not in time. */
static inline bool used_at_last(__u64 bytes)
{
	if (at_last(is_used_at_most, &bytes))
		return true;
	note("used_bytes is %llu, not %llu or less", get_parameter("used_bytes"), bytes);
	return false;
}

/* Memory for arguments */

/* Fresh pages that have not been touched, followed by an unmapped page. */
static inline unsigned char *fresh_pages(size_t size)
{
	size_t rounded = (size + PAGE - 1) & ~(PAGE - 1);
	unsigned char *pages = mmap(NULL, rounded + PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		bail_out("mmap of %zu bytes: %s", rounded, strerror(errno));
	if (mprotect(pages + rounded, PAGE, PROT_NONE))
		bail_out("mprotect: %s", strerror(errno));
	return pages;
}

/* Fills memory with bytes that differ by @seed. */
static inline void fill_bytes(unsigned char *p, size_t size, unsigned int seed)
{
	unsigned int state = seed * 2654435761u + 1;

	while (size--) {
		state = state * 1103515245 + 12345;
		*p++ = state >> 16;
	}
}

/* Memory of @size bytes that ends just before an unmapped page. */
static inline void *before_hole(size_t size)
{
	size_t rounded = (size + PAGE - 1) & ~(PAGE - 1);

	return fresh_pages(size) + rounded - size;
}

/* A copy of @from in read-only memory. */
static inline void *readonly_copy(const void *from, size_t size)
{
	unsigned char *pages = fresh_pages(size);

	memcpy(pages, from, size);
	if (mprotect(pages, size, PROT_READ))
		bail_out("mprotect: %s", strerror(errno));
	return pages;
}

/* An address at which nothing is mapped. */
static inline void *unmapped(void)
{
	unsigned char *page = fresh_pages(PAGE);

	if (munmap(page, 2 * PAGE))
		bail_out("munmap: %s", strerror(errno));
	return page;
}

/* Addresses at which there is no memory to use */

static inline __u64 unmapped_place(unsigned int size)
{
	(void)size;
	return address(unmapped());
}

static inline __u64 kernel_place(unsigned int size)
{
	(void)size;
	return 0xffff888000000000ULL;
}

static inline __u64 last_place(unsigned int size)
{
	return ~0ULL - size / 2;
}

static inline __u64 straddling_place(unsigned int size)
{
	return address(before_hole(size)) + 1;
}

static inline __u64 readonly_place(unsigned int size)
{
	static unsigned char zeros[HASHBELT_VALUE_MAX];

	return address(readonly_copy(zeros, size));
}

/**
 * struct bad_place - an address of memory that a call cannot use
 * @what:	for the test line
 * @make:	makes one for so many bytes
 * @readable:	it can be read, and not written
 */
static const struct bad_place {
	const char *what;
	__u64 (*make)(unsigned int size);
	bool readable;
} bad_places[] = {
	{ "at an unmapped address", unmapped_place, false },
	{ "at a kernel address", kernel_place, false },
	{ "across the end of the address space", last_place, false },
	{ "cut off by an unmapped page", straddling_place, false },
	{ "in read-only memory", readonly_place, true },
};

#endif /* _DEVICE_H */
