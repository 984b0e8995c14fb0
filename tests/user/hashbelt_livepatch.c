// SPDX-License-Identifier: GPL-2.0-only
/*
 * hashbelt_livepatch - a live patch of a function of the kernel itself, for tests/life/livepatch.t.
 */
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/seq_file.h>

static int patched_cmdline_proc_show(struct seq_file *file, void *data)
{
	seq_puts(file, "patched\n");
	return 0;
}

static struct klp_func funcs[] = {
	{ .old_name = "cmdline_proc_show", .new_func = patched_cmdline_proc_show },
	{ }
};

/* Without a name it is the kernel. */
static struct klp_object objects[] = {
	{ .funcs = funcs },
	{ }
};

static struct klp_patch patch = {
	.mod = THIS_MODULE,
	.objs = objects,
};

static int __init livepatch_init(void)
{
	return klp_enable_patch(&patch);
}

/* The kernel removes a patch only after it has been disabled. */
static void __exit livepatch_exit(void)
{
}

module_init(livepatch_init);
module_exit(livepatch_exit);
MODULE_LICENSE("GPL");
MODULE_INFO(livepatch, "Y");
MODULE_DESCRIPTION("Live patch for a test of hashbelt");
