// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "conf.h"
#include "encoding.h"
#include "guess.h"
#include "line.h"
#include "text_line.h"

/* The files of a directory that are read. */
#define SUFFIX		".conf"

/* The line of a belt whose entries are saved. */
#define SAVE		"save"

#define BLANKS		" \t\r\n\v\f"

/**
 * struct reader - a file that is being read
 * @request:	the request, for messages about errors
 * @conf:	gets the belts
 * @file:	the file
 * @name:	its name
 * @line:	the number of the line that was read last
 * @text:	that line
 * @in_belt:	the last belt of @conf is one of this file
 * @status:	STATUS_DONE, or another status after an error
 */
struct reader {
	struct request *request;
	struct conf *conf;
	FILE *file;
	const char *name;
	unsigned long line;
	struct text_line text;
	bool in_belt;
	enum status status;
};

static enum status fail_memory(void)
{
	return fail(STATUS_ERROR, "out of memory");
}

/* Adds a belt without settings. */
static enum status add_belt(struct reader *reader, const char *name)
{
	struct conf *conf = reader->conf;
	struct conf_belt *belts;
	size_t room;

	if (conf->count == conf->room) {
		room = conf->room ? conf->room * 2 : 16;
		belts = reallocarray(conf->belts, room, sizeof(*belts));
		if (!belts)
			return fail_memory();
		conf->belts = belts;
		conf->room = room;
	}
	conf->belts[conf->count] = (struct conf_belt){
		.file = strdup(reader->name),
		.line = reader->line,
	};
	if (!conf->belts[conf->count].file)
		return fail_memory();
	strcpy(conf->belts[conf->count].name, name);
	conf->count++;
	reader->in_belt = true;
	return STATUS_DONE;
}

/*
 * Reads the line that begins a belt, [NAME]. We do this in the place of inih, which keeps 49 bytes
 * of the name of a section and tells of no section that is empty.
 */
static enum status begin_belt(struct reader *reader, char *text)
{
	const struct conf *conf = reader->conf;
	size_t len = strlen(text), i;
	enum status status;
	char *name = text + 1;
	ssize_t name_len;

	if (text[len - 1] != ']')
		return fail_usage(reader->request, "'%s' does not end in ]", text);
	name_len = unescape(name, len - 2);
	if (name_len < 0)
		return fail_usage(reader->request,
				  "in the belt's name a backslash begins none of \\t \\n \\\\ \\xHH");
	/* A NUL byte is no more allowed than the slash. */
	name[memchr(name, '\0', name_len) ? 0 : name_len] = '\0';
	status = request_belt(reader->request, name);
	if (status)
		return status;
	for (i = 0; i < conf->count; i++)
		if (!strcmp(conf->belts[i].name, name))
			return fail_usage(reader->request, "belt '%s' is in %s:%lu already", name,
					  conf->belts[i].file, conf->belts[i].line);
	return add_belt(reader, name);
}

static enum status fail_unknown(const struct reader *reader, const char *name)
{
	struct guess guess = { .word = name };
	char text[GUESS_SIZE];
	size_t i;

	for (i = 0; i < SETTINGS_COUNT; i++)
		guess_offer(&guess, settings_options[i].name);
	guess_offer(&guess, SAVE);
	return fail_usage(reader->request, "there is no setting '%s'%s", name,
			  guess_text(&guess, "", text));
}

static enum status fail_twice(const struct reader *reader, const char *name)
{
	return fail_usage(reader->request, "'%s' is given twice for belt '%s'", name,
			  reader->conf->belts[reader->conf->count - 1].name);
}

/* The line that the kernel does not know. */
static enum status add_save(struct reader *reader, struct conf_belt *belt, const char *value)
{
	if (belt->save_is_given)
		return fail_twice(reader, SAVE);
	if (strcmp(value, "yes") && strcmp(value, "no"))
		return fail_usage(reader->request, "'%s' is neither 'yes' nor 'no'", value);
	belt->save_is_given = true;
	belt->saves = !strcmp(value, "yes");
	return STATUS_DONE;
}

