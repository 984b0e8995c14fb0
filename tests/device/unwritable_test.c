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
};

/* The members of an item, and the length of the value that is there before: 0 for no entry. */
static const struct { __u32 op, how, value_len, before; __u64 ttl_ms; } kinds[] = {
	[GET] = { HASHBELT_OP_GET, 0, USUAL, SMALL },
	[MISS] = { HASHBELT_OP_GET, 0, USUAL },
	[PEEK] = { HASHBELT_OP_GET, HASHBELT_NO_VALUE | HASHBELT_NO_REFRESH, USUAL, SMALL },
	[TOUCHING_GET] = { HASHBELT_OP_GET, HASHBELT_AND_TOUCH, USUAL, SMALL, 2 * TTL },
	[LONG_GET] = { HASHBELT_OP_GET, 0, LONG, LONG },
	[SHORT_BUFFER] = { HASHBELT_OP_GET, 0, LONG - 1, LONG },
	[PUT_NEW] = { HASHBELT_OP_PUT, 0, SMALL, 0, 3 * TTL },
	[PUT_OVER] = { HASHBELT_OP_PUT, 0, SMALL, SMALL, 3 * TTL },
	[PUT_OTHER_SIZE] = { HASHBELT_OP_PUT, 0, SMALL, SMALL + 1, 3 * TTL },
	[PUT_LONG] = { HASHBELT_OP_PUT, 0, LONG, SMALL + 1, 3 * TTL },
	[PUT_REFUSED] = { HASHBELT_OP_PUT, HASHBELT_IF_ABSENT, SMALL, SMALL, 3 * TTL },
	[PUT_STALE] = { HASHBELT_OP_PUT, HASHBELT_IF_VERSION, SMALL, SMALL, 3 * TTL },
	[TOUCH] = { HASHBELT_OP_TOUCH, 0, USUAL, SMALL, 4 * TTL },
	[ADD_NEW] = { HASHBELT_OP_ADD, 0, sizeof(struct hashbelt_sum) },
	[ADD] = { HASHBELT_OP_ADD, 0, sizeof(struct hashbelt_sum), 3 },
	[REMOVE] = { HASHBELT_OP_REMOVE, 0, USUAL, SMALL },
	[EXPIRE] = { HASHBELT_OP_EXPIRE, 0, USUAL, SMALL },
	[INVALID] = { 100, 0, USUAL, SMALL },
};

/* A batch: the kinds of its items, again and again in this order, and their number. */
struct run {
	const char *name;	/* for the test line */
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

/* A belt, and what its batch uses. */
static struct side {
	int belt;
	struct hashbelt_item items[ITEMS];	/* elsewhere for the belt under test */
	char keys[ITEMS][8];
	unsigned char values[ITEMS][LONG];	/* values that are put, or buffers */
	struct hashbelt_sum sums[ITEMS];	/* the additions */
	__u64 versions[ITEMS];			/* of the entries before the batch */
	__u64 counters[HASHBELT_STAT_COUNT];	/* of the belt before the batch */
	struct hashbelt_batch batch;
	int err;				/* of the batch */
} tested, model;

static struct hashbelt_item *array;	/* of the belt under test */
static unsigned char *pages;		/* two, of which the array takes the end of the first */

static enum kind kind_of(const struct run *run, unsigned int i)
{
	return run->kinds[i % run->count];
}

/* Bytes of the memory for a value that are used. */
static __u32 length_of(enum kind kind)
{
	return kinds[kind].value_len < LONG - 1 ? USUAL : LONG;
}

static struct hashbelt_item fresh_item(struct side *side, enum kind kind, unsigned int i)
{
	bool adds = kinds[kind].op == HASHBELT_OP_ADD;

