// SPDX-License-Identifier: GPL-2.0
/*
 * The set of belts that /dev/hashbelt serves.
 *
 * A named is a belt with an owner; those with a name stand in a tree by name,
 * so that they can be opened and listed in order. The tree holds one reference
 * to a named, each descriptor that is bound to it holds one. Destroying a belt
 * takes it out of the tree and kills it: its entries go at once, and what is
 * left of it when the last descriptor goes.
 *
 * A user owns belts. The memory of all belts of a user is charged to one account.
 * Root has no account, and no limit.
 *
 * Lock order: the registry's lock is taken before all locks of a belt.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uidgid.h>

#include "belt/memory.h"
#include "hashbelt_core.h"
#include "registry.h"

/**
 * struct hb_user - a user that owns belts
 * @node:	place in the tree of users; under the registry's lock
 * @uid:	the user's id; constant
 * @belts:	number of the user's listings; under the registry's lock
 * @account:	the memory of these belts, but for root's, is charged to it. Each named has
 *		a reference. The last one frees the user: until then user_find() returns this
 *		structure, so memory of a destroyed belt still counts
 */
struct hb_user {
	struct rb_node node;
	kuid_t uid;
	unsigned int belts;
	struct hb_account account;
};

unsigned int hb_max_belts = 131072;
unsigned int hb_user_max_belts = 1024;

static struct rb_root names = RB_ROOT;
static struct rb_root users = RB_ROOT;
static unsigned int belts;		/* listings; under names_lock */
static DEFINE_MUTEX(names_lock);

static struct hb_user *user_of(const struct rb_node *node)
{
	return rb_entry(node, struct hb_user, node);
}

static int compare_uid(const void *uid, const struct rb_node *node)
{
	kuid_t a = *(const kuid_t *)uid, b = user_of(node)->uid;

	return uid_eq(a, b) ? 0 : uid_lt(a, b) ? -1 : 1;
}

static bool user_before(struct rb_node *node, const struct rb_node *other)
{
	return compare_uid(&user_of(node)->uid, other) < 0;
}

/* The user has no belts, and nothing is charged to the account any more. */
static void user_release(struct hb_account *account)
{
	struct hb_user *user = container_of(account, struct hb_user, account);

	mutex_lock(&names_lock);
	if (!RB_EMPTY_NODE(&user->node))
		rb_erase(&user->node, &users);
	mutex_unlock(&names_lock);
	kfree(user);
}

/* One who is not in the tree. Not under names_lock: memory may take long to be had. */
static struct hb_user *user_new(kuid_t uid)
{
	struct hb_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	if (!user)
		return NULL;
	RB_CLEAR_NODE(&user->node);
	user->uid = uid;
	if (!hb_account_init(&user->account, user_release))
		return user;
	kfree(user);
	return NULL;
}

/* The user of @uid, with a reference to the account; NULL: nothing is charged to such a user. */
static struct hb_user *user_find(kuid_t uid)
{
	struct rb_node *node = rb_find(&uid, &users, compare_uid);
	struct hb_user *user = node ? user_of(node) : NULL;

	lockdep_assert_held(&names_lock);
	if (!user || refcount_inc_not_zero(&user->account.ref))
		return user;
	/* It is about to be released: another takes its place. */
	rb_erase(&user->node, &users);
	RB_CLEAR_NODE(&user->node);
	return NULL;
}

/* Whether a user may have one belt more. */
static int may_add(const struct hb_user *user)
{
	/* Parameters of the module: the kernel sets them by plain writes. */
	unsigned int most = data_race(READ_ONCE(hb_max_belts));
	unsigned int most_of_user = data_race(READ_ONCE(hb_user_max_belts)); /* likewise */

	if (belts >= most)
		return -ENOSPC;
	if (!uid_eq(user->uid, GLOBAL_ROOT_UID) && user->belts >= most_of_user)
		return -EDQUOT;
	return 0;
}

