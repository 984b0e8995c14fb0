/* SPDX-License-Identifier: GPL-2.0-only */
/* The words of a line, quoted as in a shell. */
#ifndef HBCTL_WORDS_H
#define HBCTL_WORDS_H

#include <stddef.h>

const char *words_split(char *line, size_t len, char **words, int *count);

#endif /* HBCTL_WORDS_H */
