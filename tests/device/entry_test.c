// SPDX-License-Identifier: GPL-2.0-only
/*
 * entry_test - what get, put, touch, remove and expire return in their arguments.
 *
 * Belt time is halted and moved by hand, so every time left is exact. Conditions, versions and
 * deadlines: tests/kunit/core_test.c and tests/history.
 */
#define _GNU_SOURCE
#include "device.h"

static char buffer[64];

static struct hashbelt_item reader(const char *key)
{
	struct hashbelt_item item = item_of(key);

	item.value = address(buffer);
	item.value_len = sizeof(buffer);
	return item;
}

static int simple(int belt, unsigned long request, const char *key)
{
	struct hashbelt_item item = item_of(key);

	return call(belt, request, &item);
}

static __u64 ttl_of(int belt, const char *key)
{
	struct snapshot snapshot = look(belt, key);

	return snapshot.err ? 0 : snapshot.ttl_ms;
}

static void test_put_and_get(void)
{
	int belt = new_belt(0);
	struct hashbelt_item item = text_item("key", "value"), got = reader("key");
	struct hashbelt_item asked;

	item.flags = 0xdeadbeef;
	item.ttl_ms = 1234;
	asked = item;
	is_errno(call(belt, HASHBELT_IOC_PUT, &item), 0, "put of a new key succeeds");
	ok(item.version, "put of a new key returns a version");
	is_int(item.ttl_ms, 1234, "put returns the time-to-live that was set");
	asked.version = item.version;
	ok(!memcmp(&asked, &item, sizeof(item)), "put changes nothing else in its argument");

	memset(buffer, '-', sizeof(buffer));
	asked = got;
	is_errno(call(belt, HASHBELT_IOC_GET, &got), 0, "get of a key that was put succeeds");
	ok(!memcmp(buffer, "value---", 8), "get returns the value and writes no byte after it");
	is_int(got.value_len, 5, "get returns the value's length");
	is_int(got.flags, 0xdeadbeef, "get returns the flags that were put");
	is_int(got.ttl_ms, 1234, "get returns the time left");
	is_int(got.version, item.version, "get returns the version of the put");
	asked.value_len = 5;
	asked.flags = 0xdeadbeef;
	asked.ttl_ms = 1234;
	asked.version = item.version;
	ok(!memcmp(&asked, &got, sizeof(got)), "get changes nothing else in its argument");
	close(belt);
}

static void test_absent(void)
{
	static const struct { const char *name; unsigned long request; } verbs[] = {
		{ "get", HASHBELT_IOC_GET }, { "touch", HASHBELT_IOC_TOUCH },
		{ "remove", HASHBELT_IOC_REMOVE }, { "expire", HASHBELT_IOC_EXPIRE },
	};
	int belt = new_belt(0);
	struct hashbelt_item item, asked;
	unsigned int i;

	put_text(belt, "other", "value", 0);
	for (i = 0; i < ARRAY_SIZE(verbs); i++) {
		item = reader("key");
		item.flags = 7;
		item.ttl_ms = 8;
		item.version = 9;
		asked = item;
		is_errno(call(belt, verbs[i].request, &item), ENOENT,
			 "%s of an absent key returns ENOENT", verbs[i].name);
		ok(!memcmp(&item, &asked, sizeof(item)),
		   "%s of an absent key changes nothing in its argument", verbs[i].name);
	}
	is_int(info_of(belt).entries, 1,
	       "get, touch, remove and expire of an absent key leave the number of entries");
	close(belt);
}

static void test_keys(void)
{
	static char key[HASHBELT_KEY_MAX];
	int belt = new_belt(0);
	unsigned int len, wrong = 0;
	struct hashbelt_item item;

	for (len = 1; len <= HASHBELT_KEY_MAX; len++) {
		item = (struct hashbelt_item){
			.key = address(key), .key_len = len,
			.value = address(&len), .value_len = sizeof(len),
		};
		wrong += call(belt, HASHBELT_IOC_PUT, &item) != 0;
	}
	is_int(info_of(belt).entries, HASHBELT_KEY_MAX,
	       "keys of 1 to 1024 zero bytes are 1024 different keys");
	for (len = 1; len <= HASHBELT_KEY_MAX; len++) {
		unsigned int value = 0;

		item = (struct hashbelt_item){
			.key = address(key), .key_len = len,
			.value = address(&value), .value_len = sizeof(value),
		};
		wrong += call(belt, HASHBELT_IOC_GET, &item) != 0 || value != len;
	}
	ok(!wrong, "each key of 1 to 1024 zero bytes has a value of its own");
	close(belt);
}

