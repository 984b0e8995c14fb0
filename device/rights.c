// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rights of tasks to belts. A right counts only if both the current task and the task that
 * opened the device have it: see docs/hashbelt.4, "Sessions and rights". @opener below: the
 * credentials of the latter.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "named_belt.h"
#include "rights.h"

static bool task_is_capable(int capability)
{
	/*
	 * Benign race in the kernel: it notes in a task's flags that the task has used a privilege,
	 * and readers of /proc read the flags plainly.
	 */
	return data_race(ns_capable_noaudit(&init_user_ns, capability));
}

/* The bits that @rights returns for @arg both for the current task and for @opener. */
static u32 common_rights(u32 (*rights)(const void *arg), const void *arg,
			 const struct cred *opener)
{
	const struct cred *task;
	u32 common = rights(arg);

	if (!common || opener == current_cred())
		return common;
	task = override_creds(opener);
	common &= rights(arg);
	revert_creds(task);
	return common;
}

static u32 capability_right(const void *capability)
{
	return task_is_capable(*(const int *)capability);
}

/*
 * Whether both the current task and @opener have a capability in the initial user namespace. The
 * module itself, for which @opener is NULL, has all: a security module may give the task that loads
 * modules few others.
 */
bool hb_are_capable(int capability, const struct cred *opener)
{
	return !opener || common_rights(capability_right, &capability, opener);
}

/* In the rights of a belt, beside group and mode: only the owner consumes events. */
#define OWNER_CONSUMES	BIT(16)

/* The rights of a belt in one word. @mode: at most 0666; @consumers: an enum hashbelt_consumers. */
u64 hb_rights(kgid_t gid, umode_t mode, u32 consumers)
{
	return (u64)__kgid_val(gid) << 32 | mode |
	       (consumers == HASHBELT_CONSUMERS_OWNER ? OWNER_CONSUMES : 0);
}

static kgid_t gid_of(u64 rights)
{
	return KGIDT_INIT(rights >> 32);
}

static umode_t mode_of(u64 rights)
{
	return rights & 0666;
}

/*
 * Root in a container has uid 0 and few capabilities, and does not own what root made outside of
 * it: a belt without an account.
 */
static bool is_owner(const struct hb_named_belt *named)
{
	if (!uid_eq(current_fsuid(), named->uid))
		return false;
	return !uid_eq(named->uid, GLOBAL_ROOT_UID) || named->user ||
	       task_is_capable(CAP_SYS_RESOURCE);
}

/* Whether the current task may give a belt to a group. */
static u32 group_right(const void *gid)
{
	return in_group_p(*(const kgid_t *)gid) || task_is_capable(CAP_SYS_ADMIN);
}

/*
 * Finds the group that @number is in the current task's user namespace. Return: 0 with *@gid set;
 * -EINVAL if there is no such group; -EPERM if the task or @opener is no member of it, and has not
 * CAP_SYS_ADMIN in the initial user namespace.
 */
int hb_group(u32 number, const struct cred *opener, kgid_t *gid)
{
	*gid = make_kgid(current_user_ns(), number);
	if (!gid_valid(*gid))
		return -EINVAL;
	return common_rights(group_right, gid, opener) ? 0 : -EPERM;
}

/* A container's root, which has uid 0 and few capabilities, cannot pass its belts off as root's. */
bool hb_named_belt_is_of(const struct hb_named_belt *named, kuid_t owner)
{
	return uid_eq(named->uid, owner) && (!uid_eq(owner, GLOBAL_ROOT_UID) || !named->user);
}

/* A belt, and its rights at one moment. */
struct access_to {
	const struct hb_named_belt *named;
	u64 rights;
};

/*
 * The HASHBELT_MAY_* rights of the current task alone. As with files the first of owner, group and
 * others that fits decides. The owner, and a task with CAP_SYS_ADMIN in the initial user namespace,
 * may configure. See is_owner() for uid 0.
 */
static u32 access_right(const void *arg)
{
	const struct hb_named_belt *named = ((const struct access_to *)arg)->named;
	u64 rights = ((const struct access_to *)arg)->rights;
	umode_t mode = mode_of(rights);
	u32 access = 0;

	if (task_is_capable(CAP_SYS_ADMIN))
		return HASHBELT_MAY_READ | HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN |
		       HASHBELT_MAY_CONSUME;
	if (is_owner(named)) {
		access = HASHBELT_MAY_OWN;
		mode >>= 6;
	} else if (in_group_p(gid_of(rights))) {
		mode >>= 3;
	}
	if (mode & 04)
		access |= HASHBELT_MAY_READ;
	if (mode & 02)
		access |= HASHBELT_MAY_WRITE;
	if (access & HASHBELT_MAY_READ &&
	    (access & HASHBELT_MAY_OWN || !(rights & OWNER_CONSUMES)))
		access |= HASHBELT_MAY_CONSUME;
	return access;
}

/* The HASHBELT_MAY_* rights on a belt that both the current task and @opener have. */
u32 hb_named_belt_access(const struct hb_named_belt *named, const struct cred *opener)
{
	struct access_to to = { .named = named, .rights = READ_ONCE(named->rights) };

	return common_rights(access_right, &to, opener);
}

/*
 * Whether the current task may set HASHBELT_PINNED on a belt. Unless the belt is pinnable, both the
 * task and @opener need CAP_SYS_RESOURCE in the initial user namespace.
 */
bool hb_named_belt_may_pin(const struct hb_named_belt *named, const struct cred *opener)
{
	return named->pinnable || hb_are_capable(CAP_SYS_RESOURCE, opener);
}

/* Shows the current task the owner and the rights of a belt. */
void hb_info_rights(const struct hb_named_belt *named, struct hashbelt_info *info)
{
	u64 rights = READ_ONCE(named->rights);

	info->mode = mode_of(rights);
	info->uid = from_kuid_munged(current_user_ns(), named->uid);
	info->gid = from_kgid_munged(current_user_ns(), gid_of(rights));
	if (rights & OWNER_CONSUMES)
		info->state |= HASHBELT_OWNER_CONSUMES;
}

/*
 * Return: @rights with those of group, mode and consumers of @other that @fields, HASHBELT_SET_*,
 * names.
 */
u64 hb_rights_with(u64 rights, u64 other, u32 fields)
{
	u64 mask = 0;

	if (fields & HASHBELT_SET_GID)
		mask |= GENMASK_ULL(63, 32);
	if (fields & HASHBELT_SET_MODE)
		mask |= 0666;
	if (fields & HASHBELT_SET_CONSUMERS)
		mask |= OWNER_CONSUMES;
	return (rights & ~mask) | (other & mask);
}
