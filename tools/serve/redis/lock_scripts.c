// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scripts about locks and single values. Each change of an entry is one operation of the belt, on
 * condition of the version that was read. Several keys are changed one after the other.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lifetime.h"
#include "put.h"
#include "script.h"

/* Answers with a number, or that an operation has failed. */
static enum started answer_result(const struct script_call *call, int err, int64_t number)
{
	return err < 0 ? answer_failure(call->work, call->belt, err) :
			 answer_integer(call->work, number);
}

/* Changes the entry of a key. Return: what change_run() returns. */
static int change_key(const struct script_call *call, unsigned int key, int64_t number,
		      int (*step)(struct change *change, struct hashbelt_item *item))
{
	struct change change = {
		.target = script_target(call, key), .step = step, .words = call->args,
		.number = number,
	};
	int err = change_run(&change);

	change_end(&change);
	return err;
}

/* Deletes each key whose value is A1. Replies their number. */
enum started script_delete_equal(const struct script_call *call)
{
	unsigned int i;
	int64_t sum = 0;
	int err = 0;

	for (i = 0; err >= 0 && i < call->key_count; i++) {
		err = change_key(call, i, 0, change_delete_equal);
		sum += err == CHANGE_DO;
	}
	return answer_result(call, err, sum);
}

/* Touches an entry whose value is A1, so that @number milliseconds are left; 0: deletes it. */
static int touch_step(struct change *change, struct hashbelt_item *item)
{
	if (!change_equals(change, &change->words[0]))
		return CHANGE_NOTHING;
	item->op = change->number ? HASHBELT_OP_TOUCH : HASHBELT_OP_REMOVE;
	item->ttl_ms = change->number < 0 ? HASHBELT_TTL_NEVER : (__u64)change->number;
	return CHANGE_DO;
}

/* Gives the entry with the value A1 this time. @number: below 0: it does not expire. */
static enum started touch_equal(const struct script_call *call, int64_t number)
{
	int err = change_key(call, 0, number, touch_step);

	return answer_result(call, err, err == CHANGE_DO);
}

/* Deletes an entry whose value is not A1. */
static int delete_other_step(struct change *change, struct hashbelt_item *item)
{
	if (!change->is_there || change_equals(change, &change->words[0]))
		return CHANGE_NOTHING;
	item->op = HASHBELT_OP_REMOVE;
	return CHANGE_DO;
}

/* Deletes the first key if its value is not A1. Replies 1, else 0. */
enum started script_delete_other(const struct script_call *call)
{
	int err = change_key(call, 0, 0, delete_other_step);

	return answer_result(call, err, err == CHANGE_DO);
}

/* Answers by true, or by nil, which is false. */
static enum started answer_truth(const struct script_call *call, int err)
{
	struct answer answer = answer_begin(call->work);

	if (err < 0)
		return answer_failure(call->work, call->belt, err);
	if (err == CHANGE_DO)
		answer_number(&answer, ':', 1);
	else
		answer_nil(&answer);
	return answer_end(&answer);
}

/* Deletes the first key if its value is A1. Replies true or false. */
enum started script_leave(const struct script_call *call)
{
	return answer_truth(call, change_key(call, 0, 0, change_delete_equal));
}

/* The same, with 1 for success, 0 for another value and -1 for none. */
enum started script_release(const struct script_call *call)
{
	struct change change = {
		.target = script_target(call, 0), .step = change_delete_equal, .words = call->args,
	};
	int err = change_run(&change);
	bool is_there = change.is_there;

	change_end(&change);
	return answer_result(call, err, err == CHANGE_DO ? 1 : is_there ? 0 : -1);
}

/* The time of an argument, in milliseconds; 0: it is over. Return: false if it is none. */
static bool read_time(const struct word *word, enum time_unit unit, int64_t *ms)
{
	struct lifetime life;
	int64_t number;

	if (!script_number(word, &number) ||
	    !lifetime_of(number, unit, redis_now_ms(), &life))
		return false;
	*ms = life.is_over ? 0 : life.ttl_ms;
	return true;
}

static enum started renew(const struct script_call *call, enum time_unit unit)
{
	int64_t ms;

