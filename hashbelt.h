/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * hashbelt - an expiring cache in the kernel: the interface of /dev/hashbelt.
 *
 * Every structure has fixed-size fields at their natural alignment, so that
 * 32-bit and 64-bit programs share one layout. Pointers travel as __u64.
 * Reserved fields must be zero and unknown flags are refused (EINVAL), so that
 * both can gain a meaning later. Times are milliseconds of belt time.
 */
#ifndef _UAPI_HASHBELT_H
#define _UAPI_HASHBELT_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * open(2) of the device fails with EUNATCH, which no ioctl returns, while the module's parameter
 * closed is 1: hbctl reload-module restores belts. A task with CAP_SYS_MODULE opens it with O_EXCL.
 */
#define HASHBELT_DEVICE		"/dev/hashbelt"
#define HASHBELT_DEFAULT_BELT	"default"	/* made when the module is loaded */
#define HASHBELT_ABI		1

/* Bounds. */
#define HASHBELT_NAME_SIZE	64		/* with the closing NUL */
#define HASHBELT_KEY_MAX	1024		/* bytes; the least is 1 */
#define HASHBELT_VALUE_MAX	(1024 * 1024)	/* bytes; the least is 0 */
#define HASHBELT_BUCKETS_MIN	2
#define HASHBELT_BUCKETS_MAX	65536
#define HASHBELT_TTL_MAX_MS	4398046511104ULL /* 2^42 ms, some 139 years */
#define HASHBELT_BATCH_MAX	1024		/* items of one batch */
#define HASHBELT_SCAN_MAX	(1024 * 1024)	/* bytes of one scan's buffer */
#define HASHBELT_OWNER_MAX	64		/* bytes of a lock's owner; the least is 1 */
#define HASHBELT_REQUEST_KEYS	16		/* keys of one request */
#define HASHBELT_WINDOW_MIN	(64 * 1024)	/* bytes of a window, a power of two */
#define HASHBELT_WINDOW_MAX	(8 * 1024 * 1024)
#define HASHBELT_WINDOW_DEFAULT	(1024 * 1024)	/* a good size for most belts */

/* Values of a time-to-live beside a number of milliseconds. */
#define HASHBELT_TTL_BELT	0ULL		/* the belt's own */
#define HASHBELT_TTL_NEVER	(~0ULL)		/* does not expire */
#define HASHBELT_TTL_KEEP	(~0ULL - 1)	/* put: the present deadline, or the belt's */
#define HASHBELT_AT_LEAST	0x8000000000000000ULL /* renew: so long, or as it is */
#define HASHBELT_WAIT_UNTIL	0x8000000000000000ULL /* wait: until a belt time, ns */

/* The operation of an item of a batch. Each has a call of its own below. */
enum hashbelt_op {
	HASHBELT_OP_GET		= 1,
	HASHBELT_OP_PUT		= 2,
	HASHBELT_OP_TOUCH	= 3,
	HASHBELT_OP_REMOVE	= 4,
	HASHBELT_OP_EXPIRE	= 5,
	HASHBELT_OP_ADD		= 6,
};

/* Conditions and modifiers of an item (@how). */
#define HASHBELT_IF_ABSENT	0x01	/* put: EEXIST if present; lock: EALREADY */
#define HASHBELT_IF_PRESENT	0x02	/* put, add: ENOENT if absent */
#define HASHBELT_IF_VERSION	0x04	/* put, remove, touch: ESTALE if it has another one */
#define HASHBELT_AND_TOUCH	0x08	/* get: set the deadline as well */
#define HASHBELT_NO_REFRESH	0x10	/* get: leave deadline and counters of gets alone */
#define HASHBELT_NO_VALUE	0x20	/* get: all but the value's bytes */
#define HASHBELT_BOUND		0x40	/* put, lock, fill: goes with the descriptor; touch: all */
#define HASHBELT_IF_LEASE	0x80	/* put: ESTALE if the caller's fill lease has ended */
#define HASHBELT_TO_WINDOW	0x100	/* get: asks for a slot in the belt's window */
#define HASHBELT_FLOOR		0x200	/* add: a sum below @version is @version */
#define HASHBELT_LEAVE_STALE	0x400	/* remove: the value stays, as one that has expired */
#define HASHBELT_IF_LASTING	0x800	/* touch, expire: EALREADY if it has a deadline */
#define HASHBELT_IF_EXPIRING	0x1000	/* touch, expire: EALREADY if it has none */
#define HASHBELT_IF_LATER	0x2000	/* touch: EALREADY unless its deadline gets later */
#define HASHBELT_IF_SOONER	0x4000	/* touch: EALREADY unless its deadline gets earlier */
#define HASHBELT_FROM_DEADLINE	0x8000	/* touch: @ttl_ms is added to the present deadline */

/**
 * struct hashbelt_item - one operation on one key
 * @key:	pointer to the key's bytes
 * @value:	put: pointer to the value; get: pointer to the buffer; add: pointer
 *		to a struct hashbelt_sum
 * @key_len:	length of the key, 1 to HASHBELT_KEY_MAX bytes; 0: touch with HASHBELT_BOUND
 * @how:	HASHBELT_IF_*, HASHBELT_AND_TOUCH, HASHBELT_NO_*
 * @value_len:	put: length of the value. get: size of the buffer, replaced by
 *		the length of the value (with ERANGE as well: the buffer was too
 *		small). add: size of the structure
 * @flags:	32 bits for the caller: stored by put, returned by get, and by touch
 *		to callers with HASHBELT_MAY_READ
 * @ttl_ms:	put, touch, get with HASHBELT_AND_TOUCH: the time-to-live, or
 *		HASHBELT_TTL_*. add: that of a new entry; a present one keeps its
 *		deadline. Returned: the time left at a moment during the call, rounded
 *		up to milliseconds. Added to a time that was read before the call, it
 *		is too long by at most that rounding.
 *		HASHBELT_TTL_NEVER for an entry that does not expire
 * @version:	with HASHBELT_IF_VERSION: the version that the entry must have; with
 *		HASHBELT_IF_LEASE: the token of the fill lease; not both. With
 *		HASHBELT_FLOOR: the least sum, as a number with a sign.
 *		Returned: the entry's version; with EEXIST, ESTALE and EALREADY that of
 *		the present entry, 0 if there is none
 * @op:		in a batch: one of enum hashbelt_op. Else 0
 * @result:	in a batch, returned: 0 or a negative errno
 * @reserved:	pass 0
 *
 * An operation leaves the returned fields that it does not use as they were. Errors: ENOENT (no
 * such entry), EEXIST, ESTALE, EALREADY (the condition), ERANGE (the buffer), EINVAL, EFAULT, E2BIG
 * (the key's length), EMSGSIZE (the value's length), ENOSPC (a limit of the belt or the module),
 * EDQUOT (the memory limit of the belt's owner), ENOMEM, EPERM (this descriptor lacks the
 * right), EIDRM (the belt was destroyed), of add EBADMSG (the present value is no number, or one
 * below the floor) and EOVERFLOW. EFAULT may also mean that the operation has been carried out,
 * but its item cannot be written to.
 *
 * Each call reads what user space passed once, before it writes anything back: a get never takes
 * the bytes of its value for its key. It writes the value, or other buffers, first, and its own
 * structure last. A get that fails may have written to its buffer, if a put changed the entry or a
 * page was missing meanwhile. The kernel makes LOCK and FILL again after a signal without a handler
 * that has ended their wait; if they write where their key or owner lies, they return EINTR then.
 *
 * An entry that was put with HASHBELT_BOUND is removed, at the latest, when the last copy of
 * the descriptor is closed or the descriptor is bound to another belt. A process that is
 * killed closes its descriptors. After a put over the entry without that flag, the entry is
 * bound no more.
 *
 * A touch with HASHBELT_BOUND has no key: @key_len is 0. It gives all entries that were put thus,
 * and are bound to the descriptor, one and the same deadline, and returns their number as @version.
 * So one call keeps many entries, and without it they are gone together. It reaches no locks and
 * fill leases. An entry that is put while it goes on may keep its own deadline. ENOENT: none is
 * bound. It does not count as use of the entries when the belt evicts, and costs time by the number
 * of what is bound; EINTR if a signal ends the process meanwhile.
 *
 * The conditions of a touch and of EXPIRE are checked in one step with the change, also against
 * touches and gets that refresh. All that are given have to hold. An entry that does not expire has
 * the latest deadline: HASHBELT_IF_LATER never holds for it. Conditions that exclude each other are
 * refused (EINVAL): HASHBELT_IF_LASTING with another one on the deadline, and HASHBELT_IF_LATER
 * with HASHBELT_IF_SOONER. Those on the deadline need HASHBELT_MAY_READ.
 *
 * A touch with HASHBELT_FROM_DEADLINE adds the time-to-live to the deadline in the same step: of
 * two at once, both count. An entry that does not expire stays so. EINVAL, and nothing is changed,
 * if more than HASHBELT_TTL_MAX_MS would be left. It needs HASHBELT_MAY_READ, and excludes
 * HASHBELT_IF_LASTING.
 *
 * A remove with HASHBELT_LEAVE_STALE lets the entry expire now, and leaves it in the belt for the
 * belt's grace time, for FILL with HASHBELT_STALE. It ends the fill lease of the key, as any
 * remove. The handler gets the entry as expired. EINVAL on a belt without a grace time, or that
 * reinserts; ENOENT, and an old value stays, if the entry has expired.
 *
 * A put with HASHBELT_IF_LEASE stores nothing if the fill lease has ended (struct
 * hashbelt_fill). It replaces a present entry, whatever the belt's policy.
 */
