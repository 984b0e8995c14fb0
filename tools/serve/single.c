// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that may take several calls. Those that change a value read it, and put the new one on
 * condition of its version, until no other put came between: so they are atomic also against
 * programs that use the device.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "reply.h"
#include "single.h"

/* Digits of the longest number. */
#define DIGITS_MAX	20

/* A value that is a number may have blanks and signs, but is not longer. */
#define NUMBER_MAX	64

/* The time that md gives an empty value that is to be stale: the least that a belt knows. */
#define EMPTY_MS	1

#define NON_NUMERIC	"CLIENT_ERROR cannot increment or decrement non-numeric value"

/**
 * struct sum - an addition
 * @digits:	the sum in decimal
 * @len:	their number
 * @version:	of the entry with the sum
 * @ttl_ms:	its time left
 */
struct sum {
	char digits[DIGITS_MAX];
	size_t len;
	uint64_t version;
	uint64_t ttl_ms;
};

static bool write_line(struct work *work, const char *text)
{
	return output_text(&work->output, text, strlen(text)) &&
	       output_text(&work->output, "\r\n", 2);
}

/* A classic command with noreply is quiet about errors, too. */
static bool fail(struct work *work, const struct target *target, int err)
{
	if (work->request->quiet && work->request->command < COMMAND_META_GET)
		return true;
	return reply_failure(work, target->belt, err);
}

static bool is_decrement(const struct request *request)
{
	return request->command == COMMAND_DECR || request->mode == 'D';
}

/* Reads the number of an entry, and adds to it. */
static int read_sum(const struct request *request, const struct target *target,
		    struct hashbelt_item *old, struct sum *sum)
{
	char value[NUMBER_MAX];
	uint64_t number;
	int err;

	*old = target_item(HASHBELT_OP_GET, target, value, sizeof(value));
	old->how = HASHBELT_NO_REFRESH;
	err = target_run(target, old);
	if (err)
		return err == -ERANGE ? -EBADMSG : err;
	if (request->unique && request->given & meta_bit('C') && request->unique != old->version)
		return -ESTALE;
	if (!parser_number(value, old->value_len, &number))
		return -EBADMSG;
	if (!is_decrement(request))
		number += request->delta;
	else
		number = number > request->delta ? number - request->delta : 0;
	sum->len = reply_number(sum->digits, number) - sum->digits;
	return 0;
}

/* Puts a sum in the place of the number that was read. */
static int put_sum(const struct request *request, const struct target *target,
		   const struct hashbelt_item *old, struct sum *sum)
{
	struct hashbelt_item item = target_item(HASHBELT_OP_PUT, target, sum->digits, sum->len);
	bool stays = true;
	int err;

	item.how = HASHBELT_IF_VERSION;
	item.version = old->version;
	item.flags = old->flags;
	item.ttl_ms = HASHBELT_TTL_KEEP;
	if (request->given & meta_bit('T'))
		stays = exptime_to_ttl(request->exptime, &item.ttl_ms);
	if (!stays)
		item.op = HASHBELT_OP_REMOVE;
	err = target_run(target, &item);
	sum->version = item.version;
	sum->ttl_ms = item.ttl_ms;
	return err;
}

/* Makes the entry of ma with N. */
static int put_initial(const struct request *request, const struct target *target, struct sum *sum)
{
	struct hashbelt_item item;
	int err;

	sum->len = reply_number(sum->digits, request->initial) - sum->digits;
	item = target_item(HASHBELT_OP_PUT, target, sum->digits, sum->len);
	item.how = HASHBELT_IF_ABSENT;
	if (!exptime_to_ttl(request->vivify, &item.ttl_ms))
		return 0;
	err = target_run(target, &item);
	sum->version = item.version;
	sum->ttl_ms = item.ttl_ms;
	return err;
}

/*
 * Adds in one call of the belt. Return: -EBADMSG and -EOVERFLOW also for what memcached adds to and
 * the belt does not: numbers beyond 2^63 - 1, and with blanks.
 */
