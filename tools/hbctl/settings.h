/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings of a belt: the options of create and set, and their names. */
#ifndef HBCTL_SETTINGS_H
#define HBCTL_SETTINGS_H

#include "command.h"

/* The number of settings, and space for the text of one, bytes. */
#define SETTINGS_COUNT	18
#define SETTING_SIZE	96

/**
 * struct settings - the settings in the options
 * @belt:	settings, and in @fields those that were given
 * @policy:	bits of the policy that were given, whether set or not
 */
struct settings {
	struct hashbelt_settings belt;
	__u32 policy;
};

/**
 * struct setting - a setting that a belt shows
 * @name:	the name of its option; NULL ends a list
 * @field:	the bit of HASHBELT_SET_* with which it is set
 */
struct setting {
	const char *name;
	__u32 field;
};

/* Begins a line of settings in a dump. A line of an entry has a tab, this one has none. */
#define SETTINGS_MARK	"#settings"

extern const struct option_spec settings_options[];
extern const struct setting settings_shown[];

const char *policy_name(__u32 policy);
const char *handler_name(__u32 handler);
const char *reason_name(__u32 reason);
enum status settings_take(const struct request *request, struct settings *settings);
size_t settings_index(const char *name, size_t len);
enum status settings_from(const struct request *request, const char * const *values,
			  struct settings *settings);
const char *settings_text(const struct hashbelt_info *info, const struct setting *setting,
			  char *text);
void settings_apply(const struct settings *settings, struct hashbelt_info *info);
void settings_print(const struct hashbelt_info *info);
enum status settings_parse(const struct request *request, char *line, struct settings *settings);

#endif /* HBCTL_SETTINGS_H */
