// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

/* Bytes of lines that are enough for one call. */
#define BATCH_BYTES	(4 * 1024 * 1024)

/* A line's memory above this is given back after its batch. */
#define KEEP_BYTES	(64 * 1024)

/* Reports an error in the line that was read last. */
static enum status fail_line(struct load *load, const char *what)
{
	progress_erase(&load->progress);
	return fail(STATUS_ERROR, "%s, line %lu: %s", load->name, load->number, what);
}

/* There is no room for an entry. The next one may be smaller, or replace another. */
static void note_refused(struct load *load, unsigned int i)
{
	if (load->refused++)
		return;
	load->first = load->numbers[i];
	load->cause = load->items[i].result;
	hashbelt_strerror(load->request->handle, load->items[i].result, HASHBELT_CALL_BATCH,
			  load->request->belt, load->why, sizeof(load->why));
}

/* Counts the results of a batch, of which @done items were tried. Reports the first error. */
static enum status count_results(struct load *load, unsigned int done)
{
	enum status status = STATUS_DONE;
	const struct hashbelt_item *item;
	unsigned int i;

	for (i = 0; i < done; i++) {
		item = &load->items[i];
		if (!item->result) {
			load->loaded++;
		} else if (item->result == -EEXIST) {
			load->kept++;
		} else if (item->result == -ENOSPC || item->result == -EDQUOT) {
			note_refused(load, i);
		} else if (!status) {
			progress_erase(&load->progress);
			status = fail_call(load->request, HASHBELT_CALL_PUT, item->result);
		}
	}
	return status;
}

/* Puts the lines that wait. */
static enum status flush(struct load *load)
{
	enum status status;
	unsigned int done, i;
	int err;

	if (!load->count)
		return STATUS_DONE;
	err = hashbelt_batch(load->request->handle, load->items, load->count, &done);
	status = count_results(load, done);
	if (err && !status) {
		progress_erase(&load->progress);
		status = fail_call(load->request, HASHBELT_CALL_PUT, err);
	}
	for (i = 0; i < load->count; i++) {
		if (load->lines[i].room <= KEEP_BYTES)
			continue;
		free(load->lines[i].text);
		load->lines[i] = (struct text_line){ 0 };
	}
	load->count = 0;
	load->bytes = 0;
	if (!status)
		progress_step(&load->progress, load->read, load->loaded);
	return status;
}

/**
 * load_read() - read the next line, behind those that wait to be put
 * @load:	the load
 *
 * A dump may begin with a key whose first bytes are those of a byte order mark, but escaped. So a
 * file has got a mark from an editor.
 *
 * Return: how that has ended.
 */
enum text_line_end load_read(struct load *load)
{
	struct text_line *line = &load->lines[load->count];
	enum text_line_end end;

	line->most = LINE_MAX_BYTES;
	end = text_line_read(line, load->file);
	load->read += line->read;
	load->number += end != TEXT_LINE_NONE;
	if (load->number == 1 && end == TEXT_LINE_WHOLE && text_line_drop_mark(line))
		return TEXT_LINE_MARKED;
	return end;
}

/* Adds the line that was read last to those that wait to be put. */
static enum status add_line(struct load *load)
{
	struct hashbelt_item *item = &load->items[load->count];
	char *text = load->lines[load->count].text;
	size_t len = load->lines[load->count].len;
	enum status status;
	const char *wrong;

	if ((load->number == 1 && line_is(text, len, SETTINGS_MARK)) ||
	    line_is(text, len, SAVED_MARK))
		return STATUS_DONE;
	wrong = line_parse(text, len, &load->clock, item);
	if (wrong) {
		status = flush(load);
		return status ? status : fail_line(load, wrong);
	}
	if (!item->op) {
		load->expired++;
		return STATUS_DONE;
	}
	item->how = load->how;
	load->numbers[load->count++] = load->number;
	load->bytes += len;
	return load->count == LOAD_BATCH || load->bytes >= BATCH_BYTES ? flush(load) : STATUS_DONE;
}

/* Puts the lines that wait, and says what is wrong with the last one that was read. */
static enum status end_lines(struct load *load, enum text_line_end end)
{
	const struct text_line *line = &load->lines[load->count];
	char wrong[TEXT_LINE_WRONG], text[TEXT_LINE_WRONG + 16];
	int err = line->err;
	enum status status;

	snprintf(text, sizeof(text), "the line %s", text_line_wrong(line, end, wrong));
	status = flush(load);
	if (status || end == TEXT_LINE_NONE)
		return status;
	if (end != TEXT_LINE_FAILED)
		return fail_line(load, text);
	progress_erase(&load->progress);
	fail_cause(err);
	return fail(STATUS_ERROR, "cannot read %s: %s", load->name, strerror(err));
}

/**
 * load_lines() - put the lines of the file
 * @load:	the load, with the handle of its request bound to the belt
 * @end:	of load_read(), for the first line
 *
 * A last line without a newline is not put: of a file that was cut it has another value, or more
 * time. Entries for which there is no room are counted.
 *
 * Return: STATUS_DONE, or another status after a line that says what is wrong: the lines before
 * have been put.
 */
enum status load_lines(struct load *load, enum text_line_end end)
{
	enum status status = STATUS_DONE;

	while (!status && end == TEXT_LINE_WHOLE) {
		status = add_line(load);
		if (!status)
			end = load_read(load);
	}
	return status ? status : end_lines(load, end);
}

/**
 * load_refused() - say that lines were not put, for want of room
 * @load:	the load, which has such lines
 * @status:	the status for it
 *
 * Return: @status.
 */
enum status load_refused(const struct load *load, enum status status)
{
	fail_cause(load->cause);
	if (load->refused > 1)
		return fail(status,
			    "%s: %s, line %lu, is the first of %llu lines that were not put",
			    load->why, load->name, load->first, load->refused);
	return fail(status, "%s: %s, line %lu, was not put", load->why, load->name, load->first);
}

/**
 * load_free() - free the memory of a load
 * @load:	the load; not freed itself
 */
void load_free(struct load *load)
{
	size_t i;

	for (i = 0; i < LOAD_BATCH; i++)
		free(load->lines[i].text);
}
