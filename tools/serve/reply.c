// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replies, out of the results of operations. The texts are memcached's.
 *
 * The line before a value is written backwards, so that it ends where the value begins: the value
 * stays where the kernel has put it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "reply.h"

/* memcached's time left for an entry that does not expire. */
#define NEVER		"-1"

/* Space for the flags of a meta command: four numbers, an opaque, and their letters. */
#define META_SPACE	192

/* Writes a number that ends at @end. Return: where it begins. */
static char *number_before(char *end, uint64_t number)
{
	do {
		*--end = '0' + number % 10;
		number /= 10;
	} while (number);
	return end;
}

static char *text_before(char *end, const char *text, size_t len)
{
	return memcpy(end - len, text, len);
}

/**
 * reply_number() - write a number
 * @to:		where, 20 bytes at most
 * @number:	the number
 *
 * Return: the end of the number.
 */
char *reply_number(char *to, uint64_t number)
{
	char digits[20], *end = digits + sizeof(digits), *first = number_before(end, number);

	memcpy(to, first, end - first);
	return to + (end - first);
}

/**
 * reply_failure() - answer that a request has failed
 * @work:	the work
 * @belt:	the belt
 * @err:	the error
 *
 * Return: false if there is no memory.
 */
bool reply_failure(struct work *work, struct belt *belt, int err)
{
	char text[BELT_REASON_SIZE];
	const char *reason = belt_reason(belt, err, text);
	size_t len = strlen(reason);
	char *space = output_reserve_large(&work->output, strlen(REPLY_FAILED) + len + 2), *end;

	if (!space)
		return false;
	end = mempcpy(mempcpy(space, REPLY_FAILED, strlen(REPLY_FAILED)), reason, len);
	end = mempcpy(end, "\r\n", 2);
	return output_commit(&work->output, space, end - space);
}

/* Writes a short reply into the space of it. */
static bool answer(struct work *work, const struct reply *reply, const char *text)
{
	size_t len = strlen(text);

	if (reply->request->quiet)
		return true;
	memcpy(reply->space, text, len);
	memcpy(reply->space + len, "\r\n", 2);
	return output_commit(&work->output, reply->space, len + 2);
}

/* A failed operation. noreply is quiet about it, a quiet meta command is not. */
static bool fail(struct work *work, const struct reply *reply, int err)
{
	const struct request *request = reply->request;
	bool is_meta = request->command >= COMMAND_META_GET;

	if (request->quiet && !is_meta)
		return true;
	return reply_failure(work, work->belt, err);
}

/**
 * reply_note_get() - count a get
 * @service:	the service
 * @request:	the request
 * @is_hit:	it found an entry
 */
void reply_note_get(struct service *service, const struct request *request, bool is_hit)
{
	struct counters *counters = &service->counters;
	bool touches = request->command == COMMAND_GAT || request->command == COMMAND_GATS ||
		       request->given & meta_bit('T');

	if (touches) {
		count(&counters->cmd_touch);
		count(is_hit ? &counters->touch_hits : &counters->touch_misses);
	}
	if (touches && request->command == COMMAND_META_GET)
		return;
	count(&counters->cmd_get);
	count(is_hit ? &counters->get_hits : &counters->get_misses);
}

/* The end of the keys of a get, or the failure of one of them in its place. */
static bool end_get(struct work *work, const struct reply *reply)
{
	char *space = reply->space;
	size_t len;

	if (!work->failed) {
		memcpy(space, "END\r\n", 5);
		return output_commit(&work->output, space, 5);
	}
	work->failed = false;
	len = strlen(work->failure);
	space = output_reserve_large(&work->output, len + 2);
	if (!space)
		return false;
	memcpy(space, work->failure, len);
	memcpy(space + len, "\r\n", 2);
	return output_commit(&work->output, space, len + 2);
}

static void note_failure(struct work *work, struct belt *belt, int err)
{
	char text[BELT_REASON_SIZE];

	snprintf(work->failure, sizeof(work->failure), REPLY_FAILED "%s",
		 belt_reason(belt, err, text));
	work->failed = true;
}

/**
 * reply_text() - a reply whose text is known, whatever becomes of its operation
 * @work:	the work
 * @reply:	the reply
 *
 * Return: false if there is no memory.
 */
bool reply_text(struct work *work, const struct reply *reply)
{
	return answer(work, reply, reply->text);
}

/**
 * reply_lost() - the reply to a key of a get that no belt can have
 * @work:	the work
 * @reply:	the reply
 *
 * Return: false if there is no memory.
 */