struct hashbelt_item {
	__u64 key;
	__u64 value;
	__u32 key_len;
	__u32 how;
	__u32 value_len;
	__u32 flags;
	__u64 ttl_ms;
	__u64 version;
	__u32 op;
	__s32 result;
	__u64 reserved;
};

/**
 * struct hashbelt_sum - an atomic addition
 * @by:		the addend
 * @value:	the number that an absent entry counts as. Returned: the sum
 *
 * The entry's value is the number in decimal, which a put may have stored as well: an
 * optional '-' and 1 to 19 digits, with no zero before another digit and no '-' before
 * 0. An addition is a put: it makes a new version, and
 * unbinds the entry from a descriptor; but @flags of the item stay. It needs
 * HASHBELT_MAY_READ and HASHBELT_MAY_WRITE.
 *
 * With HASHBELT_FLOOR a sum below the floor, however far, becomes the floor. A present number below
 * it is refused (EBADMSG), and so is a @value below it (EINVAL), unless HASHBELT_IF_PRESENT, which
 * ignores @value: so no call makes a number greater by more than @by.
 */
struct hashbelt_sum {
	__s64 by;
	__s64 value;
};

/**
 * struct hashbelt_batch - many items in one call
 * @items:	pointer to an array of struct hashbelt_item
 * @count:	number of items, 1 to HASHBELT_BATCH_MAX
 * @flags:	pass 0
 * @done:	returned: items whose result was returned. Fewer than @count only when the
 *		call was interrupted or an item could not be read or written
 * @reserved:	pass 0
 *
 * The items are carried out in order and independently: the result of a failed one has the
 * error, and the next one is tried. If what an item returns overlaps what the call has still
 * to read for another one, the results of those items are unspecified, and nothing else is
 * harmed. The call ends at an item that cannot be read, or written to; the latter has been
 * carried out. If that is the first one, the call fails with EFAULT; with EINTR if a signal
 * comes before the first one.
 */
struct hashbelt_batch {
	__u64 items;
	__u32 count;
	__u32 flags;
	__u32 done;
	__u32 reserved;
};

/* How a belt behaves (@policy). Without any: put replaces, get leaves alone. */
#define HASHBELT_REFRESH_ON_GET	0x01	/* a hit gives at least the belt's ttl again */
#define HASHBELT_KEEP_ON_PUT	0x02	/* put: EEXIST if present */
#define HASHBELT_EVICT		0x04	/* when full: see "Limits" below; else ENOSPC */
#define HASHBELT_PINNED		0x08	/* gives up nothing under memory pressure */
#define HASHBELT_WIPE		0x10	/* keys and values are overwritten when freed */
/* 0x20 was an order of eviction. It returns EINVAL, and is not used again. */
#define HASHBELT_POLICY_ALL		0x1fu

/* Well-known policies. */
#define HASHBELT_POLICY_STANDARD	HASHBELT_KEEP_ON_PUT
#define HASHBELT_POLICY_UPDATING	HASHBELT_REFRESH_ON_GET
#define HASHBELT_POLICY_TIMECACHE	0u

/*
 * Rights of a descriptor to the belt that it is bound to (@access): those that the task that
 * binds it and the task that opened the device both have then. They do not change later.
 */
#define HASHBELT_MAY_READ	0x01	/* get, scan, info, read completed requests */
#define HASHBELT_MAY_WRITE	0x02	/* put, touch, remove, expire, clear */
#define HASHBELT_MAY_OWN	0x04	/* set, halt, resume, rotate, advance, destroy */
#define HASHBELT_MAY_CONSUME	0x08	/* with MAY_READ: read and acknowledge events */

/* Handling of an entry that expires (@handler). */
enum hashbelt_handler {
	HASHBELT_DROP		= 0,	/* it is freed */
	HASHBELT_NOTIFY		= 1,	/* it is reported, then freed */
	HASHBELT_REINSERT	= 2,	/* it is reported, and gets the belt's ttl again */
};

/* The users that may consume the events of a belt (@consumers). */
enum hashbelt_consumers {
	HASHBELT_CONSUMERS_READERS = 0,	/* those that may read the belt */
	HASHBELT_CONSUMERS_OWNER = 1,	/* of these, those that may configure it */
};

/*
 * The reason for which an entry has left the belt, in its event. At most 1 MiB of events
 * with HASHBELT_PRESSURE may be queued; more are lost, and counted.
 */
enum hashbelt_reason {
	HASHBELT_EXPIRED	= 1,	/* its deadline was reached, or by EXPIRE */
	HASHBELT_EVICTED	= 2,	/* the belt was full */
	HASHBELT_REPLACED	= 3,	/* another put of its key */
	HASHBELT_REMOVED	= 4,
	HASHBELT_CLEARED	= 5,
	HASHBELT_PRESSURE	= 6,	/* memory pressure */
	HASHBELT_RELEASED	= 7,	/* the descriptor that it was bound to was closed */
};

