// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requests of clients of memcached. A table has what each command adds to a batch, or does at
 * once.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auth.h"
#include "binary.h"
#include "condition.h"
#include "dump.h"
#include "log.h"
#include "options.h"
#include "protocol.h"
#include "reply.h"
#include "report.h"
#include "single.h"

/* Before a client has named a user, a line and a value may be so long, bytes. */
#define AUTH_MAX	2048

/* Why a connection is closed that has sent a value without a known end. */
#define NO_END		"it is not known where its next request begins"

/* Space for what me prints beside the key. */
#define DEBUG_SPACE	128

/* Finds the entry of a key. Without a belt that can have it, @belt is NULL. */
static struct target find_target(const struct work *work, const char *key, size_t key_len,
				 size_t *prefix)
{
	struct target target;

	target.belt = belts_find(work->service->belts, key, key_len, prefix);
	target.key = key + *prefix;
	target.key_len = key_len - *prefix;
	return target;
}

static struct target target_of(const struct work *work)
{
	size_t prefix;

	return find_target(work, work->request->key, work->request->key_len, &prefix);
}

static enum started say(struct work *work, const char *answer)
{
	return batch_text(work, answer) ? STARTED : NO_MEMORY;
}

static enum started no_belt(struct work *work)
{
	return say(work, REPLY_FAILED "no belt has such a name");
}

/* Adds a request of one operation. Return: the operation; NULL, and @started why there is none. */
static struct hashbelt_item *start_item(struct work *work, enum hashbelt_op op, bool changes,
					bool (*write)(struct work *work, const struct reply *reply),
					size_t space, enum started *started)
{
	struct target target = target_of(work);

	if (!target.belt) {
		*started = no_belt(work);
		return NULL;
	}
	*started = NOT_STARTED;
	if (!batch_takes(work, target.belt, target.key, target.key_len, changes))
		return NULL;
	*started = NO_MEMORY;
	if (!batch_reply(work, write, space))
		return NULL;
	*started = STARTED;
	return batch_item(work, op, target.key, target.key_len);
}

/*
 * A set that failed removes the old value, so that no client takes it for the new one. An md that
 * finds no room for an empty value, or no entry, is a remove, which ends a fill of the key as well.
 * A cas whose number is no version may name a fill lease.
 */
static void settle(struct work *work, const struct reply *reply, struct hashbelt_item *item)
{
	const struct request *request = reply->request;
	struct hashbelt_item again = *item;

	if (request->command == COMMAND_META_DELETE &&
	    (is_full(item->result) || item->result == -ENOENT)) {
		item->op = HASHBELT_OP_REMOVE;
		item->how &= HASHBELT_IF_VERSION;
		item->result = 0;
		belt_batch(work->belt, item, 1);
	} else if (is_full(item->result) &&
		   (request->stores == COMMAND_SET || request->command == COMMAND_META_SET)) {
		again = hashbelt_item(HASHBELT_OP_REMOVE, (void *)(uintptr_t)item->key,
				      item->key_len, NULL, 0);
		belt_batch(work->belt, &again, 1);
	} else if (request->stores == COMMAND_CAS &&
		   (item->result == -ESTALE || item->result == -ENOENT)) {
		again.how = HASHBELT_IF_LEASE;
		again.version = request->unique;
		again.result = 0;
		belt_batch(work->belt, &again, 1);
		if (again.result != -ESTALE)
			*item = again;
	}
}

/* How the get of a value sets the time-to-live of the entry. */
enum touching {
	TOUCHES_NOT,
	TOUCHES,		/* as a part of the get */
	TOUCHES_AFTER,		/* on condition, or the reply has the old time */
	REMOVES,		/* the time is over at once */
};

static enum touching touching_of(const struct request *request, __u64 *ttl_ms)
{
	if (!exptime_to_ttl(request->exptime, ttl_ms))
		return REMOVES;
	if (request->given && (request->given & meta_bit('U') || reply_time_first(request)))
		return TOUCHES_AFTER;
	return TOUCHES;
}

