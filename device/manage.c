// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls on belts as a whole: making, opening and destroying one, its settings, and
 * looking at it.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "buffer.h"
#include "hashbelt_core.h"
#include "manage.h"
#include "registry.h"

static long do_scan(struct hashbelt_belt *belt, struct hashbelt_scan *scan)
{
	u32 room = max_t(u32, scan->size, 8), used;
	void *buffer = kvmalloc(room, HB_BUFFER_GFP);
	int err;

	if (!buffer)
		return -ENOMEM;
	err = hashbelt_scan(belt, scan, buffer, &used);
	if (!err && copy_to_user(u64_to_user_ptr(scan->buffer), buffer, used))
		err = -EFAULT;
	hb_buffer_free(belt, buffer, room);
	return err;
}

long hb_ioctl_scan(struct descriptor *descriptor, struct hashbelt_scan __user *arg)
{
	struct hashbelt_scan scan;
	struct binding *binding;
	long err;

	if (copy_from_user(&scan, arg, sizeof(scan)))
		return -EFAULT;
	if (scan.reserved)
		return -EINVAL;
	if (scan.size > HASHBELT_SCAN_MAX)
		return -E2BIG;
	binding = hb_binding_get(descriptor, HASHBELT_MAY_READ);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	err = do_scan(binding->listing->belt, &scan);
	hb_binding_put(binding);
	if ((!err || err == -ERANGE) && copy_to_user(arg, &scan, sizeof(scan)))
		return -EFAULT;
	return err;
}

