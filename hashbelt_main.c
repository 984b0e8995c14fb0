// SPDX-License-Identifier: GPL-2.0
/*
 * hashbelt - an expiring cache in the kernel.
 *
 * The module, its parameters and its device, and the ioctls on belts as a whole.
 * Those on entries are in hashbelt_item.c, reading events is in hashbelt_reader.c.
 */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "hashbelt_device.h"
#include "hashbelt_memory.h"

static ulong ttl_ms = HASHBELT_TTL_DEFAULT / NSEC_PER_MSEC;
module_param(ttl_ms, ulong, 0444);
MODULE_PARM_DESC(ttl_ms, "time-to-live of the default belt in milliseconds (300000)");

static uint buckets = HASHBELT_BUCKETS_DEFAULT;
module_param(buckets, uint, 0444);
MODULE_PARM_DESC(buckets, "buckets of the default belt (3)");

static ushort mode = 0600;
module_param(mode, ushort, 0444);
MODULE_PARM_DESC(mode, "permissions of the device node and of the default belt (0600)");

static unsigned long long max_bytes;
static unsigned long long user_max_bytes;

/* Reads a size as 512M or 2G. */
static int read_size(const char *text, unsigned long long *size)
{
	char *end;
	unsigned long long bytes = memparse(text, &end);

	if (end == text || (*end && *end != '\n') || !bytes)
		return -EINVAL;
	*size = bytes;
	return 0;
}

static int set_max_bytes(const char *text, const struct kernel_param *param)
{
	int err = read_size(text, &max_bytes);

	if (!err)
		hb_memory_limit(max_bytes);
	return err;
}

static const struct kernel_param_ops max_bytes_ops = {
	.set = set_max_bytes,
	.get = param_get_ullong,
};
module_param_cb(max_bytes, &max_bytes_ops, &max_bytes, 0644);
MODULE_PARM_DESC(max_bytes, "most memory of all belts, as 512M or 2G (a quarter of the machine's)");

static int set_user_max_bytes(const char *text, const struct kernel_param *param)
{
	int err = read_size(text, &user_max_bytes);

	if (!err)
		hb_memory_account_limit(user_max_bytes);
	return err;
}

static const struct kernel_param_ops user_max_bytes_ops = {
	.set = set_user_max_bytes,
	.get = param_get_ullong,
};
module_param_cb(user_max_bytes, &user_max_bytes_ops, &user_max_bytes, 0644);
MODULE_PARM_DESC(user_max_bytes, "most memory of the belts of one user but root (half of max_bytes)");

module_param_named(max_belts, hb_max_belts, uint, 0644);
MODULE_PARM_DESC(max_belts, "most belts in all (131072)");

module_param_named(user_max_belts, hb_user_max_belts, uint, 0644);
MODULE_PARM_DESC(user_max_belts, "most belts of one user but root (1024)");

/*
 * Whether there is anything to count: parameters can be read before the module is initialized,
 * and after it has cleaned up. Under the lock of the module's parameters.
 */
static bool counting;

static void set_counting(bool value)
{
	kernel_param_lock(THIS_MODULE);
	counting = value;
	kernel_param_unlock(THIS_MODULE);
}

static int get_used_bytes(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%llu\n", counting ? hb_memory_used() : 0);
}

static const struct kernel_param_ops used_bytes_ops = {
	.get = get_used_bytes,
};
module_param_cb(used_bytes, &used_bytes_ops, NULL, 0444);
MODULE_PARM_DESC(used_bytes, "memory of all belts now; cannot be set");

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

static long ioctl_scan(struct descriptor *descriptor, struct hashbelt_scan __user *arg)
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

static long ioctl_info(struct descriptor *descriptor, struct hashbelt_info __user *arg)
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

static long ioctl_stat(struct descriptor *descriptor, struct hashbelt_stat __user *arg)
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

static long ioctl_buckets(struct descriptor *descriptor,
			  struct hashbelt_buckets __user *arg)
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
static long ioctl_control(struct descriptor *descriptor, unsigned int cmd,
			  const u64 __user *arg)
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

static long ioctl_create(struct file *file, const struct hashbelt_settings __user *arg)
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

static long ioctl_set(struct descriptor *descriptor,
		      const struct hashbelt_settings __user *arg)
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

