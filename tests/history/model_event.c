// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model of the events of the belt and of REQUESTER's completions: which may be queued, and
 * whether an event that was read is one of them.
 */
#include "model_parts.h"

bool reports(const struct model *model, enum hashbelt_reason reason)
{
	return model->is.handler != HASHBELT_DROP && model->is.reasons & BIT(reason);
}

static struct report *add_report(struct model *model, struct report_list *row,
				 const struct report *report)
{
	if (row->count == PENDING_MAX) {
		differ(model, "the model has no room for more events");
		return &row->reports[0];
	}
	row->reports[row->count] = *report;
	return &row->reports[row->count++];
}

static void drop_report(struct report_list *row, unsigned int at)
{
	row->count--;
	memmove(&row->reports[at], &row->reports[at + 1],
		(row->count - at) * sizeof(row->reports[0]));
}

/* The most events that may be queued or held, with those of things that are reached. */
unsigned int queue_most(const struct model *model)
{
	const struct thing *thing = model->things;
	unsigned int i, most = model->events.count + model->held.count;

	for (i = 0; i < 2 * KEYS_MAX; i++, thing++)
		most += thing->there && thing->reached;
	return most;
}

/* If the queue may exceed its limit, any of its events may be lost. */
void forget_some(struct model *model)
{
	unsigned int most = queue_most(model), i;

	if (!model->is.max_events || most <= model->is.max_events)
		return;
	model->lost_most += most;
	for (i = 0; i < model->events.count; i++)
		model->events.reports[i].maybe = true;
	/* It may have been handed over, and its event may be among the lost ones. */
	for (i = 0; i < 2 * KEYS_MAX; i++)
		model->things[i].doubt |= model->things[i].there && model->things[i].reached;
}

/* A thing leaves now, for a reason. */
void report(struct model *model, enum thing_kind kind, unsigned int slot,
	    const struct thing *thing, enum hashbelt_reason reason)
{
	struct report event = {
		.kind = kind, .slot = slot, .key = -1, .thing = *thing,
		.reasons = BIT(reason), .first = model->step, .last = model->step,
		.early = model->now, .late = model->now,
		.uncharged = reinserts(model, kind) && reason == HASHBELT_EXPIRED,
	};

	if (kind > LOCKED || !reports(model, reason))
		return;
	add_report(model, &model->events, &event);
	forget_some(model);
}

/* Whether a thing that is reached may have been handed over. */
bool may_be_handled(const struct model *model, const struct thing *thing)
{
	return thing->due <= model->now || thing->doubt || model->is.max_entries;
}

/* A thing that is reached was or is taken out, for one of @reasons. */
void report_reached(struct model *model, enum thing_kind kind, unsigned int slot,
		    const struct thing *thing, __u32 reasons, bool maybe,
			   unsigned int last)
{
	struct report event = {
		.kind = kind, .slot = slot, .key = -1, .thing = *thing,
		.reasons = reasons, .first = thing->reached, .last = last,
		.early = thing->due, .late = model->now, .maybe = maybe,
		.uncharged = reinserts(model, kind),
	};

	if (!thing->reached)
		event.first = model->step;
	if (may_be_handled(model, thing) && event.early > thing->deadline &&
	    (thing->doubt || model->is.max_entries))
		event.early = thing->deadline;
	if (event.early > model->now || !thing->reached)
		event.early = model->now;
	add_report(model, &model->events, &event);
	forget_some(model);
}

/* A thing that is reached has expired, at this moment at the latest. */
void report_expired(struct model *model, enum thing_kind kind, unsigned int slot,
		    const struct thing *thing)
{
	if (kind <= LOCKED && (reports(model, HASHBELT_EXPIRED) || thing->doubt))
		report_reached(model, kind, slot, thing, BIT(HASHBELT_EXPIRED),
			       thing->doubt, model->step);
}

/* A request is completed. @last: as in struct report. */
void add_completion(struct model *model, unsigned int id, int key, __u32 causes,
		    unsigned int first, unsigned int last)
{
	struct thing *thing = thing_at(model, REQUESTED, id);
	struct report event = {
		.kind = REQUESTED, .slot = id, .key = key, .thing = *thing, .reasons = causes,
		.first = first, .last = last,
		.early = first < model->step ? thing->deadline : model->now,
		.late = model->now,
	};

	thing->there = false;
	add_report(model, &model->completions, &event);
}

