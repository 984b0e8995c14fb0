// SPDX-License-Identifier: GPL-2.0-only
/*
 * belt_test - creating, opening, listing, describing and destroying belts.
 *
 * Names and their limits, the settings of a new belt, nameless belts, belts and their
 * descriptors, and the array of counters. Belt time: tests/kunit/clock_test.c.
 */
#include "device.h"

/* Names */

struct good_name {
	const char *what;
	const char *name;
};

static const struct good_name good_names[] = {
	{ "of one byte", "a" },
	{ "of 63 bytes",
	  "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk" },
	{ "with spaces and signs", " a name, with: \"signs\" \\ $(and) *? " },
	{ "that is a dot", "." },
	{ "that is two dots", ".." },
	{ "in UTF-8", "r\303\274benkraut \342\202\254 \360\237\214\261" },
	{ "of bytes that are no UTF-8", "\377\376\200" },
};

static void test_good_name(const struct good_name *name)
{
	int belt = open_device(O_RDWR), other = open_device(O_RDWR);
	struct hashbelt_info info;
	int err = create_belt(belt, name->name, 0600);

	is_errno(err, 0, "create of a belt with a name %s succeeds", name->what);
	put_text(belt, "key", name->name, 0);
	is_errno(open_belt(other, name->name), 0, "open of a created belt by its name succeeds");
	info = info_of(other);
	ok(!strcmp(info.name, name->name) && look(other, "key").err == 0,
	   "a descriptor that opened a belt by its name sees its entries");
	is_errno(create_belt(other, name->name, 0600), EEXIST,
		 "create with the name of a present belt returns EEXIST");
	is_errno(destroy_belt(other, name->name), 0, "destroy of a belt by its name succeeds");
	is_errno(open_belt(other, name->name), ENOENT,
		 "open of a destroyed belt by its name returns ENOENT");
	is_errno(destroy_belt(other, name->name), ENOENT,
		 "a second destroy of a belt returns ENOENT");
	ok(!create_belt(other, name->name, 0600) && !info_of(other).entries,
	   "create with the name of a destroyed belt makes one without entries");
	destroy_belt(other, name->name);
	close(belt);
	close(other);
}

/* The settings of a new belt */

static void test_defaults(void)
{
	int fd = open_device(O_RDWR), belt = open_device(O_RDWR);
	struct hashbelt_settings create = {};
	struct hashbelt_info info;

	info = info_of(fd);
	ok(!strcmp(info.name, "default") && info.ttl_ms == 300000 && info.buckets == 3 &&
	   info.mode == 0600 && !info.policy && !info.uid && !info.gid && !info.state &&
	   info.interval_ns == 150000000000ULL,
	   "a new descriptor is bound to the default belt with its default settings");
	must(belt, HASHBELT_IOC_CREATE, &create);
	info = info_of(belt);
	ok(info.ttl_ms == 300000 && info.buckets == 3,
	   "create with 0 for ttl_ms and buckets takes 300000 ms and 3 buckets");
	ok(!info.name[0] && info.state == HASHBELT_NAMELESS && !info.mode && !info.entries,
	   "a belt created without a name has no name, no mode and no entries");
	is_int(info.access, HASHBELT_MAY_READ | HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN |
	       HASHBELT_MAY_CONSUME,
	       "the creator of a belt may read, write, own and consume it");
	close(fd);
	close(belt);
}

/* The least and the largest values. Each setting: tests/hbctl/settings.t and set_test. */
static void test_bounds(void)
{
	static const struct hashbelt_settings bounds[] = {
		{ .ttl_ms = 1, .buckets = 2 },
		{ .ttl_ms = HASHBELT_TTL_MAX_MS, .buckets = 65536, .mode = 0666 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bounds); i++) {
		int belt = belt_of(bounds[i]);
		struct hashbelt_info info = info_of(belt);

		ok(info.ttl_ms == bounds[i].ttl_ms && info.buckets == bounds[i].buckets &&
		   info.mode == bounds[i].mode && info.levels == 1 && info.interval_ns &&
		   info.state == (HASHBELT_NAMELESS | HASHBELT_HALTED) && info.table &&
		   info.bytes && !info.window_bytes && !info.window_used,
		   "a belt of %llu ms and %u buckets is made", bounds[i].ttl_ms,
		   bounds[i].buckets);
		put_text(belt, "key", "value", 0);
		advance(belt, bounds[i].ttl_ms - 1);
		is_int(look(belt, "key").ttl_ms, 1, "its entry is there 1 ms before the deadline");
		advance(belt, 1);
		is_errno(look(belt, "key").err, ENOENT, "its entry is missed at the deadline");
		close(belt);
	}
}