/* Binds a descriptor to a belt by name; @powerless: even if it may do nothing. */
static int do_open(struct file *file, const char *name, bool powerless)
{
	struct hb_listing *listing = hb_registry_open(name);
	struct binding *binding;
	u32 access;
	int err;

	if (IS_ERR(listing))
		return PTR_ERR(listing);
	err = -EACCES;
	access = hb_listing_access(listing);
	if (!access && !powerless)
		goto err_listing;
	err = -ENOMEM;
	binding = hb_binding_alloc();
	if (!binding)
		goto err_listing;
	hb_bind(file, binding, listing, access);
	return 0;

err_listing:
	hb_listing_put(listing);
	return err;
}

static long ioctl_open(struct file *file, const struct hashbelt_name __user *arg)
{
	struct hashbelt_name name;

	if (copy_from_user(&name, arg, sizeof(name)))
		return -EFAULT;
	if (name.flags || name.reserved || check_name(name.name) || !*name.name)
		return -EINVAL;
	return do_open(file, name.name, false);
}

static long ioctl_destroy(struct file *file, const struct hashbelt_name __user *arg)
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

static long ioctl_next(struct hashbelt_info __user *arg)
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

static long hashbelt_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct descriptor *descriptor = file->private_data;
	void __user *p = (void __user *)arg;

	switch (cmd) {
	case HASHBELT_IOC_ABI:
		return HASHBELT_ABI;
	case HASHBELT_IOC_GET:
		return hb_ioctl_item(descriptor, p, HASHBELT_OP_GET);
	case HASHBELT_IOC_PUT:
		return hb_ioctl_item(descriptor, p, HASHBELT_OP_PUT);
	case HASHBELT_IOC_TOUCH:
		return hb_ioctl_item(descriptor, p, HASHBELT_OP_TOUCH);
	case HASHBELT_IOC_REMOVE:
		return hb_ioctl_item(descriptor, p, HASHBELT_OP_REMOVE);
	case HASHBELT_IOC_EXPIRE:
		return hb_ioctl_item(descriptor, p, HASHBELT_OP_EXPIRE);
	case HASHBELT_IOC_ADD:
		return hb_ioctl_item(descriptor, p, HASHBELT_OP_ADD);
	case HASHBELT_IOC_FILL:
		return hb_ioctl_fill(descriptor, p);
	case HASHBELT_IOC_BATCH:
		return hb_ioctl_batch(descriptor, p);
	case HASHBELT_IOC_SCAN:
		return ioctl_scan(descriptor, p);
	case HASHBELT_IOC_INFO:
		return ioctl_info(descriptor, p);
	case HASHBELT_IOC_STAT:
		return ioctl_stat(descriptor, p);
	case HASHBELT_IOC_SET:
		return ioctl_set(descriptor, p);
	case HASHBELT_IOC_BUCKETS:
		return ioctl_buckets(descriptor, p);
	case HASHBELT_IOC_WATCH:
		return hb_ioctl_watch(descriptor, p);
	case HASHBELT_IOC_ACK:
		return hb_ioctl_ack(descriptor, p);
	case HASHBELT_IOC_REQUEST:
		return hb_ioctl_request(descriptor, p);
	case HASHBELT_IOC_CANCEL:
		return hb_ioctl_cancel(descriptor, p);
	case HASHBELT_IOC_COMPLETE:
		return hb_ioctl_complete(descriptor, p);
	case HASHBELT_IOC_LOCK:
	case HASHBELT_IOC_UNLOCK:
	case HASHBELT_IOC_RENEW:
	case HASHBELT_IOC_HOLDER:
	case HASHBELT_IOC_RELEASE:
		return hb_ioctl_lock(descriptor, cmd, p);
	case HASHBELT_IOC_LOCKS:
		return hb_ioctl_locks(descriptor, p);
	case HASHBELT_IOC_CLEAR:
	case HASHBELT_IOC_HALT:
	case HASHBELT_IOC_RESUME:
	case HASHBELT_IOC_ROTATE:
	case HASHBELT_IOC_ADVANCE:
		return ioctl_control(descriptor, cmd, p);
	case HASHBELT_IOC_CREATE:
		return ioctl_create(file, p);
	case HASHBELT_IOC_OPEN:
		return ioctl_open(file, p);
	case HASHBELT_IOC_DESTROY:
		return ioctl_destroy(file, p);
	case HASHBELT_IOC_NEXT:
		return ioctl_next(p);
	default:
		return -ENOTTY;
	}
}

