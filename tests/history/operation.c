// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generating histories from a seed, and printing them.
 */
#include "operation.h"

/* Themes. Features are kept apart whose combination leaves too many outcomes to check. */
enum theme {
	PLAIN,		/* entries, fill leases, requests; no limit */
	REJECTING,	/* the same, with a limit; a full belt refuses puts */
	EVICTING,	/* entries alone; a full belt evicts them */
	LOCKING,	/* locks, and all of PLAIN */
	FORGETFUL,	/* the queue of events has a limit */
	THEMES
};

static __u64 state;

/* xorshift64* (Vigna 2014). */
static __u64 next_random(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dULL;
}

static unsigned int below(unsigned int n)
{
	return (next_random() >> 32) % n;
}

static bool one_in(unsigned int n)
{
	return !below(n);
}

unsigned int value_of(unsigned int number, unsigned char *value)
{
	static const char *const texts[] = {
		"", "0", "-17", "9223372036854775807", "x", "12y", "-9223372036854775808", "4",
	};

	if (number < ARRAY_SIZE(texts)) {
		memcpy(value, texts[number], strlen(texts[number]));
		return strlen(texts[number]);
	}
	memset(value, number, number % 33);
	return number % 33;
}

static __u64 any_ttl(const struct history *history, bool keep)
{
	__u64 ttl = history->settings.ttl_ms;

	switch (below(12)) {
	case 0 ... 3:
		return HASHBELT_TTL_BELT;
	case 4 ... 6:
		return 1 + below(ttl);
	case 7:
		return 1 + below(8 * ttl);
	case 8:
		return one_in(8) ? HASHBELT_TTL_MAX_MS / 8 + below(1000) : 1 + below(100 * ttl);
	case 9:
		return HASHBELT_TTL_NEVER;
	case 10:
		return keep ? HASHBELT_TTL_KEEP : 1 + below(4);
	default:
		if (one_in(20))
			return HASHBELT_TTL_MAX_MS + 1;
		return keep && one_in(2) ? HASHBELT_TTL_KEEP : 1 + below(4);
	}
}

static __u32 any_put(void)
{
	static const __u32 hows[] = {
		HASHBELT_IF_ABSENT, HASHBELT_IF_PRESENT, HASHBELT_IF_VERSION,
		HASHBELT_IF_VERSION | HASHBELT_IF_PRESENT,
		HASHBELT_IF_ABSENT | HASHBELT_IF_PRESENT,
		HASHBELT_IF_LEASE, HASHBELT_IF_LEASE, HASHBELT_IF_LEASE, HASHBELT_IF_LEASE,
		HASHBELT_IF_LEASE | HASHBELT_IF_PRESENT,
		HASHBELT_IF_LEASE | HASHBELT_IF_ABSENT,
		HASHBELT_IF_LEASE | HASHBELT_IF_VERSION,
	};
	__u32 how = one_in(2) ? hows[below(ARRAY_SIZE(hows))] : 0;

	return one_in(6) ? how | HASHBELT_BOUND : how;
}

static __u32 any_get(void)
{
	__u32 how = 0;

	if (one_in(5))
		how |= HASHBELT_AND_TOUCH;
	if (one_in(4))
		how |= HASHBELT_NO_REFRESH;
	if (one_in(4))
		how |= HASHBELT_NO_VALUE;
	return how;
}

static enum pick any_pick(void)
{
	return one_in(4) ? PICK_OLD + below(2) : PICK_CURRENT;
}

static __u64 any_advance(const struct history *history)
{
	__u64 ttl = history->settings.ttl_ms;

	switch (below(8)) {
	case 0:
	case 1:
		return TO_DEADLINE;
	case 2:
		return BEFORE_DEADLINE;
	case 3:
		return 1 + below(ttl);
	case 4:
		return one_in(8) ? 1 + below(200 * ttl) : 1 + below(4 * ttl);
	default:
		return below(1 + ttl / 4);
	}
}

