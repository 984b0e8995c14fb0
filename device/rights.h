/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_RIGHTS_H
#define _HASHBELT_RIGHTS_H

#include <linux/types.h>
#include <linux/uidgid.h>

struct cred;
struct hashbelt_info;
struct hb_named_belt;

bool hb_are_capable(int capability, const struct cred *opener);

u64 hb_rights(kgid_t gid, umode_t mode, u32 consumers);
int hb_group(u32 number, const struct cred *opener, kgid_t *gid);
u32 hb_named_belt_access(const struct hb_named_belt *named, const struct cred *opener);
bool hb_named_belt_may_pin(const struct hb_named_belt *named, const struct cred *opener);
bool hb_named_belt_is_of(const struct hb_named_belt *named, kuid_t owner);
void hb_info_rights(const struct hb_named_belt *named, struct hashbelt_info *info);
u64 hb_rights_with(u64 rights, u64 other, u32 fields);

#endif /* _HASHBELT_RIGHTS_H */
