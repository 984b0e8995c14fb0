// SPDX-License-Identifier: GPL-2.0-only
/*
 * batch_test - a batch tries its items in order, and each item has its own result.
 *
 * Items in memory that cannot be read or written: unwritable_test.
 */
#include "device.h"

static char buffer[64];

static struct hashbelt_item op_item(__u32 op, const char *key)
{
	struct hashbelt_item item = item_of(key);

	item.op = op;
	if (op == HASHBELT_OP_GET) {
		item.value = address(buffer);
		item.value_len = sizeof(buffer);
	}
	return item;
}

static struct hashbelt_item op_put(const char *key, const char *text)
{
	struct hashbelt_item item = text_item(key, text);

	item.op = HASHBELT_OP_PUT;
	return item;
}

/* Runs a batch; returns its result, and in @done the number of items that were tried. */
static int run(int belt, struct hashbelt_item *items, __u32 count, __u32 *done)
{
	struct hashbelt_batch batch = { .items = address(items), .count = count };
	int err = call(belt, HASHBELT_IOC_BATCH, &batch);

	if (done)
		*done = batch.done;
	return err;
}

/* The failure of an item affects no other item of the batch. */
static void test_errors(void)
{
	static char large[8];
	int belt = new_belt(0);
	__u64 version = put_text(belt, "there", "value", 0);
	struct hashbelt_item items[] = {
		op_item(0, "there"), op_item(7, "there"), op_item(~0u, "there"),
		op_put("", "value"), op_put("long", "value"), op_put("large", "value"),
		op_put("nowhere", "value"), op_put("nothing", "value"),
		op_put("there", "other"), op_put("there", "other"),
		op_put("absent", "other"), op_item(HASHBELT_OP_GET, "there"),
		op_item(HASHBELT_OP_GET, "there"), op_item(HASHBELT_OP_TOUCH, "there"),
		op_put("there", "reserved"), op_put("there", "both"),
		op_put("there", "how"), op_put("last", "value"),
	};
	static const int errors[] = {
		EINVAL, EINVAL, EINVAL, EINVAL, E2BIG, EMSGSIZE, EFAULT, EFAULT, EEXIST,
		ESTALE, ENOENT, ERANGE, EFAULT, EINVAL, EINVAL, EINVAL, EINVAL, 0,
	};
	unsigned int i;
	__u32 done = 0;

	items[4].key_len = HASHBELT_KEY_MAX + 1;
	items[5].value = address(large);
	items[5].value_len = HASHBELT_VALUE_MAX + 1;
	items[6].key = address(unmapped());
	items[7].value = address(unmapped());
	items[8].how = HASHBELT_IF_ABSENT;
	items[9].how = HASHBELT_IF_VERSION;
	items[9].version = version + 1;
	items[10].how = HASHBELT_IF_PRESENT;
	items[11].value_len = 1;
	items[12].value = address(unmapped());
	items[13].ttl_ms = HASHBELT_TTL_KEEP;
	items[14].reserved = 1;
	items[15].how = HASHBELT_IF_ABSENT | HASHBELT_IF_VERSION;
	items[16].how = HASHBELT_AND_TOUCH;
	is_errno(run(belt, items, ARRAY_SIZE(items), &done), 0,
		 "a batch of items that fail succeeds itself");
	is_int(done, ARRAY_SIZE(items), "a batch of items that fail tries each of them");
	for (i = 0; i < ARRAY_SIZE(items); i++)
		is_errno(items[i].result, errors[i],
			 "item %u of a batch of items that fail has its own error", i);
	ok(items[8].version == version && items[9].version == version,
	   "items that fail with EEXIST and ESTALE return the version of the entry");
	is_int(items[11].value_len, 5,
	       "an item that fails with ERANGE returns the length of the value");
	ok(holds_text(belt, "there", "value") && holds_text(belt, "last", "value") &&
	   info_of(belt).entries == 2,
	   "failed items of a batch have no effect, and the others have theirs");
	close(belt);
}

