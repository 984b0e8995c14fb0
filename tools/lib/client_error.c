// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libhashbelt: sentences about errors.
 */
/* The strerror_r() of POSIX, not that of GNU. */
#undef _GNU_SOURCE
#define _POSIX_C_SOURCE 200809L

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "private.h"

#define PARAMETERS	"/sys/module/hashbelt/parameters"

/* Text of a number in a macro. */
#define TEXT_OF(number)	#number
#define TEXT(number)	TEXT_OF(number)

/* Sets of calls. */
#define ON(call)	(1ULL << HASHBELT_CALL_##call)
#define ALL		(~0ULL)
#define NAMED		(ON(BIND) | ON(CREATE) | ON(DESTROY))
#define ENTRY		(ON(GET) | ON(PUT) | ON(TOUCH) | ON(REMOVE) | ON(EXPIRE) | ON(BATCH) | \
			 ON(ADD) | ON(FILL) | ON(FILL_PUT))
#define HOLDING		(ON(GIVE_UP) | ON(FILL_RENEW) | ON(FILL_FAIL))
#define LOCKING		(ON(LOCK) | ON(UNLOCK) | ON(RENEW) | ON(HOLDER) | ON(RELEASE) | ON(LOCKS))

/* An entry, lock or request takes more bytes than so many beside key and value. */
#define ENTRY_BYTES	64

/**
 * struct failure - a failed call, and the sentence about it
 * @belt:	the handle, NULL if there is none
 * @err:	the error, positive
 * @call:	the call
 * @name:	the belt's name, or the device's path; NULL if it is not known
 * @info:	description of the belt
 * @has_info:	@info could be read
 * @text:	the sentence so far
 * @size:	size of @text, bytes
 * @len:	length of the sentence so far, at most @size - 1
 */
struct failure {
	struct hashbelt *belt;
	int err;
	enum hashbelt_call call;
	const char *name;
	struct hashbelt_info info;
	int has_info;
	char *text;
	size_t size;
	size_t len;
};

/* The calls, by enum hashbelt_call: their names, and the rights that they need. */
#define ROW(constant, name, rights)	{ name, rights },
static const struct {
	const char *name;
	__u32 rights;
} calls[] = {
	HASHBELT_CALLS(ROW)
};

/* The sentences below have these numbers. */
_Static_assert(HASHBELT_VALUE_MAX == 1048576 && HASHBELT_SCAN_MAX == 1048576 &&
	       HASHBELT_NAME_SIZE == 64, "a sentence has another limit");

#define CALLS	(sizeof(calls) / sizeof(*calls))

#define NO_DEVICE \
	"there is no device @d: load the module with 'modprobe hashbelt' or 'insmod hashbelt.ko'"
#define CLOSED \
	"@d is closed while 'hbctl reload-module' restores belts:" \
	" if none runs any more, let root run 'hbctl reload-module --resume'"
#define JOIN \
	"join its group (ls -l @d), or let root change the udev rule 60-hashbelt.rules"
#define RULED \
	"the device rule of a cgroup refuses it: start the container with '--device @d'," \
	" or the unit of systemd with 'DeviceAllow=@d rw'"
#define FILTERED \
	"let the filter of system calls (seccomp), the rules of Landlock or of a security module" \
	" (SELinux) allow them"
#define LOOK \
	"'ausearch -m avc' or 'journalctl -k' shows the denial, docs/hardening.md the rules"
#define MAY_DROP \
	"@b may drop locks: create one with --pinned --when-full reject, or let root run" \
	" 'hbctl set @n --pinned --when-full reject'"

/*
 * The first row with the error and the call has the sentence. @b is the belt, @n its name, @d the
 * device, @c the call, and @r the right that it needs.
 */
