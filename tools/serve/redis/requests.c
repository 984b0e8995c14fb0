// SPDX-License-Identifier: GPL-2.0-only
/* The arguments of a request, and the operations that they become. */
#include <string.h>

#include "requests.h"

/**
 * redis_words() - the arguments of the request behind the name of the command
 * @redis:	the client
 * @words:	returned: the arguments
 * @most:	how many of them there is room for
 *
 * Return: their number, at most @most.
 */
unsigned int redis_words(const struct redis *redis, struct word *words, unsigned int most)
{
	const struct word *name = &redis->request.name;
	const char *at = name->at + name->len + 2;
	unsigned int count = redis->request.count - 1, i;

	if (count > most)
		count = most;
	for (i = 0; i < count; i++)
		resp_next(&at, &words[i]);
	return count;
}

/**
 * redis_fits() - whether an argument can be a key of a belt
 * @key:	the argument
 *
 * Return: whether.
 */
bool redis_fits(const struct word *key)
{
	return key->len && key->len <= HASHBELT_KEY_MAX;
}

static bool write_text(struct work *work, const struct reply *reply)
{
	return redis_commit(work, reply, reply->text);
}

/**
 * redis_say() - answer with a text, in the batch
 * @work:	the work
 * @text:	a line without its end; has to stay
 *
 * Return: STARTED or NO_MEMORY.
 */
enum started redis_say(struct work *work, const char *text)
{
	struct reply *reply = batch_reply(work, write_text, strlen(text) + 2);

	if (!reply)
		return NO_MEMORY;
	reply->text = text;
	return STARTED;
}

/* The body of redis_operation(). Inline for redis_get(), which most requests call. */
static inline struct hashbelt_item *add(struct work *work, struct redis *redis,
					enum hashbelt_op op, const struct word *key, size_t space,
					bool (*write)(struct work *work, const struct reply *reply),
					enum started *started)
{
	bool changes = op != HASHBELT_OP_GET && op != HASHBELT_OP_TOUCH;

	if (!redis_fits(key)) {
		*started = redis_say(work, ERROR_KEY);
		return NULL;
	}
	*started = NOT_STARTED;
	if (!batch_takes(work, redis_belt(work, redis), key->at, key->len, changes))
		return NULL;
	*started = NO_MEMORY;
	if (!batch_reply(work, write, space))
		return NULL;
	*started = STARTED;
	return batch_item(work, op, key->at, key->len);
}

/**
 * redis_operation() - add an operation
 * @work:	the work
 * @redis:	the client
 * @op:		the operation
 * @key:	the key
 * @space:	space for its reply, bytes
 * @write:	writes the reply
 * @started:	returned: the result of the command
 *
 * Return: the operation; NULL if there is none.
 */
struct hashbelt_item *redis_operation(struct work *work, struct redis *redis, enum hashbelt_op op,
				      const struct word *key, size_t space,
				      bool (*write)(struct work *work, const struct reply *reply),
				      enum started *started)
{
	return add(work, redis, op, key, space, write, started);
}

/**
 * redis_item() - add an operation whose reply is short
 * @work:	the work
 * @redis:	the client
 * @op:		the operation
 * @key:	the key
 * @write:	writes the reply
 * @started:	returned: the result of the command
 *
 * Return: the operation; NULL if there is none.
 */
struct hashbelt_item *redis_item(struct work *work, struct redis *redis, enum hashbelt_op op,
				 const struct word *key,
				 bool (*write)(struct work *work, const struct reply *reply),
				 enum started *started)
{
	return redis_operation(work, redis, op, key, ANSWER_SHORT, write, started);
}

/**
 * redis_get() - add the get of a value
 * @work:	the work
 * @redis:	the client
 * @key:	the key
 * @write:	writes the reply
 * @started:	returned: the result of the command
 *
 * Return: the operation; NULL if there is none.
 */
struct hashbelt_item *redis_get(struct work *work, struct redis *redis, const struct word *key,
				bool (*write)(struct work *work, const struct reply *reply),
				enum started *started)
{
	size_t room = work->service->guess;
	struct hashbelt_item *item = add(work, redis, HASHBELT_OP_GET, key,
					 ANSWER_HEAD + room + REPLY_TAIL, write, started);
	struct reply *reply;

	if (!item)
		return NULL;
	reply = &work->reply[work->replies - 1];
	reply->value_at = ANSWER_HEAD;
	item->value = (uintptr_t)(reply->space + ANSWER_HEAD);
	item->value_len = room;
	return item;
}

/**
 * redis_look() - start a command that looks at the entry of its first argument, not at its value
 * @work:	the work
 * @redis:	the client
 * @write:	writes the reply
 *
 * Return: STARTED, NOT_STARTED or NO_MEMORY.
 */
enum started redis_look(struct work *work, struct redis *redis,
			bool (*write)(struct work *work, const struct reply *reply))
{
	struct hashbelt_item *item;
	enum started started;

	item = redis_item(work, redis, HASHBELT_OP_GET, &redis->request.key, write, &started);
	if (item)
		item->how = HASHBELT_NO_VALUE | HASHBELT_NO_REFRESH;
	return started;
}

/**
 * redis_keys_fit() - whether all keys of a request can be keys of a belt
 * @redis:	the client
 * @step:	from one key to the next
 *
 * Return: whether.
 */
bool redis_keys_fit(const struct redis *redis, unsigned int step)
{
	const char *at = redis->request.args;
	struct word word;
	uint32_t i;

	resp_next(&at, &word);
	for (i = 0; i + 1 < redis->request.count; i++) {
		resp_next(&at, &word);
		if (!(i % step) && !redis_fits(&word))
			return false;
	}
	return true;
}

/*
 * The first time that a request of many keys is started. Return: false if it is answered by an
 * error.
 */
static bool begin_each(struct redis *redis, unsigned int step)
{
	redis->rest = redis->request.name.at + redis->request.name.len + 2;
	redis->left = redis->request.count - 1;
	return redis_keys_fit(redis, step);
}

/**
 * redis_each() - start the parts of a request that are not started yet
 * @work:	the work
 * @redis:	the client; its @rest is NULL at first
 * @step:	arguments of a part, 1 or 2, of which the first is a key
 * @one:	starts a part
 *
 * Return: STARTED, NOT_STARTED or NO_MEMORY.
 */
enum started redis_each(struct work *work, struct redis *redis, unsigned int step,
			enum started (*one)(struct work *work, struct redis *redis,
					    const struct word *words, bool is_last))
{
	enum started started;
	struct word words[2];
	const char *next;

	if (!redis->rest && !begin_each(redis, step))
		return redis_say(work, ERROR_KEY);
	while (redis->left) {
		if (!batch_has_room(work))
			return NOT_STARTED;
		next = redis->rest;
		resp_next(&next, &words[0]);
		if (step == 2)
			resp_next(&next, &words[1]);
		started = one(work, redis, words, redis->left == step);
		if (started != STARTED)
			return started;
		redis->rest = next;
		redis->left -= step;
	}
	return STARTED;
}
