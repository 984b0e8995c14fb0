// SPDX-License-Identifier: GPL-2.0-only
/* SET with its options, SETNX, SETEX, PSETEX, and MSETEX. */
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

/* An option that is a word alone. Return: false if it is none, or does not fit to others. */
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

/* Completes a put, the last operation, whose time-to-live may be HASHBELT_TTL_KEEP. */
static void fill_put(struct work *work, struct hashbelt_item *item, const struct word *value,
		     __u64 ttl_ms, __u32 how)
{
	bool keeps = ttl_ms == HASHBELT_TTL_KEEP;

	/* An entry that is new has no time-to-live to keep. */
	put_fill(item, value, keeps && how == HASHBELT_IF_ABSENT ? HASHBELT_TTL_NEVER : ttl_ms);
	item->how = keeps && !how ? HASHBELT_IF_PRESENT : how;
	if (keeps && !how)
		batch_settle(work, settle_keep);
}

/* The time-to-live of what is set. */
static __u64 asked_ttl(const struct set *set)
{
	return set->keeps ? HASHBELT_TTL_KEEP : set->time ? set->life.ttl_ms : HASHBELT_TTL_NEVER;
}

/* A SET that is one operation. */
static enum started set_at_once(struct work *work, struct redis *redis, const struct set *set,
				const struct word *words)
{
	enum started started;
	struct hashbelt_item *item = redis_item(work, redis, HASHBELT_OP_PUT, &words[0],
						put_write_ok, &started);

	if (item)
		fill_put(work, item, &words[1], asked_ttl(set), set->how);
	return started;
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

/* Reads the time. Return: false if the request is answered, with @started. */
static bool read_time(struct work *work, const struct redis *redis, struct set *set,
		      enum started *started)
{
	int64_t number;

	if (!set->time)
		return true;
	if (!resp_integer(set->time->at, set->time->len, &number))
		*started = redis_say(work, ERROR_INTEGER);
	else if (number <= 0 || !lifetime_of(number, set->unit, redis_now_ms(), &set->life))
		*started = put_bad_time(work, redis);
	else
		return true;
	return false;
}

static enum started start_set(struct work *work, struct redis *redis, struct set *set,
			      const struct word *words)
{
	bool is_single = set->gets || set->expected;
	enum started started;

	if (!read_time(work, redis, set, &started))
		return started;
	is_single |= set->life.is_over;
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

/* Several keys with one time-to-live */

/* The pairs of MSETEX. Return: an error, or NULL: then @rest is behind them. */
static const char *check_pairs(const struct work *work, const struct redis *redis, uint32_t *pairs,
			       const char **rest)
{
	const char *at = redis->request.args;
	struct word word, value;
	int64_t number;
	uint32_t i;

	resp_next(&at, &word);
	resp_next(&at, &word);
	if (!resp_integer(word.at, word.len, &number) || number < 1 || number > INT32_MAX)
		return "-ERR invalid numkeys value";
	if (2 * number > redis->request.count - 2)
		return "-ERR wrong number of key-value pairs";
	*pairs = number;
	for (i = 0; i < number; i++) {
		resp_next(&at, &word);
		resp_next(&at, &value);
		if (!redis_fits(&word))
			return ERROR_KEY;
		if (!put_fits(work, &value))
			return ERROR_VALUE;
	}
	*rest = at;
	return NULL;
}

/* The options of MSETEX. Return: an error, or NULL. */
static const char *check_options(const struct redis *redis, struct set *set, struct word *words,
				 uint32_t pairs, const char *rest)
{
	uint32_t options = redis->request.count - 2 - 2 * pairs, i;

	if (options > REDIS_WORDS)
		return ERROR_SYNTAX;
	for (i = 0; i < options; i++)
		resp_next(&rest, &words[i]);
	if (!take_options(set, words, options) || set->gets || set->expected)
		return ERROR_SYNTAX;
	if (set->how && pairs > 1)
		return "-ERR MSETEX with NX or XX takes one key: a belt checks one at a time";
	return NULL;
}

/* Begins MSETEX. Return: false if it is answered, with @started. */
static bool begin_pairs(struct work *work, struct redis *redis, enum started *started)
{
	struct word words[REDIS_WORDS], word;
	struct set set = { 0 };
	const char *rest, *error;
	uint32_t pairs;

	error = check_pairs(work, redis, &pairs, &rest);
	if (!error)
		error = check_options(redis, &set, words, pairs, rest);
	if (error) {
		*started = redis_say(work, error);
		return false;
	}
	if (!read_time(work, redis, &set, started))
		return false;
	redis->ttl_ms = asked_ttl(&set);
	/* A remove would not tell a new entry from an old one. */
	if (set.life.is_over && set.how == HASHBELT_IF_ABSENT)
		redis->ttl_ms = 1;
	redis->how = set.how;
	redis->left = 2 * pairs;
	redis->rest = redis->request.args;
	resp_next(&redis->rest, &word);
	resp_next(&redis->rest, &word);
	return true;
}

/* A key of MSETEX: the last one has the reply of all. @number is the condition on the only one. */
static bool write_pair(struct work *work, const struct reply *reply)
{
	const struct hashbelt_item *item = &work->item[reply->item];
	struct redis *redis = redis_of(work);

	if (reply->number)
		return put_write_one(work, reply);
	if (item->result && !(item->result == -ENOENT && item->op == HASHBELT_OP_REMOVE) &&
	    !*redis->failed)
		redis_reason(work->belt, item->result, redis->failed);
	return !reply->is_last || redis_commit_total(work, reply, ":1");
}

static enum started set_pair(struct work *work, struct redis *redis, const struct word *words,
			     bool is_last)
{
	enum started started;
	/* A value whose time is over is gone at once. */
	struct hashbelt_item *item = redis_item(work, redis, redis->ttl_ms ? HASHBELT_OP_PUT :
						HASHBELT_OP_REMOVE, words, write_pair, &started);

	if (!item)
		return started;
	work->reply[work->replies - 1].is_last = is_last;
	work->reply[work->replies - 1].number = redis->how;
	if (redis->ttl_ms)
		fill_put(work, item, &words[1], redis->ttl_ms, redis->how);
	return STARTED;
}

/* MSETEX sets one key after the other, as MSET. */
enum started redis_msetex(struct work *work, struct redis *redis)
{
	enum started started;

	if (!redis->rest && !begin_pairs(work, redis, &started))
		return started;
	return redis_each(work, redis, 2, set_pair);
}