/* The cause that has ended a request, in its event. */
enum hashbelt_cause {
	HASHBELT_BY_TIMEOUT	= 1,	/* its time-to-live is over */
	HASHBELT_BY_EVICTION	= 2,	/* the belt was full */
	HASHBELT_BY_PUT		= 3,	/* one of its keys was put */
	HASHBELT_BY_COMPLETE	= 4,	/* HASHBELT_IOC_COMPLETE of one of its keys */
	HASHBELT_BY_CLEAR	= 5,	/* the belt was cleared */
	HASHBELT_BY_PRESSURE	= 6,	/* memory pressure */
};

/* The kind of entry that an event reports (@kind). */
enum hashbelt_kind {
	HASHBELT_ENTRY		= 0,
	HASHBELT_LOCK		= 1,	/* the value is the owner */
	HASHBELT_REQUEST	= 2,	/* see struct hashbelt_request */
};

/* Bits of @reasons: the reported ones, if the handler reports. */
#define HASHBELT_REPORT(reason)		(1u << (reason))
#define HASHBELT_REPORT_DEFAULT		(HASHBELT_REPORT(HASHBELT_EXPIRED) | \
					 HASHBELT_REPORT(HASHBELT_EVICTED) | \
					 HASHBELT_REPORT(HASHBELT_PRESSURE))
#define HASHBELT_REPORT_ALL		0xfeu

#define HASHBELT_EVENTS_DEFAULT		(1024 * 1024)	/* @max_events */

/* The settings that HASHBELT_IOC_SET changes (@fields). */
#define HASHBELT_SET_TTL		0x0001
#define HASHBELT_SET_BUCKETS		0x0002
#define HASHBELT_SET_POLICY		0x0004
#define HASHBELT_SET_HANDLER		0x0008
#define HASHBELT_SET_REASONS		0x0010
#define HASHBELT_SET_MAX_ENTRIES	0x0020
#define HASHBELT_SET_MAX_BYTES		0x0040
#define HASHBELT_SET_MAX_EVENTS		0x0080
#define HASHBELT_SET_MODE		0x0100
#define HASHBELT_SET_GID		0x0200
#define HASHBELT_SET_GRACE		0x0400
#define HASHBELT_SET_CONSUMERS		0x0800
#define HASHBELT_SET_WINDOW		0x1000
#define HASHBELT_SET_ALL		0x1fff

/**
 * struct hashbelt_settings - settings of a belt
 * @name:	CREATE: 1 to 63 bytes without '/' and control characters, NUL to the
 *		end; empty: a belt that lives as long as a descriptor to it. SET:
 *		pass zeros
 * @ttl_ms:	the belt's time-to-live, 1 to HASHBELT_TTL_MAX_MS; 0: the default.
 *		Present entries keep their deadlines
 * @buckets:	HASHBELT_BUCKETS_MIN to HASHBELT_BUCKETS_MAX; 0: the default
 * @policy:	bits of HASHBELT_POLICY_ALL. SET: HASHBELT_PINNED needs
 *		CAP_SYS_RESOURCE (EPERM) on a belt that was created without it by a task
 *		without that capability
 * @mode:	rights to read (r) and write (w): permission bits as of a file, at
 *		most 0666
 * @fields:	SET: HASHBELT_SET_*, the settings to change; the others are
 *		ignored. CREATE: HASHBELT_SET_GID or 0
 * @handler:	one of enum hashbelt_handler
 * @reasons:	HASHBELT_REPORT() bits; 0: HASHBELT_REPORT_DEFAULT
 * @gid:	the belt's group, as seen in the caller's user namespace; CREATE
 *		without HASHBELT_SET_GID: that of the caller. One that the caller
 *		is no member of needs CAP_SYS_ADMIN (EPERM)
 * @consumers:	one of enum hashbelt_consumers: rights to read(2) and acknowledge events.
 *		Descriptors that are bound keep theirs
 * @max_entries: most entries; 0: no limit
 * @max_bytes:	most bytes, including all overhead of an entry; 0: no limit
 * @max_events:	most events that wait to be read or acknowledged; 0:
 *		HASHBELT_EVENTS_DEFAULT
 * @grace_ms:	time for which an entry stays beyond its deadline, only for
 *		HASHBELT_IOC_FILL; the handler gets it after that.
 *		At most HASHBELT_TTL_MAX_MS
 * @window_bytes: bytes of the slots of the window (struct hashbelt_window), a power of two from
 *		HASHBELT_WINDOW_MIN to HASHBELT_WINDOW_MAX; 0: none. A belt with HASHBELT_WIPE has
 *		none (EINVAL), nor has one of a 32-bit kernel (EOPNOTSUPP)
 * @reserved:	pass 0
 *
 * Limits. An entry counts while it is in the belt. After it expired, was removed, or was released
 * with its descriptor, it counts until its event is settled. At a limit, a put that needs room
 * takes that of an expired entry, unless the belt reinserts; else, with HASHBELT_EVICT, it evicts
 * an entry, fill leases and requests last, or, if the belt holds only events, drops the oldest;
 * else it fails with ENOSPC. A call that finds no memory, at the limit of the owner, of the module
 * or of a cgroup, first frees expired entries of the belt, then those of the owner's other belts,
 * but none whose expiry is reported. A hand goes through the entries in the order of their
 * deadlines, to within a bucket. One that was read, touched or put again since it passed last
 * stays, also in the following laps as long as each of them evicts at least half as many entries as
 * there are. One that was put soon after its key had expired or been evicted stays at least once.
 * Others are evicted. Memory pressure takes entries in the same order, and without HASHBELT_EVICT
 * by deadline. Room that a put has made is reserved for it, and counts as used. Events of other
 * reasons count only against the queue's limits: @max_events, and @max_bytes once more,
 * unacknowledged events included. At a limit of the queue the oldest queued events are dropped and
 * counted. Limits below the present usage evict nothing: the belt is full, and surplus events are
 * dropped.
 */
struct hashbelt_settings {
	char name[HASHBELT_NAME_SIZE];
	__u64 ttl_ms;
	__u32 buckets;
	__u32 policy;
	__u32 mode;
	__u32 fields;
	__u32 handler;
	__u32 reasons;
	__u32 gid;
	__u32 consumers;
	__u64 max_entries;
	__u64 max_bytes;
	__u64 max_events;
	__u64 grace_ms;
	__u64 window_bytes;
	__u64 reserved[2];
};

/* Demands of OPEN (@flags). */
#define HASHBELT_OF_OWNER	0x01	/* that the belt is owned by @uid, else EPERM */

/**
 * struct hashbelt_name - a belt by name: to bind to, or to destroy
 * @name:	NUL to the end
 * @flags:	OPEN: 0 or HASHBELT_OF_OWNER; DESTROY: pass 0
 * @uid:	the owner that HASHBELT_OF_OWNER demands; else pass 0
 *
 * Any user may create a belt under a name that no belt has, with mode 0666. A program that puts
 * secrets into a belt demands its owner. A belt of uid 0 is one that a task with
 * CAP_SYS_RESOURCE has made.
 */
