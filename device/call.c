// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "call.h"
#include "user.h"

/* Copies a key or an owner from user space. Not inlined: several ioctls copy several of them. */
int hb_copy_bytes(void *to, u64 from, u32 size)
{
	return hb_copy_words(to, u64_to_user_ptr(from), size);
}

/*
 * Runs an ioctl that fills its caller's buffer @to of @size bytes, HASHBELT_SCAN_MAX at most. @list
 * writes records to a buffer of the kernel, and returns in @used how many bytes. Return: 0,
 * -ENOMEM, -EFAULT, or an error of @list. Context: may sleep.
 */
int hb_call_list(const struct hb_call *call, u64 to, u32 size, void *request,
		 int (*list)(struct hashbelt_belt *belt, void *request, void *buffer, u32 *used))
{
	u32 room = max_t(u32, size, 8), used;
	void *buffer;
	int err;

	/* Fails rather than invoke the OOM killer. */
	buffer = kvmalloc(room, GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (!buffer)
		return -ENOMEM;
	err = list(call->belt, request, buffer, &used);
	if (!err && copy_to_user(u64_to_user_ptr(to), buffer, used))
		err = -EFAULT;
	/* The buffer has keys. */
	if (hb_wipes(call->belt))
		kvfree_sensitive(buffer, room);
	else
		kvfree(buffer);
	return err;
}
