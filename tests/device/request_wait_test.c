// SPDX-License-Identifier: GPL-2.0-only
/*
 * request_wait_test - each client gets the completions of its requests, however it waits.
 *
 * By poll(2), and while threads put, complete, cancel and time out the same requests, open and
 * close descriptors, and clear and destroy belts. Each request is told once, or cancelled once, or
 * ended with its descriptor. Waits in read(2): wait_test. All orders of the steps:
 * tests/models/request.pml.
 */
#include "compete.h"
#include "request.h"

#define NAME	"asked"

/* Polling */

static void test_poll(void)
{
	int belt = named_belt(NAME, 0), fd = open_asking(NAME), other = open_asking(NAME);
	pid_t child;

	must_ask(fd, 1, "key");
	must_ask(other, 1, "other");
	put_and_expire(belt, "entry", "value");
	ok(!poll_now(fd) && poll_now(belt) == POLLIN,
	   "poll returns an entry's event to the descriptor that watches entries alone");
	put_text(belt, "key", "value", 0);
	ok(poll_now(fd) == POLLIN && poll_now(fd) == POLLIN && !poll_now(other),
	   "poll returns a completed request, until it is read, to its descriptor alone");
	watch(fd, 0);
	discard_events(belt);
	is_int(poll_now(fd), 0,
	       "poll of a descriptor that watches entries returns no event for its request");
	listen_to(fd);
	is_int(poll_now(fd), POLLIN,
	       "poll returns POLLIN when a descriptor watches requests again");
	read_completion(fd);
	is_int(poll_now(fd), 0, "poll returns no event when the request's event was read");
	child = start(poll_for_good, &other);
	await_sleep(child, CALL_POLL);
	advance(belt, 3 * TTL);
	is_int(finish(child), POLLIN, "a timeout of a request wakes a caller that waits in poll");
	destroy_belt(belt, NAME);
	ok(poll_now(fd) & (POLLERR | POLLHUP),
	   "poll returns POLLERR or POLLHUP after destroy of the belt");
	close(other);
	close(fd);
	close(belt);
}

/* Concurrent calls */

#define REQUESTS_MAX	4000
#define REQUESTS	scaled(REQUESTS_MAX)
#define STEP		20	/* requests between two barriers */

static pthread_barrier_t barrier;
static int shared_fd;

/* Each thread does one of these to each request; the puts and complete use a key of their own. */
enum action { PUT, PUT_TOO, COMPLETE, CANCEL, ADVANCE, ACTIONS };

/**
 * struct outcome - how a request has ended
 * @events:	number of its events
 * @cause:	of the last of them
 * @cancelled:	CANCEL has returned 0
 * @completed:	COMPLETE has counted it
 */
static struct outcome {
	unsigned char events;
	unsigned char cause;
	unsigned char cancelled;
	unsigned char completed;
} outcomes[REQUESTS_MAX];

static void key_of(char *key, size_t size, unsigned int id, enum action action)
{
	snprintf(key, size, "%u by %u", id, action);
}

static void interfere(enum action action, unsigned int id)
{
	char key[32];
	int err;

	key_of(key, sizeof(key), id, action);
	switch (action) {
	case PUT:
	case PUT_TOO:
		put_text(shared_fd, key, "value", 1);
		return;
	case COMPLETE:
		err = complete(shared_fd, key);
		expect(err == 0 || err == 1);
		outcomes[id].completed = err;
		return;
	case CANCEL:
		err = cancel(shared_fd, id);
		expect(!err || err == -ENOENT);
		outcomes[id].cancelled = !err;
		return;
	default:
		if (id % STEP == STEP / 2)
			advance(shared_fd, 1);
	}
}

/* All threads go through the same STEP requests at a time, half of them in reverse order. */
static void *interfere_with_all(void *arg)
{
	enum action action = (uintptr_t)arg;
	unsigned int id, i;

	for (id = 0; id < REQUESTS; id += STEP) {
		pthread_barrier_wait(&barrier);
		for (i = 0; i < STEP; i++)
			interfere(action, id + (action % 2 ? i : STEP - 1 - i));
	}
	return NULL;
}

/*
 * With timeouts, about half of the requests time out when the threads reach them: which
 * half depends on the phase of belt time within a millisecond.
 */
static void ask_all(bool timeouts)
{
	char text[ACTIONS][32];
	const char *keys[ACTIONS];
	unsigned int id, k;
	__u64 ttl_ms;

	for (id = 0; id < REQUESTS; id++) {
		for (k = 0; k < ACTIONS; k++) {
			key_of(text[k], sizeof(text[k]), id, k);
			keys[k] = text[k];
		}
		ttl_ms = id / STEP + id % 2 ?: 1;
		if (ask_keys(shared_fd, id, timeouts ? ttl_ms : 0, keys, ACTIONS))
			bail_out("no request");
	}
}

/* True if the event's key is the one that its cause must have. */
static bool is_due(const struct completion *completion)
{
	char key[32] = "", too[32] = "";

	if (completion->cause == HASHBELT_BY_PUT) {
		key_of(key, sizeof(key), completion->id, PUT);
		key_of(too, sizeof(too), completion->id, PUT_TOO);
	} else if (completion->cause == HASHBELT_BY_COMPLETE) {
		key_of(key, sizeof(key), completion->id, COMPLETE);
	}
	return !strcmp(completion->key, key) || (*too && !strcmp(completion->key, too));
}

