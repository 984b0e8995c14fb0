/* SPDX-License-Identifier: GPL-2.0-only */
/* Completion of hbserve's options in shells. */
#ifndef HBSERVE_COMPLETION_H
#define HBSERVE_COMPLETION_H

#include <stdbool.h>

struct option_row;

bool completion_print(const char *shell, const struct option_row *rows);

#endif /* HBSERVE_COMPLETION_H */
