// SPDX-License-Identifier: GPL-2.0-only
/* Scripts that count, for limiters of rates. Each addition is one operation of the belt. */
#include <errno.h>

#include "keys.h"
#include "lifetime.h"
#include "script.h"

/**
 * struct sum - an addition
 * @value:	the sum
 * @item:	its operation
 */
struct sum {
	struct hashbelt_sum value;
	struct hashbelt_item item;
};

/* Adds to the first key. A new entry lives for @ttl_ms. */
static int add(const struct script_call *call, int64_t by, __u64 ttl_ms, __u32 how,
	       struct sum *sum)
{
	struct target target = script_target(call, 0);

	sum->value = (struct hashbelt_sum){ .by = by };
	sum->item = target_item(HASHBELT_OP_ADD, &target, &sum->value, sizeof(sum->value));
	sum->item.how = how;
	sum->item.ttl_ms = ttl_ms;
	return target_run(&target, &sum->item);
}

static enum started fail(const struct script_call *call, int err)
{
	if (err == -EBADMSG)
		return answer_one(call->work, ERROR_INTEGER);
	if (err == -EOVERFLOW)
		return answer_one(call->work, "-ERR increment or decrement would overflow");
	return answer_failure(call->work, call->belt, err);
}

static enum started answer_pair(const struct script_call *call, int64_t first, int64_t second)
{
	struct answer answer = answer_begin(call->work);

	answer_number(&answer, '*', 2);
	answer_number(&answer, ':', first);
	answer_number(&answer, ':', second);
	return answer_end(&answer);
}

/* The time of an argument. Return: false if it is none, or over. */
static bool read_time(const struct word *word, enum time_unit unit, __u64 *ms)
{
	struct lifetime life;
	int64_t number;

	if (!script_number(word, &number) || number <= 0 ||
	    !lifetime_of(number, unit, 0, &life))
		return false;
	*ms = life.ttl_ms;
	return true;
}

/* Touches the first key. */
static int touch(const struct script_call *call, __u64 ttl_ms, __u32 how)
{
	struct target target = script_target(call, 0);
	struct hashbelt_item item = target_item(HASHBELT_OP_TOUCH, &target, NULL, 0);

	item.how = how;
	item.ttl_ms = ttl_ms;
	return target_run(&target, &item);
}

/*
 * Adds a number; an entry that does not expire gets the time @ms, and each one if @resets. Replies
 * the sum and the ms left.
 */
static enum started count_for(const struct script_call *call, int64_t by, __u64 ms, bool resets)
{
	struct sum sum;
	int err = add(call, by, ms, 0, &sum);

	if (!err && (resets || sum.item.ttl_ms == HASHBELT_TTL_NEVER)) {
		err = touch(call, ms, resets ? 0 : HASHBELT_IF_LASTING);
		sum.item.ttl_ms = ms;
		/* Another caller has been faster, or has removed it. */
		err = err == -EALREADY || err == -ENOENT ? 0 : err;
	}
	return err ? fail(call, err) : answer_pair(call, sum.value.value, sum.item.ttl_ms);
}

/* Adds A1; an entry that does not expire gets A2 seconds. Replies the sum and the ms left. */
enum started script_count_for(const struct script_call *call)
{
	int64_t by;
	__u64 ms;

	if (!script_number(&call->args[0], &by) || !read_time(&call->args[1], UNIT_SECONDS, &ms))
		return answer_one(call->work, ERROR_INTEGER);
	return count_for(call, by, ms, false);
}

/* Adds 1; an entry that does not expire gets A1 ms. Replies the sum and the ms left. */
enum started script_count_for_ms(const struct script_call *call)
{
	__u64 ms;

	if (!read_time(&call->args[0], UNIT_MILLISECONDS, &ms))
		return answer_one(call->work, ERROR_INTEGER);
	return count_for(call, 1, ms, false);
}

/* The same with A2 ms, which each entry gets if A1 is "1". */
enum started script_count_again(const struct script_call *call)
{
	__u64 ms;

	if (!read_time(&call->args[1], UNIT_MILLISECONDS, &ms))
		return answer_one(call->work, ERROR_INTEGER);
	return count_for(call, 1, ms, redis_is(&call->args[0], "1"));
}