/* Adds the get of a value. @head: space before it. */
static struct reply *start_value(struct work *work, const struct target *target,
				 bool (*write)(struct work *work, const struct reply *reply),
				 size_t head, __u32 how, enum touching touching)
{
	size_t room = how & HASHBELT_NO_VALUE ? 0 : work->service->guess;
	struct hashbelt_item *item;
	struct reply *reply;

	/* After a second operation the value cannot be read again with more room. */
	if (touching >= TOUCHES_AFTER && room)
		room = HASHBELT_VALUE_MAX;
	reply = batch_reply(work, write, head + room + REPLY_TAIL);
	if (!reply)
		return NULL;
	reply->value_at = head;
	item = batch_item(work, HASHBELT_OP_GET, target->key, target->key_len);
	item->how = how;
	item->value = (uintptr_t)(reply->space + head);
	item->value_len = room;
	if (touching == TOUCHES) {
		item->how |= HASHBELT_AND_TOUCH;
		exptime_to_ttl(work->request->exptime, &item->ttl_ms);
	} else if (touching == TOUCHES_AFTER) {
		item = batch_item(work, HASHBELT_OP_TOUCH, target->key, target->key_len);
		exptime_to_ttl(work->request->exptime, &item->ttl_ms);
	} else if (touching == REMOVES) {
		batch_item(work, HASHBELT_OP_REMOVE, target->key, target->key_len);
	}
	return reply;
}

/* One key of a get, gets, gat or gats. */
static enum started start_key(struct work *work, const struct word *key, bool is_last)
{
	const struct request *request = work->request;
	bool touches = request->command == COMMAND_GAT || request->command == COMMAND_GATS;
	__u64 ttl_ms;
	enum touching touching = touches ? touching_of(request, &ttl_ms) : TOUCHES_NOT;
	size_t prefix;
	struct target target = find_target(work, key->at, key->len, &prefix);
	struct reply *reply;

	if (target.belt &&
	    !batch_takes(work, target.belt, target.key, target.key_len, touching == REMOVES))
		return NOT_STARTED;
	reply = target.belt ?
		start_value(work, &target, reply_get, key->len + REPLY_HEAD, 0, touching) :
		batch_reply(work, reply_lost, REPLY_SHORT);
	if (!reply)
		return NO_MEMORY;
	reply->prefix = prefix;
	reply->is_last = is_last;
	return STARTED;
}

/* The keys of a get that are not started yet are left in @words of the request. */
static enum started start_get(struct work *work, struct client *client)
{
	struct request *request = work->request;
	enum started started;
	const char *next;
	struct word key;

	(void)client;
	while (next = request->words, parser_word(&next, request->words_end, &key)) {
		while (next < request->words_end && *next == ' ')
			next++;
		if (!batch_has_room(work))
			return NOT_STARTED;
		started = start_key(work, &key, next == request->words_end);
		if (started != STARTED)
			return started;
		request->words = next;
		if (next == request->words_end)
			return STARTED;
	}
	return STARTED;
}

/* The operation of a store whose value is over at once. */
static void start_over(const struct request *request, struct hashbelt_item *item)
{
	item->op = HASHBELT_OP_REMOVE;
	if (request->stores == COMMAND_CAS)
		item->how = HASHBELT_IF_VERSION;
	if (request->stores != COMMAND_ADD)
		return;
	item->op = HASHBELT_OP_GET;
	item->how = HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE;
}

static enum started start_store(struct work *work, struct client *client)
{
	static const __u32 conditions[COMMAND_COUNT] = {
		[COMMAND_ADD] = HASHBELT_IF_ABSENT,
		[COMMAND_REPLACE] = HASHBELT_IF_PRESENT,
		[COMMAND_CAS] = HASHBELT_IF_VERSION,
	};
	const struct request *request = work->request;
	bool is_meta = request->command == COMMAND_META_SET;
	struct hashbelt_item *item;
	enum started started;

