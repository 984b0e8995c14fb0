/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The runner of the conformance suite for libhashbelt: cases, steps and their results.
 *
 * Bytes are strings of json-c, which have a length: cases_expand() makes them of the objects that a
 * case has for binary and long values.
 */
#ifndef CONFORMANCE_RUNNER_H
#define CONFORMANCE_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <json-c/json.h>
#include <hashbelt/client.h>

#define BELT		"conformance"

/**
 * struct handle - a handle of the belt, by its name in the case
 * @name:	its name
 * @belt:	the handle
 * @user:	the effective user while it was opened
 * @buffer:	events that were read, NULL if none were
 * @len:	their length, bytes
 * @event:	the last one that was returned
 * @next:	the next handle
 */
struct handle {
	char *name;
	struct hashbelt *belt;
	uid_t user;
	char *buffer;
	ssize_t len;
	const struct hashbelt_event *event;
	struct handle *next;
};

/**
 * struct run - a case that runs
 * @settings:	of its belt
 * @variables:	the results that steps have saved
 * @tokens:	of fill leases, by handle and key
 * @handles:	those that are open
 */
struct run {
	struct json_object *settings;
	struct json_object *variables;
	struct json_object *tokens;
	struct handle *handles;
};

/**
 * struct step - a step that runs
 * @run:	the case
 * @handle:	the handle that the step names; NULL if that is not open
 * @members:	the step as the case has it
 * @found:	the results, by their names
 */
struct step {
	struct run *run;
	struct handle *handle;
	struct json_object *members;
	struct json_object *found;
};

/**
 * struct bytes - a key, a value or an owner
 * @at:		the bytes
 * @len:	their number
 */
struct bytes {
	const void *at;
	size_t len;
};

/**
 * struct operation - an operation of cases
 * @name:	its name; NULL ends a list
 * @run:	carries it out; returns 0 or a negative errno
 */
struct operation {
	const char *name;
	int (*run)(struct step *step);
};

extern const struct operation belt_operations[];
extern const struct operation entry_operations[];
extern const struct operation many_operations[];
extern const struct operation lease_operations[];
extern const struct operation event_operations[];

/* step.c */
struct json_object *cases_expand(struct json_object *value);
struct json_object *resolve(const struct run *run, struct json_object *value);
struct json_object *argument(const struct step *step, const char *name);
struct bytes bytes_of(struct json_object *value);
struct bytes argument_bytes(const struct step *step, const char *name);
__u64 argument_number(const struct step *step, const char *name);
bool argument_true(const struct step *step, const char *name);
__u64 time_of(struct json_object *value);
__u64 argument_ms(const struct step *step, const char *name);
void add_number(struct json_object *found, const char *name, __u64 number);
void add_bytes(struct json_object *found, const char *name, const void *at, size_t len);
void add_word(struct json_object *found, const char *name, const char *word);
void add_bool(struct json_object *found, const char *name, bool value);
void add_time(struct json_object *found, const char *name, __u64 ms);
void sort_by(struct json_object *array, const char *name);

/* compare.c */
bool compare(const struct run *run, struct json_object *wanted, struct json_object *found,
	     char *wrong, size_t size);

/* belt.c */
int belt_create(struct json_object *settings);
int handle_open(struct run *run, const char *name, uid_t user, struct handle **handle);
struct handle *handle_find(const struct run *run, const char *name);
void handles_close(struct run *run);

#endif /* CONFORMANCE_RUNNER_H */
