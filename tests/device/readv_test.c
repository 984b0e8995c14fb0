// SPDX-License-Identifier: GPL-2.0-only
/*
 * readv_test - reading events into several buffers, without waiting, by io_uring, and by splice(2);
 * a descriptor that a ring of io_uring has.
 */
#include <linux/io_uring.h>
#include <sys/uio.h>

#include "lock.h"

#define EVENT	event_size(3, 5)	/* of a key of 3 bytes and a value of 5 */
#define BUFFERS	4

static int notifying_belt(void)
{
	return belt_of((struct hashbelt_settings){ .handler = HASHBELT_NOTIFY, .mode = 0600 });
}

static __u64 queued(int belt)
{
	return info_of(belt).queued;
}

/* True if @bytes have a whole event of @key. */
static bool is_event(const void *bytes, const char *key)
{
	const struct hashbelt_event *event = bytes;

	check_event(event, EVENT);
	return event->size == EVENT && has_key(event, key) &&
	       !memcmp(event_value(event), "value", 5);
}

/* Reads into buffers of @size bytes each, which lie one behind the other at @to. */
static ssize_t read_parts(int fd, unsigned char *to, size_t size)
{
	struct iovec parts[BUFFERS];
	unsigned int i;
	ssize_t len;

	for (i = 0; i < BUFFERS; i++)
		parts[i] = (struct iovec){ to + i * size, size };
	len = readv(fd, parts, BUFFERS);
	return len < 0 ? -errno : len;
}

/* Return: 0 if one event is read. A buffer is large enough for it, and the others are left. */
static int read_one(void *arg)
{
	static unsigned char space[4 * 4096];

	return read_parts(*(int *)arg, space, 4096) != (ssize_t)EVENT || !is_event(space, "one");
}

static void test_one_event(void)
{
	int belt = notifying_belt();

	put_and_expire(belt, "one", "value");
	is_int(finish(start(read_one, &belt)), 0,
	       "readv with four buffers and one event returns that event without waiting");
	close(belt);
}

static void test_parts(void)
{
	unsigned char space[2 * 4096];
	int belt = notifying_belt();
	ssize_t len;

	put_and_expire(belt, "one", "value");
	put_and_expire(belt, "two", "value");
	put_and_expire(belt, "six", "value");
	len = read_parts(belt, space, 40);
	ok(len == 2 * (ssize_t)EVENT && is_event(space, "one") && is_event(space + EVENT, "two"),
	   "readv spreads two events over four buffers of 40 bytes");
	is_int(queued(belt), 1, "readv leaves an event that does not fit queued");
	is_int(read_parts(belt, space, 10), -EMSGSIZE,
	       "readv returns EMSGSIZE if the buffers together are too small for the next event");
	is_int(queued(belt), 1, "readv that returns EMSGSIZE leaves the event queued");
	len = read_parts(belt, space, 20);
	ok(len == (ssize_t)EVENT && is_event(space, "six"),
	   "readv reads an event into four buffers each of which is too small for it");
	close(belt);
}

/* Buffers whose pages are not there, and of which the second is in no memory. */
static void test_pages(void)
{
	unsigned char *area = fresh_pages(2 * PAGE), *hole = unmapped();
	struct iovec parts[2] = { { area + PAGE - 40, 40 }, { area + PAGE, 100 } };
	int belt = notifying_belt();

	put_and_expire(belt, "one", "value");
	ok(readv(belt, parts, 2) == (ssize_t)EVENT && is_event(area + PAGE - 40, "one"),
	   "readv into buffers whose pages are not there reads the event");
	put_and_expire(belt, "two", "value");
	parts[1].iov_base = hole;
	ok(readv(belt, parts, 2) < 0 && errno == EFAULT,
	   "readv returns EFAULT if the second buffer cannot be written to");
	is_int(queued(belt), 1, "readv that returns EFAULT leaves the event queued");
	parts[1].iov_base = area + PAGE;
	ok(readv(belt, parts, 2) == (ssize_t)EVENT && is_event(area + PAGE - 40, "two"),
	   "readv after one that returned EFAULT reads the event from its first byte on");
	parts[0] = (struct iovec){ area, EVENT };
	parts[1] = (struct iovec){ hole, EVENT };
	put_and_expire(belt, "one", "value");
	put_and_expire(belt, "two", "value");
	is_int(readv(belt, parts, 2), EVENT,
	       "readv returns the events before a buffer that cannot be written to");
	is_int(queued(belt), 1, "readv returns the event to the queue that it could not copy");
	munmap(area, 3 * PAGE);
	close(belt);
}

static void test_nowait(void)
{
	unsigned char space[4096];
	struct iovec part = { space, sizeof(space) };
	int belt = notifying_belt();

	ok(preadv2(belt, &part, 1, -1, RWF_NOWAIT) < 0 && errno == EAGAIN,
	   "preadv2 with RWF_NOWAIT returns EAGAIN if no event is queued");
	put_and_expire(belt, "one", "value");
	ok(preadv2(belt, &part, 1, -1, RWF_NOWAIT) == (ssize_t)EVENT && is_event(space, "one"),
	   "preadv2 with RWF_NOWAIT returns an event that is queued");
	close(belt);
}

static void test_splice(void)
{
	int belt = notifying_belt(), pipes[2];

	if (pipe(pipes))
		bail_out("pipe: %s", strerror(errno));
	put_and_expire(belt, "one", "value");
	ok(splice(belt, NULL, pipes[1], NULL, 4096, SPLICE_F_NONBLOCK) < 0 && errno == EINVAL,
	   "splice from the device returns EINVAL");
	is_int(queued(belt), 1, "splice that returns EINVAL leaves the event queued");
	close(pipes[0]);
	close(pipes[1]);
	close(belt);
}

