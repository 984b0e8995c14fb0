// SPDX-License-Identifier: GPL-2.0-only
/*
 * hbctl - use and manage the belts of hashbelt.
 *
 * The table of the commands that scripts run, and dispatch. The other commands are in an object
 * that is loaded for the first one of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "guess.h"
#include "init_process.h"
#include "json.h"
#include "manage.h"
#include "parse.h"

static const struct option_spec no_options[] = { { 0 } };

static const struct option_spec key_options[] = { KEY_ESCAPED, { 0 } };

static const struct option_spec has_options[] = {
	{ "quiet", 'q', NULL, "print no error if there is no entry" },
	KEY_ESCAPED,
	{ 0 },
};

static const struct option_spec put_options[] = {
	{ "from", 0, "FILE", "the value is all of FILE, or of stdin for -" },
	{ "ttl", 0, "D|never|keep", "time-to-live; keep: that of the present entry" },
	{ "if-absent", 0, NULL, "only if there is no such entry" },
	{ "if-present", 0, NULL, "only if there is one" },
	{ "if-version", 0, "V", "only if there is one of version V" },
	{ "if-lease", 0, "TOKEN", "only while the fill lease with this token lasts" },
	{ "flags", 0, "N", "32 bits of your own (0)" },
	{ "hold", 0, NULL, "keep the entries while hbctl runs, and no longer" },
	KEY_ESCAPED,
	{ 0 },
};

static const struct option_spec get_options[] = {
	{ "ttl", 0, "D|never", "give the entry this time-to-live as well" },
	{ "fill", 0, NULL, "fill a missing entry: get the fill lease, or wait" },
	{ "lease", 0, "D", "--fill: duration of the fill lease (10s)" },
	{ "wait", 0, "D|forever", "--fill: how long to wait for another caller's fill" },
	{ "ahead", 0, "D|P%", "--fill: refill early, when less than this is left" },
	{ "stale", 0, NULL, "--fill: accept an expired value in the grace time" },
	{ "retry-after", 0, "D", "--fill: let other callers have a failure of COMMAND for D" },
	{ "print-token", 0, NULL, "--fill: print the token of a fill lease, for put --if-lease" },
	{ "verbose", 'v', NULL, "print version, flags and time left on stderr" },
	KEY_ESCAPED,
	{ 0 },
};

static const struct option_spec touch_options[] = {
	{ "ttl", 0, "D|never", "time-to-live (the belt's)" },
	{ "add", 0, NULL, "add --ttl to the time left" },
	{ "if-version", 0, "V", "only if it has version V" },
	{ "if-lasting", 0, NULL, "only if it never expires" },
	{ "if-expiring", 0, NULL, "only if it expires" },
	{ "if-later", 0, NULL, "only if its deadline gets later" },
	{ "if-sooner", 0, NULL, "only if its deadline gets earlier" },
	KEY_ESCAPED,
	{ 0 },
};

static const struct option_spec rm_options[] = {
	{ "if-version", 0, "V", "only if it has version V" },
	{ "prefix", 0, "P", "remove all entries whose keys begin with P" },
	{ "match", 0, "GLOB", "remove all entries whose keys match GLOB, with * ? [a-z]" },
	{ "dry-run", 0, NULL, "with these: list the keys, and remove nothing" },
	{ "stale", 0, NULL, "leave the values in the grace time, for get --fill --stale" },
	KEY_ESCAPED,
	{ 0 },
};

static const struct option_spec incr_options[] = {
	{ "initial", 0, "V", "number that an absent entry counts as (0)" },
	{ "ttl", 0, "D|never", "its time-to-live then (the belt's)" },
	{ "if-present", 0, NULL, "make no entry" },
	{ "min", 0, "V", "the least sum: a smaller one becomes V" },
	KEY_ESCAPED,
	{ 0 },
};

static const struct option_spec wait_options[] = {
	{ "timeout", 0, "D|never", "when to give up (never)" },
	KEY_ESCAPED,
	{ 0 },
};

static const struct option_spec watch_options[] = {
	{ "interval", 0, "D", "time between two looks for entries that have gone (1s)" },
	{ "max", 'n', "N", "end after N changes" },
	KEY_ESCAPED,
	{ 0 },
};

static const struct option_spec lock_options[] = {
	{ "owner", 0, "OWNER", "the owner, 1 to 64 bytes (made up)" },
	{ "ttl", 0, "D", "the lease (1m)" },
	{ "wait", 0, "D|forever", "how long to wait for it (not at all)" },
	{ "conflict-exit-code", 'E', "N", "exit status if the lock is held (1)" },
	{ "close", 0, NULL, "COMMAND does not keep the lock: it is hbctl's alone" },
	NAME_ESCAPED,
	LOCK_STORE,
	LOCK_TABLE,
	LOCK_TYPE,
	{ "create-table", 0, NULL, "--store: make the table, unless it is there" },
	{ 0 },
};

static const struct option_spec unlock_options[] = {
	{ "owner", 0, "OWNER", "the owner of the lock" },
	NAME_ESCAPED,
	LOCK_STORE,
	LOCK_TABLE,
	LOCK_TYPE,
	{ 0 },
};

static const struct option_spec renew_options[] = {
	{ "owner", 0, "OWNER", "the owner of the lock" },
	{ "ttl", 0, "D", "the lease, from now on (1m, or a longer one that it has)" },
	NAME_ESCAPED,
	LOCK_STORE,
	LOCK_TABLE,
	LOCK_TYPE,
	{ 0 },
};

static const struct option_spec release_options[] = {
	{ "owner", 0, "OWNER", "the owner of the locks" },
	{ "aged", 0, NULL, "--store: all locks whose lease has expired" },
	LOCK_STORE,
	LOCK_TABLE,
	LOCK_TYPE,
	{ 0 },
};

static const struct option_spec batch_options[] = {
	{ "keep-going", 'k', NULL, "go on after a command that fails" },
	{ "reply", 'r', NULL, "answer each line by STATUS<TAB>OUTPUT in a line, and go on" },
	{ 0 },
};

static enum status cmd_batch(struct request *request);
static enum status cmd_version(struct request *request);

static const struct command script_commands[] = {
	{ "put", "KEY [VALUE|-] [KEY VALUE]...", 1, INT_MAX, HASHBELT_CALL_PUT, put_options,
	  "put entries",
	  "The value is VALUE, or all of stdin for - and without one. All users of the machine "
	  "can see the words of a command: a secret comes from stdin, or with --from from a file.\n"
	  "The options hold for all KEYs. --if-version, --if-lease, --from and stdin are for one.\n"
	  "With --hold, hbctl runs until a signal ends it, and renews the entries after each third of "
	  "their time-to-live, all in one step. They are gone at once when hbctl ends, and together "
	  "after their time-to-live when it is stopped. If all have left the belt, it exits with 1.\n"
	  TEXT_KEY "\n"
	  TEXT_DURATION "\n"
	  "Exit status 1: a condition does not hold, or the belt keeps a present entry. The others "
	  "are put; with --hold none stays.",
	  cmd_put, NULL },
	{ "get", "KEY... " COMMAND_LINE, 1, INT_MAX, HASHBELT_CALL_GET, get_options,
	  "print values",
	  "Prints the bytes of the value, and a newline only on a terminal. Of several KEYs "
	  "prints KEY<TAB>VALUE for each that has an entry, escaped as by dump.\n"
	  "--ttl and --fill need the right to write. --fill takes one KEY.\n"
	  "With --fill, one caller that misses gets a fill lease: it is to put the entry. If "
	  "a COMMAND is given, that caller runs it, puts its output with --ttl, and prints it; "
	  "the others wait. The lease is renewed while COMMAND runs. If it ends all the same, as by "
	  "an rm, expire, clear or put of KEY, the output is printed and not stored; -v says so.\n"
	  "If COMMAND fails, get exits with its status, and a caller that waits runs it again: each "
	  "in its turn. With --retry-after D those, and others within D, exit with 6 instead.\n"
	  "With --print-token, the caller with the lease prints the token in place of an old value.\n"
	  TEXT_KEY "\n"
	  TEXT_DURATION "\n"
	  "P% is a share of the entry's time-to-live: of --ttl, or of the belt's.\n"
	  "Exit status 1: there is no entry of one of the keys; with --fill: the caller has the "
	  "fill lease; "
	  "5: another caller has it; "
	  "6: the last fill has failed, and is not tried again yet.",
	  cmd_get, NULL },
	{ "touch", "KEY...", 1, INT_MAX, HASHBELT_CALL_TOUCH, touch_options,
	  "give entries a new time-to-live",
	  "The conditions are checked in the same step. An entry that never expires has the latest "
	  "deadline, and --add leaves it so. The conditions and --add need the right to read as well. "
	  "--if-version takes one KEY.\n"
	  TEXT_KEY "\n"
	  TEXT_DURATION "\n"
	  "Exit status 1: there is no entry of one of the keys, or a condition does not hold.",
	  cmd_touch, NULL },
	{ "has", "KEY", 1, 1, HASHBELT_CALL_GET, has_options,
	  "say by the exit status whether there is an entry",
	  "Never renews the time-to-live.\n"
	  TEXT_KEY "\n"
	  "Exit status 0: there is such an entry; 1: there is none.",
	  cmd_has, NULL },
	{ "rm", "[KEY...]", 0, INT_MAX, HASHBELT_CALL_REMOVE, rm_options,
	  "remove entries",
	  "--if-version takes one KEY. --prefix and --match take the place of KEY, and "
	  "together choose the keys that fit both. They print the number of removed entries, "
	  "and need the right to read as well. A ? of GLOB stands for one byte; a key with a "
	  "NUL byte matches none. With -e, P and GLOB are escaped as KEY.\n"
	  "--stale needs a belt with a grace time, and counts entries as expired.\n"
	  TEXT_KEY "\n"
	  "Exit status 1: there is no entry of one of the keys, or it has another version.",
	  cmd_rm, NULL },
	{ "expire", "KEY", 1, 1, HASHBELT_CALL_EXPIRE, key_options,
	  "let an entry expire now",
	  "It counts as expired, not as removed.\n"
	  TEXT_KEY "\n"
	  "Exit status 1: there is no such entry.",
	  cmd_expire, NULL },
	{ "incr", "KEY [N]", 1, 2, HASHBELT_CALL_ADD, incr_options,
	  "add to a number",
	  "Adds N, 1 without one, to the number that is the entry's value, and prints the "
	  "sum. A present entry keeps its deadline. N may be negative.\n"
	  TEXT_KEY "\n"
	  TEXT_DURATION "\n"
	  "Exit status 1: the present value is no number, or less than --min; the sum is too "
	  "large; with --if-present: there is no entry.",
	  cmd_incr, NULL },
	{ "wait", "KEY...", 1, HASHBELT_REQUEST_KEYS, HASHBELT_CALL_REQUEST, wait_options,
	  "wait until one of several entries is present",
	  "Prints KEY<TAB>VALUE, escaped as by dump; at once if an entry is present already.\n"
	  TEXT_KEY "\n"
	  TEXT_DURATION "\n"
	  "Exit status 1: it timed out, or 'complete' ended it.",
	  cmd_wait, NULL },
	{ "watch", "KEY...", 1, INT_MAX, HASHBELT_CALL_REQUEST, watch_options,
	  "print changes of entries as they come",
	  "Prints KEY<TAB>VALUE, escaped as by dump, for each entry that is present, and again "
	  "after each put of it; KEY alone when the entry has gone. A put is noticed at once, "
	  "other changes within --interval. Of several changes at once only the last one is "
	  "printed. Takes no events from other readers, and renews no time-to-live.\n"
	  TEXT_KEY "\n"
	  TEXT_DURATION,
	  cmd_watch, NULL },
	{ "complete", "KEY", 1, 1, HASHBELT_CALL_COMPLETE, key_options,
	  "end all waits for a key",
	  "Prints their number.\n"
	  TEXT_KEY "\n"
	  "Exit status 1: there was none.",
	  cmd_complete, NULL },
	{ "lock", "NAME " COMMAND_LINE, 0, 1, HASHBELT_CALL_LOCK, lock_options,
	  "take a lock, and run a command under it",
	  "With a COMMAND, hbctl renews the lock while COMMAND runs. COMMAND and its children "
	  "inherit the lock: it is free when hbctl and all of them have ended, or when its lease "
	  "expires, which hbctl no longer renews then. With --close, or in a store, it is hbctl's "
	  "alone: hbctl unlocks it after COMMAND, and a belt's lock is free when hbctl is killed. "
	  "The exit status is that of COMMAND; 128 and the number of the signal, if a signal "
	  "ended it. If the lock is lost, hbctl sends SIGTERM to COMMAND. The status is not 0 "
	  "then, nor if a signal could not be passed on to COMMAND. Without a COMMAND, the lock is "
	  "held until its lease expires. Prints the fencing token, which COMMAND finds in "
	  "HASHBELT_LOCK_TOKEN; without --owner, TOKEN<TAB>OWNER. If the OWNER has the lock "
	  "already, the lease is extended.\n"
	  TEXT_LOCK "\n"
	  "lock makes that belt if it is missing.\n"
	  TEXT_DURATION "\n"
	  "Exit status 1, or that of -E: another owner has it, also after --wait; with a COMMAND, "
	  "OWNER has it already: a command takes a lock of its own.",
	  cmd_lock, NULL },
	{ "unlock", "NAME", 1, 1, HASHBELT_CALL_UNLOCK, unlock_options,
	  "unlock a lock",
	  "The first waiter gets it.\n"
	  TEXT_LOCK "\n"
	  "Exit status 1: the lock is free, or another owner has it.",
	  cmd_unlock, NULL },
	{ "renew", "NAME", 1, 1, HASHBELT_CALL_RENEW, renew_options,
	  "renew the lease of a lock",
	  TEXT_LOCK "\n"
	  TEXT_DURATION "\n"
	  "Exit status 1: the lock is free, or another owner has it.",
	  cmd_renew, NULL },
	{ "release", "", 0, 0, HASHBELT_CALL_RELEASE, release_options,
	  "unlock all locks of an owner",
	  "Prints their number.\n"
	  TEXT_LOCK,
	  cmd_release, NULL },
	{ "size", "[BELT]", 0, 1, HASHBELT_CALL_INFO, no_options,
	  "print the number of entries",
	  "Entries that have expired count until the belt has moved on.",
	  cmd_size, NULL },
	{ "clear", "[BELT]", 0, 1, HASHBELT_CALL_CLEAR, no_options,
	  "drop all entries of the belt",
	  "They do not count as expired.",
	  cmd_clear, NULL },
	{ "destroy", "BELT", 1, 1, HASHBELT_CALL_DESTROY, no_options,
	  "destroy a belt and all that is in it",
	  "Programs that use it are told that it was destroyed.",
	  cmd_destroy, NULL },
	{ "halt", "[BELT]", 0, 1, HASHBELT_CALL_HALT, no_options,
	  "stop belt time: nothing expires",
	  "rotate and advance still move it.",
	  cmd_halt, NULL },
	{ "resume", "[BELT]", 0, 1, HASHBELT_CALL_RESUME, no_options,
	  "let belt time go on from where it stands",
	  "Time that passed in between does not count.",
	  cmd_resume, NULL },
	{ "rotate", "[BELT]", 0, 1, HASHBELT_CALL_ROTATE, no_options,
	  "move belt time on by one interval",
	  "When it returns, all that expired by this is gone.",
	  cmd_rotate, NULL },
	{ "advance", "D [BELT]", 1, 2, HASHBELT_CALL_ADVANCE, no_options,
	  "move belt time on by D",
	  TEXT_DURATION "\n"
	  "When it returns, all that expired by this is gone.",
	  cmd_advance, NULL },
	{ "batch", "[FILE]", 0, 1, HASHBELT_CALL_OPEN, batch_options,
	  "run commands from a file or stdin",
	  "Runs the command in each line, as 'put KEY VALUE', in one process, and stops at the "
	  "first one whose exit status is not 0. Words are quoted as in sh: with ' and \" and "
	  "backslashes; # begins a comment. There are no variables, patterns and pipes: a line "
	  "with one of $`;&|<>() outside of quotes is refused. Errors name FILE:LINE. Options of "
	  "all commands that batch is given hold for each line that does not give another one.\n"
	  "With --reply, a program that runs hbctl as a coprocess writes a line and reads a line: the "
	  "exit status, and what the command has printed, or its error, escaped as by dump and without the "
	  "newline at its end. A program that the command runs writes to standard error.\n"
	  "Exit status: the largest one of the commands.",
	  cmd_batch, NULL },
	{ "version", "", 0, 0, HASHBELT_CALL_OPEN, no_options,
	  "print the version",
	  "Prints the version of hbctl and of the device's interface that it speaks.",
	  cmd_version, NULL },
	{ 0 },
};

/* Other names of commands, which other programs have. */
static const struct alias {
	const char *name;
	const char *command;
} aliases[] = {
	{ "del", "rm" },
	{ "ls", "keys" },
};

