/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * model.h - a belt as hashbelt.h and docs/guarantees.md describe it, in arrays.
 *
 * Each function gets a call and its result, and compares the result with that of the model. Values
 * that the kernel chooses (a version, which of two entries with one deadline is evicted) are taken
 * over if they are allowed.
 *
 * One thing is uncertain for a time: when an expired entry is handed over. That is at its deadline
 * at the earliest, and an interval later at the latest. In between, the entry is "reached": no
 * read returns it, and its event may be queued or not.
 */
#ifndef _MODEL_H
#define _MODEL_H

#include "operation.h"

#define PENDING_MAX	8192
#define NEVER		HASHBELT_TTL_NEVER

enum thing_kind { ENTRY, LOCKED, FILLING, REQUESTED, THING_KINDS };

struct blob {
	unsigned int len;
	unsigned char bytes[64];
};

/**
 * struct thing - an entry, a lock, a fill lease, or a request
 * @there:	it exists
 * @deadline:	nanoseconds, or NEVER
 * @version:	its version or token
 * @old:	the version before that, perhaps of an earlier life of the key
 * @flags:	of an entry; of a fill lease: HASHBELT_FAILED or 0
 * @value:	its value, or the owner of a lock
 * @bound:	the descriptor to which it is bound; -1: none
 * @since:	belt time at which a lock was granted
 * @reached:	the step at which its deadline passed; 0: the deadline is ahead
 * @due:	belt time from which on it may be handed over
 * @doubt:	settings have changed since @reached, or events were lost, so its event may be
 *		queued or not
 * @keys:	keys of a request, one bit each
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

/* An event that must be read at some time. */
struct report {
	enum thing_kind kind;	/* enum thing_kind */
	unsigned int slot;	/* key, or id of a request */
	int key;	/* the key that completed a request; -1: none */
	struct thing thing;	/* the entry, lock or request when it left */
	__u32 reasons;	/* the reasons that the event may have, one bit each */
	unsigned int first;	/* the first step at which it may have been queued */
	unsigned int last;	/* the last such step; 0: not known yet */
	__u64 early;	/* the earliest belt time at which it may have been queued */
	__u64 late;	/* the latest such time */
	bool maybe;	/* there may be no such event */
	bool uncharged;	/* the entry was reinserted, so the event does not count under the limits */
	__u64 sequence;	/* its number, once it was read and returned; 0 before that */
	__u64 handed;	/* its time, once it was read and returned; 0 before that */
};

/* Reports in the order in which they were made. */
struct report_list {
	unsigned int count;
	struct report reports[PENDING_MAX];
};

/* A belt. */
struct model {
	struct hashbelt_settings is;	/* its settings */
	unsigned int keys;	/* number of keys */
	__u64 raw;	/* belt time before it is rounded */
	__u64 now;	/* belt time */
	__u64 measured;	/* belt time at which the present interval was set */
	__u64 rotated;	/* intervals that had passed by then */
	unsigned int step;	/* number of operations so far */
	struct thing things[THING_KINDS * KEYS_MAX];	/* by kind, and by key or id */
	unsigned int order;	/* no event that is read from now on was queued before this step */
	/* No completion that is read from now on was queued before this step. */
	unsigned int completion_order;
	__u64 sequence;	/* number of the last event that was read for the first time */
	/* Number of the last completion that was read for the first time. */
	__u64 completion_sequence;
	__u64 lost_most;	/* the most events that may have been lost */
	__u64 lost;	/* events that were reported as lost */
	__u64 owed;	/* of these, events that the next event must report as lost again */
	__u64 held_lost;	/* events that held events have reported as lost */
	__u64 held_lost_at;	/* number of the last held event that has reported some */
	__u64 stat[HASHBELT_STAT_COUNT];	/* lower bounds of the counters */
	__u64 slack[HASHBELT_STAT_COUNT];	/* the most by which the counters may be higher */
	unsigned int evict_least;	/* the fewest entries that the last put has evicted */
	unsigned int evict_most;	/* the most entries that the last put has evicted */
	bool evict_drops;	/* the last put may have dropped events as well */
	unsigned int just_put;	/* key of the last put that made room */
	bool needs_scan;	/* only a scan can show which entries exist */
	char complaint[256];	/* the first difference between belt and model; empty: none */
	struct report_list events;	/* events that have not been read */
	struct report_list held;	/* events that ACKER has read and not acknowledged */
	struct report_list completions;	/* completions of REQUESTER that have not been read */
};

