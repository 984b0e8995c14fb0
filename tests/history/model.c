// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model: comparing, time, deadlines, and the belt as a whole. Its other parts are model_*.c.
 *
 * It is written from hashbelt.h and docs/guarantees.md, and shares nothing with the sources of the
 * module.
 */
#include <stdarg.h>

#include "model_parts.h"

void differ(struct model *model, const char *format, ...)
{
	va_list args;

	if (*model->complaint)
		return;
	va_start(args, format);
	vsnprintf(model->complaint, sizeof(model->complaint), format, args);
	va_end(args);
}

void same(struct model *model, const char *what, __u64 got, __u64 want)
{
	if (got != want)
		differ(model, "%s is %lld, expected %lld", what, (long long)got, (long long)want);
}

void within(struct model *model, const char *what, __u64 got, __u64 least, __u64 most)
{
	if (got < least || got > most)
		differ(model, "%s is %llu, expected %llu to %llu", what, got, least, most);
}

/* Compares the results of a call. If they differ, nothing else of it can be compared. */
bool came_to(struct model *model, int got, int want)
{
	if (got != want)
		differ(model, "returned %s, expected %s", error_name(got), error_name(want));
	return got == want;
}

void same_blob(struct model *model, const char *what, const struct blob *got,
	       const struct blob *want)
{
	same(model, what, got->len, want->len);
	if (got->len == want->len && memcmp(got->bytes, want->bytes, want->len))
		differ(model, "%s: other bytes", what);
}

struct blob owner_of(unsigned int number)
{
	struct blob owner = { .len = 1 + 5 * number };

	memset(owner.bytes, 'A' + number, owner.len);
	return owner;
}

void count(struct model *model, enum hashbelt_counter which)
{
	model->stat[which]++;
}

/* Time */

static __u64 now_of(__u64 raw)
{
	return raw & ~7ULL;
}

__u64 model_interval(const struct model *model)
{
	__u64 gaps = model->is.buckets - 1;
	__u64 interval = (model->is.ttl_ms * MS + gaps - 1) / gaps;

	return interval > MS ? interval : MS;
}

__u64 deadline_of(const struct model *model, __u64 ttl_ms)
{
	if (ttl_ms == HASHBELT_TTL_NEVER)
		return NEVER;
	if (ttl_ms == HASHBELT_TTL_BELT || ttl_ms == HASHBELT_TTL_KEEP)
		ttl_ms = model->is.ttl_ms;
	return model->now + ttl_ms * MS;
}

__u64 left_of(const struct model *model, __u64 deadline)
{
	return deadline == NEVER ? NEVER : (deadline - model->now + MS - 1) / MS;
}

bool is_ttl(__u64 ttl_ms)
{
	return ttl_ms <= HASHBELT_TTL_MAX_MS || ttl_ms == HASHBELT_TTL_NEVER;
}

struct thing *thing_at(struct model *model, enum thing_kind kind, unsigned int slot)
{
	return &model->things[kind * KEYS_MAX + slot];
}

struct thing *each(struct model *model, unsigned int n, enum thing_kind *kind)
{
	*kind = n / KEYS_MAX;
	return &model->things[n];
}

bool is_live(const struct model *model, const struct thing *thing)
{
	return thing->there && thing->deadline > model->now;
}

__u64 model_nearest(const struct model *model)
{
	const struct thing *thing = model->things;
	__u64 nearest = NEVER;
	unsigned int i;

	for (i = 0; i < ALL_THINGS; i++, thing++)
		if (is_live(model, thing) && thing->deadline < nearest)
			nearest = thing->deadline;
	return nearest;
}

bool reinserts(const struct model *model, enum thing_kind kind)
{
	return kind == ENTRY && model->is.handler == HASHBELT_REINSERT;
}

/* Expiry */

void set_deadline(struct thing *thing, __u64 deadline)
{
	thing->deadline = deadline;
	thing->reached = 0;
	thing->doubt = false;
}