	(void)client;
	item = start_item(work, HASHBELT_OP_PUT, true, reply_store,
			  is_meta ? reply_meta_space(request) : REPLY_SHORT, &started);
	if (!item)
		return started;
	if (detail_is_on())
		detail_record(request->key, request->key_len, DETAIL_SET);
	item->version = request->unique;
	if (!exptime_to_ttl(request->exptime, &item->ttl_ms)) {
		item->ttl_ms = 0;
		start_over(request, item);
		return STARTED;
	}
	item->how = conditions[request->stores];
	item->value = (uintptr_t)request->value;
	item->value_len = request->value_len;
	item->flags = request->flags;
	batch_settle(work, settle);
	return STARTED;
}

static enum started start_delete(struct work *work, struct client *client)
{
	const struct request *request = work->request;
	enum started started;

	(void)client;
	if (start_item(work, HASHBELT_OP_REMOVE, true, reply_delete, REPLY_SHORT, &started) &&
	    detail_is_on())
		detail_record(request->key, request->key_len, DETAIL_DELETE);
	return started;
}

static enum started start_touch(struct work *work, struct client *client)
{
	__u64 ttl_ms;
	bool over = !exptime_to_ttl(work->request->exptime, &ttl_ms);
	struct hashbelt_item *item;
	enum started started;

	(void)client;
	item = start_item(work, over ? HASHBELT_OP_REMOVE : HASHBELT_OP_TOUCH, over, reply_touch,
			  REPLY_SHORT, &started);
	if (item && !over)
		item->ttl_ms = ttl_ms;
	return started;
}

/* Carries out what takes several calls, after the batch. */
static enum started start_single(struct work *work,
				 bool (*run)(struct work *work, const struct target *target))
{
	struct target target;

	if (work->replies)
		return NOT_STARTED;
	target = target_of(work);
	if (!target.belt)
		return no_belt(work);
	return run(work, &target) ? STARTED : NO_MEMORY;
}

static enum started start_arithmetic(struct work *work, struct client *client)
{
	(void)client;
	return start_single(work, single_arithmetic);
}

static enum started start_concatenate(struct work *work, struct client *client)
{
	(void)client;
	return start_single(work, single_concatenate);
}

/* Gives the touch behind the get of mg its condition. @reply: of both. */
static void add_condition(struct work *work, struct reply *reply)
{
	struct hashbelt_item *item = &work->item[work->items - 1];
	const struct request *request = work->request;

	item->how = request->how ?: HASHBELT_IF_VERSION;
	item->version = request->unique;
	reply->number = 0;
	if (item->op == HASHBELT_OP_TOUCH || condition_end(item))
		return;
	work->items--;
	reply->number = -EALREADY;
}

static enum started start_meta_get(struct work *work, struct client *client)
{
	const struct request *request = work->request;
	bool is_conditional = request->given & meta_bit('U');
	enum touching touching = TOUCHES_NOT;
	struct target target;
	struct reply *reply;
	__u64 ttl_ms;
	__u32 how = 0;

	(void)client;
	if (request->given & (meta_bit('N') | meta_bit('R')))
		return start_single(work, single_meta_get);
	if (request->given & meta_bit('T'))
		touching = touching_of(request, &ttl_ms);
	/* The condition is on the present deadline, which a touch that is refused leaves. */
	if (request->given & meta_bit('u') || is_conditional)
		how |= HASHBELT_NO_REFRESH;
	if (!(request->given & meta_bit('v')))
		how |= HASHBELT_NO_VALUE;
	target = target_of(work);
	if (!target.belt)
		return no_belt(work);
	if (!batch_takes(work, target.belt, target.key, target.key_len, touching == REMOVES))
		return NOT_STARTED;
	reply = start_value(work, &target, is_conditional ? reply_meta_touch : reply_meta_get,
			    reply_meta_space(request), how, touching);
	if (!reply)
		return NO_MEMORY;
	if (is_conditional)
		add_condition(work, reply);
	return STARTED;
}

