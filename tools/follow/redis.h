/* SPDX-License-Identifier: GPL-2.0-only */
/* Redis and Valkey as engines. */
#ifndef HBFOLLOW_REDIS_H
#define HBFOLLOW_REDIS_H

#include "engine.h"

extern const struct engine_ops redis_ops;

#endif /* HBFOLLOW_REDIS_H */
