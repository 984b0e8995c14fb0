/* SPDX-License-Identifier: GPL-2.0-only */
/* Conditions on the deadline of an entry that is to get another one. */
#ifndef HBSERVE_CONDITION_H
#define HBSERVE_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "hashbelt.h"
#include "parsed.h"

/* Bytes of the word of a condition. */
#define CONDITION_LEN	2

bool condition_take(const struct word *word, uint32_t *how);
const char *condition_clash(uint32_t how);
bool condition_end(struct hashbelt_item *item);

#endif /* HBSERVE_CONDITION_H */
