// SPDX-License-Identifier: GPL-2.0-only
/*
 * argument_test - wrong numbers and addresses of all calls; wrong arguments of calls on entries,
 * belts and events.
 *
 * Unknown ioctl numbers, bad addresses, and lengths, flags, names and reserved fields out
 * of range: each call fails with its errno and changes neither the entry, the belt nor the
 * belt that the descriptor is bound to.
 */
#include "refusal.h"

/* The one entry of the belt; each check compares it before and after the call. */
#define KEY	"witness"
#define TEXT	"as it was"

static void start_over(void)
{
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	put_text(belt, KEY, TEXT, 5000);
	before = look(belt, KEY);
}

/* True if the entry and the number of entries of the descriptor's belt are unchanged. */
static bool undisturbed(void)
{
	struct snapshot after = look(belt, KEY);

	return !before.err && is_same_snapshot(&before, &after);
}

/* Return: how many ioctls with an argument of this size the device has, but should not have. */
static unsigned int count_unknown(unsigned int size)
{
	static char argument[16384];
	unsigned int number, dir, wrong = 0;
	unsigned long request;

	for (number = 0; number < 256; number++)
		for (dir = 0; dir < 4; dir++) {
			request = _IOC(dir, HASHBELT_IOC_MAGIC, number, size);
			if (!request_name(request) && call(belt, request, argument) != -ENOTTY)
				wrong++;
		}
	return wrong;
}

static void test_numbers(void)
{
	static const unsigned int sizes[] = { 0, 1, 4, 8, 16, 63, 64, 65, 128, 160, 192, 16383 };
	unsigned int i, wrong = 0;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		wrong += count_unknown(sizes[i]);
	for (i = 0; i < ARRAY_SIZE(requests); i++)
		wrong += count_unknown(_IOC_SIZE(requests[i].number));
	ok(!wrong && undisturbed(),
	   "an ioctl with an unknown number, size or direction returns ENOTTY");
	refused(call(belt, _IO(HASHBELT_IOC_MAGIC + 1, 0x08), NULL), ENOTTY,
		"an ioctl with the number of clear and another magic number");
	is_int(call(belt, HASHBELT_IOC_ABI, NULL), HASHBELT_ABI,
	       "HASHBELT_IOC_ABI returns HASHBELT_ABI");
	is_int(call(belt, HASHBELT_IOC_ABI, unmapped()), HASHBELT_ABI,
	       "HASHBELT_IOC_ABI ignores an unmapped argument");
}

static char buffer[64];

/* A valid get, put, touch or remove, which a test then makes invalid. */
static struct hashbelt_item witness(void)
{
	struct hashbelt_item item = item_of(KEY);

	item.value = address(buffer);
	item.value_len = sizeof(buffer);
	return item;
}

static void test_item(unsigned long request, __u32 how)
{
	struct hashbelt_item item = witness();

	BITS(request, item, how, how);
	BITS(request, item, op, 0);
	BITS(request, item, reserved, 0);
	test_key_len(request, &item, &item.key, &item.key_len);
}

static void test_items(void)
{
	test_item(HASHBELT_IOC_GET, HASHBELT_AND_TOUCH | HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE |
		  HASHBELT_TO_WINDOW);
	test_item(HASHBELT_IOC_PUT, HASHBELT_IF_ABSENT | HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION |
		  HASHBELT_IF_LEASE | HASHBELT_BOUND);
	test_item(HASHBELT_IOC_TOUCH, HASHBELT_BOUND | HASHBELT_IF_VERSION | HASHBELT_IF_LASTING |
		  HASHBELT_IF_EXPIRING | HASHBELT_IF_LATER | HASHBELT_IF_SOONER |
		  HASHBELT_FROM_DEADLINE);
	test_item(HASHBELT_IOC_REMOVE, HASHBELT_IF_VERSION | HASHBELT_LEAVE_STALE);
	test_item(HASHBELT_IOC_EXPIRE, HASHBELT_IF_LASTING | HASHBELT_IF_EXPIRING);
}

static void test_times(void)
{
	struct hashbelt_item item = witness();

	REFUSE_EACH(EINVAL, HASHBELT_IOC_PUT, item, ttl_ms, long_times, LONG_TIMES - 2);
	REFUSE_EACH(EINVAL, HASHBELT_IOC_TOUCH, item, ttl_ms, long_times, LONG_TIMES - 1);
	item.how = HASHBELT_AND_TOUCH;
	REFUSE_EACH(EINVAL, HASHBELT_IOC_GET, item, ttl_ms, long_times, LONG_TIMES - 1);
}