/* A create binds the descriptor to the new belt; a create that fails changes nothing. */
static void test_binding(void)
{
	int fd = open_device(O_RDWR), other = open_device(O_RDWR);

	if (create_belt(fd, "one", 0600) || create_belt(other, "two", 0600))
		bail_out("create");
	put_text(fd, "key", "one", 0);
	put_text(other, "key", "two", 0);
	ok(holds_text(fd, "key", "one") && holds_text(other, "key", "two"),
	   "a descriptor that creates a belt is bound to it");
	is_errno(create_belt(fd, "two", 0600), EEXIST,
		 "create with the name of another descriptor's belt returns EEXIST");
	ok(holds_text(fd, "key", "one"),
	   "create that fails with EEXIST leaves the descriptor bound to its belt");
	is_errno(open_belt(fd, "two"), 0,
		 "open by name of another belt succeeds on a bound descriptor");
	ok(holds_text(fd, "key", "two"), "open by name binds the descriptor to that belt");
	is_errno(open_belt(fd, "one"), 0, "open by name of the descriptor's first belt succeeds");
	ok(holds_text(fd, "key", "one"),
	   "a belt keeps its entries while no descriptor is bound to it");
	close(fd);
	close(other);
	fd = open_device(O_RDWR);
	ok(!open_belt(fd, "one") && holds_text(fd, "key", "one"),
	   "a belt with a name keeps its entries after the close of all descriptors");
	destroy_belt(fd, "one");
	destroy_belt(fd, "two");
	close(fd);
}

/* Belts without a name */

static int next_name(int fd, char *name)
{
	struct hashbelt_info info = {};
	int err;

	memcpy(info.name, name, sizeof(info.name));
	err = call(fd, HASHBELT_IOC_NEXT, &info);
	if (!err)
		memcpy(name, info.name, sizeof(info.name));
	return err;
}

static void test_nameless(void)
{
	int belt = new_belt(0), fd = open_device(O_RDWR), other = new_belt(0);
	char name[HASHBELT_NAME_SIZE] = "";
	unsigned int nameless = 0, copy;

	put_text(belt, "key", "value", 0);
	while (!next_name(fd, name))
		nameless += !name[0];
	is_int(nameless, 0, "next lists no belt without a name");
	is_errno(open_belt(fd, ""), EINVAL, "open with an empty name returns EINVAL");
	is_errno(destroy_belt(fd, ""), EINVAL, "destroy with an empty name returns EINVAL");
	is_errno(look(other, "key").err, ENOENT,
		 "an entry of a belt without a name is missed in another such belt");
	copy = dup(belt);
	close(belt);
	ok(holds_text(copy, "key", "value"),
	   "a belt without a name lives as long as a copy of its descriptor");
	close(copy);
	close(fd);
	close(other);
}

/* The end of a belt */

/* A descriptor without a belt; which calls return EIDRM then: service_test.c. */
static void test_unbound(void)
{
	int fd = open_device(O_RDWR), other;

	is_errno(destroy_belt(fd, "default"), 0, "destroy of the default belt succeeds");
	close(fd);
	fd = open_device(O_RDWR);
	is_int(call(fd, HASHBELT_IOC_ABI, NULL), HASHBELT_ABI,
	       "a descriptor returns the ABI without a default belt");
	is_errno(destroy_belt(fd, "default"), ENOENT,
		 "destroy through a descriptor without a belt returns ENOENT for its name");
	is_errno(create_belt(fd, "default", 0600), 0,
		 "create through a descriptor without a belt succeeds");
	put_text(fd, "key", "value", 0);
	other = open_device(O_RDWR);
	ok(holds_text(other, "key", "value"),
	   "a new descriptor is bound to a belt that was created with the name default");
	must(fd, HASHBELT_IOC_CLEAR, NULL);
	SET(fd, .fields = HASHBELT_SET_TTL);
	close(fd);
	close(other);
}

/* Next */