static void any_set(const struct history *history, struct operation *operation)
{
	static const __u32 fields[] = {
		HASHBELT_SET_TTL, HASHBELT_SET_BUCKETS, HASHBELT_SET_POLICY,
		HASHBELT_SET_HANDLER, HASHBELT_SET_REASONS, HASHBELT_SET_MAX_ENTRIES,
		HASHBELT_SET_GRACE,
	};

	operation->set.fields = fields[below(ARRAY_SIZE(fields))];
	if (one_in(3))
		operation->set.fields |= fields[below(ARRAY_SIZE(fields))];
	/* A belt without a limit gets none. */
	if (!history->settings.max_entries)
		operation->set.fields &= ~HASHBELT_SET_MAX_ENTRIES;
	/* Otherwise it would depend on the worker whether an expired entry is reinserted. */
	if (history->settings.handler == HASHBELT_REINSERT)
		operation->set.fields &= ~HASHBELT_SET_HANDLER;
	if (!operation->set.fields)
		operation->set.fields = HASHBELT_SET_TTL;
	operation->ms = 1 + below(2 * history->settings.ttl_ms);
	operation->ahead_ms = one_in(2) ? 0 : below(history->settings.ttl_ms);
	operation->set.buckets = 2 + below(one_in(4) ? 300 : 7);
	operation->set.policy = history->settings.policy ^
				(below(4) & (HASHBELT_REFRESH_ON_GET | HASHBELT_KEEP_ON_PUT));
	operation->set.handler = one_in(3) ? HASHBELT_DROP : HASHBELT_NOTIFY;
	operation->set.reasons = one_in(2) ? HASHBELT_REPORT_ALL : next_random() & 0xbe;
	operation->set.most = 1 + below(KEYS_MAX);
}

/* The weights of the operations in all themes ... */
static const unsigned int common[OPERATION_KINDS] = {
	[GET] = 210, [PUT] = 250, [TOUCH] = 60, [REMOVE] = 50, [EXPIRE] = 40, [ADD] = 50,
	[CLEAR] = 5, [SCAN] = 10, [ADVANCE] = 90, [ROTATE] = 20, [SET] = 10, [READ] = 30,
	[ACK] = 15, [REOPEN] = 8, [CHECK] = 10,
};

/* ... those added in all themes but EVICTING ... */
static const unsigned int waiting[OPERATION_KINDS] = {
	[FILL] = 90, [RENEW_FILL] = 12, [FAIL_FILL] = 10, [GIVE_UP] = 8, [REQUEST] = 35,
	[CANCEL] = 10, [COMPLETE] = 15, [READ_COMPLETIONS] = 15,
};

/* ... and those added in LOCKING. */
static const unsigned int locking[OPERATION_KINDS] = {
	[LOCK] = 250, [UNLOCK] = 80, [RENEW] = 60, [QUERY] = 60, [RELEASE] = 20, [LOCKS] = 20,
};

static unsigned int weight(enum theme theme, enum operation_kind kind)
{
	return common[kind] + (theme == EVICTING ? 0 : waiting[kind]) +
	       (theme == LOCKING ? locking[kind] : 0);
}

static enum operation_kind any_kind(enum theme theme)
{
	unsigned int i, sum = 0, at;

	for (i = 0; i < OPERATION_KINDS; i++)
		sum += weight(theme, i);
	at = below(sum);
	for (i = 0; at >= weight(theme, i); i++)
		at -= weight(theme, i);
	return i;
}

