// SPDX-License-Identifier: GPL-2.0-only
/* The command bench: threads that get and put, and how long their calls take. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "commands.h"
#include "duration.h"
#include "json.h"
#include "progress.h"
#include "settings.h"
#include "signals.h"

#define THREADS_MAX	1024
#define KEYS_MAX	100000000ULL
#define BUFFERS_MAX	(256 * 1024 * 1024ULL)

/* A key: "bench:" and the number of the key. */
#define KEY_SIZE	32

#define DURATION_MS	5000
#define STEP_MS		100

#define NS_PER_SECOND	1000000000ULL

/* The kinds of calls. */
enum kind {
	GET,
	PUT,
	KINDS
};

/* The parts of a run: by system calls; with --window also by the window, and the empty call. */
enum part {
	BY_CALL,
	BY_WINDOW,
	EMPTY,
	PARTS
};

/**
 * struct plan - the arguments of a run
 * @threads:	number of threads
 * @keys:	number of keys
 * @skew:	of Zipf's law; 0: all keys alike
 * @value_size:	bytes of a value
 * @gets:	percent of the calls that are gets
 * @batch:	operations of a call
 * @ttl_ms:	time-to-live of the entries; HASHBELT_TTL_BELT: the belt's
 * @max_entries: limit of a belt that bench makes; 0: none
 * @window_bytes: the window of a belt that bench makes; 0: none
 * @parts:	number of the parts of the run
 * @duration_ms: how long to go on, unless @operations
 * @operations:	how many operations, of all threads; 0: until the time is over
 * @warm:	put each key before
 * @seed:	of the random numbers
 */
struct plan {
	__u64 threads;
	__u64 keys;
	double skew;
	__u64 value_size;
	__u64 gets;
	__u64 batch;
	__u64 ttl_ms;
	__u64 max_entries;
	__u64 window_bytes;
	enum part parts;
	__u64 duration_ms;
	__u64 operations;
	bool warm;
	__u64 seed;
};

/**
 * struct tally - counts of operations
 * @operations:	by kind; that of empty calls are gets
 * @hits:	gets that found an entry
 * @in_window:	gets that the window answered
 * @refused:	puts that the belt refused: it was full, or kept a present entry
 * @spans:	by kind, of calls
 */
struct tally {
	__u64 operations[KINDS];
	__u64 hits;
	__u64 in_window;
	__u64 refused;
	struct spans spans[KINDS];
};

struct bench;

/**
 * struct worker - a thread
 * @thread:	the thread
 * @bench:	the run
 * @handle:	its own handle, bound to the belt
 * @random:	state of its random numbers
 * @left:	operations to do
 * @done:	operations done, for the progress
 * @err:	the error that ended it
 * @tally:	its counts
 * @items:	the items of a call
 * @keys:	their keys
 * @buffers:	their values
 */
struct worker {
	pthread_t thread;
	struct bench *bench;
	struct hashbelt *handle;
	__u64 random;
	__u64 left;
	atomic_ulong done;
	int err;
	struct tally tally;
	struct hashbelt_item *items;
	char (*keys)[KEY_SIZE];
	char *buffers;
};

/**
 * struct bench - a run
 * @request:	the request
 * @plan:	its arguments
 * @draw:	how keys are drawn
 * @workers:	the threads
 * @running:	how many of them have not ended
 * @stop:	they shall end
 * @part:	the part of the run
 * @ns:		by part: how long they ran
 * @evicted:	entries that were evicted meanwhile
 * @sums:	by part: of the counts of all threads
 * @err_call:	the call that an error came from
 */
struct bench {
	struct request *request;
	struct plan plan;
	struct draw draw;
	struct worker *workers;
	atomic_ulong running;
	atomic_bool stop;
	enum part part;
	__u64 ns[PARTS];
	__u64 evicted;
	struct tally sums[PARTS];
	enum hashbelt_call err_call;
};

static __u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

