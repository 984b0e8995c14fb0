/* SPDX-License-Identifier: GPL-2.0 */
/* Belts as a whole. */
#ifndef _HASHBELT_MANAGE_H
#define _HASHBELT_MANAGE_H

#include "call.h"

int hb_call_scan(const struct hb_call *call, void *arg);
int hb_call_info(const struct hb_call *call, void *arg);
int hb_call_stat(const struct hb_call *call, void *arg);
int hb_call_buckets(const struct hb_call *call, void *arg);
int hb_call_clear(const struct hb_call *call, void *arg);
int hb_call_halt(const struct hb_call *call, void *arg);
int hb_call_resume(const struct hb_call *call, void *arg);
int hb_call_rotate(const struct hb_call *call, void *arg);
int hb_call_advance(const struct hb_call *call, void *arg);
int hb_call_create(const struct hb_call *call, void *arg);
int hb_call_set(const struct hb_call *call, void *arg);
int hb_call_open(const struct hb_call *call, void *arg);
int hb_call_destroy(const struct hb_call *call, void *arg);
int hb_call_next(const struct hb_call *call, void *arg);

#endif /* _HASHBELT_MANAGE_H */
