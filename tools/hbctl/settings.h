/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings of a belt: the options of create and set, and their names. */
#ifndef HBCTL_SETTINGS_H
#define HBCTL_SETTINGS_H

#include "command.h"

/**
 * struct settings - the settings in the options
 * @belt:	settings, and in @fields those that were given
 * @policy:	bits of the policy that were given, whether set or not
 */
struct settings {
	struct hashbelt_settings belt;
	__u32 policy;
};

/* Begins a line of settings in a dump. A line of an entry has a tab, this one has none. */
#define SETTINGS_MARK	"#settings"

extern const struct option_spec settings_options[];

const char *policy_name(__u32 policy);
const char *handler_name(__u32 handler);
const char *reason_name(__u32 reason);
enum status settings_take(const struct request *request, struct settings *settings);
void settings_print(const struct hashbelt_info *info);
enum status settings_parse(const struct request *request, char *line, struct settings *settings);

#endif /* HBCTL_SETTINGS_H */
