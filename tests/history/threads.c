// SPDX-License-Identifier: GPL-2.0-only
/*
 * threads - checks that operations of several threads on the same keys are linearizable.
 *
 *	threads [SEED [SECONDS [window]]]	SECONDS for each of eight tests; with "window" for
 *						each of the four with a window
 *
 * Two threads run on two processors, and then four of them. In each round each thread makes a few
 * operations on the keys of that round, and the first thread also moves belt time. Then the
 * history of each key is checked. The threads share only a counter, which orders their moments.
 *
 * Where the belt has a window, gets look there first, and all threads also change the belt as a
 * whole: they clear it, and give it other windows and numbers of buckets. Where belt time goes on,
 * all threads halt it, move it, and change whether gets renew; an entry may then expire at any
 * moment.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "device.h"
#include "linear.h"
#include "windowed.h"

#define THREADS_MAX	4
#define ALL_ACTS		60	/* of all threads in a round, at most ACTS_MAX */
#define KEYS		2	/* of a round; each is checked by one thread */
#define BELT_TTL	3	/* milliseconds */

/*
 * A test runs until there were more than ENOUGH encounters of each kind, for ROUNDS_MAX rounds at
 * most. On a busy host the processors of a guest rarely run at the same time.
 */
#define ENOUGH		50
#define ROUNDS_MAX	50000

/* Where belt time goes on, entries live longer by this factor: a round takes some milliseconds. */
#define MS_RUNNING	8

/* Of so many gets that find a value more than one has to be answered by the window. */
#define SHARE		5

/* An operation of a thread. */
struct note {
	struct act act;		/* the operation and its result */
	unsigned int key;	/* its key; KEYS: all of them, since it moves belt time */
};

static struct note notes[THREADS_MAX][ALL_ACTS];
static unsigned int threads, acts_each;
static _Atomic uint64_t moment;
static pthread_barrier_t barrier;
static _Atomic uint64_t ready;	/* arrivals of threads, in all rounds */
static _Atomic bool over;
static _Atomic int failed;
static uint64_t histories, round_number, overlaps, hits, misses, demands, reads, windowed, until;
static uint64_t seed = 1;

/* The subject of a test. */
static const struct mode {
	const char *what;	/* for the test line */
	unsigned int threads;	/* their number */
	bool refresh;		/* gets renew */
	bool window;		/* the belt has a window */
	bool runs;		/* belt time goes on */
} *mode;

struct worker {
	unsigned int number;
	int fd;
	struct windowed windowed;
	uint64_t random;
	uint64_t seen[KEYS];	/* the last version that it has seen */
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 8;
}

static uint64_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Operations */

static enum act_kind any_kind(struct worker *worker)
{
	static const enum act_kind kinds[] = {
		ACT_GET, ACT_GET, ACT_GET, ACT_REFRESH, ACT_PUT, ACT_PUT, ACT_PUT, ACT_PUT,
		ACT_TOUCH, ACT_REMOVE, ACT_EXPIRE, ACT_ADD,
	};

	static const enum act_kind windowed_kinds[] = {
		ACT_GET, ACT_GET, ACT_GET, ACT_GET, ACT_GET, ACT_GET, ACT_GET, ACT_GET, ACT_GET,
		ACT_GET, ACT_GET, ACT_GET, ACT_GET, ACT_GET, ACT_GET, ACT_GET, ACT_GET, ACT_GET,
		ACT_REFRESH, ACT_PUT, ACT_PUT, ACT_PUT, ACT_PUT, ACT_TOUCH, ACT_REMOVE,
		ACT_EXPIRE, ACT_ADD, ACT_OTHER,
	};

	if (mode->window && !(next_random(&worker->random) % 64))
		return ACT_CLEAR;
	if (!mode->runs && !worker->number &&
	    !(next_random(&worker->random) % (mode->window ? 8 : 3)))
		return ACT_ADVANCE;
	if (mode->window)
		return windowed_kinds[next_random(&worker->random) % ARRAY_SIZE(windowed_kinds)];
	return kinds[next_random(&worker->random) % ARRAY_SIZE(kinds)];
}

static void plan_act(struct worker *worker, struct note *note)
{
	uint64_t random = next_random(&worker->random);
	struct act *act = &note->act;

	*note = (struct note){ .key = random % KEYS };
	act->kind = any_kind(worker);
	act->ms = 1 + random / 8 % (2 * BELT_TTL);
	if (mode->runs)
		act->ms *= MS_RUNNING;
	act->value = random % 1000;
	act->by = random % 7;
	if (act->kind == ACT_GET || act->kind >= ACT_REMOVE)
		act->ms = 0;
	if (act->kind >= ACT_ADVANCE) {
		note->key = KEYS;
		act->ms = act->kind == ACT_ADVANCE ? 1 + random / 8 % 2 : 0;
	}
	if (act->kind != ACT_PUT)
		return;
	if (!(random / 64 % 4))
		act->ms = KEEP_TIME;
	act->condition = random / 256 % 6;
	if (act->condition > IF_VERSION)
		act->condition = random / 2048 % 2 ? IF_VERSION : ALWAYS;
}