/* Adds a setting to the last belt. Its value is checked at once: the error is in this line. */
static enum status add_setting(struct reader *reader, const char *name, const char *value)
{
	size_t i = settings_index(name, strlen(name));
	const char *alone[SETTINGS_COUNT] = { 0 };
	struct settings settings;
	struct conf_belt *belt;

	if (settings_is_gone(name, strlen(name)))
		return settings_fail_gone(reader->request);
	if (i == SETTINGS_COUNT && strcmp(name, SAVE))
		return fail_unknown(reader, name);
	if (!reader->in_belt)
		return fail_usage(reader->request, "'%s' stands before the first [BELT]", name);
	belt = &reader->conf->belts[reader->conf->count - 1];
	if (i == SETTINGS_COUNT)
		return add_save(reader, belt, value);
	if (belt->values[i])
		return fail_twice(reader, name);
	belt->values[i] = strdup(value);
	if (!belt->values[i])
		return fail_memory();
	alone[i] = value;
	return settings_from(reader->request, alone, &settings);
}

/* Called by inih for each NAME = VALUE. It returns whether to go on; read_line() ends the file. */
static int take_setting(void *arg, const char *section, const char *name, const char *value)
{
	struct reader *reader = arg;

	(void)section;
	if (!reader->status)
		reader->status = add_setting(reader, name, value);
	return 1;
}

/* Prepares a line for inih, which has room for @size bytes. It gets an empty one for [NAME]. */
static enum status prepare_line(struct reader *reader, char *text, char *line, size_t size)
{
	size_t len;

	text += strspn(text, BLANKS);
	for (len = strlen(text); len && strchr(BLANKS, text[len - 1]); len--)
		text[len - 1] = '\0';
	if (*text == '[')
		return begin_belt(reader, text);
	if (!*text || *text == '#' || *text == ';')
		return STATUS_DONE;
	if (*text == '=' || *text == ':' || !strpbrk(text, "=:"))
		return fail_usage(reader->request,
				  "'%s' is neither [BELT], nor NAME = VALUE, nor a # comment",
				  text);
	/* inih would take a line without a newline that fills its buffer for a part of one. */
	if (len > size - 2)
		return fail_usage(reader->request, "a line has at most %zu bytes", size - 2);
	strcpy(line, text);
	return STATUS_DONE;
}

/* Notes why there is no line, unless the file has ended. */
static void end_file(struct reader *reader, enum text_line_end end)
{
	int err = reader->text.err;
	char text[TEXT_LINE_WRONG];
	const char *wrong;

	if (end == TEXT_LINE_NONE)
		return;
	if (end == TEXT_LINE_FAILED) {
		fail_at(NULL, 0);
		fail_cause(err);
		reader->status = fail(STATUS_ERROR, "cannot read %s: %s", reader->name,
				      strerror(err));
		return;
	}
	fail_at(reader->name, reader->line + 1);
	wrong = text_line_wrong(&reader->text, end, text);
	if (end == TEXT_LINE_LONG)
		reader->status = fail_usage(reader->request, "the line %s", wrong);
	else
		reader->status = fail(STATUS_ERROR, "the line %s", wrong);
}

/*
 * Reads a line for inih, as fgets(3) would. inih passes no number of the line on: we count. Blanks
 * at the beginning go, because inih continues the value of the line before with such a line. People
 * write these files, so the last line may have no newline, and the first one a byte order mark.
 */
static char *read_line(char *line, int size, void *arg)
{
	struct reader *reader = arg;
	enum text_line_end end;

	if (reader->status)
		return NULL;
	end = text_line_read(&reader->text, reader->file);
	if (end != TEXT_LINE_WHOLE && end != TEXT_LINE_CUT) {
		end_file(reader, end);
		return NULL;
	}
	if (!reader->line)
		text_line_drop_mark(&reader->text);
	fail_at(reader->name, ++reader->line);
	*line = '\0';
	if (strlen(reader->text.text) == reader->text.len)
		reader->status = prepare_line(reader, reader->text.text, line, size);
	else
		reader->status = fail_usage(reader->request, "there is a NUL byte");
	return line;
}

