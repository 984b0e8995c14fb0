/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_MANAGE_H
#define _HASHBELT_MANAGE_H

#include "call.h"

int hb_call_scan(const struct hb_call *call, void *arg);
int hb_call_info(const struct hb_call *call, void *arg);
int hb_call_stat(const struct hb_call *call, void *arg);
int hb_call_buckets(const struct hb_call *call, void *arg);
int hb_call_clear(const struct hb_call *call, void *arg);
int hb_call_time(const struct hb_call *call, void *arg);
int hb_call_manage(const struct hb_call *call, void *arg);
int hb_call_next(const struct hb_call *call, void *arg);

#endif /* _HASHBELT_MANAGE_H */
