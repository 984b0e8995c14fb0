/* SPDX-License-Identifier: GPL-2.0-only */
/* The arguments of a request that is being started. */
#ifndef HBSERVE_REQUESTS_H
#define HBSERVE_REQUESTS_H

#include <string.h>
#include <strings.h>

#include "answer.h"

unsigned int redis_words(const struct redis *redis, struct word *words, unsigned int most);
enum started redis_look(struct work *work, struct redis *redis,
			bool (*write)(struct work *work, const struct reply *reply));
bool redis_keys_fit(const struct redis *redis, unsigned int step);
bool redis_fits(const struct word *key);
enum started redis_say(struct work *work, const char *text);
struct hashbelt_item *redis_operation(struct work *work, struct redis *redis, enum hashbelt_op op,
				      const struct word *key, size_t space,
				      bool (*write)(struct work *work, const struct reply *reply),
				      enum started *started);
struct hashbelt_item *redis_item(struct work *work, struct redis *redis, enum hashbelt_op op,
				 const struct word *key,
				 bool (*write)(struct work *work, const struct reply *reply),
				 enum started *started);
struct hashbelt_item *redis_get(struct work *work, struct redis *redis, const struct word *key,
				bool (*write)(struct work *work, const struct reply *reply),
				enum started *started);
enum started redis_each(struct work *work, struct redis *redis, unsigned int step,
			enum started (*one)(struct work *work, struct redis *redis,
					    const struct word *words, bool is_last));

/**
 * redis_is() - whether an argument is a word, in small or capital letters
 * @word:	the argument
 * @text:	the word
 *
 * Return: whether.
 */
static inline bool redis_is(const struct word *word, const char *text)
{
	return word->len == strlen(text) && !strncasecmp(word->at, text, word->len);
}

#endif /* HBSERVE_REQUESTS_H */