struct hashbelt_name {
	char name[HASHBELT_NAME_SIZE];
	__u32 flags;
	__u32 uid;
};

/* State of a belt (@state). */
#define HASHBELT_HALTED		0x01	/* belt time stands still */
#define HASHBELT_NAMELESS	0x02
#define HASHBELT_OWNER_CONSUMES	0x04	/* @consumers is HASHBELT_CONSUMERS_OWNER */

/**
 * struct hashbelt_info - description of a belt
 * @name:	HASHBELT_IOC_NEXT: in, the belt after which to look ("" for the
 *		first in the order of names). Returned: the belt's name
 * @ttl_ms:	the belt's time-to-live
 * @interval_ns: time between two rotations
 * @now_ns:	belt time, nanoseconds
 * @wake_ns:	belt time at which the worker runs next; ~0: not at all
 * @entries:	entries (an expired one counts until it is drained)
 * @bytes:	memory those entries take, index and wheels included; requests with room for what
 *		waits at their keys
 * @table:	chains of the hash index
 * @buckets:	buckets of the front wheel
 * @levels:	wheels in use: 1, and one more for each overflow wheel, in the shard and of the
 *		sort (plain entries; locks, fill leases and requests) that has most
 * @policy:	as in struct hashbelt_settings
 * @mode:	as in struct hashbelt_settings
 * @uid:	owner, as seen in the caller's user namespace
 * @gid:	its group
 * @state:	HASHBELT_HALTED, HASHBELT_NAMELESS, HASHBELT_OWNER_CONSUMES
 * @access:	HASHBELT_MAY_*: rights of the caller
 * @handler:	as in struct hashbelt_settings
 * @reasons:	as in struct hashbelt_settings
 * @max_entries: as in struct hashbelt_settings
 * @max_bytes:	as in struct hashbelt_settings
 * @max_events:	as in struct hashbelt_settings
 * @used_entries: entries that count against @max_entries
 * @used_bytes:	bytes that count against @max_bytes
 * @queued:	events that wait to be read
 * @in_flight:	events that were read and not acknowledged yet
 * @queued_bytes: memory that both take; that of an entry that was reinserted is
 *		counted for each of its events
 * @sequence:	number of the newest event; 0: none yet
 * @id:		number of the belt, as trace points name it; not used again
 * @grace_ms:	as in struct hashbelt_settings
 * @locks:	locks that are held
 * @requests:	requests that wait
 * @window_bytes: as in struct hashbelt_settings
 * @window_used: slots of the window that hold an entry
 */
struct hashbelt_info {
	char name[HASHBELT_NAME_SIZE];
	__u64 ttl_ms;
	__u64 interval_ns;
	__u64 now_ns;
	__u64 wake_ns;
	__u64 entries;
	__u64 bytes;
	__u64 table;
	__u32 buckets;
	__u32 levels;
	__u32 policy;
	__u32 mode;
	__u32 uid;
	__u32 gid;
	__u32 state;
	__u32 access;
	__u32 handler;
	__u32 reasons;
	__u64 max_entries;
	__u64 max_bytes;
	__u64 max_events;
	__u64 used_entries;
	__u64 used_bytes;
	__u64 queued;
	__u64 in_flight;
	__u64 queued_bytes;
	__u64 sequence;
	__u64 id;
	__u64 grace_ms;
	__u64 locks;
	__u64 requests;
	__u32 window_bytes;
	__u32 window_used;
};

/*
 * Counters of a belt since it was made, in the order of HASHBELT_IOC_STAT. A row has the constant,
 * the name in the output of hbctl, and the meaning. New rows come last, so that no constant gets
 * another value. Gets with HASHBELT_NO_REFRESH count neither as hits nor as misses.
 */
#define HASHBELT_COUNTERS(X) \
	X(HASHBELT_STAT_HITS, "hits", "Gets that returned a value") \
	X(HASHBELT_STAT_MISSES, "misses", "Gets that found no entry") \
	X(HASHBELT_STAT_PUTS_NEW, "puts_new", "Puts of an absent key") \
	X(HASHBELT_STAT_PUTS_REPLACED, "puts_replaced", "Puts over an entry") \
	X(HASHBELT_STAT_REFUSED, "refused", "Puts whose condition failed") \
	X(HASHBELT_STAT_TOUCHES, "touches", "Touches, alone or with a get") \
	X(HASHBELT_STAT_REMOVES, "removes", "Entries removed by their key") \
	X(HASHBELT_STAT_EXPIRED, "expired", "Entries whose deadline was reached") \
	X(HASHBELT_STAT_CLEARED, "cleared", "Entries dropped by a clear") \
	X(HASHBELT_STAT_CASCADED, "cascaded", "Entries drained to a later bucket") \
	X(HASHBELT_STAT_DRAINED, "drained", "Buckets drained") \
	X(HASHBELT_STAT_WAKEUPS, "wakeups", "Times the timer woke the worker") \
	X(HASHBELT_STAT_MISSES_EXPIRED, "misses_expired", "Misses of recently expired keys") \
	X(HASHBELT_STAT_MISSES_EVICTED, "misses_evicted", "Misses of recently evicted keys") \
	X(HASHBELT_STAT_REJECTED, "rejected", "Puts refused because the belt was full") \
	X(HASHBELT_STAT_EVICTED, "evicted", "Entries that made room in a full belt") \
	X(HASHBELT_STAT_PRESSURE, "pressure", "Entries evicted under memory pressure") \
	X(HASHBELT_STAT_REINSERTED, "reinserted", "Entries that expired and were reinserted") \
	X(HASHBELT_STAT_EVENTS, "events", "Events, those lost at once included") \
	X(HASHBELT_STAT_EVENTS_LOST, "events_lost", "Events dropped before they were read") \
	X(HASHBELT_STAT_EVENTS_READ, "events_read", "Events delivered, repeats included") \
	X(HASHBELT_STAT_EVENTS_RETURNED, "events_returned", "Unacknowledged events queued again") \
	X(HASHBELT_STAT_ROTATIONS, "rotations", "Intervals that have passed") \
	X(HASHBELT_STAT_ADDS, "adds", "Additions") \
	X(HASHBELT_STAT_STALE, "stale", "Values returned in their grace time") \
	X(HASHBELT_STAT_FILLS, "fills", "Fill leases granted") \
	X(HASHBELT_STAT_LOCKS, "locks", "Locks granted") \
	X(HASHBELT_STAT_LOCK_WAITS, "lock_waits", "Locks granted to a waiter") \
	X(HASHBELT_STAT_RELEASED, "released", "Entries and locks removed with a descriptor") \
	X(HASHBELT_STAT_REQUESTS, "requests", "Requests registered") \
	X(HASHBELT_STAT_COMPLETED, "completed", "Requests completed by a put or a COMPLETE") \
	X(HASHBELT_STAT_TIMED_OUT, "timed_out", "Requests whose time was over") \
	X(HASHBELT_STAT_REMOVES_REFUSED, "removes_refused", "Removes whose condition failed") \
	X(HASHBELT_STAT_WINDOW_FILLS, "window_fills", "Entries copied into the window") \
	X(HASHBELT_STAT_WINDOW_EMPTIED, "window_emptied", "Slots that a change emptied") \
	X(HASHBELT_STAT_WINDOW_REFUSED, "window_refused", "Entries that got no slot of the window")

