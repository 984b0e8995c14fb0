/* SPDX-License-Identifier: GPL-2.0-only */
/* A command that computes a value while a fill lease lasts. */
#ifndef HBCTL_FILL_RUN_H
#define HBCTL_FILL_RUN_H

#include "command.h"
#include "value.h"

enum status fill_run(const struct request *request, const struct key *key,
		     const struct hashbelt_fill *fill, struct value *value);

#endif /* HBCTL_FILL_RUN_H */