/* The item of an operation. Values are numbers as text, so they can be added to. */
static struct hashbelt_item item_for(const struct act *act, char *text)
{
	static const __u32 conditions[] = {
		[IF_ABSENT] = HASHBELT_IF_ABSENT, [IF_PRESENT] = HASHBELT_IF_PRESENT,
		[IF_VERSION] = HASHBELT_IF_VERSION,
	};
	struct hashbelt_item item = {
		.value = address(text), .how = conditions[act->condition],
		.version = act->wants, .value_len = 32,
		.ttl_ms = act->ms == KEEP_TIME ? HASHBELT_TTL_KEEP : act->ms,
	};
	struct hashbelt_sum sum = { .by = act->by };

	if (act->kind == ACT_REFRESH)
		item.how = HASHBELT_AND_TOUCH;
	if (act->kind == ACT_PUT)
		item.value_len = sprintf(text, "%lld", (long long)act->value);
	if (act->kind == ACT_ADD) {
		memcpy(text, &sum, sizeof(sum));
		item.value_len = sizeof(sum);
	}
	return item;
}

static void conclude(struct act *act, const struct hashbelt_item *item, char *text)
{
	struct hashbelt_sum sum;

	if (act->kind == ACT_ADD) {
		memcpy(&sum, text, sizeof(sum));
		act->value = sum.value;
	} else if (act->kind <= ACT_REFRESH && !act->err) {
		text[item->value_len] = 0;
		act->value = strtoll(text, NULL, 10);
	}
	act->version = item->version;
	act->left_ms = item->ttl_ms;
}

static int set_policy(const struct worker *worker, __u32 policy)
{
	return set_belt(worker->fd, (struct hashbelt_settings){
		.fields = HASHBELT_SET_POLICY, .policy = policy });
}

/* A change of the belt that leaves the key as it is, unless it expires. */
static int do_other(const struct worker *worker, const struct act *act)
{
	unsigned int which = act->value % 16;
	__u64 ms = MS_RUNNING;

	if (!which)
		return set_belt(worker->fd, (struct hashbelt_settings){
			.fields = HASHBELT_SET_WINDOW,
			.window_bytes = act->value / 16 % 3 * HASHBELT_WINDOW_MIN });
	if (which == 1)
		return set_belt(worker->fd, (struct hashbelt_settings){
			.fields = HASHBELT_SET_BUCKETS, .buckets = 2 + act->value / 16 });
	if (!mode->runs || which < 4)
		return call(worker->fd, HASHBELT_IOC_HALT, NULL);
	if (which < 10)
		return call(worker->fd, HASHBELT_IOC_RESUME, NULL);
	if (which < 14)
		return call(worker->fd, HASHBELT_IOC_ADVANCE, &ms);
	/* Gets renew only for a short time: the window is of no use meanwhile. */
	return set_policy(worker, HASHBELT_REFRESH_ON_GET) ?: set_policy(worker, 0);
}

/* A get looks into the window first. */
static int do_get(struct worker *worker, struct act *act, struct hashbelt_item *item)
{
	act->windowed = windowed_get(&worker->windowed, (void *)(uintptr_t)item->key,
				     item->key_len, (void *)(uintptr_t)item->value,
				     item->value_len, item);
	return act->windowed ? 0 : call(worker->fd, HASHBELT_IOC_GET, item);
}

static int make_call(struct worker *worker, struct act *act, struct hashbelt_item *item)
{
	static const unsigned long requests[] = {
		[ACT_GET] = HASHBELT_IOC_GET, [ACT_REFRESH] = HASHBELT_IOC_GET,
		[ACT_PUT] = HASHBELT_IOC_PUT, [ACT_TOUCH] = HASHBELT_IOC_TOUCH,
		[ACT_REMOVE] = HASHBELT_IOC_REMOVE, [ACT_EXPIRE] = HASHBELT_IOC_EXPIRE,
		[ACT_ADD] = HASHBELT_IOC_ADD, [ACT_ADVANCE] = HASHBELT_IOC_ADVANCE,
		[ACT_CLEAR] = HASHBELT_IOC_CLEAR,
	};

	if (act->kind == ACT_OTHER)
		return do_other(worker, act);
	if (act->kind == ACT_GET && mode->window)
		return do_get(worker, act, item);
	return call(worker->fd, requests[act->kind],
		    act->kind == ACT_ADVANCE ? (const void *)&act->ms : item);
}

