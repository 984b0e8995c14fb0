// SPDX-License-Identifier: GPL-2.0-only
/*
 * history - runs long histories of all operations against a model.
 *
 *	history [SEED [MILLIONS | THOUSANDSk | SECONDSs]]	run histories, on two processors
 *	history -r SEED [TRIES]					run one history again
 *
 * Belt time is halted and moved by hand, so a history is reproducible, except for the seed of the
 * belt's hash, which decides which keys share a shard. If a history does something that the model
 * does not allow, operations are removed while it still does so (Zeller and Hildebrandt,
 * "Simplifying and Isolating Failure-Inducing Input", 2002). The shortest history is printed.
 */
#include <stdatomic.h>
#include <time.h>

#include "events.h"
#include "model.h"

#define WORKERS		2
#define KEY_SIZE	100
#define BUFFER_SIZE		65536	/* bytes */
#define YEARS		100	/* the most belt time of a history */
#define NS_PER_YEAR	(31557600ULL * 1000000000ULL)

/* The counters of all workers, in shared memory. */
struct common {
	_Atomic __u64 operations;
	_Atomic __u64 histories;
	_Atomic int failed;
	_Atomic __u64 succeeded[OPERATION_KINDS];
	_Atomic __u64 errors[256];
};

/* A history that is being run. */
struct run {
	const struct history *history;	/* the history */
	unsigned int at;		/* the index of the current operation */
	int fds[DESCRIPTORS];		/* descriptors */
	char name[HASHBELT_NAME_SIZE];	/* of the belt */
	struct model model;		/* the belt as it must be */
};

static struct common *common;
static struct run run;
static struct model *const model = &run.model;
static unsigned char buffer[BUFFER_SIZE] __attribute__((aligned(8)));
static char complaint[256];	/* of the last run that failed */
static bool counting = true;
static unsigned int tries = 4;	/* runs of a history until it counts as one that passes */

/* Keys and values */

/* Keys of all lengths. None is a part of another one. */
static unsigned int key_of(unsigned int number, unsigned char *key)
{
	unsigned int len = 1 + number * 7;

	memset(key, 'a' + number, len);
	return len;
}

static const unsigned char *key_bytes(unsigned int number)
{
	static unsigned char keys[KEYS_MAX][KEY_SIZE];

	key_of(number, keys[number]);
	return keys[number];
}

/* The number of a key, KEYS_MAX if there is none with these bytes. */
static unsigned int key_with(const unsigned char *bytes, unsigned int len)
{
	unsigned char key[KEY_SIZE];
	unsigned int number;

	for (number = 0; number < KEYS_MAX; number++)
		if (key_of(number, key) == len && !memcmp(key, bytes, len))
			return number;
	return KEYS_MAX;
}

static struct blob blob_of(const void *bytes, unsigned int len)
{
	struct blob blob = { .len = len };

	if (len > sizeof(blob.bytes))
		differ(model, "a value of %u bytes", len);
	else
		memcpy(blob.bytes, bytes, len);
	return blob;
}

/* Counts the result of an operation, for the check at the end that all have come. */
static int ended(int err)
{
	enum operation_kind kind = run.history->operations[run.at].kind;

	if (!counting)
		return err;
	if (err >= 0)
		atomic_fetch_add_explicit(&common->succeeded[kind], 1, memory_order_relaxed);
	else if (-err < (int)ARRAY_SIZE(common->errors))
		atomic_fetch_add_explicit(&common->errors[-err], 1, memory_order_relaxed);
	return err;
}

/* Scanning */

/* Scans all entries. */
static void scan(struct scan_result *scan_result)
{
	struct hashbelt_scan args = { .buffer = address(buffer), .size = BUFFER_SIZE };
	int fd = run.fds[READER];
	unsigned int at, key;

	memset(scan_result, 0, sizeof(*scan_result));
	do {
		must(fd, HASHBELT_IOC_SCAN, &args);
		for (at = 0; args.count; args.count--) {
			const struct hashbelt_record *record = (const void *)(buffer + at);

			key = key_with((const void *)(record + 1), record->key_len);
			if (key == KEYS_MAX || scan_result->seen[key]) {
				differ(model, "a scan reports an unknown key, or one key twice");
				return;
			}
			scan_result->seen[key] = true;
			scan_result->records[key] = *record;
			at += record->size;
		}
	} while (args.cursor);
}

