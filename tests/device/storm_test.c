// SPDX-License-Identifier: GPL-2.0-only
/*
 * storm_test - readers and writers at the same time.
 *
 * Readers are killed, interrupted and bound to other belts while others read and write;
 * belts are destroyed while readers hold their events. The interleaving is random, and each check
 * holds for every interleaving. In the end no event without acknowledgment is lost, and all memory
 * is free. Settings that change all the time: set_test.c and tests/stress/churn.c.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "events.h"

#define EVENTS_MAX	6000
#define EVENTS	scaled(EVENTS_MAX)
#define READERS	3

static unsigned int random_number(unsigned int *state)
{
	*state = *state * 1103515245 + 12345;
	return *state >> 8;
}

/* Readers that are killed, several at a time */

enum state { UNREAD, ACKING, ACKED };

/**
 * struct ledger - shared by all processes
 * @state:	the last thing that a reader was about to do, or did, to each event
 * @again:	events that were read after their acknowledgment; atomic
 * @over:	no more events come
 */
static struct ledger {
	unsigned char state[EVENTS_MAX + 1];
	unsigned int again;
	bool over;
} *ledger;

static void note_state(__u64 sequence, enum state state)
{
	__atomic_store_n(&ledger->state[sequence], state, __ATOMIC_SEQ_CST);
}

/* Reads, and acknowledges each event by itself. */
static int read_and_ack(void *arg)
{
	int fd = open_named("storm");
	struct stream stream = stream_of(fd, 2000);
	const struct hashbelt_event *event;

	(void)arg;
	watch(fd, HASHBELT_WATCH_ACK);
	for (;;) {
		event = next_event(&stream);
		if (!event && stream.err != -EAGAIN)
			return 1;
		if (!event && __atomic_load_n(&ledger->over, __ATOMIC_ACQUIRE))
			return 0;
		if (!event)
			continue;
		if (ledger->state[event->sequence] == ACKED)
			__atomic_fetch_add(&ledger->again, 1, __ATOMIC_RELAXED);
		note_state(event->sequence, ACKING);
		if (ack(fd, event->sequence))
			return 2;
		note_state(event->sequence, ACKED);
	}
}

/* Queues half of the events; called once before the kills and once during them. */
static int make_events(void *arg)
{
	int fd = open_named("storm");
	unsigned int i, from = (uintptr_t)arg;
	char key[16];

	for (i = from; i < from + EVENTS / 2; i++) {
		snprintf(key, sizeof(key), "%u", i % 500);
		put_and_expire(fd, key, key);
		if (from && i % 20 == 0)
			usleep(500);
	}
	close(fd);
	return 0;
}

static bool is_all_settled(int belt)
{
	struct hashbelt_info info = info_of(belt);

	return info.sequence == EVENTS && !info.queued && !info.in_flight;
}

static void test_killed(void)
{
	int belt = named_belt("storm", 0);
	pid_t readers[READERS], maker;
	unsigned int state = 1, kills = 0, i, unsettled = 0;

	make_events((void *)0);
	for (i = 0; i < READERS; i++)
		readers[i] = start(read_and_ack, NULL);
	maker = start(make_events, (void *)(uintptr_t)(EVENTS / 2));
	while (!is_all_settled(belt) && kills < 3000) {
		usleep(random_number(&state) % (1000 + 20 * kills));
		i = random_number(&state) % READERS;
		kill_and_wait(readers[i]);
		readers[i] = start(read_and_ack, NULL);
		kills++;
	}
	__atomic_store_n(&ledger->over, true, __ATOMIC_RELEASE);
	for (i = 0; i < READERS; i++)
		is_int(finish(readers[i]), 0,
		       "a reader exits with 0 while other readers are killed");
	finish(maker);
	ok(is_all_settled(belt),
	   "all events are acknowledged and none queued after readers were killed");
	for (i = 1; i <= EVENTS; i++)
		unsettled += ledger->state[i] == UNREAD;
	is_int(unsettled, 0, "each acknowledged event was read by a reader");
	is_int(ledger->again, 0, "no event is read again after its acknowledgment");
	is_int(counter(belt, HASHBELT_STAT_EVENTS_LOST), 0,
	       "no event is lost when readers are killed");
	note("%u readers were killed", kills);
	destroy_belt(belt, "storm");
	close(belt);
}

/* Starts two waiters, each the only process with its descriptor. */
static void start_two(struct waiter *waiters, int belt, __u32 flags)
{
	int fd, i;

	for (i = 0; i < 2; i++) {
		fd = open_named("woken");
		watch(fd, flags);
		waiters[i] = start_waiter(fd, 0);
		close(fd);
		waiters[i].fd = belt;
	}
}

