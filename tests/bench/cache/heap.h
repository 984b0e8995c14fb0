/* SPDX-License-Identifier: GPL-2.0-only */
/* A binary heap: the item with the least rank comes first. */
#ifndef _HEAP_H
#define _HEAP_H

#include <stddef.h>
#include <stdint.h>

struct heap_item {
	uint64_t rank;
	uint32_t value;
};

struct heap {
	struct heap_item *items;
	size_t count;
	size_t size;
};

void heap_push(struct heap *heap, uint64_t rank, uint32_t value);
struct heap_item heap_pop(struct heap *heap);
void heap_destroy(struct heap *heap);

#endif /* _HEAP_H */
