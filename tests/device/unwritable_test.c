// SPDX-License-Identifier: GPL-2.0-only
/*
 * unwritable_test - batches whose items, keys or values lie on a page that cannot be used.
 *
 * The array of items ends on a page of which the kernel can read but not write, or can do neither,
 * or which it has to copy before it writes. Each boundary in the array is tried with each kind of
 * run. An equal belt gets the items that must be carried out in a batch of plain memory; afterwards
 * both belts, their counters and the items of both batches must be alike.
 */
#include "device.h"

#define ITEMS	36u	/* two runs of 16, and some more */
#define SIZE	sizeof(struct hashbelt_item)
#define USUAL	64u	/* bytes of a buffer, unless the value is long */
#define SMALL	40u	/* bytes of a value that a put copies into the entry that is there */
#define LONG	5000u	/* bytes of a value that ends a run */

/* The operation of an item; some differ in the entry that is there before. */
enum kind {
	GET, MISS, PEEK, TOUCHING_GET, LONG_GET, SHORT_BUFFER,
	PUT_NEW, PUT_OVER, PUT_OTHER_SIZE, PUT_LONG, PUT_REFUSED, PUT_STALE,
	TOUCH, ADD_NEW, ADD, REMOVE, EXPIRE, INVALID,
	KINDS
};

/**
 * struct run - a kind of batch
 * @name:	for the test line
 * @kinds:	the kinds of its items, again and again in this order
 * @count:	number of @kinds
 */
struct run {
	const char *name;
	enum kind kinds[8];
	unsigned int count;
};

static const struct run runs[] = {
	{ "gets", { GET }, 1 },
	{ "gets that hit and miss", { GET, MISS, PEEK, GET, MISS }, 5 },
	{ "gets of long values", { LONG_GET, GET, SHORT_BUFFER }, 3 },
	{ "gets that touch", { TOUCHING_GET }, 1 },
	{ "puts of new keys", { PUT_NEW }, 1 },
	{ "puts over entries", { PUT_OVER }, 1 },
	{ "puts of other sizes", { PUT_OTHER_SIZE, PUT_NEW, PUT_LONG }, 3 },
	{ "puts that are refused", { PUT_REFUSED, PUT_OVER, PUT_STALE, PUT_NEW }, 4 },
	{ "additions", { ADD, ADD_NEW }, 2 },
	{ "touches", { TOUCH }, 1 },
	{ "removes and expiries", { REMOVE, EXPIRE, REMOVE }, 3 },
	{ "items of all kinds", { GET, PUT_OVER, PUT_NEW, ADD, TOUCH, MISS, REMOVE, INVALID }, 8 },
	{ "pairs", { GET, GET, PUT_NEW, PUT_NEW, TOUCH, REMOVE, ADD, EXPIRE }, 8 },
};

/* The page on which the array ends. */
enum page { READ_ONLY, HOLE, COPIED };

/**
 * struct side - a belt, and what its batch uses
 * @belt:	the belt
 * @items:	the items; elsewhere for the belt under test
 * @keys:	the keys
 * @values:	values that are put, or buffers
 * @sums:	the additions
 * @versions:	of the entries before the batch
 * @counters:	of the belt before the batch
 * @batch:	the batch
 * @err:	its result
 */
struct side {
	int belt;
	struct hashbelt_item items[ITEMS];
	char keys[ITEMS][8];
	unsigned char values[ITEMS][LONG];
	struct hashbelt_sum sums[ITEMS];
	__u64 versions[ITEMS];
	__u64 counters[HASHBELT_STAT_COUNT];
	struct hashbelt_batch batch;
	int err;
};

static struct side tested, model;
static struct hashbelt_item *array;	/* of the belt under test */
static unsigned char *pages;		/* two, of which the array takes the end of the first */

static enum kind kind_of(const struct run *run, unsigned int i)
{
	return run->kinds[i % run->count];
}

static bool is_there_before(enum kind kind)
{
	return kind != MISS && kind != PUT_NEW && kind != ADD_NEW;
}

static __u32 length_before(enum kind kind)
{
	return kind == LONG_GET || kind == SHORT_BUFFER ? LONG :
	       kind == PUT_OTHER_SIZE || kind == PUT_LONG ? SMALL + 1 : SMALL;
}

/* Bytes of the memory for a value that are used. */
static __u32 length_of(enum kind kind)
{
	return kind == LONG_GET || kind == SHORT_BUFFER || kind == PUT_LONG ? LONG : USUAL;
}

