/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions of the commands: the table in hbctl.c refers to them. */
#ifndef HBCTL_CMD_H
#define HBCTL_CMD_H

#include "command.h"
#include "table.h"

struct settings;

extern const struct table_column stat_columns[];
extern const struct table_column events_columns[];
extern const struct table_column keys_columns[];
extern const struct table_column top_columns[];
extern const struct table_column bench_columns[];
extern const struct table_column locks_columns[];

int belt_find(const struct request *request, struct hashbelt_info *info);
enum status belt_set(const struct request *request, const struct hashbelt_info *info,
		     struct settings *settings);
int belts_read(struct hashbelt *handle, struct hashbelt_info **infos, size_t *count);
enum status belt_create(const struct request *request, struct settings *settings);
enum status belts_print_names(struct request *request);
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

enum status cmd_apply(struct request *request);
enum status cmd_save(struct request *request);
enum status cmd_export(struct request *request);

enum status cmd_reload_module(struct request *request);
enum status cmd_doctor(struct request *request);
enum status cmd_stat(struct request *request);
enum status cmd_top(struct request *request);
enum status events_handle(struct request *request);
enum status cmd_events(struct request *request);

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
enum status cmd_locks(struct request *request);
enum status cmd_release(struct request *request);

enum status cmd_bench(struct request *request);
enum status cmd_keys(struct request *request);
enum status cmd_load(struct request *request);
enum status cmd_dump(struct request *request);

/* Runs a command of a batch; the first of the arguments is the name of the program. */
typedef enum status batch_function(const struct request *batch, int argc, char **argv);

enum status batch_run(const struct request *request, batch_function *run);

enum status completion_bash(const struct command *commands);
enum status completion_zsh(const struct command *commands);
enum status completion_fish(const struct command *commands);

#endif /* HBCTL_CMD_H */