static const struct command *find_in(const struct command *commands, const char *name)
{
	for (; commands->name; commands++)
		if (!strcmp(commands->name, name))
			return commands;
	return NULL;
}

/**
 * command_next() - go through the commands of both tables
 * @last:	the command before; NULL for the first
 *
 * Return: the next one; NULL if there is none.
 */
const struct command *command_next(const struct command *last)
{
	const struct command *next = last ? last + 1 : script_commands;
	const struct manage *manage;

	if (next == script_commands + ARRAY_SIZE(script_commands) - 1) {
		manage = manage_load();
		next = manage ? manage->commands : next;
	}
	return next->name ? next : NULL;
}

/**
 * command_find() - find a command
 * @request:	the request, for messages
 * @name:	its name, or another one that it has
 * @command:	returned
 *
 * Return: STATUS_DONE, or another status after a line that says why there is none.
 */
enum status command_find(const struct request *request, const char *name,
			 const struct command **command)
{
	struct guess guess = { .word = name };
	const struct command *other;
	const struct manage *manage;
	char text[GUESS_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(aliases); i++)
		if (!strcmp(aliases[i].name, name))
			name = aliases[i].command;
	*command = find_in(script_commands, name);
	if (*command)
		return STATUS_DONE;
	manage = manage_load();
	if (!manage)
		return STATUS_ERROR;
	*command = find_in(manage->commands, name);
	if (*command)
		return STATUS_DONE;
	for (other = command_next(NULL); other; other = command_next(other))
		guess_offer(&guess, other->name);
	return fail_usage(request, "there is no command '%s'%s", name,
			  guess_text(&guess, "", text));
}

