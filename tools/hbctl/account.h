/* SPDX-License-Identifier: GPL-2.0-only */
/* Users and groups by their names. */
#ifndef HBCTL_ACCOUNT_H
#define HBCTL_ACCOUNT_H

#include <linux/types.h>

int account_user(const char *name, __u32 *uid);
int account_group(const char *name, __u32 *gid);

#endif /* HBCTL_ACCOUNT_H */