#define __HASHBELT_COUNTER(constant, name, meaning)	constant,
enum hashbelt_counter {
	HASHBELT_COUNTERS(__HASHBELT_COUNTER)
	HASHBELT_STAT_COUNT	/* their number; grows with the interface */
};

#undef __HASHBELT_COUNTER

/*
 * The lag of an expired entry is the time from its deadline to the moment at
 * which the worker handed it over. Lag i counts those below 2^i milliseconds
 * that are not in an earlier one; the last takes all others as well.
 */
#define HASHBELT_LAGS		24

/**
 * struct hashbelt_stat - read the counters
 * @counters:	pointer to an array of __u64, by enum hashbelt_counter
 * @lags:	pointer to an array of __u64: the histogram of lags
 * @count:	in: length of @counters; returned: the number that the kernel has. The
 *		kernel writes the smaller number of the two
 * @lag_count:	in: length of @lags; returned: the number that the kernel has
 */
struct hashbelt_stat {
	__u64 counters;
	__u64 lags;
	__u32 count;
	__u32 lag_count;
};

/**
 * struct hashbelt_buckets - count entries by the time that they have left
 * @cursor:	0 to begin; returned: where to go on, 0 at the end
 * @counts:	pointer to an array of __u64 that is filled in, for the part of the
 *		belt that this call looked at: the caller adds up the parts. Element i
 *		counts the entries that expire in the i-th interval from now; the last
 *		one counts the entries that expire later or never
 * @count:	its length, 1 to HASHBELT_BUCKETS_MAX
 * @reserved:	pass 0
 */
struct hashbelt_buckets {
	__u64 cursor;
	__u64 counts;
	__u32 count;
	__u32 reserved;
};

/* How a descriptor reads events (HASHBELT_IOC_WATCH). */
#define HASHBELT_WATCH_ACK	0x01	/* events stay in flight until ACK */
#define HASHBELT_WATCH_REQUESTS	0x02	/* it reads only ends of its own requests */

/**
 * struct hashbelt_event - a record of read(2)
 * @size:	bytes to the next event, a multiple of 8
 * @reason:	one of enum hashbelt_reason; of a request, of enum hashbelt_cause
 * @sequence:	number of the event: 1 for a belt's first, and one more for each next; a
 *		gap shows lost events. An event that is read again keeps its number.
 *		For requests, each descriptor has a count of its own
 * @lost:	events dropped before they were read, since read(2) last reported some
 * @deadline_ns: belt time at which the entry expired or would have;
 *		~0: never
 * @handed_ns:	belt time at which the event was queued
 * @version:	of an entry: its version
 * @token:	of a lock: its token, at the same place
 * @id:		of a request: its id, at the same place
 * @flags:	the user's flag bits
 * @key_len:	length of the key that follows this structure; of a request, the
 *		key that was put or completed, 0 if it was neither
 * @value_len:	length of the value that follows the key
 * @kind:	one of enum hashbelt_kind
 *
 * read(2) on a descriptor that is bound to a belt, with the right to read it,
 * returns as many whole events as fit. It waits for the first, unless O_NONBLOCK
 * is set (EAGAIN); poll(2) tells when there is one. Each event goes to one
 * reader. readv(2) and preadv2(2) return as many as fit into their buffers together, which they
 * fill one after the other; RWF_NOWAIT is as O_NONBLOCK. A read by io_uring waits without a
 * thread for the first event, also with O_NONBLOCK. splice(2) and sendfile(2) fail with EINVAL.
 * Errors: EMSGSIZE, the buffer is too small for the next event, which
 * HASHBELT_EVENT_MAX bytes never are; ENODATA, nothing is queued and the belt
 * reports nothing; EIDRM, EPERM, EFAULT, EINTR.
 *
 * Events that a descriptor with HASHBELT_WATCH_ACK has read stay in flight until it
 * acknowledges them: HASHBELT_IOC_ACK with the sequence of an event settles that event and
 * all that the descriptor had read before it (ENOENT: it has not read that one, or has
 * settled it). When the descriptor is closed or bound to another belt, its unacknowledged
 * events return to the head of the queue, in the order in which they were read; so do
 * events that could not be copied out. Their @lost is reported again. Events that several
 * descriptors or threads return are queued in the order of the returns; @sequence has the
 * original order. The mode holds until the descriptor is bound to another belt.
 */
__extension__ struct hashbelt_event {
	__u32 size;
	__u32 reason;
	__u64 sequence;
	__u64 lost;
	__u64 deadline_ns;
	__u64 handed_ns;
	union {	/* C99 has none without a name: __extension__ */
		__u64 version;
		__u64 token;
		__u64 id;
	};
	__u32 flags;
	__u32 key_len;
	__u32 value_len;
	__u32 kind;
};

/* Size of the largest possible event, bytes. */
#define HASHBELT_EVENT_MAX	(64 + HASHBELT_KEY_MAX + HASHBELT_VALUE_MAX)

/**
 * struct hashbelt_scan - read keys, a piece at a time
 * @cursor:	0 to begin; returned: where to go on, 0 at the end
 * @buffer:	pointer to space for records
 * @size:	its size in bytes, at most HASHBELT_SCAN_MAX. ERANGE: too small
 *		for the next piece, and @size says what that needs
 * @count:	returned: records in the buffer (0 does not mean the end)
 * @reserved:	pass 0
 *
 * Every entry that is present from the first call to the last is reported once.
 * A record is a struct hashbelt_record, and the key after it.
 */
struct hashbelt_scan {
	__u64 cursor;
	__u64 buffer;
	__u32 size;
	__u32 count;
	__u64 reserved;
};

/**
 * struct hashbelt_record - an entry as a scan reports it
 * @size:	bytes to the next record, a multiple of 8
 * @key_len:	length of the key that follows this structure
 * @value_len:	length of the entry's value
 * @flags:	the user's flag bits
 * @ttl_ms:	time left, or HASHBELT_TTL_NEVER
 * @version:	the entry's version
 */
struct hashbelt_record {
	__u32 size;
	__u32 key_len;
	__u32 value_len;
	__u32 flags;
	__u64 ttl_ms;
	__u64 version;
};

