/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_CLEAR_H
#define _HASHBELT_CLEAR_H

struct hashbelt_belt;

void hb_clear(struct hashbelt_belt *belt);
void hb_kill(struct hashbelt_belt *belt);

#endif /* _HASHBELT_CLEAR_H */