/* The options of a load with 0 to 100 percent of gets. */
static enum status take_load(const struct request *request, struct plan *plan)
{
	const char *size = request_option(request, "value-size");
	const char *skew = request_option(request, "zipf");
	enum status status;
	char *end;

	status = request_number(request, "gets", 0, 100, &plan->gets);
	if (!status && size && (size_parse(size, &plan->value_size) ||
				plan->value_size > HASHBELT_VALUE_MAX))
		return fail_usage(request, "--value-size: '%s' is not a size from 0 to %d bytes",
				  size, HASHBELT_VALUE_MAX);
	if (status || !skew)
		return status;
	plan->skew = strtod(skew, &end);
	if (*skew < '0' || *skew > '9' || *end || !(plan->skew > 0 && plan->skew <= 10))
		return fail_usage(request,
				  "--zipf: '%s' is not a number above 0, up to 10, such as 0.99",
				  skew);
	return STATUS_DONE;
}

static enum status take_end(const struct request *request, struct plan *plan)
{
	enum status status;

	if (request_option(request, "duration") && request_option(request, "operations"))
		return fail_usage(request, "--duration and --operations exclude each other");
	status = request_duration(request, "duration", "", 1, &plan->duration_ms);
	return status ? status : request_number(request, "operations", 1, ~0ULL / 2,
						&plan->operations);
}

/* The size of the window, as the option of create takes it. */
static enum status take_window(const struct request *request, struct plan *plan)
{
	const char *text = request_option(request, "window"), *values[SETTINGS_COUNT] = { 0 };
	struct settings settings;
	enum status status;

	if (!text)
		return STATUS_DONE;
	values[settings_index("window", strlen("window"))] = text;
	status = settings_from(request, values, &settings);
	plan->window_bytes = settings.belt.window_bytes;
	plan->parts = PARTS;
	if (status)
		return status;
	if (!plan->window_bytes)
		return fail_usage(request, "--window: 'off' measures nothing: leave it out");
	if (request_option(request, "belt") && strcmp(text, "on"))
		return fail_usage(request,
				  "--window %s is for the belt that bench makes, and -b names one: --window on",
				  text);
	if (plan->batch > 1)
		return fail_usage(request,
				  "--window and --batch exclude each other: no window answers a batch");
	return STATUS_DONE;
}

static enum status take_plan(const struct request *request, struct plan *plan)
{
	enum status status;

	*plan = (struct plan){
		.threads = 1, .keys = 10000, .value_size = 64, .gets = 90, .batch = 1, .seed = 1,
		.ttl_ms = HASHBELT_TTL_BELT, .duration_ms = DURATION_MS, .parts = 1,
		.warm = request_option(request, "warm"),
	};
	status = request_number(request, "threads", 1, THREADS_MAX, &plan->threads);
	if (!status)
		status = request_number(request, "keys", 1, KEYS_MAX, &plan->keys);
	if (!status)
		status = request_number(request, "batch", 1, HASHBELT_BATCH_MAX, &plan->batch);
	if (!status)
		status = request_number(request, "seed", 0, ~0ULL, &plan->seed);
	if (!status)
		status = request_number(request, "max-entries", 1, ~0ULL, &plan->max_entries);
	if (!status)
		status = request_ttl(request, "never", &plan->ttl_ms);
	if (!status)
		status = take_load(request, plan);
	if (!status)
		status = take_end(request, plan);
	if (!status)
		status = take_window(request, plan);
	if (status)
		return status;
	if (plan->max_entries && request_option(request, "belt"))
		return fail_usage(request,
				  "--max-entries is for the belt that bench makes, and -b names one");
	if (plan->threads * plan->batch * plan->value_size > BUFFERS_MAX)
		return fail_usage(request,
				  "threads, --batch and --value-size need more than 256 MiB of memory");
	return STATUS_DONE;
}