/*
 * One of two waiters gets a signal at the time of an event. True if one of them has got the
 * event, or, after a kill, the queue has it again.
 */
static bool is_woken(int belt, unsigned int round, int number)
{
	__u32 flags = number == SIGKILL ? HASHBELT_WATCH_ACK : 0;
	struct waiter waiters[2], *victim = &waiters[round / 2 % 2];
	struct waiter *other = &waiters[1 - round / 2 % 2];
	int taken = 0, got;

	start_two(waiters, belt, flags);
	if (round % 2)
		put_and_expire(belt, "key", "value");
	kill(victim->pid, number);
	if (round % 2 == 0)
		put_and_expire(belt, "key", "value");
	if (number == SIGKILL) {
		kill_and_wait(victim->pid);
		close(victim->pipe);
	} else {
		taken = waiter_result(victim) > 0;
	}
	if (taken)
		kill(other->pid, SIGUSR1);
	got = waiter_result(other) > 0;
	/* Events without acknowledgment are requeued when their reader exits. */
	return taken + got == 1 && discard_events(belt) == !!flags;
}

static void test_woken(int number, const char *promise)
{
	int belt = named_belt("woken", 0);
	unsigned int round;
	bool good = true;

	for (round = 0; round < scaled(400) && good; round++)
		good = is_woken(belt, round, number);
	ok(good, "%s", promise);
	destroy_belt(belt, "woken");
	close(belt);
}

/* One descriptor, several threads */

static bool over;
static int shared_fd;
static unsigned int bad;	/* unexpected errors; atomic */

static bool going(void)
{
	return !__atomic_load_n(&over, __ATOMIC_RELAXED);
}

static void expect(int err, int a, int b, int c)
{
	if (err < 0 && err != -a && err != -b && err != -c)
		__atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED);
}

static void *hold_events(void *arg)
{
	unsigned char *buffer = malloc(4000);
	struct hashbelt_event *first = (void *)buffer;
	unsigned int state = (uintptr_t)arg + 1;
	ssize_t len;

	while (going()) {
		watch(shared_fd, random_number(&state) % 4 ? HASHBELT_WATCH_ACK : 0);
		len = read_into(shared_fd, buffer, 100 + random_number(&state) % 3900);
		expect(len, EAGAIN, EMSGSIZE, ENODATA);
		if (len > 0)
			check_events(buffer, len);
		if (len > 0 && random_number(&state) % 2)
			expect(ack(shared_fd, first->sequence), ENOENT, 0, 0);
	}
	free(buffer);
	return NULL;
}

static void *bind_anew(void *arg)
{
	unsigned int state = 77;

	while (going()) {
		expect(open_belt(shared_fd, random_number(&state) % 2 ? "one" : "two"),
		       0, 0, 0);
		usleep(random_number(&state) % 2000);
	}
	return arg;
}

static void *fill_both(void *arg)
{
	unsigned int state = 99, i = 0;
	int fds[] = { open_named("one"), open_named("two") };
	char key[16];

	while (going()) {
		snprintf(key, sizeof(key), "%u", ++i % 100);
		put_text(fds[i % 2], key, key, 0);
		if (random_number(&state) % 3)
			on_key(fds[i % 2], HASHBELT_IOC_EXPIRE, key);
		if (i % 300 == 0)
			must(fds[i / 300 % 2], HASHBELT_IOC_CLEAR, NULL);
		if (i % 500 == 0)
			SET(fds[i / 500 % 2], .fields = HASHBELT_SET_HANDLER,
			    .handler = i / 1000 % 3);
	}
	close(fds[0]);
	close(fds[1]);
	return arg;
}

static bool is_quiet(void *arg)
{
	discard_events(*(int *)arg);
	return !info_of(*(int *)arg).queued && !info_of(*(int *)arg).queued_bytes;
}

static void test_threads(void)
{
	int one = named_belt("one", REPORT_ALL), two = named_belt("two", REPORT_ALL);
	pthread_t threads[5];
	unsigned int i;

	shared_fd = open_named("one");
	for (i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, hold_events, (void *)(uintptr_t)i);
	pthread_create(&threads[3], NULL, bind_anew, NULL);
	pthread_create(&threads[4], NULL, fill_both, NULL);
	while (info_of(one).sequence + info_of(two).sequence < scaled(60000))
		usleep(10000);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	close(shared_fd);
	is_int(bad, 0,
	       "concurrent watch, read, ack and open return only expected errors");
	is_int(info_of(one).in_flight + info_of(two).in_flight, 0,
	       "no event is in flight once threads have closed their shared descriptor");
	must(one, HASHBELT_IOC_CLEAR, NULL);
	must(two, HASHBELT_IOC_CLEAR, NULL);
	ok(at_last(is_quiet, &one) && at_last(is_quiet, &two),
	   "no event is queued once two belts were cleared and read");
	ok(!info_of(one).used_entries && !info_of(two).used_entries,
	   "used_entries is 0 once two belts were cleared and read");
	destroy_belt(one, "one");
	destroy_belt(two, "two");
	close(one);
	close(two);
}

