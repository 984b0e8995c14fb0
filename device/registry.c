// SPDX-License-Identifier: GPL-2.0-only
/*
 * The set of belts that /dev/hashbelt serves, and their users. docs/design.md says which user is
 * charged ("Memory"), and what keeps a belt ("Lifetimes"). @opener below: the credentials of the
 * task that opened the device.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "belt/ground/compat.h"
#include "belt/belts/info.h"
#include "belt/ground/memory.h"
#include "belt/belts/create.h"
#include "registry.h"
#include "rights.h"

/**
 * struct hb_user - a user whose belts have limits
 * @node:	place in the tree of users; under names_lock
 * @uid:	the user's id; constant
 * @belts:	number of the user's belts; under names_lock
 * @account:	charged for the memory of these belts. Each belt has a reference. The last one frees
 *		the user: until then user_find() returns this structure, so memory of a destroyed
 *		belt still counts
 * @pinned:	the part of @account that is charged for belts that were created pinned
 */
struct hb_user {
	struct rb_node node;
	kuid_t uid;
	unsigned int belts;
	struct hb_account account;
	struct hb_account pinned;
};

/* Names that one task looks at before others get names_lock. */
#define NAMES_BATCH	256

unsigned int hb_max_belts = 131072;
unsigned int hb_user_max_belts = 1024;

static struct rb_root names = RB_ROOT;
static struct rb_root users = RB_ROOT;
static unsigned int belts;		/* number of belts; under names_lock */
/* Protects names, users, and the counts of belts. No memory is allocated. Inside it: none. */
static DEFINE_MUTEX(names_lock);

/* NULL if @node is NULL. */
static struct hb_user *user_of(const struct rb_node *node)
{
	return rb_entry_safe(node, struct hb_user, node);
}

/* The account of a user; NULL if that is NULL. */
static struct hb_account *account_of(struct hb_user *user)
{
	return user ? &user->account : NULL;
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

/* The user has no belts, and no memory is charged to the account any more. */
static void user_release(struct hb_account *account)
{
	struct hb_user *user = container_of(account, struct hb_user, account);

	mutex_lock(&names_lock);
	if (!RB_EMPTY_NODE(&user->node))
		rb_erase(&user->node, &users);
	mutex_unlock(&names_lock);
	hb_account_exit_part(&user->pinned);
	kfree(user);
}

/* A user that is not in the tree. Not under names_lock: the allocation may take long. */
static struct hb_user *user_new(kuid_t uid)
{
	struct hb_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	if (!user)
		return NULL;
	RB_CLEAR_NODE(&user->node);
	user->uid = uid;
	if (hb_account_init(&user->account, user_release)) {
		kfree(user);
		return NULL;
	}
	if (!hb_account_init_part(&user->pinned, &user->account))
		return user;
	hb_account_put(&user->account);
	return NULL;
}

/* The user of @uid, with a reference to the account; NULL: no memory is charged to such a user. */
static struct hb_user *user_find(kuid_t uid)
{
	struct hb_user *user = user_of(rb_find(&uid, &users, compare_uid));

	lockdep_assert_held(&names_lock);
	if (!user || refcount_inc_not_zero(&user->account.ref))
		return user;
	/* It is about to be released: another one takes its place. */
	rb_erase(&user->node, &users);
	RB_CLEAR_NODE(&user->node);
	return NULL;
}

/* Return: 0 if a user may have one belt more; NULL: a belt without an account. */
static int may_add(const struct hb_user *user)
{
	/* A module parameter: the kernel sets it by plain writes. */
	unsigned int most = data_race(READ_ONCE(hb_max_belts));
	/* A module parameter: the kernel sets it by plain writes. */
	unsigned int most_of_user = data_race(READ_ONCE(hb_user_max_belts));

	/* Users leave an eighth to belts without an account, as with the module's memory. */
	if (belts >= (user ? most - most / 8 : most))
		return -ENOSPC;
	if (user && user->belts >= most_of_user)
		return -EDQUOT;
	return 0;
}

/*
 * The user of @uid; a missing one is made, with a reference to the account; NULL: no memory. Drops
 * names_lock for a while.
 */
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
	hb_account_put(account_of(spare));
	mutex_lock(&names_lock);
	return user;
}

/* The user to whose account the current task's belts are charged. */
static kuid_t account_uid(void)
{
	const struct user_namespace *ns = current_user_ns();
	kuid_t uid = current_fsuid();

	for (; ns != &init_user_ns; ns = ns->parent)
		uid = ns->owner;
	return uid;
}

/*
 * The user of the current task, with one belt more; NULL: its belts have no account, nor have
 * those of @opener. ERR_PTR() if that is beyond a limit.
 */
static struct hb_user *user_get(const struct cred *opener)
{
	struct hb_user *user = NULL;
	int err = 0;

