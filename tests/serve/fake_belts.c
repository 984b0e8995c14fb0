// SPDX-License-Identifier: GPL-2.0-only
/*
 * belts.h without the module: entries are in the memory of this process, in one table of all
 * workers. For tests and fuzzers of hbserve.
 *
 * All names are belts, but for "gone": each call finds that it was destroyed. A put of a key that
 * begins with "full" finds no room, and of one that begins with "brim" none over an entry. After
 * each get of a key that begins with "moved" another caller gives the entry 1000 s to live, and of
 * one that begins with "kept" for ever. A belt whose name begins with "other" does not report what
 * expires. FAKE_GRACE_MS in the environment is the grace time. FAKE_KEEP is set for belts that keep
 * present entries.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "belts.h"
#include "options.h"

/* A program that includes this file may choose a number: more than it has keys. */
#ifndef SLOTS
#define SLOTS		65536
#endif
#define BELTS_MAX	64
#define LEASE_MS	10000

/**
 * struct entry - an entry or what is left of it, and the fill lease of its key
 * @value:	the value; NULL if there is none
 * @value_len:	its length
 * @flags:	client flags
 * @deadline:	when it expires, in milliseconds; 0: never
 * @version:	its version
 * @token:	of the fill lease; 0: there is none
 * @lease_end:	when that ends
 * @key_len:	length of the key, with the name of the belt
 * @key:	the key
 */
struct entry {
	char *value;
	size_t value_len;
	__u32 flags;
	__u64 deadline;
	__u64 version;
	__u64 token;
	__u64 lease_end;
	size_t key_len;
	char key[];
};

struct belt {
	char name[HASHBELT_NAME_SIZE];
};

struct belts {
	bool by_prefix;
	unsigned int next;
	struct belt plain;
	struct belt databases[DATABASES_MAX];
	struct belt prefixed[BELTS_MAX];
};

/* All under @lock. */
static struct entry *slots[SLOTS];
static __u64 counters[HASHBELT_STAT_COUNT];
static __u64 versions;
static __u64 entries;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __u64 now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

static __u64 grace_ms(void)
{
	const char *text = getenv("FAKE_GRACE_MS");

	return text ? strtoull(text, NULL, 10) : 0;
}

int belts_check(void)
{
	return 0;
}

int belts_open(const struct options *options, struct belts **belts)
{
	unsigned int i;

	*belts = calloc(1, sizeof(**belts));
	if (!*belts)
		return -ENOMEM;
	(*belts)->by_prefix = options->belts_by_prefix;
	snprintf((*belts)->plain.name, HASHBELT_NAME_SIZE, "%s", options->belt);
	for (i = 0; i < DATABASES_MAX; i++)
		if (options->databases[i])
			snprintf((*belts)->databases[i].name, HASHBELT_NAME_SIZE, "%s",
				 options->databases[i]);
	return 0;
}

void belts_close(struct belts *belts)
{
	free(belts);
}

struct belt *belts_default(struct belts *belts)
{
	return &belts->plain;
}

struct belt *belts_database(struct belts *belts, unsigned int number)
{
	if (!number)
		return &belts->plain;
	return number < DATABASES_MAX && *belts->databases[number].name ?
		&belts->databases[number] : NULL;
}

struct belt *belts_find(struct belts *belts, const char *key, size_t key_len, size_t *prefix)
{
	const char *colon = belts->by_prefix ? memchr(key, ':', key_len) : NULL;
	size_t len = colon - key;
	unsigned int i;
	struct belt *belt;

	*prefix = 0;
	if (!colon)
		return &belts->plain;
	if (!len || len >= HASHBELT_NAME_SIZE || len + 1 == key_len)
		return NULL;
	*prefix = len + 1;
	for (i = 0; i < BELTS_MAX; i++)
		if (strlen(belts->prefixed[i].name) == len &&
		    !memcmp(belts->prefixed[i].name, key, len))
			return &belts->prefixed[i];
	belt = &belts->prefixed[belts->next++ % BELTS_MAX];
	memset(belt->name, 0, sizeof(belt->name));
	memcpy(belt->name, key, len);
	return belt;
}

