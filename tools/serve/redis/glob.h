/* SPDX-License-Identifier: GPL-2.0-only */
/* Patterns of KEYS and SCAN. Pure. */
#ifndef HBSERVE_GLOB_H
#define HBSERVE_GLOB_H

#include <stdbool.h>

#include "parsed.h"

bool glob_matches(const struct word *pattern, const char *text, size_t len);

#endif /* HBSERVE_GLOB_H */