/* Runs of puts of one size, then of sizes that change. Some have no key, some one that is there. */
static void test_sizes(void)
{
	enum { PUTS = 100, KEYS = 90, RUNS = 40 };
	static char values[PUTS][800], got[800];
	struct hashbelt_item items[PUTS];
	int belt = new_belt(0), err;
	unsigned int numbers[PUTS], i, wrong = 0, differ = 0;

	for (i = 0; i < PUTS; i++) {
		numbers[i] = i % KEYS;
		memset(values[i], i, sizeof(values[i]));
		items[i] = (struct hashbelt_item){
			.op = HASHBELT_OP_PUT, .how = HASHBELT_IF_ABSENT,
			.key = address(&numbers[i]), .key_len = i % 11 == 5 ? 0 : sizeof(*numbers),
			.value = address(values[i]), .value_len = i < RUNS ? 64 : i * 37 % 800,
		};
	}
	is_errno(run(belt, items, PUTS, NULL), 0, "a batch of puts of many sizes succeeds");
	for (i = 0; i < PUTS; i++) {
		err = !items[i].key_len ? -EINVAL :
		      i >= KEYS && items[i - KEYS].key_len ? -EEXIST : 0;
		wrong += items[i].result != err;
		if (err)
			continue;
		items[i].op = 0;
		items[i].how = 0;
		items[i].value = address(got);
		must(belt, HASHBELT_IOC_GET, &items[i]);
		differ += memcmp(got, values[i], items[i].value_len) != 0;
	}
	is_int(wrong, 0, "each put of a batch of many sizes has its own result");
	is_int(differ, 0, "each put of a batch of many sizes stores its own value");
	close(belt);
}

/*
 * Gets that follow one another are made together, as many as have room for their keys. Here keys
 * of all lengths follow one another, most of them long; each third one has no entry, and one is
 * too long.
 */
static void test_keys(void)
{
	enum { KEYS = 90, LONG = 30, INVALID = 77 };
	static char keys[KEYS][HASHBELT_KEY_MAX + 1], got[KEYS][8];
	struct hashbelt_item items[KEYS];
	unsigned int i, wrong = 0, differ = 0;
	int belt = new_belt(0), err;

	for (i = 0; i < KEYS; i++) {
		memset(keys[i], i + 1, sizeof(keys[i]));
		items[i] = (struct hashbelt_item){
			.op = HASHBELT_OP_PUT, .key = address(keys[i]),
			.key_len = i < LONG ? i + 1 : i * 101 % HASHBELT_KEY_MAX + 1,
			.value = address(keys[i]), .value_len = sizeof(got[i]),
		};
		if (i == INVALID)
			items[i].key_len = HASHBELT_KEY_MAX + 1;
	}
	must(belt, HASHBELT_IOC_BATCH,
	     &(struct hashbelt_batch){ .items = address(items), .count = KEYS });
	for (i = 0; i < KEYS; i++) {
		items[i].op = HASHBELT_OP_GET;
		items[i].value = address(got[i]);
		if (i % 3 == 0)
			keys[i][0] = 0;
	}
	is_errno(run(belt, items, KEYS, NULL), 0, "a batch of gets of many key lengths succeeds");
	for (i = 0; i < KEYS; i++) {
		err = i == INVALID ? -E2BIG : i % 3 == 0 ? -ENOENT : 0;
		wrong += items[i].result != err;
		differ += !err && memcmp(got[i], keys[i], sizeof(got[i]));
	}
	is_int(wrong, 0, "each get of a batch of many key lengths has its own result");
	is_int(differ, 0, "each get of a batch of many key lengths returns its own value");
	close(belt);
}

