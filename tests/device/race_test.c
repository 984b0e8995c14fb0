// SPDX-License-Identifier: GPL-2.0-only
/*
 * race_test - calls that run at the same time.
 *
 * Threads bind a descriptor that others use, compete for names, change arguments while the kernel
 * reads them, and unmap buffers while the kernel writes to them. The threads interleave at random;
 * each check holds for every interleaving. Operations on one key, whole values:
 * tests/history/threads.c. Descriptors that are closed, and belts that are destroyed:
 * request_wait_test. The order of batches: grow_test.
 */
#include <sys/time.h>

#include "compete.h"
#include "process.h"

#define ROUNDS	scaled(4000)
#define ENOUGH	scaled(2000)	/* turns of the other threads, for a meaningful test */
#define THREADS	3

static int belt;		/* the descriptor under test */

/* Binding */

static void *use_binding(void *arg)
{
	struct hashbelt_item item;
	struct hashbelt_info info;
	char text[4];
	int err;

	for (; going(); count(&turns)) {
		memset(text, 0, sizeof(text));
		item = item_of("key");
		item.value = address(text);
		item.value_len = sizeof(text) - 1;
		err = call(belt, HASHBELT_IOC_GET, &item);
		expect(err ? err == -ENOENT : !strcmp(text, "one") || !strcmp(text, "two"));
		info = (struct hashbelt_info){};
		expect(!call(belt, HASHBELT_IOC_INFO, &info) &&
		       info.ttl_ms == (*info.name ? *info.name == 'o' ? 1000 : 2000 : 3000));
		item = text_item("other", "value");
		expect(!call(belt, HASHBELT_IOC_PUT, &item));
	}
	return arg;
}

static void bind_anew(void)
{
	struct hashbelt_settings create = { .ttl_ms = 3000 };
	unsigned int i;

	for (i = 0; i < ROUNDS || early(ENOUGH); i++) {
		expect(!open_belt(belt, "one") && !open_belt(belt, "two"));
		if (i % 16 == 0)
			expect(!call(belt, HASHBELT_IOC_CREATE, &create));
	}
}

static void test_binding(void)
{
	struct hashbelt_settings create[] = {
		{ .name = "one", .ttl_ms = 1000 }, { .name = "two", .ttl_ms = 2000 },
	};
	unsigned int i;

	belt = open_device(O_RDWR);
	for (i = 0; i < ARRAY_SIZE(create); i++) {
		must(belt, HASHBELT_IOC_CREATE, &create[i]);
		put_text(belt, "key", create[i].name, HASHBELT_TTL_NEVER);
	}
	compete(use_binding, THREADS, bind_anew);
	is_int(bad, 0, "each call beside an open on its descriptor sees one belt, old or new");
	destroy_belt(belt, "one");
	destroy_belt(belt, "two");
	close(belt);
}

/* Names */

#define CONTESTS	scaled_from(50, 500)

static pthread_barrier_t barrier;
static unsigned int winners;		/* in all contests so far; atomic */

static void *make_one(void *number)
{
	int fd = open_device(O_RDWR), err;
	unsigned int round;

	for (round = 0; round < CONTESTS; round++) {
		pthread_barrier_wait(&barrier);
		err = create_belt(fd, "contested", 0600);
		expect(!err || err == -EEXIST);
		if (!err)
			count(&winners);
		pthread_barrier_wait(&barrier);
		if (!number)
			expect(winners == round + 1 && !destroy_belt(fd, "contested"));
	}
	close(fd);
	return NULL;
}

static void test_names(void)
{
	pthread_barrier_init(&barrier, NULL, THREADS);
	compete(make_one, THREADS, NULL);
	is_int(bad, 0, "one of several concurrent creates of one name succeeds, others get EEXIST");
}

/* Arguments that change while the kernel reads them */

static struct hashbelt_item items[64];
static unsigned int used;	/* of @items: 1 for puts, else all of them */
static char key[8], value[64];

/* Stores to memory that the kernel may be reading. */
#define set(place, to)	__atomic_store_n(&(place), to, __ATOMIC_RELAXED)

static void *flip_items(void *arg)
{
	struct hashbelt_item *item;
	unsigned int i, n;

	for (i = 0; going(); i++) {
		item = &items[i % used];
		n = i / used;
		if (used > 1)
			set(item->op, n % 8);
		set(item->key_len, n % 2 ? 8 : 8 + 65536);
		set(item->value_len, n % 3 ? 16 : 16 + 2 * MIB);
		set(item->how, n % 5 ? 0 : 1U << 31);
		set(item->reserved, n % 7 ? 0 : 1);
		set(key[i % 8], i / 8 % 2 ? 'a' : 'b');
		count(&turns);
	}
	return arg;
}

static void put_item(void)
{
	unsigned int i, taken = 0, refused = 0;
	int err;

	for (i = 0; i < 5 * ROUNDS || early(ENOUGH) || !taken || !refused; i++) {
		err = call(belt, HASHBELT_IOC_PUT, items);
		expect(!err || err == -EINVAL || err == -E2BIG || err == -EMSGSIZE);
		taken += !err;
		refused += !!err;
	}
}

