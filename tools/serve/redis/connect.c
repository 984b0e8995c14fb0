// SPDX-License-Identifier: GPL-2.0-only
/* Commands about the connection: names, passwords, versions, databases. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "auth.h"
#include "options.h"
#include "commands.h"

/* The version of the server by which clients choose their commands. */
#define REDIS_VERSION	"7.4.0"

/* Bytes of a user and a password. */
#define AUTH_MAX	2048

#define NO_PASSWORD \
	"ERR AUTH <password> called without any password configured for the default user. " \
	"Are you sure your configuration is correct?"
#define WRONG_PASSWORD	"WRONGPASS invalid username-password pair or user is disabled."
#define HELLO_NO_AUTH \
	"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO " \
	"<proto> AUTH <user> <pass> option can be used to authenticate the client and select the " \
	"RESP protocol version at the same time"

/* PING and ECHO. A subscriber gets the answer by RESP 2 as a message. */
enum started redis_ping(struct work *work, struct redis *redis)
{
	struct answer answer;
	struct word text;
	bool is_message;

	if (redis->request.count > 2)
		return redis_say(work, "-ERR wrong number of arguments for 'ping' command");
	is_message = *redis->command->name == 'P' && work->client->subscriptions &&
		     redis->version == 2;
	if (redis->request.count == 1 && !is_message)
		return redis_say(work, "+PONG");
	if (!redis_words(redis, &text, 1))
		text = (struct word){ "", 0 };
	if (work->replies)
		return NOT_STARTED;
	answer = answer_begin(work);
	if (is_message) {
		answer_number(&answer, '*', 2);
		answer_text(&answer, "pong");
	}
	answer_bulk(&answer, text.at, text.len);
	return answer_end(&answer);
}

enum started redis_quit(struct work *work, struct redis *redis)
{
	(void)redis;
	work->client->is_over = true;
	return redis_say(work, "+OK");
}

enum started redis_reset(struct work *work, struct redis *redis)
{
	redis_queue_end(redis);
	redis_channels_end(redis);
	work->client->subscriptions = 0;
	redis->version = 2;
	redis->database = 0;
	*redis->name = '\0';
	work->client->may_ask = !work->service->auth;
	return answer_one(work, "+RESET");
}

/* Reads the argument of SELECT. Return: NULL, or why there is no such database. */
static const char *read_database(const struct work *work, const struct redis *redis,
				 int64_t *number)
{
	struct word word;

	redis_words(redis, &word, 1);
	if (!resp_integer(word.at, word.len, number))
		return ERROR_INTEGER;
	if (*number < 0 || *number >= DATABASES_MAX ||
	    !belts_database(work->service->belts, *number))
		return "-ERR DB index is out of range";
	return NULL;
}

/**
 * redis_ends() - whether the request that was taken is a SELECT that ends the connection
 * @work:	the work
 * @redis:	the client
 *
 * Return: whether.
 */
bool redis_ends(const struct work *work, const struct redis *redis)
{
	int64_t number;

	return redis->command->start == redis_select && read_database(work, redis, &number);
}

/* A database without a belt ends the connection: some clients would go on in another one. */
enum started redis_select(struct work *work, struct redis *redis)
{
	int64_t number;
	const char *error = read_database(work, redis, &number);

	if (!error) {
		redis->database = number;
		return answer_one(work, "+OK");
	}
	work->client->is_over = true;
	work->client->reason = "it selects a database that has no belt: see --database";
	return answer_one(work, error);
}

/* Whether a user and a password are right. @error: returned, if they are not. */
static bool check_user(struct work *work, const struct word *user, const struct word *password,
		       const char **error)
{
	struct counters *counters = &work->service->counters;
	char text[AUTH_MAX];

	*error = WRONG_PASSWORD;
	count(&counters->auth_cmds);
	if (!work->service->auth && redis_is(user, "default"))
		return true;
	/* A blank is the end of a user: no other one may have it. */
	if (work->service->auth && user->len + password->len + 1 <= sizeof(text) &&
	    !memchr(user->at, ' ', user->len)) {
		memcpy(text, user->at, user->len);
		text[user->len] = ' ';
		memcpy(text + user->len + 1, password->at, password->len);
		if (auth_check(work->service->auth, text, user->len + 1 + password->len)) {
			work->client->may_ask = true;
			return true;
		}
	}
	count(&counters->auth_errors);
	return false;
}

