/* SPDX-License-Identifier: GPL-2.0-only */
/* The words that the scripts for completion offer for an argument. */
#ifndef COMMON_OFFER_H
#define COMMON_OFFER_H

#include <stdbool.h>

enum offer_shell { OFFER_BASH, OFFER_FISH, OFFER_ZSH, OFFER_SHELLS };

bool offer_find_shell(const char *name, enum offer_shell *shell);
void offer_print_functions(enum offer_shell shell, const char *program);
void offer_print_words(const char *words);
void offer_print(enum offer_shell shell, const char *program, const char *argument);

#endif /* COMMON_OFFER_H */
