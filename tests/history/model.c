// SPDX-License-Identifier: GPL-2.0
/*
 * The model: see model.h. It is to be read against hashbelt.h and docs/design.md, and
 * takes nothing from the sources of the module.
 */
#include <stdarg.h>

#include "model.h"

#define MS		1000000ULL
#define FILL_LEASE	10000	/* milliseconds, where none is given */

#define BIT(n)		(1u << (n))

void differ(struct model *model, const char *format, ...)
{
	va_list args;

	if (*model->complaint)
		return;
	va_start(args, format);
	vsnprintf(model->complaint, sizeof(model->complaint), format, args);
	va_end(args);
}

static void same(struct model *model, const char *what, __u64 got, __u64 want)
{
	if (got != want)
		differ(model, "%s is %lld, expected %lld", what, (long long)got,
		       (long long)want);
}

static void within(struct model *model, const char *what, __u64 got, __u64 least, __u64 most)
{
	if (got < least || got > most)
		differ(model, "%s is %llu, expected %llu to %llu", what, got, least, most);
}

/* Whether a call came to this result; if not, nothing else can be said of it. */
static bool came_to(struct model *model, int got, int want)
{
	if (got != want)
		differ(model, "returned %s, expected %s", error_name(got), error_name(want));
	return got == want;
}

