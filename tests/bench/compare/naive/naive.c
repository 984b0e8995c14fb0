// SPDX-License-Identifier: GPL-2.0-only
/*
 * naive - a cache with nothing but keys and values, as the limit of what an ioctl can do.
 *
 * Keys have 16 bytes and values 64. One table of fixed size, under one spinlock, which a get takes
 * as well. There are no deadlines, limits, rights or versions, and the hash is no secret.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "naive.h"

#define BITS	20

/**
 * struct entry - a key with its value
 * @chain:	place in its chain of the table
 * @item:	key and value
 */
struct entry {
	struct hlist_node chain;
	struct naive_item item;
};

static struct hlist_head *table;
static struct kmem_cache *cache;
static DEFINE_SPINLOCK(lock); /* guards the table and all entries */

static struct hlist_head *chain_of(const u8 *key)
{
	u64 words[NAIVE_KEY / 8];

	memcpy(words, key, sizeof(words));
	return &table[hash_64(words[0] ^ hash_64(words[1], 64), BITS)];
}

/* The caller holds the lock. */
static struct entry *find(const u8 *key)
{
	struct entry *entry;

	hlist_for_each_entry(entry, chain_of(key), chain)
		if (!memcmp(entry->item.key, key, NAIVE_KEY))
			return entry;
	return NULL;
}

/* The value is copied through the stack: a task must not wait for a page under a spinlock. */
static long get(struct naive_item __user *user)
{
	struct naive_item item;
	struct entry *entry;

	if (copy_from_user(item.key, user->key, sizeof(item.key)))
		return -EFAULT;
	spin_lock(&lock);
	entry = find(item.key);
	if (entry)
		memcpy(item.value, entry->item.value, sizeof(item.value));
	spin_unlock(&lock);
	if (!entry)
		return -ENOENT;
	return copy_to_user(user->value, item.value, sizeof(item.value)) ? -EFAULT : 0;
}

static long insert(const struct naive_item *item)
{
	struct entry *entry = kmem_cache_alloc(cache, GFP_KERNEL), *old;

	if (!entry)
		return -ENOMEM;
	entry->item = *item;
	spin_lock(&lock);
	old = find(item->key);
	if (old)
		hlist_del(&old->chain);
	hlist_add_head(&entry->chain, chain_of(item->key));
	spin_unlock(&lock);
	if (old)
		kmem_cache_free(cache, old);
	return 0;
}

/* A present entry is overwritten in its place. */
static long put(struct naive_item __user *user)
{
	struct naive_item item;
	struct entry *entry;

	if (copy_from_user(&item, user, sizeof(item)))
		return -EFAULT;
	spin_lock(&lock);
	entry = find(item.key);
	if (entry)
		memcpy(entry->item.value, item.value, sizeof(item.value));
	spin_unlock(&lock);
	return entry ? 0 : insert(&item);
}

static long take_out(struct naive_item __user *user)
{
	u8 key[NAIVE_KEY];
	struct entry *entry;

	if (copy_from_user(key, user->key, sizeof(key)))
		return -EFAULT;
	spin_lock(&lock);
	entry = find(key);
	if (entry)
		hlist_del(&entry->chain);
	spin_unlock(&lock);
	if (!entry)
		return -ENOENT;
	kmem_cache_free(cache, entry);
	return 0;
}

static long for_each(struct naive_batch __user *user, long (*act)(struct naive_item __user *))
{
	struct naive_item __user *items;
	struct naive_batch batch;
	long err = 0;
	u64 i;

	if (copy_from_user(&batch, user, sizeof(batch)))
		return -EFAULT;
	items = u64_to_user_ptr(batch.items);
	for (i = 0; i < batch.count && !err; i++)
		err = act(items + i);
	return err;
}

static long naive_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;

	switch (cmd) {
	case NAIVE_IOC_GET:
		return get(user);
	case NAIVE_IOC_PUT:
		return put(user);
	case NAIVE_IOC_REMOVE:
		return take_out(user);
	case NAIVE_IOC_GET_MANY:
		return for_each(user, get);
	case NAIVE_IOC_PUT_MANY:
		return for_each(user, put);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = naive_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "naive",
	.fops = &operations,
};

static int __init naive_init(void)
{
	int err = -ENOMEM;

	table = vzalloc(sizeof(*table) << BITS);
	/* The part that is copied to and from user space is on the stack. */
	cache = KMEM_CACHE(entry, 0);
	if (table && cache)
		err = misc_register(&device);
	if (err) {
		kmem_cache_destroy(cache);
		vfree(table);
	}
	return err;
}

static void __exit naive_exit(void)
{
	struct hlist_node *next;
	struct entry *entry;
	unsigned int i;

	misc_deregister(&device);
	for (i = 0; i < 1U << BITS; i++)
		hlist_for_each_entry_safe(entry, next, &table[i], chain)
			kmem_cache_free(cache, entry);
	kmem_cache_destroy(cache);
	vfree(table);
}

module_init(naive_init);
module_exit(naive_exit);
MODULE_DESCRIPTION("A cache behind an ioctl with nothing but keys and values, to compare with");
MODULE_LICENSE("GPL");
