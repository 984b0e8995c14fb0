// SPDX-License-Identifier: GPL-2.0-only
/*
 * request_test - the descriptor of a request reads its completion, and ends it when it is closed.
 *
 * The causes of a completion: tests/kunit/request_test.c. Waiting for completions, and
 * concurrent threads, are in request_wait_test.
 */
#include <sys/stat.h>

#include "request.h"

#define NAME	"asked"
#define NONE	((struct hashbelt_settings){})

/* Descriptors */

/* A descriptor reads either the completions of its requests or the events of entries. */
static void test_modes(void)
{
	int belt = named_belt(NAME, REPORT_ALL), fd = open_asking(NAME);
	struct stream stream = stream_of(belt, PAGE);
	const struct hashbelt_event *event;

	must_ask(fd, 1, "key");
	put_text(belt, "key", "first", 0);
	put_text(belt, "key", "second", 0);
	ok(is_next_completion(fd, 1, HASHBELT_BY_PUT, "key") && has_no_completion(fd),
	   "a descriptor that watches requests reads no event of a replaced entry");
	event = next_event(&stream);
	ok(event && event->kind == HASHBELT_ENTRY && event->reason == HASHBELT_REPLACED &&
	   !next_event(&stream) && stream.err == -EAGAIN,
	   "a descriptor that watches entries reads no event of a request");
	must_ask(fd, 2, "key");
	put_text(belt, "key", "third", 0);
	watch(fd, 0);
	stream.fd = fd;
	event = next_event(&stream);
	ok(event && event->kind == HASHBELT_ENTRY && event->reason == HASHBELT_REPLACED &&
	   !next_event(&stream),
	   "a descriptor that watches entries again reads an entry's event");
	must_ask(fd, 3, "key");
	put_text(belt, "key", "fourth", 0);
	ok(discard_events(belt) == 1 && waiting(belt) == 0,
	   "a request by a descriptor that watches entries is completed by a put");
	listen_to(fd);
	ok(is_next_completion(fd, 2, HASHBELT_BY_PUT, "key") &&
	   is_next_completion(fd, 3, HASHBELT_BY_PUT, "key") &&
	   has_no_completion(fd),
	   "a descriptor that watches requests again reads its completed requests");
	is_errno(ack(fd, 3), ENOENT,
		 "ack through a descriptor that watches requests returns ENOENT");
	free(stream.buffer);
	destroy_belt(belt, NAME);
	close(fd);
	close(belt);
}

/* A descriptor with 100 requests that wait and 100 completions that are not read. */
static int laden(void)
{
	int fd = open_asking(NAME);
	unsigned int i;

	for (i = 0; i < 200; i++)
		if (ASK(fd, i, 0, i < 100 ? "told" : "waits", "both"))
			bail_out("no request");
	if (complete(fd, "told") != 100 || waiting(fd) != 100)
		bail_out("complete of 100 requests has left another number waiting");
	return fd;
}

static bool is_forgotten(int belt, __u64 before)
{
	return !waiting(belt) && !complete(belt, "waits") && !complete(belt, "both") &&
	       used_at_last(before);
}

static void test_ends(void)
{
	int belt = named_belt(NAME, 0), fd, other;
	struct hashbelt_settings create = { .ttl_ms = TTL };
	__u64 before;

	close(laden());		/* grows the index to its final size */
	ok(!waiting(belt), "close of a descriptor ends its 100 waiting requests");
	before = get_parameter("used_bytes");
	close(laden());
	ok(is_forgotten(belt, before),
	   "close of a descriptor gives back the memory of requests and events");
	fd = laden();
	must(fd, HASHBELT_IOC_CREATE, &create);
	ok(is_forgotten(belt, ~0ULL), "binding a descriptor to another belt ends its requests");
	must_ask(fd, 1, "key");
	put_text(fd, "key", "value", 0);
	is_errno(read_into(fd, malloc(PAGE), PAGE), ENODATA,
		 "read through a descriptor that was bound to another belt returns ENODATA");
	listen_to(fd);
	ok(is_next_completion(fd, 1, HASHBELT_BY_PUT, "key") && has_no_completion(fd),
	   "a descriptor bound to another belt reads none of its earlier requests");
	close(fd);
	ok(is_forgotten(belt, before),
	   "the close of a descriptor bound to another belt leaves no memory of requests");
	fd = laden();
	other = open_asking(NAME);
	must_ask(other, 1, "waits");
	close(fd);
	is_int(complete(belt, "waits"), 1,
	       "complete of a key counts a request of another descriptor after a close");
	ok(is_next_completion(other, 1, HASHBELT_BY_COMPLETE, "waits"),
	   "a request of another descriptor is told after the close of a descriptor");
	close(other);
	destroy_belt(belt, NAME);
	close(belt);
}

static void test_destroy(void)
{
	int belt = named_belt(NAME, 0), fd = laden();
	__u64 before = get_parameter("used_bytes");
	struct waiter waiter;

	is_errno(destroy_belt(belt, NAME), 0, "destroy of a belt with waiting requests succeeds");
	is_errno(read_into(fd, malloc(PAGE), PAGE), EIDRM,
		 "read of completions in a destroyed belt returns EIDRM");
	ok(used_at_last(before), "the memory of a destroyed belt's requests comes back");
	close(fd);
	close(belt);
	belt = named_belt(NAME, 0);
	fd = open_asking(NAME);
	must_ask(fd, 1, "key");
	waiter = start_waiter(fd, 0);
	destroy_belt(belt, NAME);
	is_errno(waiter_result(&waiter), EIDRM, "destroy of a belt wakes a waiting reader: EIDRM");
	close(fd);
	close(belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	test_modes();
	test_ends();
	test_destroy();
	ok(used_at_last(before), "used_bytes of the module is what it was before the requests");
	return done_testing();
}