static void see(void)
{
	struct scan_result scan_result;

	scan(&scan_result);
	model_scan(model, &scan_result);
}

static void see_if_needed(void)
{
	if (model->needs_scan && !*model->complaint)
		see();
}

static void list_locks(unsigned int owner)
{
	struct blob name = owner_of(owner % OWNERS);
	struct hashbelt_locks args = {
		.owner = address(name.bytes), .buffer = address(buffer), .size = BUFFER_SIZE,
		.owner_len = owner == OWNERS ? 0 : name.len,
	};
	struct scan_result scan_result = {};
	__u64 token = 0;
	unsigned int at, key;

	do {
		must(run.fds[READER], HASHBELT_IOC_LOCKS, &args);
		for (at = 0; args.count; args.count--) {
			const struct hashbelt_lock_record *record = (const void *)(buffer + at);
			const unsigned char *bytes = (const void *)(record + 1);

			key = key_with(bytes, record->key_len);
			if (key == KEYS_MAX || scan_result.seen[key]) {
				differ(model, "LOCKS lists an unknown lock, or one lock twice");
				return;
			}
			if (args.owner_len && record->token <= token)
				differ(model, "locks are not in the order of tokens");
			token = record->token;
			scan_result.seen[key] = true;
			scan_result.locks[key] = *record;
			scan_result.owners[key] = blob_of(bytes + record->key_len,
							  record->owner_len);
			at += record->size;
		}
	} while (args.cursor);
	model_locks(model, &scan_result, owner);
}

static void check(void)
{
	__u64 counters[HASHBELT_STAT_COUNT] = {};
	struct hashbelt_stat stat = { .counters = address(counters), .count = HASHBELT_STAT_COUNT };
	struct hashbelt_info info = info_of(run.fds[READER]);

	must(run.fds[READER], HASHBELT_IOC_STAT, &stat);
	model_check(model, &info, counters);
}

/* Time */

static void advance_by(__u64 ns, unsigned long request)
{
	__u64 ms = ns / 1000000;

	must(run.fds[READER], request, &ms);
	model_advance(model, ns);
	model_settle(model);
	see_if_needed();
}

static __u64 span_of(const struct operation *operation)
{
	__u64 nearest = model_nearest(model), ms = operation->ms;

	if (ms == TO_DEADLINE || ms == BEFORE_DEADLINE) {
		if (nearest == NEVER)
			nearest = model->now + 1000000;
		ms = (nearest - model->now + 999999) / 1000000;
		ms -= operation->ms == BEFORE_DEADLINE;
	}
	return model->raw + ms * 1000000 > YEARS * NS_PER_YEAR ? 0 : ms * 1000000;
}

/* Operations on one key */

static __u64 pick(enum pick which, __u64 current, __u64 old)
{
	return which == PICK_CURRENT ? current : which == PICK_OLD ? old : 0;
}

static void prepare_item(const struct operation *operation, struct asked *asked,
			 unsigned char *value)
{
	static const enum hashbelt_op ops[] = {
		[GET] = HASHBELT_OP_GET, [PUT] = HASHBELT_OP_PUT, [TOUCH] = HASHBELT_OP_TOUCH,
		[REMOVE] = HASHBELT_OP_REMOVE, [EXPIRE] = HASHBELT_OP_EXPIRE,
		[ADD] = HASHBELT_OP_ADD,
	};
	const struct thing *entry = &model->things[operation->key];
	const struct thing *lease = entry + FILLING * KEYS_MAX;
	struct hashbelt_item *sent = &asked->sent;
	unsigned char key[KEY_SIZE];

	*asked = (struct asked){ .op = ops[operation->kind], .key = operation->key,
				 .fd = operation->fd };
	*sent = (struct hashbelt_item){
		.key = address(key_bytes(operation->key)),
		.key_len = key_of(operation->key, key),
		.value = address(value), .how = operation->how,
		.flags = operation->flags, .ttl_ms = operation->ms,
	};
	if (operation->how & HASHBELT_IF_VERSION)
		sent->version = pick(operation->pick, entry->version, entry->old);
	else if (operation->how & HASHBELT_IF_LEASE)
		sent->version = pick(operation->pick, lease->version, lease->old);
	if (operation->kind == GET)
		sent->value_len = operation->number;
	if (operation->kind == PUT) {
		sent->value_len = value_of(operation->number, value);
		asked->value = blob_of(value, sent->value_len);
	}
	if (operation->kind == ADD) {
		asked->by.by = (__s64)operation->number - 20;
		asked->by.value = operation->flags % 100;
		memcpy(value, &asked->by, sizeof(asked->by));
		sent->value_len = sizeof(asked->by);
		sent->version = operation->floor;
	}
}