	mutex_lock(&names_lock);
	if (!hb_are_capable(CAP_SYS_RESOURCE, opener)) {
		user = user_find_or_add(account_uid());
		err = user ? 0 : -ENOMEM;
	}
	err = err ?: may_add(user);
	if (!err) {
		belts++;
		if (user)
			user->belts++;
	}
	mutex_unlock(&names_lock);
	if (!err)
		return user;
	hb_account_put(account_of(user));
	return ERR_PTR(err);
}

/* @user may be NULL. */
static void uncount_belt(struct hb_user *user)
{
	lockdep_assert_held(&names_lock);
	belts--;
	if (user)
		user->belts--;
}

/* Undoes user_get(). */
static void user_put(struct hb_user *user)
{
	mutex_lock(&names_lock);
	uncount_belt(user);
	mutex_unlock(&names_lock);
	hb_account_put(account_of(user));
}

/* NULL if @node is NULL. */
static struct hb_named_belt *named_of(const struct rb_node *node)
{
	return rb_entry_safe(node, struct hb_named_belt, node);
}

static int compare_name(const void *name, const struct rb_node *node)
{
	return strcmp(name, named_of(node)->name);
}

static int compare_nodes(struct rb_node *a, const struct rb_node *b)
{
	return compare_name(named_of(a)->name, b);
}

/* Return: 0 for each belt whose name comes after @name. */
static int compare_after(const void *name, const struct rb_node *node)
{
	return compare_name(name, node) >= 0;
}

static struct hb_named_belt *find_name(const char *name)
{
	lockdep_assert_held(&names_lock);
	return named_of(rb_find(name, &names, compare_name));
}

/* The belt is destroyed: calls that go on must not take the place of its owner's next belts. */
static void stop_counting(struct hb_named_belt *named)
{
	lockdep_assert_held(&names_lock);
	if (named->counted)
		uncount_belt(named->user);
	named->counted = false;
}

/* Context: may sleep. */
void hb_named_belt_put(struct hb_named_belt *named)
{
	if (!refcount_dec_and_test(&named->ref))
		return;
	hb_destroy(named->belt);
	mutex_lock(&names_lock);
	stop_counting(named);
	mutex_unlock(&names_lock);
	hb_account_put(account_of(named->user));
	kfree_rcu(named, rcu);
}

/* Describes a belt to the current task, for which it has these rights. Context: may sleep. */
void hb_named_belt_info(const struct hb_named_belt *named, u32 access, struct hashbelt_info *info)
{
	memset(info, 0, sizeof(*info));
	hb_info(named->belt, info);
	memcpy(info->name, named->name, sizeof(info->name));
	hb_info_rights(named, info);
	info->access = access;
	if (!*named->name)
		info->state |= HASHBELT_NAMELESS;
}

/*
 * Sets those of group, mode and consumers that @fields, HASHBELT_SET_*, names, in one step.
 * @rights: from hb_rights(). Descriptors that are bound keep their rights. Context: may sleep.
 */
void hb_named_belt_set_rights(struct hb_named_belt *named, u64 rights, u32 fields)
{
	mutex_lock(&names_lock);
	WRITE_ONCE(named->rights, hb_rights_with(named->rights, rights, fields));
	mutex_unlock(&names_lock);
}

/* Makes a belt for a user, whose number of belts has been raised; NULL: without an account. */
static struct hb_named_belt *named_new(struct hb_user *user, const struct hashbelt_config *config)
{
	struct hb_named_belt *named = kzalloc(sizeof(*named), GFP_KERNEL_ACCOUNT);
	struct hashbelt_config charged = *config;
	bool pinned = config->policy & HASHBELT_PINNED;
	int err;

	if (!named)
		return ERR_PTR(-ENOMEM);
	charged.overwrites = true;
	charged.account = !user ? NULL : pinned ? &user->pinned : &user->account;
	named->belt = hb_create_patiently(&charged);
	if (IS_ERR(named->belt)) {
		err = PTR_ERR(named->belt);
		kfree(named);
		return ERR_PTR(err);
	}
	named->user = user;
	named->pinnable = !user || pinned;
	named->uid = current_fsuid();
	named->counted = true;
	spin_lock_init(&named->lock);
	INIT_LIST_HEAD(&named->sessions);
	refcount_set(&named->ref, 1);
	return named;
}

/*
 * Makes a belt that the current task owns. @name: HASHBELT_NAME_SIZE bytes; empty for none.
 * @rights: from hb_rights(). @config: its @account is ignored. @opener: NULL for the module itself.
 * Return: the belt, with a reference for the caller; ERR_PTR(-EEXIST) if the name is taken;
 * ERR_PTR(-EACCES) if it is that of the default belt and the task or @opener has not CAP_SYS_ADMIN
 * in the initial user namespace; ERR_PTR(-ENOSPC) or ERR_PTR(-EDQUOT) at the limit of belts in all
 * or of the user; an error of hb_create_patiently(). Context: may sleep.
 */
