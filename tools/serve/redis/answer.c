// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replies of the protocol of Redis.
 *
 * There are two ways. A reply of a batch is committed from the space that was reserved for it. A
 * command that is carried out alone writes an answer at once.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "answer.h"

/* The texts for which clients look. */
#define FULL	"-OOM command not allowed when used memory > 'maxmemory'."

/**
 * redis_reason() - the error that a failed operation is for a client
 * @belt:	the belt
 * @err:	the error, negative
 * @text:	space for REDIS_ERROR_SIZE bytes; returned: the error without the end of its line
 */
void redis_reason(struct belt *belt, int err, char *text)
{
	char reason[BELT_REASON_SIZE];
	const char *word = err == -EPERM ? "NOPERM" : "ERR";

	if (is_full(err))
		strcpy(text, FULL);
	else if (err == -EMSGSIZE)
		snprintf(text, REDIS_ERROR_SIZE, "-ERR a value of a belt has at most %u bytes",
			 HASHBELT_VALUE_MAX);
	else if (err == -EEXIST)
		snprintf(text, REDIS_ERROR_SIZE, "-ERR belt %s keeps the values that it has",
			 belt_name(belt));
	else
		snprintf(text, REDIS_ERROR_SIZE, "-%s %s", word, belt_reason(belt, err, reason));
}

/* Replies of a batch */

/**
 * redis_head_before() - write a line with a length before what it is about
 * @end:	where the line ends, with ANSWER_HEAD bytes before it
 * @type:	the first byte of the line
 * @number:	the length
 *
 * Return: where the line begins.
 */
char *redis_head_before(char *end, char type, uint64_t number)
{
	*--end = '\n';
	*--end = '\r';
	do {
		*--end = '0' + number % 10;
		number /= 10;
	} while (number);
	*--end = type;
	return end;
}

/**
 * redis_number() - write a line with a number
 * @to:		where, ANSWER_SHORT bytes at most
 * @type:	the first byte of the line
 * @number:	the number
 *
 * Return: the end.
 */
char *redis_number(char *to, char type, int64_t number)
{
	char line[ANSWER_SHORT], *end = line + sizeof(line), *begin;

	if (number >= 0) {
		begin = redis_head_before(end, type, number);
	} else {
		begin = redis_head_before(end, '-', -(uint64_t)number);
		*--begin = type;
	}
	return mempcpy(to, begin, end - begin);
}

/**
 * redis_commit() - commit a line as a reply of a batch
 * @work:	the work
 * @reply:	the reply, with space for the line
 * @line:	the line without its end
 *
 * Return: false if there is no memory.
 */
bool redis_commit(struct work *work, const struct reply *reply, const char *line)
{
	size_t len = strlen(line);

	memcpy(reply->space, line, len);
	memcpy(reply->space + len, "\r\n", 2);
	return output_commit(&work->output, reply->space, len + 2);
}

/**
 * redis_commit_number() - commit a number as a reply of a batch
 * @work:	the work
 * @reply:	the reply, with ANSWER_SHORT bytes of space
 * @type:	the first byte of the line
 * @number:	the number
 *
 * Return: false if there is no memory.
 */
bool redis_commit_number(struct work *work, const struct reply *reply, char type, int64_t number)
{
	char *end = redis_number(reply->space, type, number);

	return output_commit(&work->output, reply->space, end - reply->space);
}

/**
 * redis_commit_nil() - commit that there is no value
 * @work:	the work
 * @reply:	the reply, with ANSWER_SHORT bytes of space
 *
 * Return: false if there is no memory.
 */
bool redis_commit_nil(struct work *work, const struct reply *reply)
{
	return redis_commit(work, reply, redis_of(work)->version == 3 ? "_" : "$-1");
}

static bool write_line(struct work *work, const char *line)
{
	size_t len = strlen(line);
	char *space = output_reserve_large(&work->output, len + 2);

	if (!space)
		return false;
	memcpy(space, line, len);
	memcpy(space + len, "\r\n", 2);
	return output_commit(&work->output, space, len + 2);
}

/**
 * redis_commit_failure() - commit an error as a reply of a batch
 * @work:	the work
 * @err:	the error of the operation
 *
 * Return: false if there is no memory.
 */
bool redis_commit_failure(struct work *work, int err)
{
	char text[REDIS_ERROR_SIZE];

	redis_reason(work->belt, err, text);
	return write_line(work, text);
}

/**
 * redis_commit_total() - commit the reply of a command of several keys
 * @work:	the work
 * @reply:	the reply to the last of them, with ANSWER_SHORT bytes of space
 * @line:	the reply if none has failed; NULL for their sum
 *
 * Return: false if there is no memory.
 */
bool redis_commit_total(struct work *work, const struct reply *reply, const char *line)
{
	struct redis *redis = redis_of(work);
	int64_t sum = redis->sum;
	bool ok;

	redis->sum = 0;
	if (*redis->failed) {
		ok = write_line(work, redis->failed);
		*redis->failed = '\0';
		return ok;
	}
	return line ? redis_commit(work, reply, line) : redis_commit_number(work, reply, ':', sum);
}

