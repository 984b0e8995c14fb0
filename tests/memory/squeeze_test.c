// SPDX-License-Identifier: GPL-2.0-only
/*
 * squeeze_test - a belt that takes most of the memory gives way to other processes.
 *
 * For a guest with little memory. One process fills a belt that does not evict, with a
 * limit near all available memory. Ten others, one after the other, take memory, write to it and
 * give it back. The belt has to give up entries, and no process may be killed.
 */
#include "process.h"
#include "stock.h"

#define ROUNDS	10

/**
 * struct squeeze - memory that the processes share
 * @belt:	the belt that is filled
 * @end:	tells the process that fills the belt to end
 * @good:	number of puts that succeeded
 * @refused:	number of puts that failed with ENOMEM or ENOSPC
 * @bad:	number of puts that failed with another error
 */
struct squeeze {
	int belt;
	bool end;
	unsigned long long good;
	unsigned long long refused;
	unsigned long long bad;
};

static struct squeeze *squeeze;

static const __u32 lens[] = { 100, 1000, 4000, 20000, 100 };

static int fill_belt(void *arg)
{
	unsigned int number;
	int err;

	(void)arg;
	for (number = 0; !__atomic_load_n(&squeeze->end, __ATOMIC_ACQUIRE); number++) {
		err = put_zeros(squeeze->belt, number, lens[number % ARRAY_SIZE(lens)],
				3600000 + number);
		squeeze->good += !err;
		squeeze->refused += err == -ENOMEM || err == -ENOSPC;
		squeeze->bad += err && err != -ENOMEM && err != -ENOSPC;
	}
	return 0;
}

/* Takes memory, writes to all of it, checks it and gives it back. */
static int take_memory(void *arg)
{
	size_t size = *(size_t *)arg, at;
	unsigned char *p;

	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	for (at = 0; at < size; at += PAGE)
		p[at] = at / PAGE;
	for (at = 0; at < size; at += PAGE)
		if (p[at] != (unsigned char)(at / PAGE))
			return 2;
	return 0;
}

static bool is_larger(void *arg)
{
	return get_parameter("used_bytes") > *(__u64 *)arg;
}

/* Waits until the module uses more than @bytes, for as long as that grows. */
static bool grows_beyond(__u64 bytes)
{
	__u64 used = 0;

	while (used <= bytes && at_last(is_larger, &used))
		used = get_parameter("used_bytes");
	return used > bytes;
}

static void test_squeeze(__u32 handler, const char *name)
{
	struct hashbelt_settings settings = { .handler = handler };
	unsigned long long total = memory_number("MemTotal:");
	unsigned long long available = memory_number("MemAvailable:");
	unsigned long long kills = proc_number("/proc/vmstat", "oom_kill ");
	size_t size = available / 2;
	unsigned int round;
	pid_t filler;

	memset(squeeze, 0, sizeof(*squeeze));
	squeeze->belt = belt_of(settings);
	note("%llu MiB of memory, %llu available", total >> 20, available >> 20);
	set_number("max_bytes", available - available / 16);
	filler = start(fill_belt, NULL);
	ok(grows_beyond(size),
	   "handler %s: a belt fills half of the available memory", name);
	for (round = 0; round < ROUNDS; round++)
		is_int(finish(start(take_memory, &size)), 0,
		       "handler %s: a process gets half of the memory beside a full belt, turn %u",
		       name, round);
	__atomic_store_n(&squeeze->end, true, __ATOMIC_RELEASE);
	is_int(finish(filler), 0,
	       "handler %s: a process that puts without memory exits with 0", name);
	is_int(proc_number("/proc/vmstat", "oom_kill ") - kills, 0,
	       "handler %s: the OOM killer kills no process", name);
	ok(counter(squeeze->belt, HASHBELT_STAT_PRESSURE) > 0,
	   "handler %s: the belt gives up entries under pressure", name);
	is_int(squeeze->bad, 0, "handler %s: puts fail with ENOMEM or ENOSPC only", name);
	note("%llu puts, %llu refused, %llu given up", squeeze->good, squeeze->refused,
	     counter(squeeze->belt, HASHBELT_STAT_PRESSURE));
	/* The belt may be at the module's limit: a put may need the clear. */
	must(squeeze->belt, HASHBELT_IOC_CLEAR, NULL);
	put_text(squeeze->belt, "key", "value", 0);
	ok(holds_text(squeeze->belt, "key", "value"),
	   "handler %s: put and get work after a clear of the belt", name);
	close(squeeze->belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes"), limit = get_parameter("max_bytes");

	squeeze = shared_memory(sizeof(*squeeze));
	test_squeeze(HASHBELT_DROP, "drop");
	/* The second test uses MemAvailable, so the first belt's memory must be back. */
	ok(used_at_last(before), "used_bytes returns to what it was before the first belt");
	test_squeeze(HASHBELT_NOTIFY, "notify");
	set_number("max_bytes", limit);
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