bool reply_lost(struct work *work, const struct reply *reply)
{
	note_failure(work, NULL, 0);
	return !reply->is_last || end_get(work, reply);
}

static void note_detail(const struct reply *reply, const struct hashbelt_item *item, bool is_hit)
{
	const char *key = (const char *)(uintptr_t)item->key - reply->prefix;
	size_t len = item->key_len + reply->prefix;

	detail_record(key, len, DETAIL_GET);
	if (is_hit)
		detail_record(key, len, DETAIL_HIT);
}

/* Writes the line of a hit before its value. Return: where it begins. */
static char *hit_line(char *value, const struct reply *reply, const struct hashbelt_item *item)
{
	enum command command = reply->request->command;
	const char *key = (const char *)(uintptr_t)item->key - reply->prefix;
	char *p = text_before(value, "\r\n", 2);

	if (command == COMMAND_GETS || command == COMMAND_GATS) {
		p = number_before(p, item->version);
		*--p = ' ';
	}
	p = number_before(p, item->value_len);
	*--p = ' ';
	p = number_before(p, item->flags);
	*--p = ' ';
	p = text_before(p, key, item->key_len + reply->prefix);
	return text_before(p, "VALUE ", 6);
}

/**
 * reply_get() - the reply to a key of a get
 * @work:	the work
 * @reply:	the reply
 *
 * Return: false if there is no memory.
 */
bool reply_get(struct work *work, const struct reply *reply)
{
	struct hashbelt_item *item = &work->item[reply->item];
	char *value = batch_fetch(work, reply, item), *line, *end;

	if (detail_is_on())
		note_detail(reply, item, value);
	if (value) {
		reply_note_get(work->service, reply->request, true);
		note_length(work->service, item->value_len);
		line = hit_line(value, reply, item);
		end = mempcpy(value + item->value_len, "\r\n", 2);
		if (reply->is_last && !work->failed)
			end = mempcpy(end, "END\r\n", 5);
		if (!output_commit(&work->output, line, end - line))
			return false;
		return !reply->is_last || !work->failed || end_get(work, reply);
	}
	if (!item->result)
		return false;
	if (item->result == -ENOENT)
		reply_note_get(work->service, reply->request, false);
	else
		note_failure(work, work->belt, item->result);
	return !reply->is_last || end_get(work, reply);
}

/* Counts a cas. */
static void note_cas(struct counters *counters, int result)
{
	if (!result)
		count(&counters->cas_hits);
	else if (result == -ENOENT)
		count(&counters->cas_misses);
	else if (result == -ESTALE)
		count(&counters->cas_badval);
}

/**
 * reply_stored() - the answer to a store
 * @service:	the service, which counts it
 * @request:	the request
 * @result:	of its operation
 *
 * Return: the answer; NULL for a failure.
 */
const struct outcome *reply_stored(struct service *service, const struct request *request,
				   int result)
{
	static const struct outcome stored = { "HD", "STORED" };
	static const struct outcome not_stored = { "NS", "NOT_STORED" };
	static const struct outcome exists = { "EX", "EXISTS" };
	static const struct outcome not_found = { "NF", "NOT_FOUND" };

	count(&service->counters.cmd_set);
	if (request->stores == COMMAND_CAS)
		note_cas(&service->counters, result);
	switch (result) {
	case 0:
		return &stored;
	case -ESTALE:
		return &exists;
	case -ENOENT:
		return request->stores == COMMAND_CAS ? &not_found : &not_stored;
	case -EEXIST:
		return &not_stored;
	case -ENOSPC:
	case -EDQUOT:
	case -ENOMEM:
		count(&service->counters.store_no_memory);
		return NULL;
	default:
		return NULL;
	}
}

/* The result of the operation that stands for a store. */
static int store_result(const struct request *request, const struct hashbelt_item *item)
{
	/* A value that is over at once is a remove, of any entry or none. */
	if (item->op == HASHBELT_OP_REMOVE && request->stores == COMMAND_SET &&
	    item->result == -ENOENT)
		return 0;
	/* The add of such a value only looks whether there is an entry. */
	if (item->op == HASHBELT_OP_GET)
		return item->result == -ENOENT ? 0 : item->result ? item->result : -EEXIST;
	return item->result;
}

/* The line of a meta command that returns no value. */
static bool meta_line(struct work *work, const struct reply *reply, const char *code,
		      const char *which, const struct meta *meta)
{
	char *end = mempcpy(reply->space, code, 2);

	end = reply_flags(end, reply->request, which, meta);
	end = mempcpy(end, "\r\n", 2);
	return output_commit(&work->output, reply->space, end - reply->space);
}