static enum started start_meta_set(struct work *work, struct client *client)
{
	enum command stores = work->request->stores;

	if (stores == COMMAND_APPEND || stores == COMMAND_PREPEND)
		return start_concatenate(work, client);
	return start_store(work, client);
}

/* Puts an empty value in the place of that of an entry. */
static void start_tombstone(struct work *work, struct hashbelt_item *item)
{
	const struct request *request = work->request;

	/* One whose time is over at once is removed. */
	if (!exptime_to_ttl(request->exptime, &item->ttl_ms)) {
		item->ttl_ms = 0;
		return;
	}
	item->op = HASHBELT_OP_PUT;
	item->how = HASHBELT_IF_PRESENT;
	item->value = (uintptr_t)"";
	item->flags = request->flags;
	batch_settle(work, settle);
}

static enum started start_meta_delete(struct work *work, struct client *client)
{
	const struct request *request = work->request;
	struct hashbelt_item *item;
	enum started started;

	(void)client;
	if (request->given & meta_bit('I'))
		return start_single(work, single_meta_expire);
	item = start_item(work, HASHBELT_OP_REMOVE, true, reply_meta_delete,
			  reply_meta_space(request), &started);
	if (item && request->given & meta_bit('x'))
		start_tombstone(work, item);
	if (item && request->given & meta_bit('C')) {
		item->how = HASHBELT_IF_VERSION;
		item->version = request->unique;
	}
	return started;
}

static enum started start_meta_debug(struct work *work, struct client *client)
{
	struct hashbelt_item *item;
	enum started started;

	(void)client;
	item = start_item(work, HASHBELT_OP_GET, false, reply_meta_debug,
			  PARSER_BASE64_MAX + DEBUG_SPACE, &started);
	if (item)
		item->how = HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE;
	return started;
}

static enum started start_noop(struct work *work, struct client *client)
{
	(void)client;
	return say(work, "MN");
}

static enum started start_version(struct work *work, struct client *client)
{
	(void)client;
	return say(work, "VERSION " MEMCACHED_VERSION);
}

static enum started start_verbosity(struct work *work, struct client *client)
{
	(void)client;
	log_set_level(work->request->flags);
	return say(work, "OK");
}

static enum started start_stats(struct work *work, struct client *client)
{
	(void)client;
	if (work->replies)
		return NOT_STARTED;
	return report(work) ? STARTED : NO_MEMORY;
}

static enum started start_flush(struct work *work, struct client *client)
{
	struct service *service = work->service;
	struct belt *belt = belts_default(service->belts);
	__u64 delay_ms;
	int err = 0;

	(void)client;
	if (work->replies)
		return NOT_STARTED;
	count(&service->counters.cmd_flush);
	if (!exptime_to_ttl(work->request->exptime, &delay_ms) || delay_ms == HASHBELT_TTL_NEVER)
		delay_ms = 0;
	service->calls->clear_later(service->owner, delay_ms / 1000 + !!(delay_ms % 1000));
	if (!delay_ms)
		err = belt_clear(belt);
	if (err && !work->request->quiet)
		return reply_failure(work, belt, err) ? STARTED : NO_MEMORY;
	return say(work, "OK");
}

static enum started start_quit(struct work *work, struct client *client)
{
	(void)work;
	client->is_over = true;
	return STARTED;
}

static enum started start_shutdown(struct work *work, struct client *client)
{
	const struct request *request = work->request;
	const char *words = request->words;
	struct word word;

	if (!work->service->options->shutdown)
		return say(work, "SERVER_ERROR: shutdown not enabled");
	if (parser_word(&words, request->words_end, &word) &&
	    (word.len != 8 || memcmp(word.at, "graceful", 8)))
		return say(work, "CLIENT_ERROR invalid shutdown mode");
	client->is_over = true;
	work->service->calls->shut_down(work->service->owner);
	return STARTED;
}