static void prepare_item(struct worker *worker, unsigned int i, enum kind kind, __u64 key)
{
	const struct plan *plan = &worker->bench->plan;
	int len = snprintf(worker->keys[i], KEY_SIZE, "bench:%010llu", key);

	worker->items[i] = hashbelt_item(kind == GET ? HASHBELT_OP_GET : HASHBELT_OP_PUT,
					 worker->keys[i], len,
					 worker->buffers + i * plan->value_size, plan->value_size);
	if (kind == PUT)
		worker->items[i].ttl_ms = plan->ttl_ms;
}

/* Errors that are an answer of the belt. */
static bool is_answer(enum kind kind, int result)
{
	if (kind == GET)
		return result == -ENOENT || result == -ERANGE;
	return result == -EEXIST || result == -ENOSPC || result == -EDQUOT;
}

/* Counts the results of a call. Return: 0, or the error of an operation. */
static int count_results(struct worker *worker, enum kind kind, unsigned int count)
{
	struct tally *tally = &worker->tally;
	unsigned int i;
	int result;

	for (i = 0; i < count; i++) {
		result = worker->items[i].result;
		if (result && !is_answer(kind, result))
			return result;
		tally->operations[kind]++;
		tally->hits += kind == GET && result != -ENOENT;
		tally->refused += kind == PUT && result;
	}
	worker->done += count;
	return 0;
}

/* A call of its own is cheaper than a batch of one. */
static int call_kernel(struct worker *worker, enum kind kind, unsigned int count)
{
	struct hashbelt_item *item = worker->items;
	struct hashbelt_item argument = { .ttl_ms = item->ttl_ms };
	size_t size = worker->bench->plan.value_size;
	unsigned int done;

	if (worker->bench->part == EMPTY)
		return syscall(SYS_getppid) < 0 ? -errno : 0;
	if (count > 1)
		return hashbelt_batch(worker->handle, worker->items, count, &done);
	if (kind == GET)
		item->result = hashbelt_get(worker->handle, worker->keys[0], item->key_len,
					    worker->buffers, size, &argument);
	else
		item->result = hashbelt_put(worker->handle, worker->keys[0], item->key_len,
					    worker->buffers, size, &argument);
	return 0;
}

static int make_call(struct worker *worker)
{
	const struct plan *plan = &worker->bench->plan;
	unsigned int count = worker->left < plan->batch ? worker->left : plan->batch, i;
	bool gets = random_share(&worker->random) * 100 < plan->gets;
	enum kind kind = gets || worker->bench->part == EMPTY ? GET : PUT;
	__u64 began;
	int err;

	for (i = 0; i < count; i++)
		prepare_item(worker, i, kind, draw_key(&worker->bench->draw, &worker->random));
	began = now_ns();
	err = call_kernel(worker, kind, count);
	spans_add(&worker->tally.spans[kind], now_ns() - began);
	worker->left -= count;
	return err ? err : count_results(worker, kind, count);
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	while (!worker->err && worker->left && !worker->bench->stop)
		worker->err = make_call(worker);
	worker->bench->running--;
	return NULL;
}

/* Puts each key once, and counts nothing. */
static int warm(struct bench *bench)
{
	struct worker *worker = bench->workers;
	__u64 key;
	int err = 0;

	for (key = 0; !err && key < bench->plan.keys && bench->plan.warm; key++) {
		prepare_item(worker, 0, PUT, key);
		err = call_kernel(worker, PUT, 1);
		if (!err && !is_answer(PUT, worker->items[0].result))
			err = worker->items[0].result;
	}
	return err;
}

/* Gives a thread its memory and its handle. */
static int prepare_worker(struct bench *bench, __u64 number)
{
	const struct plan *plan = &bench->plan;
	struct worker *worker = &bench->workers[number];
	int err;

	worker->bench = bench;
	worker->items = calloc(plan->batch, sizeof(*worker->items));
	worker->keys = calloc(plan->batch, sizeof(*worker->keys));
	worker->buffers = calloc(plan->batch, plan->value_size + 1);
	if (!worker->items || !worker->keys || !worker->buffers)
		return -ENOMEM;
	err = hashbelt_open(bench->request->device, &worker->handle);
	return err ? err : hashbelt_bind(worker->handle, bench->request->belt);
}

