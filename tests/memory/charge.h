/* SPDX-License-Identifier: GPL-2.0-only */
/* charge.h - the memory that is charged to a cgroup of version 2. GROUP is its directory. */
#ifndef _CHARGE_H
#define _CHARGE_H

#include <sys/stat.h>

#include "process.h"

/* Figures of memory.stat, bytes. */
struct charge {
	long long slab;
	long long percpu;
	long long vmalloc;
	long long kernel;
};

/*
 * Adds what each processor has counted to memory.stat. A read of memory.stat alone leaves small
 * counts with their processors for up to two seconds. On Linux 6.1 a read of cpu.stat collects the
 * statistics of all controllers of the group. On 7.3 it does not, and a read of memory.stat
 * collects them if more than 64 pages for each processor have changed.
 */
static inline void collect_statistics(void)
{
	size_t pages = 64 * (sysconf(_SC_NPROCESSORS_ONLN) + 4);
	char text[1024];
	int fd;

	if (!touch_pages(pages * PAGE))
		bail_out("mmap: %s", strerror(errno));
	fd = open(GROUP "cpu.stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text)) <= 0)
		bail_out("cpu.stat: %s", strerror(errno));
	close(fd);
}

static inline struct charge charged(void)
{
	struct charge charge = {};
	long long bytes;
	char name[64];
	FILE *file;

	collect_statistics();
	file = fopen(GROUP "memory.stat", "r");
	if (!file)
		bail_out("memory.stat: %s", strerror(errno));
	while (fscanf(file, "%63s %lld", name, &bytes) == 2) {
		if (!strcmp(name, "slab"))
			charge.slab = bytes;
		else if (!strcmp(name, "percpu"))
			charge.percpu = bytes;
		else if (!strcmp(name, "vmalloc"))
			charge.vmalloc = bytes;
		else if (!strcmp(name, "kernel"))
			charge.kernel = bytes;
	}
	fclose(file);
	return charge;
}

static inline struct charge charged_since(struct charge before)
{
	struct charge now = charged();

	return (struct charge){
		now.slab - before.slab, now.percpu - before.percpu,
		now.vmalloc - before.vmalloc, now.kernel - before.kernel,
	};
}

/* Moves this process into the group. False: there is no cgroup of version 2 with memory. */
static inline bool enter_group(void)
{
	return write_line("/sys/fs/cgroup/cgroup.subtree_control", "+memory") &&
	       (!mkdir(GROUP, 0755) || errno == EEXIST) && write_line(GROUP "cgroup.procs", "0");
}

#endif /* _CHARGE_H */