	if (!read_time(&call->args[1], unit, &ms))
		return answer_one(call->work, ERROR_INTEGER);
	return touch_equal(call, ms);
}

/* If the value is A1, A2 milliseconds are left; none: it is deleted. */
enum started script_renew(const struct script_call *call)
{
	return renew(call, UNIT_MILLISECONDS);
}

/* The same, and replies true or false. */
enum started script_renew_own(const struct script_call *call)
{
	int64_t ms;

	if (!read_time(&call->args[1], UNIT_MILLISECONDS, &ms))
		return answer_one(call->work, ERROR_INTEGER);
	return answer_truth(call, change_key(call, 0, ms, touch_step));
}

/* If the value is A1, A2 seconds are left; none: it is deleted. */
enum started script_renew_seconds(const struct script_call *call)
{
	return renew(call, UNIT_SECONDS);
}

/* If the value is A1, A2 seconds are left; none: it does not expire. */
enum started script_expire_equal(const struct script_call *call)
{
	int64_t ms;

	if (!read_time(&call->args[1], UNIT_SECONDS, &ms))
		return answer_one(call->work, ERROR_INTEGER);
	return touch_equal(call, ms ?: -1);
}

/* Touches an entry only while it has a deadline, which another caller may take from it. */
static void touch_expiring(struct hashbelt_item *item, __u64 ttl_ms, __u32 how)
{
	item->op = HASHBELT_OP_TOUCH;
	item->ttl_ms = ttl_ms;
	item->how |= HASHBELT_IF_EXPIRING | how;
}

/*
 * Adds @number milliseconds to the time left of the entry with the value A1, also after a touch by
 * another caller. A number below 0 is subtracted from the time that was read: a touch that has
 * added to it since then is lost.
 */
static int extend_step(struct change *change, struct hashbelt_item *item)
{
	__u64 left = change->whole.item.ttl_ms;
	struct lifetime life;
	int64_t ms;

	if (!change_equals(change, &change->words[0]) || left == HASHBELT_TTL_NEVER)
		return CHANGE_NOTHING;
	if (change->number > 0) {
		touch_expiring(item, change->number, HASHBELT_FROM_DEADLINE);
		return change->number > (int64_t)HASHBELT_TTL_MAX_MS ? -EOVERFLOW : CHANGE_DO;
	}
	if (__builtin_add_overflow((int64_t)left, change->number, &ms) ||
	    !lifetime_of(ms, UNIT_MILLISECONDS, 0, &life))
		return -EOVERFLOW;
	if (life.is_over) {
		item->op = HASHBELT_OP_REMOVE;
		return CHANGE_DO;
	}
	touch_expiring(item, life.ttl_ms, change->number ? HASHBELT_IF_SOONER : 0);
	return CHANGE_DO;
}

/* Touches an entry that expires, and whose value is A1. */
static int renew_step(struct change *change, struct hashbelt_item *item)
{
	int step;

	if (change->is_there && change->whole.item.ttl_ms == HASHBELT_TTL_NEVER)
		return CHANGE_NOTHING;
	step = touch_step(change, item);
	if (step == CHANGE_DO && item->op == HASHBELT_OP_TOUCH)
		touch_expiring(item, item->ttl_ms, 0);
	return step;
}

/* If the value is A1 and it expires, A2 ms are left; with A3 "0" they are added. */
enum started script_extend(const struct script_call *call)
{
	bool adds = redis_is(&call->args[2], "0");
	int64_t ms;
	int err;

	if (!script_number(&call->args[1], &ms) ||
	    (!adds && !read_time(&call->args[1], UNIT_MILLISECONDS, &ms)))
		return answer_one(call->work, ERROR_INTEGER);
	err = change_key(call, 0, ms, adds ? extend_step : renew_step);
	/* The kernel refuses a time that is too long. */
	if (err == -EOVERFLOW || err == -EINVAL)
		return answer_one(call->work, ERROR_INTEGER);
	return answer_result(call, err, err == CHANGE_DO);
}