static void same_blob(struct model *model, const char *what, const struct blob *got,
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

static void count(struct model *model, enum hashbelt_counter which)
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

static __u64 deadline_of(const struct model *model, __u64 ttl_ms)
{
	if (ttl_ms == HASHBELT_TTL_NEVER)
		return NEVER;
	if (ttl_ms == HASHBELT_TTL_BELT || ttl_ms == HASHBELT_TTL_KEEP)
		ttl_ms = model->is.ttl_ms;
	return model->now + ttl_ms * MS;
}

static __u64 left_of(const struct model *model, __u64 deadline)
{
	return deadline == NEVER ? NEVER : (deadline - model->now + MS - 1) / MS;
}

static bool is_ttl(__u64 ttl_ms)
{
	return ttl_ms <= HASHBELT_TTL_MAX_MS || ttl_ms == HASHBELT_TTL_NEVER;
}

static struct thing *thing_at(struct model *model, enum thing_kind kind, unsigned int slot)
{
	return &model->things[kind * KEYS_MAX + slot];
}

static struct thing *each(struct model *model, unsigned int n, enum thing_kind *kind)
{
	*kind = n / KEYS_MAX;
	return &model->things[n];
}

#define ALL_THINGS	(THING_KINDS * KEYS_MAX)

static bool is_live(const struct model *model, const struct thing *thing)
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

bool model_uncertain(const struct model *model)
{
	const struct thing *thing = model->things;
	unsigned int i;

	for (i = 0; i < ALL_THINGS; i++, thing++)
		if (thing->there && thing->reached)
			return true;
	return false;
}

/* Events */

static bool lives_on(const struct model *model, enum thing_kind kind)
{
	return kind == ENTRY && model->is.handler == HASHBELT_REINSERT;
}

static bool reports(const struct model *model, enum hashbelt_reason reason)
{
	return model->is.handler != HASHBELT_DROP && model->is.reasons & BIT(reason);
}

static struct report *add_report(struct model *model, struct row *row,
				 const struct report *report)
{
	if (row->count == PENDING_MAX) {
		differ(model, "the model has no room for more events");
		return &row->reports[0];
	}
	row->reports[row->count] = *report;
	return &row->reports[row->count++];
}

static void drop_report(struct row *row, unsigned int at)
{
	row->count--;
	memmove(&row->reports[at], &row->reports[at + 1],
		(row->count - at) * sizeof(row->reports[0]));
}

/* Events that may be in the queue or are held, and of things that are reached. */
static unsigned int queue_most(const struct model *model)
{
	const struct thing *thing = model->things;
	unsigned int i, most = model->events.count + model->held.count;

	for (i = 0; i < 2 * KEYS_MAX; i++, thing++)
		most += thing->there && thing->reached;
	return most;
}

/* The queue may be longer than its limit: any of what is in it may be lost. */
static void forget_some(struct model *model)
{
	unsigned int most = queue_most(model), i;

	if (!model->is.max_events || most <= model->is.max_events)
		return;
	model->lost_most += most;
	for (i = 0; i < model->events.count; i++)
		model->events.reports[i].maybe = true;
	/* The handler may have had it, and that may be what was lost. */
	for (i = 0; i < 2 * KEYS_MAX; i++)
		model->things[i].doubt |= model->things[i].there && model->things[i].reached;
}

/* Something leaves for a reason, now. */
static void report(struct model *model, enum thing_kind kind, unsigned int slot,
		   const struct thing *thing, enum hashbelt_reason reason)
{
	struct report event = {
		.kind = kind, .slot = slot, .key = -1, .thing = *thing,
		.reasons = BIT(reason), .first = model->step, .last = model->step,
		.early = model->now, .late = model->now,
		.placeless = lives_on(model, kind) && reason == HASHBELT_EXPIRED,
	};

	if (kind > LOCKED || !reports(model, reason))
		return;
	add_report(model, &model->events, &event);
	forget_some(model);
}

/* Whether the handler may have something that is reached. */
static bool may_be_handled(const struct model *model, const struct thing *thing)
{
	return thing->due <= model->now || thing->doubt || model->is.max_entries;
}

/* Something that is reached was or is taken out, for one of some reasons. */
static void report_reached(struct model *model, enum thing_kind kind, unsigned int slot,
			   const struct thing *thing, __u32 reasons, bool maybe,
			   unsigned int last)
{
	struct report event = {
		.kind = kind, .slot = slot, .key = -1, .thing = *thing,
		.reasons = reasons, .first = thing->reached, .last = last,
		.early = thing->due, .late = model->now, .maybe = maybe,
		.placeless = lives_on(model, kind),
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

/* Something that is reached has expired: at this moment at the latest. */
static void report_expired(struct model *model, enum thing_kind kind, unsigned int slot,
			   const struct thing *thing)
{
	if (kind <= LOCKED && (reports(model, HASHBELT_EXPIRED) || thing->doubt))
		report_reached(model, kind, slot, thing, BIT(HASHBELT_EXPIRED),
			       thing->doubt, model->step);
}

/* A request is completed. @last: 0, not at this moment but later. */
static void tell(struct model *model, unsigned int id, int key, __u32 causes,
		 unsigned int first, unsigned int last)
{
	struct thing *thing = thing_at(model, ASKED, id);
	struct report event = {
		.kind = ASKED, .slot = id, .key = key, .thing = *thing, .reasons = causes,
		.first = first, .last = last,
		.early = first < model->step ? thing->deadline : model->now,
		.late = model->now,
	};

	thing->there = false;
	add_report(model, &model->told, &event);
}

/* Expiry */

static void set_deadline(struct thing *thing, __u64 deadline)
{
	thing->deadline = deadline;
	thing->reached = 0;
	thing->doubt = false;
}

/* The handler has something that is reached. */
static void expire(struct model *model, enum thing_kind kind, unsigned int slot)
{
	struct thing *thing = thing_at(model, kind, slot);

	if (kind == ASKED) {
		count(model, HASHBELT_STAT_TIMED_OUT);
		/* Where it made room, the worker tells. */
		tell(model, slot, -1, BIT(HASHBELT_BY_TIMEOUT), thing->reached,
		     model->is.max_entries ? 0 : model->step);
		return;
	}
	if (kind <= LOCKED)
		count(model, HASHBELT_STAT_EXPIRED);
	report_expired(model, kind, slot, thing);
	if (lives_on(model, kind)) {
		count(model, HASHBELT_STAT_REINSERTED);
		set_deadline(thing, deadline_of(model, HASHBELT_TTL_BELT));
	} else {
		thing->there = false;
	}
}

/* What a writer finds: the expired entry is handled before the write. */
static struct thing *find_live(struct model *model, enum thing_kind kind, unsigned int slot)
{
	struct thing *thing = thing_at(model, kind, slot);

	if (thing->there && thing->deadline <= model->now)
		expire(model, kind, slot);
	return thing->there ? thing : NULL;
}

/* Something takes a new place: limits */

struct room {
	unsigned int least;	/* places that are taken, and cannot be had */
	unsigned int most;
	unsigned int entries;	/* that could be evicted */
	unsigned int held;	/* events that keep a place, and cannot be dropped */
};

static const __u32 keeping = BIT(HASHBELT_EXPIRED) | BIT(HASHBELT_REMOVED) |
			     BIT(HASHBELT_RELEASED);

static void add_places(struct room *room, const struct row *row)
{
	unsigned int i;

	for (i = 0; i < row->count; i++) {
		const struct report *report = &row->reports[i];
		bool keeps = report->reasons & keeping && !report->placeless;

		room->most += keeps;
		room->least += keeps && !report->maybe && !(report->reasons & ~keeping);
	}
}

/*
 * Whether the place of something that has expired may not be had before the worker has
 * come by: not of what has no grace time where entries have one (or had, until a moment ago),
 * for they come first; and not where entries live on.
 */
static bool may_be_in_the_way(const struct model *model, enum thing_kind kind)
{
	return kind != ENTRY && (model->had_grace ||
				 model->is.handler == HASHBELT_REINSERT);
}

static struct room places(struct model *model)
{
	struct room room = {};
	enum thing_kind kind;
	unsigned int i;

	add_places(&room, &model->held);
	room.held = room.most;
	add_places(&room, &model->events);
	for (i = 0; i < ALL_THINGS; i++) {
		struct thing *thing = each(model, i, &kind);

		if (!thing->there)
			continue;
		if (!thing->reached || lives_on(model, kind)) {
			room.entries += kind == ENTRY;
			room.least++;
			room.most++;
		} else if (kind <= LOCKED && reports(model, HASHBELT_EXPIRED)) {
			room.least += !thing->doubt;
			room.most++;
		} else {
			/* Its place can be had; unless its event is there already. */
			room.most += thing->doubt || may_be_in_the_way(model, kind);
		}
	}
	return room;
}

/* Whether there is room for something new, after what can be done; @err: what came. */
static bool make_room(struct model *model, unsigned int slot, int err)
{
	unsigned int most = model->is.max_entries, i;
	struct room room;

	if (!most)
		return true;
	room = places(model);
	if (room.most < most)
		return true;
	if (!(model->is.policy & HASHBELT_EVICT))
		return room.least < most && err != -ENOSPC;
	model->look = true;
	model->just_put = slot;
	model->evict_least = room.least < most ? 0 : room.least - most + 1;
	model->evict_most = room.most - most + 1;
	model->evict_drops = model->evict_most > room.entries;
	if (!model->evict_drops)
		return true;
	/* All must go, and then events, from the oldest on. */
	if (model->evict_least > room.entries)
		model->evict_least = room.entries;
	model->lost_most += model->events.count + KEYS_MAX;
	for (i = 0; i < model->events.count; i++)
		model->events.reports[i].maybe = true;
	for (i = 0; i < ALL_THINGS; i++)
		model->things[i].doubt |= model->things[i].reached;
	return !(err == -ENOSPC && room.held);
}

/* Operations on one key */

static void returned(struct model *model, const struct asked *asked,
		     const struct thing *thing)
{
	same(model, "ttl_ms", asked->got.ttl_ms, left_of(model, thing->deadline));
	same(model, "version", asked->got.version, thing->version);
	same(model, "flags", asked->got.flags, thing->flags);
}

/* A version that the kernel has given. */
static void adopt_version(struct model *model, enum thing_kind kind, unsigned int slot,
			  __u64 version)
{
	struct thing *thing = thing_at(model, kind, slot);
	unsigned int i;

	if (version <= thing->version)
		differ(model, "version %llu after %llu", version, thing->version);
	for (i = 0; i < ASKED * KEYS_MAX; i++)
		if (version == model->things[i].version)
			differ(model, "version %llu was given twice", version);
	thing->old = thing->version;
	thing->version = version;
}

/* A key was put: who waits for it is told, and nobody has to fill it. */
static void announce(struct model *model, unsigned int key)
{
	unsigned int id;

	thing_at(model, FILLING, key)->there = false;
	for (id = 0; id < IDS; id++) {
		struct thing *request = thing_at(model, ASKED, id);

		if (!request->there || !(request->keys & BIT(key)))
			continue;
		if (!find_live(model, ASKED, id))
			continue;
		count(model, HASHBELT_STAT_COMPLETED);
		tell(model, id, key, BIT(HASHBELT_BY_PUT), model->step, model->step);
	}
}

/* An entry goes in, for good. */
static void let_in(struct model *model, const struct asked *asked, const struct blob *value,
		   __u32 flags, __u64 deadline)
{
	struct thing *entry = thing_at(model, ENTRY, asked->key);

	if (entry->there) {
		report(model, ENTRY, asked->key, entry, HASHBELT_REPLACED);
		count(model, HASHBELT_STAT_PUTS_REPLACED);
	} else {
		count(model, HASHBELT_STAT_PUTS_NEW);
	}
	adopt_version(model, ENTRY, asked->key, asked->got.version);
	entry->there = true;
	entry->value = *value;
	entry->flags = flags;
	entry->bound = asked->sent.how & HASHBELT_BOUND ? asked->fd : -1;
	set_deadline(entry, deadline);
	same(model, "ttl_ms", asked->got.ttl_ms, left_of(model, deadline));
	announce(model, asked->key);
}

static int put_condition(const struct model *model, const struct thing *old,
			 const struct hashbelt_item *sent)
{
	__u32 demands = sent->how & (HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION);

	if (!old)
		return demands ? -ENOENT : 0;
	if (sent->how & HASHBELT_IF_VERSION && sent->version != old->version)
		return -ESTALE;
	if (sent->how & HASHBELT_IF_ABSENT ||
	    (!demands && model->is.policy & HASHBELT_KEEP_ON_PUT))
		return -EEXIST;
	return 0;
}

static void put(struct model *model, const struct asked *asked)
{
	const struct hashbelt_item *sent = &asked->sent;
	struct thing *old;
	int want;

	if ((sent->how & HASHBELT_IF_ABSENT &&
	     sent->how & (HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION)) ||
	    (!is_ttl(sent->ttl_ms) && sent->ttl_ms != HASHBELT_TTL_KEEP)) {
		came_to(model, asked->err, -EINVAL);
		return;
	}
	old = find_live(model, ENTRY, asked->key);
	want = put_condition(model, old, sent);
	if (want)
		count(model, HASHBELT_STAT_REFUSED);
	if (!want && !old && !make_room(model, asked->key, asked->err)) {
		want = -ENOSPC;
		count(model, HASHBELT_STAT_REJECTED);
	}
	if (!came_to(model, asked->err, want))
		return;
	if (want && old)
		same(model, "version", asked->got.version, old->version);
	if (want)
		return;
	let_in(model, asked, &asked->value, sent->flags,
	       old && sent->ttl_ms == HASHBELT_TTL_KEEP ? old->deadline :
	       deadline_of(model, sent->ttl_ms));
}

/* Reads a number as a put may have left it; false: it is none. */
static bool parse(const struct blob *value, __s64 *number)
{
	char text[65] = "";
	char *end;

	memcpy(text, value->bytes, value->len);
	if (!(text[0] >= '0' && text[0] <= '9') &&
	    !(text[0] == '-' && text[1] >= '0' && text[1] <= '9'))
		return false;
	errno = 0;
	*number = strtoll(text, &end, 10);
	return !errno && end == text + value->len;
}

static void add(struct model *model, const struct asked *asked)
{
	struct thing *old;
	struct blob text;
	__s64 sum = asked->by.value;
	int want = 0;

	if (!is_ttl(asked->sent.ttl_ms)) {
		came_to(model, asked->err, -EINVAL);
		return;
	}
	old = find_live(model, ENTRY, asked->key);
	if (old && !parse(&old->value, &sum))
		want = -EBADMSG;
	else if (__builtin_add_overflow(sum, asked->by.by, &sum))
		want = -EOVERFLOW;
	else if (!old && !make_room(model, asked->key, asked->err))
		want = -ENOSPC;
	if (want == -ENOSPC)
		count(model, HASHBELT_STAT_REJECTED);
	if (!came_to(model, asked->err, want) || want)
		return;
	same(model, "the sum", asked->sum.value, sum);
	count(model, HASHBELT_STAT_ADDS);
	text.len = snprintf((char *)text.bytes, sizeof(text.bytes), "%lld", (long long)sum);
	let_in(model, asked, &text, old ? old->flags : asked->sent.flags,
	       old ? old->deadline : deadline_of(model, asked->sent.ttl_ms));
}

static void same_value(struct model *model, const struct asked *asked,
		       const struct thing *thing)
{
	same(model, "value_len", asked->got.value_len, thing->value.len);
	if (!(asked->sent.how & HASHBELT_NO_VALUE))
		same_blob(model, "the value", &asked->value, &thing->value);
}

/* A hit gives an entry a new deadline, where that is wanted. */
static void refresh(struct model *model, struct thing *entry, const struct hashbelt_item *sent)
{
	__u64 belt = deadline_of(model, HASHBELT_TTL_BELT);

	if (sent->how & HASHBELT_AND_TOUCH) {
		set_deadline(entry, deadline_of(model, sent->ttl_ms));
		count(model, HASHBELT_STAT_TOUCHES);
	} else if (model->is.policy & HASHBELT_REFRESH_ON_GET &&
		   !(sent->how & HASHBELT_NO_REFRESH) && belt > entry->deadline) {
		set_deadline(entry, belt);
	}
}

static void get(struct model *model, const struct asked *asked)
{
	const struct hashbelt_item *sent = &asked->sent;
	struct thing *entry = thing_at(model, ENTRY, asked->key);

	if (sent->how & HASHBELT_AND_TOUCH &&
	    (!is_ttl(sent->ttl_ms) || sent->how & HASHBELT_NO_REFRESH)) {
		came_to(model, asked->err, -EINVAL);
	} else if (!is_live(model, entry)) {
		came_to(model, asked->err, -ENOENT);
		count(model, HASHBELT_STAT_MISSES);
	} else if (!(sent->how & HASHBELT_NO_VALUE) && entry->value.len > sent->value_len) {
		if (came_to(model, asked->err, -ERANGE))
			same(model, "value_len", asked->got.value_len, entry->value.len);
	} else if (came_to(model, asked->err, 0)) {
		refresh(model, entry, sent);
		count(model, HASHBELT_STAT_HITS);
		returned(model, asked, entry);
		same_value(model, asked, entry);
	}
}

static void touch(struct model *model, const struct asked *asked)
{
	struct thing *entry = thing_at(model, ENTRY, asked->key);

	if (!is_ttl(asked->sent.ttl_ms)) {
		came_to(model, asked->err, -EINVAL);
	} else if (!is_live(model, entry)) {
		came_to(model, asked->err, -ENOENT);
	} else if (came_to(model, asked->err, 0)) {
		set_deadline(entry, deadline_of(model, asked->sent.ttl_ms));
		count(model, HASHBELT_STAT_TOUCHES);
		returned(model, asked, entry);
	}
}

static void take_out(struct model *model, const struct asked *asked)
{
	struct thing *entry = find_live(model, ENTRY, asked->key);

	if (!entry) {
		came_to(model, asked->err, -ENOENT);
	} else if (asked->sent.how & HASHBELT_IF_VERSION &&
		   asked->sent.version != entry->version) {
		count(model, HASHBELT_STAT_REMOVES_REFUSED);
		if (came_to(model, asked->err, -ESTALE))
			same(model, "version", asked->got.version, entry->version);
	} else if (came_to(model, asked->err, 0)) {
		same(model, "version", asked->got.version, entry->version);
		count(model, HASHBELT_STAT_REMOVES);
		report(model, ENTRY, asked->key, entry, HASHBELT_REMOVED);
		entry->there = false;
	}
}

static void expire_by_hand(struct model *model, const struct asked *asked)
{
	struct thing *entry = find_live(model, ENTRY, asked->key);

	if (!came_to(model, asked->err, entry ? 0 : -ENOENT) || !entry)
		return;
	count(model, HASHBELT_STAT_EXPIRED);
	report(model, ENTRY, asked->key, entry, HASHBELT_EXPIRED);
	if (lives_on(model, ENTRY)) {
		count(model, HASHBELT_STAT_REINSERTED);
		set_deadline(entry, deadline_of(model, HASHBELT_TTL_BELT));
	} else {
		entry->there = false;
	}
}

void model_item(struct model *model, const struct asked *asked)
{
	switch (asked->op) {
	case HASHBELT_OP_GET:
		get(model, asked);
		break;
	case HASHBELT_OP_PUT:
		put(model, asked);
		break;
	case HASHBELT_OP_TOUCH:
		touch(model, asked);
		break;
	case HASHBELT_OP_REMOVE:
		take_out(model, asked);
		break;
	case HASHBELT_OP_EXPIRE:
		expire_by_hand(model, asked);
		break;
	case HASHBELT_OP_ADD:
		add(model, asked);
		break;
	}
}

/* Filling */

/* A call asks for the right to fill; returns its result. */
static int grant(struct model *model, const struct asked *asked,
		 const struct hashbelt_fill *sent, const struct hashbelt_fill *got,
		 __u64 lease_ms)
{
	struct thing *right = thing_at(model, FILLING, asked->key);

	if (find_live(model, FILLING, asked->key))
		return HASHBELT_FILLING;
	if (!make_room(model, KEYS_MAX, got->state & HASHBELT_GRANTED ? 0 : -ENOSPC))
		return -ENOSPC;
	adopt_version(model, FILLING, asked->key, got->token);
	right->there = true;
	right->bound = sent->how & HASHBELT_BOUND ? asked->fd : -1;
	set_deadline(right, model->now + lease_ms * MS);
	count(model, HASHBELT_STAT_FILLS);
	return HASHBELT_GRANTED;
}

static void fill_miss(struct model *model, const struct asked *asked,
		      const struct hashbelt_fill *sent, const struct hashbelt_fill *got)
{
	struct thing *entry = thing_at(model, ENTRY, asked->key);
	bool stale = sent->how & HASHBELT_STALE && entry->there && entry->due > model->now;
	int state;

	state = grant(model, asked, sent, got, sent->lease_ms ?: FILL_LEASE);
	if (state < 0) {
		came_to(model, asked->err, state);
		return;
	}
	/* It may have made room, or have had a shorter grace time before. */
	if (stale && may_be_handled(model, entry) && asked->err == -ENOENT)
		stale = false;
	if (!came_to(model, asked->err, stale ? 0 : -ENOENT))
		return;
	same(model, "state", got->state, state | (stale ? HASHBELT_STALE : 0));
	if (!stale)
		return;
	count(model, HASHBELT_STAT_STALE);
	same(model, "ttl_ms", got->item.ttl_ms, 0);
	same(model, "version", got->item.version, entry->version);
	same(model, "flags", got->item.flags, entry->flags);
	same_value(model, asked, entry);
}

void model_fill(struct model *model, const struct asked *asked,
		const struct hashbelt_fill *sent, const struct hashbelt_fill *got)
{
	struct thing *entry = thing_at(model, ENTRY, asked->key);
	__u64 left;
	int state = 0;

	get(model, asked->err == -ENOENT || is_live(model, entry) ? asked :
	    &(struct asked){ .op = asked->op, .key = asked->key, .sent = asked->sent,
			     .err = -ENOENT });
	if (*model->complaint)
		return;
	if (!is_live(model, entry)) {
		fill_miss(model, asked, sent, got);
		return;
	}
	left = left_of(model, entry->deadline);
	if (sent->ahead_ms && left != NEVER && left < sent->ahead_ms)
		state = grant(model, asked, sent, got,
			      left > sent->lease_ms ? left : sent->lease_ms);
	/* There is a value, whatever comes of that. */
	same(model, "state", got->state, state < 0 ? 0 : state);
}

void model_give_up(struct model *model, unsigned int key, __u64 token, int err)
{
	struct thing *right = find_live(model, FILLING, key);

	if (right && right->version == token) {
		came_to(model, err, 0);
		right->there = false;
	} else {
		came_to(model, err, -ENOENT);
	}
}

/* The belt as a whole */

/* What was reached has expired, or is cleared: that depends on when the worker came by. */
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
	model->slack[kind == ASKED ? HASHBELT_STAT_TIMED_OUT : HASHBELT_STAT_EXPIRED]++;
}

static void clear_thing(struct model *model, enum thing_kind kind, unsigned int slot)
{
	struct thing *thing = thing_at(model, kind, slot);
	bool reached = thing->reached && !lives_on(model, kind) &&
		       may_be_handled(model, thing);

	if (!thing->there)
		return;
	if (reached)
		clear_reached(model, kind, slot, thing);
	else
		count(model, HASHBELT_STAT_CLEARED);
	if (kind == ASKED) {
		tell(model, slot, -1, BIT(HASHBELT_BY_CLEAR) |
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

/* When the handler may have something. */
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

static void end_reports(struct model *model, struct row *row)
{
	unsigned int i;

	for (i = 0; i < row->count; i++) {
		if (!row->reports[i].last) {
			row->reports[i].last = model->step;
			row->reports[i].late = model->now;
		}
	}
}

void model_settle(struct model *model)
{
	__u64 interval = model_interval(model);
	enum thing_kind kind;
	unsigned int i;

	for (i = 0; i < ALL_THINGS; i++) {
		struct thing *thing = each(model, i, &kind);

		if (!thing->there || !thing->reached || thing->due > model->now)
			continue;
		if (model->now - thing->due >= interval)
			expire(model, kind, i % KEYS_MAX);
		else if (lives_on(model, kind))
			model->look = true;
	}
	end_reports(model, &model->events);
	end_reports(model, &model->told);
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
	model->had_grace |= is->grace_ms;
	for (i = 0; i < ALL_THINGS; i++) {
		struct thing *thing = each(model, i, &kind);

		if (thing->there && thing->reached && !lives_on(model, kind))
			thing->doubt = true;
	}
	reach(model);
}

/* A descriptor is closed: what is bound to it goes. */
static void release(struct model *model, enum thing_kind kind, unsigned int slot)
{
	struct thing *thing = thing_at(model, kind, slot);

	if (thing->reached && !lives_on(model, kind)) {
		expire(model, kind, slot);
		return;
	}
	if (kind <= LOCKED)
		count(model, HASHBELT_STAT_RELEASED);
	report(model, kind, slot, thing, HASHBELT_RELEASED);
	thing->there = false;
}

/* What was read and not acknowledged is the first to be read again. */
static void return_held(struct model *model)
{
	struct row *row = &model->events;

	if (row->count + model->held.count > PENDING_MAX) {
		differ(model, "the model has no room for more events");
		return;
	}
	memmove(&row->reports[model->held.count], row->reports,
		row->count * sizeof(row->reports[0]));
	memcpy(row->reports, model->held.reports,
	       model->held.count * sizeof(row->reports[0]));
	row->count += model->held.count;
	model->stat[HASHBELT_STAT_EVENTS_RETURNED] += model->held.count;
	model->held.count = 0;
	model->owed += model->held_lost;
	model->held_lost = 0;
}

void model_close(struct model *model, int fd)
{
	enum thing_kind kind;
	unsigned int i;

	if (fd == HOLDER)
		return_held(model);
	for (i = 0; i < ASKED * KEYS_MAX; i++) {
		struct thing *thing = each(model, i, &kind);

		if (thing->there && thing->bound == fd)
			release(model, kind, i % KEYS_MAX);
	}
	if (fd != ASKER)
		return;
	for (i = 0; i < IDS; i++) {
		struct thing *request = thing_at(model, ASKED, i);

		if (request->there && request->reached)
			model->slack[HASHBELT_STAT_TIMED_OUT]++;
		request->there = false;
	}
	model->told.count = 0;
	model->told_order = 0;
	model->told_sequence = 0;
}

/* Locks */

static void described(struct model *model, const struct hashbelt_lock *got,
		      const struct thing *lock)
{
	same(model, "token", got->token, lock->version);
	same(model, "held_ms", got->held_ms, (model->now - lock->since) / MS);
}

/* Asks for a lock. */
static int take(struct model *model, unsigned int key, unsigned int owner, int fd,
		__u64 lease, const struct hashbelt_lock *sent, const struct hashbelt_lock *got,
		int err)
{
	struct thing *lock = find_live(model, LOCKED, key);
	struct blob name = owner_of(owner);
	__u64 deadline = model->now + lease;

	if (lock && (lock->value.len != name.len ||
		     memcmp(lock->value.bytes, name.bytes, name.len)))
		return -EBUSY;
	if (lock && sent->how & HASHBELT_IF_ABSENT)
		return -EALREADY;
	if (lock) {
		if (deadline > lock->deadline)
			set_deadline(lock, deadline);
		return 0;
	}
	if (!make_room(model, KEYS_MAX, err))
		return -ENOSPC;
	if (err)
		return 0;
	lock = thing_at(model, LOCKED, key);
	adopt_version(model, LOCKED, key, got->token);
	lock->there = true;
	lock->value = name;
	lock->flags = 0;
	lock->bound = sent->how & HASHBELT_BOUND ? fd : -1;
	lock->since = model->now;
	set_deadline(lock, deadline);
	count(model, HASHBELT_STAT_LOCKS);
	return 0;
}

/* The lock that @owner claims to hold; an error if that is not so. */
static int own(struct model *model, unsigned int key, unsigned int owner, struct thing **lock)
{
	struct blob name = owner_of(owner);

	*lock = find_live(model, LOCKED, key);
	if (!*lock)
		return -ENOENT;
	return (*lock)->value.len == name.len &&
	       !memcmp((*lock)->value.bytes, name.bytes, name.len) ? 0 : -EACCES;
}

/* The lease that is asked for, nanoseconds; 0: it is too long. */
static __u64 lease_of(const struct model *model, __u64 ttl_ms)
{
	if (ttl_ms > model->is.ttl_ms)
		return 0;
	return (ttl_ms ?: model->is.ttl_ms) * MS;
}

static void unlock(struct model *model, unsigned int key)
{
	struct thing *lock = thing_at(model, LOCKED, key);

	report(model, LOCKED, key, lock, HASHBELT_REMOVED);
	lock->there = false;
}

static void release_owner(struct model *model, unsigned int owner,
			  const struct hashbelt_lock *got)
{
	struct blob name = owner_of(owner);
	unsigned int key, released = 0;

	for (key = 0; key < KEYS_MAX; key++) {
		struct thing *lock = thing_at(model, LOCKED, key);

		if (!is_live(model, lock) || lock->value.len != name.len)
			continue;
		unlock(model, key);
		released++;
	}
	same(model, "locks released", got->count, released);
}

void model_lock(struct model *model, unsigned long request, unsigned int key,
		unsigned int owner, int fd, const struct hashbelt_lock *sent,
		const struct hashbelt_lock *got, const struct blob *holder, int err)
{
	__u64 lease = lease_of(model, sent->ttl_ms);
	struct thing *lock = thing_at(model, LOCKED, key);
	int want;

	switch (request) {
	case HASHBELT_IOC_LOCK:
		if (!(model->is.policy & HASHBELT_PINNED) || model->is.policy & HASHBELT_EVICT)
			want = -EOPNOTSUPP;
		else
			want = lease ? take(model, key, owner, fd, lease, sent, got, err) :
				       -EDOM;
		break;
	case HASHBELT_IOC_RENEW:
		want = lease ? own(model, key, owner, &lock) : -EDOM;
		if (!want)
			set_deadline(lock, model->now + lease);
		break;
	case HASHBELT_IOC_UNLOCK:
		want = own(model, key, owner, &lock);
		break;
	case HASHBELT_IOC_HOLDER:
		want = is_live(model, lock) ? 0 : -ENOENT;
		break;
	default:
		came_to(model, err, 0);
		release_owner(model, owner, got);
		return;
	}
	if (!came_to(model, err, want) || want)
		return;
	described(model, got, lock);
	if (request == HASHBELT_IOC_HOLDER)
		same_blob(model, "the owner", holder, &lock->value);
	if (request == HASHBELT_IOC_UNLOCK)
		unlock(model, key);
	else
		same(model, "ttl_ms", got->ttl_ms, left_of(model, lock->deadline));
}

void model_locks(struct model *model, const struct sighting *sighting, unsigned int owner)
{
	unsigned int key;

	for (key = 0; key < KEYS_MAX; key++) {
		const struct hashbelt_lock_record *record = &sighting->locks[key];
		struct thing *lock = thing_at(model, LOCKED, key);
		bool listed = is_live(model, lock) &&
			      (owner == OWNERS || lock->value.len == owner_of(owner).len);

		if (sighting->seen[key] != listed) {
			differ(model, "lock %u is %slisted", key, listed ? "not " : "");
			return;
		}
		if (!listed)
			continue;
		same(model, "token", record->token, lock->version);
		same(model, "ttl_ms", record->ttl_ms, left_of(model, lock->deadline));
		same(model, "held_ms", record->held_ms, (model->now - lock->since) / MS);
		same(model, "how", record->how, lock->bound < 0 ? 0 : HASHBELT_BOUND);
		same_blob(model, "the owner", &sighting->owners[key], &lock->value);
	}
}

/* Requests */

void model_request(struct model *model, unsigned int id, __u16 keys, __u64 ttl_ms, int err)
{
	struct thing *request = thing_at(model, ASKED, id);
	int want = 0;

	if (!is_ttl(ttl_ms))
		want = -EINVAL;
	else if (find_live(model, ASKED, id))
		want = -EEXIST;
	else if (!make_room(model, KEYS_MAX, err))
		want = -ENOSPC;
	if (!came_to(model, err, want) || want)
		return;
	count(model, HASHBELT_STAT_REQUESTS);
	request->there = true;
	request->keys = keys;
	set_deadline(request, deadline_of(model, ttl_ms));
}

void model_cancel(struct model *model, unsigned int id, int err)
{
	struct thing *request = find_live(model, ASKED, id);

	came_to(model, err, request ? 0 : -ENOENT);
	if (request)
		request->there = false;
}

void model_complete(struct model *model, unsigned int key, int err, unsigned int completed)
{
	unsigned int id, n = 0;

	came_to(model, err, 0);
	for (id = 0; id < IDS; id++) {
		struct thing *request = thing_at(model, ASKED, id);

		if (!request->there || !(request->keys & BIT(key)) ||
		    !find_live(model, ASKED, id))
			continue;
		tell(model, id, key, BIT(HASHBELT_BY_COMPLETE), model->step, model->step);
		count(model, HASHBELT_STAT_COMPLETED);
		n++;
	}
	same(model, "requests completed", completed, n);
}

/* Looking */

/* Those that are gone have made room: the nearest to their deadlines, and not too many. */
static void see_evicted(struct model *model, const struct sighting *sighting)
{
	__u64 last = 0, first = NEVER;
	unsigned int key, gone = 0;

	for (key = 0; key < KEYS_MAX; key++) {
		struct thing *entry = thing_at(model, ENTRY, key);

		if (!is_live(model, entry) || key == model->just_put)
			continue;
		if (sighting->seen[key]) {
			first = entry->deadline < first ? entry->deadline : first;
			continue;
		}
		gone++;
		last = entry->deadline > last ? entry->deadline : last;
		report(model, ENTRY, key, entry, HASHBELT_EVICTED);
		if (model->evict_drops && reports(model, HASHBELT_EVICTED))
			model->events.reports[model->events.count - 1].maybe = true;
		count(model, HASHBELT_STAT_EVICTED);
		entry->there = false;
	}
	within(model, "entries evicted", gone, model->evict_least, model->evict_most);
	if (gone && last > first)
		differ(model, "evicted one that had %llu ms left, and not one that has %llu",
		       left_of(model, last), left_of(model, first));
	model->evict_least = 0;
	model->evict_most = 0;
}

/* On a belt that reinserts: the handler has it already, if it is there again. */
static void see_reinserted(struct model *model, const struct sighting *sighting)
{
	unsigned int key;

	for (key = 0; key < KEYS_MAX; key++) {
		struct thing *entry = thing_at(model, ENTRY, key);

		if (entry->there && entry->reached && lives_on(model, ENTRY) &&
		    sighting->seen[key] && entry->due <= model->now)
			expire(model, ENTRY, key);
	}
}

void model_scan(struct model *model, const struct sighting *sighting)
{
	unsigned int key;

	if (model->evict_most)
		see_evicted(model, sighting);
	if (model->look)
		see_reinserted(model, sighting);
	model->look = false;
	for (key = 0; key < KEYS_MAX; key++) {
		const struct hashbelt_record *record = &sighting->records[key];
		struct thing *entry = thing_at(model, ENTRY, key);

		if (sighting->seen[key] != is_live(model, entry)) {
			differ(model, "a scan does%s report key %u",
			       sighting->seen[key] ? "" : " not", key);
			return;
		}
		if (!sighting->seen[key])
			continue;
		same(model, "value_len", record->value_len, entry->value.len);
		same(model, "flags", record->flags, entry->flags);
		same(model, "ttl_ms", record->ttl_ms, left_of(model, entry->deadline));
		same(model, "version", record->version, entry->version);
	}
}

/* Reading events */

static bool is_it(const struct report *report, const struct hashbelt_event *event,
		  unsigned int slot, int key, unsigned int order)
{
	/* Of two that are alike, one that may be lost does not stand for the other. */
	if (report->maybe && report->last &&
	    (event->handed_ns < report->early || event->handed_ns > report->late ||
	     (report->last < order && !report->sequence)))
		return false;
	return report->slot == slot && report->kind == (enum thing_kind)event->kind &&
	       report->reasons & BIT(event->reason) && report->key == key &&
	       report->thing.deadline == event->deadline_ns &&
	       (report->kind == ASKED || report->thing.version == event->version);
}

/* What an event must be like, once it is known which. */
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
 * The report of an event. Of one key they come in their order: those before it that did
 * not come will not come any more.
 */
static int find_report(struct model *model, struct row *row,
		       const struct hashbelt_event *event, unsigned int slot, int key,
		       unsigned int order)
{
	unsigned int i, at;

	for (at = 0; at < row->count; at++)
		if (is_it(&row->reports[at], event, slot, key, order))
			break;
	if (at == row->count)
		return -1;
	for (i = 0; i < at; i++) {
		struct report *before = &row->reports[i];

		if (before->kind != row->reports[at].kind || before->slot != slot)
			continue;
		if (!before->maybe)
			differ(model, "event %llu came before another of its key",
			       event->sequence);
		drop_report(row, i--);
		at--;
	}
	return at;
}

/* The handler has had something that was reached: only its event tells. */
static bool was_handled(struct model *model, const struct hashbelt_event *event,
			unsigned int slot)
{
	enum thing_kind kind = event->kind;
	struct thing *thing = thing_at(model, kind, slot);
	__u32 reason = kind == ASKED ? (__u32)HASHBELT_BY_TIMEOUT : HASHBELT_EXPIRED;

	if (!thing->there || !thing->reached || event->reason != reason ||
	    (kind != ASKED && thing->version != event->version))
		return false;
	if (!may_be_handled(model, thing)) {
		differ(model, "the handler had it in its grace time");
		return false;
	}
	/* Its event is not in doubt any more. */
	thing->doubt = true;
	expire(model, kind, slot);
	return true;
}

/* What a record says was lost: what was said and not acknowledged is said again. */
static void hear_lost(struct model *model, const struct hashbelt_event *event, bool holds)
{
	if (event->lost < model->owed)
		differ(model, "of %llu events was said before that they were lost, now of %llu",
		       model->owed, event->lost);
	model->lost += event->lost - model->owed;
	model->owed = 0;
	if (model->lost > model->lost_most)
		differ(model, "%llu events were lost, for no reason", event->lost);
	if (!holds || !event->lost)
		return;
	model->held_lost += event->lost;
	model->held_told = event->sequence;
}

/* The number of an event that was read for the first time. */
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
	struct row *row = &model->events;
	int at = find_report(model, row, event, slot, -1, model->order);
	struct report *found;

	if (at < 0 && was_handled(model, event, slot))
		at = find_report(model, row, event, slot, -1, model->order);
	if (at < 0) {
		differ(model, "event %llu should not be: reason %u, key %u, version %llu, at %llu",
		       event->sequence, event->reason, slot, event->version,
		       event->deadline_ns);
		return;
	}
	count(model, HASHBELT_STAT_EVENTS_READ);
	found = &row->reports[at];
	compare(model, found, event, value, &model->order);
	if (found->sequence && at && !row->reports[0].maybe)
		differ(model, "event %llu was returned behind another", event->sequence);
	if (!found->sequence && row->reports[0].sequence && !row->reports[0].maybe)
		differ(model, "event %llu came before one that was returned", event->sequence);
	if (found->sequence) {
		same(model, "sequence", event->sequence, found->sequence);
		same(model, "handed_ns", event->handed_ns, found->handed);
	} else {
		number(model, event);
	}
	hear_lost(model, event, holds);
	found->sequence = event->sequence;
	found->handed = event->handed_ns;
	found->reasons = BIT(event->reason);
	found->maybe = false;
	if (holds)
		add_report(model, &model->held, found);
	drop_report(row, at);
}

void model_hear(struct model *model, const struct hashbelt_event *event, int key)
{
	unsigned int id = event->version;
	int at;

	at = find_report(model, &model->told, event, id, key, model->told_order);
	if (at < 0 && was_handled(model, event, id))
		at = find_report(model, &model->told, event, id, key, model->told_order);
	if (at < 0) {
		differ(model, "told of request %u, cause %u, at %llu: should not be",
		       id, event->reason, event->deadline_ns);
		return;
	}
	compare(model, &model->told.reports[at], event, NULL, &model->told_order);
	same(model, "sequence", event->sequence, ++model->told_sequence);
	drop_report(&model->told, at);
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

void model_heard_all(struct model *model)
{
	unsigned int i;

	for (i = 0; i < model->told.count; i++)
		if (model->told.reports[i].last) {
			differ(model, "was not told of request %u, causes %#x",
			       model->told.reports[i].slot, model->told.reports[i].reasons);
			return;
		}
}

void model_ack(struct model *model, __u64 sequence, int err)
{
	unsigned int i, told;

	for (i = 0; i < model->held.count; i++)
		if (model->held.reports[i].sequence == sequence)
			break;
	if (i == model->held.count) {
		came_to(model, err, -ENOENT);
		return;
	}
	came_to(model, err, 0);
	for (told = 0; told <= i; told++)
		if (model->held.reports[told].sequence == model->held_told)
			model->held_lost = 0;
	memmove(model->held.reports, &model->held.reports[i + 1],
		(model->held.count - i - 1) * sizeof(model->held.reports[0]));
	model->held.count -= i + 1;
}

/* What INFO and STAT say */

static void check_counts(struct model *model, const struct hashbelt_info *info)
{
	unsigned int least[THING_KINDS] = {}, most[THING_KINDS] = {}, all_least = 0, all_most = 0;
	enum thing_kind kind;
	unsigned int i;

	for (i = 0; i < ALL_THINGS; i++) {
		struct thing *thing = each(model, i, &kind);

		most[kind] += thing->there;
		least[kind] += thing->there && (!thing->reached || lives_on(model, kind) ||
						!may_be_handled(model, thing));
	}
	for (i = 0; i < THING_KINDS; i++) {
		all_least += least[i];
		all_most += most[i];
	}
	within(model, "entries", info->entries, all_least, all_most);
	within(model, "locks", info->locks, least[LOCKED], most[LOCKED]);
	within(model, "requests", info->requests, least[ASKED], most[ASKED]);
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

void model_begin(struct model *model, const struct history *history, __u64 now,
		 __u64 rotations)
{
	unsigned int i;

	memset(model->things, 0, sizeof(model->things));
	memset(model->stat, 0, sizeof(model->stat));
	memset(model->slack, 0, sizeof(model->slack));
	model->is = history->settings;
	model->is.reasons = model->is.reasons ?: HASHBELT_REPORT_DEFAULT;
	model->had_grace = model->is.grace_ms;
	model->keys = history->keys;
	model->raw = now;
	model->now = now;
	model->measured = now;
	model->rotated = rotations;
	model->step = 0;
	model->events.count = 0;
	model->held.count = 0;
	model->told.count = 0;
	model->order = 0;
	model->told_order = 0;
	model->sequence = 0;
	model->told_sequence = 0;
	model->lost = 0;
	model->lost_most = 0;
	model->owed = 0;
	model->held_lost = 0;
	model->held_told = 0;
	model->evict_least = 0;
	model->evict_most = 0;
	model->look = false;
	model->complaint[0] = 0;
	for (i = 0; i < ALL_THINGS; i++)
		model->things[i].bound = -1;
}
