/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program.h - a sequence of calls: made up, changed, written as a line and read again.
 *
 *	CALL SLOT SEED PLACE MEDDLE [fail=N] [FIELD=VALUE]...; CALL ...
 *
 * Numbers are hexadecimal. Such a line is all that there is to a program: who runs it
 * makes the same calls with the same arguments.
 */
#ifndef _FUZZ_PROGRAM_H
#define _FUZZ_PROGRAM_H

#include "call.h"

#define STEPS_MAX	12
#define TWISTS_MAX	3
#define SLOTS		6
#define FAIL_MAX	24	/* few calls come by more points that can fail */

/* What a program takes as a line at most, bytes. */
#define PROGRAM_TEXT	(STEPS_MAX * 160)

/* Where the argument stands. */
enum place {
	AT_END,		/* its last byte is the last before a hole */
	UNALIGNED,
	CUT,		/* some of it is in the hole */
	READONLY,
	NOWHERE,
	AT_NULL,
	IN_KERNEL,
	PLACES
};

/* What another thread does while the call runs. */
enum meddle {
	NOTHING,
	ARGUMENT,	/* changes a word of the argument, to and fro */
	ARRAY,		/* likewise of the array that it points to */
	PROTECT,	/* takes the right to the memory, and gives it back */
	UNMAP,
	FORGET,		/* has pages dropped: the kernel must fault them in */
	REPLACE,	/* puts another open file in the descriptor's place */
	RACE,		/* does the same call */
	REBIND,		/* binds the descriptor to another belt */
	CONSUME,	/* reads from the descriptor */
	RESHAPE,	/* changes the belt's settings, clears it, moves its time */
	MEDDLES
};

/**
 * struct twist - a field that is not as the seed would have it
 * @field:	which
 * @value:	what it is
 */
struct twist {
	uint64_t value;
	uint8_t field;
};

/**
 * struct step - one call
 * @seed:	of its argument
 * @call:	which of calls[]
 * @slot:	the descriptor
 * @place:	enum place
 * @meddle:	enum meddle
 * @fail:	which of its allocations and copies of user memory fails, from 1; 0: none
 * @twists:	how many there are
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

/* Whether programs are made up in which calls fail. */
extern bool program_faults;

void program_make(struct program *program, uint64_t *random);
void program_change(struct program *program, const struct program *other, uint64_t *random);
char *program_print(const struct program *program, char *text);
bool program_parse(struct program *program, char *text);

#endif /* _FUZZ_PROGRAM_H */
