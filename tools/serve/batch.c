// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that one call carries out, and their replies in order.
 *
 * An operation may have to be made again after the batch: a get whose value did not fit, or a set
 * that failed and has to remove the old value. So no operation of a batch may depend on that: a
 * batch takes no key that it changes already, and changes no key that it reads already. Keys are
 * compared by their hashes, which only ends a batch early where two are equal.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "batch.h"
#include "options.h"
#include "parser.h"

/* Room that a get offers at least and at most at first, bytes. Little room keeps replies close. */
#define GUESS_MIN	256
#define GUESS_MAX	(16 * 1024)

/* After so many values the room is set anew, to the largest of them. */
#define GUESS_VALUES	1024

/* For memcached a longer time-to-live is a date. */
#define RELATIVE_MAX	(30 * 24 * 3600)

/* The longest time-to-live of a belt, whole seconds. */
#define LONGEST		((int64_t)(HASHBELT_TTL_MAX_MS / 1000))

/**
 * service_begin() - fill in what a service begins with
 * @service:	the service, zeroed but for what it is given
 */
void service_begin(struct service *service)
{
	service->guess = GUESS_MIN;
}

/**
 * work_new() - make an empty work
 * @service:	that of the worker
 *
 * Return: the work; NULL if there is no memory.
 */
struct work *work_new(struct service *service)
{
	/* Most of it is never touched, so it is not zeroed as a whole. */
	struct work *work = malloc(sizeof(*work));

	if (!work)
		return NULL;
	memset(work, 0, offsetof(struct work, failure));
	work->service = service;
	output_begin(&work->output, &service->pool);
	return work;
}

/**
 * work_free() - free a work
 * @work:	the work
 */
void work_free(struct work *work)
{
	output_end(&work->output);
	free(work);
}

/**
 * exptime_to_ttl() - the time-to-live that a client asks for
 * @exptime:	as in the request: seconds, or a date after more than 30 days
 * @ttl_ms:	returned: for the belt, which is the longest time of a belt for a later date
 *
 * Return: false if it is over at once.
 */
bool exptime_to_ttl(int64_t exptime, __u64 *ttl_ms)
{
	struct timespec now;
	int64_t left;

	*ttl_ms = HASHBELT_TTL_NEVER;
	if (exptime <= RELATIVE_MAX) {
		if (exptime > 0)
			*ttl_ms = exptime * 1000ULL;
		return exptime >= 0;
	}
	/* pylibmc sends a time below 0 as one of 32 bits without a sign, -1 as 4294967295. */
	if (exptime > UINT32_MAX - RELATIVE_MAX && exptime <= UINT32_MAX)
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	left = exptime - now.tv_sec;
	if (left > LONGEST) {
		*ttl_ms = HASHBELT_TTL_MAX_MS;
		return true;
	}
	left = left * 1000 - now.tv_nsec / 1000000;
	*ttl_ms = left;
	return left > 0;
}

/**
 * note_length() - learn from the length of a value
 * @service:	the service
 * @len:	the length, bytes
 */
void note_length(struct service *service, size_t len)
{
	if (len > service->largest)
		service->largest = len;
	if (len <= service->guess && ++service->since < GUESS_VALUES)
		return;
	service->guess = (service->largest + GUESS_MIN - 1) / GUESS_MIN * GUESS_MIN;
	if (service->guess < GUESS_MIN)
		service->guess = GUESS_MIN;
	if (service->guess > GUESS_MAX)
		service->guess = GUESS_MAX;
	service->largest = 0;
	service->since = 0;
}

/* A hash of a key. Keys differ at their end more often than where they begin. */
static unsigned int hash_key(const char *key, size_t key_len)
{
	uint64_t word = 0;

	if (key_len >= sizeof(word))
		memcpy(&word, key + key_len - sizeof(word), sizeof(word));
	else
		memcpy(&word, key, key_len);
	word = (word ^ key_len) * 0x9e3779b97f4a7c15ULL;
	return word >> 54;
}

static bool is_in(const struct work *work, bool changed, unsigned int hash)
{
	return work->has_keys[changed] && work->keys[changed].bits[hash / 64] >> hash % 64 & 1;
}

/**
 * batch_takes() - let a batch take a key
 * @work:	the work
 * @belt:	the belt of the key
 * @key:	the key, without a prefix
 * @key_len:	its length
 * @changes:	the operation changes the entry
 *
 * Return: false if the batch has to be carried out first.
 */