/* @command: NULL for all commands. */
static enum status print_help(const struct command *command)
{
	const struct manage *manage = manage_load();

	if (!manage)
		return STATUS_ERROR;
	manage->print_help(command);
	return STATUS_DONE;
}

static enum status print_version(bool json)
{
	struct json object;

	if (!json) {
		printf("hbctl %s (interface %d)\n", VERSION, HASHBELT_ABI);
		return STATUS_DONE;
	}
	object = json_begin(stdout);
	json_add_bytes(&object, "version", VERSION, strlen(VERSION));
	json_add_number(&object, "interface", HASHBELT_ABI);
	json_end(object);
	return STATUS_DONE;
}

static enum status cmd_version(struct request *request)
{
	return print_version(request->json);
}

static enum status check_operands(const struct request *request)
{
	const struct command *command = request->command;

	if (request->count < command->least)
		return fail_usage(request, "an operand is missing: %s %s", command->name,
				  command->operands);
	if (request->count > command->most)
		return fail_usage(request, "'%s' is one operand too many%s",
				  request->operands[command->most], dash_hint(request));
	return STATUS_DONE;
}

/* Whether the option is that of the batch, not of the line. */
static bool is_inherited(const struct request *request, enum common_option option)
{
	return request->batch && request->values[option] == request->batch->values[option];
}

