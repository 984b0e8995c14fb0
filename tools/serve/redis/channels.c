// SPDX-License-Identifier: GPL-2.0-only
/*
 * SUBSCRIBE, PSUBSCRIBE and the end of both. The channels are those of the keys that expire, one
 * for each database. A pattern is the name of one, or stands for all of them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "commands.h"
#include "feed.h"
#include "refused.h"

/* Bytes of the name of a channel. */
#define NAME_SIZE	32

/* The pattern that stands for all channels has the bit behind those of the databases. */
#define ALL		DATABASES_MAX
#define ALL_PATTERN	"__keyevent@*__:expired"

#define NO_CHANNEL \
	"ERR there is no such channel: hbserve has __keyevent@N__:expired, N being a database"

static const char *name_of(unsigned int number, char *name)
{
	if (number == ALL)
		return ALL_PATTERN;
	snprintf(name, NAME_SIZE, "__keyevent@%u__:expired", number);
	return name;
}

static bool has_database(const struct service *service, unsigned int number)
{
	return belts_database(service->belts, number);
}

/* The number of a channel, or of a pattern. Return: ALL + 1 if there is none. */
static unsigned int find_channel(const struct service *service, const struct word *word,
				 bool is_pattern)
{
	unsigned int number, most = is_pattern ? ALL : ALL - 1;
	char space[NAME_SIZE];
	const char *name;

	for (number = 0; number <= most; number++) {
		name = name_of(number, space);
		if (word->len == strlen(name) && !memcmp(word->at, name, word->len))
			break;
	}
	return number > most || (number < ALL && !has_database(service, number)) ? ALL + 1 :
										   number;
}

/* Ends a subscription, or the part of it for databases before @most. */
static void leave(struct service *service, unsigned int number, unsigned int most)
{
	unsigned int i;

	if (number < ALL) {
		service->calls->leave(service->owner, number);
		return;
	}
	for (i = 0; i < most; i++)
		if (has_database(service, i))
			service->calls->leave(service->owner, i);
}

/* Begins a subscription. @failed: returned after an error: the database. */
static int join(struct service *service, unsigned int number, unsigned int *failed)
{
	unsigned int i, end = number < ALL ? number + 1 : ALL;
	int err;

	for (i = number < ALL ? number : 0; i < end; i++) {
		if (!has_database(service, i))
			continue;
		err = service->calls->join(service->owner, i);
		if (err) {
			if (number == ALL)
				leave(service, ALL, i);
			*failed = i;
			return err;
		}
	}
	return 0;
}

/* Ends the subscriptions whose bits are set. */
static void leave_all(struct service *service, uint32_t bits)
{
	unsigned int i;

	for (i = 0; i <= ALL; i++)
		if (bits >> i & 1)
			leave(service, i, DATABASES_MAX);
}

static bool is_for_patterns(const struct redis *redis)
{
	return *redis->command->name == 'P';
}

static uint32_t *bits_of(struct redis *redis)
{
	return is_for_patterns(redis) ? &redis->patterns : &redis->channels;
}

static unsigned int subscriptions_of(const struct redis *redis)
{
	return __builtin_popcount(redis->channels) + __builtin_popcount(redis->patterns);
}

/* A message, in RESP 2 an array. */
static void begin_message(struct answer *answer, unsigned int parts)
{
	answer_number(answer, answer->version == 3 ? '>' : '*', parts);
}

/* Tells of a subscription, or of its end. @name: NULL for none. */
static void confirm(struct answer *answer, struct redis *redis, const struct word *name)
{
	char kind[16];
	unsigned int i;

	for (i = 0; redis->command->name[i]; i++)
		kind[i] = redis->command->name[i] | 0x20;
	begin_message(answer, 3);
	answer_bulk(answer, kind, i);
	if (name)
		answer_bulk(answer, name->at, name->len);
	else
		answer_nil(answer);
	answer_number(answer, ':', subscriptions_of(redis));
}

/* Refuses a subscription to a channel that does not exist, or whose belt does not tell. */
static enum started refuse(struct work *work, struct redis *redis, unsigned int database, int err)
{
	const char *at = redis->request.args;
	char text[REDIS_ERROR_SIZE];
	struct belt *belt;
	struct word name;

	resp_next(&at, &name);
	if (!err) {
		refused_log(redis, work->client->fd, &name, NULL);
		return answer_error(work, NO_CHANNEL);
	}
	belt = belts_database(work->service->belts, database);
	if (err == -ENODATA)
		snprintf(text, sizeof(text),
			 "-ERR belt %s does not tell what expires: 'hbctl set %s --on-expire notify' lets it",
			 belt_name(belt), belt_name(belt));
	else if (err == -EPERM)
		snprintf(text, sizeof(text), "-NOPERM no right to take the events of belt %s",
			 belt_name(belt));
	else
		redis_reason(belt, err, text);
	refused_log(redis, work->client->fd, &name, strchr(text, ' ') + 1);
	return answer_one(work, text);
}

/* Begins all subscriptions of a request, or none. Return: 0, or an error of the @failed one. */
static int join_each(struct work *work, struct redis *redis, uint32_t *added,
		     unsigned int *failed)
{
	const char *at = redis->request.args;
	uint32_t *bits = bits_of(redis);
	struct word word;
	unsigned int number;
	uint32_t i;
	int err;

	resp_next(&at, &word);
	for (i = 1; i < redis->request.count; i++) {
		resp_next(&at, &word);
		number = find_channel(work->service, &word, is_for_patterns(redis));
		*failed = number;
		if (number > ALL)
			return 0;
		if ((*bits | *added) >> number & 1)
			continue;
		err = join(work->service, number, failed);
		if (err)
			return err;
		*added |= 1U << number;
	}
	*failed = 0;
	return 0;
}

