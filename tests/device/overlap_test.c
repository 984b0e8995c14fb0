// SPDX-License-Identifier: GPL-2.0-only
/*
 * overlap_test - a call reads what user space passed once, before it writes anything back.
 *
 * So the key of a call may lie in memory to which the call writes. The value of each entry begins
 * with the key of another one: a call that reads its key again finds that other entry.
 */
#include "lock.h"

#define AREA	(5 * PAGE)
#define KEY	8
#define SMALL	100
#define LARGE	6000		/* over a page, and not copied by words */

/* Entries: two of each length. The bytes of a key repeat, and so do those of a value. */
static const __u32 lens[] = { SMALL, LARGE };

static void put_pairs(int belt)
{
	unsigned char key[KEY], value[LARGE];
	unsigned int n;

	for (n = 0; n < 4; n++) {
		struct hashbelt_item item = {
			.key = address(key), .key_len = KEY, .value = address(value),
			.value_len = lens[n / 2], .flags = n,
		};

		memset(key, n, KEY);
		memset(value, n ^ 1, LARGE);
		must(belt, HASHBELT_IOC_PUT, &item);
	}
}

static bool are_pairs_whole(int belt)
{
	unsigned char key[KEY], value[LARGE], want[LARGE];
	unsigned int n, whole = 0;

	for (n = 0; n < 4; n++) {
		struct hashbelt_item item = {
			.key = address(key), .key_len = KEY, .value = address(value),
			.value_len = LARGE,
		};

		memset(key, n, KEY);
		memset(want, n ^ 1, LARGE);
		whole += !call(belt, HASHBELT_IOC_GET, &item) && item.flags == n &&
			 item.value_len == lens[n / 2] && !memcmp(value, want, lens[n / 2]);
	}
	return whole == 4;
}

/* How a get is made. */
enum way { SINGLE, TOUCHING, BATCHED, FILLING, WAYS };

static const char *const ways[] = { "a get", "a get that touches", "a get in a batch", "a fill" };

/**
 * struct layout - where the parts of a get lie in an area, as offsets
 * @what:	for the test line
 * @argument:	its item, or its struct hashbelt_fill
 * @key:	its key
 * @value:	its buffer
 */
struct layout {
	const char *what;
	unsigned int argument;
	unsigned int key;
	unsigned int value;
};

#define RETURNED	offsetof(struct hashbelt_item, version)

static const struct layout layouts[] = {
	{ "whose key begins its buffer", 0, 1000, 1000 },
	{ "whose key lies in its buffer", 0, 1043, 1000 },
	{ "whose key ends in its buffer", 0, 997, 1000 },
	{ "whose key and buffer lie across pages", 0, 4092, 4060 },
	{ "whose argument lies in its buffer", 1008, 2000, 1000 },
	{ "whose argument and key lie in its buffer", 1008, 1000, 1000 },
	{ "whose key is a field of its argument that it returns", 0, RETURNED, 1000 },
};

static int get(int belt, void *argument, enum way way)
{
	struct hashbelt_batch batch = { .items = address(argument), .count = 1 };

	if (way == BATCHED)
		return call(belt, HASHBELT_IOC_BATCH, &batch) ?:
		       ((struct hashbelt_item *)argument)->result;
	return call(belt, way == FILLING ? HASHBELT_IOC_FILL : HASHBELT_IOC_GET, argument);
}

/* Writes the argument and the key of a get of entry @n. */
static void lay_out(unsigned char *area, const struct layout *layout, enum way way, unsigned int n)
{
	struct hashbelt_fill fill = {
		.item = {
			.key = address(area + layout->key), .key_len = KEY,
			.value = address(area + layout->value), .value_len = lens[n / 2],
			.op = way == BATCHED ? HASHBELT_OP_GET : 0,
			.how = way == TOUCHING ? HASHBELT_AND_TOUCH : 0,
		},
	};

	memcpy(area + layout->argument, &fill,
	       way == FILLING ? sizeof(fill) : sizeof(fill.item));
	memset(area + layout->key, n, KEY);
}

/* Whether the buffer has the value of entry @n, but for the argument, which is returned last. */
static bool is_value(const unsigned char *area, const struct layout *layout, enum way way,
		     unsigned int n)
{
	unsigned int size = way == FILLING ? sizeof(struct hashbelt_fill) :
					     sizeof(struct hashbelt_item), i;

	for (i = layout->value; i < layout->value + lens[n / 2]; i++)
		if (i - layout->argument >= size && area[i] != (n ^ 1))
			return false;
	return true;
}