/* The operand BELT names the belt as -b does. */
static enum status take_belt(struct request *request)
{
	const char *operands = request->command->operands, *given = request->values[OPTION_BELT];
	const char *place = strstr(operands, "BELT"), *name;
	int operand = 0;

	for (; place && operands < place; operands++)
		operand += *operands == ' ';
	if (!place || operand >= request->count)
		return given ? request_belt(request, given) : STATUS_DONE;
	name = request->operands[operand];
	if (given && !is_inherited(request, OPTION_BELT) && strcmp(given, name))
		return fail_usage(request, "-b names belt '%s', and the operand belt '%s'", given,
				  name);
	return request_belt(request, name);
}

/* Runs the command of the request, when all options are known. */
static enum status dispatch(struct request *request)
{
	enum status status;

	if (request->values[OPTION_HELP])
		return print_help(request->command);
	if (request->values[OPTION_VERSION])
		return print_version(request->values[OPTION_JSON]);
	if (request->values[OPTION_DEVICE])
		request->device = request->values[OPTION_DEVICE];
	request->json = request->values[OPTION_JSON];
	fail_as_json(request->json);
	status = check_operands(request);
	if (!status)
		status = take_belt(request);
	if (!status)
		status = request_belt_owner(request);
	if (!status)
		status = request->command->run(request);
	request_close(request);
	return status;
}