static void do_act(struct worker *worker, struct note *note)
{
	struct { uint64_t round; uint64_t key; } key = { round_number, note->key };
	struct act *act = &note->act;
	char text[40] __attribute__((aligned(8)));
	struct hashbelt_item item;

	if (act->condition == IF_VERSION)
		act->wants = worker->seen[note->key];
	item = item_for(act, text);
	item.key = address(&key);
	item.key_len = sizeof(key);
	act->begin = atomic_fetch_add(&moment, 1);
	act->err = make_call(worker, act, &item);
	act->end = atomic_fetch_add(&moment, 1);
	if (act->kind >= ACT_ADVANCE) {
		if (act->err)
			bail_out("a call on the belt: %s", error_name(act->err));
		return;
	}
	conclude(act, &item, text);
	if (act->kind != ACT_EXPIRE && (!act->err || act->err == -ESTALE || act->err == -EEXIST))
		worker->seen[note->key] = act->version;
}

/* Checking */

static unsigned int history_of(unsigned int key, struct act *acts)
{
	unsigned int thread, i, count = 0;

	for (thread = 0; thread < threads; thread++)
		for (i = 0; i < acts_each; i++)
			if (notes[thread][i].key == key || notes[thread][i].key == KEYS)
				acts[count++] = notes[thread][i].act;
	return count;
}

/* Removes operations without effect while the rest is not linearizable either. */
static unsigned int shorten(struct act *acts, unsigned int count, const struct terms *terms)
{
	struct act fewer[ACTS_MAX];
	unsigned int i;

	for (i = count; i--;) {
		bool changes = !acts[i].err && (acts[i].kind != ACT_GET || terms->refresh);

		memcpy(fewer, acts, sizeof(fewer));
		memmove(&fewer[i], &fewer[i + 1], (count - i - 1) * sizeof(fewer[0]));
		if (changes || count == 1 || is_linear(fewer, count - 1, terms))
			continue;
		memcpy(acts, fewer, sizeof(fewer));
		count--;
	}
	return count;
}

static int earlier(const void *a, const void *b)
{
	const struct act *first = a, *second = b;

	return first->begin < second->begin ? -1 : first->begin > second->begin;
}

static void check(unsigned int key)
{
	const struct terms terms = {
		.ttl_ms = BELT_TTL, .refresh = mode->refresh, .lapses = mode->runs,
	};
	struct act acts[ACTS_MAX] = {};
	unsigned int count = history_of(key, acts), i;

	if (!count || is_linear(acts, count, &terms) || atomic_fetch_add(&failed, 1))
		return;
	note("not linearizable (begin-end operation), seed %llu, ttl of the belt %u ms%s:",
	     (unsigned long long)seed, BELT_TTL, mode->refresh ? ", refreshed by get" : "");
	count = shorten(acts, count, &terms);
	qsort(acts, count, sizeof(acts[0]), earlier);
	for (i = 0; i < count; i++) {
		acts[i].end -= acts[0].begin * !!i;
		acts[i].begin -= acts[0].begin * !!i;
	}
	acts[0].end -= acts[0].begin;
	acts[0].begin = 0;
	for (i = 0; i < count; i++)
		print_act(&acts[i]);
}

/* Whether there were enough encounters of each kind. */
static bool met_enough(void)
{
	return overlaps > ENOUGH && hits > ENOUGH && misses > ENOUGH && demands > ENOUGH &&
	       (!mode->window || windowed > ENOUGH);
}

/* Counts the encounters of a round, and decides whether it was the last. */
static void count_round(void)
{
	unsigned int i, j;

	for (j = 0; j < threads; j++)
		for (i = 0; i < acts_each; i++) {
			reads += notes[j][i].act.kind == ACT_GET && !notes[j][i].act.err;
			windowed += notes[j][i].act.windowed;
		}
	for (i = 0; i < acts_each; i++) {
		hits += notes[1][i].act.kind == ACT_GET && !notes[1][i].act.err;
		demands += notes[1][i].act.condition == IF_VERSION && !notes[1][i].act.err;
		misses += notes[1][i].act.kind == ACT_GET && notes[1][i].act.err;
		for (j = 0; j < acts_each; j++)
			overlaps += notes[0][i].act.begin < notes[1][j].act.end &&
				    notes[1][j].act.begin < notes[0][i].act.end;
	}
	histories += KEYS;
	round_number++;
	over = atomic_load(&failed) ||
	       (seconds() >= until && (met_enough() || round_number >= ROUNDS_MAX));
}