/**
 * struct hashbelt_lock - one lock, for one owner
 * @key:	pointer to the lock's name
 * @owner:	pointer to the owner's bytes; the callers agree on their meaning.
 *		HOLDER: pointer to a buffer
 * @key_len:	length of the name, 1 to HASHBELT_KEY_MAX bytes
 * @owner_len:	length of the owner, 1 to HASHBELT_OWNER_MAX bytes. HOLDER: size of
 *		the buffer, replaced by the length of the owner
 * @how:	LOCK: HASHBELT_BOUND: unlocked, at the latest, when the last copy of the
 *		descriptor is closed; the first grant decides. HASHBELT_IF_ABSENT: fail if
 *		the owner has the lock already. Others: 0
 * @reserved32:	pass 0
 * @ttl_ms:	LOCK, RENEW: the lease, at most the belt's time-to-live, which 0 stands for.
 *		RENEW: HASHBELT_AT_LEAST | N: N milliseconds, or the belt's time-to-live if
 *		that is less; the present lease if that is longer. Returned: the time left
 * @wait_ms:	LOCK: time to wait for it, by belt time; 0: not at all,
 *		HASHBELT_TTL_NEVER: for ever; HASHBELT_WAIT_UNTIL | N: until belt time N,
 *		in nanoseconds. Others: 0. Returned with EINTR, and to a call that the
 *		kernel restarts: the belt time when the wait ends, with that flag
 * @token:	returned: the fencing token, larger for each grant of this lock than
 *		for any earlier grant
 * @held_ms:	returned: time since the grant
 * @count:	returned by RELEASE: locks that were held
 * @reserved:	pass 0
 *
 * Names of locks and keys of entries are independent. Locks count as entries under the belt's
 * limits.
 *
 * LOCK grants the lock if it is free. If @owner holds it already, LOCK may lengthen the
 * lease, never shortens it, and returns the token of the first grant. Otherwise the call
 * waits. Waiters get the lock in FIFO order, also those of one owner: the first gets it
 * when the lock is unlocked, when its lease expires, or when the descriptor that it is
 * bound to is closed. RENEW sets the lease, counted from now; with HASHBELT_AT_LEAST it
 * never shortens the lease. RELEASE unlocks all locks of an owner; its cost depends on their
 * number alone.
 *
 * Errors: EBUSY (held by another, and @wait_ms is 0), EALREADY (LOCK with
 * HASHBELT_IF_ABSENT: held by this owner; nothing has changed), ETIMEDOUT (still held after
 * that time), EINTR (by a signal with a handler while waiting), ENOENT (UNLOCK,
 * RENEW, HOLDER: not held), EACCES (UNLOCK, RENEW: held by another), EDOM (the lease
 * is too long), EOPNOTSUPP (LOCK: the belt may evict entries: it is not pinned, or has
 * HASHBELT_EVICT),
 * ERANGE (HOLDER: the buffer), E2BIG (a length), ENOSPC, EDQUOT, ENOMEM, EINVAL,
 * EFAULT, EPERM, EIDRM. EFAULT may also mean that the call has been carried out,
 * but its structure cannot be written to. HOLDER and LOCKS need HASHBELT_MAY_READ, the others
 * HASHBELT_MAY_WRITE.
 */
struct hashbelt_lock {
	__u64 key;
	__u64 owner;
	__u32 key_len;
	__u32 owner_len;
	__u32 how;
	__u32 reserved32;
	__u64 ttl_ms;
	__u64 wait_ms;
	__u64 token;
	__u64 held_ms;
	__u64 count;
	__u64 reserved[2];
};

/**
 * struct hashbelt_locks - list the locks that are held, a piece at a time
 * @cursor:	0 to begin; returned: where to go on, 0 at the end
 * @owner:	pointer to the owner whose locks are listed
 * @buffer:	pointer to space for records
 * @owner_len:	length of the owner; 0: locks of all owners
 * @size:	size of the buffer in bytes, at most HASHBELT_SCAN_MAX. ERANGE: too
 *		small for the next piece, and @size says what that needs
 * @count:	returned: records in the buffer (0 does not mean the end)
 * @reserved:	pass 0
 *
 * A record is a struct hashbelt_lock_record. Locks of one owner come in the order
 * of their tokens, at a cost by their number.
 */
struct hashbelt_locks {
	__u64 cursor;
	__u64 owner;
	__u64 buffer;
	__u32 owner_len;
	__u32 size;
	__u32 count;
	__u32 reserved;
};

/**
 * struct hashbelt_lock_record - a lock as LOCKS reports it
 * @size:	bytes to the next record, a multiple of 8
 * @key_len:	length of the name that follows this structure
 * @owner_len:	length of the owner that follows the name
 * @how:	HASHBELT_BOUND or 0
 * @ttl_ms:	time left
 * @held_ms:	time since it was granted
 * @token:	the fencing token
 */
struct hashbelt_lock_record {
	__u32 size;
	__u32 key_len;
	__u32 owner_len;
	__u32 how;
	__u64 ttl_ms;
	__u64 held_ms;
	__u64 token;
};

/* Modifiers and results of a fill (@how and @state of hashbelt_fill). */
#define HASHBELT_STALE		0x100	/* how: accept an expired value; state: it is one */
#define HASHBELT_GIVE_UP	0x200	/* how: only give the fill lease up */
#define HASHBELT_RENEW_LEASE	0x400	/* how: only set its end: @lease_ms from now */
#define HASHBELT_FAIL		0x800	/* how: only end it, and grant none for @lease_ms */
#define HASHBELT_GRANTED	0x01	/* state: the caller has the fill lease */
#define HASHBELT_FILLING	0x02	/* state: another caller has it */
#define HASHBELT_FAILED		0x04	/* state: HASHBELT_FAIL has ended it not long ago */

/**
 * struct hashbelt_fill - get, or get a fill lease
 * @item:	as for a get
 * @lease_ms:	duration of the fill lease if the key is not put; 0: 10 seconds
 * @wait_ms:	time to wait, by belt time, for another caller's put; 0:
 *		not at all, HASHBELT_TTL_NEVER: for ever; HASHBELT_WAIT_UNTIL | N: until
 *		belt time N, in nanoseconds. Returned with EINTR, and to a call that the
 *		kernel restarts: the belt time when the wait ends, with that flag
 * @ahead_ms:	grant a fill lease already when the entry has less than this time left.
 *		One caller is granted it until the entry expires, or for @lease_ms if
 *		that is longer; a @lease_ms of 0 adds nothing then
 * @token:	returned with HASHBELT_GRANTED; passed with HASHBELT_GIVE_UP,
 *		HASHBELT_RENEW_LEASE and HASHBELT_FAIL
 * @how:	HASHBELT_BOUND: the fill lease ends with the descriptor at the latest;
 *		HASHBELT_STALE. Or one of HASHBELT_GIVE_UP, HASHBELT_RENEW_LEASE, HASHBELT_FAIL
 * @state:	returned: HASHBELT_GRANTED, HASHBELT_FILLING or HASHBELT_FAILED; HASHBELT_STALE
 * @reserved:	pass 0
 *
 * A miss grants one caller a fill lease: that caller is to compute the value and to put it.
 * Other callers meanwhile learn that the key is being filled, or wait, or take an expired
 * value. The fill lease ends with a put or an addition of the key by any caller, with a remove
 * or an expire of the key, whether or not there is an entry, with a clear, when it expires, when
 * it is given up, with the descriptor to which it is bound, and when it is evicted. A remove or
 * a put whose condition fails does not end it, nor does a touch. Unless the key was put, the first
 * waiter is then granted a fill lease of its own. It counts as an entry under the belt's limits.
 *
 * A put with HASHBELT_IF_LEASE and the token stores the value only if the fill lease has not ended:
 * so no value that was computed before a remove, expire, clear or put of its key is stored after
 * that has returned.
 *
 * HASHBELT_FAIL tells other callers that the value cannot be computed: those that wait, and those
 * that ask within @lease_ms, get HASHBELT_FAILED and no fill lease. A put, a remove or an expire of
 * the key, and a clear end that, too. The belt keeps it, whatever becomes of the descriptor.
 *
 * Return: 0 with a value; ENOENT without one, and @state says which caller fills; ETIMEDOUT,
 * it was not put in that time; EINTR, by a signal with a handler; else the errors
 * of a get, of a put, and with HASHBELT_GIVE_UP, HASHBELT_RENEW_LEASE and HASHBELT_FAIL ENOENT
 * if the caller does not have the fill lease. A fill lease may have been granted when EFAULT
 * means that this structure cannot be written to. Needs HASHBELT_MAY_READ and HASHBELT_MAY_WRITE.
 */
