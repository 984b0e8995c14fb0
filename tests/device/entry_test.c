// SPDX-License-Identifier: GPL-2.0-only
/*
 * entry_test - get, put, touch, remove and expire.
 *
 * Conditions, versions, flag bits and times-to-live, in belts of all policies. Belt time is
 * halted and moved by hand, so every time left is exact.
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

static void test_flag_bits(void)
{
	int belt = new_belt(0);
	struct hashbelt_item item = text_item("key", "value");
	unsigned int bit, wrong = 0;

	for (bit = 0; bit < 32; bit++) {
		item = text_item("key", "value");
		item.flags = 1u << bit;
		must(belt, HASHBELT_IOC_PUT, &item);
		wrong += look(belt, "key").flags != 1u << bit;
		item = item_of("key");
		must(belt, HASHBELT_IOC_TOUCH, &item);
		wrong += item.flags != 1u << bit;
	}
	ok(!wrong, "get and touch return each of the 32 flag bits as it was put");
	close(belt);
}

static void test_versions(void)
{
	int belt = new_belt(0);
	__u64 seen[512], last = 0;
	unsigned int i, k, wrong = 0;
	char key[16];

	for (i = 0; i < ARRAY_SIZE(seen); i++) {
		snprintf(key, sizeof(key), "key %u", i);
		seen[i] = put_text(belt, key, "value", 0);
		for (k = 0; k < i; k++)
			wrong += seen[k] == seen[i];
	}
	ok(!wrong, "each of 512 entries of a belt has a version of its own");
	for (i = wrong = 0; i < 64; i++) {
		if (i % 4 == 1)
			must(belt, HASHBELT_IOC_CLEAR, NULL);
		if (i % 4 == 2)
			simple(belt, HASHBELT_IOC_REMOVE, "key");
		if (i % 4 == 3)
			advance(belt, TTL);
		seen[0] = put_text(belt, "key", "value", 0);
		wrong += seen[0] <= last;
		last = seen[0];
	}
	ok(!wrong, "versions of a key grow over a clear, a remove and its expiry");
	last = look(belt, "key").version;
	simple(belt, HASHBELT_IOC_TOUCH, "key");
	is_int(look(belt, "key").version, last, "touch makes no new version");
	close(belt);
}

/* Conditions of a put */

enum state { ABSENT, THERE, EXPIRED };

/**
 * struct condition - a put of a key in some state, and its result
 * @right:	@version is that of the entry
 * @want:	the errno in a belt without a policy
 * @want_kept:	the errno in a belt with HASHBELT_KEEP_ON_PUT
 */
struct condition {
	enum state state;
	__u32 how;
	bool right;
	int want;
	int want_kept;
};

#define PRESENT	HASHBELT_IF_PRESENT
#define VERSION	HASHBELT_IF_VERSION

static const struct condition conditions[] = {
	{ ABSENT, 0, false, 0, 0 },
	{ ABSENT, HASHBELT_IF_ABSENT, false, 0, 0 },
	{ ABSENT, PRESENT, false, ENOENT, ENOENT },
	{ ABSENT, VERSION, false, ENOENT, ENOENT },
	{ ABSENT, PRESENT | VERSION, false, ENOENT, ENOENT },
	{ THERE, 0, false, 0, EEXIST },
	{ THERE, HASHBELT_IF_ABSENT, false, EEXIST, EEXIST },
	{ THERE, PRESENT, false, 0, 0 },
	{ THERE, VERSION, true, 0, 0 },
	{ THERE, VERSION, false, ESTALE, ESTALE },
	{ THERE, PRESENT | VERSION, true, 0, 0 },
	{ THERE, PRESENT | VERSION, false, ESTALE, ESTALE },
	{ EXPIRED, 0, false, 0, 0 },
	{ EXPIRED, HASHBELT_IF_ABSENT, false, 0, 0 },
	{ EXPIRED, PRESENT, false, ENOENT, ENOENT },
	{ EXPIRED, VERSION, true, ENOENT, ENOENT },
	{ EXPIRED, PRESENT | VERSION, true, ENOENT, ENOENT },
};

static const char *const state_names[] = { "an absent", "a present", "an expired" };

static const char *how_name(__u32 how)
{
	switch (how) {
	case 0:
		return "put";
	case HASHBELT_IF_ABSENT:
		return "put with IF_ABSENT";
	case PRESENT:
		return "put with IF_PRESENT";
	case VERSION:
		return "put with IF_VERSION";
	default:
		return "put with IF_PRESENT and IF_VERSION";
	}
}

