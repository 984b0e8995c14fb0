/* SPDX-License-Identifier: GPL-2.0-only */
/* Figures of hbfollow in Prometheus' text form. */
#ifndef HBFOLLOW_METRICS_H
#define HBFOLLOW_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/**
 * struct metrics - the figures
 * @belt:	the belt's name
 * @engine:	the engine's name
 * @is_following: each change is told
 * @is_replica:	the server that is followed, or was last, copies another one
 * @has_belt:	there is a belt of that name
 * @since:	the time at which @is_following became what it is
 * @delay:	how long a question last took, behind the changes, seconds
 * @told:	keys that the engine has told
 * @unfit:	of these, keys that no belt can have
 * @removed:	entries that were removed by their keys
 * @clears:	how often the belt was cleared
 * @losses:	how often the engine was lost while it was followed
 */
struct metrics {
	const char *belt;
	const char *engine;
	bool is_following;
	bool is_replica;
	bool has_belt;
	time_t since;
	double delay;
	uint64_t told;
	uint64_t unfit;
	uint64_t removed;
	uint64_t clears;
	uint64_t losses;
};

int metrics_write(const struct metrics *metrics, const char *path);

#endif /* HBFOLLOW_METRICS_H */
