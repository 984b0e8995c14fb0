// SPDX-License-Identifier: GPL-2.0
/*
 * hashbelt - an expiring cache in the kernel.
 *
 * The module, its parameters, its device, and the table of its ioctls.
 */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>

#include "belt/memory.h"
#include "device/item.h"
#include "device/manage.h"
#include "device/reader.h"
#include "device/registry.h"
#include "device/service.h"
#include "device/session.h"
#include "hashbelt_core.h"

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

static long hashbelt_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct hb_file *file = filp->private_data;
	void __user *p = (void __user *)arg;

	switch (cmd) {
	case HASHBELT_IOC_ABI:
		return HASHBELT_ABI;
	case HASHBELT_IOC_GET:
		return hb_ioctl_item(file, p, HASHBELT_OP_GET);
	case HASHBELT_IOC_PUT:
		return hb_ioctl_item(file, p, HASHBELT_OP_PUT);
	case HASHBELT_IOC_TOUCH:
		return hb_ioctl_item(file, p, HASHBELT_OP_TOUCH);
	case HASHBELT_IOC_REMOVE:
		return hb_ioctl_item(file, p, HASHBELT_OP_REMOVE);
	case HASHBELT_IOC_EXPIRE:
		return hb_ioctl_item(file, p, HASHBELT_OP_EXPIRE);
	case HASHBELT_IOC_ADD:
		return hb_ioctl_item(file, p, HASHBELT_OP_ADD);
	case HASHBELT_IOC_FILL:
		return hb_ioctl_fill(file, p);
	case HASHBELT_IOC_BATCH:
		return hb_ioctl_batch(file, p);
	case HASHBELT_IOC_SCAN:
		return hb_ioctl_scan(file, p);
	case HASHBELT_IOC_INFO:
		return hb_ioctl_info(file, p);
	case HASHBELT_IOC_STAT:
		return hb_ioctl_stat(file, p);
	case HASHBELT_IOC_SET:
		return hb_ioctl_set(file, p);
	case HASHBELT_IOC_BUCKETS:
		return hb_ioctl_buckets(file, p);
	case HASHBELT_IOC_WATCH:
		return hb_ioctl_watch(file, p);
	case HASHBELT_IOC_ACK:
		return hb_ioctl_ack(file, p);
	case HASHBELT_IOC_REQUEST:
		return hb_ioctl_request(file, p);
	case HASHBELT_IOC_CANCEL:
		return hb_ioctl_cancel(file, p);
	case HASHBELT_IOC_COMPLETE:
		return hb_ioctl_complete(file, p);
	case HASHBELT_IOC_LOCK:
	case HASHBELT_IOC_UNLOCK:
	case HASHBELT_IOC_RENEW:
	case HASHBELT_IOC_HOLDER:
	case HASHBELT_IOC_RELEASE:
		return hb_ioctl_lock(file, cmd, p);
	case HASHBELT_IOC_LOCKS:
		return hb_ioctl_locks(file, p);
	case HASHBELT_IOC_CLEAR:
	case HASHBELT_IOC_HALT:
	case HASHBELT_IOC_RESUME:
	case HASHBELT_IOC_ROTATE:
	case HASHBELT_IOC_ADVANCE:
		return hb_ioctl_control(file, cmd, p);
	case HASHBELT_IOC_CREATE:
		return hb_ioctl_create(filp, p);
	case HASHBELT_IOC_OPEN:
		return hb_ioctl_open(filp, p);
	case HASHBELT_IOC_DESTROY:
		return hb_ioctl_destroy(filp, p);
	case HASHBELT_IOC_NEXT:
		return hb_ioctl_next(p);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations hashbelt_fops = {
	.owner		= THIS_MODULE,
	.open		= hb_file_open,
	.release	= hb_file_release,
	.read		= hb_file_read,
	.poll		= hb_file_poll,
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
	struct hb_named_belt *named;

	named = hb_registry_create(name, current_fsgid(), mode, &(struct hashbelt_config){
		.ttl = (u64)ttl_ms * NSEC_PER_MSEC,
		.buckets = buckets,
	});
	if (IS_ERR(named)) {
		pr_err("hashbelt: cannot make the default belt: max_bytes=%llu, error %ld\n",
		       max_bytes, PTR_ERR(named));
		return PTR_ERR(named);
	}
	hb_named_belt_put(named);	/* the registry holds it */
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
