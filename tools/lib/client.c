// SPDX-License-Identifier: LGPL-2.1-or-later
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client_bind.h"
#include "client_walk.h"
#include "client_window.h"

/* How long hashbelt_open() waits for a device that is closed, and how often it tries, ms. */
#define CLOSED_WAIT	10000
#define CLOSED_STEP	20

/* Least size of a scan's buffer, bytes. */
#define SCAN_SIZE	(64 * 1024)

__thread struct refused hashbelt_refused;

/*
 * The memory of one handle, and whether it is taken: a program that has one handle for a short time
 * needs no heap for it, which would cost more than the calls.
 */
static struct hashbelt first;
static bool first_taken;

static struct hashbelt *take_memory(void)
{
	if (!__atomic_exchange_n(&first_taken, true, __ATOMIC_ACQUIRE))
		return &first;
	return malloc(sizeof(struct hashbelt));
}

static void leave_memory(struct hashbelt *belt)
{
	if (belt == &first)
		__atomic_store_n(&first_taken, false, __ATOMIC_RELEASE);
	else
		free(belt);
}

/* Whether the device has the interface that this library was compiled with. */
static int check_abi(int fd)
{
	int abi = ioctl(fd, HASHBELT_IOC_ABI);

	if (abi < 0)
		return -errno;
	return abi == HASHBELT_ABI ? 0 : -EPROTO;
}

/**
 * hashbelt_fdopen() - make a handle for a descriptor of the device
 * @fd:		the descriptor, for example one that another process has sent
 * @belt:	returned: the handle, to be closed with hashbelt_close(), which closes @fd as
 *		well; NULL after an error, and @fd stays open
 *
 * Return: 0; -EBADF; -ENOTTY if @fd is of another device; -EPROTO if the module has another
 * version of the interface; -ENOMEM.
 */
