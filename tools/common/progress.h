/* SPDX-License-Identifier: GPL-2.0-only */
/* The progress of a command on many entries, on a terminal. */
#ifndef COMMON_PROGRESS_H
#define COMMON_PROGRESS_H

#include <stdbool.h>

#include <linux/types.h>

/**
 * struct progress - a line on standard error that is drawn again as the work proceeds
 * @total:	the whole work; 0 if that is not known
 * @unit:	the name of what is dealt with
 * @is_shown:	standard error is a terminal
 * @drawn_ms:	when the present line was drawn; 0 if there is none
 */
struct progress {
	__u64 total;
	const char *unit;
	bool is_shown;
	__u64 drawn_ms;
};

void progress_begin(struct progress *progress, __u64 total);
void progress_step(struct progress *progress, __u64 done, __u64 entries);
void progress_erase(struct progress *progress);
void progress_end(struct progress *progress, __u64 entries);

#endif /* COMMON_PROGRESS_H */
