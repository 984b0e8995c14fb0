// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "call.h"

/* All processes use the same keys and owners. */
#define KEY_COUNT	16
#define OWNER_COUNT	4

#define FIELD(type, member, kind, bound) \
	{ #member, offsetof(struct type, member), \
	  sizeof(((struct type *)0)->member) > 8 ? 8 : sizeof(((struct type *)0)->member), \
	  kind, 0, bound }
#define POINTER(type, member, kind, length) \
	{ #member, offsetof(struct type, member), 8, kind, offsetof(struct type, length), 0 }
#define BELT_NAME(type, may_be_none) \
	{ "name", offsetof(struct type, name), HASHBELT_NAME_SIZE, NAME, 0, may_be_none }

/* The fields of an item that an operation uses. */
#define ITEM(value_field, how_bits) { \
	POINTER(hashbelt_item, key, KEY, key_len), \
	value_field, \
	FIELD(hashbelt_item, key_len, LENGTH, 0), \
	FIELD(hashbelt_item, value_len, LENGTH, 0), \
	FIELD(hashbelt_item, how, BITS, how_bits), \
	FIELD(hashbelt_item, flags, ANY, 0), \
	FIELD(hashbelt_item, ttl_ms, LIFE, 0), \
	FIELD(hashbelt_item, version, VERSION, 0), \
	FIELD(hashbelt_item, op, ZERO, 0), \
	FIELD(hashbelt_item, result, ANY, 0), \
	FIELD(hashbelt_item, reserved, ZERO, 0), {} }
#define VALUE_OF(kind)	POINTER(hashbelt_item, value, kind, value_len)
#define NO_VALUE	FIELD(hashbelt_item, value, ANY, 0)
#define GET_BITS	(HASHBELT_AND_TOUCH | HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE | \
			 HASHBELT_TO_WINDOW)
#define PUT_BITS	(HASHBELT_IF_ABSENT | HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION | \
			 HASHBELT_BOUND | HASHBELT_IF_LEASE)
#define ADD_BITS	(HASHBELT_IF_PRESENT | HASHBELT_FLOOR)
#define EXPIRE_BITS	(HASHBELT_IF_LASTING | HASHBELT_IF_EXPIRING)
#define TOUCH_BITS	(EXPIRE_BITS | HASHBELT_IF_LATER | HASHBELT_IF_SOONER | \
			 HASHBELT_FROM_DEADLINE | HASHBELT_IF_VERSION | HASHBELT_BOUND)
#define REMOVE_BITS	(HASHBELT_IF_VERSION | HASHBELT_LEAVE_STALE)

static const struct field get_fields[] = ITEM(VALUE_OF(BUFFER), GET_BITS);
static const struct field put_fields[] = ITEM(VALUE_OF(VALUE), PUT_BITS);
static const struct field add_fields[] = ITEM(VALUE_OF(SUM), ADD_BITS);
static const struct field remove_fields[] = ITEM(NO_VALUE, REMOVE_BITS);
static const struct field touch_fields[] = ITEM(NO_VALUE, TOUCH_BITS);
static const struct field key_fields[] = ITEM(NO_VALUE, EXPIRE_BITS);

static const struct field fill_fields[] = {
	POINTER(hashbelt_fill, item.key, KEY, item.key_len),
	POINTER(hashbelt_fill, item.value, BUFFER, item.value_len),
	FIELD(hashbelt_fill, item.key_len, LENGTH, 0),
	FIELD(hashbelt_fill, item.value_len, LENGTH, 0),
	FIELD(hashbelt_fill, item.how, BITS, GET_BITS),
	FIELD(hashbelt_fill, item.ttl_ms, LIFE, 0),
	FIELD(hashbelt_fill, item.op, ZERO, 0),
	FIELD(hashbelt_fill, item.reserved, ZERO, 0),
	FIELD(hashbelt_fill, lease_ms, LIFE, 0),
	FIELD(hashbelt_fill, wait_ms, WAIT, 0),
	FIELD(hashbelt_fill, ahead_ms, LIFE, 0),
	FIELD(hashbelt_fill, token, TOKEN, 0),
	FIELD(hashbelt_fill, how, BITS, HASHBELT_BOUND | HASHBELT_STALE),
	FIELD(hashbelt_fill, state, ANY, 0),
	FIELD(hashbelt_fill, reserved, ZERO, 0),
	{}
};

