/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_READER_H
#define _HASHBELT_READER_H

#include <linux/poll.h>

struct iov_iter;
struct kiocb;

ssize_t hb_file_read_iter(struct kiocb *call, struct iov_iter *to);
__poll_t hb_file_poll(struct file *filp, poll_table *wait);

#endif /* _HASHBELT_READER_H */
