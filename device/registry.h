/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_REGISTRY_H
#define _HASHBELT_REGISTRY_H

#include <linux/cred.h>

#include "belt/settings.h"
#include "named_belt.h"

/* Most belts in all, and of one user other than root. */
extern unsigned int hb_max_belts;
extern unsigned int hb_user_max_belts;

struct hb_named_belt *hb_registry_create(const char *name, u64 rights,
					 const struct hashbelt_config *config,
					 const struct cred *opener);
struct hb_named_belt *hb_registry_open(const char *name);
struct hb_named_belt *hb_registry_next(const char *after, const struct cred *opener, u32 *access);
struct hb_named_belt *hb_registry_remove(const char *name, const struct cred *opener);
void hb_registry_exit(void);
bool hb_registry_has_users(void);

void hb_named_belt_info(const struct hb_named_belt *named, u32 access, struct hashbelt_info *info);
void hb_named_belt_set_rights(struct hb_named_belt *named, u64 rights, u32 fields);
void hb_named_belt_put(struct hb_named_belt *named);
void hb_named_belt_put_wait(struct hb_named_belt *named);

#endif /* _HASHBELT_REGISTRY_H */