/* Destroyed belts */

static int use_until_gone(void *arg)
{
	unsigned char *buffer = malloc(4000);
	unsigned int state = (uintptr_t)arg;
	__u32 flags = HASHBELT_WATCH_ACK;
	int fd = open_device(O_RDWR);
	ssize_t len;

	if (random_number(&state) % 2)
		set_blocking(fd, false);
	if (open_belt(fd, "ending"))
		return 0;
	if (random_number(&state) % 2)
		expect(call(fd, HASHBELT_IOC_WATCH, &flags), EIDRM, 0, 0);
	do {
		len = read_into(fd, buffer, 4000);
		if (len > 0 && random_number(&state) % 3 == 0)
			ack(fd, ((struct hashbelt_event *)buffer)->sequence);
	} while (len != -EIDRM && (len > 0 || len == -EAGAIN));
	return len != -EIDRM;
}

static void test_ending(void)
{
	unsigned int round, i, wrong = 0;
	pid_t children[4];

	for (round = 0; round < scaled(150); round++) {
		struct hashbelt_settings settings = {
			.name = "ending", .ttl_ms = 1 + round % 3,
			.handler = 1 + round % 2,
		};
		int belt = open_device(O_RDWR);
		char key[16];

		must(belt, HASHBELT_IOC_CREATE, &settings);
		for (i = 0; i < ARRAY_SIZE(children); i++)
			children[i] = start(use_until_gone,
					    (void *)(uintptr_t)(round * 7 + i));
		for (i = 0; i < 200; i++) {
			snprintf(key, sizeof(key), "%u", i % 30);
			put_text(belt, key, key, i % 5);
		}
		wrong += destroy_belt(belt, "ending") != 0;
		for (i = 0; i < ARRAY_SIZE(children); i++)
			wrong += finish(children[i]) != 0;
		close(belt);
	}
	is_int(wrong, 0,
	       "readers of a belt that is destroyed get EIDRM");
}

/* A descriptor that is closed while DESTROY returns its events */

#define HELD	scaled(8000)

static int *held;	/* the closer holds its events and has polled; shared */

/* Closes its descriptor some milliseconds after the belt is destroyed. */
static int hold_and_close(void *arg)
{
	struct timespec delay = { .tv_nsec = (uintptr_t)arg * 1000000 };
	size_t size = 1 << 20;
	unsigned char *buffer = malloc(size);
	struct hashbelt_info info = {};
	int fd = open_named("closing");

	set_blocking(fd, false);
	watch(fd, HASHBELT_WATCH_ACK);
	while (read_into(fd, buffer, size) > 0)
		;
	poll_now(fd);
	__atomic_store_n(held, 1, __ATOMIC_SEQ_CST);
	while (call(fd, HASHBELT_IOC_INFO, &info) != -EIDRM)
		sched_yield();
	nanosleep(&delay, NULL);
	close(fd);
	return 0;
}

/*
 * DESTROY takes the session from the descriptor, and the events that it returns wake the tasks that
 * poll it. KASAN and kmemleak see whether the descriptor is freed too early, or never.
 */
static void test_closing(void)
{
	unsigned int delay, wrong = 0;
	pid_t closer;
	int belt;

	held = shared_memory(sizeof(*held));
	for (delay = 0; delay < 10; delay += 2) {
		belt = named_belt("closing", 0);
		put_numbers(belt, 0, HELD, 1000);
		advance(belt, 2000);
		*held = 0;
		closer = start(hold_and_close, (void *)(uintptr_t)delay);
		while (!__atomic_load_n(held, __ATOMIC_SEQ_CST))
			sched_yield();
		wrong += destroy_belt(belt, "closing") != 0;
		wrong += finish(closer) != 0;
		close(belt);
	}
	is_int(wrong, 0, "a polled descriptor with events in flight is closed beside DESTROY");
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	ledger = shared_memory(sizeof(*ledger));
	test_killed();
	test_woken(SIGKILL,
		   "an event beside the kill of one of two readers goes to the other");
	test_woken(SIGUSR1,
		   "an event beside a signal to one of two readers goes to one of them");
	test_threads();
	test_ending();
	test_closing();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
