/* SPDX-License-Identifier: GPL-2.0 */
/* Reading events. */
#ifndef _HASHBELT_READER_H
#define _HASHBELT_READER_H

#include "session.h"

long hb_ioctl_watch(struct descriptor *descriptor, const u32 __user *arg);
long hb_ioctl_ack(struct descriptor *descriptor, const u64 __user *arg);
ssize_t hb_read(struct file *file, char __user *to, size_t size, loff_t *at);
__poll_t hb_poll(struct file *file, poll_table *wait);

#endif /* _HASHBELT_READER_H */
