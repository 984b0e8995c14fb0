// SPDX-License-Identifier: GPL-2.0-only
/*
 * The belts that are served. A worker has a handle for each belt that it uses, which is kept bound:
 * if the belt is destroyed, requests go to the next one of its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "belts.h"
#include "log.h"
#include "options.h"
#include "status.h"

/* Belts of prefixes for which a worker keeps a descriptor. */
#define PREFIXES_MAX	64

/* After so many batches it is looked whether a belt has got another window. A power of two. */
#define WINDOW_LOOKS	256

/**
 * struct belt - a belt
 * @handle:	kept bound to it, if @is_kept; NULL if the device could not be opened
 * @is_kept:	false: the place has got another name since
 * @batches:	their number
 * @used:	the value of the worker's count of uses when it was used last
 * @name_len:	length of its name; 0 for a free place
 * @name:	its name
 */
struct belt {
	struct hashbelt *handle;
	bool is_kept;
	unsigned int batches;
	__u64 used;
	size_t name_len;
	char name[HASHBELT_NAME_SIZE];
};

/**
 * struct belts - the belts of a worker
 * @by_prefix:	keys may have the name of a belt before them
 * @uses:	count of uses of prefixes
 * @plain:	the belt of keys without a prefix
 * @databases:	those of --database, by their numbers; @plain is number 0
 * @prefixed:	belts of prefixes
 */
struct belts {
	bool by_prefix;
	__u64 uses;
	struct belt plain;
	struct belt databases[DATABASES_MAX];
	struct belt prefixed[PREFIXES_MAX];
};

/**
 * struct belt_scan - a walk over the keys of a belt
 * @handle:	of its own: it stays bound to the belt, and keeps no window of another mapped
 * @scanner:	the walk
 */
struct belt_scan {
	struct hashbelt *handle;
	struct hashbelt_scanner *scanner;
};

/**
 * struct belt_events - the events of a belt
 * @handle:	of its own, bound to the belt
 * @event:	the last one that was taken from @buffer; NULL before the first
 * @len:	bytes of @buffer that were read
 * @buffer:	room for the largest event
 */
struct belt_events {
	struct hashbelt *handle;
	const struct hashbelt_event *event;
	size_t len;
	__u64 buffer[(HASHBELT_EVENT_MAX + sizeof(__u64) - 1) / sizeof(__u64)];
};

/* Opens the device for a belt, which may not exist yet, and keeps the handle bound to it. */
static int open_belt(struct belt *belt)
{
	int err = belt->handle ? 0 : hashbelt_open(NULL, &belt->handle);

	if (err || belt->is_kept)
		return err;
	err = hashbelt_keep_bound(belt->handle, belt->name, NULL, HASHBELT_ONE_THREAD);
	belt->is_kept = true;
	/* Without a window gets are calls. */
	hashbelt_window_map(belt->handle);
	return err == -ENOENT ? -EIDRM : err;
}

/**
 * belts_check() - look whether the device can be opened
 *
 * Prints an error.
 *
 * Return: 0 or a negative errno; -ENODEV: there is no device.
 */
int belts_check(void)
{
	char text[HASHBELT_ERROR_SIZE];
	struct hashbelt *handle;
	int err = hashbelt_open(NULL, &handle);

	if (!err)
		hashbelt_close(handle);
	else
		log_line(LOG_TROUBLE, "%s", hashbelt_strerror(NULL, err, HASHBELT_CALL_OPEN, NULL,
							      text, sizeof(text)));
	return open_error(err);
}

/**
 * belts_open() - make the belts of a worker
 * @options:	the command line
 * @belts:	returned: the belts; NULL after an error
 *
 * Prints an error. A belt that does not exist is none: it may be made later.
 *
 * Return: 0 or a negative errno.
 */
int belts_open(const struct options *options, struct belts **belts)
{
	char text[HASHBELT_ERROR_SIZE];
	struct belt *plain;
	unsigned int i;
	int err;

	*belts = calloc(1, sizeof(**belts));
	if (!*belts)
		return -ENOMEM;
	(*belts)->by_prefix = options->belts_by_prefix;
	plain = &(*belts)->plain;
	plain->name_len = strlen(options->belt);
	snprintf(plain->name, sizeof(plain->name), "%s", options->belt);
	for (i = 0; i < DATABASES_MAX; i++)
		if (options->databases[i])
			snprintf((*belts)->databases[i].name, HASHBELT_NAME_SIZE, "%s",
				 options->databases[i]);
	err = plain->name_len < sizeof(plain->name) ? open_belt(plain) : -ENAMETOOLONG;
	if (!err || err == -EIDRM)
		return 0;
	log_line(LOG_TROUBLE, "%s",
		 plain->handle ?
		 hashbelt_strerror(plain->handle, err, HASHBELT_CALL_BIND, options->belt, text,
				   sizeof(text)) :
		 hashbelt_strerror(NULL, err, HASHBELT_CALL_OPEN, NULL, text, sizeof(text)));
	belts_close(*belts);
	*belts = NULL;
	return err;
}

