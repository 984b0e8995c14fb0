/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The commands of hbctl, and their common functions.
 *
 * A command is a row of the table in hbctl.c, from which dispatch, help and
 * completion are made. It is called with a request: its options and operands, still
 * as text. It reads those first, so that wrong usage is found without a device. It
 * then opens the device, binds to the belt, and returns the exit status. One of the fail
 * functions reports an error, in one line on stderr.
 */
#ifndef HBCTL_COMMAND_H
#define HBCTL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <hashbelt/client.h>
#include "array_size.h"
#include "hashbelt_version.h"
#include "value.h"

/* The compiler checks arguments from @first on as those of printf(3). */
#define __printf(format, first)	__attribute((__format__(__printf__, format, first)))

/* The version of hbctl. */
#ifndef VERSION
#define VERSION	HASHBELT_VERSION
#endif

/* Options that a request has room for, those of all commands included. */
#define OPTIONS_MAX	32

/* The argument of an option that is on or off. */
#define YES_NO		"[yes|no]"

/* A program that is run, and its arguments, behind a command's operands. */
#define COMMAND_LINE	"[-- COMMAND ...]"

/*
 * The length of the longest line that hbctl reads, and that is in a file which it has written: each
 * byte of a key and of a value in four, as \xHH in a dump or '\'' in a batch, and the words
 * beside them: a command and its options, or tabs, a deadline and flags.
 */
#define LINE_MAX_BYTES	(4 * (HASHBELT_KEY_MAX + HASHBELT_VALUE_MAX) + 4096)

/* Exit statuses. */
enum status {
	STATUS_DONE	= 0,
	STATUS_NO	= 1,	/* the answer is no */
	STATUS_USAGE	= 2,	/* wrong usage */
	STATUS_REACH	= 3,	/* no device, no belt or no right */
	STATUS_ERROR	= 4,	/* anything else */
	STATUS_BUSY	= 5,	/* another caller has the fill lease */
	STATUS_FAILED	= 6,	/* the last fill has failed, and is not tried again yet */
};

/* The places of the common options in every request's values. */
enum common_option {
	OPTION_DEVICE,
	OPTION_BELT,
	OPTION_BELT_OWNER,
	OPTION_JSON,
	OPTION_HELP,
	OPTION_VERSION,
};

/**
 * struct option_spec - an option of a command
 * @name:	without the dashes; NULL ends a list
 * @letter:	its short form, 0 for none
 * @argument:	name of its argument, NULL if it takes none. Words in
 *		lower case, separated by '|', are offered by completion. YES_NO for
 *		one that may be left out and is yes then
 * @help:	its effect, without a newline
 */
struct option_spec {
	const char *name;
	char letter;
	const char *argument;
	const char *help;
};

struct request;
struct table_column;

/**
 * struct command - one command
 * @name:	its name; NULL ends the table
 * @operands:	its operands as help shows them. BELT, FILE, COMMAND and words in
 *		lower case are offered by completion. BELT is the belt of the request.
 *		The words behind -- are a command line where the operands end in
 *		COMMAND_LINE, and the second of them may be a number below 0 where it
 *		is [N]
 * @least:	number of operands that it needs
 * @most:	number of operands that it takes
 * @call:	the call of the library that it makes, for messages about errors
 * @options:	its options, beside those of all commands; NULL for none
 * @summary:	its effect, in a line
 * @help:	the rest of the description, in paragraphs, as help_text() prints them
 * @run:	does it; returns the exit status
 * @table:	the columns of its table; NULL if it prints none
 */
struct command {
	const char *name;
	const char *operands;
	int least;
	int most;
	enum hashbelt_call call;
	const struct option_spec *options;
	const char *summary;
	const char *help;
	enum status (*run)(struct request *request);
	const struct table_column *table;
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

/**
 * struct request - the arguments of hbctl
 * @command:	the command; NULL while it is not known
 * @device:	path of the device
 * @belt:	name of the belt
 * @owned:	the belt must be owned by @owner
 * @owner:	a user's id
 * @json:	print JSON
 * @values:	of the options given, those of all commands first, then the
 *		command's own: the argument, "" without one, NULL if not given
 * @operands:	the operands
 * @count:	their number
 * @arguments:	the arguments of the program, ended by NULL; nothing changes them
 * @command_line: the words behind them and a --, ended by NULL; NULL if there are
 *		none
 * @batch:	the request of the batch that the command belongs to; NULL outside of one
 * @kept:	of a batch: where its lines leave a handle to the next one; NULL: they do not
 * @is_brief:	nothing stays at the handle when the command has ended
 * @handle:	from request_open(), request_bind() or request_try_bind(); NULL before
 * @key:	where request_keys() leaves a single key
 */
struct request {
	const struct command *command;
	const char *device;
	const char *belt;
	bool owned;
	uid_t owner;
	bool json;
	const char *values[OPTIONS_MAX];
	char **operands;
	int count;
	char **arguments;
	char **command_line;
	const struct request *batch;
	struct hashbelt **kept;
	bool is_brief;
	struct hashbelt *handle;
	struct key key;
};

extern const struct option_spec common_options[];

const char *request_option(const struct request *request, const char *name);
enum status request_number(const struct request *request, const char *name,
			   __u64 least, __u64 most, __u64 *number);
enum status request_duration(const struct request *request, const char *name,
			     const char *words, __u64 least, __u64 *ms);
enum status request_ttl(const struct request *request, const char *words, __u64 *ms);
enum status request_unescape(const struct request *request, char *text, size_t *len);
enum status request_key(const struct request *request, int operand, struct key *key);
enum status request_keys(struct request *request, struct key **keys);
void request_free_keys(const struct request *request, struct key *keys);
bool request_takes_stdin(const struct request *batch);
enum status request_stdin(const struct request *request);
enum status request_belt(struct request *request, const char *name);
enum status request_belt_owner(struct request *request);
enum status request_without_owner(const struct request *request);
enum status request_open(struct request *request);
enum status request_bind(struct request *request);
enum status request_bind_briefly(struct request *request);
void request_close(struct request *request);
enum status request_try_bind(struct request *request, int *err);
int request_bind_again(const struct request *request);
enum status fail_bind(const struct request *request, int err);

void fail_as_json(bool json);
void fail_in_child(void);
void fail_cause(int err);
void fail_at(const char *file, unsigned long line);
__printf(2, 3)
enum status fail(enum status status, const char *format, ...);
__printf(2, 3)
enum status fail_usage(const struct request *request, const char *format, ...);
enum status fail_call(const struct request *request, enum hashbelt_call call, int err);
enum status fail_belt(const struct request *request, int err);
enum status fail_entry(const struct request *request, int err, const struct key *key);
char *key_text(const struct key *key);

#endif /* HBCTL_COMMAND_H */