/* io_uring */

/**
 * struct ring - a ring for one request at a time
 * @fd:		its descriptor; negative if the kernel has no io_uring
 * @params:	where its parts are
 * @rings:	memory of both queues
 * @entries:	memory of the requests
 */
struct ring {
	int fd;
	struct io_uring_params params;
	unsigned char *rings;
	struct io_uring_sqe *entries;
};

static __u32 *ring_word(const struct ring *ring, __u32 offset)
{
	return (__u32 *)(ring->rings + offset);
}

static struct ring new_ring(void)
{
	struct ring ring = {};
	size_t size;

	ring.fd = syscall(__NR_io_uring_setup, 1, &ring.params);
	if (ring.fd < 0)
		return ring;
	/* Both queues. Linux 5.10 maps no more than they take. */
	size = ring.params.cq_off.cqes + ring.params.cq_entries * sizeof(struct io_uring_cqe);
	if (size < ring.params.sq_off.array + ring.params.sq_entries * sizeof(__u32))
		size = ring.params.sq_off.array + ring.params.sq_entries * sizeof(__u32);
	ring.rings = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd,
			  IORING_OFF_SQ_RING);
	ring.entries = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd,
			    IORING_OFF_SQES);
	if (ring.rings == MAP_FAILED || ring.entries == MAP_FAILED)
		bail_out("no memory for a ring: %s", strerror(errno));
	return ring;
}

/* Submits a read without waiting for its result. */
static void submit_read(struct ring *ring, int fd, void *to, size_t size)
{
	__u32 *tail = ring_word(ring, ring->params.sq_off.tail);

	*ring->entries = (struct io_uring_sqe){
		.opcode = IORING_OP_READ, .fd = fd, .addr = address(to), .len = size, .off = -1,
	};
	*ring_word(ring, ring->params.sq_off.array) = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(__NR_io_uring_enter, ring->fd, 1, 0, 0, NULL, 0) != 1)
		bail_out("io_uring_enter: %s", strerror(errno));
}

static bool has_result(const struct ring *ring)
{
	return __atomic_load_n(ring_word(ring, ring->params.cq_off.tail), __ATOMIC_ACQUIRE) !=
	       *ring_word(ring, ring->params.cq_off.head);
}

static int ring_result(struct ring *ring)
{
	__u32 *head = ring_word(ring, ring->params.cq_off.head);
	const struct io_uring_cqe *results = (void *)(ring->rings + ring->params.cq_off.cqes);
	int result;

	while (!has_result(ring))
		if (syscall(__NR_io_uring_enter, ring->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL,
			    0) < 0)
			bail_out("io_uring_enter: %s", strerror(errno));
	result = results[*head & *ring_word(ring, ring->params.cq_off.ring_mask)].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

/* True if a thread of this process is a worker of io_uring: a read waits in it. */
static bool has_worker(void)
{
	return !system("grep -q ^iou-wrk /proc/[0-9]*/task/*/comm 2>/dev/null");
}

/* The kernels with checkers are built without io_uring. */
static bool has_io_uring(void)
{
	return syscall(__NR_io_uring_setup, 1, NULL) >= 0 || errno == EFAULT;
}

static void test_ring(void)
{
	struct ring ring = new_ring();
	unsigned char space[4096];
	int belt = notifying_belt();

	put_and_expire(belt, "one", "value");
	submit_read(&ring, belt, space, sizeof(space));
	ok(ring_result(&ring) == (int)EVENT && is_event(space, "one"),
	   "a read by io_uring returns an event that is queued");
	submit_read(&ring, belt, space, sizeof(space));
	ok(!has_result(&ring), "a read by io_uring waits while no event is queued");
	ok(!has_worker(), "a read by io_uring that waits occupies no thread");
	put_and_expire(belt, "two", "value");
	ok(ring_result(&ring) == (int)EVENT && is_event(space, "two"),
	   "a read by io_uring that waits returns the next event");
	if (fcntl(belt, F_SETFL, O_NONBLOCK))
		bail_out("fcntl: %s", strerror(errno));
	submit_read(&ring, belt, space, sizeof(space));
	ok(!has_result(&ring), "a read by io_uring waits on a descriptor with O_NONBLOCK, too");
	put_and_expire(belt, "six", "value");
	ring_result(&ring);
	put_and_expire(belt, "six", "value");
	submit_read(&ring, belt, space, 10);
	is_int(ring_result(&ring), -EMSGSIZE,
	       "a read by io_uring into a buffer that is too small returns EMSGSIZE");
	close(ring.fd);
	close(belt);
}

/* Registered files are copies of a descriptor, which the kernel drops after the ring is closed. */
static void test_registered(void)
{
	struct hashbelt_lock lock = lock_of("key", "next");
	int belt = named_locks("registered"), registered = open_named("registered");
	struct io_uring_params params = {};
	/* Without a mapping, which would keep it. */
	int ring = syscall(__NR_io_uring_setup, 1, &params);

	must_bind(registered, "key", "first", 0);
	if (syscall(__NR_io_uring_register, ring, IORING_REGISTER_FILES, &registered, 1))
		bail_out("io_uring_register: %s", strerror(errno));
	close(registered);
	ok(is_held_by(belt, "key", "first"),
	   "a bound lock stays while its descriptor is registered with an io_uring");
	close(ring);
	lock.wait_ms = FOR_EVER;
	is_int(call(belt, HASHBELT_IOC_LOCK, &lock), 0,
	       "a bound lock is free after the ring is closed that its descriptor is registered with");
	end_locks(belt, "registered");
}

int main(void)
{
	test_one_event();
	test_parts();
	test_pages();
	test_nowait();
	test_splice();
	if (has_io_uring()) {
		test_ring();
		test_registered();
	}
	return done_testing();
}
