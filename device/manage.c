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

long hb_ioctl_scan(struct hb_file *file, struct hashbelt_scan __user *arg)
{
	struct hashbelt_scan scan;
	struct hb_session *session;
	long err;

	if (copy_from_user(&scan, arg, sizeof(scan)))
		return -EFAULT;
	if (scan.reserved)
		return -EINVAL;
	if (scan.size > HASHBELT_SCAN_MAX)
		return -E2BIG;
	session = hb_session_get(file, HASHBELT_MAY_READ);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = do_scan(session->named->belt, &scan);
	hb_session_put(session);
	if ((!err || err == -ERANGE) && copy_to_user(arg, &scan, sizeof(scan)))
		return -EFAULT;
	return err;
}

long hb_ioctl_info(struct hb_file *file, struct hashbelt_info __user *arg)
{
	struct hashbelt_info info;
	struct hb_session *session;

	if (copy_from_user(&info, arg, sizeof(info)))
		return -EFAULT;
	if (memchr_inv(info.reserved, 0, sizeof(info.reserved)))
		return -EINVAL;
	session = hb_session_get(file, HASHBELT_MAY_READ);
	if (IS_ERR(session))
		return PTR_ERR(session);
	hb_named_belt_info(session->named, &info);
	info.access = session->access;
	hb_session_put(session);
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

long hb_ioctl_stat(struct hb_file *file, struct hashbelt_stat __user *arg)
{
	u64 counters[HASHBELT_STAT_COUNT], lags[HASHBELT_LAGS];
	struct hashbelt_stat stat;
	struct hb_session *session;

	if (copy_from_user(&stat, arg, sizeof(stat)))
		return -EFAULT;
	session = hb_session_get(file, HASHBELT_MAY_READ);
	if (IS_ERR(session))
		return PTR_ERR(session);
	hashbelt_stat(session->named->belt, counters, lags);
	hb_session_put(session);
	if (copy_to_user(u64_to_user_ptr(stat.counters), counters,
			 min_t(size_t, stat.count, HASHBELT_STAT_COUNT) * sizeof(u64)) ||
	    copy_to_user(u64_to_user_ptr(stat.lags), lags,
			 min_t(size_t, stat.lag_count, HASHBELT_LAGS) * sizeof(u64)))
		return -EFAULT;
	stat.count = HASHBELT_STAT_COUNT;
	stat.lag_count = HASHBELT_LAGS;
	return copy_to_user(arg, &stat, sizeof(stat)) ? -EFAULT : 0;
}

long hb_ioctl_buckets(struct hb_file *file, struct hashbelt_buckets __user *arg)
{
	struct hashbelt_buckets buckets;
	struct hb_session *session;
	u64 *counts;
	long err;

	if (copy_from_user(&buckets, arg, sizeof(buckets)))
		return -EFAULT;
	if (!buckets.count || buckets.reserved)
		return -EINVAL;
	if (buckets.count > HASHBELT_BUCKETS_MAX)
		return -E2BIG;
	session = hb_session_get(file, HASHBELT_MAY_READ);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = -ENOMEM;
	counts = kvcalloc(buckets.count, sizeof(*counts), HB_BUFFER_GFP);
	if (counts)
		err = hashbelt_buckets(session->named->belt, &buckets.cursor, counts,
				       buckets.count);
	hb_session_put(session);
	if (!err && (copy_to_user(u64_to_user_ptr(buckets.counts), counts,
				  buckets.count * sizeof(*counts)) ||
		     copy_to_user(arg, &buckets, sizeof(buckets))))
		err = -EFAULT;
	kvfree(counts);
	return err;
}

/* clear, halt, resume, rotate, advance */
long hb_ioctl_control(struct hb_file *file, unsigned int cmd, const u64 __user *arg)
{
	u32 needs = cmd == HASHBELT_IOC_CLEAR ? HASHBELT_MAY_WRITE : HASHBELT_MAY_OWN;
	struct hashbelt_belt *belt;
	struct hb_session *session;
	u64 ms = 0;
	int err = 0;

	if (cmd == HASHBELT_IOC_ADVANCE && copy_from_user(&ms, arg, sizeof(ms)))
		return -EFAULT;
	if (ms > HASHBELT_TTL_MAX_MS)
		return -EINVAL;
	session = hb_session_get(file, needs);
	if (IS_ERR(session))
		return PTR_ERR(session);
	belt = session->named->belt;
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
	hb_session_put(session);
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

static long do_create(struct file *filp, const struct hashbelt_settings *settings)
{
	struct hashbelt_config config = config_of(settings);
	kgid_t gid = current_fsgid();
	struct hb_named_belt *named;
	struct hb_session *session;
	int err = 0;

	if (settings->fields & HASHBELT_SET_GID)
		err = hb_group(settings->gid, &gid);
	if (err)
		return err;
	session = hb_session_alloc();
	if (!session)
		return -ENOMEM;
	named = hb_registry_create(settings->name, gid, settings->mode, &config);
	if (IS_ERR(named)) {
		kfree(session);
		return PTR_ERR(named);
	}
	/* Who has made a belt may use it, as with files, whatever its mode. */
	hb_file_bind(filp, session, named,
		     HASHBELT_MAY_READ | HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN);
	return 0;
}

long hb_ioctl_create(struct file *filp, const struct hashbelt_settings __user *arg)
{
	struct hashbelt_settings settings;

	if (copy_from_user(&settings, arg, sizeof(settings)))
		return -EFAULT;
	if (check_settings(&settings, HASHBELT_SET_ALL) || check_name(settings.name) ||
	    settings.fields & ~HASHBELT_SET_GID)
		return -EINVAL;
	if (!(filp->f_mode & FMODE_WRITE))
		return -EPERM;
	return do_create(filp, &settings);
}

static int do_set(struct hb_named_belt *named, const struct hashbelt_settings *settings)
{
	struct hashbelt_config config = config_of(settings);
	u32 fields = settings->fields;
	umode_t mode = settings->mode;
	kgid_t gid;
	int err = 0;

	if (fields & HASHBELT_SET_GID)
		err = hb_group(settings->gid, &gid);
	if (!err)
		err = hashbelt_set(named->belt, &config, fields);
	if (err)
		return err;
	hb_named_belt_set_rights(named, fields & HASHBELT_SET_GID ? &gid : NULL,
				 fields & HASHBELT_SET_MODE ? &mode : NULL);
	return 0;
}

long hb_ioctl_set(struct hb_file *file, const struct hashbelt_settings __user *arg)
{
	struct hashbelt_settings settings;
	struct hb_session *session;
	int err;

	if (copy_from_user(&settings, arg, sizeof(settings)))
		return -EFAULT;
	if (check_settings(&settings, settings.fields) || !settings.fields ||
	    settings.fields & ~HASHBELT_SET_ALL ||
	    memchr_inv(settings.name, 0, sizeof(settings.name)))
		return -EINVAL;
	session = hb_session_get(file, HASHBELT_MAY_OWN);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = do_set(session->named, &settings);
	hb_session_put(session);
	return err;
}

long hb_ioctl_open(struct file *filp, const struct hashbelt_name __user *arg)
{
	struct hashbelt_name name;

	if (copy_from_user(&name, arg, sizeof(name)))
		return -EFAULT;
	if (name.flags || name.reserved || check_name(name.name) || !*name.name)
		return -EINVAL;
	return hb_file_bind_name(filp, name.name, false);
}

long hb_ioctl_destroy(struct file *filp, const struct hashbelt_name __user *arg)
{
	struct hashbelt_name name;

	if (copy_from_user(&name, arg, sizeof(name)))
		return -EFAULT;
	if (name.flags || name.reserved || check_name(name.name) || !*name.name)
		return -EINVAL;
	if (!(filp->f_mode & FMODE_WRITE))
		return -EPERM;
	return hb_registry_destroy(name.name);
}

long hb_ioctl_next(struct hashbelt_info __user *arg)
{
	struct hb_named_belt *named;
	struct hashbelt_info info;

	if (copy_from_user(&info, arg, sizeof(info)))
		return -EFAULT;
	if (check_name(info.name) || memchr_inv(info.reserved, 0, sizeof(info.reserved)))
		return -EINVAL;
	named = hb_registry_next(info.name);
	if (IS_ERR(named))
		return PTR_ERR(named);
	hb_named_belt_info(named, &info);
	hb_named_belt_put(named);
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}
