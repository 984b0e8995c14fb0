// SPDX-License-Identifier: GPL-2.0-only
/*
 * overlap_test - a call reads what user space passed once, before it writes anything back.
 *
 * The key of a get may lie in its buffer, and either of them in the item. Each call is made twice:
 * with its parts apart from one another, and with parts that overlap. The second call has to read
 * the same bytes as the first. It has to return the same buffers and the same argument; where these
 * overlap, the bytes of the argument stay.
 *
 * Where parts of several items of a batch overlap, the results are unspecified: nothing else may
 * change.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "lock.h"

#define AREA	(6 * PAGE)
#define MOST	(2 * 4096)	/* bytes of a value that a test puts */

static const unsigned int key_lens[] = { 6, 8, 16, 17, 300 };
static const unsigned int value_lens[] = { 5, 8, 100, 4096, 6000, MOST };

/* The bytes of key number @n: no other key begins with them. */
static void make_key(unsigned char *key, unsigned int n, unsigned int len)
{
	memset(key, 'k', len);
	key[0] = n;
}

/*
 * A value begins with the bytes of another key that is there: a get that reads its key again gets
 * that one's value.
 */
static void make_value(unsigned char *value, unsigned int n, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		value[i] = i ? 'k' : n ^ 1;
	if (len > 4)
		value[len - 1] = n;
}

static void put_bytes(int belt, const void *key, __u32 key_len, const void *value, __u32 len)
{
	struct hashbelt_item item = {
		.key = address(key), .key_len = key_len, .value = address(value),
		.value_len = len, .flags = 17,
	};

	must(belt, HASHBELT_IOC_PUT, &item);
}

/* A belt with two keys of each length, for each length of a value. */
static int filled_belt(void)
{
	unsigned char key[HASHBELT_KEY_MAX], value[MOST];
	unsigned int k, v, n;
	int belt = new_belt(0);

	for (k = 0; k < ARRAY_SIZE(key_lens); k++) {
		for (v = 0; v < ARRAY_SIZE(value_lens); v++) {
			for (n = 2 * v; n < 2 * v + 2; n++) {
				make_key(key, n, key_lens[k]);
				make_value(value, n, value_lens[v]);
				put_bytes(belt, key, key_lens[k], value, value_lens[v]);
			}
		}
	}
	return belt;
}

/* How a get is made. */
enum way { SINGLE, TOUCHING, BATCHED, FILLING, WAYS };

static const char *const ways[] = { "a get", "a get that touches", "a get in a batch", "a fill" };

/**
 * struct layout - where the parts of a get lie in an area, as offsets
 * @key:	its key
 * @value:	its buffer
 * @argument:	its item, or its struct hashbelt_fill
 * @key_len:	of the key
 * @number:	of the key
 * @value_len:	of the value that is there
 */
struct layout {
	size_t key;
	size_t value;
	size_t argument;
	unsigned int key_len;
	unsigned int number;
	unsigned int value_len;
};

static size_t argument_size(enum way way)
{
	return way == FILLING ? sizeof(struct hashbelt_fill) : sizeof(struct hashbelt_item);
}

/* Writes the argument and then the key for an area to @to, which may be a copy of it. */
static void write_layout(unsigned char *to, const unsigned char *area, const struct layout *layout,
			 enum way way)
{
	struct hashbelt_fill fill = {
		.item = {
			.key = address(area + layout->key), .key_len = layout->key_len,
			.value = address(area + layout->value), .value_len = layout->value_len,
			.op = way == BATCHED ? HASHBELT_OP_GET : 0,
			.how = way == TOUCHING ? HASHBELT_AND_TOUCH : 0,
		},
	};

	memcpy(to + layout->argument, &fill, argument_size(way));
	make_key(to + layout->key, layout->number, layout->key_len);
}

static int make_call(int belt, void *argument, enum way way)
{
	struct hashbelt_batch batch = { .items = address(argument), .count = 1 };

	if (way == BATCHED)
		return call(belt, HASHBELT_IOC_BATCH, &batch) ?:
		       ((struct hashbelt_item *)argument)->result;
	return call(belt, way == FILLING ? HASHBELT_IOC_FILL : HASHBELT_IOC_GET, argument);
}

