/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions of the commands for people and administrators. */
#ifndef MANAGE_COMMANDS_H
#define MANAGE_COMMANDS_H

#include "cmd.h"
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
enum status cmd_belts(struct request *request);
enum status cmd_info(struct request *request);

enum status cmd_apply(struct request *request);
enum status cmd_save(struct request *request);
enum status cmd_export(struct request *request);

enum status cmd_reload_module(struct request *request);
enum status cmd_doctor(struct request *request);
enum status cmd_stat(struct request *request);
enum status cmd_top(struct request *request);
enum status events_handle(struct request *request);
enum status cmd_events(struct request *request);

enum status cmd_locks(struct request *request);
enum status cmd_bench(struct request *request);
enum status cmd_keys(struct request *request);
enum status cmd_load(struct request *request);
enum status cmd_dump(struct request *request);

enum status completion_bash(void);
enum status completion_zsh(void);
enum status completion_fish(void);

#endif /* MANAGE_COMMANDS_H */