void end_reports(struct model *model, struct report_list *row)
{
	unsigned int i;

	for (i = 0; i < row->count; i++) {
		if (!row->reports[i].last) {
			row->reports[i].last = model->step;
			row->reports[i].late = model->now;
		}
	}
}

/* Events that were not acknowledged are put back to the head of the queue. */
void return_held(struct model *model)
{
	struct report_list *row = &model->events;

	if (row->count + model->held.count > PENDING_MAX) {
		differ(model, "the model has no room for more events");
		return;
	}
	memmove(&row->reports[model->held.count], row->reports,
		row->count * sizeof(row->reports[0]));
	memcpy(row->reports, model->held.reports, model->held.count * sizeof(row->reports[0]));
	row->count += model->held.count;
	model->stat[HASHBELT_STAT_EVENTS_RETURNED] += model->held.count;
	model->held.count = 0;
	model->owed += model->held_lost;
	model->held_lost = 0;
}

/* Reading events */

static bool matches(const struct report *report, const struct hashbelt_event *event,
		    unsigned int slot, int key, unsigned int order)
{
	/* Of two equal events, the one that may be lost does not match if its time does not. */
	if (report->maybe && report->last &&
	    (event->handed_ns < report->early || event->handed_ns > report->late ||
	     (report->last < order && !report->sequence)))
		return false;
	return report->slot == slot && report->kind == (enum thing_kind)event->kind &&
	       report->reasons & BIT(event->reason) && report->key == key &&
	       report->thing.deadline == event->deadline_ns &&
	       (report->kind == REQUESTED || report->thing.version == event->version);
}

/* Compares an event with its report. */
static void compare(struct model *model, struct report *report,
		    const struct hashbelt_event *event, const struct blob *value,
		    unsigned int *order)
{
	within(model, "handed_ns", event->handed_ns, report->early,
	       report->last ? report->late : model->now);
	if (value) {
		same(model, "flags", event->flags, report->thing.flags);
		same_blob(model, "the value", value, &report->thing.value);
	}
	if (report->sequence)
		return;
	if (report->last && report->last < *order)
		differ(model, "event %llu is out of order", event->sequence);
	if (report->first > *order)
		*order = report->first;
}

/*
 * Finds the report of an event. Events of one key are read in order, so earlier reports of the key
 * are dropped.
 */
static int find_report(struct model *model, struct report_list *row,
		       const struct hashbelt_event *event, unsigned int slot, int key,
		       unsigned int order)
{
	unsigned int i, at;

	for (at = 0; at < row->count; at++)
		if (matches(&row->reports[at], event, slot, key, order))
			break;
	if (at == row->count)
		return -1;
	for (i = 0; i < at; i++) {
		struct report *before = &row->reports[i];

		if (before->kind != row->reports[at].kind || before->slot != slot)
			continue;
		if (!before->maybe)
			differ(model, "event %llu came before another of its key", event->sequence);
		drop_report(row, i--);
		at--;
	}
	return at;
}

/* The event shows that a thing which is reached has been handed over. */
static bool was_handled(struct model *model, const struct hashbelt_event *event, unsigned int slot)
{
	enum thing_kind kind = event->kind;
	struct thing *thing = thing_at(model, kind, slot);
	__u32 reason = kind == REQUESTED ? (__u32)HASHBELT_BY_TIMEOUT : HASHBELT_EXPIRED;

	if (!thing->there || !thing->reached || event->reason != reason ||
	    (kind != REQUESTED && thing->version != event->version))
		return false;
	if (!may_be_handled(model, thing)) {
		differ(model, "it was handed over before the end of its grace time");
		return false;
	}
	/* So expire() makes a report even if the settings report no expiry now. */
	thing->doubt = true;
	expire(model, kind, slot);
	return true;
}

/* Counts lost events. Losses that held events have reported are reported again later. */
static void count_lost(struct model *model, const struct hashbelt_event *event, bool holds)
{
	if (event->lost < model->owed)
		differ(model, "%llu events were reported as lost before, now %llu",
		       model->owed, event->lost);
	model->lost += event->lost - model->owed;
	model->owed = 0;
	if (model->lost > model->lost_most)
		differ(model, "%llu events were lost without a reason", event->lost);
	if (!holds || !event->lost)
		return;
	model->held_lost += event->lost;
	model->held_lost_at = event->sequence;
}

