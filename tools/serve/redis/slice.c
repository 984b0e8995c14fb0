// SPDX-License-Identifier: GPL-2.0-only
/* Commands that read an entry, and put or remove it on condition of its version. */
#include <errno.h>
#include <string.h>

#include "options.h"
#include "change.h"
#include "commands.h"
#include "lifetime.h"
#include "put.h"

static struct change change_of(struct work *work, struct redis *redis, const struct word *words,
			       int (*step)(struct change *change, struct hashbelt_item *item))
{
	return (struct change){
		.target = { redis_belt(work, redis), words[0].at, words[0].len },
		.step = step, .words = words,
	};
}

/* Runs a change. Return: false if the command ends with @started. */
static bool run(struct work *work, struct change *change, int *result, enum started *started)
{
	*started = NOT_STARTED;
	if (work->replies)
		return false;
	*started = redis_fits(&change->words[0]) ? STARTED : answer_one(work, ERROR_KEY);
	if (!redis_fits(&change->words[0]))
		return false;
	*result = change_run(change);
	if (*result >= 0)
		return true;
	change_end(change);
	*started = *result == -E2BIG ? answer_one(work, ERROR_VALUE) :
				       answer_failure(work, change->target.belt, *result);
	return false;
}

/* Answers with the value that there was. */
static enum started answer_old(struct work *work, struct change *change)
{
	struct answer answer = answer_begin(work);

	if (change->is_there)
		answer_bulk(&answer, change->value, change->len);
	else
		answer_nil(&answer);
	change_end(change);
	return answer_end(&answer);
}

static int delete_step(struct change *change, struct hashbelt_item *item)
{
	item->op = HASHBELT_OP_REMOVE;
	return change->is_there ? CHANGE_DO : CHANGE_NOTHING;
}

/* Answers with the value, and removes the entry. */
static enum started get_and_delete(struct work *work, struct redis *redis,
				   const struct word *words)
{
	struct change change = change_of(work, redis, words, delete_step);
	enum started started;
	int result;

	return run(work, &change, &result, &started) ? answer_old(work, &change) : started;
}

enum started redis_getdel(struct work *work, struct redis *redis)
{
	return get_and_delete(work, redis, &redis->request.key);
}

/* The options of GETEX. Return: false if they are wrong. */
static bool read_getex(const struct word *words, unsigned int words_count, enum time_unit *unit,
		       bool *persists)
{
	static const char * const units[] = { "ex", "px", "exat", "pxat" };
	unsigned int i;

	*persists = words_count == 2 && redis_is(&words[1], "persist");
	if (words_count < 3)
		return words_count == 1 || *persists;
	for (i = 0; i < 4; i++)
		if (redis_is(&words[1], units[i]))
			break;
	*unit = i;
	return words_count == 3 && i < 4;
}

enum started redis_getex(struct work *work, struct redis *redis)
{
	struct lifetime life = { .ttl_ms = HASHBELT_TTL_NEVER };
	unsigned int words_count;
	struct hashbelt_item *item;
	struct word words[4];
	enum started started;
	enum time_unit unit;
	int64_t number;
	bool persists;

	words_count = redis_words(redis, words, 4);
	if (!read_getex(words, words_count, &unit, &persists))
		return redis_say(work, ERROR_SYNTAX);
	if (words_count == 3) {
		if (!resp_integer(words[2].at, words[2].len, &number))
			return redis_say(work, ERROR_INTEGER);
		if (number <= 0 || !lifetime_of(number, unit, redis_now_ms(), &life))
			return put_bad_time(work, redis);
	}
	if (life.is_over)
		return get_and_delete(work, redis, words);
	item = redis_get(work, redis, &words[0], redis_commit_value, &started);
	if (item && words_count > 1) {
		item->how |= HASHBELT_AND_TOUCH;
		item->ttl_ms = life.ttl_ms;
	}
	return started;
}

/* Puts the end of a value behind it. */
static int append_step(struct change *change, struct hashbelt_item *item)
{
	const struct word *tail = &change->words[1];
	char *bytes = change->whole.bytes;

	if (change->len + tail->len > (size_t)change->number)
		return -E2BIG;
	memcpy(bytes + change->len, tail->at, tail->len);
	item->value = (uintptr_t)bytes;
	item->value_len = change->len + tail->len;
	return CHANGE_DO;
}

enum started redis_append(struct work *work, struct redis *redis)
{
	struct word words[2];
	struct change change;
	enum started started;
	int result;

