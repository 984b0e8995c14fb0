// SPDX-License-Identifier: GPL-2.0
/*
 * The set of belts that /dev/hashbelt serves.
 *
 * A listing is a belt with an owner; those with a name stand in a tree by name,
 * so that they can be opened and listed in order. The tree holds one reference
 * to a listing, each descriptor that is bound to it holds one. Destroying a belt
 * takes it out of the tree and kills it: its entries go at once, and what is
 * left of it when the last descriptor goes.
 *
 * Lock order: the registry's lock is taken before all locks of a belt.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uidgid.h>

#include "hashbelt_registry.h"

static struct rb_root names = RB_ROOT;
static DEFINE_MUTEX(names_lock);

static struct hb_listing *listing_of(struct rb_node *node)
{
	return rb_entry(node, struct hb_listing, node);
}

static int compare_name(const void *name, const struct rb_node *node)
{
	return strcmp(name, rb_entry(node, struct hb_listing, node)->name);
}

static int compare_nodes(struct rb_node *a, const struct rb_node *b)
{
	return compare_name(listing_of(a)->name, b);
}

static struct hb_listing *find_name(const char *name)
{
	struct rb_node *node = rb_find(name, &names, compare_name);

	lockdep_assert_held(&names_lock);
	return node ? listing_of(node) : NULL;
}

/* The first listing whose name comes after @name. */
static struct hb_listing *find_after(const char *name)
{
	struct rb_node *node = names.rb_node, *best = NULL;

	lockdep_assert_held(&names_lock);
	while (node) {
		if (compare_name(name, node) < 0) {
			best = node;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return best ? listing_of(best) : NULL;
}

static void unlist(struct hb_listing *listing)
{
	lockdep_assert_held(&names_lock);
	rb_erase(&listing->node, &names);
	listing->listed = false;
}

/**
 * hb_listing_put() - give up a reference to a listing
 * @listing:	the listing; with its last reference goes its belt
 */
void hb_listing_put(struct hb_listing *listing)
{
	if (!refcount_dec_and_test(&listing->ref))
		return;
	hashbelt_destroy(listing->belt);
	kfree_rcu(listing, rcu);
}

/**
 * hb_listing_access() - what the current task may do with a belt
 * @listing:	the belt
 *
 * As with files the first of owner, group and others that fits decides. The
 * owner, and who has CAP_SYS_ADMIN in the initial user namespace, may configure.
 *
 * Return: HASHBELT_MAY_* bits.
 */
u32 hb_listing_access(const struct hb_listing *listing)
{
	u32 access = 0;
	umode_t mode = listing->mode;

	if (ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN))
		return HASHBELT_MAY_READ | HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN;
	if (uid_eq(current_fsuid(), listing->uid)) {
		access = HASHBELT_MAY_OWN;
		mode >>= 6;
	} else if (in_group_p(listing->gid)) {
		mode >>= 3;
	}
	if (mode & 04)
		access |= HASHBELT_MAY_READ;
	if (mode & 02)
		access |= HASHBELT_MAY_WRITE;
	return access;
}

/**
 * hb_listing_info() - describe a belt to the current task
 * @listing:	the belt
 * @info:	filled in
 *
 * Context: may sleep.
 */
void hb_listing_info(const struct hb_listing *listing, struct hashbelt_info *info)
{
	memset(info, 0, sizeof(*info));
	hashbelt_info(listing->belt, info);
	memcpy(info->name, listing->name, sizeof(info->name));
	info->mode = listing->mode;
	info->uid = from_kuid_munged(current_user_ns(), listing->uid);
	info->gid = from_kgid_munged(current_user_ns(), listing->gid);
	info->access = hb_listing_access(listing);
	if (!*listing->name)
		info->state |= HASHBELT_NAMELESS;
}

/* Gives a listing its place in the tree. */
static int enlist(struct hb_listing *listing)
{
	int err = 0;

	mutex_lock(&names_lock);
	if (rb_find_add(&listing->node, &names, compare_nodes)) {
		err = -EEXIST;
	} else {
		listing->listed = true;
		refcount_inc(&listing->ref);
	}
	mutex_unlock(&names_lock);
	return err;
}

/**
 * hb_registry_create() - make a belt that the current task owns
 * @name:	its name, HASHBELT_NAME_SIZE bytes; empty for none
 * @mode:	permission bits, at most 0666
 * @config:	what it shall be
 *
 * Context: may sleep.
 *
 * Return: the listing, with a reference for the caller; ERR_PTR(-EEXIST) if the
 * name is taken, ERR_PTR(-EINVAL) or ERR_PTR(-ENOMEM).
 */
struct hb_listing *hb_registry_create(const char *name, umode_t mode,
				      const struct hashbelt_config *config)
{
	struct hb_listing *listing = kzalloc(sizeof(*listing), GFP_KERNEL_ACCOUNT);
	int err;

	if (!listing)
		return ERR_PTR(-ENOMEM);
	listing->belt = hashbelt_create(config);
	if (IS_ERR(listing->belt)) {
		err = PTR_ERR(listing->belt);
		kfree(listing);
		return ERR_PTR(err);
	}
	refcount_set(&listing->ref, 1);
	current_fsuid_fsgid(&listing->uid, &listing->gid);
	listing->mode = mode;
	memcpy(listing->name, name, sizeof(listing->name));
	if (*name) {
		err = enlist(listing);
		if (err) {
			hb_listing_put(listing);
			return ERR_PTR(err);
		}
	}
	return listing;
}

/**
 * hb_registry_open() - find a belt by its name
 * @name:	the name
 *
 * Context: may sleep.
 *
 * Return: the listing, with a reference for the caller, who checks its rights;
 * ERR_PTR(-ENOENT).
 */
struct hb_listing *hb_registry_open(const char *name)
{
	struct hb_listing *listing;

