/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_TIME_H
#define _HASHBELT_TIME_H

#include <linux/types.h>

struct hashbelt_belt;

void hb_halt(struct hashbelt_belt *belt);
void hb_resume(struct hashbelt_belt *belt);
int hb_advance(struct hashbelt_belt *belt, u64 by);
int hb_rotate(struct hashbelt_belt *belt);

#endif /* _HASHBELT_TIME_H */
