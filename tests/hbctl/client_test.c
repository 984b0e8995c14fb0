// SPDX-License-Identifier: GPL-2.0
/* What hbctl does not use of the client library, on /dev/hashbelt. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

/* More than two calls of the kernel. */
#define ITEMS	(2 * HASHBELT_BATCH_MAX + 10)

static int failures, count;

static void result(bool right, const char *what)
{
	count++;
	failures += !right;
	printf("%sok %d - %s\n", right ? "" : "not ", count, what);
}

static void test_open(void)
{
	result(hashbelt_open("/nonexistent") == -ENOENT, "open: ENOENT");
	result(hashbelt_open("/dev/null") == -ENOTTY, "open: ENOTTY");
}

static void test_names(int fd)
{
	char name[HASHBELT_NAME_SIZE + 1];

	memset(name, 'n', sizeof(name));
	name[HASHBELT_NAME_SIZE] = '\0';
	result(hashbelt_bind(fd, name) == -ENAMETOOLONG, "bind: ENAMETOOLONG");
	result(hashbelt_bind(fd, "") == -EINVAL, "bind: EINVAL");
	result(hashbelt_bind(fd, "no such") == -ENOENT, "bind: ENOENT");
	result(hashbelt_create(fd, name, NULL) == -ENAMETOOLONG, "create: ENAMETOOLONG");
	result(hashbelt_destroy(fd, "a/b") == -EINVAL, "destroy: EINVAL");
}

/* Leaves the descriptor with a belt that nobody else can reach. */
static void test_nameless(int fd)
{
	struct hashbelt_create settings = { .name = "ignored", .ttl_ms = 60000 };
	struct hashbelt_info info;

	result(!hashbelt_create(fd, NULL, &settings), "create: without a name");
	result(!hashbelt_info(fd, &info) && info.state & HASHBELT_NAMELESS &&
	       info.ttl_ms == 60000 && !*info.name, "info: it has no name");
	for (memset(&info, 0, sizeof(info)); !hashbelt_next(fd, &info);)
		if (!*info.name || !strcmp(info.name, "ignored"))
			break;
	result(hashbelt_next(fd, &info) == -ENOENT, "next: it is not listed");
}

static void test_plain(int fd)
{
	static char large[HASHBELT_VALUE_MAX + 1];
	struct hashbelt_item item = { 0 };
	char buffer[4];

	result(!hashbelt_put(fd, "k", 1, "value", 5, NULL), "put: no item");
	result(hashbelt_get(fd, "k", 1, buffer, 4, &item) == -ERANGE &&
	       item.value_len == 5, "get: ERANGE says how long");
	item = (struct hashbelt_item){ 0 };
	result(!hashbelt_get(fd, "k", 1, large, ~(size_t)0, &item) &&
	       item.value_len == 5 && !memcmp(large, "value", 5), "get: any size");
	result(hashbelt_put(fd, large, HASHBELT_KEY_MAX + 1, "", 0, NULL) == -E2BIG,
	       "put: E2BIG");
	result(hashbelt_put(fd, "k", 1, large, sizeof(large), NULL) == -EMSGSIZE,
	       "put: EMSGSIZE");
	result(hashbelt_get(fd, "", 0, buffer, 4, NULL) == -EINVAL, "get: EINVAL");
	result(!hashbelt_touch(fd, "k", 1, 5, NULL), "touch: no item");
	result(!hashbelt_remove(fd, "k", 1, NULL), "remove: no item");
	result(hashbelt_expire(fd, "k", 1) == -ENOENT, "expire: ENOENT");
}

/* Every item is tried once, and in its place. */
static void test_batch(int fd)
{
	struct hashbelt_item *items = calloc(ITEMS, sizeof(*items));
	__u32 (*keys)[1] = calloc(ITEMS, sizeof(*keys));
	unsigned int i, done = 0, right = 0;

	for (i = 0; i < ITEMS; i++) {
		keys[i][0] = i;
		items[i] = hashbelt_item(HASHBELT_OP_PUT, keys[i], sizeof(keys[i]), "v", 1);
		items[i].how = HASHBELT_IF_ABSENT;
	}
	result(!hashbelt_batch(fd, items, ITEMS, &done) && done == ITEMS,
	       "batch: more than a call takes");
	for (i = 0; i < ITEMS; i++)
		right += !items[i].result && items[i].version;
	result(right == ITEMS, "batch: each was put once");

	items[HASHBELT_BATCH_MAX + 1].key = 0;
	for (i = 0; i < ITEMS; i++)
		items[i].result = 0;
	result(!hashbelt_batch(fd, items, ITEMS, NULL) &&
	       items[HASHBELT_BATCH_MAX].result == -EEXIST &&
	       items[HASHBELT_BATCH_MAX + 1].result == -EFAULT &&
	       items[ITEMS - 1].result == -EEXIST, "batch: each has a result");
	result(hashbelt_batch(fd, NULL, 1, &done) == -EFAULT && !done, "batch: EFAULT");
	result(!hashbelt_batch(fd, NULL, 0, &done) && !done, "batch: of nothing");
	free(items);
	free(keys);
}

static void test_scan(int fd)
{
	static bool seen[ITEMS];
	const struct hashbelt_record *record;
	struct hashbelt_scanner scanner;
	unsigned int right = 0;
	__u32 key;
	int more;

	result(!hashbelt_scan_begin(&scanner, fd), "scan: begin");
	while ((more = hashbelt_scan_next(&scanner, &record)) > 0) {
		memcpy(&key, hashbelt_record_key(record), sizeof(key));
		if (record->key_len != sizeof(key) || key >= ITEMS)
			break;
		right += !seen[key];
		seen[key] = true;
	}
	result(!more && right == ITEMS, "scan: each key");
	result(!hashbelt_scan_next(&scanner, &record), "scan: stays at its end");
	hashbelt_scan_end(&scanner);
}

static void test_stat(int fd)
{
	__u64 counters[HASHBELT_STAT_COUNT + 2];
	unsigned int few = 3, more = HASHBELT_STAT_COUNT + 2;

	memset(counters, 0xff, sizeof(counters));
	result(!hashbelt_stat(fd, counters, &few) && few == 3 &&
	       counters[HASHBELT_STAT_PUTS_NEW] == ITEMS + 1 &&
	       counters[3] == ~0ULL, "stat: fewer than there are");
	result(!hashbelt_stat(fd, counters, &more) && more >= HASHBELT_STAT_COUNT &&
	       counters[HASHBELT_STAT_REMOVES] == 1, "stat: all there are");
}

int main(void)
{
	int fd = hashbelt_open(NULL);

	printf("1..29\n");
	if (fd < 0) {
		printf("Bail out! cannot open the device: %s\n", strerror(-fd));
		return 1;
	}
	test_open();
	test_names(fd);
	test_nameless(fd);
	test_plain(fd);
	test_batch(fd);
	test_scan(fd);
	test_stat(fd);
	hashbelt_close(fd);
	return failures || count != 29;
}