struct hashbelt_fill {
	struct hashbelt_item item;
	__u64 lease_ms;
	__u64 wait_ms;
	__u64 ahead_ms;
	__u64 token;
	__u32 how;
	__u32 state;
	__u64 reserved[2];
};

/**
 * struct hashbelt_key - a key
 * @key:	pointer to its bytes
 * @key_len:	their number, 1 to HASHBELT_KEY_MAX
 * @count:	pass 0. Returned by COMPLETE: requests completed
 */
struct hashbelt_key {
	__u64 key;
	__u32 key_len;
	__u32 count;
};

/**
 * struct hashbelt_request - wait for keys, without a thread
 * @id:		a number that the caller chooses; the event of the request has it
 * @keys:	pointer to an array of struct hashbelt_key
 * @count:	its length, 1 to HASHBELT_REQUEST_KEYS
 * @flags:	pass 0
 * @ttl_ms:	time until it times out: a number, 0 for the belt's time-to-live,
 *		HASHBELT_TTL_NEVER for never; with the resolution of an entry's
 * @reserved:	pass 0
 *
 * The request is completed once, by the first of: a put of one of its keys, a COMPLETE of one
 * of them, its timeout, an eviction, and a clear. Only the descriptor that registered it reads
 * the event, in the mode HASHBELT_WATCH_REQUESTS. Events come in the order in which requests
 * ended, and may come before REQUEST has returned in another thread. When that descriptor is
 * closed or bound to another belt, its waiting requests and unread events are dropped.
 *
 * A request counts as an entry under the belt's limits until it has ended. While the ended
 * requests of a belt that were not read take more than @max_bytes, no new ones are registered
 * (ENOSPC).
 * Errors: EEXIST (the descriptor has a request of that id), E2BIG, EINVAL, EFAULT, ENOSPC,
 * EDQUOT, ENOMEM, EPERM, EIDRM. CANCEL points to an id: ENOENT, there is none, or it has been
 * completed. A COMPLETE that fails with EFAULT because it cannot write @count has been carried
 * out. REQUEST takes room, so it needs HASHBELT_MAY_READ and HASHBELT_MAY_WRITE; CANCEL needs
 * HASHBELT_MAY_READ, and COMPLETE HASHBELT_MAY_WRITE.
 */
struct hashbelt_request {
	__u64 id;
	__u64 keys;
	__u32 count;
	__u32 flags;
	__u64 ttl_ms;
	__u64 reserved[2];
};

/* The layout of a window. A change of it has another number, which is odd. */
#define HASHBELT_WINDOW_LAYOUT	1
#define HASHBELT_WINDOW_WAYS	4	/* slots of a set */
#define HASHBELT_WINDOW_WORDS	11	/* words of a slot for key and value */
#define HASHBELT_WINDOW_DATA	(8 * HASHBELT_WINDOW_WORDS)	/* bytes of them */

/* State of a window (@state). */
#define HASHBELT_WINDOW_DEAD	0x01	/* it holds nothing, and never will again */
#define HASHBELT_WINDOW_RENEWS	0x02	/* gets renew: only those with HASHBELT_NO_REFRESH hit */

/**
 * struct hashbelt_window - the window of a belt: entries for readers without a system call
 * @layout:	HASHBELT_WINDOW_LAYOUT
 * @state:	HASHBELT_WINDOW_*
 * @slots_at:	bytes from here to the first slot
 * @sets:	number of sets of HASHBELT_WINDOW_WAYS slots, a power of two
 * @seed:	of the hash of the keys
 * @floor:	entries with versions up to this one are not in the belt
 * @clock:	number of changes of the two words below; odd during a change, and for ever once the
 *		window is dead
 * @offset_ns:	belt time minus CLOCK_BOOTTIME
 * @halted_ns:	belt time while it stands still, else 0
 *
 * A reader maps the window with mmap(2), read-only (struct hashbelt_window_map). The first page has
 * this structure, and from @slots_at on come the sets. The kernel changes the words while others
 * read them, so a reader needs atomic loads and the order of steps that docs/window.md gives. What
 * it finds there is what a get would return; where it finds nothing, it makes the get, with
 * HASHBELT_TO_WINDOW.
 *
 * The hash of a key begins as @seed ^ length of the key. hashbelt_window_mix() adds the key's words
 * of 8 bytes, in the processor's byte order: those that do not reach the end of the key, and then
 * its last 8 bytes. A shorter key is one word, its bytes followed by zeros. The set is the hash
 * modulo @sets, and the tag its upper half.
 */
struct hashbelt_window {
	__u32 layout;
	__u32 state;
	__u32 slots_at;
	__u32 sets;
	__u64 seed;
	__u64 floor;
	__u64 clock;
	__s64 offset_ns;
	__u64 halted_ns;
};

/*
 * Adds a word of a key to its hash: the product of 128 bits, its upper half folded into its lower
 * one. The product alone carries a difference into higher bits only, and keys may differ in the
 * upper bits of a word only: in their last bytes on little-endian processors, else in their first.
 */
static inline __u64 hashbelt_window_mix(__u64 hash, __u64 word)
{
	const __u64 factor = 0x9e3779b97f4a7c15ULL;
#ifdef __SIZEOF_INT128__
	word ^= hash;
	hash = (__uint128_t)word * factor >> 64;
	return hash ^ word * factor;
#else
	const __u64 low = 0xffffffff;
	__u64 x = hash ^ word, carry, middle;

	carry = (x >> 32) * (factor & low) + ((x & low) * (factor & low) >> 32);
	middle = (x & low) * (factor >> 32) + (carry & low);
	return x * factor ^ ((x >> 32) * (factor >> 32) + (carry >> 32) + (middle >> 32));
#endif
}

/**
 * struct hashbelt_window_slot - a copy of an entry
 * @sequence:	number of changes of the slot; odd during a change
 * @version:	of the entry; 0: the slot is empty
 * @deadline_ns: belt time up to which the copy holds; ~0: for ever
 * @tag:	upper half of the key's hash
 * @flags:	the user's flag bits
 * @key_len:	bytes of the key
 * @value_len:	bytes of the value
 * @data:	the key, zeros up to a multiple of 8, and the value
 */
struct hashbelt_window_slot {
	__u64 sequence;
	__u64 version;
	__u64 deadline_ns;
	__u32 tag;
	__u32 flags;
	__u32 key_len;
	__u32 value_len;
	__u64 data[HASHBELT_WINDOW_WORDS];
};