/* Puts a value under a key that has none. Return: 0, -EEXIST or an error. */
static int put_new(const struct script_call *call, unsigned int key, const struct word *value,
		   int64_t ms, uint64_t *version)
{
	struct target target = script_target(call, key);
	struct hashbelt_item item = target_item(HASHBELT_OP_PUT, &target, NULL, 0);
	int err;

	put_fill(&item, value, ms);
	item.how = HASHBELT_IF_ABSENT;
	err = target_run(&target, &item);
	*version = item.version;
	return err;
}

/* Takes back keys that this call has put. */
static void take_back(const struct script_call *call, unsigned int keys, const uint64_t *versions)
{
	struct hashbelt_item item;
	struct target target;

	while (keys--) {
		target = script_target(call, keys);
		item = target_item(HASHBELT_OP_REMOVE, &target, NULL, 0);
		item.how = HASHBELT_IF_VERSION;
		item.version = versions[keys];
		target_run(&target, &item);
	}
}

/* If no key is there, all get the value A1 for the time A2. Replies @number, else 0. */
static enum started acquire(const struct script_call *call, enum time_unit unit, int64_t number)
{
	uint64_t versions[SCRIPT_WORDS];
	unsigned int i;
	int64_t ms;
	int err = 0;

	if (!read_time(&call->args[1], unit, &ms) || !ms)
		return answer_one(call->work, "-ERR invalid expire time in 'set' command");
	if (!put_fits(call->work, &call->args[0]))
		return answer_one(call->work, ERROR_VALUE);
	for (i = 0; !err && i < call->key_count; i++)
		err = put_new(call, i, &call->args[0], ms, &versions[i]);
	if (err)
		take_back(call, i - 1, versions);
	return err == -EEXIST ? answer_integer(call->work, 0) : answer_result(call, err, number);
}

/* The time is in milliseconds. Replies the number of keys, else 0. */
enum started script_acquire(const struct script_call *call)
{
	return acquire(call, UNIT_MILLISECONDS, call->key_count);
}

/* The same, and replies 1, else 0. */
enum started script_acquire_one(const struct script_call *call)
{
	return acquire(call, UNIT_MILLISECONDS, 1);
}

/* The time is in seconds. Replies the number of keys, else 0. */
enum started script_acquire_seconds(const struct script_call *call)
{
	return acquire(call, UNIT_SECONDS, call->key_count);
}

/* Puts the value A1 under a key that has none, for @number ms. */
static int claim_step(struct change *change, struct hashbelt_item *item)
{
	if (change->is_there)
		return CHANGE_NOTHING;
	put_fill(item, &change->words[0], change->number);
	return CHANGE_DO;
}

/* An absent key gets the value A1 for A2 ms. Replies 1, also if it has that already, else 0. */
enum started script_claim(const struct script_call *call)
{
	struct change change = {
		.target = script_target(call, 0), .step = claim_step, .words = call->args,
	};
	bool is_own;
	int err;

	if (!read_time(&call->args[1], UNIT_MILLISECONDS, &change.number) || !change.number)
		return answer_one(call->work, "-ERR invalid expire time in 'set' command");
	if (!put_fits(call->work, &call->args[0]))
		return answer_one(call->work, ERROR_VALUE);
	err = change_run(&change);
	is_own = change.is_there && change_equals(&change, &call->args[0]);
	change_end(&change);
	return answer_result(call, err, err == CHANGE_DO || is_own);
}

/* Puts the value A1 under a key that has none, for @number ms, or touches the entry that has it. */
static int obtain_step(struct change *change, struct hashbelt_item *item)
{
	if (change->is_there)
		return touch_step(change, item);
	put_fill(item, &change->words[0],
		 change->number < 0 ? HASHBELT_TTL_NEVER : (__u64)change->number);
	return CHANGE_DO;
}

/* An absent key, or one with the value A1, gets that for A2 ms. Replies true or false. */
enum started script_obtain(const struct script_call *call)
{
	int64_t ms;

	if (!read_time(&call->args[1], UNIT_MILLISECONDS, &ms) || !ms)
		return answer_one(call->work, "-ERR invalid expire time in 'set' command");
	if (!put_fits(call->work, &call->args[0]))
		return answer_one(call->work, ERROR_VALUE);
	return answer_truth(call, change_key(call, 0, ms, obtain_step));
}

