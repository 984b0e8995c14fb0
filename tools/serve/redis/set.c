// SPDX-License-Identifier: GPL-2.0-only
/* SET with its options, SETNX, SETEX and PSETEX. */
#include <errno.h>
#include <string.h>

#include "change.h"
#include "commands.h"
#include "lifetime.h"
#include "put.h"

/**
 * struct set - the options of SET
 * @how:	HASHBELT_IF_ABSENT, HASHBELT_IF_PRESENT or 0
 * @time:	the argument that is a time; NULL for none
 * @unit:	its unit
 * @life:	the time
 * @keeps:	KEEPTTL
 * @gets:	the answer is the value that there was
 * @expected:	the value of IFEQ or IFNE; NULL for none
 * @differs:	it is that of IFNE
 */
struct set {
	__u32 how;
	const struct word *time;
	enum time_unit unit;
	struct lifetime life;
	bool keeps;
	bool gets;
	const struct word *expected;
	bool differs;
};

/* An option that is a word alone. False: it is none, or does not fit to others. */
static bool take_flag(struct set *set, const struct word *word)
{
	__u32 how = redis_is(word, "nx") ? HASHBELT_IF_ABSENT :
		    redis_is(word, "xx") ? HASHBELT_IF_PRESENT : 0;

	if (how) {
		if (set->expected || (set->how && set->how != how))
			return false;
		set->how = how;
		return true;
	}
	if (redis_is(word, "keepttl")) {
		set->keeps = true;
		return !set->time;
	}
	set->gets |= redis_is(word, "get");
	return redis_is(word, "get");
}

/* An option with an argument. */
static bool take_pair(struct set *set, const struct word *word, const struct word *argument)
{
	static const char * const units[] = {
		[UNIT_SECONDS] = "ex", [UNIT_MILLISECONDS] = "px",
		[UNIT_AT_SECONDS] = "exat", [UNIT_AT_MILLISECONDS] = "pxat",
	};
	unsigned int unit;

	if (redis_is(word, "ifeq") || redis_is(word, "ifne")) {
		if (set->how || set->expected)
			return false;
		set->expected = argument;
		set->differs = redis_is(word, "ifne");
		return true;
	}
	for (unit = 0; unit < 4; unit++)
		if (redis_is(word, units[unit]))
			break;
	if (unit == 4 || set->keeps || (set->time && set->unit != unit))
		return false;
	set->time = argument;
	set->unit = unit;
	return true;
}

static bool take_options(struct set *set, const struct word *words, unsigned int words_count)
{
	unsigned int i;

	for (i = 0; i < words_count; i++) {
		if (take_flag(set, &words[i]))
			continue;
		if (i + 1 == words_count || !take_pair(set, &words[i], &words[i + 1]))
			return false;
		i++;
	}
	return !(set->keeps && set->time);
}

/*
 * A put with KEEPTTL has found no entry, and is made again for a new one, which does not expire. If
 * another caller has made one meanwhile, it keeps the deadline of that.
 */
static void settle_keep(struct work *work, const struct reply *reply, struct hashbelt_item *item)
{
	unsigned int i;

	for (i = 0; item->result == -ENOENT && i < TARGET_ATTEMPTS; i++) {
		item->how = HASHBELT_IF_ABSENT;
		item->ttl_ms = HASHBELT_TTL_NEVER;
		belt_batch(work->belt, item, 1);
		if (item->result != -EEXIST)
			return;
		item->how = HASHBELT_IF_PRESENT;
		item->ttl_ms = HASHBELT_TTL_KEEP;
		belt_batch(work->belt, item, 1);
	}
	(void)reply;
}

/* A SET that is one operation. */
static enum started set_at_once(struct work *work, struct redis *redis, const struct set *set,
				const struct word *words)
{
	enum started started;
	struct hashbelt_item *item = redis_item(work, redis, HASHBELT_OP_PUT, &words[0],
						put_write_ok, &started);

	if (!item)
		return started;
	put_fill(item, &words[1], set->time ? set->life.ttl_ms : HASHBELT_TTL_NEVER);
	item->how = set->how;
	if (set->keeps && set->how != HASHBELT_IF_ABSENT) {
		item->ttl_ms = HASHBELT_TTL_KEEP;
		item->how = HASHBELT_IF_PRESENT;
		if (!set->how)
			batch_settle(work, settle_keep);
	}
	return STARTED;
}