/* Writes to @area what a get leaves there: the value, and then what the argument returns. */
static void expect(unsigned char *area, const struct layout *layout, enum way way,
		   const struct hashbelt_fill *returned)
{
	unsigned char *at = area + layout->argument;
	size_t from = offsetof(struct hashbelt_item, value_len);
	size_t to = offsetof(struct hashbelt_item, op);

	make_value(area + layout->value, layout->number, layout->value_len);
	if (way == FILLING)
		memcpy(at, returned, sizeof(*returned));
	else
		memcpy(at + from, (const unsigned char *)returned + from, to - from);
	if (way == BATCHED)
		memset(at + offsetof(struct hashbelt_item, result), 0, sizeof(__s32));
}

/* A get returns this in its argument if its parts are apart; with the pointers of @layout. */
static struct hashbelt_fill reference(int belt, const struct layout *layout, enum way way,
				      const unsigned char *area)
{
	static unsigned char apart[4 * MOST];
	struct layout other = *layout;
	struct hashbelt_fill returned = {};

	other.argument = 0;
	other.key = 1024;
	other.value = 2048;
	write_layout(apart, apart, &other, way);
	if (make_call(belt, apart, way))
		bail_out("a get whose parts do not overlap fails");
	memcpy(&returned, apart, argument_size(way));
	returned.item.key = address(area + layout->key);
	returned.item.value = address(area + layout->value);
	return returned;
}

/* Makes a get in fresh memory, of which the pages are there already if @warm. */
static bool is_right(int belt, const struct layout *layout, enum way way, bool warm)
{
	unsigned char *area = fresh_pages(AREA), *want = calloc(1, AREA);
	struct hashbelt_fill returned = reference(belt, layout, way, area);
	size_t i;
	bool right;
	int err;

	for (i = 0; warm && i < AREA; i += PAGE)
		area[i] = 0;
	write_layout(area, area, layout, way);
	write_layout(want, area, layout, way);
	expect(want, layout, way, &returned);
	err = make_call(belt, area + layout->argument, way);
	right = !err && !memcmp(area, want, AREA);
	munmap(area, AREA + PAGE);
	free(want);
	return right;
}

/* True if a get can be made: neither its key nor its argument overwrites the other one. */
static bool is_possible(const struct layout *layout, enum way way)
{
	return layout->key + layout->key_len <= layout->argument ||
	       layout->argument + argument_size(way) <= layout->key;
}

/* The number of places in a buffer that a part is tried at, about. */
static unsigned int places(void)
{
	return scaled_from(3, 13);
}

/* The key at each place in the buffer, at its ends and around its pages. */
static unsigned int count_wrong_keys(int belt, enum way way, bool warm, struct layout layout)
{
	size_t first = layout.value - layout.key_len, last = layout.value + layout.value_len;
	size_t step = layout.value_len / places() + 1;
	unsigned int wrong = 0;

	for (layout.key = first; layout.key <= last; layout.key += step)
		if (is_possible(&layout, way))
			wrong += !is_right(belt, &layout, way, warm);
	return wrong;
}

static void test_key_in_buffer(int belt, enum way way, bool warm)
{
	unsigned int k, v, wrong = 0;
	struct layout layout = { .value = 1000, .argument = AREA - 1000 };

	for (k = 0; k < ARRAY_SIZE(key_lens); k++) {
		for (v = 0; v < ARRAY_SIZE(value_lens); v++) {
			layout.key_len = key_lens[k];
			layout.value_len = value_lens[v];
			layout.number = 2 * v + k % 2;
			wrong += count_wrong_keys(belt, way, warm, layout);
		}
	}
	is_int(wrong, 0, "%s whose key lies in its buffer returns that key's value, %s pages",
	       ways[way], warm ? "with all" : "without");
}

