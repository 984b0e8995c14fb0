/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
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

/* Values of a time-to-live beside a number of milliseconds. */
#define HASHBELT_TTL_BELT	0ULL		/* the belt's own */
#define HASHBELT_TTL_NEVER	(~0ULL)		/* does not expire */
#define HASHBELT_TTL_KEEP	(~0ULL - 1)	/* put: what the entry has left, else the belt's */

/* What an item asks for: the single calls below, or an item of a batch. */
enum hashbelt_op {
	HASHBELT_OP_GET		= 1,
	HASHBELT_OP_PUT		= 2,
	HASHBELT_OP_TOUCH	= 3,
	HASHBELT_OP_REMOVE	= 4,
	HASHBELT_OP_EXPIRE	= 5,
};

/* Conditions and modifiers of an item (@how). */
#define HASHBELT_IF_ABSENT	0x01	/* put: EEXIST if there */
#define HASHBELT_IF_PRESENT	0x02	/* put: ENOENT if not there */
#define HASHBELT_IF_VERSION	0x04	/* put, remove: ESTALE if other */
#define HASHBELT_AND_TOUCH	0x08	/* get: set the deadline as well */
#define HASHBELT_NO_REFRESH	0x10	/* get: leave the deadline alone */
#define HASHBELT_NO_VALUE	0x20	/* get: all but the value's bytes */

/**
 * struct hashbelt_item - one operation on one key
 * @key:	pointer to the key's bytes
 * @value:	put: pointer to the value; get: pointer to the buffer
 * @key_len:	length of the key, 1 to HASHBELT_KEY_MAX bytes
 * @how:	HASHBELT_IF_*, HASHBELT_AND_TOUCH, HASHBELT_NO_*
 * @value_len:	put: length of the value. get: size of the buffer, replaced by
 *		the length of the value (with ERANGE as well: the buffer was too
 *		small and nothing was copied)
 * @flags:	32 bits of the user's own: stored by put, returned by get
 * @ttl_ms:	put, touch, get with HASHBELT_AND_TOUCH: the time-to-live, or
 *		HASHBELT_TTL_*. Returned: the time left, HASHBELT_TTL_NEVER for
 *		an entry that does not expire
 * @version:	with HASHBELT_IF_VERSION: the version that must be there.
 *		Returned: the entry's version; with EEXIST and ESTALE the version
 *		that is there
 * @op:		in a batch: one of enum hashbelt_op. Else 0
 * @result:	in a batch, returned: 0 or a negative errno
 * @reserved:	pass 0
 *
 * Of the fields that return something, those that an operation has no use for
 * come back as they were. Errors: ENOENT (no such entry), EEXIST, ESTALE (the
 * condition), ERANGE (the buffer), EINVAL, EFAULT, E2BIG (the key's length),
 * EMSGSIZE (the value's length), ENOSPC (the module's memory limit), ENOMEM,
 * EPERM (this descriptor may not), EIDRM (the belt was destroyed). An operation
 * whose item cannot be written to has been carried out when EFAULT says so.
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
 * struct hashbelt_batch - many items in one call
 * @items:	pointer to an array of struct hashbelt_item
 * @count:	number of items, 1 to HASHBELT_BATCH_MAX
 * @flags:	pass 0
 * @done:	returned: items that were tried. Fewer than @count only when the
 *		call was interrupted or an item could not be read or written
 * @reserved:	pass 0
 *
 * The items are carried out in order, each for itself: one that fails says so
 * in its result and the next one is tried.
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
#define HASHBELT_KEEP_ON_PUT	0x02	/* put: EEXIST if there */

/* The names under which users know some policies. */
#define HASHBELT_POLICY_STANDARD	HASHBELT_KEEP_ON_PUT
#define HASHBELT_POLICY_UPDATING	HASHBELT_REFRESH_ON_GET
#define HASHBELT_POLICY_TIMECACHE	0u

/* What a descriptor may do with the belt that it is bound to (@access). */
#define HASHBELT_MAY_READ	0x01	/* get, scan, info */
#define HASHBELT_MAY_WRITE	0x02	/* put, touch, remove, expire, clear */
#define HASHBELT_MAY_OWN	0x04	/* halt, resume, rotate, advance, destroy */

/**
 * struct hashbelt_create - make a belt and bind the descriptor to it
 * @name:	1 to 63 bytes without '/' and control characters, NUL to the
 *		end; empty: a belt that lives as long as a descriptor to it
 * @ttl_ms:	the belt's time-to-live, 1 to HASHBELT_TTL_MAX_MS; 0: the default
 * @buckets:	HASHBELT_BUCKETS_MIN to HASHBELT_BUCKETS_MAX; 0: the default
 * @policy:	HASHBELT_REFRESH_ON_GET, HASHBELT_KEEP_ON_PUT
 * @mode:	who may read (r) and write (w): permission bits as of a file, at
 *		most 0666
 * @flags:	pass 0
 * @reserved:	pass 0
 */