/* Lets a thread begin a part. Each part draws the same calls and keys. */
static int begin_part(struct bench *bench, __u64 number)
{
	const struct plan *plan = &bench->plan;
	struct worker *worker = &bench->workers[number];

	worker->random = plan->seed + number;
	worker->random = random_next(&worker->random);
	worker->left = plan->operations ? plan->operations / plan->threads +
					  (number < plan->operations % plan->threads) : ~0ULL;
	worker->done = 0;
	memset(&worker->tally, 0, sizeof(worker->tally));
	return bench->part == BY_WINDOW ? hashbelt_window_map(worker->handle) : 0;
}

static void free_workers(struct bench *bench)
{
	struct worker *worker;
	__u64 i;

	for (i = 0; bench->workers && i < bench->plan.threads; i++) {
		worker = &bench->workers[i];
		hashbelt_close(worker->handle);
		free(worker->items);
		free(worker->keys);
		free(worker->buffers);
	}
	free(bench->workers);
}

/* The part of the whole that is done, and the number of operations. */
static __u64 done_of(const struct bench *bench, __u64 began, __u64 *operations)
{
	__u64 i;

	for (*operations = 0, i = 0; i < bench->plan.threads; i++)
		*operations += bench->workers[i].done;
	return bench->plan.operations ? *operations : (now_ns() - began) / 1000000;
}

/* Waits until the threads have done their work, the time is over, or a signal comes. */
static void attend(struct bench *bench, struct signals *signals, __u64 began)
{
	const struct plan *plan = &bench->plan;
	struct pollfd wait = { .fd = signals->fd, .events = POLLIN };
	__u64 operations, done, step;
	struct progress progress;

	progress_begin(&progress, plan->operations ? plan->operations : plan->duration_ms);
	progress.unit = "operations";
	while (bench->running && !signals_attend(signals)) {
		done = done_of(bench, began, &operations);
		progress_step(&progress, done, operations);
		if (!plan->operations && done >= plan->duration_ms)
			break;
		step = plan->operations ? STEP_MS : plan->duration_ms - done;
		poll(&wait, 1, step < STEP_MS ? step : STEP_MS);
	}
	progress_erase(&progress);
}

/* Runs the threads. Signals are held back in all of them. */
static int run_workers(struct bench *bench, struct signals *signals)
{
	__u64 started, began = now_ns(), i;
	int err = 0;

	bench->running = bench->plan.threads;
	bench->stop = false;
	for (started = 0; !err && started < bench->plan.threads; started += !err)
		err = -pthread_create(&bench->workers[started].thread, NULL, work,
				      &bench->workers[started]);
	if (!err)
		attend(bench, signals, began);
	bench->stop = true;
	for (i = 0; i < started; i++)
		pthread_join(bench->workers[i].thread, NULL);
	bench->ns[bench->part] = now_ns() - began;
	for (i = 0; i < started; i++)
		err = err ? err : bench->workers[i].err;
	return err;
}

static void add_up(struct bench *bench)
{
	struct tally *sum = &bench->sums[bench->part];
	struct hashbelt_window_counts counts;
	const struct tally *tally;
	enum kind kind;
	__u64 i;

	for (i = 0; i < bench->plan.threads; i++) {
		tally = &bench->workers[i].tally;
		sum->hits += tally->hits;
		sum->refused += tally->refused;
		for (kind = GET; kind < KINDS; kind++) {
			sum->operations[kind] += tally->operations[kind];
			spans_join(&sum->spans[kind], &tally->spans[kind]);
		}
		hashbelt_window_stats(bench->workers[i].handle, &counts);
		sum->in_window += counts.hits;
	}
}

