// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of commands. COMMAND, "hbserve --list-commands" and the table of the manual page come
 * from it.
 */
#include <stdio.h>
#include <string.h>

#include "array_size.h"
#include "commands.h"

#define WRITE	REDIS_WRITE
#define READ	REDIS_READ
#define ADMIN	REDIS_ADMIN
#define READ_ALONE (REDIS_READ | REDIS_ALONE)
#define WRITE_ALONE (REDIS_WRITE | REDIS_ALONE)
#define ALONE	(REDIS_ADMIN | REDIS_ALONE)
#define FIRST	(REDIS_ADMIN | REDIS_ALONE | REDIS_NO_AUTH)
#define CHANNEL	(REDIS_ADMIN | REDIS_ALONE | REDIS_SUBSCRIBED)

/* In the order of their names. */
static const struct redis_command rows[] = {
	{ "APPEND", 3, WRITE, 1, 1, 1, "KEY TEXT", "put the text behind the value", redis_append },
	{ "AUTH", -2, FIRST, 0, 0, 0, "[USER] PASSWORD", "name a user of --auth-file", redis_auth },
	{ "CLIENT", -2, ALONE, 0, 0, 0, "ID|GETNAME|SETNAME|SETINFO ...",
	  "the number and the name of the connection", redis_client },
	{ "COMMAND", -1, ALONE, 0, 0, 0, "[COUNT|LIST|DOCS|INFO ...]", "list these commands",
	  redis_list_commands },
	{ "DBSIZE", 1, READ_ALONE, 0, 0, 0, "", "count the entries", redis_dbsize },
	{ "DECR", 2, WRITE, 1, 1, 1, "KEY", "subtract 1 from a number", redis_count_up },
	{ "DECRBY", 3, WRITE, 1, 1, 1, "KEY NUMBER", "subtract from a number", redis_count_by },
	{ "DEL", -2, WRITE, 1, -1, 1, "KEY ...", "remove entries", redis_del },
	{ "DELEX", -2, WRITE, 1, 1, 1, "KEY [IFEQ|IFNE VALUE]",
	  "remove an entry by its value", redis_delex },
	{ "DELIFEQ", 3, WRITE, 1, 1, 1, "KEY VALUE", "remove an entry with this value",
	  redis_delifeq },
	{ "DISCARD", 1, ADMIN | REDIS_NO_QUEUE, 0, 0, 0, "", "forget the commands behind MULTI",
	  redis_discard },
	{ "ECHO", 2, ADMIN, 0, 0, 0, "TEXT", "answer with the text", redis_ping },
	{ "EVAL", -3, WRITE_ALONE, 0, 0, 0, "SCRIPT NUMBER KEY ... ARGUMENT ...",
	  "carry out a script of a known library", redis_eval },
	{ "EVALSHA", -3, WRITE_ALONE, 0, 0, 0, "DIGEST NUMBER KEY ... ARGUMENT ...",
	  "the same by its digest", redis_evalsha },
	{ "EXEC", 1, ADMIN | REDIS_NO_QUEUE, 0, 0, 0, "", "carry out the commands behind MULTI",
	  redis_exec },
	{ "EXISTS", -2, READ, 1, -1, 1, "KEY ...", "count the keys that are there", redis_exists },
	{ "EXPIRE", -3, WRITE, 1, 1, 1, "KEY SECONDS [NX|XX|GT|LT]", "set the time-to-live",
	  redis_expire },
	{ "EXPIREAT", -3, WRITE, 1, 1, 1, "KEY UNIX-SECONDS [NX|XX|GT|LT]",
	  "set the time of expiry", redis_expire },
	{ "EXPIRETIME", 2, READ, 1, 1, 1, "KEY", "the time of expiry, seconds", redis_ttl },
	{ "FLUSHALL", -1, WRITE_ALONE, 0, 0, 0, "[ASYNC|SYNC]", "clear the belts of all databases",
	  redis_flush },
	{ "FLUSHDB", -1, WRITE_ALONE, 0, 0, 0, "[ASYNC|SYNC]", "clear the belt", redis_flush },
	{ "GET", 2, READ, 1, 1, 1, "KEY", "the value", redis_get_value },
	{ "GETDEL", 2, WRITE, 1, 1, 1, "KEY", "the value, and remove it", redis_getdel },
	{ "GETEX", -2, WRITE, 1, 1, 1, "KEY [EX|PX|EXAT|PXAT TIME|PERSIST]",
	  "the value, and set the time-to-live", redis_getex },
	{ "GETRANGE", 4, READ, 1, 1, 1, "KEY FROM TO", "a part of the value", redis_getrange },
	{ "GETSET", 3, WRITE, 1, 1, 1, "KEY VALUE", "the value, and set another", redis_getset },
	{ "HELLO", -1, FIRST, 0, 0, 0, "[2|3 [AUTH USER PASSWORD] [SETNAME NAME]]",
	  "choose RESP 2 or RESP 3", redis_hello },
	{ "INCR", 2, WRITE, 1, 1, 1, "KEY", "add 1 to a number", redis_count_up },
	{ "INCRBY", 3, WRITE, 1, 1, 1, "KEY NUMBER", "add to a number", redis_count_by },
	{ "INFO", -1, ALONE, 0, 0, 0, "[SECTION ...]", "describe server and belt, all sections",
	  redis_info },
	{ "KEYS", 2, READ_ALONE, 0, 0, 0, "PATTERN", "list keys", redis_keys },
	{ "MGET", -2, READ, 1, -1, 1, "KEY ...", "values", redis_mget },
	{ "MSET", -3, WRITE, 1, -1, 2, "KEY VALUE ...", "set values, one after the other",
	  redis_mset },
	{ "MSETEX", -4, WRITE, 0, 0, 0,
	  "NUMBER KEY VALUE ... [NX|XX] [EX|PX|EXAT|PXAT TIME|KEEPTTL]",
	  "set values with one time-to-live; NX and XX are for one key", redis_msetex },
	{ "MULTI", 1, ADMIN | REDIS_NO_QUEUE, 0, 0, 0, "", "queue commands for EXEC",
	  redis_multi },
	{ "PERSIST", 2, WRITE, 1, 1, 1, "KEY", "let an entry not expire", redis_persist },
	{ "PEXPIRE", -3, WRITE, 1, 1, 1, "KEY MILLISECONDS [NX|XX|GT|LT]",
	  "set the time-to-live", redis_expire },
	{ "PEXPIREAT", -3, WRITE, 1, 1, 1, "KEY UNIX-MILLISECONDS [NX|XX|GT|LT]",
	  "set the time of expiry", redis_expire },
	{ "PEXPIRETIME", 2, READ, 1, 1, 1, "KEY", "the time of expiry, milliseconds", redis_ttl },
	{ "PING", -1, ADMIN | REDIS_SUBSCRIBED, 0, 0, 0, "[TEXT]", "answer PONG", redis_ping },
	{ "PSETEX", 4, WRITE, 1, 1, 1, "KEY MILLISECONDS VALUE",
	  "set a value with a time-to-live", redis_setex },
	{ "PSUBSCRIBE", -2, CHANNEL, 0, 0, 0, "__keyevent@N__:expired ...",
	  "the same as SUBSCRIBE; * stands for each N", redis_subscribe },
	{ "PTTL", 2, READ, 1, 1, 1, "KEY", "the time left, milliseconds", redis_ttl },
	{ "PUNSUBSCRIBE", -1, CHANNEL, 0, 0, 0, "[__keyevent@N__:expired ...]",
	  "end PSUBSCRIBE", redis_unsubscribe },
	{ "QUIT", -1, ADMIN | REDIS_NO_AUTH | REDIS_NO_QUEUE | REDIS_SUBSCRIBED, 0, 0, 0, "",
	  "close the connection", redis_quit },
	{ "RANDOMKEY", 1, READ_ALONE, 0, 0, 0, "", "any key", redis_randomkey },
	{ "RESET", 1, FIRST | REDIS_NO_QUEUE | REDIS_SUBSCRIBED, 0, 0, 0, "",
	  "as a new connection", redis_reset },
	{ "SCAN", -2, READ_ALONE, 0, 0, 0, "CURSOR [MATCH PATTERN] [COUNT N] [TYPE TYPE]",
	  "list keys, a part at a time", redis_scan },
	{ "SCRIPT", -2, ALONE, 0, 0, 0, "LOAD SCRIPT|EXISTS DIGEST ...|FLUSH",
	  "look whether a script is known", redis_script },
	{ "SELECT", 2, ALONE, 0, 0, 0, "NUMBER",
	  "take the belt of --database; without one the connection is closed", redis_select },
	{ "SET", -3, WRITE, 1, 1, 1,
	  "KEY VALUE [NX|XX|IFEQ V|IFNE V] [GET] [EX|PX|EXAT|PXAT TIME|KEEPTTL]", "set a value",
	  redis_set },
	{ "SETEX", 4, WRITE, 1, 1, 1, "KEY SECONDS VALUE", "set a value with a time-to-live",
	  redis_setex },
	{ "SETNX", 3, WRITE, 1, 1, 1, "KEY VALUE", "set a value if there is none", redis_setnx },
	{ "SETRANGE", 4, WRITE, 1, 1, 1, "KEY PLACE TEXT", "overwrite a part of the value",
	  redis_setrange },
	{ "STRLEN", 2, READ, 1, 1, 1, "KEY", "the length of the value", redis_strlen },
	{ "SUBSCRIBE", -2, CHANNEL, 0, 0, 0, "__keyevent@N__:expired ...",
	  "get the keys that expire in database N", redis_subscribe },
	{ "TIME", 1, ALONE, 0, 0, 0, "", "the Unix time, seconds and microseconds", redis_time },
	{ "TOUCH", -2, READ, 1, -1, 1, "KEY ...", "count the keys that are there", redis_exists },
	{ "TTL", 2, READ, 1, 1, 1, "KEY", "the time left, seconds", redis_ttl },
	{ "TYPE", 2, READ, 1, 1, 1, "KEY", "string, or none", redis_type },
	{ "UNLINK", -2, WRITE, 1, -1, 1, "KEY ...", "remove entries", redis_del },
	{ "UNSUBSCRIBE", -1, CHANNEL, 0, 0, 0, "[__keyevent@N__:expired ...]",
	  "end SUBSCRIBE", redis_unsubscribe },
	{ "UNWATCH", 1, ADMIN, 0, 0, 0, "", "nothing: no key is watched", redis_watch },
	{ "WATCH", -2, ADMIN | REDIS_NO_QUEUE, 1, -1, 1, "KEY ...", "refused", redis_watch },
};