static const struct {
	int err;
	__u64 calls;
	const char *text;
} sentences[] = {
	{ ENOENT, ON(OPEN), NO_DEVICE },
	{ ENXIO, ON(OPEN), NO_DEVICE },
	{ ENODEV, ON(OPEN), NO_DEVICE },
	{ EUNATCH, ON(OPEN), CLOSED },
	/* The mode of the device cannot be the reason: open(2) fails with EACCES then. */
	{ EPERM, ON(OPEN),
	  "no right to open @d: " RULED },
	{ EMFILE, ON(OPEN),
	  "cannot open @d: the process may open no more files: raise the limit ('ulimit -n')" },
	{ ENFILE, ON(OPEN),
	  "cannot open @d: the system may open no more files: raise fs.file-max" },
	{ ENOTTY, ON(OPEN), "@d is not the device of hashbelt" },
	{ EPROTO, ON(OPEN), "@d has another interface than " TEXT(HASHBELT_ABI)
	  ": use hbctl and libhashbelt of the module's version" },
	{ ENOENT, ON(BIND) | ON(DESTROY),
	  "there is no @b, or you have no right to it: 'hbctl belts' lists those that you may use"
	},
	{ ENOENT, ON(NEXT), "there is no further belt" },
	{ ENOENT, ENTRY, "there is no entry of that key in @b" },
	{ ENOENT, ON(TOUCH_BOUND), "no entry of @b is bound to the handle any more" },
	{ ENOENT, LOCKING, "no owner has the lock in @b" },
	{ ENOENT, HOLDING, "the caller does not have the fill lease of that key in @b" },
	{ ENOENT, ON(CANCEL), "there is no request of that id in @b, or it has been completed" },
	{ ENOENT, ON(ACK), "the handle did not read that event of @b, or has acknowledged it" },
	{ EIDRM, ALL, "@b was destroyed: 'hbctl belts' lists those there are" },
	{ EPERM, ON(BIND), "@b has another owner than demanded: 'hbctl belts' shows the owners" },
	{ EPERM, ON(CREATE), "no right to create @b: its group is not yours" },
	{ EPERM, ON(DESTROY) | ON(SET) | ON(HALT) | ON(RESUME) | ON(ROTATE) | ON(ADVANCE),
	  "@c is for the owner of @b, and for root" },
	{ EPERM, ALL,
	  "no right to @r @b: its owner decides ('hbctl create --mode'), and the device's mode" },
	{ EACCES, ON(UNLOCK) | ON(RENEW),
	  "another owner has the lock in @b, or a security module (SELinux) refuses @c: " LOOK },
	/* The module returns it for no other call, except for a belt of the default name. */
	{ EACCES, ALL, "a security module (SELinux) refuses @c on @b: " LOOK },
	{ EEXIST, ON(CREATE),
	  "there is a @b already: choose another name, or destroy it first" },
	{ EEXIST, ENTRY, "an entry of that key is in @b already" },
	{ EEXIST, ON(REQUEST), "the handle has a request of that id in @b" },
	{ ESTALE, ON(FILL_PUT),
	  "the fill lease of that key in @b has ended, so the value was not stored" },
	{ ESTALE, ENTRY, "the entry in @b has another version than demanded: get it again" },
	{ ENAMETOOLONG, NAMED, "a belt's name has 1 to 63 bytes" },
	{ EINVAL, ON(BIND) | ON(DESTROY),
	  "a belt's name has 1 to 63 bytes, without '/' and control characters" },
	{ E2BIG, LOCKING, "the name of a lock has 1 to " TEXT(HASHBELT_KEY_MAX)
	  " bytes, and its owner 1 to " TEXT(HASHBELT_OWNER_MAX) },
	{ E2BIG, ON(REQUEST), "a request has 1 to " TEXT(HASHBELT_REQUEST_KEYS)
	  " keys of 1 to " TEXT(HASHBELT_KEY_MAX) " bytes" },
	{ E2BIG, ALL, "a key has 1 to " TEXT(HASHBELT_KEY_MAX) " bytes" },
	{ EMSGSIZE, ON(READ),
	  "the buffer is too small for the next event of @b: HASHBELT_EVENT_MAX bytes always do" },
	{ EMSGSIZE, ENTRY, "a value has at most 1048576 bytes" },
	{ ERANGE, ON(GET) | ON(BATCH) | ON(FILL), "the buffer is too small for the value" },
	{ ERANGE, ON(HOLDER), "the buffer is too small for the owner of the lock" },
	{ ERANGE, ON(SCAN) | ON(LOCKS), "a piece of the list of @b is larger than 1048576 bytes" },
	{ EBADMSG, ON(ADD),
	  "the entry in @b is not a number: decimal digits, perhaps with a '-', and no newline" },
	{ EOVERFLOW, ON(ADD),
	  "the sum would be more than 64 bits can hold: nothing has been put" },
	{ EOVERFLOW, ON(ROTATE) | ON(ADVANCE), "@b cannot be moved on that far" },
	{ EBUSY, ON(LOCK), "another owner has the lock in @b" },
	{ ETIMEDOUT, ON(LOCK), "another owner still has the lock in @b" },
	{ EALREADY, ON(LOCK), "the owner has the lock in @b already" },
	{ EALREADY, ON(TOUCH), "the deadline of the entry in @b does not meet the condition" },
	{ EOPNOTSUPP, ON(LOCK), MAY_DROP },
	{ EOPNOTSUPP, ON(CREATE) | ON(SET), "belts of a 32-bit kernel have no windows" },
	{ ETIMEDOUT, ON(FILL), "no value was put into @b in the time to wait" },
	{ ENODATA, ON(READ),
	  "@b reports nothing: 'hbctl set @n --on-expire notify' changes that" },
	{ ENODATA, ON(WINDOW_MAP),
	  "@b has no window: let its owner run 'hbctl set @n --window on'" },
	{ EOPNOTSUPP, ON(WINDOW_MAP),
	  "gets cannot use a window here: hashbelt_window_map(3) says what it takes" },
	{ EBUSY, ON(WINDOW_MAP),
	  "the descriptor has the window of @b mapped already: open the device once more" },
	{ EAGAIN, ON(READ), "no event of @b is queued" },
	{ EINTR, ALL, "a signal has interrupted @c on @b" },
	{ EINVAL, ALL, "@c on @b: a flag, a length or a number is not valid" },
	{ EFAULT, ALL, "@c on @b: memory that was passed cannot be read or written" },
	{ ENOTTY, ALL, "@c: the module does not have this call: use libhashbelt of its version" },
	{ ENOMEM, ALL,
	  "no memory for @c on @b: the machine, or the caller's memory cgroup, is at its limit" },
};

