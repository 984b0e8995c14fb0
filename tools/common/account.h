/* SPDX-License-Identifier: GPL-2.0-only */
/* Users and groups by their names. */
#ifndef COMMON_ACCOUNT_H
#define COMMON_ACCOUNT_H

#include <linux/types.h>

int account_user(const char *name, __u32 *uid);
int account_group(const char *name, __u32 *gid);

#endif /* COMMON_ACCOUNT_H */
