/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_SET_H
#define _HASHBELT_SET_H

#include "belt/settings.h"

int hb_check_config(const struct hashbelt_config *config, u32 fields);
int hb_check_window(const struct hb_settings *settings);
struct hashbelt_config hb_config_of(const struct hashbelt_settings *settings);
void hb_info_settings(struct hashbelt_belt *belt, struct hashbelt_info *info);

void hb_init_settings(struct hashbelt_belt *belt, const struct hb_settings *settings);
int hb_set(struct hashbelt_belt *belt, const struct hashbelt_config *config, u32 fields);

#endif /* _HASHBELT_SET_H */
