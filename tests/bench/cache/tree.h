/* SPDX-License-Identifier: GPL-2.0-only */
/* Objects in the order of their buckets and, in a bucket, of their arrival: a treap. */
#ifndef _TREE_H
#define _TREE_H

#include "cache.h"

void tree_add(struct object **root, struct object *object);
void tree_del(struct object **root, struct object *object);
struct object *tree_after(struct object *root, uint64_t due, uint64_t turn);
struct object *tree_first(struct object *root);

#endif /* _TREE_H */
