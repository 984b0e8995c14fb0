/* SPDX-License-Identifier: GPL-2.0 */
/*
 * model.h - a belt as the contract says it is, in arrays.
 *
 * Each call tells the model what was done and what came of it. The model says what should
 * have come of it; what only the kernel can know (a version, which of two entries with
 * one deadline was evicted) it takes over, if it is one of those that may be.
 *
 * The one thing that is not certain at once is when the handler has what has expired: at
 * a deadline at the earliest, an interval later at the latest. In between, the thing is
 * "reached": no read sees it, and its event may be there or not.
 */
#ifndef _MODEL_H
#define _MODEL_H

#include "operation.h"

#define PENDING_MAX	8192
#define NEVER		HASHBELT_TTL_NEVER

enum thing_kind { ENTRY, LOCKED, FILLING, ASKED, THING_KINDS };

struct blob {
	unsigned int len;
	unsigned char bytes[64];
};

/**
 * struct thing - an entry, a lock, a right to fill, a request
 * @there:	it is
 * @deadline:	nanoseconds, or NEVER
 * @version:	or token
 * @old:	the one before it, of another life perhaps
 * @flags:	the user's
 * @value:	or owner
 * @bound:	the descriptor it goes with; -1
 * @since:	when a lock was granted
 * @reached:	the step at which its deadline was; 0: it is ahead
 * @due:	when the handler may have it
 * @doubt:	the settings have changed since, or events were lost: its own may be there
 *		or not
 * @keys:	of a request
 */
struct thing {
	bool there;
	__u64 deadline;
	__u64 version;
	__u64 old;
	__u32 flags;
	struct blob value;
	int bound;
	__u64 since;
	unsigned int reached;
	__u64 due;
	bool doubt;
	__u16 keys;
};

/**
 * struct report - an event that must be read some time
 * @kind:	enum thing_kind
 * @slot:	key, or id of a request
 * @key:	of a request, the key that has completed it; -1
 * @thing:	as it was
 * @reasons:	one of these, bit by bit
 * @first:	the steps between which it was queued ...
 * @last:	... 0: has not ended
 * @early:	belt time, likewise
 * @late:	likewise
 * @maybe:	or there is none
 * @placeless:	the entry lives on: it keeps none under the limits
 * @sequence:	once it was read and returned
 * @handed:	likewise
 */
struct report {
	enum thing_kind kind;
	unsigned int slot;
	int key;
	struct thing thing;
	__u32 reasons;
	unsigned int first;
	unsigned int last;
	__u64 early;
	__u64 late;
	bool maybe;
	bool placeless;
	__u64 sequence;
	__u64 handed;
};

/* Reports in the order in which they came to be. */
struct row {
	unsigned int count;
	struct report reports[PENDING_MAX];
};

/**
 * struct model - a belt
 * @is:		its settings, as CREATE and SET said
 * @had_grace:	its entries had a grace time, or have one
 * @keys:	how many there are
 * @raw:	belt time before it is rounded
 * @now:	belt time
 * @measured:	when the intervals began to be counted as they are
 * @rotated:	intervals before that
 * @step:	operations so far
 * @things:	by kind, and by key or id
 * @events:	that were not read
 * @held:	that were read by HOLDER and not acknowledged
 * @told:	of ASKER's requests, not read
 * @order:	no event that is read from now on was queued before this step
 * @told_order:	likewise, of requests
 * @sequence:	of the last event that was read for the first time
 * @told_sequence: likewise, of requests
 * @lost_most:	so many events may have been lost at most
 * @lost:	so many have been said to be
 * @owed:	so many of these must be said again, with the next event that is read
 * @held_lost:	so many were said to be with events that are held ...
 * @held_told:	... the last of them with that of this number
 * @stat:	counters that are certain
 * @slack:	what may come on top
 * @evict_least: so many entries went when the last put made room
 * @evict_most:	or so many
 * @evict_drops: events may have gone as well
 * @just_put:	for whom
 * @look:	only a scan can tell what is there now
 * @complaint:	what is not as it should be; empty: nothing
 */
