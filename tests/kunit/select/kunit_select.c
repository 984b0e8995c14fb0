// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chooses the KUnit cases that a test module runs.
 *
 * KUnit of 6.1 filters the suites that are built in, and not those of a module. It runs the suites
 * of a module before the parameters of that module are read. So this module is loaded first: it is
 * notified of each test module before KUnit is, and removes the cases that no pattern matches from
 * the suites.
 */
#include <kunit/test.h>
#include <linux/glob.h>
#include <linux/module.h>
#include <linux/notifier.h>

#define PATTERNS_MAX	32

static char *only = "";
module_param(only, charp, 0400);
MODULE_PARM_DESC(only, "patterns of \"suite.case\", \"suite\" or \"case\", between commas");

static char *patterns[PATTERNS_MAX];
static bool matched[PATTERNS_MAX];

/* init reads the patterns that have matched no case. */
static int get_unmatched(char *buffer, const struct kernel_param *param)
{
	unsigned int i;
	int len = 0;

	for (i = 0; i < PATTERNS_MAX && patterns[i]; i++)
		if (!matched[i])
			len += sysfs_emit_at(buffer, len, "%s ", patterns[i]);
	return len;
}

static const struct kernel_param_ops unmatched_ops = { .get = get_unmatched };
module_param_cb(unmatched, &unmatched_ops, NULL, 0400);

static bool is_chosen(const struct kunit_suite *suite, const struct kunit_case *test_case)
{
	char name[KUNIT_PARAM_DESC_SIZE * 2];
	bool chosen = false;
	unsigned int i;

	snprintf(name, sizeof(name), "%s.%s", suite->name, test_case->name);
	for (i = 0; i < PATTERNS_MAX && patterns[i]; i++) {
		if (!glob_match(patterns[i], name) && !glob_match(patterns[i], suite->name) &&
		    !glob_match(patterns[i], test_case->name))
			continue;
		matched[i] = true;
		chosen = true;
	}
	return chosen;
}

/* Moves the chosen cases to the front of the array, which an empty case ends. */
static bool choose_cases(struct kunit_suite *suite)
{
	struct kunit_case *from, *to = suite->test_cases;

	for (from = to; from->run_case; from++)
		if (is_chosen(suite, from))
			*to++ = *from;
	*to = (struct kunit_case){};
	return to != suite->test_cases;
}

static int module_event(struct notifier_block *block, unsigned long event, void *data)
{
	struct module *module = data;
	int i, suites = 0;

	if (event != MODULE_STATE_COMING)
		return NOTIFY_OK;
	for (i = 0; i < module->num_kunit_suites; i++)
		if (choose_cases(module->kunit_suites[i]))
			module->kunit_suites[suites++] = module->kunit_suites[i];
	module->num_kunit_suites = suites;
	return NOTIFY_OK;
}

/* Before KUnit, which has priority 0. */
static struct notifier_block module_block = { .notifier_call = module_event, .priority = 1 };

static int __init kunit_select_init(void)
{
	char *rest = only;
	unsigned int i;

	for (i = 0; rest && i < PATTERNS_MAX; i++)
		patterns[i] = strsep(&rest, ",");
	if (rest)
		return -E2BIG;
	return register_module_notifier(&module_block);
}

static void __exit kunit_select_exit(void)
{
	unregister_module_notifier(&module_block);
}

module_init(kunit_select_init);
module_exit(kunit_select_exit);

MODULE_DESCRIPTION("Chooses KUnit cases of modules by name");
MODULE_LICENSE("GPL");
