/* SPDX-License-Identifier: GPL-2.0-only */
/* Completion of a program's options in shells. */
#ifndef COMMON_COMPLETION_H
#define COMMON_COMPLETION_H

#include <stdbool.h>

struct option_program;

bool completion_print(const struct option_program *program, const char *shell);

#endif /* COMMON_COMPLETION_H */
