/* SPDX-License-Identifier: GPL-2.0 */
/* Reading events. */
#ifndef _HASHBELT_READER_H
#define _HASHBELT_READER_H

#include "session.h"

long hb_ioctl_watch(struct hb_file *file, const u32 __user *arg);
long hb_ioctl_ack(struct hb_file *file, const u64 __user *arg);
ssize_t hb_file_read(struct file *filp, char __user *to, size_t size, loff_t *at);
__poll_t hb_file_poll(struct file *filp, poll_table *wait);

#endif /* _HASHBELT_READER_H */