	return (struct hashbelt_item){
		.key = address(side->keys[i]), .key_len = sizeof(side->keys[i]),
		.value = adds ? address(&side->sums[i]) : address(side->values[i]),
		.value_len = kinds[kind].value_len, .ttl_ms = kinds[kind].ttl_ms,
		.op = kinds[kind].op, .how = kinds[kind].how, .flags = 77, .result = 99,
	};
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
			.value = address(side->values[i]), .value_len = kinds[kind].before,
			.flags = i,
		};
		if (kinds[kind].before)
			must(side->belt, HASHBELT_IOC_PUT, &item);
		side->versions[i] = item.version;
		/* Another value is put, and a buffer has what was in it before. */
		memset(side->values[i], '#', length_of(kind));
		side->sums[i] = (struct hashbelt_sum){ .by = 5, .value = 10 };
		side->items[i] = fresh_item(side, kind, i);
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

static void protect(unsigned char *from, size_t size, int protection)
{
	if (mprotect(from, size, protection))
		bail_out("mprotect: %s", strerror(errno));
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

/* Places the array so that @before bytes of it are on the first page. */
static void place(enum page page, size_t before)
{
	static struct hashbelt_item copies[ITEMS];

	memcpy(copies, tested.items, sizeof(copies));
	array = (void *)(pages + PAGE - before);
	memcpy(array, copies, sizeof(copies));
	if (page == COPIED)
		map_copied();
	else
		protect(pages + PAGE, PAGE, page == HOLE ? PROT_NONE : PROT_READ);
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

/* The outcome of a get of the key of an item. */
struct sight {
	int err;			/* of a get */
	bool renewed;			/* it has another version than before the batch */
	struct hashbelt_item item;	/* the get; without pointers and version */
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

/* True if an item returned what the same one of the model did. Versions of two belts differ. */
static bool returns_alike(unsigned int i, enum kind kind)
{
	struct hashbelt_item is = tested.items[i], want = model.items[i];
	__u32 op = kinds[kind].op;
	struct sight sight;

	if (is.result == -EEXIST || is.result == -ESTALE ||
	    (!is.result && (op == HASHBELT_OP_GET || op == HASHBELT_OP_REMOVE))) {
		if (is.version != tested.versions[i])
			return false;
	} else if (!is.result && (op == HASHBELT_OP_PUT || op == HASHBELT_OP_ADD)) {
		see(&tested, i, &sight);
		if (sight.err || is.version == tested.versions[i] || !sight.renewed)
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
	struct hashbelt_item item = fresh_item(&tested, kind, i);

	return !memcmp(&item, &tested.items[i], sizeof(item));
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
	protect(pages, 2 * PAGE, PROT_READ | PROT_WRITE);
	memcpy(tested.items, array, sizeof(tested.items));
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

/* Keys, values and sums: fields of an item that point to memory. Each item fails by itself. */
enum field { VALUE, SUM, KEY };

static const struct pointers {
	const char *name;
	enum kind kind;
	enum field field;
	bool readable;
} pointers[] = {
	{ "gets with a buffer that cannot be written", GET, VALUE, true },
	{ "puts with a value that cannot be read", PUT_OVER, VALUE, false },
	{ "additions with a sum that cannot be written", ADD, SUM, true },
	{ "additions with a sum that cannot be read", ADD, SUM, false },
	{ "gets with a key that cannot be read", GET, KEY, false },
	{ "puts with a key that cannot be read", PUT_OVER, KEY, false },
};

/* From item @first on, what the field points to is on a page that can be read only, or not. */
static unsigned int try_pointers(const struct pointers *p, unsigned int first)
{
	static const size_t sizes[] = {
		[VALUE] = SMALL, [SUM] = sizeof(*tested.sums), [KEY] = sizeof(*tested.keys),
	};
	const struct run run = { .kinds = { p->kind }, .count = 1 };
	size_t size = sizes[p->field];
	unsigned char *at = pages + PAGE - first * size;
	unsigned int i, wrong;
	struct sight sight;
	bool applied;
	__u64 *field;

	prepare(&tested, &run, first);
	for (i = 0; i < ITEMS; i++, at += size) {
		field = p->field == KEY ? &tested.items[i].key : &tested.items[i].value;
		memcpy(at, (void *)(uintptr_t)*field, size);
		*field = address(at);
		if (p->kind == GET)
			tested.items[i].value_len = SMALL;
	}
	protect(pages + PAGE, PAGE, p->readable ? PROT_READ : PROT_NONE);
	run_batch(&tested, tested.items, ITEMS);
	protect(pages, 2 * PAGE, PROT_READ | PROT_WRITE);
	wrong = tested.err || tested.batch.done != ITEMS;
	for (i = 0; i < ITEMS; i++) {
		see(&tested, i, &sight);
		/* An addition is carried out before its sum is returned. */
		applied = p->kind != GET && (i < first || (p->kind == ADD && p->readable));
		wrong += tested.items[i].result != (i < first ? 0 : -EFAULT) || sight.err ||
			 sight.renewed != applied;
	}
	return wrong;
}

static void test_pointers(const struct pointers *p)
{
	unsigned int first, wrong = 0;

	tested.belt = new_belt(0);
	for (first = 0; first <= ITEMS; first++)
		wrong += try_pointers(p, first);
	close(tested.belt);
	is_int(wrong, 0, "%s, from any item on, fail with EFAULT, and all others succeed", p->name);
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
	protect(pages, PAGE, PROT_READ);
	is_errno(call(belt, HASHBELT_IOC_GET, item), EFAULT,
		 "%s, whose item cannot be written, returns EFAULT", name);
	protect(pages, PAGE, PROT_READ | PROT_WRITE);
	close(belt);
}

int main(void)
{
	enum page page;
	unsigned int i;

	pages = fresh_pages(2 * PAGE);
	for (i = 0; i < ARRAY_SIZE(runs); i++)
		for (page = READ_ONLY; page <= COPIED; page++)
			test_run(&runs[i], page);
	for (i = 0; i < ARRAY_SIZE(pointers); i++)
		test_pointers(&pointers[i]);
	test_item(USUAL, "a get");
	test_item(1, "a get into too small a buffer");
	return done_testing();
}