static void prepare_item(struct side *side, enum kind kind, unsigned int i)
{
	struct hashbelt_item *item = &side->items[i];

	*item = (struct hashbelt_item){
		.key = address(side->keys[i]), .key_len = sizeof(side->keys[i]),
		.value = address(side->values[i]), .value_len = length_of(kind),
		.op = HASHBELT_OP_GET,
		.flags = 77, .result = 99,
	};
	switch (kind) {
	case PEEK:
		item->how = HASHBELT_NO_VALUE | HASHBELT_NO_REFRESH;
		break;
	case TOUCHING_GET:
		item->how = HASHBELT_AND_TOUCH;
		item->ttl_ms = 2 * TTL;
		break;
	case SHORT_BUFFER:
		item->value_len = LONG - 1;
		break;
	case PUT_NEW ... PUT_STALE:
		item->op = HASHBELT_OP_PUT;
		item->value_len = kind == PUT_LONG ? LONG : SMALL;
		item->ttl_ms = 3 * TTL;
		item->how = kind == PUT_REFUSED ? HASHBELT_IF_ABSENT :
			    kind == PUT_STALE ? HASHBELT_IF_VERSION : 0;
		break;
	case TOUCH:
		item->op = HASHBELT_OP_TOUCH;
		item->ttl_ms = 4 * TTL;
		break;
	case ADD:
	case ADD_NEW:
		item->op = HASHBELT_OP_ADD;
		item->value = address(&side->sums[i]);
		item->value_len = sizeof(side->sums[i]);
		break;
	case REMOVE:
		item->op = HASHBELT_OP_REMOVE;
		break;
	case EXPIRE:
		item->op = HASHBELT_OP_EXPIRE;
		break;
	case INVALID:
		item->op = 100;
		break;
	default:
		break;
	}
}

/* Puts the entries that are there before, and describes the batch. Keys differ by @round. */
static void prepare(struct side *side, const struct run *run, unsigned int round)
{
	struct hashbelt_item item;
	enum kind kind;
	unsigned int i;

	for (i = 0; i < ITEMS; i++) {
		kind = kind_of(run, i);
		snprintf(side->keys[i], sizeof(side->keys[i]), "%u %u", i % 100, round % 10000);
		memset(side->values[i], kind == ADD ? '1' : 'a' + i % 26, length_of(kind));
		item = (struct hashbelt_item){
			.key = address(side->keys[i]), .key_len = sizeof(side->keys[i]),
			.value = address(side->values[i]), .flags = i,
			.value_len = kind == ADD ? 3 : length_before(kind),
		};
		side->versions[i] = 0;
		if (is_there_before(kind)) {
			must(side->belt, HASHBELT_IOC_PUT, &item);
			side->versions[i] = item.version;
		}
		/* Another value is put, and a buffer has what was in it before. */
		memset(side->values[i], '#', length_of(kind));
		side->sums[i] = (struct hashbelt_sum){ .by = 5, .value = 10 };
		prepare_item(side, kind, i);
	}
}

static void read_counters(int belt, __u64 *counters)
{
	struct hashbelt_stat stat = {
		.counters = address(counters), .count = HASHBELT_STAT_COUNT,
	};

	must(belt, HASHBELT_IOC_STAT, &stat);
}

static void run_batch(struct side *side, const struct hashbelt_item *items, unsigned int count)
{
	read_counters(side->belt, side->counters);
	side->batch = (struct hashbelt_batch){ .items = address(items), .count = count };
	side->err = count ? call(side->belt, HASHBELT_IOC_BATCH, &side->batch) : 0;
}

/* A page of a file that a private mapping copies when it is first written. */
static void map_copied(void)
{
	int file = memfd_create("items", MFD_CLOEXEC);

	if (file < 0 || write(file, pages, 2 * PAGE) != (ssize_t)(2 * PAGE) ||
	    mmap(pages, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0) ==
	    MAP_FAILED)
		bail_out("memfd: %s", strerror(errno));
	close(file);
	/* They can be read without a fault. */
	for (size_t at = 0; at < 2 * PAGE; at += PAGE)
		(void)*(const volatile char *)(pages + at);
}

/*
 * Places the array so that @before bytes of it are on the first page. Return: false if the
 * boundary is not in it.
 */
static void place(enum page page, size_t before)
{
	static struct hashbelt_item copies[ITEMS];

	memcpy(copies, tested.items, sizeof(copies));
	array = (void *)(pages + PAGE - before);
	memcpy(array, copies, sizeof(copies));
	if (page == COPIED)
		map_copied();
	else if (mprotect(pages + PAGE, PAGE, page == HOLE ? PROT_NONE : PROT_READ))
		bail_out("mprotect: %s", strerror(errno));
}

static void take_back(void)
{
	if (mprotect(pages, 2 * PAGE, PROT_READ | PROT_WRITE))
		bail_out("mprotect: %s", strerror(errno));
	memcpy(tested.items, array, sizeof(tested.items));
}

/* Where the last field of an item ends that a result is written to. */
#define RESULTS_END	(offsetof(struct hashbelt_item, result) + sizeof(__s32))

