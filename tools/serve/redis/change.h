/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes of an entry that depend on its value. */
#ifndef HBSERVE_CHANGE_H
#define HBSERVE_CHANGE_H

#include "target.h"
#include "requests.h"

struct change;

/* The results of a step. Errors are negative. */
enum change_step {
	CHANGE_DO,		/* the operation is to be carried out */
	CHANGE_NOTHING,		/* the entry stays as it is */
};

/**
 * struct change - a change of an entry, which is read first
 * @target:	the entry
 * @whole:	its value
 * @is_there:	it is there
 * @value:	its value
 * @len:	the length of that
 * @step:	fills in the operation: a put that keeps flags and time-to-live of the present
 *		entry, or makes one that does not expire
 * @words:	for @step: the arguments
 * @number:	for @step
 * @arg:	for @step
 */
struct change {
	struct target target;
	struct whole whole;
	bool is_there;
	const char *value;
	size_t len;
	int (*step)(struct change *change, struct hashbelt_item *item);
	const struct word *words;
	int64_t number;
	const void *arg;
};

int change_run(struct change *change);
void change_end(struct change *change);
bool change_equals(const struct change *change, const struct word *word);
int change_delete_equal(struct change *change, struct hashbelt_item *item);

#endif /* HBSERVE_CHANGE_H */