static void conclude_item(struct asked *asked, const unsigned char *value)
{
	if (asked->op == HASHBELT_OP_GET && !asked->err && !(asked->sent.how & HASHBELT_NO_VALUE))
		asked->value = blob_of(value, asked->got.value_len);
	memcpy(&asked->sum, value, sizeof(asked->sum));
	model->step++;
	model_item(model, asked);
	see_if_needed();
}

/* The number of items from here on that go into one batch, all by one descriptor. */
static unsigned int joined_items(void)
{
	const struct history *history = run.history;
	const struct operation *first = &history->operations[run.at];
	unsigned int n = 1;

	/* The entries that a put evicts must be known before the next put. */
	if (history->settings.policy & HASHBELT_EVICT)
		return 1;
	while (n < 16 && run.at + n < history->length && first[n - 1].joined &&
	       first[n].kind <= ADD && first[n].fd == first->fd)
		n++;
	return n;
}

static void do_items(void)
{
	static const unsigned long requests[] = {
		[GET] = HASHBELT_IOC_GET, [PUT] = HASHBELT_IOC_PUT,
		[TOUCH] = HASHBELT_IOC_TOUCH, [REMOVE] = HASHBELT_IOC_REMOVE,
		[EXPIRE] = HASHBELT_IOC_EXPIRE, [ADD] = HASHBELT_IOC_ADD,
	};
	const struct operation *first = &run.history->operations[run.at];
	unsigned int n = joined_items(), i;
	struct hashbelt_item items[16];
	struct hashbelt_batch batch = { .items = address(items), .count = n };
	unsigned char values[16][64];
	struct asked asked[16];

	for (i = 0; i < n; i++) {
		prepare_item(&first[i], &asked[i], values[i]);
		items[i] = asked[i].sent;
		items[i].op = n > 1 ? asked[i].op : 0;
	}
	if (n > 1)
		must(run.fds[first->fd], HASHBELT_IOC_BATCH, &batch);
	else
		items[0].result = call(run.fds[first->fd], requests[first->kind], items);
	for (i = 0; i < n && !*model->complaint; i++, run.at++) {
		asked[i].got = items[i];
		asked[i].err = ended(items[i].result);
		conclude_item(&asked[i], values[i]);
	}
	run.at--;
}

static void do_fill(const struct operation *operation)
{
	unsigned char value[64], key[KEY_SIZE];
	struct hashbelt_fill sent = {
		.item = {
			.key = address(key_bytes(operation->key)),
			.key_len = key_of(operation->key, key),
			.value = address(value), .value_len = sizeof(value),
		},
		.lease_ms = operation->ms, .ahead_ms = operation->ahead_ms,
		.how = operation->how,
	}, got = sent;
	struct asked asked = { .op = HASHBELT_OP_GET, .key = operation->key,
			       .fd = operation->fd, .sent = sent.item };

	asked.err = ended(call(run.fds[operation->fd], HASHBELT_IOC_FILL, &got));
	asked.got = got.item;
	if (!asked.err)
		asked.value = blob_of(value, got.item.value_len);
	model_fill(model, &asked, &sent, &got);
}

static void change_fill(const struct operation *operation)
{
	static const __u32 hows[] = {
		[RENEW_FILL] = HASHBELT_RENEW_LEASE, [FAIL_FILL] = HASHBELT_FAIL,
		[GIVE_UP] = HASHBELT_GIVE_UP,
	};
	const struct thing *lease = &model->things[FILLING * KEYS_MAX + operation->key];
	unsigned char key[KEY_SIZE];
	struct hashbelt_fill fill = {
		.item = { .key = address(key_bytes(operation->key)),
			  .key_len = key_of(operation->key, key) },
		.how = hows[operation->kind],
		.lease_ms = operation->kind == GIVE_UP ? 0 : operation->ms,
		.token = pick(operation->pick, lease->version, lease->old),
	};

	model_change_fill(model, operation->key, &fill,
			  ended(call(run.fds[operation->fd], HASHBELT_IOC_FILL, &fill)));
}