static void test_condition(const struct condition *c, __u32 policy, int want)
{
	int belt = new_belt(policy);
	struct hashbelt_item item = text_item("key", "new"), asked;
	struct snapshot old, now;
	__u64 version = 1, refused;
	bool good;

	if (c->state != ABSENT)
		version = put_text(belt, "key", "old", 500);
	if (c->state == EXPIRED)
		advance(belt, 500);
	old = look(belt, "key");
	refused = counter(belt, HASHBELT_STAT_REFUSED);
	item.how = c->how;
	item.version = c->right ? version : version + 1;
	item.ttl_ms = 700;
	asked = item;
	is_errno(call(belt, HASHBELT_IOC_PUT, &item), want,
		 "%s of %s key%s%s: %s", how_name(c->how), state_names[c->state],
		 c->how & VERSION ? c->right ? " (right version)" : " (wrong version)" : "",
		 policy ? ", under KEEP_ON_PUT" : "", error_name(want));
	now = look(belt, "key");
	if (c->state == EXPIRED)
		now.entries = old.entries;	/* an expired entry counts until the drain */
	if (want) {
		if (want != ENOENT)
			asked.version = version;
		good = is_same_snapshot(&old, &now) && !memcmp(&item, &asked, sizeof(item)) &&
		       counter(belt, HASHBELT_STAT_REFUSED) == refused + 1;
		ok(good, "a refused put changes no entry and is counted as refused%s",
		   want == ENOENT ? "" : ", and returns the version");
	} else {
		good = holds_text(belt, "key", "new") && now.version == item.version &&
		       now.ttl_ms == 700;
		ok(good && (c->state == ABSENT || now.version > version),
		   "put whose condition holds sets value, version and time-to-live");
	}
	close(belt);
}

static void test_conditions(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(conditions); i++) {
		test_condition(&conditions[i], 0, conditions[i].want);
		test_condition(&conditions[i], HASHBELT_KEEP_ON_PUT,
			       conditions[i].want_kept);
	}
}

/* Times */

static void test_put_ttl(void)
{
	int belt = new_belt(0);

	put_text(belt, "belt", "v", HASHBELT_TTL_BELT);
	is_int(ttl_of(belt, "belt"), TTL, "put without a time-to-live takes the belt's");
	put_text(belt, "least", "v", 1);
	is_int(ttl_of(belt, "least"), 1, "put with a time-to-live of 1 ms has that time left");
	put_text(belt, "most", "v", HASHBELT_TTL_MAX_MS);
	is_int(ttl_of(belt, "most"), HASHBELT_TTL_MAX_MS,
	       "put with a time-to-live of 2^42 ms has that time left");
	put_text(belt, "never", "v", HASHBELT_TTL_NEVER);
	is_int(ttl_of(belt, "never"), HASHBELT_TTL_NEVER,
	       "put with HASHBELT_TTL_NEVER has no deadline");

	advance(belt, 1);
	is_errno(look(belt, "least").err, ENOENT,
		 "an entry with a time-to-live of 1 ms is missed after 1 ms");
	advance(belt, TTL - 2);
	is_int(ttl_of(belt, "belt"), 1, "an entry has 1 ms left 1 ms before its deadline");
	advance(belt, 1);
	is_errno(look(belt, "belt").err, ENOENT, "an entry is missed at its deadline");
	advance(belt, HASHBELT_TTL_MAX_MS - TTL - 1);
	is_int(ttl_of(belt, "most"), 1,
	       "an entry with a time-to-live of 2^42 ms has 1 ms left after 139 years");
	advance(belt, 1);
	is_errno(look(belt, "most").err, ENOENT,
		 "an entry with a time-to-live of 2^42 ms is missed at its deadline");
	is_int(ttl_of(belt, "never"), HASHBELT_TTL_NEVER,
	       "an entry with HASHBELT_TTL_NEVER has no deadline after 2^42 ms");
	close(belt);
}

static void test_keep(void)
{
	int belt = new_belt(0);

	put_text(belt, "key", "v", 600);
	put_text(belt, "never", "v", HASHBELT_TTL_NEVER);
	put_text(belt, "gone", "v", 100);
	advance(belt, 200);
	put_text(belt, "key", "w", HASHBELT_TTL_KEEP);
	ok(holds_text(belt, "key", "w") && ttl_of(belt, "key") == 400,
	   "put with HASHBELT_TTL_KEEP leaves the entry its deadline");
	put_text(belt, "never", "w", HASHBELT_TTL_KEEP);
	ok(holds_text(belt, "never", "w") && ttl_of(belt, "never") == HASHBELT_TTL_NEVER,
	   "put with HASHBELT_TTL_KEEP leaves an entry without deadline without one");
	put_text(belt, "new", "w", HASHBELT_TTL_KEEP);
	is_int(ttl_of(belt, "new"), TTL,
	       "put with HASHBELT_TTL_KEEP of a new key takes the belt's time-to-live");
	put_text(belt, "gone", "w", HASHBELT_TTL_KEEP);
	is_int(ttl_of(belt, "gone"), TTL,
	       "put with HASHBELT_TTL_KEEP of an expired key takes the belt's time-to-live");
	advance(belt, 400);
	is_errno(look(belt, "key").err, ENOENT,
		 "an entry put with HASHBELT_TTL_KEEP is missed at its old deadline");
	close(belt);
}

