// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "keys.h"

/**
 * keys_add() - add a rule behind the others
 * @keys:	the rules
 * @from:	the beginning of a key; has to stay
 * @from_len:	its length
 * @to:		the text in its place; has to stay
 *
 * Return: false if there is no memory.
 */
bool keys_add(struct keys *keys, const char *from, size_t from_len, const char *to)
{
	struct key_rule *rules = realloc(keys->rules, (keys->count + 1) * sizeof(*rules));

	if (!rules)
		return false;
	rules[keys->count++] = (struct key_rule){ .from = from, .from_len = from_len, .to = to };
	keys->rules = rules;
	return true;
}

static const struct key_rule *find_rule(const struct keys *keys, const char *key, size_t len)
{
	const struct key_rule *rule;

	for (rule = keys->rules; rule < keys->rules + keys->count; rule++)
		if (rule->from_len <= len && !memcmp(rule->from, key, rule->from_len))
			return rule;
	return NULL;
}

/**
 * keys_name() - the name of a key in the belt
 * @keys:	the rules; a key that none fits keeps its name
 * @key:	the key of the engine, any bytes
 * @len:	its length
 * @name:	returned: the name, space for HASHBELT_KEY_MAX bytes
 *
 * Return: its length; 0 if no belt can have such a key, as it would be empty or too long.
 */
size_t keys_name(const struct keys *keys, const char *key, size_t len, char *name)
{
	const struct key_rule *rule = keys->count ? find_rule(keys, key, len) : NULL;
	size_t skip = rule ? rule->from_len : 0, to = rule ? strlen(rule->to) : 0;

	if (to > HASHBELT_KEY_MAX || len - skip > HASHBELT_KEY_MAX - to)
		return 0;
	if (to)
		memcpy(name, rule->to, to);
	if (len > skip)
		memcpy(name + to, key + skip, len - skip);
	return to + len - skip;
}

/**
 * keys_free() - free the rules
 * @keys:	the rules
 */
void keys_free(struct keys *keys)
{
	free(keys->rules);
	*keys = (struct keys){ 0 };
}