/* Chooses the arguments of an operation. */
static void fill_in(const struct history *history, struct operation *operation)
{
	switch (operation->kind) {
	case GET:
		operation->how = any_get();
		operation->ms = any_ttl(history, false);
		/* In one of 20 the buffer is too small for most values. */
		operation->number = one_in(20) ? 2 : 64;
		break;
	case PUT:
		operation->how = any_put();
		operation->ms = any_ttl(history, true);
		break;
	case FILL:
		operation->how = one_in(3) ? HASHBELT_STALE : 0;
		if (one_in(5))
			operation->how |= HASHBELT_BOUND;
		operation->ms = one_in(3) ? 0 : 1 + below(2 * history->settings.ttl_ms);
		operation->ahead_ms = one_in(3) ? 1 + below(history->settings.ttl_ms) : 0;
		break;
	case RENEW_FILL:
	case FAIL_FILL:
		operation->ms = one_in(3) ? 0 : one_in(20) ? HASHBELT_TTL_MAX_MS + 1 :
				1 + below(2 * history->settings.ttl_ms);
		break;
	case ADD:
		operation->how = one_in(4) ? HASHBELT_IF_PRESENT : 0;
		if (one_in(3))
			operation->how |= HASHBELT_FLOOR;
		operation->ms = any_ttl(history, false);
		operation->floor = one_in(8) ? INT64_MIN : one_in(8) ? INT64_MAX :
				   (__s64)below(60) - 30;
		break;
	case REMOVE:
		operation->how = one_in(3) ? HASHBELT_IF_VERSION : 0;
		if (one_in(3))
			operation->how |= HASHBELT_LEAVE_STALE;
		break;
	case ADVANCE:
		operation->ms = any_advance(history);
		break;
	case SET:
		any_set(history, operation);
		break;
	case LOCK:
	case RENEW:
		if (operation->kind == LOCK)
			operation->how = (one_in(4) ? HASHBELT_BOUND : 0) |
					 (one_in(5) ? HASHBELT_IF_ABSENT : 0);
		operation->ms = one_in(3) ? 0 : 1 + below(history->settings.ttl_ms + one_in(20));
		operation->number = below(OWNERS);
		break;
	case UNLOCK:
	case QUERY:
	case RELEASE:
	case LOCKS:
		operation->number = below(OWNERS);
		break;
	case REQUEST:
	case CANCEL:
		operation->number = below(IDS);
		operation->ms = any_ttl(history, false);
		operation->keys = 1 << below(history->keys);
		while (one_in(2))
			operation->keys |= 1 << below(history->keys);
		break;
	case READ:
		operation->number = one_in(3) ? 200 : 1 + below(4);
		break;
	default:
		operation->ms = any_ttl(history, false);
		break;
	}
}

static struct operation any_operation(const struct history *history, enum theme theme)
{
	struct operation operation = {
		.kind = any_kind(theme),
		.key = below(history->keys),
		.fd = below(DESCRIPTORS),
		.pick = any_pick(),
		.number = below(40),
		.flags = next_random(),
		.joined = !one_in(4),
	};

	fill_in(history, &operation);
	/* With a limited queue the events are not held. */
	if (operation.kind == READ && (theme == FORGETFUL || one_in(2)))
		operation.fd = READER;
	else if (operation.kind == READ)
		operation.fd = ACKER;
	return operation;
}

static void any_belt(struct history *history, enum theme theme)
{
	static const __u32 reasons[] = { 0, HASHBELT_REPORT_ALL, HASHBELT_REPORT_ALL };
	struct hashbelt_settings *settings = &history->settings;

	*settings = (struct hashbelt_settings){
		.ttl_ms = one_in(3) ? 1 + below(12) : 10 + below(100),
		.buckets = one_in(4) ? 2 + below(100) : 2 + below(6),
		.mode = 0600,
		.handler = one_in(5) ? HASHBELT_DROP : HASHBELT_NOTIFY,
		.reasons = reasons[below(ARRAY_SIZE(reasons))],
		.grace_ms = one_in(3) ? 1 + below(60) : 0,
	};
	if (one_in(3))
		settings->policy |= HASHBELT_REFRESH_ON_GET;
	if (one_in(6))
		settings->policy |= HASHBELT_KEEP_ON_PUT;
	if (one_in(8))
		settings->policy |= HASHBELT_WIPE;
	if (one_in(5))
		settings->handler = HASHBELT_REINSERT;
	if (theme == EVICTING)
		settings->policy |= HASHBELT_EVICT;
	/* An entry could expire, be reinserted and be evicted before a scan sees it. */
	if (theme == EVICTING && settings->handler == HASHBELT_REINSERT)
		settings->handler = HASHBELT_NOTIFY;
	if (theme == LOCKING)
		settings->policy |= HASHBELT_PINNED;
	if (theme == EVICTING || theme == REJECTING)
		settings->max_entries = 1 + below(history->keys);
	if (theme == FORGETFUL)
		settings->max_events = 1 + below(8);
}

