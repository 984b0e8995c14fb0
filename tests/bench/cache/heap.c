// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "heap.h"
#include "trace.h"

static void grow(struct heap *heap)
{
	size_t size = heap->size ? heap->size * 2 : 1024;
	struct heap_item *items = zalloc(size, sizeof(*items));

	if (heap->count)
		memcpy(items, heap->items, heap->count * sizeof(*items));
	free(heap->items);
	heap->items = items;
	heap->size = size;
}

void heap_push(struct heap *heap, uint64_t rank, uint32_t value)
{
	size_t at = heap->count;

	if (heap->count == heap->size)
		grow(heap);
	heap->count++;
	for (; at && heap->items[(at - 1) / 2].rank > rank; at = (at - 1) / 2)
		heap->items[at] = heap->items[(at - 1) / 2];
	heap->items[at] = (struct heap_item){ rank, value };
}

/* Takes the first item out of a heap that is not empty. */
struct heap_item heap_pop(struct heap *heap)
{
	struct heap_item *items = heap->items, first = items[0], last = items[--heap->count];
	size_t at = 0, child;

	for (; (child = 2 * at + 1) < heap->count; at = child) {
		if (child + 1 < heap->count && items[child + 1].rank < items[child].rank)
			child++;
		if (items[child].rank >= last.rank)
			break;
		items[at] = items[child];
	}
	items[at] = last;
	return first;
}

void heap_destroy(struct heap *heap)
{
	free(heap->items);
	*heap = (struct heap){ 0 };
}