static int add_at_once(const struct request *request, const struct target *target, struct sum *sum)
{
	struct hashbelt_sum number = {
		.by = is_decrement(request) ? -(int64_t)request->delta : (int64_t)request->delta,
	};
	struct hashbelt_item item = target_item(HASHBELT_OP_ADD, target, &number, sizeof(number));
	int err;

	item.how = HASHBELT_IF_PRESENT | HASHBELT_FLOOR;
	err = target_run(target, &item);
	sum->len = reply_number(sum->digits, number.value) - sum->digits;
	sum->version = item.version;
	sum->ttl_ms = item.ttl_ms;
	return err;
}

/* Adds step by step what add_at_once() does not. */
static int add(const struct request *request, const struct target *target, struct sum *sum)
{
	bool is_plain = !(request->given & (meta_bit('C') | meta_bit('T'))) &&
			request->delta <= INT64_MAX;
	struct hashbelt_item old;
	unsigned int i;
	int err;

	if (is_plain) {
		err = add_at_once(request, target, sum);
		if (err != -EBADMSG && err != -EOVERFLOW &&
		    (err != -ENOENT || !(request->given & meta_bit('N'))))
			return err;
	}
	for (i = 0; i < TARGET_ATTEMPTS; i++) {
		err = read_sum(request, target, &old, sum);
		if (!err) {
			err = put_sum(request, target, &old, sum);
			if (err != -ESTALE && err != -ENOENT)
				return err;
		} else if (err == -ENOENT && request->given & meta_bit('N')) {
			err = put_initial(request, target, sum);
			if (err != -EEXIST)
				return err;
		} else {
			return err;
		}
	}
	return -EBUSY;
}

/* The reply to ma for an entry. */
static bool write_sum(struct work *work, const struct sum *sum)
{
	const struct request *request = work->request;
	const struct meta meta = { .version = sum->version, .ttl_ms = sum->ttl_ms };
	char *space = output_reserve(&work->output, reply_meta_space(request) + DIGITS_MAX), *end;

	if (!space)
		return false;
	if (request->given & meta_bit('v'))
		end = reply_number(mempcpy(space, "VA ", 3), sum->len);
	else
		end = mempcpy(space, "HD", 2);
	end = mempcpy(reply_flags(end, request, "ctOk", &meta), "\r\n", 2);
	if (request->given & meta_bit('v'))
		end = mempcpy(mempcpy(end, sum->digits, sum->len), "\r\n", 2);
	return output_commit(&work->output, space, end - space);
}

/* A line with a code and what the flags return of the request itself. */
static bool write_code(struct work *work, const char *code, const struct meta *meta)
{
	const struct request *request = work->request;
	char *space = output_reserve(&work->output, reply_meta_space(request)), *end;

	if (!space)
		return false;
	end = reply_flags(mempcpy(space, code, 2), request, meta ? "Okcs" : "Ok", meta);
	end = mempcpy(end, "\r\n", 2);
	return output_commit(&work->output, space, end - space);
}

static void note_sum(struct counters *counters, const struct request *request, int err)
{
	if (is_decrement(request))
		count(err ? &counters->decr_misses : &counters->decr_hits);
	else
		count(err ? &counters->incr_misses : &counters->incr_hits);
}

/**
 * single_arithmetic() - carry out incr, decr and ma
 * @work:	the work, with the request in progress
 * @target:	the entry
 *
 * Return: false if there is no memory.
 */
bool single_arithmetic(struct work *work, const struct target *target)
{
	const struct request *request = work->request;
	bool is_meta = request->command == COMMAND_META_ARITHMETIC;
	struct sum sum = { .ttl_ms = HASHBELT_TTL_NEVER };
	int err = add(request, target, &sum);

	if (!err || err == -ENOENT)
		note_sum(&work->service->counters, request, err);
	if (err == -EBADMSG)
		return (request->quiet && !is_meta) || write_line(work, NON_NUMERIC);
	if (err == -ENOENT && is_meta)
		return write_code(work, "NF", NULL);
	if (err == -ESTALE && is_meta)
		return write_code(work, "EX", NULL);
	if (err && err != -ENOENT)
		return fail(work, target, err);
	if (request->quiet)
		return true;
	if (is_meta)
		return write_sum(work, &sum);
	if (err)
		return write_line(work, "NOT_FOUND");
	return output_text(&work->output, sum.digits, sum.len) &&
	       output_text(&work->output, "\r\n", 2);
}

