/* SPDX-License-Identifier: GPL-2.0-only */
/* model_parts.h - the functions that the parts of the model call in each other. */
#ifndef _MODEL_PARTS_H
#define _MODEL_PARTS_H

#include "model.h"

#define MS		1000000ULL
#define BIT(n)		(1u << (n))
#define ALL_THINGS	(THING_KINDS * KEYS_MAX)

/* model.c: comparing */
void same(struct model *model, const char *what, __u64 got, __u64 want);
void within(struct model *model, const char *what, __u64 got, __u64 least, __u64 most);
bool came_to(struct model *model, int got, int want);
void same_blob(struct model *model, const char *what, const struct blob *got,
	       const struct blob *want);

/* model.c: counters, time, things */
void count(struct model *model, enum hashbelt_counter which);
__u64 deadline_of(const struct model *model, __u64 ttl_ms);
__u64 left_of(const struct model *model, __u64 deadline);
bool is_ttl(__u64 ttl_ms);
struct thing *thing_at(struct model *model, enum thing_kind kind, unsigned int slot);
struct thing *each(struct model *model, unsigned int n, enum thing_kind *kind);
bool is_live(const struct model *model, const struct thing *thing);
bool reinserts(const struct model *model, enum thing_kind kind);
void set_deadline(struct thing *thing, __u64 deadline);
void expire(struct model *model, enum thing_kind kind, unsigned int slot);
struct thing *find_live(struct model *model, enum thing_kind kind, unsigned int slot);

/* model_event.c */
bool reports(const struct model *model, enum hashbelt_reason reason);
unsigned int queue_most(const struct model *model);
void forget_some(struct model *model);
void report(struct model *model, enum thing_kind kind, unsigned int slot,
	    const struct thing *thing, enum hashbelt_reason reason);
bool may_be_handled(const struct model *model, const struct thing *thing);
void report_reached(struct model *model, enum thing_kind kind, unsigned int slot,
		    const struct thing *thing, __u32 reasons, bool maybe, unsigned int last);
void report_expired(struct model *model, enum thing_kind kind, unsigned int slot,
		    const struct thing *thing);
void add_completion(struct model *model, unsigned int id, int key, __u32 causes,
		    unsigned int first, unsigned int last);
void end_reports(struct model *model, struct report_list *row);
void return_held(struct model *model);

/* model_limit.c */
bool make_room(struct model *model, unsigned int slot, int err);
void see_evicted(struct model *model, const struct scan_result *scan_result);

/* model_entry.c */
void adopt_version(struct model *model, enum thing_kind kind, unsigned int slot, __u64 version);
void same_value(struct model *model, const struct asked *asked, const struct thing *thing);
void get_entry(struct model *model, const struct asked *asked);

/* model_fill.c */
bool holds_fill(const struct model *model, unsigned int key, __u64 token);
void end_fill(struct model *model, unsigned int key);

/* model_request.c */
void finish_put(struct model *model, unsigned int key);

#endif /* _MODEL_PARTS_H */