enum started redis_auth(struct work *work, struct redis *redis)
{
	struct word words[2] = { { "default", 7 } };
	const char *error;

	if (redis->request.count > 3)
		return answer_one(work, ERROR_SYNTAX);
	if (redis->request.count == 3)
		redis_words(redis, words, 2);
	else
		redis_words(redis, &words[1], 1);
	if (redis->request.count == 2 && !work->service->auth)
		return answer_error(work, NO_PASSWORD);
	if (!check_user(work, &words[0], &words[1], &error))
		return answer_error(work, "%s", error);
	return answer_one(work, "+OK");
}

/* Keeps the name of a client. Return: false if it has bytes that a name may not have. */
static bool set_name(struct redis *redis, const struct word *name)
{
	size_t i;

	for (i = 0; i < name->len; i++)
		if (name->at[i] < '!' || name->at[i] > '~')
			return false;
	snprintf(redis->name, sizeof(redis->name), "%.*s",
		 name->len < REDIS_NAME_MAX ? (int)name->len : REDIS_NAME_MAX - 1, name->at);
	return true;
}

#define BAD_NAME	"ERR Client names cannot contain spaces, newlines or special characters."

/* The options of HELLO behind its version. Return: an error, or NULL. */
static const char *hello_options(struct work *work, struct redis *redis, const struct word *words,
				 unsigned int words_count)
{
	const char *error;
	unsigned int i;

	for (i = 1; i < words_count; i++) {
		if (redis_is(&words[i], "auth") && i + 2 < words_count) {
			if (!check_user(work, &words[i + 1], &words[i + 2], &error))
				return error;
			i += 2;
		} else if (redis_is(&words[i], "setname") && i + 1 < words_count) {
			if (!set_name(redis, &words[++i]))
				return BAD_NAME;
		} else {
			return "ERR syntax error in HELLO option";
		}
	}
	return work->client->may_ask ? NULL : HELLO_NO_AUTH;
}

enum started redis_hello(struct work *work, struct redis *redis)
{
	struct word words[REDIS_WORDS];
	unsigned int words_count = redis_words(redis, words, REDIS_WORDS);
	int64_t version = redis->version;
	struct answer answer;
	const char *error;

	if (words_count && !resp_integer(words[0].at, words[0].len, &version))
		return answer_error(work,
				    "ERR Protocol version is not an integer or out of range");
	if (version < 2 || version > 3)
		return answer_error(work, "NOPROTO unsupported protocol version");
	error = hello_options(work, redis, words, words_count);
	if (error)
		return answer_error(work, "%s", error);
	redis->version = version;
	answer = answer_begin(work);
	answer_map(&answer, 7);
	answer_text(&answer, "server");
	answer_text(&answer, "hbserve");
	answer_text(&answer, "version");
	answer_text(&answer, REDIS_VERSION);
	answer_text(&answer, "proto");
	answer_number(&answer, ':', version);
	answer_text(&answer, "id");
	answer_number(&answer, ':', redis->id);
	answer_text(&answer, "mode");
	answer_text(&answer, "standalone");
	answer_text(&answer, "role");
	answer_text(&answer, "master");
	answer_text(&answer, "modules");
	answer_number(&answer, '*', 0);
	return answer_end(&answer);
}

/* The names of libraries are taken, and not kept. */
static enum started client_setinfo(struct work *work, const struct word *words)
{
	if (!redis_is(&words[1], "lib-name") && !redis_is(&words[1], "lib-ver"))
		return answer_error(work, "ERR Unrecognized option '%.*s'",
				    words[1].len < 64 ? (int)words[1].len : 64, words[1].at);
	return answer_one(work, "+OK");
}

enum started redis_client(struct work *work, struct redis *redis)
{
	struct word words[3];
	unsigned int words_count = redis_words(redis, words, 3);
	struct answer answer = answer_begin(work);

