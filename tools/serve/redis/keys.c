// SPDX-License-Identifier: GPL-2.0-only
/* Commands on keys: whether they are there, deleting them, and listing them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "commands.h"
#include "glob.h"
#include "keys.h"
#include "put.h"

/* Memory for one piece of a scan at first, and for the keys that KEYS lists, bytes. */
#define PIECE_MIN	4096
#define KEYS_MAX	(16 * 1024 * 1024)

/* Keys that one SCAN looks at, beside the rest of a piece: other clients of the thread wait. */
#define SEEN_MAX	4096

/* Bytes of a pattern. */
#define PATTERN_MAX	4096
#define ERROR_PATTERN	"-ERR a pattern has at most 4096 bytes"

/* Bytes of a key in a piece, which COUNT asks for. */
#define RECORD_GUESS	64

static bool write_counted(struct work *work, const struct reply *reply)
{
	const struct hashbelt_item *item = &work->item[reply->item];
	struct redis *redis = redis_of(work);

	redis->sum += !item->result;
	if (item->result && item->result != -ENOENT && !*redis->failed)
		redis_reason(work->belt, item->result, redis->failed);
	return !reply->is_last || redis_commit_total(work, reply, NULL);
}

static enum started count_one(struct work *work, struct redis *redis, const struct word *words,
			      bool is_last)
{
	bool deletes = redis->command->flags & REDIS_WRITE;
	enum started started;
	struct hashbelt_item *item;

	item = redis_item(work, redis, deletes ? HASHBELT_OP_REMOVE : HASHBELT_OP_GET, words,
			  write_counted, &started);
	if (!item)
		return started;
	if (!deletes)
		item->how = HASHBELT_NO_VALUE | HASHBELT_NO_REFRESH;
	work->reply[work->replies - 1].is_last = is_last;
	return STARTED;
}

/* DEL and UNLINK. */
enum started redis_del(struct work *work, struct redis *redis)
{
	return redis_each(work, redis, 1, count_one);
}

/* EXISTS and TOUCH, which leave an entry as it is. */
enum started redis_exists(struct work *work, struct redis *redis)
{
	return redis_each(work, redis, 1, count_one);
}

static bool write_type(struct work *work, const struct reply *reply)
{
	int err = work->item[reply->item].result;

	if (err && err != -ENOENT)
		return redis_commit_failure(work, err);
	return redis_commit(work, reply, err ? "+none" : "+string");
}

enum started redis_type(struct work *work, struct redis *redis)
{
	return redis_look(work, redis, write_type);
}

enum started redis_dbsize(struct work *work, struct redis *redis)
{
	struct belt *belt = redis_belt(work, redis);
	struct hashbelt_info info;
	int err = belt_info(belt, &info);

	return err ? answer_failure(work, belt, err) : answer_integer(work, info.entries);
}

/* FLUSHDB, and FLUSHALL of all databases. */
enum started redis_flush(struct work *work, struct redis *redis)
{
	bool all = redis->command->name[5] == 'A';
	unsigned int number;
	struct word mode;
	struct belt *belt;
	int err;

	if (redis->request.count > 2 ||
	    (redis_words(redis, &mode, 1) && !redis_is(&mode, "async") && !redis_is(&mode, "sync")))
		return answer_one(work, ERROR_SYNTAX);
	count(&work->service->counters.cmd_flush);
	for (number = 0; number < DATABASES_MAX; number++) {
		belt = belts_database(work->service->belts, number);
		if (!belt || !(all || number == redis->database))
			continue;
		err = belt_clear(belt);
		if (err)
			return answer_failure(work, belt, err);
	}
	return answer_one(work, "+OK");
}

/**
 * struct listing - keys that are listed
 * @belt:	the belt
 * @scan:	the place in it
 * @buffer:	of the last piece
 * @size:	the size of that memory
 * @pattern:	that keys match; NULL for all
 * @hides:	no key is listed: none has such a type
 * @keys:	the keys, as they are answered
 * @len:	their length, bytes
 * @room:	the size of that memory
 * @count:	their number
 * @seen:	the number of keys in all pieces
 */
struct listing {
	struct belt *belt;
	struct hashbelt_scan scan;
	char *buffer;
	size_t size;
	const struct word *pattern;
	bool hides;
	char *keys;
	size_t len;
	size_t room;
	uint64_t count;
	uint64_t seen;
};

