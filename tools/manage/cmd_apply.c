// SPDX-License-Identifier: GPL-2.0-only
/* Belts in files: apply, save, export. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "conf.h"
#include "encoding.h"
#include "json.h"
#include "saved.h"
#include "settings.h"

/**
 * struct apply - an apply that goes on
 * @request:	the request
 * @changes:	belts are created and set
 * @prints:	differences are printed
 * @differs:	there was a difference
 * @saved:	the directory of which entries are loaded; NULL for none
 */
struct apply {
	struct request *request;
	bool changes;
	bool prints;
	bool differs;
	const struct saved_directory *saved;
};

static void print_name(const char *change, const struct conf_belt *belt)
{
	printf("%s ", change);
	escape_print(stdout, belt->name, strlen(belt->name));
}

static struct json json_change(const char *change, const struct conf_belt *belt)
{
	struct json object = json_begin(stdout);

	json_add_bytes(&object, "name", belt->name, strlen(belt->name));
	json_add_word(&object, "change", change);
	return object;
}

/* Prints that a belt is missing, and its settings as they are in the file. */
static void print_missing(const struct apply *apply, const struct conf_belt *belt)
{
	const char *separator = ":";
	size_t i;

	if (!apply->prints)
		return;
	if (apply->request->json) {
		json_end(json_change("create", belt));
		return;
	}
	print_name("create", belt);
	for (i = 0; i < SETTINGS_COUNT; i++) {
		if (!belt->values[i])
			continue;
		printf("%s %s = %s", separator, settings_options[i].name, belt->values[i]);
		separator = ",";
	}
	putchar('\n');
}

static void print_change(const struct apply *apply, const struct conf_belt *belt,
			 const char *name, const char *from, const char *to)
{
	struct json object;

	if (!apply->prints)
		return;
	if (apply->request->json) {
		object = json_change("set", belt);
		json_add_word(&object, "setting", name);
		json_add_word(&object, "from", from);
		json_add_word(&object, "to", to);
		json_end(object);
		return;
	}
	print_name("set", belt);
	printf(": %s = %s -> %s\n", name, from, to);
}

/* Compares a belt with the file. Return: the HASHBELT_SET_* of the settings that differ. */
static __u32 compare(const struct apply *apply, const struct conf_belt *belt,
		     const struct hashbelt_info *info)
{
	char from_text[SETTING_SIZE], to_text[SETTING_SIZE];
	struct hashbelt_info wanted = *info;
	const struct setting *setting = NULL;
	const char *from, *to;
	__u32 fields = 0;

	settings_apply(&belt->settings, &wanted);
	while ((setting = settings_next(setting))) {
		from = settings_text(info, setting, from_text);
		to = settings_text(&wanted, setting, to_text);
		if (!strcmp(from, to))
			continue;
		fields |= setting->field;
		print_change(apply, belt, setting->name, from, to);
	}
	return fields;
}

static enum status make_belt(struct apply *apply, const struct conf_belt *belt)
{
	struct settings settings = belt->settings;

	apply->differs = true;
	print_missing(apply, belt);
	return apply->changes ? belt_create(apply->request, &settings) : STATUS_DONE;
}

static enum status set_belt(struct apply *apply, const struct conf_belt *belt)
{
	struct settings settings = belt->settings;
	struct hashbelt_info info;
	int err;

	err = belt_find(apply->request, &info);
	if (err)
		return fail_call(apply->request, HASHBELT_CALL_INFO, err);
	settings.belt.fields = compare(apply, belt, &info);
	if (!settings.belt.fields)
		return STATUS_DONE;
	apply->differs = true;
	return apply->changes ? belt_set(apply->request, &info, &settings) : STATUS_DONE;
}

static void print_loaded(const struct apply *apply, const struct conf_belt *belt,
			 const struct saved_counts *counts)
{
	struct json object;

	if (!apply->request->json) {
		print_name("load", belt);
		printf(": %llu entries, and %llu that had expired were left out\n", counts->loaded,
		       counts->expired);
		return;
	}
	object = json_change("load", belt);
	json_add_number(&object, "loaded", counts->loaded);
	json_add_number(&object, "kept", counts->kept);
	json_add_number(&object, "expired", counts->expired);
	json_add_number(&object, "refused", counts->refused);
	json_end(object);
}

/*
 * Loads the entries of a belt that is there now. If it was there when they were saved, and has been
 * since, it is newer than the file. After an error the belt is as good as without the file.
 */
static void load_belt(const struct apply *apply, const struct conf_belt *belt, bool made)
{
	struct saved_counts counts;
	struct saved saved;

	fail_at(NULL, 0);
	if (saved_open(apply->saved, belt->name, &saved) || !saved.file)
		return;
	if (saved.this_boot && !made)
		saved_remove(apply->saved, belt->name);
	else if (!saved_load(apply->request, apply->saved, &saved, &counts))
		print_loaded(apply, belt, &counts);
	saved_close(&saved);
}

static enum status apply_belt(struct apply *apply, const struct conf_belt *belt)
{
	struct request *request = apply->request;
	enum status status;
	int err;