	mutex_lock(&names_lock);
	listing = find_name(name);
	if (listing)
		refcount_inc(&listing->ref);
	mutex_unlock(&names_lock);
	return listing ?: ERR_PTR(-ENOENT);
}

/**
 * hb_registry_next() - the next belt that the current task may use at all
 * @name:	where to go on: behind this name; "" to begin
 *
 * Context: may sleep.
 *
 * Return: the listing, with a reference for the caller; ERR_PTR(-ENOENT) behind
 * the last one.
 */
struct hb_listing *hb_registry_next(const char *name)
{
	struct hb_listing *listing;
	struct rb_node *next;

	mutex_lock(&names_lock);
	listing = find_after(name);
	while (listing && !hb_listing_access(listing)) {
		next = rb_next(&listing->node);
		listing = next ? listing_of(next) : NULL;
	}
	if (listing)
		refcount_inc(&listing->ref);
	mutex_unlock(&names_lock);
	return listing ?: ERR_PTR(-ENOENT);
}

/**
 * hb_registry_destroy() - destroy a belt by its name
 * @name:	the name
 *
 * Context: may sleep.
 *
 * Return: 0; -ENOENT; -EPERM if the current task is not its owner.
 */
int hb_registry_destroy(const char *name)
{
	struct hb_listing *listing;
	int err = 0;

	mutex_lock(&names_lock);
	listing = find_name(name);
	if (!listing)
		err = -ENOENT;
	else if (!(hb_listing_access(listing) & HASHBELT_MAY_OWN))
		err = -EPERM;
	else
		unlist(listing);
	mutex_unlock(&names_lock);
	if (err)
		return err;
	hashbelt_kill(listing->belt);
	hb_listing_put(listing);
	return 0;
}

/**
 * hb_registry_exit() - give up all belts; no descriptor is left
 *
 * Context: may sleep.
 */
void hb_registry_exit(void)
{
	struct hb_listing *listing, *next;

	mutex_lock(&names_lock);
	rbtree_postorder_for_each_entry_safe(listing, next, &names, node)
		hb_listing_put(listing);
	names = RB_ROOT;
	mutex_unlock(&names_lock);
}
