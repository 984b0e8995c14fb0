/* SPDX-License-Identifier: GPL-2.0-only */
/* Keys that match a pattern. */
#ifndef HBSERVE_KEYS_H
#define HBSERVE_KEYS_H

#include <stdint.h>

#include "belts.h"
#include "parsed.h"

int keys_delete(struct belt *belt, const struct word *pattern, int64_t *sum);

#endif /* HBSERVE_KEYS_H */
