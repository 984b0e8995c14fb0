/* SPDX-License-Identifier: GPL-2.0 */
/* Belts as a whole. */
#ifndef _HASHBELT_MANAGE_H
#define _HASHBELT_MANAGE_H

#include "session.h"

long hb_ioctl_scan(struct hb_file *file, struct hashbelt_scan __user *arg);
long hb_ioctl_info(struct hb_file *file, struct hashbelt_info __user *arg);
long hb_ioctl_stat(struct hb_file *file, struct hashbelt_stat __user *arg);
long hb_ioctl_buckets(struct hb_file *file, struct hashbelt_buckets __user *arg);
long hb_ioctl_control(struct hb_file *file, unsigned int cmd, const u64 __user *arg);
long hb_ioctl_create(struct file *filp, const struct hashbelt_settings __user *arg);
long hb_ioctl_set(struct hb_file *file, const struct hashbelt_settings __user *arg);
long hb_ioctl_open(struct file *filp, const struct hashbelt_name __user *arg);
long hb_ioctl_destroy(struct file *filp, const struct hashbelt_name __user *arg);
long hb_ioctl_next(struct hashbelt_info __user *arg);

#endif /* _HASHBELT_MANAGE_H */