/*
 * The same with seconds, 0 for ever, and 1 or 0 as the reply. If A3 is "true", and for the owner
 * "*", the key has to be absent.
 */
enum started script_obtain_seconds(const struct script_call *call)
{
	bool is_new = redis_is(&call->args[2], "true") || redis_is(&call->args[0], "*");
	uint64_t version;
	int64_t ms;
	int err;

	if (!read_time(&call->args[1], UNIT_SECONDS, &ms))
		return answer_one(call->work, "-ERR invalid expire time in 'set' command");
	if (!put_fits(call->work, &call->args[0]))
		return answer_one(call->work, ERROR_VALUE);
	if (!is_new) {
		err = change_key(call, 0, ms ?: -1, obtain_step);
		return answer_result(call, err, err == CHANGE_DO);
	}
	err = put_new(call, 0, &call->args[0], ms ?: (int64_t)HASHBELT_TTL_NEVER, &version);
	return err == -EEXIST ? answer_integer(call->work, 0) : answer_result(call, err, 1);
}

/* Puts the value A1 again, for @number ms; with 0, only looks whether it is there. */
static int again_step(struct change *change, struct hashbelt_item *item)
{
	if (!change_equals(change, &change->words[0]))
		return -EEXIST;
	if (!change->number)
		return CHANGE_NOTHING;
	put_fill(item, &change->words[0], change->number);
	return CHANGE_DO;
}

/* Looks whether the value of the first key is A1. Replies true or false. */
enum started script_is_equal(const struct script_call *call)
{
	int err = change_key(call, 0, 0, again_step);

	if (err == -EEXIST)
		return answer_truth(call, CHANGE_NOTHING);
	return answer_truth(call, err < 0 ? err : CHANGE_DO);
}

/* Replies 1. */
enum started script_one(const struct script_call *call)
{
	return answer_integer(call->work, 1);
}

/* If all keys have the value A1, they get A2 ms. Replies @number, else 0. */
static enum started extend_all(const struct script_call *call, int64_t number)
{
	unsigned int i;
	int64_t ms;
	int err = 0;

	if (!read_time(&call->args[1], UNIT_MILLISECONDS, &ms) || !ms)
		return answer_one(call->work, "-ERR invalid expire time in 'set' command");
	for (i = 0; call->key_count > 1 && err >= 0 && i < call->key_count; i++)
		err = change_key(call, i, 0, again_step);
	for (i = 0; err >= 0 && i < call->key_count; i++)
		err = change_key(call, i, ms, again_step);
	return err == -EEXIST ? answer_integer(call->work, 0) : answer_result(call, err, number);
}

/* Replies the number of keys, else 0. */
enum started script_extend_all(const struct script_call *call)
{
	return extend_all(call, call->key_count);
}

/* Replies 1, else 0. */
enum started script_extend_one(const struct script_call *call)
{
	return extend_all(call, 1);
}

/* An absent key gets the value A1 for A2. */
static enum started add(const struct script_call *call, enum time_unit unit, const char *error)
{
	struct answer answer = answer_begin(call->work);
	uint64_t version;
	int64_t ms;
	int err;

	if (!read_time(&call->args[1], unit, &ms) || !ms)
		return answer_one(call->work, error);
	if (!put_fits(call->work, &call->args[0]))
		return answer_one(call->work, ERROR_VALUE);
	err = put_new(call, 0, &call->args[0], ms, &version);
	if (err && err != -EEXIST)
		return answer_failure(call->work, call->belt, err);
	if (err)
		answer_nil(&answer);
	else
		answer_line(&answer, "+OK");
	return answer_end(&answer);
}

/* An absent key gets the value A1 for A2 seconds. Replies OK or nil. */
enum started script_add(const struct script_call *call)
{
	return add(call, UNIT_SECONDS, "-ERR invalid expire time in 'setex' command");
}

/* The same with milliseconds. */
enum started script_add_ms(const struct script_call *call)
{
	return add(call, UNIT_MILLISECONDS, "-ERR invalid expire time in 'set' command");
}

