// SPDX-License-Identifier: GPL-2.0-only
/* Commands on values: reading, counting, and changing a part of them. */
#include <errno.h>
#include <string.h>

#include "change.h"
#include "commands.h"
#include "lifetime.h"
#include "put.h"

enum started redis_get_value(struct work *work, struct redis *redis)
{
	enum started started;

	redis_get(work, redis, &redis->request.key, redis_commit_value, &started);
	return started;
}

static bool write_length(struct work *work, const struct reply *reply)
{
	const struct hashbelt_item *item = &work->item[reply->item];

	if (item->result && item->result != -ENOENT)
		return redis_commit_failure(work, item->result);
	return redis_commit_number(work, reply, ':', item->result ? 0 : item->value_len);
}

enum started redis_strlen(struct work *work, struct redis *redis)
{
	return redis_look(work, redis, write_length);
}

/* Several keys */

/* The length of the array of MGET. */
static bool write_head(struct work *work, const struct reply *reply)
{
	return redis_commit_number(work, reply, '*', reply->number);
}

static enum started get_one(struct work *work, struct redis *redis, const struct word *words,
			    bool is_last)
{
	enum started started;

	(void)is_last;
	redis_get(work, redis, words, redis_commit_value, &started);
	return started;
}

static bool begin_array(struct work *work, struct redis *redis)
{
	struct reply *reply = batch_reply(work, write_head, ANSWER_SHORT);

	if (!reply)
		return false;
	reply->number = redis->request.count - 1;
	redis->is_counting = true;
	return true;
}

enum started redis_mget(struct work *work, struct redis *redis)
{
	enum started started;

	if (!redis->is_counting && redis_keys_fit(redis, 1)) {
		if (!begin_array(work, redis))
			return NO_MEMORY;
	}
	started = redis_each(work, redis, 1, get_one);
	if (started == STARTED)
		redis->is_counting = false;
	return started;
}

/* A key of MSET: the last one has the reply of all. */
static bool write_set(struct work *work, const struct reply *reply)
{
	const struct hashbelt_item *item = &work->item[reply->item];
	struct redis *redis = redis_of(work);

	if (item->result && !*redis->failed)
		redis_reason(work->belt, item->result, redis->failed);
	return !reply->is_last || redis_commit_total(work, reply, "+OK");
}

static enum started set_one(struct work *work, struct redis *redis, const struct word *words,
			    bool is_last)
{
	enum started started;
	struct hashbelt_item *item = redis_item(work, redis, HASHBELT_OP_PUT, words, write_set,
						&started);

	if (!item)
		return started;
	put_fill(item, &words[1], HASHBELT_TTL_NEVER);
	work->reply[work->replies - 1].is_last = is_last;
	return STARTED;
}

/* Whether all values of MSET fit: none is set otherwise. */
static bool values_fit(const struct work *work, const struct redis *redis)
{
	const char *at = redis->request.args;
	struct word word;
	uint32_t i;

	for (i = 0; i < redis->request.count; i++) {
		resp_next(&at, &word);
		if (i && !(i % 2) && !put_fits(work, &word))
			return false;
	}
	return true;
}

enum started redis_mset(struct work *work, struct redis *redis)
{
	if (redis->request.count % 2 == 0)
		return redis_say(work, "-ERR wrong number of arguments for 'mset' command");
	if (!redis->rest && !values_fit(work, redis))
		return redis_say(work, ERROR_VALUE);
	return redis_each(work, redis, 2, set_one);
}

/* Counting */

static bool write_sum(struct work *work, const struct reply *reply)
{
	const struct hashbelt_item *item = &work->item[reply->item];
	const struct hashbelt_sum *sum = (void *)(uintptr_t)item->value;

	switch (item->result) {
	case 0:
		return redis_commit_number(work, reply, ':', sum->value);
	case -EBADMSG:
		return redis_commit(work, reply, ERROR_INTEGER);
	case -EOVERFLOW:
		return redis_commit(work, reply, "-ERR increment or decrement would overflow");
	default:
		return redis_commit_failure(work, item->result);
	}
}

static enum started count_by_number(struct work *work, struct redis *redis,
				    const struct word *key, int64_t by)
{
	struct hashbelt_sum *sum;
	struct hashbelt_item *item;
	enum started started;
	uintptr_t space;

	item = redis_operation(work, redis, HASHBELT_OP_ADD, key,
			       2 * ANSWER_SHORT + sizeof(*sum) + sizeof(__u64), write_sum,
			       &started);
	if (!item)
		return started;
	/* Behind the reply, where both parts of it are aligned. */
	space = (uintptr_t)work->reply[work->replies - 1].space + 2 * ANSWER_SHORT;
	sum = (void *)((space + sizeof(__u64) - 1) & ~(sizeof(__u64) - 1));
	*sum = (struct hashbelt_sum){ .by = by };
	item->value = (uintptr_t)sum;
	item->value_len = sizeof(*sum);
	item->ttl_ms = HASHBELT_TTL_NEVER;
	return STARTED;
}

/* INCR and DECR. */
enum started redis_count_up(struct work *work, struct redis *redis)
{
	return count_by_number(work, redis, &redis->request.key,
			       *redis->command->name == 'D' ? -1 : 1);
}

/* INCRBY and DECRBY. */
enum started redis_count_by(struct work *work, struct redis *redis)
{
	bool down = *redis->command->name == 'D';
	struct word words[2];
	int64_t by;

	redis_words(redis, words, 2);
	if (!resp_integer(words[1].at, words[1].len, &by))
		return redis_say(work, ERROR_INTEGER);
	if (down && by == INT64_MIN)
		return redis_say(work, "-ERR decrement would overflow");
	return count_by_number(work, redis, &words[0], down ? -by : by);
}