struct belt *belts_again(struct belts *belts, struct belt *belt, const char *name)
{
	char key[HASHBELT_NAME_SIZE + 2];
	size_t prefix;
	int len = snprintf(key, sizeof(key), "%s:k", name);

	return strcmp(belt->name, name) ? belts_find(belts, key, len, &prefix) : belt;
}

/* The record in a slot, if its key, behind a name and its end, is one of the belt. */
static struct entry *entry_of(const struct belt *belt, unsigned int slot)
{
	size_t len = strlen(belt->name) + 1;
	struct entry *entry = slots[slot];

	return entry && entry->key_len >= len && !memcmp(entry->key, belt->name, len) ? entry :
										     NULL;
}

static bool is_gone(const struct belt *belt)
{
	return !strcmp(belt->name, "gone");
}

/* Finds or makes the record of a key. */
static struct entry *find(const struct belt *belt, const void *key, size_t key_len)
{
	char name[HASHBELT_NAME_SIZE + HASHBELT_KEY_MAX];
	size_t len = strlen(belt->name) + 1, i;
	unsigned int hash = 5381, tries;
	struct entry *entry;

	memcpy(name, belt->name, len);
	memcpy(name + len, key, key_len);
	len += key_len;
	for (i = 0; i < len; i++)
		hash = hash * 33 + (unsigned char)name[i];
	for (tries = 0; (entry = slots[hash % SLOTS]); hash++, tries++) {
		if (entry->key_len == len && !memcmp(entry->key, name, len))
			return entry;
		if (tries == SLOTS)
			abort();
	}
	entry = calloc(1, sizeof(*entry) + len);
	if (!entry)
		abort();
	entry->key_len = len;
	memcpy(entry->key, name, len);
	slots[hash % SLOTS] = entry;
	return entry;
}

static bool is_live(const struct entry *entry)
{
	return entry->value && (!entry->deadline || now_ms() < entry->deadline);
}

static bool is_stale(const struct entry *entry)
{
	return entry->value && !is_live(entry) && now_ms() < entry->deadline + grace_ms();
}

static bool has_lease(const struct entry *entry)
{
	return entry->token && now_ms() < entry->lease_end;
}

static void drop(struct entry *entry)
{
	entries -= !!entry->value;
	free(entry->value);
	entry->value = NULL;
}

static void set_deadline(struct entry *entry, __u64 ttl_ms)
{
	if (ttl_ms == HASHBELT_TTL_NEVER)
		entry->deadline = 0;
	else if (ttl_ms != HASHBELT_TTL_KEEP)
		entry->deadline = now_ms() + (ttl_ms ? ttl_ms : 3600 * 1000);
}

static __u64 left_ms(const struct entry *entry)
{
	__u64 now = now_ms();

	if (!entry->deadline)
		return HASHBELT_TTL_NEVER;
	return entry->deadline > now ? entry->deadline - now : 0;
}

static int copy_out(const struct entry *entry, struct hashbelt_item *item)
{
	__u32 room = item->value_len;

	item->value_len = entry->value_len;
	item->flags = entry->flags;
	item->version = entry->version;
	item->ttl_ms = left_ms(entry);
	if (item->how & HASHBELT_NO_VALUE)
		return 0;
	if (room < entry->value_len)
		return -ERANGE;
	memcpy((void *)(uintptr_t)item->value, entry->value, entry->value_len);
	return 0;
}

static bool begins(const struct hashbelt_item *item, const char *text)
{
	size_t len = strlen(text);

	return item->key_len >= len && !memcmp((void *)(uintptr_t)item->key, text, len);
}

