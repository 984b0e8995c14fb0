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

static int map;
static uint32_t place;		/* the bucket at which the next BPF_MAP_LOOKUP_BATCH begins */
static bool begun;

static union bpf_attr attributes[SLICE];
static union bpf_attr batch;
static char keys[SLICE][KEY_SIZE];	/* of a batch, and its values */
static char values[SLICE * VALUE_MAX];

static long bpf(int command, union bpf_attr *attribute, size_t size)
{
	return syscall(SYS_bpf, command, attribute, size);
}

static void make_map(uint32_t type, uint32_t flags)
{
	union bpf_attr attribute = {
		.map_type = type, .key_size = KEY_SIZE, .value_size = plan.value_size,
		.max_entries = plan.entries + plan.spare, .map_flags = flags,
	};

	map = bpf(BPF_MAP_CREATE, &attribute, sizeof(attribute));
	if (map < 0)
		die("BPF_MAP_CREATE", strerror(errno));
}

static void open_hash(void)
{
	make_map(BPF_MAP_TYPE_HASH, 0);
}

static void open_hash_malloc(void)
{
	make_map(BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC);
}

static void open_lru(void)
{
	make_map(BPF_MAP_TYPE_LRU_HASH, 0);
}

static bool prepare(void)
{
	for (unsigned int i = 0; i < calls.count; i++) {
		memcpy(keys[i], calls.keys[i].text, KEY_SIZE);
		memcpy(values + i * plan.value_size, calls.values[i], plan.value_size);
		memset(&attributes[i], 0, sizeof(attributes[i]));
		attributes[i].map_fd = map;
		attributes[i].key = (uintptr_t)calls.keys[i].text;
		if (calls.work != REMOVE)
			attributes[i].value = (uintptr_t)calls.values[i];
	}
	memset(&batch, 0, sizeof(batch));
	batch.batch.map_fd = map;
	batch.batch.keys = (uintptr_t)keys;
	batch.batch.values = (uintptr_t)values;
	batch.batch.count = calls.count;
	if (calls.work == GET_MANY) {
		batch.batch.in_batch = begun ? (uintptr_t)&place : 0;
		batch.batch.out_batch = (uintptr_t)&place;
	}
	return calls.work != TOUCH;
}

/* Past the last bucket there is ENOENT, and perhaps some entries before it. */
static unsigned int run_batch(void)
{
	begun = !bpf(commands[calls.work], &batch, SIZE_TO(batch.flags));
	if (!begun && !(calls.work == GET_MANY && errno == ENOENT))
		die("batch of BPF", strerror(errno));
	return batch.batch.count;
}

static unsigned int run(void)
{
	if (calls.work >= GET_MANY)
		return run_batch();
	for (unsigned int i = 0; i < calls.count; i++)
		calls.results[i] =
			bpf(commands[calls.work], &attributes[i], SIZE_TO(flags)) ? -errno : 0;
	return calls.count;
}

static bool check(void)
{
	if (calls.work < GET_MANY)
		return true;
	calls.count = batch.batch.count;
	for (unsigned int i = 0; i < calls.count; i++) {
		memcpy(calls.keys[i].text, keys[i], KEY_SIZE);
		memcpy(calls.values[i], values + i * plan.value_size, plan.value_size);
		calls.results[i] = 0;
	}
	return true;
}

#define PEER(title, open_map) {							\
	.name = (title), .absent = -ENOENT, .open = (open_map),			\
	.prepare = prepare, .run = run, .check = check,				\
}

const struct peer bpf_hash_peer = PEER("bpf-hash", open_hash);
const struct peer bpf_hash_malloc_peer = PEER("bpf-hash-malloc", open_hash_malloc);
const struct peer bpf_lru_peer = PEER("bpf-lru", open_lru);
