/* SPDX-License-Identifier: GPL-2.0-only */
/* The known word that is most like a mistyped one. */
#ifndef COMMON_GUESS_H
#define COMMON_GUESS_H

#include <stddef.h>

/* Space for the text of guess_text(), bytes. */
#define GUESS_SIZE	80

/**
 * struct guess - a search for the known word that is most like another
 * @word:	the mistyped word
 * @best:	the known word that is most like it so far; NULL for none
 * @distance:	of these two
 */
struct guess {
	const char *word;
	const char *best;
	size_t distance;
};

void guess_offer(struct guess *guess, const char *known);
const char *guess_text(const struct guess *guess, const char *dashes, char *text);

#endif /* COMMON_GUESS_H */