static int get(struct entry *entry, struct hashbelt_item *item)
{
	int err;

	if (!(item->how & HASHBELT_NO_REFRESH))
		counters[is_live(entry) ? HASHBELT_STAT_HITS : HASHBELT_STAT_MISSES]++;
	if (!is_live(entry))
		return -ENOENT;
	if (item->how & HASHBELT_AND_TOUCH)
		set_deadline(entry, item->ttl_ms);
	err = copy_out(entry, item);
	if (begins(item, "moved"))
		set_deadline(entry, 1000000);
	if (begins(item, "kept"))
		set_deadline(entry, HASHBELT_TTL_NEVER);
	return err;
}

static int check_put(const struct entry *entry, const struct hashbelt_item *item)
{
	bool live = is_live(entry);

	if (item->how & HASHBELT_IF_LEASE)
		return has_lease(entry) && entry->token == item->version ? 0 : -ESTALE;
	if (!live)
		return item->how & (HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION) ? -ENOENT : 0;
	if (item->how & HASHBELT_IF_VERSION && entry->version != item->version)
		return -ESTALE;
	if (item->how & HASHBELT_IF_ABSENT || (!item->how && getenv("FAKE_KEEP")))
		return -EEXIST;
	return 0;
}

static int put(struct entry *entry, struct hashbelt_item *item)
{
	const char *value = (const char *)(uintptr_t)item->value;
	int err = check_put(entry, item);
	bool live = is_live(entry);

	if (!err && (begins(item, "full") || (live && begins(item, "brim"))))
		err = -ENOSPC;
	if (err) {
		item->version = live ? entry->version : 0;
		return err;
	}
	counters[live ? HASHBELT_STAT_PUTS_REPLACED : HASHBELT_STAT_PUTS_NEW]++;
	drop(entry);
	entry->value = malloc(item->value_len + 1);
	if (!entry->value)
		abort();
	entries++;
	memcpy(entry->value, value, item->value_len);
	entry->value_len = item->value_len;
	entry->flags = item->flags;
	entry->version = ++versions;
	entry->token = 0;
	if (!live && item->ttl_ms == HASHBELT_TTL_KEEP)
		set_deadline(entry, 0);
	set_deadline(entry, item->ttl_ms);
	item->version = entry->version;
	item->ttl_ms = left_ms(entry);
	return 0;
}

/* Whether the conditions on the deadline hold for a change to this time-to-live. */
static bool allows(const struct entry *entry, __u32 how, __u64 ttl_ms)
{
	__u64 is = entry->deadline ?: HASHBELT_TTL_NEVER;
	__u64 to = ttl_ms == HASHBELT_TTL_NEVER ? ttl_ms : now_ms() + ttl_ms;

	return !(how & HASHBELT_IF_LASTING && entry->deadline) &&
	       !(how & HASHBELT_IF_EXPIRING && !entry->deadline) &&
	       !(how & HASHBELT_IF_LATER && to <= is) && !(how & HASHBELT_IF_SOONER && to >= is);
}

static int leave(struct entry *entry, struct hashbelt_item *item)
{
	bool stays = item->op == HASHBELT_OP_REMOVE && item->how & HASHBELT_LEAVE_STALE;

	if (stays && !grace_ms())
		return -EINVAL;
	if (item->op == HASHBELT_OP_EXPIRE && is_live(entry) && !allows(entry, item->how, 0))
		return -EALREADY;
	if (!is_live(entry)) {
		/* It ends the fill lease of an absent entry as well. */
		entry->token = item->how & HASHBELT_IF_VERSION ? entry->token : 0;
		return -ENOENT;
	}
	if (item->how & HASHBELT_IF_VERSION && entry->version != item->version) {
		item->version = entry->version;
		return -ESTALE;
	}
	entry->token = 0;
	if (stays)
		entry->deadline = now_ms();
	else
		drop(entry);
	return 0;
}

/* The number that is the value of an entry. False: the value is none. */
static bool number_of(const struct entry *entry, __s64 *number)
{
	char text[24] = "", again[24];

	memcpy(text, entry->value, entry->value_len < 21 ? entry->value_len : 21);
	*number = strtoll(text, NULL, 10);
	snprintf(again, sizeof(again), "%lld", (long long)*number);
	return strlen(again) == entry->value_len && !memcmp(again, text, entry->value_len);
}