/* Something that is reached has been handed over. */
void expire(struct model *model, enum thing_kind kind, unsigned int slot)
{
	struct thing *thing = thing_at(model, kind, slot);

	if (kind == REQUESTED) {
		count(model, HASHBELT_STAT_TIMED_OUT);
		/* If the request made room for another, the worker queues the completion later. */
		add_completion(model, slot, -1, BIT(HASHBELT_BY_TIMEOUT), thing->reached,
			       model->is.max_entries ? 0 : model->step);
		return;
	}
	if (kind <= LOCKED)
		count(model, HASHBELT_STAT_EXPIRED);
	report_expired(model, kind, slot, thing);
	if (reinserts(model, kind)) {
		count(model, HASHBELT_STAT_REINSERTED);
		set_deadline(thing, deadline_of(model, HASHBELT_TTL_BELT));
	} else {
		thing->there = false;
	}
}

/* A writer hands over an expired entry that it finds before it writes. */
struct thing *find_live(struct model *model, enum thing_kind kind, unsigned int slot)
{
	struct thing *thing = thing_at(model, kind, slot);

	if (thing->there && thing->deadline <= model->now)
		expire(model, kind, slot);
	return thing->there ? thing : NULL;
}

/* The belt as a whole */

/* Something reached has expired or is cleared, depending on when the worker ran. */
static void clear_reached(struct model *model, enum thing_kind kind, unsigned int slot,
			  const struct thing *thing)
{
	__u32 reasons = 0;

	if (reports(model, HASHBELT_EXPIRED) || thing->doubt)
		reasons |= BIT(HASHBELT_EXPIRED);
	if (reports(model, HASHBELT_CLEARED))
		reasons |= BIT(HASHBELT_CLEARED);
	if (kind <= LOCKED && reasons)
		report_reached(model, kind, slot, thing, reasons,
			       thing->doubt || !(reasons & (reasons - 1)), 0);
	model->slack[HASHBELT_STAT_CLEARED]++;
	model->slack[kind == REQUESTED ? HASHBELT_STAT_TIMED_OUT : HASHBELT_STAT_EXPIRED]++;
}

static void clear_thing(struct model *model, enum thing_kind kind, unsigned int slot)
{
	struct thing *thing = thing_at(model, kind, slot);
	bool reached = thing->reached && !reinserts(model, kind) &&
		       may_be_handled(model, thing);

	if (!thing->there)
		return;
	if (reached)
		clear_reached(model, kind, slot, thing);
	else
		count(model, HASHBELT_STAT_CLEARED);
	if (kind == REQUESTED) {
		add_completion(model, slot, -1, BIT(HASHBELT_BY_CLEAR) |
		     (reached ? BIT(HASHBELT_BY_TIMEOUT) : 0),
		     reached ? thing->reached : model->step, 0);
	} else if (!reached && kind <= LOCKED && reports(model, HASHBELT_CLEARED)) {
		report(model, kind, slot, thing, HASHBELT_CLEARED);
		model->events.reports[model->events.count - 1].last = 0;
	}
	thing->there = false;
}

void model_clear(struct model *model)
{
	unsigned int i;

	for (i = 0; i < ALL_THINGS; i++)
		clear_thing(model, i / KEYS_MAX, i % KEYS_MAX);
}

/* The belt time from which on a thing may be handed over. */
static __u64 due_of(const struct model *model, enum thing_kind kind, const struct thing *thing)
{
	if (thing->deadline == NEVER)
		return NEVER;
	return thing->deadline + (kind == ENTRY ? model->is.grace_ms * MS : 0);
}

static void reach(struct model *model)
{
	enum thing_kind kind;
	unsigned int i;

	for (i = 0; i < ALL_THINGS; i++) {
		struct thing *thing = each(model, i, &kind);

		if (!thing->there)
			continue;
		if (!thing->reached && thing->deadline <= model->now)
			thing->reached = model->step;
		thing->due = due_of(model, kind, thing);
	}
	forget_some(model);
}

void model_advance(struct model *model, __u64 by)
{
	model->raw += by;
	model->now = now_of(model->raw);
	reach(model);
}

/* Nanoseconds of a bucket in which a thing waits: 4 ms for locks, leases and requests. */
static __u64 width_of(const struct model *model, enum thing_kind kind)
{
	return kind == ENTRY ? model_interval(model) : 4 * MS;
}

