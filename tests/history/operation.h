/* SPDX-License-Identifier: GPL-2.0 */
/*
 * operation.h - a history: what is done to a belt, one thing after the other.
 *
 * An operation names things by their place ("the version that is there", "the next
 * deadline") and not by numbers that the kernel has given. So a history means something
 * with any of its operations left out.
 */
#ifndef _OPERATION_H
#define _OPERATION_H

#include "device.h"

#define KEYS_MAX	12
#define OWNERS		3
#define IDS		4	/* of requests */
#define LENGTH_MAX	2000	/* operations of a history */

/* Descriptors of a history; each has a belt's entries bound to it. */
enum descriptor {
	READER,		/* reads the belt's events */
	HOLDER,		/* reads them and acknowledges */
	ASKER,		/* reads of its own requests */
	DESCRIPTORS
};

enum operation_kind {
	/* On one key; these may go into a batch. */
	GET, PUT, TOUCH, REMOVE, EXPIRE, ADD,
	/* Others. */
	FILL, GIVE_UP, CLEAR, SCAN, ADVANCE, ROTATE, SET, READ, ACK, REOPEN,
	LOCK, UNLOCK, RENEW, QUERY, RELEASE, LOCKS,
	REQUEST, CANCEL, COMPLETE, HEAR, CHECK,
	OPERATION_KINDS
};

/* A number that only the moment can tell (@pick). */
enum pick {
	PICK_CURRENT,	/* the version, token, or sequence that is there */
	PICK_OLD,	/* one that was there before */
	PICK_NONE,	/* 0 */
};

/* ADVANCE: to when something has its deadline, and by one millisecond less. */
#define TO_DEADLINE	(~0ULL)
#define BEFORE_DEADLINE	(~0ULL - 1)

/**
 * struct operation - one of them
 * @kind:	which
 * @key:	of the key or lock
 * @fd:		which descriptor does it, or is reopened
 * @joined:	it goes into one batch with the one after it
 * @pick:	enum pick
 * @number:	of a value, an owner, an id, events to be read; maximum
 * @keys:	of a request, bit by bit
 * @how:	HASHBELT_IF_PRESENT and the like; of a put, bits of it
 * @flags:	the user's
 * @ms:		time-to-live, lease; how far to advance
 * @ahead_ms:	of a fill
 * @set:	of SET, what is to be changed
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
 * struct history - all of them, and the belt that they begin with
 * @seed:	what it was made from
 * @settings:	of the belt
 * @keys:	how many there are
 * @length:	operations
 */
struct history {
	__u64 seed;
	struct hashbelt_settings settings;
	unsigned int keys;
	unsigned int length;
	struct operation operations[LENGTH_MAX];
};

/* A value by its number; some are numbers in decimal. Returns its length, 32 at most. */
unsigned int value_of(unsigned int number, unsigned char *value);

void generate(struct history *history, __u64 seed);
void print_settings(const struct history *history);
void print_operation(const struct operation *operation);

#endif /* _OPERATION_H */