struct model {
	struct hashbelt_settings is;
	bool had_grace;
	unsigned int keys;
	__u64 raw;
	__u64 now;
	__u64 measured;
	__u64 rotated;
	unsigned int step;
	struct thing things[THING_KINDS * KEYS_MAX];
	struct row events;
	struct row held;
	struct row told;
	unsigned int order;
	unsigned int told_order;
	__u64 sequence;
	__u64 told_sequence;
	__u64 lost_most;
	__u64 lost;
	__u64 owed;
	__u64 held_lost;
	__u64 held_told;
	__u64 stat[HASHBELT_STAT_COUNT];
	__u64 slack[HASHBELT_STAT_COUNT];
	unsigned int evict_least;
	unsigned int evict_most;
	bool evict_drops;
	unsigned int just_put;
	bool look;
	char complaint[256];
};

/* Says what is wrong, if nothing was said yet. */
__attribute__((format(printf, 2, 3)))
void differ(struct model *model, const char *format, ...);

/* A belt was made, and its time stands: @now; @rotations have been counted. */
void model_begin(struct model *model, const struct history *history, __u64 now,
		 __u64 rotations);

__u64 model_interval(const struct model *model);
/* The nearest deadline that is ahead, NEVER if there is none. */
__u64 model_nearest(const struct model *model);
/* Whether the handler may have something, or not yet. */
bool model_uncertain(const struct model *model);

/**
 * struct asked - one operation on one key, and what came of it
 * @op:		enum hashbelt_op
 * @key:	which
 * @fd:		by whom
 * @sent:	as it was passed
 * @got:	as it came back
 * @err:	its result
 * @value:	what was put or got
 * @by:		what was added to; the sum
 */
struct asked {
	enum hashbelt_op op;
	unsigned int key;
	int fd;
	struct hashbelt_item sent;
	struct hashbelt_item got;
	int err;
	struct blob value;
	struct hashbelt_sum by;
	struct hashbelt_sum sum;
};

void model_item(struct model *model, const struct asked *asked);
void model_fill(struct model *model, const struct asked *asked,
		const struct hashbelt_fill *sent, const struct hashbelt_fill *got);
void model_give_up(struct model *model, unsigned int key, __u64 token, int err);
void model_clear(struct model *model);
void model_advance(struct model *model, __u64 by);
/* What has not been handled in time by now is late: belt time was moved. */
void model_settle(struct model *model);
void model_set(struct model *model, const struct hashbelt_settings *set);
void model_close(struct model *model, int fd);

void model_lock(struct model *model, unsigned long request, unsigned int key,
		unsigned int owner, int fd, const struct hashbelt_lock *sent,
		const struct hashbelt_lock *got, const struct blob *holder, int err);
void model_request(struct model *model, unsigned int id, __u16 keys, __u64 ttl_ms, int err);
void model_cancel(struct model *model, unsigned int id, int err);
void model_complete(struct model *model, unsigned int key, int err, unsigned int count);

/**
 * struct sighting - what a scan or a list of locks reported
 * @seen:	by key
 * @records:	likewise
 * @locks:	likewise, of locks
 * @owners:	of locks
 */
struct sighting {
	bool seen[KEYS_MAX];
	struct hashbelt_record records[KEYS_MAX];
	struct hashbelt_lock_record locks[KEYS_MAX];
	struct blob owners[KEYS_MAX];
};

void model_scan(struct model *model, const struct sighting *sighting);
/* @owner: OWNERS for all */
void model_locks(struct model *model, const struct sighting *sighting, unsigned int owner);

/* One event; key and value have been looked up: @slot, @value. */
void model_read(struct model *model, const struct hashbelt_event *event, unsigned int slot,
		const struct blob *value, bool holds);
void model_hear(struct model *model, const struct hashbelt_event *event, int key);
/* A reader has found nothing more. */
void model_read_all(struct model *model);
void model_heard_all(struct model *model);
void model_ack(struct model *model, __u64 sequence, int err);

void model_check(struct model *model, const struct hashbelt_info *info, const __u64 *stat);

struct blob owner_of(unsigned int number);

#endif /* _MODEL_H */