/* Settings */

static void do_set(const struct operation *operation)
{
	struct hashbelt_settings set = {
		.fields = operation->set.fields, .ttl_ms = operation->ms,
		.grace_ms = operation->ahead_ms, .buckets = operation->set.buckets,
		.policy = operation->set.policy, .handler = operation->set.handler,
		.reasons = operation->set.reasons, .max_entries = operation->set.most,
	};

	/* Let the worker report cleared entries, by the old settings. */
	advance_by(0, HASHBELT_IOC_ADVANCE);
	must(run.fds[READER], HASHBELT_IOC_SET, &set);
	model_set(model, &set);
	advance_by(0, HASHBELT_IOC_ADVANCE);
}

/* Events */

static void take_event(const struct hashbelt_event *event, bool holds)
{
	const unsigned char *bytes = event_key(event);
	struct blob value = blob_of(event_value(event), event->value_len);
	unsigned int key = event->key_len ? key_with(bytes, event->key_len) : KEYS_MAX;

	if (event->kind == HASHBELT_REQUEST) {
		/* The model has kinds of its own. */
		struct hashbelt_event request = *event;

		request.kind = REQUESTED;
		model_read_completion(model, &request, key == KEYS_MAX ? -1 : (int)key);
	} else if (key == KEYS_MAX) {
		differ(model, "an event of an unknown key");
	} else {
		model_read(model, event, key, &value, holds);
	}
}

/* Reads about @most events from a descriptor, once or until there are no more. */
static void read_events(enum descriptor which, unsigned int most, bool all)
{
	size_t size = 256 + most * 100;
	ssize_t len, at;

	do {
		len = read_into(run.fds[which], buffer, size < BUFFER_SIZE ? size : BUFFER_SIZE);
		if (len > 0)
			check_events(buffer, len);
		for (at = 0; at < len && !*model->complaint;) {
			const struct hashbelt_event *event = (const void *)(buffer + at);

			take_event(event, which == ACKER);
			at += event->size;
		}
	} while (len > 0 && all && !*model->complaint);
	if (*model->complaint)
		return;
	if (len == -EAGAIN || (len == -ENODATA && model->is.handler == HASHBELT_DROP)) {
		if (which == REQUESTER)
			model_read_all_completions(model);
		else
			model_read_all(model);
	} else if (len < 0) {
		differ(model, "read returned %s", error_name(len));
	}
}

static void do_ack(const struct operation *operation)
{
	__u64 sequence = 0;

	if (operation->pick == PICK_OLD)
		sequence = 1;
	else if (operation->pick == PICK_CURRENT && model->held.count)
		sequence = model->held.reports[operation->number % model->held.count].sequence;
	model_ack(model, sequence, ended(ack(run.fds[ACKER], sequence)));
}

/* Descriptors */

static void bind_descriptor(enum descriptor which)
{
	run.fds[which] = open_named(run.name);
	if (which == REQUESTER)
		watch(run.fds[which], HASHBELT_WATCH_REQUESTS);
	if (which == ACKER)
		watch(run.fds[which], HASHBELT_WATCH_ACK);
}

/* Locks and requests */

static void do_lock(const struct operation *operation)
{
	static const unsigned long requests[] = {
		[LOCK] = HASHBELT_IOC_LOCK, [UNLOCK] = HASHBELT_IOC_UNLOCK,
		[RENEW] = HASHBELT_IOC_RENEW, [QUERY] = HASHBELT_IOC_HOLDER,
		[RELEASE] = HASHBELT_IOC_RELEASE,
	};
	unsigned long request = requests[operation->kind];
	struct blob owner = owner_of(operation->number), holder = {};
	unsigned char key[KEY_SIZE];
	struct hashbelt_lock sent = {
		.key = address(key_bytes(operation->key)),
		.key_len = key_of(operation->key, key),
		.owner = address(owner.bytes), .owner_len = owner.len,
		.how = operation->how, .ttl_ms = operation->ms,
	}, got;
	int err;

	if (request == HASHBELT_IOC_HOLDER) {
		sent.owner = address(holder.bytes);
		sent.owner_len = sizeof(holder.bytes);
	}
	got = sent;
	err = ended(call(run.fds[operation->fd], request, &got));
	holder.len = got.owner_len;
	model_lock(model, request, operation->key, operation->number, operation->fd, &sent,
		   &got, &holder, err);
}

