/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * program.h - a program is a sequence of calls. It is made, changed, printed and parsed.
 *
 *	CALL SLOT SEED PLACE MEDDLE [fail=N] [FIELD=VALUE]...; CALL ...
 *
 * Numbers are hexadecimal. The line determines the program: each run makes the same calls
 * with the same arguments.
 */
#ifndef _FUZZ_PROGRAM_H
#define _FUZZ_PROGRAM_H

#include "call.h"

#define STEPS_MAX	12
#define TWISTS_MAX	3
#define SLOTS		6
#define FAIL_MAX	24	/* few calls pass more points that can fail */

/* Greatest length of a program as a line, bytes. */
#define PROGRAM_TEXT	(STEPS_MAX * 160)

/* The place of the argument in memory. */
enum place {
	AT_END,		/* its last byte is the last before a hole */
	UNALIGNED,
	CUT,		/* its end is in the hole */
	READONLY,
	NOWHERE,
	AT_NULL,
	IN_KERNEL,
	PLACES
};

/* Actions of another thread while the call runs. */
enum meddle {
	NOTHING,
	ARGUMENT,	/* changes a word of the argument, and changes it back */
	ARRAY,		/* does so with a word of the array that the argument points to */
	PROTECT,	/* removes the access rights of a page, and restores them */
	UNMAP,		/* unmaps a page, and maps a new one */
	FORGET,		/* drops a page: the kernel must fault it in */
	REPLACE,	/* replaces the descriptor by another open file */
	RACE,		/* makes the same call */
	REBIND,		/* binds the descriptor to another belt */
	CONSUME,	/* reads from the descriptor */
	RESHAPE,	/* changes the belt's settings, clears it, moves its time */
	MEDDLES
};

/**
 * struct twist - a field whose value does not come from the seed
 * @value:	its value
 * @field:	index of the field
 */
struct twist {
	uint64_t value;
	uint8_t field;
};

/**
 * struct step - one call
 * @seed:	seed of its argument
 * @call:	index in calls[]
 * @slot:	slot of the descriptor
 * @place:	enum place
 * @meddle:	enum meddle
 * @fail:	number of the allocation or copy of user memory that fails, from 1; 0: none
 * @twists:	number of twists
 * @twist:	changes to the argument
 */
struct step {
	uint32_t seed;
	uint8_t call;
	uint8_t slot;
	uint8_t place;
	uint8_t meddle;
	uint8_t fail;
	uint8_t twists;
	struct twist twist[TWISTS_MAX];
};

struct program {
	unsigned int count;
	struct step steps[STEPS_MAX];
};

/* True with --faults: programs get calls with faults. */
extern bool program_faults;

void program_make(struct program *program, uint64_t *random);
void program_change(struct program *program, const struct program *other, uint64_t *random);
char *program_print(const struct program *program, char *text);
bool program_parse(struct program *program, char *text);

#endif /* _FUZZ_PROGRAM_H */