/* The argument at each place in the buffer and the key behind it, and in its reserved bytes. */
static void test_argument_in_buffer(int belt, enum way way, bool warm)
{
	struct layout layout = { .value = 1000, .key_len = 8 };
	unsigned int v, wrong = 0;
	size_t last;

	for (v = 0; v < ARRAY_SIZE(value_lens); v++) {
		layout.value_len = value_lens[v];
		layout.number = 2 * v;
		last = layout.value + layout.value_len;
		for (layout.argument = layout.value & ~7ul; layout.argument <= last;
		     layout.argument += (layout.value_len / places() + 8) & ~7ul) {
			layout.key = layout.argument + argument_size(way);
			wrong += !is_right(belt, &layout, way, warm);
			layout.key = layout.value - 16;
			if (is_possible(&layout, way))
				wrong += !is_right(belt, &layout, way, warm);
		}
	}
	is_int(wrong, 0,
	       "%s whose argument lies in its buffer returns the value of its key, %s pages",
	       ways[way], warm ? "with all" : "without");
}

/* The key is one of the fields that the item returns. */
static void test_key_in_item(int belt)
{
	struct hashbelt_item item = { .key_len = 8, .version = 0x1234 };
	struct hashbelt_batch batch = { .items = address(&item), .count = 1 };
	char value[8] = "";

	put_bytes(belt, &item.version, 8, "inside", 6);
	item.key = address(&item.version);
	item.value = address(value);
	item.value_len = sizeof(value);
	ok(!call(belt, HASHBELT_IOC_GET, &item) && !memcmp(value, "inside", 6),
	   "a get whose key is a field of its item that it returns gets that key's value");
	item.version = 0x1234;
	item.op = HASHBELT_OP_GET;
	memset(value, 0, sizeof(value));
	ok(!call(belt, HASHBELT_IOC_BATCH, &batch) && !item.result && !memcmp(value, "inside", 6),
	   "a get in a batch whose key is a field of its item gets that key's value");
	item.version = 0x1234;
	item.op = 0;
	ok(!call(belt, HASHBELT_IOC_TOUCH, &item) && item.ttl_ms == TTL,
	   "a touch whose key is a field of its item that it returns touches that key");
}

/* A buffer that is too small, or an absent key, leaves the key and the rest of the item alone. */
static void test_failed(int belt)
{
	unsigned char *page = fresh_pages(PAGE), copy[64];
	struct hashbelt_item item = {
		.key = address(page + 8), .key_len = 6, .value = address(page), .value_len = 20,
		.flags = 1, .ttl_ms = 2, .version = 3, .result = 4,
	}, batched = item;
	struct hashbelt_batch batch = { .items = address(&batched), .count = 1 };

	make_key(page + 8, 4, 6);
	memcpy(copy, page, sizeof(copy));
	is_errno(call(belt, HASHBELT_IOC_GET, &item), ERANGE,
		 "a get whose key lies in a buffer that is too small returns ERANGE");
	ok(item.value_len == 100 && item.flags == 1 && item.ttl_ms == 2 && item.version == 3 &&
	   item.result == 4 && !memcmp(copy, page, sizeof(copy)),
	   "a get that returns ERANGE changes value_len alone");
	batched.op = HASHBELT_OP_GET;
	must(belt, HASHBELT_IOC_BATCH, &batch);
	ok(batched.result == -ERANGE && batched.value_len == 100 && batched.flags == 1 &&
	   batched.ttl_ms == 2 && batched.version == 3 && !memcmp(copy, page, sizeof(copy)),
	   "a get in a batch that returns ERANGE changes value_len and result alone");
	page[8] = 'x';
	memcpy(copy, page, sizeof(copy));
	item.value_len = 20;
	ok(call(belt, HASHBELT_IOC_GET, &item) == -ENOENT && !memcmp(copy, page, sizeof(copy)),
	   "a get of an absent key that lies in its buffer leaves the key there");
	munmap(page, 2 * PAGE);
}

/* Beside a writer */

static bool over;

/* Overwrites the value of the key, which gets as it goes begin with another key's bytes. */
static void *overwrite(void *arg)
{
	int belt = *(int *)arg;
	unsigned char key[6], value[64];
	unsigned int i;

	make_key(key, 2, sizeof(key));
	make_value(value, 2, sizeof(value));
	for (i = 0; !__atomic_load_n(&over, __ATOMIC_RELAXED); i++) {
		value[20] = i;
		put_bytes(belt, key, sizeof(key), value, sizeof(value));
	}
	return NULL;
}

