// SPDX-License-Identifier: GPL-2.0-only
/*
 * race_test - calls that run at the same time.
 *
 * Threads bind a descriptor that others use, destroy belts that others open, change
 * arguments while the kernel reads them, unmap buffers while the kernel writes to them, and
 * compete for names. The threads interleave at random; each check holds for every
 * interleaving. Operations on one key, whole values: tests/history/threads.c. Belts that are
 * destroyed: request_wait_test. The order of batches: grow_test.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "device.h"

#define ROUNDS_MAX	4000
#define ROUNDS		scaled(ROUNDS_MAX)
#define THREADS		3

static int belt;			/* the descriptor under test */
static bool over;
static unsigned int bad;		/* unexpected results; atomic */
static unsigned int good;		/* expected results; atomic */

static void count(unsigned int *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static bool going(void)
{
	return !__atomic_load_n(&over, __ATOMIC_RELAXED);
}

/* True until the other threads have done enough for a meaningful round. */
static bool early(void)
{
	return __atomic_load_n(&good, __ATOMIC_RELAXED) < scaled(2000);
}

/* Stores to memory that the kernel may be reading. */
#define set(place, to)	__atomic_store_n(&(place), to, __ATOMIC_RELAXED)

/*
 * Runs @worker in @n threads and @leader in this one. When @leader returns, @over is set
 * and the threads end.
 */
static void compete(void *(*worker)(void *arg), unsigned int n, void (*leader)(void))
{
	pthread_t threads[THREADS];
	unsigned int i;

	over = false;
	bad = 0;
	good = 0;
	for (i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, worker, (void *)(uintptr_t)i))
			bail_out("no thread");
	leader();
	set(over, true);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static int get_text(int fd, const char *key, char *buffer, __u32 size)
{
	struct hashbelt_item item = item_of(key);
	int err;

	item.value = address(buffer);
	item.value_len = size - 1;
	err = call(fd, HASHBELT_IOC_GET, &item);
	if (!err)
		buffer[item.value_len] = 0;
	return err;
}

/* Binding */

static void *use_binding(void *arg)
{
	struct hashbelt_item item;
	struct hashbelt_info info;
	char text[16];
	int err;

	(void)arg;
	while (going()) {
		err = get_text(belt, "key", text, sizeof(text));
		if (err ? err != -ENOENT : strcmp(text, "one") && strcmp(text, "two"))
			count(&bad);
		info = (struct hashbelt_info){};
		if (call(belt, HASHBELT_IOC_INFO, &info) ||
		    info.ttl_ms != (*info.name ? *info.name == 'o' ? 1000 : 2000 : 3000))
			count(&bad);
		item = text_item("other", "value");
		if (call(belt, HASHBELT_IOC_PUT, &item))
			count(&bad);
		count(&good);
	}
	return NULL;
}

static void bind_anew(void)
{
	struct hashbelt_settings create = { .ttl_ms = 3000 };
	unsigned int i;

	for (i = 0; i < ROUNDS || early(); i++) {
		if (open_belt(belt, "one") || open_belt(belt, "two"))
			count(&bad);
		if (i % 16 == 0 && call(belt, HASHBELT_IOC_CREATE, &create))
			count(&bad);
	}
}

static void test_binding(void)
{
	struct hashbelt_settings create = { .name = "one", .ttl_ms = 1000 };

	belt = open_device(O_RDWR);
	must(belt, HASHBELT_IOC_CREATE, &create);
	put_text(belt, "key", "one", HASHBELT_TTL_NEVER);
	memcpy(create.name, "two", 3);
	create.ttl_ms = 2000;
	must(belt, HASHBELT_IOC_CREATE, &create);
	put_text(belt, "key", "two", HASHBELT_TTL_NEVER);
	compete(use_binding, THREADS, bind_anew);
	is_int(bad, 0, "each call beside an open on its descriptor sees one belt, old or new");
	destroy_belt(belt, "one");
	destroy_belt(belt, "two");
	close(belt);
}

/* One of several concurrent creates of one name succeeds */

static pthread_barrier_t barrier;
#define CONTESTS_MAX	500
#define CONTESTS	scaled_from(50, CONTESTS_MAX)

static unsigned int winners[CONTESTS_MAX];

static void *make_one(void *arg)
{
	int fd = open_device(O_RDWR), err;
	unsigned int round;

	for (round = 0; round < CONTESTS; round++) {
		pthread_barrier_wait(&barrier);
		err = create_belt(fd, "contested", 0600);
		if (!err)
			count(&winners[round]);
		else if (err != -EEXIST)
			count(&bad);
		pthread_barrier_wait(&barrier);
		if (!arg && destroy_belt(fd, "contested"))
			count(&bad);
	}
	close(fd);
	return NULL;
}

static void nothing(void)
{
}

static void test_names(void)
{
	unsigned int round, wrong = 0;

	memset(winners, 0, sizeof(winners));
	pthread_barrier_init(&barrier, NULL, THREADS);
	compete(make_one, THREADS, nothing);
	for (round = 0; round < CONTESTS; round++)
		wrong += winners[round] != 1;
	ok(!wrong && !bad,
	   "one of several concurrent creates of one name succeeds, others get EEXIST");
	if (wrong || bad)
		note("%u rounds without exactly one success, %u unexpected errors", wrong, bad);
}

#define LARGE	5000	/* bytes of a value */

/* Arguments that change while the kernel reads them */

static struct hashbelt_item shared_item;
static char shared_key[16], shared_value[64];
static unsigned int taken, refused;	/* calls with an argument that another thread changes */

/* Both results have to be seen for a meaningful round. */
static bool one_sided(void)
{
	return !taken || !refused;
}

static void note_answer(int err)
{
	if (err)
		refused++;
	else
		taken++;
}

static void *flip_item(void *arg)
{
	struct hashbelt_item *item = &shared_item;
	unsigned int i;

	(void)arg;
	for (i = 0; going(); i++) {
		set(item->key_len, i % 2 ? 8 : 8 + 65536);
		set(item->value_len, i % 3 ? 16 : 16 + 2 * MIB);
		set(item->how, i % 5 ? 0 : 1U << 31);
		set(item->reserved, i % 7 ? 0 : 1);
		set(shared_key[i % 8], i / 8 % 2 ? 'a' : 'b');
		count(&good);
	}
	return NULL;
}

static void put_shared(void)
{
	unsigned int i;
	int err;

	taken = 0;
	refused = 0;
	for (i = 0; i < 5 * ROUNDS || early() || one_sided(); i++) {
		err = call(belt, HASHBELT_IOC_PUT, &shared_item);
		if (err && err != -EINVAL && err != -E2BIG && err != -EMSGSIZE)
			count(&bad);
		note_answer(err);
	}
}

/*
 * Every key that a scan reports is found and has the length of a valid put; so has its
 * value, or, with @sums, the length of a number.
 */
static unsigned int scan_and_get(unsigned int *entries, bool sums)
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

		wrong += record->key_len != 8;
		wrong += record->value_len != 16 &&
			 !(sums && record->value_len && record->value_len <= 20);
		wrong += call(belt, HASHBELT_IOC_GET, &item) != 0;
		p += record->size;
	}
	return wrong;
}