/**
 * belts_close() - close the belts of a worker
 * @belts:	the belts; NULL does nothing
 */
void belts_close(struct belts *belts)
{
	unsigned int i;

	if (!belts)
		return;
	hashbelt_close(belts->plain.handle);
	for (i = 0; i < DATABASES_MAX; i++)
		hashbelt_close(belts->databases[i].handle);
	for (i = 0; i < PREFIXES_MAX; i++)
		hashbelt_close(belts->prefixed[i].handle);
	free(belts);
}

/**
 * belts_default() - the belt of keys without a prefix
 * @belts:	the belts
 *
 * Return: the belt.
 */
struct belt *belts_default(struct belts *belts)
{
	return &belts->plain;
}

/**
 * belts_database() - the belt of a database
 * @belts:	the belts
 * @number:	of the database
 *
 * Return: the belt; NULL if there is no such database.
 */
struct belt *belts_database(struct belts *belts, unsigned int number)
{
	if (!number)
		return &belts->plain;
	return number < DATABASES_MAX && *belts->databases[number].name ?
		&belts->databases[number] : NULL;
}

/* The belt of a prefix, in the place of the one that was used least recently if it is new. */
static struct belt *find_prefixed(struct belts *belts, const char *name, size_t len)
{
	struct belt *belt, *oldest = belts->prefixed;

	for (belt = belts->prefixed; belt < belts->prefixed + PREFIXES_MAX; belt++) {
		if (belt->name_len == len && !memcmp(belt->name, name, len)) {
			belt->used = ++belts->uses;
			return belt;
		}
		if (belt->used < oldest->used)
			oldest = belt;
	}
	oldest->is_kept = false;
	oldest->used = ++belts->uses;
	oldest->name_len = len;
	memset(oldest->name, 0, sizeof(oldest->name));
	memcpy(oldest->name, name, len);
	return oldest;
}

/**
 * belts_find() - the belt of a key
 * @belts:	the belts
 * @key:	the key as the client gave it
 * @key_len:	its length
 * @prefix:	returned: how many bytes of the key are the prefix
 *
 * Return: the belt, valid until another one is looked for; NULL if no belt can have that name, or
 * nothing is behind the prefix.
 */
struct belt *belts_find(struct belts *belts, const char *key, size_t key_len, size_t *prefix)
{
	const char *colon = belts->by_prefix ? memchr(key, ':', key_len) : NULL;
	size_t len = colon - key;

	*prefix = 0;
	if (!colon)
		return &belts->plain;
	if (!len || len >= HASHBELT_NAME_SIZE || len + 1 == key_len)
		return NULL;
	*prefix = len + 1;
	return find_prefixed(belts, key, len);
}

/**
 * belts_again() - the belt of operations, after others were looked for
 * @belts:	the belts
 * @belt:	from belts_find() or belts_default(); its place may be another belt's by now
 * @name:	the name that it had then
 *
 * Return: the belt of that name, valid as that of belts_find().
 */
struct belt *belts_again(struct belts *belts, struct belt *belt, const char *name)
{
	return strcmp(belt->name, name) ? find_prefixed(belts, name, strlen(name)) : belt;
}

/* Carries one operation out: a call on one key costs less than a batch of one. */
static void do_item(struct belt *belt, struct hashbelt_item *item)
{
	const void *key = (const void *)(uintptr_t)item->key;
	void *value = (void *)(uintptr_t)item->value;
	__u32 op = item->op;
	int err;

	switch (op) {
	case HASHBELT_OP_GET:
		err = hashbelt_get(belt->handle, key, item->key_len, value, item->value_len, item);
		break;
	case HASHBELT_OP_PUT:
		err = hashbelt_put(belt->handle, key, item->key_len, value, item->value_len, item);
		break;
	case HASHBELT_OP_ADD:
		err = hashbelt_add_item(belt->handle, key, item->key_len, value, item);
		break;
	default:
		do {
			err = hashbelt_batch(belt->handle, item, 1, NULL);
		} while (err == -EINTR);
		if (!err)
			return;
	}
	item->op = op;
	item->result = err;
}

/* Carries operations out by calls, in their order. Stores in @err why not all were. */
static unsigned int try_items(struct belt *belt, struct hashbelt_item *items, unsigned int count,
			      int *err)
{
	unsigned int done = 0, tried;

	*err = open_belt(belt);
	if (!*err && count == 1) {
		do_item(belt, items);
		return 1;
	}
	for (; !*err && done < count; done += tried) {
		*err = hashbelt_batch(belt->handle, items + done, count - done, &tried);
		if (*err == -EINTR)
			*err = 0;
	}
	return done;
}