/* Appends to the sentence. */
static void __attribute__((__format__(__printf__, 2, 3)))
say(struct failure *failure, const char *format, ...)
{
	size_t room = failure->size - failure->len;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(failure->text + failure->len, room, format, args);
	va_end(args);
	if (len < 0)
		return;
	failure->len += (size_t)len < room ? (size_t)len : room - 1;
}

static void say_belt(struct failure *failure)
{
	if (failure->name)
		say(failure, "belt '%s'", failure->name);
	else
		say(failure, "the belt");
}

/* The rights that the call needs. A get that sets the deadline writes as well. */
static __u32 needed(const struct failure *failure)
{
	__u32 rights = calls[failure->call].rights;

	if (failure->call == HASHBELT_CALL_GET && failure->has_info)
		rights |= HASHBELT_MAY_WRITE;
	return rights;
}

/* Appends the right that the call needs. */
static void say_right(struct failure *failure)
{
	static const char *const names[] = { "use", "read", "write", "read and write" };
	__u32 rights = needed(failure);

	if (failure->call == HASHBELT_CALL_CREATE)
		say(failure, "create");
	else if (rights & HASHBELT_MAY_OWN)
		say(failure, "change");
	else
		say(failure, "%s", names[rights & (HASHBELT_MAY_READ | HASHBELT_MAY_WRITE)]);
}