static int add(struct entry *entry, struct hashbelt_item *item)
{
	__s64 is, floor = item->how & HASHBELT_FLOOR ? (__s64)item->version : INT64_MIN;
	struct hashbelt_sum *sum = (void *)(uintptr_t)item->value;
	struct hashbelt_item put_item = *item;
	bool live = is_live(entry);
	char text[24];
	int err;

	if (!live && item->how & HASHBELT_IF_PRESENT)
		return -ENOENT;
	is = sum->value;
	if (live && (!number_of(entry, &is) || is < floor))
		return -EBADMSG;
	if (!__builtin_add_overflow(is, sum->by, &is))
		is = is < floor ? floor : is;
	else if (sum->by < 0 && item->how & HASHBELT_FLOOR)
		is = floor;
	else
		return -EOVERFLOW;
	put_item.how = live ? HASHBELT_IF_PRESENT : HASHBELT_IF_ABSENT;
	put_item.value = (uintptr_t)text;
	put_item.value_len = snprintf(text, sizeof(text), "%lld", (long long)is);
	put_item.flags = live ? entry->flags : item->flags;
	put_item.ttl_ms = live ? HASHBELT_TTL_KEEP : item->ttl_ms;
	err = put(entry, &put_item);
	if (err)
		return err;
	sum->value = is;
	item->version = put_item.version;
	item->ttl_ms = put_item.ttl_ms;
	return 0;
}

static int touch(struct entry *entry, struct hashbelt_item *item)
{
	if (!is_live(entry))
		return -ENOENT;
	if (item->how & HASHBELT_IF_VERSION && item->version != entry->version)
		return -ESTALE;
	if (!allows(entry, item->how, item->ttl_ms))
		return -EALREADY;
	if (!(item->how & HASHBELT_FROM_DEADLINE))
		set_deadline(entry, item->ttl_ms);
	else if (entry->deadline)
		entry->deadline += item->ttl_ms;
	return 0;
}

static int run(const struct belt *belt, struct hashbelt_item *item)
{
	struct entry *entry = find(belt, (void *)(uintptr_t)item->key, item->key_len);

	switch (item->op) {
	case HASHBELT_OP_GET:
		return get(entry, item);
	case HASHBELT_OP_PUT:
		return put(entry, item);
	case HASHBELT_OP_TOUCH:
		return touch(entry, item);
	case HASHBELT_OP_ADD:
		return add(entry, item);
	case HASHBELT_OP_REMOVE:
	case HASHBELT_OP_EXPIRE:
		return leave(entry, item);
	default:
		return -EINVAL;
	}
}

void belt_batch(struct belt *belt, struct hashbelt_item *items, unsigned int count)
{
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < count; i++)
		items[i].result = is_gone(belt) ? -EIDRM : run(belt, &items[i]);
	pthread_mutex_unlock(&lock);
}

/* Grants a fill lease, or says that another caller has it. */
static void acquire(struct entry *entry, struct hashbelt_fill *fill)
{
	__u64 lease_ms = fill->lease_ms ? fill->lease_ms : LEASE_MS;

	if (has_lease(entry)) {
		fill->state |= HASHBELT_FILLING;
		return;
	}
	entry->token = ++versions;
	entry->lease_end = now_ms() + lease_ms;
	fill->token = entry->token;
	fill->state |= HASHBELT_GRANTED;
}

static int do_fill(struct entry *entry, struct hashbelt_fill *fill)
{
	__u64 left;
	int err;

	if (is_live(entry)) {
		err = get(entry, &fill->item);
		left = left_ms(entry);
		if (err || !fill->ahead_ms || left >= fill->ahead_ms)
			return err;
		if (left > fill->lease_ms)
			fill->lease_ms = left;
		acquire(entry, fill);
		return 0;
	}
	acquire(entry, fill);
	if (!(fill->how & HASHBELT_STALE) || !is_stale(entry))
		return -ENOENT;
	fill->state |= HASHBELT_STALE;
	return copy_out(entry, &fill->item);
}

