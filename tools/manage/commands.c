// SPDX-License-Identifier: GPL-2.0-only
/* The table of the commands for people and administrators, and help on all commands. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "help.h"
#include "info.h"
#include "manage.h"
#include "settings.h"
#include "table.h"

#define TEXT_YES_NO \
	"--pinned and --wipe alone mean yes."

static const struct option_spec no_options[] = { { 0 } };

static const struct option_spec keys_options[] = {
	KEY_ESCAPED,
	TABLE_OUTPUT,
	TABLE_NOHEADINGS,
	TABLE_RAW,
	{ 0 },
};

static const struct option_spec table_options[] = {
	TABLE_OUTPUT,
	TABLE_NOHEADINGS,
	TABLE_RAW,
	{ 0 },
};

static const struct option_spec events_options[] = {
	{ "follow", 'f', NULL, "wait for more, until a signal or --max" },
	{ "max", 'n', "N", "end after N events; later ones stay queued" },
	{ "ack", 0, NULL, "acknowledge an event after it is written or handled" },
	{ "exec", 0, "PROGRAM", "--ack: run PROGRAM for each event, in place of printing it" },
	{ "jobs", 'j', "N", "--exec: most programs that run at once (1)" },
	{ "retry", 0, "D", "--exec: delay before a program that failed runs again (1s)" },
	{ "tries", 0, "N", "--exec: end after N failures of one event (never)" },
	TABLE_OUTPUT,
	TABLE_NOHEADINGS,
	TABLE_RAW,
	{ 0 },
};

static const struct option_spec stat_options[] = {
	{ "all", 'a', NULL, "of all belts that you may read" },
	{ "prometheus", 0, NULL, "in the format that Prometheus reads" },
	{ "spread", 0, NULL, "look at each entry, and count them by time left" },
	TABLE_OUTPUT,
	TABLE_NOHEADINGS,
	TABLE_RAW,
	{ 0 },
};

static const struct option_spec top_options[] = {
	{ "interval", 0, "D", "time between two samples, 10ms to 1d (1s)" },
	{ "once", 0, NULL, "print the rates between two samples as text, and end" },
	TABLE_OUTPUT,
	TABLE_NOHEADINGS,
	TABLE_RAW,
	{ 0 },
};

static const struct option_spec locks_options[] = {
	{ "owner", 0, "OWNER", "only those of this owner" },
	LOCK_STORE,
	LOCK_TABLE,
	LOCK_TYPE,
	TABLE_OUTPUT,
	TABLE_NOHEADINGS,
	TABLE_RAW,
	{ 0 },
};

static const struct option_spec dump_options[] = {
	{ "settings", 0, NULL, "the belt's settings as well; load makes a missing belt" },
	{ "absolute", 0, NULL, "deadlines by the machine's clock in place of times left" },
	{ "values", 0, NULL, "no effect: values are always printed" },
	{ 0 },
};

static const struct option_spec apply_options[] = {
	{ "dry-run", 0, NULL, "print the differences, and change nothing" },
	{ "check", 0, NULL, "exit with 1 if there is a difference, and change nothing" },
	{ "load", 0, "DIRECTORY", "load the entries that save has written there" },
	{ 0 },
};

static const struct option_spec reload_options[] = {
	{ "fallback", 0, "FILE", "the module to load if the new one fails (that of modprobe)" },
	{ "force", 0, NULL, "go on although locks or events are lost; see also --resume" },
	{ "resume", 0, NULL, "load the belts that a reload that did not end has left" },
	{ "directory", 0, "DIRECTORY", "for the belts meanwhile (/var/lib/hashbelt)" },
	{ 0 },
};

static const struct option_spec bench_options[] = {
	{ "threads", 't', "N", "threads, each with a descriptor of its own (1)" },
	{ "keys", 'k', "N", "number of keys (10000)" },
	{ "zipf", 0, "S", "draw key N in proportion to 1/N^S, such as 0.99 (all alike)" },
	{ "value-size", 0, "SIZE", "bytes of a value (64)" },
	{ "gets", 'g', "P", "percent of the calls that are gets; the others put (90)" },
	{ "batch", 0, "N", "operations in a call (1)" },
	{ "ttl", 0, "D|never", "time-to-live of the entries (the belt's)" },
	{ "max-entries", 0, "N", "limit of the belt that bench makes; it evicts (none)" },
	{ "duration", 'd', "D", "end after this time (5s)" },
	{ "operations", 0, "N", "end after N operations of all threads" },
	{ "warm", 0, NULL, "put each key once before" },
	{ "window", 0, "SIZE|on", "the same once more by a window, and an empty system call" },
	{ "seed", 0, "N", "of the random numbers (1)" },
	TABLE_OUTPUT,
	TABLE_NOHEADINGS,
	TABLE_RAW,
	{ 0 },
};

static enum status cmd_completion(struct request *request);
static enum status cmd_help(struct request *request);

static const struct command commands[] = {
	{ "locks", "", 0, 0, HASHBELT_CALL_LOCKS, locks_options,
	  "list the locks that are held",
	  "Prints the fencing token, the time since the grant, the time that the lease has left, "
	  "the owner, and the name, escaped as by dump.\n"
	  TEXT_LOCK,
	  cmd_locks, locks_columns },
	{ "keys", "[PREFIX]", 0, 1, HASHBELT_CALL_SCAN, keys_options,
	  "list keys",
	  "Prints a key in each line, in no order, only those that begin with PREFIX.\n"
	  "Control characters and backslashes are escaped: \\t \\n \\\\ \\xHH.\n"
	  "--json adds version, flags, time left and the value's length.",
	  cmd_keys, keys_columns },
	{ "dump", "", 0, 0, HASHBELT_CALL_SCAN, dump_options,
	  "print entries as load reads them",
	  "Prints KEY<TAB>VALUE<TAB>TTL[<TAB>FLAGS] in each line; 'keys' prints keys alone.\n"
	  "Control characters and backslashes are escaped: \\t \\n \\\\ \\xHH.\n"
	  "With --settings --absolute, a dump that is loaded after a reboot loses no entry but "
	  "those whose deadline has passed.\n"
	  "Does not renew any time-to-live.",
	  cmd_dump, NULL },
	{ "load", "[FILE]", 0, 1, HASHBELT_CALL_PUT, no_options,
	  "put entries from a file or stdin",
	  "Each line is KEY<TAB>VALUE[<TAB>TTL[<TAB>FLAGS]], escaped as by dump. TTL is a "
	  "duration, never, or a deadline as by dump --absolute; entries whose deadline has "
	  "passed are left out. If the belt is missing and the first line has the settings of "
	  "dump --settings, load makes the belt. load stops at the first wrong line; the lines "
	  "before it have been put.\n"
	  TEXT_DURATION "\n"
	  "Exit status 1: the belt kept some of its present entries.",
	  cmd_load, NULL },
	{ "create", "BELT", 1, 1, HASHBELT_CALL_CREATE, settings_options,
	  "make a belt",
	  "standard: get does not renew the time-to-live, put keeps a present entry.\n"
	  "updating: get renews the time-to-live, put replaces.\n"
	  "timecache: get does not renew the time-to-live, put replaces.\n"
	  "notify: an entry that expires becomes an event; reinsert: it is reinserted as well.\n"
	  TEXT_DURATION "\n"
	  TEXT_YES_NO "\n"
	  "Exit status 1: there is a belt of that name.",
	  cmd_create, NULL },
	{ "set", "BELT", 1, 1, HASHBELT_CALL_SET, settings_options,
	  "change the settings of a belt",
	  "Changes only the settings that are given; parentheses show the defaults of create. "
	  "Entries stay, with their deadlines. At least one option must be given.\n"
	  TEXT_DURATION "\n"
	  TEXT_YES_NO,
	  cmd_set, NULL },
	{ "apply", "FILE...", 1, INT_MAX, HASHBELT_CALL_SET, apply_options,
	  "make the belts that files describe, and change those that differ",
	  "A FILE has a line [BELT] for each belt, and behind it lines NAME = VALUE: the names are "
	  "those of the options of create, and so are the values. Of a directory all files *.conf "
	  "are read; - is stdin. A wrong line is named, FILE:LINE, before anything is changed. "
	  "Settings that a file does not name, and belts that no file names, stay as they are.\n"
	  "If a belt fails, the others are applied all the same.\n"
	  "With --load, a belt with save = yes gets the entries that 'save' has written, but those "
	  "whose deadline has passed, and the file is removed. A damaged file is set aside.\n"
	  "Exit status 1: with --check, there is a difference; else the largest one of the belts.",
	  cmd_apply, NULL },
	{ "save", "DIRECTORY FILE...", 2, INT_MAX, HASHBELT_CALL_SCAN, no_options,
	  "write the entries of the belts for which files say save = yes",
	  "Each FILE is one of apply. Each belt is written to DIRECTORY/BELT.belt, with its "
	  "deadlines, at once or not at all. Others must not be able to write to DIRECTORY.\n"
	  "Locks, fill leases, requests and events are not saved. hashbelt.service calls this when "
	  "it stops, and 'apply --load' when it starts. load reads the files, too.\n"
	  "Exit status: the largest one of the belts.",
	  cmd_save, NULL },
	{ "export", "", 0, 0, HASHBELT_CALL_NEXT, no_options,
	  "print the settings of all belts that you may read, for apply",
	  "Groups are printed as numbers. A line report is left out if a belt has no reason to "
	  "report an entry.",
	  cmd_export, NULL },
	{ "belts", "", 0, 0, HASHBELT_CALL_NEXT, table_options,
	  "list the belts that you may use",
	  "Owners are shown as numbers, user:group. EVENTS wait to be read; - stands for a "
	  "belt that reports none.",
	  cmd_belts, info_columns },
	{ "info", "[BELT]", 0, 1, HASHBELT_CALL_INFO, table_options,
	  "describe a belt",
	  "Prints the settings of the belt, its usage, and when its worker runs next, and draws "
	  "a bar for the entries of each span of time left, in at most 20 rows.",
	  cmd_info, info_columns },
	{ "stat", "[BELT]", 0, 1, HASHBELT_CALL_STAT, stat_options,
	  "print the belt's counters and usage",
	  "Counters count from the creation of the belt. A miss is cold if the key has neither "
	  "expired nor been evicted recently. The usage of the belt and its limits follow. The "
	  "lag is the time from an entry's deadline until its handler had it. Only with --spread "
	  "does the time of the command grow with the number of entries.",
	  cmd_stat, stat_columns },
	{ "top", "", 0, 0, HASHBELT_CALL_NEXT, top_options,
	  "watch all belts that you may read",
	  "Needs a terminal; --once does not, nor --json, which means --once.\n"
	  "LIM%    use of the belt's limit, the nearer one of two\n"
	  "GET/S   gets a second since the last sample; HIT% of them hit. In the same way PUT/S, "
	  "EXP/S (expired) and EVI/S (evicted)\n"
	  "QUEUE   events that wait to be read\n"
	  "LAG     99 % of all lags since the creation of the belt are less\n"
	  "STATE   P pinned, H halted, F full: a put was refused or cost another entry\n"
	  "Keys: q quits, s and S sort by the next column and the one before, arrows, j, k "
	  "and page keys scroll, space pauses, h explains columns, ctrl-l draws anew.\n"
	  TEXT_DURATION,
	  cmd_top, top_columns },
	{ "events", "", 0, 0, HASHBELT_CALL_READ, events_options,
	  "print the entries that have left the belt, and why",
	  "Prints SEQUENCE<TAB>REASON<TAB>KEY<TAB>VALUE for each event, escaped as by dump, "
	  "and takes it off the queue. Without --follow, prints only the events queued now.\n"
	  "With --ack, an event that could not be written is queued again, so an event may be "
	  "printed twice. To let a belt report events: hbctl set BELT --on-expire notify.\n"
	  "With --exec, PROGRAM finds the event in HASHBELT_KEY, HASHBELT_REASON, HASHBELT_FLAGS "
	  "and other variables, and the value on stdin. If it fails, it runs again, later each "
	  "time. An event is acknowledged when it and those before it are handled.\n"
	  TEXT_DURATION "\n"
	  "Exit status 1: there was no event.",
	  cmd_events, events_columns },
	{ "bench", "", 0, 0, HASHBELT_CALL_GET, bench_options,
	  "measure gets and puts",
	  "Makes a belt, lets threads get and put there, destroys the belt, also after SIGINT, and "
	  "prints how long the calls took. With -b uses that belt, and leaves it with the entries, "
	  "whose keys begin with bench:. A call is all gets or all puts; P50 and so on are times of "
	  "calls. The same seed, threads and options choose the same calls and keys.\n"
	  TEXT_DURATION,
	  cmd_bench, bench_columns },
	{ "doctor", "", 0, 0, HASHBELT_CALL_NEXT, no_options,
	  "check the module, the device, your rights and the system",
	  "Prints a line for each check: ok, advice or wrong, and what to do.\n"
	  "Exit status 0: all is well; 1: there is advice; 3: hbctl cannot use the device.",
	  cmd_doctor, NULL },
	{ "reload-module", "[FILE]", 0, 1, HASHBELT_CALL_SCAN, reload_options,
	  "put another module in the place of the loaded one, and keep all belts",
	  "Writes all belts to files, removes the module, loads FILE, or the module that modprobe "
	  "finds, with the same parameters, and makes the belts again: with their settings, owners "
	  "and entries. Prints the time for which hashbelt was away. Versions, and so fencing "
	  "tokens, begin anew, and so do counters; locks and events are lost.\n"
	  "Is for root. Refuses, and names them, while programs have the device open. While the "
	  "command runs, the device is closed: hbctl and programs with libhashbelt wait. If the "
	  "new module does not load, the old one is loaded again. After a reload that was killed, --resume goes on.\n"
	  "Exit status 1: the module is in use, or something would be lost: nothing was done.",
	  cmd_reload_module, NULL },
	{ "help", "[COMMAND]", 0, 1, HASHBELT_CALL_OPEN, no_options,
	  "print help",
	  "The same as hbctl COMMAND --help.",
	  cmd_help, NULL },
	{ "completion", "bash|zsh|fish|belts", 1, 1, HASHBELT_CALL_NEXT, no_options,
	  "print a script that completes commands in the shell",
	  "Try it with: . <(hbctl completion bash), the same for zsh behind compinit, and in "
	  "fish: hbctl completion fish | source\n"
	  "The scripts call it with belts, which prints the names of belts as they are.",
	  cmd_completion, NULL },
	{ 0 },
};

static void print_options(const struct option_spec *spec)
{
	for (; spec->name; spec++)
		help_option(spec->letter, spec->name, spec->argument, spec->help);
}

static void print_overview(void)
{
	const struct command *command;
	char text[64];

	puts("usage: hbctl [OPTION]... COMMAND [OPTION]... [OPERAND]...\n"
	     "\n"
	     "Use and manage belts: caches in the kernel whose entries expire.\n"
	     "\n"
	     "Commands:");
	for (command = command_next(NULL); command; command = command_next(command)) {
		snprintf(text, sizeof(text), "%s %s", command->name, command->operands);
		help_row(text, HELP_OPTION, command->summary);
	}
	puts("\nOptions of all commands:");
	print_options(common_options);
	help_text("\nExit status: 0 done; 1 the answer is no; 2 wrong usage; 3 no device, no belt "
		  "or no right; 4 any other error; 5 another caller fills the missing entry; 6 its "
		  "last fill has failed.\n"
		  "'hbctl help COMMAND' says more. 'del' is rm, 'ls' is keys.");
}

static void print_columns(const struct table_column *column)
{
	char text[64];

	puts("\nColumns of -o, and those that are shown without it (*):");
	for (; column->name; column++) {
		snprintf(text, sizeof(text), "%c %s", column->flags & TABLE_DEFAULT ? '*' : ' ',
			 column->name);
		help_row(text, HELP_COLUMN, column->help);
	}
}

static void print_command_help(const struct command *command)
{
	char text[256];

	printf("usage: hbctl [OPTION]... %s%s%s%s\n\n", command->name,
	       command->options->name ? " [OPTION]..." : "", *command->operands ? " " : "",
	       command->operands);
	snprintf(text, sizeof(text), "%s: %s.", command->name, command->summary);
	help_text(text);
	putchar('\n');
	help_text(command->help);
	if (command->options->name)
		puts("\nOptions:");
	print_options(command->options);
	if (command->table)
		print_columns(command->table);
	puts("\nOptions of all commands:");
	print_options(common_options);
}

static void print_help(const struct command *command)
{
	if (command)
		print_command_help(command);
	else
		print_overview();
}

static enum status cmd_help(struct request *request)
{
	const struct command *command = NULL;
	enum status status = STATUS_DONE;

	if (request->count)
		status = command_find(request, request->operands[0], &command);
	if (!status)
		print_help(command);
	return status;
}

static enum status cmd_completion(struct request *request)
{
	const char *shell = request->operands[0];

	if (!strcmp(shell, "bash"))
		return completion_bash();
	if (!strcmp(shell, "zsh"))
		return completion_zsh();
	if (!strcmp(shell, "fish"))
		return completion_fish();
	if (!strcmp(shell, "belts"))
		return belts_print_names(request);
	return fail_usage(request, "no completion for '%s', only for 'bash', 'zsh' and 'fish'",
			  shell);
}

const struct manage hbctl_manage = {
	.version = VERSION,
	.commands = commands,
	.print_help = print_help,
};
