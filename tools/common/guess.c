// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "guess.h"

/* Longer words are not compared. */
#define LONGEST	24

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * The number of letters that have to be inserted, removed, changed, or exchanged with the next one
 * to make @b of @a: the optimal string alignment distance of Damerau and Levenshtein.
 */
static size_t distance_of(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t d[LONGEST + 1][LONGEST + 1], i, j;

	for (i = 0; i <= a_len; i++)
		d[i][0] = i;
	for (j = 0; j <= b_len; j++)
		d[0][j] = j;
	for (i = 1; i <= a_len; i++) {
		for (j = 1; j <= b_len; j++) {
			d[i][j] = min(min(d[i - 1][j], d[i][j - 1]) + 1,
				      d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = min(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[a_len][b_len];
}

/**
 * guess_offer() - compare a known word with the mistyped one
 * @guess:	the search; begins with its @word and zeros
 * @known:	the known word; has to live as long as @guess
 *
 * A word is like another if at most a third of its letters, and at least one, may differ.
 */
void guess_offer(struct guess *guess, const char *known)
{
	size_t word_len = strlen(guess->word), len = strlen(known), distance, most;

	if (word_len < 2 || word_len > LONGEST || len > LONGEST)
		return;
	most = word_len < 6 ? 1 : word_len / 3;
	distance = distance_of(guess->word, word_len, known, len);
	if (distance > most || (guess->best && distance >= guess->distance))
		return;
	guess->best = known;
	guess->distance = distance;
}

/**
 * guess_text() - what to add to an error message about a mistyped word
 * @guess:	the search, at its end
 * @dashes:	printed before the word, "" or "--"
 * @text:	where, GUESS_SIZE bytes
 *
 * Return: @text, as ": did you mean 'get'?", or "" if no known word is like it.
 */
const char *guess_text(const struct guess *guess, const char *dashes, char *text)
{
	*text = '\0';
	if (guess->best)
		snprintf(text, GUESS_SIZE, ": did you mean '%s%s'?", dashes, guess->best);
	return text;
}
