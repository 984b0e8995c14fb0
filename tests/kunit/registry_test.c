// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry: how long a listing of belts holds the lock of their names, which each open and
 * close of the device needs. device/rights.c and device/registry.c are included, so that a case can
 * count.
 *
 * Hostile user: makes any number of belts that another user may not see; result: `NEXT` looks at
 * 256 names at most under the lock that `open` and `close` need.
 */
#include <kunit/test.h>
#include <linux/cred.h>
#include <linux/mutex.h>

#include "belt.h"
#include "belt/belts/create.h"

/* How a task holds the lock of the names. */
static struct holds {
	unsigned int count;	/* how often it has taken the lock */
	unsigned int looks;	/* names whose rights it has looked at since then */
	unsigned int most;	/* the most of these while it held the lock once */
} holds;

static int count_hold(struct mutex *lock)
{
	holds.count++;
	holds.looks = 0;
	return mutex_lock_killable(lock);
}

/* A task without capabilities looks at the group of each belt that it does not own. */
static int count_look(kgid_t gid)
{
	holds.most = max(holds.most, ++holds.looks);
	return in_group_p(gid);
}

#undef mutex_lock_killable
#define mutex_lock_killable count_hold
#define in_group_p count_look
#include "device/rights.c"
#include "device/registry.c"

#define HIDDEN	600u
#define USER	1000

static void make_belt(struct kunit *test, const char *text, umode_t mode)
{
	struct hashbelt_config config = {};
	char name[HASHBELT_NAME_SIZE] = "";
	struct hb_named_belt *named;

	snprintf(name, sizeof(name), "%s", text);
	named = hb_registry_create(name, hb_rights(GLOBAL_ROOT_GID, mode, 0), &config,
				   current_cred());
	KUNIT_ASSERT_FALSE(test, IS_ERR(named));
	hb_named_belt_put(named);
}

/* The credentials of a user without capabilities. */
static struct cred *user_cred(struct kunit *test)
{
	struct cred *cred = prepare_creds();

	KUNIT_ASSERT_NOT_NULL(test, cred);
	cred->fsuid = KUIDT_INIT(USER);
	cred->fsgid = KGIDT_INIT(USER);
	cap_clear(cred->cap_effective);
	return cred;
}

/* Other users choose how many belts there are that this one may not see. */
static void a_listing_looks_at_a_batch_of_names_each_time_it_has_the_lock(struct kunit *test)
{
	struct cred *user = user_cred(test);
	struct hb_named_belt *named;
	const struct cred *root;
	unsigned int i;
	char name[16];
	u32 access;

	for (i = 0; i < HIDDEN; i++) {
		snprintf(name, sizeof(name), "hidden %u", i);
		make_belt(test, name, 0600);
	}
	make_belt(test, "readable", 0604);
	root = override_creds(user);
	named = hb_registry_next("", user, &access);
	revert_creds(root);
	put_cred(user);
	KUNIT_ASSERT_FALSE(test, IS_ERR(named));
	KUNIT_EXPECT_STREQ(test, named->name, "readable");
	KUNIT_EXPECT_EQ(test, access, (u32)(HASHBELT_MAY_READ | HASHBELT_MAY_CONSUME));
	KUNIT_EXPECT_EQ(test, holds.most, (unsigned int)NAMES_BATCH);
	KUNIT_EXPECT_EQ(test, holds.count, HIDDEN / NAMES_BATCH + 1);
	kunit_info(test, "%u names: %u at most each time that the lock is held\n", HIDDEN + 1,
		   holds.most);
	hb_named_belt_put(named);
}

/* SELinux gives the task that loads modules at boot no CAP_SYS_ADMIN. */
static void the_module_makes_the_default_belt_for_a_task_without_capabilities(struct kunit *test)
{
	static const char name[HASHBELT_NAME_SIZE] = HASHBELT_DEFAULT_BELT;
	struct hashbelt_config config = {};
	struct cred *user = user_cred(test);
	struct hb_named_belt *refused, *named;
	const struct cred *root;

	root = override_creds(user);
	refused = hb_registry_create(name, hb_rights(GLOBAL_ROOT_GID, 0600, 0), &config, user);
	named = hb_registry_create(name, hb_rights(GLOBAL_ROOT_GID, 0600, 0), &config, NULL);
	revert_creds(root);
	put_cred(user);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(refused), -EACCES);
	KUNIT_ASSERT_FALSE(test, IS_ERR(named));
	KUNIT_EXPECT_PTR_EQ(test, named->user, (struct hb_user *)NULL);
	hb_named_belt_put(named);
}

/* With lockdep, which the guests of tests/device do not have. */
static void the_owner_removes_a_belt_and_its_name(struct kunit *test)
{
	const struct cred *root = current_cred();
	struct cred *user = user_cred(test);
	struct hb_named_belt *refused, *removed;

	make_belt(test, "kept", 0604);
	override_creds(user);
	refused = hb_registry_remove("kept", user);
	revert_creds(root);
	put_cred(user);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(refused), -EPERM);
	removed = hb_registry_remove("kept", root);
	KUNIT_ASSERT_FALSE(test, IS_ERR(removed));
	KUNIT_EXPECT_STREQ(test, removed->name, "kept");
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(hb_registry_remove("kept", root)), -ENOENT);
	hb_named_belt_put_wait(removed);
}

static int registry_test_init(struct kunit *test)
{
	holds = (struct holds){};
	return hb_core_init();
}

static void registry_test_exit(struct kunit *test)
{
	hb_registry_exit();
	hb_core_exit();
	KUNIT_EXPECT_FALSE(test, hb_registry_has_users());
}

static struct kunit_case registry_cases[] = {
	KUNIT_CASE(a_listing_looks_at_a_batch_of_names_each_time_it_has_the_lock),
	KUNIT_CASE(the_module_makes_the_default_belt_for_a_task_without_capabilities),
	KUNIT_CASE(the_owner_removes_a_belt_and_its_name),
	{}
};

TEST_SUITE(registry, registry_test_init, registry_test_exit);