static void test_writer(enum way way)
{
	unsigned char key[6], value[64], area[1024] __attribute__((aligned(8)));
	struct layout layout = {
		.argument = 512, .key_len = 6, .value_len = 64, .number = 2,
	};
	unsigned int i, wrong = 0;
	int belt = new_belt(0);
	pthread_t thread;

	make_key(key, 3, sizeof(key));
	make_value(value, 3, sizeof(value));
	put_bytes(belt, key, sizeof(key), value, sizeof(value));
	make_key(key, 2, sizeof(key));
	make_value(value, 2, sizeof(value));
	put_bytes(belt, key, sizeof(key), value, sizeof(value));
	over = false;
	if (pthread_create(&thread, NULL, overwrite, &belt))
		bail_out("no thread");
	for (i = 0; i < scaled(300000); i++) {
		layout.key = i % 48;
		write_layout(area, area, &layout, way);
		if (make_call(belt, area + layout.argument, way) || area[0] != 3 || area[63] != 2)
			wrong++;
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	is_int(wrong, 0,
	       "%s whose key lies in its buffer returns that key's value while a put overwrites it",
	       ways[way]);
	close(belt);
}

/* The pages of a fill come while its entry is removed: a process with a page that waits. */

/**
 * struct stuck - a fill of a key at the begin of its buffer, in a process of its own
 * @belt:	the belt
 * @socket:	over which the process sends its userfaultfd
 */
struct stuck {
	int belt;
	int socket;
};

/* Return: the errno of the call. */
static int fill_stuck(void *arg)
{
	const struct stuck *stuck = arg;
	struct layout layout = {
		.argument = 3 * PAGE, .key_len = 6, .number = 10, .value_len = MOST,
	};
	unsigned char *area = fresh_pages(4 * PAGE);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { .start = address(area + PAGE), .len = PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC);
	struct hashbelt_fill *fill = (void *)(area + layout.argument);

	write_layout(area, area, &layout, FILLING);
	fill->wait_ms = HASHBELT_TTL_NEVER;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		return 201;
	send_descriptor(stuck->socket, fd);
	if (write(stuck->socket, &area, sizeof(area)) != sizeof(area))
		return 202;
	return -make_call(stuck->belt, fill, FILLING);
}

/* Waits until a child sleeps in an ioctl, or has ended. */
static void await_sleep_or_end(pid_t child)
{
	siginfo_t info = {};

	while (!info.si_pid && !sleeps_in(child, __NR_ioctl)) {
		if (waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT))
			bail_out("waitid: %s", strerror(errno));
		usleep(1000);
	}
}