/* The first absent key gets the value A3 for A2 seconds. Replies A1 and its number from 1. */
enum started script_slot(const struct script_call *call)
{
	struct answer answer = answer_begin(call->work);
	const struct word *name = &call->args[0];
	char text[256];
	uint64_t version;
	unsigned int i;
	int err = -EEXIST;
	int64_t ms;

	if (!read_time(&call->args[1], UNIT_SECONDS, &ms) || !ms)
		return answer_one(call->work, "-ERR invalid expire time in 'set' command");
	if (name->len > sizeof(text) - 16 || !put_fits(call->work, &call->args[2]))
		return answer_one(call->work, ERROR_VALUE);
	for (i = 0; err == -EEXIST && i < call->key_count; i++)
		err = put_new(call, i, &call->args[2], ms, &version);
	if (err && err != -EEXIST)
		return answer_failure(call->work, call->belt, err);
	memcpy(text, name->at, name->len);
	if (err)
		answer_nil(&answer);
	else
		answer_bulk(&answer, text,
			    name->len + sprintf(text + name->len, "%u", i));
	return answer_end(&answer);
}

/* Puts A1 in the place of the value A2. @number: milliseconds; below 0: it does not expire. */
static int swap_step(struct change *change, struct hashbelt_item *item)
{
	if (!change_equals(change, &change->words[1]))
		return CHANGE_NOTHING;
	put_fill(item, &change->words[0],
		 change->number < 0 ? HASHBELT_TTL_NEVER : (__u64)change->number);
	return CHANGE_DO;
}

/* If the value is A2 it becomes A1, for the time that A3 (EX or PX) and A4 give. */
enum started script_swap(const struct script_call *call)
{
	int64_t ms = -1;
	int err;

	if (call->arg_count > 2 &&
	    (call->arg_count != 4 ||
	     !(redis_is(&call->args[2], "ex") || redis_is(&call->args[2], "px"))))
		return answer_one(call->work, ERROR_SYNTAX);
	if (call->arg_count == 4 &&
	    (!read_time(&call->args[3], redis_is(&call->args[2], "ex") ? UNIT_SECONDS :
			UNIT_MILLISECONDS, &ms) || !ms))
		return answer_one(call->work, "-ERR invalid expire time in 'set' command");
	if (!put_fits(call->work, &call->args[0]))
		return answer_one(call->work, ERROR_VALUE);
	err = change_key(call, 0, ms, swap_step);
	return err == CHANGE_DO ? answer_one(call->work, "+OK") : answer_result(call, err, 0);
}

/* Puts A2 in the place of the value A1. @number: milliseconds; below 0: it does not expire. */
static int swap_equal_step(struct change *change, struct hashbelt_item *item)
{
	if (!change_equals(change, &change->words[0]))
		return CHANGE_NOTHING;
	put_fill(item, &change->words[1],
		 change->number < 0 ? HASHBELT_TTL_NEVER : (__u64)change->number);
	return CHANGE_DO;
}

/* If the value is A1 it becomes A2, which does not expire. Replies 1, else 0. */
enum started script_set_equal(const struct script_call *call)
{
	int err;

	if (!put_fits(call->work, &call->args[1]))
		return answer_one(call->work, ERROR_VALUE);
	err = change_key(call, 0, -1, swap_equal_step);
	return answer_result(call, err, err == CHANGE_DO);
}

/* If the value is A1 it becomes A2, for A3 seconds. Replies 1, or 0 for another value. */
enum started script_swap_equal(const struct script_call *call)
{
	struct change change = {
		.target = script_target(call, 0), .step = swap_equal_step, .words = call->args,
	};
	bool is_there;
	int err;

	if (!read_time(&call->args[2], UNIT_SECONDS, &change.number) || !change.number)
		return answer_one(call->work, "-ERR invalid expire time in 'setex' command");
	if (!put_fits(call->work, &call->args[1]))
		return answer_one(call->work, ERROR_VALUE);
	err = change_run(&change);
	is_there = change.is_there;
	change_end(&change);
	if (err == CHANGE_NOTHING && !is_there)
		return answer_one(call->work, "-ERR key does not exist");
	return answer_result(call, err, err == CHANGE_DO);
}
