/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands of hbctl, and what they share.
 *
 * A command is a row of the table in hbctl.c, from which come dispatch, help
 * and completion. It is called with a request: its options and operands, still
 * as text. It reads those first (wrong usage is found without a device), then
 * reaches for the device and the belt, and returns the exit status. All that
 * goes wrong is reported by one of the fail functions: one line on stderr.
 */
#ifndef HBCTL_COMMAND_H
#define HBCTL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "client.h"
#include "value.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The compiler checks arguments from @first on as those of printf(3). */
#define __printf(format, first)	__attribute((__format__(__printf__, format, first)))

/* Options that a request has room for, those of all commands included. */
#define OPTIONS_MAX	32

/* The argument of an option that is on or off. */
#define YES_NO		"[yes|no]"

/* A program that is run, and its arguments, behind a command's operands. */
#define COMMAND_LINE	"[-- COMMAND ...]"

/* Exit statuses. */
enum status {
	STATUS_DONE	= 0,
	STATUS_NO	= 1,	/* the answer is no */
	STATUS_USAGE	= 2,	/* wrong usage */
	STATUS_REACH	= 3,	/* no device, no belt or no right */
	STATUS_ERROR	= 4,	/* anything else */
	STATUS_BUSY	= 5,	/* somebody else fills the entry */
};

/**
 * struct option_spec - an option of a command
 * @name:	without the dashes; NULL ends a list
 * @letter:	its short form, 0 for none
 * @argument:	what its argument is called, NULL if it takes none. Words in
 *		lower case, separated by '|', are offered by completion. YES_NO for
 *		one that may be left out and is yes then
 * @help:	what it does, in a line
 */
struct option_spec {
	const char *name;
	char letter;
	const char *argument;
	const char *help;
};

struct json_object;
struct request;

/**
 * struct command - one command
 * @name:	its name; NULL ends the table
 * @operands:	its operands as help shows them. BELT, FILE, COMMAND and words in
 *		lower case are offered by completion. What stands behind -- is taken
 *		for a command line where they end in COMMAND_LINE, and the second of
 *		them may be a number below 0 where it is [N]
 * @least:	number of operands that it needs
 * @most:	number of operands that it takes
 * @right:	what of a belt it needs: "read", "write", "read and write", "own"
 * @options:	its options, beside those of all commands; NULL for none
 * @summary:	what it does, in a line
 * @help:	all else there is to say, in lines of text
 * @run:	does it; returns the exit status
 */
struct command {
	const char *name;
	const char *operands;
	int least;
	int most;
	const char *right;
	const struct option_spec *options;
	const char *summary;
	const char *help;
	enum status (*run)(struct request *request);
};

/**
 * struct request - what hbctl was asked for
 * @command:	the command; NULL while it is not known
 * @device:	path of the device
 * @belt:	name of the belt
 * @json:	print JSON
 * @values:	of the options given, those of all commands first, then the
 *		command's own: the argument, "" without one, NULL if not given
 * @operands:	the operands
 * @count:	their number
 * @command_line: what stands behind them and a --, ended by NULL; NULL if nothing
 *		does
 * @fd:		from request_open() or request_bind(); -1 before
 */
struct request {
	const struct command *command;
	const char *device;
	const char *belt;
	bool json;
	const char *values[OPTIONS_MAX];
	char **operands;
	int count;
	char **command_line;
	int fd;
};

/**
 * struct key - a key that was given as an operand
 * @bytes:	the key
 * @len:	its length, bytes
 */
struct key {
	const char *bytes;
	size_t len;
};

extern const struct command commands[];
extern const struct option_spec common_options[];
const struct command *command_find(const char *name);
enum status completion_bash(struct request *request);

const char *request_option(const struct request *request, const char *name);
enum status request_number(const struct request *request, const char *name,
			   __u64 least, __u64 most, __u64 *number);
enum status request_duration(const struct request *request, const char *name,
			     const char *words, __u64 least, __u64 *ms);
enum status request_ttl(const struct request *request, const char *words, __u64 *ms);
enum status request_key(const struct request *request, int operand, struct key *key);
enum status request_belt(struct request *request, const char *name);
enum status request_open(struct request *request);
enum status request_bind(struct request *request);

__printf(2, 3)
enum status fail(enum status status, const char *format, ...);
__printf(2, 3)
enum status fail_usage(const struct request *request, const char *format, ...);
enum status fail_belt(const struct request *request, int err);
enum status fail_entry(const struct request *request, int err, const struct key *key);
char *key_text(const struct key *key);

int belts_read(int fd, struct hashbelt_info **infos, size_t *count);
enum status cmd_create(struct request *request);
enum status cmd_set(struct request *request);
enum status cmd_destroy(struct request *request);
enum status cmd_belts(struct request *request);
enum status cmd_info(struct request *request);
enum status cmd_halt(struct request *request);
enum status cmd_resume(struct request *request);
enum status cmd_rotate(struct request *request);
enum status cmd_advance(struct request *request);
enum status cmd_clear(struct request *request);
enum status cmd_size(struct request *request);

enum status cmd_stat(struct request *request);
enum status cmd_top(struct request *request);
enum status cmd_events(struct request *request);

enum status cmd_put(struct request *request);
enum status cmd_get(struct request *request);
enum status cmd_touch(struct request *request);
enum status cmd_has(struct request *request);
enum status cmd_rm(struct request *request);
enum status cmd_expire(struct request *request);
enum status cmd_incr(struct request *request);
enum status cmd_wait(struct request *request);
enum status cmd_complete(struct request *request);

enum status get_filled(struct request *request, const struct key *key);
void entry_print(const struct request *request, const struct value *value,
		 const struct hashbelt_item *item);
struct json_object *entry_json(const struct key *key, const struct value *value,
			       const struct hashbelt_item *item);

enum status cmd_lock(struct request *request);
enum status cmd_unlock(struct request *request);
enum status cmd_renew(struct request *request);
enum status cmd_locks(struct request *request);
enum status cmd_release(struct request *request);

enum status cmd_keys(struct request *request);
enum status cmd_load(struct request *request);
enum status cmd_dump(struct request *request);

#endif /* HBCTL_COMMAND_H */
