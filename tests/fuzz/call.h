/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * call.h - the calls of the device, and the fields of their arguments.
 *
 * An argument is made from a seed. The same seed makes the same argument in any process,
 * because it points into memory at fixed addresses (the arena).
 */
#ifndef _FUZZ_CALL_H
#define _FUZZ_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "array_size.h"
#include "hashbelt.h"

#define PIECE		4096UL

/*
 * The arena. After each of its areas there is an unmapped hole. Data ends at a hole where
 * possible, so a read or write beyond its end fails.
 */
#define KEYS_AT		0x20000000ul
#define KEYS_SIZE	(16 * PIECE)
#define ARRAY_AT	0x20100000ul	/* arrays of items and of keys */
#define ARRAY_LENGTH	(32 * PIECE)
#define VALUE_AT	0x20200000ul
#define VALUE_SIZE	(HASHBELT_VALUE_MAX + 2 * PIECE)
#define ARGUMENT_AT	0x20500000ul
#define ARGUMENT_SIZE	(2 * PIECE)
#define READONLY_AT	0x20600000ul
#define HOLE_AT		0x20700000ul

/* Greatest size of an argument, bytes. */
#define ARGUMENT_MAX	320

/* Number of named belts that all processes share. */
#define NAMES		4

/* The meaning of a field, which decides its likely values. */
enum kind {
	ANY,		/* any number */
	ZERO,		/* reserved */
	BITS,		/* a subset of the bits of @bound */
	RARE,		/* 0, rarely @bound */
	BELOW,		/* a number below @bound */
	FIXED,		/* @bound */
	LIFE,		/* a time-to-live */
	SPAN,		/* a time in a belt's settings */
	WAIT,
	POLICY,
	LENGTH,		/* a length, set with its pointer */
	KEY,		/* a key, with a length */
	OWNER,		/* an owner of a lock, with a length */
	VALUE,		/* bytes that the kernel reads, with a length */
	BUFFER,		/* bytes that the kernel writes, with a size */
	WORDS,		/* an array of __u64 that the kernel writes, with a count */
	SUM,		/* a struct hashbelt_sum, with its size */
	ITEMS,		/* an array of items, with a count */
	KEYLIST,	/* an array of keys, with a count */
	NAME,		/* name of a belt; often empty if @bound is 1 */
	MODE,
	LIMIT,
	WINDOW,		/* the size of a window */
	VERSION,	/* from here on: mostly the value that a call returned last */
	TOKEN,
	CURSOR,
	SEQUENCE,
	ID,
	BYTES,		/* mostly the length of the value that a call returned last */
	KINDS
};

/**
 * struct field - a field of an argument
 * @name:	its name in hashbelt.h
 * @offset:	its offset, bytes
 * @size:	its size, bytes: at most 8, except for names
 * @kind:	its meaning
 * @pair:	offset of the length that belongs to a pointer
 * @bound:	its bound: enum kind says of what
 */
struct field {
	const char *name;
	uint16_t offset;
	uint8_t size;
	uint8_t kind;
	uint16_t pair;
	uint64_t bound;
};

/* The system call that a call makes. */
enum act {
	IOCTL,
	OPEN,
	CLOSE,
	DUP,
	READ,
	POLL,
	FORK,
	SLEEP,
	MAP,
	LET_GO,		/* unmaps, and other calls on a mapping */
	LOOK,		/* no call: a read of a mapping */
	UNKNOWN,	/* an ioctl that the device does not have */
	OTHER,		/* a system call that the device does not support */
};

/**
 * struct call - a call that a program can make
 * @name:	its name in a program
 * @act:	its system call
 * @weight:	its relative frequency
 * @size:	size of the argument, bytes
 * @request:	request of an ioctl
 * @fields:	fields of the argument; the last one has no name
 */
struct call {
	const char *name;
	enum act act;
	unsigned int weight;
	unsigned int size;
	unsigned long request;
	const struct field *fields;
};

extern const struct call calls[];
extern const unsigned int call_count;

uint64_t random_next(uint64_t *state);
unsigned int random_below(uint64_t *state, unsigned int bound);
uint64_t random_word(uint64_t *state);

const struct field *call_field(const struct call *call, unsigned int index);
unsigned int call_fields(const struct call *call);
void call_fill(const struct call *call, uint64_t seed, unsigned char *argument);
void call_arrays(const struct call *call, uint64_t seed, const unsigned char *argument);
uint64_t field_get(const struct field *field, const unsigned char *argument);
void field_set(const struct field *field, unsigned char *argument, uint64_t value);

bool arena_map(void);
void arena_fill(void);

#endif /* _FUZZ_CALL_H */
