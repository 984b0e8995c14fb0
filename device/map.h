/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_MAP_H
#define _HASHBELT_MAP_H

#include "call.h"

struct vm_area_struct;

int hb_call_window(const struct hb_call *call, void *arg);
int hb_file_mmap(struct file *filp, struct vm_area_struct *vma);

#endif /* _HASHBELT_MAP_H */