/* Items whose results can be written, where @before bytes of the array are on the first page. */
static unsigned int writable(enum page page, size_t before)
{
	if (page == COPIED)
		return ITEMS;
	return page == HOLE ? before / SIZE : (before + SIZE - RESULTS_END) / SIZE;
}

/**
 * struct sight - what is in a belt for the key of an item
 * @err:	of a get
 * @renewed:	it has another version than before the batch
 * @item:	the get; without pointers and version
 * @value:	its value
 */
struct sight {
	int err;
	bool renewed;
	struct hashbelt_item item;
	unsigned char value[LONG];
};

static void see(const struct side *side, unsigned int i, struct sight *sight)
{
	struct hashbelt_item item = {
		.key = address(side->keys[i]), .key_len = sizeof(side->keys[i]),
		.value = address(sight->value), .value_len = LONG, .how = HASHBELT_NO_REFRESH,
	};

	memset(sight, 0, offsetof(struct sight, value) + USUAL);
	sight->err = call(side->belt, HASHBELT_IOC_GET, &item);
	if (sight->err)
		return;
	sight->renewed = item.version != side->versions[i];
	item.key = 0;
	item.value = 0;
	item.version = 0;
	sight->item = item;
}

/* True if the belts have the same entries, of which the same ones have new versions. */
static bool are_alike(void)
{
	static struct sight one, other;
	unsigned int i, wrong = 0;

	for (i = 0; i < ITEMS; i++) {
		see(&tested, i, &one);
		see(&model, i, &other);
		wrong += memcmp(&one, &other, offsetof(struct sight, value)) ||
			 memcmp(one.value, other.value, one.item.value_len);
	}
	return !wrong && info_of(tested.belt).entries == info_of(model.belt).entries;
}

/* True if both batches have counted the same. */
static bool count_alike(void)
{
	__u64 is[HASHBELT_STAT_COUNT], want[HASHBELT_STAT_COUNT];
	unsigned int i, wrong = 0;

	read_counters(tested.belt, is);
	read_counters(model.belt, want);
	for (i = 0; i < HASHBELT_STAT_COUNT; i++)
		wrong += is[i] - tested.counters[i] != want[i] - model.counters[i];
	return !wrong;
}

/* True if an item returned what the same one of the model did. */
static bool returns_alike(unsigned int i, enum kind kind)
{
	struct hashbelt_item is = tested.items[i], want = model.items[i];
	__u64 version = tested.versions[i];
	struct sight sight;

	/* Versions of two belts differ. */
	if (is.result || kind == GET || kind == PEEK || kind == LONG_GET || kind == TOUCHING_GET ||
	    kind == REMOVE) {
		if (!is.result && is.version != version)
			return false;
		if ((is.result == -EEXIST || is.result == -ESTALE) && is.version != version)
			return false;
	} else if (kind != TOUCH && kind != EXPIRE) {
		see(&tested, i, &sight);
		if (sight.err || is.version == version || !sight.renewed)
			return false;
	}
	want.key = is.key;
	want.value = is.value;
	want.version = is.version;
	return !memcmp(&is, &want, sizeof(is));
}

/* True if the item is as it was before the batch. */
static bool is_untouched(enum kind kind, unsigned int i)
{
	struct hashbelt_item is = tested.items[i];

	prepare_item(&tested, kind, i);
	return !memcmp(&is, &tested.items[i], sizeof(is));
}

/* Tries one boundary. Return: NULL, or what is wrong. */
static const char *try_boundary(const struct run *run, enum page page, size_t before,
				unsigned int round)
{
	unsigned int done = writable(page, before), carried, i;

	carried = page == READ_ONLY && done < ITEMS ? done + 1 : done;
	prepare(&tested, run, round);
	prepare(&model, run, round);
	place(page, before);
	run_batch(&tested, array, ITEMS);
	take_back();
	run_batch(&model, model.items, carried);
	if (tested.err != (done ? 0 : -EFAULT) || tested.batch.done != done)
		return "done";
	if (!count_alike())
		return "a counter";
	for (i = 0; i < done; i++)
		if (!returns_alike(i, kind_of(run, i)))
			return "a result";
	for (i = 0; i < ITEMS; i++)
		if (memcmp(tested.values[i], model.values[i], length_of(kind_of(run, i))) ||
		    memcmp(&tested.sums[i], &model.sums[i], sizeof(tested.sums[i])))
			return "a value that was returned";
	for (i = done + 1; i < ITEMS; i++)
		if (!is_untouched(kind_of(run, i), i))
			return "an item that was not carried out";
	return are_alike() ? NULL : "an entry";
}

/* Bytes of an item on the first page: none of its results, some of them, all of them. */
static const size_t shifts[] = { 0, 32, 48, 56 };

