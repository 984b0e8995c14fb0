/* SPDX-License-Identifier: GPL-2.0 */
/* Locks, filling and requests. */
#ifndef _HASHBELT_SERVICE_H
#define _HASHBELT_SERVICE_H

#include "session.h"

long hb_ioctl_fill(struct descriptor *descriptor, struct hashbelt_fill __user *arg);
long hb_ioctl_lock(struct descriptor *descriptor, unsigned int cmd,
		   struct hashbelt_lock __user *arg);
long hb_ioctl_locks(struct descriptor *descriptor, struct hashbelt_locks __user *arg);
long hb_ioctl_request(struct descriptor *descriptor,
		      const struct hashbelt_request __user *arg);
long hb_ioctl_cancel(struct descriptor *descriptor, const u64 __user *arg);
long hb_ioctl_complete(struct descriptor *descriptor, struct hashbelt_key __user *arg);

#endif /* _HASHBELT_SERVICE_H */