/* The holder of a fill lease puts the value ... */
static const struct field fill_put_fields[] = {
	POINTER(hashbelt_item, key, KEY, key_len),
	VALUE_OF(VALUE),
	FIELD(hashbelt_item, key_len, LENGTH, 0),
	FIELD(hashbelt_item, value_len, LENGTH, 0),
	FIELD(hashbelt_item, how, FIXED, HASHBELT_IF_LEASE),
	FIELD(hashbelt_item, ttl_ms, LIFE, 0),
	FIELD(hashbelt_item, version, TOKEN, 0),
	{}
};

/* ... or changes the lease. */
#define CHANGE_FILL(how_bit) { \
	POINTER(hashbelt_fill, item.key, KEY, item.key_len), \
	FIELD(hashbelt_fill, item.key_len, LENGTH, 0), \
	FIELD(hashbelt_fill, token, TOKEN, 0), \
	FIELD(hashbelt_fill, lease_ms, BELOW, 300), \
	FIELD(hashbelt_fill, how, FIXED, how_bit), {} }

static const struct field give_up_fields[] = CHANGE_FILL(HASHBELT_GIVE_UP);
static const struct field renew_fill_fields[] = CHANGE_FILL(HASHBELT_RENEW_LEASE);
static const struct field fail_fields[] = CHANGE_FILL(HASHBELT_FAIL);

static const struct field batch_fields[] = {
	POINTER(hashbelt_batch, items, ITEMS, count),
	FIELD(hashbelt_batch, count, LENGTH, 0),
	FIELD(hashbelt_batch, flags, ZERO, 0),
	FIELD(hashbelt_batch, reserved, ZERO, 0),
	{}
};

static const struct field scan_fields[] = {
	POINTER(hashbelt_scan, buffer, BUFFER, size),
	FIELD(hashbelt_scan, size, LENGTH, 0),
	FIELD(hashbelt_scan, cursor, CURSOR, 0),
	FIELD(hashbelt_scan, reserved, ZERO, 0),
	{}
};

static const struct field info_fields[] = {
	BELT_NAME(hashbelt_info, true),
	{}
};

static const struct field stat_fields[] = {
	POINTER(hashbelt_stat, counters, WORDS, count),
	POINTER(hashbelt_stat, lags, WORDS, lag_count),
	FIELD(hashbelt_stat, count, LENGTH, 0),
	FIELD(hashbelt_stat, lag_count, LENGTH, 0),
	{}
};

static const struct field buckets_fields[] = {
	POINTER(hashbelt_buckets, counts, WORDS, count),
	FIELD(hashbelt_buckets, count, LENGTH, 0),
	FIELD(hashbelt_buckets, cursor, CURSOR, 0),
	FIELD(hashbelt_buckets, reserved, ZERO, 0),
	{}
};

#define SETTINGS(name, fields) { \
	name, \
	FIELD(hashbelt_settings, ttl_ms, SPAN, 0), \
	FIELD(hashbelt_settings, buckets, BELOW, 70), \
	FIELD(hashbelt_settings, policy, POLICY, 0), \
	FIELD(hashbelt_settings, mode, MODE, 0), \
	fields, \
	FIELD(hashbelt_settings, handler, BELOW, 3), \
	FIELD(hashbelt_settings, reasons, BITS, HASHBELT_REPORT_ALL), \
	FIELD(hashbelt_settings, gid, BELOW, 2), \
	FIELD(hashbelt_settings, consumers, BELOW, 2), \
	FIELD(hashbelt_settings, max_entries, LIMIT, 100), \
	FIELD(hashbelt_settings, max_bytes, LIMIT, 100000), \
	FIELD(hashbelt_settings, max_events, LIMIT, 30), \
	FIELD(hashbelt_settings, grace_ms, SPAN, 0), \
	FIELD(hashbelt_settings, window_bytes, WINDOW, 0), \
	FIELD(hashbelt_settings, reserved, ZERO, 0), {} }

static const struct field create_fields[] = SETTINGS(BELT_NAME(hashbelt_settings, true),
	FIELD(hashbelt_settings, fields, RARE, HASHBELT_SET_GID));
static const struct field set_fields[] = SETTINGS(FIELD(hashbelt_settings, name, ZERO, 0),
	FIELD(hashbelt_settings, fields, BITS, HASHBELT_SET_ALL));

