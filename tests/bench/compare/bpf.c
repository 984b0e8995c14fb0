// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF maps, by bpf(2).
 *
 * They have no deadlines, so nothing can be touched. BPF_MAP_LOOKUP_BATCH takes no keys: it returns
 * the entries of the next buckets.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compare.h"

/* The kernel copies and checks as many bytes of the arguments as the caller says. */
#define SIZE_TO(member)	(offsetof(union bpf_attr, member) + sizeof(((union bpf_attr *)0)->member))

static const int commands[] = {
	[GET] = BPF_MAP_LOOKUP_ELEM, [MISS] = BPF_MAP_LOOKUP_ELEM, [PUT] = BPF_MAP_UPDATE_ELEM,
	[REMOVE] = BPF_MAP_DELETE_ELEM,
	[GET_MANY] = BPF_MAP_LOOKUP_BATCH, [PUT_MANY] = BPF_MAP_UPDATE_BATCH,
};

static size_t value_size;
static int map;
static uint32_t place;		/* the bucket at which the next BPF_MAP_LOOKUP_BATCH begins */
static bool begun;

static enum work work;
static unsigned int count;
static unsigned int done;
static int results[SLICE];
static union bpf_attr attributes[SLICE];
static union bpf_attr batch;
static char keys[SLICE][KEY_SIZE];
static char values[SLICE * VALUE_MAX];

static long bpf(int command, union bpf_attr *attribute, size_t size)
{
	return syscall(SYS_bpf, command, attribute, size);
}

static void make_map(const struct plan *plan, uint32_t type, uint32_t flags)
{
	union bpf_attr attribute = {
		.map_type = type, .key_size = KEY_SIZE, .value_size = plan->value_size,
		.max_entries = plan->entries + plan->spare, .map_flags = flags,
	};

	value_size = plan->value_size;
	map = bpf(BPF_MAP_CREATE, &attribute, sizeof(attribute));
	if (map < 0)
		die("BPF_MAP_CREATE", strerror(errno));
}

static void open_hash(const struct plan *plan)
{
	make_map(plan, BPF_MAP_TYPE_HASH, 0);
}

static void open_hash_malloc(const struct plan *plan)
{
	make_map(plan, BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC);
}

static void open_lru(const struct plan *plan)
{
	make_map(plan, BPF_MAP_TYPE_LRU_HASH, 0);
}

static void prepare_batch(void)
{
	memset(&batch, 0, sizeof(batch));
	batch.batch.map_fd = map;
	batch.batch.keys = (uintptr_t)keys;
	batch.batch.values = (uintptr_t)values;
	batch.batch.count = count;
	if (work == GET_MANY) {
		batch.batch.in_batch = begun ? (uintptr_t)&place : 0;
		batch.batch.out_batch = (uintptr_t)&place;
	}
}

static bool prepare(enum work new_work, const struct key *new_keys, unsigned int new_count)
{
	if (new_work == TOUCH)
		return false;
	work = new_work;
	count = new_count;
	memset(values, 0, count * value_size);
	for (unsigned int i = 0; i < count; i++) {
		memcpy(keys[i], new_keys[i].text, KEY_SIZE);
		if (work == PUT || work == PUT_MANY)
			make_value(values + i * value_size, new_keys[i].text, value_size);
		memset(&attributes[i], 0, sizeof(attributes[i]));
		attributes[i].map_fd = map;
		attributes[i].key = (uintptr_t)keys[i];
		if (work != REMOVE)
			attributes[i].value = (uintptr_t)(values + i * value_size);
	}
	prepare_batch();
	return true;
}

/* Past the last bucket there is ENOENT, and perhaps some entries before it. */
static unsigned int run_batch(void)
{
	begun = !bpf(commands[work], &batch, SIZE_TO(batch.flags));
	if (!begun && !(work == GET_MANY && errno == ENOENT))
		die("batch of BPF", strerror(errno));
	return done = batch.batch.count;
}

static unsigned int run(void)
{
	if (work >= GET_MANY)
		return run_batch();
	for (unsigned int i = 0; i < count; i++)
		results[i] = bpf(commands[work], &attributes[i], SIZE_TO(flags)) ? -errno : 0;
	return done = count;
}

static void check(void)
{
	int expected = work == MISS ? -ENOENT : 0;

	for (unsigned int i = 0; i < done; i++) {
		if (work < GET_MANY && results[i] != expected)
			die("BPF", strerror(-results[i]));
		if (work == GET || work == GET_MANY)
			check_value("BPF", values + i * value_size, keys[i], value_size);
	}
}

const struct peer bpf_hash_peer = {
	.name = "bpf-hash", .open = open_hash, .prepare = prepare, .run = run, .check = check,
};

const struct peer bpf_hash_malloc_peer = {
	.name = "bpf-hash-malloc", .open = open_hash_malloc, .prepare = prepare, .run = run,
	.check = check,
};

const struct peer bpf_lru_peer = {
	.name = "bpf-lru", .open = open_lru, .prepare = prepare, .run = run, .check = check,
};
