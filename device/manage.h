/* SPDX-License-Identifier: GPL-2.0 */
/* Belts as a whole. */
#ifndef _HASHBELT_MANAGE_H
#define _HASHBELT_MANAGE_H

#include "session.h"

long hb_ioctl_scan(struct descriptor *descriptor, struct hashbelt_scan __user *arg);
long hb_ioctl_info(struct descriptor *descriptor, struct hashbelt_info __user *arg);
long hb_ioctl_stat(struct descriptor *descriptor, struct hashbelt_stat __user *arg);
long hb_ioctl_buckets(struct descriptor *descriptor, struct hashbelt_buckets __user *arg);
long hb_ioctl_control(struct descriptor *descriptor, unsigned int cmd, const u64 __user *arg);
long hb_ioctl_create(struct file *file, const struct hashbelt_settings __user *arg);
long hb_ioctl_set(struct descriptor *descriptor, const struct hashbelt_settings __user *arg);
long hb_ioctl_open(struct file *file, const struct hashbelt_name __user *arg);
long hb_ioctl_destroy(struct file *file, const struct hashbelt_name __user *arg);
long hb_ioctl_next(struct hashbelt_info __user *arg);

#endif /* _HASHBELT_MANAGE_H */
