// SPDX-License-Identifier: GPL-2.0
/*
 * hashbelt - an expiring cache in the kernel.
 *
 * The module and its device: copies arguments in, checks them and the caller's
 * rights, calls the belt, copies results out. What user space passes is copied
 * once; nothing is read from it again after it was checked.
 *
 * A descriptor has a binding: a belt, and what it may do with it, decided when
 * it was bound. Each call works with the binding that it found, under a
 * reference of its own, so that another thread may bind anew at any time.
 */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "hashbelt_compat.h"
#include "hashbelt_memory.h"
#include "hashbelt_registry.h"

/* Up to this length a value is copied out under RCU, without a reference. */
#define DIRECT_MAX	4096

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

static int set_max_bytes(const char *text, const struct kernel_param *param)
{
	char *end;
	unsigned long long bytes = memparse(text, &end);

	if (end == text || (*end && *end != '\n') || !bytes)
		return -EINVAL;
	max_bytes = bytes;
	hb_memory_limit(bytes);
	return 0;
}

static const struct kernel_param_ops max_bytes_ops = {
	.set = set_max_bytes,
	.get = param_get_ullong,
};
module_param_cb(max_bytes, &max_bytes_ops, &max_bytes, 0644);
MODULE_PARM_DESC(max_bytes, "most memory of all belts, as 512M or 2G (a quarter of the machine's)");

static int get_used_bytes(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%llu\n", hb_memory_used());
}

static const struct kernel_param_ops used_bytes_ops = {
	.get = get_used_bytes,
};
module_param_cb(used_bytes, &used_bytes_ops, NULL, 0444);
MODULE_PARM_DESC(used_bytes, "memory of all belts now; cannot be set");

/**
 * struct binding - what a descriptor is bound to
 * @listing:	the belt, with a reference; constant
 * @access:	HASHBELT_MAY_*; constant
 * @ref:	one for the descriptor, one for each call that goes on
 * @rcu:	for freeing it
 */
struct binding {
	struct hb_listing *listing;
	u32 access;
	refcount_t ref;
	struct rcu_head rcu;
};

/**
 * struct descriptor - an open file of the device
 * @binding:	changed by xchg(); NULL where there was no default belt
 */
struct descriptor {
	struct binding __rcu *binding;
};

static void binding_put(struct binding *binding)
{
	if (!refcount_dec_and_test(&binding->ref))
		return;
	hb_listing_put(binding->listing);
	kfree_rcu(binding, rcu);
}

/* The binding of a descriptor, with a reference, or an error. */
static struct binding *binding_get(struct descriptor *descriptor, u32 access)
{
	struct binding *binding;
	int err;

	rcu_read_lock();
	do {
		binding = rcu_dereference(descriptor->binding);
	} while (binding && !refcount_inc_not_zero(&binding->ref));
	rcu_read_unlock();
	if (unlikely(!binding))
		return ERR_PTR(-EIDRM);
	if (unlikely((binding->access & access) != access))
		err = -EPERM;
	else if (unlikely(hashbelt_is_dead(binding->listing->belt)))
		err = -EIDRM;
	else
		return binding;
	binding_put(binding);
	return ERR_PTR(err);
}

/* Binds a descriptor to a belt; takes over @binding and the reference to @listing. */
static void bind(struct file *file, struct binding *binding, struct hb_listing *listing,
		 u32 access)
{
	struct descriptor *descriptor = file->private_data;

	if (!(file->f_mode & FMODE_READ))
		access &= ~HASHBELT_MAY_READ;
	if (!(file->f_mode & FMODE_WRITE))
		access &= ~(HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN);
	binding->listing = listing;
	binding->access = access;
	refcount_set(&binding->ref, 1);
	binding = unrcu_pointer(xchg(&descriptor->binding, RCU_INITIALIZER(binding)));
	if (binding)
		binding_put(binding);
}

/* What bind() needs, made first: binding is the step that must not fail. */
static struct binding *binding_alloc(void)
{
	return kmalloc(sizeof(struct binding), GFP_KERNEL_ACCOUNT);
}

/*
 * Copies a few words from user space. A call of copy_from_user() costs more
 * than such a copy does, and nearly every operation makes two of them.
 */
static __always_inline int copy_words(void *to, const void __user *from, size_t size)
{
	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS))
		return copy_from_user(to, from, size) ? -EFAULT : 0;
	if (!user_read_access_begin(from, size))
		return -EFAULT;
	#pragma GCC unroll 8
	for (; size >= 8; to += 8, from += 8, size -= 8)
		unsafe_get_user(*(u64 *)to, (const u64 __user *)from, fault);
	if (size & 4) {
		unsafe_get_user(*(u32 *)to, (const u32 __user *)from, fault);
		to += 4;
		from += 4;
	}
	if (size & 2) {
		unsafe_get_user(*(u16 *)to, (const u16 __user *)from, fault);
		to += 2;
		from += 2;
	}
	if (size & 1)
		unsafe_get_user(*(u8 *)to, (const u8 __user *)from, fault);
	user_read_access_end();
	return 0;