static void test_touch(void)
{
	int belt = new_belt(0);
	struct hashbelt_item item = text_item("key", "value"), got = item_of("key");

	item.flags = 42;
	item.ttl_ms = 500;
	must(belt, HASHBELT_IOC_PUT, &item);
	got.ttl_ms = 900;
	must(belt, HASHBELT_IOC_TOUCH, &got);
	ok(got.ttl_ms == 900 && got.flags == 42 && got.version == item.version &&
	   ttl_of(belt, "key") == 900,
	   "touch sets the time-to-live and returns it, the flags and the version");
	got = reader("key");
	got.how = HASHBELT_AND_TOUCH;
	must(belt, HASHBELT_IOC_GET, &got);
	ok(got.ttl_ms == TTL && got.flags == 42 && got.version == item.version &&
	   got.value_len == 5 && ttl_of(belt, "key") == TTL,
	   "get with HASHBELT_AND_TOUCH sets the belt's time-to-live and returns the value, too");
	item.how = HASHBELT_IF_ABSENT;
	item.version = 0;
	is_errno(call(belt, HASHBELT_IOC_PUT, &item), EEXIST,
		 "put with HASHBELT_IF_ABSENT of a present key returns EEXIST");
	is_int(item.version, got.version, "put with HASHBELT_IF_ABSENT returns the version there");
	close(belt);
}

/* Policies */

static void test_refresh(void)
{
	int belt = new_belt(HASHBELT_REFRESH_ON_GET);
	struct hashbelt_item item = reader("key");

	put_text(belt, "key", "value", 0);
	put_text(belt, "never", "value", HASHBELT_TTL_NEVER);
	advance(belt, 4000);
	item.how = HASHBELT_NO_REFRESH;
	must(belt, HASHBELT_IOC_GET, &item);
	ok(item.ttl_ms == TTL - 4000 && ttl_of(belt, "key") == TTL - 4000,
	   "get with HASHBELT_NO_REFRESH leaves the deadline in a belt that refreshes");
	item = reader("key");
	must(belt, HASHBELT_IOC_GET, &item);
	ok(item.ttl_ms == TTL && ttl_of(belt, "key") == TTL,
	   "get sets the belt's time-to-live in a belt that refreshes, and returns it");
	advance(belt, 4000);
	item = item_of("key");
	item.how = HASHBELT_NO_VALUE;
	must(belt, HASHBELT_IOC_GET, &item);
	is_int(ttl_of(belt, "key"), TTL,
	       "get with HASHBELT_NO_VALUE sets the time-to-live in a belt that refreshes");
	item = reader("key");
	item.how = HASHBELT_AND_TOUCH;
	item.ttl_ms = 70;
	must(belt, HASHBELT_IOC_GET, &item);
	is_int(ttl_of(belt, "key"), 70,
	       "get with HASHBELT_AND_TOUCH sets its time-to-live in a belt that refreshes");
	item = reader("never");
	must(belt, HASHBELT_IOC_GET, &item);
	is_int(ttl_of(belt, "never"), HASHBELT_TTL_NEVER,
	       "get leaves an entry without deadline without one in a belt that refreshes");
	item = reader("key");
	item.value_len = 1;
	is_errno(call(belt, HASHBELT_IOC_GET, &item), ERANGE,
		 "get with too small a buffer returns ERANGE");
	is_int(ttl_of(belt, "key"), 70,
	       "get with too small a buffer leaves the deadline in a belt that refreshes");
	close(belt);

	belt = new_belt(0);
	put_text(belt, "key", "value", 0);
	advance(belt, 4000);
	item = reader("key");
	must(belt, HASHBELT_IOC_GET, &item);
	is_int(ttl_of(belt, "key"), TTL - 4000,
	       "get leaves the deadline in a belt that does not refresh");
	close(belt);
}

static void test_no_value(void)
{
	int belt = new_belt(0);
	struct hashbelt_item item = text_item("key", "value"), got = reader("key");

	item.flags = 5;
	must(belt, HASHBELT_IOC_PUT, &item);
	memset(buffer, '-', sizeof(buffer));
	got.how = HASHBELT_NO_VALUE;
	must(belt, HASHBELT_IOC_GET, &got);
	ok(got.value_len == 5 && got.flags == 5 && got.ttl_ms == TTL &&
	   got.version == item.version,
	   "get with HASHBELT_NO_VALUE returns length, flags, time left and version");
	is_int(buffer[0], '-', "get with HASHBELT_NO_VALUE does not write to the buffer");
	got = item_of("key");
	got.how = HASHBELT_NO_VALUE;
	got.value = address(unmapped());
	is_errno(call(belt, HASHBELT_IOC_GET, &got), 0,
		 "get with HASHBELT_NO_VALUE succeeds with an unmapped buffer");
	got.how = HASHBELT_NO_VALUE | HASHBELT_AND_TOUCH;
	got.ttl_ms = 30;
	must(belt, HASHBELT_IOC_GET, &got);
	is_int(ttl_of(belt, "key"), 30,
	       "get with HASHBELT_NO_VALUE and HASHBELT_AND_TOUCH sets the time-to-live");
	close(belt);
}