static void test_gets(int belt, const struct layout *layout)
{
	unsigned int round, n, way, wrong;
	const struct hashbelt_item *item;
	unsigned char *area;
	int err;

	for (way = 0; way < WAYS; way++) {
		for (round = wrong = 0; round < 8; round++) {
			n = round % 4;
			area = fresh_pages(AREA);
			if (round < 4)		/* with all pages: no copy faults */
				memset(area, 0xff, AREA);
			item = (void *)(area + layout->argument);
			lay_out(area, layout, way, n);
			err = get(belt, area + layout->argument, way);
			if (err || item->flags != n || item->value_len != lens[n / 2] ||
			    !is_value(area, layout, way, n)) {
				note("entry %u, %s pages: %s, the flags are those of entry %u", n,
				     round < 4 ? "with all" : "without", error_name(err),
				     item->flags);
				wrong++;
			}
			munmap(area, AREA + PAGE);
		}
		is_int(wrong, 0, "%s %s returns that key's entry", ways[way], layout->what);
	}
}

/* A call that is not made again after a stop: it would read other names than it has read */

/* A fill whose buffer begins with its key, and ends in a page that comes by a userfaultfd. */
struct stuck {
	int belt;
	int socket;
};

/* Return: the errno of the call. */
static int fill_stuck(void *arg)
{
	const struct layout layout = { .argument = 0, .key = 1000, .value = 1000 };
	const struct stuck *stuck = arg;
	unsigned char *area = fresh_pages(AREA);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { .start = address(area + PAGE), .len = PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC);

	lay_out(area, &layout, FILLING, 2);
	((struct hashbelt_fill *)area)->wait_ms = HASHBELT_TTL_NEVER;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		return 201;
	send_descriptor(stuck->socket, fd);
	if (write(stuck->socket, &area, sizeof(area)) != sizeof(area))
		return 202;
	return -get(stuck->belt, area, FILLING);
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

/*
 * The fill has copied a part of the value over its key when the entry is removed. Another caller
 * gets the fill lease, and so the fill waits.
 */
static void test_fill_not_made_again(int belt)
{
	struct stuck stuck = { .belt = belt };
	unsigned char key[KEY];
	struct hashbelt_fill fill = { .item = { .key = address(key), .key_len = KEY } };
	struct uffdio_zeropage zero = {};
	int sockets[2], fd;
	pid_t child;
	__u64 area;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		bail_out("socketpair: %s", strerror(errno));
	stuck.socket = sockets[1];
	child = start(fill_stuck, &stuck);
	fd = receive_descriptor(sockets[0]);
	if (fd < 0 || read(sockets[0], &area, sizeof(area)) != sizeof(area))
		bail_out("no page that waits");
	await_sleep_or_end(child);
	memset(key, 2, KEY);
	must(belt, HASHBELT_IOC_REMOVE, &fill.item);
	if (call(belt, HASHBELT_IOC_FILL, &fill) != -ENOENT)
		bail_out("no fill lease");
	zero.range = (struct uffdio_range){ .start = area + PAGE, .len = PAGE };
	if (ioctl(fd, UFFDIO_ZEROPAGE, &zero) && errno != ESRCH)
		bail_out("no page: %s", strerror(errno));
	close(fd);
	await_sleep_or_end(child);
	stop_and_continue(child);
	is_int(finish(child), EINTR,
	       "a wait for a fill whose key lies in its buffer ends with a stop");
	close(sockets[0]);
	close(sockets[1]);
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

int main(void)
{
	int belt = open_device(O_RDWR);
	unsigned int i;

	if (create_belt(belt, "overlap", 0600))
		bail_out("no belt");
	must(belt, HASHBELT_IOC_HALT, NULL);
	put_pairs(belt);
	for (i = 0; i < ARRAY_SIZE(layouts); i++)
		test_gets(belt, &layouts[i]);
	ok(are_pairs_whole(belt), "calls whose parts overlap change no other entry");
	test_fill_not_made_again(belt);
	test_lock_not_made_again();
	destroy_belt(belt, "overlap");
	return done_testing();
}