/**
 * redis_commit_value() - commit the value of a get as a reply of a batch
 * @work:	the work
 * @reply:	the reply, with ANSWER_HEAD bytes before the value
 *
 * Return: false if there is no memory.
 */
bool redis_commit_value(struct work *work, const struct reply *reply)
{
	struct counters *counters = &work->service->counters;
	struct hashbelt_item *item = &work->item[reply->item];
	char *value = batch_fetch(work, reply, item), *line;

	count(&counters->cmd_get);
	if (value) {
		count(&counters->get_hits);
		note_length(work->service, item->value_len);
		line = redis_head_before(value, '$', item->value_len);
		memcpy(value + item->value_len, "\r\n", 2);
		return output_commit(&work->output, line, value + item->value_len + 2 - line);
	}
	if (!item->result)
		return false;
	if (item->result != -ENOENT)
		return redis_commit_failure(work, item->result);
	count(&counters->get_misses);
	return redis_commit_nil(work, reply);
}

/* Answers at once */

/**
 * answer_begin() - begin an answer
 * @work:	the work, without replies that wait for their operations
 *
 * Return: the answer.
 */
struct answer answer_begin(struct work *work)
{
	return (struct answer){ .work = work, .version = redis_of(work)->version, .ok = true };
}

static void add(struct answer *answer, const char *bytes, size_t len)
{
	answer->ok = answer->ok && output_text(&answer->work->output, bytes, len);
}

/**
 * answer_line() - add a line
 * @answer:	the answer
 * @line:	the line without its end
 */
void answer_line(struct answer *answer, const char *line)
{
	add(answer, line, strlen(line));
	add(answer, "\r\n", 2);
}

/**
 * answer_number() - add a line with a number
 * @answer:	the answer
 * @type:	':' for a number, '*' for the length of an array
 * @number:	the number
 */
void answer_number(struct answer *answer, char type, int64_t number)
{
	char text[ANSWER_SHORT];

	add(answer, text, redis_number(text, type, number) - text);
}

/**
 * answer_bulk() - add bytes
 * @answer:	the answer
 * @bytes:	the bytes
 * @len:	their number
 */
void answer_bulk(struct answer *answer, const char *bytes, size_t len)
{
	answer_number(answer, '$', len);
	add(answer, bytes, len);
	add(answer, "\r\n", 2);
}

/**
 * answer_text() - add a text
 * @answer:	the answer
 * @text:	the text
 */
void answer_text(struct answer *answer, const char *text)
{
	answer_bulk(answer, text, strlen(text));
}

/**
 * answer_map() - begin a map, in RESP 2 an array
 * @answer:	the answer
 * @pairs:	its pairs, of which both parts are added next
 */
void answer_map(struct answer *answer, unsigned int pairs)
{
	if (answer->version == 3)
		answer_number(answer, '%', pairs);
	else
		answer_number(answer, '*', 2LL * pairs);
}

/**
 * answer_nil() - add that there is no value
 * @answer:	the answer
 */
void answer_nil(struct answer *answer)
{
	answer_line(answer, answer->version == 3 ? "_" : "$-1");
}

/**
 * answer_end() - end an answer
 * @answer:	the answer
 *
 * Return: STARTED or NO_MEMORY.
 */
enum started answer_end(const struct answer *answer)
{
	return answer->ok ? STARTED : NO_MEMORY;
}

/**
 * answer_one() - answer with a line
 * @work:	the work, without replies that wait
 * @line:	the line without its end
 *
 * Return: STARTED or NO_MEMORY.
 */
enum started answer_one(struct work *work, const char *line)
{
	struct answer answer = answer_begin(work);

	answer_line(&answer, line);
	return answer_end(&answer);
}

/**
 * answer_integer() - answer with a number
 * @work:	the work, without replies that wait
 * @number:	the number
 *
 * Return: STARTED or NO_MEMORY.
 */
enum started answer_integer(struct work *work, int64_t number)
{
	struct answer answer = answer_begin(work);

	answer_number(&answer, ':', number);
	return answer_end(&answer);
}

/**
 * answer_error() - answer with an error
 * @work:	the work, without replies that wait
 * @format:	the error with its first word, as for printf()
 *
 * Return: STARTED or NO_MEMORY.
 */
enum started answer_error(struct work *work, const char *format, ...)
{
	char text[REDIS_ERROR_SIZE];
	va_list args;

	va_start(args, format);
	*text = '-';
	vsnprintf(text + 1, sizeof(text) - 1, format, args);
	va_end(args);
	return answer_one(work, text);
}

/**
 * answer_failure() - answer that an operation has failed
 * @work:	the work, without replies that wait
 * @belt:	the belt
 * @err:	the error
 *
 * Return: STARTED or NO_MEMORY.
 */
enum started answer_failure(struct work *work, struct belt *belt, int err)
{
	char text[REDIS_ERROR_SIZE];

	redis_reason(belt, err, text);
	return answer_one(work, text);
}
