// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "line.h"
#include "settings.h"

/* A setting of older versions, and its value that stands for what belts do now. */
#define GONE		"evict"
#define GONE_VALUE	"unread"

/* The members of struct hashbelt_settings and of struct hashbelt_info for a setting. */
#define MEMBER(name)								\
	.given = offsetof(struct hashbelt_settings, name),			\
	.shown = offsetof(struct hashbelt_info, name),				\
	.size = sizeof(((struct hashbelt_info *)0)->name)

/* The options of create and set. */
const struct option_spec settings_options[SETTINGS_COUNT + 1] = {
#define SETTING(name, argument, help, ...)	{ name, 0, argument, help },
#include "settings_list.h"
#undef SETTING
	{ 0 },
};

static const struct setting list[SETTINGS_COUNT] = {
#define SETTING(name, argument, help, ...)	{ name, argument, __VA_ARGS__ },
#include "settings_list.h"
#undef SETTING
};

/* The first setting of the same field. */
static const struct setting *first_of(const struct setting *setting)
{
	const struct setting *first = list;

	while (first->field != setting->field)
		first++;
	return first;
}

/*
 * The setting behind @last in the order in which settings are read and printed: those of a field
 * stand together. NULL for @last: the first one.
 */
static const struct setting *next_of_all(const struct setting *last)
{
	const struct setting *next, *end = list + SETTINGS_COUNT;

	if (!last)
		return list;
	for (next = last + 1; next < end; next++)
		if (next->field == last->field)
			return next;
	for (next = first_of(last) + 1; next < end; next++)
		if (first_of(next) == next)
			return next;
	return NULL;
}

/**
 * settings_next() - the settings that a belt shows, in the order in which they are printed
 * @last:	the setting before; NULL for the first
 *
 * Return: the next setting; NULL if there is none.
 */
const struct setting *settings_next(const struct setting *last)
{
	do {
		last = next_of_all(last);
	} while (last && !last->kind->print);
	return last;
}

/**
 * settings_find() - a setting that a belt shows
 * @name:	its name, in small letters or capitals
 *
 * Return: the setting; NULL if there is none.
 */
const struct setting *settings_find(const char *name)
{
	const struct setting *setting = NULL;

	while ((setting = settings_next(setting)) && strcasecmp(setting->name, name))
		;
	return setting;
}

/**
 * settings_take() - read the options of create and set
 * @request:	the request, of one of the two
 * @settings:	returned: the given settings, the others 0
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says what is wrong.
 */
enum status settings_take(const struct request *request, struct settings *settings)
{
	const struct setting *setting = NULL;
	enum status status = STATUS_DONE;
	const char *text;

	*settings = (struct settings){ 0 };
	while (!status && (setting = next_of_all(setting))) {
		text = request_option(request, setting->name);
		if (!text)
			continue;
		settings->belt.fields |= setting->field;
		status = setting->kind->take(setting, request, text, settings);
	}
	return status;
}

/**
 * settings_index() - where an array of the values of all settings has one
 * @name:	the name of its option, perhaps with more behind it
 * @len:	the length of the name
 *
 * Return: the index; SETTINGS_COUNT if there is no such setting.
 */
size_t settings_index(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < SETTINGS_COUNT; i++)
		if (strlen(list[i].name) == len && !memcmp(list[i].name, name, len))
			break;
	return i;
}

/**
 * settings_is_gone() - whether a setting is one of older versions
 * @name:	its name, perhaps with more behind it
 * @len:	the length of the name
 *
 * Return: true if it is.
 */
bool settings_is_gone(const char *name, size_t len)
{
	return len == strlen(GONE) && !memcmp(name, GONE, len);
}

/**
 * settings_fail_gone() - report a setting of older versions
 * @request:	the request that reads it
 *
 * Return: STATUS_USAGE.
 */
enum status settings_fail_gone(const struct request *request)
{
	return fail_usage(request,
			  "there is no setting '%s' any more: delete it, and set when-full to evict",
			  GONE);
}

