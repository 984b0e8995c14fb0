/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations that change an entry, and the replies to them. */
#ifndef HBSERVE_PUT_H
#define HBSERVE_PUT_H

#include "requests.h"

#define ERROR_VALUE	"-ERR string exceeds maximum allowed size (proto-max-bulk-len)"

void put_fill(struct hashbelt_item *item, const struct word *value, __u64 ttl_ms);
bool put_fits(const struct work *work, const struct word *value);
bool put_write_ok(struct work *work, const struct reply *reply);
bool put_write_one(struct work *work, const struct reply *reply);
enum started put_bad_time(struct work *work, const struct redis *redis);

#endif /* HBSERVE_PUT_H */
