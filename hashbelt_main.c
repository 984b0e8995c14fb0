// SPDX-License-Identifier: GPL-2.0-only
/*
 * hashbelt - an expiring cache in the kernel: the module, its parameters, its device, and the table
 * of its ioctls.
 */
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/ctype.h>
#include <linux/fs.h>
#include <linux/math64.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/string.h>

#include "belt/ground/compat.h"
#include "belt/belts/create.h"
#include "belt/ground/memory.h"
#include "device/calls.h"
#include "device/item.h"
#include "device/map.h"
#include "device/reader.h"
#include "device/registry.h"
#include "device/rights.h"
#include "device/user.h"
#include "hashbelt_version.h"

static ulong ttl_ms = HASHBELT_TTL_DEFAULT / NSEC_PER_MSEC;
module_param(ttl_ms, ulong, 0444);
MODULE_PARM_DESC(ttl_ms, "time-to-live of the default belt in milliseconds (300000)");

static uint buckets = HASHBELT_BUCKETS_DEFAULT;
module_param(buckets, uint, 0444);
MODULE_PARM_DESC(buckets, "buckets of the default belt (3)");

static u16 mode = 0600;

/* In octal, with or without a leading 0, as for chmod. */
static int set_mode(const char *text, const struct kernel_param *param)
{
	return kstrtou16(text, 8, param->arg);
}

static int get_mode(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%#o\n", *(u16 *)param->arg);
}

static const struct kernel_param_ops mode_ops = {
	.set = set_mode,
	.get = get_mode,
};
module_param_cb(mode, &mode_ops, &mode, 0444);
MODULE_PARM_DESC(mode, "permissions of the device node and of the default belt, octal (0600)");

static unsigned long long max_bytes;
static unsigned long long user_max_bytes;
static uint user_max_pinned = 50;

static void set_limits(void)
{
	hb_memory_limit(max_bytes);
	hb_memory_account_limit(user_max_bytes);
	hb_memory_part_limit(mul_u64_u32_div(user_max_bytes, user_max_pinned, 100));
}

/*
 * Reads a size such as 512M or 2G, from 1 to S64_MAX. memparse() takes what follows the size, and
 * numbers that overflow.
 */
static int parse_size(const char *text, unsigned long long *bytes)
{
	static const char units[] = "KMGTPE";
	size_t len = strcspn(text, "\n");
	unsigned int shift = 0;
	char number[32];
	const char *unit;
	int err;

	if (!len || len >= sizeof(number) || (text[len] && text[len + 1]))
		return -EINVAL;
	memcpy(number, text, len);
	number[len] = 0;
	/* In a hexadecimal number E is a digit. */
	unit = tolower(number[1]) == 'x' ? NULL : strchr(units, toupper(number[len - 1]));
	if (unit) {
		shift = 10 * (unit - units + 1);
		number[len - 1] = 0;
	}
	err = kstrtoull(number, 0, bytes);
	if (err)
		return err;
	if (!*bytes || *bytes > S64_MAX >> shift)
		return -ERANGE;
	*bytes <<= shift;
	return 0;
}

static int set_limit(const char *text, const struct kernel_param *param)
{
	unsigned long long bytes;
	int err = parse_size(text, &bytes);

	if (err)
		return err;
	*(unsigned long long *)param->arg = bytes;
	set_limits();
	return 0;
}

/* A percentage. */
static int set_share(const char *text, const struct kernel_param *param)
{
	int err = param_set_uint_minmax(text, param, 0, 100);

	if (!err)
		set_limits();
	return err;
}

static const struct kernel_param_ops limit_ops = {
	.set = set_limit,
	.get = param_get_ullong,
};
module_param_cb(max_bytes, &limit_ops, &max_bytes, 0644);
MODULE_PARM_DESC(max_bytes, "most memory of all belts, as 512M or 2G (a quarter of the machine's)");
module_param_cb(user_max_bytes, &limit_ops, &user_max_bytes, 0644);
MODULE_PARM_DESC(user_max_bytes, "most memory of the belts of one user but root (half of max_bytes)");

static const struct kernel_param_ops share_ops = {
	.set = set_share,
	.get = param_get_uint,
};
module_param_cb(user_max_pinned, &share_ops, &user_max_pinned, 0644);
MODULE_PARM_DESC(user_max_pinned, "percent of user_max_bytes for pinned belts (50)");

module_param_named(max_belts, hb_max_belts, uint, 0644);
MODULE_PARM_DESC(max_belts, "most belts in all (131072)");

module_param_named(user_max_belts, hb_user_max_belts, uint, 0644);
MODULE_PARM_DESC(user_max_belts, "most belts of one user but root (1024)");

/*
 * True between hb_core_init() and hb_core_exit(): used_bytes can be read outside of that. Under the
 * lock of the module's parameters.
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

/* The kernel calls this when the module is loaded with a value. */
static int refuse(const char *text, const struct kernel_param *param)
{
	return -EINVAL;
}

static const struct kernel_param_ops used_bytes_ops = {
	.set = refuse,
	.get = get_used_bytes,
};
module_param_cb(used_bytes, &used_bytes_ops, NULL, 0400);
MODULE_PARM_DESC(used_bytes, "memory of all belts now; cannot be set");

/* 1: the device lets nobody in. Under the lock of the module's parameters. */
static uint closed;

/*
 * Takes the right to remove the module, which a root without capabilities does not have, although
 * the file is its own. The kernel also calls this when the module is loaded with a value.
 */