/* Makes the entry of ms with N. @meta: returned: what flags may ask for. */
static int put_first(const struct request *request, const struct target *target, struct meta *meta)
{
	struct hashbelt_item item = target_item(HASHBELT_OP_PUT, target, request->value,
					    request->value_len);
	int err;

	item.how = HASHBELT_IF_ABSENT;
	item.flags = request->flags;
	if (!exptime_to_ttl(request->vivify, &item.ttl_ms))
		return 0;
	err = target_run(target, &item);
	meta->version = item.version;
	return err == -EEXIST ? -EAGAIN : err;
}

/* One attempt of an append or prepend. @meta: returned: what flags may ask for. */
static int concatenate_once(const struct work *work, const struct target *target,
			    struct whole *whole, struct meta *meta)
{
	const struct request *request = work->request;
	struct hashbelt_item item;
	int err = target_read(target, whole);
	size_t len = whole->item.value_len;

	if (err == -ENOENT && request->given & meta_bit('N'))
		return put_first(request, target, meta);
	if (err)
		return err;
	if (request->unique && request->unique != whole->item.version)
		return -ESTALE;
	if (len + request->value_len > work->service->options->item_max)
		return -EEXIST;
	memcpy(whole->before ? whole->bytes : whole->bytes + len, request->value,
	       request->value_len);
	item = target_item(HASHBELT_OP_PUT, target, whole->bytes, len + request->value_len);
	item.how = HASHBELT_IF_VERSION;
	item.version = whole->item.version;
	item.flags = whole->item.flags;
	item.ttl_ms = HASHBELT_TTL_KEEP;
	err = target_run(target, &item);
	if (!err)
		*meta = (struct meta){ .version = item.version, .value_len = item.value_len };
	return err == -ESTALE || err == -ENOENT ? -EAGAIN : err;
}

/**
 * single_concatenate() - carry out append and prepend, also as ms
 * @work:	the work, with the request in progress
 * @target:	the entry
 *
 * Return: false if there is no memory.
 */
bool single_concatenate(struct work *work, const struct target *target)
{
	const struct request *request = work->request;
	const struct outcome *outcome;
	struct meta meta = { .value_len = request->value_len };
	struct whole whole = { 0 };
	unsigned int i;
	int err = -EAGAIN;

	if (request->stores == COMMAND_PREPEND)
		whole.before = request->value_len;
	else
		whole.after = request->value_len;
	for (i = 0; i < TARGET_ATTEMPTS && err == -EAGAIN; i++)
		err = concatenate_once(work, target, &whole, &meta);
	free(whole.bytes);
	outcome = reply_stored(work->service, request, err);
	if (!outcome)
		return fail(work, target, err);
	if (request->quiet && (!err || request->command != COMMAND_META_SET))
		return true;
	if (request->command != COMMAND_META_SET)
		return write_line(work, outcome->text);
	return write_code(work, outcome->code, &meta);
}

/**
 * struct filling - mg with N or R
 * @fill:	the call
 * @value:	where its value is
 * @head:	space before the value, bytes
 * @won:	a fill lease was granted
 * @token:	its token
 * @ttl_ms:	the time for which it was asked
 * @is_over:	that is over at once
 * @is_stale:	the value is
 */
struct filling {
	struct hashbelt_fill fill;
	char *value;
	size_t head;
	bool won;
	uint64_t token;
	__u64 ttl_ms;
	bool is_over;
	bool is_stale;
};