/* Makes all threads start at the same moment. Two threads spin, since each has a processor. */
static void start_together(void)
{
	uint64_t all = (round_number + 1) * threads;

	if (threads > 2) {
		pthread_barrier_wait(&barrier);
		return;
	}
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < all)
		sched_yield();
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	unsigned int i;

	while (!atomic_load(&over)) {
		memset(worker->seen, 0, sizeof(worker->seen));
		if (mode->window && !windowed_is_live(&worker->windowed)) {
			windowed_unmap(&worker->windowed);
			windowed_map(&worker->windowed, worker->fd);
		}
		for (i = 0; i < acts_each; i++)
			plan_act(worker, &notes[worker->number][i]);
		start_together();
		for (i = 0; i < acts_each; i++)
			do_act(worker, &notes[worker->number][i]);
		pthread_barrier_wait(&barrier);
		if (worker->number < KEYS)
			check(worker->number);
		if (!worker->number)
			count_round();
		pthread_barrier_wait(&barrier);
	}
	windowed_unmap(&worker->windowed);
	return NULL;
}

static void run(uint64_t duration)
{
	struct hashbelt_settings settings = {
		.name = "threads", .ttl_ms = BELT_TTL, .buckets = 4, .mode = 0600,
		.policy = mode->refresh ? HASHBELT_REFRESH_ON_GET : 0,
		.window_bytes = mode->window ? HASHBELT_WINDOW_MIN : 0,
	};
	struct worker workers[THREADS_MAX];
	pthread_t ids[THREADS_MAX];
	unsigned int i;

	atomic_store(&over, false);
	until = seconds() + duration;
	pthread_barrier_init(&barrier, NULL, threads);
	round_number = 0;
	ready = 0;
	for (i = 0; i < threads; i++) {
		workers[i] = (struct worker){
			.number = i, .fd = open_device(O_RDWR),
			.random = (seed * 4 + i + 1) * 0x9e3779b97f4a7c15ULL | 1,
		};
		if (!i) {
			must(workers[i].fd, HASHBELT_IOC_CREATE, &settings);
			must(workers[i].fd, HASHBELT_IOC_HALT, NULL);
		} else if (open_belt(workers[i].fd, "threads")) {
			bail_out("the belt \"threads\" cannot be opened");
		}
		if (pthread_create(&ids[i], NULL, work, &workers[i]))
			bail_out("a thread cannot be created");
	}
	for (i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	destroy_belt(workers[0].fd, "threads");
	for (i = 0; i < threads; i++)
		close(workers[i].fd);
}

static void test(uint64_t duration)
{
	threads = mode->threads;
	acts_each = ALL_ACTS / threads;
	histories = 0;
	overlaps = 0;
	hits = 0;
	misses = 0;
	demands = 0;
	reads = 0;
	windowed = 0;
	atomic_store(&failed, 0);
	run(duration);
	ok(!atomic_load(&failed) && histories,
	   "%s: operations on the same keys are linearizable", mode->what);
	note("%llu rounds, %llu histories", (unsigned long long)round_number,
	     (unsigned long long)histories);
	note("%llu overlaps, %llu hits, %llu misses, %llu versions met",
	     (unsigned long long)overlaps,
	     (unsigned long long)hits, (unsigned long long)misses,
	     (unsigned long long)demands);
	ok(met_enough() || atomic_load(&failed),
	   "%s: more than %u encounters of each kind", mode->what, ENOUGH);
	if (!mode->window)
		return;
	note("%llu of %llu gets with a value were answered by the window",
	     (unsigned long long)windowed, (unsigned long long)reads);
	ok(windowed * SHARE > reads || atomic_load(&failed),
	   "%s: the window answers more than one of %u gets with a value", mode->what, SHARE);
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{ "two threads", .threads = 2 },
		{ "two threads, a belt that refreshes", .threads = 2, .refresh = true },
		{ "four threads", .threads = 4 },
		{ "four threads, a belt that refreshes", .threads = 4, .refresh = true },
		{ "two threads, a window", .threads = 2, .window = true },
		{ "two threads, a window, running time", .threads = 2, .window = true,
		  .runs = true },
		{ "four threads, a window", .threads = 4, .window = true },
		{ "four threads, a window, running time", .threads = 4, .window = true,
		  .runs = true },
	};
	bool only_window = argc > 3 && !strcmp(argv[3], "window");
	uint64_t duration = 15;

	if (argc > 1)
		seed = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		duration = strtoull(argv[2], NULL, 10);
	for (mode = modes; mode < modes + ARRAY_SIZE(modes); mode++)
		if (!only_window || mode->window)
			test(duration);
	return done_testing();
}