/* The user, made if need be, with a reference to the account; NULL: no memory for that. */
static struct hb_user *user_find_or_add(kuid_t uid)
{
	struct hb_user *user = user_find(uid), *spare;

	if (user)
		return user;
	mutex_unlock(&names_lock);
	spare = user_new(uid);
	mutex_lock(&names_lock);
	user = user_find(uid);
	if (!user && spare) {
		rb_add(&spare->node, &users, user_before);
		return spare;
	}
	mutex_unlock(&names_lock);
	if (spare)
		hb_account_put(&spare->account);
	mutex_lock(&names_lock);
	return user;
}

/* The user, with one belt more; ERR_PTR() if that is beyond a limit. */
static struct hb_user *user_get(kuid_t uid)
{
	struct hb_user *user;
	int err;

	mutex_lock(&names_lock);
	user = user_find_or_add(uid);
	err = user ? may_add(user) : -ENOMEM;
	if (!err) {
		user->belts++;
		belts++;
	}
	mutex_unlock(&names_lock);
	if (!err)
		return user;
	if (user)
		hb_account_put(&user->account);
	return ERR_PTR(err);
}

static void user_put(struct hb_user *user)
{
	mutex_lock(&names_lock);
	belts--;
	user->belts--;
	mutex_unlock(&names_lock);
	hb_account_put(&user->account);
}

static struct hb_named_belt *listing_of(struct rb_node *node)
{
	return rb_entry(node, struct hb_named_belt, node);
}

static int compare_name(const void *name, const struct rb_node *node)
{
	return strcmp(name, rb_entry(node, struct hb_named_belt, node)->name);
}

static int compare_nodes(struct rb_node *a, const struct rb_node *b)
{
	return compare_name(listing_of(a)->name, b);
}

static struct hb_named_belt *find_name(const char *name)
{
	struct rb_node *node = rb_find(name, &names, compare_name);

	lockdep_assert_held(&names_lock);
	return node ? listing_of(node) : NULL;
}

/* The first named whose name comes after @name. */
static struct hb_named_belt *find_after(const char *name)
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

static void names_del(struct hb_named_belt *named)
{
	lockdep_assert_held(&names_lock);
	rb_erase(&named->node, &names);
}

/**
 * hb_named_belt_put() - give up a reference to a named
 * @named:	the named; with its last reference goes its belt
 *
 * Context: may sleep.
 */
void hb_named_belt_put(struct hb_named_belt *named)
{
	if (!refcount_dec_and_test(&named->ref))
		return;
	hashbelt_destroy(named->belt);
	user_put(named->user);
	kfree_rcu(named, rcu);
}

static u64 pack_rights(kgid_t gid, umode_t mode)
{
	return (u64)__kgid_val(gid) << 32 | mode;
}

static kgid_t gid_of(u64 rights)
{
	return KGIDT_INIT(rights >> 32);
}

static umode_t mode_of(u64 rights)
{
	return rights & 0666;
}

static bool is_admin(void)
{
	/*
	 * Benign race in the kernel: it notes in a task's flags that the task has used a
	 * privilege, and readers of /proc read the flags plainly.
	 */
	return data_race(ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN));
}

/**
 * hb_group() - a group that the current task may give to a belt
 * @number:	the group, as seen in the task's user namespace
 * @gid:	returned
 *
 * Return: 0; -EINVAL if there is no such group there; -EPERM if the task is no
 * member of it, and has not CAP_SYS_ADMIN in the initial user namespace.
 */
int hb_group(u32 number, kgid_t *gid)
{
	*gid = make_kgid(current_user_ns(), number);
	if (!gid_valid(*gid))
		return -EINVAL;
	return in_group_p(*gid) || is_admin() ? 0 : -EPERM;
}

/**
 * hb_named_belt_access() - what the current task may do with a belt
 * @named:	the belt
 *
 * As with files the first of owner, group and others that fits decides. The
 * owner, and who has CAP_SYS_ADMIN in the initial user namespace, may configure.
 *
 * Return: HASHBELT_MAY_* bits.
 */