bool batch_takes(struct work *work, struct belt *belt, const char *key, size_t key_len,
		 bool changes)
{
	unsigned int hash = hash_key(key, key_len);
	struct key_set *set = &work->keys[changes];

	if (!work->items) {
		work->belt = belt;
		work->has_keys[false] = false;
		work->has_keys[true] = false;
	} else if (work->belt != belt || is_in(work, true, hash) ||
		   (changes && is_in(work, false, hash))) {
		return false;
	}
	/* Most batches have only gets, or one put: one of the sets is not cleared. */
	if (!work->has_keys[changes]) {
		work->has_keys[changes] = true;
		memset(set, 0, sizeof(*set));
	}
	set->bits[hash / 64] |= 1ULL << hash % 64;
	return true;
}

static bool write_text(struct work *work, const struct reply *reply)
{
	size_t len = strlen(reply->text);

	memcpy(reply->space, reply->text, len);
	memcpy(reply->space + len, "\r\n", 2);
	return output_commit(&work->output, reply->space, len + 2);
}

/**
 * batch_text() - add a reply that is known
 * @work:	the work
 * @text:	the reply, without the end of the line; has to stay
 *
 * Return: false if there is no memory.
 */
bool batch_text(struct work *work, const char *text)
{
	struct reply *reply;

	if (work->request->quiet)
		return true;
	reply = batch_reply(work, write_text, strlen(text) + 2);
	if (!reply)
		return false;
	reply->text = text;
	return true;
}

/**
 * is_full() - whether an operation has failed for want of room
 * @err:	its result
 *
 * Return: whether.
 */
bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -ENOMEM;
}

/**
 * batch_settle() - let the last reply make another operation if its own fails
 * @work:	the work
 * @settle:	makes it
 */
void batch_settle(struct work *work,
		  void (*settle)(struct work *work, const struct reply *reply,
				 struct hashbelt_item *item))
{
	work->reply[work->replies - 1].settle = settle;
	work->settles++;
}

/**
 * batch_run() - carry out the operations
 * @work:	the work
 */
void batch_run(struct work *work)
{
	const struct reply *reply;
	unsigned int i;

	if (work->items)
		belt_batch(work->belt, work->item, work->items);
	for (i = 0; work->settles; i++) {
		reply = &work->reply[i];
		if (!reply->settle)
			continue;
		work->settles--;
		if (work->item[reply->item].result)
			reply->settle(work, reply, &work->item[reply->item]);
	}
	work->is_done = true;
}

/**
 * batch_fetch_again() - the value of a get that had too little room for it
 * @work:	the work, whose operations were carried out
 * @reply:	the reply, with room before the value and behind it
 * @item:	its operation
 *
 * Return: the value; NULL if there is none now, and @item says why, or if there is no memory, and
 * then the result is 0.
 */
char *batch_fetch_again(struct work *work, const struct reply *reply, struct hashbelt_item *item)
{
	char *value = NULL;

	while (item->result == -ERANGE) {
		value = output_reserve_large(&work->output,
					     reply->value_at + item->value_len + REPLY_TAIL);
		if (!value) {
			item->result = 0;
			return NULL;
		}
		value += reply->value_at;
		item->value = (uintptr_t)value;
		item->result = 0;
		belt_batch(work->belt, item, 1);
	}
	return item->result ? NULL : value;
}

/* Whether a reply has to wait until others were sent: its value did not fit. */
static bool has_to_wait(const struct work *work, const struct reply *reply)
{
	return reply->item < work->items && work->item[reply->item].result == -ERANGE &&
	       work->output.held >= OUTPUT_MAX && !output_is_empty(&work->output);
}

/* While a slow client takes replies, the place of the belt may become that of another one. */
static void begin_pause(struct work *work)
{
	snprintf(work->belt_name, sizeof(work->belt_name), "%s", belt_name(work->belt));
}

static void end_pause(struct work *work)
{
	if (!*work->belt_name)
		return;
	work->belt = belts_again(work->service->belts, work->belt, work->belt_name);
	*work->belt_name = '\0';
}

/**
 * batch_write() - write the replies
 * @work:	the work
 * @full:	returned: there are more, but what was written has to be sent first
 *
 * Return: false if there is no memory.
 */
bool batch_write(struct work *work, bool *full)
{
	const struct reply *reply;

	*full = false;
	end_pause(work);
	for (; work->written < work->replies; work->written++) {
		reply = &work->reply[work->written];
		if (has_to_wait(work, reply)) {
			begin_pause(work);
			*full = true;
			return true;
		}
		if (!reply->write(work, reply))
			return false;
	}
	work->items = 0;
	work->replies = 0;
	work->written = 0;
	work->is_done = false;
	/* A request that is in progress is the first of the next batch. */
	if (work->request && work->request != work->request_of)
		work->request_of[0] = *work->request;
	work->request = work->request ? work->request_of : NULL;
	work->requests = !!work->request;
	return true;
}
