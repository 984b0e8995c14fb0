/* SPDX-License-Identifier: GPL-2.0-only */
/* Scripts of libraries that are known by their digests, and carried out without Lua. */
#ifndef HBSERVE_SCRIPT_H
#define HBSERVE_SCRIPT_H

#include "change.h"

/* Keys and arguments of a script. */
#define SCRIPT_WORDS	64

/**
 * struct script_call - a call of a script
 * @work:	the work, without replies that wait
 * @redis:	the client
 * @belt:	the belt
 * @keys:	KEYS
 * @key_count:	their number, at least 1
 * @args:	ARGV
 * @arg_count:	their number
 */
struct script_call {
	struct work *work;
	struct redis *redis;
	struct belt *belt;
	const struct word *keys;
	unsigned int key_count;
	const struct word *args;
	unsigned int arg_count;
};

/**
 * struct script - a script
 * @digest:	the SHA1 of its text; NULL of one that is known by its form
 * @library:	the library that sends it, for people; or the form, as form_of() gives it
 * @args:	number of arguments that it has at least
 * @first:	the argument that is the first one of @run
 * @run:	carries it out
 */
struct script {
	const char *digest;
	const char *library;
	unsigned int args;
	unsigned int first;
	enum started (*run)(const struct script_call *call);
};

typedef enum started script_run(const struct script_call *call);

/* lock_scripts.c */
script_run script_delete_equal, script_delete_other, script_leave, script_release;
script_run script_set_equal, script_swap, script_swap_equal, script_expire_equal;
script_run script_renew, script_renew_own, script_renew_seconds, script_extend, script_extend_all;
script_run script_extend_one, script_acquire, script_acquire_one, script_acquire_seconds;
script_run script_claim, script_obtain, script_obtain_seconds;
script_run script_add, script_add_ms, script_slot, script_is_equal, script_one;

/* count_scripts.c */
script_run script_count, script_count_present, script_count_from, script_count_down;
script_run script_count_back, script_count_for, script_count_for_ms, script_count_again;
script_run script_count_window, script_count_window_again, script_count_first, script_count_once;
script_run script_count_once_ms, script_count_limited, script_count_read, script_throttle;
script_run script_read, script_delete_matching;

static inline struct target script_target(const struct script_call *call, unsigned int key)
{
	return (struct target){ call->belt, call->keys[key].at, call->keys[key].len };
}

static inline bool script_number(const struct word *word, int64_t *number)
{
	return resp_integer(word->at, word->len, number);
}

#endif /* HBSERVE_SCRIPT_H */