/* Starts that process, and waits until it waits for its page: returned with its descriptor. */
static pid_t start_fill_stuck(struct stuck *stuck, int *fd, __u64 *page)
{
	int sockets[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		bail_out("socketpair: %s", strerror(errno));
	stuck->socket = sockets[1];
	child = start(fill_stuck, stuck);
	*fd = receive_descriptor(sockets[0]);
	if (*fd < 0 || read(sockets[0], page, sizeof(*page)) != sizeof(*page))
		bail_out("no page that waits");
	*page += PAGE;
	await_sleep_or_end(child);
	close(sockets[0]);
	close(sockets[1]);
	return child;
}

static void let_go_on(int fd, __u64 page)
{
	struct uffdio_zeropage zero = { .range = { .start = page, .len = PAGE } };

	if (ioctl(fd, UFFDIO_ZEROPAGE, &zero) && errno != ESRCH)
		bail_out("no page: %s", strerror(errno));
	close(fd);
}

/*
 * The fill has copied a part of the value over its key when the entry is removed. Another caller
 * gets the fill lease, and so the fill waits. A stop ends that wait. If the kernel made the call
 * again, it would take the value's bytes for the key.
 */
static void test_fill_not_made_again(void)
{
	struct stuck stuck = { .belt = new_belt(0) };
	unsigned char key[6], value[MOST];
	struct hashbelt_fill fill = { .item = { .key = address(key), .key_len = sizeof(key) } };
	pid_t child;
	__u64 page;
	int fd;

	make_key(key, 10, sizeof(key));
	make_value(value, 10, MOST);
	put_bytes(stuck.belt, key, sizeof(key), value, MOST);
	child = start_fill_stuck(&stuck, &fd, &page);
	must(stuck.belt, HASHBELT_IOC_REMOVE, &fill.item);
	if (call(stuck.belt, HASHBELT_IOC_FILL, &fill) != -ENOENT)
		bail_out("no fill lease");
	let_go_on(fd, page);
	await_sleep_or_end(child);
	stop_and_continue(child);
	is_int(finish(child), EINTR,
	       "a wait for a fill whose key lies in its buffer ends with a stop");
	close(stuck.belt);
}

/* A lock whose owner is its own wait time. */
static int lock_as_wait_time(void *arg)
{
	struct hashbelt_lock lock = lock_of("key", "");

	lock.wait_ms = 1000;
	lock.owner = address(&lock.wait_ms);
	lock.owner_len = sizeof(lock.wait_ms);
	return -call(*(int *)arg, HASHBELT_IOC_LOCK, &lock);
}

static void test_lock_not_made_again(void)
{
	int belt = lock_belt();
	pid_t child;

	must_take(belt, "key", "alice", 0);
	child = start(lock_as_wait_time, &belt);
	await(waits_in, child, __NR_ioctl);
	advance(belt, 400);
	stop_and_continue(child);
	advance(belt, 600);
	is_int(finish(child), EINTR,
	       "a wait for a lock whose owner is a field that the call returns ends with a stop");
	close(belt);
}

/* Batches */

#define LEN(n)		(3 + (n) * 5 % 600)

/*
 * Every key is a byte that is repeated, and its value repeats the next byte. Return: a descriptor
 * that may read only: an item that is overwritten changes no entry.
 */
static int belt_of_bytes(void)
{
	static const unsigned int lens[] = { 1, 8, 20 };
	int belt = open_device(O_RDWR), reader = open_device(O_RDONLY);
	unsigned char key[20], value[700];
	unsigned int n, i;

	if (create_belt(belt, "bytes", 0600) || open_belt(reader, "bytes"))
		bail_out("no belt");
	must(belt, HASHBELT_IOC_HALT, NULL);
	for (n = 0; n < 256; n++) {
		for (i = 0; i < ARRAY_SIZE(lens); i++) {
			memset(key, n, lens[i]);
			memset(value, n + 1, LEN(n));
			put_bytes(belt, key, lens[i], value, LEN(n));
		}
	}
	close(belt);
	return reader;
}

static __u32 random_state;

static unsigned int random_below(unsigned int bound)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % bound;
}

/*
 * A random batch of gets whose items, keys and buffers lie in @size bytes. Return: the items. With
 * a small @size each overlaps others.
 */
static struct hashbelt_item *make_batch(unsigned char *area, unsigned int size, unsigned int count)
{
	static const unsigned int lens[] = { 1, 1, 8, 20 };
	size_t at = random_below(size) & ~7u;
	struct hashbelt_item *items = (void *)(area + at);
	unsigned int i;

	for (i = 0; i < AREA; i++)
		area[i] = random_below(4) ? i / 64 : random_below(256);
	memset(items, 0, count * sizeof(*items));
	for (i = 0; i < count; i++) {
		items[i] = (struct hashbelt_item){
			.op = random_below(30) ? HASHBELT_OP_GET : HASHBELT_OP_TOUCH,
			.key = address(area + random_below(size)),
			.key_len = lens[random_below(ARRAY_SIZE(lens))],
			.value = address(area + random_below(size)),
			.value_len = random_below(700),
			.how = random_below(10) ? 0 : HASHBELT_NO_VALUE,
		};
		if (items[i].op != HASHBELT_OP_GET)
			items[i].how = 0;
	}
	return items;
}

static unsigned int do_batch(int belt, struct hashbelt_item *items, unsigned int count)
{
	struct hashbelt_batch batch = { .items = address(items), .count = count };

	return call(belt, HASHBELT_IOC_BATCH, &batch) ? 0 : batch.done;
}

/* The number of the entries of belt_of_bytes() that are not as they were put. */
static unsigned int count_changed(int belt)
{
	static const unsigned int lens[] = { 1, 8, 20 };
	unsigned char key[20], value[700], want[700];
	struct hashbelt_item item;
	unsigned int n, i, changed = 0;

	for (n = 0; n < 256; n++) {
		memset(want, n + 1, sizeof(want));
		for (i = 0; i < ARRAY_SIZE(lens); i++) {
			memset(key, n, lens[i]);
			item = (struct hashbelt_item){
				.key = address(key), .key_len = lens[i], .value = address(value),
				.value_len = sizeof(value),
			};
			changed += call(belt, HASHBELT_IOC_GET, &item) || item.flags != 17 ||
				   item.value_len != LEN(n) || memcmp(value, want, LEN(n));
		}
	}
	return changed;
}

