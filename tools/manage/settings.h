/* SPDX-License-Identifier: GPL-2.0-only */
/* All settings of a belt: the options of create and set, and the lines of files. */
#ifndef MANAGE_SETTINGS_H
#define MANAGE_SETTINGS_H

#include <stdio.h>

#include "setting.h"

/* The number of settings. */
enum {
	SETTINGS_COUNT = sizeof((char []){
#define SETTING(...)	1,
#include "settings_list.h"
#undef SETTING
	})
};

extern const struct option_spec settings_options[];

enum status settings_take(const struct request *request, struct settings *settings);
const struct setting *settings_next(const struct setting *last);
const struct setting *settings_find(const char *name);
size_t settings_index(const char *name, size_t len);
bool settings_is_gone(const char *name, size_t len);
enum status settings_fail_gone(const struct request *request);
enum status settings_from(const struct request *request, const char * const *values,
			  struct settings *settings);
const char *settings_text(const struct hashbelt_info *info, const struct setting *setting,
			  char *text);
void settings_json(const struct hashbelt_info *info, const char *name, struct json *object,
		   __u64 *added);
void settings_apply(const struct settings *settings, struct hashbelt_info *info);
void settings_print(FILE *file, const struct hashbelt_info *info);
enum status settings_parse(const struct request *request, char *line, struct settings *settings);

#endif /* MANAGE_SETTINGS_H */
