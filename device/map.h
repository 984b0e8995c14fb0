/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_MAP_H
#define _HASHBELT_MAP_H

struct file;
struct vm_area_struct;

int hb_file_mmap(struct file *filp, struct vm_area_struct *vma);

#endif /* _HASHBELT_MAP_H */