static void hear_all(void)
{
	struct completion completion;
	bool due, waits;

	do {
		waits = waiting(shared_fd);
		while (!(completion = read_completion(shared_fd)).err) {
			due = completion.id < REQUESTS && is_due(&completion);
			expect(due);
			if (!due)
				continue;
			outcomes[completion.id].events++;
			outcomes[completion.id].cause = completion.cause;
		}
	} while (waits);
}

/*
 * The number of requests that were not told once or cancelled once, or whose complete call
 * returned another result than the event.
 */
static unsigned int count_wrong_outcomes(unsigned int *causes)
{
	unsigned int id, wrong = 0;
	bool completed;

	for (id = 0; id < REQUESTS; id++) {
		completed = outcomes[id].cause == HASHBELT_BY_COMPLETE;
		wrong += outcomes[id].events + outcomes[id].cancelled != 1 ||
			 outcomes[id].completed != completed;
		causes[outcomes[id].cause]++;
	}
	return wrong;
}

static void test_first(bool timeouts, const char *what)
{
	unsigned int causes[HASHBELT_BY_PRESSURE + 1] = {};

	shared_fd = asking_belt((struct hashbelt_settings){
		.ttl_ms = 1000, .buckets = 1001, .max_entries = timeouts ? 0 : 1000000 });
	memset(outcomes, 0, sizeof(outcomes));
	ask_all(timeouts);
	pthread_barrier_init(&barrier, NULL, ACTIONS);
	compete(interfere_with_all, ACTIONS, hear_all);
	hear_all();
	is_int(count_wrong_outcomes(causes) + bad, 0,
	       "%s: each request is told or cancelled once, for its first cause", what);
	note("%u by put, %u by complete, %u by timeout, %u cancelled",
	     causes[HASHBELT_BY_PUT], causes[HASHBELT_BY_COMPLETE],
	     causes[HASHBELT_BY_TIMEOUT], causes[0]);
	is_int(counter(shared_fd, HASHBELT_STAT_COMPLETED) +
	       counter(shared_fd, HASHBELT_STAT_TIMED_OUT) + causes[0], REQUESTS,
	       "%s: completions, timeouts and cancels add up to the number of requests", what);
	ok(!waiting(shared_fd), "%s: no request waits after each was completed", what);
	pthread_barrier_destroy(&barrier);
	close(shared_fd);
}

/* Descriptors that are opened and closed */

static const char *const common[] = { "a", "b", "c", "d" };

/* Asks for keys, and ends the requests: by a close, or by binding to another belt. */
static void come_and_go(bool rebind)
{
	struct hashbelt_settings create = { .ttl_ms = 10 };
	int fd = open_device(O_RDWR | O_NONBLOCK), err = open_belt(fd, NAME);
	unsigned int i;

	for (i = 0; i < 20 && !err; i++)
		err = ask_keys(fd, i, 1 + i % 3, common + i % 4, 4 - i % 4);
	expect(!err || err == -ENOENT || err == -EIDRM);
	if (i % 2 == rebind)
		must(fd, HASHBELT_IOC_CREATE, &create);
	close(fd);
	count(&turns);
}

static void complete_all(int fd)
{
	int err = open_belt(fd, NAME);
	struct hashbelt_item item;
	__u64 ms = 1;
	unsigned int i;

	for (i = 0; i < 200 && err >= 0; i++) {
		item = text_item(common[i % 4], "value");
		item.ttl_ms = 1;
		err = call(fd, HASHBELT_IOC_PUT, &item);
		if (!err && i % 7 == 0)
			err = complete(fd, common[i % 3]);
		if (err >= 0 && i % 50 == 0)
			err = call(fd, HASHBELT_IOC_ADVANCE, &ms);
		if (err >= 0 && i % 90 == 0)
			err = call(fd, HASHBELT_IOC_CLEAR, NULL);
	}
	expect(err >= 0 || err == -ENOENT || err == -EIDRM);
}

static void *come_or_complete(void *number)
{
	uintptr_t n = (uintptr_t)number;
	int fd = open_device(O_RDWR);

	while (going())
		if (n < 2)
			come_and_go(n);
		else
			complete_all(fd);
	close(fd);
	return NULL;
}

static void destroy_often(void)
{
	unsigned int times = scaled(2000), want;
	int fd;

	for (want = 0; want < times; want += times / 20) {
		while (early(want))
			usleep(1000);
		fd = open_named(NAME);
		destroy_belt(fd, NAME);
		if (create_belt(fd, NAME, 0600))
			bail_out("create");
		close(fd);
	}
}

static void test_coming(void)
{
	int belt = named_belt(NAME, 0);

	compete(come_or_complete, 4, destroy_often);
	is_int(bad, 0,
	       "calls beside closing descriptors and destroyed belts fail with EIDRM or ENOENT only");
	close(belt);
	belt = open_named(NAME);
	ok(!waiting(belt) && !complete(belt, "a"),
	   "no request waits after all descriptors were closed");
	destroy_belt(belt, NAME);
	close(belt);
}

/* The completion at which a reader is stuck in a page fault goes to another reader. */
static void test_stuck(void)
{
	int belt = asking_belt((struct hashbelt_settings){});
	struct waiter waiter;
	pid_t child;

	must_ask(belt, 1, "key");
	complete(belt, "key");
	child = start_stuck(belt);
	if (!child)
		bail_out("this kernel has no userfaultfd");
	waiter = launch_waiter(belt, 0);
	is_int(waiter_result(&waiter), event_size(3, 0),
	       "another reader gets the completion at which one is stuck in a page fault");
	kill_and_wait(child);
	close(belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	test_poll();
	test_first(false, "threads without timeouts");
	test_first(true, "threads and timeouts");
	test_stuck();
	test_coming();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