/* The path of the device; of the default one if the call was on a belt. */
static const char *device_of(const struct failure *failure)
{
	if (failure->call == HASHBELT_CALL_OPEN && failure->name)
		return failure->name;
	return HASHBELT_DEVICE;
}

/* Appends a template with its words replaced. */
static void say_template(struct failure *failure, const char *text)
{
	for (; *text; text++) {
		if (*text != '@') {
			say(failure, "%c", *text);
			continue;
		}
		switch (*++text) {
		case 'b':
			say_belt(failure);
			break;
		case 'n':
			say(failure, "%s", failure->name ? failure->name : "BELT");
			break;
		case 'd':
			say(failure, "%s", device_of(failure));
			break;
		case 'c':
			say(failure, "%s", calls[failure->call].name);
			break;
		case 'r':
			say_right(failure);
			break;
		}
	}
}

/* Reads a parameter of the module. Return: whether it could be read. */
static int read_parameter(const char *name, char *value, size_t size)
{
	char path[128];
	ssize_t len = -1;
	int fd;

	snprintf(path, sizeof(path), PARAMETERS "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, value, size - 1);
		close(fd);
	}
	if (len <= 0)
		return 0;
	value[len] = '\0';
	value[strcspn(value, "\n")] = '\0';
	return 1;
}

/* Appends the name of a parameter of the module, and its value if it can be read. */
static void say_parameter(struct failure *failure, const char *name)
{
	char value[32];

	say(failure, "%s", name);
	if (read_parameter(name, value, sizeof(value)))
		say(failure, " (%s)", value);
}

/* The bytes of keys and values for which there was no room; 0: they are not known. */
static size_t refused_bytes(const struct failure *failure)
{
	if (failure->call == HASHBELT_CALL_SET || hashbelt_refused.belt != failure->belt)
		return 0;
	return hashbelt_refused.bytes;
}

/* Whether what was refused can never fit, however empty the belt is. @limit: 0: there is none. */
static int never_fits(const struct failure *failure, __u64 limit)
{
	size_t bytes = refused_bytes(failure);

	return bytes && limit && bytes + ENTRY_BYTES > limit;
}

/* A parameter of the module as a number; 0 if it cannot be read. */
static __u64 parameter(const char *name)
{
	char value[32];

	return read_parameter(name, value, sizeof(value)) ? strtoull(value, NULL, 10) : 0;
}

/* Begins a sentence about what can never fit. */
static void say_too_large(struct failure *failure)
{
	say_belt(failure);
	say(failure, " can never hold %zu bytes of %s", refused_bytes(failure),
	    (1ULL << failure->call) & LOCKING ? "name and owner" :
	    failure->call == HASHBELT_CALL_REQUEST ? "keys" : "key and value");
	say(failure, " and the %d or more that these take beside: raise ", ENTRY_BYTES);
}

/* ENOSPC and EDQUOT of hashbelt_create(). */
static void say_many(struct failure *failure)
{
	int own = failure->err == EDQUOT;

	say(failure, own ? "you have as many belts as a user may have" :
			   "there are as many belts as there may be");
	say(failure, ", or they hold as much: destroy one, or %sraise ", own ? "let root " : "");
	say_parameter(failure, own ? "user_max_belts" : "max_belts");
	say(failure, " or ");
	say_parameter(failure, own ? "user_max_bytes" : "max_bytes");
	if (own) {
		say(failure, " or, for a pinned belt, ");
		say_parameter(failure, "user_max_pinned");
	}
	say(failure, " in " PARAMETERS);
}

