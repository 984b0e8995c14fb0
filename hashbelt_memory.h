/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of the module: one limit on all of it, and size classes for entries. */
#ifndef _HASHBELT_MEMORY_H
#define _HASHBELT_MEMORY_H

#include <linux/types.h>

int hb_memory_init(size_t payload);
void hb_memory_exit(void);
void hb_memory_limit(u64 bytes);
u64 hb_memory_used(void);

void *hb_zalloc(size_t size);
void hb_free(void *p, size_t size);

void *hb_object_alloc(size_t size);
void hb_object_free(void *object, size_t size);
size_t hb_object_size(const void *object, size_t size);

#endif /* _HASHBELT_MEMORY_H */