fault:
	user_read_access_end();
	return -EFAULT;
}

static __always_inline int copy_item(struct hashbelt_item *item,
				     const struct hashbelt_item __user *from)
{
	return copy_words(item, from, sizeof(*item));
}

/* Copies out what an operation returns. */
static __always_inline int return_item(struct hashbelt_item __user *to,
				       const struct hashbelt_item *item)
{
	if (!user_write_access_begin(to, sizeof(*to)))
		return -EFAULT;
	unsafe_put_user(item->value_len, &to->value_len, fault);
	unsafe_put_user(item->flags, &to->flags, fault);
	unsafe_put_user(item->ttl_ms, &to->ttl_ms, fault);
	unsafe_put_user(item->version, &to->version, fault);
	unsafe_put_user(item->result, &to->result, fault);
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

/* Copies a value out under RCU, where a page fault may not be waited for. */
static int copy_value(void __user *to, const u8 *value, u32 size)
{
	int err = -EFAULT;

	pagefault_disable();
	if (user_write_access_begin(to, size)) {
		#pragma GCC unroll 4
		for (; size >= 8; to += 8, value += 8, size -= 8)
			unsafe_put_user(*(u64 *)value, (u64 __user *)to, fault);
		unsafe_copy_to_user(to, value, size, fault);
		err = 0;
fault:
		user_write_access_end();
	}
	pagefault_enable();
	return err;
}

static int check_key(const struct hashbelt_item *item)
{
	if (unlikely(!item->key_len))
		return -EINVAL;
	return likely(item->key_len <= HASHBELT_KEY_MAX) ? 0 : -E2BIG;
}

/* A hit with the value copied at leisure. -EAGAIN: find it again. */
static int get_slowly(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		      struct hashbelt_item *item, u64 now)
{
	int err = 0;

	if (copy_to_user(u64_to_user_ptr(item->value), hashbelt_entry_value(entry),
			 entry->value_len))
		err = -EFAULT;
	else if (!hashbelt_hit(belt, entry, item, now))
		err = -EAGAIN;
	hashbelt_entry_put(entry);
	return err;
}

/* One try to get. -EAGAIN: the entry changed meanwhile. */
static int try_get(struct hashbelt_belt *belt, struct hashbelt_item *item,
		   const void *key)
{
	u64 now = hashbelt_now(belt);
	struct hashbelt_entry *entry;
	int err = -EAGAIN;

	rcu_read_lock();
	entry = hashbelt_find(belt, key, item->key_len, now);
	if (!entry) {
		err = -ENOENT;
		hashbelt_miss(belt);
	} else if (item->how & HASHBELT_NO_VALUE) {
		if (hashbelt_hit(belt, entry, item, now))
			err = 0;
	} else if (entry->value_len > item->value_len) {
		item->value_len = entry->value_len;
		err = -ERANGE;
	} else if (entry->value_len <= DIRECT_MAX &&
		   !copy_value(u64_to_user_ptr(item->value),
			       hashbelt_entry_value(entry), entry->value_len)) {
		if (hashbelt_hit(belt, entry, item, now))
			err = 0;
	} else if (refcount_inc_not_zero(&entry->ref)) {
		rcu_read_unlock();
		return get_slowly(belt, entry, item, now);
	}
	rcu_read_unlock();
	return err;
}

static int get(struct hashbelt_belt *belt, struct hashbelt_item *item, const void *key)
{
	int err = hashbelt_get_prepare(belt, key, item->key_len, item);

	if (unlikely(err))
		return err;
	while (unlikely((err = try_get(belt, item, key)) == -EAGAIN))
		if (fatal_signal_pending(current))
			return -EINTR;
	return err;
}

static int put(struct hashbelt_belt *belt, struct hashbelt_item *item)
{
	u32 demands = item->how & (HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION);
	struct hashbelt_entry *entry;

	if (item->how & HASHBELT_IF_ABSENT && demands)
		return -EINVAL;
	if (item->value_len > HASHBELT_VALUE_MAX)
		return -EMSGSIZE;
	entry = hashbelt_entry_alloc(belt, item->key_len, item->value_len);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	entry->flags = item->flags;
	if (copy_words(entry->data, u64_to_user_ptr(item->key), item->key_len) ||
	    copy_from_user(hashbelt_entry_value(entry), u64_to_user_ptr(item->value),
			   item->value_len)) {
		hashbelt_entry_put(entry);
		return -EFAULT;
	}
	return hashbelt_put(belt, entry, item);
}

/* What an operation allows in @how, and what it needs of the binding. */
static int check_item(const struct hashbelt_item *item, u32 op, u32 access)
{
	u32 how, needs = HASHBELT_MAY_WRITE;

	switch (op) {
	case HASHBELT_OP_GET:
		how = HASHBELT_AND_TOUCH | HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE;
		needs = HASHBELT_MAY_READ;
		if (unlikely(item->how & HASHBELT_AND_TOUCH))
			needs |= HASHBELT_MAY_WRITE;
		break;
	case HASHBELT_OP_PUT:
		how = HASHBELT_IF_ABSENT | HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION;
		break;
	case HASHBELT_OP_REMOVE:
		how = HASHBELT_IF_VERSION;
		break;
	case HASHBELT_OP_TOUCH:
	case HASHBELT_OP_EXPIRE:
		how = 0;
		break;
	default:
		return -EINVAL;
	}
	if (unlikely(item->how & ~how || item->reserved))
		return -EINVAL;
	if (unlikely((access & needs) != needs))
		return -EPERM;
	return check_key(item);
}

static int do_item(struct binding *binding, struct hashbelt_item *item, u32 op)
{
	struct hashbelt_belt *belt = binding->listing->belt;
	u64 key[HASHBELT_KEY_MAX / sizeof(u64)] HB_UNINITIALIZED;
	int err = check_item(item, op, binding->access);

	if (unlikely(err))
		return err;
	if (op == HASHBELT_OP_PUT)
		return put(belt, item);
	if (unlikely(copy_words(key, u64_to_user_ptr(item->key), item->key_len)))
		return -EFAULT;
	switch (op) {
	case HASHBELT_OP_GET:
		return get(belt, item, key);
	case HASHBELT_OP_TOUCH:
		return hashbelt_touch(belt, key, item->key_len, item);
	case HASHBELT_OP_REMOVE:
		return hashbelt_remove(belt, key, item->key_len, item);
	default:
		return hashbelt_expire(belt, key, item->key_len);
	}
}

/* Whether an operation that ended like this has something to return. */
static bool returns_item(int err)
{
	return likely(!err) || err == -ERANGE || err == -EEXIST || err == -ESTALE;
}

static long ioctl_item(struct descriptor *descriptor,
		       struct hashbelt_item __user *arg, u32 op)
{
	struct hashbelt_item item HB_UNINITIALIZED;
	struct binding *binding;
	int err;

	if (unlikely(copy_item(&item, arg)))
		return -EFAULT;
	if (unlikely(item.op))
		return -EINVAL;
	binding = binding_get(descriptor, 0);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	err = do_item(binding, &item, op);
	binding_put(binding);
	if (returns_item(err) && unlikely(return_item(arg, &item)))
		return -EFAULT;
	return err;
}

static u32 do_items(struct binding *binding, struct hashbelt_item __user *items,
		    u32 count)
{
	struct hashbelt_item item HB_UNINITIALIZED;
	u32 done;

	for (done = 0; done < count && !signal_pending(current); done++) {
		if (copy_item(&item, &items[done]))
			break;
		item.result = do_item(binding, &item, item.op);
		if (return_item(&items[done], &item))
			break;
		cond_resched();
	}
	return done;
}

static long ioctl_batch(struct descriptor *descriptor,
			struct hashbelt_batch __user *arg)
{
	struct hashbelt_batch batch;
	struct binding *binding;

	if (copy_from_user(&batch, arg, sizeof(batch)))
		return -EFAULT;
	if (!batch.count || batch.flags || batch.reserved)
		return -EINVAL;
	if (batch.count > HASHBELT_BATCH_MAX)
		return -E2BIG;
	binding = binding_get(descriptor, 0);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	batch.done = do_items(binding, u64_to_user_ptr(batch.items), batch.count);
	binding_put(binding);
	if (!batch.done)
		return signal_pending(current) ? -EINTR : -EFAULT;
	return put_user(batch.done, &arg->done);
}

static long do_scan(struct hashbelt_belt *belt, struct hashbelt_scan *scan)
{
	u32 room = scan->size, used;
	void *buffer = kvmalloc(max_t(u32, room, 8), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	int err;

	if (!buffer)
		return -ENOMEM;
	err = hashbelt_scan(belt, scan, buffer, &used);
	if (!err && copy_to_user(u64_to_user_ptr(scan->buffer), buffer, used))
		err = -EFAULT;
	kvfree(buffer);
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
	binding = binding_get(descriptor, HASHBELT_MAY_READ);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	err = do_scan(binding->listing->belt, &scan);
	binding_put(binding);
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
	binding = binding_get(descriptor, HASHBELT_MAY_READ);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	hb_listing_info(binding->listing, &info);
	info.access = binding->access;
	binding_put(binding);
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

static long ioctl_stat(struct descriptor *descriptor, struct hashbelt_stat __user *arg)
{
	u64 counters[HASHBELT_STAT_COUNT];
	struct hashbelt_stat stat;
	struct binding *binding;

	if (copy_from_user(&stat, arg, sizeof(stat)))
		return -EFAULT;
	if (stat.reserved)
		return -EINVAL;
	binding = binding_get(descriptor, HASHBELT_MAY_READ);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	hashbelt_stat(binding->listing->belt, counters);
	binding_put(binding);
	if (copy_to_user(u64_to_user_ptr(stat.counters), counters,
			 min_t(size_t, stat.count, HASHBELT_STAT_COUNT) * sizeof(u64)))
		return -EFAULT;
	return put_user(HASHBELT_STAT_COUNT, &arg->count);
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
	binding = binding_get(descriptor, needs);
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
	binding_put(binding);
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

static long do_create(struct file *file, const struct hashbelt_create *create)
{
	struct binding *binding = binding_alloc();
	struct hb_listing *listing;

	if (!binding)
		return -ENOMEM;
	listing = hb_registry_create(create->name, create->mode,
				     &(struct hashbelt_config){
		.ttl = create->ttl_ms * NSEC_PER_MSEC,
		.buckets = create->buckets,
		.policy = create->policy,
	});
	if (IS_ERR(listing)) {
		kfree(binding);
		return PTR_ERR(listing);
	}
	/* Who has made a belt may use it, as with files, whatever its mode. */
	bind(file, binding, listing,
	     HASHBELT_MAY_READ | HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN);
	return 0;
}

static long ioctl_create(struct file *file, const struct hashbelt_create __user *arg)
{
	struct hashbelt_create create;

	if (copy_from_user(&create, arg, sizeof(create)))
		return -EFAULT;
	if (create.flags || create.mode & ~0666 || check_name(create.name) ||
	    create.ttl_ms > HASHBELT_TTL_MAX_MS ||
	    memchr_inv(create.reserved, 0, sizeof(create.reserved)))
		return -EINVAL;
	if (!(file->f_mode & FMODE_WRITE))
		return -EPERM;
	return do_create(file, &create);
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
	binding = binding_alloc();
	if (!binding)
		goto err_listing;
	bind(file, binding, listing, access);
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
		return ioctl_item(descriptor, p, HASHBELT_OP_GET);
	case HASHBELT_IOC_PUT:
		return ioctl_item(descriptor, p, HASHBELT_OP_PUT);
	case HASHBELT_IOC_TOUCH:
		return ioctl_item(descriptor, p, HASHBELT_OP_TOUCH);
	case HASHBELT_IOC_REMOVE:
		return ioctl_item(descriptor, p, HASHBELT_OP_REMOVE);
	case HASHBELT_IOC_EXPIRE:
		return ioctl_item(descriptor, p, HASHBELT_OP_EXPIRE);
	case HASHBELT_IOC_BATCH:
		return ioctl_batch(descriptor, p);
	case HASHBELT_IOC_SCAN:
		return ioctl_scan(descriptor, p);
	case HASHBELT_IOC_INFO:
		return ioctl_info(descriptor, p);
	case HASHBELT_IOC_STAT:
		return ioctl_stat(descriptor, p);
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
		binding_put(binding);
	kfree(descriptor);
	return 0;
}

static const struct file_operations hashbelt_fops = {
	.owner		= THIS_MODULE,
	.open		= hashbelt_open,
	.release	= hashbelt_release,
	.unlocked_ioctl	= hashbelt_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.llseek		= noop_llseek,
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

	listing = hb_registry_create(name, mode, &(struct hashbelt_config){
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
	err = hb_core_init();
	if (err)
		return err;
	hb_memory_limit(max_bytes);
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
	hb_core_exit();
	return err;
}

/* The kernel calls this when no descriptor is open and none can be opened. */
static void __exit hashbelt_exit(void)
{
	misc_deregister(&hashbelt_device);
	hb_registry_exit();
	hb_core_exit();
}

module_init(hashbelt_init);
module_exit(hashbelt_exit);

MODULE_AUTHOR("the hashbelt project");
MODULE_DESCRIPTION("Expiring cache in the kernel");
MODULE_LICENSE("GPL");
