// SPDX-License-Identifier: GPL-2.0-only
/*
 * entry_test - the arguments and buffers that get, put, touch, remove and expire write to.
 *
 * Belt time is halted and moved by hand, so every time left is exact. Results: tests/conformance.
 * Versions and deadlines: tests/kunit/core_test.c and tests/history; touches with conditions:
 * tests/kunit/touch_test.c. Calls on a destroyed belt: service_test.c.
 */
#include "device.h"

static char buffer[64];

static struct hashbelt_item reader(const char *key)
{
	struct hashbelt_item item = item_of(key);

	item.value = address(buffer);
	item.value_len = sizeof(buffer);
	return item;
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

/* Policies */

static void test_refresh(void)
{
	int belt = new_belt(HASHBELT_REFRESH_ON_GET);
	struct hashbelt_item item = item_of("key");

	put_text(belt, "key", "value", 0);
	advance(belt, 4000);
	item.how = HASHBELT_NO_VALUE;
	must(belt, HASHBELT_IOC_GET, &item);
	is_int(ttl_of(belt, "key"), TTL,
	       "get with HASHBELT_NO_VALUE sets the time-to-live in a belt that refreshes");
	advance(belt, 4000);
	item = reader("key");
	item.value_len = 1;
	is_errno(call(belt, HASHBELT_IOC_GET, &item), ERANGE,
		 "get with too small a buffer returns ERANGE");
	is_int(ttl_of(belt, "key"), TTL - 4000,
	       "get with too small a buffer leaves the deadline in a belt that refreshes");
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
	got.how |= HASHBELT_TO_WINDOW;
	got.ttl_ms = 40;
	must(belt, HASHBELT_IOC_GET, &got);
	is_int(ttl_of(belt, "key"), 40,
	       "get with HASHBELT_TO_WINDOW and HASHBELT_AND_TOUCH sets the time-to-live");
	close(belt);
}

int main(void)
{
	test_put_and_get();
	test_absent();
	test_refresh();
	test_no_value();
	return done_testing();
}
