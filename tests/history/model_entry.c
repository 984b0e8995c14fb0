// SPDX-License-Identifier: GPL-2.0-only
/* The model of the entries: operations on one key, and what a scan reports. */
#include "model_parts.h"

static void returned(struct model *model, const struct asked *asked, const struct thing *thing)
{
	same(model, "ttl_ms", asked->got.ttl_ms, left_of(model, thing->deadline));
	same(model, "version", asked->got.version, thing->version);
	same(model, "flags", asked->got.flags, thing->flags);
}

/* Takes over a version that the kernel has given. */
void adopt_version(struct model *model, enum thing_kind kind, unsigned int slot, __u64 version)
{
	struct thing *thing = thing_at(model, kind, slot);
	unsigned int i;

	if (version <= thing->version)
		differ(model, "version %llu after %llu", version, thing->version);
	for (i = 0; i < REQUESTED * KEYS_MAX; i++)
		if (version == model->things[i].version)
			differ(model, "version %llu was given twice", version);
	thing->old = thing->version;
	thing->version = version;
}

/* Inserts an entry after all checks. */
static void insert_entry(struct model *model, const struct asked *asked, const struct blob *value,
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
	finish_put(model, asked->key);
}

static int put_condition(const struct model *model, const struct thing *old,
			 const struct asked *asked)
{
	const struct hashbelt_item *sent = &asked->sent;
	__u32 demands = sent->how & (HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION);
	__u32 keeps = demands || sent->how & HASHBELT_IF_LEASE ? 0 : HASHBELT_KEEP_ON_PUT;

	if (sent->how & HASHBELT_IF_LEASE && !holds_fill(model, asked->key, sent->version))
		return -ESTALE;
	if (!old)
		return demands ? -ENOENT : 0;
	if (sent->how & HASHBELT_IF_VERSION && sent->version != old->version)
		return -ESTALE;
	if (sent->how & HASHBELT_IF_ABSENT || model->is.policy & keeps)
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
	    (sent->how & HASHBELT_IF_LEASE && sent->how & HASHBELT_IF_VERSION) ||
	    (!is_ttl(sent->ttl_ms) && sent->ttl_ms != HASHBELT_TTL_KEEP)) {
		came_to(model, asked->err, -EINVAL);
		return;
	}
	old = find_live(model, ENTRY, asked->key);
	want = put_condition(model, old, asked);
	if (want)
		count(model, HASHBELT_STAT_REFUSED);
	if (!want && !old && !make_room(model, asked->key, asked->err)) {
		want = -ENOSPC;
		count(model, HASHBELT_STAT_REJECTED);
	}
	if (!came_to(model, asked->err, want))
		return;
	if (want == -ESTALE || want == -EEXIST)
		same(model, "version", asked->got.version, old ? old->version : 0);
	if (want)
		return;
	insert_entry(model, asked, &asked->value, sent->flags,
		     old && sent->ttl_ms == HASHBELT_TTL_KEEP ? old->deadline :
	       deadline_of(model, sent->ttl_ms));
}

/* Reads a decimal number; false: the value is none. */
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

/* Adds in 128 bits, where no sum overflows. Return: 0 or what is wrong with the sum. */
static int add_up(const struct hashbelt_item *sent, __s64 by, __s64 *sum)
{
	bool floored = sent->how & HASHBELT_FLOOR;
	__s64 floor = floored ? (__s64)sent->version : INT64_MIN;
	__int128 exact = (__int128)*sum + by;

	if (*sum < floor)
		return -EBADMSG;
	if (floored && exact < floor)
		exact = floor;
	if (exact < INT64_MIN || exact > INT64_MAX)
		return -EOVERFLOW;
	*sum = exact;
	return 0;
}

static void add(struct model *model, const struct asked *asked)
{
	const struct hashbelt_item *sent = &asked->sent;
	struct thing *old;
	struct blob text;
	__s64 sum = asked->by.value;
	int want = 0;

	if (!is_ttl(sent->ttl_ms) ||
	    (sent->how & HASHBELT_FLOOR && !(sent->how & HASHBELT_IF_PRESENT) &&
	     sum < (__s64)sent->version)) {
		came_to(model, asked->err, -EINVAL);
		return;
	}
	old = find_live(model, ENTRY, asked->key);
	if (!old && sent->how & HASHBELT_IF_PRESENT)
		want = -ENOENT;
	else if (old && !parse(&old->value, &sum))
		want = -EBADMSG;
	else
		want = add_up(sent, asked->by.by, &sum);
	if (!want && !old && !make_room(model, asked->key, asked->err))
		want = -ENOSPC;
	if (want == -ENOSPC)
		count(model, HASHBELT_STAT_REJECTED);
	if (!came_to(model, asked->err, want) || want)
		return;
	same(model, "the sum", asked->sum.value, sum);
	count(model, HASHBELT_STAT_ADDS);
	text.len = snprintf((char *)text.bytes, sizeof(text.bytes), "%lld", (long long)sum);
	insert_entry(model, asked, &text, old ? old->flags : asked->sent.flags,
		     old ? old->deadline : deadline_of(model, asked->sent.ttl_ms));
}

