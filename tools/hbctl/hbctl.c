// SPDX-License-Identifier: GPL-2.0-only
/*
 * hbctl - use and manage the belts of hashbelt.
 *
 * The table of commands, dispatch and help.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "guess.h"
#include "help.h"
#include "info.h"
#include "init_process.h"
#include "json.h"
#include "settings.h"
#include "table.h"

/* getopt_long(3) returns this plus the index of an option. */
#define OPTION_BASE	256

#define DURATION_HELP \
	"A duration D is 250ms, 30s, 15m, 2h, 7d, 2w, several as 1h30m, or a number of " \
	"seconds."

#define YES_NO_HELP \
	"--pinned and --wipe alone mean yes."

#define KEY_HELP \
	"KEY is taken as it is; a key that begins with - must follow a --."

#define LOCK_HELP \
	"Locks are in belt 'locks' without -b; with --store, or HASHBELT_STORE in the " \
	"environment, in a table that many machines share."

#define ESCAPED \
	{ "escaped", 'e', NULL, "KEY is written as keys and dump write it: \\t \\n \\\\ \\xHH" }

static const struct option_spec no_options[] = { { 0 } };

static const struct option_spec key_options[] = { ESCAPED, { 0 } };

static const struct option_spec keys_options[] = {
	ESCAPED,
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

static const struct option_spec has_options[] = {
	{ "quiet", 'q', NULL, "print no error if there is no entry" },
	ESCAPED,
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

static const struct option_spec put_options[] = {
	{ "from", 0, "FILE", "the value is all of FILE, or of stdin for -" },
	{ "ttl", 0, "D|never|keep", "time-to-live; keep: that of the present entry" },
	{ "if-absent", 0, NULL, "only if there is no such entry" },
	{ "if-present", 0, NULL, "only if there is one" },
	{ "if-version", 0, "V", "only if there is one of version V" },
	{ "if-lease", 0, "TOKEN", "only while the fill lease with this token lasts" },
	{ "flags", 0, "N", "32 bits of your own (0)" },
	{ "hold", 0, NULL, "keep the entries while hbctl runs, and no longer" },
	ESCAPED,
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
	ESCAPED,
	{ 0 },
};

static const struct option_spec touch_options[] = {
	{ "ttl", 0, "D|never", "time-to-live (the belt's)" },
	ESCAPED,
	{ 0 },
};

static const struct option_spec rm_options[] = {
	{ "if-version", 0, "V", "only if it has version V" },
	{ "prefix", 0, "P", "remove all entries whose keys begin with P" },
	{ "match", 0, "GLOB", "remove all entries whose keys match GLOB, with * ? [a-z]" },
	{ "dry-run", 0, NULL, "with these: list the keys, and remove nothing" },
	{ "stale", 0, NULL, "leave the values in the grace time, for get --fill --stale" },
	ESCAPED,
	{ 0 },
};

static const struct option_spec incr_options[] = {
	{ "initial", 0, "V", "number that an absent entry counts as (0)" },
	{ "ttl", 0, "D|never", "its time-to-live then (the belt's)" },
	{ "if-present", 0, NULL, "make no entry" },
	{ "min", 0, "V", "the least sum: a smaller one becomes V" },
	ESCAPED,
	{ 0 },
};

static const struct option_spec wait_options[] = {
	{ "timeout", 0, "D|never", "when to give up (never)" },
	ESCAPED,
	{ 0 },
};

static const struct option_spec watch_options[] = {
	{ "interval", 0, "D", "time between two looks for entries that have gone (1s)" },
	{ "max", 'n', "N", "end after N changes" },
	ESCAPED,
	{ 0 },
};

#define NAME_ESCAPED \
	{ "escaped", 'e', NULL, "NAME is written as locks writes it: \\t \\n \\\\ \\xHH" }

/* Of all commands on locks. */
#define STORE \
	{ "store", 0, "CONNINFO", "locks of many machines, in PostgreSQL: how to connect" }
#define TABLE	{ "table", 0, "TABLE", "--store: the table (hashbelt_lock)" }
#define TYPE	{ "type", 0, "TYPE", "--store: the type of the locked object (lock)" }

static const struct option_spec lock_options[] = {
	{ "owner", 0, "OWNER", "the owner, 1 to 64 bytes (made up)" },
	{ "ttl", 0, "D", "the lease (1m)" },
	{ "wait", 0, "D|forever", "how long to wait for it (not at all)" },
	{ "conflict-exit-code", 'E', "N", "exit status if the lock is held (1)" },
	{ "close", 0, NULL, "COMMAND does not keep the lock: it is hbctl's alone" },
	NAME_ESCAPED,
	STORE,
	TABLE,
	TYPE,
	{ "create-table", 0, NULL, "--store: make the table, unless it is there" },
	{ 0 },
};

static const struct option_spec unlock_options[] = {
	{ "owner", 0, "OWNER", "the owner of the lock" },
	NAME_ESCAPED,
	STORE,
	TABLE,
	TYPE,
	{ 0 },
};

static const struct option_spec renew_options[] = {
	{ "owner", 0, "OWNER", "the owner of the lock" },
	{ "ttl", 0, "D", "the lease, from now on (1m, or a longer one that it has)" },
	NAME_ESCAPED,
	STORE,
	TABLE,
	TYPE,
	{ 0 },
};

static const struct option_spec locks_options[] = {
	{ "owner", 0, "OWNER", "only those of this owner" },
	STORE,
	TABLE,
	TYPE,
	TABLE_OUTPUT,
	TABLE_NOHEADINGS,
	TABLE_RAW,
	{ 0 },
};

static const struct option_spec release_options[] = {
	{ "owner", 0, "OWNER", "the owner of the locks" },
	{ "aged", 0, NULL, "--store: all locks whose lease has expired" },
	STORE,
	TABLE,
	TYPE,
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

static const struct option_spec batch_options[] = {
	{ "keep-going", 'k', NULL, "go on after a command that fails" },
	{ 0 },
};

static enum status cmd_batch(struct request *request);
static enum status cmd_help(struct request *request);
static enum status cmd_completion(struct request *request);
static enum status cmd_version(struct request *request);

static const struct command commands[] = {
	{ "put", "KEY [VALUE|-] [KEY VALUE]...", 1, INT_MAX, HASHBELT_CALL_PUT, put_options,
	  "put entries",
	  "The value is VALUE, or all of stdin for - and without one. All users of the machine "
	  "can see the words of a command: a secret comes from stdin, or with --from from a file.\n"
	  "The options hold for all KEYs. --if-version, --if-lease, --from and stdin are for one.\n"
	  "With --hold, hbctl runs until a signal ends it, and renews the entries after each third of "
	  "their time-to-live, all in one step. They are gone at once when hbctl ends, and together "
	  "after their time-to-live when it is stopped. If all have left the belt, it exits with 1.\n"
	  KEY_HELP "\n"
	  DURATION_HELP "\n"
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
	  KEY_HELP "\n"
	  DURATION_HELP "\n"
	  "P% is a share of the entry's time-to-live: of --ttl, or of the belt's.\n"
	  "Exit status 1: there is no entry of one of the keys; with --fill: the caller has the "
	  "fill lease; "
	  "5: another caller has it; "
	  "6: the last fill has failed, and is not tried again yet.",
	  cmd_get, NULL },
	{ "touch", "KEY...", 1, INT_MAX, HASHBELT_CALL_TOUCH, touch_options,
	  "give entries a new time-to-live",
	  KEY_HELP "\n"
	  DURATION_HELP "\n"
	  "Exit status 1: there is no entry of one of the keys.",
	  cmd_touch, NULL },
	{ "has", "KEY", 1, 1, HASHBELT_CALL_GET, has_options,
	  "say by the exit status whether there is an entry",
	  "Never renews the time-to-live.\n"
	  KEY_HELP "\n"
	  "Exit status 0: there is such an entry; 1: there is none.",
	  cmd_has, NULL },
	{ "rm", "[KEY...]", 0, INT_MAX, HASHBELT_CALL_REMOVE, rm_options,
	  "remove entries",
	  "--if-version takes one KEY. --prefix and --match take the place of KEY, and "
	  "together choose the keys that fit both. They print the number of removed entries, "
	  "and need the right to read as well. A ? of GLOB stands for one byte; a key with a "
	  "NUL byte matches none. With -e, P and GLOB are escaped as KEY.\n"
	  "--stale needs a belt with a grace time, and counts entries as expired.\n"
	  KEY_HELP "\n"
	  "Exit status 1: there is no entry of one of the keys, or it has another version.",
	  cmd_rm, NULL },
	{ "expire", "KEY", 1, 1, HASHBELT_CALL_EXPIRE, key_options,
	  "let an entry expire now",
	  "It counts as expired, not as removed.\n"
	  KEY_HELP "\n"
	  "Exit status 1: there is no such entry.",
	  cmd_expire, NULL },
	{ "incr", "KEY [N]", 1, 2, HASHBELT_CALL_ADD, incr_options,
	  "add to a number",
	  "Adds N, 1 without one, to the number that is the entry's value, and prints the "
	  "sum. A present entry keeps its deadline. N may be negative.\n"
	  KEY_HELP "\n"
	  DURATION_HELP "\n"
	  "Exit status 1: the present value is no number, or less than --min; the sum is too "
	  "large; with --if-present: there is no entry.",
	  cmd_incr, NULL },
	{ "wait", "KEY...", 1, HASHBELT_REQUEST_KEYS, HASHBELT_CALL_REQUEST, wait_options,
	  "wait until one of several entries is present",
	  "Prints KEY<TAB>VALUE, escaped as by dump; at once if an entry is present already.\n"
	  KEY_HELP "\n"
	  DURATION_HELP "\n"
	  "Exit status 1: it timed out, or 'complete' ended it.",
	  cmd_wait, NULL },
	{ "watch", "KEY...", 1, INT_MAX, HASHBELT_CALL_REQUEST, watch_options,
	  "print changes of entries as they come",
	  "Prints KEY<TAB>VALUE, escaped as by dump, for each entry that is present, and again "
	  "after each put of it; KEY alone when the entry has gone. A put is noticed at once, "
	  "other changes within --interval. Of several changes at once only the last one is "
	  "printed. Takes no events from other readers, and renews no time-to-live.\n"
	  KEY_HELP "\n"
	  DURATION_HELP,
	  cmd_watch, NULL },
	{ "complete", "KEY", 1, 1, HASHBELT_CALL_COMPLETE, key_options,
	  "end all waits for a key",
	  "Prints their number.\n"
	  KEY_HELP "\n"
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
	  LOCK_HELP "\n"
	  "lock makes that belt if it is missing.\n"
	  DURATION_HELP "\n"
	  "Exit status 1, or that of -E: another owner has it, also after --wait; with a COMMAND, "
	  "OWNER has it already: a command takes a lock of its own.",
	  cmd_lock, NULL },
	{ "unlock", "NAME", 1, 1, HASHBELT_CALL_UNLOCK, unlock_options,
	  "unlock a lock",
	  "The first waiter gets it.\n"
	  LOCK_HELP "\n"
	  "Exit status 1: the lock is free, or another owner has it.",
	  cmd_unlock, NULL },
	{ "renew", "NAME", 1, 1, HASHBELT_CALL_RENEW, renew_options,
	  "renew the lease of a lock",
	  LOCK_HELP "\n"
	  DURATION_HELP "\n"
	  "Exit status 1: the lock is free, or another owner has it.",
	  cmd_renew, NULL },
	{ "locks", "", 0, 0, HASHBELT_CALL_LOCKS, locks_options,
	  "list the locks that are held",
	  "Prints the fencing token, the time since the grant, the time that the lease has left, "
	  "the owner, and the name, escaped as by dump.\n"
	  LOCK_HELP,
	  cmd_locks, locks_columns },
	{ "release", "", 0, 0, HASHBELT_CALL_RELEASE, release_options,
	  "unlock all locks of an owner",
	  "Prints their number.\n"
	  LOCK_HELP,
	  cmd_release, NULL },
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
	  DURATION_HELP "\n"
	  "Exit status 1: the belt kept some of its present entries.",
	  cmd_load, NULL },
	{ "size", "[BELT]", 0, 1, HASHBELT_CALL_INFO, no_options,
	  "print the number of entries",
	  "Entries that have expired count until the belt has moved on.",
	  cmd_size, NULL },
	{ "clear", "[BELT]", 0, 1, HASHBELT_CALL_CLEAR, no_options,
	  "drop all entries of the belt",
	  "They do not count as expired.",
	  cmd_clear, NULL },
	{ "create", "BELT", 1, 1, HASHBELT_CALL_CREATE, settings_options,
	  "make a belt",
	  "standard: get does not renew the time-to-live, put keeps a present entry.\n"
	  "updating: get renews the time-to-live, put replaces.\n"
	  "timecache: get does not renew the time-to-live, put replaces.\n"
	  "notify: an entry that expires becomes an event; reinsert: it is reinserted as well.\n"
	  DURATION_HELP "\n"
	  YES_NO_HELP "\n"
	  "Exit status 1: there is a belt of that name.",
	  cmd_create, NULL },
	{ "set", "BELT", 1, 1, HASHBELT_CALL_SET, settings_options,
	  "change the settings of a belt",
	  "Changes only the settings that are given; parentheses show the defaults of create. "
	  "Entries stay, with their deadlines. At least one option must be given.\n"
	  DURATION_HELP "\n"
	  YES_NO_HELP,
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
	{ "destroy", "BELT", 1, 1, HASHBELT_CALL_DESTROY, no_options,
	  "destroy a belt and all that is in it",
	  "Programs that use it are told that it was destroyed.",
	  cmd_destroy, NULL },
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
	  DURATION_HELP,
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
	  DURATION_HELP "\n"
	  "Exit status 1: there was no event.",
	  cmd_events, events_columns },
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
	  DURATION_HELP "\n"
	  "When it returns, all that expired by this is gone.",
	  cmd_advance, NULL },
	{ "batch", "[FILE]", 0, 1, HASHBELT_CALL_OPEN, batch_options,
	  "run commands from a file or stdin",
	  "Runs the command in each line, as 'put KEY VALUE', in one process, and stops at the "
	  "first one whose exit status is not 0. Words are quoted as in sh: with ' and \" and "
	  "backslashes; # begins a comment. There are no variables, patterns and pipes: a line "
	  "with one of $`;&|<>() outside of quotes is refused. Errors name FILE:LINE. Options of "
	  "all commands that batch is given hold for each line that does not give another one.\n"
	  "Exit status: the largest one of the commands.",
	  cmd_batch, NULL },
	{ "bench", "", 0, 0, HASHBELT_CALL_GET, bench_options,
	  "measure gets and puts",
	  "Makes a belt, lets threads get and put there, destroys the belt, also after SIGINT, and "
	  "prints how long the calls took. With -b uses that belt, and leaves it with the entries, "
	  "whose keys begin with bench:. A call is all gets or all puts; P50 and so on are times of "
	  "calls. The same seed, threads and options choose the same calls and keys.\n"
	  DURATION_HELP,
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

/* The command of that name, NULL if there is none. */
static const struct command *command_find(const char *name)
{
	const struct command *command;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(aliases); i++)
		if (!strcmp(aliases[i].name, name))
			name = aliases[i].command;
	for (command = commands; command->name; command++)
		if (!strcmp(command->name, name))
			return command;
	return NULL;
}

static enum status fail_command(const struct request *request, const char *name)
{
	struct guess guess = { .word = name };
	const struct command *command;
	char text[GUESS_SIZE];

	for (command = commands; command->name; command++)
		guess_offer(&guess, command->name);
	return fail_usage(request, "there is no command '%s'%s", name,
			  guess_text(&guess, "", text));
}

static void print_options(const struct option_spec *spec)
{
	for (; spec->name; spec++)
		help_option(spec->letter, spec->name, spec->argument, spec->help);
}

static void print_help(void)
{
	const struct command *command;
	char text[64];

	puts("usage: hbctl [OPTION]... COMMAND [OPTION]... [OPERAND]...\n"
	     "\n"
	     "Use and manage belts: caches in the kernel whose entries expire.\n"
	     "\n"
	     "Commands:");
	for (command = commands; command->name; command++) {
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

static enum status cmd_help(struct request *request)
{
	const struct command *command;

	if (!request->count) {
		print_help();
		return STATUS_DONE;
	}
	command = command_find(request->operands[0]);
	if (!command)
		return fail_command(request, request->operands[0]);
	print_command_help(command);
	return STATUS_DONE;
}

static enum status cmd_completion(struct request *request)
{
	const char *shell = request->operands[0];

	if (!strcmp(shell, "bash"))
		return completion_bash(commands);
	if (!strcmp(shell, "zsh"))
		return completion_zsh(commands);
	if (!strcmp(shell, "fish"))
		return completion_fish(commands);
	if (!strcmp(shell, "belts"))
		return belts_print_names(request);
	return fail_usage(request, "no completion for '%s', only for 'bash', 'zsh' and 'fish'",
			  shell);
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

static bool may_be_left_out(const struct option_spec *spec)
{
	return spec->argument && !strcmp(spec->argument, YES_NO);
}

/**
 * struct parser - options as getopt_long(3) wants them
 * @specs:	by index: those of all commands, then the command's
 * @count:	their number
 * @options:	the same, ended by zeros
 * @letters:	the short ones
 */
struct parser {
	const struct option_spec *specs[OPTIONS_MAX];
	int count;
	struct option options[OPTIONS_MAX + 1];
	char letters[2 * OPTIONS_MAX + 3];
};

static void add_options(struct parser *parser, const struct option_spec *spec)
{
	char *letter = parser->letters + strlen(parser->letters);

	for (; spec->name && parser->count < OPTIONS_MAX; spec++) {
		parser->specs[parser->count] = spec;
		parser->options[parser->count] = (struct option){
			.name = spec->name,
			.has_arg = may_be_left_out(spec) ? optional_argument :
				   spec->argument ? required_argument : no_argument,
			.val = OPTION_BASE + parser->count,
		};
		parser->count++;
		if (!spec->letter)
			continue;
		*letter++ = spec->letter;
		if (spec->argument)
			*letter++ = ':';
	}
}

static int index_of_letter(const struct parser *parser, int letter)
{
	int i;

	for (i = 0; i < parser->count; i++)
		if (parser->specs[i]->letter == letter)
			return i;
	return -1;
}

/* @word: the option as it was given, perhaps with its argument. */
static enum status fail_unknown(const struct request *request, const struct parser *parser,
				const char *word)
{
	char name[64], text[GUESS_SIZE];
	struct guess guess = { .word = name };
	int i;

	if (strncmp(word, "--", 2))
		return fail_usage(request, "there is no option '%s'", word);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	for (i = 0; i < parser->count; i++)
		guess_offer(&guess, parser->specs[i]->name);
	return fail_usage(request, "there is no option '%s'%s", word,
			  guess_text(&guess, "--", text));
}

/* Reports the error in the option that getopt_long(3) stopped at. */
static enum status fail_option(const struct request *request,
			       const struct parser *parser, char **argv, bool missing)
{
	int index = optopt >= OPTION_BASE ? optopt - OPTION_BASE : -1;

	if (missing && optopt < OPTION_BASE)
		return fail_usage(request, "-%c needs an argument", optopt);
	if (missing)
		return fail_usage(request, "--%s needs an argument",
				  parser->specs[index]->name);
	if (index >= 0)
		return fail_usage(request, "--%s takes no argument",
				  parser->specs[index]->name);
	if (optopt)
		return fail_usage(request, "there is no option '-%c'", optopt);
	return fail_unknown(request, parser, argv[optind - 1]);
}

/*
 * The argument of an option that getopt_long(3) found none for. It knows those
 * that may be left out only behind a '=': --pinned=no. We take a word as well.
 */
static const char *take_argument(const struct option_spec *spec, int argc, char **argv)
{
	if (!may_be_left_out(spec))
		return "";
	if (optind < argc && (!strcmp(argv[optind], "yes") || !strcmp(argv[optind], "no")))
		return argv[optind++];
	return "yes";
}

/*
 * Takes the next word if it is a number below 0 where the command takes one:
 * getopt_long(3) would look for options in it.
 */
static bool take_negative(struct request *request, int argc, char **argv)
{
	const struct command *command = request->command;

	if (!command || !strstr(command->operands, "[N]") || request->count != 1 ||
	    optind >= argc)
		return false;
	if (argv[optind][0] != '-' || !isdigit((unsigned char)argv[optind][1]))
		return false;
	request->operands[request->count++] = argv[optind++];
	return true;
}

/*
 * Takes the words behind a --: operands, and then perhaps a command line. If all required
 * operands stood before the --, the words are only a command line. @dashed: there was a --.
 */
static enum status take_rest(struct request *request, int argc, char **argv, bool dashed)
{
	bool has_line = strstr(request->command->operands, COMMAND_LINE);

	/* An empty variable in place of the command must not change the meaning. */
	if (has_line && dashed && optind == argc)
		return fail_usage(request, "a command is missing behind the --");
	if (has_line && request->count < request->command->least) {
		while (optind < argc && strcmp(argv[optind], "--"))
			request->operands[request->count++] = argv[optind++];
		optind++;
	}
	if (has_line && optind < argc)
		request->command_line = argv + optind;
	while (!has_line && optind < argc)
		request->operands[request->count++] = argv[optind++];
	return STATUS_DONE;
}

/*
 * Reads options and operands of argv[1] on, up to the first operand if the
 * command is not known yet.
 */
static enum status parse(struct request *request, int argc, char **argv)
{
	struct parser parser = { 0 };
	int c, index, before;

	strcpy(parser.letters, request->command ? "-:" : "+:");
	add_options(&parser, common_options);
	if (request->command)
		add_options(&parser, request->command->options);
	opterr = 0;
	optind = 0;	/* start anew */
	for (;;) {
		if (take_negative(request, argc, argv))
			continue;
		before = optind ? optind : 1;
		c = getopt_long(argc, argv, parser.letters, parser.options, NULL);
		if (c == -1)
			break;
		if (c == '?' || c == ':')
			return fail_option(request, &parser, argv, c == ':');
		if (c == 1) {
			request->operands[request->count++] = optarg;
			continue;
		}
		index = c >= OPTION_BASE ? c - OPTION_BASE : index_of_letter(&parser, c);
		request->values[index] = optarg ? optarg :
			take_argument(parser.specs[index], argc, argv);
	}
	if (!request->command)
		return STATUS_DONE;
	return take_rest(request, argc, argv, optind > before);
}

static enum status check_operands(const struct request *request)
{
	const struct command *command = request->command;

	if (request->count < command->least)
		return fail_usage(request, "an operand is missing: %s %s", command->name,
				  command->operands);
	if (request->count > command->most)
		return fail_usage(request, "'%s' is one operand too many",
				  request->operands[command->most]);
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

	if (request->values[OPTION_HELP]) {
		print_command_help(request->command);
		return STATUS_DONE;
	}
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
	hashbelt_close(request->handle);
	return status;
}

static enum status run(struct request *request, int argc, char **argv)
{
	enum status status = parse(request, argc, argv);
	int first = optind;

	if (status)
		return status;
	if (request->values[OPTION_HELP]) {
		print_help();
		return STATUS_DONE;
	}
	if (request->values[OPTION_VERSION])
		return print_version(request->values[OPTION_JSON]);
	if (first == argc)
		return fail_usage(request, "a command is missing");
	request->command = command_find(argv[first]);
	if (!request->command)
		return fail_command(request, argv[first]);
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

static void free_arguments(char **arguments)
{
	char **argument;

	for (argument = arguments; argument && *argument; argument++)
		free(*argument);
	free(arguments);
}

/* A copy of the arguments, for a program that is to run with the same; NULL: no memory. */
static char **copy_arguments(int argc, char **argv)
{
	char **arguments = calloc(argc + 1, sizeof(*arguments));
	int i;

	for (i = 0; arguments && i < argc; i++) {
		arguments[i] = strdup(argv[i]);
		if (!arguments[i]) {
			free_arguments(arguments);
			return NULL;
		}
	}
	return arguments;
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
	enum status status;
	size_t i;

	for (i = 0; batch && i < ARRAY_SIZE(inherited); i++)
		request.values[inherited[i]] = batch->values[inherited[i]];
	fail_as_json(request.values[OPTION_JSON] || wants_json(argv));
	request.operands = calloc(argc + 1, sizeof(*request.operands));
	request.arguments = copy_arguments(argc, argv);
	if (request.operands && request.arguments)
		status = run(&request, argc, argv);
	else
		status = fail(STATUS_ERROR, "out of memory");
	free_arguments(request.arguments);
	free(request.operands);
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
