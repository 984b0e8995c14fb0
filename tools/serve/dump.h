/* SPDX-License-Identifier: GPL-2.0-only */
/* The keys of a belt, for "lru_crawler" and "stats cachedump". */
#ifndef HBSERVE_DUMP_H
#define HBSERVE_DUMP_H

#include "batch.h"

int dump_some(struct work *work, struct belt_scan *scan);

#endif /* HBSERVE_DUMP_H */