static void test_list(void)
{
	static const char *const names[] = { "b", "a", "ab", "B", "\303\251", "a b" };
	static const char *const order[] = {
		"B", "a", "a b", "ab", "b", "default", "\303\251",
	};
	char name[HASHBELT_NAME_SIZE] = "";
	struct hashbelt_info info = { .name = "a" };
	int fd = open_device(O_RDWR), err;
	unsigned int i;
	bool good = true;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (create_belt(fd, names[i], 0604))
			bail_out("create");
	for (i = 0; i < ARRAY_SIZE(order); i++)
		good = good && !next_name(fd, name) && !strcmp(name, order[i]);
	ok(good, "next lists all belts in the order of the bytes of their names");
	is_errno(next_name(fd, name), ENOENT, "next after the last belt returns ENOENT");
	ok(!strcmp(name, "\303\251"),
	   "next after the last belt leaves the caller's name as it was");
	memset(name, 0, sizeof(name));
	strcpy(name, "aa");
	err = next_name(fd, name);
	ok(!err && !strcmp(name, "ab"),
	   "next of a name that no belt has returns the belt behind it");
	memset(&info.ttl_ms, 0xff, sizeof(info) - offsetof(struct hashbelt_info, ttl_ms));
	must(fd, HASHBELT_IOC_NEXT, &info);
	ok(!strcmp(info.name, "a b") && info.ttl_ms == TTL && info.mode == 0604 &&
	   info.buckets == 3 && !info.entries && !info.state &&
	   info.access == (HASHBELT_MAY_READ | HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN |
			   HASHBELT_MAY_CONSUME),
	   "next describes a belt whatever the structure held before");
	for (i = 0; i < ARRAY_SIZE(names); i++)
		destroy_belt(fd, names[i]);
	close(fd);
}

/* Clear and info */

static int one(int belt, unsigned long request, const char *key, __u32 how)
{
	static char buffer[64];
	struct hashbelt_item item = item_of(key);

	item.how = how;
	item.value = address(buffer);
	item.value_len = sizeof(buffer);
	return call(belt, request, &item);
}

/* Gets of a present and of an absent key in a batch, each of which looks and does not read. */
static void look_in_batch(int belt, const char *present, const char *absent)
{
	struct hashbelt_item items[2] = { item_of(present), item_of(absent) };
	struct hashbelt_batch batch = { .items = address(items), .count = 2 };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		items[i].op = HASHBELT_OP_GET;
		items[i].how = HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE;
	}
	must(belt, HASHBELT_IOC_BATCH, &batch);
}

/* A fill of a present key that looks and does not read. */
static void look_by_fill(int belt, const char *present)
{
	struct hashbelt_fill fill = { .item = item_of(present) };

	fill.item.how = HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE;
	must(belt, HASHBELT_IOC_FILL, &fill);
}

/* Gets that only look, and the arrays of STAT. tests/kunit/stat_test.c has all counters. */
static void test_counters(void)
{
	int belt = new_belt(0);
	__u64 got[HASHBELT_STAT_COUNT + 2] = {};
	struct hashbelt_stat stat = {
		.counters = address(got), .count = HASHBELT_STAT_COUNT + 2,
	};

	one(belt, HASHBELT_IOC_PUT, "a", 0);
	one(belt, HASHBELT_IOC_GET, "a", HASHBELT_NO_VALUE);
	one(belt, HASHBELT_IOC_GET, "a", HASHBELT_NO_REFRESH);
	one(belt, HASHBELT_IOC_GET, "b", HASHBELT_NO_REFRESH);
	look_in_batch(belt, "a", "b");
	look_by_fill(belt, "a");
	got[HASHBELT_STAT_COUNT] = 42;
	must(belt, HASHBELT_IOC_STAT, &stat);
	ok(got[HASHBELT_STAT_HITS] == 1 && !got[HASHBELT_STAT_MISSES],
	   "a get without the value counts, and gets that only look do not");
	is_int(stat.count, HASHBELT_STAT_COUNT,
	       "stat returns the number of counters that the kernel knows");
	is_int(got[HASHBELT_STAT_COUNT], 42, "stat writes no more counters than the kernel knows");
	memset(got, 0xff, sizeof(got));
	stat.count = 2;
	stat.lag_count = 0;
	must(belt, HASHBELT_IOC_STAT, &stat);
	ok(!got[1] && got[2] == ~0ULL && stat.count == HASHBELT_STAT_COUNT,
	   "stat writes no more counters than there is room for");
	stat = (struct hashbelt_stat){};
	is_errno(call(belt, HASHBELT_IOC_STAT, &stat), 0,
		 "stat without room for counters succeeds");
	is_int(stat.count, HASHBELT_STAT_COUNT,
	       "stat without room for counters returns how many there are");
	close(belt);
}

int main(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good_names); i++)
		test_good_name(&good_names[i]);
	test_defaults();
	test_bounds();
	test_binding();
	test_nameless();
	test_list();
	test_counters();
	test_unbound();
	return done_testing();
}