void model_settle(struct model *model)
{
	enum thing_kind kind;
	unsigned int i;

	for (i = 0; i < ALL_THINGS; i++) {
		struct thing *thing = each(model, i, &kind);

		if (!thing->there || !thing->reached || thing->due > model->now)
			continue;
		if (model->now - thing->due >= width_of(model, kind))
			expire(model, kind, i % KEYS_MAX);
		else if (reinserts(model, kind))
			model->needs_scan = true;
	}
	end_reports(model, &model->events);
	end_reports(model, &model->completions);
}

void model_set(struct model *model, const struct hashbelt_settings *set)
{
	struct hashbelt_settings *is = &model->is;
	__u64 width = model_interval(model);
	enum thing_kind kind;
	unsigned int i;

	if (set->fields & (HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS | HASHBELT_SET_GRACE)) {
		model->rotated += model->now / width - model->measured / width;
		model->measured = model->now;
	}
	if (set->fields & HASHBELT_SET_TTL)
		is->ttl_ms = set->ttl_ms;
	if (set->fields & HASHBELT_SET_BUCKETS)
		is->buckets = set->buckets;
	if (set->fields & HASHBELT_SET_POLICY)
		is->policy = set->policy;
	if (set->fields & HASHBELT_SET_HANDLER)
		is->handler = set->handler;
	if (set->fields & HASHBELT_SET_REASONS)
		is->reasons = set->reasons ?: HASHBELT_REPORT_DEFAULT;
	if (set->fields & HASHBELT_SET_MAX_ENTRIES)
		is->max_entries = set->max_entries;
	if (set->fields & HASHBELT_SET_GRACE)
		is->grace_ms = set->grace_ms;
	for (i = 0; i < ALL_THINGS; i++) {
		struct thing *thing = each(model, i, &kind);

		if (thing->there && thing->reached && !reinserts(model, kind))
			thing->doubt = true;
	}
	reach(model);
}

/* A descriptor was closed, so a thing that was bound to it leaves. */
static void release(struct model *model, enum thing_kind kind, unsigned int slot)
{
	struct thing *thing = thing_at(model, kind, slot);

	if (thing->reached && !reinserts(model, kind)) {
		expire(model, kind, slot);
		return;
	}
	if (kind <= LOCKED)
		count(model, HASHBELT_STAT_RELEASED);
	report(model, kind, slot, thing, HASHBELT_RELEASED);
	thing->there = false;
}

void model_close(struct model *model, int fd)
{
	enum thing_kind kind;
	unsigned int i;

	if (fd == ACKER)
		return_held(model);
	for (i = 0; i < REQUESTED * KEYS_MAX; i++) {
		struct thing *thing = each(model, i, &kind);

		if (thing->there && thing->bound == fd)
			release(model, kind, i % KEYS_MAX);
	}
	if (fd != REQUESTER)
		return;
	for (i = 0; i < IDS; i++) {
		struct thing *request = thing_at(model, REQUESTED, i);

		if (request->there && request->reached)
			model->slack[HASHBELT_STAT_TIMED_OUT]++;
		request->there = false;
	}
	model->completions.count = 0;
	model->completion_order = 0;
	model->completion_sequence = 0;
}

/* INFO and STAT */

static void check_counts(struct model *model, const struct hashbelt_info *info)
{
	unsigned int least[THING_KINDS] = {}, most[THING_KINDS] = {}, all_least = 0, all_most = 0;
	enum thing_kind kind;
	unsigned int i;

	for (i = 0; i < ALL_THINGS; i++) {
		struct thing *thing = each(model, i, &kind);

		most[kind] += thing->there;
		least[kind] += thing->there && (!thing->reached || reinserts(model, kind) ||
						!may_be_handled(model, thing));
	}
	for (i = 0; i < THING_KINDS; i++) {
		all_least += least[i];
		all_most += most[i];
	}
	within(model, "entries", info->entries, all_least, all_most);
	within(model, "locks", info->locks, least[LOCKED], most[LOCKED]);
	within(model, "requests", info->requests, least[REQUESTED], most[REQUESTED]);
}

