/* SPDX-License-Identifier: GPL-2.0-only */
/* A setting of a belt: how it is read, and how it is printed. */
#ifndef MANAGE_SETTING_H
#define MANAGE_SETTING_H

#include "command.h"
#include "json.h"

/* Space for the text of a setting, bytes. */
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
 * struct setting - a setting of a belt: a row of settings_list.h
 * @name:	the name of its option
 * @argument:	the argument, as help shows it
 * @field:	the bit of HASHBELT_SET_* with which it is set
 * @kind:	how it is read and printed
 * @json:	its name in the JSON of a belt
 * @label:	its name in the output of info, where info prints what the option takes; NULL
 *		where info has words of its own
 * @given:	its place in struct hashbelt_settings
 * @shown:	its place in struct hashbelt_info
 * @size:	its size in both; 0 where it is in no member alone
 * @bits:	the bits of the policy that it sets
 * @on:		the argument that sets the bit
 * @off:	the argument that clears it
 * @none:	the number that means "no limit"
 */
struct setting {
	const char *name;
	const char *argument;
	__u32 field;
	const struct setting_kind *kind;
	const char *json;
	const char *label;
	size_t given;
	size_t shown;
	size_t size;
	__u32 bits;
	const char *on;
	const char *off;
	__u64 none;
};

/**
 * struct setting_kind - what the settings of a kind have in common
 * @take:	reads the argument of the option
 * @print:	writes the setting as the option takes it, into SETTING_SIZE bytes; NULL if
 *		other settings show this one
 * @copy:	changes the description of a belt as the given setting would change the belt;
 *		NULL to copy the member
 * @json:	adds the setting to the JSON of a belt
 */
struct setting_kind {
	enum status (*take)(const struct setting *setting, const struct request *request,
			    const char *text, struct settings *settings);
	void (*print)(const struct setting *setting, const struct hashbelt_info *info, char *text);
	void (*copy)(const struct setting *setting, const struct settings *settings,
		     struct hashbelt_info *info);
	void (*json)(const struct setting *setting, const struct hashbelt_info *info,
		     struct json *object);
};

extern const struct setting_kind setting_ttl;
extern const struct setting_kind setting_duration;
extern const struct setting_kind setting_buckets;
extern const struct setting_kind setting_policy;
extern const struct setting_kind setting_bit;
extern const struct setting_kind setting_choice;
extern const struct setting_kind setting_word;
extern const struct setting_kind setting_consumers;
extern const struct setting_kind setting_reasons;
extern const struct setting_kind setting_limit;
extern const struct setting_kind setting_size;
extern const struct setting_kind setting_mode;
extern const struct setting_kind setting_group;
extern const struct setting_kind setting_window;

const char *policy_name(__u32 policy);
const char *reason_name(__u32 reason);

#endif /* MANAGE_SETTING_H */