/* SUBSCRIBE and PSUBSCRIBE. */
enum started redis_subscribe(struct work *work, struct redis *redis)
{
	struct answer answer = answer_begin(work);
	const char *at = redis->request.args;
	unsigned int failed;
	uint32_t added = 0, i;
	struct word word;
	int err = join_each(work, redis, &added, &failed);

	if (err || failed > ALL) {
		leave_all(work->service, added);
		return refuse(work, redis, failed, err);
	}
	resp_next(&at, &word);
	for (i = 1; i < redis->request.count; i++) {
		resp_next(&at, &word);
		*bits_of(redis) |= 1U << find_channel(work->service, &word,
						      is_for_patterns(redis));
		confirm(&answer, redis, &word);
	}
	work->client->subscriptions = subscriptions_of(redis);
	return answer_end(&answer);
}

/* Ends a subscription, if there is one. */
static void unsubscribe(struct redis *redis, unsigned int number)
{
	uint32_t *bits = bits_of(redis);

	if (number > ALL || !(*bits >> number & 1))
		return;
	leave(redis->service, number, DATABASES_MAX);
	*bits &= ~(1U << number);
}

static void unsubscribe_all(struct answer *answer, struct redis *redis)
{
	unsigned int number;
	char space[NAME_SIZE];

	if (!*bits_of(redis))
		confirm(answer, redis, NULL);
	for (number = 0; number <= ALL; number++) {
		const char *name = name_of(number, space);

		if (!(*bits_of(redis) >> number & 1))
			continue;
		unsubscribe(redis, number);
		confirm(answer, redis, &(struct word){ name, strlen(name) });
	}
}

/* UNSUBSCRIBE and PUNSUBSCRIBE. */
enum started redis_unsubscribe(struct work *work, struct redis *redis)
{
	struct answer answer = answer_begin(work);
	const char *at = redis->request.args;
	struct word word;
	uint32_t i;

	if (redis->request.count == 1)
		unsubscribe_all(&answer, redis);
	resp_next(&at, &word);
	for (i = 1; i < redis->request.count; i++) {
		resp_next(&at, &word);
		unsubscribe(redis, find_channel(work->service, &word, is_for_patterns(redis)));
		confirm(&answer, redis, &word);
	}
	work->client->subscriptions = subscriptions_of(redis);
	return answer_end(&answer);
}

/**
 * redis_channels_end() - end all subscriptions of a client
 * @redis:	the client
 */
void redis_channels_end(struct redis *redis)
{
	leave_all(redis->service, redis->channels);
	leave_all(redis->service, redis->patterns);
	redis->channels = 0;
	redis->patterns = 0;
}

/* Messages */

static bool push_bulk(struct pushes *pushes, const char *bytes, size_t len)
{
	char text[ANSWER_SHORT];

	return pushes_add(pushes, text, redis_number(text, '$', len) - text) &&
	       pushes_add(pushes, bytes, len) && pushes_add(pushes, "\r\n", 2);
}

/* Adds a message. @pattern: NULL for one of SUBSCRIBE. */
static bool push(struct client *client, const char *pattern, unsigned int database,
		 const struct word *key)
{
	struct redis *redis = client->state;
	struct pushes *pushes = &client->pushes;
	char space[NAME_SIZE], text[ANSWER_SHORT];
	const char *channel = name_of(database, space);
	char *end = redis_number(text, redis->version == 3 ? '>' : '*', pattern ? 4 : 3);

	return pushes_add(pushes, text, end - text) &&
	       (pattern ? push_bulk(pushes, "pmessage", 8) &&
			  push_bulk(pushes, pattern, strlen(pattern)) :
			  push_bulk(pushes, "message", 7)) &&
	       push_bulk(pushes, channel, strlen(channel)) &&
	       push_bulk(pushes, key->at, key->len);
}

/* Adds the messages about a key that has expired in a database. */
static bool push_all(struct client *client, unsigned int database, const struct word *key)
{
	const struct redis *redis = client->state;
	char space[NAME_SIZE];

	return (!(redis->channels >> database & 1) || push(client, NULL, database, key)) &&
	       (!(redis->patterns >> database & 1) ||
		push(client, name_of(database, space), database, key)) &&
	       (!(redis->patterns >> ALL & 1) || push(client, ALL_PATTERN, database, key));
}

/**
 * redis_channels_deliver() - as @deliver of struct protocol
 * @client:	the client
 * @records:	the records
 * @len:	their length
 *
 * Return: false if too many messages wait for the client.
 */
bool redis_channels_deliver(struct client *client, const char *records, size_t len)
{
	const struct redis *redis = client->state;
	const struct service *service = redis->service;
	const char *at = records, *key;
	struct feed_record record;
	unsigned int i;

	while (at < records + len) {
		key = feed_next(at, &record);
		at = key + record.key_len;
		for (i = 0; i < DATABASES_MAX; i++)
			if (has_database(service, i) &&
			    feed_source(service->options, i) == record.source &&
			    !push_all(client, i, &(struct word){ key, record.key_len }))
				return false;
	}
	return true;
}
