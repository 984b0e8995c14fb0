// SPDX-License-Identifier: GPL-2.0-only
/*
 * Conditions on the deadline of an entry that is to get another one. Both protocols have the words
 * and the rules of Redis' EXPIRE.
 */
#include <strings.h>

#include "array_size.h"
#include "condition.h"

static const struct {
	const char *word;
	uint32_t how;
} conditions[] = {
	{ "nx", HASHBELT_IF_LASTING },
	{ "xx", HASHBELT_IF_EXPIRING },
	{ "gt", HASHBELT_IF_LATER },
	{ "lt", HASHBELT_IF_SOONER },
};

/**
 * condition_take() - read a condition
 * @word:	the condition, in small or capital letters
 * @how:	returned: HASHBELT_IF_*, added to the present ones
 *
 * Return: false if there is no such condition.
 */
bool condition_take(const struct word *word, uint32_t *how)
{
	unsigned int i;

	if (word->len != CONDITION_LEN)
		return false;
	for (i = 0; i < ARRAY_SIZE(conditions); i++) {
		if (strncasecmp(word->at, conditions[i].word, CONDITION_LEN))
			continue;
		*how |= conditions[i].how;
		return true;
	}
	return false;
}

/**
 * condition_clash() - find two conditions that never hold together
 * @how:	HASHBELT_IF_*
 *
 * Return: the error of Redis, or NULL.
 */
const char *condition_clash(uint32_t how)
{
	if (how & HASHBELT_IF_LASTING && how != HASHBELT_IF_LASTING)
		return "-ERR NX and XX, GT or LT options at the same time are not compatible";
	if (how & HASHBELT_IF_LATER && how & HASHBELT_IF_SOONER)
		return "-ERR GT and LT options at the same time are not compatible";
	return NULL;
}

/**
 * condition_end() - let an entry expire at once if the conditions hold
 * @item:	@how has them; returned: @op and @how
 *
 * Return: false if they never hold: no entry that is there has an earlier deadline.
 */
bool condition_end(struct hashbelt_item *item)
{
	if (item->how & HASHBELT_IF_LATER)
		return false;
	item->how &= ~HASHBELT_IF_SOONER;
	item->op = item->how & (HASHBELT_IF_LASTING | HASHBELT_IF_EXPIRING) ?
		HASHBELT_OP_EXPIRE : HASHBELT_OP_REMOVE;
	return true;
}