static void test_contradictions(void)
{
	struct hashbelt_item item = witness();

	item.version = before.version;
	REFUSE(EMSGSIZE, HASHBELT_IOC_PUT, item, value_len = HASHBELT_VALUE_MAX + 1);
	REFUSE(EMSGSIZE, HASHBELT_IOC_PUT, item, value_len = ~0u);
	REFUSE(EINVAL, HASHBELT_IOC_PUT, item, how = HASHBELT_IF_ABSENT | HASHBELT_IF_PRESENT);
	REFUSE(EINVAL, HASHBELT_IOC_PUT, item, how = HASHBELT_IF_ABSENT | HASHBELT_IF_VERSION);
	REFUSE(EINVAL, HASHBELT_IOC_PUT, item, how = HASHBELT_IF_LEASE | HASHBELT_IF_VERSION);
	REFUSE(EINVAL, HASHBELT_IOC_GET, item, how = HASHBELT_AND_TOUCH | HASHBELT_NO_REFRESH);
	REFUSE(EINVAL, HASHBELT_IOC_EXPIRE, item, how = HASHBELT_IF_LASTING | HASHBELT_IF_EXPIRING);
	REFUSE(EINVAL, HASHBELT_IOC_TOUCH, item, how = HASHBELT_IF_LASTING | HASHBELT_IF_EXPIRING);
	REFUSE(EINVAL, HASHBELT_IOC_TOUCH, item, how = HASHBELT_IF_LATER | HASHBELT_IF_SOONER);
	REFUSE(EINVAL, HASHBELT_IOC_TOUCH, item,
	       how = HASHBELT_IF_LASTING | HASHBELT_FROM_DEADLINE);
	/* With a key, or with TTL_KEEP. */
	REFUSE(EINVAL, HASHBELT_IOC_TOUCH, item, how = HASHBELT_BOUND);
	REFUSE(EINVAL, HASHBELT_IOC_TOUCH, item, how = HASHBELT_BOUND | HASHBELT_IF_EXPIRING);
	item.key_len = 0;
	REFUSE(EINVAL, HASHBELT_IOC_TOUCH, item,
	       how = HASHBELT_BOUND, item.ttl_ms = HASHBELT_TTL_KEEP);
	REFUSE(EINVAL, HASHBELT_IOC_TOUCH, item, how = HASHBELT_BOUND | HASHBELT_IF_EXPIRING);
}

static void test_batch(void)
{
	struct hashbelt_item items[2] = { witness(), witness() };
	struct hashbelt_batch batch = { .items = address(items), .count = 2 };

	items[0].op = HASHBELT_OP_REMOVE;
	items[1].op = HASHBELT_OP_EXPIRE;
	BITS(HASHBELT_IOC_BATCH, batch, flags, 0);
	BITS(HASHBELT_IOC_BATCH, batch, reserved, 0);
	REFUSE(EINVAL, HASHBELT_IOC_BATCH, batch, count = 0);
	REFUSE(E2BIG, HASHBELT_IOC_BATCH, batch, count = HASHBELT_BATCH_MAX + 1);
	REFUSE(E2BIG, HASHBELT_IOC_BATCH, batch, count = ~0u);
}

/* No cursor has more than 32 bits. */
static const __u64 cursors[] = { 1ULL << 32, 1ULL << 33, 1ULL << 63, ~0ULL };

static void test_scan(void)
{
	static char largest[HASHBELT_SCAN_MAX];
	struct hashbelt_scan scan = { .buffer = address(buffer), .size = sizeof(buffer) };

	BITS(HASHBELT_IOC_SCAN, scan, reserved, 0);
	REFUSE_EACH(EINVAL, HASHBELT_IOC_SCAN, scan, cursor, cursors, ARRAY_SIZE(cursors));
	REFUSE(E2BIG, HASHBELT_IOC_SCAN, scan, size = HASHBELT_SCAN_MAX + 1);
	REFUSE(E2BIG, HASHBELT_IOC_SCAN, scan, size = ~0u);
	scan.buffer = address(largest);
	scan.size = sizeof(largest);
	is_errno(call(belt, HASHBELT_IOC_SCAN, &scan), 0, "scan with a buffer of 1 MiB returns 0");
}

