// SPDX-License-Identifier: GPL-2.0
/*
 * charge_test - entries, descriptors and bindings are charged to the memory cgroup of the
 * task that makes them.
 *
 * The test moves itself into a cgroup of version 2 and compares memory.stat before and
 * after it makes many objects of one kind. Lower bounds come from the sizes that the test
 * passes in. Upper bounds catch a second kind of memory in the same statistic. Needs the
 * superuser.
 */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <sys/stat.h>

#include "process.h"

#define TESTS	12

#define GROUP	"/sys/fs/cgroup/hashbelt-charge/"
#define MANY	1000
#define NOISE	(128 * 1024LL)	/* what each processor may hold back, and other objects */

struct charge {
	long long slab;
	long long percpu;
	long long vmalloc;
	long long kernel;
};

static struct charge charged(void)
{
	struct charge charge = {};
	char line[128];
	FILE *file = fopen(GROUP "memory.stat", "r");

	if (!file)
		bail_out("memory.stat: %s", strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "slab %lld", &charge.slab);
		sscanf(line, "percpu %lld", &charge.percpu);
		sscanf(line, "vmalloc %lld", &charge.vmalloc);
		sscanf(line, "kernel %lld", &charge.kernel);
	}
	fclose(file);
	return charge;
}

static struct charge charged_since(struct charge before)
{
	struct charge now = charged();

	return (struct charge){
		now.slab - before.slab, now.percpu - before.percpu,
		now.vmalloc - before.vmalloc, now.kernel - before.kernel,
	};
}

static void is_within(long long bytes, long long least, long long most, const char *what,
		      unsigned int size)
{
	ok(bytes >= least && bytes <= most, "%s of %u bytes: memory.stat grows by their size",
	   what, size);
	note("%lld bytes, expected %lld to %lld", bytes, least, most);
}

/* Values that lie in a slab cache of the module. */
static void test_slab(__u32 len)
{
	int belt = new_belt(HASHBELT_PINNED);
	struct charge before = charged(), more;
	unsigned int i;

	for (i = 0; i < 4 * MANY; i++)
		if (put_zeros(belt, i, len, HASHBELT_TTL_NEVER))
			bail_out("put of %u bytes", len);
	more = charged_since(before);
	is_within(more.slab, 4LL * MANY * (len + 48), 4LL * MANY * (len + len / 4 + 160) + NOISE,
		  "values in slab caches", len);
}

/* Values in whole pages: 40 of them. */
static void test_pages(__u32 len, bool in_vmalloc)
{
	int belt = new_belt(HASHBELT_PINNED);
	struct charge before = charged(), more;
	unsigned int i;

	for (i = 0; i < 40; i++)
		if (put_zeros(belt, i, len, HASHBELT_TTL_NEVER))
			bail_out("put of %u bytes", len);
	more = charged_since(before);
	is_within(more.kernel, 40LL * len - NOISE, 40LL * (len + len / 3 + 8192) + 4 * NOISE,
		  "values in pages", len);
	if (in_vmalloc)
		is_within(more.vmalloc, 40LL * len, 40LL * (len + 8192), "values in vmalloc space",
			  len);
}

/* Nothing is closed before the end: what is freed late would show in the next measurement. */
static int *fds;

static long long slab_of_open(const char *path)
{
	struct charge before;
	unsigned int i;

	fds = malloc(MANY * sizeof(*fds));
	before = charged();
	for (i = 0; i < MANY; i++) {
		fds[i] = open(path, O_RDWR | O_CLOEXEC);
		if (fds[i] < 0)
			bail_out("%s: %s", path, strerror(errno));
	}
	return charged_since(before).slab;
}

static void test_descriptors(void)
{
	long long null, device;
	struct charge before;
	unsigned int i;
	int owner = open_device(O_RDWR);

	null = slab_of_open("/dev/null");
	device = slab_of_open(HASHBELT_DEVICE);
	note("a descriptor: %lld bytes, one of /dev/null: %lld", device / MANY, null / MANY);
	ok(device - null >= 64LL * MANY, "a descriptor of the device is charged to the cgroup");
	must(owner, HASHBELT_IOC_CREATE, &(struct hashbelt_settings){
		.name = "charge", .ttl_ms = TTL, .mode = 0600 });
	before = charged();
	for (i = 0; i < MANY; i++)
		if (open_belt(fds[i], "charge"))
			bail_out("open of a belt");
	null = charged_since(before).slab;
	note("a binding: %lld bytes", null / MANY);
	ok(null >= 48LL * MANY, "a binding to a belt is charged to the cgroup");
	destroy_belt(owner, "charge");
}

int main(void)
{
	static const __u32 sizes[] = { 8, 100, 200, 400, 800, 1500, 3000 };
	struct rlimit files = { 8 * MANY, 8 * MANY };
	unsigned int i;

	if (!write_line("/sys/fs/cgroup/cgroup.subtree_control", "+memory") ||
	    (mkdir(GROUP, 0755) && errno != EEXIST) || !write_line(GROUP "cgroup.procs", "0")) {
		printf("1..0 # SKIP there is no cgroup of version 2 with memory here\n");
		return 0;
	}
	plan(TESTS);
	if (setrlimit(RLIMIT_NOFILE, &files))
		bail_out("setrlimit: %s", strerror(errno));
	/* The table of descriptors grows now, not while something is measured. */
	if (dup2(0, 8 * MANY - 1) < 0)
		bail_out("dup2: %s", strerror(errno));
	set_number("user_max_belts", 4 * MANY);
	set_number("max_bytes", 1ULL << 40);
	set_number("user_max_bytes", 1ULL << 40);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		test_slab(sizes[i]);
	test_pages(65536 - 256, false);
	test_pages(65536 + 256, true);
	test_descriptors();
	return done_testing();
}