/* Ends the list of keys. @err: why it is not whole, or 0. */
static enum started end_dump(struct work *work, struct client *client, int err)
{
	const char *end = work->request->mode == DUMP_GETS ? "EN" : "END";

	belt_scan_end(client->scan);
	client->scan = NULL;
	if (err)
		return reply_failure(work, belts_default(work->service->belts), err) ?
			STARTED : NO_MEMORY;
	return say(work, end);
}

/* Lists the keys of the belt, in several steps if they are many. */
static enum started start_dump(struct work *work, struct client *client)
{
	char mode = work->request->mode;
	int more;

	if (!work->service->options->dump)
		return say(work, mode == DUMP_GETS ? "ERROR key dump not allowed" :
				 mode == DUMP_KEYS ? "ERROR metadump not allowed" :
				 "CLIENT_ERROR stats cachedump not allowed");
	if (work->replies)
		return NOT_STARTED;
	if (!client->scan) {
		more = belt_scan_begin(belts_default(work->service->belts), &client->scan);
		if (more)
			return end_dump(work, client, more);
		if (mode != DUMP_ITEMS && !output_text(&work->output, "OK\r\n", 4))
			return NO_MEMORY;
	}
	more = dump_some(work, client->scan);
	if (more == -ENOBUFS)
		return NO_MEMORY;
	return more > 0 ? NOT_STARTED : end_dump(work, client, more);
}

/* Answers the error of a request, and removes an entry that could be taken for the new one. */
static enum started start_refused(struct work *work)
{
	const struct request *request = work->request;
	enum started started;

	if (request->removes) {
		if (start_item(work, HASHBELT_OP_REMOVE, true, reply_text,
			       strlen(request->error) + 2, &started))
			work->reply[work->replies - 1].text = request->error;
		else if (started != STARTED)
			return started;
	} else if (!batch_text(work, request->error)) {
		return NO_MEMORY;
	}
	if (request->skip)
		count(&work->service->counters.store_too_large);
	return STARTED;
}

static enum started (* const start_of[COMMAND_COUNT])(struct work *work, struct client *client) = {
	[COMMAND_GET] = start_get,
	[COMMAND_GETS] = start_get,
	[COMMAND_GAT] = start_get,
	[COMMAND_GATS] = start_get,
	[COMMAND_SET] = start_store,
	[COMMAND_ADD] = start_store,
	[COMMAND_REPLACE] = start_store,
	[COMMAND_APPEND] = start_concatenate,
	[COMMAND_PREPEND] = start_concatenate,
	[COMMAND_CAS] = start_store,
	[COMMAND_INCR] = start_arithmetic,
	[COMMAND_DECR] = start_arithmetic,
	[COMMAND_TOUCH] = start_touch,
	[COMMAND_DELETE] = start_delete,
	[COMMAND_META_GET] = start_meta_get,
	[COMMAND_META_SET] = start_meta_set,
	[COMMAND_META_DELETE] = start_meta_delete,
	[COMMAND_META_ARITHMETIC] = start_arithmetic,
	[COMMAND_META_NOOP] = start_noop,
	[COMMAND_META_DEBUG] = start_meta_debug,
	[COMMAND_FLUSH_ALL] = start_flush,
	[COMMAND_STATS] = start_stats,
	[COMMAND_VERSION] = start_version,
	[COMMAND_VERBOSITY] = start_verbosity,
	[COMMAND_QUIT] = start_quit,
	[COMMAND_SHUTDOWN] = start_shutdown,
	[COMMAND_DUMP] = start_dump,
};

static enum started start(struct work *work, struct client *client)
{
	const struct request *request = work->request;
	enum started started;

	if (!batch_has_room(work))
		return NOT_STARTED;
	if (!request->error)
		return start_of[request->command](work, client);
	started = start_refused(work);
	if (started == STARTED && request->closes) {
		client->is_over = true;
		client->reason = NO_END;
	}
	return started;
}

