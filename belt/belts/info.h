/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_INFO_H
#define _HASHBELT_INFO_H

#include "belt/ground/entry.h"

int hb_scan(struct hashbelt_belt *belt, struct hashbelt_scan *scan, void *buffer, u32 *used);
int hb_buckets(struct hashbelt_belt *belt, u64 *cursor, u64 *counts, u32 count);
void hb_info(struct hashbelt_belt *belt, struct hashbelt_info *info);
void hb_stat(struct hashbelt_belt *belt, u64 *counters, u64 *lags);

#endif /* _HASHBELT_INFO_H */