static const struct field window_fields[] = {
	FIELD(hashbelt_window_map, bytes, BYTES, 0),
	FIELD(hashbelt_window_map, shift_ns, ANY, 0),
	FIELD(hashbelt_window_map, reserved, ZERO, 0),
	{}
};

static const struct field name_fields[] = {
	BELT_NAME(hashbelt_name, false),
	FIELD(hashbelt_name, flags, ZERO, 0),
	FIELD(hashbelt_name, uid, ZERO, 0),
	{}
};

static const struct field request_fields[] = {
	POINTER(hashbelt_request, keys, KEYLIST, count),
	FIELD(hashbelt_request, count, LENGTH, 0),
	FIELD(hashbelt_request, id, ID, 0),
	FIELD(hashbelt_request, flags, ZERO, 0),
	FIELD(hashbelt_request, ttl_ms, LIFE, 0),
	FIELD(hashbelt_request, reserved, ZERO, 0),
	{}
};

static const struct field complete_fields[] = {
	POINTER(hashbelt_key, key, KEY, key_len),
	FIELD(hashbelt_key, key_len, LENGTH, 0),
	FIELD(hashbelt_key, count, ZERO, 0),
	{}
};

#define LOCK(owner_kind, how_bits, wait_kind) { \
	POINTER(hashbelt_lock, key, KEY, key_len), \
	POINTER(hashbelt_lock, owner, owner_kind, owner_len), \
	FIELD(hashbelt_lock, key_len, LENGTH, 0), \
	FIELD(hashbelt_lock, owner_len, LENGTH, 0), \
	FIELD(hashbelt_lock, how, BITS, how_bits), \
	FIELD(hashbelt_lock, reserved32, ZERO, 0), \
	FIELD(hashbelt_lock, ttl_ms, BELOW, 300), \
	FIELD(hashbelt_lock, wait_ms, wait_kind, 0), \
	FIELD(hashbelt_lock, token, TOKEN, 0), \
	FIELD(hashbelt_lock, reserved, ZERO, 0), {} }

static const struct field lock_fields[] = LOCK(OWNER, HASHBELT_BOUND | HASHBELT_IF_ABSENT, WAIT);
static const struct field unlock_fields[] = LOCK(OWNER, 0, ZERO);
static const struct field holder_fields[] = LOCK(BUFFER, 0, ZERO);

static const struct field locks_fields[] = {
	POINTER(hashbelt_locks, owner, OWNER, owner_len),
	POINTER(hashbelt_locks, buffer, BUFFER, size),
	FIELD(hashbelt_locks, owner_len, LENGTH, 0),
	FIELD(hashbelt_locks, size, LENGTH, 0),
	FIELD(hashbelt_locks, cursor, CURSOR, 0),
	FIELD(hashbelt_locks, reserved, ZERO, 0),
	{}
};

static const struct field advance_fields[] = { { "ms", 0, 8, SPAN, 0, 0 }, {} };
static const struct field watch_fields[] = { { "flags", 0, 4, BITS, 0, 3 }, {} };
static const struct field ack_fields[] = { { "sequence", 0, 8, SEQUENCE, 0, 0 }, {} };
static const struct field cancel_fields[] = { { "id", 0, 8, ID, 0, 0 }, {} };
static const struct field no_fields[] = { {} };