/* The value that names a user and the password: of a set of any key. */
static const char *check_user(const struct work *work, const char *value, size_t len)
{
	struct counters *counters = &work->service->counters;
	const char *text = value;
	struct word name, password;
	char user[AUTH_MAX + 1];

	if (!parser_word(&text, value + len, &name) || !parser_word(&text, value + len, &password))
		return "CLIENT_ERROR bad authentication token format";
	count(&counters->auth_cmds);
	len = snprintf(user, sizeof(user), "%.*s %.*s", (int)name.len, name.at,
		       (int)password.len, password.at);
	if (auth_check(work->service->auth, user, len))
		return NULL;
	count(&counters->auth_errors);
	return "CLIENT_ERROR authentication failure";
}

/* A request of a client that has to name a user first, as parser_request(). */
static enum parsed parse_user(const struct work *work, struct client *client, char *text,
			      size_t len, struct request *request)
{
	enum parsed parsed = parser_request(text, len, AUTH_MAX, request);

	if (parsed == PARSED_PART && len > AUTH_MAX && !memchr(text, '\n', len)) {
		request->error = "its line is too long";
		return PARSED_CLOSE;
	}
	if (parsed != PARSED_REQUEST)
		return parsed;
	if (request->command != COMMAND_SET || !request->value)
		request->error = "CLIENT_ERROR unauthenticated";
	else if (request->closes)
		request->error = "CLIENT_ERROR bad command line termination";
	else if (request->error)
		request->error = "CLIENT_ERROR unauthenticated";
	else
		request->error = check_user(work, request->value, request->value_len);
	client->may_ask = !request->error;
	if (client->may_ask)
		request->error = "STORED";
	request->quiet = false;
	request->removes = false;
	return PARSED_REQUEST;
}

/*
 * Drops what belongs to a request that was answered: a value and its end. Return: false if the end
 * is not there.
 */
static bool skip(struct work *work, struct client *client)
{
	const char *text = work->text + work->used;
	size_t left = work->len - work->used, before = client->skip;
	size_t size = before < left ? before : left, after = before - size;

	work->used += size;
	client->skip = after;
	return !(before >= 2 && after < 2 && text[before - 2] != '\r') &&
	       !(before >= 1 && after < 1 && text[before - 1] != '\n');
}

/* Takes the next request. */
static enum parsed take_request(struct work *work, struct client *client)
{
	struct request *request = &work->request_of[work->requests];
	char *text;
	enum parsed parsed;
	size_t len;

	if (work->requests == HASHBELT_BATCH_MAX)
		return PARSED_LATER;
	if (client->skip && !skip(work, client)) {
		client->reason = NO_END;
		return PARSED_CLOSE;
	}
	text = work->text + work->used;
	len = work->len - work->used;
	client->need = 0;
	if (!len)
		return PARSED_PART;
	parsed = client->may_ask ?
		parser_request(text, len, work->service->options->item_max, request) :
		parse_user(work, client, text, len, request);
	if (parsed == PARSED_PART)
		client->need = request->size;
	if (parsed == PARSED_CLOSE)
		client->reason = request->error;
	if (parsed != PARSED_REQUEST)
		return parsed;
	work->requests++;
	work->request = request;
	work->used += request->size;
	client->skip = request->skip;
	if (log_level() >= LOG_REQUESTS && request->words_end)
		log_line(LOG_REQUESTS, "request: %.*s", (int)(request->words_end - text), text);
	return PARSED_REQUEST;
}

/* Some clients speak the binary protocol, which the first byte tells. */
static const char *look(struct client *client, unsigned char first)
{
	client->is_binary = first == BINARY_REQUEST;
	return client->is_binary ? "speaks the binary protocol: let it speak text" : NULL;
}

const struct protocol protocol_memcached = {
	.name = "memcached",
	.too_many = "ERROR Too many open connections\r\n",
	.look = look,
	.take = take_request,
	.start = start,
};
