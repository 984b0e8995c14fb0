// SPDX-License-Identifier: GPL-2.0-only
/*
 * Answers and messages of Redis, in RESP2. hiredis parses it; here are the limits that it does not
 * have, and the meaning. A server may send anything: each part is looked at before it is used.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "redis_reply.h"

/* The functions that make replies: hiredis' own, and the same but for arrays. */
static redisReplyObjectFunctions own, makers;

#if HIREDIS_MAJOR >= 1
#define PARTS	size_t
#else
#define PARTS	int
#endif

/*
 * hiredis would allocate as many places as the server says. And hiredis 1 takes arrays in arrays
 * of any depth, and frees them by recursion, which would overflow the stack. NULL stands for out
 * of memory.
 */
static void *make_bounded(const struct redisReadTask *task, PARTS parts)
{
	const struct redisReadTask *outer = task->parent;
	int depth = 1;

	for (; outer; outer = outer->parent)
		depth++;
	if (parts > REPLY_PARTS_MAX || depth > REPLY_DEPTH_MAX)
		return NULL;
	return own.createArray(task, parts);
}

/**
 * reply_reader() - make a parser
 *
 * Return: the parser, to be freed by redisReaderFree(); NULL if there is no memory.
 */
redisReader *reply_reader(void)
{
	redisReader *reader = redisReaderCreate();

	if (!reader)
		return NULL;
	if (!own.createArray) {
		own = *reader->fn;
		makers = own;
		makers.createArray = make_bounded;
	}
	reader->fn = &makers;
	return reader;
}

/**
 * reply_is_too_long() - whether a reply has more bytes than any that makes sense
 * @reader:	a parser from which all whole replies were taken
 *
 * Return: whether it has.
 */
bool reply_is_too_long(const redisReader *reader)
{
	return reader->len - reader->pos > REPLY_BYTES_MAX;
}

static bool is_text(const redisReply *reply, const char *text)
{
	return (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS) &&
	       (size_t)reply->len == strlen(text) && !memcmp(reply->str, text, reply->len);
}

static bool is_array(const redisReply *reply, size_t least)
{
	return reply->type == REDIS_REPLY_ARRAY && reply->elements >= least;
}

/**
 * reply_hello() - read the answer to HELLO 2
 * @reply:	the answer: names and values
 * @hello:	returned: what it says
 *
 * Return: whether it has the number of the connection and the role.
 */
bool reply_hello(const redisReply *reply, struct reply_hello *hello)
{
	bool has_id = false, has_role = false;
	const redisReply *value;
	size_t i;

	*hello = (struct reply_hello){ 0 };
	if (!is_array(reply, 2))
		return false;
	for (i = 0; i + 1 < reply->elements; i += 2) {
		value = reply->element[i + 1];
		if (is_text(reply->element[i], "id") && value->type == REDIS_REPLY_INTEGER) {
			has_id = true;
			hello->id = value->integer;
		} else if (is_text(reply->element[i], "role")) {
			has_role = true;
			hello->is_replica = !is_text(value, "master");
		} else if (is_text(reply->element[i], "mode")) {
			hello->is_cluster = is_text(value, "cluster");
		}
	}
	return has_id && has_role;
}

/* The value of a line "NAME:VALUE" of INFO, and its length; NULL if there is none. */
static const char *info_value(const redisReply *reply, const char *name, size_t *len)
{
	const char *line = reply->str, *end = line + reply->len;
	size_t name_len = strlen(name);

	while (line && end - line > (ptrdiff_t)name_len) {
		if (!memcmp(line, name, name_len) && line[name_len] == ':') {
			line += name_len + 1;
			*len = strcspn(line, "\r\n");
			return line;
		}
		line = memchr(line, '\n', end - line);
		line = line ? line + 1 : NULL;
	}
	return NULL;
}

static bool is_value(const redisReply *reply, const char *name, const char *text)
{
	size_t len = 0;
	const char *value = info_value(reply, name, &len);

	return value && len == strlen(text) && !memcmp(value, text, len);
}

/**
 * reply_run() - read the answer to INFO server
 * @reply:	the answer: lines NAME:VALUE
 * @run:	returned: the number of the server's run, which no other server has; space for
 *		REPLY_RUN_SIZE bytes
 *
 * Return: whether it has that number.
 */
bool reply_run(const redisReply *reply, char *run)
{
	const char *value;
	size_t len;

	if (reply->type != REDIS_REPLY_STRING)
		return false;
	value = info_value(reply, "run_id", &len);
	if (!value || !len || len >= REPLY_RUN_SIZE)
		return false;
	memcpy(run, value, len);
	run[len] = '\0';
	return true;
}

/**
 * reply_replication() - read the answer to INFO replication
 * @reply:	the answer: lines NAME:VALUE
 * @replication: returned: what it says
 *
 * Return: whether it has the role and, of a replica, the state of its link.
 */
bool reply_replication(const redisReply *reply, struct reply_replication *replication)
{
	const char *silence;
	size_t len;

	*replication = (struct reply_replication){ .silence = -1 };
	if (reply->type != REDIS_REPLY_STRING)
		return false;
	if (is_value(reply, "role", "master"))
		return true;
	replication->is_replica = info_value(reply, "role", &len);
	if (!replication->is_replica || !info_value(reply, "master_link_status", &len))
		return false;
	replication->is_linked = is_value(reply, "master_link_status", "up");
	silence = info_value(reply, "master_last_io_seconds_ago", &len);
	if (!silence || !isdigit((unsigned char)*silence))
		return true;
	replication->silence = strtol(silence, NULL, 10);
	if (replication->silence > REPLY_SILENCE_MAX)
		replication->silence = REPLY_SILENCE_MAX;
	return true;
}

/**
 * reply_is_subscribed() - read the answer to SUBSCRIBE
 * @reply:	the answer
 *
 * Return: whether the channel is REPLY_CHANNEL.
 */
bool reply_is_subscribed(const redisReply *reply)
{
	return is_array(reply, 3) && is_text(reply->element[0], "subscribe") &&
	       is_text(reply->element[1], REPLY_CHANNEL);
}

static bool are_keys(const redisReply *reply)
{
	size_t i;

	for (i = 0; i < reply->elements; i++)
		if (reply->element[i]->type != REDIS_REPLY_STRING)
			return false;
	return true;
}

/**
 * reply_told() - read what a subscriber is told
 * @reply:	a message, or the answer to PING
 * @keys:	returned if keys have changed: an array of them
 *
 * Return: what it is.
 */
enum reply_told reply_told(const redisReply *reply, const redisReply **keys)
{
	if (is_array(reply, 2) && is_text(reply->element[0], "pong"))
		return TOLD_PONG;
	if (!is_array(reply, 3) || !is_text(reply->element[0], "message") ||
	    !is_text(reply->element[1], REPLY_CHANNEL))
		return TOLD_WRONG;
	*keys = reply->element[2];
	switch ((*keys)->type) {
	case REDIS_REPLY_NIL:
		return TOLD_ALL;
	case REDIS_REPLY_ARRAY:
		return are_keys(*keys) ? TOLD_KEYS : TOLD_WRONG;
	case REDIS_REPLY_STRING:
		return TOLD_NOTHING;
	default:
		return TOLD_WRONG;
	}
}

/**
 * reply_error() - the text of an error
 * @reply:	a reply
 *
 * Return: the text; NULL if it is no error.
 */
const char *reply_error(const redisReply *reply)
{
	return reply->type == REDIS_REPLY_ERROR ? reply->str : NULL;
}