static int hashbelt_open(struct inode *inode, struct file *file)
{
	struct descriptor *descriptor = kzalloc(sizeof(*descriptor), GFP_KERNEL_ACCOUNT);
	int err;

	if (!descriptor)
		return -ENOMEM;
	/* What is read has no position, and several may read at once. */
	stream_open(inode, file);
	init_waitqueue_head(&descriptor->wait);
	file->private_data = descriptor;
	err = do_open(file, HASHBELT_DEFAULT_BELT, true);
	/* Without that belt one may still bind to another. */
	if (err != -ENOMEM)
		return 0;
	kfree(descriptor);
	return err;
}

static int hashbelt_release(struct inode *inode, struct file *file)
{
	struct descriptor *descriptor = file->private_data;
	struct binding *binding = rcu_dereference_protected(descriptor->binding, true);

	if (binding)
		hb_binding_leave(binding);
	kfree(descriptor);
	return 0;
}

static const struct file_operations hashbelt_fops = {
	.owner		= THIS_MODULE,
	.open		= hashbelt_open,
	.release	= hashbelt_release,
	.read		= hb_read,
	.poll		= hb_poll,
	.unlocked_ioctl	= hashbelt_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice hashbelt_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "hashbelt",
	.fops	= &hashbelt_fops,
};

static int __init check_parameters(void)
{
	if (!ttl_ms || ttl_ms > HASHBELT_TTL_MAX_MS) {
		pr_err("hashbelt: ttl_ms=%lu is not from 1 to %llu\n", ttl_ms,
		       HASHBELT_TTL_MAX_MS);
		return -EINVAL;
	}
	if (buckets < HASHBELT_BUCKETS_MIN || buckets > HASHBELT_BUCKETS_MAX) {
		pr_err("hashbelt: buckets=%u is not from %u to %u\n", buckets,
		       HASHBELT_BUCKETS_MIN, HASHBELT_BUCKETS_MAX);
		return -EINVAL;
	}
	if (!mode || mode & ~0666) {
		pr_err("hashbelt: mode=0%o is not some of rw-rw-rw- (0666)\n", mode);
		return -EINVAL;
	}
	return 0;
}

static int __init create_default_belt(void)
{
	static const char name[HASHBELT_NAME_SIZE] __initconst = HASHBELT_DEFAULT_BELT;
	struct hb_listing *listing;

	listing = hb_registry_create(name, current_fsgid(), mode, &(struct hashbelt_config){
		.ttl = (u64)ttl_ms * NSEC_PER_MSEC,
		.buckets = buckets,
	});
	if (IS_ERR(listing)) {
		pr_err("hashbelt: cannot make the default belt: max_bytes=%llu, error %ld\n",
		       max_bytes, PTR_ERR(listing));
		return PTR_ERR(listing);
	}
	hb_listing_put(listing);	/* the registry holds it */
	return 0;
}

static int __init hashbelt_init(void)
{
	int err = check_parameters();

	if (err)
		return err;
	if (!max_bytes)
		max_bytes = (u64)totalram_pages() / 4 << PAGE_SHIFT;
	if (!user_max_bytes)
		user_max_bytes = max_bytes / 2;
	err = hb_core_init();
	if (err)
		return err;
	set_counting(true);
	hb_memory_limit(max_bytes);
	hb_memory_account_limit(user_max_bytes);
	err = create_default_belt();
	if (err)
		goto err_core;
	hashbelt_device.mode = mode;
	err = misc_register(&hashbelt_device);
	if (err)
		goto err_registry;
	return 0;

err_registry:
	hb_registry_exit();
err_core:
	set_counting(false);
	hb_core_exit();
	return err;
}

/* The kernel calls this when no descriptor is open and none can be opened. */
static void __exit hashbelt_exit(void)
{
	misc_deregister(&hashbelt_device);
	hb_registry_exit();
	set_counting(false);
	hb_core_exit();
	WARN_ON_ONCE(hb_registry_has_users());
}

module_init(hashbelt_init);
module_exit(hashbelt_exit);

MODULE_AUTHOR("the hashbelt project");
MODULE_DESCRIPTION("Expiring cache in the kernel");
MODULE_LICENSE("GPL");
