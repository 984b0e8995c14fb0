// SPDX-License-Identifier: GPL-2.0-only
/*
 * The protocol of Redis: requests are taken, queued by MULTI, and started.
 *
 * An inline command and each command that answers at once is carried out alone: then no reply waits
 * for its operation. All others share batches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "commands.h"
#include "log.h"
#include "refused.h"

/* Arguments of a request, as Redis. */
#define ARGUMENTS_MAX	(1024 * 1024)

/* Bytes of a request. */
#define REQUEST_MAX	(8 * 1024 * 1024)

static const struct resp_limits plain = {
	.count = ARGUMENTS_MAX, .bulk = HASHBELT_VALUE_MAX, .all = REQUEST_MAX,
};

/* The limits of a client that has to name a user first; those of Redis. */
static const struct resp_limits stranger = {
	.count = 10, .bulk = 16384, .all = 10 * 16384, .is_strict = true,
};

#define TOO_LONG	"-ERR the request is too long: a value has at most 1048576 bytes"
#define ONLY_SUBSCRIBED \
	"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
#define NO_AUTH		"-NOAUTH Authentication required."

/* Clients that have come so far. */
static uint64_t clients;

static struct redis *begin_client(struct client *client, struct service *service)
{
	struct redis *redis = calloc(1, sizeof(*redis));

	if (!redis) {
		client->reason = "there is no memory";
		return NULL;
	}
	redis->version = 2;
	redis->service = service;
	redis->id = __atomic_add_fetch(&clients, 1, __ATOMIC_RELAXED);
	client->state = redis;
	return redis;
}

static void end_client(struct client *client)
{
	struct redis *redis = client->state;

	if (!redis)
		return;
	redis_channels_end(redis);
	free(redis->queue.bytes);
	free(redis->line);
	free(redis);
}

/* Names an unknown command with its arguments, as Redis does. */
static void refuse_unknown(struct redis *redis, struct client *client, const struct word *name)
{
	const char *at = redis->request.args;
	char *to = redis->error, *end = to + sizeof(redis->error) - 1;
	struct word word;
	uint32_t i;

	to += snprintf(to, end - to, "-ERR unknown command '%.*s', with args beginning with: ",
		       name->len < 128 ? (int)name->len : 128, name->at);
	resp_next(&at, &word);
	for (i = 1; i < redis->request.count && end - to > 4; i++) {
		resp_next(&at, &word);
		if (word.len > (size_t)(end - to) - 4)
			word.len = end - to - 4;
		*to++ = '\'';
		to = mempcpy(to, word.at, word.len);
		to = mempcpy(to, "' ", 2);
	}
	*to = '\0';
	for (to = redis->error; to < end && *to; to++)
		if (*to == '\r' || *to == '\n')
			*to = ' ';
	refused_log(redis, client->fd, name, NULL);
}

/* Writes an error whose text has the name of the command, in small letters, in its middle. */
static void refuse_named(struct redis *redis, const char *before, const char *behind)
{
	const char *name = redis->command->name;
	char *to = stpcpy(redis->error, before);

	for (; *name; name++)
		*to++ = *name >= 'A' && *name <= 'Z' ? *name | 0x20 : *name;
	strcpy(to, behind);
}

/* By RESP 2 a subscriber could take a message for a reply. EXEC has let its commands pass. */
static bool is_listening(const struct redis *redis, const struct client *client)
{
	return client->subscriptions && redis->version == 2 && !redis->in_exec &&
	       !(redis->command->flags & REDIS_SUBSCRIBED);
}

static bool has_arity(const struct redis *redis)
{
	int arity = redis->command->arity, count = redis->request.count;

	return arity < 0 ? count >= -arity : count == arity;
}

/* Whether a word is a name in capitals, in any letters: a small one differs in one bit. */
static bool is_name(const struct word *word, const char *name)
{
	size_t i;

	for (i = 0; i < word->len; i++)
		if (!name[i] || (word->at[i] ^ name[i]) & ~0x20)
			return false;
	return !name[i];
}

/* A client sends few commands, again and again. */
static const struct redis_command *find(struct redis *redis, const struct word *name)
{
	const struct redis_command **known;

	known = &redis->known[(name->len ^ (unsigned char)*name->at) % REDIS_KNOWN];
	if (!*known || !is_name(name, (*known)->name))
		*known = redis_find(name);
	return *known;
}

/* Finds the command of the request that was taken, or its error. */
static void prepare(struct redis *redis, struct client *client)
{
	const struct word *name = &redis->request.name;

	redis->command = NULL;
	redis->rest = NULL;
	*redis->error = '\0';
	if (redis->request.is_dropped) {
		strcpy(redis->error, TOO_LONG);
	} else if (redis->request.count) {
		redis->command = find(redis, name);
		if (!redis->command)
			refuse_unknown(redis, client, name);
		else if (!has_arity(redis))
			refuse_named(redis, "-ERR wrong number of arguments for '", "' command");
		else if (!client->may_ask && !(redis->command->flags & REDIS_NO_AUTH))
			strcpy(redis->error, NO_AUTH);
		else if (is_listening(redis, client))
			refuse_named(redis, "-ERR Can't execute '", ONLY_SUBSCRIBED);
	}
	if (*redis->error && redis->in_multi)
		redis->is_dirty = true;
}

