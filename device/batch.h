/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_BATCH_H
#define _HASHBELT_BATCH_H

#include "call.h"

int hb_call_batch(const struct hb_call *call, void *arg);

#endif /* _HASHBELT_BATCH_H */
