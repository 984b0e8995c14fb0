/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_SHRINK_H
#define _HASHBELT_SHRINK_H

int hb_shrink_init(void);
void hb_shrink_exit(void);

#endif /* _HASHBELT_SHRINK_H */