/* The beginning of a window: the number 1 for @ms, in the place of one that does not expire. */
static int begin_window(const struct script_call *call, const struct sum *sum, __u64 ms)
{
	struct target target = script_target(call, 0);
	struct hashbelt_item item = target_item(HASHBELT_OP_PUT, &target, "1", 1);

	item.how = HASHBELT_IF_VERSION;
	item.version = sum->item.version;
	item.ttl_ms = ms;
	return target_run(&target, &item);
}

/*
 * Adds 1 to a number that expires, which gets the time @ms if @resets; else it is 1 for @ms.
 * Replies it and the ms left.
 */
static enum started count_window(const struct script_call *call, __u64 ms, bool resets)
{
	unsigned int i;
	struct sum sum;
	int err = -ESTALE;

	for (i = 0; (err == -ESTALE || err == -ENOENT) && i < TARGET_ATTEMPTS; i++) {
		err = add(call, 1, ms, 0, &sum);
		if (err)
			return fail(call, err);
		if (sum.item.ttl_ms != HASHBELT_TTL_NEVER) {
			err = resets ? touch(call, ms, 0) : 0;
			if (err && err != -ENOENT)
				return fail(call, err);
			return answer_pair(call, sum.value.value, resets ? ms : sum.item.ttl_ms);
		}
		err = begin_window(call, &sum, ms);
	}
	return err ? fail(call, err) : answer_pair(call, 1, ms);
}

/* Adds 1 to a number that expires; else it is 1 for A1 ms. Replies it and the ms left. */
enum started script_count_window(const struct script_call *call)
{
	__u64 ms;

	if (!read_time(&call->args[0], UNIT_MILLISECONDS, &ms))
		return answer_one(call->work, ERROR_INTEGER);
	return count_window(call, ms, false);
}

/* The same with A2 ms, which each number gets if A1 is "1". */
enum started script_count_window_again(const struct script_call *call)
{
	__u64 ms;

	if (!read_time(&call->args[1], UNIT_MILLISECONDS, &ms))
		return answer_one(call->work, ERROR_INTEGER);
	return count_window(call, ms, redis_is(&call->args[0], "1"));
}

/* Adds a number; if that is the sum, the entry gets the time A1. Replies the sum. */
static enum started count_first(const struct script_call *call, int64_t by, enum time_unit unit)
{
	struct sum sum;
	__u64 ms;
	int err;

	if (!read_time(&call->args[0], unit, &ms))
		return answer_one(call->work, ERROR_INTEGER);
	err = add(call, by, ms, 0, &sum);
	if (!err && sum.value.value == by)
		touch(call, ms, 0);
	return err ? fail(call, err) : answer_integer(call->work, sum.value.value);
}

/* Adds A2; if that is the sum, the entry gets A1 seconds. Replies the sum. */
enum started script_count_first(const struct script_call *call)
{
	int64_t by;

	if (!script_number(&call->args[1], &by))
		return answer_one(call->work, ERROR_INTEGER);
	return count_first(call, by, UNIT_SECONDS);
}

/* Adds 1; the first time, the entry gets A1 seconds. Replies the sum. */
enum started script_count_once(const struct script_call *call)
{
	return count_first(call, 1, UNIT_SECONDS);
}

/* The same with milliseconds. */
enum started script_count_once_ms(const struct script_call *call)
{
	return count_first(call, 1, UNIT_MILLISECONDS);
}

/* @ms, doubled for each call above the limit but the first one. */
static __u64 back_off(__u64 ms, int64_t above)
{
	while (--above > 0 && ms < HASHBELT_TTL_MAX_MS)
		ms *= 2;
	return ms < HASHBELT_TTL_MAX_MS ? ms : HASHBELT_TTL_MAX_MS;
}

/*
 * Adds 1 to a number that has A1 ms from the first time on. Above A2, it has them from now on if A3
 * is "true", and more each time if A4 is. Replies the sum and the ms left.
 */
enum started script_count_limited(const struct script_call *call)
{
	struct sum sum;
	int64_t most;
	__u64 ms;
	int err;

	if (!read_time(&call->args[0], UNIT_MILLISECONDS, &ms) ||
	    !script_number(&call->args[1], &most))
		return answer_one(call->work, ERROR_INTEGER);
	err = add(call, 1, ms, 0, &sum);
	if (err)
		return fail(call, err);
	if (sum.value.value > most && !redis_is(&call->args[2], "true") &&
	    redis_is(&call->args[3], "true"))
		ms = back_off(ms, sum.value.value - most);
	else if (sum.value.value != 1 &&
		 (sum.value.value <= most || !redis_is(&call->args[2], "true")))
		return answer_pair(call, sum.value.value,
				   lifetime_left(sum.item.ttl_ms, UNIT_MILLISECONDS, 0));
	err = touch(call, ms, 0);
	return err && err != -ENOENT ? fail(call, err) : answer_pair(call, sum.value.value, ms);
}