void same_value(struct model *model, const struct asked *asked, const struct thing *thing)
{
	same(model, "value_len", asked->got.value_len, thing->value.len);
	if (!(asked->sent.how & HASHBELT_NO_VALUE))
		same_blob(model, "the value", &asked->value, &thing->value);
}

/* Gives an entry a new deadline after a hit, if the call or the policy says so. */
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

/* Counts a hit or a miss: a get with HASHBELT_NO_REFRESH is neither. */
static void count_get(struct model *model, const struct hashbelt_item *sent,
		      enum hashbelt_counter counter)
{
	if (!(sent->how & HASHBELT_NO_REFRESH))
		count(model, counter);
}

void get_entry(struct model *model, const struct asked *asked)
{
	const struct hashbelt_item *sent = &asked->sent;
	struct thing *entry = thing_at(model, ENTRY, asked->key);

	if (sent->how & HASHBELT_AND_TOUCH &&
	    (!is_ttl(sent->ttl_ms) || sent->how & HASHBELT_NO_REFRESH)) {
		came_to(model, asked->err, -EINVAL);
	} else if (!is_live(model, entry)) {
		came_to(model, asked->err, -ENOENT);
		count_get(model, sent, HASHBELT_STAT_MISSES);
	} else if (!(sent->how & HASHBELT_NO_VALUE) && entry->value.len > sent->value_len) {
		if (came_to(model, asked->err, -ERANGE))
			same(model, "value_len", asked->got.value_len, entry->value.len);
	} else if (came_to(model, asked->err, 0)) {
		refresh(model, entry, sent);
		count_get(model, sent, HASHBELT_STAT_HITS);
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
		/* The condition has failed, if there is one. */
		if (!(asked->sent.how & HASHBELT_IF_VERSION))
			end_fill(model, asked->key);
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
		end_fill(model, asked->key);
	}
}

/* A remove that leaves the value for its grace time: the deadline is now. */
static void leave_stale(struct model *model, const struct asked *asked)
{
	struct thing *entry = thing_at(model, ENTRY, asked->key);
	bool demands = asked->sent.how & HASHBELT_IF_VERSION;

	if (!model->is.grace_ms || reinserts(model, ENTRY)) {
		came_to(model, asked->err, -EINVAL);
	} else if (!is_live(model, entry)) {
		if (came_to(model, asked->err, -ENOENT) && !demands)
			end_fill(model, asked->key);
	} else if (demands && asked->sent.version != entry->version) {
		count(model, HASHBELT_STAT_REMOVES_REFUSED);
		if (came_to(model, asked->err, -ESTALE))
			same(model, "version", asked->got.version, entry->version);
	} else if (came_to(model, asked->err, 0)) {
		same(model, "version", asked->got.version, entry->version);
		set_deadline(entry, model->now);
		end_fill(model, asked->key);
		model_advance(model, 0);
	}
}

static void expire_by_hand(struct model *model, const struct asked *asked)
{
	struct thing *entry = find_live(model, ENTRY, asked->key);

	end_fill(model, asked->key);
	if (!came_to(model, asked->err, entry ? 0 : -ENOENT) || !entry)
		return;
	count(model, HASHBELT_STAT_EXPIRED);
	report(model, ENTRY, asked->key, entry, HASHBELT_EXPIRED);
	if (reinserts(model, ENTRY)) {
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
		get_entry(model, asked);
		break;
	case HASHBELT_OP_PUT:
		put(model, asked);
		break;
	case HASHBELT_OP_TOUCH:
		touch(model, asked);
		break;
	case HASHBELT_OP_REMOVE:
		if (asked->sent.how & HASHBELT_LEAVE_STALE)
			leave_stale(model, asked);
		else
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

/* An expired entry that a scan shows again has been handed over and reinserted. */
static void see_reinserted(struct model *model, const struct scan_result *scan_result)
{
	unsigned int key;

	for (key = 0; key < KEYS_MAX; key++) {
		struct thing *entry = thing_at(model, ENTRY, key);

		if (entry->there && entry->reached && reinserts(model, ENTRY) &&
		    scan_result->seen[key] && entry->due <= model->now)
			expire(model, ENTRY, key);
	}
}

void model_scan(struct model *model, const struct scan_result *scan_result)
{
	unsigned int key;

	if (model->evict_most)
		see_evicted(model, scan_result);
	if (model->needs_scan)
		see_reinserted(model, scan_result);
	model->needs_scan = false;
	for (key = 0; key < KEYS_MAX; key++) {
		const struct hashbelt_record *record = &scan_result->records[key];
		struct thing *entry = thing_at(model, ENTRY, key);

		if (scan_result->seen[key] != is_live(model, entry)) {
			differ(model, "a scan does%s report key %u",
			       scan_result->seen[key] ? "" : " not", key);
			return;
		}
		if (!scan_result->seen[key])
			continue;
		same(model, "value_len", record->value_len, entry->value.len);
		same(model, "flags", record->flags, entry->flags);
		same(model, "ttl_ms", record->ttl_ms, left_of(model, entry->deadline));
		same(model, "version", record->version, entry->version);
	}
}