/* Turns an inline command into an array. Return: false if there is no memory. */
static bool take_line(struct redis *redis)
{
	struct resp_request *request = &redis->request;
	size_t len = request->end - request->args, size;

	redis->line = malloc((len + 1) * RESP_INLINE_GROWTH);
	if (!redis->line)
		return false;
	if (resp_inline(request->args, len, redis->line, &size, &request->count)) {
		request->args = redis->line;
		request->end = redis->line + size;
		resp_first(request);
		return true;
	}
	request->count = 0;
	redis->is_last = true;
	strcpy(redis->error, "-ERR Protocol error: unbalanced quotes in request");
	return true;
}

/* The protocol is broken: the client is told so, behind the replies before that. */
static enum parsed take_broken(struct redis *redis, struct client *client)
{
	redis->command = NULL;
	redis->is_last = true;
	redis->request.count = 0;
	*redis->error = '\0';
	client->reason = "it sends no request of the protocol of Redis";
	if (redis->request.error)
		snprintf(redis->error, sizeof(redis->error), "-%s", redis->request.error);
	return PARSED_REQUEST;
}

/* Takes the next request of the queue that EXEC carries out. */
static enum parsed take_queued(struct redis *redis, struct client *client)
{
	struct redis_queue *queue = &redis->queue;
	struct resp_place place = { 0 };

	resp_parse(queue->bytes + queue->at, queue->len - queue->at, &plain, &place,
		   &redis->request);
	queue->at += redis->request.size;
	prepare(redis, client);
	return PARSED_REQUEST;
}

/* Takes the next request that the client has sent. */
static enum parsed take_sent(struct work *work, struct redis *redis, struct client *client,
			     const struct resp_limits *limits)
{
	const char *text = work->text + work->used;
	size_t len = work->len - work->used;
	enum parsed parsed;

	client->need = 0;
	if (!len)
		return PARSED_PART;
	parsed = resp_parse(text, len, limits, &redis->place, &redis->request);
	if (parsed == PARSED_PART) {
		work->used += redis->request.dropped;
		client->need = redis->request.size;
		return PARSED_PART;
	}
	if (parsed == PARSED_CLOSE)
		return take_broken(redis, client);
	/* Its arguments are in memory of their own, of which there is one. */
	if (redis->request.is_inline && work->replies)
		return PARSED_LATER;
	work->used += redis->request.size;
	if (redis->request.is_inline && !take_line(redis)) {
		client->reason = "there is no memory";
		return PARSED_CLOSE;
	}
	if (!redis->is_last)
		prepare(redis, client);
	return PARSED_REQUEST;
}

static enum parsed take(struct work *work, struct client *client)
{
	struct redis *redis = client->state ?: begin_client(client, work->service);

	if (!redis)
		return PARSED_CLOSE;
	if (redis->in_exec && redis->queue.at < redis->queue.len)
		return take_queued(redis, client);
	/* Operations and their replies use the bytes of their requests. */
	if ((redis->line || redis->in_exec) && work->replies)
		return PARSED_LATER;
	if (redis->line)
		free(redis->line);
	redis->line = NULL;
	if (redis->in_exec)
		redis_queue_end(redis);
	return take_sent(work, redis, client, client->may_ask ? &plain : &stranger);
}

static void log_request(const struct redis *redis)
{
	const struct word *key = &redis->request.key;

	if (log_level() < LOG_REQUESTS || redis->rest)
		return;
	if (redis->command->first && key->at)
		log_line(LOG_REQUESTS, "request: %s %.*s", redis->command->name, (int)key->len,
			 key->at);
	else
		log_line(LOG_REQUESTS, "request: %s", redis->command->name);
}

/* Answers the error of a request. */
static enum started start_refused(struct work *work, struct redis *redis)
{
	enum started started = STARTED;

	if (work->replies)
		return NOT_STARTED;
	if (*redis->error)
		started = answer_one(work, redis->error);
	if (redis->is_last)
		work->client->is_over = true;
	return started;
}

static enum started start(struct work *work, struct client *client)
{
	struct redis *redis = client->state;
	const struct redis_command *command = redis->command;

	if (!batch_has_room(work))
		return NOT_STARTED;
	if (*redis->error || redis->is_last)
		return start_refused(work, redis);
	if (!redis->request.count)
		return STARTED;
	/* One that would end EXEC in the middle ends the connection before that. */
	if (redis->in_multi && !(command->flags & REDIS_NO_QUEUE) && !redis_ends(work, redis))
		return redis_queue_add(work, redis);
	if (command->flags & REDIS_ALONE && work->replies)
		return NOT_STARTED;
	log_request(redis);
	return command->start(work, redis);
}

const struct protocol protocol_redis = {
	.name = "redis",
	.too_many = "-ERR max number of clients reached\r\n",
	.take = take,
	.start = start,
	.deliver = redis_channels_deliver,
	.end = end_client,
};