	redis_words(redis, words, 2);
	change = change_of(work, redis, words, append_step);
	change.whole.after = words[1].len;
	change.number = work->service->options->item_max;
	if (!run(work, &change, &result, &started))
		return started;
	result = change.len + words[1].len;
	change_end(&change);
	return answer_integer(work, result);
}

/* Puts bytes at a place of a value, which zero bytes lengthen if need be. */
static int set_range_step(struct change *change, struct hashbelt_item *item)
{
	const struct word *part = &change->words[2];
	size_t at = change->number, end = at + part->len;
	char *bytes = change->whole.bytes;

	if (!part->len)
		return CHANGE_NOTHING;
	if (at > change->len)
		memset(bytes + change->len, 0, at - change->len);
	memcpy(bytes + at, part->at, part->len);
	item->value = (uintptr_t)bytes;
	item->value_len = end > change->len ? end : change->len;
	return CHANGE_DO;
}

enum started redis_setrange(struct work *work, struct redis *redis)
{
	struct word words[3];
	struct change change;
	enum started started;
	int64_t at;
	int result;

	redis_words(redis, words, 3);
	if (!resp_integer(words[1].at, words[1].len, &at))
		return redis_say(work, ERROR_INTEGER);
	if (at < 0)
		return redis_say(work, "-ERR offset is out of range");
	if (words[2].len && at + words[2].len > work->service->options->item_max)
		return redis_say(work, ERROR_VALUE);
	change = change_of(work, redis, words, set_range_step);
	change.number = at;
	change.whole.after = words[2].len ? at + words[2].len : 0;
	if (!run(work, &change, &result, &started))
		return started;
	result = change.len;
	if (words[2].len && at + words[2].len > change.len)
		result = at + words[2].len;
	change_end(&change);
	return answer_integer(work, result);
}

static int read_step(struct change *change, struct hashbelt_item *item)
{
	(void)change;
	(void)item;
	return CHANGE_NOTHING;
}

/* The part of a value from one place to another one; negative ones are counted from its end. */
static void cut(size_t *len, int64_t from, int64_t to, size_t *at)
{
	int64_t all = *len;

	*at = 0;
	*len = 0;
	if (from < 0 && to < 0 && from > to)
		return;
	from = from < 0 ? from + all : from;
	to = to < 0 ? to + all : to;
	from = from < 0 ? 0 : from;
	to = to < 0 ? 0 : to;
	to = to >= all ? all - 1 : to;
	if (from > to || !all)
		return;
	*at = from;
	*len = to - from + 1;
}

enum started redis_getrange(struct work *work, struct redis *redis)
{
	struct answer answer = answer_begin(work);
	struct word words[3];
	struct change change;
	enum started started;
	int64_t from, to;
	size_t at;
	int result;

	redis_words(redis, words, 3);
	if (!resp_integer(words[1].at, words[1].len, &from) ||
	    !resp_integer(words[2].at, words[2].len, &to))
		return redis_say(work, ERROR_INTEGER);
	change = change_of(work, redis, words, read_step);
	if (!run(work, &change, &result, &started))
		return started;
	cut(&change.len, from, to, &at);
	answer_bulk(&answer, change.value + at, change.len);
	change_end(&change);
	return answer_end(&answer);
}

/* DELIFEQ. */
enum started redis_delifeq(struct work *work, struct redis *redis)
{
	struct word words[2];
	struct change change;
	enum started started;
	int result;

	redis_words(redis, words, 2);
	change = change_of(work, redis, words, change_delete_equal);
	change.number = 1;
	if (!run(work, &change, &result, &started))
		return started;
	change_end(&change);
	return answer_integer(work, result == CHANGE_DO);
}

/* Deletes the entry if its value equals the argument, or with @number if it differs. */
static int delex_step(struct change *change, struct hashbelt_item *item)
{
	item->op = HASHBELT_OP_REMOVE;
	if (!change->is_there)
		return CHANGE_NOTHING;
	return change_equals(change, &change->words[2]) == !change->number ? CHANGE_DO :
									      CHANGE_NOTHING;
}

enum started redis_delex(struct work *work, struct redis *redis)
{
	struct word words[3];
	struct change change;
	enum started started;
	int result;

	if (redis->request.count == 2)
		return redis_del(work, redis);
	redis_words(redis, words, 3);
	if (redis->request.count != 4 ||
	    !(redis_is(&words[1], "ifeq") || redis_is(&words[1], "ifne")))
		return redis_say(work, ERROR_SYNTAX);
	change = change_of(work, redis, words, delex_step);
	change.number = redis_is(&words[1], "ifne");
	if (!run(work, &change, &result, &started))
		return started;
	change_end(&change);
	return answer_integer(work, result == CHANGE_DO);
}