u32 hb_named_belt_access(const struct hb_named_belt *named)
{
	u64 rights = READ_ONCE(named->rights);
	umode_t mode = mode_of(rights);
	u32 access = 0;

	if (is_admin())
		return HASHBELT_MAY_READ | HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN;
	if (uid_eq(current_fsuid(), named->uid)) {
		access = HASHBELT_MAY_OWN;
		mode >>= 6;
	} else if (in_group_p(gid_of(rights))) {
		mode >>= 3;
	}
	if (mode & 04)
		access |= HASHBELT_MAY_READ;
	if (mode & 02)
		access |= HASHBELT_MAY_WRITE;
	return access;
}

/**
 * hb_named_belt_info() - describe a belt to the current task
 * @named:	the belt
 * @info:	filled in
 *
 * Context: may sleep.
 */
void hb_named_belt_info(const struct hb_named_belt *named, struct hashbelt_info *info)
{
	u64 rights = READ_ONCE(named->rights);

	memset(info, 0, sizeof(*info));
	hashbelt_info(named->belt, info);
	memcpy(info->name, named->name, sizeof(info->name));
	info->mode = mode_of(rights);
	info->uid = from_kuid_munged(current_user_ns(), named->uid);
	info->gid = from_kgid_munged(current_user_ns(), gid_of(rights));
	info->access = hb_named_belt_access(named);
	if (!*named->name)
		info->state |= HASHBELT_NAMELESS;
}

/**
 * hb_named_belt_set_rights() - say anew who may do what, in one step
 * @named:	the belt
 * @gid:	its group, from hb_group(); NULL: as it was
 * @mode:	permission bits, at most 0666; NULL: as they were
 *
 * Those who are bound stay so. Context: may sleep.
 */
void hb_named_belt_set_rights(struct hb_named_belt *named, const kgid_t *gid,
			      const umode_t *mode)
{
	mutex_lock(&names_lock);
	WRITE_ONCE(named->rights,
		   pack_rights(gid ? *gid : gid_of(named->rights),
			       mode ? *mode : mode_of(named->rights)));
	mutex_unlock(&names_lock);
}

/* Gives a named its place in the tree. */
static int names_add(struct hb_named_belt *named)
{
	int err = 0;

	mutex_lock(&names_lock);
	if (rb_find_add(&named->node, &names, compare_nodes))
		err = -EEXIST;
	else
		refcount_inc(&named->ref);
	mutex_unlock(&names_lock);
	return err;
}

/* Makes a belt for a user, who has been counted with it. */
static struct hb_named_belt *listing_new(struct hb_user *user,
					 const struct hashbelt_config *config)
{
	struct hb_named_belt *named = kzalloc(sizeof(*named), GFP_KERNEL_ACCOUNT);
	struct hashbelt_config charged = *config;
	int err;

	if (!named)
		return ERR_PTR(-ENOMEM);
	charged.account = uid_eq(user->uid, GLOBAL_ROOT_UID) ? NULL : &user->account;
	named->belt = hashbelt_create(&charged);
	err = PTR_ERR_OR_ZERO(named->belt);
	/* What was given up lately may be all that is missing. */
	if (err == -EDQUOT || err == -ENOSPC) {
		hashbelt_flush();
		named->belt = hashbelt_create(&charged);
	}
	if (IS_ERR(named->belt)) {
		err = PTR_ERR(named->belt);
		kfree(named);
		return ERR_PTR(err);
	}
	named->user = user;
	named->uid = user->uid;
	refcount_set(&named->ref, 1);
	return named;
}

/**
 * hb_registry_create() - make a belt that the current task owns
 * @name:	its name, HASHBELT_NAME_SIZE bytes; empty for none
 * @gid:	its group
 * @mode:	permission bits, at most 0666
 * @config:	what it shall be; @account is not looked at
 *
 * Context: may sleep.
 *
 * Return: the named, with a reference for the caller; ERR_PTR(-EEXIST) if the
 * name is taken, ERR_PTR(-EACCES) if it is that of the belt to which descriptors are bound
 * unasked and the task has not CAP_SYS_ADMIN in the initial user namespace,
 * ERR_PTR(-ENOSPC) or ERR_PTR(-EDQUOT) if there are, or the user has, as many belts as
 * there may be; errors as hashbelt_create().
 */