	if (redis_is(&words[0], "setinfo") && words_count == 3)
		return client_setinfo(work, words);
	if (redis_is(&words[0], "setname") && words_count == 2)
		return set_name(redis, &words[1]) ? answer_one(work, "+OK") :
						    answer_error(work, BAD_NAME);
	if (redis_is(&words[0], "id") && words_count == 1)
		return answer_integer(work, redis->id);
	if (!redis_is(&words[0], "getname") || words_count != 1)
		return answer_error(work, "ERR unknown subcommand '%.*s'. Try CLIENT HELP.",
				    words[0].len < 64 ? (int)words[0].len : 64, words[0].at);
	if (*redis->name)
		answer_text(&answer, redis->name);
	else
		answer_nil(&answer);
	return answer_end(&answer);
}

enum started redis_time(struct work *work, struct redis *redis)
{
	struct answer answer = answer_begin(work);
	struct timespec now;
	char text[24];

	(void)redis;
	clock_gettime(CLOCK_REALTIME, &now);
	answer_number(&answer, '*', 2);
	snprintf(text, sizeof(text), "%lld", (long long)now.tv_sec);
	answer_text(&answer, text);
	snprintf(text, sizeof(text), "%ld", now.tv_nsec / 1000);
	answer_text(&answer, text);
	return answer_end(&answer);
}

/* A line for each database. Nothing counts the entries that expire. Return: their length. */
static int write_databases(struct work *work, char *text, size_t size)
{
	struct hashbelt_info info;
	struct belt *belt;
	unsigned int i;
	int len = 0;

	for (i = 0; i < DATABASES_MAX; i++) {
		belt = belts_database(work->service->belts, i);
		if (belt && !belt_info(belt, &info))
			len += snprintf(text + len, size - len,
					"db%u:keys=%llu,expires=0,avg_ttl=0\r\n", i,
					info.entries);
	}
	return len;
}

/* The lines of INFO. Return: their length. */
static int write_info(struct work *work, struct redis *redis, char *text, size_t size)
{
	struct service *service = work->service;
	__u64 stats[HASHBELT_STAT_COUNT] = { 0 };
	struct server_figures figures;
	struct hashbelt_info info;
	uint64_t sums[COUNTERS_COUNT];
	struct counters *sum = (struct counters *)sums;
	int len;

	service->calls->figures(service->owner, &figures);
	service->calls->sum_counters(service->owner, sums);
	belt_info(redis_belt(work, redis), &info);
	belt_stat(redis_belt(work, redis), stats);
	len = snprintf(text, size,
		       "# Server\r\nredis_version:" REDIS_VERSION "\r\nredis_mode:standalone\r\n"
		       "hbserve_version:" VERSION "\r\nhbserve_belt:%s\r\n"
		       "uptime_in_seconds:%llu\r\n\r\n"
		       "# Clients\r\nconnected_clients:%llu\r\n\r\n"
		       "# Memory\r\nused_memory:%llu\r\nmaxmemory:%llu\r\n\r\n"
		       "# Persistence\r\nloading:0\r\n\r\n"
		       "# Stats\r\ntotal_connections_received:%llu\r\n"
		       "expired_keys:%llu\r\nevicted_keys:%llu\r\n"
		       "keyspace_hits:%llu\r\nkeyspace_misses:%llu\r\n\r\n"
		       "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n"
		       "# Keyspace\r\n",
		       belt_name(redis_belt(work, redis)), (unsigned long long)figures.started,
		       (unsigned long long)figures.connections, info.bytes, info.max_bytes,
		       (unsigned long long)figures.total, stats[HASHBELT_STAT_EXPIRED],
		       stats[HASHBELT_STAT_EVICTED] + stats[HASHBELT_STAT_PRESSURE],
		       (unsigned long long)sum->get_hits, (unsigned long long)sum->get_misses);
	return len + write_databases(work, text + len, size - len);
}

/* All sections: clients look for lines. */
enum started redis_info(struct work *work, struct redis *redis)
{
	struct answer answer = answer_begin(work);
	char text[2048];
	int len = write_info(work, redis, text, sizeof(text));

	answer_bulk(&answer, text, len);
	return answer_end(&answer);
}