/**
 * reply_store() - the reply to set, add, replace, cas and ms
 * @work:	the work
 * @reply:	the reply
 *
 * Return: false if there is no memory.
 */
bool reply_store(struct work *work, const struct reply *reply)
{
	const struct hashbelt_item *item = &work->item[reply->item];
	const struct request *request = reply->request;
	int result = store_result(request, item);
	const struct outcome *outcome = reply_stored(work->service, request, result);

	if (!outcome)
		return fail(work, reply, result);
	if (request->command != COMMAND_META_SET)
		return answer(work, reply, outcome->text);
	if (!result && request->quiet)
		return true;
	return meta_line(work, reply, outcome->code, "Okcs",
			 &(struct meta){ .version = result ? 0 : item->version,
					 .value_len = request->value_len });
}

static void note_delete(struct counters *counters, int result)
{
	count(result ? &counters->delete_misses : &counters->delete_hits);
}

/**
 * reply_delete() - the reply to delete
 * @work:	the work
 * @reply:	the reply
 *
 * Return: false if there is no memory.
 */
bool reply_delete(struct work *work, const struct reply *reply)
{
	int result = work->item[reply->item].result;

	if (result && result != -ENOENT)
		return fail(work, reply, result);
	note_delete(&work->service->counters, result);
	return answer(work, reply, result ? "NOT_FOUND" : "DELETED");
}

/**
 * reply_touch() - the reply to touch
 * @work:	the work
 * @reply:	the reply
 *
 * Return: false if there is no memory.
 */
bool reply_touch(struct work *work, const struct reply *reply)
{
	struct counters *counters = &work->service->counters;
	int result = work->item[reply->item].result;

	if (result && result != -ENOENT)
		return fail(work, reply, result);
	count(&counters->cmd_touch);
	count(result ? &counters->touch_misses : &counters->touch_hits);
	return answer(work, reply, result ? "NOT_FOUND" : "TOUCHED");
}

/**
 * reply_meta_space() - space for what the flags of a request return
 * @request:	the request
 *
 * Return: the space with that for the code and the end of the line, bytes.
 */
size_t reply_meta_space(const struct request *request)
{
	if (!(request->given & meta_bit('k')))
		return META_SPACE;
	return META_SPACE + (request->given & meta_bit('b') ? PARSER_BASE64_MAX :
			     request->key_len);
}

/**
 * reply_has_value() - whether the reply to mg has the value of the entry
 * @request:	the request
 * @version:	of the entry
 *
 * Return: false if it is not asked for, or the client has this version (C).
 */
bool reply_has_value(const struct request *request, uint64_t version)
{
	return request->given & meta_bit('v') &&
	       !(request->given & meta_bit('C') && request->unique == version);
}

/**
 * reply_time_first() - whether mg wants to know the time left before it sets that
 * @request:	the request
 *
 * Return: whether flag t comes before flag T. If it does, the reply has the old time.
 */
bool reply_time_first(const struct request *request)
{
	const char *text = request->words;
	struct word word;

	if (~request->given & (meta_bit('t') | meta_bit('T')))
		return false;
	while (parser_word(&text, request->words_end, &word) && *word.at != 'T')
		if (*word.at == 't')
			return true;
	return false;
}

static char *write_key(char *to, const struct request *request)
{
	if (!(request->given & meta_bit('b')))
		return mempcpy(to, request->key, request->key_len);
	to += parser_encode(request->key, request->key_len, to);
	return mempcpy(to, " b", 2);
}

static char *write_seconds(char *to, uint64_t ttl_ms)
{
	return ttl_ms == HASHBELT_TTL_NEVER ? mempcpy(to, NEVER, strlen(NEVER)) :
	       reply_number(to, ttl_ms / 1000 + !!(ttl_ms % 1000));
}

/**
 * reply_flags() - write what the flags of a meta command return, in the order of the request
 * @to:		where
 * @request:	the request
 * @which:	the flags that return something in this reply
 * @meta:	the values that they ask for
 *
 * Return: the end.
 */
char *reply_flags(char *to, const struct request *request, const char *which,
		  const struct meta *meta)
{
	const char *text = request->words;
	struct word word;

	while (parser_word(&text, request->words_end, &word)) {
		if (!strchr(which, *word.at))
			continue;
		*to++ = ' ';
		if (*word.at == 'O') {
			to = mempcpy(to, word.at, word.len);
			continue;
		}
		*to++ = *word.at;
		switch (*word.at) {
		case 'k':
			to = write_key(to, request);
			break;
		case 'c':
			to = reply_number(to, meta->version);
			break;
		case 't':
			to = write_seconds(to, meta->ttl_ms);
			break;
		case 's':
			to = reply_number(to, meta->value_len);
			break;
		default:
			to = reply_number(to, meta->flags);
			break;
		}
	}
	return to;
}

