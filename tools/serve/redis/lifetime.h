/* SPDX-License-Identifier: GPL-2.0-only */
/* Times-to-live as clients of Redis give them. Pure but for redis_now_ms(). */
#ifndef HBSERVE_LIFETIME_H
#define HBSERVE_LIFETIME_H

#include <stdbool.h>
#include <stdint.h>

#include "parsed.h"

enum time_unit {
	UNIT_SECONDS,
	UNIT_MILLISECONDS,
	UNIT_AT_SECONDS,		/* Unix time */
	UNIT_AT_MILLISECONDS,
};

/**
 * struct lifetime - the time that an entry is to live
 * @ttl_ms:	that time
 * @is_over:	it is over at once
 */
struct lifetime {
	uint64_t ttl_ms;
	bool is_over;
};

bool lifetime_of(int64_t number, enum time_unit unit, int64_t now_ms, struct lifetime *lifetime);
int64_t lifetime_left(uint64_t ttl_ms, enum time_unit unit, int64_t now_ms);
int64_t redis_now_ms(void);

#endif /* HBSERVE_LIFETIME_H */
