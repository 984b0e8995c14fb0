// SPDX-License-Identifier: GPL-2.0-only
/* Commands on times-to-live. */
#include <errno.h>
#include <string.h>

#include "commands.h"
#include "condition.h"
#include "lifetime.h"
#include "put.h"

/* The unit of a command: its name begins with P, and ends with AT or TIME, or does not. */
static enum time_unit unit_of(const struct redis_command *command)
{
	bool fine = *command->name == 'P', at = strstr(command->name, "EAT") ||
		    strstr(command->name, "TIME");

	if (at)
		return fine ? UNIT_AT_MILLISECONDS : UNIT_AT_SECONDS;
	return fine ? UNIT_MILLISECONDS : UNIT_SECONDS;
}

static bool write_left(struct work *work, const struct reply *reply)
{
	const struct hashbelt_item *item = &work->item[reply->item];

	if (item->result == -ENOENT)
		return redis_commit(work, reply, ":-2");
	if (item->result)
		return redis_commit_failure(work, item->result);
	return redis_commit_number(work, reply, ':',
				   lifetime_left(item->ttl_ms, reply->number, redis_now_ms()));
}

/* TTL, PTTL, EXPIRETIME and PEXPIRETIME. */
enum started redis_ttl(struct work *work, struct redis *redis)
{
	struct hashbelt_item *item;
	enum started started;

	item = redis_item(work, redis, HASHBELT_OP_GET, &redis->request.key, write_left, &started);
	if (!item)
		return started;
	item->how = HASHBELT_NO_VALUE | HASHBELT_NO_REFRESH;
	work->reply[work->replies - 1].number = unit_of(redis->command);
	return STARTED;
}

/* Reads the conditions of EXPIRE. Return: the one that is wrong, or NULL. */
static const struct word *read_conditions(const struct word *words, unsigned int words_count,
					  __u32 *how)
{
	unsigned int i;

	for (i = 0; i < words_count; i++)
		if (!condition_take(&words[i], how))
			return &words[i];
	return NULL;
}

/* The entry is to expire at once. It does, if the condition holds. */
static enum started expire_now(struct work *work, struct redis *redis, const struct word *key,
			       __u32 how)
{
	struct hashbelt_item *item, end = { .how = how };
	enum started started;

	if (!condition_end(&end))
		return redis_fits(key) ? redis_say(work, ":0") : redis_say(work, ERROR_KEY);
	item = redis_item(work, redis, end.op, key, put_write_one, &started);
	if (item)
		item->how = end.how;
	return started;
}

/* EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT. */
enum started redis_expire(struct work *work, struct redis *redis)
{
	struct word words[REDIS_WORDS];
	unsigned int words_count = redis_words(redis, words, REDIS_WORDS);
	const struct word *wrong;
	struct hashbelt_item *item;
	struct lifetime life;
	enum started started;
	int64_t number;
	__u32 how = 0;

	wrong = read_conditions(words + 2, words_count - 2, &how);
	if (wrong)
		return work->replies ? NOT_STARTED :
		       answer_error(work, "ERR Unsupported option %.*s",
				    wrong->len < 64 ? (int)wrong->len : 64, wrong->at);
	if (condition_clash(how))
		return redis_say(work, condition_clash(how));
	if (!resp_integer(words[1].at, words[1].len, &number))
		return redis_say(work, ERROR_INTEGER);
	if (!lifetime_of(number, unit_of(redis->command), redis_now_ms(), &life))
		return put_bad_time(work, redis);
	if (life.is_over)
		return expire_now(work, redis, &words[0], how);
	item = redis_item(work, redis, HASHBELT_OP_TOUCH, &words[0], put_write_one, &started);
	if (!item)
		return started;
	item->how = how;
	item->ttl_ms = life.ttl_ms;
	return STARTED;
}

enum started redis_persist(struct work *work, struct redis *redis)
{
	struct hashbelt_item *item;
	enum started started;

	item = redis_item(work, redis, HASHBELT_OP_TOUCH, &redis->request.key, put_write_one,
			  &started);
	if (!item)
		return started;
	item->how = HASHBELT_IF_EXPIRING;
	item->ttl_ms = HASHBELT_TTL_NEVER;
	return STARTED;
}