/* Remove and expire */

static void test_remove(void)
{
	int belt = new_belt(0);
	__u64 version = put_text(belt, "key", "value", 0);
	struct hashbelt_item item = item_of("key");
	struct snapshot was = look(belt, "key"), is;

	item.how = HASHBELT_IF_VERSION;
	item.version = version + 1;
	is_errno(call(belt, HASHBELT_IOC_REMOVE, &item), ESTALE,
		 "remove with HASHBELT_IF_VERSION of another version returns ESTALE");
	is_int(item.version, version,
	       "remove with HASHBELT_IF_VERSION returns the version of the entry");
	is = look(belt, "key");
	ok(is_same_snapshot(&was, &is),
	   "remove with HASHBELT_IF_VERSION of another version leaves the entry");
	is_errno(call(belt, HASHBELT_IOC_REMOVE, &item), 0,
		 "remove with HASHBELT_IF_VERSION of the entry's version succeeds");
	is_errno(look(belt, "key").err, ENOENT, "a removed entry is missed");
	is_errno(call(belt, HASHBELT_IOC_REMOVE, &item), ENOENT,
		 "remove with HASHBELT_IF_VERSION of an absent key returns ENOENT");

	version = put_text(belt, "key", "value", HASHBELT_TTL_NEVER);
	item = item_of("key");
	is_errno(call(belt, HASHBELT_IOC_REMOVE, &item), 0,
		 "remove of a present key without a condition succeeds");
	is_int(item.version, version, "remove returns the version of the entry that it removed");
	is_int(info_of(belt).entries, 0, "a belt counts no entry after each was removed");
	put_text(belt, "key", "value", 100);
	advance(belt, 100);
	is_errno(simple(belt, HASHBELT_IOC_REMOVE, "key"), ENOENT,
		 "remove of an expired key returns ENOENT");
	is_int(counter(belt, HASHBELT_STAT_REMOVES), 2,
	       "the counter of removes counts each of two removed entries");
	is_int(counter(belt, HASHBELT_STAT_REMOVES_REFUSED), 1,
	       "remove with HASHBELT_IF_VERSION of another version is counted as refused");
	close(belt);
}

/* Destroyed belts */
static void test_destroyed(void)
{
	int belt = open_device(O_RDWR);
	struct hashbelt_item item = reader("key");

	if (create_belt(belt, "entries", 0600))
		bail_out("create");
	put_text(belt, "key", "value", 0);
	if (destroy_belt(belt, "entries"))
		bail_out("destroy");
	is_errno(call(belt, HASHBELT_IOC_GET, &item), EIDRM,
		 "get in a destroyed belt returns EIDRM");
	item.how = HASHBELT_NO_VALUE;
	is_errno(call(belt, HASHBELT_IOC_GET, &item), EIDRM,
		 "get with HASHBELT_NO_VALUE in a destroyed belt returns EIDRM");
	item = text_item("key", "value");
	is_errno(call(belt, HASHBELT_IOC_PUT, &item), EIDRM,
		 "put in a destroyed belt returns EIDRM");
	item.how = HASHBELT_IF_PRESENT;
	is_errno(call(belt, HASHBELT_IOC_PUT, &item), EIDRM,
		 "put with HASHBELT_IF_PRESENT in a destroyed belt returns EIDRM");
	is_errno(simple(belt, HASHBELT_IOC_TOUCH, "key"), EIDRM,
		 "touch in a destroyed belt returns EIDRM");
	is_errno(simple(belt, HASHBELT_IOC_REMOVE, "key"), EIDRM,
		 "remove in a destroyed belt returns EIDRM");
	is_errno(simple(belt, HASHBELT_IOC_EXPIRE, "key"), EIDRM,
		 "expire in a destroyed belt returns EIDRM");
	if (create_belt(belt, "entries", 0600))
		bail_out("create again");
	is_errno(look(belt, "key").err, ENOENT,
		 "a new belt with the name of a destroyed one has none of its entries");
	destroy_belt(belt, "entries");
	close(belt);
}

int main(void)
{
	test_put_and_get();
	test_absent();
	test_keys();
	test_touch();
	test_refresh();
	test_no_value();
	test_remove();
	test_destroyed();
	return done_testing();
}