/* EDQUOT of other calls. */
static void say_quota(struct failure *failure)
{
	int is_pinned = failure->has_info && failure->info.policy & HASHBELT_PINNED;
	__u64 limit = parameter("user_max_bytes");

	if (is_pinned)
		limit = limit / 100 * parameter("user_max_pinned");
	if (never_fits(failure, limit)) {
		say_too_large(failure);
		say_parameter(failure, "user_max_bytes");
		if (is_pinned) {
			say(failure, " or its percentage ");
			say_parameter(failure, "user_max_pinned");
		}
		say(failure, " in " PARAMETERS ", as root");
		return;
	}
	if (failure->name)
		say(failure, "the belts of the owner of '%s'", failure->name);
	else
		say(failure, "the belts of the owner of the belt");
	say(failure,
	    " take as much memory as a user's may: remove entries, or let root raise ");
	say_parameter(failure, "user_max_bytes");
	if (is_pinned) {
		say(failure, " or ");
		say_parameter(failure, "user_max_pinned");
	}
	say(failure, " in " PARAMETERS);
}

static void say_module(struct failure *failure)
{
	if (never_fits(failure, parameter("max_bytes"))) {
		say_too_large(failure);
		say_parameter(failure, "max_bytes");
		say(failure, " in " PARAMETERS);
		return;
	}
	say(failure, "the module's memory limit is reached: remove entries, or raise ");
	say_parameter(failure, "max_bytes");
	say(failure, " in " PARAMETERS);
}

/* Whether the belt evicts: then it is full of what it may not evict, or not at once. */
static int evicts(const struct failure *failure)
{
	return failure->info.policy & HASHBELT_EVICT;
}

/* The belt is at its max_entries. */
static void say_full_of_entries(struct failure *failure)
{
	const struct hashbelt_info *info = &failure->info;

	say_belt(failure);
	say(failure, " is full: %llu entries count against its max_entries of %llu;",
	    (unsigned long long)info->used_entries, (unsigned long long)info->max_entries);
	say(failure, evicts(failure) ? " raise that: none of them can be evicted now" :
				       " raise that or let it evict");
	say(failure, " ('hbctl set')");
}

/* Nothing counts against the max_bytes of the belt. */
static void say_empty(struct failure *failure)
{
	say_belt(failure);
	say(failure, " is empty, but %zu bytes and what they take beside do not fit into",
	    refused_bytes(failure));
	say(failure, " its max_bytes of %llu; raise that ('hbctl set'), unless the module is at ",
	    (unsigned long long)failure->info.max_bytes);
	say_parameter(failure, "max_bytes");
	say(failure, " in " PARAMETERS);
}

/* The belt is at its max_bytes, or the module at its own. */
static void say_full_of_bytes(struct failure *failure)
{
	const struct hashbelt_info *info = &failure->info;

	say_belt(failure);
	say(failure, " is full: ");
	if (info->max_bytes)
		say(failure, "%llu bytes count against its max_bytes of %llu;",
		    (unsigned long long)info->used_bytes,
		    (unsigned long long)info->max_bytes);
	if (info->max_bytes && failure->call == HASHBELT_CALL_REQUEST)
		say(failure, " so do completions that no caller has read;");
	say(failure, "%sraise its limits%s ('hbctl set'), unless the module is at ",
	    info->max_bytes ? " " : "",
	    evicts(failure) ? ": not enough of it can be evicted now" : " or let it evict");
	say_parameter(failure, "max_bytes");
	say(failure, " in " PARAMETERS);
}

/*
 * ENOSPC of other calls. The kernel does not say which limit it was: the belt's are compared with
 * what it uses now, and with the keys and values that were refused. How many bytes these need in
 * all is not known, so @max_bytes may be the limit whenever it is set.
 */
static void say_full(struct failure *failure)
{
	const struct hashbelt_info *info = &failure->info;

	if (failure->call == HASHBELT_CALL_SET ||
	    (failure->has_info && !info->max_entries && !info->max_bytes)) {
		say_module(failure);
	} else if (never_fits(failure, info->max_bytes)) {
		say_too_large(failure);
		say(failure, "its max_bytes of %llu; 'hbctl set' does",
		    (unsigned long long)info->max_bytes);
	} else if (info->max_entries && info->used_entries >= info->max_entries) {
		say_full_of_entries(failure);
	} else if (info->max_bytes && !info->used_bytes && refused_bytes(failure)) {
		say_empty(failure);
	} else {
		say_full_of_bytes(failure);
	}
}