/* Notes a difference, unless there is one already. */
__attribute__((format(printf, 2, 3)))
void differ(struct model *model, const char *format, ...);

/* A belt was created and halted, at @now. It has counted @rotations. */
void model_begin(struct model *model, const struct history *history, __u64 now, __u64 rotations);

__u64 model_interval(const struct model *model);
/* The next deadline, NEVER if there is none. */
__u64 model_nearest(const struct model *model);

/* One operation on one key, and its result. */
struct asked {
	enum hashbelt_op op;		/* enum hashbelt_op */
	unsigned int key;		/* number of the key */
	int fd;				/* descriptor */
	struct hashbelt_item sent;	/* the item before the call */
	struct hashbelt_item got;	/* the item after the call */
	int err;			/* result of the call */
	struct blob value;		/* the value that was put or returned */
	struct hashbelt_sum by;		/* the arguments of an addition */
	struct hashbelt_sum sum;	/* the result of an addition */
};

void model_item(struct model *model, const struct asked *asked);
void model_fill(struct model *model, const struct asked *asked,
		const struct hashbelt_fill *sent, const struct hashbelt_fill *got);
/* @sent: gives a fill lease up, renews it, or says that the fill has failed. */
void model_change_fill(struct model *model, unsigned int key, const struct hashbelt_fill *sent,
		       int err);
void model_clear(struct model *model);
void model_advance(struct model *model, __u64 by);
/* Belt time was moved, so all that is due since an interval has been handed over. */
void model_settle(struct model *model);
void model_set(struct model *model, const struct hashbelt_settings *set);
void model_close(struct model *model, int fd);

void model_lock(struct model *model, unsigned long request, unsigned int key,
		unsigned int owner, int fd, const struct hashbelt_lock *sent,
		const struct hashbelt_lock *got, const struct blob *holder, int err);
void model_request(struct model *model, unsigned int id, __u16 keys, __u64 ttl_ms, int err);
void model_cancel(struct model *model, unsigned int id, int err);
void model_complete(struct model *model, unsigned int key, int err, unsigned int count);

/* The records of a scan or of a list of locks. */
struct scan_result {
	bool seen[KEYS_MAX];	/* whether there is a record, by key */
	struct hashbelt_record records[KEYS_MAX];	/* records of the scan, by key */
	struct hashbelt_lock_record locks[KEYS_MAX];	/* records of the list, by key */
	struct blob owners[KEYS_MAX];	/* owners of the locks, by key */
};

void model_scan(struct model *model, const struct scan_result *scan_result);
/* @owner: OWNERS means all */
void model_locks(struct model *model, const struct scan_result *scan_result, unsigned int owner);

/* An event of the key @slot with this value was read. @holds: it is held until acknowledged. */
void model_read(struct model *model, const struct hashbelt_event *event, unsigned int slot,
		const struct blob *value, bool holds);
void model_read_completion(struct model *model, const struct hashbelt_event *event, int key);
/* A read found no further event. */
void model_read_all(struct model *model);
void model_read_all_completions(struct model *model);
void model_ack(struct model *model, __u64 sequence, int err);

void model_check(struct model *model, const struct hashbelt_info *info, const __u64 *stat);

struct blob owner_of(unsigned int number);

#endif /* _MODEL_H */