/* Puts 1 under a key for a time. */
static int put_one(const struct script_call *call, unsigned int key, __u64 ms)
{
	struct target target = script_target(call, key);
	struct hashbelt_item item = target_item(HASHBELT_OP_PUT, &target, "1", 1);

	item.ttl_ms = ms;
	return target_run(&target, &item);
}

static enum started answer_block(const struct script_call *call, const struct sum *sum,
				 bool is_blocked, int64_t left)
{
	struct answer answer = answer_begin(call->work);

	answer_number(&answer, '*', 4);
	answer_number(&answer, ':', sum->value.value);
	answer_number(&answer, ':', sum->item.ttl_ms);
	answer_number(&answer, ':', is_blocked);
	answer_number(&answer, ':', left);
	return answer_end(&answer);
}

/* The time left of the second key, ms; 0: it is not there; -1: it does not expire. */
static int read_block(const struct script_call *call, int64_t *left)
{
	struct target target = script_target(call, 1);
	struct hashbelt_item item = target_item(HASHBELT_OP_GET, &target, NULL, 0);
	int err;

	item.how = HASHBELT_NO_VALUE | HASHBELT_NO_REFRESH;
	err = target_run(&target, &item);
	*left = err ? 0 : lifetime_left(item.ttl_ms, UNIT_MILLISECONDS, 0);
	return err == -ENOENT ? 0 : err;
}

/* A second key that does not expire blocks nobody: both begin anew. */
static int begin_anew(const struct script_call *call, struct sum *sum, __u64 ms)
{
	struct target target = script_target(call, 1);
	struct hashbelt_item item = target_item(HASHBELT_OP_REMOVE, &target, NULL, 0);
	int err = target_run(&target, &item);

	sum->value.value = 1;
	sum->item.ttl_ms = ms;
	return err && err != -ENOENT ? err : put_one(call, 0, ms);
}

/*
 * Adds 1 to a number that has A1 ms. Above A2, the second key is there for A3 ms, and blocks.
 * Replies the sum, its ms left, whether it is blocked, and the ms left of that.
 */
enum started script_throttle(const struct script_call *call)
{
	int64_t most, left = 0;
	struct sum sum;
	__u64 ms, block;
	int err;

	if (call->key_count < 2)
		return answer_one(call->work, "-ERR this script needs two keys");
	if (!read_time(&call->args[0], UNIT_MILLISECONDS, &ms) ||
	    !script_number(&call->args[1], &most) ||
	    !read_time(&call->args[2], UNIT_MILLISECONDS, &block))
		return answer_one(call->work, ERROR_INTEGER);
	err = add(call, 1, ms, 0, &sum);
	if (!err && sum.item.ttl_ms == HASHBELT_TTL_NEVER) {
		touch(call, ms, HASHBELT_IF_LASTING);
		sum.item.ttl_ms = ms;
	}
	err = err ?: read_block(call, &left);
	if (!err && left < 0)
		err = begin_anew(call, &sum, ms);
	if (!err && !left && sum.value.value > most) {
		err = put_one(call, 1, block);
		left = block;
	}
	return err ? fail(call, err) : answer_block(call, &sum, left > 0, left);
}

static enum started add_plainly(const struct script_call *call, __u32 how)
{
	struct answer answer = answer_begin(call->work);
	struct sum sum;
	int64_t by;
	int err;

	if (!script_number(&call->args[0], &by))
		return answer_one(call->work, ERROR_INTEGER);
	err = add(call, by, HASHBELT_TTL_NEVER, how, &sum);
	if (err && err != -ENOENT)
		return fail(call, err);
	if (err)
		answer_nil(&answer);
	else
		answer_number(&answer, ':', sum.value.value);
	return answer_end(&answer);
}

/* Subtracts A1 from a key that is there. Replies the number; "NEX" if it is not. */
enum started script_count_down(const struct script_call *call)
{
	struct answer answer = answer_begin(call->work);
	struct sum sum;
	int64_t by;
	int err;