/* Finds out what the belt is. The belt of a call by name need not be that of the handle. */
static void describe(struct failure *failure)
{
	struct hashbelt_info *info = &failure->info;

	if (!failure->belt || (1ULL << failure->call) & (NAMED | ON(OPEN) | ON(NEXT)))
		return;
	if (hashbelt_info(failure->belt, info)) {
		memset(info, 0, sizeof(*info));
		return;
	}
	if (!failure->name && *info->name)
		failure->name = info->name;
	failure->has_info = !failure->name || !strcmp(failure->name, info->name);
	if (!failure->has_info)
		memset(info, 0, sizeof(*info));
}

/*
 * Whether the mode of the device lets the caller do this: 4 to read, 2 to write. An access control
 * list may differ from it.
 */
static int mode_allows(const struct stat *device, mode_t bits)
{
	gid_t groups[256];
	int count = getgroups(sizeof(groups) / sizeof(*groups), groups);
	int is_member = getegid() == device->st_gid;

	if (geteuid() == device->st_uid)
		return device->st_mode >> 6 & bits;
	while (--count >= 0)
		is_member |= groups[count] == device->st_gid;
	return device->st_mode >> (is_member ? 3 : 0) & bits;
}

static void say_security(struct failure *failure)
{
	say(failure, "a security module (SELinux, AppArmor) refuses it: " LOOK);
}

/* EACCES of open(2): modes, or a security module. stat(2) needs no right to the device itself. */
static void say_closed(struct failure *failure)
{
	struct stat device;

	say_template(failure, "no right to open @d");
	if (stat(device_of(failure), &device)) {
		say(failure, ": the mode of a directory or ");
		say_security(failure);
	} else if (mode_allows(&device, 4)) {
		say(failure, ", though its mode allows it: ");
		say_security(failure);
	} else {
		say_template(failure, ": " JOIN);
	}
}

/*
 * Whether the device can be opened: then not open(2) was refused, but the first ioctl behind it,
 * EPERM by most filters of system calls, EACCES by Landlock and SELinux.
 */