static int set_closed(const char *text, const struct kernel_param *param)
{
	int err = capable(CAP_SYS_MODULE) ? param_set_uint_minmax(text, param, 0, 1) : -EPERM;

	/*
	 * Pairs with the reference to the module that the kernel takes for an opener before it
	 * calls may_open(): either that sees @closed, or our caller sees the reference.
	 */
	smp_mb();
	return err;
}

static const struct kernel_param_ops closed_ops = {
	.set = set_closed,
	.get = param_get_uint,
};
module_param_cb(closed, &closed_ops, &closed, 0600);
MODULE_PARM_DESC(closed, "1: the device cannot be opened (0)");

/* While the device is closed, hbctl gets in, to restore belts. */
static bool may_open(const struct file *filp)
{
	/* The kernel sets parameters by plain writes. */
	if (!data_race(READ_ONCE(closed)))
		return true;
	return filp->f_flags & O_EXCL && capable(CAP_SYS_MODULE);
}

static int hashbelt_open(struct inode *inode, struct file *filp)
{
	return may_open(filp) ? hb_file_open(inode, filp) : -EUNATCH;
}

/* Most bytes of an ioctl's argument. */
#define ARGUMENT_MAX	512

/**
 * struct call_type - an ioctl
 * @cmd:	HASHBELT_IOC_*, which has the size of the argument and the direction of the copy
 * @needs:	HASHBELT_MAY_* bits, or NO_BELT
 * @run:	carries it out; NULL: returns HASHBELT_ABI
 * @op:		in place of @needs and @run: an operation on one key, HASHBELT_OP_*
 */
struct call_type {
	unsigned int cmd;
	u32 needs;
	int (*run)(const struct hb_call *call, void *arg);
	u32 op;
};

#define CALL(name, needs_, run_)						\
	[_IOC_NR(HASHBELT_IOC_##name)] = {					\
		.cmd = HASHBELT_IOC_##name +					\
		       BUILD_BUG_ON_ZERO(_IOC_SIZE(HASHBELT_IOC_##name) > ARGUMENT_MAX) + \
		       BUILD_BUG_ON_ZERO(_IOC_DIR(HASHBELT_IOC_##name) & _IOC_READ &&	\
					 _IOC_SIZE(HASHBELT_IOC_##name) % 8),	\
		.needs = needs_, .run = run_,					\
	},

#define ITEM_CALL(name)								\
	[_IOC_NR(HASHBELT_IOC_##name)] = {					\
		.cmd = HASHBELT_IOC_##name, .op = HASHBELT_OP_##name,		\
	},

/* Index 0 must be an ioctl: an empty entry would be equal to the command 0, which is none. */
static const struct call_type calls[] = {
	CALL(ABI, NO_BELT, NULL)	/* returns a constant */
	HB_CALLS(CALL, ITEM_CALL)
};

/* After these results the argument is copied out. */
static bool returns_argument(int err)
{
	return !err || err == -ERANGE || err == -ENOENT || err == -EINTR || err == -ERESTARTNOHAND;
}

static long run_call(struct file *filp, const struct call_type *type, void __user *user)
{
	struct hb_call call = { .filp = filp, .user = user, .cmd = type->cmd };
	u64 argument[ARGUMENT_MAX / sizeof(u64)] HB_UNINITIALIZED;
	size_t size = _IOC_SIZE(type->cmd);
	int err;

	if (size && hb_copy_words(argument, user, size))
		return -EFAULT;
	if (!(type->needs & NO_BELT)) {
		call.session = hb_session_get(filp->private_data, type->needs);
		if (IS_ERR(call.session))
			return PTR_ERR(call.session);
		call.belt = call.session->named->belt;
	}
	err = type->run(&call, argument);
	if (call.session)
		hb_session_put(call.session);
	if (_IOC_DIR(type->cmd) & _IOC_READ && returns_argument(err) &&
	    hb_return_words(user, argument, size))
		return err == -ERESTARTNOHAND ? -EINTR : -EFAULT;
	return err;
}

static long hashbelt_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	const struct call_type *type;

	/* The most frequent one, before the look-up. */
	if (cmd == HASHBELT_IOC_GET)
		return hb_call_get(filp->private_data, user);
	if (_IOC_NR(cmd) >= ARRAY_SIZE(calls))
		return -ENOTTY;
	type = &calls[array_index_nospec(_IOC_NR(cmd), ARRAY_SIZE(calls))];
	if (type->cmd != cmd)
		return -ENOTTY;
	if (type->op)
		return hb_call_item(filp->private_data, user, type->op);
	return type->run ? run_call(filp, type, user) : HASHBELT_ABI;
}

static const struct file_operations hashbelt_fops = {
	.owner		= THIS_MODULE,
	.open		= hashbelt_open,
	.release	= hb_file_release,
	.read_iter	= hb_file_read_iter,
	.poll		= hb_file_poll,
	.mmap		= hb_file_mmap,
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
		pr_err("hashbelt: ttl_ms=%lu is not from 1 to %llu\n", ttl_ms, HASHBELT_TTL_MAX_MS);
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
	if (!hb_max_belts) {
		pr_err("hashbelt: max_belts=0 permits no default belt\n");
		return -EINVAL;
	}
	return 0;
}

static int __init create_default_belt(void)
{
	static const char name[HASHBELT_NAME_SIZE] __initconst = HASHBELT_DEFAULT_BELT;
	u64 rights = hb_rights(current_fsgid(), mode, HASHBELT_CONSUMERS_READERS);
	struct hb_named_belt *named;

	named = hb_registry_create(name, rights, &(struct hashbelt_config){
		.ttl = (u64)ttl_ms * NSEC_PER_MSEC,
		.buckets = buckets,
	}, NULL);
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
	set_limits();
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
MODULE_VERSION(HASHBELT_VERSION);
MODULE_LICENSE("GPL");