static void test_figures(void)
{
	struct hashbelt_stat stat = {};
	__u64 ms = HASHBELT_TTL_MAX_MS + 1;

	REFUSE(EFAULT, HASHBELT_IOC_STAT, stat, count = 1);
	REFUSE(EFAULT, HASHBELT_IOC_STAT, stat, lag_count = 1);
	refused(call(belt, HASHBELT_IOC_ADVANCE, &ms), EINVAL, "advance by 2^42 + 1 ms");
	ms = ~0ULL;
	refused(call(belt, HASHBELT_IOC_ADVANCE, &ms), EINVAL, "advance by 2^64 - 1 ms");
}

static void test_buckets(void)
{
	static __u64 counts[16];
	struct hashbelt_buckets buckets = { .counts = address(counts), .count = 16 };

	BITS(HASHBELT_IOC_BUCKETS, buckets, reserved, 0);
	REFUSE_EACH(EINVAL, HASHBELT_IOC_BUCKETS, buckets, cursor, cursors, ARRAY_SIZE(cursors));
	REFUSE(EFAULT, HASHBELT_IOC_BUCKETS, buckets, counts = address(unmapped()));
	REFUSE(EINVAL, HASHBELT_IOC_BUCKETS, buckets, count = 0);
	REFUSE(E2BIG, HASHBELT_IOC_BUCKETS, buckets, count = HASHBELT_BUCKETS_MAX + 1);
	REFUSE(E2BIG, HASHBELT_IOC_BUCKETS, buckets, count = ~0u);
}

static void test_window(void)
{
	struct hashbelt_window_map map = {};

	BITS(HASHBELT_IOC_WINDOW, map, reserved, 0);
	refused(call(belt, HASHBELT_IOC_WINDOW, &map), ENODATA, "window of a belt that has none");
	ok(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, belt, 0) == MAP_FAILED && errno == ENODATA &&
	   undisturbed(), "mmap on a belt that has no window: ENODATA");
}

#define WINDOWS_MADE	130u	/* of up to 8 MiB, in twice that: over 2 GiB */

/* Offsets in files have 32 bits in some programs. */
static void test_late_window(void)
{
	struct hashbelt_window_map map = {};
	int late = new_belt(0);
	unsigned int i;

	for (i = 0; i <= WINDOWS_MADE; i++)
		SET(late, .fields = HASHBELT_SET_WINDOW,
		    .window_bytes = HASHBELT_WINDOW_MIN << i % 2);
	must(late, HASHBELT_IOC_WINDOW, &map);
	ok(mmap(NULL, map.bytes, PROT_READ, MAP_SHARED, late, 0) != MAP_FAILED,
	   "a window can be mapped after %u others were made", WINDOWS_MADE);
	close(late);
}

static void test_watch(void)
{
	__u64 sequence = 0;
	__u32 flags = 0;

	test_bits(TAP_HERE, HASHBELT_IOC_WATCH, &flags, &flags, sizeof(flags),
		  HASHBELT_WATCH_ACK | HASHBELT_WATCH_REQUESTS, "flags");
	flags = HASHBELT_WATCH_ACK | HASHBELT_WATCH_REQUESTS;
	refused(call(belt, HASHBELT_IOC_WATCH, &flags), EINVAL, "watch with both flags");
	refused(call(belt, HASHBELT_IOC_ACK, &sequence), ENOENT,
		"ack of sequence 0 without a read before it");
}

/* create and set check the same fields. */
static void test_settings(unsigned long request, __u32 fields)
{
	struct hashbelt_settings settings = { .mode = 0600, .fields = fields, .gid = getegid() };

	if (request == HASHBELT_IOC_SET)
		BITS(request, settings, name, 0);
	else
		strcpy(settings.name, "never");
	BITS(request, settings, fields,
	     request == HASHBELT_IOC_SET ? HASHBELT_SET_ALL : HASHBELT_SET_GID);
	BITS(request, settings, consumers, 1);
	BITS(request, settings, reserved, 0);
	BITS(request, settings, mode, 0666);
	BITS(request, settings, policy, HASHBELT_POLICY_ALL);
	BITS(request, settings, reasons, HASHBELT_REPORT_ALL);
	BITS(request, settings, handler, 0x03);
	/* Each bit alone is a power of two. */
	BITS(request, settings, window_bytes, 2 * HASHBELT_WINDOW_MAX - HASHBELT_WINDOW_MIN);
	REFUSE(EINVAL, request, settings, handler = 3);
	REFUSE(EINVAL, request, settings, buckets = HASHBELT_BUCKETS_MIN - 1);
	REFUSE(EINVAL, request, settings, buckets = HASHBELT_BUCKETS_MAX + 1);
	REFUSE(EINVAL, request, settings, buckets = ~0u);
	REFUSE(EINVAL, request, settings, ttl_ms = HASHBELT_TTL_MAX_MS + 1);
	REFUSE(EINVAL, request, settings, ttl_ms = HASHBELT_TTL_NEVER);
	REFUSE(EINVAL, request, settings, grace_ms = HASHBELT_TTL_MAX_MS + 1);
	REFUSE(EINVAL, request, settings, window_bytes = 3 * HASHBELT_WINDOW_MIN);
	REFUSE(EINVAL, request, settings,
	       window_bytes = HASHBELT_WINDOW_MIN, settings.policy = HASHBELT_WIPE);
	settings.fields |= HASHBELT_SET_GID;
	REFUSE(EINVAL, request, settings, gid = ~0u);
}