static void batch_items(void)
{
	struct hashbelt_batch batch;
	unsigned int i;

	for (i = 0; i < ROUNDS / 8 || early(ENOUGH) || !info_of(belt).entries; i++) {
		batch = (struct hashbelt_batch){ .items = address(items), .count = used };
		expect(!call(belt, HASHBELT_IOC_BATCH, &batch) && batch.done == used);
	}
}

/*
 * Every key that a scan reports is found and has the length of a valid put; so has its value, or
 * that of a number, which an addition of the batch has made.
 */
static unsigned int scan_and_get(unsigned int *entries)
{
	static char buffer[65536];
	struct hashbelt_scan scan = { .buffer = address(buffer), .size = sizeof(buffer) };
	const char *p = buffer;
	unsigned int i, wrong = 0;

	must(belt, HASHBELT_IOC_SCAN, &scan);
	*entries = scan.count;
	for (i = 0; i < scan.count; i++) {
		const struct hashbelt_record *record = (const void *)p;
		struct hashbelt_item item = {
			.key = address(record + 1), .key_len = record->key_len,
			.how = HASHBELT_NO_VALUE,
		};

		wrong += record->key_len != 8 || !record->value_len || record->value_len > 20 ||
			 call(belt, HASHBELT_IOC_GET, &item);
		p += record->size;
	}
	return wrong;
}

static void test_changes(unsigned int n, void (*leader)(void), const char *what)
{
	unsigned int i, wrong, entries;

	belt = new_belt(0);
	used = n;
	memset(key, 'a', sizeof(key));
	for (i = 0; i < used; i++)
		items[i] = (struct hashbelt_item){
			.op = used > 1 ? HASHBELT_OP_PUT : 0,
			.key = address(key), .key_len = sizeof(key),
			.value = address(value), .value_len = 16, .ttl_ms = HASHBELT_TTL_NEVER,
		};
	compete(flip_items, 1, leader);
	wrong = scan_and_get(&entries);
	ok(!bad && !wrong && entries, "%s while another thread changes it", what);
	note("%u entries, %u wrong, %u unexpected results", entries, wrong, bad);
	close(belt);
}

/* Buffers that are mapped and unmapped */

#define LARGE	5000	/* bytes of a value */

static unsigned char *pages;

static void *take_away(void *arg)
{
	static const int protections[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE };
	unsigned int i;

	for (i = 0; going(); i++, count(&turns)) {
		if (i % 4 < ARRAY_SIZE(protections))
			mprotect(pages, 2 * PAGE, protections[i % 4]);
		else
			madvise(pages, 2 * PAGE, MADV_DONTNEED);
	}
	return arg;
}

static void use_pages(void)
{
	struct hashbelt_item item;
	unsigned int i;
	int err;

	for (i = 0; i < ROUNDS || early(ENOUGH); i++) {
		item = item_of("key");
		item.value = address(pages + i % 64);
		item.value_len = LARGE;
		err = call(belt, i % 2 ? HASHBELT_IOC_GET : HASHBELT_IOC_PUT, &item);
		expect(err ? err == -EFAULT : item.value_len == LARGE);
	}
}

/* The entry is there from the start, because a put that fails leaves it: no get returns ENOENT. */
static void test_memory(void)
{
	struct hashbelt_item item = item_of("key");

	belt = new_belt(0);
	pages = fresh_pages(2 * PAGE);
	item.value = address(pages);
	item.value_len = LARGE;
	must(belt, HASHBELT_IOC_PUT, &item);
	compete(take_away, 1, use_pages);
	is_int(bad, 0, "get and put with a buffer that is remapped return 0 or EFAULT");
	close(belt);
}

/* Interrupted batches: the items that were tried have a version, and all others are unchanged. */
static void test_signals(void)
{
	static struct hashbelt_item puts[HASHBELT_BATCH_MAX];
	struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = {};
	struct hashbelt_batch batch;
	unsigned int i, k, wrong = 0, cut = 0;
	int err;

	belt = new_belt(0);
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_signal }, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 0; i < 100; i++) {
		for (k = 0; k < ARRAY_SIZE(puts); k++) {
			puts[k] = text_item("key", "value");
			puts[k].op = HASHBELT_OP_PUT;
		}
		batch = (struct hashbelt_batch){ .items = address(puts), .count = k };
		err = call(belt, HASHBELT_IOC_BATCH, &batch);
		wrong += err && err != -EINTR;
		for (k = 0; k < ARRAY_SIZE(puts); k++)
			wrong += puts[k].result || !!puts[k].version != (!err && k < batch.done);
		cut += err || batch.done < ARRAY_SIZE(puts);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	is_int(wrong, 0, "a batch that a signal interrupts returns how many items it has done");
	note("%u of 100 were interrupted", cut);
	close(belt);
}

int main(void)
{
	test_binding();
	test_names();
	test_changes(1, put_item, "put stores the argument that it has checked");
	test_changes(ARRAY_SIZE(items), batch_items, "a batch tries each of its items");
	test_memory();
	test_signals();
	return done_testing();
}
