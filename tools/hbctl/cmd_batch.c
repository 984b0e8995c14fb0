// SPDX-License-Identifier: GPL-2.0-only
/* The command batch: commands from a file, one a line, in one process. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "encoding.h"
#include "text_line.h"
#include "words.h"

/**
 * struct replies - a reply in a line for each line that is read, for a program that waits for it
 * @output:	standard output, where the replies go
 * @errors:	standard error
 * @file:	takes the place of both while a command runs; NULL: there are no replies
 * @text:	the content of @file
 * @len:	its length
 */
struct replies {
	FILE *output;
	FILE *errors;
	FILE *file;
	char *text;
	size_t len;
};

/**
 * struct batch - commands that are run one after the other
 * @request:	the request
 * @run:	runs a command; its arguments begin with the name of the program
 * @file:	where the lines come from
 * @name:	its name
 * @words:	the arguments of a line
 * @room:	the number of words that fit
 * @replies:	of --reply
 */
struct batch {
	const struct request *request;
	batch_function *run;
	FILE *file;
	const char *name;
	char **words;
	size_t room;
	struct replies replies;
};

/*
 * Makes ready for replies. The output of a command is kept until it ends. A program that it runs
 * writes to standard error: the replies stay in step with the lines.
 */
static enum status replies_begin(struct replies *replies)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	replies->output = fd < 0 ? NULL : fdopen(fd, "w");
	if (!replies->output || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return fail(STATUS_ERROR, "cannot copy standard output: %s", strerror(errno));
	replies->file = open_memstream(&replies->text, &replies->len);
	if (!replies->file)
		return fail(STATUS_ERROR, "out of memory");
	replies->errors = stderr;
	return STATUS_DONE;
}

/* From here on the output of a command is its reply. */
static void reply_begin(struct replies *replies)
{
	if (!replies->file)
		return;
	rewind(replies->file);
	stdout = replies->file;
	stderr = replies->file;
}

/*
 * Writes the reply: STATUS<TAB>OUTPUT, escaped, without the newline at the end of the output, as by
 * $() in a shell.
 */
static void reply_end(struct replies *replies, enum status status)
{
	if (!replies->file)
		return;
	fflush(replies->file);
	stdout = replies->output;
	stderr = replies->errors;
	if (replies->len && replies->text[replies->len - 1] == '\n')
		replies->len--;
	fprintf(stdout, "%d\t", (int)status);
	escape_print(stdout, replies->text, replies->len);
	putchar('\n');
}

static void replies_free(struct replies *replies)
{
	if (replies->file)
		fclose(replies->file);
	free(replies->text);
}

/* Makes room for the words of a line of @len bytes. */
static bool make_room(struct batch *batch, size_t len)
{
	size_t room = len + 2;
	char **words;

	if (room <= batch->room)
		return true;
	words = reallocarray(batch->words, room, sizeof(*words));
	if (!words)
		return false;
	batch->words = words;
	batch->room = room;
	return true;
}

/* Runs the command of a line, which is changed. Its output stands before that of the next. */
static enum status run_line(struct batch *batch, char *line, size_t len)
{
	enum status status = STATUS_DONE;
	const char *wrong;
	int count;

	if (!make_room(batch, len))
		return fail(STATUS_ERROR, "out of memory");
	batch->words[0] = "hbctl";
	wrong = words_split(line, len, batch->words + 1, &count);
	fail_as_json(batch->request->json);
	reply_begin(&batch->replies);
	if (wrong)
		status = fail(STATUS_USAGE, "%s", wrong);
	else if (count)
		status = batch->run(batch->request, count + 1, batch->words);
	reply_end(&batch->replies, status);
	fflush(stdout);
	return status;
}

/* The lines have ended. Says why, unless it is the end of the file. */
static enum status end_lines(const struct batch *batch, const struct text_line *line,
			     enum text_line_end end, unsigned long number)
{
	enum status status = STATUS_DONE;
	char wrong[TEXT_LINE_WRONG];

	if (end == TEXT_LINE_FAILED) {
		fail_cause(line->err);
		return fail(STATUS_ERROR, "cannot read %s: %s", batch->name, strerror(line->err));
	}
	if (end != TEXT_LINE_NONE) {
		fail_at(batch->name, number);
		status = fail(STATUS_ERROR, "the line %s", text_line_wrong(line, end, wrong));
		fail_at(NULL, 0);
	}
	return status;
}

/*
 * Runs the lines. As for a shell, the last one needs no newline: people and printf(1) leave it out.
 * Return: the largest status.
 */
static enum status run_lines(struct batch *batch)
{
	bool go_on = request_option(batch->request, "keep-going") || batch->replies.file;
	struct text_line line = { .most = LINE_MAX_BYTES };
	enum text_line_end end = TEXT_LINE_WHOLE;
	enum status status, worst = STATUS_DONE;
	unsigned long number = 0;

	while ((!worst || go_on) && !ferror(stdout) && end == TEXT_LINE_WHOLE) {
		end = text_line_read(&line, batch->file);
		if (end != TEXT_LINE_WHOLE && end != TEXT_LINE_CUT)
			break;
		if (!number)
			text_line_drop_mark(&line);
		/* A program knows to which of its lines a reply belongs. */
		fail_at(batch->replies.file ? NULL : batch->name, ++number);
		status = run_line(batch, line.text, line.len);
		worst = status > worst ? status : worst;
	}
	fail_at(NULL, 0);
	status = end == TEXT_LINE_WHOLE || end == TEXT_LINE_CUT ? STATUS_DONE :
		 end_lines(batch, &line, end, number + 1);
	free(line.text);
	return status > worst ? status : worst;
}

/*
 * Standard input as a file of its own. Neither the commands nor the programs that they run may
 * take lines from it, so they get an empty one.
 */
static FILE *take_stdin(void)
{
	int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (empty >= 0) {
		dup2(empty, STDIN_FILENO);
		close(empty);
	}
	return input < 0 ? NULL : fdopen(input, "r");
}

/**
 * batch_run() - hbctl batch
 * @request:	the request
 * @run:	runs a command of the table
 *
 * Return: the exit status: the largest one of the commands.
 */
enum status batch_run(struct request *request, batch_function *run)
{
	bool from_stdin = request_takes_stdin(request);
	struct batch batch = {
		.request = request,
		.run = run,
		.name = from_stdin ? "stdin" : request->operands[0],
	};
	enum status status = STATUS_DONE;
	struct hashbelt *kept = NULL;

	if (request->batch)
		return fail_usage(request, "a batch runs no other batch");
	if (request_option(request, "reply"))
		status = replies_begin(&batch.replies);
	if (status)
		return status;
	batch.file = from_stdin ? take_stdin() : fopen(batch.name, "re");
	if (!batch.file)
		return fail(STATUS_ERROR, "cannot open %s: %s", batch.name, strerror(errno));
	if (batch.replies.file)
		request->kept = &kept;
	status = run_lines(&batch);
	request->kept = NULL;
	fclose(batch.file);
	free(batch.words);
	replies_free(&batch.replies);
	hashbelt_close(kept);
	return status;
}