int hashbelt_fdopen(int fd, struct hashbelt **belt)
{
	int err = check_abi(fd);

	*belt = NULL;
	if (err)
		return err;
	*belt = take_memory();
	if (!*belt)
		return -ENOMEM;
	**belt = (struct hashbelt){
		.fd = fd,
		.binds = WINDOW_NONE,
		.window = WINDOW_NONE,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	return 0;
}

/* Return: a descriptor of the device, or a negative error. */
static int open_device(const char *device)
{
	int fd = open(device, O_RDWR | O_CLOEXEC);

	/* EPERM is the answer of a cgroup that may only read the device. */
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		fd = open(device, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Whether the error is one that ends with a reload of the module: it has closed the device, or
 * removed it, or not yet given it its group and mode.
 */
static int is_reload(int err)
{
	if (err == -EUNATCH)
		return 1;
	return (err == -ENOENT || err == -ENXIO || err == -ENODEV || err == -EACCES) &&
	       !access(HASHBELT_RELOADING, F_OK);
}

static __u64 now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

/* Opens the device after a reload of the module has ended. Return: a descriptor, or an error. */
static int open_at_last(const char *device)
{
	const struct timespec step = { .tv_nsec = CLOSED_STEP * 1000000L };
	__u64 began = 0;
	int fd;

	for (;;) {
		fd = open_device(device);
		/* A reload may have ended before is_reload() looked for it. */
		if (fd < 0 && !is_reload(fd))
			fd = open_device(device);
		if (fd >= 0 || !is_reload(fd))
			return fd;
		if (!began)
			began = now_ms();
		if (now_ms() - began >= CLOSED_WAIT)
			return -EUNATCH;
		if (nanosleep(&step, NULL))
			return -EINTR;
	}
}

/**
 * hashbelt_open() - open the device
 * @device:	its path, NULL for HASHBELT_DEVICE
 * @belt:	returned: the handle, to be closed with hashbelt_close(); NULL after an error
 *
 * The handle is bound to the default belt if there is one. A caller that may only read the
 * device gets a handle that can only read. While hbctl reload-module runs, the call waits up to 10
 * seconds for its end.
 *
 * Return: 0; the error of open(2); -EUNATCH if the device is still closed then; -EINTR if a signal
 * has ended the wait; -ENOTTY if @device is another device; -EPROTO if the module has another
 * version of the interface; -ENOMEM.
 */
int hashbelt_open(const char *device, struct hashbelt **belt)
{
	int fd, err;

	*belt = NULL;
	if (!device)
		device = HASHBELT_DEVICE;
	fd = open_at_last(device);
	if (fd < 0)
		return fd;
	err = hashbelt_fdopen(fd, belt);
	if (err)
		close(fd);
	return err;
}

/**
 * hashbelt_close() - close a handle
 * @belt:	the handle, which no other thread uses any more; NULL does nothing
 *
 * A belt without a name is destroyed with the last descriptor that is bound to it.
 */
void hashbelt_close(struct hashbelt *belt)
{
	if (!belt)
		return;
	hashbelt_window_close(belt);
	close(belt->fd);
	leave_memory(belt);
}

/**
 * hashbelt_fd() - the descriptor of a handle
 * @belt:	the handle
 *
 * For poll(2), epoll(7), fcntl(2) with O_NONBLOCK, and for calls that the library does not
 * have. The descriptor stays open until hashbelt_close(); the caller must not close it.
 *
 * Return: the descriptor.
 */
int hashbelt_fd(const struct hashbelt *belt)
{
	return belt->fd;
}

/**
 * hashbelt_destroy() - destroy a belt, even while others use it
 * @belt:	any handle whose descriptor is open for writing
 * @name:	the belt's name
 *
 * Return: 0; -ENOENT, also if the caller has no right to it; -EPERM if it does not
 * own it; -EINVAL or -ENAMETOOLONG for an invalid name.
 */
int hashbelt_destroy(struct hashbelt *belt, const char *name)
{
	struct hashbelt_name arg = { 0 };
	size_t len = strlen(name);

	if (len >= HASHBELT_NAME_SIZE)
		return -ENAMETOOLONG;
	memcpy(arg.name, name, len);
	return call_here(belt, HASHBELT_IOC_DESTROY, &arg);
}

/**
 * hashbelt_next() - the next of the belts that the caller may use
 * @belt:	any handle
 * @info:	in: @name, zeros in all of it for the first belt. Returned: the
 *		next belt, ready for another call
 *
 * Return: 0; -ENOENT behind the last one.
 */
int hashbelt_next(struct hashbelt *belt, struct hashbelt_info *info)
{
	return call_here(belt, HASHBELT_IOC_NEXT, info);
}

/**
 * hashbelt_put() - write an entry
 * @belt:	the handle
 * @key:	the key
 * @key_len:	its length, 1 to HASHBELT_KEY_MAX bytes
 * @value:	the value
 * @value_len:	its length, 0 to HASHBELT_VALUE_MAX bytes
 * @item:	in: @how, @flags, @ttl_ms, and @version with HASHBELT_IF_VERSION.
 *		Returned: @ttl_ms and @version, that of the entry in the way after
 *		-EEXIST and -ESTALE. NULL for a put without conditions, with the
 *		belt's time-to-live
 *
 * Return: 0; -EEXIST, -ENOENT or -ESTALE if a condition does not hold; -EEXIST
 * also on a belt that keeps present entries; -E2BIG or -EINVAL for the key's
 * length, -EMSGSIZE for the value's; -ENOSPC at a limit of the belt or the
 * module; -EDQUOT at that of the belt's owner; -ENOMEM.
 */
int hashbelt_put(struct hashbelt *belt, const void *key, size_t key_len, const void *value,
		 size_t value_len, struct hashbelt_item *item)
{
	struct hashbelt_item plain = { 0 };

	if (value_len > HASHBELT_VALUE_MAX)
		return -EMSGSIZE;
	if (!item)
		item = &plain;
	item->value = (uintptr_t)value;
	item->value_len = value_len;
	return note_refused(belt, call_item(belt, HASHBELT_IOC_PUT, key, key_len, item),
			    key_len + value_len);
}

/**
 * hashbelt_touch() - give an entry a new deadline
 * @belt:	the handle
 * @key:	the key
 * @key_len:	its length, 1 to HASHBELT_KEY_MAX bytes
 * @ttl_ms:	milliseconds from now, HASHBELT_TTL_BELT or HASHBELT_TTL_NEVER
 * @item:	in: @how, conditions on the version and the deadline, HASHBELT_FROM_DEADLINE; 0.
 *		With HASHBELT_IF_VERSION @version. Returned: @flags, @ttl_ms, @version. NULL for a
 *		touch without conditions
 *
 * Return: 0; -ENOENT; -ESTALE and -EALREADY if a condition does not hold; -EINVAL for a
 * time-to-live that is too long, and conditions that exclude each other; -E2BIG or -EINVAL for the
 * key's length.
 */
int hashbelt_touch(struct hashbelt *belt, const void *key, size_t key_len, __u64 ttl_ms,
		   struct hashbelt_item *item)
{
	struct hashbelt_item plain = { 0 };

	if (!item)
		item = &plain;
	item->ttl_ms = ttl_ms;
	return call_item(belt, HASHBELT_IOC_TOUCH, key, key_len, item);
}

/**
 * hashbelt_touch_bound() - give all entries that are bound to the handle one new deadline
 * @belt:	the handle, to which entries are bound that were put with HASHBELT_BOUND
 * @ttl_ms:	milliseconds from now, HASHBELT_TTL_BELT or HASHBELT_TTL_NEVER
 * @item:	returned: @ttl_ms, and the number of the entries as @version. NULL if of no interest
 *
 * Locks and fill leases keep theirs.
 *
 * Return: 0; -ENOENT if no entry is bound; -EINVAL for a time-to-live that is too long; -EINTR if a
 * signal ends the process.
 */
int hashbelt_touch_bound(struct hashbelt *belt, __u64 ttl_ms, struct hashbelt_item *item)
{
	struct hashbelt_item plain = { 0 };

	if (!item)
		item = &plain;
	item->how = HASHBELT_BOUND;
	item->ttl_ms = ttl_ms;
	return call_item(belt, HASHBELT_IOC_TOUCH, NULL, 0, item);
}

/**
 * hashbelt_remove() - take an entry out
 * @belt:	the handle
 * @key:	the key
 * @key_len:	its length, 1 to HASHBELT_KEY_MAX bytes
 * @item:	in: @how, HASHBELT_IF_VERSION with @version, HASHBELT_LEAVE_STALE; 0.
 *		Returned: @version of the entry that was removed, or is there after
 *		-ESTALE. NULL for 0
 *
 * Return: 0; -ENOENT; -ESTALE if the version is another; -E2BIG or -EINVAL for
 * the key's length; -EINVAL for HASHBELT_LEAVE_STALE if the belt has no grace time, or reinserts.
 */
int hashbelt_remove(struct hashbelt *belt, const void *key, size_t key_len,
		    struct hashbelt_item *item)
{
	struct hashbelt_item plain = { 0 };

	return call_item(belt, HASHBELT_IOC_REMOVE, key, key_len, item ? item : &plain);
}

/**
 * hashbelt_expire() - let an entry expire now, as if its deadline had come
 * @belt:	the handle
 * @key:	the key
 * @key_len:	its length, 1 to HASHBELT_KEY_MAX bytes
 *
 * Return: 0; -ENOENT; -E2BIG or -EINVAL for the key's length.
 */
int hashbelt_expire(struct hashbelt *belt, const void *key, size_t key_len)
{
	struct hashbelt_item plain = { 0 };

	return call_item(belt, HASHBELT_IOC_EXPIRE, key, key_len, &plain);
}

/* Notes the first item of a batch for which there was no room. */
static void note_items(const struct hashbelt *belt, const struct hashbelt_item *items,
		       unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (items[i].result != -ENOSPC && items[i].result != -EDQUOT)
			continue;
		note_refused(belt, items[i].result, items[i].key_len + items[i].value_len);
		return;
	}
}

/* Carries items out by calls. @done: returned, after an error as well: those that were tried. */
static int try_items(const struct hashbelt *belt, struct hashbelt_item *items, unsigned int count,
		     unsigned int *done)
{
	struct hashbelt_batch batch;
	int err = 0;

	*done = 0;
	while (!err && *done < count) {
		batch = (struct hashbelt_batch){
			.items = (uintptr_t)(items + *done),
			.count = count - *done,
		};
		if (batch.count > HASHBELT_BATCH_MAX)
			batch.count = HASHBELT_BATCH_MAX;
		err = call_here(belt, HASHBELT_IOC_BATCH, &batch);
		if (!err)
			*done += batch.done;
	}
	return err;
}

/*
 * Carries out the items from @done on, up to the first that finds the belt destroyed. @is_new: it
 * is another belt than before, so items that name what that has given are not carried out.
 */
static int try_kept(const struct hashbelt *belt, struct hashbelt_item *items, unsigned int count,
		    unsigned int *done, int is_new)
{
	unsigned int end, tried;
	int err = 0;

	while (!err && *done < count) {
		for (end = *done; end < count && !(is_new && names_former(&items[end]));)
			end++;
		if (end == *done) {
			items[(*done)++].result = -ESTALE;
			continue;
		}
		err = try_items(belt, items + *done, end - *done, &tried);
		for (end = *done + tried; *done < end; ++*done)
			if (items[*done].result == -EIDRM)
				return -EIDRM;
	}
	return err;
}

/* Carries items out as try_items(); of a handle that is kept bound, the rest in the next belt. */
static int call_items(struct hashbelt *belt, struct hashbelt_item *items, unsigned int count,
		      unsigned int *done)
{
	unsigned int bindings;
	int result, err;

	if (!is_kept(belt))
		return try_items(belt, items, count, done);
	*done = 0;
	result = hashbelt_bind_first(belt, &bindings);
	while (result >= 0) {
		err = try_kept(belt, items, count, done, result);
		if (err != -EIDRM)
			return err;
		result = hashbelt_bind_anew(belt, bindings);
		bindings = hashbelt_bindings(belt);
	}
	return result;
}

/*
 * Carries gets out, WINDOW_BATCH at most: by the window, and then those that it does not answer by
 * a call. Of gets behind one that was not tried, a later call needs the buffers' sizes.
 */
static int get_items(struct hashbelt *belt, struct window_reader *reader,
		     struct hashbelt_item *items, unsigned int count, unsigned int *done)
{
	struct window_rest rest;
	unsigned int called, i;
	int err;
	__u32 how;

	hashbelt_window_look(reader, items, count, &rest);
	err = call_items(belt, rest.items, rest.count, &called);
	for (i = 0; i < called; i++) {
		how = items[rest.index[i]].how;
		items[rest.index[i]] = rest.items[i];
		items[rest.index[i]].how = how;
	}
	*done = called < rest.count ? rest.index[called] : count;
	for (i = *done; i < count; i++)
		items[i].value_len = rest.sizes[i];
	return err;
}

/* Carries out a batch of gets alone. A call may bind the handle to a belt of another window. */
static int get_batch(struct hashbelt *belt, struct hashbelt_item *items, unsigned int count,
		     unsigned int *done)
{
	struct window_reader *reader;
	unsigned int piece, tried;
	int err = 0;

	for (*done = 0; !err && *done < count; *done += tried) {
		reader = window_reader_of(belt);
		piece = count - *done;
		if (reader && piece > WINDOW_BATCH)
			piece = WINDOW_BATCH;
		err = reader ? get_items(belt, reader, items + *done, piece, &tried) :
			       call_items(belt, items + *done, piece, &tried);
	}
	return err;
}

static int are_gets(const struct hashbelt_item *items, unsigned int count)
{
	while (count && items[count - 1].op == HASHBELT_OP_GET)
		count--;
	return !count;
}

/**
 * hashbelt_batch() - carry out many items, in order, each for itself
 * @belt:	the handle
 * @items:	from hashbelt_item(); returned: each one's @result, and the results
 *		of its operation
 * @count:	their number; more than HASHBELT_BATCH_MAX become several calls
 * @done:	returned, after an error as well: items that were tried. May be NULL
 *
 * After hashbelt_window_map(), gets of a batch of gets alone are carried out in any order: those
 * that the belt's window answers come first.
 *
 * Return: 0 if all were tried, whatever their results; -EINTR; -EFAULT if an
 * item or its memory could not be read or written.
 */
int hashbelt_batch(struct hashbelt *belt, struct hashbelt_item *items, unsigned int count,
		   unsigned int *done)
{
	unsigned int tried;
	int err;

	if (window_reader_of(belt) && are_gets(items, count))
		err = get_batch(belt, items, count, &tried);
	else
		err = call_items(belt, items, count, &tried);
	note_items(belt, items, tried);
	if (done)
		*done = tried;
	return err;
}

/**
 * struct hashbelt_scanner - a walk over the keys of a belt
 * @walk:	the walk
 */
struct hashbelt_scanner {
	struct walk walk;
};

static int read_keys(struct walk *walk, __u32 *size)
{
	struct hashbelt_scan scan = {
		.cursor = walk->cursor,
		.buffer = (uintptr_t)walk->buffer,
		.size = walk->size,
	};
	int err = call_at(walk->belt, walk->cursor, HASHBELT_IOC_SCAN, &scan);

	*size = scan.size;
	if (!err) {
		walk->cursor = scan.cursor;
		walk->left = scan.count;
	}
	return err;
}

/**
 * hashbelt_scan_begin() - begin to walk over the keys of a belt
 * @belt:	the handle, bound to that belt until the end
 * @scanner:	returned: the walk, for one thread at a time, ended by hashbelt_scan_end();
 *		NULL after an error
 *
 * Return: 0 or -ENOMEM.
 */
int hashbelt_scan_begin(struct hashbelt *belt, struct hashbelt_scanner **scanner)
{
	*scanner = hashbelt_walk_begin(sizeof(**scanner), &(struct walk){
		.belt = belt, .read = read_keys, .size = SCAN_SIZE,
	});
	return *scanner ? 0 : -ENOMEM;
}

/**
 * hashbelt_scan_next() - the next key of a walk
 * @scanner:	the walk
 * @record:	returned: the entry, valid until the next call; its key is at
 *		hashbelt_record_key()
 *
 * An entry that is there throughout is reported once or, if the belt's index
 * grows or shrinks meanwhile, several times.
 *
 * Return: 1; 0 at the end; -ENOMEM; -ERANGE if a piece is larger than the
 * kernel's bound, HASHBELT_SCAN_MAX.
 */
int hashbelt_scan_next(struct hashbelt_scanner *scanner,
		       const struct hashbelt_record **record)
{
	const void *next;
	int more = hashbelt_walk_next(&scanner->walk, &next);

	if (more > 0)
		*record = next;
	return more;
}

/**
 * hashbelt_scan_end() - end a walk, at any point
 * @scanner:	the walk; NULL does nothing
 */
void hashbelt_scan_end(struct hashbelt_scanner *scanner)
{
	hashbelt_walk_end(scanner ? &scanner->walk : NULL);
}

/**
 * hashbelt_watch() - say how a handle reads events
 * @belt:	the handle
 * @flags:	HASHBELT_WATCH_ACK: events that it reads stay in flight until
 *		hashbelt_ack(); HASHBELT_WATCH_REQUESTS: it reads the ends of its own
 *		requests, and no events of the belt; 0: events, which are settled by the read
 *
 * Return: 0.
 */
int hashbelt_watch(struct hashbelt *belt, __u32 flags)
{
	int err = call(belt, HASHBELT_IOC_WATCH, &flags);

	if (!err)
		__atomic_store_n(&belt->watch, flags, __ATOMIC_RELAXED);
	return err;
}

/* Reads events of the belt that the handle is bound to. */
static ssize_t read_here(const struct hashbelt *belt, void *buffer, size_t size)
{
	ssize_t len = read(belt->fd, buffer, size);

	return len < 0 ? -errno : len;
}

/**
 * hashbelt_read() - read events
 * @belt:	the handle; the call waits for the first event, unless the descriptor has
 *		O_NONBLOCK. poll(2) on the descriptor tells when there is one
 * @buffer:	space for them, aligned to 8 bytes as from malloc(3)
 * @size:	its size, bytes
 *
 * Each event goes to one reader.
 *
 * Return: how many bytes of @buffer are for hashbelt_event_next(); -EAGAIN;
 * -EINTR; -EMSGSIZE if the next event is larger, which it never is than
 * HASHBELT_EVENT_MAX; -ENODATA if nothing is queued and the belt reports nothing.
 */
ssize_t hashbelt_read(struct hashbelt *belt, void *buffer, size_t size)
{
	unsigned int bindings;
	ssize_t len;
	int result;

	if (!is_kept(belt))
		return read_here(belt, buffer, size);
	result = hashbelt_bind_first(belt, &bindings);
	while (result >= 0) {
		len = read_here(belt, buffer, size);
		if (len != -EIDRM)
			return len;
		result = hashbelt_bind_anew(belt, bindings);
		bindings = hashbelt_bindings(belt);
	}
	return result;
}

/**
 * hashbelt_event_next() - the next of the events that were read
 * @buffer:	the events
 * @len:	the return value of hashbelt_read()
 * @event:	the one before, NULL for the first
 *
 * Return: the event, valid as long as the buffer is, with its key at
 * hashbelt_event_key() and its value at hashbelt_event_value(); NULL at the end.
 */
const struct hashbelt_event *hashbelt_event_next(const void *buffer, size_t len,
						 const struct hashbelt_event *event)
{
	const char *next = event ? (const char *)event + event->size : buffer;

	return next < (const char *)buffer + len ? (const void *)next : NULL;
}

/**
 * hashbelt_ack() - be done with events that were read with HASHBELT_WATCH_ACK
 * @belt:	the handle that has read them
 * @sequence:	of the last of them: it, and all read before it, are settled
 *
 * Events that are not settled when the handle is closed or bound to another belt
 * are queued again, for the next reader.
 *
 * Return: 0; -ENOENT if the handle has not read that one, or has settled it.
 */
int hashbelt_ack(struct hashbelt *belt, __u64 sequence)
{
	return call(belt, HASHBELT_IOC_ACK, &sequence);
}

/**
 * hashbelt_info() - describe the belt
 * @belt:	the handle
 * @info:	returned
 *
 * Return: 0.
 */
int hashbelt_info(struct hashbelt *belt, struct hashbelt_info *info)
{
	memset(info, 0, sizeof(*info));
	return call(belt, HASHBELT_IOC_INFO, info);
}

/**
 * hashbelt_set() - change the settings of a belt
 * @belt:	the handle
 * @settings:	@fields says which settings, HASHBELT_SET_*; its name is not
 *		looked at
 *
 * Entries that are there stay, with their deadlines.
 *
 * Return: 0; -EINVAL for a setting that cannot be; -EPERM also for a group of which the
 * caller is no member, and for HASHBELT_PINNED on a user's belt that was created without it;
 * -ENOMEM.
 */
int hashbelt_set(struct hashbelt *belt, const struct hashbelt_settings *settings)
{
	struct hashbelt_settings arg = *settings;

	memset(arg.name, 0, sizeof(arg.name));
	return call(belt, HASHBELT_IOC_SET, &arg);
}

/**
 * hashbelt_stat() - the belt's counters
 * @belt:	the handle
 * @counters:	returned, by enum hashbelt_counter
 * @count:	in: the length of @counters. Returned: how many of them are set
 *
 * Return: 0.
 */
int hashbelt_stat(struct hashbelt *belt, __u64 *counters, unsigned int *count)
{
	struct hashbelt_stat stat = {
		.counters = (uintptr_t)counters,
		.count = *count,
	};
	int err = call(belt, HASHBELT_IOC_STAT, &stat);

	if (!err && stat.count < *count)
		*count = stat.count;
	return err;
}

/**
 * hashbelt_lags() - how late the belt's entries were handed over
 * @belt:	the handle
 * @lags:	returned: element i counts the expired entries whose lag was below
 *		2^i milliseconds, and in no earlier element; the last all others
 * @count:	in: the length of @lags, best HASHBELT_LAGS. Returned: how many of
 *		them are set
 *
 * Return: 0.
 */
int hashbelt_lags(struct hashbelt *belt, __u64 *lags, unsigned int *count)
{
	struct hashbelt_stat stat = {
		.lags = (uintptr_t)lags,
		.lag_count = *count,
	};
	int err = call(belt, HASHBELT_IOC_STAT, &stat);

	if (!err && stat.lag_count < *count)
		*count = stat.lag_count;
	return err;
}

/**
 * hashbelt_buckets() - count entries by the time that they have left
 * @belt:	the handle
 * @counts:	returned: element i counts the entries that expire in the i-th
 *		interval from now, the last one all that expire later or never
 * @count:	its length, 1 to HASHBELT_BUCKETS_MAX
 *
 * Return: 0; -EINVAL for another length; -ENOMEM; -EINTR.
 */
int hashbelt_buckets(struct hashbelt *belt, __u64 *counts, unsigned int count)
{
	struct hashbelt_buckets part = { .count = count };
	__u64 *counted;
	unsigned int i;
	int err;

	if (!count || count > HASHBELT_BUCKETS_MAX)
		return -EINVAL;
	counted = calloc(count, sizeof(*counted));
	if (!counted)
		return -ENOMEM;
	memset(counts, 0, count * sizeof(*counts));
	part.counts = (uintptr_t)counted;
	do {
		err = call_at(belt, part.cursor, HASHBELT_IOC_BUCKETS, &part);
		for (i = 0; !err && i < count; i++)
			counts[i] += counted[i];
	} while (!err && part.cursor);
	free(counted);
	return err;
}

/**
 * hashbelt_clear() - drop all entries of the belt
 * @belt:	the handle
 *
 * Return: 0.
 */
int hashbelt_clear(struct hashbelt *belt)
{
	return call(belt, HASHBELT_IOC_CLEAR, NULL);
}

/**
 * hashbelt_halt() - stop belt time: nothing expires
 * @belt:	the handle
 *
 * Return: 0.
 */
int hashbelt_halt(struct hashbelt *belt)
{
	return call(belt, HASHBELT_IOC_HALT, NULL);
}

/**
 * hashbelt_resume() - let belt time go on from where it stands
 * @belt:	the handle
 *
 * Return: 0.
 */
int hashbelt_resume(struct hashbelt *belt)
{
	return call(belt, HASHBELT_IOC_RESUME, NULL);
}

/**
 * hashbelt_rotate() - move belt time on by one interval
 * @belt:	the handle
 *
 * Return: 0, when all that expired by this is gone; -EOVERFLOW if belt time
 * would leave its range.
 */
int hashbelt_rotate(struct hashbelt *belt)
{
	return call(belt, HASHBELT_IOC_ROTATE, NULL);
}

/**
 * hashbelt_advance() - move belt time on
 * @belt:	the handle
 * @ms:		milliseconds, at most HASHBELT_TTL_MAX_MS
 *
 * Return: 0, when all that expired by this is gone; -EINVAL for more than that;
 * -EOVERFLOW if belt time would leave its range.
 */
int hashbelt_advance(struct hashbelt *belt, __u64 ms)
{
	return call(belt, HASHBELT_IOC_ADVANCE, &ms);
}