/**
 * settings_from() - read settings that do not come from the request's own options
 * @request:	the request, for messages about errors
 * @values:	SETTINGS_COUNT values, in the order of settings_options; NULL for one not given
 * @settings:	returned: the given settings, the others 0
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says what is wrong.
 */
enum status settings_from(const struct request *request, const char * const *values,
			  struct settings *settings)
{
	struct command command = *request->command;
	struct request options = { .command = &command };
	const struct option_spec *spec;
	size_t i = 0, j;

	command.options = settings_options;
	for (spec = common_options; spec->name; spec++)
		i++;
	for (j = 0; j < SETTINGS_COUNT; j++)
		options.values[i + j] = values[j];
	return settings_take(&options, settings);
}

/**
 * settings_text() - a setting of a belt, as the option of its name takes it
 * @info:	the belt
 * @setting:	from settings_next()
 * @text:	where, SETTING_SIZE bytes
 *
 * Return: @text; "" if no argument of the option stands for the setting.
 */
const char *settings_text(const struct hashbelt_info *info, const struct setting *setting,
			  char *text)
{
	setting->kind->print(setting, info, text);
	return text;
}

/**
 * settings_json() - add settings of a belt to its JSON
 * @info:	the belt
 * @name:	the name of a setting; NULL for all that are not in @added
 * @object:	the object
 * @added:	a bit for each setting that the object has, by its place in the list; changed
 */
void settings_json(const struct hashbelt_info *info, const char *name, struct json *object,
		   __u64 *added)
{
	const struct setting *setting;
	__u64 bit = 1;

	for (setting = list; setting < list + SETTINGS_COUNT; setting++, bit <<= 1) {
		if (name ? strcmp(setting->name, name) != 0 : (*added & bit) != 0)
			continue;
		setting->kind->json(setting, info, object);
		*added |= bit;
	}
}

/**
 * settings_apply() - change the description of a belt as SET would change the belt
 * @settings:	the settings; those in their fields count
 * @info:	the description of the belt, changed
 */
void settings_apply(const struct settings *settings, struct hashbelt_info *info)
{
	const struct setting *setting;

	for (setting = list; setting < list + SETTINGS_COUNT; setting++) {
		if (!(settings->belt.fields & setting->field))
			continue;
		if (setting->kind->copy)
			setting->kind->copy(setting, settings, info);
		else
			memcpy((char *)info + setting->shown,
			       (const char *)&settings->belt + setting->given, setting->size);
	}
}

/**
 * settings_print() - print the settings of a belt in a line, as settings_parse() reads it
 * @file:	where
 * @info:	the belt
 */
void settings_print(FILE *file, const struct hashbelt_info *info)
{
	const struct setting *setting = NULL;
	char text[SETTING_SIZE];
	const char *value;

	fputs(SETTINGS_MARK, file);
	while ((setting = settings_next(setting))) {
		value = settings_text(info, setting, text);
		if (*value)
			fprintf(file, " --%s=%s", setting->name, value);
	}
	putc('\n', file);
}

/**
 * settings_parse() - read a line that settings_print() has printed
 * @request:	the request that reads it
 * @line:	the line, without the newline; changed
 * @settings:	returned: the settings in the line, the others 0
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says what is wrong.
 */
enum status settings_parse(const struct request *request, char *line, struct settings *settings)
{
	const char *values[SETTINGS_COUNT] = { 0 };
	char *word, *rest = line;
	size_t len, i;

	strsep(&rest, " ");
	while ((word = strsep(&rest, " "))) {
		len = strcspn(word, "=");
		i = SETTINGS_COUNT;
		if (!strncmp(word, "--", 2) && word[len])
			i = settings_index(word + 2, len - 2);
		/* Older versions wrote it for all belts. */
		if (!strcmp(word, "--" GONE "=" GONE_VALUE))
			continue;
		if (!strncmp(word, "--", 2) && settings_is_gone(word + 2, len - 2))
			return settings_fail_gone(request);
		if (i == SETTINGS_COUNT)
			return fail_usage(request, "'%s' is no setting as --ttl=5m", word);
		values[i] = word + len + 1;
	}
	return settings_from(request, values, settings);
}