static void do_request(const struct operation *operation)
{
	struct hashbelt_key keys[KEYS_MAX] = {};
	struct hashbelt_request request = {
		.id = operation->number, .keys = address(keys), .ttl_ms = operation->ms,
	};
	unsigned char bytes[KEY_SIZE];
	unsigned int key;

	for (key = 0; key < KEYS_MAX; key++) {
		if (!(operation->keys & 1 << key))
			continue;
		keys[request.count].key = address(key_bytes(key));
		keys[request.count++].key_len = key_of(key, bytes);
	}
	model_request(model, operation->number, operation->keys, operation->ms,
		      ended(call(run.fds[REQUESTER], HASHBELT_IOC_REQUEST, &request)));
}

static void do_complete(const struct operation *operation)
{
	unsigned char bytes[KEY_SIZE];
	struct hashbelt_key key = {
		.key = address(key_bytes(operation->key)),
		.key_len = key_of(operation->key, bytes),
	};
	int err = ended(call(run.fds[operation->fd], HASHBELT_IOC_COMPLETE, &key));

	model_complete(model, operation->key, err, key.count);
}

/* A history */

#define BIT(n)		(1u << (n))
#define ALWAYS_SUCCEED	(BIT(CLEAR) | BIT(SCAN) | BIT(ADVANCE) | BIT(ROTATE) | BIT(SET) | \
			 BIT(READ) | BIT(REOPEN) | BIT(LOCKS) | BIT(READ_COMPLETIONS) | BIT(CHECK))

static void do_operation(void)
{
	const struct operation *operation = &run.history->operations[run.at];
	struct hashbelt_stat nothing = {};
	__u64 id = operation->number;

	if (operation->kind <= ADD) {
		do_items();
		return;
	}
	model->step++;
	if (BIT(operation->kind) & ALWAYS_SUCCEED)
		ended(0);
	switch (operation->kind) {
	case FILL:
		do_fill(operation);
		see_if_needed();
		break;
	case RENEW_FILL:
	case FAIL_FILL:
	case GIVE_UP:
		change_fill(operation);
		break;
	case CLEAR:
		must(run.fds[operation->fd], HASHBELT_IOC_CLEAR, NULL);
		model_clear(model);
		break;
	case SCAN:
		see();
		break;
	case ADVANCE:
		advance_by(span_of(operation), HASHBELT_IOC_ADVANCE);
		break;
	case ROTATE:
		advance_by(model_interval(model), HASHBELT_IOC_ROTATE);
		break;
	case SET:
		do_set(operation);
		break;
	case READ:
		read_events(operation->fd, operation->number, operation->number >= 200);
		break;
	case ACK:
		do_ack(operation);
		break;
	case REOPEN:
		close(run.fds[operation->fd]);
		model_close(model, operation->fd);
		bind_descriptor(operation->fd);
		break;
	case LOCKS:
		list_locks(operation->flags % 2 ? OWNERS : operation->number);
		break;
	case REQUEST:
		do_request(operation);
		break;
	case CANCEL:
		model_cancel(model, id, ended(call(run.fds[REQUESTER], HASHBELT_IOC_CANCEL, &id)));
		break;
	case COMPLETE:
		do_complete(operation);
		break;
	case READ_COMPLETIONS:
		read_events(REQUESTER, 200, true);
		break;
	case CHECK:
		must(run.fds[READER], HASHBELT_IOC_STAT, &nothing);
		check();
		break;
	default:
		do_lock(operation);
	}
}

