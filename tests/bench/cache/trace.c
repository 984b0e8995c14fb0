// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>

#include "trace.h"

void trace_free(struct trace *trace)
{
	free(trace->requests);
	*trace = (struct trace){ 0 };
}

void *zalloc(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory) {
		fprintf(stderr, "no memory for %zu objects of %zu bytes\n", count, size);
		exit(4);
	}
	return memory;
}