static void end_listing(struct listing *listing)
{
	free(listing->buffer);
	free(listing->keys);
}

/* Reads the next piece. */
static int read_piece(struct listing *listing)
{
	char *buffer;
	int err;

	do {
		buffer = realloc(listing->buffer, listing->size);
		if (!buffer)
			return -ENOMEM;
		listing->buffer = buffer;
		listing->scan.buffer = (uintptr_t)buffer;
		listing->scan.size = listing->size;
		listing->scan.count = 0;
		err = belt_scan_piece(listing->belt, &listing->scan);
		listing->size = err == -ERANGE ? listing->scan.size : listing->size;
	} while (err == -ERANGE && listing->size <= HASHBELT_SCAN_MAX);
	return err;
}

/* Adds a key to the answer. */
static int add_key(struct listing *listing, const char *key, size_t len)
{
	size_t need = listing->len + len + ANSWER_SHORT;
	char *keys, *end;

	if (need > listing->room) {
		keys = realloc(listing->keys, 2 * need);
		if (!keys)
			return -ENOMEM;
		listing->keys = keys;
		listing->room = 2 * need;
	}
	end = redis_number(listing->keys + listing->len, '$', len);
	end = mempcpy(mempcpy(end, key, len), "\r\n", 2);
	listing->len = end - listing->keys;
	listing->count++;
	return 0;
}

/* Adds the keys of a piece that are wanted. */
static int add_piece(struct listing *listing)
{
	const char *at = listing->buffer;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < listing->scan.count; i++) {
		const struct hashbelt_record *record = (const void *)at;
		const char *key = hashbelt_record_key(record);

		at += record->size;
		if (listing->hides)
			continue;
		if (!listing->pattern || glob_matches(listing->pattern, key, record->key_len))
			err = add_key(listing, key, record->key_len);
	}
	listing->seen += listing->scan.count;
	return err;
}

static void answer_keys(struct answer *answer, const struct listing *listing)
{
	answer_number(answer, '*', listing->count);
	answer->ok = answer->ok &&
		     output_text(&answer->work->output, listing->keys ?: "", listing->len);
}

/* A longer pattern could keep other clients waiting for a long time at each key. */
static bool is_pattern(const struct word *word)
{
	return word->len <= PATTERN_MAX;
}

/* The options of SCAN behind the cursor. Return: an error, or NULL. */
static const char *read_scan(const struct word *words, unsigned int words_count,
			     struct listing *listing, int64_t *wanted)
{
	unsigned int i;

	for (i = 0; i + 1 < words_count; i += 2) {
		if (redis_is(&words[i], "match")) {
			listing->pattern = &words[i + 1];
			if (!is_pattern(listing->pattern))
				return ERROR_PATTERN;
		} else if (redis_is(&words[i], "type")) {
			listing->hides = !redis_is(&words[i + 1], "string");
		} else if (redis_is(&words[i], "count")) {
			if (!resp_integer(words[i + 1].at, words[i + 1].len, wanted))
				return ERROR_INTEGER;
			if (*wanted < 1)
				return ERROR_SYNTAX;
		} else {
			return ERROR_SYNTAX;
		}
	}
	return i < words_count ? ERROR_SYNTAX : NULL;
}

static bool read_cursor(const struct word *word, __u64 *cursor)
{
	char text[24], *end;

	if (!word->len || word->len >= sizeof(text) || *word->at < '0' || *word->at > '9')
		return false;
	memcpy(text, word->at, word->len);
	text[word->len] = '\0';
	errno = 0;
	*cursor = strtoull(text, &end, 10);
	return !errno && end == text + word->len;
}

/* A part of the keys: pieces of the kernel until there are as many as COUNT asks for. */
enum started redis_scan(struct work *work, struct redis *redis)
{
	struct word words[REDIS_WORDS];
	unsigned int words_count = redis_words(redis, words, REDIS_WORDS);
	struct listing listing = { .belt = redis_belt(work, redis) };
	struct answer answer = answer_begin(work);
	int64_t wanted = 10;
	const char *error;
	char cursor[24];
	int err = 0;