#define ON(name, weight, type, fields) \
	{ #name, IOCTL, weight, sizeof(type), HASHBELT_IOC_ ## name, fields }
#define ALONE(name, weight) \
	{ #name, IOCTL, weight, 0, HASHBELT_IOC_ ## name, no_fields }
#define OTHERWISE(name, act, weight) \
	{ name, act, weight, 0, 0, no_fields }

/* The operations on items come first, in the order of enum hashbelt_op. */
const struct call calls[] = {
	ON(GET, 6, struct hashbelt_item, get_fields),
	ON(PUT, 8, struct hashbelt_item, put_fields),
	ON(TOUCH, 3, struct hashbelt_item, touch_fields),
	ON(REMOVE, 3, struct hashbelt_item, remove_fields),
	ON(EXPIRE, 3, struct hashbelt_item, key_fields),
	ON(ADD, 3, struct hashbelt_item, add_fields),
	ON(BATCH, 4, struct hashbelt_batch, batch_fields),
	ON(SCAN, 3, struct hashbelt_scan, scan_fields),
	ALONE(CLEAR, 2),
	ON(FILL, 5, struct hashbelt_fill, fill_fields),
	{ "FILL_PUT", IOCTL, 3, sizeof(struct hashbelt_item), HASHBELT_IOC_PUT, fill_put_fields },
	{ "GIVE_UP", IOCTL, 1, sizeof(struct hashbelt_fill), HASHBELT_IOC_FILL, give_up_fields },
	{ "RENEW_FILL", IOCTL, 1, sizeof(struct hashbelt_fill), HASHBELT_IOC_FILL,
	  renew_fill_fields },
	{ "FAIL", IOCTL, 1, sizeof(struct hashbelt_fill), HASHBELT_IOC_FILL, fail_fields },
	ON(INFO, 2, struct hashbelt_info, info_fields),
	ON(STAT, 2, struct hashbelt_stat, stat_fields),
	ALONE(HALT, 2),
	ALONE(RESUME, 2),
	ALONE(ROTATE, 2),
	ON(ADVANCE, 3, __u64, advance_fields),
	ON(SET, 2, struct hashbelt_settings, set_fields),
	ON(BUCKETS, 2, struct hashbelt_buckets, buckets_fields),
	ON(WINDOW, 2, struct hashbelt_window_map, window_fields),
	ON(WATCH, 2, __u32, watch_fields),
	ON(ACK, 3, __u64, ack_fields),
	ON(REQUEST, 5, struct hashbelt_request, request_fields),
	ON(CANCEL, 2, __u64, cancel_fields),
	ON(COMPLETE, 2, struct hashbelt_key, complete_fields),
	ON(CREATE, 2, struct hashbelt_settings, create_fields),
	ON(OPEN, 5, struct hashbelt_name, name_fields),
	ON(DESTROY, 1, struct hashbelt_name, name_fields),
	ON(NEXT, 2, struct hashbelt_info, info_fields),
	ON(LOCK, 6, struct hashbelt_lock, lock_fields),
	ON(UNLOCK, 2, struct hashbelt_lock, unlock_fields),
	ON(RENEW, 2, struct hashbelt_lock, unlock_fields),
	ON(HOLDER, 2, struct hashbelt_lock, holder_fields),
	ON(RELEASE, 1, struct hashbelt_lock, unlock_fields),
	ON(LOCKS, 2, struct hashbelt_locks, locks_fields),
	ALONE(ABI, 1),
	OTHERWISE("open", OPEN, 5),
	OTHERWISE("close", CLOSE, 3),
	OTHERWISE("dup", DUP, 2),
	OTHERWISE("read", READ, 6),
	OTHERWISE("poll", POLL, 2),
	OTHERWISE("fork", FORK, 1),
	OTHERWISE("sleep", SLEEP, 1),
	OTHERWISE("map", MAP, 4),
	OTHERWISE("unmap", LET_GO, 1),
	OTHERWISE("look", LOOK, 3),
	OTHERWISE("unknown", UNKNOWN, 1),
	OTHERWISE("other", OTHER, 1),
};

const unsigned int call_count = ARRAY_SIZE(calls);

/* splitmix64 (Vigna): any state is valid. */
uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

unsigned int random_below(uint64_t *state, unsigned int bound)
{
	return (random_next(state) >> 32) % bound;
}

/* Limits: bugs are likely at these numbers, and at the numbers next to them. */
static const uint64_t edges[] = {
	0, 1, 2, 8, 16, 64, HASHBELT_REQUEST_KEYS, HASHBELT_KEY_MAX, PIECE, HASHBELT_BUCKETS_MAX,
	HASHBELT_WINDOW_MIN, HASHBELT_SCAN_MAX, HASHBELT_WINDOW_MAX, 0x7fffffff, 0xffffffff,
	1ull << 32, HASHBELT_TTL_MAX_MS,
	~0ull >> 1, 1ull << 63, ~0ull / 1000000, ~0ull,
};

uint64_t random_word(uint64_t *state)
{
	uint64_t edge = edges[random_below(state, ARRAY_SIZE(edges))];

	switch (random_below(state, 8)) {
	case 0:
		return random_next(state);
	case 1:
		return random_below(state, 300);
	case 2:
		return 1ull << random_below(state, 64);
	case 3:
		return edge + 1;
	case 4:
		return edge - 1;
	default:
		return edge;
	}
}

const struct field *call_field(const struct call *call, unsigned int index)
{
	return &call->fields[index];
}

unsigned int call_fields(const struct call *call)
{
	unsigned int n = 0;

	while (call->fields[n].name)
		n++;
	return n;
}

uint64_t field_get(const struct field *field, const unsigned char *argument)
{
	uint64_t value = 0;

	memcpy(&value, argument + field->offset, field->size > 8 ? 8 : field->size);
	return value;
}

void field_set(const struct field *field, unsigned char *argument, uint64_t value)
{
	memcpy(argument + field->offset, &value, field->size > 8 ? 8 : field->size);
}

/* The arena */

static unsigned int key_length(unsigned int key)
{
	static const unsigned int lengths[KEY_COUNT] = {
		8, 16, 3, 1, 17, 64, 63, 5, 40, 100, 255, 7, 9, 512, 1023, HASHBELT_KEY_MAX,
	};

	return lengths[key];
}

static unsigned long key_at(unsigned int key)
{
	return KEYS_AT + (key + 1) * 2048 - key_length(key);
}

/* Digits, for values to which ADD can add. */
#define DIGITS_AT	(KEYS_AT + 10 * PIECE)
#define SUM_AT		(KEYS_AT + 11 * PIECE)
#define OWNERS_AT	(KEYS_AT + 12 * PIECE)

static bool map(unsigned long at, size_t size, int protection)
{
	return mmap((void *)at, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		    -1, 0) != MAP_FAILED;
}

/* Writes keys, owners and numbers, or restores them: a call whose parts overlap changes them. */
void arena_fill(void)
{
	struct hashbelt_sum *sum = (void *)SUM_AT;
	unsigned int i;

	for (i = 0; i < KEY_COUNT; i++)
		memset((void *)key_at(i), 'a' + i, key_length(i));
	for (i = 0; i < OWNER_COUNT; i++)
		memset((void *)(OWNERS_AT + i * HASHBELT_OWNER_MAX), '0' + i,
		       HASHBELT_OWNER_MAX);
	memset((void *)DIGITS_AT, '7', 32);
	sum->by = 1;
	sum->value = 5;
}

/* Maps the arena, or restores it after meddling. */
bool arena_map(void)
{
	if (!map(KEYS_AT, KEYS_SIZE, PROT_READ | PROT_WRITE) ||
	    !map(ARRAY_AT, ARRAY_LENGTH, PROT_READ | PROT_WRITE) ||
	    !map(VALUE_AT, VALUE_SIZE, PROT_READ | PROT_WRITE) ||
	    !map(ARGUMENT_AT, ARGUMENT_SIZE, PROT_READ | PROT_WRITE) ||
	    !map(READONLY_AT, PIECE, PROT_READ | PROT_WRITE) ||
	    !map(HOLE_AT, PIECE, PROT_NONE))
		return false;
	arena_fill();
	return true;
}

/* Arguments */

static void set_pair(const struct field *field, unsigned char *argument, uint32_t value)
{
	memcpy(argument + field->pair, &value, sizeof(value));
}

/* Lengths of values and buffers: mostly small, up to the greatest allowed. */
static uint32_t likely_size(uint64_t *random)
{
	static const uint32_t sizes[] = {
		0, 1, 8, 15, 64, 100, 1000, 4000, 4096, 4097, 10000, 65536, 300000,
		HASHBELT_VALUE_MAX,
	};
	unsigned int most = random_below(random, 8) ? 9 : ARRAY_SIZE(sizes);

	return sizes[random_below(random, most)];
}

static uint64_t likely_ttl(uint64_t *random)
{
	switch (random_below(random, 8)) {
	case 0:
		return HASHBELT_TTL_NEVER;
	case 1:
		return HASHBELT_TTL_KEEP;
	case 2:
		return 1ull << random_below(random, 43);
	case 3:
		return random_below(random, 20);
	case 4:
	case 5:
		return random_below(random, 5000);
	default:
		return HASHBELT_TTL_BELT;
	}
}

static void likely_name(uint64_t *random, bool may_be_none, unsigned char *name)
{
	static const char * const strange[] = { "default", "a/b", "\t", "gone", "" };
	unsigned int choice = random_below(random, 64);

	memset(name, 0, HASHBELT_NAME_SIZE);
	if (choice < ARRAY_SIZE(strange)) {
		memcpy(name, strange[choice], strlen(strange[choice]));
	} else if (choice == ARRAY_SIZE(strange)) {
		memset(name, 'x', HASHBELT_NAME_SIZE - random_below(random, 2));
	} else if (!may_be_none || choice % 4 == 0) {
		memset(name, 'f', 3);
		name[3] = 'a' + choice / 4 % NAMES;
	}
}

/* A pointer; sets the length that belongs to it. */
static uint64_t likely_pointer(const struct field *field, uint64_t *random,
			       unsigned char *argument)
{
	unsigned int n;

	switch (field->kind) {
	case KEY:
		n = random_below(random, random_below(random, 4) ? 3 : KEY_COUNT);
		set_pair(field, argument, key_length(n));
		return key_at(n);
	case OWNER:
		n = random_below(random, OWNER_COUNT);
		set_pair(field, argument, n ? 8 * n : HASHBELT_OWNER_MAX);
		return OWNERS_AT + n * HASHBELT_OWNER_MAX;
	case SUM:
		set_pair(field, argument, sizeof(struct hashbelt_sum));
		return SUM_AT;
	case ITEMS:
		n = random_below(random, 40) ? 1 + random_below(random, 12) :
					       random_below(random, HASHBELT_BATCH_MAX + 2);
		set_pair(field, argument, n);
		return ARRAY_AT + ARRAY_LENGTH - n * sizeof(struct hashbelt_item);
	case KEYLIST:
		n = 1 + random_below(random, random_below(random, 8) ? 4 : 17);
		set_pair(field, argument, n);
		return ARRAY_AT + ARRAY_LENGTH - n * sizeof(struct hashbelt_key);
	case WORDS:
		n = random_below(random, random_below(random, 16) ? 100 : 70000);
		set_pair(field, argument, n);
		return VALUE_AT + VALUE_SIZE - n * sizeof(__u64);
	default:
		n = likely_size(random);
		if (field->kind == VALUE && random_below(random, 2)) {
			n = random_below(random, 20);
			set_pair(field, argument, n);
			return DIGITS_AT;
		}
		set_pair(field, argument, n);
		return VALUE_AT + VALUE_SIZE - n;
	}
}

/*
 * Lets parts of a call overlap: moves a buffer over the key or the owner that the call reads, or
 * over its argument. The key is before or behind the end of the buffer, or inside of it.
 */
static void overlap(const struct call *call, uint64_t *random, unsigned char *argument)
{
	const struct field *field, *read = NULL;
	uint64_t at = ARGUMENT_AT + ARGUMENT_SIZE - call->size;

	for (field = call->fields; field->name; field++)
		if (field->kind == KEY || field->kind == OWNER || field->kind == ITEMS ||
		    field->kind == KEYLIST)
			read = field;
	if (read && random_below(random, 3))
		at = field_get(read, argument);
	for (field = call->fields; field->name; field++)
		if (field->kind == BUFFER || field->kind == WORDS || field->kind == SUM)
			field_set(field, argument, at - random_below(random, 48) +
				  random_below(random, 16));
	if (read && !random_below(random, 4))
		field_set(read, argument, ARGUMENT_AT + ARGUMENT_SIZE - call->size +
			  random_below(random, call->size));
}

/* A subset of @bits: mostly none or one of them. */
static uint64_t likely_bits(uint64_t *random, uint64_t bits)
{
	switch (random_below(random, 4)) {
	case 0:
		return random_next(random) & bits;
	case 1:
		return 1ull << random_below(random, 12) & bits;
	case 2:
		return bits ? bits & -bits : 0;
	default:
		return 0;
	}
}

static uint64_t likely_word(const struct field *field, uint64_t *random)
{
	static const unsigned int policies[] = {
		0, 0, HASHBELT_REFRESH_ON_GET, HASHBELT_KEEP_ON_PUT, HASHBELT_EVICT,
		HASHBELT_PINNED, HASHBELT_PINNED | HASHBELT_WIPE,
	};
	static const unsigned int modes[] = { 0600, 0666, 0666, 0660, 0444, 0222, 0, 0640 };

	switch (field->kind) {
	case BITS:
		return likely_bits(random, field->bound);
	case RARE:
		return random_below(random, 16) ? 0 : field->bound;
	case FIXED:
		return field->bound;
	case BELOW:
		return random_below(random, field->bound);
	case LIFE:
		return likely_ttl(random);
	case SPAN:
		return random_below(random, 2) ? 0 : random_below(random, 2) ?
			random_below(random, 5000) : 1ull << random_below(random, 43);
	case POLICY:
		return random_below(random, 8) ?
			policies[random_below(random, ARRAY_SIZE(policies))] :
			random_below(random, 32);
	case WAIT:
		if (random_below(random, 3))
			return 0;
		if (random_below(random, 2))
			return 1 + random_below(random, 50);
		return random_below(random, 4) ? HASHBELT_TTL_NEVER :
			HASHBELT_WAIT_UNTIL | (uint64_t)random_below(random, 1u << 31) << 10;
	case MODE:
		return modes[random_below(random, ARRAY_SIZE(modes))];
	case LIMIT:
		return random_below(random, 3) ? 0 : random_below(random, field->bound);
	case WINDOW:
		return random_below(random, 3) ? 0 :
			HASHBELT_WINDOW_MIN << random_below(random,
							    random_below(random, 8) ? 3 : 9);
	case CURSOR:
		return random_below(random, 3) ? 0 : ~0ull - CURSOR;
	case ID:
		return random_below(random, 4);
	case ANY:
		return random_next(random);
	default:
		/* A mark for the last returned value: execution.c replaces it. */
		return field->kind >= VERSION ? ~0ull - field->kind : 0;
	}
}

/* Makes a likely argument; in one of 8 parts overlap, and one of 16 has an unlikely value. */
void call_fill(const struct call *call, uint64_t seed, unsigned char *argument)
{
	const struct field *field;
	uint64_t random = seed;

	memset(argument, 0, ARGUMENT_MAX);
	for (field = call->fields; field->name; field++) {
		if (field->kind == LENGTH)
			continue;
		if (field->kind == NAME)
			likely_name(&random, field->bound, argument + field->offset);
		else if (field->pair)
			field_set(field, argument, likely_pointer(field, &random, argument));
		else
			field_set(field, argument, likely_word(field, &random));
	}
	if (!random_below(&random, 8))
		overlap(call, &random, argument);
	if (random_below(&random, 16))
		return;
	field = call_field(call, random_below(&random, call_fields(call) + 1));
	if (field->name)
		field_set(field, argument, random_word(&random));
}

static void make_items(uint64_t seed, uint32_t count, struct hashbelt_item *items)
{
	unsigned char argument[ARGUMENT_MAX];
	uint64_t random = seed;
	uint32_t i, op;

	for (i = 0; i < count; i++) {
		op = HASHBELT_OP_GET + random_below(&random, HASHBELT_OP_ADD);
		call_fill(&calls[op - HASHBELT_OP_GET], random_next(&random), argument);
		memcpy(&items[i], argument, sizeof(items[i]));
		items[i].op = random_below(&random, 64) ? op : random_word(&random);
	}
}

static void make_keys(uint64_t seed, uint32_t count, struct hashbelt_key *keys)
{
	uint64_t random = seed;
	uint32_t i, key;

	for (i = 0; i < count; i++) {
		key = random_below(&random, random_below(&random, 4) ? 4 : KEY_COUNT);
		keys[i] = (struct hashbelt_key){
			.key = key_at(key), .key_len = key_length(key),
		};
		if (!random_below(&random, 64))
			keys[i].key_len = random_word(&random);
		if (!random_below(&random, 64))
			keys[i].key = random_word(&random);
	}
}

/* Makes the array that an argument points to, if any. */
void call_arrays(const struct call *call, uint64_t seed, const unsigned char *argument)
{
	const struct field *field = call->fields;
	uint64_t from;

	if (!field->name || (field->kind != ITEMS && field->kind != KEYLIST))
		return;
	from = field_get(field, argument);
	if (from < ARRAY_AT || from > ARRAY_AT + ARRAY_LENGTH)
		return;
	/* Up to the end of the area: the count may have been changed. */
	from = ARRAY_AT + ARRAY_LENGTH - from;
	if (field->kind == ITEMS)
		make_items(seed, from / sizeof(struct hashbelt_item),
			   (void *)(uintptr_t)field_get(field, argument));
	else
		make_keys(seed, from / sizeof(struct hashbelt_key),
			  (void *)(uintptr_t)field_get(field, argument));
}