/**
 * belt_batch() - carry out operations, in their order
 * @belt:	the belt
 * @items:	the operations; returned: their results
 * @count:	their number
 *
 * No two of a batch depend on each other, so gets may look into the belt's window.
 *
 * If there is no such belt, each operation that was not carried out has -EIDRM as its result; after
 * another error that concerns all of them, that error.
 */
void belt_batch(struct belt *belt, struct hashbelt_item *items, unsigned int count)
{
	unsigned int done;
	int err;

	if (belt->is_kept && !(++belt->batches % WINDOW_LOOKS))
		hashbelt_window_map(belt->handle);
	done = try_items(belt, items, count, &err);
	for (; done < count; done++)
		items[done].result = err;
}

/**
 * belt_fill() - get an entry, or a fill lease for it
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @buffer:	space for the value
 * @size:	its size, bytes
 * @fill:	as for hashbelt_fill(), with no time to wait
 *
 * Return: what hashbelt_fill() returns.
 */
int belt_fill(struct belt *belt, const void *key, size_t key_len, void *buffer, size_t size,
	      struct hashbelt_fill *fill)
{
	int err = open_belt(belt);

	return err ? err : hashbelt_fill(belt->handle, key, key_len, buffer, size, fill);
}

/**
 * belt_give_up() - give a fill lease up
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @token:	of the lease
 *
 * Return: what hashbelt_give_up() returns.
 */
int belt_give_up(struct belt *belt, const void *key, size_t key_len, __u64 token)
{
	int err = open_belt(belt);

	return err ? err : hashbelt_give_up(belt->handle, key, key_len, token);
}

/**
 * belt_clear() - drop all entries
 * @belt:	the belt
 *
 * Return: what hashbelt_clear() returns.
 */
int belt_clear(struct belt *belt)
{
	int err = open_belt(belt);

	return err ? err : hashbelt_clear(belt->handle);
}

/**
 * belt_scan_begin() - begin to walk over the keys of a belt
 * @belt:	the belt
 * @scan:	returned: the walk, to be ended by belt_scan_end(); NULL after an error
 *
 * Return: 0; -EIDRM if there is no such belt; else as hashbelt_open() and hashbelt_scan_begin().
 */
int belt_scan_begin(const struct belt *belt, struct belt_scan **scan)
{
	struct belt_scan *begun = calloc(1, sizeof(*begun));
	int err = begun ? hashbelt_open(NULL, &begun->handle) : -ENOMEM;

	if (!err)
		err = hashbelt_bind(begun->handle, belt->name);
	if (!err)
		err = hashbelt_scan_begin(begun->handle, &begun->scanner);
	if (err) {
		belt_scan_end(begun);
		begun = NULL;
	}
	*scan = begun;
	return err == -ENOENT ? -EIDRM : err;
}

/**
 * belt_scan_next() - the next key of a walk
 * @scan:	the walk
 * @record:	returned: the entry, valid until the next call
 *
 * Return: what hashbelt_scan_next() returns.
 */
int belt_scan_next(struct belt_scan *scan, const struct hashbelt_record **record)
{
	return hashbelt_scan_next(scan->scanner, record);
}

/**
 * belt_scan_end() - end a walk, at any point
 * @scan:	the walk; NULL does nothing
 */
void belt_scan_end(struct belt_scan *scan)
{
	if (!scan)
		return;
	hashbelt_scan_end(scan->scanner);
	hashbelt_close(scan->handle);
	free(scan);
}

/**
 * belt_scan_piece() - read some keys of a belt
 * @belt:	the belt
 * @scan:	as for HASHBELT_IOC_SCAN
 *
 * Return: what that call returns; -ERANGE: @size of @scan says what the next piece needs.
 */
int belt_scan_piece(struct belt *belt, struct hashbelt_scan *scan)
{
	const struct hashbelt_scan asked = *scan;
	struct hashbelt_info info;
	int err = open_belt(belt);

	if (err)
		return err;
	err = ioctl(hashbelt_fd(belt->handle), HASHBELT_IOC_SCAN, scan) ? -errno : 0;
	if (err != -EIDRM)
		return err;
	/* A call of the library binds the handle to the next belt of the name. */
	err = hashbelt_info(belt->handle, &info);
	if (err)
		return err;
	*scan = asked;
	return ioctl(hashbelt_fd(belt->handle), HASHBELT_IOC_SCAN, scan) ? -errno : 0;
}

/* Whether a handle can tell what expires: 0 or an error. */
static int check_events(struct hashbelt *handle, __u64 *sequence)
{
	struct hashbelt_info info;
	int err = hashbelt_info(handle, &info);

	if (err)
		return err;
	*sequence = info.sequence;
	if (info.handler != HASHBELT_NOTIFY ||
	    !(info.reasons & HASHBELT_REPORT(HASHBELT_EXPIRED)))
		return -ENODATA;
	if (!(info.access & HASHBELT_MAY_CONSUME))
		return -EPERM;
	return fcntl(hashbelt_fd(handle), F_SETFL, O_RDWR | O_NONBLOCK) ? -errno : 0;
}