void generate(struct history *history, __u64 seed)
{
	enum theme theme;
	unsigned int i;

	state = seed * 0x9e3779b97f4a7c15ULL ^ 0x6a09e667f3bcc909ULL;
	for (i = 0; i < 4; i++)
		next_random();
	history->seed = seed;
	history->keys = 2 + below(KEYS_MAX - 1);
	theme = below(THEMES);
	any_belt(history, theme);
	history->length = 50 + below(LENGTH_MAX - 50);
	for (i = 0; i < history->length; i++)
		history->operations[i] = any_operation(history, theme);
}

/* Printing. What is 0 is left out. */

static void print_number(const char *name, __u64 number)
{
	if (number == HASHBELT_TTL_NEVER)
		printf(" %s=never", name);
	else if (number == HASHBELT_TTL_KEEP)
		printf(" %s=keep", name);
	else if (number)
		printf(" %s=%llu", name, number);
}

void print_settings(const struct history *history)
{
	const struct hashbelt_settings *is = &history->settings;

	printf("#   belt: %u keys, ttl=%llu ms, buckets=%u, policy=%#x, handler=%u, reasons=%#x",
	       history->keys, is->ttl_ms, is->buckets, is->policy, is->handler, is->reasons);
	printf(", max_entries=%llu, max_events=%llu, grace=%llu ms\n",
	       is->max_entries, is->max_events, is->grace_ms);
}

static void print_how(__u32 how)
{
	static const struct {
		__u32 bit;
		const char *name;
	} names[] = {
		{ HASHBELT_IF_ABSENT, "if-absent" }, { HASHBELT_IF_PRESENT, "if-present" },
		{ HASHBELT_IF_VERSION, "if-version" }, { HASHBELT_IF_LEASE, "if-lease" },
		{ HASHBELT_AND_TOUCH, "and-touch" },
		{ HASHBELT_NO_REFRESH, "no-refresh" }, { HASHBELT_NO_VALUE, "no-value" },
		{ HASHBELT_BOUND, "bound" }, { HASHBELT_STALE, "stale" },
		{ HASHBELT_FLOOR, "floor" }, { HASHBELT_LEAVE_STALE, "leave-stale" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (how & names[i].bit)
			printf(" %s", names[i].name);
}

static void print_set(const struct operation *operation)
{
	__u32 fields = operation->set.fields;

	print_number("ttl", fields & HASHBELT_SET_TTL ? operation->ms : 0);
	print_number("buckets", fields & HASHBELT_SET_BUCKETS ? operation->set.buckets : 0);
	if (fields & HASHBELT_SET_POLICY)
		printf(" policy=%#x", operation->set.policy);
	if (fields & HASHBELT_SET_HANDLER)
		printf(" handler=%u", operation->set.handler);
	if (fields & HASHBELT_SET_REASONS)
		printf(" reasons=%#x", operation->set.reasons);
	print_number("max_entries", fields & HASHBELT_SET_MAX_ENTRIES ? operation->set.most : 0);
	if (fields & HASHBELT_SET_GRACE)
		printf(" grace=%llu", operation->ahead_ms);
}

/* @number: of a value, an owner or an id, or the events to read. */
void print_operation(const struct operation *operation)
{
	static const char *const names[OPERATION_KINDS] = {
		"get", "put", "touch", "remove", "expire", "add", "fill", "renew-fill",
		"fail-fill", "give-up", "clear", "scan", "advance", "rotate", "set", "read",
		"ack", "reopen", "lock", "unlock", "renew", "query", "release",
		"locks", "request", "cancel", "complete", "read-completions", "check",
	};
	static const char *const picks[] = { "current", "old", "none" };

	printf("%s", names[operation->kind]);
	if (operation->kind == SET) {
		print_set(operation);
	} else if (operation->kind == ADVANCE && operation->ms >= BEFORE_DEADLINE) {
		printf(" to %sthe next deadline",
		       operation->ms == TO_DEADLINE ? "" : "1 ms before ");
	} else {
		printf(" key=%u fd=%u number=%u (%s)", operation->key, operation->fd,
		       operation->number, picks[operation->pick]);
		print_how(operation->how);
		print_number("ms", operation->ms);
		print_number("ahead", operation->ahead_ms);
		if (operation->how & HASHBELT_FLOOR)
			printf(" floor=%lld", operation->floor);
		if (operation->kind == REQUEST)
			printf(" keys=%#x", operation->keys);
	}
	printf("\n");
}