static void check_stat(struct model *model, const __u64 *stat)
{
	static const enum hashbelt_counter checked[] = {
		HASHBELT_STAT_HITS, HASHBELT_STAT_MISSES, HASHBELT_STAT_PUTS_NEW,
		HASHBELT_STAT_PUTS_REPLACED, HASHBELT_STAT_REFUSED, HASHBELT_STAT_TOUCHES,
		HASHBELT_STAT_REMOVES, HASHBELT_STAT_EXPIRED, HASHBELT_STAT_CLEARED,
		HASHBELT_STAT_REJECTED, HASHBELT_STAT_EVICTED, HASHBELT_STAT_PRESSURE,
		HASHBELT_STAT_REINSERTED, HASHBELT_STAT_EVENTS_READ,
		HASHBELT_STAT_EVENTS_RETURNED, HASHBELT_STAT_ADDS, HASHBELT_STAT_STALE,
		HASHBELT_STAT_FILLS, HASHBELT_STAT_LOCKS, HASHBELT_STAT_LOCK_WAITS,
		HASHBELT_STAT_RELEASED, HASHBELT_STAT_REQUESTS, HASHBELT_STAT_COMPLETED,
		HASHBELT_STAT_TIMED_OUT, HASHBELT_STAT_REMOVES_REFUSED,
	};
	__u64 width = model_interval(model), open = 0;
	unsigned int i;
	char what[32];

	for (i = 0; i < ALL_THINGS; i++)
		open += model->things[i].there && model->things[i].reached;
	for (i = 0; i < ARRAY_SIZE(checked); i++) {
		enum hashbelt_counter at = checked[i];
		bool of_expiry = at == HASHBELT_STAT_EXPIRED || at == HASHBELT_STAT_TIMED_OUT;

		snprintf(what, sizeof(what), "counter %u", at);
		within(model, what, stat[at], model->stat[at],
		       model->stat[at] + model->slack[at] + (of_expiry ? open : 0));
	}
	same(model, "rotations", stat[HASHBELT_STAT_ROTATIONS],
	     model->rotated + model->now / width - model->measured / width);
	if (!model->is.max_events && !model->is.max_entries)
		same(model, "events lost", stat[HASHBELT_STAT_EVENTS_LOST], 0);
}

void model_check(struct model *model, const struct hashbelt_info *info, const __u64 *stat)
{
	same(model, "now_ns", info->now_ns, model->now);
	same(model, "interval_ns", info->interval_ns, model_interval(model));
	same(model, "ttl_ms", info->ttl_ms, model->is.ttl_ms);
	same(model, "buckets", info->buckets, model->is.buckets);
	same(model, "policy", info->policy, model->is.policy);
	same(model, "handler", info->handler, model->is.handler);
	same(model, "reasons", info->reasons, model->is.reasons);
	same(model, "grace_ms", info->grace_ms, model->is.grace_ms);
	same(model, "max_entries", info->max_entries, model->is.max_entries);
	same(model, "in_flight", info->in_flight, model->held.count);
	if (info->queued > queue_most(model))
		differ(model, "%llu events are queued, expected %u at most", info->queued,
		       queue_most(model));
	if (model->is.max_events && info->queued > model->is.max_events)
		differ(model, "%llu events are queued", info->queued);
	check_counts(model, info);
	check_stat(model, stat);
}

void model_begin(struct model *model, const struct history *history, __u64 now, __u64 rotations)
{
	unsigned int i;

	/* All but the reports in the lists, which are many. */
	memset(model, 0, offsetof(struct model, events));
	model->events.count = 0;
	model->held.count = 0;
	model->completions.count = 0;
	model->is = history->settings;
	model->is.reasons = model->is.reasons ?: HASHBELT_REPORT_DEFAULT;
	model->keys = history->keys;
	model->raw = now;
	model->now = now;
	model->measured = now;
	model->rotated = rotations;
	for (i = 0; i < ALL_THINGS; i++)
		model->things[i].bound = -1;
}