static void test_batches(unsigned int size, const char *what)
{
	unsigned char *area = fresh_pages(AREA);
	unsigned int i, count, wrong = 0;
	int belt = belt_of_bytes();

	random_state = size;
	for (i = 0; i < scaled(4000); i++) {
		count = 1 + random_below(40);
		wrong += do_batch(belt, make_batch(area, size, count), count) > count;
	}
	is_int(wrong, 0, "batches of gets with %s make no more items than they have", what);
	is_int(count_changed(belt), 0, "batches of gets with %s change no entry", what);
	munmap(area, AREA + PAGE);
	close(belt);
	belt = open_device(O_RDWR);
	destroy_belt(belt, "bytes");
	close(belt);
}

/* Keys and buffers in records of their own, as programs have them, and cold. */
static void test_records(void)
{
	enum { RECORDS = 40 };
	size_t size = 2 * PAGE;
	unsigned char *area = fresh_pages(RECORDS * size);
	struct hashbelt_item items[RECORDS];
	unsigned int i, wrong = 0;
	int belt = filled_belt();

	for (i = 0; i < RECORDS; i++) {
		make_key(area + i * size + 16, 10 + i % 2, 6);
		items[i] = (struct hashbelt_item){
			.op = HASHBELT_OP_GET, .key = address(area + i * size + 16), .key_len = 6,
			.value = address(area + i * size), .value_len = MOST,
		};
	}
	is_int(do_batch(belt, items, RECORDS), RECORDS,
	       "a batch of gets whose keys lie in their buffers makes all of them");
	for (i = 0; i < RECORDS; i++)
		wrong += items[i].result || area[i * size] != (11 - i % 2) ||
			 area[i * size + MOST - 1] != 10 + i % 2;
	is_int(wrong, 0,
	       "each get of a batch whose key lies in its buffer returns its value, without pages");
	munmap(area, RECORDS * size + PAGE);
	close(belt);
}

/* The key of each put but the first is the time-to-live that the one before it returns. */
static void test_puts(void)
{
	enum { PUTS = 20 };
	struct hashbelt_item items[PUTS];
	__u64 zero = 0;
	unsigned int i, wrong = 0;
	int belt = new_belt(0);

	put_bytes(belt, "other", 5, "value", 5);
	for (i = 0; i < PUTS; i++)
		items[i] = (struct hashbelt_item){
			.op = HASHBELT_OP_PUT, .key_len = 8, .value = address("value"),
			.value_len = 5, .key = i ? address(&items[i - 1].ttl_ms) : address(&zero),
		};
	is_int(do_batch(belt, items, PUTS), PUTS,
	       "a batch of puts whose keys lie in earlier items makes all of them");
	for (i = 0; i < PUTS; i++)
		wrong += items[i].result != 0;
	ok(!wrong && info_of(belt).entries <= 1 + PUTS && holds_text(belt, "other", "value"),
	   "a batch of puts whose keys lie in earlier items changes no other entry");
	close(belt);
}

/* Other calls */

static void test_add(void)
{
	int belt = new_belt(0);
	struct hashbelt_item item = { .key_len = 8 };
	struct hashbelt_sum *sum = (void *)&item.ttl_ms, want = { .by = 5, .value = 100 };

	/* The sum is the item's time-to-live and version, which are returned after it. */
	item.key = address("12345678");
	item.value = address(sum);
	item.value_len = sizeof(*sum);
	item.ttl_ms = 5;
	item.version = 100;
	is_errno(call(belt, HASHBELT_IOC_ADD, &item), 0,
		 "an addition whose sum lies in its item succeeds");
	ok(item.ttl_ms == 5 && item.version != 105,
	   "an addition whose sum lies in its item returns the fields of the item");
	item = (struct hashbelt_item){
		.key = address(&want.value), .key_len = 8, .value = address(&want),
		.value_len = sizeof(want),
	};
	ok(!call(belt, HASHBELT_IOC_ADD, &item) && want.value == 105 &&
	   info_of(belt).entries == 2,
	   "an addition whose key is the initial number adds to that key");
	close(belt);
}

