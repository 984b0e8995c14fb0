// SPDX-License-Identifier: GPL-2.0-only
/*
 * machine_test - the guest has the processors, nodes and preemption that its suite asked for,
 * and a belt has the number of shards for these processors.
 *
 *	machine_test PROCESSORS [NODES [PREEMPTION]]
 *
 * With up to two processors the smallest index has a chain for each shard. With more
 * processors a belt has more shards than that: a shrinking index must keep a chain for each.
 */
#include "process.h"

#define PREEMPTION	"/sys/kernel/debug/sched/preempt"

#define SHARDS_MAX	64u
#define CHAINS_MIN	8u	/* chains of the smallest index */
#define NUMBERS		4000u	/* enough entries for each shard to have one */

/*
 * So few entries that an index for them alone has fewer chains than there are shards. An index
 * shrinks while it has more than eight chains for each entry. With three entries it shrinks to one
 * chain for each shard. With four, it would keep 32 chains if the hash had made it that large.
 */
#define KEPT		3u

static unsigned int shards;

/* The length of the list in a file, such as "0-3,5"; 0 without the file. */
static unsigned int list_length(const char *path)
{
	unsigned int length = 0;
	char text[128], *at = text;
	FILE *file = fopen(path, "r");
	unsigned long first, last;

	if (!file || !fgets(text, sizeof(text), file))
		text[0] = 0;
	if (file)
		fclose(file);
	while (*at >= '0' && *at <= '9') {
		first = strtoul(at, &at, 10);
		last = *at == '-' ? strtoul(at + 1, &at, 10) : first;
		length += last - first + 1;
		at += *at == ',';
	}
	return length;
}

static unsigned int shards_for(unsigned int cpus)
{
	unsigned int n = 1;

	while (n < 4 * cpus && n < SHARDS_MAX)
		n *= 2;
	return n;
}

static __u64 put_number(int belt, __u64 number)
{
	struct hashbelt_item item = { .key = address(&number), .key_len = sizeof(number) };

	must(belt, HASHBELT_IOC_PUT, &item);
	return item.version;
}

static unsigned int found(int belt, __u64 from, unsigned int n)
{
	struct hashbelt_item item = { .key_len = sizeof(from), .how = HASHBELT_NO_VALUE };
	unsigned int i, hits = 0;

	for (i = 0; i < n; i++, from++) {
		item.key = address(&from);
		hits += !call(belt, HASHBELT_IOC_GET, &item);
	}
	return hits;
}

/*
 * A version is the shard's count of puts times the number of shards, plus the shard's number.
 * So the first version of shard 0 is the number of shards.
 */
static void test_shards(void)
{
	__u64 versions[NUMBERS], least = ~0ULL;
	unsigned char seen[SHARDS_MAX] = {};
	unsigned int i, count = 0;
	int belt = new_belt(0);

	ok(info_of(belt).table >= shards, "a new belt has a chain for each shard");
	for (i = 0; i < NUMBERS; i++) {
		versions[i] = put_number(belt, i);
		least = versions[i] < least ? versions[i] : least;
	}
	is_int(least, shards, "the smallest version is the number of shards");
	for (i = 0; i < NUMBERS; i++)
		seen[versions[i] % shards] = 1;
	for (i = 0; i < shards; i++)
		count += seen[i];
	is_int(count, shards, "entries have versions of each of %u shards", shards);
	close(belt);
}

/**
 * struct small_index - a belt and the most chains that it may have
 * @belt:	the belt
 * @chains:	at most 4 for 3 entries, if each shard had as many as the fullest one
 */
struct small_index {
	int belt;
	unsigned int chains;
};

static bool is_small(void *arg)
{
	const struct small_index *small = arg;

	return info_of(small->belt).table <= small->chains;
}

static void test_index(void)
{
	struct small_index small = { .belt = new_belt(0), .chains = CHAINS_MIN };
	unsigned int counts[SHARDS_MAX] = {}, i, *count;
	int belt = small.belt;

	for (i = 0; i < KEPT; i++) {
		count = &counts[put_number(belt, i) % shards];
		++*count;
		if (*count * shards * 4 / 3 > small.chains)
			small.chains = *count * shards * 4 / 3;
	}
	put_numbers(belt, KEPT, NUMBERS, 1);
	/* By more than an interval: all other entries expire. */
	advance(belt, TTL - 1000);
	is_int(info_of(belt).entries, KEPT, "all entries but %u expire", KEPT);
	ok(at_last(is_small, &small), "the index shrinks to what the fullest shard needs");
	note("%llu chains, at most %u", info_of(belt).table, small.chains);
	is_int(found(belt, 0, KEPT), KEPT,
	       "the entries that are left are found once the index has shrunk");
	for (i = 0; i < NUMBERS; i++)
		put_number(belt, i);
	is_int(found(belt, 0, NUMBERS), NUMBERS,
	       "%u entries are found after the index has grown again", NUMBERS);
	close(belt);
}

/* Return: true if the kernel's preemption is @how: the file has the one in use in brackets. */
static bool preempts(const char *how)
{
	char text[64] = "", wanted[32];
	FILE *file = fopen(PREEMPTION, "r");

	if (!file || !fgets(text, sizeof(text), file))
		note("%s: %s", PREEMPTION, strerror(errno));
	if (file)
		fclose(file);
	snprintf(wanted, sizeof(wanted), "(%s)", how);
	text[strcspn(text, "\n")] = 0;
	note("preemption: %s", text);
	return strstr(text, wanted);
}

int main(int argc, char **argv)
{
	unsigned int cpus = argc > 1 ? atoi(argv[1]) : 0, nodes = argc > 2 ? atoi(argv[2]) : 1;

	if (!cpus)
		bail_out("usage: machine_test PROCESSORS [NODES [PREEMPTION]]");
	shards = shards_for(cpus);
	is_int(list_length("/sys/devices/system/cpu/possible"), cpus,
	       "the guest has %u processors", cpus);
	if (nodes > 1)
		is_int(list_length("/sys/devices/system/node/has_memory"), nodes,
		       "%u nodes have memory", nodes);
	else
		is_int(list_length("/sys/devices/system/cpu/online"), cpus,
		       "all processors of the guest are online");
	if (argc > 3)
		ok(preempts(argv[3]), "the kernel's preemption is %s", argv[3]);
	test_shards();
	test_index();
	return done_testing();
}