static void begin(const struct history *history)
{
	static unsigned int belts;
	struct hashbelt_settings settings = history->settings;
	int fd = open_device(O_RDWR | O_NONBLOCK);

	snprintf(run.name, sizeof(run.name), "history-%d-%u", getpid(), belts++);
	strcpy(settings.name, run.name);
	must(fd, HASHBELT_IOC_CREATE, &settings);
	must(fd, HASHBELT_IOC_HALT, NULL);
	run.history = history;
	run.at = 0;
	run.fds[READER] = fd;
	bind_descriptor(ACKER);
	bind_descriptor(REQUESTER);
	model_begin(model, history, info_of(fd).now_ns, counter(fd, HASHBELT_STAT_ROTATIONS));
}

/* Reads all events, and compares the whole belt with the model. */
static void compare_all(void)
{
	model->step++;
	advance_by(0, HASHBELT_IOC_ADVANCE);
	if (!*model->complaint)
		read_events(READER, 200, true);
	if (!*model->complaint)
		read_events(REQUESTER, 200, true);
	if (!*model->complaint)
		check();
	if (!*model->complaint)
		see();
}

/* Runs a history. Whether it passes; if not, it fails at run.at, or at the end. */
static bool passes(const struct history *history)
{
	unsigned int i;

	begin(history);
	while (run.at < history->length && !*model->complaint) {
		do_operation();
		if (!*model->complaint)
			run.at++;
	}
	if (!*model->complaint)
		compare_all();
	if (destroy_belt(run.fds[READER], run.name))
		bail_out("destroy of %s", run.name);
	for (i = 0; i < DESCRIPTORS; i++)
		close(run.fds[i]);
	if (*model->complaint)
		strcpy(complaint, model->complaint);
	return !*model->complaint;
}

/* Shortening a history that fails */

static bool fails(const struct history *history)
{
	unsigned int i;

	for (i = 0; i < tries; i++)
		if (!passes(history))
			return true;
	return false;
}

static void leave_out(struct history *history, unsigned int from, unsigned int n)
{
	history->length -= n;
	memmove(&history->operations[from], &history->operations[from + n],
		(history->length - from) * sizeof(history->operations[0]));
}

/* Removes the operations behind the one that fails. */
static void cut_end(struct history *history)
{
	if (run.at + 1 < history->length)
		history->length = run.at + 1;
}

/* Tries to remove each piece of @size operations. Whether one could be removed. */
static bool try_without(struct history *history, unsigned int size)
{
	static struct history smaller;
	bool better = false;
	unsigned int from = history->length;

	while (from) {
		unsigned int n = from < size ? from : size;

		from -= n;
		smaller = *history;
		leave_out(&smaller, from, n);
		if (!fails(&smaller))
			continue;
		cut_end(&smaller);
		*history = smaller;
		if (from > history->length)
			from = history->length;
		better = true;
	}
	return better;
}

/* Makes each operation as simple as possible. */
static void simplify(struct history *history)
{
	unsigned int i, way;

	for (i = 0; i < history->length; i++) {
		for (way = 0; way < 5; way++) {
			struct operation *operation = &history->operations[i];
			struct operation was = *operation;

			if (way == 0)
				operation->joined = 0;
			else if (way == 1)
				operation->how = 0;
			else if (way == 2 && operation->ms < HASHBELT_TTL_MAX_MS)
				operation->ms = operation->ms ? 1 : 0;
			else if (way == 3)
				operation->ahead_ms = 0;
			else if (way == 4 && operation->kind == PUT)
				operation->number = 1;
			if (memcmp(&was, operation, sizeof(was)) && !fails(history))
				*operation = was;
		}
	}
}

static void shrink(struct history *history)
{
	unsigned int size;

	cut_end(history);
	for (size = history->length / 2; size; size /= 2)
		try_without(history, size);
	simplify(history);
	while (try_without(history, 1))
		;
}

static void print_history(const struct history *history)
{
	unsigned int i;

	print_settings(history);
	for (i = 0; i < history->length; i++) {
		printf("#   %3u  ", i + 1);
		print_operation(&history->operations[i]);
	}
}

/* Shortens a history that has failed, and prints it. */
static void explain(struct history *history)
{
	unsigned int length = run.at < history->length ? run.at + 1 : history->length;

	counting = false;
	note("seed %llu, operation %u: %s", history->seed, run.at + 1, model->complaint);
	note("run it again: history -r %llu", history->seed);
	if (!fails(history)) {
		note("it passed in %u further runs; all operations until the failure:", tries);
		history->length = length;
		print_history(history);
		return;
	}
	shrink(history);
	if (!fails(history))
		note("the shorter history does not fail in each run");
	print_history(history);
	note("its failure: %s", complaint);
}