static void begin_fill(const struct request *request, struct filling *filling)
{
	struct hashbelt_fill *fill = &filling->fill;
	uint64_t given = request->given;

	fill->how = HASHBELT_STALE;
	if (!(given & meta_bit('v')))
		fill->item.how |= HASHBELT_NO_VALUE;
	if (given & meta_bit('u'))
		fill->item.how |= HASHBELT_NO_REFRESH;
	if (given & meta_bit('N')) {
		filling->is_over = !exptime_to_ttl(request->vivify, &filling->ttl_ms);
		fill->lease_ms = filling->ttl_ms;
		if (fill->lease_ms > HASHBELT_TTL_MAX_MS)
			fill->lease_ms = HASHBELT_TTL_MAX_MS;
	}
	if (given & meta_bit('R') &&
	    (!exptime_to_ttl(request->recache, &fill->ahead_ms) ||
	     fill->ahead_ms == HASHBELT_TTL_NEVER))
		fill->ahead_ms = 0;
}

/* Gets the entry or a fill lease. A lease that a call grants stays if the value did not fit. */
static int get_or_fill(struct work *work, const struct target *target, struct filling *filling)
{
	struct hashbelt_fill ask = filling->fill;
	size_t size = work->service->guess;
	char *space = output_reserve(&work->output, filling->head + size + REPLY_TAIL);
	int err;

	while (space) {
		filling->value = space + filling->head;
		filling->fill = ask;
		err = belt_fill(target->belt, target->key, target->key_len, filling->value, size,
				&filling->fill);
		if (filling->fill.state & HASHBELT_GRANTED && (!err || err == -ERANGE ||
							       err == -ENOENT)) {
			filling->won = true;
			filling->token = filling->fill.token;
		}
		if (err != -ERANGE)
			return err;
		size = filling->fill.item.value_len;
		space = output_reserve_large(&work->output, filling->head + size + REPLY_TAIL);
	}
	return -ENOBUFS;
}

/* Writes the reply of mg with the marks that the others do not have. */
static bool write_filled(struct work *work, const struct filling *filling)
{
	const struct request *request = work->request;
	const struct hashbelt_item *item = &filling->fill.item;
	const struct meta meta = {
		filling->won ? filling->token : item->version, item->ttl_ms, item->flags,
		item->value_len,
	};
	bool returns_value = reply_has_value(request, meta.version);
	char *line = filling->value - filling->head, *end, *first;

	if (returns_value)
		end = reply_number(mempcpy(line, "VA ", 3), item->value_len);
	else
		end = mempcpy(line, "HD", 2);
	end = reply_flags(end, request, "stcfOk", &meta);
	if (!filling->won && filling->fill.state & HASHBELT_FILLING)
		end = mempcpy(end, " Z", 2);
	if (filling->is_stale)
		end = mempcpy(end, " X", 2);
	if (filling->won)
		end = mempcpy(end, " W", 2);
	end = mempcpy(end, "\r\n", 2);
	if (!returns_value)
		return output_commit(&work->output, line, end - line);
	first = memmove(filling->value - (end - line), line, end - line);
	memcpy(filling->value + item->value_len, "\r\n", 2);
	return output_commit(&work->output, first, filling->value + item->value_len + 2 - first);
}

/* There is no entry: the winner and the others of N get an empty value, as in memcached. */
static bool write_unfilled(struct work *work, const struct target *target,
			   struct filling *filling)
{
	const struct request *request = work->request;
	bool is_filling = filling->won || filling->fill.state & HASHBELT_FILLING;

	/* R alone fills nothing that is absent. */
	if (filling->won && (filling->is_over || !(request->given & meta_bit('N'))))
		belt_give_up(target->belt, target->key, target->key_len, filling->token);
	if (is_filling && request->given & meta_bit('N')) {
		filling->fill.item = (struct hashbelt_item){ .ttl_ms = filling->ttl_ms };
		return write_filled(work, filling);
	}
	return request->quiet || write_code(work, "EN", NULL);
}

/* Sets the time-to-live that mg gives, after the value was read. */
static void touch(const struct request *request, const struct target *target,
		  struct filling *filling)
{
	struct hashbelt_item item = target_item(HASHBELT_OP_TOUCH, target, NULL, 0);