/**
 * redis_command() - a command by its number
 * @number:	of the row
 *
 * Return: the command; NULL behind the last one.
 */
const struct redis_command *redis_command(unsigned int number)
{
	return number < ARRAY_SIZE(rows) ? &rows[number] : NULL;
}

/* Of most rows the first letter differs already: a call of strncasecmp(3) would take longer. */
static int compare(const struct word *name, const char *row)
{
	size_t i;

	for (i = 0; i < name->len && row[i]; i++) {
		unsigned char letter = name->at[i];

		if (letter >= 'a' && letter <= 'z')
			letter -= 'a' - 'A';
		if (letter != row[i])
			return letter - row[i];
	}
	return i < name->len ? 1 : -row[i];
}

/**
 * redis_find() - a command by its name
 * @name:	in small or capital letters
 *
 * Return: the command; NULL if there is none.
 */
const struct redis_command *redis_find(const struct word *name)
{
	unsigned int low = 0, high = ARRAY_SIZE(rows);

	while (low < high) {
		unsigned int middle = (low + high) / 2;
		int order = compare(name, rows[middle].name);

		if (!order)
			return &rows[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* The row of COMMAND. */
static void describe(struct answer *answer, const struct redis_command *command)
{
	if (!command) {
		answer_nil(answer);
		return;
	}
	answer_number(answer, '*', 6);
	answer_text(answer, command->name);
	answer_number(answer, ':', command->arity);
	answer_number(answer, '*', 1);
	answer_line(answer, command->flags & REDIS_WRITE ? "+write" :
		    command->flags & REDIS_READ ? "+readonly" : "+admin");
	answer_number(answer, ':', command->first);
	answer_number(answer, ':', command->last);
	answer_number(answer, ':', command->step);
}

/* The pair of COMMAND DOCS. */
static void explain(struct answer *answer, const struct redis_command *command)
{
	answer_text(answer, command->name);
	answer_map(answer, 2);
	answer_text(answer, "summary");
	answer_text(answer, command->help);
	answer_text(answer, "group");
	answer_text(answer, command->first ? "string" : "connection");
}

static enum started list_all(struct work *work, bool has_names)
{
	struct answer answer = answer_begin(work);
	unsigned int i;

	answer_number(&answer, '*', ARRAY_SIZE(rows));
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (has_names)
			answer_text(&answer, rows[i].name);
		else
			describe(&answer, &rows[i]);
	}
	return answer_end(&answer);
}

/* COMMAND DOCS; without names of all. */
static enum started explain_some(struct work *work, const struct word *names,
				 unsigned int names_count)
{
	struct answer answer = answer_begin(work);
	const struct redis_command *found[REDIS_WORDS];
	unsigned int i, known = 0;

	for (i = 0; i < names_count; i++) {
		found[known] = redis_find(&names[i]);
		known += !!found[known];
	}
	answer_map(&answer, names_count ? known : ARRAY_SIZE(rows));
	for (i = 0; i < known; i++)
		explain(&answer, found[i]);
	for (i = 0; !names_count && i < ARRAY_SIZE(rows); i++)
		explain(&answer, &rows[i]);
	return answer_end(&answer);
}

static enum started describe_some(struct work *work, const struct word *names,
				  unsigned int names_count)
{
	struct answer answer = answer_begin(work);
	unsigned int i;

	answer_number(&answer, '*', names_count);
	for (i = 0; i < names_count; i++)
		describe(&answer, redis_find(&names[i]));
	return answer_end(&answer);
}

enum started redis_list_commands(struct work *work, struct redis *redis)
{
	struct word words[REDIS_WORDS];
	unsigned int words_count = redis_words(redis, words, REDIS_WORDS);

	if (!words_count || (redis_is(&words[0], "info") && words_count == 1))
		return list_all(work, false);
	if (redis_is(&words[0], "count") && words_count == 1)
		return answer_integer(work, ARRAY_SIZE(rows));
	if (redis_is(&words[0], "list"))
		return list_all(work, true);
	if (redis_is(&words[0], "docs"))
		return explain_some(work, words + 1, words_count - 1);
	if (redis_is(&words[0], "info"))
		return describe_some(work, words + 1, words_count - 1);
	return answer_error(work, "ERR unknown subcommand '%.*s'. Try COMMAND HELP.",
			    words[0].len < 64 ? (int)words[0].len : 64, words[0].at);
}

/** redis_print_commands() - print the table for people and for the manual page */
void redis_print_commands(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		printf("%s%s%s\t%s\n", rows[i].name, *rows[i].arguments ? " " : "",
		       rows[i].arguments, rows[i].help);
}