static void test_rights(void)
{
	int belt = open_device(O_RDWR), reader = open_device(O_RDONLY);
	int writer = open_device(O_WRONLY);
	struct hashbelt_item items[5] = {
		op_item(HASHBELT_OP_GET, "key"), op_put("key", "other"),
		op_item(HASHBELT_OP_TOUCH, "key"), op_item(HASHBELT_OP_REMOVE, "key"),
		op_item(HASHBELT_OP_EXPIRE, "key"),
	}, copy[5];
	__u32 done = 0;

	memcpy(copy, items, sizeof(items));
	if (create_belt(belt, "batch", 0600) || open_belt(reader, "batch") ||
	    open_belt(writer, "batch"))
		bail_out("no belt");
	put_text(belt, "key", "value", 0);
	is_errno(run(reader, items, 5, &done), 0,
		 "a batch through a read-only descriptor succeeds");
	ok(done == 5 && !items[0].result && items[1].result == -EPERM &&
	   items[2].result == -EPERM && items[3].result == -EPERM &&
	   items[4].result == -EPERM,
	   "writing items of a batch through a read-only descriptor fail with EPERM");
	ok(holds_text(belt, "key", "value"),
	   "a batch through a read-only descriptor leaves the entry as it was");
	is_errno(run(writer, copy, 3, &done), 0,
		 "a batch through a write-only descriptor succeeds");
	ok(done == 3 && copy[0].result == -EPERM && !copy[1].result && !copy[2].result,
	   "reading items of a batch through a write-only descriptor fail with EPERM");
	memset(items, 0, sizeof(items));
	items[0] = op_item(HASHBELT_OP_GET, "key");
	items[1] = op_put("key", "more");
	destroy_belt(belt, "batch");
	is_errno(run(belt, items, 2, &done), EIDRM, "a batch in a destroyed belt returns EIDRM");
	ok(!items[0].result && !items[1].result,
	   "a batch in a destroyed belt tries none of its items");
	close(belt);
	close(reader);
	close(writer);
}

/* Batches three gets of a key, that at @place with members of @other. Counts wrong results. */
static unsigned int run_among_gets(const struct hashbelt_item *other, unsigned int place)
{
	int belt = new_belt(0);
	unsigned int i, wrong = 0;
	struct hashbelt_item items[3];

	put_text(belt, "key", "value", 0);
	for (i = 0; i < ARRAY_SIZE(items); i++)
		items[i] = op_item(HASHBELT_OP_GET, "key");
	items[place].how = other->how;
	items[place].key_len = other->key_len;
	items[place].ttl_ms = other->ttl_ms;
	items[place].reserved = other->reserved;
	if (run(belt, items, ARRAY_SIZE(items), NULL))
		bail_out("no batch");
	for (i = 0; i < ARRAY_SIZE(items); i++) {
		bool is_touched = other->ttl_ms && i >= place;

		wrong += items[i].result != (i == place ? other->result : 0);
		if (!items[i].result)
			wrong += (items[i].ttl_ms == other->ttl_ms) != is_touched;
	}
	close(belt);
	return wrong;
}

/*
 * Plain gets that follow one another are made together. A get that is not plain has its own result
 * at each place among them, and so have these.
 */
static void test_other_gets(void)
{
	static const struct {
		const char *what;
		struct hashbelt_item item;
	} others[] = {
		{ "touches", { .how = HASHBELT_AND_TOUCH, .key_len = 3, .ttl_ms = 5000 } },
		{ "has a reserved bit", { .key_len = 3, .reserved = 1, .result = -EINVAL } },
		{ "has a condition",
		  { .how = HASHBELT_IF_ABSENT, .key_len = 3, .result = -EINVAL } },
		{ "has an empty key", { .result = -EINVAL } },
		{ "has a long key", { .key_len = HASHBELT_KEY_MAX + 1, .result = -E2BIG } },
	};
	unsigned int i, place;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		for (place = 0; place < 3; place++)
			is_int(run_among_gets(&others[i].item, place), 0,
			       "where get %u of a batch %s, each get has its own result",
			       place, others[i].what);
}

int main(void)
{
	test_errors();
	test_sizes();
	test_keys();
	test_rights();
	test_other_gets();
	return done_testing();
}
