// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mappings of windows. A page comes into a mapping when it is first touched, and leaves all
 * mappings when the window is closed. A mapping has a reference to the window, but to no page: the
 * pages are freed when the window is closed, and from then on the mapping shows the page of closed
 * windows.
 *
 * A descriptor may be bound to one belt after the other. So each mapping has a file of its own,
 * whose address space is that of the window: a task that closes a window, or maps one, takes no
 * lock of another window's mappings.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/time_namespace.h>

#include "belt/ground/compat.h"
#include "belt/shard/window.h"
#include "calls.h"
#include "map.h"

/**
 * struct map - what the file of a mapping refers to
 * @window:	the window, with a reference
 * @device:	the file that was mapped, with a reference
 */
struct map {
	struct hb_window *window;
	struct file *device;
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
		.bytes = window->bytes,
		.shift_ns = timens_add_boottime_ns(0),
	};
	hb_window_put(window);
	return 0;
}

/* The mapping is gone, and so are its duplicates. */
static int map_release(struct inode *inode, struct file *filp)
{
	struct map *map = filp->private_data;
	struct hb_file *file = map->device->private_data;

	cmpxchg(&file->mapped, map->window, NULL);
	hb_window_put(map->window);
	fput(map->device);
	kfree(map);
	return 0;
}

static const struct file_operations map_file_operations = {
	.owner = THIS_MODULE,
	.release = map_release,
};

/* Part of a mapping is of no use. */
static int map_split(struct vm_area_struct *vma, unsigned long at)
{
	return -EINVAL;
}

static vm_fault_t map_fault(struct vm_fault *vmf)
{
	struct map *map = vmf->vma->vm_file->private_data;
	struct hb_window *window = map->window;
	vm_fault_t result;

	/* The task that closes the window first waits for this, and then takes the page away. */
	down_read(&window->gate);
	result = vmf_insert_pfn(vmf->vma, vmf->address, hb_window_pfn(window, vmf->pgoff));
	up_read(&window->gate);
	return result;
}

static const struct vm_operations_struct map_operations = {
	.may_split = map_split,
	.fault = map_fault,
};

/* A file for a mapping, with the reference to @window unless it returns an error. */
static struct file *map_file(struct file *device, struct hb_window *window)
{
	struct map *map = kmalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	struct file *filp;

	if (!map)
		return ERR_PTR(-ENOMEM);
	filp = anon_inode_getfile("[hashbelt]", &map_file_operations, map, O_RDONLY);
	if (IS_ERR(filp)) {
		kfree(map);
		return filp;
	}
	map->window = window;
	map->device = get_file(device);
	/* Memory management looks at the host, which is the same for all, and lasts. */
	WRITE_ONCE(window->mapping.host, file_inode(filp));
	filp->f_mapping = &window->mapping;
	return filp;
}

/* Takes over the reference to @window if it returns 0. */
static int map_window(struct file *device, struct hb_window *window, struct vm_area_struct *vma)
{
	struct hb_file *file = device->private_data;
	struct file *filp;

	if (vma->vm_pgoff || vma->vm_end - vma->vm_start != window->bytes)
		return -EINVAL;
	if (xchg(&file->mapped, window) == window)
		return -EBUSY;
	filp = map_file(device, window);
	if (IS_ERR(filp)) {
		cmpxchg(&file->mapped, window, NULL);
		return PTR_ERR(filp);
	}
	vma_set_file(vma, filp);
	fput(filp);
	vm_flags_set(vma, VM_PFNMAP | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	vm_flags_clear(vma, VM_MAYWRITE | VM_MAYEXEC);
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
	err = window ? map_window(filp, window, vma) : -ENODATA;
	if (err && window)
		hb_window_put(window);
	hb_session_put(session);
	return err;
}