/**
 * struct hashbelt_window_map - how to map the belt's window
 * @bytes:	returned: length for mmap(2)
 * @shift_ns:	returned: what the caller's time namespace adds to CLOCK_BOOTTIME. After setns(2)
 *		call again: the mapping stays
 * @reserved:	pass 0
 *
 * Needs HASHBELT_MAY_READ. Errors: ENODATA, the belt has no window; EINVAL, EFAULT, EPERM, EIDRM.
 *
 * mmap(2) on the descriptor, with PROT_READ and MAP_SHARED, needs the same right, and fails with
 * EPERM also for a mapping that could be written or executed; EINVAL, an offset other than 0,
 * another length (also after SET has made another window), or a private mapping; EBUSY, the
 * descriptor has the window mapped. The mapping is not inherited by fork(2), and stays one of that
 * window whatever becomes of the descriptor. After DESTROY, and after SET has made another window,
 * it shows a window with HASHBELT_WINDOW_DEAD.
 */
struct hashbelt_window_map {
	__u64 bytes;
	__s64 shift_ns;
	__u64 reserved;
};

#define HASHBELT_IOC_MAGIC	0xBE

/* Return: HASHBELT_ABI. */
#define HASHBELT_IOC_ABI	_IO(HASHBELT_IOC_MAGIC, 0x00)

/* On the entries of the belt that the descriptor is bound to. */
#define HASHBELT_IOC_GET	_IOWR(HASHBELT_IOC_MAGIC, 0x01, struct hashbelt_item)
#define HASHBELT_IOC_PUT	_IOWR(HASHBELT_IOC_MAGIC, 0x02, struct hashbelt_item)
#define HASHBELT_IOC_TOUCH	_IOWR(HASHBELT_IOC_MAGIC, 0x03, struct hashbelt_item)
#define HASHBELT_IOC_REMOVE	_IOWR(HASHBELT_IOC_MAGIC, 0x04, struct hashbelt_item)
#define HASHBELT_IOC_EXPIRE	_IOWR(HASHBELT_IOC_MAGIC, 0x05, struct hashbelt_item)
#define HASHBELT_IOC_BATCH	_IOWR(HASHBELT_IOC_MAGIC, 0x06, struct hashbelt_batch)
#define HASHBELT_IOC_SCAN	_IOWR(HASHBELT_IOC_MAGIC, 0x07, struct hashbelt_scan)
#define HASHBELT_IOC_CLEAR	_IO(HASHBELT_IOC_MAGIC, 0x08)
#define HASHBELT_IOC_ADD	_IOWR(HASHBELT_IOC_MAGIC, 0x09, struct hashbelt_item)
#define HASHBELT_IOC_FILL	_IOWR(HASHBELT_IOC_MAGIC, 0x0a, struct hashbelt_fill)

/*
 * On that belt as a whole. ROTATE and ADVANCE fail with EOVERFLOW if they would
 * move belt time beyond some 146 years.
 */
#define HASHBELT_IOC_INFO	_IOWR(HASHBELT_IOC_MAGIC, 0x20, struct hashbelt_info)
#define HASHBELT_IOC_STAT	_IOWR(HASHBELT_IOC_MAGIC, 0x21, struct hashbelt_stat)
#define HASHBELT_IOC_HALT	_IO(HASHBELT_IOC_MAGIC, 0x22)
#define HASHBELT_IOC_RESUME	_IO(HASHBELT_IOC_MAGIC, 0x23)
#define HASHBELT_IOC_ROTATE	_IO(HASHBELT_IOC_MAGIC, 0x24)
/* Points to the milliseconds. */
#define HASHBELT_IOC_ADVANCE	_IOW(HASHBELT_IOC_MAGIC, 0x25, __u64)
#define HASHBELT_IOC_SET	_IOW(HASHBELT_IOC_MAGIC, 0x26, struct hashbelt_settings)
#define HASHBELT_IOC_BUCKETS	_IOWR(HASHBELT_IOC_MAGIC, 0x27, struct hashbelt_buckets)
#define HASHBELT_IOC_WINDOW	_IOWR(HASHBELT_IOC_MAGIC, 0x28, struct hashbelt_window_map)

/*
 * On the events of that belt. WATCH points to HASHBELT_WATCH_*, and ACK to a sequence. WATCH
 * with HASHBELT_WATCH_REQUESTS may fail with ENOMEM.
 */
#define HASHBELT_IOC_WATCH	_IOW(HASHBELT_IOC_MAGIC, 0x30, __u32)
#define HASHBELT_IOC_ACK	_IOW(HASHBELT_IOC_MAGIC, 0x31, __u64)

/* On the requests that wait in that belt. CANCEL points to an id. */
#define HASHBELT_IOC_REQUEST	_IOW(HASHBELT_IOC_MAGIC, 0x32, struct hashbelt_request)
#define HASHBELT_IOC_CANCEL	_IOW(HASHBELT_IOC_MAGIC, 0x33, __u64)
#define HASHBELT_IOC_COMPLETE	_IOWR(HASHBELT_IOC_MAGIC, 0x34, struct hashbelt_key)

/*
 * On the set of belts. OPEN and DESTROY fail with ENOENT if the caller may neither read, write
 * nor own the belt, as if there were none; DESTROY with EPERM if it may read or write the belt,
 * and does not own it. CREATE fails with EEXIST if the name is taken, also by a belt that the
 * caller has no right to: names are no secret. It fails with ENOSPC or EDQUOT at the limits of
 * belts or memory of the module or of the caller (at a limit of memory it first waits until
 * destroyed belts are freed); with ENOMEM; and with EACCES if the name is HASHBELT_DEFAULT_BELT
 * and the caller lacks CAP_SYS_ADMIN. A caller with CAP_SYS_RESOURCE has no limits but those of
 * the module. A belt counts as owned by uid 0 only if a task with that capability made it. The
 * others fail with ENOENT if there is no such name. NEXT skips belts that the caller may neither
 * read nor configure. A right or capability counts only if the caller has it, and the task that
 * opened the device had it then.
 */
#define HASHBELT_IOC_CREATE	_IOW(HASHBELT_IOC_MAGIC, 0x40, struct hashbelt_settings)
#define HASHBELT_IOC_OPEN	_IOW(HASHBELT_IOC_MAGIC, 0x41, struct hashbelt_name)
#define HASHBELT_IOC_DESTROY	_IOW(HASHBELT_IOC_MAGIC, 0x42, struct hashbelt_name)
#define HASHBELT_IOC_NEXT	_IOWR(HASHBELT_IOC_MAGIC, 0x43, struct hashbelt_info)

/* On the locks of the belt that the descriptor is bound to. */
#define HASHBELT_IOC_LOCK	_IOWR(HASHBELT_IOC_MAGIC, 0x50, struct hashbelt_lock)
#define HASHBELT_IOC_UNLOCK	_IOWR(HASHBELT_IOC_MAGIC, 0x51, struct hashbelt_lock)
#define HASHBELT_IOC_RENEW	_IOWR(HASHBELT_IOC_MAGIC, 0x52, struct hashbelt_lock)
#define HASHBELT_IOC_HOLDER	_IOWR(HASHBELT_IOC_MAGIC, 0x53, struct hashbelt_lock)
#define HASHBELT_IOC_RELEASE	_IOWR(HASHBELT_IOC_MAGIC, 0x54, struct hashbelt_lock)
#define HASHBELT_IOC_LOCKS	_IOWR(HASHBELT_IOC_MAGIC, 0x55, struct hashbelt_locks)

#endif /* _UAPI_HASHBELT_H */