static void test_run(const struct run *run, enum page page)
{
	static const char *const names[] = { "that cannot be written", "that is not there",
					     "that is copied when it is written" };
	unsigned int shift, k, step = ITEMS / scaled_from(4, ITEMS), round = 0, wrong = 0;
	const char *what;

	tested.belt = new_belt(0);
	model.belt = new_belt(0);
	for (k = 0; k < ITEMS; k += step) {
		for (shift = 0; shift < (page == READ_ONLY ? ARRAY_SIZE(shifts) : 1); shift++) {
			what = try_boundary(run, page, k * SIZE + shifts[shift], round++);
			if (what && !wrong++)
				note("%s: %s differs where %zu bytes of item %u are on a good page",
				     run->name, what, shifts[shift], k);
		}
	}
	close(tested.belt);
	close(model.belt);
	is_int(wrong, 0, "a batch of %s on a page %s, from any item on, does the items before it",
	       run->name, names[page]);
}

/* Keys, values and sums. Each item fails by itself. */

/* Fields of an item that point to memory of so many bytes each. */
enum field { VALUE, SUM, KEY };

/* From item @first on, what @field points to is on a page that can be read only, or not at all. */
static void test_pointers(const char *name, enum kind kind, enum field field, bool readable)
{
	static const size_t sizes[] = {
		[VALUE] = SMALL, [SUM] = sizeof(*tested.sums), [KEY] = sizeof(*tested.keys),
	};
	size_t size = sizes[field];
	const struct run run = { .kinds = { kind }, .count = 1 };
	unsigned int first, i, wrong = 0, applied;
	struct sight sight;
	unsigned char *at;
	const void *from;

	tested.belt = new_belt(0);
	for (first = 0; first <= ITEMS; first++) {
		prepare(&tested, &run, first);
		at = pages + PAGE - first * size;
		for (i = 0; i < ITEMS; i++) {
			from = field == KEY ? (void *)tested.keys[i] :
			       field == SUM ? (void *)&tested.sums[i] : (void *)tested.values[i];
			memcpy(at + i * size, from, size);
			*(field == KEY ? &tested.items[i].key : &tested.items[i].value) =
				address(at + i * size);
			if (kind == GET)
				tested.items[i].value_len = SMALL;
		}
		if (mprotect(pages + PAGE, PAGE, readable ? PROT_READ : PROT_NONE))
			bail_out("mprotect: %s", strerror(errno));
		run_batch(&tested, tested.items, ITEMS);
		mprotect(pages, 2 * PAGE, PROT_READ | PROT_WRITE);
		wrong += tested.err || tested.batch.done != ITEMS;
		for (i = 0; i < ITEMS; i++) {
			wrong += tested.items[i].result != (i < first ? 0 : -EFAULT);
			see(&tested, i, &sight);
			/* An addition is carried out before its sum is returned. */
			applied = i < first || (kind == ADD && readable);
			if (kind == GET)
				wrong += sight.err || sight.renewed;
			else
				wrong += applied != (!sight.err && sight.renewed);
		}
	}
	close(tested.belt);
	is_int(wrong, 0, "%s, from any item on, fail with EFAULT, and all others succeed", name);
}

/* A get without a batch, whose item can be read and not written. */
static void test_item(__u32 room, const char *name)
{
	struct hashbelt_item *item = (struct hashbelt_item *)pages;
	int belt = new_belt(0);

	put_text(belt, "key", "value", 0);
	*item = item_of("key");
	item->value = address(tested.values);
	item->value_len = room;
	if (mprotect(pages, PAGE, PROT_READ))
		bail_out("mprotect: %s", strerror(errno));
	is_errno(call(belt, HASHBELT_IOC_GET, item), EFAULT,
		 "%s, whose item cannot be written, returns EFAULT", name);
	mprotect(pages, PAGE, PROT_READ | PROT_WRITE);
	close(belt);
}

int main(void)
{
	unsigned int i;

	pages = fresh_pages(2 * PAGE);
	for (i = 0; i < ARRAY_SIZE(runs); i++) {
		test_run(&runs[i], READ_ONLY);
		test_run(&runs[i], HOLE);
		test_run(&runs[i], COPIED);
	}
	test_pointers("gets with a buffer that cannot be written", GET, VALUE, true);
	test_pointers("puts with a value that cannot be read", PUT_OVER, VALUE, false);
	test_pointers("additions with a sum that cannot be written", ADD, SUM, true);
	test_pointers("additions with a sum that cannot be read", ADD, SUM, false);
	test_pointers("gets with a key that cannot be read", GET, KEY, false);
	test_pointers("puts with a key that cannot be read", PUT_OVER, KEY, false);
	test_item(USUAL, "a get");
	test_item(1, "a get into too small a buffer");
	return done_testing();
}