static void test_locks(void)
{
	int belt = lock_belt();
	struct hashbelt_lock lock = lock_of("name", "owner"), holder = {};
	struct hashbelt_locks *locks;
	struct hashbelt_lock_record *record;
	char owner[64] = "name";

	/* The name is what the lock returns as its token, the owner as its time. */
	lock.key = address(&lock.token);
	lock.key_len = 4;
	memcpy(&lock.token, "name", 4);
	lock.owner = address(&lock.held_ms);
	memcpy(&lock.held_ms, "owner", 5);
	is_errno(call(belt, HASHBELT_IOC_LOCK, &lock), 0,
		 "a lock whose name and owner lie in fields that it returns succeeds");
	holder.key = address(owner);
	holder.key_len = 4;
	holder.owner = address(owner);
	holder.owner_len = sizeof(owner);
	ok(!call(belt, HASHBELT_IOC_HOLDER, &holder) && holder.owner_len == 5 &&
	   !memcmp(owner, "owner", 5) && holder.token == lock.token,
	   "HOLDER with the name in the buffer for the owner returns the owner");
	locks = (void *)fresh_pages(PAGE);
	record = (void *)((char *)locks + 64);
	memcpy(record, "owner", 5);
	*locks = (struct hashbelt_locks){
		.owner = address(record), .owner_len = 5, .buffer = address(record), .size = 1024,
	};
	ok(!call(belt, HASHBELT_IOC_LOCKS, locks) && locks->count == 1 &&
	   record->token == lock.token && !memcmp(record + 1, "nameowner", 9),
	   "LOCKS with the owner in its buffer lists the locks of that owner");
	munmap(locks, 2 * PAGE);
	close(belt);
}

/* The buffer of a list lies on the argument, which is returned last. */
static void test_lists(int belt)
{
	unsigned char page[4096] __attribute__((aligned(8))) = "";
	struct hashbelt_scan *scan = (void *)page, plain;
	struct hashbelt_stat *stat = (void *)page;
	__u64 counters[HASHBELT_STAT_COUNT] = {};
	char buffer[4096];

	plain = (struct hashbelt_scan){ .buffer = address(buffer), .size = sizeof(buffer) };
	must(belt, HASHBELT_IOC_SCAN, &plain);
	*scan = (struct hashbelt_scan){ .buffer = address(page), .size = sizeof(page) };
	ok(!call(belt, HASHBELT_IOC_SCAN, scan) && scan->count == plain.count &&
	   scan->cursor == plain.cursor && scan->buffer == address(page) &&
	   !memcmp(page + sizeof(*scan), buffer + sizeof(*scan), 1024),
	   "a scan whose buffer lies on its argument returns the records, and then the argument");
	*stat = (struct hashbelt_stat){
		.counters = address(counters), .count = HASHBELT_STAT_COUNT,
	};
	must(belt, HASHBELT_IOC_STAT, stat);
	*stat = (struct hashbelt_stat){
		.counters = address(page), .count = HASHBELT_STAT_COUNT,
	};
	ok(!call(belt, HASHBELT_IOC_STAT, stat) && stat->count == HASHBELT_STAT_COUNT &&
	   stat->counters == address(page) &&
	   !memcmp(page + sizeof(*stat), counters + sizeof(*stat) / 8, 64),
	   "STAT whose counters lie on its argument returns these, and then the argument");
}

int main(void)
{
	int belt, i;

	belt = filled_belt();
	for (i = 0; i < 2 * WAYS; i++) {
		test_key_in_buffer(belt, i / 2, i % 2);
		test_argument_in_buffer(belt, i / 2, i % 2);
	}
	test_key_in_item(belt);
	test_failed(belt);
	test_lists(belt);
	close(belt);
	test_writer(SINGLE);
	test_writer(BATCHED);
	test_writer(FILLING);
	test_fill_not_made_again();
	test_lock_not_made_again();
	test_batches(800, "parts that overlap");
	test_batches(4 * PAGE, "few parts that overlap");
	test_records();
	test_puts();
	test_add();
	test_locks();
	return done_testing();
}