int belt_fill(struct belt *belt, const void *key, size_t key_len, void *buffer, size_t size,
	      struct hashbelt_fill *fill)
{
	__u64 lease_ms = fill->lease_ms;
	int err;

	fill->item.value = (uintptr_t)buffer;
	fill->item.value_len = size;
	fill->state = 0;
	if (is_gone(belt))
		return -EIDRM;
	pthread_mutex_lock(&lock);
	err = do_fill(find(belt, key, key_len), fill);
	pthread_mutex_unlock(&lock);
	fill->lease_ms = lease_ms;
	return err;
}

int belt_give_up(struct belt *belt, const void *key, size_t key_len, __u64 token)
{
	struct entry *entry;

	pthread_mutex_lock(&lock);
	entry = find(belt, key, key_len);
	if (entry->token == token)
		entry->token = 0;
	pthread_mutex_unlock(&lock);
	return 0;
}

int belt_clear(struct belt *belt)
{
	struct entry *entry;
	unsigned int i;

	if (is_gone(belt))
		return -EIDRM;
	pthread_mutex_lock(&lock);
	for (i = 0; i < SLOTS; i++) {
		entry = entry_of(belt, i);
		if (!entry)
			continue;
		drop(entry);
		entry->token = 0;
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

struct belt_scan {
	const struct belt *belt;
	unsigned int slot;
	struct {
		struct hashbelt_record record;
		char key[HASHBELT_KEY_MAX];
	} now;
};

int belt_scan_begin(const struct belt *belt, struct belt_scan **scan)
{
	*scan = NULL;
	if (is_gone(belt))
		return -EIDRM;
	*scan = calloc(1, sizeof(**scan));
	if (!*scan)
		return -ENOMEM;
	(*scan)->belt = belt;
	return 0;
}

int belt_scan_next(struct belt_scan *scan, const struct hashbelt_record **record)
{
	size_t skip = strlen(scan->belt->name) + 1;
	const struct entry *entry = NULL;

	pthread_mutex_lock(&lock);
	while (scan->slot < SLOTS && !entry) {
		entry = entry_of(scan->belt, scan->slot++);
		entry = entry && is_live(entry) ? entry : NULL;
	}
	if (entry) {
		scan->now.record = (struct hashbelt_record){
			.key_len = entry->key_len - skip, .value_len = entry->value_len,
			.flags = entry->flags, .ttl_ms = left_ms(entry), .version = entry->version,
		};
		memcpy(scan->now.key, entry->key + skip, entry->key_len - skip);
	}
	pthread_mutex_unlock(&lock);
	*record = entry ? &scan->now.record : NULL;
	return !!entry;
}

void belt_scan_end(struct belt_scan *scan)
{
	free(scan);
}

/* A cursor is the number of the slot that comes next. */
int belt_scan_piece(struct belt *belt, struct hashbelt_scan *scan)
{
	size_t skip = strlen(belt->name) + 1, room = scan->size, len = 0, size;
	char *to = (char *)(uintptr_t)scan->buffer;
	struct hashbelt_record record = { 0 };
	__u64 slot = scan->cursor, end = slot + 1024 < SLOTS ? slot + 1024 : SLOTS;
	const struct entry *entry;
	int err = 0;

	if (is_gone(belt))
		return -EIDRM;
	pthread_mutex_lock(&lock);
	for (scan->count = 0; slot < end; slot++) {
		entry = entry_of(belt, slot);
		if (!entry || !is_live(entry))
			continue;
		size = (sizeof(record) + entry->key_len - skip + 7) / 8 * 8;
		record.size = size;
		record.key_len = entry->key_len - skip;
		if (len + size > room) {
			scan->size = len + size + HASHBELT_KEY_MAX;
			err = -ERANGE;
			break;
		}
		memcpy(to + len, &record, sizeof(record));
		memcpy(to + len + sizeof(record), entry->key + skip, record.key_len);
		len += size;
		scan->count++;
	}
	pthread_mutex_unlock(&lock);
	if (!err)
		scan->cursor = slot < SLOTS ? slot : 0;
	return err;
}

/**
 * struct belt_events - the events of a belt
 * @belt:	the belt
 * @fd:		a timer: it is looked for entries that have expired each time it expires
 * @slot:	the next one to look at; SLOTS: wait for the timer
 * @event:	the last one
 * @key:	its key
 */
struct belt_events {
	struct belt belt;
	int fd;
	unsigned int slot;
	struct hashbelt_event event;
	char key[HASHBELT_KEY_MAX];
};

int belt_events_open(const char *name, struct belt_events **events, __u64 *sequence)
{
	const struct itimerspec often = {
		.it_interval.tv_nsec = 20000000, .it_value.tv_nsec = 20000000,
	};

	*events = NULL;
	*sequence = 0;
	if (!strcmp(name, "gone"))
		return -EIDRM;
	if (!strncmp(name, "other", 5))
		return -ENODATA;
	*events = calloc(1, sizeof(**events));
	if (!*events)
		return -ENOMEM;
	snprintf((*events)->belt.name, sizeof((*events)->belt.name), "%s", name);
	(*events)->slot = SLOTS;
	(*events)->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	timerfd_settime((*events)->fd, 0, &often, NULL);
	return 0;
}

int belt_events_fd(const struct belt_events *events)
{
	return events->fd;
}

/* Takes the entry in the next slot, if it has expired, and makes an event of it. */
static bool take_expired(struct belt_events *events)
{
	struct entry *entry = entry_of(&events->belt, events->slot++);
	size_t before = strlen(events->belt.name) + 1;

	if (!entry || !entry->value || is_live(entry) || is_stale(entry))
		return false;
	drop(entry);
	events->event = (struct hashbelt_event){
		.size = sizeof(events->event) + HASHBELT_KEY_MAX,
		.reason = HASHBELT_EXPIRED, .sequence = events->event.sequence + 1,
		.key_len = entry->key_len - before,
	};
	memcpy(events->key, entry->key + before, entry->key_len - before);
	return true;
}

int belt_events_next(struct belt_events *events, const struct hashbelt_event **event)
{
	bool found = false;
	__u64 times;

	if (events->slot == SLOTS) {
		if (read(events->fd, &times, sizeof(times)) < 0)
			return -EAGAIN;
		events->slot = 0;
	}
	pthread_mutex_lock(&lock);
	while (!found && events->slot < SLOTS)
		found = take_expired(events);
	pthread_mutex_unlock(&lock);
	*event = &events->event;
	return found ? 0 : -EAGAIN;
}

void belt_events_close(struct belt_events *events)
{
	if (events)
		close(events->fd);
	free(events);
}

int belt_info(struct belt *belt, struct hashbelt_info *info)
{
	memset(info, 0, sizeof(*info));
	if (is_gone(belt))
		return -EIDRM;
	pthread_mutex_lock(&lock);
	info->entries = entries;
	info->grace_ms = grace_ms();
	pthread_mutex_unlock(&lock);
	return 0;
}

int belt_stat(struct belt *belt, __u64 *copy)
{
	if (is_gone(belt))
		return -EIDRM;
	pthread_mutex_lock(&lock);
	memcpy(copy, counters, sizeof(counters));
	pthread_mutex_unlock(&lock);
	return 0;
}

const char *belt_name(const struct belt *belt)
{
	return belt->name;
}

const char *belt_reason(struct belt *belt, int err, char *text)
{
	if (!belt)
		return "no belt has such a name";
	if (err == -ENOSPC)
		return "out of memory storing object";
	if (err == -EIDRM)
		snprintf(text, BELT_REASON_SIZE, "belt %s does not exist", belt->name);
	else
		snprintf(text, BELT_REASON_SIZE, "%s", strerror(-err));
	return text;
}

/* Frees all, so that leaks of other parts can be seen. */
__attribute__((destructor)) static void free_entries(void)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		if (slots[i])
			free(slots[i]->value);
		free(slots[i]);
		slots[i] = NULL;
	}
}
