/* SPDX-License-Identifier: GPL-2.0-only */
/* The name that a key of the engine has in the belt. */
#ifndef HBFOLLOW_KEYS_H
#define HBFOLLOW_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "hashbelt.h"

/* A rule: a key that begins with @from is named @to and the rest. */
struct key_rule {
	const char *from;
	size_t from_len;
	const char *to;
};

/**
 * struct keys - rules, of which the first that fits counts
 * @rules:	the rules
 * @count:	their number
 */
struct keys {
	struct key_rule *rules;
	size_t count;
};

bool keys_add(struct keys *keys, const char *from, size_t from_len, const char *to);
size_t keys_name(const struct keys *keys, const char *key, size_t len, char *name);
void keys_free(struct keys *keys);

#endif /* HBFOLLOW_KEYS_H */