/* Checks the number of an event that is read for the first time. */
static void number(struct model *model, const struct hashbelt_event *event)
{
	if (!model->lost_most || !model->stat[HASHBELT_STAT_EVENTS_RETURNED])
		same(model, "sequence", event->sequence, model->sequence + 1 + event->lost);
	else if (event->sequence <= model->sequence)
		differ(model, "sequence %llu after %llu", event->sequence, model->sequence);
	model->sequence = event->sequence;
}

void model_read(struct model *model, const struct hashbelt_event *event, unsigned int slot,
		const struct blob *value, bool holds)
{
	struct report_list *row = &model->events;
	int at = find_report(model, row, event, slot, -1, model->order);
	struct report *found;

	if (at < 0 && was_handled(model, event, slot))
		at = find_report(model, row, event, slot, -1, model->order);
	if (at < 0) {
		differ(model, "unexpected event %llu: reason %u, key %u, version %llu, due at %llu",
		       event->sequence, event->reason, slot, event->version,
		       event->deadline_ns);
		return;
	}
	count(model, HASHBELT_STAT_EVENTS_READ);
	found = &row->reports[at];
	compare(model, found, event, value, &model->order);
	if (found->sequence && at && !row->reports[0].maybe)
		differ(model, "event %llu was returned and is not at the head", event->sequence);
	if (!found->sequence && row->reports[0].sequence && !row->reports[0].maybe)
		differ(model, "event %llu is read before one that was returned", event->sequence);
	if (found->sequence) {
		same(model, "sequence", event->sequence, found->sequence);
		same(model, "handed_ns", event->handed_ns, found->handed);
	} else {
		number(model, event);
	}
	count_lost(model, event, holds);
	found->sequence = event->sequence;
	found->handed = event->handed_ns;
	found->reasons = BIT(event->reason);
	found->maybe = false;
	if (holds)
		add_report(model, &model->held, found);
	drop_report(row, at);
}

void model_read_completion(struct model *model, const struct hashbelt_event *event, int key)
{
	unsigned int id = event->id;
	int at;

	at = find_report(model, &model->completions, event, id, key, model->completion_order);
	if (at < 0 && was_handled(model, event, id))
		at = find_report(model, &model->completions, event, id, key,
				 model->completion_order);
	if (at < 0) {
		differ(model, "unexpected completion of request %u: cause %u, deadline %llu",
		       id, event->reason, event->deadline_ns);
		return;
	}
	compare(model, &model->completions.reports[at], event, NULL, &model->completion_order);
	same(model, "sequence", event->sequence, ++model->completion_sequence);
	drop_report(&model->completions, at);
}

void model_read_all(struct model *model)
{
	unsigned int i;

	for (i = 0; i < model->events.count; i++) {
		const struct report *report = &model->events.reports[i];

		if (!report->last)
			continue;
		if (!report->maybe) {
			differ(model, "no event of %s %u, version %llu, reasons %#x",
			       report->kind == ENTRY ? "key" : "lock", report->slot,
			       report->thing.version, report->reasons);
			return;
		}
		drop_report(&model->events, i--);
	}
}

void model_read_all_completions(struct model *model)
{
	unsigned int i;

	for (i = 0; i < model->completions.count; i++)
		if (model->completions.reports[i].last) {
			differ(model, "no completion of request %u, causes %#x",
			       model->completions.reports[i].slot,
			       model->completions.reports[i].reasons);
			return;
		}
}

void model_ack(struct model *model, __u64 sequence, int err)
{
	unsigned int i, completions;

	for (i = 0; i < model->held.count; i++)
		if (model->held.reports[i].sequence == sequence)
			break;
	if (i == model->held.count) {
		came_to(model, err, -ENOENT);
		return;
	}
	came_to(model, err, 0);
	for (completions = 0; completions <= i; completions++)
		if (model->held.reports[completions].sequence == model->held_lost_at)
			model->held_lost = 0;
	memmove(model->held.reports, &model->held.reports[i + 1],
		(model->held.count - i - 1) * sizeof(model->held.reports[0]));
	model->held.count -= i + 1;
}