/* The line of a hit, before the value if one is asked for. */
static bool meta_hit(struct work *work, const struct reply *reply,
		     const struct hashbelt_item *item, char *value)
{
	const struct meta meta = {
		item->version, item->ttl_ms, item->flags, item->value_len,
	};
	char line[META_SPACE + PARSER_BASE64_MAX], *end, *first;

	if (!reply_has_value(reply->request, item->version))
		return meta_line(work, reply, "HD", "stcfOk", &meta);
	end = reply_number(mempcpy(line, "VA ", 3), item->value_len);
	end = reply_flags(end, reply->request, "stcfOk", &meta);
	end = mempcpy(end, "\r\n", 2);
	first = text_before(value, line, end - line);
	memcpy(value + item->value_len, "\r\n", 2);
	return output_commit(&work->output, first, value + item->value_len + 2 - first);
}

/**
 * reply_meta_get() - the reply to mg without N and R
 * @work:	the work
 * @reply:	the reply
 *
 * Return: false if there is no memory.
 */
bool reply_meta_get(struct work *work, const struct reply *reply)
{
	struct hashbelt_item *item = &work->item[reply->item];
	char *value = batch_fetch(work, reply, item);

	if (!value && !item->result)
		return false;
	if (item->result && item->result != -ENOENT)
		return fail(work, reply, item->result);
	reply_note_get(work->service, reply->request, !item->result);
	if (!item->result) {
		note_length(work->service, item->value_len);
		return meta_hit(work, reply, item, value);
	}
	return reply->request->quiet || meta_line(work, reply, "EN", "Ok", NULL);
}

/**
 * reply_meta_touch() - the reply to mg with a condition
 * @work:	the work
 * @reply:	the reply to a get, @number its error or 0, and to the touch that follows it
 *
 * Return: false if there is no memory.
 */
bool reply_meta_touch(struct work *work, const struct reply *reply)
{
	struct hashbelt_item *item = &work->item[reply->item];
	const struct hashbelt_item *touch = item + 1;
	int result = item->result;

	if (!result)
		result = reply->number ? reply->number : touch->result;
	if (result == -ESTALE || result == -EALREADY) {
		reply_note_get(work->service, reply->request, false);
		return meta_line(work, reply, result == -ESTALE ? "EX" : "NS", "Ok", NULL);
	}
	item->result = result;
	if (!result && touch->op == HASHBELT_OP_TOUCH && !reply_time_first(reply->request))
		item->ttl_ms = touch->ttl_ms;
	return reply_meta_get(work, reply);
}

/**
 * reply_meta_delete() - the reply to md
 * @work:	the work
 * @reply:	the reply
 *
 * Return: false if there is no memory.
 */
bool reply_meta_delete(struct work *work, const struct reply *reply)
{
	int result = work->item[reply->item].result;

	if (result && result != -ENOENT && result != -ESTALE)
		return fail(work, reply, result);
	note_delete(&work->service->counters, result);
	if (!result && reply->request->quiet)
		return true;
	return meta_line(work, reply, !result ? "HD" : result == -ENOENT ? "NF" : "EX", "Ok", NULL);
}

/**
 * reply_meta_debug() - the reply to me
 * @work:	the work
 * @reply:	the reply
 *
 * A belt does not keep when an entry was read, nor whether: these fields are there for programs
 * that expect them, and always the same.
 *
 * Return: false if there is no memory.
 */
bool reply_meta_debug(struct work *work, const struct reply *reply)
{
	const struct hashbelt_item *item = &work->item[reply->item];
	char *p = reply->space;

	if (item->result && item->result != -ENOENT)
		return fail(work, reply, item->result);
	count(&work->service->counters.cmd_meta);
	if (item->result)
		return answer(work, reply, "EN");
	p = mempcpy(p, "ME ", 3);
	if (reply->request->given & meta_bit('b'))
		p += parser_encode(reply->request->key, reply->request->key_len, p);
	else
		p = mempcpy(p, reply->request->key, reply->request->key_len);
	p = write_seconds(mempcpy(p, " exp=", 5), item->ttl_ms);
	p = reply_number(mempcpy(p, " la=0 cas=", 10), item->version);
	p = mempcpy(p, " fetch=no cls=1 size=", 21);
	p = reply_number(p, item->key_len + item->value_len);
	p = mempcpy(p, "\r\n", 2);
	return output_commit(&work->output, reply->space, p - reply->space);
}
