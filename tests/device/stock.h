/* SPDX-License-Identifier: GPL-2.0-only */
/* stock.h - memory figures of the kernel. */
#ifndef _STOCK_H
#define _STOCK_H

#include "device.h"

/* The number after @word at the start of a line of the file @path, in the file's own unit. */
static inline unsigned long long proc_number(const char *path, const char *word)
{
	unsigned long long number = 0;
	char line[128];
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word)))
			number = strtoull(line + strlen(word), NULL, 10);
	if (file)
		fclose(file);
	return number;
}

/* A number of /proc/meminfo, in bytes. */
static inline __u64 memory_number(const char *word)
{
	return 1024 * proc_number("/proc/meminfo", word);
}

/*
 * Free pages in the per-CPU page lists. They can hold tens of MiB that MemAvailable does
 * not include, so freed memory may be here.
 */
static inline __u64 listed_bytes(void)
{
	FILE *file = fopen("/proc/zoneinfo", "r");
	__u64 pages = 0, count;
	char line[128];

	if (!file)
		bail_out("/proc/zoneinfo: %s", strerror(errno));
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, " count: %llu", &count) == 1)
			pages += count;
	fclose(file);
	return pages * PAGE;
}

/* Available memory, including the per-CPU page lists. */
static inline __u64 available_bytes(void)
{
	return memory_number("MemAvailable:") + listed_bytes();
}

/* The number of slab caches for entries; @bytes is set to the size of their slabs. */
static inline unsigned int slab_caches(__u64 *bytes)
{
	unsigned long long slabs, pages;
	FILE *file = fopen("/proc/slabinfo", "r");
	char line[512], *data;
	unsigned int found = 0;

	*bytes = 0;
	while (file && fgets(line, sizeof(line), file)) {
		data = strstr(line, ": slabdata");
		if (!data || sscanf(data, ": slabdata %*u %llu", &slabs) != 1 ||
		    sscanf(line, "hashbelt_entry%*s %*u %*u %*u %*u %llu", &pages) != 1)
			continue;
		*bytes += slabs * pages * PAGE;
		found++;
	}
	if (!file)
		bail_out("/proc/slabinfo: %s", strerror(errno));
	fclose(file);
	return found;
}

#endif /* _STOCK_H */