struct hb_named_belt *hb_registry_create(const char *name, u64 rights,
					 const struct hashbelt_config *config,
					 const struct cred *opener)
{
	struct hb_named_belt *named;
	struct hb_user *user;
	bool taken;

	/*
	 * Every program that names no belt puts into this one, and its owner could read their
	 * entries.
	 */
	if (!strcmp(name, HASHBELT_DEFAULT_BELT) && !hb_are_capable(CAP_SYS_ADMIN, opener))
		return ERR_PTR(-EACCES);
	user = user_get(opener);
	if (IS_ERR(user))
		return ERR_CAST(user);
	named = named_new(user, config);
	if (IS_ERR(named)) {
		user_put(user);
		return named;
	}
	named->rights = rights;
	memcpy(named->name, name, sizeof(named->name));
	if (!*name)
		return named;
	mutex_lock(&names_lock);
	taken = rb_find_add(&named->node, &names, compare_nodes);
	if (!taken)
		refcount_inc(&named->ref);
	mutex_unlock(&names_lock);
	if (taken) {
		hb_named_belt_put(named);
		return ERR_PTR(-EEXIST);
	}
	return named;
}

/*
 * Finds a belt by its name. Return: it with a reference for the caller, which checks its rights; or
 * ERR_PTR(-ENOENT). Context: may sleep.
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

/*
 * The first belt after @name that the caller may read or configure, with a reference, and the
 * caller's rights in @access; NULL: none of the next NAMES_BATCH. @name is then the last of these,
 * or empty at the end of the tree.
 */
static struct hb_named_belt *next_known(char name[HASHBELT_NAME_SIZE], const struct cred *opener,
					u32 *access)
{
	const u32 known = HASHBELT_MAY_READ | HASHBELT_MAY_OWN;
	struct hb_named_belt *named;
	unsigned int names_left;

	lockdep_assert_held(&names_lock);
	named = named_of(rb_find_first(name, &names, compare_after));
	for (names_left = NAMES_BATCH; named; named = named_of(rb_next(&named->node))) {
		*access = hb_named_belt_access(named, opener);
		if (*access & known) {
			refcount_inc(&named->ref);
			return named;
		}
		memcpy(name, named->name, HASHBELT_NAME_SIZE);
		if (!--names_left)
			return NULL;
	}
	*name = 0;
	return NULL;
}

/*
 * The next belt after @after ("" for the first) that the current task and @opener may read or
 * configure, with a reference for the caller, and their rights in @access; ERR_PTR(-ENOENT) after
 * the last one; ERR_PTR(-EINTR): the task is being killed. Context: may sleep.
 */
struct hb_named_belt *hb_registry_next(const char *after, const struct cred *opener, u32 *access)
{
	struct hb_named_belt *named;
	char name[HASHBELT_NAME_SIZE];

	memcpy(name, after, sizeof(name));
	do {
		/* Each open and close of the device needs this lock. */
		if (mutex_lock_killable(&names_lock))
			return ERR_PTR(-EINTR);
		named = next_known(name, opener, access);
		mutex_unlock(&names_lock);
		cond_resched();
	} while (!named && *name);
	return named ?: ERR_PTR(-ENOENT);
}

/*
 * Takes a belt out of the tree, by its name. Return: it, with the reference of the tree for the
 * caller, which destroys it; ERR_PTR(-ENOENT), also if the current task has no right to it;
 * ERR_PTR(-EPERM) if the task or @opener is not its owner. Context: may sleep.
 */
struct hb_named_belt *hb_registry_remove(const char *name, const struct cred *opener)
{
	struct hb_named_belt *named;
	u32 access;

	mutex_lock(&names_lock);
	named = find_name(name);
	access = named ? hb_named_belt_access(named, opener) : 0;
	if (!access) {
		named = ERR_PTR(-ENOENT);
	} else if (!(access & HASHBELT_MAY_OWN)) {
		named = ERR_PTR(-EPERM);
	} else {
		rb_erase(&named->node, &names);
		stop_counting(named);
	}
	mutex_unlock(&names_lock);
	return named;
}

/*
 * Gives up the caller's reference to a belt, and waits until the memory of the belts that its owner
 * has given up is not charged to the owner any more. See hb_wait_for_frees().
 */
void hb_named_belt_put_wait(struct hb_named_belt *named)
{
	struct hb_account *account = hb_account_get(account_of(named->user));

	hb_named_belt_put(named);
	if (account)
		hb_wait_for_frees(account);
	hb_account_put(account);
}

/* Gives up all belts; no descriptor is open. Context: may sleep. */
void hb_registry_exit(void)
{
	struct hb_named_belt *named, *next;

	/* No other task uses the tree, and hb_named_belt_put() takes names_lock. */
	rbtree_postorder_for_each_entry_safe(named, next, &names, node)
		hb_named_belt_put(named);
	names = RB_ROOT;
}

/*
 * After hb_core_exit(): true if a user is left, because not all that it owned was given back.
 * kmemleak does not report a leaked user, because the kernel's list of per-CPU counters refers to
 * the counter in its account.
 */
bool hb_registry_has_users(void)
{
	return !RB_EMPTY_ROOT(&users);
}