static bool is_allowed(const struct set *set, const struct change *change)
{
	if (set->how == HASHBELT_IF_ABSENT)
		return !change->is_there;
	if (set->how == HASHBELT_IF_PRESENT)
		return change->is_there;
	if (!set->expected)
		return true;
	return change_equals(change, set->expected) != set->differs;
}

static int set_step(struct change *change, struct hashbelt_item *item)
{
	const struct set *set = change->arg;

	if (!is_allowed(set, change))
		return CHANGE_NOTHING;
	if (!set->time || !set->life.is_over) {
		__u64 ttl_ms = set->keeps ? item->ttl_ms :
			       set->time ? set->life.ttl_ms : HASHBELT_TTL_NEVER;

		put_fill(item, &change->words[1], ttl_ms);
		return CHANGE_DO;
	}
	/* Its time is over: such a value is gone at once. */
	item->op = HASHBELT_OP_REMOVE;
	return change->is_there ? CHANGE_DO : CHANGE_NOTHING;
}

/* A SET that has to read the entry first. */
static enum started set_by_change(struct work *work, struct redis *redis, const struct set *set,
				  const struct word *words)
{
	struct change change = {
		.target = { redis_belt(work, redis), words[0].at, words[0].len },
		.step = set_step, .words = words, .arg = set,
	};
	struct answer answer = answer_begin(work);
	int err = change_run(&change);

	if (err < 0) {
		change_end(&change);
		return answer_failure(work, change.target.belt, err);
	}
	if (set->gets && change.is_there)
		answer_bulk(&answer, change.value, change.len);
	else if (set->gets || !is_allowed(set, &change))
		answer_nil(&answer);
	else
		answer_line(&answer, "+OK");
	change_end(&change);
	return answer_end(&answer);
}

static enum started start_set(struct work *work, struct redis *redis, struct set *set,
			      const struct word *words)
{
	bool is_single = set->gets || set->expected;
	int64_t number;

	if (set->time) {
		if (!resp_integer(set->time->at, set->time->len, &number))
			return redis_say(work, ERROR_INTEGER);
		if (number <= 0 || !lifetime_of(number, set->unit, redis_now_ms(), &set->life))
			return put_bad_time(work, redis);
		is_single |= set->life.is_over;
	}
	if (!redis_fits(&words[0]))
		return redis_say(work, ERROR_KEY);
	if (!put_fits(work, &words[1]))
		return redis_say(work, ERROR_VALUE);
	if (!is_single)
		return set_at_once(work, redis, set, words);
	return work->replies ? NOT_STARTED : set_by_change(work, redis, set, words);
}

enum started redis_set(struct work *work, struct redis *redis)
{
	struct word words[REDIS_WORDS];
	unsigned int words_count = redis_words(redis, words, REDIS_WORDS);
	struct set set = { 0 };

	if (redis->request.count > REDIS_WORDS || !take_options(&set, words + 2, words_count - 2))
		return redis_say(work, ERROR_SYNTAX);
	return start_set(work, redis, &set, words);
}

/* SETEX and PSETEX: the time is the second argument. */
enum started redis_setex(struct work *work, struct redis *redis)
{
	struct word words[3], time;
	struct set set = {
		.time = &time,
		.unit = *redis->command->name == 'P' ? UNIT_MILLISECONDS : UNIT_SECONDS,
	};

	redis_words(redis, words, 3);
	time = words[1];
	words[1] = words[2];
	return start_set(work, redis, &set, words);
}

enum started redis_getset(struct work *work, struct redis *redis)
{
	struct set set = { .gets = true };
	struct word words[2];

	redis_words(redis, words, 2);
	return start_set(work, redis, &set, words);
}

enum started redis_setnx(struct work *work, struct redis *redis)
{
	struct hashbelt_item *item;
	enum started started;
	struct word words[2];

	redis_words(redis, words, 2);
	if (!put_fits(work, &words[1]))
		return redis_say(work, ERROR_VALUE);
	item = redis_item(work, redis, HASHBELT_OP_PUT, &words[0], put_write_one, &started);
	if (!item)
		return started;
	put_fill(item, &words[1], HASHBELT_TTL_NEVER);
	item->how = HASHBELT_IF_ABSENT;
	return STARTED;
}