struct renewal {
	const char *what;
	__u64 from;
	__u64 to;
};

static const struct renewal renewals[] = {
	{ "a longer time", 500, 900 },
	{ "a shorter time", 500, 100 },
	{ "the time that it has", 500, 500 },
	{ "2^42 ms", 500, HASHBELT_TTL_MAX_MS },
	{ "no deadline", 500, HASHBELT_TTL_NEVER },
	{ "a deadline in place of none", HASHBELT_TTL_NEVER, 300 },
	{ "the belt's time-to-live", 500, HASHBELT_TTL_BELT },
	{ "a deadline of one millisecond", HASHBELT_TTL_MAX_MS, 1 },
};

/* True if the entry has @ttl ms left and is missed at exactly that deadline. */
static bool ends_in(int belt, const char *key, __u64 ttl)
{
	if (ttl_of(belt, key) != ttl)
		return false;
	if (ttl == HASHBELT_TTL_NEVER) {
		advance(belt, HASHBELT_TTL_MAX_MS);
		return ttl_of(belt, key) == ttl;
	}
	advance(belt, ttl - 1);
	if (ttl_of(belt, key) != 1)
		return false;
	advance(belt, 1);
	return look(belt, key).err == -ENOENT;
}

static void test_renewal(const struct renewal *r, unsigned long request, __u32 how,
			 const char *verb)
{
	int belt = new_belt(0);
	struct hashbelt_item item = text_item("key", "value"), got = reader("key");
	__u64 want = r->to ? r->to : TTL;
	bool good;

	item.flags = 42;
	item.ttl_ms = r->from;
	must(belt, HASHBELT_IOC_PUT, &item);
	got.how = how;
	got.ttl_ms = r->to;
	good = !call(belt, request, &got) && got.ttl_ms == want && got.flags == 42 &&
	       got.version == item.version;
	good = good && holds_text(belt, "key", "value") && ends_in(belt, "key", want);
	ok(good, "%s gives an entry %s", verb, r->what);
	close(belt);
}

static void test_touch(void)
{
	int belt = new_belt(0);
	struct hashbelt_item item = reader("key");
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(renewals); i++)
		test_renewal(&renewals[i], HASHBELT_IOC_TOUCH, 0, "touch");
	for (i = 0; i < ARRAY_SIZE(renewals); i++)
		test_renewal(&renewals[i], HASHBELT_IOC_GET, HASHBELT_AND_TOUCH,
			     "get with HASHBELT_AND_TOUCH");
	put_text(belt, "key", "value", 100);
	advance(belt, 100);
	is_errno(simple(belt, HASHBELT_IOC_TOUCH, "key"), ENOENT,
		 "touch of an expired key returns ENOENT");
	item.how = HASHBELT_AND_TOUCH;
	is_errno(call(belt, HASHBELT_IOC_GET, &item), ENOENT,
		 "get with HASHBELT_AND_TOUCH of an expired key returns ENOENT");
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

static void test_expire(void)
{
	int belt = new_belt(0);

	put_text(belt, "key", "value", HASHBELT_TTL_NEVER);
	is_errno(simple(belt, HASHBELT_IOC_EXPIRE, "key"), 0, "expire of a present key succeeds");
	is_errno(look(belt, "key").err, ENOENT, "an entry is missed after expire");
	is_int(counter(belt, HASHBELT_STAT_EXPIRED), 1, "expire counts the entry as expired");
	is_errno(simple(belt, HASHBELT_IOC_EXPIRE, "key"), ENOENT,
		 "a second expire of a key returns ENOENT");
	put_text(belt, "key", "value", 100);
	advance(belt, 100);
	is_errno(simple(belt, HASHBELT_IOC_EXPIRE, "key"), ENOENT,
		 "expire of a key that has expired by itself returns ENOENT");
	is_int(counter(belt, HASHBELT_STAT_EXPIRED), 2,
	       "an entry that has expired by itself is counted as expired once");
	is_int(info_of(belt).entries, 0, "a belt counts no entry after each has expired");
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
	test_flag_bits();
	test_versions();
	test_conditions();
	test_put_ttl();
	test_keep();
	test_touch();
	test_refresh();
	test_no_value();
	test_remove();
	test_expire();
	test_destroyed();
	return done_testing();
}
