/* SPDX-License-Identifier: GPL-2.0 */
/*
 * call.h - what can be asked of the device, and of what its arguments consist.
 *
 * An argument is made of a seed: the same seed makes the same argument, in any process,
 * for all that it points to stands at the same addresses (the arena).
 */
#ifndef _FUZZ_CALL_H
#define _FUZZ_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hashbelt.h"

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define PIECE		4096UL

/*
 * The arena. Behind each of its areas there is a hole, and what stands in an area ends
 * at that hole where it can: who reads or writes too much fails.
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

/* The largest argument, bytes. */
#define ARGUMENT_MAX	320

/* Named belts that all share: the last bytes of these are a letter each. */
#define NAMES		4

/* What a word of an argument means, and so which values are likely ones. */
enum kind {
	ANY,		/* any number */
	ZERO,		/* reserved */
	BITS,		/* of those in @bound */
	RARE,		/* 0, but for once in a while @bound */
	BELOW,		/* a number below @bound */
	LIFE,		/* a time-to-live */
	SPAN,		/* a time that a belt can have */
	WAIT,
	POLICY,
	LENGTH,		/* made with what it is the length of */
	KEY,		/* a key, with a length */
	OWNER,		/* likewise, of a lock */
	VALUE,		/* bytes to be read by the kernel, with a length */
	BUFFER,		/* bytes to be written, with a size */
	WORDS,		/* an array of __u64 to be written, with a count */
	SUM,		/* a struct hashbelt_sum, with its size */
	ITEMS,		/* an array of items, with a count */
	KEYLIST,	/* an array of keys, with a count */
	NAME,		/* of a belt; often none if @bound says so */
	MODE,
	LIMIT,
	VERSION,	/* from here on: mostly what was returned last */
	TOKEN,
	CURSOR,
	SEQUENCE,
	ID,
	KINDS
};

/**
 * struct field - a word of an argument
 * @name:	as hashbelt.h calls it
 * @offset:	where it is
 * @size:	its bytes: at most 8, but for names
 * @kind:	what it means
 * @pair:	offset of the length that belongs to it
 * @bound:	see enum kind
 */
struct field {
	const char *name;
	uint16_t offset;
	uint8_t size;
	uint8_t kind;
	uint16_t pair;
	uint64_t bound;
};

/* What is done with a descriptor beside ioctls. */
enum act {
	IOCTL,
	OPEN,
	CLOSE,
	DUP,
	READ,
	POLL,
	FORK,
	SLEEP,
	UNKNOWN,	/* an ioctl that there is not */
	OTHER,		/* system calls that the device does not know */
};

/**
 * struct call - something that can be done
 * @name:	its name in a program
 * @act:	how it is done
 * @weight:	how often
 * @size:	of the argument, bytes
 * @request:	of an ioctl
 * @fields:	of the argument, ended by one without a name
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

#endif /* _FUZZ_CALL_H */
