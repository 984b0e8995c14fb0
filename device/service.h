/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_SERVICE_H
#define _HASHBELT_SERVICE_H

#include "call.h"

int hb_call_fill(const struct hb_call *call, void *arg);
int hb_call_lock(const struct hb_call *call, void *arg);
int hb_call_locks(const struct hb_call *call, void *arg);
int hb_call_request(const struct hb_call *call, void *arg);
int hb_call_cancel(const struct hb_call *call, void *arg);
int hb_call_complete(const struct hb_call *call, void *arg);

#endif /* _HASHBELT_SERVICE_H */