struct hb_named_belt *hb_registry_create(const char *name, kgid_t gid, umode_t mode,
					 const struct hashbelt_config *config)
{
	struct hb_named_belt *named;
	struct hb_user *user;
	int err;

	/* Every program that names no belt puts into this one: its owner reads what they put. */
	if (!strcmp(name, HASHBELT_DEFAULT_BELT) && !is_admin())
		return ERR_PTR(-EACCES);
	user = user_get(current_fsuid());
	if (IS_ERR(user))
		return ERR_CAST(user);
	named = listing_new(user, config);
	if (IS_ERR(named)) {
		user_put(user);
		return named;
	}
	named->rights = pack_rights(gid, mode);
	memcpy(named->name, name, sizeof(named->name));
	if (*name) {
		err = names_add(named);
		if (err) {
			hb_named_belt_put(named);
			return ERR_PTR(err);
		}
	}
	return named;
}

/**
 * hb_registry_open() - find a belt by its name
 * @name:	the name
 *
 * Context: may sleep.
 *
 * Return: the named, with a reference for the caller, who checks its rights;
 * ERR_PTR(-ENOENT).
 */
struct hb_named_belt *hb_registry_open(const char *name)
{
	struct hb_named_belt *named;

	mutex_lock(&names_lock);
	named = find_name(name);
	if (named)
		refcount_inc(&named->ref);
	mutex_unlock(&names_lock);
	return named ?: ERR_PTR(-ENOENT);
}

/**
 * hb_registry_next() - the next belt that the current task may know of
 * @name:	where to go on: behind this name; "" to begin
 *
 * Context: may sleep.
 *
 * Return: the named, with a reference for the caller; ERR_PTR(-ENOENT) behind
 * the last one.
 */
struct hb_named_belt *hb_registry_next(const char *name)
{
	const u32 known = HASHBELT_MAY_READ | HASHBELT_MAY_OWN;
	struct hb_named_belt *named;
	struct rb_node *next;

	mutex_lock(&names_lock);
	named = find_after(name);
	while (named && !(hb_named_belt_access(named) & known)) {
		next = rb_next(&named->node);
		named = next ? listing_of(next) : NULL;
	}
	if (named)
		refcount_inc(&named->ref);
	mutex_unlock(&names_lock);
	return named ?: ERR_PTR(-ENOENT);
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
	struct hb_named_belt *named;
	int err = 0;

	mutex_lock(&names_lock);
	named = find_name(name);
	if (!named)
		err = -ENOENT;
	else if (!(hb_named_belt_access(named) & HASHBELT_MAY_OWN))
		err = -EPERM;
	else
		names_del(named);
	mutex_unlock(&names_lock);
	if (err)
		return err;
	hashbelt_kill(named->belt);
	hb_named_belt_put(named);
	return 0;
}

/**
 * hb_registry_exit() - give up all belts; no descriptor is left
 *
 * Context: may sleep.
 */
void hb_registry_exit(void)
{
	struct hb_named_belt *named, *next;

	/* Nobody else is left, and giving up a named takes the lock. */
	rbtree_postorder_for_each_entry_safe(named, next, &names, node)
		hb_named_belt_put(named);
	names = RB_ROOT;
}

/**
 * hb_registry_has_users() - whether a user is left
 *
 * kmemleak does not report a leaked user, because the kernel's list of per-processor counters
 * refers to the counter in its account.
 *
 * Context: the module is on its way out, and hb_core_exit() has returned.
 *
 * Return: true if something was not given back that the user owned.
 */
bool hb_registry_has_users(void)
{
	return !RB_EMPTY_ROOT(&users);
}