/* Running many */

static __u64 seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Which histories to run. */
struct plan {
	__u64 seed;		/* of the first history; each further one has the next */
	__u64 operations;	/* the number of operations after which to end, if @until is 0 */
	__u64 until;		/* the time at which to end, seconds; 0: there is none */
};

static bool is_enough(const struct plan *task)
{
	if (atomic_load(&common->failed))
		return true;
	return task->until ? seconds() >= task->until :
			     atomic_load(&common->operations) >= task->operations;
}

static int work(const struct plan *task, unsigned int number)
{
	static struct history history;
	__u64 seed;

	for (seed = task->seed + number; !is_enough(task); seed += WORKERS) {
		generate(&history, seed);
		if (!passes(&history)) {
			if (!atomic_fetch_add(&common->failed, 1))
				explain(&history);
			fflush(stdout);
			return 1;
		}
		atomic_fetch_add(&common->operations, history.length);
		atomic_fetch_add(&common->histories, 1);
	}
	return 0;
}

/* Waits for the workers, and prints their progress each minute. Whether all succeeded. */
static bool wait_for_workers(void)
{
	__u64 begun = seconds(), next = begun + 60;
	bool good = true;
	int status;
	pid_t child;

	while ((child = waitpid(-1, &status, WNOHANG)) >= 0) {
		if (child)
			good = good && WIFEXITED(status) && !WEXITSTATUS(status);
		if (seconds() >= next) {
			note("%llu s: %llu histories, %llu operations", next - begun,
			     atomic_load(&common->histories),
			     atomic_load(&common->operations));
			next += 60;
		}
		if (!child)
			usleep(100000);
	}
	return good;
}

static void test_all(const struct plan *task)
{
	static const int errors[] = {
		ENOENT, EEXIST, ESTALE, EINVAL, ERANGE, ENOSPC, EBADMSG, EOVERFLOW, EBUSY,
		EALREADY, EACCES, EDOM, EOPNOTSUPP,
	};
	unsigned int i, missing = 0;
	bool good;

	for (i = 0; i < WORKERS; i++) {
		fflush(stdout);
		switch (fork()) {
		case -1:
			bail_out("fork: %s", strerror(errno));
		case 0:
			_exit(work(task, i));
		}
	}
	good = wait_for_workers();
	note("%llu operations in %llu histories, from seed %llu on",
	     atomic_load(&common->operations), atomic_load(&common->histories), task->seed);
	ok(good && !atomic_load(&common->failed) && atomic_load(&common->histories) > 0,
	   "the belt does what the model does");
	for (i = 0; i < OPERATION_KINDS; i++)
		missing += !atomic_load(&common->succeeded[i]);
	/* All but EOPNOTSUPP: only pinned belts that do not evict are asked for locks. */
	for (i = 0; i < ARRAY_SIZE(errors) - 1; i++) {
		if (!atomic_load(&common->errors[errors[i]]))
			note("no call returned %s", error_name(errors[i]));
		missing += !atomic_load(&common->errors[errors[i]]);
	}
	ok(!missing || atomic_load(&common->failed),
	   "each kind of operation succeeds at least once, and each expected error occurs");
}

int main(int argc, char **argv)
{
	static struct history history;
	struct plan task = { .seed = 1, .operations = 1000000 };
	char *end;

	common = shared_memory(sizeof(*common));
	if (argc > 2 && !strcmp(argv[1], "-r")) {
		if (argc > 3)
			tries = strtoul(argv[3], NULL, 10);
		generate(&history, strtoull(argv[2], NULL, 10));
		if (!ok(!fails(&history), "the belt does what the model does, seed %llu",
			history.seed))
			explain(&history);
		return done_testing();
	}
	if (argc > 1)
		task.seed = strtoull(argv[1], NULL, 10);
	if (argc > 2) {
		task.operations = strtoull(argv[2], &end, 10) * 1000;
		if (*end == 's')
			task.until = seconds() + task.operations / 1000;
		else if (*end != 'k')
			task.operations *= 1000;
	}
	test_all(&task);
	return done_testing();
}
