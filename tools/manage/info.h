/* SPDX-License-Identifier: GPL-2.0-only */
/* The description of a belt, for people and for programs. */
#ifndef MANAGE_INFO_H
#define MANAGE_INFO_H

#include <stddef.h>

#include "buckets.h"
#include "table.h"
#include <hashbelt/client.h>

extern const struct table_column info_columns[];

void info_print(const struct hashbelt_info *info, const struct buckets *buckets);
void info_print_json(const struct hashbelt_info *info, const struct buckets *buckets);

#endif /* MANAGE_INFO_H */