/* Runs the parts, up to a signal. */
static int run_parts(struct bench *bench, struct signals *signals)
{
	__u64 i;
	int err = 0;

	for (bench->part = 0; bench->part < bench->plan.parts; bench->part++) {
		bench->err_call = HASHBELT_CALL_WINDOW_MAP;
		for (i = 0; !err && i < bench->plan.threads; i++)
			err = begin_part(bench, i);
		if (err)
			return err;
		bench->err_call = HASHBELT_CALL_GET;
		err = run_workers(bench, signals);
		if (err)
			return err;
		add_up(bench);
		if (signals->caught)
			break;
	}
	return 0;
}

/* How many entries the belt has evicted, under memory pressure as well. */
static int count_evicted(struct hashbelt *handle, __u64 *evicted)
{
	unsigned int count = HASHBELT_STAT_COUNT;
	__u64 counters[HASHBELT_STAT_COUNT] = { 0 };
	int err = hashbelt_stat(handle, counters, &count);

	*evicted = counters[HASHBELT_STAT_EVICTED] + counters[HASHBELT_STAT_PRESSURE];
	return err;
}

static int measure(struct bench *bench, struct signals *signals)
{
	__u64 before = 0, after = 0, i;
	int err = draw_begin(&bench->draw, bench->plan.keys, bench->plan.skew);

	bench->workers = calloc(bench->plan.threads, sizeof(*bench->workers));
	if (!bench->workers)
		return -ENOMEM;
	for (i = 0; !err && i < bench->plan.threads; i++)
		err = prepare_worker(bench, i);
	if (!err)
		err = warm(bench);
	if (!err)
		err = count_evicted(bench->request->handle, &before);
	if (!err)
		err = run_parts(bench, signals);
	if (!err)
		err = count_evicted(bench->request->handle, &after);
	bench->evicted = after - before;
	return err;
}

static double rate(const struct bench *bench, enum part part, __u64 count)
{
	return bench->ns[part] ? (double)count * NS_PER_SECOND / bench->ns[part] : 0;
}

static __u64 operations_of(const struct bench *bench, enum part part)
{
	return bench->sums[part].operations[GET] + bench->sums[part].operations[PUT];
}

/**
 * struct line - a row of the table: the calls of a kind
 * @name:	the kind
 * @operations:	their number
 * @rate:	a second
 * @spans:	of their calls
 */
struct line {
	const char *name;
	__u64 operations;
	double rate;
	const struct spans *spans;
};

static void print_name(FILE *cell, const void *row, const struct table_column *column)
{
	(void)column;
	fputs(((const struct line *)row)->name, cell);
}

static void print_rate(FILE *cell, const void *row, const struct table_column *column)
{
	(void)column;
	fprintf(cell, "%.0f", ((const struct line *)row)->rate);
}

static void print_calls(FILE *cell, const void *row, const struct table_column *column)
{
	(void)column;
	fprintf(cell, "%llu", ((const struct line *)row)->spans->count);
}

/* A time of a call in three digits. */
static void print_time(FILE *cell, __u64 ns)
{
	static const char * const units[] = { "ns", "us", "ms", "s" };
	double number = ns;
	int unit;

	for (unit = 0; number >= 999.5 && unit < 3; unit++)
		number /= 1000;
	fprintf(cell, "%.*f%s", !unit || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2, number,
		units[unit]);
}

/* @column: its offset is the percentile, in thousandths. */
static void print_percentile(FILE *cell, const void *row, const struct table_column *column)
{
	const struct spans *spans = ((const struct line *)row)->spans;

	if (spans->count)
		print_time(cell, spans_percentile(spans, column->offset / 1000.0));
	else
		putc('-', cell);
}

#define SHOWN_NUMBER	(TABLE_DEFAULT | TABLE_NUMBER)

