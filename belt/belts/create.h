/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_CREATE_H
#define _HASHBELT_CREATE_H

#include "belt/settings.h"

int hb_core_init(void);
void hb_core_exit(void);

struct hashbelt_belt *hb_create(const struct hashbelt_config *config);
struct hashbelt_belt *hb_create_patiently(const struct hashbelt_config *config);
void hb_wait_for_frees(struct hb_account *account);
void hb_destroy(struct hashbelt_belt *belt);
void hb_flush_frees(void);

#endif /* _HASHBELT_CREATE_H */