	if (!(request->given & meta_bit('T')) || filling->is_stale)
		return;
	if (!exptime_to_ttl(request->exptime, &item.ttl_ms))
		item.op = HASHBELT_OP_REMOVE;
	if (!reply_time_first(request))
		filling->fill.item.ttl_ms = item.ttl_ms;
	target_run(target, &item);
}

/**
 * single_meta_get() - carry out mg with N or R
 * @work:	the work, with the request in progress
 * @target:	the entry
 *
 * Return: false if there is no memory.
 */
bool single_meta_get(struct work *work, const struct target *target)
{
	const struct request *request = work->request;
	struct filling filling = { .head = reply_meta_space(request) };
	int err;

	begin_fill(request, &filling);
	err = get_or_fill(work, target, &filling);
	if (err == -ENOBUFS)
		return false;
	if (err && err != -ENOENT)
		return fail(work, target, err);
	reply_note_get(work->service, request, !err);
	if (err)
		return write_unfilled(work, target, &filling);
	filling.is_stale = filling.fill.state & HASHBELT_STALE;
	touch(request, target, &filling);
	return write_filled(work, &filling);
}

/* Removes an entry, @compares: with this version, and leaves its value as a stale one. */
static int leave_stale(const struct target *target, bool compares, uint64_t version)
{
	struct hashbelt_item item = target_item(HASHBELT_OP_REMOVE, target, NULL, 0);

	item.how = HASHBELT_LEAVE_STALE | (compares ? HASHBELT_IF_VERSION : 0);
	item.version = version;
	return target_run(target, &item);
}

/*
 * md with I and x: an empty value takes the place of the present one, and is stale at once. A
 * server that ends between the two leaves no empty value. Without a grace time nothing is stale.
 */
static int make_empty(const struct request *request, const struct target *target)
{
	struct hashbelt_item item = target_item(HASHBELT_OP_PUT, target, "", 0);
	bool compares = request->given & meta_bit('C');
	struct hashbelt_info info;
	int err = belt_info(target->belt, &info);

	if (!err && !info.grace_ms)
		err = -EINVAL;
	if (err)
		return err;
	item.how = compares ? HASHBELT_IF_VERSION : HASHBELT_IF_PRESENT;
	item.version = request->unique;
	item.flags = request->flags;
	item.ttl_ms = EMPTY_MS;
	err = target_run(target, &item);
	/* That ends a fill of an absent key. */
	if (err == -ENOENT && !compares)
		return leave_stale(target, false, 0);
	if (err)
		return err;
	err = leave_stale(target, true, item.version);
	/* It has expired by itself, or another value has replaced it. */
	return err == -ENOENT || err == -ESTALE ? 0 : err;
}

/* Lets an entry expire, where no stale value is to stay. */
static int expire(const struct request *request, const struct target *target)
{
	bool compares = request->given & meta_bit('C');
	struct hashbelt_item item =
		target_item(compares ? HASHBELT_OP_REMOVE : HASHBELT_OP_EXPIRE, target, NULL, 0);

	if (compares) {
		item.how = HASHBELT_IF_VERSION;
		item.version = request->unique;
	}
	return target_run(target, &item);
}

/**
 * single_meta_expire() - carry out md with I
 * @work:	the work, with the request in progress
 * @target:	the entry
 *
 * A belt with a grace time keeps the value as a stale one for so long.
 *
 * Return: false if there is no memory.
 */
bool single_meta_expire(struct work *work, const struct target *target)
{
	const struct request *request = work->request;
	bool compares = request->given & meta_bit('C');
	int err;

	if (request->given & meta_bit('x'))
		err = make_empty(request, target);
	else
		err = leave_stale(target, compares, request->unique);
	/* Without a grace time no value is stale, and there may be no room for an empty one. */
	if (err == -EINVAL || is_full(err))
		err = expire(request, target);
	if (err == -ESTALE)
		return write_code(work, "EX", NULL);
	if (err == -ENOENT)
		return write_code(work, "NF", NULL);
	if (err)
		return fail(work, target, err);
	return request->quiet || write_code(work, "HD", NULL);
}