struct hashbelt_create {
	char name[HASHBELT_NAME_SIZE];
	__u64 ttl_ms;
	__u32 buckets;
	__u32 policy;
	__u32 mode;
	__u32 flags;
	__u64 reserved[4];
};

/**
 * struct hashbelt_name - a belt by name: to bind to, or to destroy
 * @name:	NUL to the end
 * @flags:	pass 0
 * @reserved:	pass 0
 */
struct hashbelt_name {
	char name[HASHBELT_NAME_SIZE];
	__u32 flags;
	__u32 reserved;
};

/* State of a belt (@state). */
#define HASHBELT_HALTED		0x01	/* belt time stands still */
#define HASHBELT_NAMELESS	0x02

/**
 * struct hashbelt_info - what a belt is and holds
 * @name:	HASHBELT_IOC_NEXT: in, the belt after which to look ("" for the
 *		first in the order of names). Returned: the belt's name
 * @ttl_ms:	the belt's time-to-live
 * @interval_ns: time between two rotations
 * @now_ns:	belt time, nanoseconds
 * @wake_ns:	belt time at which the worker looks next; ~0: not at all
 * @entries:	entries that are there (an expired one counts until drained)
 * @bytes:	memory those entries take, index and wheels included
 * @table:	chains of the hash index
 * @buckets:	buckets of the front wheel
 * @levels:	wheels in use: 1, and one more for each overflow wheel
 * @policy:	as in struct hashbelt_create
 * @mode:	as in struct hashbelt_create
 * @uid:	owner, as seen in the caller's user namespace
 * @gid:	group, likewise
 * @state:	HASHBELT_HALTED, HASHBELT_NAMELESS
 * @access:	HASHBELT_MAY_*: what the caller may do
 * @reserved:	pass 0; returned as 0
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
	__u64 reserved[4];
};

/* Counters of a belt since it was made, in the order of HASHBELT_IOC_STAT. */
enum hashbelt_counter {
	HASHBELT_STAT_HITS,		/* gets that returned a value */
	HASHBELT_STAT_MISSES,		/* gets that found no entry */
	HASHBELT_STAT_PUTS_NEW,		/* puts of a key that was not there */
	HASHBELT_STAT_PUTS_REPLACED,	/* puts over an entry */
	HASHBELT_STAT_REFUSED,		/* puts and removes whose condition failed */
	HASHBELT_STAT_TOUCHES,		/* touches, alone or with a get */
	HASHBELT_STAT_REMOVES,		/* entries removed by name */
	HASHBELT_STAT_EXPIRED,		/* entries whose deadline was reached */
	HASHBELT_STAT_CLEARED,		/* entries dropped by clear */
	HASHBELT_STAT_CASCADED,		/* entries drained to a later bucket */
	HASHBELT_STAT_DRAINED,		/* buckets drained */
	HASHBELT_STAT_WAKEUPS,		/* times the worker woke by its timer */
	HASHBELT_STAT_COUNT		/* their number; grows with the interface */
};

/**
 * struct hashbelt_stat - read the counters
 * @counters:	pointer to an array of __u64, by enum hashbelt_counter
 * @count:	in: its length; returned: how many the kernel knows. No more
 *		than the smaller of the two are written
 * @reserved:	pass 0
 */
struct hashbelt_stat {
	__u64 counters;
	__u32 count;
	__u32 reserved;
};

/**
 * struct hashbelt_scan - read keys, a piece at a time
 * @cursor:	0 to begin; returned: where to go on, 0 at the end
 * @buffer:	pointer to space for records
 * @size:	its size in bytes, at most HASHBELT_SCAN_MAX. ERANGE: too small
 *		for the next piece, and @size says what that needs
 * @count:	returned: records in the buffer (0 does not mean the end)
 * @reserved:	pass 0
 *
 * Every entry that is there from the first call to the last is reported once
 * or more. A record is a struct hashbelt_record, and the key after it.
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

#define HASHBELT_IOC_MAGIC	0xBE

/* Returns HASHBELT_ABI, and does nothing else. */
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

/*
 * On the set of belts. OPEN fails with EACCES if the belt's mode leaves nothing
 * to the caller, CREATE with EEXIST if the name is taken, the others with ENOENT
 * if it is not.
 */
#define HASHBELT_IOC_CREATE	_IOW(HASHBELT_IOC_MAGIC, 0x40, struct hashbelt_create)
#define HASHBELT_IOC_OPEN	_IOW(HASHBELT_IOC_MAGIC, 0x41, struct hashbelt_name)
#define HASHBELT_IOC_DESTROY	_IOW(HASHBELT_IOC_MAGIC, 0x42, struct hashbelt_name)
#define HASHBELT_IOC_NEXT	_IOWR(HASHBELT_IOC_MAGIC, 0x43, struct hashbelt_info)

#endif /* _UAPI_HASHBELT_H */