static int can_open(const struct failure *failure)
{
	int fd = open(device_of(failure), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return 0;
	close(fd);
	return 1;
}

/* Whether the descriptor is open for reading only. The belt may refuse the call as well. */
static int is_read_only(const struct failure *failure)
{
	__u32 rights = needed(failure);
	int flags;

	if (failure->err != EPERM || !failure->belt ||
	    !(rights & (HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN)))
		return 0;
	flags = fcntl(failure->belt->fd, F_GETFL);
	return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY;
}

/* Tries to open the device of the handle for writing. Return: 0 or errno. */
static int try_to_write(const struct failure *failure)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", failure->belt->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* hashbelt_open() opens it for reading where it may not write; another program may want no more. */
static void say_read_only(struct failure *failure)
{
	int err = try_to_write(failure);
	struct stat device;

	say_template(failure, "no right to @r @b: the device is open for reading only");
	if (err == EPERM) {
		say_template(failure, ": " RULED);
	} else if (err == EACCES && !fstat(failure->belt->fd, &device) &&
		   !mode_allows(&device, 2)) {
		say_template(failure, ": " JOIN);
	} else if (err == EACCES) {
		say(failure, ", though its mode allows more: ");
		say_security(failure);
	}
}

/* EACCES of the default belt's name: CAP_SYS_ADMIN is missing, or a security module refuses. */
static void say_default(struct failure *failure)
{
	if (geteuid()) {
		say_template(failure, "only root can create @b: choose another name");
		return;
	}
	say_template(failure, "only root with CAP_SYS_ADMIN can create @b: a container or ");
	say_security(failure);
}

/* Makes the sentences that depend on more than the error and the call. Return: 1 if it did. */
static int say_special(struct failure *failure)
{
	int is_create = failure->call == HASHBELT_CALL_CREATE;
	int is_open = failure->call == HASHBELT_CALL_OPEN;

	if (is_create && (failure->err == ENOSPC || failure->err == EDQUOT)) {
		say_many(failure);
	} else if (failure->err == ENOSPC) {
		say_full(failure);
	} else if (failure->err == EDQUOT) {
		say_quota(failure);
	} else if (is_open && (failure->err == EPERM || failure->err == EACCES) &&
		   can_open(failure)) {
		say_template(failure, "@d opens, but its ioctls are refused: " FILTERED);
	} else if (is_open && failure->err == EACCES) {
		say_closed(failure);
	} else if (failure->err == EACCES && is_create && failure->name &&
		   !strcmp(failure->name, HASHBELT_DEFAULT_BELT)) {
		say_default(failure);
	} else if (is_read_only(failure)) {
		say_read_only(failure);
	} else if (failure->err == EIDRM && !failure->name) {
		say(failure, "the handle has no belt: it was destroyed, or there is no belt '%s'",
		    HASHBELT_DEFAULT_BELT);
	} else if (failure->err == EPERM && failure->has_info &&
		   (1ULL << failure->call) & (ON(READ) | ON(ACK))) {
		say_template(failure, "no right to take events of @b: its owner decides");
		say(failure, " ('hbctl set --consumers')");
	} else if (failure->err == EDOM) {
		say_template(failure, "the lease is longer than the time-to-live of @b");
		if (failure->has_info)
			say(failure, ", %llu ms", (unsigned long long)failure->info.ttl_ms);
	} else {
		return 0;
	}
	return 1;
}

/**
 * hashbelt_strerror() - make a sentence of an error
 * @belt:	the handle of the failed call; NULL after hashbelt_open()
 * @err:	the return value of the call, a negative errno
 * @call:	the call that returned it
 * @name:	the belt's name, or the device's path for HASHBELT_CALL_OPEN. NULL: the name of the
 *		belt that the handle is bound to, if it can be read, or HASHBELT_DEVICE
 * @buffer:	space for the sentence
 * @size:	its size, at least 1 byte; a longer sentence is cut. HASHBELT_ERROR_SIZE bytes are
 *		enough for all sentences in which @name has less than HASHBELT_NAME_SIZE bytes
 *
 * The sentence says what was wrong and what to do next, in English, without a newline. At a limit
 * it names the limit. For its value and what counts against it, the function reads the belt's
 * description and the module's parameters, where the caller may. Both may have changed since the
 * call failed.
 *
 * Return: @buffer.
 */
const char *hashbelt_strerror(struct hashbelt *belt, int err, enum hashbelt_call call,
			      const char *name, char *buffer, size_t size)
{
	struct failure failure = {
		.belt = belt, .err = -err, .call = call, .name = name,
		.text = buffer, .size = size,
	};
	char reason[128];
	size_t i;

	*buffer = '\0';
	if ((unsigned int)call >= CALLS)
		failure.call = HASHBELT_CALL_NEXT;
	describe(&failure);
	if (say_special(&failure))
		return buffer;
	for (i = 0; i < sizeof(sentences) / sizeof(*sentences); i++) {
		if (sentences[i].err == -err && sentences[i].calls & (1ULL << failure.call)) {
			say_template(&failure, sentences[i].text);
			return buffer;
		}
	}
	if (strerror_r(-err, reason, sizeof(reason)))
		snprintf(reason, sizeof(reason), "error %d", -err);
	if (call == HASHBELT_CALL_OPEN)
		say_template(&failure, "cannot open @d: ");
	else
		say_template(&failure, "@c: @b: ");
	say(&failure, "%s", reason);
	return buffer;
}
