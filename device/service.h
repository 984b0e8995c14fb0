/* SPDX-License-Identifier: GPL-2.0 */
/* Locks, filling and requests. */
#ifndef _HASHBELT_SERVICE_H
#define _HASHBELT_SERVICE_H

#include "session.h"

long hb_ioctl_fill(struct hb_file *file, struct hashbelt_fill __user *arg);
long hb_ioctl_lock(struct hb_file *file, unsigned int cmd,
		   struct hashbelt_lock __user *arg);
long hb_ioctl_locks(struct hb_file *file, struct hashbelt_locks __user *arg);
long hb_ioctl_request(struct hb_file *file,
		      const struct hashbelt_request __user *arg);
long hb_ioctl_cancel(struct hb_file *file, const u64 __user *arg);
long hb_ioctl_complete(struct hb_file *file, struct hashbelt_key __user *arg);

#endif /* _HASHBELT_SERVICE_H */