static enum status read_stream(struct request *request, FILE *file, const char *name,
			       struct conf *conf)
{
	struct reader reader = {
		.request = request,
		.conf = conf,
		.file = file,
		.name = name,
		.text.most = LINE_MAX_BYTES,
	};
	int err;

	err = ini_parse_stream(read_line, &reader, take_setting, &reader);
	if (!reader.status && err > 0) {
		fail_at(name, err);
		reader.status = fail_usage(request, "this is no NAME = VALUE");
	}
	fail_at(NULL, 0);
	if (!reader.status && err < 0)
		reader.status = fail_memory();
	free(reader.text.text);
	return reader.status;
}

static enum status read_file(struct request *request, const char *path, struct conf *conf)
{
	FILE *file = fopen(path, "re");
	enum status status;

	if (!file)
		return fail(STATUS_ERROR, "cannot open %s: %s", path, strerror(errno));
	status = read_stream(request, file, path, conf);
	fclose(file);
	return status;
}

static int is_conf(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), suffix_len = strlen(SUFFIX);

	return *entry->d_name != '.' && len > suffix_len &&
	       !strcmp(entry->d_name + len - suffix_len, SUFFIX);
}

/* In the order of bytes: alphasort(3) depends on the locale. */
static int compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static enum status read_directory(struct request *request, const char *path, struct conf *conf)
{
	enum status status = STATUS_DONE;
	struct dirent **entries;
	int count, i;
	char *name;

	count = scandir(path, &entries, is_conf, compare);
	if (count < 0)
		return fail(STATUS_ERROR, "cannot read %s: %s", path, strerror(errno));
	for (i = 0; i < count; i++) {
		if (!status && asprintf(&name, "%s/%s", path, entries[i]->d_name) < 0) {
			status = fail_memory();
		} else if (!status) {
			status = read_file(request, name, conf);
			free(name);
		}
		free(entries[i]);
	}
	free(entries);
	return status;
}

/* Reads the values of the belts from @first on as settings. */
static enum status take_values(const struct request *request, struct conf *conf, size_t first)
{
	enum status status = STATUS_DONE;
	struct conf_belt *belt;

	for (; !status && first < conf->count; first++) {
		belt = &conf->belts[first];
		fail_at(belt->file, belt->line);
		status = settings_from(request, (const char * const *)belt->values,
				       &belt->settings);
	}
	fail_at(NULL, 0);
	return status;
}

/**
 * conf_read() - read the belts that a file describes, or the files of a directory
 * @request:	the request; its belt is changed
 * @path:	a file, a directory, of which the files that end in .conf are read, or - for
 *		standard input
 * @conf:	gets the belts, after an error some of them; freed by conf_free()
 *
 * Return: STATUS_DONE, or another status after a line that says what is wrong.
 */
enum status conf_read(struct request *request, const char *path, struct conf *conf)
{
	size_t first = conf->count;
	enum status status;
	struct stat stat_of;

	if (!strcmp(path, "-")) {
		status = request_stdin(request);
		if (!status)
			status = read_stream(request, stdin, "stdin", conf);
	} else if (!stat(path, &stat_of) && S_ISDIR(stat_of.st_mode)) {
		status = read_directory(request, path, conf);
	} else {
		status = read_file(request, path, conf);
	}
	return status ? status : take_values(request, conf, first);
}

/**
 * conf_read_all() - read the files that operands name
 * @request:	the request
 * @first:	the first of these operands
 * @conf:	gets the belts, as in conf_read()
 *
 * Return: what conf_read() returns.
 */
enum status conf_read_all(struct request *request, int first, struct conf *conf)
{
	enum status status = STATUS_DONE;
	int i;

	for (i = first; !status && i < request->count; i++)
		status = conf_read(request, request->operands[i], conf);
	return status;
}

/**
 * conf_free() - free the belts that conf_read() has read
 * @conf:	the belts
 */
void conf_free(struct conf *conf)
{
	size_t i, j;

	for (i = 0; i < conf->count; i++) {
		free(conf->belts[i].file);
		for (j = 0; j < SETTINGS_COUNT; j++)
			free(conf->belts[i].values[j]);
	}
	free(conf->belts);
	*conf = (struct conf){ 0 };
}