	request->belt = belt->name;
	err = hashbelt_bind(request->handle, belt->name);
	if (err && err != -ENOENT)
		return fail_bind(request, err);
	status = err ? make_belt(apply, belt) : set_belt(apply, belt);
	if (apply->saved && belt->saves && (!err || !status))
		load_belt(apply, belt, err);
	/* It would be old when the belt is to be saved again. */
	if (apply->saved && !belt->saves)
		saved_remove(apply->saved, belt->name);
	return status;
}

/* Applies all belts, also after one that fails. Return: the largest status. */
static enum status apply_all(struct apply *apply, const struct conf *conf)
{
	enum status status, worst = STATUS_DONE;
	size_t i;

	for (i = 0; i < conf->count; i++) {
		fail_at(conf->belts[i].file, conf->belts[i].line);
		status = apply_belt(apply, &conf->belts[i]);
		worst = status > worst ? status : worst;
	}
	fail_at(NULL, 0);
	return worst;
}

/**
 * cmd_apply() - hbctl apply
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_apply(struct request *request)
{
	bool checks = request_option(request, "check"), dry = request_option(request, "dry-run");
	struct apply apply = {
		.request = request,
		.changes = !checks && !dry,
		.prints = dry || request->json,
	};
	const char *path = request_option(request, "load");
	struct saved_directory saved = { 0 };
	struct conf conf = { 0 };
	enum status status, found = STATUS_DONE;

	status = conf_read_all(request, 0, &conf);
	if (!status)
		status = request_open(request);
	if (!status && apply.changes && path)
		found = saved_begin(&saved, path);
	if (apply.changes && path && !found)
		apply.saved = &saved;
	/* Without the directory, the belts are made all the same. */
	if (!status)
		status = apply_all(&apply, &conf);
	status = status ? status : found;
	if (!status && checks && apply.differs)
		status = fail(STATUS_NO,
			      "the belts differ from the files: 'hbctl apply --dry-run' shows how");
	conf_free(&conf);
	return status;
}

static enum status save_belt(struct request *request, const struct saved_directory *directory,
			     const struct conf_belt *belt)
{
	struct hashbelt_info info;
	struct json object;
	enum status status;
	__u64 entries;
	int err;

	request->belt = belt->name;
	err = hashbelt_bind(request->handle, belt->name);
	if (!err)
		err = hashbelt_info(request->handle, &info);
	if (err == -ENOENT || err == -EIDRM)
		return saved_remove(directory, belt->name);
	if (err)
		return fail_bind(request, err);
	status = saved_write(request, directory, &info, &entries);
	if (status)
		return status;
	if (request->json) {
		object = json_change("save", belt);
		json_add_number(&object, "entries", entries);
		json_end(object);
	} else {
		print_name("save", belt);
		printf(": %llu entries\n", entries);
	}
	return STATUS_DONE;
}

/* Saves the belts with save = yes, also after one that fails. Return: the largest status. */
static enum status save_all(struct request *request, const struct saved_directory *directory,
			    const struct conf *conf)
{
	enum status status, worst = STATUS_DONE;
	size_t i;

	for (i = 0; i < conf->count; i++) {
		status = conf->belts[i].saves ?
			 save_belt(request, directory, &conf->belts[i]) :
			 saved_remove(directory, conf->belts[i].name);
		worst = status > worst ? status : worst;
	}
	return worst;
}

/**
 * cmd_save() - hbctl save
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_save(struct request *request)
{
	struct saved_directory directory = { 0 };
	struct conf conf = { 0 };
	enum status status;

	status = conf_read_all(request, 1, &conf);
	if (!status)
		status = request_open(request);
	if (!status)
		status = saved_begin(&directory, request->operands[0]);
	if (!status)
		status = save_all(request, &directory, &conf);
	conf_free(&conf);
	return status;
}

static void export_text(const struct hashbelt_info *info)
{
	const struct setting *setting = NULL;
	char text[SETTING_SIZE];
	const char *value;

	putchar('[');
	escape_print(stdout, info->name, strnlen(info->name, sizeof(info->name)));
	puts("]");
	while ((setting = settings_next(setting))) {
		value = settings_text(info, setting, text);
		if (*value)
			printf("%s = %s\n", setting->name, value);
	}
}

static void export_json(const struct hashbelt_info *info)
{
	struct json object = json_begin(stdout);
	const struct setting *setting = NULL;
	char text[SETTING_SIZE];

	json_add_bytes(&object, "name", info->name, strnlen(info->name, sizeof(info->name)));
	while ((setting = settings_next(setting)))
		json_add_word(&object, setting->name, settings_text(info, setting, text));
	json_end(object);
}

/**
 * cmd_export() - hbctl export
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_export(struct request *request)
{
	enum status status = request_open(request);
	struct hashbelt_info *infos = NULL;
	size_t count, printed = 0, i;
	int err;

	if (status)
		return status;
	err = belts_read(request->handle, &infos, &count);
	if (err)
		status = fail(STATUS_ERROR, "cannot list the belts: %s", strerror(-err));
	for (i = 0; !status && i < count; i++) {
		if (!(infos[i].access & HASHBELT_MAY_READ))
			continue;
		if (request->json) {
			export_json(&infos[i]);
			continue;
		}
		if (printed++)
			putchar('\n');
		export_text(&infos[i]);
	}
	free(infos);
	return status;
}
