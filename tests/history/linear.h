/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * linear.h - checks whether a history of several threads on one key is linearizable.
 *
 * A history is linearizable (Herlihy and Wing, "Linearizability", 1990) if each operation can be
 * given a moment between its begin and its end, so that all results are those of the operations
 * one after the other. Moving belt time is an operation as well: an entry is gone from the moment
 * at which the clock reaches its deadline, whichever task takes it out later.
 */
#ifndef _LINEAR_H
#define _LINEAR_H

#include <stdbool.h>
#include <stdint.h>

#define ACTS_MAX	64	/* in one history: each is a bit of a word */

enum act_kind { ACT_GET, ACT_REFRESH, ACT_PUT, ACT_TOUCH, ACT_REMOVE, ACT_EXPIRE, ACT_ADD,
		ACT_ADVANCE, ACT_CLEAR, ACT_OTHER };

/* Conditions of a put. */
enum act_condition { ALWAYS, IF_ABSENT, IF_PRESENT, IF_VERSION };

#define KEEP_TIME	UINT64_MAX	/* @ms of a put: keep the deadline */

/* One operation and its result. */
struct act {
	uint64_t begin;	/* a moment before it, by a counter that all threads share */
	uint64_t end;	/* a moment after it */
	enum act_kind kind;	/* enum act_kind; ACT_OTHER: no change of the key */
	enum act_condition condition;	/* of a put */
	int err;	/* 0 or a negative errno */
	uint64_t wants;	/* the version that a put demands */
	int64_t value;	/* the value that was put or returned, or the sum of an addition */
	int64_t by;	/* the addend */
	uint64_t version;	/* the version that was returned */
	uint64_t ms;	/* time-to-live, or time to advance */
	uint64_t left_ms;	/* the time left that was returned */
	bool windowed;	/* a get that a window has answered; only printed */
};

/* Settings of the belt. */
struct terms {
	uint64_t ttl_ms;	/* of a put without one, and of an addition */
	bool refresh;		/* a hit sets a deadline at least @ttl_ms ahead */
	bool lapses;		/* an entry may expire at any moment: time is not compared */
};

/**
 * is_linear() - whether a history is linearizable
 * @acts:	the history of one key, which did not exist before
 * @count:	number of operations, 1 to ACTS_MAX
 * @terms:	settings of the belt
 */
bool is_linear(const struct act *acts, unsigned int count, const struct terms *terms);

void print_act(const struct act *act);

#endif /* _LINEAR_H */