static void test_item_changes(void)
{
	unsigned int wrong, entries;

	belt = new_belt(0);
	memset(shared_key, 'a', sizeof(shared_key));
	shared_item = (struct hashbelt_item){
		.key = address(shared_key), .key_len = 8,
		.value = address(shared_value), .value_len = 16,
		.ttl_ms = HASHBELT_TTL_NEVER,
	};
	compete(flip_item, 1, put_shared);
	wrong = scan_and_get(&entries, false);
	ok(!bad && !wrong && entries,
	   "put stores the argument that it has checked while another thread changes it");
	note("%u entries, %u wrong, %u unexpected errors", entries, wrong, bad);
	close(belt);
}

static struct hashbelt_item shared_items[64];

static void *flip_items(void *arg)
{
	struct hashbelt_item *item;
	unsigned int i;

	(void)arg;
	for (i = 0; going(); i++) {
		item = &shared_items[i % ARRAY_SIZE(shared_items)];
		set(item->op, i / 64 % 8);
		set(item->key_len, i % 3 ? 8 : 8 + 65536);
		set(item->value_len, i % 2 ? 16 : 16 + 2 * MIB);
		set(item->how, i % 5);
		set(item->result, 0);
		count(&good);
	}
	return NULL;
}

static void batch_shared(void)
{
	struct hashbelt_batch batch;
	unsigned int i;

	for (i = 0; i < ROUNDS / 8 || early() || !info_of(belt).entries; i++) {
		batch = (struct hashbelt_batch){
			.items = address(shared_items), .count = ARRAY_SIZE(shared_items),
		};
		if (call(belt, HASHBELT_IOC_BATCH, &batch) ||
		    batch.done != ARRAY_SIZE(shared_items))
			count(&bad);
	}
}

