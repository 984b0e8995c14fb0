/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * operation.h - a history: a sequence of operations on one belt.
 *
 * An operation refers to values of the moment ("the current version", "the next deadline") and not
 * to numbers that the kernel has given. So a history is valid with any of its operations removed.
 */
#ifndef _OPERATION_H
#define _OPERATION_H

#include "device.h"

#define KEYS_MAX	12
#define OWNERS		3
#define IDS		4	/* of requests */
#define LENGTH_MAX	2000	/* operations of a history */

/* Descriptors of a history. Entries may be bound to each of them. */
enum descriptor {
	READER,		/* reads the belt's events */
	ACKER,		/* reads them in acknowledging mode */
	REQUESTER,	/* registers requests, and reads their completions */
	DESCRIPTORS
};

enum operation_kind {
	/* On one key; these may go into a batch. */
	GET, PUT, TOUCH, REMOVE, EXPIRE, ADD,
	/* Others. */
	FILL, RENEW_FILL, FAIL_FILL, GIVE_UP, CLEAR, SCAN, ADVANCE, ROTATE, SET, READ, ACK, REOPEN,
	LOCK, UNLOCK, RENEW, QUERY, RELEASE, LOCKS,
	REQUEST, CANCEL, COMPLETE, READ_COMPLETIONS, CHECK,
	OPERATION_KINDS
};

/* Which of the values of the moment an operation passes. */
enum pick {
	PICK_CURRENT,	/* the current version, token, or sequence number */
	PICK_OLD,	/* an earlier one */
	PICK_NONE,	/* 0 */
};

/* @ms of ADVANCE: to the next deadline, and to one millisecond before it. */
#define TO_DEADLINE	(~0ULL)
#define BEFORE_DEADLINE	(~0ULL - 1)

/* One operation. */
struct operation {
	__u8 kind;	/* enum operation_kind */
	__u8 key;	/* number of the key or lock */
	__u8 fd;	/* descriptor that makes the call, or is reopened */
	__u8 joined;	/* the operation goes into one batch with the next one */
	__u8 pick;	/* enum pick */
	__u8 number;	/* number of a value, an owner or an id; size of a buffer; events to read */
	__u16 keys;	/* keys of a request, one bit each */
	__u32 how;	/* HASHBELT_IF_PRESENT and the like */
	__u32 flags;	/* flags of an entry */
	__u64 ms;	/* time-to-live, lease, or time to advance */
	__u64 ahead_ms;	/* of a fill; of SET, the grace time */
	__s64 floor;	/* of an addition with HASHBELT_FLOOR */
	struct {
		__u32 fields;
		__u32 policy;
		__u32 handler;
		__u32 reasons;
		__u32 buckets;
		__u32 most;
	} set;		/* settings that SET changes */
};

/* A sequence of operations, and the belt at its start. */
struct history {
	__u64 seed;	/* from which the history was generated */
	struct hashbelt_settings settings;	/* of the belt */
	unsigned int keys;	/* number of keys */
	unsigned int length;	/* number of operations */
	struct operation operations[LENGTH_MAX];	/* the operations */
};

/* Stores the value of a number; some values are decimal numbers. Return: its length, at most 32. */
unsigned int value_of(unsigned int number, unsigned char *value);

void generate(struct history *history, __u64 seed);
void print_settings(const struct history *history);
void print_operation(const struct operation *operation);

#endif /* _OPERATION_H */