static enum status run(struct request *request, int argc, char **argv)
{
	enum status status = parse(request, argc, argv);
	int first = optind;

	if (status)
		return status;
	if (request->values[OPTION_HELP])
		return print_help(NULL);
	if (request->values[OPTION_VERSION])
		return print_version(request->values[OPTION_JSON]);
	if (first == argc)
		return fail_usage(request, "a command is missing");
	status = command_find(request, argv[first], &request->command);
	if (!status)
		status = parse(request, argc - first, argv + first);
	return status ? status : dispatch(request);
}

/* A failed write of the output is an error, even if the command succeeded. */
static enum status close_stdout(enum status status)
{
	bool failed = ferror(stdout);

	errno = 0;
	if (fclose(stdout))
		failed = true;
	if (!failed || status)
		return status;
	return fail(STATUS_ERROR, "cannot write the output: %s",
		    errno ? strerror(errno) : "an earlier write failed");
}

/*
 * Those of stdin, stdout and stderr that our caller has closed. The device must
 * not take their place, and be read from or written to as if it were one of them.
 */
static void replace_closed_files(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Commands of fewer words need no heap, which would cost more than most commands. Bytes. */
#define ROOM	512

/*
 * Gets memory for the operands, and makes a copy of the arguments behind them, for a program that
 * is to run with the same. Return: the memory, for free(3) unless it is @room; NULL: there is none.
 */
static void *take_words(struct request *request, char room[ROOM], unsigned int argc, char **argv)
{
	size_t arrays = sizeof(*argv) * 2 * (argc + 1), size = arrays;
	char *words = room, *text;
	unsigned int i;

	for (i = 0; i < argc; i++)
		size += strlen(argv[i]) + 1;
	if (size > ROOM)
		words = malloc(size);
	if (!words)
		return NULL;
	memset(words, 0, arrays);
	request->operands = (char **)words;
	request->arguments = request->operands + argc + 1;
	for (i = 0, text = words + arrays; i < argc; i++) {
		request->arguments[i] = text;
		text = stpcpy(text, argv[i]) + 1;
	}
	return words;
}

/* Whether --json is among the arguments: an error in those before it is to be JSON as well. */
static bool wants_json(char **argv)
{
	for (; *argv && strcmp(*argv, "--"); argv++)
		if (!strcmp(*argv, "--json"))
			return true;
	return false;
}

/* Runs the command that the arguments are. @batch: that of which it is a line, or NULL. */
static enum status run_arguments(const struct request *batch, int argc, char **argv)
{
	static const enum common_option inherited[] = {
		OPTION_DEVICE, OPTION_BELT, OPTION_BELT_OWNER, OPTION_JSON,
	};
	struct request request = {
		.device = HASHBELT_DEVICE,
		.belt = HASHBELT_DEFAULT_BELT,
		.batch = batch,
	};
	char room[ROOM] __attribute__((aligned(sizeof(char *))));
	enum status status;
	void *words;
	size_t i;

	for (i = 0; batch && i < ARRAY_SIZE(inherited); i++)
		request.values[inherited[i]] = batch->values[inherited[i]];
	fail_as_json(request.values[OPTION_JSON] || wants_json(argv));
	words = take_words(&request, room, argc, argv);
	status = words ? run(&request, argc, argv) : fail(STATUS_ERROR, "out of memory");
	if (words != room)
		free(words);
	return status;
}

static enum status cmd_batch(struct request *request)
{
	return batch_run(request, run_arguments);
}

int main(int argc, char **argv)
{
	init_process_begin();
	replace_closed_files();
	return close_stdout(run_arguments(NULL, argc, argv));
}
