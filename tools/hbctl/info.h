/* SPDX-License-Identifier: GPL-2.0-only */
/* The description of a belt, for people and for programs. */
#ifndef HBCTL_INFO_H
#define HBCTL_INFO_H

#include <stddef.h>

#include "buckets.h"
#include <hashbelt/client.h>

void info_print(const struct hashbelt_info *info, const struct buckets *buckets);
void info_print_json(const struct hashbelt_info *info, const struct buckets *buckets);
void info_print_table(const struct hashbelt_info *infos, size_t count);

#endif /* HBCTL_INFO_H */
