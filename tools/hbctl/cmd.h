/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions of the commands for scripts, and the texts that both tables of commands share. */
#ifndef HBCTL_CMD_H
#define HBCTL_CMD_H

#include "command.h"

#define TEXT_DURATION \
	"A duration D is 250ms, 30s, 15m, 2h, 7d, 2w, several as 1h30m, or a number of " \
	"seconds."

#define TEXT_KEY \
	"KEY is taken as it is; a key that begins with - must follow a --."

#define TEXT_LOCK \
	"Locks are in belt 'locks' without -b; with --store, or HASHBELT_STORE in the " \
	"environment, in a table that many machines share."

#define KEY_ESCAPED \
	{ "escaped", 'e', NULL, "KEY is written as keys and dump write it: \\t \\n \\\\ \\xHH" }

#define NAME_ESCAPED \
	{ "escaped", 'e', NULL, "NAME is written as locks writes it: \\t \\n \\\\ \\xHH" }

/* Of all commands on locks. */
#define LOCK_STORE \
	{ "store", 0, "CONNINFO", "locks of many machines, in PostgreSQL: how to connect" }
#define LOCK_TABLE { "table", 0, "TABLE", "--store: the table (hashbelt_lock)" }
#define LOCK_TYPE { "type", 0, "TYPE", "--store: the type of the locked object (lock)" }

enum status command_find(const struct request *request, const char *name,
			 const struct command **command);
const struct command *command_next(const struct command *last);

enum status cmd_put(struct request *request);
enum status cmd_get(struct request *request);
enum status cmd_touch(struct request *request);
enum status cmd_has(struct request *request);
enum status cmd_rm(struct request *request);
enum status cmd_expire(struct request *request);
enum status cmd_incr(struct request *request);
enum status cmd_wait(struct request *request);
enum status cmd_watch(struct request *request);
enum status cmd_complete(struct request *request);

enum status get_filled(struct request *request, const struct key *key);
enum status remove_matching(struct request *request);
enum status fail_no_stale(const struct request *request, int err);

enum status cmd_lock(struct request *request);
enum status cmd_unlock(struct request *request);
enum status cmd_renew(struct request *request);
enum status cmd_release(struct request *request);

enum status cmd_size(struct request *request);
enum status cmd_clear(struct request *request);
enum status cmd_destroy(struct request *request);
enum status cmd_halt(struct request *request);
enum status cmd_resume(struct request *request);
enum status cmd_rotate(struct request *request);
enum status cmd_advance(struct request *request);

/* Runs a command of a batch; the first of the arguments is the name of the program. */
typedef enum status batch_function(const struct request *batch, int argc, char **argv);

enum status batch_run(struct request *request, batch_function *run);

#endif /* HBCTL_CMD_H */
