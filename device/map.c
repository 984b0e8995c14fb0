// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mappings of windows. A page comes into a mapping when it is first touched, and leaves all
 * mappings when the window is closed. A mapping has a reference to the window, but to no page: the
 * pages are freed when the window is closed, and from then on the mapping shows the page of closed
 * windows.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/time_namespace.h>

#include "belt/compat.h"
#include "belt/window.h"
#include "map.h"

/**
 * struct map - a mapping
 * @window:	the window, with a reference
 * @ref:	one; two while the mapping is moved
 */
struct map {
	struct hb_window *window;
	refcount_t ref;
};

/* HASHBELT_IOC_WINDOW. Context: may sleep. */
int hb_call_window(const struct hb_call *call, void *arg)
{
	struct hashbelt_window_map *map = arg;
	struct hb_window *window;

	if (map->reserved)
		return -EINVAL;
	window = hb_window_get(call->belt);
	if (!window)
		return -ENODATA;
	*map = (struct hashbelt_window_map){
		.offset = window->offset,
		.bytes = window->bytes,
		.shift_ns = timens_add_boottime_ns(0),
	};
	hb_window_put(window);
	return 0;
}

/* A mapping is being moved: there are two for a moment. */
static void map_open(struct vm_area_struct *vma)
{
	struct map *map = vma->vm_private_data;

	refcount_inc(&map->ref);
}

static void map_close(struct vm_area_struct *vma)
{
	struct hb_file *file = vma->vm_file->private_data;
	struct map *map = vma->vm_private_data;

	if (!refcount_dec_and_test(&map->ref))
		return;
	cmpxchg(&file->mapped, map->window, NULL);
	hb_window_put(map->window);
	kfree(map);
}

/* Part of a mapping is of no use. */
static int map_split(struct vm_area_struct *vma, unsigned long at)
{
	return -EINVAL;
}

static vm_fault_t map_fault(struct vm_fault *vmf)
{
	struct hb_window *window = ((struct map *)vmf->vma->vm_private_data)->window;
	pgoff_t page = vmf->pgoff - vmf->vma->vm_pgoff;
	vm_fault_t result;

	/* The task that closes the window first waits for this, and then takes the page away. */
	down_read(&window->gate);
	result = vmf_insert_pfn(vmf->vma, vmf->address, hb_window_pfn(window, page));
	up_read(&window->gate);
	return result;
}

static const struct vm_operations_struct map_operations = {
	.open = map_open,
	.close = map_close,
	.may_split = map_split,
	.fault = map_fault,
};

/* Takes over the reference to @window if it returns 0. */
static int map_window(struct hb_file *file, struct hb_window *window, struct vm_area_struct *vma)
{
	struct map *map;

	if (vma->vm_pgoff != window->offset >> PAGE_SHIFT ||
	    vma->vm_end - vma->vm_start != window->bytes)
		return -EINVAL;
	if (xchg(&file->mapped, window) == window)
		return -EBUSY;
	map = kmalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map) {
		cmpxchg(&file->mapped, window, NULL);
		return -ENOMEM;
	}
	map->window = window;
	refcount_set(&map->ref, 1);
	vm_flags_set(vma, VM_PFNMAP | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	vm_flags_clear(vma, VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_private_data = map;
	vma->vm_ops = &map_operations;
	return 0;
}

/* Maps the window of the belt to which the descriptor is bound. See struct hashbelt_window_map. */
int hb_file_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct hb_session *session;
	struct hb_window *window;
	int err;

	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	session = hb_session_get(filp->private_data, HASHBELT_MAY_READ);
	if (IS_ERR(session))
		return PTR_ERR(session);
	window = hb_window_get(session->named->belt);
	err = window ? map_window(filp->private_data, window, vma) : -ENODATA;
	if (err && window)
		hb_window_put(window);
	hb_session_put(session);
	return err;
}
