/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_CALL_H
#define _HASHBELT_CALL_H

#include <linux/uaccess.h>

#include "session.h"

/**
 * struct hb_call - an ioctl
 * @filp:	the file
 * @session:	of the file, with a reference and the rights that the ioctl needs; NULL for an ioctl
 *		that needs no belt
 * @belt:	the belt of @session
 * @user:	the argument in user space
 * @cmd:	HASHBELT_IOC_*
 */
struct hb_call {
	struct file *filp;
	struct hb_session *session;
	struct hashbelt_belt *belt;
	void __user *user;
	unsigned int cmd;
};

int hb_copy_bytes(void *to, u64 from, u32 size);
int hb_call_list(const struct hb_call *call, u64 to, u32 size, void *request,
		 int (*list)(struct hashbelt_belt *belt, void *request, void *buffer, u32 *used));

#endif /* _HASHBELT_CALL_H */
