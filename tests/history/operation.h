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

/**
 * struct operation - one operation
 * @kind:	enum operation_kind
 * @key:	number of the key or lock
 * @fd:		descriptor that makes the call, or is reopened
 * @joined:	the operation goes into one batch with the next one
 * @pick:	enum pick
 * @number:	number of a value, an owner or an id; size of a buffer; events to read
 * @keys:	keys of a request, one bit each
 * @how:	HASHBELT_IF_PRESENT and the like
 * @flags:	flags of an entry
 * @ms:		time-to-live, lease, or time to advance
 * @ahead_ms:	of a fill; of SET, the grace time
 * @floor:	of an addition with HASHBELT_FLOOR
 * @set:	settings that SET changes
 */
struct operation {
	__u8 kind;
	__u8 key;
	__u8 fd;
	__u8 joined;
	__u8 pick;
	__u8 number;
	__u16 keys;
	__u32 how;
	__u32 flags;
	__u64 ms;
	__u64 ahead_ms;
	__s64 floor;
	struct {
		__u32 fields;
		__u32 policy;
		__u32 handler;
		__u32 reasons;
		__u32 buckets;
		__u32 most;
	} set;
};

/**
 * struct history - a sequence of operations, and the belt at its start
 * @seed:	from which the history was generated
 * @settings:	of the belt
 * @keys:	number of keys
 * @length:	number of operations
 * @operations:	the operations
 */
struct history {
	__u64 seed;
	struct hashbelt_settings settings;
	unsigned int keys;
	unsigned int length;
	struct operation operations[LENGTH_MAX];
};

/* Stores the value of a number; some values are decimal numbers. Return: its length, at most 32. */
unsigned int value_of(unsigned int number, unsigned char *value);

void generate(struct history *history, __u64 seed);
void print_settings(const struct history *history);
void print_operation(const struct operation *operation);

#endif /* _OPERATION_H */