/* The columns of bench. */
const struct table_column bench_columns[] = {
	{ "CALL", TABLE_DEFAULT, "get or put; of a belt with a window; or an empty call",
	  print_name, 0 },
	{ "OPERATIONS", SHOWN_NUMBER, "number of operations", table_number,
	  offsetof(struct line, operations) },
	{ "OP/S", SHOWN_NUMBER, "operations a second", print_rate, 0 },
	{ "P50", SHOWN_NUMBER, "half of the calls took at most this", print_percentile, 50000 },
	{ "P90", SHOWN_NUMBER, "90 percent of the calls", print_percentile, 90000 },
	{ "P99", SHOWN_NUMBER, "99 percent", print_percentile, 99000 },
	{ "P99.9", SHOWN_NUMBER, "99.9 percent", print_percentile, 99900 },
	{ "MAX", SHOWN_NUMBER, "all calls", print_percentile, 100000 },
	{ "CALLS", TABLE_NUMBER, "number of calls", print_calls, 0 },
	{ 0 },
};

/* The rows of the table. */
static const struct {
	enum part part;
	enum kind kind;
	const char *name;
	const char *json;
} lines[] = {
	{ BY_CALL, GET, "get", "get" },
	{ BY_CALL, PUT, "put", "put" },
	{ BY_WINDOW, GET, "window-get", "window_get" },
	{ BY_WINDOW, PUT, "window-put", "window_put" },
	{ EMPTY, GET, "getppid", "getppid" },
};

static void print_operations(const struct bench *bench, enum part part, const char *how)
{
	__u64 operations = operations_of(bench, part);

	printf("%llu operations%s in %.3f s: %.0f a second\n", operations, how,
	       bench->ns[part] / (double)NS_PER_SECOND, rate(bench, part, operations));
}

static void print_text(const struct bench *bench, struct table *table)
{
	const struct tally *sum = &bench->sums[BY_CALL], *windowed = &bench->sums[BY_WINDOW];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines) && lines[i].part < bench->plan.parts; i++) {
		const struct tally *of = &bench->sums[lines[i].part];
		const struct line line = {
			.name = lines[i].name,
			.operations = of->operations[lines[i].kind],
			.rate = rate(bench, lines[i].part, of->operations[lines[i].kind]),
			.spans = &of->spans[lines[i].kind],
		};

		table_add(table, &line);
	}
	table_print(table, stdout);
	if (table_is_asked(bench->request))
		return;
	print_operations(bench, BY_CALL, "");
	printf("%llu hits, %llu misses, %llu refused puts, %llu evictions\n", sum->hits,
	       sum->operations[GET] - sum->hits, sum->refused, bench->evicted);
	if (bench->plan.parts == 1)
		return;
	print_operations(bench, BY_WINDOW, " with the window");
	printf("%llu hits, %.1f %% of them in the window\n", windowed->hits,
	       windowed->hits ? 100.0 * windowed->in_window / windowed->hits : 0);
}

static void json_add_times(struct json *object, const char *name,
			   const struct spans *spans)
{
	static const struct {
		const char *name;
		double percent;
	} fields[] = {
		{ "p50", 50 }, { "p90", 90 }, { "p99", 99 }, { "p999", 99.9 }, { "max", 100 },
	};
	char field[32];
	size_t i;

	snprintf(field, sizeof(field), "%s_calls", name);
	json_add_number(object, field, spans->count);
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		snprintf(field, sizeof(field), "%s_%s_ns", name, fields[i].name);
		if (spans->count)
			json_add_number(object, field,
					spans_percentile(spans, fields[i].percent));
		else
			json_add_literal(object, field, "null");
	}
}