long hb_ioctl_info(struct descriptor *descriptor, struct hashbelt_info __user *arg)
{
	struct hashbelt_info info;
	struct binding *binding;

	if (copy_from_user(&info, arg, sizeof(info)))
		return -EFAULT;
	if (memchr_inv(info.reserved, 0, sizeof(info.reserved)))
		return -EINVAL;
	binding = hb_binding_get(descriptor, HASHBELT_MAY_READ);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	hb_listing_info(binding->listing, &info);
	info.access = binding->access;
	hb_binding_put(binding);
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

long hb_ioctl_stat(struct descriptor *descriptor, struct hashbelt_stat __user *arg)
{
	u64 counters[HASHBELT_STAT_COUNT], lags[HASHBELT_LAGS];
	struct hashbelt_stat stat;
	struct binding *binding;

	if (copy_from_user(&stat, arg, sizeof(stat)))
		return -EFAULT;
	binding = hb_binding_get(descriptor, HASHBELT_MAY_READ);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	hashbelt_stat(binding->listing->belt, counters, lags);
	hb_binding_put(binding);
	if (copy_to_user(u64_to_user_ptr(stat.counters), counters,
			 min_t(size_t, stat.count, HASHBELT_STAT_COUNT) * sizeof(u64)) ||
	    copy_to_user(u64_to_user_ptr(stat.lags), lags,
			 min_t(size_t, stat.lag_count, HASHBELT_LAGS) * sizeof(u64)))
		return -EFAULT;
	stat.count = HASHBELT_STAT_COUNT;
	stat.lag_count = HASHBELT_LAGS;
	return copy_to_user(arg, &stat, sizeof(stat)) ? -EFAULT : 0;
}

long hb_ioctl_buckets(struct descriptor *descriptor, struct hashbelt_buckets __user *arg)
{
	struct hashbelt_buckets buckets;
	struct binding *binding;
	u64 *counts;
	long err;

	if (copy_from_user(&buckets, arg, sizeof(buckets)))
		return -EFAULT;
	if (!buckets.count || buckets.reserved)
		return -EINVAL;
	if (buckets.count > HASHBELT_BUCKETS_MAX)
		return -E2BIG;
	binding = hb_binding_get(descriptor, HASHBELT_MAY_READ);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	err = -ENOMEM;
	counts = kvcalloc(buckets.count, sizeof(*counts), HB_BUFFER_GFP);
	if (counts)
		err = hashbelt_buckets(binding->listing->belt, &buckets.cursor, counts,
				       buckets.count);
	hb_binding_put(binding);
	if (!err && (copy_to_user(u64_to_user_ptr(buckets.counts), counts,
				  buckets.count * sizeof(*counts)) ||
		     copy_to_user(arg, &buckets, sizeof(buckets))))
		err = -EFAULT;
	kvfree(counts);
	return err;
}

/* clear, halt, resume, rotate, advance */
long hb_ioctl_control(struct descriptor *descriptor, unsigned int cmd, const u64 __user *arg)
{
	u32 needs = cmd == HASHBELT_IOC_CLEAR ? HASHBELT_MAY_WRITE : HASHBELT_MAY_OWN;
	struct hashbelt_belt *belt;
	struct binding *binding;
	u64 ms = 0;
	int err = 0;

	if (cmd == HASHBELT_IOC_ADVANCE && copy_from_user(&ms, arg, sizeof(ms)))
		return -EFAULT;
	if (ms > HASHBELT_TTL_MAX_MS)
		return -EINVAL;
	binding = hb_binding_get(descriptor, needs);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	belt = binding->listing->belt;
	if (cmd == HASHBELT_IOC_CLEAR)
		hashbelt_clear(belt);
	else if (cmd == HASHBELT_IOC_HALT)
		hashbelt_halt(belt);
	else if (cmd == HASHBELT_IOC_RESUME)
		hashbelt_resume(belt);
	else if (cmd == HASHBELT_IOC_ROTATE)
		err = hashbelt_rotate(belt);
	else
		err = hashbelt_advance(belt, ms * NSEC_PER_MSEC);
	hb_binding_put(binding);
	return err;
}

/* A name has no control characters and no '/', and zeros behind its end. */
static int check_name(const char *name)
{
	size_t len = strnlen(name, HASHBELT_NAME_SIZE), i;

	if (len == HASHBELT_NAME_SIZE ||
	    memchr_inv(name + len, 0, HASHBELT_NAME_SIZE - len))
		return -EINVAL;
	for (i = 0; i < len; i++)
		if ((u8)name[i] < ' ' || name[i] == 0x7f || name[i] == '/')
			return -EINVAL;
	return 0;
}

/* Whether settings are sound, those of @fields, but for what the belt checks itself. */
static int check_settings(const struct hashbelt_settings *settings, u32 fields)
{
	if ((fields & HASHBELT_SET_MODE && settings->mode & ~0666) ||
	    (fields & HASHBELT_SET_TTL && settings->ttl_ms > HASHBELT_TTL_MAX_MS) ||
	    (fields & HASHBELT_SET_GRACE && settings->grace_ms > HASHBELT_TTL_MAX_MS) ||
	    settings->reserved32 ||
	    memchr_inv(settings->reserved, 0, sizeof(settings->reserved)))
		return -EINVAL;
	return 0;
}

static struct hashbelt_config config_of(const struct hashbelt_settings *settings)
{
	return (struct hashbelt_config){
		.ttl = settings->ttl_ms * NSEC_PER_MSEC,
		.buckets = settings->buckets,
		.policy = settings->policy,
		.handler = settings->handler,
		.reasons = settings->reasons,
		.max_entries = settings->max_entries,
		.max_bytes = settings->max_bytes,
		.max_events = settings->max_events,
		.grace = settings->grace_ms * NSEC_PER_MSEC,
	};
}

static long do_create(struct file *file, const struct hashbelt_settings *settings)
{
	struct hashbelt_config config = config_of(settings);
	kgid_t gid = current_fsgid();
	struct hb_listing *listing;
	struct binding *binding;
	int err = 0;

	if (settings->fields & HASHBELT_SET_GID)
		err = hb_group(settings->gid, &gid);
	if (err)
		return err;
	binding = hb_binding_alloc();
	if (!binding)
		return -ENOMEM;
	listing = hb_registry_create(settings->name, gid, settings->mode, &config);
	if (IS_ERR(listing)) {
		kfree(binding);
		return PTR_ERR(listing);
	}
	/* Who has made a belt may use it, as with files, whatever its mode. */
	hb_bind(file, binding, listing,
		HASHBELT_MAY_READ | HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN);
	return 0;
}

long hb_ioctl_create(struct file *file, const struct hashbelt_settings __user *arg)
{
	struct hashbelt_settings settings;

	if (copy_from_user(&settings, arg, sizeof(settings)))
		return -EFAULT;
	if (check_settings(&settings, HASHBELT_SET_ALL) || check_name(settings.name) ||
	    settings.fields & ~HASHBELT_SET_GID)
		return -EINVAL;
	if (!(file->f_mode & FMODE_WRITE))
		return -EPERM;
	return do_create(file, &settings);
}

static int do_set(struct hb_listing *listing, const struct hashbelt_settings *settings)
{
	struct hashbelt_config config = config_of(settings);
	u32 fields = settings->fields;
	umode_t mode = settings->mode;
	kgid_t gid;
	int err = 0;

	if (fields & HASHBELT_SET_GID)
		err = hb_group(settings->gid, &gid);
	if (!err)
		err = hashbelt_set(listing->belt, &config, fields);
	if (err)
		return err;
	hb_listing_set_rights(listing, fields & HASHBELT_SET_GID ? &gid : NULL,
			      fields & HASHBELT_SET_MODE ? &mode : NULL);
	return 0;
}

long hb_ioctl_set(struct descriptor *descriptor, const struct hashbelt_settings __user *arg)
{
	struct hashbelt_settings settings;
	struct binding *binding;
	int err;

	if (copy_from_user(&settings, arg, sizeof(settings)))
		return -EFAULT;
	if (check_settings(&settings, settings.fields) || !settings.fields ||
	    settings.fields & ~HASHBELT_SET_ALL ||
	    memchr_inv(settings.name, 0, sizeof(settings.name)))
		return -EINVAL;
	binding = hb_binding_get(descriptor, HASHBELT_MAY_OWN);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	err = do_set(binding->listing, &settings);
	hb_binding_put(binding);
	return err;
}

long hb_ioctl_open(struct file *file, const struct hashbelt_name __user *arg)
{
	struct hashbelt_name name;

	if (copy_from_user(&name, arg, sizeof(name)))
		return -EFAULT;
	if (name.flags || name.reserved || check_name(name.name) || !*name.name)
		return -EINVAL;
	return hb_bind_name(file, name.name, false);
}

long hb_ioctl_destroy(struct file *file, const struct hashbelt_name __user *arg)
{
	struct hashbelt_name name;

	if (copy_from_user(&name, arg, sizeof(name)))
		return -EFAULT;
	if (name.flags || name.reserved || check_name(name.name) || !*name.name)
		return -EINVAL;
	if (!(file->f_mode & FMODE_WRITE))
		return -EPERM;
	return hb_registry_destroy(name.name);
}

long hb_ioctl_next(struct hashbelt_info __user *arg)
{
	struct hb_listing *listing;
	struct hashbelt_info info;

	if (copy_from_user(&info, arg, sizeof(info)))
		return -EFAULT;
	if (check_name(info.name) || memchr_inv(info.reserved, 0, sizeof(info.reserved)))
		return -EINVAL;
	listing = hb_registry_next(info.name);
	if (IS_ERR(listing))
		return PTR_ERR(listing);
	hb_listing_info(listing, &info);
	hb_listing_put(listing);
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}
