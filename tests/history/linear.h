/* SPDX-License-Identifier: GPL-2.0 */
/*
 * linear.h - whether what several threads did to one key can have happened in an order.
 *
 * A history is linearizable (Herlihy and Wing, "Linearizability", 1990) if each operation
 * can be given a moment between its begin and its end so that all results are those of one
 * operation after the other. Belt time is part of it: to move the clock is an operation as
 * well, and an entry is gone from the moment on at which the clock reaches its deadline,
 * whichever task takes it out later.
 */
#ifndef _LINEAR_H
#define _LINEAR_H

#include <stdbool.h>
#include <stdint.h>

#define ACTS_MAX	64	/* of one history: they are bits of a word */

enum act_kind { ACT_GET, ACT_REFRESH, ACT_PUT, ACT_TOUCH, ACT_REMOVE, ACT_EXPIRE, ACT_ADD,
		ACT_ADVANCE };

/* Conditions of a put. */
enum act_condition { ALWAYS, IF_ABSENT, IF_PRESENT, IF_VERSION };

#define KEEP_TIME	UINT64_MAX	/* @ms of a put: what the entry has left */

/**
 * struct act - one operation, and what came of it
 * @begin:	a moment before it, by a clock that all threads share
 * @end:	a moment after it
 * @kind:	which
 * @condition:	of a put
 * @err:	0 or a negative errno
 * @wants:	the version that a put demands
 * @value:	what was put, got, or came to be by an addition
 * @by:		what was added
 * @version:	that was returned
 * @ms:		time-to-live; how far to advance
 * @left_ms:	the time left that was returned
 */
struct act {
	uint64_t begin;
	uint64_t end;
	enum act_kind kind;
	enum act_condition condition;
	int err;
	uint64_t wants;
	int64_t value;
	int64_t by;
	uint64_t version;
	uint64_t ms;
	uint64_t left_ms;
};

/* Time-to-live of a put without one, and of what an addition makes. */
struct terms {
	uint64_t ttl_ms;
	bool refresh;	/* a hit gives at least that again */
};

/**
 * is_linear() - whether there is such an order
 * @acts:	the history of one key, which was not there before
 * @count:	1 to ACTS_MAX
 * @terms:	of the belt
 */
bool is_linear(const struct act *acts, unsigned int count, const struct terms *terms);

void print_act(const struct act *act);

#endif /* _LINEAR_H */