	if (!read_cursor(&words[0], &listing.scan.cursor))
		return answer_one(work, "-ERR invalid cursor");
	error = read_scan(words + 1, words_count - 1, &listing, &wanted);
	if (error)
		return answer_one(work, error);
	if (wanted > SEEN_MAX)
		wanted = SEEN_MAX;
	listing.size = wanted < PIECE_MIN / RECORD_GUESS ? PIECE_MIN : wanted * RECORD_GUESS;
	do {
		err = read_piece(&listing) ?: add_piece(&listing);
	} while (!err && listing.scan.cursor && listing.seen < (uint64_t)wanted &&
		 listing.len < OUTPUT_MAX);
	if (!err) {
		snprintf(cursor, sizeof(cursor), "%llu", listing.scan.cursor);
		answer_number(&answer, '*', 2);
		answer_text(&answer, cursor);
		answer_keys(&answer, &listing);
	}
	end_listing(&listing);
	return err ? answer_failure(work, listing.belt, err) : answer_end(&answer);
}

/* All keys, if they are not too many for one answer. */
enum started redis_keys(struct work *work, struct redis *redis)
{
	struct answer answer = answer_begin(work);
	struct word pattern;
	struct listing listing = {
		.belt = redis_belt(work, redis), .size = HASHBELT_SCAN_MAX, .pattern = &pattern,
	};
	int err;

	redis_words(redis, &pattern, 1);
	if (!is_pattern(&pattern))
		return answer_one(work, ERROR_PATTERN);
	do {
		err = read_piece(&listing) ?: add_piece(&listing);
	} while (!err && listing.scan.cursor && listing.len < KEYS_MAX);
	if (!err && !listing.scan.cursor)
		answer_keys(&answer, &listing);
	end_listing(&listing);
	if (err)
		return answer_failure(work, listing.belt, err);
	return listing.scan.cursor ? answer_one(work, "-ERR too many keys: use SCAN") :
				     answer_end(&answer);
}

/* One of the keys of the first piece that has any. */
enum started redis_randomkey(struct work *work, struct redis *redis)
{
	struct listing listing = { .belt = redis_belt(work, redis), .size = HASHBELT_SCAN_MAX };
	const struct hashbelt_record *record;
	struct answer answer = answer_begin(work);
	uint32_t skip;
	int err;

	do {
		err = read_piece(&listing);
	} while (!err && !listing.scan.count && listing.scan.cursor);
	if (!err && listing.scan.count) {
		record = (const void *)listing.buffer;
		for (skip = random() % listing.scan.count; skip; skip--)
			record = (const void *)((const char *)record + record->size);
		answer_bulk(&answer, hashbelt_record_key(record), record->key_len);
	} else if (!err) {
		answer_nil(&answer);
	}
	end_listing(&listing);
	return err ? answer_failure(work, listing.belt, err) : answer_end(&answer);
}

/* Removes the keys of a piece that match. */
static int delete_piece(struct listing *listing)
{
	const char *at = listing->buffer;
	struct hashbelt_item item;
	uint32_t i;

	for (i = 0; i < listing->scan.count; i++) {
		const struct hashbelt_record *record = (const void *)at;
		const char *key = hashbelt_record_key(record);

		at += record->size;
		if (!glob_matches(listing->pattern, key, record->key_len))
			continue;
		item = hashbelt_item(HASHBELT_OP_REMOVE, key, record->key_len, NULL, 0);
		belt_batch(listing->belt, &item, 1);
		if (item.result && item.result != -ENOENT)
			return item.result;
		listing->count += !item.result;
	}
	return 0;
}

/**
 * keys_delete() - remove the keys that match a pattern, one after the other
 * @belt:	the belt
 * @pattern:	the pattern
 * @sum:	returned: their number
 *
 * Return: 0 or an error; -E2BIG if the pattern is too long.
 */
int keys_delete(struct belt *belt, const struct word *pattern, int64_t *sum)
{
	struct listing listing = {
		.belt = belt, .size = HASHBELT_SCAN_MAX, .pattern = pattern,
	};
	int err;

	if (!is_pattern(pattern))
		return -E2BIG;
	do {
		err = read_piece(&listing) ?: delete_piece(&listing);
	} while (!err && listing.scan.cursor);
	*sum = listing.count;
	end_listing(&listing);
	return err;
}