static void test_create(void)
{
	struct hashbelt_settings create = { .name = "default", .mode = 0600 };

	refused(call(belt, HASHBELT_IOC_CREATE, &create), EEXIST,
		"create with a name that is taken");
	refused(open_belt(belt, "never"), ENOENT,
		"open of the name that the refused creates passed");
}

/* A name; some have a byte after the NUL. */
struct bad_name {
	const char *what;
	char name[HASHBELT_NAME_SIZE];
};

static const struct bad_name bad_names[] = {
	{ "with a slash", "a/b" },
	{ "that is a slash", "/" },
	{ "with a newline", "a\nb" },
	{ "with a tab", "\ta" },
	{ "with an escape", "a\033[1m" },
	{ "with the byte 1", "\001" },
	{ "with the byte 31", "a\037" },
	{ "with a delete", "a\177" },
	{ "with a byte behind the NUL", "a\0b" },
	{ "with nothing but a byte behind the NUL", "\0b" },
	{ "whose last byte is set", { 'a', [HASHBELT_NAME_SIZE - 1] = 'z' } },
	{ "of 64 bytes without NUL",
	  "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl" },
};

static int try_name(unsigned long request, const char *name)
{
	struct hashbelt_settings create = { .mode = 0600 };
	struct hashbelt_info info = {};
	struct hashbelt_name arg = {};

	memcpy(create.name, name, HASHBELT_NAME_SIZE);
	memcpy(info.name, name, HASHBELT_NAME_SIZE);
	memcpy(arg.name, name, HASHBELT_NAME_SIZE);
	if (request == HASHBELT_IOC_CREATE)
		return call(belt, request, &create);
	if (request == HASHBELT_IOC_NEXT)
		return call(belt, request, &info);
	return call(belt, request, &arg);
}

static void test_names(unsigned long request)
{
	const char *verb = request_name(request);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad_names); i++)
		refused(try_name(request, bad_names[i].name), EINVAL,
			DESCRIBE("%s with a name %s", verb, bad_names[i].what));
}

static void test_names_of_belts(void)
{
	struct hashbelt_name name = name_of("default");
	static const char empty[HASHBELT_NAME_SIZE];

	BITS(HASHBELT_IOC_OPEN, name, flags, HASHBELT_OF_OWNER);
	BITS(HASHBELT_IOC_OPEN, name, uid, 0);
	BITS(HASHBELT_IOC_DESTROY, name, flags, 0);
	BITS(HASHBELT_IOC_DESTROY, name, uid, 0);
	test_names(HASHBELT_IOC_CREATE);
	test_names(HASHBELT_IOC_OPEN);
	test_names(HASHBELT_IOC_DESTROY);
	test_names(HASHBELT_IOC_NEXT);
	refused(try_name(HASHBELT_IOC_OPEN, empty), EINVAL, "open with an empty name");
	refused(try_name(HASHBELT_IOC_DESTROY, empty), EINVAL, "destroy with an empty name");
	refused(open_belt(belt, "nobody"), ENOENT, "open of a belt that does not exist");
	refused(destroy_belt(belt, "nobody"), ENOENT, "destroy of a belt that does not exist");
}

int main(void)
{
	size_t i;

	belt = new_belt(0);
	start_over();
	for (i = 0; i < ARRAY_SIZE(requests); i++)
		if (_IOC_SIZE(requests[i].number))
			test_pointer(&requests[i]);
	test_numbers();
	test_items();
	test_times();
	test_contradictions();
	test_batch();
	test_scan();
	test_figures();
	test_buckets();
	test_window();
	test_late_window();
	test_watch();
	test_settings(HASHBELT_IOC_CREATE, 0);
	test_settings(HASHBELT_IOC_SET, HASHBELT_SET_ALL);
	test_create();
	test_names_of_belts();
	return done_testing();
}
