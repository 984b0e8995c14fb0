/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests that take several calls, and so are in no batch. */
#ifndef HBSERVE_SINGLE_H
#define HBSERVE_SINGLE_H

#include "batch.h"
#include "target.h"

bool single_arithmetic(struct work *work, const struct target *target);
bool single_concatenate(struct work *work, const struct target *target);
bool single_meta_get(struct work *work, const struct target *target);
bool single_meta_expire(struct work *work, const struct target *target);

#endif /* HBSERVE_SINGLE_H */