	if (!script_number(&call->args[0], &by) || by == INT64_MIN)
		return answer_one(call->work, ERROR_INTEGER);
	err = add(call, -by, HASHBELT_TTL_NEVER, HASHBELT_IF_PRESENT, &sum);
	if (err && err != -ENOENT)
		return fail(call, err);
	if (err)
		answer_text(&answer, "NEX");
	else
		answer_number(&answer, ':', sum.value.value);
	return answer_end(&answer);
}

/* Adds A1 to a key that is there. */
enum started script_count_present(const struct script_call *call)
{
	return add_plainly(call, HASHBELT_IF_PRESENT);
}

/* Subtracts 1 from a number above 0. Replies nil. */
enum started script_count_back(const struct script_call *call)
{
	struct answer answer = answer_begin(call->work);
	struct sum sum;
	int err = add(call, -1, HASHBELT_TTL_NEVER, HASHBELT_IF_PRESENT | HASHBELT_FLOOR, &sum);

	if (err && err != -ENOENT && err != -EBADMSG)
		return fail(call, err);
	answer_nil(&answer);
	return answer_end(&answer);
}

/* Adds A1. */
enum started script_count(const struct script_call *call)
{
	return add_plainly(call, 0);
}

/* Puts a number under a key that has none. */
static int put_first(const struct script_call *call, const struct word *number, __u64 ms)
{
	struct target target = script_target(call, 0);
	struct hashbelt_item item = target_item(HASHBELT_OP_PUT, &target, number->at, number->len);

	item.how = HASHBELT_IF_ABSENT;
	item.ttl_ms = ms;
	return target_run(&target, &item);
}

/* Adds A2; an absent key gets A3 instead, for A1 seconds; 0: for ever. Replies the number. */
enum started script_count_from(const struct script_call *call)
{
	__u64 ms = HASHBELT_TTL_NEVER;
	int64_t by, first;
	unsigned int i;
	struct sum sum;
	int err = -ENOENT;

	if (!script_number(&call->args[1], &by) || !script_number(&call->args[2], &first) ||
	    (!redis_is(&call->args[0], "0") && !read_time(&call->args[0], UNIT_SECONDS, &ms)))
		return answer_one(call->work, ERROR_INTEGER);
	for (i = 0; err == -ENOENT && i < TARGET_ATTEMPTS; i++) {
		err = put_first(call, &call->args[2], ms);
		if (!err)
			return answer_integer(call->work, first);
		if (err == -EEXIST)
			err = add(call, by, HASHBELT_TTL_NEVER, HASHBELT_IF_PRESENT, &sum);
	}
	return err ? fail(call, err) : answer_integer(call->work, sum.value.value);
}

static int read_step(struct change *change, struct hashbelt_item *item)
{
	(void)change;
	(void)item;
	return CHANGE_NOTHING;
}

/* Replies a number, 0 of an absent key, and the ms left; 0: it does not expire. */
enum started script_count_read(const struct script_call *call)
{
	struct change change = { .target = script_target(call, 0), .step = read_step };
	int err = change_run(&change);
	int64_t number = 0, left = 0;
	bool is_number = true;

	if (err >= 0 && change.is_there) {
		is_number = script_number(&(struct word){ change.value, change.len }, &number);
		left = change.whole.item.ttl_ms == HASHBELT_TTL_NEVER ? 0 :
		       (int64_t)change.whole.item.ttl_ms;
	}
	change_end(&change);
	if (err < 0)
		return answer_failure(call->work, call->belt, err);
	return is_number ? answer_pair(call, number, left) : answer_one(call->work, ERROR_INTEGER);
}

/* Replies the value and the ms left. */
enum started script_read(const struct script_call *call)
{
	struct change change = { .target = script_target(call, 0), .step = read_step };
	struct answer answer = answer_begin(call->work);
	int err = change_run(&change);

	if (err < 0) {
		change_end(&change);
		return answer_failure(call->work, call->belt, err);
	}
	answer_number(&answer, '*', 2);
	if (change.is_there)
		answer_bulk(&answer, change.value, change.len);
	else
		answer_nil(&answer);
	answer_number(&answer, ':', !change.is_there ? -2 :
		      lifetime_left(change.whole.item.ttl_ms, UNIT_MILLISECONDS, 0));
	change_end(&change);
	return answer_end(&answer);
}

/* Deletes the keys that match the pattern of the first one. Replies their number. */
enum started script_delete_matching(const struct script_call *call)
{
	int64_t sum;
	int err = keys_delete(call->belt, &call->keys[0], &sum);

	return err ? answer_failure(call->work, call->belt, err) :
		     answer_integer(call->work, sum);
}
