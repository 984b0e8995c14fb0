/* SPDX-License-Identifier: GPL-2.0-only */
/* PostgreSQL as an engine. */
#ifndef HBFOLLOW_POSTGRESQL_H
#define HBFOLLOW_POSTGRESQL_H

#include "engine.h"

extern const struct engine_ops postgresql_ops;

#endif /* HBFOLLOW_POSTGRESQL_H */