/**
 * belt_events_open() - begin to read the events of a belt
 * @name:	its name
 * @events:	returned: the events; NULL after an error
 * @sequence:	returned: number of the newest event
 *
 * Return: 0; -ENODATA if the belt does not report what expires; -EPERM; -EIDRM if there is no such
 * belt; else as hashbelt_open().
 */
int belt_events_open(const char *name, struct belt_events **events, __u64 *sequence)
{
	struct belt_events *begun = malloc(sizeof(*begun));
	int err = begun ? 0 : -ENOMEM;

	*events = NULL;
	if (!begun)
		return err;
	begun->event = NULL;
	begun->len = 0;
	err = hashbelt_open(NULL, &begun->handle);
	if (!err)
		err = hashbelt_bind(begun->handle, name);
	if (!err)
		err = check_events(begun->handle, sequence);
	if (err)
		belt_events_close(begun);
	else
		*events = begun;
	return err == -ENOENT ? -EIDRM : err;
}

/**
 * belt_events_fd() - the descriptor that is readable if there are events
 * @events:	the events
 *
 * Return: the descriptor.
 */
int belt_events_fd(const struct belt_events *events)
{
	return hashbelt_fd(events->handle);
}

/**
 * belt_events_next() - take the next event
 * @events:	the events
 * @event:	returned: the event, valid until the next call
 *
 * Return: 0; -EAGAIN if there is none yet; else as hashbelt_read(): the belt tells no more.
 */
int belt_events_next(struct belt_events *events, const struct hashbelt_event **event)
{
	ssize_t len;

	*event = hashbelt_event_next(events->buffer, events->len, events->event);
	if (!*event) {
		events->event = NULL;
		events->len = 0;
		do {
			len = hashbelt_read(events->handle, events->buffer,
					    sizeof(events->buffer));
		} while (len == -EINTR);
		if (len <= 0)
			return len ?: -EAGAIN;
		events->len = len;
		*event = hashbelt_event_next(events->buffer, events->len, NULL);
	}
	events->event = *event;
	return 0;
}

/**
 * belt_events_close() - end reading events
 * @events:	the events; NULL does nothing
 */
void belt_events_close(struct belt_events *events)
{
	if (!events)
		return;
	hashbelt_close(events->handle);
	free(events);
}

/**
 * belt_info() - describe a belt
 * @belt:	the belt
 * @info:	returned: the description
 *
 * Return: what hashbelt_info() returns.
 */
int belt_info(struct belt *belt, struct hashbelt_info *info)
{
	int err = open_belt(belt);

	memset(info, 0, sizeof(*info));
	return err ? err : hashbelt_info(belt->handle, info);
}

/**
 * belt_stat() - read the counters of a belt
 * @belt:	the belt
 * @counters:	returned: HASHBELT_STAT_COUNT counters, 0 for those that the kernel does not have
 *
 * Return: what hashbelt_stat() returns.
 */
int belt_stat(struct belt *belt, __u64 *counters)
{
	unsigned int count = HASHBELT_STAT_COUNT;
	int err = open_belt(belt);

	memset(counters, 0, sizeof(*counters) * HASHBELT_STAT_COUNT);
	return err ? err : hashbelt_stat(belt->handle, counters, &count);
}

/**
 * belt_name() - the name of a belt
 * @belt:	the belt
 *
 * Return: the name.
 */
const char *belt_name(const struct belt *belt)
{
	return belt->name;
}

/**
 * belt_reason() - the reason for which a request has failed
 * @belt:	the belt; NULL if no belt can have the name that the key begins with
 * @err:	the error, negative
 * @text:	space for BELT_REASON_SIZE bytes
 *
 * Return: the reason, without the end of a line.
 */
const char *belt_reason(struct belt *belt, int err, char *text)
{
	if (!belt)
		return "no belt has such a name";
	switch (err) {
	case -ENOSPC:
	case -EDQUOT:
	case -ENOMEM:
		return "out of memory storing object";
	case -EIDRM:
		snprintf(text, BELT_REASON_SIZE, "belt %s does not exist", belt->name);
		return text;
	case -EPERM:
		snprintf(text, BELT_REASON_SIZE, "no right to do this on belt %s",
			 belt->name);
		return text;
	default:
		hashbelt_strerror(belt->handle, err,
				  belt->handle ? HASHBELT_CALL_BATCH : HASHBELT_CALL_OPEN,
				  belt->handle ? belt->name : NULL, text, BELT_REASON_SIZE);
		return text;
	}
}