static void json_add_part(struct json *object, const struct bench *bench, enum part part)
{
	const struct tally *sum = &bench->sums[part];
	__u64 operations = operations_of(bench, part);
	static const char * const names[][2] = {
		{ "elapsed_ns", "window_elapsed_ns" },
		{ "operations", "window_operations" },
		{ "operations_per_second", "window_operations_per_second" },
		{ "gets", "window_gets" }, { "puts", "window_puts" }, { "hits", "window_hits" },
		{ "misses", "window_misses" }, { "refused", "window_refused" },
	};
	const __u64 numbers[] = {
		bench->ns[part], operations, rate(bench, part, operations), sum->operations[GET],
		sum->operations[PUT], sum->hits, sum->operations[GET] - sum->hits, sum->refused,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		json_add_number(object, names[i][part], numbers[i]);
}

static void print_json(const struct bench *bench)
{
	struct json object = json_begin(stdout);
	size_t i;

	json_add_bytes(&object, "name", bench->request->belt, strlen(bench->request->belt));
	json_add_number(&object, "threads", bench->plan.threads);
	json_add_number(&object, "keys", bench->plan.keys);
	json_add_number(&object, "value_len", bench->plan.value_size);
	json_add_number(&object, "batch", bench->plan.batch);
	json_add_part(&object, bench, BY_CALL);
	json_add_number(&object, "evicted", bench->evicted);
	if (bench->plan.parts > 1) {
		json_add_part(&object, bench, BY_WINDOW);
		json_add_number(&object, "in_window", bench->sums[BY_WINDOW].in_window);
	}
	for (i = 0; i < ARRAY_SIZE(lines) && lines[i].part < bench->plan.parts; i++)
		json_add_times(&object, lines[i].json,
			       &bench->sums[lines[i].part].spans[lines[i].kind]);
	json_end(object);
}

static enum status run_on_belt(struct bench *bench, struct signals *signals, struct table *table)
{
	int err;

	bench->err_call = HASHBELT_CALL_GET;
	err = measure(bench, signals);
	if (err == -ENOMEM)
		return fail(STATUS_ERROR, "out of memory");
	if (err)
		return fail_call(bench->request, bench->err_call, err);
	if (table)
		print_text(bench, table);
	else
		print_json(bench);
	return STATUS_DONE;
}

/* Makes a belt of its own, runs, and destroys the belt. */
static enum status run_on_own(struct bench *bench, struct signals *signals, struct table *table)
{
	struct request *request = bench->request;
	struct hashbelt_settings settings = {
		.ttl_ms = bench->plan.ttl_ms == HASHBELT_TTL_BELT ||
			  bench->plan.ttl_ms == HASHBELT_TTL_NEVER ? 0 : bench->plan.ttl_ms,
		.max_entries = bench->plan.max_entries,
		.window_bytes = bench->plan.window_bytes,
		.policy = bench->plan.max_entries ? HASHBELT_EVICT : 0,
		.mode = 0600,
	};
	char name[HASHBELT_NAME_SIZE];
	enum status status;
	int err;

	status = request_open(request);
	if (status)
		return status;
	snprintf(name, sizeof(name), "hbctl-bench-%d", getpid());
	request->belt = name;
	err = hashbelt_create(request->handle, name, &settings);
	if (err)
		return fail_call(request, HASHBELT_CALL_CREATE, err);
	status = run_on_belt(bench, signals, table);
	err = hashbelt_destroy(request->handle, name);
	if (err && err != -ENOENT && !status)
		status = fail_call(request, HASHBELT_CALL_DESTROY, err);
	return status;
}

static enum status run(struct bench *bench, struct table *table)
{
	struct signals signals;
	enum status status;
	int err = signals_begin(&signals, true);

	if (err)
		status = fail(STATUS_ERROR, "cannot hold signals back: %s", strerror(-err));
	else if (!request_option(bench->request, "belt"))
		status = run_on_own(bench, &signals, table);
	else
		status = request_bind(bench->request) ?: run_on_belt(bench, &signals, table);
	free_workers(bench);
	draw_end(&bench->draw);
	/* The signal that ended the run may end the program here. */
	fflush(stdout);
	signals_end(&signals);
	return status;
}

/**
 * cmd_bench() - hbctl bench
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_bench(struct request *request)
{
	struct table *table = NULL;
	struct bench *bench;
	enum status status;

	bench = calloc(1, sizeof(*bench));
	if (!bench)
		return fail(STATUS_ERROR, "out of memory");
	bench->request = request;
	status = take_plan(request, &bench->plan);
	if (!status)
		status = table_begin(request, TABLE_DEFAULT, &table);
	if (!status)
		status = run(bench, table);
	table_end(table);
	free(bench);
	return status;
}