static void test_batch_changes(void)
{
	unsigned int i, wrong, entries;

	belt = new_belt(0);
	for (i = 0; i < ARRAY_SIZE(shared_items); i++) {
		shared_items[i] = (struct hashbelt_item){
			.op = HASHBELT_OP_PUT,
			.key = address(shared_key), .key_len = 8,
			.value = address(shared_value), .value_len = 16,
		};
	}
	compete(flip_items, 1, batch_shared);
	/* The last operation on a key may have been an addition that made a number. */
	wrong = scan_and_get(&entries, true);
	ok(!bad && !wrong && entries, "a batch tries all items while another thread changes them");
	note("%u entries, %u wrong, %u unexpected results", entries, wrong, bad);
	close(belt);
}

/* Buffers that are mapped and unmapped */

static unsigned char *page;

static void *take_away(void *arg)
{
	unsigned int i;

	(void)arg;
	for (i = 0; going(); i++) {
		switch (i % 4) {
		case 0:
			mprotect(page, 2 * PAGE, PROT_NONE);
			break;
		case 1:
			mprotect(page, 2 * PAGE, PROT_READ);
			break;
		case 2:
			mprotect(page, 2 * PAGE, PROT_READ | PROT_WRITE);
			break;
		default:
			madvise(page, 2 * PAGE, MADV_DONTNEED);
		}
		count(&good);
	}
	return NULL;
}

static void use_page(void)
{
	struct hashbelt_item item;
	unsigned int i;
	int err;

	for (i = 0; i < ROUNDS || early(); i++) {
		item = item_of("key");
		item.value = address(page + i % 64);
		item.value_len = LARGE;
		if (i % 2)
			err = call(belt, HASHBELT_IOC_GET, &item);
		else
			err = call(belt, HASHBELT_IOC_PUT, &item);
		if (err && err != -EFAULT)
			count(&bad);
		if (!err && item.value_len != LARGE)
			count(&bad);
	}
}

/* The entry is there from the start, because a put that fails leaves it: no get returns ENOENT. */
static void test_memory(void)
{
	struct hashbelt_item item = item_of("key");

	belt = new_belt(0);
	page = fresh_pages(2 * PAGE);
	item.value = address(page);
	item.value_len = LARGE;
	must(belt, HASHBELT_IOC_PUT, &item);
	compete(take_away, 1, use_page);
	is_int(bad, 0, "get and put with a buffer that is remapped return 0 or EFAULT");
	close(belt);
}

/* A descriptor that is closed while it is used */

static int victim;

static void *use_victim(void *arg)
{
	char text[16];
	int err;

	(void)arg;
	while (going()) {
		err = get_text(victim, "key", text, sizeof(text));
		if (err && err != -EBADF && err != -ENOENT)
			count(&bad);
		count(&good);
	}
	return NULL;
}

static void reopen(void)
{
	unsigned int i;

	for (i = 0; i < ROUNDS || early(); i++) {
		/* The descriptor number is reused at once; closing it may end its belt. */
		if (dup2(belt, victim) < 0)
			count(&bad);
		if (i % 8 == 0) {
			close(belt);
			belt = new_belt(0);
			put_text(belt, "key", "value", 0);
		}
		close(victim);
	}
}

static void test_close(void)
{
	belt = new_belt(0);
	victim = dup(belt);
	compete(use_victim, THREADS, reopen);
	is_int(bad, 0, "get beside a close of its descriptor returns 0, ENOENT or EBADF");
	close(belt);
}

/* Interrupted batches */

static void on_alarm(int signal)
{
	(void)signal;
}

/* The items that were tried have a version; all others are unchanged. */
static bool is_cut_right(const struct hashbelt_item *items, __u32 done)
{
	unsigned int i;
	bool tried;

	for (i = 0; i < HASHBELT_BATCH_MAX; i++) {
		tried = i < done;
		if (items[i].result || !!items[i].version != tried)
			return false;
	}
	return true;
}

static void test_signals(void)
{
	static struct hashbelt_item items[HASHBELT_BATCH_MAX];
	struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = {};
	struct sigaction action = { .sa_handler = on_alarm };
	unsigned int i, k, wrong = 0, cut = 0;
	struct hashbelt_batch batch;
	int err;

	belt = new_belt(0);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 0; i < 100; i++) {
		for (k = 0; k < ARRAY_SIZE(items); k++) {
			items[k] = text_item("key", "value");
			items[k].op = HASHBELT_OP_PUT;
		}
		batch = (struct hashbelt_batch){
			.items = address(items), .count = ARRAY_SIZE(items),
		};
		err = call(belt, HASHBELT_IOC_BATCH, &batch);
		wrong += err && err != -EINTR;
		wrong += !is_cut_right(items, err ? 0 : batch.done);
		cut += err || batch.done < ARRAY_SIZE(items);
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
	test_item_changes();
	test_batch_changes();
	test_memory();
	test_close();
	test_signals();
	return done_testing();
}
